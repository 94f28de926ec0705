//! A run from its plan to its end.
//!
//! | file | holds |
//! |---|---|
//! | `kinds.rs` | what a run is given, and what it reports |
//! | `best.rs` | the best measurement, next to its state |
//! | `causes.rs` | which heads look at an answer, and which carry it, as a run learns |
//! | `journal.rs` | what a run writes about itself |
//! | `event.rs` | what happens, and who hears of it |
//! | `instead.rs` | a state beside its place, which cannot be replaced |
//! | `store.rs` | what is saved, and what is safe when something fails |
//! | `measuring.rs` | measurements, in the time that there is |
//! | `overfit.rs` | whether a model can memorise one batch |
//! | `course.rs` | what is done between the steps |
//! | `ending.rs` | how it ends |
//! | `forgetting.rs` | what a model knew before its steps, and knows after them |
//! | `estimate.rs` | how long it would take |
//! | `team.rs` | several processes: what they agree on |
//! | `run.rs` | from the options to the end, whoever works |
//!
//! ```no_run
//! use llm_run::options::Options;
//! use llm_run::training::{Identity, run};
//! use llm_run::{Result, models};
//!
//! fn main() -> Result<()> {
//!     let options = Options { data: vec!["book.txt".into()], ..Options::default() };
//!     run(&models::BASELINE, &options, Identity::of("my-program", 1), None, &mut ())
//! }
//! ```

mod best;
mod causes;
mod course;
mod ending;
mod estimate;
mod event;
mod forgetting;
mod instead;
mod journal;
mod kinds;
mod measuring;
mod overfit;
mod run;
mod store;
mod team;

pub use course::Pace;
pub use estimate::estimate;
pub use event::{Event, Face, MakePlan};
pub use kinds::{
    Early, Estimate, Identity, Kept, Overfit, PageEnding, PageOf, Scored, advice_on_rate,
};
pub use measuring::measure;
pub use run::{run, train};

use crate::budget::Deadline;
use crate::clock::TimeBudget;
use crate::data::Report;
use crate::error::{Result, RunError};
use crate::folder::Target;
use crate::options::Options;
use crate::plan::Plan;
use crate::rewards::{Ground, Latest};
use llm_core::train::Work;
use llm_core::{Error, IoAction, message};
use std::fmt;
use std::time::Instant;
use store::Store;

/// A run that is about to begin.
pub struct Training<'a> {
    face: &'a mut dyn Face,
    options: &'a Options,
    identity: &'a Identity,
    store: Store,
    /// When the command began, and how long it may take.
    clock: TimeBudget,
    /// When the run is to be over; its steps are planned again on the way.
    deadline: Option<Deadline>,
    /// The answers of the last step, of a run that learns from rewards.
    rewards: Option<Latest>,
    /// What it learns from in place of its data.
    ground: Ground,
    /// Why there were fewer steps than planned.
    early: Option<Early>,
}

impl fmt::Debug for Training<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = &mut f.debug_struct("Training");
        fields.field("options", self.options).field("early", &self.early).finish_non_exhaustive()
    }
}

impl<'a> Training<'a> {
    /// What a run needs besides its plan and those who work on it.
    pub fn new(
        plan: &Plan,
        options: &'a Options,
        identity: &'a Identity,
        target: Option<Target>,
        face: &'a mut dyn Face,
    ) -> Training<'a> {
        Training {
            face,
            options,
            identity,
            store: Store::new(plan, options, target),
            clock: TimeBudget { begin: Instant::now(), most: options.max_time },
            deadline: None,
            rewards: None,
            ground: plan.ground.clone(),
            early: None,
        }
    }

    /// The whole run: steps, the last measurement, checks, a text, the page. Who works on it is
    /// `work`; [`OneProcess`](llm_core::train::OneProcess) where there is no other.
    ///
    /// # Errors
    /// What ended it; what is kept is said.
    pub fn run(&mut self, plan: &mut Plan, work: &mut dyn Work) -> Result<()> {
        self.ended_or_not(plan, |training, plan| training.all(plan, work))
    }

    /// The run without a text at its end; what was measured, and the seconds of its steps.
    ///
    /// # Errors
    /// As [`Training::run`].
    pub fn steps_alone(
        &mut self,
        plan: &mut Plan,
        work: &mut dyn Work,
    ) -> Result<(Option<Report>, f64)> {
        self.ended_or_not(plan, |training, plan| {
            let report = training.train(plan, work)?;
            training.save(plan)?;
            training.page((&plan.trainer).into(), report.as_ref(), training.state());
            training.store.check_places()?;
            let journal = training.store.journal.as_ref();
            Ok((report, journal.map_or(0.0, |journal| journal.time.training)))
        })
    }

    fn all(&mut self, plan: &mut Plan, work: &mut dyn Work) -> Result<()> {
        let trained = plan.steps > 0;
        let mut report = None;
        if trained {
            report = match self.train(plan, work) {
                // Data that cannot be read any more say nothing against the weights.
                Err(RunError::Core { source, .. }) if lost_data(&source) => {
                    self.save(plan)?;
                    let advice = message!("put the same file there and go on with {load}");
                    return Err(RunError::hint(source, self.store.safe(advice)));
                }
                done => done?,
            };
        }
        self.face.together(false);
        if work.rank() > 0 {
            return Ok(());
        }
        let checked = match &plan.data {
            Some(data) => self.face.check(&plan.trainer.model, &data.train),
            None => Ok(()),
        };
        // Whatever became of the checks, what was trained is saved.
        self.save(plan)?;
        checked?;
        if self.face.writes(plan.steps) {
            let written = self.write((&plan.trainer).into());
            if let Err(e) = written {
                self.page((&plan.trainer).into(), report.as_ref(), self.state());
                return Err(e);
            }
        }
        self.done(plan, report.as_ref());
        self.store.check_places()
    }

    fn save(&mut self, plan: &Plan) -> Result<()> {
        self.store.save((&plan.trainer).into(), self.face)
    }
}

impl Drop for Training<'_> {
    fn drop(&mut self) {
        if let Some(journal) = &mut self.store.journal {
            journal.draw(self.face);
        }
    }
}

/// Whether a data file could be opened and then no longer be read.
fn lost_data(e: &Error) -> bool {
    matches!(e, Error::Io { action: IoAction::GoOnReading, .. })
}
