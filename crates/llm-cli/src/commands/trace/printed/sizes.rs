//! What is traced, how large everything is, where q, k and v come from.

use super::Printed;
use crate::messages::said;
use llm_core::message;

impl Printed<'_> {
    pub(super) fn opening(&mut self) {
        let walk = self.walk;
        let (letters, here) = (self.index(["b", "h", "i", "j"]), self.here());
        let what = message!("One score of attention, followed by hand: S{} = S{}", letters, here);
        self.text = said(what) + "\n";
        match (walk.layer, &walk.tokens) {
            (Some(layer), Some(tokens)) => {
                self.say(message!("layer {}", layer));
                for (letter, at) in [("i", walk.place.query), ("j", walk.place.key)] {
                    let Some(token) = tokens.get(at) else { continue };
                    let (text, id) = (&token.text, token.id);
                    self.say(message!("{} = {}: token {} (id {})", letter, at, text, id));
                }
            }
            _ => self.say(
                "the built-in example: x and the weights are such that q, k, v are small integers",
            ),
        }
        if !walk.head_used {
            let head = walk.place.head;
            self.say(message!("head {} is switched off in this model: its output is zeros", head));
        }
    }

    pub(super) fn sizes(&mut self) {
        let s = self.walk.sizes;
        self.title("Sizes");
        let mut rows = vec![
            ("B", s.batch_size, message!("sequences")),
            ("T", s.seq_len, message!("positions")),
            ("C", s.d_model, message!("channels (d_model)")),
            ("H", s.n_heads, message!("heads (n_heads)")),
        ];
        if let Some(groups) = s.kv_heads {
            let own = s.group(self.walk.place.head);
            let what =
                message!("heads of keys and values (kv_heads); this head reads number {}", own);
            rows.push(("G", groups, what));
        }
        let is_plain = s.n_heads * s.head_dim == s.d_model;
        let channels = match is_plain {
            true => message!("channels of a head, C/H (head_dim)"),
            false => message!("channels of a head (head_dim)"),
        };
        rows.push(("D", s.head_dim, channels));
        if let Some(window) = self.walk.attention.window {
            rows.push(("W", window, message!("positions that a query sees, its own among them")));
        }
        if self.walk.one_head {
            rows.truncate(3);
        }
        let rows = rows.into_iter().map(|(of, n, what)| vec![format!("{of} = {n}"), said(what)]);
        self.table(&rows.collect::<Vec<_>>());
    }

    /// The shapes with heads of another number or width.
    fn grouped_shapes(&mut self) {
        let s = self.walk.sizes;
        let [b, t, c, h, d] = [s.batch_size, s.seq_len, s.d_model, s.n_heads, s.head_dim];
        let (g, wide, joined) = (s.groups(), s.qkv_width(), h * d);
        let qkv = format!("x*w_qkv, w_qkv [C, (H+2G)D] = [{c}, {wide}]");
        let q = Self::span(0, joined);
        let [k, v] = [joined, joined + g * d].map(|from| Self::span(from, g * d));
        let mut rows = vec![
            row("x", "[B, T, C]", &[b, t, c], String::new()),
            row("qkv", "[B, T, (H+2G)D]", &[b, t, wide], qkv),
            row("q", "[B, T, H, D]", &[b, t, h, d], said(message!("columns {} of qkv", q))),
            row("k", "[B, T, G, D]", &[b, t, g, d], said(message!("columns {} of qkv", k))),
            row("v", "[B, T, G, D]", &[b, t, g, d], said(message!("columns {} of qkv", v))),
        ];
        if self.walk.attention.qk_norm {
            let normed = said("each row divided by its root mean square, times a gain");
            rows.push(row("q, k", "", &[d], normed));
        }
        let project = format!("att*w_proj, w_proj [HD, C] = [{joined}, {c}]");
        rows.push(row("S, P", "[B, H, T, T]", &[b, h, t, t], String::new()));
        rows.push(row("att", "[B, T, H, D]", &[b, t, h, d], String::new()));
        rows.push(row("out", "[B, T, C]", &[b, t, c], project));
        self.title("Shapes on the way");
        self.table(&rows);
    }

    pub(super) fn shapes(&mut self) {
        if !self.walk.attention.is_plain() {
            return self.grouped_shapes();
        }
        let s = self.walk.sizes;
        let [b, t, c, h, d] = [s.batch_size, s.seq_len, s.d_model, s.n_heads, s.head_dim];
        let c3 = 3 * c;
        let [q, k, v] = [0, c, 2 * c].map(|from| Self::span(from, c));
        let qkv = format!("x*w_qkv + b_qkv, w_qkv [C, 3C] = [{c}, {c3}]");
        let (none, columns) = (String::new, message!("columns {}, {}, {} of qkv", q, k, v));
        let mut rows = vec![
            row("x", "[B, T, C]", &[b, t, c], none()),
            row("qkv", "[B, T, 3C]", &[b, t, c3], qkv),
            row("q, k, v", "[B, T, C]", &[b, t, c], said(columns)),
        ];
        let project = format!("att*w_proj + b_proj, w_proj [C, C] = [{c}, {c}]");
        if self.walk.one_head {
            rows.push(row("S, P", "[B, T, T]", &[b, t, t], none()));
            rows.push(row("att", "[B, T, C]", &[b, t, c], none()));
        } else {
            let view = said("a view: the same buffer, no number moves");
            rows.push(row("q, k, v", "[B, T, H, D]", &[b, t, h, d], view));
            rows.push(row("S, P", "[B, H, T, T]", &[b, h, t, t], none()));
            rows.push(row("att", "[B, T, H, D]", &[b, t, h, d], none()));
            rows.push(row("att", "[B, T, C]", &[b, t, c], said("a view: the heads side by side")));
        }
        rows.push(row("out", "[B, T, C]", &[b, t, c], project));
        self.title("Shapes on the way");
        self.table(&rows);
    }

    pub(super) fn projection(&mut self) {
        let walk = self.walk;
        self.title(
            "From x to q: the first number of the query's row (the others, k and v likewise)",
        );
        let name = format!("q[{}]", walk.offsets.q);
        self.sum([&name, "x", "w_qkv", "b_qkv"], &walk.projection);
    }
}

/// The shape of one.
fn row(name: &str, letters: &str, shape: &[usize], note: String) -> Vec<String> {
    vec![name.into(), letters.into(), format!("= {shape:?}"), note]
}
