//! `--overfit`: checks that the model can memorise one batch. If not, something is wrong with the
//! settings.

use super::face::Shown;
use crate::args::TrainArgs;
use crate::error::Result;
use crate::events::Event;
use crate::signals::Signals;
use llm_core::message;
use llm_run::defaults::LOG_EVERY;
use llm_run::plan::Plan;
use llm_run::training::{Overfit, overfit as overfitted};

/// All steps on the batch of step 0. Nothing is saved.
pub(super) fn overfit(
    args: &TrainArgs,
    plan: &mut Plan,
    signals: &Signals,
    shown: &mut Shown<'_>,
) -> Result<()> {
    shown.begin(plan.steps);
    let found = overfitted(plan, args.log_every.unwrap_or(LOG_EVERY), shown);
    shown.finish();
    let Overfit { tokens, first_loss: first, last_loss: last } = found?;
    signals.check()?;
    let learnt = last < 0.1 * first;
    let event = Event::Overfit { tokens, first_loss: first, last_loss: last, learnt };
    shown.speaker.emit(&event);
    shown.speaker.tell(message!(
        "overfit loss of one batch of {} tokens: {:.4} at first, {:.4} at last; {}; nothing is saved",
        tokens,
        first,
        last,
        match learnt {
            true => message!("it was learnt by heart"),
            false => message!("it was not learnt by heart"),
        }
    ));
    Ok(())
}
