//! What happens in a run in words. What a front end adds, such as what to do next, is its own.

use llm_core::base::escape;
use llm_core::base::{Message, thousands, with_causes};
use llm_core::message;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::{Ending, SPIKE_WINDOW, StepReport};
use llm_run::budget::Unused;
use llm_run::data::Report;
use llm_run::log::{AnswerMoment, Compared, Rewarded};
use llm_run::training::{Early, Event};

/// What happened, in a line; `None` for what is no line of its own, or is best said with what to do
/// about it. A note may quote names of others: [`escape::safe_lines`] makes it safe for a terminal.
pub fn event(event: &Event<'_>) -> Option<Message> {
    Some(match event {
        Event::Note(note) => crate::note(note),
        Event::Noted(note) => (*note).clone(),
        Event::Step { report, done, total, rate, due: true, rewards, pairs } => {
            let mut line = step(report, [*done, *total], *rate);
            if let Some(Rewarded { reward, differ, length, entropy, kl, clipped, .. }) = rewards {
                line = message!(
                    "{}  reward={:.3}  differ={:.2}  length={:.1}  entropy={:.3}",
                    line,
                    reward,
                    differ,
                    length,
                    entropy
                );
                line = kl.map_or(line.clone(), |kl| message!("{}  kl={:.4}", line, kl));
                line = clipped.map_or(line.clone(), |of| message!("{}  clipped={:.3}", line, of));
            }
            if let Some(Compared { margin, accuracy, .. }) = pairs {
                line = message!("{}  margin={:+.3}  accuracy={:.2}", line, margin, accuracy);
            }
            line
        }
        Event::Compared { step, unseen } => {
            let Compared { pairs, loss, margin, better, worse, accuracy, likelier } = *unseen;
            message!(
                "pairs  step {}  {} unseen: loss={:.4}  margin={:+.3} ({:+.3} and {:+.3})  accuracy={:.1} %, the better answer likelier in {:.1} %",
                step,
                pairs,
                loss,
                margin,
                better,
                worse,
                100.0 * accuracy,
                100.0 * likelier
            )
        }
        Event::Unrewarded { steps, reward } => {
            let help = match *reward {
                0.0 => {
                    message!("a model that is sometimes right, or easier questions, would learn")
                }
                1.0 => message!("all answers are right: harder questions would teach"),
                _ => message!("a judge that tells answers apart would teach"),
            };
            message!(
                "warning: in {} steps no two answers to one question had different rewards (all {:.3} on average): \
                 nothing can be learned; {}",
                steps,
                reward,
                help
            )
        }
        Event::Asked(moment) => asked(moment),
        Event::PlannedAgain { steps, before, .. } => {
            message!(
                "planned again by the time that steps take: {steps} {} in place of {}",
                steps,
                before
            )
        }
        Event::Unused(Unused { used, of, steps: Some(steps) }) => message!(
            "{:.0} of {:.0} s were used, as steps became faster: {load} with {steps} {} would use the rest",
            used,
            of,
            steps
        ),
        Event::Unused(Unused { used, of, steps: None }) => message!(
            "{:.0} of {:.0} s were used: after so many passes the text teaches nothing more, a longer one would",
            used,
            of
        ),
        Event::Skipped { step, spike } => message!(
            "step {} skipped: loss {:+.1}, gradient norm {:+.1} standard deviations from the last {}",
            step,
            spike.loss_z,
            spike.norm_z,
            SPIKE_WINDOW
        ),
        Event::Measured { step, report } => measured(*step, report),
        Event::Saved { step, path, moments } => {
            let saved = message!("saved checkpoint '{}' at step {}", escape::path(path), step);
            if *moments { message!("{} (with optimizer state)", saved) } else { saved }
        }
        Event::Refused { step, why, instead: Some(path) } => message!(
            "{}; step {} is in '{}' instead, and the next save tries again",
            with_causes(*why),
            step,
            escape::path(path)
        ),
        Event::Refused { why, instead: None, .. } => {
            message!("{}; the run goes on, and the next save tries again", with_causes(*why))
        }
        Event::Renamed { folder } => message!(
            "the run's folder is called '{}' now: the run goes on there",
            escape::path(folder)
        ),
        Event::Remade { is_folder, folder, step } => message!(
            "the run's {} was gone and is made again in '{}'; its log begins after step {}",
            if *is_folder { message!("folder") } else { message!("log") },
            escape::path(folder),
            step
        ),
        Event::Ended { ending: Ending::TimeIsUp { left }, step, .. } => message!(
            "stopped at step {}: the time is up; {} planned steps are left, {load} goes on with them",
            step,
            left
        ),
        Event::Ended { ending: Ending::NoProgress, step, best, worse } => {
            let stopped = message!(
                "stopped at step {}: no better validation loss in {} measurements",
                step,
                worse
            );
            match best {
                Some(best) => {
                    message!("{}; the best was {:.4} at step {}", stopped, best.val_loss, best.step)
                }
                None => stopped,
            }
        }
        Event::Unmeasured => {
            message!("no validation data: nothing is known about unseen text")
        }
        Event::Result { report, .. } => result(report),
        Event::Page(path) => message!("report  {}", escape::path(path)),
        Event::Done { plan, seconds, .. } if plan.steps > 0 => {
            message!("done    step {} in {:.1} s", plan.trainer.step, seconds)
        }
        _ => return None,
    })
}

