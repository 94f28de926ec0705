//! A walk as a person reads it, line by line in the language that was chosen.

mod numbers;
mod row;
mod score;
mod sizes;
#[cfg(test)]
mod tests;

use crate::messages::said;
use llm_core::base::Message;
use llm_core::message;
use llm_lens::trace::{Bias, Place, Sum, Walk};
use numbers::{Line, columns, lines, number};

/// Before every line but the titles.
const INDENT: &str = "   ";

/// The cells of a row.
type Cells = Vec<String>;

/// The whole text in `room` columns; `all`: nothing is left out of long sums and tables.
pub(super) fn text(walk: &Walk, all: bool, room: usize) -> String {
    let mut page = Printed { walk, all, room, steps: 0, text: String::new() };
    page.opening();
    page.sizes();
    page.shapes();
    page.projection();
    page.places();
    page.rotation();
    page.product();
    page.score();
    page.softmax();
    page.weighted_sum();
    page.output();
    page.kernel();
    page.text
}

/// The text as it grows.
struct Printed<'a> {
    walk: &'a Walk,
    all: bool,
    room: usize,
    steps: usize,
    text: String,
}

impl Printed<'_> {
    /// The next step's title, behind an empty line.
    fn title(&mut self, title: impl Into<Message>) {
        self.steps += 1;
        let line = format!("\n{}. {}\n", self.steps, said(title));
        self.text.push_str(&line);
    }

    /// A line in words.
    fn say(&mut self, line: impl Into<Message>) {
        self.line(said(line));
    }

    /// A line that is the same in all languages.
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(&format!("{INDENT}{}\n", line.as_ref()));
    }

    fn table(&mut self, rows: &[Vec<String>]) {
        let lines = columns(rows, self.room.saturating_sub(INDENT.len()));
        lines.iter().for_each(|line| self.line(line));
    }

    /// The first and the last few of `n` rows, and those of `wanted`.
    fn rows(&self, n: usize, wanted: &[usize], row: impl Fn(usize) -> Cells) -> Vec<Cells> {
        let shown = |line| match line {
            Line::At(at) => row(at),
            Line::More(n) => vec![said(message!("… {} more", n))],
        };
        lines(n, self.all, wanted).into_iter().map(shown).collect()
    }

    /// The terms of a sum, one a line, then the sum under `name`.
    fn sum(&mut self, [name, a, b, bias]: [&str; 4], sum: &Sum) {
        let mut rows = self.rows(sum.terms.len(), &[], |at| {
            let t = sum.terms[at];
            vec![
                format!("{a}[{}]*{b}[{}]", t.a_offset, t.b_offset),
                format!("= {} * {}", number(t.a), number(t.b)),
                format!("= {}", number(t.a * t.b)),
            ]
        });
        if let Some(Bias { offset, value }) = sum.bias {
            let name = format!("{bias}[{offset}]");
            rows.push(vec![name, String::new(), format!("= {}", number(value))]);
        }
        self.table(&rows);
        self.say(message!("{} = sum = {}", name, number(sum.value)));
    }

    /// `((b*T + t)*H + h)*D = ((0*3 + 2)*2 + 1)*2 = 10`: a row of q, k, v or att.
    fn row_formula(&self, letter: char, t: usize) -> String {
        let (s, Place { batch_index: b, head: h, .. }) = (self.walk.sizes, self.walk.place);
        let (big_t, big_h, d, at) = (s.seq_len, s.n_heads, s.head_dim, s.row(b, t, h));
        let one = format!("(b*T + {letter})*C = ({b}*{big_t} + {t})*{d} = {at}");
        let several =
            format!("((b*T + {letter})*H + h)*D = (({b}*{big_t} + {t})*{big_h} + {h})*{d} = {at}");
        self.one_or(one, several)
    }

    /// A row of k or v: of the group's head where several heads read one.
    fn key_formula(&self, letter: char, t: usize) -> String {
        let (s, Place { batch_index: b, head: h, .. }) = (self.walk.sizes, self.walk.place);
        let (big_t, d, at) = (s.seq_len, s.head_dim, s.key_row(b, t, h));
        let (Some(big_g), g) = (s.kv_heads, s.group(h)) else { return self.row_formula(letter, t) };
        format!("((b*T + {letter})*G + g)*D = (({b}*{big_t} + {t})*{big_g} + {g})*{d} = {at}")
    }

    /// `[b, h, i, j]` with letters or numbers; one head needs no h.
    fn index(&self, [b, h, i, j]: [&str; 4]) -> String {
        self.one_or(format!("[{b}, {i}, {j}]"), format!("[{b}, {h}, {i}, {j}]"))
    }

    /// What is printed of one head, or of several.
    fn one_or<T>(&self, one: T, several: T) -> T {
        if self.walk.one_head { one } else { several }
    }

    /// The place's own `[b, h, i, j]`.
    fn here(&self) -> String {
        let Place { batch_index, head, query, key } = self.walk.place;
        let words = [batch_index, head, query, key].map(|n| n.to_string());
        self.index(words.each_ref().map(String::as_str))
    }

    /// A place between `from` and the last of `len` numbers.
    fn span(from: usize, len: usize) -> String {
        if len == 1 { from.to_string() } else { format!("{from}..{}", from + len - 1) }
    }
}
