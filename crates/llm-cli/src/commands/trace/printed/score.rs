//! Where query and key lie, their product, the score.

use super::{Printed, number};
use llm_lens::trace::Place;

impl Printed<'_> {
    pub(super) fn places(&mut self) {
        let (s, at) = (self.walk.sizes, self.walk.offsets);
        let Place { batch_index: b, head: h, query: i, key: j } = self.walk.place;
        let [t, c, d] = [s.seq_len, s.d_model, s.head_dim];
        let names =
            if self.walk.one_head { ["qi", "kj", "vj"] } else { ["q_base", "k_base", "v_base"] };
        self.title("Where the rows of i and j begin", "i 与 j 的行从哪里开始");
        let mut rows = Vec::new();
        let mut inside = Vec::new();
        for (part, (name, own, in_qkv)) in
            [("q", at.q, at.q_in_qkv), ("k", at.k, at.k_in_qkv), ("v", at.v, at.v_in_qkv)]
                .into_iter()
                .enumerate()
        {
            let (letter, position) = if part == 0 { ('i', i) } else { ('j', j) };
            let (span, span_in_qkv) = (Self::span(own, d), Self::span(in_qkv, d));
            rows.push(vec![
                names[part].to_string(),
                format!("= {}", self.row_formula(letter, position)),
                format!("{name}[{span}]"),
            ]);
            let column = if self.walk.one_head { String::new() } else { format!(" + {h}*{d}") };
            inside.push(vec![
                name.to_string(),
                format!("({b}*{t} + {position})*{} + {part}*{c}{column} = {in_qkv}", 3 * c),
                format!("qkv[{span_in_qkv}]"),
            ]);
        }
        self.table(&rows);
        let head = if self.walk.one_head { "" } else { " + h*D" };
        self.say(
            format!("the same inside qkv [B, T, 3C]: (b*T + t)*3C + part*C{head}"),
            format!("同样的数在 qkv [B, T, 3C] 里：(b*T + t)*3C + part*C{head}"),
        );
        self.table(&inside);
    }

    pub(super) fn product(&mut self) {
        self.title(
            "Dot product: number by number, the two rows multiplied and added up",
            "点积：两行逐个相乘，再加起来",
        );
        self.sum(["dot", "q", "k", ""], &self.walk.dot);
    }

    pub(super) fn score(&mut self) {
        let walk = self.walk;
        let (s, off) = (walk.sizes, walk.offsets.score);
        let Place { batch_index: b, head: h, query: i, key: j } = walk.place;
        let (t, root) = (s.seq_len, if walk.one_head { "C" } else { "D" });
        self.title("Scale, mask, and where the score is stored", "缩放、遮挡，以及分数存到哪里");
        let scale = format!("1/√{root} = 1/√{} = {}", s.head_dim, number(walk.scale));
        self.say(
            format!("scale  {scale} (a product with the reciprocal, no division)"),
            format!("缩放因子  {scale}（乘以倒数，不用除法）"),
        );
        let product = format!("{} * {}", number(walk.dot.value), number(walk.scale));
        let scaled = number(walk.scaled);
        self.say(format!("scaled  {product} = {scaled}"), format!("缩放后  {product} = {scaled}"));
        if walk.masked {
            self.say(
                format!(
                    "mask  j = {j} > i = {i}: hidden; -1e9 is written in its place, before softmax"
                ),
                format!("遮挡  j = {j} > i = {i}：被遮住；softmax 之前在这里写入 -1e9"),
            );
            self.say(
                "so its weight is 0, v[j] adds nothing, and no gradient flows through this pair",
                "所以它的权重是 0，v[j] 不起作用，也没有梯度流过这一对",
            );
        } else {
            self.say(
                format!("mask  j = {j} <= i = {i}: allowed, nothing is changed"),
                format!("遮挡  j = {j} <= i = {i}：允许看，不改动"),
            );
        }
        let formula = if walk.one_head {
            format!("(b*T + i)*T + j = ({b}*{t} + {i})*{t} + {j} = {off}")
        } else {
            let big_h = s.n_heads;
            format!("((b*H + h)*T + i)*T + j = (({b}*{big_h} + {h})*{t} + {i})*{t} + {j} = {off}")
        };
        self.line(format!("off = {formula}"));
        self.line(format!("scores[{off}] = S{} = {}", self.here(), number(walk.score)));
    }
}
