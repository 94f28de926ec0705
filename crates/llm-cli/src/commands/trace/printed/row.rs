//! The whole row of weights, and the values they weigh.

use super::numbers::list;
use super::{Line, Printed, lines, number};
use llm_lens::trace::{Place, Walk};

impl Printed<'_> {
    pub(super) fn softmax(&mut self) {
        let Walk { row, sizes, place, .. } = self.walk;
        let (t, i) = (sizes.seq_len, place.query);
        let first = sizes.score(Place { key: 0, ..*place });
        let span = Self::span(first, t);
        self.title(
            &format!("Softmax of row i = {i} over all j, scores[{span}]"),
            &format!("第 i = {i} 行对所有 j 做 softmax，scores[{span}]"),
        );
        self.line(format!("P[j] = e^(S[j] - max)/sum, max = {}", number(row.max)));
        let mut rows = vec![["j", "S", "e^S", "e^(S - max)", "P", ""].map(String::from).to_vec()];
        for line in lines(t, self.all, &[i, place.key]) {
            rows.push(match line {
                Line::More(n) => vec![self.more(n)],
                Line::At(j) => vec![
                    j.to_string(),
                    number(row.scores[j]),
                    number(row.scores[j].exp()),
                    number(row.exps[j]),
                    number(row.probs[j]),
                    self.token(j),
                ],
            });
        }
        let plain: f64 = row.scores.iter().map(|s| s.exp()).sum();
        let total: f64 = row.probs.iter().sum();
        let sums = [plain, row.sum, total].map(number);
        let mut last = vec![self.lang.pick("sum", "Σ").to_string(), String::new()];
        last.extend(sums);
        rows.push(last);
        self.table(&rows);
        self.line(format!("P = {}", list(&row.probs, self.all)));
        let kept = number(row.max + row.sum.ln());
        self.say(
            format!("the fast kernel keeps only ln sum e^S = {kept} of this row"),
            format!("这一行里，快速核函数只留下 ln Σ e^S = {kept}"),
        );
    }

    pub(super) fn weighted_sum(&mut self) {
        let walk = self.walk;
        let (d, place) = (walk.sizes.head_dim, walk.place);
        let (en, zh) = match walk.one_head {
            true => (
                "att[b, i, :] = sum over j of P[j]*v[b, j, :]",
                "att[b, i, :] = Σ_j P[j]*v[b, j, :]",
            ),
            false => (
                "att[b, i, h, :] = sum over j of P[j]*v[b, j, h, :]",
                "att[b, i, h, :] = Σ_j P[j]*v[b, j, h, :]",
            ),
        };
        self.title(&format!("Weighted sum: {en}"), &format!("加权求和：{zh}"));
        let mut rows = vec![["j", "P", "v", ""].map(String::from).to_vec()];
        for line in lines(walk.values.len(), self.all, &[place.query, place.key]) {
            rows.push(match line {
                Line::More(n) => vec![self.more(n)],
                Line::At(j) => {
                    let values: Vec<f64> = walk.values[j].iter().map(|&v| v.into()).collect();
                    vec![
                        j.to_string(),
                        number(walk.row.probs[j]),
                        format!("v[{}]", Self::span(walk.value_offsets[j], d)),
                        format!("= {}", list(&values, self.all)),
                    ]
                }
            });
        }
        self.table(&rows);
        if !walk.head_used {
            self.say(
                "this head is switched off: zeros are stored in place of the sum",
                "这个头已关闭：存入的是零，而不是这个和",
            );
        }
        let att = list(&walk.row.att, self.all);
        let name = if walk.one_head { "att" } else { "att_h" };
        self.line(format!("{name}[i] = {att}"));
    }

    /// The token at a position, where there are tokens.
    fn token(&self, at: usize) -> String {
        let tokens = self.walk.tokens.as_deref().unwrap_or_default();
        tokens.get(at).map(|token| token.text.clone()).unwrap_or_default()
    }
}
