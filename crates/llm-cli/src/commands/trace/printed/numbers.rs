//! Numbers and tables as they are printed.

use llm_messages::columns::{left, width};

/// Before what stands below its row.
const BELOW: &str = "    ";
/// Lines that stay at each end of a long table.
const ENDS: usize = 4;

/// A number: what is stored in f32 in the fewest digits that give it back, anything else with ten
/// decimals; very small and very large ones with an exponent.
pub(super) fn number(x: f64) -> String {
    let single = x as f32;
    let stored = f64::from(single) == x;
    let size = x.abs();
    if x == 0.0 {
        return "0".into();
    }
    if !x.is_finite() || !(1e-4..1e9).contains(&size) {
        return if stored { format!("{single:e}") } else { format!("{x:.6e}") };
    }
    if stored {
        return single.to_string();
    }
    format!("{x:.10}")
}

/// A line of a table that may be too long.
pub(super) enum Line {
    /// This one.
    At(usize),
    /// The number of lines that are left out.
    More(usize),
}

/// The first and the last few of `n` lines, and those of `wanted`; every line with `all`.
pub(super) fn lines(n: usize, all: bool, wanted: &[usize]) -> Vec<Line> {
    let ends = |at: &usize| *at < ENDS || *at + ENDS >= n;
    // What would replace one line takes a line itself.
    let keep = |at: &usize| all || n <= 2 * ENDS + 1 || ends(at) || wanted.contains(at);
    let mut lines = Vec::new();
    let mut next = 0;
    for at in (0..n).filter(keep) {
        if at > next {
            lines.push(Line::More(at - next));
        }
        lines.push(Line::At(at));
        next = at + 1;
    }
    lines
}

/// `[a, b, c]`, the middle of long lists left out.
pub(super) fn list(numbers: &[f64], all: bool) -> String {
    let words = lines(numbers.len(), all, &[]).into_iter().map(|line| match line {
        Line::At(at) => number(numbers[at]),
        Line::More(n) => format!("… {n} …"),
    });
    format!("[{}]", words.collect::<Vec<_>>().join(", "))
}

/// Rows whose columns stand below each other, one space or two between them. Where that is too wide,
/// the last word of a row stands below it.
pub(super) fn columns(rows: &[Vec<String>], room: usize) -> Vec<String> {
    let widest = |column: usize| {
        let rows = rows.iter().filter(|row| row.len() > 1); // a word alone stands in no column
        rows.filter_map(|row| row.get(column)).map(|word| width(word)).max().unwrap_or(0)
    };
    let line = |row: &[String], gap: &str| {
        let words = row.iter().enumerate().map(|(at, word)| left(word, widest(at)));
        words.collect::<Vec<_>>().join(gap).trim_end().to_string()
    };
    for gap in ["  ", " "] {
        let lines: Vec<_> = rows.iter().map(|row| line(row, gap)).collect();
        if lines.iter().all(|line| width(line) <= room) {
            return lines;
        }
    }
    let below = |row: &Vec<String>| match (line(row, "  "), row.split_last()) {
        (long, Some((last, first))) if width(&long) > room && !first.is_empty() => {
            vec![line(first, "  "), format!("{BELOW}{last}")]
        }
        (line, _) => vec![line],
    };
    rows.iter().flat_map(below).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_whole() {
        for (x, text) in [
            (0.0, "0"),
            (-1e9, "-1e9"),
            (0.5f64.sqrt(), "0.7071067812"),
            (f64::from(0.1f32), "0.1"),
            (-3.0, "-3"),
            (1e-5 / 3.0, "3.333333e-6"),
            (f64::from(1e-20f32), "1e-20"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
            (2.0 / 3.0 * 1e8, "66666666.6666666642"),
        ] {
            assert_eq!(number(x), text);
        }
    }

    #[test]
    fn a_long_row_has_its_last_word_below() {
        let row = |words: [&str; 3]| words.map(String::from).to_vec();
        let rows = [row(["qkv", "[B, T]", "合计"]), row(["x", "[B, T, C]", "a view of it"])];
        let shown = |room| columns(&rows, room).join("\n");
        assert_eq!(shown(28), "qkv  [B, T]     合计\nx    [B, T, C]  a view of it");
        assert_eq!(shown(27), "qkv [B, T]    合计\nx   [B, T, C] a view of it");
        assert_eq!(shown(20), "qkv  [B, T]     合计\nx    [B, T, C]\n    a view of it");
    }

    #[test]
    fn long_tables_keep_their_ends_and_what_is_asked_for() {
        let shown = |n, all, wanted: &[usize]| -> Vec<isize> {
            let line = |line| match line {
                Line::At(at) => at as isize,
                Line::More(n) => -(n as isize),
            };
            lines(n, all, wanted).into_iter().map(line).collect()
        };
        assert_eq!(shown(9, false, &[]), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(shown(10, false, &[]), [0, 1, 2, 3, -2, 6, 7, 8, 9]);
        assert_eq!(shown(20, false, &[7, 1]), [0, 1, 2, 3, -3, 7, -8, 16, 17, 18, 19]);
        assert_eq!(shown(11, true, &[]).len(), 11);
        assert_eq!(list(&[1.0; 10], false), "[1, 1, 1, 1, … 2 …, 1, 1, 1, 1]");
    }
}
