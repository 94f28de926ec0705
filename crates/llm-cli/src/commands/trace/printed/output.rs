//! Where the head's output goes, and whether the fast kernel agrees.

use super::numbers::list;
use super::{Printed, number};
use crate::messages::trace as say;

impl Printed<'_> {
    pub(super) fn output(&mut self) {
        let walk = self.walk;
        let (s, at, place) = (walk.sizes, walk.offsets, walk.place);
        let [c, d] = [s.d_model, s.head_dim];
        let (span, out_span) = (Self::span(at.att, d), Self::span(at.out, c));
        self.title(say::output());
        self.line(format!("{}    att[{span}]", self.row_formula('i', place.query)));
        if !walk.one_head {
            let channels = Self::span(place.head * d, d);
            self.say(say::seen_as_channels(channels, &out_span));
            self.say(say::all_heads(list(&walk.att, self.all)));
        }
        self.say(say::projected());
        let name = format!("out[{}]", at.out);
        self.sum([&name, "att", "w_proj", "b_proj"], &walk.out_first);
        self.line(format!("out[{out_span}] = {}", list(&walk.out, self.all)));
    }

    pub(super) fn kernel(&mut self) {
        let walk = self.walk;
        let kernel = &walk.kernel;
        let numbers = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
        let (p, att) =
            (list(&numbers(&kernel.probs), self.all), list(&numbers(&kernel.att), self.all));
        let [dp, datt] =
            [kernel.probs_difference, kernel.att_difference].map(|d| format!("{d:.1e}"));
        self.title(say::kernel());
        self.line(format!("P = {p}"));
        self.line(format!("att = {att}"));
        let here = self.here();
        let has = kernel.probs.get(walk.place.key).map_or("-".into(), |&p| number(p.into()));
        self.say(match kernel.agrees {
            true => say::kernel_agrees(here, has, dp, datt),
            false => say::kernel_differs(here, has, dp, datt),
        });
    }
}
