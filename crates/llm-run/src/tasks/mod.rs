//! Question sets: how often a model's answer is the right one.
//!
//! The questions are those of [`Shape`], a line of JSON each. They are asked, cut into tokens and counted as
//! lm-evaluation-harness does (version 0.4, no shots), so that both come to the same
//! shares for a model and its export. Of a question q with choices c
//!
//! ```text
//! acc         the right choice has the largest ln p(c|q) = Σ ln p(cᵢ | q, c₁..cᵢ₋₁)
//! acc_norm    the right choice has the largest ln p(c|q) / characters of c
//! ```
//!
//! Of equal ones the first is taken. An answer that has to be exact is right (acc) when each of its tokens is the
//! model's first choice; one that is written is right when the number in it is (`exact_match`).

mod asked;
mod exact;
mod shapes;

pub use shapes::Shape;

use crate::error::{Result, RunError, foreign};
use asked::{Asked, Cutter};
use llm_core::base::Message;
use llm_core::data::{TokenDataset, Window};
use llm_core::generate::{Generator, Sampling, Stops};
use llm_core::tokenizer::Tokenizer;
use llm_core::train::evaluate;
use llm_core::{TinyGPT, TokenId, message};
use llm_formats::chat::ChatFormat;
use llm_formats::files::{small_file, small_stdin, unmarked};
use llm_lens::statistics::{Mean, RISK, share_interval};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use shapes::{Question, Ways};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Most bytes of a file of questions.
const MOST_BYTES: u64 = 1 << 30;
/// Most tokens of a written answer, and at most half of the context.
const MOST_WRITTEN: usize = 256;
/// Inputs of windows that are scored together are padded to a multiple of this.
const PADDED: usize = 64;

/// Questions, all of one shape.
#[derive(Clone, Debug)]
pub struct Task {
    path: PathBuf,
    /// The shape of every line.
    pub shape: Shape,
    /// Each with its line.
    questions: Vec<(usize, Question)>,
}

/// What a model answers.
#[derive(Clone, Debug)]
pub struct Answers {
    /// The shape of the questions.
    pub shape: Shape,
    /// Shares of right answers, one for each way to count them.
    pub rates: Vec<Rate>,
    /// The share that guessing gets right, the mean of 1/choices; none where there are no choices.
    pub guessing: Option<f64>,
    /// Each question, in the order of the file.
    pub questions: Vec<Answered>,
    /// Questions that were longer than the context, and lost their beginning.
    pub cut: usize,
    /// The token before texts that nothing comes before, if there are such.
    pub begins_with: Option<TokenId>,
    /// Most tokens of an answer, where answers are written.
    pub most_written: Option<usize>,
}

/// How many answers are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The harness's name of the way to count.
    pub name: &'static str,
    /// Right answers.
    pub right: usize,
    /// All answers.
    pub of: usize,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answered {
    /// Line of the file, from 1.
    pub line: usize,
    /// Number of the right choice, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<usize>,
    /// ln p of each choice, in nats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logprobs: Vec<f64>,
    /// What was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The verdict of each way to count.
    #[serde(flatten)]
    pub right: BTreeMap<&'static str, bool>,
}

impl Rate {
    /// The share of right answers, right / of.
    pub fn share(self) -> f64 {
        self.right as f64 / self.of as f64
    }

    /// The standard error of the share, √(p(1 − p) / (n − 1)); none of one question.
    pub fn stderr(self) -> Option<f64> {
        let p = self.share();
        (self.of > 1).then(|| (p * (1.0 - p) / (self.of - 1) as f64).sqrt())
    }

    /// The interval that holds the true share but for the chance [`RISK`].
    pub fn interval(self) -> [f64; 2] {
        share_interval(self.right, self.of, RISK)
    }
}

/// For programs; the shares by the harness's names.
impl Serialize for Answers {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let mut all = to.serialize_map(None)?;
        all.serialize_entry("shape", self.shape.name())?;
        all.serialize_entry("questions", &self.questions.len())?;
        for rate in &self.rates {
            all.serialize_entry(rate.name, &rate.share())?;
            all.serialize_entry(&format!("{}_stderr", rate.name), &rate.stderr())?;
            all.serialize_entry(&format!("{}_interval", rate.name), &rate.interval())?;
        }
        all.serialize_entry("guessing", &self.guessing)?;
        all.serialize_entry("cut", &self.cut)?;
        if let Some(token) = self.begins_with {
            all.serialize_entry("begins_with", &token)?;
        }
        if let Some(most) = self.most_written {
            all.serialize_entry("most_written", &most)?;
        }
        all.end()
    }
}

