//! `chat`: a conversation with a model, in a terminal or line by line.

use crate::args::{ChatArgs, SamplingArgs};
use crate::console::{Out, note};
use crate::error::{Result, RunError};
use crate::events::{self, Event};
use crate::next_commands;
use crate::program::Program;
use crate::signals::Signals;
use llm_core::base::escape::{Printer, Show};
use llm_core::generate::{Finish, Sampling};
use llm_core::message;
use llm_run::folder::to_load;
use llm_run::plan::{Loaded, load};
use llm_run::talk::{Answer, Talk};
use std::io::{self, BufRead, IsTerminal, Read};

/// Most tokens of an answer.
const ANSWER: usize = 512;
const TEMPERATURE: f32 = 0.7;
const TOP_P: f32 = 0.95;
/// Most bytes of a question, its line's end among them: more than a context holds.
const MOST_BYTES: u64 = 1 << 20;

/// Loads the model, and answers every line.
///
/// # Errors
/// What loading refuses; [`RunError::Signal`] after a signal while it waits for a line.
pub fn chat(program: &Program, args: &ChatArgs) -> Result<()> {
    let signals = Signals::listen();
    let Loaded { mut run, tokenizer, .. } = load(&program.models, &to_load(&args.load)?)?;
    let sampling = Sampling {
        temperature: args.temp.unwrap_or(TEMPERATURE),
        top_k: args.topk.unwrap_or(0),
        top_p: args.top_p.unwrap_or(TOP_P),
        seed: args.seed.unwrap_or(run.recipe.seed),
        ..Sampling::default()
    };
    sampling.check().map_err(SamplingArgs::refused)?;
    let n = args.n.unwrap_or(ANSWER);
    if n == 0 {
        return Err(RunError::Usage("-n 0: an answer needs a token".into()));
    }
    if let Some(kind) = args.weights {
        run.model = run.model.rounded(kind)?;
    }
    let system = args.system.as_deref();
    let mut talk = Talk::new(&run.model, tokenizer.clone(), system, sampling, args.weights)?;
    let (quiet, json, typed) = (args.output.quiet(), args.output.json(), io::stdin().is_terminal());
    if !quiet && !talk.has_template() {
        note(message!(
            "the model has learned no conversation: it goes on with a text, for which there is {} \
             generate{} -p TEXT",
            next_commands::program(program),
            next_commands::load_flag(&args.load)
        ));
    }
    if !quiet && typed {
        note(
            "ask in a line; Ctrl-C ends an answer, Ctrl-D or Ctrl-C at the prompt the conversation",
        );
    }
    let mut out = Out::default();
    for turn in 0.. {
        if typed {
            out.write(b"> ");
        }
        let Some(question) = signals.reading(line)? else { break };
        if question.trim().is_empty() {
            continue;
        }
        let mut printer = Printer::new(Show::Safe);
        let mut printed = 0;
        let asked = talk.ask(&question, n, |written| {
            if !json {
                out.write(&printer.push(&written.text[printed..]));
                printed = written.text.len();
            }
            !out.is_closed() && signals.pending().is_none()
        });
        let answer = match asked {
            // The conversation goes on without the question.
            Err(RunError::Data(why)) if typed => {
                note(why);
                continue;
            }
            asked => asked?,
        };
        match json {
            true => out.write(&line_of(&question, &answer, [run.step, turn])),
            false => {
                out.write(&printer.push(&answer.written.text[printed..]));
                out.write(&printer.finish());
                out.write(b"\n");
            }
        }
        if !quiet && answer.forgotten > 0 {
            note(message!(
                "{} turns no longer fit into the context and are forgotten",
                answer.forgotten
            ));
        }
        if !quiet && answer.written.finish == Finish::Length {
            note(message!("the answer was cut after {} tokens", answer.written.choices.len()));
        }
        if typed {
            signals.forget_interrupt();
        }
        signals.check()?;
        if out.is_closed() {
            break;
        }
    }
    if typed {
        out.write(b"\n");
    }
    out.finish()
}

/// The next line of standard input; none at its end.
fn line() -> Result<Option<String>> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(MOST_BYTES + 1).read_until(b'\n', &mut bytes);
    let read = read.map_err(|e| RunError::Input { path: "-".into(), why: e.to_string().into() })?;
    if read as u64 > MOST_BYTES {
        let why = "a question of more than 1 MiB; give each a line of its own";
        return Err(RunError::Data(why.into()));
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok((read > 0).then(|| text.trim_end_matches(['\n', '\r']).to_string()))
}

/// A question and its answer as an event.
fn line_of(question: &str, answer: &Answer, [step, sample]: [u64; 2]) -> Vec<u8> {
    let written = &answer.written;
    events::line(&Event::Sample {
        step,
        sample,
        prompt: question,
        text: &String::from_utf8_lossy(&written.text),
        prompt_ids: &answer.prompt,
        ids: &written.choices.iter().map(|choice| choice.token).collect::<Vec<_>>(),
        logprobs: &written.choices.iter().map(|choice| choice.logprob).collect::<Vec<_>>(),
        finish: written.finish,
        next: &[],
    })
}
