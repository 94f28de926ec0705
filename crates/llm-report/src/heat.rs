//! Attention as a map of characters, no wider than the terminal.

use crate::label::fitted;
use llm_messages::columns::{left, width};

/// How weights are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// `7` is a weight of at least 0.7, `.` one below 0.05; for what is no terminal.
    Digits,
    /// Shades of grey, brighter for more: the square root of the weight.
    Greys,
}

/// Columns of the tokens at the rows.
const LABEL: usize = 8;
/// Between two maps.
const GAP: usize = 2;

/// Most tokens that a map has room for in `columns` columns.
pub fn most_tokens(columns: usize) -> usize {
    columns.saturating_sub(LABEL + 1).max(1)
}

/// Maps of one text side by side, as many as there is room for in `columns`, each with
/// its title; a weight that is NaN is left blank. Rows are queries, columns keys, both named by
/// `tokens`; `first` is the number of the first of them.
pub fn heat_map(
    tokens: &[String],
    first: usize,
    maps: &[(String, &[Vec<f32>])],
    ink: Ink,
    columns: usize,
) -> String {
    let (n, most) = (tokens.len(), most_tokens(columns));
    let cell = if ink == Ink::Greys && 2 * n <= most { 2 } else { 1 };
    let titles = maps.iter().map(|map| width(&map.0)).max().unwrap_or(0);
    let wide = (n * cell).max(titles.min(most));
    let beside = ((most + GAP) / (wide + GAP)).max(1);
    let mut text = String::new();
    for group in maps.chunks(beside) {
        let line = |parts: Vec<String>| {
            let parts: Vec<_> = parts.iter().map(|part| padded(part, wide)).collect();
            format!("{} {}", " ".repeat(LABEL), parts.join(&" ".repeat(GAP)))
        };
        let titles = line(group.iter().map(|map| map.0.clone()).collect());
        let keys = line(vec![keys(tokens, first, cell); group.len()]);
        let rows = (0..n).map(|i| {
            let rows: Vec<_> = group.iter().map(|map| row(map.1, i, wide, cell, ink)).collect();
            format!("{} {}", fitted(&tokens[i], LABEL), rows.join(&" ".repeat(GAP)))
        });
        for line in [titles, keys].into_iter().chain(rows).chain([String::new()]) {
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

/// The keys above a map: themselves where each takes one column, else the last digits of their
/// numbers.
fn keys(tokens: &[String], first: usize, cell: usize) -> String {
    let narrow = tokens.iter().all(|token| width(token) == 1);
    let key = |(i, token): (usize, &String)| {
        let name = if narrow { token.clone() } else { ((first + i) % 10).to_string() };
        padded(&name, cell)
    };
    tokens.iter().enumerate().map(key).collect()
}

fn row(map: &[Vec<f32>], i: usize, wide: usize, cell: usize, ink: Ink) -> String {
    let seen = map.get(i).map_or(&[][..], |row| &row[..(i + 1).min(row.len())]);
    let mut text = String::new();
    for &weight in seen {
        if weight.is_nan() {
            // Hidden.
            text.push_str(if ink == Ink::Greys { "\x1b[0m" } else { "" });
            text.push_str(&" ".repeat(cell));
            continue;
        }
        let weight = weight.clamp(0.0, 1.0);
        match ink {
            Ink::Digits => text.push(digit(weight)),
            Ink::Greys => {
                let grey = 232 + (23.0 * weight.sqrt()).round() as u32;
                text.push_str(&format!("\x1b[48;5;{grey}m{}", " ".repeat(cell)));
            }
        }
    }
    if ink == Ink::Greys {
        text.push_str("\x1b[0m");
    }
    text + &" ".repeat(wide.saturating_sub(seen.len() * cell))
}

fn digit(weight: f32) -> char {
    match (10.0 * weight) as u32 {
        0 if weight < 0.05 => '.',
        tenths => char::from_digit(tenths.min(9), 10).unwrap_or('9'),
    }
}

/// With spaces behind, or cut.
fn padded(text: &str, columns: usize) -> String {
    left(&text.chars().take(columns.max(1)).collect::<String>(), columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triangle(n: usize) -> Vec<Vec<f32>> {
        (0..n)
            .map(|i| (0..n).map(|j| if j <= i { 1.0 / (i + 1) as f32 } else { 0.0 }).collect())
            .collect()
    }

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| char::from(b'a' + (i % 26) as u8).to_string()).collect()
    }

    #[test]
    fn digits_are_tenths() {
        let map = [vec![1.0, 0.0, 0.0], vec![0.96, 0.04, 0.0], vec![0.05, 0.349, 0.601]];
        let maps = [("one".to_string(), &map[..]), ("longer".to_string(), &map[..])];
        let shown = heat_map(&names(3), 0, &maps, Ink::Digits, 80);
        let lines: Vec<&str> = shown.lines().collect();
        let want = [
            "         one     longer",
            "         abc     abc",
            "       a 9       9",
            "       b 9.      9.",
            "       c 036     036",
        ];
        assert_eq!(lines[..5], want);
    }

    #[test]
    fn lines_fit_the_terminal() {
        let sizes = [40, 60, 80, 120]
            .into_iter()
            .flat_map(|room| [1, 2, 7, 22, 36, most_tokens(room)].map(|n| (room, n)));
        for (room, n) in sizes.filter(|(room, n)| *n <= most_tokens(*room)) {
            let map = triangle(n);
            let maps = vec![("layer 0 head 0 and a long title".to_string(), &map[..]); 5];
            for ink in [Ink::Digits, Ink::Greys] {
                let shown = heat_map(&names(n), 0, &maps, ink, room);
                let mut columns = 0;
                for line in shown.lines() {
                    let plain: String = line
                        .split('\x1b')
                        .enumerate()
                        .map(
                            |(i, part)| if i == 0 { part } else { part.split_once('m').unwrap().1 },
                        )
                        .collect();
                    columns = columns.max(width(&plain));
                }
                assert!(columns <= room, "{n} in {room}: {columns}\n{shown}");
            }
        }
    }

    #[test]
    fn a_long_token_is_cut_and_keys_are_numbered() {
        let tokens = ["a-very-long-token".to_string(), "猫".to_string()];
        let shown = heat_map(&tokens, 8, &[("t".into(), &triangle(2)[..])], Ink::Digits, 80);
        assert!(shown.contains("a-very-… 9"), "{shown}");
        assert!(shown.contains("      猫 55"), "{shown}");
        assert!(shown.lines().nth(1).unwrap().ends_with("89"), "{shown}");
    }
}
