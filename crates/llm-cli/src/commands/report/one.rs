//! The page of one run.

use crate::error::{Result, reason};
use crate::lang::Bilingual;
use crate::messages::{in_both, report as label, train as say};
use crate::program::Program;
use crate::report::run::{About, Ending, page as page_of};
use crate::report::{Curves, Fact, Page};
use llm_core::base::{Message, thousands};
use llm_core::message;
use llm_formats::tokenizers::unit;
use llm_run::data::Report;
use llm_run::escape::one_line;
use llm_run::folder::RunFolder;
use llm_run::folder::to_load;
use llm_run::log::{Samples, rows};
use llm_run::plan::{Loaded, load, own_data};
use std::path::Path;

/// The page; what could not be shown is said through `say`.
pub(super) fn page(
    program: &Program,
    run: &RunFolder,
    threads: usize,
    say: &dyn Fn(Message),
) -> Result<Page> {
    let (dir, info) = (&run.path, &run.info);
    let log = llm_run::log::Curves::read(dir, info.vocab_size, info.entropy_floor)?;
    let (curves, samples) = (Curves::from(&log), Samples::read(dir)?);
    let title = one_line(&dir.display().to_string());
    let Ok(checkpoint) = to_load(dir) else {
        say(message!("no checkpoint was saved: the page has the log only"));
        return Ok(Page {
            title,
            made_by: format!("{} {}", program.models.name, env!("CARGO_PKG_VERSION")),
            facts: facts(run),
            curves: Some(curves),
            samples,
            notes: early(run).into_iter().collect(),
            ..Page::default()
        });
    };
    let Loaded { run: trainer, tokenizer, .. } = load(&program.models, &checkpoint)?;
    let data = own_data(&checkpoint, &trainer.recipe, &tokenizer);
    let data = data.map_err(|e| say(message!("without a text for the heads: {}", reason(&e)))).ok();
    let about = About::new(program, data.as_ref(), &trainer.model, &tokenizer, threads)?;
    let result = info.result.as_ref().filter(|result| result.step == trainer.step);
    let report = result.map(|result| Report::known(result, unit(&*tokenizer)));
    let tokens = rows(dir)?.last().transpose()?.map_or(0, |row| row.tokens);
    let exists = |name: &str| Some(dir.join(name)).filter(|path| path.is_file());
    let shown = |path: &Path| one_line(&path.display().to_string());
    let checkpoints = ["ckpt/last", "ckpt/best"].into_iter().filter_map(exists);
    let ending = Ending {
        report: report.as_ref(),
        tokens,
        seconds: info.seconds,
        checkpoints: checkpoints.map(|path| shown(&path)).collect(),
        early: early(run),
    };
    Ok(page_of(&title, &about, (&trainer).into(), curves, samples, ending))
}

/// Why there are fewer steps than planned, if so.
fn early(run: &RunFolder) -> Option<Bilingual> {
    let (step, steps) = (run.info.step, run.info.steps);
    (step < steps).then(|| say::not_done(thousands(step), thousands(steps), run.state()))
}

/// What is known without a model.
fn facts(run: &RunFolder) -> Vec<Fact> {
    let info = &run.info;
    let sizes = format!(
        "L {} · C {} · H {} · T {}",
        info.n_layers, info.d_model, info.n_heads, info.seq_len
    );
    vec![
        Fact::new(label::program(), format!("{} {}", info.program, info.version)),
        Fact::new(label::data(), in_both(&info.data)),
        Fact::new(label::tokenizer(), info.tokenizer.clone()),
        Fact::new(label::model(), sizes),
        Fact::new(label::parameters(), thousands(info.parameters)),
        Fact::new(label::steps(), format!("{} / {}", thousands(info.step), thousands(info.steps))),
    ]
}
