//! The page of what a run left in its folder, also when it was killed.

use crate::bilingual::Bilingual;
use crate::data::{Curves, Fact, Page};
use crate::labels::state_label;
use crate::left::RunFolder;
use crate::run::rewards::{pairs as pairs_of, rewards as rewards_of};
use crate::run::{About, page};
use llm_core::base::{escape, thousands};
use llm_core::message;
use llm_formats::tokenizers::unit;
use llm_run::data::Report;
use llm_run::folder::to_load;
use llm_run::log::{AnswerMoment, Paired, Rewarded, StepLines, rows};
use llm_run::models::Models;
use llm_run::plan::{Loaded, load, own_data};
use llm_run::training::{Identity, PageEnding, PageOf};
use llm_run::{Result, RunError};

/// What a page had to be made without.
#[derive(Debug)]
pub enum Unshown {
    /// No checkpoint was saved: the page has the log only.
    Checkpoint,
    /// There is no text for the heads, and why.
    Text(RunError),
}

/// The page of the run in a folder; what it is without is passed to `unshown`.
///
/// # Errors
/// A log or a checkpoint that cannot be read.
pub fn folder_page(
    models: &Models,
    run: &RunFolder,
    threads: usize,
    unshown: &mut dyn FnMut(Unshown),
) -> Result<Page> {
    let (dir, info) = (&run.path, &run.info);
    let curves = llm_run::log::Curves::read(dir, info.vocab_size, info.entropy_floor)?;
    let (samples, heads) = (StepLines::read(dir)?, StepLines::read(dir)?);
    let (mut rewards, mut pairs, mut answers) =
        (StepLines::read(dir)?, StepLines::read(dir)?, StepLines::read(dir)?);
    let Ok(checkpoint) = to_load(dir) else {
        unshown(Unshown::Checkpoint);
        return Ok(Page {
            title: escape::path(dir),
            made_by: format!("{} {}", models.name, env!("CARGO_PKG_VERSION")),
            facts: facts(run),
            curves: Some(Curves::from(&curves)),
            samples,
            rewards: rewards_of(&rewards, &answers),
            pairs: pairs_of(&pairs),
            notes: early(run).into_iter().collect(),
            ..Page::default()
        });
    };
    let Loaded { run: trainer, tokenizer, .. } = load(models, &checkpoint)?;
    let data = own_data(&checkpoint, &trainer.recipe, &tokenizer);
    let data = data.map_err(|e| unshown(Unshown::Text(e))).ok();
    let who = Identity::of(models.name, threads);
    let about = About::new(&who, data.as_ref(), &trainer.model, &tokenizer)?;
    let result = info.result.as_ref().filter(|result| result.step == trainer.step);
    let report = result.map(|result| Report::known(result, unit(&*tokenizer)));
    let tokens = rows(dir)?.last().transpose()?.map_or(0, |row| row.tokens);
    let checkpoints = ["ckpt/last", "ckpt/best"].map(|name| dir.join(name));
    let ending = PageEnding {
        report: report.as_ref(),
        seconds: info.seconds,
        checkpoints: checkpoints.into_iter().filter(|path| path.is_file()).collect(),
        early: None,
    };
    // After a kill the lines may know more steps than the checkpoint.
    rewards.retain(|of: &Rewarded| of.step <= trainer.step);
    pairs.retain(|of: &Paired| of.step <= trainer.step);
    answers.retain(|of: &AnswerMoment| of.step <= trainer.step);
    let now = (&trainer).into();
    let of = PageOf {
        folder: dir,
        run: now,
        curves,
        samples,
        heads,
        rewards,
        pairs,
        answers,
        tokens,
        ending,
    };
    Ok(page(&about, &of, early(run)))
}

/// Why there are fewer steps than planned, if so.
fn early(run: &RunFolder) -> Option<Bilingual> {
    let (step, steps) = (run.info.step, run.info.steps);
    let state = state_label(run.state());
    let said = message!(
        "{} of {} steps are done: the run is {}.",
        thousands(step),
        thousands(steps),
        state
    );
    (step < steps).then(|| said.into())
}

/// What is known without a model.
fn facts(run: &RunFolder) -> Vec<Fact> {
    let info = &run.info;
    let sizes = format!(
        "L {} · C {} · H {} · T {}",
        info.n_layers, info.d_model, info.n_heads, info.seq_len
    );
    vec![
        Fact::new(message!("Program"), format!("{} {}", info.program, info.version)),
        Fact::new(message!("Data"), info.data.clone()),
        Fact::new(message!("Tokenizer"), info.tokenizer.clone()),
        Fact::new(message!("Model"), sizes),
        Fact::new(message!("Parameters"), thousands(info.parameters)),
        Fact::new(
            message!("Steps"),
            format!("{} / {}", thousands(info.step), thousands(info.steps)),
        ),
    ]
}
