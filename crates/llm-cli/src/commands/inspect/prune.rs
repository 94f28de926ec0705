//! `inspect prune`.

mod show;

use super::super::loaded::loaded;
use crate::args::InspectPruneArgs;
use crate::commands::scored::{batch_of, measured_on};
use crate::commands::written::{check_page, page_of, write_page};
use crate::console::{Out, note, room};
use crate::error::{Result, RunError, of_verb, usage};
use crate::messages::{in_both, said};
use crate::next_commands;
use crate::program::Program;
use crate::progress::Progress;
use crate::signals::Signals;
use llm_core::TinyGPT;
use llm_core::base::escape::one_line;
use llm_core::base::real_path;
use llm_core::base::{Message, thousands};
use llm_core::checkpoint::{self, TokenizerSpec};
use llm_core::{counted, message};
use llm_lens::{Cut, HeadName, Pruner, head_mask, with_head_mask};
use llm_report::{Fact, Page};
use llm_run::data::Validation;
use llm_run::folder::Target;
use llm_run::models::Heads;
use llm_run::plan::Loaded;
use show::{Found, Score, names};
use std::path::Path;
use std::time::Instant;

/// Tokens to measure on when nothing is said.
const TOKENS: u64 = 65_536;

/// Measures the model without each head, and saves it without some.
pub(super) fn prune(program: &Program, args: &InspectPruneArgs) -> Result<()> {
    let signals = Signals::listen();
    if args.save.is_some() && args.drop.is_none() && args.drop_heads.is_empty() {
        let why = "--save needs --drop N or --drop-heads L.H: which heads are to go?";
        return usage(why);
    }
    let (path, mut loaded) = loaded(program, &args.on.load, &args.on.apart, &args.on.output)?;
    let on = check_model(program, &loaded, args)?;
    batch_of(&loaded, args.batch)?;
    check_page(args.on.html.as_deref())?;
    if let (Some(save), Some(html)) = (&args.save, &args.on.html)
        && real_path(save) == real_path(html)
    {
        return usage("--save and --html name the same file");
    }
    // Tried before anything is read, taken after it: who stops the reading leaves no lock behind.
    let claim = || args.save.as_deref().map(|save| claim(save, &path)).transpose();
    drop(claim()?);
    let (data, name) = measured_on(&loaded, &path, &args.on.data, "prune")?;
    signals.heed();
    let target = claim()?;
    let limit = usize::try_from(args.on.tokens.unwrap_or(TOKENS)).unwrap_or(usize::MAX);
    let quiet = args.on.output.quiet();
    if !quiet {
        note(message!("measuring on {}", name));
    }
    let found = measure(program, &loaded, args, &data, limit, on, &signals);
    if signals.pending().is_some() && !quiet {
        note("interrupted, nothing was saved");
    }
    signals.check()?;
    let found = found?;
    let tokens = found.whole.details.evaluation.tokens;
    let measured = message!("{}: {} tokens", name, thousands(tokens));
    if let (Some(target), Some(dropped)) = (&target, &found.dropped) {
        save(program, &mut loaded, target, &dropped.mask)?;
    }
    write_page(args.on.html.as_deref(), quiet, || page(program, &path, &measured, &found))?;
    let mut out = Out::default();
    let saved = target.as_ref().map(|t| t.path.as_path());
    if args.on.json || args.on.output.json() {
        out.write(show::json(&name.to_string(), &found, saved).as_bytes());
    } else {
        out.show(&show::text(&measured, &found, room()));
    }
    if let (Some(saved), false) = (saved, quiet) {
        let shown = one_line(&saved.display().to_string());
        note(message!("saved checkpoint '{}' at step {}", shown, loaded.run.step));
        let (name, load) = (next_commands::program(program), next_commands::load_flag(saved));
        note(message!("next    {} eval{}{}", name, load, next_commands::data(&args.on.data, &[])));
    }
    out.finish()
}

/// Validates that heads of this model can be switched off, and those that are asked for. For each
/// head whether it is on now.
fn check_model(program: &Program, loaded: &Loaded, args: &InspectPruneArgs) -> Result<Vec<bool>> {
    let model = &loaded.run.model;
    let (layers, n_heads) = (model.config().n_layers, model.attention().spec().n_heads);
    let mask = head_mask(model);
    let on = mask.iter().filter(|on| **on).count();
    if mask.len() == 1 {
        return usage("inspect prune: the model has one head in all, there is none to spare");
    }
    let tried =
        with_head_mask(model, &vec![false; mask.len()], &|spec| program.models.from_spec(spec));
    if let (Heads::One { other }, Err(_)) = (program.models.heads, tried) {
        return usage(message!(
            "inspect prune: {} cannot switch heads off; use {} inspect prune",
            program.models.name,
            other
        ));
    }
    if let Some(n) = args.drop.filter(|n| !(1..on).contains(n)) {
        let some = message!("1 to {} can go", on.saturating_sub(1));
        let why = if on < 2 { message!("no head can go") } else { some };
        return usage(message!("--drop {}: of {} heads that are on, {}", n, on, why));
    }
    let mut left = mask.clone();
    for HeadName { layer, head } in &args.drop_heads {
        if *layer >= layers || *head >= n_heads {
            return usage(message!(
                "--drop-heads {}.{}: layers are 0 to {}, heads 0 to {}",
                layer,
                head,
                layers - 1,
                n_heads - 1
            ));
        }
        let place = layer * n_heads + head;
        if !left[place] {
            return usage(match mask[place] {
                true => message!("--drop-heads {}.{}: it is named twice", layer, head),
                false => message!("--drop-heads {}.{}: it is off already", layer, head),
            });
        }
        left[place] = false;
    }
    if !args.drop_heads.is_empty() && !left.contains(&true) {
        return usage("--drop-heads: one head at least has to stay");
    }
    Ok(mask)
}

