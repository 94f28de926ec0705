//! Writing text to standard output as the model makes it.

mod prompt;
mod table;

pub(crate) use table::row;
pub use table::shown;

use crate::args::SamplingArgs;
use crate::console::{Out, note};
use crate::error::{Result, RunError, usage};
use crate::events;
use crate::signals::Signals;
use llm_core::base::escape::{Printer, Show, safe_text};
use llm_core::generate::{Generator, Sampling, Stops, Written, allowed};
use llm_core::kernels::small::SmallKind;
use llm_core::message;
use llm_core::recipe::DataSource;
use llm_core::tokenizer::{IdsTokenizer, Tokenizer};
use llm_core::{TinyGPT, TokenId};
use llm_formats::chat::{ChatFormat, Turn};
use llm_lens::with_room;
use llm_run::data::Beginning;
use llm_run::defaults::TextDefaults;
use llm_run::device::{Device, reading};
use llm_run::log::Sample;
use std::sync::Arc;

/// Most texts that one command writes.
const MOST_SAMPLES: u64 = 1_000_000;

/// Where texts go, and what ends them early.
#[derive(Debug)]
pub struct To<'a> {
    pub out: &'a mut Out,
    pub signals: &'a Signals,
    /// One `sample` event a text, in place of what is to be read.
    pub json: bool,
    /// The step after which the model writes.
    pub step: u64,
}

/// What is to be written.
#[derive(Debug)]
pub struct Request {
    /// What it begins with.
    prompt: Vec<TokenId>,
    /// The tokenizer of the model that writes.
    pub tokenizer: Arc<dyn Tokenizer>,
    /// Number of tokens.
    pub n: usize,
    /// Number of texts.
    samples: u64,
    /// How they are drawn.
    pub sampling: Sampling,
    /// Tokens that leave a full context at once.
    slide: Option<usize>,
    /// Positions that a token sees, where that is not all. If they are not more than the context, the text
    /// goes on past that from what the cache holds.
    pub window: Option<usize>,
    stops: Stops,
    /// What stands for the prompt where it is a question with its marks.
    asked: Option<String>,
    /// How they are shown.
    show: Show,
    /// Number of next tokens in a table; 0: no table.
    table: usize,
    /// A table before every token.
    table_each: bool,
    /// What the model's weights are kept as; `None`: f32.
    pub weights: Option<SmallKind>,
}

impl Request {
    /// From the flags; without a prompt it begins as the texts do that were `learned`.
    ///
    /// # Errors
    /// [`RunError::Usage`] naming the flag; [`RunError::Data`] naming a character of the prompt
    /// that the model does not know; [`RunError::Input`] for a prompt that cannot be read.
    pub fn new(
        args: &SamplingArgs,
        defaults: &TextDefaults,
        tokenizer: &Arc<dyn Tokenizer>,
        seed: u64,
        learned: &DataSource,
    ) -> Result<Request> {
        let yes = |flag: Option<bool>| flag.unwrap_or(false);
        let sampling = Sampling {
            temperature: args.temp.unwrap_or(defaults.temperature),
            top_k: args.topk.unwrap_or(0),
            top_p: args.top_p.unwrap_or(1.0),
            min_p: args.min_p.unwrap_or(0.0),
            repetition_penalty: args.repetition_penalty.unwrap_or(1.0),
            repeat_last_n: args.repeat_last_n.unwrap_or(0),
            seed,
            sample: 0,
            allowed: allowed(tokenizer.as_ref(), yes(args.ascii_only), yes(args.ignore_eos)),
        };
        sampling.check().map_err(SamplingArgs::refused)?;
        if !sampling.allowed.is_empty() && !sampling.allowed.contains(&true) {
            return usage("--ascii-only: the vocabulary has no token of printable ASCII");
        }
        let samples = args.num_samples.unwrap_or(1);
        if !(1..=MOST_SAMPLES).contains(&samples) {
            return usage(message!("--num-samples {} is outside 1..={}", samples, MOST_SAMPLES));
        }
        if args.stop.iter().any(|stop| stop.is_empty()) {
            return usage("--stop: there is nothing to stop at");
        }
        let each = yes(args.print_next_top_each_step);
        let beginning = Beginning::of(learned, tokenizer.as_ref())?;
        Ok(Request {
            prompt: args.prompt.tokens_or(&**tokenizer, beginning)?,
            tokenizer: tokenizer.clone(),
            n: args.n.unwrap_or(defaults.n),
            samples,
            sampling,
            slide: args.slide,
            window: None,
            stops: Stops::new(args.stop.iter().map(|stop| stop.as_encoded_bytes().to_vec())),
            asked: None,
            show: match (yes(args.raw), yes(args.escape_bytes)) {
                (true, _) => Show::Raw,
                (false, true) => Show::Escaped,
                (false, false) => Show::Safe,
            },
            table: args.print_next_top.unwrap_or(if each { 10 } else { 0 }),
            table_each: each,
            weights: None,
        })
    }

    /// Asks what turns end with, in the format that was learned, in the place of going on with a text.
    ///
    /// # Errors
    /// [`RunError::Data`] for turns that the format refuses.
    pub fn ask(&mut self, turns: &[Turn]) -> Result<()> {
        let format = ChatFormat::of(&*self.tokenizer)?;
        self.prompt = format.question(turns, &*self.tokenizer)?;
        self.stops = self.stops.clone().and(format.end.into_bytes());
        self.asked = turns.last().map(|turn| format!("> {}\n", turn.content));
        Ok(())
    }

