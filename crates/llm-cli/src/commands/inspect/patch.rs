//! `inspect patch`.

mod show;

use super::super::loaded::loaded;
use crate::args::InspectPatchArgs;
use crate::commands::written::{check_place, save, say_written};
use crate::console::{print, room, show};
use crate::error::{Result, RunError, usage};
use crate::generation::shown;
use crate::program::Program;
use crate::signals::Signals;
use llm_core::generate::next_logits;
use llm_core::{TokenId, message};
use llm_formats::npz::{self, Npz};
use llm_lens::{
    Explained, Pair, Part, Reading, Share, explain, first_choice, follow, receivers, verdict,
};
use llm_run::data::unseen_twins;
use llm_run::plan::Loaded;
use llm_stories::FactKind;
use show::{OwnTexts, Patched};
use std::path::Path;

/// Pairs of stories when nothing is said.
const PAIRS: u32 = 64;

/// Patches the model from text to text, and prints what its parts carry.
pub(super) fn patch(program: &Program, args: &InspectPatchArgs) -> Result<()> {
    let signals = Signals::listen();
    let (_, loaded) = loaded(program, &args.load, &args.apart, &args.output)?;
    if let Some(file) = &args.npz {
        check_place(file, |start| npz::begins_with(start, "put_in"))?;
    }
    let found = match (&args.clean, &args.other) {
        (Some(clean), Some(other)) => of_texts(&loaded, [clean, other], &args.answers)?,
        _ => of_stories(&loaded, args, &signals)?,
    };
    signals.check()?;
    if let Some(file) = &args.npz {
        write_arrays(file, &found)?;
        say_written(file, args.output.quiet());
    }
    match args.json || args.output.json() {
        true => print(show::json(&found, &loaded)),
        false => show(&show::text(&found, &loaded, room())),
    }
}

fn of_stories(loaded: &Loaded, args: &InspectPatchArgs, signals: &Signals) -> Result<Patched> {
    let model = &loaded.run.model;
    let kind = args.fact.unwrap_or(FactKind::OtherPerson);
    let (n, seq_len) = (args.pairs.unwrap_or(PAIRS) as usize, model.config().seq_len);
    let (data, tokenizer) = (&loaded.run.recipe.data, loaded.tokenizer.as_ref());
    let Some(pairs) = unseen_twins(data, kind, tokenizer, seq_len, n) else {
        return usage(
            "inspect patch needs --clean and --other: the model has not learned the built-in stories",
        );
    };
    if pairs.is_empty() {
        return usage(message!(
            "--fact {}: no story and its twin are equally long in tokens of this vocabulary, and no longer \
             than the context",
            kind.name()
        ));
    }
    let parts = Part::all(model);
    signals.heed();
    let explained = explain(model, &pairs, &parts, || signals.pending().is_some())?;
    let receivers = receivers(&explained.rows);
    let right = explained.right.iter().map(|i| &pairs[*i]);
    let paths = follow(model, right, &receivers, || signals.pending().is_some())?;
    let about = message!("unseen built-in stories and their twins: {}", kind.name());
    Ok(Patched { about, own: None, explained, receivers, paths })
}

fn of_texts(loaded: &Loaded, texts: [&String; 2], answers: &[String]) -> Result<Patched> {
    let (model, tokenizer) = (&loaded.run.model, loaded.tokenizer.as_ref());
    let [clean, other] = texts.map(|text| tokenizer.encode(text.as_bytes()));
    let (clean, other) = (clean?, other?);
    let most = model.config().seq_len;
    if clean.is_empty() || clean.len() > most {
        return usage(message!(
            "--clean has {} tokens; 1 to {}, the model's context, are read",
            clean.len(),
            most
        ));
    }
    let answer = |i: usize, text: &[TokenId]| -> Result<TokenId> {
        let Some(typed) = answers.get(i) else {
            return Ok(first_choice(&next_logits(model, text)?));
        };
        let tokens = tokenizer.encode(typed.as_bytes())?;
        tokens.first().copied().ok_or(RunError::Usage(message!("--answers: a text is empty")))
    };
    let said = [answer(0, &clean)?, answer(1, &other)?];
    if answers.is_empty() && said[0] == said[1] {
        let both = shown(tokenizer, said[0]);
        return usage(message!(
            "after both texts the model would say {}; name what should follow each with --answers",
            both
        ));
    }
    let pair = Pair { clean, other, answers: said };
    let parts = Part::all(model);
    let reading = Reading::new(model, &pair)?;
    let shares = vec![reading.shares(&parts)?];
    let differences = reading.differences();
    let stream = reading.shares(&Part::every_position(model, pair.clean.len()))?;
    let right = reading.is_right().then_some(0).into_iter().collect();
    let rows = verdict(&parts, &shares);
    let receivers = receivers(&rows);
    let paths = reading.paths(&receivers)?;
    drop(reading);
    let explained = Explained { tried: 1, right, rows, shares };
    let about = message!("--clean and --other");
    Ok(Patched {
        about,
        own: Some(OwnTexts { pair, differences, stream }),
        explained,
        receivers,
        paths,
    })
}

/// All shares as a file of NumPy's.
fn write_arrays(file: &Path, found: &Patched) -> Result<()> {
    let shares = &found.explained.shares;
    let shape = [shares.len(), found.explained.rows.len()];
    let of = |side: fn(&Share) -> f32| shares.iter().flatten().map(side).collect::<Vec<f32>>();
    save(file, |out| {
        let mut file = Npz::to(out);
        file.add("put_in", &shape, &of(|share| share.put_in as f32))?; // first: begins_with looks for it
        file.add("taken_out", &shape, &of(|share| share.taken_out as f32))?;
        file.add("turned", &shape, &of(|share| f32::from(u8::from(share.turns))))?;
        file.finish()
    })
}
