//! Where the head's output goes, and whether the fast kernel agrees.

use super::numbers::list;
use super::{Printed, number};

impl Printed<'_> {
    pub(super) fn output(&mut self) {
        let walk = self.walk;
        let (s, at, place) = (walk.sizes, walk.offsets, walk.place);
        let [c, d] = [s.d_model, s.head_dim];
        let (span, out_span) = (Self::span(at.att, d), Self::span(at.out, c));
        self.title("Where it is stored, and the output projection", "存到哪里，以及输出投影");
        self.line(format!("{}    att[{span}]", self.row_formula('i', place.query)));
        if !walk.one_head {
            let channels = Self::span(place.head * d, d);
            self.say(
                format!("seen as [B, T, C]: channels {channels} of att[{out_span}], from h*D on, D of them"),
                format!("按 [B, T, C] 看：第 {channels} 个通道，在 att[{out_span}] 这一行里，从 h*D 开始，共 D 个"),
            );
            let row = list(&walk.att, self.all);
            self.say(
                format!("all heads side by side  att[b, i, :] = {row}"),
                format!("所有的头并排  att[b, i, :] = {row}"),
            );
        }
        self.say(
            "out[b, i, :] = att[b, i, :]*w_proj + b_proj; its first number:",
            "out[b, i, :] = att[b, i, :]*w_proj + b_proj；其中第一个数：",
        );
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
        let judgement = match kernel.agrees {
            true => self.lang.pick("no more than rounding", "不超过舍入误差"),
            false => self.lang.pick("MORE THAN ROUNDING", "超过了舍入误差"),
        };
        self.title("What the fast kernel has, in f32", "快速核函数（f32）得到的数");
        self.line(format!("P = {p}"));
        self.line(format!("att = {att}"));
        let here = self.here();
        let has = kernel.probs.get(walk.place.key).map_or("-".into(), |&p| number(p.into()));
        self.say(
            format!("P{here}: the kernel has {has}; largest difference in P {dp}, in att {datt}: {judgement}"),
            format!("P{here}：核函数得到 {has}；最大差异：P 为 {dp}，att 为 {datt}，{judgement}"),
        );
    }
}