    /// Checks that `--slide` fits a model of this context.
    ///
    /// # Errors
    /// [`RunError::Usage`] if not.
    pub fn check_slide(&self, window: usize) -> Result<()> {
        let wrong = self.slide.filter(|slide| !(1..=window).contains(slide));
        let why = |n| message!("--slide {} is outside 1..={}, the model's context", n, window);
        wrong.map_or(Ok(()), |slide| usage(why(slide)))
    }

    /// Writes the prompt and what follows it, as often as asked for. `keep` is given every whole text.
    ///
    /// # Errors
    /// [`RunError::Signal`] after a signal; what generation refuses.
    pub fn write(&self, of: &TinyGPT, to: To<'_>, keep: impl FnMut(&Sample)) -> Result<()> {
        self.write_on(&Device::Cpu, of, to, keep)
    }

    /// [`Request::write`] on a device.
    ///
    /// # Errors
    /// As [`Request::write`]; [`RunError::Unavailable`] where there is no such device.
    pub fn write_on(
        &self,
        device: &Device,
        of: &TinyGPT,
        mut to: To<'_>,
        mut keep: impl FnMut(&Sample),
    ) -> Result<()> {
        let all = self.prompt.len().saturating_add(self.n);
        let longer = with_room(of, self.window.filter(|_| self.slide.is_none()), all);
        let model = longer.as_ref().unwrap_or(of);
        let window = model.config().seq_len;
        self.check_slide(window)?;
        let slide = self.slide.unwrap_or(1);
        if self.prompt.len() > window {
            let n = self.prompt.len();
            note(message!("the prompt has {} tokens; the model sees the last {}", n, window));
        }
        let sampling = self.sampling.clone();
        let mut generator =
            Generator::with_weights(model, &self.prompt, sampling, slide, self.weights)?;
        if let Some(read) = reading(device, model)? {
            generator = generator.elsewhere(read);
        }
        let text = match self.numbers() && !to.json {
            _ if let Some(asked) = &self.asked => asked.clone().into_bytes(),
            true => self.prompt.iter().flat_map(|&token| number(token)).collect(),
            false => self.tokenizer.decode(&self.without_ends())?,
        };
        to.signals.heed();
        for sample in 0..self.samples {
            generator.restart(sample);
            if sample > 0 && !to.json {
                to.out.write(b"---\n");
            }
            let written = match to.json {
                true => self.line(&mut generator, &text, sample, &mut to)?,
                false => self.stream(&mut generator, &text, &mut to)?,
            };
            to.signals.check()?;
            if to.out.is_closed() {
                break;
            }
            keep(&self.shown(to.step, &text, &written));
        }
        Ok(())
    }

    /// One text, printed as it comes.
    fn stream(&self, of: &mut Generator<'_>, prompt: &[u8], to: &mut To<'_>) -> Result<Written> {
        let To { out, signals, .. } = to;
        let mut printer = Printer::new(self.show);
        if self.table > 0 {
            out.show(&self.table(of)?);
        }
        out.write(&printer.push(prompt));
        let mut printed = 0;
        let tokenizer = self.tokenizer.as_ref();
        let written = of.write(tokenizer, self.n, &self.stops, |generator, written| {
            match written.choices.last().filter(|_| self.numbers()) {
                Some(choice) => out.write(&printer.push(&number(choice.token))),
                None => out.write(&printer.push(&written.text[printed..])),
            }
            printed = written.text.len();
            if self.table > 0 && self.table_each {
                out.show(&format!("\n{}", self.table(generator)?));
            }
            Ok::<_, RunError>(!out.is_closed() && signals.pending().is_none())
        })?;
        out.write(&printer.push(&written.text[printed..]));
        out.write(&printer.finish());
        out.write(b"\n");
        Ok(written)
    }

    /// One text, as an object when it is whole.
    fn line(
        &self,
        of: &mut Generator<'_>,
        prompt: &[u8],
        sample: u64,
        to: &mut To<'_>,
    ) -> Result<Written> {
        let mut next = Vec::new();
        if self.table > 0 {
            next.push(self.next_tokens(of)?);
        }
        let tokenizer = self.tokenizer.as_ref();
        let written = of.write(tokenizer, self.n, &self.stops, |generator, _| {
            if self.table > 0 && self.table_each {
                next.push(self.next_tokens(generator)?);
            }
            Ok::<_, RunError>(to.signals.pending().is_none())
        })?;
        let (at, prompt) = ([to.step, sample], String::from_utf8_lossy(prompt));
        to.out.write(&events::sample(at, (&prompt, &self.prompt), &written, &next));
        Ok(written)
    }

    /// The prompt without what only says that a text ends.
    fn without_ends(&self) -> Vec<TokenId> {
        let end = self.tokenizer.end_of_text();
        self.prompt.iter().copied().filter(|&token| Some(token) != end).collect()
    }

    /// Whether tokens are shown as numbers, because they stand for no text.
    fn numbers(&self) -> bool {
        self.tokenizer.name() == IdsTokenizer::NAME
    }

    /// The text as a page shows it.
    fn shown(&self, step: u64, prompt: &[u8], written: &Written) -> Sample {
        let text = match self.numbers() {
            true => written.choices.iter().flat_map(|choice| number(choice.token)).collect(),
            false => written.text.clone(),
        };
        Sample::new(step, &safe_text(prompt), &safe_text(&text))
    }
}

/// A token that stands for no text.
fn number(token: TokenId) -> Vec<u8> {
    format!("{token} ").into_bytes()
}
