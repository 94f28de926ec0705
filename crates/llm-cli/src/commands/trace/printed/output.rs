//! Where the head's output goes, and whether the fast kernel agrees.

use super::numbers::list;
use super::{Printed, number};
use llm_core::message;

impl Printed<'_> {
    pub(super) fn output(&mut self) {
        let walk = self.walk;
        let (s, at, place) = (walk.sizes, walk.offsets, walk.place);
        let [c, d] = [s.d_model, s.head_dim];
        let (span, out_span) = (Self::span(at.att, d), Self::span(at.out, c));
        self.title("Where it is stored, and the output projection");
        self.line(format!("{}    att[{span}]", self.row_formula('i', place.query)));
        if !walk.one_head {
            let channels = Self::span(place.head * d, d);
            self.say(message!(
                "seen as [B, T, C]: channels {} of att[{}], from h*D on, D of them",
                channels,
                &out_span
            ));
            let att = list(&walk.att, self.all);
            self.say(message!("all heads side by side  att[b, i, :] = {}", att));
        }
        self.say("out[b, i, :] = att[b, i, :]*w_proj + b_proj; its first number:");
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
        self.title("What the fast kernel has, in f32");
        self.line(format!("P = {p}"));
        self.line(format!("att = {att}"));
        let here = self.here();
        let has = kernel.probs.get(walk.place.key).map_or("-".into(), |&p| number(p.into()));
        let verdict = if kernel.agrees {
            message!("no more than rounding")
        } else {
            message!("MORE THAN ROUNDING")
        };
        self.say(message!(
            "P{}: the kernel has {}; largest difference in P {}, in att {}: {}",
            here,
            has,
            dp,
            datt,
            verdict
        ));
    }
}
