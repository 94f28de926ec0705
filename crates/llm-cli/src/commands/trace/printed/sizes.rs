//! What is traced, how large everything is, where q, k and v come from.

use super::Printed;
use crate::messages::trace as say;
use llm_report::Bilingual;

impl Printed<'_> {
    pub(super) fn opening(&mut self) {
        let walk = self.walk;
        let (letters, here) = (self.index(["b", "h", "i", "j"]), self.here());
        self.text = self.lang.of(say::opening(letters, here)) + "\n";
        match (walk.layer, &walk.tokens) {
            (Some(layer), Some(tokens)) => {
                self.say(say::layer(layer));
                for (letter, at) in [("i", walk.place.query), ("j", walk.place.key)] {
                    let Some(token) = tokens.get(at) else { continue };
                    self.say(say::token(letter, at, &token.text, token.id));
                }
            }
            _ => self.say(say::built_in()),
        }
        if !walk.head_used {
            self.say(say::head_is_off(walk.place.head));
        }
    }

    pub(super) fn sizes(&mut self) {
        let s = self.walk.sizes;
        self.title(say::sizes());
        let mut rows = vec![
            ("B", s.batch_size, say::sequences()),
            ("T", s.seq_len, say::positions()),
            ("C", s.d_model, say::channels()),
            ("H", s.n_heads, say::heads()),
        ];
        if let Some(groups) = s.kv_heads {
            rows.push(("G", groups, say::groups(s.group(self.walk.place.head))));
        }
        let is_plain = s.n_heads * s.head_dim == s.d_model;
        let channels = if is_plain { say::head_channels() } else { say::own_head_channels() };
        rows.push(("D", s.head_dim, channels));
        if let Some(window) = self.walk.attention.window {
            rows.push(("W", window, say::window()));
        }
        if self.walk.one_head {
            rows.truncate(3);
        }
        let row = |(letter, n, what): (&str, usize, Bilingual)| {
            vec![format!("{letter} = {n}"), self.lang.of(what)]
        };
        let rows: Vec<_> = rows.into_iter().map(row).collect();
        self.table(&rows);
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
            row("q", "[B, T, H, D]", &[b, t, h, d], self.lang.of(say::columns_of(q))),
            row("k", "[B, T, G, D]", &[b, t, g, d], self.lang.of(say::columns_of(k))),
            row("v", "[B, T, G, D]", &[b, t, g, d], self.lang.of(say::columns_of(v))),
        ];
        if self.walk.attention.qk_norm {
            rows.push(row("q, k", "", &[d], self.lang.of(say::normed())));
        }
        let project = format!("att*w_proj, w_proj [HD, C] = [{joined}, {c}]");
        rows.push(row("S, P", "[B, H, T, T]", &[b, h, t, t], String::new()));
        rows.push(row("att", "[B, T, H, D]", &[b, t, h, d], String::new()));
        rows.push(row("out", "[B, T, C]", &[b, t, c], project));
        self.title(say::shapes());
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
        let (none, words) = (String::new, |note: Bilingual| self.lang.of(note));
        let mut rows = vec![
            row("x", "[B, T, C]", &[b, t, c], none()),
            row("qkv", "[B, T, 3C]", &[b, t, c3], qkv),
            row("q, k, v", "[B, T, C]", &[b, t, c], words(say::columns(q, k, v))),
        ];
        let project = format!("att*w_proj + b_proj, w_proj [C, C] = [{c}, {c}]");
        if self.walk.one_head {
            rows.push(row("S, P", "[B, T, T]", &[b, t, t], none()));
            rows.push(row("att", "[B, T, C]", &[b, t, c], none()));
        } else {
            rows.push(row("q, k, v", "[B, T, H, D]", &[b, t, h, d], words(say::same_buffer())));
            rows.push(row("S, P", "[B, H, T, T]", &[b, h, t, t], none()));
            rows.push(row("att", "[B, T, H, D]", &[b, t, h, d], none()));
            rows.push(row("att", "[B, T, C]", &[b, t, c], words(say::side_by_side())));
        }
        rows.push(row("out", "[B, T, C]", &[b, t, c], project));
        self.title(say::shapes());
        self.table(&rows);
    }

    pub(super) fn projection(&mut self) {
        let walk = self.walk;
        self.title(say::projection());
        let name = format!("q[{}]", walk.offsets.q);
        self.sum([&name, "x", "w_qkv", "b_qkv"], &walk.projection);
    }
}

/// The shape of one.
fn row(name: &str, letters: &str, shape: &[usize], note: String) -> Vec<String> {
    vec![name.into(), letters.into(), format!("= {shape:?}"), note]
}
