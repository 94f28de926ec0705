//! `report`: a page from what runs left in their folders, also when they were killed.

use super::runs::left_out;
use super::written::is_page;
use crate::args::ReportArgs;
use crate::console::{json_line, note, print};
use crate::error::{Result, RunError, of_verb, sentence};
use crate::program::Program;
use llm_core::base::Message;
use llm_core::base::escape::one_line;
use llm_core::message;
use llm_report::{Page, RunFolder, SeveralRuns, Unshown, below, folder_page};
use llm_run::folder::{REPORT, may_replace, refuse_link};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Writes the page and says where.
///
/// # Errors
/// [`RunError::Input`] for a folder without a run, [`RunError::Create`] for a page that cannot be
/// written.
pub fn report(program: &Program, args: &ReportArgs, threads: usize) -> Result<()> {
    let mut paths = Vec::new();
    for folder in &args.runs {
        let found = below(folder, left_out)?;
        if found.is_empty() {
            let why = "there is no run in it; a run's folder has a metrics.csv".into();
            return Err(RunError::Input { path: folder.clone(), why });
        }
        paths.extend(found.into_iter().filter(|path| !paths.contains(path)).collect::<Vec<_>>());
    }
    let target = args.html.clone().unwrap_or_else(|| usual_place(&paths));
    if args.html.is_none() {
        refuse_link(&target).map_err(|e| of_verb(e, "choose another --html"))?;
    }
    may_replace(&target, is_page, "it exists and is no page of ours")
        .map_err(|e| RunError::not_created(&target, e, "choose another --html"))?;
    let runs: Vec<RunFolder> = paths.iter().map(|path| RunFolder::read(path)).collect();
    let mut unshown = |unshown| {
        if !args.output.quiet() {
            note(without(unshown));
        }
    };
    let page = match runs.as_slice() {
        [run] => folder_page(&program.models, run, threads, &mut unshown)?,
        several => Page {
            title: format!("{} runs", several.len()),
            made_by: format!("{} {}", program.models.name, env!("CARGO_PKG_VERSION")),
            runs: Some(SeveralRuns::of(several)?),
            ..Page::default()
        },
    };
    llm_report::write(&target, &page)?;
    let path = target.display().to_string();
    match args.output.json() {
        true => print(json_line(&json!({ "event": "written", "path": path }))),
        false => print(format!("{}\n", one_line(&path))),
    }
}

/// What the page had to be made without.
fn without(unshown: Unshown) -> Message {
    match unshown {
        Unshown::Checkpoint => message!("no checkpoint was saved: the page has the log only"),
        Unshown::Text(e) => message!("without a text for the heads: {}", sentence(&e)),
    }
}

/// Where a page is looked for: with its run, or next to its runs.
fn usual_place(runs: &[PathBuf]) -> PathBuf {
    match runs {
        [run] => run.join(REPORT),
        several => {
            let folder = several.first().and_then(|run| run.parent()).unwrap_or(Path::new(""));
            // The page of a comparison says more than one of its runs.
            let is_comparison = folder.join("compare.json").is_file();
            folder.join(if is_comparison { "runs.html" } else { REPORT })
        }
    }
}
