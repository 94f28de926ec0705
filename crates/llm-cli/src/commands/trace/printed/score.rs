//! Where query and key lie, how they are turned, their product, the score.

use super::{Printed, number};
use llm_core::message;
use llm_lens::trace::{Place, Rotation, Turn};

impl Printed<'_> {
    pub(super) fn places(&mut self) {
        let (s, at) = (self.walk.sizes, self.walk.offsets);
        let Place { batch_index: b, head: h, query: i, key: j } = self.walk.place;
        let [t, c, d] = [s.seq_len, s.d_model, s.head_dim];
        let names = self.one_or(["qi", "kj", "vj"], ["q_base", "k_base", "v_base"]);
        self.title("Where the rows of i and j begin");
        let (mut rows, mut inside) = (Vec::new(), Vec::new());
        let places = [("q", at.q, at.q_in_qkv), ("k", at.k, at.k_in_qkv), ("v", at.v, at.v_in_qkv)];
        for (part, (name, own, in_qkv)) in places.into_iter().enumerate() {
            let (position, formula) = match part {
                0 => (i, self.row_formula('i', i)),
                _ => (j, self.key_formula('j', j)),
            };
            let (span, span_in_qkv) = (Self::span(own, d), Self::span(in_qkv, d));
            let of = format!("{name}[{span}]");
            rows.push(vec![names[part].to_string(), format!("= {formula}"), of]);
            let column = self.one_or(String::new(), format!(" + {h}*{d}"));
            let first = s.n_heads + s.group(h);
            let head = [h, first, first + s.groups()][part];
            let within = match self.walk.attention.is_plain() {
                true => format!("{} + {part}*{c}{column}", 3 * c),
                false => format!("{} + {head}*{d}", s.qkv_width()),
            };
            let place = format!("({b}*{t} + {position})*{within} = {in_qkv}");
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
            let turned = |channel, product, sum| {
                let name = format!("{name}[{}]", row + channel);
                vec![name, format!("= {product}"), format!("= {}", number(sum))]
            };
            let rows = [
                turned(first, format!("{a}*{cos} - {b}*{sin}"), x),
                turned(second, format!("{a}*{sin} + {b}*{cos}"), y),
            ];
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
                Some(w) => message!(
                    "mask  j = {} <= i - W = {} - {}: outside the window; -1e9 is written in its place",
                    j,
                    i,
                    w
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
        let big_h = s.n_heads;
        let one = format!("(b*T + i)*T + j = ({b}*{t} + {i})*{t} + {j} = {off}");
        let several =
            format!("((b*H + h)*T + i)*T + j = (({b}*{big_h} + {h})*{t} + {i})*{t} + {j} = {off}");
        self.line(format!("off = {}", self.one_or(one, several)));
        self.line(format!("scores[{off}] = S{} = {}", self.here(), number(walk.score)));
    }
}
