//! The losses as a picture.

use llm_core::base::thousands;
use llm_run::log::{Curves, Point};
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use std::io;

#[cfg(test)]
mod tests;

const SIZE: (u32, u32) = (1000, 600);
pub(crate) const FONT: &str = "sans-serif";
const TRAIN: RGBColor = RGBColor(31, 119, 180);
const VAL: RGBColor = RGBColor(214, 90, 20);
const NOTHING: RGBColor = RGBColor(110, 110, 110);
pub(crate) const FLOOR: RGBColor = RGBColor(44, 140, 60);
const DASH: u32 = 8;
const GAP: u32 = 5;
pub(crate) const GRID: RGBColor = RGBColor(225, 225, 225);

/// The losses as the text of an SVG file. `None`: there is no step, or nothing could be drawn.
pub fn loss_picture(curves: &Curves) -> Option<String> {
    draw(curves, &Frame::around(curves)?).ok()
}

/// What part of the plane is shown.
struct Frame {
    steps: std::ops::Range<f64>,
    bottom: f64,
    top: f64,
}

impl Frame {
    /// `None` when there is nothing to see.
    fn around(curves: &Curves) -> Option<Frame> {
        let all = || curves.train.iter().chain(&curves.val);
        let first = all().map(|p| p.0).reduce(f64::min)?;
        let last = all().map(|p| p.0).reduce(f64::max)?;
        // A spike may leave the picture at the top; a curve that is flattened says nothing.
        let (bottom, highest) =
            all().fold((0.0, 0.0), |(low, high): (f64, f64), p| (low.min(p.1), high.max(p.1)));
        let highest = match nothing(curves) {
            Some(nothing) => highest.clamp(nothing, 1.6 * nothing),
            None if highest > bottom => highest,
            None => 1.0,
        };
        Some(Frame { steps: first.min(last - 1.0)..last, bottom, top: 1.05 * highest })
    }

    /// The points, those outside brought to the edge.
    fn within<'a>(&self, points: &'a [Point]) -> impl Iterator<Item = Point> + Clone + 'a {
        let (bottom, top) = (self.bottom, self.top);
        points.iter().map(move |&(step, loss)| (step, loss.clamp(bottom, top)))
    }
}

/// ln V, where the loss is one of tokens.
fn nothing(curves: &Curves) -> Option<f64> {
    (curves.vocab_size > 1).then(|| (curves.vocab_size as f64).ln())
}

/// Why nothing was drawn.
pub(crate) type Failure = DrawingAreaErrorKind<io::Error>;
/// Where SVG is drawn.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw(curves: &Curves, frame: &Frame) -> Result<String, Failure> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        // The legend has a place of its own: inside, it would hide steps.
        let (above, below) = area.split_vertically(40);
        let mut chart = ChartBuilder::on(&below)
            .margin(8)
            .margin_right(32)
            .x_label_area_size(52)
            .y_label_area_size(64)
            .build_cartesian_2d(frame.steps.clone(), frame.bottom..frame.top)?;
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(BLACK.mix(0.6))
            .label_style((FONT, 16))
            .axis_desc_style((FONT, 18))
            .x_labels(8)
            .y_labels(8)
            .x_desc("step")
            .y_desc(if nothing(curves).is_some() { "loss (nats per token)" } else { "loss" })
            .x_label_formatter(&|step| thousands(step.max(0.0) as u64))
            .y_label_formatter(&|loss| format!("{loss:.1}"))
            .draw()?;

        let mut legend = Legend { area: &above, x: 72 };
        let (thin, thick) = (TRAIN.mix(0.35).stroke_width(1), TRAIN.stroke_width(2));
        for (points, style, label) in
            [(&curves.train, thin, "training loss"), (&curves.smooth, thick, "smoothed")]
        {
            chart.draw_series(LineSeries::new(frame.within(points), style))?;
            legend.entry(label, style, Mark::Line)?;
        }
        if !curves.val.is_empty() {
            let (line, points) = (VAL.stroke_width(2), || frame.within(&curves.val));
            chart.draw_series(LineSeries::new(points(), line))?;
            chart.draw_series(points().map(|p| Circle::new(p, 3, VAL.filled())))?;
            legend.entry("validation loss", line, Mark::Dots)?;
        }
        let label = |of: f64| format!("ln {} = {of:.2} (knows nothing)", curves.vocab_size);
        let nothing = nothing(curves).map(|of| (of, NOTHING, label(of)));
        let floor = curves.entropy_floor.map(|f| (f, FLOOR, format!("entropy floor = {f:.3}")));
        for (loss, color, label) in nothing.into_iter().chain(floor) {
            let (style, ends) = (color.stroke_width(2), [frame.steps.start, frame.steps.end]);
            let ends = ends.map(|step| (step, loss));
            chart.draw_series(DashedLineSeries::new(ends, DASH, GAP, style))?;
            legend.entry(&label, style, Mark::Dashes)?;
        }
        area.present()?;
    }
    Ok(svg)
}

/// A line of samples, each with its name.
struct Legend<'a, 'b> {
    area: &'a Area<'b>,
    /// Where the next one begins.
    x: i32,
}

#[derive(PartialEq)]
enum Mark {
    Line,
    Dots,
    Dashes,
}

impl Legend<'_, '_> {
    fn entry(&mut self, label: &str, style: ShapeStyle, mark: Mark) -> Result<(), Failure> {
        let (x, y) = (self.x, 24);
        let ends = [(x, y), (x + 26, y)];
        match mark {
            Mark::Dashes => self.area.draw(&DashedPathElement::new(ends, DASH, GAP, style))?,
            _ => self.area.draw(&PathElement::new(ends, style))?,
        }
        if mark == Mark::Dots {
            self.area.draw(&Circle::new((x + 13, y), 3, style.filled()))?;
        }
        self.area.draw(&Text::new(label.to_string(), (x + 33, y - 8), (FONT, 16)))?;
        // No font is at hand that could be measured: letters of this size are about this wide.
        self.x += 33 + 7 * label.chars().count() as i32 + 26;
        Ok(())
    }
}
