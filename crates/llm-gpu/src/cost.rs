//! What the calls of a plan cost, by their sizes alone.

use crate::ops::{flash_products, product_costs};
use crate::plan::{Call, Part, Plan, Use};
use std::collections::BTreeSet;
use std::iter::Sum;
use std::ops::Add;

/// What calls cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Multiplications and additions of products and attention.
    pub flops: f64,
    /// Bytes that are read or written, of each call's operands once.
    pub bytes: f64,
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost { flops: self.flops + other.flops, bytes: self.bytes + other.bytes }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(all: I) -> Cost {
        all.fold(Cost::default(), Add::add)
    }
}

impl Plan {
    /// What the calls of a step of n micro-batches cost, by kernel; what is clipped by the host is left out.
    pub fn costs(&self, micro_batches: u32) -> Vec<(&'static str, usize, Cost)> {
        let mut all: Vec<(&'static str, usize, Cost)> = Vec::new();
        for (part, calls) in self.parts.iter().filter(|(part, _)| *part != Part::Clip) {
            let times = match part {
                Part::Gradient | Part::Sum => micro_batches,
                _ => 1,
            };
            for call in &self.calls[calls.clone()] {
                let Cost { flops, bytes } = self.cost(call);
                let cost =
                    Cost { flops: flops * f64::from(times), bytes: bytes * f64::from(times) };
                match all.iter_mut().find(|(name, ..)| *name == call.kernel.name()) {
                    Some((_, n, sum)) => (*n, *sum) = (*n + times as usize, *sum + cost),
                    None => all.push((call.kernel.name(), times as usize, cost)),
                }
            }
        }
        all
    }

    /// What a call costs. Of arrays that all steps have only what is known to be read or written counts.
    pub fn cost(&self, call: &Call) -> Cost {
        let number = |i: usize| f64::from(call.sizes.get(i).copied().unwrap_or_default());
        let of = |kept: bool| -> f64 {
            let rooms: BTreeSet<_> = call.rooms.iter().map(|room| room.place()).collect();
            let rooms = rooms.into_iter().map(|room| &self.rooms[room]);
            rooms.filter(|(_, kind)| (*kind == Use::Passing) != kept).map(|of| of.0 as f64).sum()
        };
        let (flops, numbers) = match call.kernel.entry {
            "product" => {
                let [flops, bytes] = product_costs(call);
                return Cost { flops, bytes };
            }
            "of_parts" => {
                let pieces =
                    call.sizes.chunks(8).map(|of| f64::from(of[2]) * (f64::from(of[1]) + 1.0));
                (0.0, pieces.sum())
            }
            "back_to_tokens" | "pieces_to_tokens" | "back_to_places" => {
                (0.0, of(false) + number(3) * number(1))
            }
            "update" | "look_ahead" | "follow" | "squares" | "add_up" => {
                (0.0, of(false) + of(true))
            }
            _ => (flash_products(self, call), of(false)),
        };
        Cost { flops, bytes: 4.0 * numbers }
    }
}