/// The place of the new checkpoint, which is not that of the old one.
fn claim(save: &Path, load: &Path) -> Result<Target> {
    if real_path(save) == real_path(load) {
        return usage(message!(
            "--save '{}' is what --load reads, the heads would be lost; choose another --save",
            save.display()
        ));
    }
    Target::file(save, None).map_err(|e| of_verb(e, "nothing was pruned, choose another --save"))
}

fn measure(
    program: &Program,
    loaded: &Loaded,
    args: &InspectPruneArgs,
    data: &Validation,
    limit: usize,
    mask: Vec<bool>,
    signals: &Signals,
) -> Result<Found> {
    let model = &loaded.run.model;
    let batch = args.batch.unwrap_or(loaded.run.recipe.batch_size);
    let on = mask.iter().filter(|on| **on).count();
    let most = args.drop.unwrap_or(on);
    let cut = match args.drop_heads.is_empty() {
        true => Cut::LeastMissed(args.drop),
        false => Cut::Named(args.drop_heads.clone()),
    };
    let (total, quiet) = (cut.measurements(on) as u64, args.on.output.quiet());
    let (progress, start) = (Progress::new(total, &said("measurements"), quiet), Instant::now());
    let say = |line: Message| {
        progress.aside(|| {
            if !quiet {
                note(line)
            }
        })
    };
    let score = |model: &TinyGPT| -> Result<Score> {
        let report = data.score(model, batch, limit, |_| signals.pending().is_some())?;
        signals.check()?;
        progress.bar.iter().for_each(|bar| bar.inc(1));
        Ok(Score { loss: report.evaluation.loss, details: report })
    };
    let from_spec = |spec: &llm_core::AttentionSpec| program.models.from_spec(spec);
    let mut pruner = Pruner::new(model, &from_spec, score);
    let whole = pruner.score(&mask)?;
    if !whole.loss.is_finite() {
        let why = message!("its loss is {}, so nothing can be said about its heads", whole.loss);
        return Err(RunError::Data(message!("--load '{}': {}", args.on.load.display(), why)));
    }
    say(message!("all {}: loss {:.4}", counted!(on, "head"), whole.loss));
    let left = total.saturating_sub(1);
    let minutes = start.elapsed().as_secs_f64() * left as f64 / 60.0;
    if progress.bar.is_none() && minutes >= 0.1 {
        say(message!("about {:.1} min for {} more measurements", minutes, left));
    }
    let mut gone = 0;
    pruner.find(whole, &cut, |s| {
        gone += 1;
        let (head, loss) = (s.head.to_string(), s.score.loss);
        say(message!("{} of {} off: {}, loss {:.4}", gone, most, head, loss));
    })
}

fn save(program: &Program, loaded: &mut Loaded, target: &Target, mask: &[bool]) -> Result<()> {
    loaded.run.model =
        with_head_mask(&loaded.run.model, mask, &|spec| program.models.from_spec(spec))?;
    let spec = TokenizerSpec::of(loaded.tokenizer.as_ref());
    let with_optimizer = loaded.has_optimizer || loaded.run.step == 0;
    checkpoint::save(&target.path, &loaded.run, &spec, with_optimizer)
        .map_err(|e| RunError::hint(e, "the pruned model was not saved, choose another --save"))
}

fn page(program: &Program, path: &Path, measured: &Message, found: &Found) -> Page {
    let mut facts = vec![Fact::new(in_both("Measured on"), in_both(measured))];
    if let Some(dropped) = &found.dropped {
        facts.push(Fact::new(in_both("Switched off"), names(&dropped.heads)));
        facts.push(Fact::new(in_both("Loss then"), format!("{:.4}", dropped.score.loss)));
        if let Some(share) = dropped.score.details.facts_share() {
            let percent = format!("{:.1} %", 100.0 * share);
            facts.push(Fact::new(in_both("Facts right then"), percent));
        }
    }
    Page { prune: Some(found.into()), ..page_of(path, program, "prune", facts) }
}
