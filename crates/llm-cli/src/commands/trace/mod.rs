//! `trace`: one number of attention, followed by hand.

mod printed;

use super::loaded::loaded;
use crate::args::TraceArgs;
use crate::console::{print, room, show};
use crate::error::{Result, RunError, usage};
use crate::events::{self, Event};
use crate::generation::shown;
use crate::program::Program;
use llm_core::base::Message;
use llm_core::message;
use llm_core::{AttentionSpec, Error, TokenId};
use llm_lens::trace::{Place, Sizes, Token, Walk, example, trace_example, trace_model};
use llm_run::models::Heads;
use llm_run::plan::{Loaded, check_heads};
use std::path::Path;

/// Positions, width and heads of the built-in example.
const POSITIONS: usize = 3;
const WIDTH: usize = 4;
const HEADS: usize = 2;

/// Most equal sequences in a batch.
const MOST: usize = 1024;

/// Follows the score that the flags name, in a model or in the built-in example.
///
/// # Errors
/// [`RunError::Usage`] naming the flag that is outside its range; what loading refuses.
pub fn trace(program: &Program, args: &TraceArgs) -> Result<()> {
    check_heads(&program.models, args.heads.map(|n| n as u64))?;
    let walk = match &args.load {
        Some(path) => of_model(program, args, path)?,
        None => of_example(program, args)?,
    };
    let walk = Walk { one_head: matches!(program.models.heads, Heads::One { .. }), ..walk };
    if args.json || args.output.json() {
        print(events::line(&Event::Trace(&walk)))?;
    } else {
        show(&printed::text(&walk, args.all, room()))?;
    }
    let why = "the kernel's numbers differ from the equations by more than rounding";
    if walk.kernel.agrees { Ok(()) } else { Err(RunError::Internal(why.into())) }
}

fn of_example(program: &Program, args: &TraceArgs) -> Result<Walk> {
    let prompt = &args.prompt;
    if let Some(flag) = prompt.flag().or(args.layer.map(|_| "--layer")) {
        return usage(message!(
            "{} needs --load: the built-in example is one layer without tokens",
            flag
        ));
    }
    let heads = match program.models.heads {
        Heads::One { .. } => 1,
        Heads::Many { .. } => args.heads.unwrap_or(HEADS),
    };
    if heads == 0 || !WIDTH.is_multiple_of(heads) {
        let why = message!("--heads {}: the built-in example can have 1, 2 or 4", heads);
        return usage(why);
    }
    let batch = batch(args)?;
    let plain = AttentionSpec::new("", heads);
    let sizes = Sizes::new([batch, POSITIONS, WIDTH], &plain);
    let place = place(program, args, &sizes, heads - 1)?;
    let example = example(heads, batch)?;
    Ok(trace_example(program.models.new_attention(None, &[], plain)?, &example, place)?)
}

fn of_model(program: &Program, args: &TraceArgs, path: &Path) -> Result<Walk> {
    let (_, loaded) = loaded(program, path, &args.apart, &args.output)?;
    let Loaded { run, tokenizer, .. } = loaded;
    let model = &run.model;
    let spec = model.attention().spec();
    let (config, heads) = (model.config(), spec.n_heads);
    if let Some(n) = args.heads.filter(|&n| n != heads) {
        let why = message!("--heads {}: the loaded model has {}; leave the flag out", n, heads);
        return usage(why);
    }
    let layer = args.layer.unwrap_or(0);
    if layer >= config.n_layers {
        let last = config.n_layers - 1;
        let why = message!("--layer {} is outside 0..={}, the loaded model's blocks", layer, last);
        return usage(why);
    }
    let prompt = &args.prompt;
    let tokens = prompt.tokens(tokenizer.as_ref())?;
    let (flag, window) = (prompt.flag().unwrap_or("--prompt"), config.seq_len);
    if tokens.is_empty() {
        return usage(match prompt.flag() {
            Some(flag) => message!("{} is empty: at least one token must be read", flag),
            None => message!("--prompt is needed with --load: at least one token must be read"),
        });
    }
    if tokens.len() > window {
        let n = tokens.len();
        let why = message!("{}: {} tokens do not fit the model's window of {}", flag, n, window);
        return usage(why);
    }
    let batch = batch(args)?;
    let sizes = Sizes::new([batch, tokens.len(), config.d_model], &spec);
    let place = place(program, args, &sizes, 0)?;
    let walk = trace_model(model, layer, &tokens, batch, place);
    let walk = walk.map_err(|e| match e {
        Error::Memory { .. } => RunError::Memory(e, message!("--batch, or shorten the prompt")),
        other => other.into(),
    })?;
    let token = |&id: &TokenId| Token { id, text: shown(tokenizer.as_ref(), id) };
    Ok(Walk { tokens: Some(tokens.iter().map(token).collect()), ..walk })
}

fn batch(args: &TraceArgs) -> Result<usize> {
    match args.batch.unwrap_or(1) {
        batch @ 1..=MOST => Ok(batch),
        batch => usage(message!("--batch {} is outside 1..={}", batch, MOST)),
    }
}

/// The place that the flags name; `head` stands in for one that is not given.
fn place(program: &Program, args: &TraceArgs, sizes: &Sizes, head: usize) -> Result<Place> {
    let head = args.head.unwrap_or(head);
    if let (Heads::One { other }, 1..) = (program.models.heads, head) {
        return usage(message!(
            "--head {}: {} has one attention head, number 0; for more use {} trace",
            head,
            program.models.name,
            other
        ));
    }
    let within = |flag: &str, index: usize, n: usize, why: &Message| match index < n {
        true => Ok(index),
        false => usage(message!("--{} {} is outside 0..={}: {}", flag, index, n - 1, why)),
    };
    let (t, batch_index) = (sizes.seq_len, args.batch_index.unwrap_or(0));
    let query = args.query.unwrap_or(t - 1);
    let sequences = message!("--batch says how many sequences there are");
    let positions = message!("the number of positions is {}", t);
    let heads = message!("the number of heads is {}", sizes.n_heads);
    Ok(Place {
        batch_index: within("batch-index", batch_index, sizes.batch_size, &sequences)?,
        head: within("head", head, sizes.n_heads, &heads)?,
        query: within("query", query, t, &positions)?,
        key: within("key", args.key.unwrap_or(query.saturating_sub(1)), t, &positions)?,
    })
}
