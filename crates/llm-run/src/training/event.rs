//! What happens in a run, and who hears of it.

use super::kinds::{Kept, PageOf, Scored};
use crate::data::{Report, Validation};
use crate::error::{Result, RunError};
use crate::log::{Curves, Sample};
use crate::plan::Plan;
use llm_core::base::Message;
use llm_core::checkpoint::Snapshot;
use llm_core::train::{Best, Ending, Spike, StepReport};
use llm_core::{Error, TinyGPT, TokenDataset};
use std::path::Path;

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// Something in the run's folder was foreign, or was mended.
    Noted(&'a Message),
    /// The run begins; the number of its steps.
    Begin(u64),
    /// A step was done.
    Step {
        /// It.
        report: &'a StepReport,
        /// Steps of this command, up to this one, ..
        done: u64,
        /// .. of this total.
        total: u64,
        /// Tokens a second, as last measured.
        rate: f64,
        /// Whether it is to be reported.
        due: bool,
    },
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
    /// The last measurement goes on.
    Scoring {
        /// Tokens scored so far, ..
        scored: u64,
        /// .. of this total.
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
        /// Its file.
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
        /// Its name now.
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
        /// How.
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
        /// On what.
        on: &'a Validation,
        /// The model.
        model: &'a TinyGPT,
        /// Whether gradients were clipped.
        clipped: bool,
    },
    /// The page about the run was written for the last time.
    Page(&'a Path),
    /// It could not be.
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
        /// What it was.
        plan: &'a Plan,
        /// The whole command.
        seconds: f64,
        /// What was found after the last step.
        report: Option<&'a Report>,
        /// What there is now.
        kept: Kept<'a>,
    },
    /// After a run that did steps: what may be done next.
    Next {
        /// What it was.
        plan: &'a Plan,
        /// What there is now.
        kept: Kept<'a>,
    },
}

/// Who watches a run: it says what happens, and does what belongs to it.
pub trait Face: Send {
    /// Something happened.
    fn event(&mut self, event: &Event<'_>);

    /// The signal that asks the run to stop, if one came.
    fn signal(&self) -> Option<u8> {
        None
    }

    /// Writes a text with the model of now; `keep` puts it into the run's folder.
    ///
    /// # Errors
    /// What ends the run.
    fn sample(
        &mut self,
        _run: Snapshot<'_>,
        _keep: &mut dyn FnMut(&Sample) -> Result<()>,
    ) -> Result<()> {
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

    /// From now on all processes do the same, or no longer.
    fn together(&mut self, _together: bool) {}
}

/// A face that says nothing.
impl Face for () {
    fn event(&mut self, _: &Event<'_>) {}
}
