//! How much unseen text was measured: on the way, and at the end.

use crate::data::{Curves, FinalLoss, rounded};
use llm_run::data::{Report, Validation};
use llm_run::defaults::PERIODIC_TOKENS;

/// Tokens of unseen text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unseen {
    /// Tokens of all unseen text.
    pub all: u64,
    /// Tokens that are scored on the way.
    pub periodic: u64,
}

impl Unseen {
    pub(super) fn of(val: &Validation) -> Unseen {
        let periodic = val.tokens_of(PERIODIC_TOKENS) as u64;
        Unseen { all: val.tokens() as u64, periodic }
    }

    /// With the measurement after the last step: on the tokens of those before it, it is the end of
    /// their line; on others it stands apart.
    pub(super) fn with_last(self, curves: Curves, step: u64, report: Option<&Report>) -> Curves {
        let mut curves = Curves { val_tokens: Some(self.periodic), ..curves };
        let Some(of) = report.map(|report| report.evaluation) else { return curves };
        let (tokens, loss) = (of.tokens, rounded(of.loss));
        if tokens != self.periodic {
            curves.final_val = Some(FinalLoss { step, loss, tokens, all: tokens == self.all });
        } else if curves.val.last().is_none_or(|last| last.0 < step) {
            curves.val.push((step, loss));
        }
        curves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::train::Evaluation;

    fn measured(loss: f64, tokens: u64) -> Report {
        let evaluation = Evaluation { loss, accuracy: 0.5, tokens };
        Report { evaluation, bytes: tokens, unit: "byte", facts: None }
    }

    #[test]
    fn a_step_has_one_validation_loss_or_two_with_names() {
        let unseen = Unseen { all: 900, periodic: 100 };
        let curves = || Curves { val: vec![(5, 2.0)], ..Curves::default() };
        let last = |tokens| unseen.with_last(curves(), 8, Some(&measured(1.5, tokens)));
        let apart = |tokens, all| Some(FinalLoss { step: 8, loss: 1.5, tokens, all });
        assert_eq!((last(900).val, last(900).final_val), (vec![(5, 2.0)], apart(900, true)));
        assert_eq!(last(300).final_val, apart(300, false));
        // On the same tokens it is one more point of the line, once.
        assert_eq!((last(100).val, last(100).final_val), (vec![(5, 2.0), (8, 1.5)], None));
        let again = unseen.with_last(curves(), 5, Some(&measured(2.0, 100)));
        assert_eq!(
            (again.val, again.final_val, again.val_tokens),
            (vec![(5, 2.0)], None, Some(100))
        );
        assert_eq!(unseen.with_last(curves(), 8, None).final_val, None);
    }
}
