//! `--weights`: in how many bits a model's matrices are kept.

use crate::words::Word;
use llm_core::kernels::small::SmallKind;

/// What matrices are kept as; `None`: f32.
pub type Kept = Option<SmallKind>;

/// What can be typed.
pub(super) const KINDS: &[Word<Kept>] = &[
    ("f32", None, ""),
    ("bf16", Some(SmallKind::Bf16), ""),
    ("q8", Some(SmallKind::Q8), ""),
    ("q4", Some(SmallKind::Q4), ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_can_be_typed() {
        let typed = KINDS.iter().filter_map(|(word, kind, _)| Some((*word, (*kind)?)));
        assert_eq!(typed.collect::<Vec<_>>(), SmallKind::ALL.map(|kind| (kind.name(), kind)));
        assert_eq!(KINDS[0], ("f32", None, ""));
    }
}
