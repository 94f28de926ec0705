//! The comparison as a picture: `compare.svg`.

use super::results::Results;
use super::statistics::Spread;
use crate::report::{Area, Comparison, Failure};
use plotters::prelude::*;

const SIZE: (u32, u32) = (1000, 900);
const FONT: &str = "sans-serif";
const GRID: RGBColor = RGBColor(225, 225, 225);
const FLOOR: RGBColor = RGBColor(44, 140, 60);
/// Colours that also colour-blind readers tell apart.
const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(160, 120, 0),
    RGBColor(90, 90, 90),
    RGBColor(120, 60, 160),
];

/// Loss by heads, each seed a point; below it the facts by kind, where there are facts.
pub(super) fn svg(results: &Results) -> Result<Vec<u8>, String> {
    let comparison = results.comparison();
    let mut svg = String::new();
    draw(&comparison, &mut svg).map_err(|e| e.to_string())?;
    Ok(svg.into_bytes())
}

fn draw(comparison: &Comparison, svg: &mut String) -> Result<(), Failure> {
    let has_facts = comparison.rows.iter().any(|row| !row.facts.is_empty());
    let size = if has_facts { SIZE } else { (SIZE.0, SIZE.1 / 2) };
    let area = SVGBackend::with_string(svg, size).into_drawing_area();
    area.fill(&WHITE)?;
    if has_facts {
        let (above, below) = area.split_vertically(size.1 * 4 / 9);
        losses(comparison, &above)?;
        facts(comparison, &below)?;
    } else {
        losses(comparison, &area)?;
    }
    area.present()
}

/// A line through means, a point for every seed.
struct Series {
    label: String,
    color: RGBColor,
    /// Of each number of heads.
    values: Vec<Vec<f64>>,
}

fn losses(comparison: &Comparison, area: &Area<'_>) -> Result<(), Failure> {
    let values: Vec<_> = comparison.rows.iter().map(|row| row.loss.clone()).collect();
    let all = || values.iter().flatten().copied();
    let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
    // A floor far below would make one point of all seeds.
    let floor = comparison.floor.filter(|floor| low - floor <= 3.0 * (high - low));
    let low = floor.map_or(low, |floor| low.min(floor));
    let margin = (0.1 * (high - low)).max(1e-4);
    let series = Series { label: "each seed, and the mean".into(), color: COLORS[0], values };
    let range = low - margin..high + margin;
    let y = "validation loss (nats per token)";
    chart(comparison, area, (y, range, 4), &[series], floor)
}

fn facts(comparison: &Comparison, area: &Area<'_>) -> Result<(), Failure> {
    let kinds = comparison.rows.first().map_or(&[][..], |row| &row.facts);
    let series = kinds.iter().zip(COLORS.iter().cycle()).map(|((kind, _), &color)| {
        let percent = |v: &[f64]| v.iter().map(|x| 100.0 * x).collect();
        let rows = comparison.rows.iter();
        let values = rows.map(|row| percent(super::statistics::values_of(row, kind))).collect();
        Series { label: kind.clone(), color, values }
    });
    let series: Vec<_> = series.collect();
    let lowest = series.iter().flat_map(|s| s.values.iter().flatten().copied());
    let lowest = (lowest.fold(100.0, f64::min) / 10.0).floor() * 10.0;
    chart(comparison, area, ("facts right, by kind (%)", lowest..102.0, 0), &series, None)
}

fn chart(
    comparison: &Comparison,
    area: &Area<'_>,
    (y, range, decimals): (&str, std::ops::Range<f64>, usize),
    series: &[Series],
    floor: Option<f64>,
) -> Result<(), Failure> {
    let last = comparison.rows.len() as f64 - 0.5;
    let (legend, below) = area.split_vertically(36);
    let mut chart = ChartBuilder::on(&below)
        .margin(8)
        .margin_right(32)
        .x_label_area_size(46)
        .y_label_area_size(78)
        .build_cartesian_2d(-0.5..last, range)?;
    let heads = |x: &f64| {
        let row = comparison.rows.get(x.round().max(0.0) as usize);
        let whole = (x - x.round()).abs() < 0.01;
        row.filter(|_| whole && *x > -0.1).map_or(String::new(), |row| row.n_heads.to_string())
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(BLACK.mix(0.6))
        .label_style((FONT, 16))
        .axis_desc_style((FONT, 17))
        .x_labels(2 * comparison.rows.len() + 1)
        .y_labels(6)
        .x_desc("heads")
        .y_desc(y)
        .x_label_formatter(&heads)
        .y_label_formatter(&|v| format!("{v:.decimals$}"))
        .draw()?;
    let mut x = 86;
    let mut entry = |label: &str, color: RGBColor| -> Result<(), Failure> {
        legend.draw(&Circle::new((x, 22), 4, color.filled()))?;
        legend.draw(&Text::new(label.to_string(), (x + 10, 14), (FONT, 15)))?;
        // No font is at hand that could be measured: letters of this size are about this wide.
        x += 10 + 7 * label.chars().count() as i32 + 22;
        Ok(())
    };
    for (n, Series { label, color, values }) in series.iter().enumerate() {
        // Neighbouring series do not hide each other's points.
        let aside = (n as f64 - (series.len() as f64 - 1.0) / 2.0) * 0.025;
        let means = values.iter().enumerate();
        let means = means.filter_map(|(i, v)| Some((i as f64 + aside, Spread::of(v)?.mean)));
        chart.draw_series(LineSeries::new(means, color.stroke_width(2)))?;
        let points = values.iter().enumerate();
        let points = points.flat_map(|(i, v)| v.iter().map(move |&y| (i as f64 + aside, y)));
        chart.draw_series(points.map(|p| Circle::new(p, 4, color.mix(0.75).filled())))?;
        entry(label, *color)?;
    }
    if let Some(floor) = floor {
        let ends = [(-0.5, floor), (last, floor)];
        chart.draw_series(DashedLineSeries::new(ends, 8, 5, FLOOR.stroke_width(2)))?;
        entry(&format!("the stories' own entropy, {floor:.4}"), FLOOR)?;
    }
    Ok(())
}
