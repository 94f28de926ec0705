//! Where query and key lie, how they are turned, their product, the score.

use super::{Printed, number};
use llm_core::message;
use llm_lens::trace::{Place, Rotation, Turn};

impl Printed<'_> {
    pub(super) fn places(&mut self) {
        let (s, at) = (self.walk.sizes, self.walk.offsets);
        let Place { batch_index: b, head: h, query: i, key: j } = self.walk.place;
        let [t, c, d] = [s.seq_len, s.d_model, s.head_dim];
        let names =
            if self.walk.one_head { ["qi", "kj", "vj"] } else { ["q_base", "k_base", "v_base"] };
        self.title("Where the rows of i and j begin");
        let mut rows = Vec::new();
        let mut inside = Vec::new();
        for (part, (name, own, in_qkv)) in
            [("q", at.q, at.q_in_qkv), ("k", at.k, at.k_in_qkv), ("v", at.v, at.v_in_qkv)]
                .into_iter()
                .enumerate()
        {
            let (letter, position) = if part == 0 { ('i', i) } else { ('j', j) };
            let (span, span_in_qkv) = (Self::span(own, d), Self::span(in_qkv, d));
            let formula = match part {
                0 => self.row_formula(letter, position),
                _ => self.key_formula(letter, position),
            };
            rows.push(vec![
                names[part].to_string(),
                format!("= {formula}"),
                format!("{name}[{span}]"),
            ]);
            let column = if self.walk.one_head { String::new() } else { format!(" + {h}*{d}") };
            let place = match self.walk.attention.is_plain() {
                true => format!("({b}*{t} + {position})*{} + {part}*{c}{column} = {in_qkv}", 3 * c),
                false => {
                    let (all, g) = (s.n_heads, s.groups());
                    let head = [h, all + s.group(h), all + g + s.group(h)][part];
                    let width = s.qkv_width();
                    format!("({b}*{t} + {position})*{width} + {head}*{d} = {in_qkv}")
                }
            };
            inside.push(vec![name.to_string(), place, format!("qkv[{span_in_qkv}]")]);
        }
        self.table(&rows);
        let head = if self.walk.one_head { "" } else { " + h*D" };
        self.say(match self.walk.attention.is_plain() {
            true => message!("the same inside qkv [B, T, 3C]: (b*T + t)*3C + part*C{}", head),
            false => message!(
                "the same inside qkv, where {} heads of q come first, then {} of k and {} of v",
                s.n_heads,
                s.groups(),
                s.groups()
            ),
        });
        self.table(&inside);
    }

    /// The first pair of channels of the query and of the key, turned by their positions.
    pub(super) fn rotation(&mut self) {
        let Some(rotation) = self.walk.rotation else { return };
        let Rotation { theta, width, scaled, pair: [first, second], query, key } = rotation;
        self.title("Rotation: the first pair of channels");
        self.say(message!(
            "pairs are {}/2 channels apart; pair 0 is channels {} and {}, and turns by \
             position * {}^(-0/{}) = position radians",
            width,
            first,
            second,
            number(theta),
            width
        ));
        if let Some(frequency) = scaled {
            let f = number(frequency);
            self.say(message!("frequencies are scaled for longer texts; that of pair 0 is {}", f));
        }
        let at = self.walk.offsets;
        for (name, row, turn) in [("q", at.q, query), ("k", at.k, key)] {
            let Turn { position, angle, before: [a, b], after: [x, y] } = turn;
            let [angle, cos, sin] = [angle, angle.cos(), angle.sin()].map(number);
            let at = message!("{} at position {}", name, position);
            self.say(message!("{}: {} rad, cos {}, sin {}", at, angle, &cos, &sin));
            let [a, b] = [a, b].map(number);
            let rows = [
                (first, format!("{a}*{cos} - {b}*{sin}"), x),
                (second, format!("{a}*{sin} + {b}*{cos}"), y),
            ];
            let rows = rows.map(|(channel, product, sum)| {
                let name = format!("{name}[{}]", row + channel);
                vec![name, format!("= {product}"), format!("= {}", number(sum))]
            });
            self.table(&rows);
        }
        let far = number(query.position as f64 - key.position as f64);
        self.say(message!("the product of the two pairs depends on the distance alone: {}", far));
    }

    pub(super) fn product(&mut self) {
        self.title("Dot product: number by number, the two rows multiplied and added up");
        self.sum(["dot", "q", "k", ""], &self.walk.dot);
    }

    pub(super) fn score(&mut self) {
        let walk = self.walk;
        let (s, off) = (walk.sizes, walk.offsets.score);
        let Place { batch_index: b, head: h, query: i, key: j } = walk.place;
        let (t, root) = (s.seq_len, if walk.one_head { "C" } else { "D" });
        self.title("Scale, mask, and where the score is stored");
        let scale = format!("1/√{root} = 1/√{} = {}", s.head_dim, number(walk.scale));
        self.say(message!("scale  {} (a product with the reciprocal, no division)", scale));
        let product = format!("{} * {}", number(walk.dot.value), number(walk.scale));
        self.say(message!("scaled  {} = {}", product, number(walk.scaled)));
        if let (Some(c), Some(capped)) = (walk.attention.soft_cap, walk.capped) {
            let [c, scaled, capped] = [c, walk.scaled, capped].map(number);
            self.say(message!("soft cap  {} = {}", format!("{c} * tanh({scaled} / {c})"), capped));
        }
        if walk.masked {
            self.say(match walk.attention.window.filter(|_| j <= i) {
                Some(window) => message!(
                    "mask  j = {} <= i - W = {} - {}: outside the window; -1e9 is written in its place",
                    j,
                    i,
                    window
                ),
                None => message!(
                    "mask  j = {} > i = {}: hidden; -1e9 is written in its place, before softmax",
                    j,
                    i
                ),
            });
            self.say(
                "so its weight is 0, v[j] adds nothing, and no gradient flows through this pair",
            );
        } else {
            self.say(message!("mask  j = {} <= i = {}: allowed, nothing is changed", j, i));
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