/// Called with how far it is, of how much; says whether to stop.
pub type Watch<'a> = dyn FnMut(u64, u64) -> bool + 'a;

impl Task {
    /// The questions of a file, `-` for standard input.
    ///
    /// # Errors
    /// [`RunError::Core`] for a file that cannot be read, [`RunError::Data`] naming the line that is no
    /// question or one of another shape.
    pub fn read(path: &Path) -> Result<Task> {
        let text = match path == Path::new("-") {
            true => small_stdin(MOST_BYTES)?,
            false => small_file(path, MOST_BYTES)?,
        };
        if let Some(other) = foreign(path, &[]) {
            return Err(other);
        }
        let of_file = |why| RunError::Data(message!("'{}': {}", path.display(), why));
        if text.len() as u64 > MOST_BYTES {
            return Err(of_file(message!("it is longer than {} bytes", MOST_BYTES)));
        }
        let text = String::from_utf8(unmarked(text))
            .map_err(|e| of_file(message!("no UTF-8: {}", e.utf8_error().to_string())))?;
        let mut task = Task { path: path.into(), shape: Shape::Answer, questions: Vec::new() };
        let mut first = None;
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let (shape, question) = shapes::question(text).map_err(|why| task.at(line, why))?;
            let (other, at) = *first.get_or_insert((shape, line));
            if other != shape {
                let [this, that] = [shape, other].map(Shape::name);
                let why = message!("its shape is {}, that of line {} is {}", this, at, that);
                return Err(task.at(line, why));
            }
            task.shape = shape;
            task.questions.push((line, question));
        }
        match first {
            Some(_) => Ok(task),
            None => Err(of_file(message!("there is no question in it"))),
        }
    }

    fn at(&self, line: usize, why: Message) -> RunError {
        RunError::Data(message!("{}, line {}: {}", format!("'{}'", self.path.display()), line, why))
    }

    /// Asks all of them, `batch` choices at a time; nothing when `watch` said to stop. With `chat` the context of
    /// a question is what a user says, in that format, and the answer is the model's.
    ///
    /// # Errors
    /// [`RunError::Data`] naming the line of a question that this model cannot be asked: a character that
    /// its tokenizer lacks, a choice longer than its context, a score that is not finite;
    /// [`RunError::Core`] for what scoring refuses.
    pub fn ask(
        &self,
        model: &TinyGPT,
        tokenizer: &dyn Tokenizer,
        batch: usize,
        chat: Option<&ChatFormat>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Answers>> {
        let context = model.config().seq_len;
        let most_written = MOST_WRITTEN.min(context / 2);
        let mut cutter = Cutter::new(tokenizer, context, most_written, chat)?;
        let mut asked = Vec::new();
        for (line, question) in &self.questions {
            asked.push(cutter.cut(question).map_err(|why| self.at(*line, why))?);
        }
        let writes = self.shape == Shape::Gsm8k;
        let found = match writes {
            true => written(model, tokenizer, &asked, most_written, watch)?,
            false => scored(model, &asked, batch, watch)?,
        };
        let Some(found) = found else { return Ok(None) };
        let mut questions = Vec::new();
        for ((line, question), found) in self.questions.iter().zip(found) {
            questions
                .push(judged(*line, &question.ways, found).map_err(|why| self.at(*line, why))?);
        }
        let rate = |name: &&'static str| Rate {
            name,
            right: questions.iter().filter(|q| q.right[name]).count(),
            of: questions.len(),
        };
        let chances = self.questions.iter().filter_map(|(_, question)| match &question.ways {
            Ways::Choices { texts, .. } => Some(1.0 / texts.len() as f64),
            _ => None,
        });
        let chances: Vec<f64> = chances.collect();
        Ok(Some(Answers {
            shape: self.shape,
            rates: self.shape.counted().iter().map(rate).collect(),
            guessing: (!chances.is_empty()).then(|| Mean::of(&chances).mean),
            questions,
            cut: asked.iter().filter(|asked| asked.iter().any(|one| one.is_cut)).count(),
            begins_with: cutter.begun_with(),
            most_written: writes.then_some(most_written),
        }))
    }
}

/// What a model says to a question: ln p of each continuation, with whether all its tokens are first choices; or what
/// it writes.
#[derive(Default)]
struct Said {
    scores: Vec<(f64, bool)>,
    text: Option<String>,
}

