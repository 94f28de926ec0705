//! `--sanity-*`: does the model's first choice agree with the byte that comes in the data?

use crate::args::ProbeArgs;
use crate::console::{Out, safe_text};
use crate::error::{CliError, Result};
use crate::events::{self, Event};
use crate::text::shown;
use llm_core::generate::{Sampling, next_logits};
use llm_core::util::rng::{below, stream};
use llm_core::{TinyGPT, TokenDataset};

/// Runs the probes that were asked for, on the data that was learnt.
///
/// # Errors
/// [`CliError::Usage`] when a place lies outside the data.
pub fn run(
    args: &ProbeArgs,
    model: &TinyGPT,
    data: &TokenDataset,
    seq_len: usize,
    seed: u64,
    out: &mut Out,
    json: bool,
) -> Result<()> {
    let ctx = args.sanity_ctx.unwrap_or(seq_len).min(model.config().seq_len);
    if ctx == 0 {
        return Err(CliError::Usage("--sanity-ctx 0: a context has at least one byte".into()));
    }
    let room = data.len().saturating_sub(ctx); // starts 0..room have a next byte
    let starts: Vec<usize> = match (args.sanity_offset, args.sanity_next_from_data) {
        (Some(offset), _) => vec![offset],
        (None, Some(n)) => {
            if room == 0 {
                return Err(CliError::Usage(format!(
                    "--sanity-ctx {ctx}: the data has only {} bytes to learn from",
                    data.len()
                )));
            }
            (0..n as u64).map(|i| below(&mut stream(seed, b"probe\0\0\0", i, 0), room)).collect()
        }
        (None, None) => return Ok(()),
    };
    let mut right = 0;
    for (i, &start) in starts.iter().enumerate() {
        if start >= room {
            return Err(CliError::Usage(format!(
                "--sanity-offset {start}: with a context of {ctx} it must be below {room}"
            )));
        }
        let context = data.tokens(start, ctx);
        let target = data.token(start + ctx);
        let logits = next_logits(model, &context)?;
        let sampling = Sampling { temperature: 1.0, top_k: 0, seed: 0, allowed: Vec::new() };
        let choices = sampling.distribution(&logits)?;
        let top1 = choices.first().map_or(0, |c| c.0);
        right += usize::from(top1 == target);
        if json {
            out.write(&events::line(&Event::Probe { offset: start, target, top1 }));
            continue;
        }
        let verdict = if top1 == target { "[OK]" } else { "[MISMATCH]" };
        let shown_from = ctx.saturating_sub(args.sanity_preview.unwrap_or(120));
        let preview: Vec<u8> = context[shown_from..].iter().map(|&t| t as u8).collect();
        let mut text = format!(
            "[sanity {}/{}] start={start} ctx={ctx} {verdict}\n  context:  {}\n  \
             expected: id={target} {}\n  top1:     id={top1} {}\n",
            i + 1,
            starts.len(),
            crate::console::one_line(&safe_text(&preview)),
            shown(target),
            shown(top1)
        );
        for (rank, (id, p)) in choices.iter().take(args.sanity_top.unwrap_or(10)).enumerate() {
            text.push_str(&format!("  {:>4}. id={id:<3} p={p:.6} {}\n", rank + 1, shown(*id)));
        }
        out.write(text.as_bytes());
    }
    if !json && !starts.is_empty() {
        let share = right as f64 / starts.len() as f64;
        let line = format!("Sanity top1 accuracy: {right}/{} = {share:.4}\n", starts.len());
        out.write(line.as_bytes());
    }
    Ok(())
}