/// A step, number `done` of the `total` of this command, at `rate` tokens a second.
fn step(report: &StepReport, [done, total]: [u64; 2], rate: f64) -> Message {
    let line = message!(
        "step {}  ({}/{})  loss={:.4}  lr={:.2e}  norm={:.2}  tok/s={}",
        report.step,
        done,
        total,
        report.loss,
        report.lr,
        report.grad_norm,
        thousands(rate as u64)
    );
    if report.skipped { message!("{}  skipped", line) } else { line }
}

/// Answers to questions that stay the same.
fn asked(AnswerMoment { step, start_kl, answers, .. }: &AnswerMoment) -> Message {
    /// Most characters of a text that are shown.
    const MOST: usize = 40;
    let short = |text: &str| {
        let cut: String = text.chars().take(MOST).collect();
        escape::one_line(&if cut.len() < text.len() { cut + "…" } else { cut })
    };
    let each = answers
        .iter()
        .map(|of| Message::from(format!("'{}' {}", short(&of.question), short(&of.answer))));
    let answers = Message::joined("{} · {}", each).unwrap_or_default();
    match start_kl {
        Some(kl) => message!("answers  step {}  start_kl={:.4}  {}", step, kl, answers),
        None => message!("answers  step {}  {}", step, answers),
    }
}

/// A measurement on the way.
fn measured(step: u64, report: &Report) -> Message {
    let line = message!("eval  step {}  val_loss={:.4}", step, report.evaluation.loss);
    // A loss per token says nothing about another tokenizer's; in bits per byte they compare.
    let line = match (report.unit, report.bits_per_byte()) {
        (ByteTokenizer::NAME, _) | (_, None) => line,
        (_, Some(bits)) => message!("{}  bits/byte={:.3}", line, bits),
    };
    match &report.facts {
        Some(facts) => message!("{}  facts={:.1} %", line, 100.0 * facts.total().share()),
        None => line,
    }
}

/// The measurement after the last step.
fn result(report: &Report) -> Message {
    let (of, is_byte) = (report.evaluation, report.unit == ByteTokenizer::NAME);
    let bits = match report.bits_per_byte() {
        Some(bits) if !is_byte => message!("{:.3} bits per byte", bits),
        bits => message!("{:.3} bits", bits.unwrap_or(of.bits_per_token())),
    };
    message!(
        "result  validation loss {:.4} nats per {} ({}) · top-1 {:.1} %",
        of.loss,
        unit(report),
        bits,
        100.0 * of.accuracy
    )
}

/// What a token of the text is.
pub fn unit(report: &Report) -> Message {
    match report.unit {
        ByteTokenizer::NAME => message!("byte"),
        _ => message!("token"),
    }
}

/// Why there were fewer steps than planned.
pub fn early(why: &Early) -> Message {
    match why {
        Early::TimeIsUp(step) => message!("Stopped at step {}: the time was up.", step),
        Early::NoProgress(step) => {
            message!("Stopped at step {}: the validation loss no longer fell ({patience}).", step)
        }
        Early::Interrupted(step) => {
            message!("Interrupted at step {}; {load} goes on from there.", step)
        }
        Early::Diverged(why) => why.clone(),
    }
}
