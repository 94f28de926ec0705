//! The first pair of channels of the query and of the key, turned by their positions.

use super::{Printed, number};
use crate::messages::trace as say;
use llm_lens::trace::{Rotation, Turn};

impl Printed<'_> {
    pub(super) fn rotation(&mut self) {
        let Some(rotation) = self.walk.rotation else { return };
        let Rotation { theta, width, scaled, pair: [first, second], query, key } = rotation;
        self.title(say::rotation());
        self.say(say::pairs(width, first, second, number(theta)));
        if let Some(frequency) = scaled {
            self.say(say::scaled_frequencies(number(frequency)));
        }
        let at = self.walk.offsets;
        for (name, row, turn) in [("q", at.q, query), ("k", at.k, key)] {
            let Turn { position, angle, before: [a, b], after: [x, y] } = turn;
            let [cos, sin] = [angle.cos(), angle.sin()].map(number);
            self.say(say::angle(name, position, number(angle), &cos, &sin));
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
        let distance = query.position as f64 - key.position as f64;
        self.say(say::relative(number(distance)));
    }
}
