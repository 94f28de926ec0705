//! A run that is to take a given time: what was not asked for is chosen, by a short measurement of
//! this machine and by what runs of other lengths came to.
//!
//! | file | holds |
//! |---|---|
//! | `choose.rs` | the decision, a function of numbers alone |
//! | `deadline.rs` | the steps planned again, when some have been timed |
//! | `filled.rs` | options with what is chosen in the gaps |

mod choose;
mod deadline;
mod filled;

pub use choose::{Chosen, SIZES, Size, TextLength, Trial, choose};
pub use deadline::{Deadline, Unused};

use crate::clock::TimeBudget;
use crate::data::Input;
use crate::defaults::INTERVAL;
use crate::error::{Result, RunError, usage};
use crate::models::Models;
use crate::note::Note;
use crate::options::Options;
use crate::plan::{check_options, fitted, untaught};
use crate::settings::whole;
use crate::timing::{fastest, measured_time, step_seconds};
use crate::tokenizers;
use choose::{MOST_PASSES, MOST_PASSES_LEARNED};
use filled::Filled;
use llm_core::model::Footprint;
use llm_core::optim::{Schedule, ScheduleKind};
use llm_core::recipe::DataForm;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::Trainer;
use llm_core::{TokenDataset, TokenId, message};
use llm_formats::data_files::{Reading, is_stdin};
use llm_lens::training_flops;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Share of the time that is planned; the rest is for what cannot be foreseen.
const PLANNED: f64 = 0.9;
/// Share of the time for the trial of one size.
const OF_A_TRIAL: f64 = 0.01;
/// Bytes per second from which a vocabulary is learned, of at most [`MOST_LEARNED`].
const LEARNED_A_SECOND: f64 = 3e6;
const MOST_LEARNED: f64 = 32e6;
/// Bytes per second that are cut into tokens.
const CUT_A_SECOND: f64 = 15e6;
/// Bytes that a token of a learned vocabulary stands for, at least.
const BYTES_A_TOKEN: f64 = 2.5;

/// A run for which what was not given is chosen.
#[derive(Clone, Debug, Default)]
pub struct InTime {
    /// The options with all that was chosen. These alone make the same run, as long as it is not planned again.
    pub options: Options,
    /// What was chosen, and what else there is to say.
    pub notes: Vec<Note>,
    /// When the run is to be over; `None`: it takes as long as it does.
    pub deadline: Option<Deadline>,
}

