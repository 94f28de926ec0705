//! The last micro-batch of a rank: during its backward pass, finished gradients are summed already.
//!
//! A parameter's gradient is complete when the walk has passed the last op that uses it, long before
//! the walk is over: those of the last blocks come first. So one thread carries numbers to the other
//! ranks and back, while the pool's threads go on with the blocks before. A network that is slower
//! than memory has its time then.

use super::accumulate::Tree;
use super::together::{Part, join};
use super::work::StepSum;
use crate::base::{Error, Result};
use crate::crew::Crew;
use crate::kernels::parallel;
use crate::message;
use crate::model::{Batch, Mode, TinyGPT};
use crate::profile::enter;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// What a rank has of a step when its last micro-batch is all that is left.
pub(super) struct Last<'a> {
    pub model: &'a TinyGPT,
    /// `None`: the rank was asked to stop.
    pub batch: Option<Batch>,
    /// Sum of the micro-batches before the last one.
    pub sum: Tree,
    /// Micro-batches of all ranks.
    pub all: usize,
    /// Whether each rank needs the gradient of its share alone.
    pub divided: bool,
    /// Steps done before.
    pub step: u64,
}

impl Last<'_> {
    /// The step as all ranks did it: gradient, loss, tokens. See [`join`].
    ///
    /// # Errors
    /// As [`join`], and what the model says.
    pub fn finish(self, crew: &mut dyn Crew) -> Result<StepSum> {
        let Last { model, batch, mut sum, all, divided, step } = self;
        let share = batch.as_ref().map_or(0.0, |batch| batch.share(all));
        let loss = batch.as_ref().map(|batch| model.loss(batch, Mode::Training)).transpose()?;
        let value = loss.as_ref().map_or(0.0, |loss| f64::from(loss.item()) * f64::from(share));
        let tokens = batch.map_or(0, |batch| batch.inputs.len() as u64);
        let stopped = loss.is_none();
        let (value, tokens) = sum.with_last(value, tokens);
        let mine = Part { loss: value, tokens, stopped };
        let walk = |give: &mut dyn FnMut(_)| {
            let Some(loss) = loss else { return Ok(()) };
            loss.backward_giving(share, |leaf, last| give((leaf, sum.finish(leaf, last))))?;
            // Parameters that the last micro-batch did not use.
            sum.total().0.into_leaves().for_each(give);
            Ok(())
        };
        let (all, gradients) =
            beside(walk, |finished| join(crew, mine, model, finished.into_iter(), divided, step))?;
        Ok((gradients, all.loss, all.tokens))
    }
}

/// Runs `sum` on a thread of its own, with what `walk` gives it meanwhile.
///
/// However the walk ends, there is nothing more to receive then. So a thread that waits for more
/// comes to its end, and the caller does not wait for ever.
fn beside<G: Send, T: Send>(
    walk: impl FnOnce(&mut dyn FnMut(G)) -> Result<()>,
    sum: impl FnOnce(Receiver<G>) -> Result<T> + Send,
) -> Result<T> {
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        let sum = || parallel::alone(|| sum(receiver));
        let thread = thread::Builder::new().spawn_scoped(scope, sum);
        let thread = thread.map_err(|e| {
            Error::config("threads", message!("cannot start one for sums: {}", e.to_string()))
        })?;
        // It may have ended before, with an error: then what is given is dropped.
        let walked = walk(&mut |given| drop(sender.send(given)));
        drop(sender);
        let _span = enter("together");
        let summed = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        walked.and(summed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn add(numbers: Receiver<u32>) -> Result<u32> {
        Ok(numbers.into_iter().sum())
    }

    fn wrong() -> Error {
        Error::config("walk", "it fails")
    }

    #[test]
    fn what_is_given_comes_through_in_order() {
        let walk = |give: &mut dyn FnMut(u32)| {
            (0..100).for_each(give);
            Ok(())
        };
        let all = beside(walk, |numbers| Ok(numbers.into_iter().collect::<Vec<_>>())).unwrap();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_or_a_panic_on_either_side_ends_both() {
        let fails = |give: &mut dyn FnMut(u32)| {
            give(1);
            Err(wrong())
        };
        assert_eq!(beside(fails, add).unwrap_err().to_string(), wrong().to_string());
        let gives = |give: &mut dyn FnMut(u32)| {
            (0..100).for_each(give);
            Ok(())
        };
        let refuses = |_: Receiver<u32>| Err::<u32, _>(wrong());
        assert_eq!(beside(gives, refuses).unwrap_err().to_string(), wrong().to_string());
        let panics = |give: &mut dyn FnMut(u32)| {
            give(1);
            resume_unwind(Box::new("walk"))
        };
        let caught = |run: &dyn Fn() -> Result<u32>| {
            let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            *panic.downcast::<&str>().unwrap()
        };
        assert_eq!(caught(&|| beside(panics, add)), "walk");
        let panics = |_: Receiver<u32>| resume_unwind(Box::new("sum"));
        assert_eq!(caught(&|| beside(gives, panics)), "sum");
    }
}
