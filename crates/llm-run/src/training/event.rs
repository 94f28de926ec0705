//! What happens in a run, and who hears of it.

use super::kinds::{Estimate, Identity, Kept, Overfit, PageOf, Scored};
use crate::budget::Unused;
use crate::data::{Report, Validation};
use crate::error::{Result, RunError};
use crate::folder::Target;
use crate::log::Compared;
use crate::log::{AnswerMoment, Curves, Forgotten, Rewarded, Sample};
use crate::note::Note;
use crate::plan::Plan;
use crate::tokenizers::Watching;
use llm_core::base::Message;
use llm_core::checkpoint::Snapshot;
use llm_core::train::{Best, Ending, Spike, StepReport};
use llm_core::{Error, TinyGPT, TokenDataset};
use std::path::Path;

/// Makes a plan while someone watches the learning of its vocabulary.
pub type MakePlan<'a> = dyn FnMut(&Watching<'_>) -> Result<Plan> + 'a;

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// Something worth saying before the first step.
    Note(&'a Note),
    /// All is decided about a run that has steps, or is a dry run.
    Planned(&'a Plan),
    /// A dry run estimated how long the run would take.
    Estimated {
        /// The estimate.
        estimate: &'a Estimate,
        /// Steps of the run.
        steps: u64,
    },
    /// The test that memorises one batch is over.
    Overfit(&'a Overfit),
    /// Something in the run's folder was foreign, or was mended.
    Noted(&'a Message),
    /// The run begins; the number of its steps.
    Begin(u64),
    /// A step was done.
    Step {
        /// Loss, learning rate and gradient norm of the step.
        report: &'a StepReport,
        /// Steps that this command has done, this one included.
        done: u64,
        /// Steps of this command.
        total: u64,
        /// Tokens per second, as last measured.
        rate: f64,
        /// Whether it is to be reported.
        due: bool,
        /// The answers and their rewards, of a run that learns from these.
        rewards: Option<&'a Rewarded>,
        /// What it made of the pairs of the step, of a run that learns from these.
        pairs: Option<&'a Compared>,
    },
    /// Unseen pairs of answers were compared.
    Compared {
        /// Steps done.
        step: u64,
        /// What the model makes of them.
        unseen: &'a Compared,
    },
    /// In all steps so far, this many, the answers to each question had one and the same reward: nothing was learned.
    Unrewarded {
        /// Steps.
        steps: u64,
        /// The mean reward.
        reward: f64,
    },
    /// Questions that stay the same were asked, in a run that learns from rewards.
    Asked(&'a AnswerMoment),
    /// The steps of a run of a given time are planned again, by what the first ones took. The flags that
    /// were chosen, with these steps, make the same run.
    PlannedAgain {
        /// Steps of the run.
        steps: u64,
        /// Steps that were planned before.
        before: u64,
        /// Steps of this command.
        total: u64,
    },
    /// Much of the time that the run was to take was not used.
    Unused(&'a Unused),
    /// An update was left out.
    Skipped {
        /// The step.
        step: u64,
        /// How it stood out.
        spike: Spike,
    },
    /// A measurement on the way.
    Measured {
        /// Steps done.
        step: u64,
        /// What was found.
        report: &'a Report,
    },
    /// A measurement goes on.
    Scoring {
        /// Tokens scored so far.
        scored: u64,
        /// Tokens to score.
        total: u64,
    },
    /// The last measurement is over.
    Scored(&'a Scored),
    /// Steps go on after something else.
    Resumed,
    /// A checkpoint is safe on the disk.
    Saved {
        /// Steps done.
        step: u64,
        /// File of the checkpoint.
        path: &'a Path,
        /// Whether it has the optimizer's state.
        moments: bool,
    },
    /// What is there cannot be replaced by a newer state; the run goes on, and the next save tries again.
    Refused {
        /// Steps done.
        step: u64,
        /// The file, and why.
        why: &'a Error,
        /// Where the state is instead, if it is.
        instead: Option<&'a Path>,
    },
    /// The run's folder has another name.
    Renamed {
        /// New name of the folder.
        folder: &'a Path,
    },
    /// The run's folder, or its log, was gone and is made again.
    Remade {
        /// What was gone: the folder, or the log in it.
        is_folder: bool,
        /// The folder.
        folder: &'a Path,
        /// The log begins after this step.
        step: u64,
    },
    /// The steps are over.
    Ended {
        /// Why they are over.
        ending: &'a Ending,
        /// Steps done.
        step: u64,
        /// The best measurement.
        best: Option<Best>,
        /// Measurements since then.
        worse: u64,
    },
    /// There is nothing to measure on.
    Unmeasured,
    /// The measurement after the last step.
    Result {
        /// Steps done.
        step: u64,
        /// What was found.
        report: &'a Report,
        /// The validation data.
        on: &'a Validation,
        /// The model.
        model: &'a TinyGPT,
        /// Whether gradients were clipped.
        clipped: bool,
    },
    /// What the model knew before its steps and knows after them.
    Forgotten(&'a Forgotten),
    /// The page about the run was written for the last time.
    Page(&'a Path),
    /// The page about the run could not be written.
    NoPage(&'a RunError),
    /// A signal stopped the run, and what there was is saved.
    Interrupted {
        /// Steps done.
        step: u64,
        /// Where it is saved, if it is.
        kept: Kept<'a>,
    },
    /// Everything is done.
    Done {
        /// The plan of the run.
        plan: &'a Plan,
        /// The whole command.
        seconds: f64,
        /// What was found after the last step.
        report: Option<&'a Report>,
        /// States that are saved.
        kept: Kept<'a>,
    },
    /// After a run that did steps: what may be done next.
    Next {
        /// The plan of the run.
        plan: &'a Plan,
        /// States that are saved.
        kept: Kept<'a>,
    },
}

/// The front end of a run: it shows what happens, and does what belongs to it.
pub trait Face: Send {
    /// Something happened.
    fn event(&mut self, event: &Event<'_>);

    /// Makes the plan by `make`, with a watcher of a vocabulary that is learned. A front end may refuse
    /// the run, and add notes to the plan.
    ///
    /// # Errors
    /// What `make` says, and what the front end refuses.
    fn plan(&mut self, make: &mut MakePlan<'_>) -> Result<Plan> {
        make(&|_, _| ())
    }

    /// A run is about to begin, and to be saved in `target`. The front end may add to what the run's
    /// folder is told about it.
    ///
    /// # Errors
    /// What ends the run.
    fn begins(&mut self, _: &Plan, _: Option<&Target>, _: &mut Identity) -> Result<()> {
        Ok(())
    }

    /// The signal that asks the run to stop, if one came.
    fn signal(&self) -> Option<u8> {
        None
    }

    /// Writes a text with the model of now; `keep` puts it into the run's folder.
    ///
    /// # Errors
    /// What ends the run.
    fn sample(&mut self, _: Snapshot<'_>, _: &mut dyn FnMut(&Sample) -> Result<()>) -> Result<()> {
        Ok(())
    }

    /// Whether a text is to be written after `steps` steps of this command.
    fn writes(&self, _steps: u64) -> bool {
        false
    }

    /// Checks of the model after its last step.
    ///
    /// # Errors
    /// What the command ends with, once the run is saved.
    fn check(&mut self, _model: &TinyGPT, _data: &TokenDataset) -> Result<()> {
        Ok(())
    }

    /// The page about the run, as it is now.
    fn page(&mut self, _of: &PageOf<'_>) -> Option<String> {
        None
    }

    /// The losses as the text of an SVG file.
    fn picture(&mut self, _: &Curves) -> Option<String> {
        None
    }

    /// From now on all processes make the same calls, or no longer do.
    fn together(&mut self, _together: bool) {}
}

/// A front end that shows nothing.
impl Face for () {
    fn event(&mut self, _: &Event<'_>) {}
}
