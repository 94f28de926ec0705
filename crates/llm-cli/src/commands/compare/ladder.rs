//! `compare --ladder`: sizes whose settings follow rules.

use super::vary::Varied;
use crate::args::CompareArgs;
use crate::error::{Result, usage};
use crate::messages::said;
use crate::program::Program;
use llm_core::base::thousands;
use llm_core::message;
use llm_messages::table::{Column, table};
use llm_report::comparison::SIZE;
use llm_run::ladder::{Ladder, MOVED, Rung, TOKENS_PER_PARAMETER, depth};
use llm_run::numbers::short;
use llm_run::plan::{Plan, SharedData};

/// Refuses sizes that are none, and settings that follow from a size.
pub(super) fn check(args: &CompareArgs) -> Result<()> {
    let sizes = args.ladder.as_slice();
    let depths = sizes.iter().map(|size| depth(size)).collect::<Result<Vec<_>, _>>()?;
    if let Some(twice) = (1..sizes.len()).find(|&i| depths[..i].contains(&depths[i])) {
        return usage(message!("--ladder: {} is there twice", sizes[twice]));
    }
    let tokens = args.token_ratio.unwrap_or(TOKENS_PER_PARAMETER);
    if !(tokens > 0.0 && tokens.is_finite()) {
        return usage(message!("--token-ratio {}: give a number above 0", tokens));
    }
    let given = args.training(args.heads.first().copied()).given();
    let moved = || MOVED.into_iter().filter(|name| *name != "steps");
    match (sizes, moved().find(|name| given.contains_key(name))) {
        ([], _) | (_, None) if sizes.len() != 1 => Ok(()),
        ([one], _) => usage(message!("--ladder {}: give two or more to compare, tiny,mini", one)),
        (_, name) => refused(name.unwrap_or_default()),
    }
}

fn refused<T>(name: &str) -> Result<T> {
    usage(message!("--{}: a size of --ladder has its own", name))
}

/// The rules, if there is a ladder: beside `varied`, which may not move what it moves.
pub(super) fn ladder(args: &CompareArgs, plan: &Plan, varied: &[Varied]) -> Result<Option<Ladder>> {
    if args.ladder.is_empty() {
        return Ok(None);
    }
    let varied = varied.iter().flat_map(|(settings, _)| settings);
    let is_moved = |(name, _): &&(String, String)| MOVED.contains(&&**name) || name == "epochs";
    if let Some((name, _)) = varied.into_iter().find(is_moved) {
        return refused(name);
    }
    let tokens = args.token_ratio.unwrap_or(TOKENS_PER_PARAMETER);
    let trainer = &plan.trainer;
    Ok(Some(Ladder::new(tokens, trainer.model.config().d_model, &trainer.recipe)))
}

/// Every training at every size.
pub(super) fn at_each_size(
    program: &Program,
    args: &CompareArgs,
    data: &SharedData,
    ladder: &Ladder,
    all: Vec<Varied>,
) -> Result<Vec<(Varied, Option<Rung>)>> {
    let each =
        all.into_iter().flat_map(|of| args.ladder.iter().map(move |size| (of.clone(), size)));
    let climbed = |((mut settings, mut args), size): (Varied, &String)| {
        let (rung, given) = ladder.rung(size, data, &program.models, &args.options())?;
        settings.push((SIZE.into(), size.clone()));
        args.recipe.epochs = None;
        let moved =
            given.into_iter().filter(|(name, _)| MOVED.contains(name) || *name == "optimizer");
        args.model.sizes.0.extend(moved);
        Ok(((settings, args), Some(rung)))
    };
    each.map(climbed).collect()
}

/// The sizes, for a person.
pub(super) fn rungs(all: &[(String, &Rung)], room: usize) -> String {
    let headings = ["layers", "width", "parameters", "N", "tokens", "steps", "passes", "lr"];
    let heading = std::iter::once(SIZE.to_string()).chain(headings.map(said));
    let row = |(name, of): &(String, &Rung)| {
        let counts =
            [of.layers, of.d_model, of.parameters, of.block_parameters, of.learned, of.steps];
        let more = [format!("{:.1}", of.passes), short(of.lr).to_string()];
        std::iter::once(name.clone()).chain(counts.map(thousands)).chain(more).collect::<Vec<_>>()
    };
    let rows: Vec<_> = std::iter::once(heading.collect()).chain(all.iter().map(row)).collect();
    let mut columns = vec![Column::left(0, 0)];
    columns.resize(1 + headings.len(), Column::right(2, 0));
    table(&columns, &rows, room)
}
