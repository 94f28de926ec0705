//! What is looked at, how large everything is, where q, k and v come from.

use super::Printed;

impl Printed<'_> {
    pub(super) fn opening(&mut self) {
        let walk = self.walk;
        let (letters, here) = (self.index(["b", "h", "i", "j"]), self.here());
        self.text = self.lang.pick(
            format!("One score of attention, followed by hand: S{letters} = S{here}\n"),
            format!("手工追踪注意力的一个分数：S{letters} = S{here}\n"),
        );
        match (walk.layer, &walk.tokens) {
            (Some(layer), Some(tokens)) => {
                self.say(format!("layer {layer}"), format!("第 {layer} 层"));
                for (letter, at) in [("i", walk.place.query), ("j", walk.place.key)] {
                    let Some(token) = tokens.get(at) else { continue };
                    self.say(
                        format!("{letter} = {at}: token {} (id {})", token.text, token.id),
                        format!("{letter} = {at}：词元 {}（编号 {}）", token.text, token.id),
                    );
                }
            }
            _ => self.say(
                "the built-in example: x and the weights are such that q, k, v are small integers",
                "内置示例：x 与权重的取值使 q、k、v 都是小整数",
            ),
        }
        if !walk.head_used {
            let h = walk.place.head;
            self.say(
                format!("head {h} is switched off in this model: its output is zeros"),
                format!("这个模型里第 {h} 个头已关闭：它的输出全是零"),
            );
        }
    }

    pub(super) fn sizes(&mut self) {
        let s = self.walk.sizes;
        self.title("Sizes", "尺寸");
        let mut rows = vec![
            ("B", s.batch_size, "sequences", "序列数"),
            ("T", s.seq_len, "positions", "位置数"),
            ("C", s.d_model, "channels (d_model)", "通道数（d_model）"),
            ("H", s.n_heads, "heads (n_heads)", "头数（n_heads）"),
            (
                "D",
                s.head_dim,
                "channels of a head, C/H (head_dim)",
                "每个头的通道数，C/H（head_dim）",
            ),
        ];
        if self.walk.one_head {
            rows.truncate(3);
        }
        let rows = rows.into_iter().map(|(letter, n, en, zh)| {
            vec![format!("{letter} = {n}"), self.lang.pick(en, zh).to_string()]
        });
        self.table(&rows.collect::<Vec<_>>());
    }

    pub(super) fn shapes(&mut self) {
        let s = self.walk.sizes;
        let [b, t, c, h, d] = [s.batch_size, s.seq_len, s.d_model, s.n_heads, s.head_dim];
        let c3 = 3 * c;
        let [q, k, v] = [0, c, 2 * c].map(|from| Self::span(from, c));
        let qkv = format!("x*w_qkv + b_qkv, w_qkv [C, 3C] = [{c}, {c3}]");
        let row = |name: &str, letters: &str, shape: &[usize], en: &str, zh: &str| {
            let note = self.lang.pick(en, zh).to_string();
            vec![name.into(), letters.into(), format!("= {shape:?}"), note]
        };
        let mut rows = vec![
            row("x", "[B, T, C]", &[b, t, c], "", ""),
            row("qkv", "[B, T, 3C]", &[b, t, c3], &qkv, &qkv),
            row(
                "q, k, v",
                "[B, T, C]",
                &[b, t, c],
                &format!("columns {q}, {k}, {v} of qkv"),
                &format!("qkv 的第 {q}、{k}、{v} 列"),
            ),
        ];
        let project = format!("att*w_proj + b_proj, w_proj [C, C] = [{c}, {c}]");
        if self.walk.one_head {
            rows.push(row("S, P", "[B, T, T]", &[b, t, t], "", ""));
            rows.push(row("att", "[B, T, C]", &[b, t, c], "", ""));
        } else {
            rows.push(row(
                "q, k, v",
                "[B, T, H, D]",
                &[b, t, h, d],
                "a view: the same buffer, no number moves",
                "视图：同一块存储，数据不动",
            ));
            rows.push(row("S, P", "[B, H, T, T]", &[b, h, t, t], "", ""));
            rows.push(row("att", "[B, T, H, D]", &[b, t, h, d], "", ""));
            rows.push(row(
                "att",
                "[B, T, C]",
                &[b, t, c],
                "a view: the heads side by side",
                "视图：各个头并排",
            ));
        }
        rows.push(row("out", "[B, T, C]", &[b, t, c], &project, &project));
        self.title("Shapes on the way", "一路上的形状");
        self.table(&rows);
    }

    pub(super) fn projection(&mut self) {
        let walk = self.walk;
        self.title(
            "From x to q: the first number of the query's row (the others, k and v likewise)",
            "从 x 到 q：查询行的第一个数（其余的数以及 k、v 也一样）",
        );
        let name = format!("q[{}]", walk.offsets.q);
        self.sum([&name, "x", "w_qkv", "b_qkv"], &walk.projection);
    }
}
