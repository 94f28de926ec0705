//! Where in the model numbers are dropped.

/// A place with masks of its own; its number is a part of their random key.
///
/// Numbers are for ever: a run that goes on after a new place was added must meet its old masks.
/// The four first places share the numbers below 2¹²; every other has 2¹² of its own.
///
/// ```
/// use llm_core::ops::Place;
/// let numbers = [Place::Embedding, Place::Attention(0), Place::Mlp(511), Place::Own(0, 7)];
/// assert_eq!(numbers.map(u64::from), [0, 1, 1536, 4096 + 7]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// After the sum of both embeddings.
    Embedding,
    /// The weights P of a layer's attention.
    Attention(usize),
    /// What a layer's attention adds to the stream.
    Projection(usize),
    /// What a layer's MLP adds to the stream.
    Mlp(usize),
    /// A place of a variant's own: its number, and the layer.
    Own(u8, usize),
}

impl From<Place> for u64 {
    fn from(place: Place) -> u64 {
        /// More than the first places of all layers.
        const EACH: u64 = 1 << 12;
        match place {
            Place::Embedding => 0,
            Place::Attention(layer) => 1 + 3 * layer as u64,
            Place::Projection(layer) => 2 + 3 * layer as u64,
            Place::Mlp(layer) => 3 + 3 * layer as u64,
            Place::Own(number, layer) => (1 + u64::from(number)) * EACH + layer as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Config;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_places_share_a_number_and_all_fit_the_key() {
        let layers = 0..Config::MAX_LAYERS;
        let of_layer = |l| {
            let first = [Place::Attention(l), Place::Projection(l), Place::Mlp(l)];
            first.into_iter().chain([0, 1, 255].map(|own| Place::Own(own, l)))
        };
        let all: Vec<u64> =
            layers.flat_map(of_layer).chain([Place::Embedding]).map(u64::from).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|&number| number < 1 << 24));
    }
}
