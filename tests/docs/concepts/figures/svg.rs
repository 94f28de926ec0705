//! A picture of small matrices and bars: text, so that a change of a number is a change of a line.
//!
//! The ground is a white card, so that it reads the same on light and dark pages. Shades are opacities,
//! numbers like all others: a comparison can allow them the last digit.

use llm_core::Tensor;
use std::fmt::Write;

const FONT: &str =
    "Helvetica, Arial, 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif";
const CELL: f64 = 54.0;
const ROW: f64 = 26.0;
/// Blue and orange.
pub const COLOURS: [&str; 2] = ["#2563eb", "#d97706"];

pub struct Picture {
    size: [f64; 2],
    body: String,
}

/// A matrix with its labels, to be drawn somewhere.
pub struct Grid<'a> {
    pub title: &'a str,
    pub rows: &'a [&'a str],
    pub columns: &'a [&'a str],
    pub matrix: &'a Tensor,
    /// Whether the numbers are shares, and cells are shaded by them.
    pub shares: bool,
}

impl Picture {
    pub fn new(width: f64, height: f64, title: &str) -> Picture {
        let mut picture = Picture { size: [width, height], body: String::new() };
        picture.line(&format!("<title>{title}</title>"));
        let card = format!(
            "<rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#ffffff\" stroke=\"#d5d9e0\"/>"
        );
        picture.line(&card);
        picture
    }

    fn line(&mut self, line: &str) {
        writeln!(self.body, "  {line}").expect("a text takes everything");
    }

    /// `anchor` is start, middle or end.
    pub fn text(&mut self, [x, y]: [f64; 2], anchor: &str, size: u32, text: &str) {
        self.line(&format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{text}</text>"
        ));
    }

    pub fn rect(&mut self, [x, y]: [f64; 2], [w, h]: [f64; 2], colour: &str, opacity: f64) {
        self.line(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w:.1}\" height=\"{h}\" fill=\"{colour}\" fill-opacity=\"{opacity:.2}\" stroke=\"#9ca3af\"/>"
        ));
    }

    pub fn stroke(&mut self, from: [f64; 2], to: [f64; 2], colour: &str, width: f64) {
        let ([x1, y1], [x2, y2]) = (from, to);
        self.line(&format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linecap=\"round\"/>"
        ));
    }

    /// A line through points.
    pub fn curve(&mut self, points: &[[f64; 2]], colour: &str, width: f64) {
        for pair in points.windows(2) {
            self.stroke(pair[0], pair[1], colour, width);
        }
    }

    /// A circle of which only the line is drawn.
    pub fn circle(&mut self, [x, y]: [f64; 2], radius: f64) {
        self.line(&format!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"none\" stroke=\"#d5d9e0\"/>"
        ));
    }

    /// A word above a column, to be read from below.
    pub fn turned(&mut self, [x, y]: [f64; 2], text: &str) {
        self.line(&format!(
            "<text transform=\"translate({x} {y}) rotate(-90)\" font-size=\"11\">{text}</text>"
        ));
    }

    /// A weight without its number.
    pub fn cell(&mut self, [x, y]: [f64; 2], side: f64, share: f64) {
        let colour = COLOURS[0];
        self.line(&format!("<rect x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" fill=\"{colour}\" fill-opacity=\"{share:.2}\"/>"));
    }

    /// A matrix whose first cell begins at x, y; what is right of it begins at the result.
    pub fn grid(&mut self, [x, y]: [f64; 2], grid: &Grid<'_>) -> f64 {
        let [n, m] = [grid.matrix.shape()[0], grid.matrix.shape()[1]];
        let width = m as f64 * CELL;
        self.text([x + width / 2.0, y - 28.0], "middle", 14, grid.title);
        for (j, label) in grid.columns.iter().enumerate() {
            self.text([x + (j as f64 + 0.5) * CELL, y - 8.0], "middle", 12, label);
        }
        for i in 0..n {
            let top = y + i as f64 * ROW;
            if let Some(label) = grid.rows.get(i) {
                self.text([x - 8.0, top + 18.0], "end", 12, label);
            }
            for j in 0..m {
                let value = grid.matrix.data()[i * m + j];
                let left = x + j as f64 * CELL;
                let opacity = if grid.shares { 0.6 * f64::from(value) } else { 0.0 };
                self.rect([left, top], [CELL, ROW], COLOURS[0], opacity);
                self.text([left + CELL / 2.0, top + 18.0], "middle", 13, &number(value));
            }
        }
        x + width
    }

    /// Two bars for each label, with their numbers; all bars of a colour are shares of `most`.
    pub fn bars(
        &mut self,
        [x, y]: [f64; 2],
        title: &str,
        labels: &[String],
        series: [(&str, &[f64]); 2],
        most: f64,
    ) {
        const LONG: f64 = 180.0;
        self.text([x, y - 34.0], "start", 14, title);
        for (colour, (name, values)) in series.iter().enumerate() {
            let at = x + 130.0 * colour as f64;
            self.rect([at, y - 22.0], [12.0, 12.0], COLOURS[colour], 0.7);
            self.text([at + 18.0, y - 11.0], "start", 12, name);
            for (i, value) in values.iter().enumerate() {
                let top = y + 40.0 * i as f64 + 17.0 * colour as f64;
                self.rect([x, top], [(LONG * value / most).max(0.5), 15.0], COLOURS[colour], 0.7);
                let beside = x + LONG * value / most + 6.0;
                self.text(
                    [(10.0 * beside).round() / 10.0, top + 12.0],
                    "start",
                    12,
                    &format!("{value:.3}"),
                );
            }
        }
        for (i, label) in labels.iter().enumerate() {
            self.text([x - 8.0, y + 40.0 * i as f64 + 21.0], "end", 12, label);
        }
    }

    pub fn finish(self) -> String {
        let [width, height] = self.size;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" font-family=\"{FONT}\" fill=\"#1f2937\">\n{}</svg>\n",
            self.body
        )
    }
}

/// Whole numbers as such, others with three digits.
pub fn number(value: f32) -> String {
    if value == f32::NEG_INFINITY {
        return "−∞".into();
    }
    if (value - value.round()).abs() < 5e-4 {
        format!("{}", value.round() + 0.0)
    } else {
        format!("{value:.3}")
    }
}
