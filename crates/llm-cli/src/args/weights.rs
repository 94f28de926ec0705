//! `--weights`: in how many bits a model's matrices are kept.

use llm_core::kernels::small::SmallKind;

/// What can be typed.
pub(super) const KINDS: [&str; 4] = ["f32", "bf16", "q8", "q4"];

/// What was typed; `None`: f32.
pub fn small_kind(typed: &str) -> Option<SmallKind> {
    typed.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_can_be_typed() {
        let small = SmallKind::ALL.map(SmallKind::name);
        assert_eq!([&["f32"], &small[..]].concat(), KINDS);
        assert_eq!(
            KINDS.map(small_kind),
            [None, Some(SmallKind::Bf16), Some(SmallKind::Q8), Some(SmallKind::Q4)]
        );
    }
}