/// The options with everything chosen that was not given, so that the whole run, which began with the
/// clock, fits into [`Options::time`]. A time that is too short for anything has the fewest steps.
/// Without such a time the options are returned as they are.
///
/// # Errors
/// [`RunError::Usage`] where there is nothing to choose; else what a run
/// of these options is refused for.
pub fn in_time(models: &Models, options: &Options, clock: &TimeBudget) -> Result<InTime> {
    let Some(time) = options.time else {
        return Ok(InTime { options: options.clone(), ..InTime::default() });
    };
    options.check_device()?;
    refuse(options)?;
    let input = text(&options.data)?;
    let bytes = length(&input)?;
    let mut filled = Filled::new(options);
    filled.tokenizer(bytes);
    let choice = tokenizers::Choice::of(&filled.options.tokenizer)?;
    let learns = matches!(choice, None | Some(tokenizers::Choice::Learn { .. }));
    let vocab_size = match &choice {
        Some(known) if !learns => {
            Some(tokenizers::make(known, &input, 0.0, &|_, _| ())?.tokenizer.vocab_size())
        }
        _ => None,
    };
    let chats = Lengths::of(&input, filled.learns())?;
    if let Some(chats) = &chats {
        filled.put("seq", chats.seq_len);
    }
    drop(input);
    let val = if options.val.is_empty() { 0 } else { length(&text(&options.val)?)? };
    let (bytes_f, seconds) = (bytes as f64, time.as_secs_f64());
    // The run reads it once more.
    let mut beginning = clock.begin.elapsed().as_secs_f64();
    if filled.learns() {
        beginning += bytes_f.min(MOST_LEARNED) / LEARNED_A_SECOND + bytes_f / CUT_A_SECOND;
    }
    let left = || PLANNED * seconds - beginning - clock.begin.elapsed().as_secs_f64();
    let short = measured_time().min(time.mul_f64(OF_A_TRIAL));
    let (mut trials, val_frac) = trials(models, &filled, vocab_size, short, &left)?;
    let a_token = if filled.learns() { BYTES_A_TOKEN } else { 1.0 };
    let eval_every = options.habits.eval_every.unwrap_or(INTERVAL);
    // Rows are as long as conversations are, and not as long as a window.
    let of_chats = |chats: &Lengths| (chats.tokens, chats.filling(&filled.options));
    let (all, filling) = chats.as_ref().map_or((bytes_f / a_token, 1.0), of_chats);
    for trial in &mut trials {
        trial.step *= filling;
        trial.tokens *= filling;
    }
    let text = TextLength {
        learned: all * (1.0 - val_frac),
        unseen: all * val_frac + val as f64 / a_token,
        eval_every,
        most_passes: if filled.learns() { MOST_PASSES_LEARNED } else { MOST_PASSES },
    };
    let chosen = choose(&text, left(), &trials);
    let of =
        |chosen: Chosen| Some((chosen, trials.iter().find(|trial| trial.size == chosen.size)?));
    let Some((Chosen { size, steps, dropout, weight_decay }, trial)) = chosen.and_then(of) else {
        return Err(RunError::Internal(message!("no size of a model was tried")));
    };
    let least = seconds * PLANNED - left() + trial.seconds(steps, &text);
    let is_short = least > seconds;
    filled.size(models, &SIZES[size]);
    filled.put("dropout", dropout);
    if let Some(decay) = weight_decay {
        filled.put("weight_decay", decay);
    }
    filled.put("steps", steps);
    // What follows from the steps is said, too: they are planned again, and it stays.
    let Schedule { kind, lr, warmup_steps, .. } =
        check_options(models, &filled.options, 0)?.decided().recipe.schedule;
    if kind != ScheduleKind::Constant {
        filled.put("warmup", warmup_steps);
    }
    filled.put("lr", lr);
    let tables = filled.learns() && models.offers(TABLES) && !options.given.contains_key(TABLES);
    let Filled { options, settings } = filled;
    let mut notes = vec![Note::Chosen { seconds, bytes, settings }];
    notes.extend(is_short.then_some(Note::ShortTime { steps, least }));
    notes.extend(tables.then_some(Note::Tables));
    let deadline = (!is_short).then(|| Deadline::new(seconds, warmup_steps, text, *trial));
    Ok(InTime { options: Options { time: None, ..options }, notes, deadline })
}

/// The setting of tables of n-grams.
const TABLES: &str = "ngrams";

/// The lengths of conversations.
#[derive(Debug)]
struct Lengths {
    /// The window that is chosen for them.
    seq_len: usize,
    /// Tokens of all conversations together.
    tokens: f64,
    /// Tokens of one, on average.
    mean: f64,
}

impl Lengths {
    /// Lengths of the conversations of an input, in bytes and marks; of a vocabulary that is not learned
    /// yet as many as its tokens are at most.
    fn of(input: &Input, learns: bool) -> Result<Option<Lengths>> {
        let Some(chats) = input.chats() else { return Ok(None) };
        let bytes = tokenizers::Choice::Byte.talking(Arc::new(ByteTokenizer))?;
        let mut lengths = chats.lengths(&*bytes)?;
        if learns {
            lengths.iter_mut().for_each(|length| *length = length.div_ceil(2));
        }
        let tokens = lengths.iter().sum::<usize>() as f64;
        let mean = tokens / lengths.len().max(1) as f64;
        Ok(Some(Lengths { seq_len: fitted(&lengths), tokens, mean }))
    }

