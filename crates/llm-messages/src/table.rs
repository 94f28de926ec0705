//! Tables that fit: as they are meant where there is room, else with no column wider than it must
//! be, else in parts below one another.

use crate::columns::{left, right, width};

/// How a column stands where there is room.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Spaces before the column.
    gap: usize,
    /// Width of the column.
    wide: usize,
    /// Whether cells stand at the right end.
    is_right: bool,
}

impl Column {
    /// Words.
    pub const fn left(gap: usize, wide: usize) -> Column {
        Column { gap, wide, is_right: false }
    }

    /// Numbers.
    pub const fn right(gap: usize, wide: usize) -> Column {
        Column { gap, wide, is_right: true }
    }

    fn with(self, cell: &str) -> String {
        let cell = if self.is_right { right(cell, self.wide) } else { left(cell, self.wide) };
        " ".repeat(self.gap) + &cell
    }
}

/// The rows, a cell for each column, in `room` columns of the terminal. In parts the first column
/// is there in each.
pub fn table(columns: &[Column], rows: &[Vec<String>], room: usize) -> String {
    let widest = |i: usize| rows.iter().map(|row| width(&row[i])).max().unwrap_or(0);
    let own: Vec<usize> = (0..columns.len()).map(widest).collect();
    let meant = columns.iter().zip(&own).map(|(c, &own)| Column { wide: c.wide.max(own), ..*c });
    let closer = |gap: usize| {
        let column = |(c, &wide): (&Column, &usize)| Column { gap: c.gap.min(1) * gap, wide, ..*c };
        columns.iter().zip(&own).map(column).collect::<Vec<_>>()
    };
    let all: Vec<usize> = (0..columns.len()).collect();
    for layout in [meant.collect(), closer(2), closer(1)] {
        if taken(&layout, &all) <= room {
            return part(&layout, &all, rows);
        }
    }
    let layout = closer(2);
    let mut parts: Vec<Vec<usize>> = vec![vec![0]];
    for i in 1..columns.len() {
        let last = parts.len() - 1;
        let longer = [&parts[last][..], &[i]].concat();
        match taken(&layout, &longer) <= room || parts[last].len() == 1 {
            true => parts[last] = longer,
            false => parts.push(vec![0, i]),
        }
    }
    parts.iter().map(|shown| part(&layout, shown, rows)).collect::<Vec<_>>().join("\n")
}

/// Columns of the terminal that these columns of a table take.
fn taken(layout: &[Column], shown: &[usize]) -> usize {
    shown.iter().map(|&i| layout[i].gap + layout[i].wide).sum()
}

fn part(layout: &[Column], shown: &[usize], rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| {
        let line: String = shown.iter().map(|&i| layout[i].with(&row[i])).collect();
        line.trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [Column::left(0, 6), Column::right(4, 5), Column::left(3, 9)];

    fn shown(room: usize) -> String {
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        table(&COLUMNS, &[row(["head", "nats", "role"]), row(["0.1", "1.25", "前一个"])], room)
    }

    #[test]
    fn a_table_gets_narrower_before_it_falls_into_parts() {
        assert_eq!(shown(27), "head       nats   role\n0.1        1.25   前一个\n");
        assert_eq!(shown(usize::MAX), shown(27));
        assert_eq!(shown(26), "head  nats  role\n0.1   1.25  前一个\n");
        assert_eq!(shown(18), shown(26));
        assert_eq!(shown(17), "head nats role\n0.1  1.25 前一个\n");
        assert_eq!(shown(15), "head  nats\n0.1   1.25\n\nhead  role\n0.1   前一个\n");
        // Where there is no room at all, each part has a column next to the first.
        assert_eq!(shown(1), shown(15));
    }

    #[test]
    fn a_long_cell_moves_its_column_alone() {
        let rows = [vec!["a rather long name".into(), "1".into(), "x".into()]];
        assert_eq!(table(&COLUMNS, &rows, 99), "a rather long name        1   x\n");
    }
}
