//! The whole row of weights, the values they weigh, where the head's output goes, and whether the
//! fast kernel agrees.

use super::numbers::list;
use super::{Printed, number};
use crate::messages::said;
use llm_core::message;
use llm_lens::trace::{Place, Walk};

impl Printed<'_> {
    pub(super) fn softmax(&mut self) {
        let Walk { row, sizes, place, .. } = self.walk;
        let (t, i) = (sizes.seq_len, place.query);
        let first = sizes.score(Place { key: 0, ..*place });
        let span = Self::span(first, t);
        self.title(message!("Softmax of row i = {} over all j, scores[{}]", i, span));
        self.line(format!("P[j] = e^(S[j] - max)/sum, max = {}", number(row.max)));
        let mut rows = vec![["j", "S", "e^S", "e^(S - max)", "P", ""].map(String::from).to_vec()];
        rows.extend(self.rows(t, &[i, place.key], |j| {
            let [s, exp, p] = [row.scores[j], row.exps[j], row.probs[j]];
            let [s, e_s, exp, p] = [s, s.exp(), exp, p].map(number);
            vec![j.to_string(), s, e_s, exp, p, self.token(j)]
        }));
        let plain: f64 = row.scores.iter().map(|s| s.exp()).sum();
        let total: f64 = row.probs.iter().sum();
        let sums = [plain, row.sum, total].map(number);
        rows.push([said("sum"), String::new()].into_iter().chain(sums).collect());
        self.table(&rows);
        self.line(format!("P = {}", list(&row.probs, self.all)));
        let kept = number(row.max + row.sum.ln());
        self.say(message!("the fast kernel keeps only ln sum e^S = {} of this row", kept));
    }

    pub(super) fn weighted_sum(&mut self) {
        let walk = self.walk;
        let (d, place) = (walk.sizes.head_dim, walk.place);
        self.title(self.one_or(
            "Weighted sum: att[b, i, :] = sum over j of P[j]*v[b, j, :]",
            "Weighted sum: att[b, i, h, :] = sum over j of P[j]*v[b, j, h, :]",
        ));
        let mut rows = vec![["j", "P", "v", ""].map(String::from).to_vec()];
        rows.extend(self.rows(walk.values.len(), &[place.query, place.key], |j| {
            let values: Vec<f64> = walk.values[j].iter().map(|&v| v.into()).collect();
            vec![
                j.to_string(),
                number(walk.row.probs[j]),
                format!("v[{}]", Self::span(walk.value_offsets[j], d)),
                format!("= {}", list(&values, self.all)),
            ]
        }));
        self.table(&rows);
        if !walk.head_used {
            self.say("this head is switched off: zeros are stored in place of the sum");
        }
        let att = list(&walk.row.att, self.all);
        let name = self.one_or("att", "att_h");
        self.line(format!("{name}[i] = {att}"));
    }

    pub(super) fn output(&mut self) {
        let walk = self.walk;
        let (s, at, place) = (walk.sizes, walk.offsets, walk.place);
        let [c, d] = [s.d_model, s.head_dim];
        let (span, out_span) = (Self::span(at.att, d), Self::span(at.out, c));
        self.title("Where it is stored, and the output projection");
        self.line(format!("{}    att[{span}]", self.row_formula('i', place.query)));
        if !walk.one_head {
            let (of, all) = (Self::span(place.head * d, d), &out_span);
            let seen = message!(
                "seen as [B, T, C]: channels {} of att[{}], from h*D on, D of them",
                of,
                all
            );
            self.say(seen);
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
        let [p, att] = [&kernel.probs, &kernel.att].map(|of| list(&numbers(of), self.all));
        let (dp, datt) = (kernel.probs_difference, kernel.att_difference);
        let [dp, datt] = [dp, datt].map(|d| format!("{d:.1e}"));
        self.title("What the fast kernel has, in f32");
        self.line(format!("P = {p}"));
        self.line(format!("att = {att}"));
        let here = self.here();
        let has = kernel.probs.get(walk.place.key).map_or("-".into(), |&p| number(p.into()));
        let verdict = match kernel.agrees {
            true => message!("no more than rounding"),
            false => message!("MORE THAN ROUNDING"),
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

    /// The token at a position, where there are tokens.
    fn token(&self, at: usize) -> String {
        let tokens = self.walk.tokens.as_deref().unwrap_or_default();
        tokens.get(at).map(|token| token.text.clone()).unwrap_or_default()
    }
}