    /// Share of a window that a conversation fills.
    fn filling(&self, options: &Options) -> f64 {
        let seq_len = whole(&options.given, "seq").unwrap_or(self.seq_len as u64);
        (self.mean / seq_len.max(1) as f64).clamp(0.01, 1.0)
    }
}

/// What has no room for a choice.
fn refuse(options: &Options) -> Result<()> {
    let piped = options.data.iter().chain(&options.val).any(|path| is_stdin(path));
    let why = if options.load.is_some() {
        message!("{time} chooses a new run; with {load}, {steps} or {max_time} says how long")
    } else if options.data.is_empty() {
        message!("{time} needs {data}")
    } else if options.given.contains_key("steps") || options.epochs.is_some() {
        message!("{time} chooses the steps: leave {steps} and {epochs} out")
    } else if options.data_as == Some(DataForm::U16) {
        numbers()
    } else if piped {
        message!(
            "{time} looks at the text before the run: name a file instead of standard input (-)"
        )
    } else {
        return Ok(());
    };
    usage(why)
}

fn numbers() -> llm_core::base::Message {
    message!("{time} chooses for text, and {data} holds token numbers: give {steps}")
}

/// Files as they are, for their length.
fn text(paths: &[PathBuf]) -> Result<Input> {
    Input::files(paths, Reading::new(ByteTokenizer::NAME, None))
}

fn length(input: &Input) -> Result<u64> {
    match input {
        Input::Files(of) if of.texts.largest().is_none() => Ok(of.texts.text().len() as u64),
        _ => usage(numbers()),
    }
}

/// Tries the sizes from the smallest, as far as one may be worth its time, for `short` each; and the
/// share of the text that is unseen.
fn trials(
    models: &Models,
    filled: &Filled,
    vocab_size: Option<usize>,
    short: Duration,
    left: &dyn Fn() -> f64,
) -> Result<(Vec<Trial>, f64)> {
    let (mut trials, mut val_frac, mut before): (Vec<Trial>, _, Option<(Options, f64)>) =
        (Vec::new(), 0.0, None);
    for (number, size) in SIZES.iter().enumerate() {
        let mut filled = filled.clone();
        filled.size(models, size);
        // Dropped numbers take time.
        filled.put("dropout", 0.1f32);
        let mut trainer = match untaught(models, &filled.options, vocab_size) {
            Err(e) if number == 0 => return Err(e),
            Err(_) => break, // too large for the memory, or for what was asked for
            Ok(trainer) => trainer,
        };
        let flops = flops(&trainer);
        if let (Some((options, of_last)), Some(last)) = (&before, trials.last()) {
            let foreseen = last.step * flops / of_last;
            let same = options.given == filled.options.given;
            if same || foreseen * size.from as f64 / 2.0 > left() {
                break;
            }
        }
        let recipe = &trainer.recipe;
        let (tokens, vocab) = (recipe.tokens_per_step() as f64, trainer.model.config().vocab_size);
        val_frac = recipe.val_frac;
        let windows = 2 * recipe.batch_size * recipe.seq_len;
        let text = (0..=windows).map(|place| (place % vocab) as TokenId).collect();
        let text = TokenDataset::from_tokens(text);
        // A machine that is busy for a moment is not slow.
        let step = step_seconds(&mut trainer, &text, &mut || false, short, fastest)?;
        let parameters = trainer.model.parameter_count();
        trials.push(Trial { size: number, step, tokens, parameters });
        before = Some((filled.options, flops));
    }
    Ok((trials, val_frac))
}

/// Operations of a step.
fn flops(trainer: &Trainer) -> f64 {
    let (model, recipe) = (&trainer.model, &trainer.recipe);
    let of = Footprint::new(model.config(), model.attention().as_ref());
    training_flops(&of, recipe.seq_len) * recipe.tokens_per_step() as f64
}
