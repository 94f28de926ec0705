//! `--sanity-*`: checks whether the model's first choice agrees with the next token of the data.

use crate::args::ProbeArgs;
use crate::console::Out;
use crate::error::{Result, RunError, usage};
use crate::events::{self, Event};
use crate::generation::{row, shown};
use crate::messages::said;
use llm_core::base::escape::{one_line, safe_text};
use llm_core::message;
use llm_core::tokenizer::Tokenizer;
use llm_core::{TinyGPT, TokenDataset};
use llm_lens::{Probed, Probes};
use llm_run::plan::Plan;

/// Most places that one command looks at.
const MOST: usize = 1_000_000;

/// What the flags ask for, if anything, on the data of a run; contexts are as long as its windows
/// unless said otherwise.
///
/// # Errors
/// [`RunError::Usage`] when a place lies outside the data or there are too many.
pub fn new(args: &ProbeArgs, plan: &Plan) -> Result<Option<Probes>> {
    let Some(data) = &plan.data else { return Ok(None) };
    let (len, most) = (data.train.len(), plan.trainer.model.config().seq_len);
    if let Some(share) = args.min_acc.filter(|share| !(0.0..=1.0).contains(share)) {
        return usage(message!("--min-acc {} is outside 0..=1", share));
    }
    let ctx = args.sanity_ctx.unwrap_or(plan.trainer.recipe.seq_len);
    let room = len.saturating_sub(ctx);
    let (offset, count) = match (args.sanity_offset, args.sanity_next_from_data) {
        (None, None | Some(0)) if args.min_acc.is_some() => {
            let needed = message!("--sanity-next-from-data N or --sanity-offset I");
            return usage(message!("--min-acc: there is nothing to judge; add {}", needed));
        }
        (None, None | Some(0)) => return Ok(None),
        (Some(offset), _) => (Some(offset), 1),
        (None, Some(n)) => (None, n),
    };
    usage(match offset {
        _ if ctx == 0 || ctx > most => {
            message!("--sanity-ctx {} is outside 1..={}, the model's context", ctx, most)
        }
        _ if count > MOST => message!("--sanity-next-from-data {} is more than {}", count, MOST),
        _ if room == 0 => {
            message!("--sanity-ctx {}: the data has only {} tokens to learn from", ctx, len)
        }
        Some(at) if at >= room => {
            message!("--sanity-offset {}: with a context of {} it must be below {}", at, ctx, room)
        }
        _ => return Ok(Some(Probes { ctx, room, offset, count, seed: plan.sample_seed })),
    })
}

/// Runs the probes on the training data.
///
/// # Errors
/// What the model refuses, what reading the data says, and [`RunError::Accuracy`] when fewer are
/// right than asked for.
pub fn run(
    probes: &Probes,
    args: &ProbeArgs,
    tokenizer: &dyn Tokenizer,
    model: &TinyGPT,
    data: &TokenDataset,
    out: &mut Out,
    json: bool,
) -> Result<()> {
    let Probes { ctx, count, .. } = *probes;
    let mut right = 0;
    for (i, probed) in probes.of(model, data)?.enumerate() {
        if out.is_closed() && args.min_acc.is_none() {
            break;
        }
        let probed = probed?;
        let top1 = probed.top1();
        let Probed { start, context, target, choices } = probed;
        right += usize::from(top1 == target);
        if json {
            out.write(&events::line(&Event::Probe { offset: start, target, top1 }));
            continue;
        }
        let verdict = if top1 == target { message!("[OK]") } else { message!("[MISMATCH]") };
        let shown_from = ctx.saturating_sub(args.sanity_preview.unwrap_or(120));
        let preview = tokenizer.decode(&context[shown_from..])?;
        let mut text = said(message!(
            "[sanity {}/{}] start={} ctx={} {}\n  context:  {}\n  expected: id={} {}\n  top1:     \
             id={} {}\n",
            i + 1,
            count,
            start,
            ctx,
            verdict,
            one_line(&safe_text(&preview)),
            target,
            shown(tokenizer, target),
            top1,
            shown(tokenizer, top1)
        ));
        for (rank, (id, p)) in choices.iter().take(args.sanity_top.unwrap_or(10)).enumerate() {
            text.push_str(&row(rank, *id, *p, tokenizer));
        }
        out.show(&text);
    }
    let share = right as f64 / count as f64;
    if !json {
        out.line(message!("Sanity top1 accuracy: {}/{} = {:.4}", right, count, share));
    }
    match args.min_acc {
        Some(wanted) if share < wanted => Err(RunError::Accuracy { right, count, wanted }),
        _ => Ok(()),
    }
}
