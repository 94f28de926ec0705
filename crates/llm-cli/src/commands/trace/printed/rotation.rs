//! The first pair of channels of the query and of the key, turned by their positions.

use super::{Printed, number};
use llm_core::message;
use llm_lens::trace::{Rotation, Turn};

impl Printed<'_> {
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
}