fn judged(line: usize, ways: &Ways, said: Said) -> Result<Answered, Message> {
    let logprobs: Vec<f64> = said.scores.iter().map(|of| of.0).collect();
    if let Some(x) = logprobs.iter().find(|x| !x.is_finite()) {
        return Err(message!("the model's ln p of an answer is {}", x));
    }
    let mut answer = None;
    let right = match ways {
        Ways::Written(gold) => {
            exact::matches(said.text.as_deref().unwrap_or_default(), gold).into()
        }
        Ways::Continuation(_) => [("acc", said.scores.iter().all(|of| of.1))].into(),
        Ways::Choices { texts, right, .. } => {
            answer = Some(*right);
            let norm = texts.iter().zip(&logprobs).map(|(c, x)| x / c.chars().count() as f64);
            let best = [first_largest(&logprobs), first_largest(&norm.collect::<Vec<_>>())];
            [("acc", best[0] == *right), ("acc_norm", best[1] == *right)].into()
        }
    };
    Ok(Answered { line, answer, logprobs, text: said.text, right })
}

fn first_largest(x: &[f64]) -> usize {
    (1..x.len()).fold(0, |best, i| if x[i] > x[best] { i } else { best })
}

/// ln p of every continuation of every question, longest first so that what is scored together is about equally
/// long.
fn scored(
    model: &TinyGPT,
    asked: &[Vec<Asked>],
    batch: usize,
    watch: &mut Watch<'_>,
) -> Result<Option<Vec<Said>>> {
    let all = asked.iter().enumerate().flat_map(|(i, of)| (0..of.len()).map(move |j| [i, j]));
    let mut order: Vec<[usize; 2]> = all.collect();
    let inputs = |[i, j]: [usize; 2]| asked[i][j].tokens.len() - 1;
    order.sort_by_key(|&place| Reverse(inputs(place)));
    let total = order.iter().map(|&place| inputs(place) as u64).sum();
    let mut found: Vec<_> = asked.iter().map(|of| vec![(0.0, false); of.len()]).collect();
    let (mut done, mut stopped) = (0, false);
    let alike =
        |a: &[usize; 2], b: &[usize; 2]| inputs(*a).div_ceil(PADDED) == inputs(*b).div_ceil(PADDED);
    for group in order.chunk_by(alike) {
        let (mut tokens, mut windows) = (Vec::new(), Vec::new());
        for &[i, j] in group {
            windows.push(Window { start: tokens.len(), len: inputs([i, j]) });
            tokens.extend_from_slice(&asked[i][j].tokens);
        }
        let (data, windows) = (TokenDataset::from_tokens(tokens), windows.into_iter().collect());
        evaluate(model, &data, &windows, batch, |of| {
            let [i, j] = group[of.window];
            let first = of.losses.len() - asked[i][j].scored;
            let sum = -of.losses[first..].iter().map(|&loss| f64::from(loss)).sum::<f64>();
            found[i][j] = (sum, of.right[first..].iter().all(|&right| right));
            done += of.losses.len() as u64;
            stopped = watch(done, total);
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if stopped {
            return Ok(None);
        }
    }
    Ok(Some(found.into_iter().map(|scores| Said { scores, text: None }).collect()))
}

/// What the model writes to every question, always the likeliest token, up to what ends it.
fn written(
    model: &TinyGPT,
    tokenizer: &dyn Tokenizer,
    asked: &[Vec<Asked>],
    most: usize,
    watch: &mut Watch<'_>,
) -> Result<Option<Vec<Said>>> {
    let mut generator = Generator::new(model, &[0], Sampling::greedy(), 1)?;
    let ends = ChatFormat::own(tokenizer).map(|format| format.ends()).unwrap_or_default();
    let ends = ends.iter().map(|&token| tokenizer.bytes_of(token).to_vec());
    let stops =
        Stops::new(exact::STOPS.map(|text| text.as_bytes().to_vec()).into_iter().chain(ends));
    let (mut found, total) = (Vec::new(), (asked.len() * most) as u64);
    for prompt in asked.iter().flatten() {
        generator.prompt(&prompt.tokens, 0)?;
        let (done, mut stopped) = ((found.len() * most) as u64, false);
        let text = generator.write(tokenizer, most, &stops, |_, written| {
            stopped = watch(done + written.choices.len() as u64, total);
            Ok::<_, RunError>(!stopped)
        })?;
        if stopped {
            return Ok(None);
        }
        let text = Some(String::from_utf8_lossy(&text.text).into_owned());
        found.push(Said { text, ..Said::default() });
    }
    watch(total, total);
    Ok(Some(found))
}

#[cfg(test)]
mod tests;
