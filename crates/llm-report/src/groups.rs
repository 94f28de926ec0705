//! Groups of runs side by side, for example one group for each number of heads and in each
//! a run for every seed: what each run measured, and the groups' means, as a picture.

use crate::losses::{Area, FLOOR, FONT, Failure, GRID};
use llm_lens::statistics::Mean;
use plotters::prelude::*;
use std::ops::Range;

const SIZE: (u32, u32) = (1000, 900);
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

/// One number over the runs of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupSpread {
    /// Σx / n.
    pub mean: f64,
    /// Sample standard deviation, √(Σ(x − mean)² / (n − 1)); none of one run.
    pub deviation: Option<f64>,
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl GroupSpread {
    /// The spread of these numbers, one for each run; `None` without any.
    pub fn of(values: &[f64]) -> Option<GroupSpread> {
        let Mean { n, mean, sd } = Mean::of(values);
        Some(GroupSpread {
            mean,
            deviation: (n > 1).then_some(sd),
            low: values.iter().copied().reduce(f64::min)?,
            high: values.iter().copied().reduce(f64::max)?,
        })
    }
}

/// What is on the horizontal axis.
#[derive(Clone, Debug)]
pub(crate) struct Groups<'a> {
    /// What the groups differ in, such as `heads`.
    pub differ_in: &'a str,
    /// The name of each group, from the left.
    pub names: Vec<String>,
}

/// A chart of some quantities with one unit.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// The quantity and its unit.
    pub y: String,
    /// What part of it is shown.
    pub range: Range<f64>,
    /// Digits behind the point at the axis.
    pub decimals: usize,
    /// What was measured.
    pub series: Vec<Series>,
    /// A value to compare with, and its name.
    pub floor: Option<(f64, String)>,
}

/// A line through means, a point for every run.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// The name in the legend.
    pub label: String,
    /// For each group a number for each run.
    pub values: Vec<Vec<f64>>,
}

impl Groups<'_> {
    /// One or two charts, the second below the first, as the text of an SVG file.
    ///
    /// # Errors
    /// A range in which there is nothing, with which the drawing library would not end; and what
    /// that library says.
    pub(crate) fn svg(&self, above: &Panel, below: Option<&Panel>) -> Result<String, String> {
        for Panel { range, y, .. } in [above].into_iter().chain(below) {
            let ends = [range.start, range.end];
            if !(ends.iter().all(|end| end.is_finite()) && range.start < range.end) {
                return Err(format!("no range of {y}: {} to {}", range.start, range.end));
            }
        }
        let mut svg = String::new();
        self.draw(&mut svg, above, below).map_err(|e| e.to_string())?;
        Ok(svg)
    }

    fn draw(&self, svg: &mut String, above: &Panel, below: Option<&Panel>) -> Result<(), Failure> {
        let size = if below.is_some() { SIZE } else { (SIZE.0, SIZE.1 / 2) };
        let area = SVGBackend::with_string(svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        match below {
            Some(panel) => {
                let (upper, lower) = area.split_vertically(size.1 * 4 / 9);
                self.chart(&upper, above)?;
                self.chart(&lower, panel)?;
            }
            None => self.chart(&area, above)?,
        }
        area.present()
    }

    fn chart(&self, area: &Area<'_>, panel: &Panel) -> Result<(), Failure> {
        let Panel { y, range, decimals, series, floor } = panel;
        let last = self.names.len() as f64 - 0.5;
        let (legend, below) = area.split_vertically(36);
        let mut chart = ChartBuilder::on(&below)
            .margin(8)
            .margin_right(32)
            .x_label_area_size(46)
            .y_label_area_size(78)
            .build_cartesian_2d(-0.5..last, range.clone())?;
        let name = |x: &f64| {
            let name = self.names.get(x.round().max(0.0) as usize);
            let whole = (x - x.round()).abs() < 0.01;
            name.filter(|_| whole && *x > -0.1).cloned().unwrap_or_default()
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(BLACK.mix(0.6))
            .label_style((FONT, 16))
            .axis_desc_style((FONT, 17))
            .x_labels(2 * self.names.len() + 1)
            .y_labels(6)
            .x_desc(self.differ_in)
            .y_desc(y)
            .x_label_formatter(&name)
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
        for (n, (Series { label, values }, &color)) in
            series.iter().zip(COLORS.iter().cycle()).enumerate()
        {
            // Neighbouring series do not hide each other's points.
            let aside = (n as f64 - (series.len() as f64 - 1.0) / 2.0) * 0.025;
            let means = values.iter().enumerate();
            let means =
                means.filter_map(|(i, v)| Some((i as f64 + aside, GroupSpread::of(v)?.mean)));
            chart.draw_series(LineSeries::new(means, color.stroke_width(2)))?;
            let points = values.iter().enumerate();
            let points = points.flat_map(|(i, v)| v.iter().map(move |&y| (i as f64 + aside, y)));
            chart.draw_series(points.map(|p| Circle::new(p, 4, color.mix(0.75).filled())))?;
            entry(label, color)?;
        }
        if let Some((floor, label)) = floor {
            let ends = [(-0.5, *floor), (last, *floor)];
            chart.draw_series(DashedLineSeries::new(ends, 8, 5, FLOOR.stroke_width(2)))?;
            entry(label, FLOOR)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_spread_of_numbers_known_by_hand() {
        let spread = GroupSpread::of(&[2.0, 4.0, 9.0]).unwrap();
        assert_eq!((spread.mean, spread.low, spread.high), (5.0, 2.0, 9.0));
        assert!((spread.deviation.unwrap() - 13f64.sqrt()).abs() < 1e-12);
        assert_eq!(GroupSpread::of(&[3.0]).unwrap().deviation, None);
        assert!(GroupSpread::of(&[]).is_none());
    }

    #[test]
    fn every_run_is_a_point_and_every_group_has_its_name() {
        let groups = Groups { differ_in: "heads", names: vec!["1".into(), "4".into()] };
        let values = vec![vec![2.5, 2.6], vec![2.4]];
        let series = vec![Series { label: "loss".into(), values }];
        let floor = Some((2.1, "floor".to_string()));
        let panel = Panel { y: "nats".into(), range: 2.0..3.0, decimals: 1, series, floor };
        let one = groups.svg(&panel, None).unwrap();
        let count = |svg: &str, what: &str| svg.matches(what).count();
        assert_eq!(count(&one, "<circle"), 3 + 2); // and two in the legend
        assert!(["heads", "nats", "floor"].iter().all(|word| one.contains(word)));
        let two = groups.svg(&panel, Some(&panel)).unwrap();
        assert_eq!(count(&two, "<circle"), 2 * count(&one, "<circle"));
        for range in [3.0..2.0, 1.0..1.0, f64::MAX..f64::MIN, f64::NAN..1.0, 0.0..f64::INFINITY] {
            let empty = Panel { range, ..panel.clone() };
            assert!(groups.svg(&panel, Some(&empty)).unwrap_err().contains("no range of nats"));
        }
    }
}
