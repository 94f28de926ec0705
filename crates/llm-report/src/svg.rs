//! Attention as a picture: one block, all heads side by side.

use crate::label::fitted;
use crate::losses::{Area, FONT, Failure};
use llm_messages::columns::width;
use plotters::prelude::*;
use plotters::style::FontTransform;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::io;

const MONO: &str = "monospace";
const INK: RGBColor = RGBColor(8, 48, 107);
const TEXT: RGBColor = RGBColor(40, 40, 40);
const FAINT: RGBColor = RGBColor(110, 110, 110);
const HIDDEN: RGBColor = RGBColor(244, 244, 241);
const FRAME: RGBColor = RGBColor(170, 170, 170);
/// Heads in a row.
const BESIDE: usize = 4;
/// Characters of a label.
const LABEL: usize = 8;
/// Weights that a sheet of paper does not show.
const INVISIBLE: f32 = 0.002;

/// Sizes in pixels.
struct Layout {
    /// A weight.
    cell: i32,
    /// Left of a map: the queries' labels.
    left: i32,
    /// Above a map: its title and the keys' labels.
    above: i32,
    /// One head with all that belongs to it.
    panel: (i32, i32),
}

impl Layout {
    fn of(tokens: &[String]) -> Layout {
        let n = tokens.len().max(1) as i32;
        let cell = (480 / n).clamp(10, 24);
        let longest = tokens.iter().map(|t| width(t).min(LABEL)).max().unwrap_or(1) as i32;
        let letters = longest * Layout::font(cell) / 2 + 8;
        let (left, above) = (14 + letters, 26 + letters);
        Layout { cell, left, above, panel: (left + n * cell + 10, above + n * cell + 14) }
    }

    /// Height of a label.
    fn font(cell: i32) -> i32 {
        (cell * 6 / 5).min(16)
    }
}

/// A head's title, and its weights: a row for each query.
pub type Head<'a> = (String, &'a [Vec<f32>]);

/// The picture as SVG: a map for each head with its number and a remark, rows are queries and
/// columns keys. Ink is the square root of the weight, so that small ones are seen too.
///
/// # Errors
/// What the drawing library says.
pub fn layer_picture(title: &str, tokens: &[String], heads: &[Head<'_>]) -> io::Result<String> {
    draw(title, tokens, heads).map_err(|e| io::Error::other(e.to_string()))
}

fn draw(title: &str, tokens: &[String], heads: &[Head<'_>]) -> Result<String, Failure> {
    let layout = Layout::of(tokens);
    let beside = heads.len().clamp(1, BESIDE) as i32;
    let rows = heads.len().div_ceil(BESIDE).max(1) as i32;
    let wide = (beside * layout.panel.0 + 20).max(560);
    let high = 74 + rows * layout.panel.1;
    let mut svg = String::new();
    {
        let area =
            SVGBackend::with_string(&mut svg, (wide as u32, high as u32)).into_drawing_area();
        area.fill(&WHITE)?;
        area.draw(&Text::new(title.to_string(), (12, 12), (FONT, 20).into_font().color(&TEXT)))?;
        let rule = "Row: the token that looks. Column: the token looked at. Darker is more \
                    (square root of the weight).";
        area.draw(&Text::new(rule, (12, 40), (FONT, 13).into_font().color(&FAINT)))?;
        for (h, (name, map)) in heads.iter().enumerate() {
            let (column, row) = ((h % BESIDE) as i32, (h / BESIDE) as i32);
            let at = (10 + column * layout.panel.0, 66 + row * layout.panel.1);
            panel(&area, at, &layout, name, tokens, map)?;
        }
        area.present()?;
    }
    Ok(svg)
}

fn panel(
    area: &Area<'_>,
    (x, y): (i32, i32),
    layout: &Layout,
    name: &str,
    tokens: &[String],
    map: &[Vec<f32>],
) -> Result<(), Failure> {
    let Layout { cell, left, above, .. } = *layout;
    let (x0, y0) = (x + left, y + above);
    let side = tokens.len() as i32 * cell;
    area.draw(&Text::new(name.to_string(), (x0, y), (FONT, 15).into_font().color(&TEXT)))?;
    area.draw(&Rectangle::new([(x0, y0), (x0 + side, y0 + side)], HIDDEN.filled()))?;
    let font = (MONO, Layout::font(cell)).into_font().color(&TEXT);
    let row_label = font.pos(Pos::new(HPos::Right, VPos::Center));
    // Letters stand upright above their columns, words are turned.
    let column_label = match tokens.iter().all(|token| width(token) == 1) {
        true => font.pos(Pos::new(HPos::Center, VPos::Bottom)),
        false => font.transform(FontTransform::Rotate270).pos(Pos::new(HPos::Left, VPos::Center)),
    };
    for (i, token) in tokens.iter().enumerate() {
        let label = fitted(token, LABEL).trim_start().to_string();
        let middle = i as i32 * cell + cell / 2;
        area.draw(&Text::new(label.clone(), (x0 - 4, y0 + middle), row_label.clone()))?;
        area.draw(&Text::new(label, (x0 + middle, y0 - 4), column_label.clone()))?;
        let row = map.get(i).map_or(&[][..], |row| &row[..(i + 1).min(row.len())]);
        let top = y0 + i as i32 * cell;
        let seen = [(x0, top), (x0 + row.len() as i32 * cell, top + cell)];
        area.draw(&Rectangle::new(seen, WHITE.filled()))?;
        for (j, &weight) in row.iter().enumerate().filter(|(_, w)| **w > INVISIBLE) {
            let at = x0 + j as i32 * cell;
            let place = [(at, top), (at + cell, top + cell)];
            area.draw(&Rectangle::new(place, shade(weight).filled()))?;
        }
    }
    area.draw(&Rectangle::new([(x0, y0), (x0 + side, y0 + side)], FRAME.stroke_width(1)))
}

/// White for 0, the darkest ink for 1.
fn shade(weight: f32) -> RGBColor {
    let share = f64::from(weight.clamp(0.0, 1.0)).sqrt();
    let mix = |ink: u8| (255.0 + (f64::from(ink) - 255.0) * share).round() as u8;
    RGBColor(mix(INK.0), mix(INK.1), mix(INK.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cannot_break_the_picture() {
        let evil = ["<b>", "&", "\"'", "</svg>", "]]>", "<!--", "&amp;"].map(String::from);
        let map: Vec<Vec<f32>> = (0..7).map(|i| vec![1.0 / (i + 1) as f32; 7]).collect();
        let heads = [("head <0>".to_string(), &map[..]), ("head & 1".to_string(), &map[..])];
        let svg = layer_picture("<title> & more", &evil, &heads).unwrap();
        assert!(svg.trim_start().starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("<svg").count(), 1);
        assert_eq!(svg.matches("</svg>").count(), 1);
        for raw in ["<b>", "<!--", "]]>", "& more", "<title>", "head <"] {
            assert!(!svg.contains(raw), "{raw}");
        }
        for escaped in ["&lt;b&gt;", "&amp;amp;", "&lt;!--"] {
            assert!(svg.contains(escaped), "{escaped}");
        }
    }

    #[test]
    fn more_weight_is_darker() {
        let shades = [0.0, 0.01, 0.3, 1.0].map(|w| shade(w).0);
        assert!(shades.windows(2).all(|s| s[0] > s[1]), "{shades:?}");
        assert_eq!((shade(0.0), shade(2.0)), (WHITE, INK));
    }
}
