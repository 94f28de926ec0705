//! All runs, and who answers which request.

use crate::failure::{Code, Failure, Result, shown};
use crate::request::{
    Forget, Load, Make, Measure, More, Nothing, Request, Save, Source, Step, Text,
};
use crate::run::{MODELS, Measuring, Run};
use crate::said;
use crate::{gpu, inside, look, twins};
use llm_core::recipe::DataSource;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::{OneProcess, Trainer};
use llm_core::{Recipe, message};
use llm_run::data::{Input, Reading, Slices};
use llm_run::defaults::PERIODIC_TOKENS;
use llm_run::plan::on_input;
use llm_stories::{GRAMMAR_VERSION, ToldStories};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most runs at a time.
const MOST_RUNS: usize = 16;

/// What a request is answered with.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// What there is to say.
    pub json: Value,
    /// Numbers or a file.
    pub blob: Vec<u8>,
}

impl From<Value> for Answer {
    fn from(json: Value) -> Answer {
        Answer { json, blob: Vec::new() }
    }
}

impl From<(Value, Vec<u8>)> for Answer {
    fn from((json, blob): (Value, Vec<u8>)) -> Answer {
        Answer { json, blob }
    }
}

/// Several runs side by side.
#[derive(Debug, Default)]
pub struct Lab {
    runs: BTreeMap<u32, Run>,
    /// Runs on the same stories share them.
    told: Option<ToldStories>,
}

impl Lab {
    /// Answers a request in JSON, which may come with bytes. After an error everything is as before,
    /// but for the steps that were done.
    ///
    /// # Errors
    /// What went wrong, see [`Code`].
    pub fn ask(&mut self, request: &[u8], blob: Vec<u8>) -> Result<Answer> {
        let request = Request::parse(request)?;
        let run = request.run;
        match request.name.as_str() {
            "make" => self.make(run, &request.fields()?, blob),
            "load" => self.load(run, &request.fields()?, &blob),
            "text" => self.text(run, &request.fields()?, blob),
            "step" => self.step(run, &request.fields()?),
            "list" => {
                let Nothing {} = request.fields()?;
                Ok(gpu::list(self.run(run)?)?.into())
            }
            "weights" => {
                let Nothing {} = request.fields()?;
                Ok(gpu::weights(self.run(run)?)?.into())
            }
            "batch" => Ok(gpu::batch(self.run(run)?, &request.fields()?)?.into()),
            "back" => Ok(gpu::back(self.run(run)?, &request.fields()?, &blob)?.into()),
            "more" => self.more(run, &request.fields()?),
            "measure" => self.measure(run, &request.fields()?),
            "write" => Ok(look::write(self.run(run)?, &request.fields()?)?.into()),
            "attention" => Ok(look::attention(self.run(run)?, &request.fields()?)?.into()),
            "next" => Ok(inside::next(self.run(run)?, &request.fields()?)?.into()),
            "embedding" => Ok(inside::embedding(self.run(run)?, &request.fields()?)?.into()),
            "hidden" => Ok(inside::hidden(self.run(run)?, &request.fields()?)?.into()),
            "twins" => Ok(twins::twins(self.run(run)?, &request.fields()?)?.into()),
            "patch" => Ok(twins::patch(self.run(run)?, &request.fields()?)?.into()),
            "lens" => Ok(twins::lens(self.run(run)?, &request.fields()?)?.into()),
            "roles" => Ok(look::roles(self.run(run)?, &request.fields()?)?.into()),
            "remember" => {
                let Nothing {} = request.fields()?;
                Ok(said::moment(self.run(run)?.remember()?).into())
            }
            "moments" => {
                let Nothing {} = request.fields()?;
                let moments = self.run(run)?.moments.iter().map(|(step, _)| said::moment(*step));
                Ok(json!({ "moments": moments.collect::<Vec<_>>() }).into())
            }
            "forget" => {
                let Forget { moment } = request.fields()?;
                self.run(run)?.forget(moment)?;
                Ok(json!({}).into())
            }
            "save" => {
                let Save { optimizer } = request.fields()?;
                let run = self.run(run)?;
                let blob = run.save(optimizer.unwrap_or(true))?;
                let json = json!({ "step": run.trainer.step, "bytes": blob.len() });
                Ok(Answer { json, blob })
            }
            "describe" => {
                let Nothing {} = request.fields()?;
                Ok(said::described(self.run(run)?).into())
            }
            "drop" => {
                let Nothing {} = request.fields()?;
                Ok(json!({ "dropped": self.runs.remove(&run).is_some() }).into())
            }
            other => {
                let why = message!("no request '{}'", other.escape_default());
                Err(Failure::new(Code::Request, why))
            }
        }
    }

    fn run(&mut self, number: u32) -> Result<&mut Run> {
        let missing = || Failure::new(Code::Run, message!("there is no run {}", number));
        self.runs.get_mut(&number).ok_or_else(missing)
    }

    /// Puts a run into its place, and says what it is.
    fn put(&mut self, number: u32, run: Run) -> Result<Answer> {
        if self.runs.len() >= MOST_RUNS && !self.runs.contains_key(&number) {
            let why = message!("{} runs are open; drop one of them", MOST_RUNS);
            return Err(Failure::new(Code::Run, why));
        }
        let said = said::described(&run);
        self.runs.insert(number, run);
        Ok(said.into())
    }

    fn make(&mut self, number: u32, make: &Make, blob: Vec<u8>) -> Result<Answer> {
        let input = match make.data {
            Source::Stories => Input::stories(),
            Source::Text => {
                let reading = Reading::new(ByteTokenizer::NAME, None).without_options();
                text_in(&make.name, blob, reading)?
            }
        };
        let (options, tokenizer) = (make.options(), Arc::new(ByteTokenizer));
        let plan = on_input(&MODELS, &options, input, tokenizer, &mut self.told)?;
        self.put(number, Run { data: plan.data, ..Run::new(plan.trainer, plan.tokenizer) })
    }

    fn load(&mut self, number: u32, load: &Load, file: &[u8]) -> Result<Answer> {
        let mut run = Run::load(&load.name, file)?;
        if let DataSource::Stories { version, seed, count } = run.trainer.recipe.data {
            let own = GRAMMAR_VERSION;
            if version != own {
                let why = message!("stories of grammar {}, this program has {}", version, own);
                return Err(Failure::new(Code::Data, why));
            }
            run.learns(Input::Stories { seed, count }, &mut self.told)?;
        }
        self.put(number, run)
    }

    /// Gives a run its text, or another one.
    fn text(&mut self, number: u32, ask: &Text, blob: Vec<u8>) -> Result<Answer> {
        let run = self.run(number)?;
        let recipe = &run.trainer.recipe;
        let reading = Reading::for_model(&*run.tokenizer, &recipe.data, None).without_options();
        let input = text_in(&ask.name, blob, reading)?;
        let source = input.source();
        if ![&source, &DataSource::NONE].contains(&&recipe.data) && !ask.change {
            let name = shown(&ask.name);
            let why = message!("'{}' is not the text that this run has learned from", name);
            return Err(Failure::new(Code::Data, why));
        }
        run.learns(input, &mut None)?;
        run.trainer.recipe.data = source;
        Ok(said::described(run).into())
    }

    fn step(&mut self, number: u32, ask: &Step) -> Result<Answer> {
        let run = self.run(number)?;
        let reports = run.step(ask.n.unwrap_or(1))?;
        Ok(said::steps(run, &reports).into())
    }

    fn more(&mut self, number: u32, ask: &More) -> Result<Answer> {
        let trainer = &mut self.run(number)?.trainer;
        let total_steps = trainer.step.saturating_add(ask.steps);
        let recipe = Recipe { total_steps, ..trainer.recipe.clone() };
        recipe.check_with(MODELS.optimizers)?;
        trainer.recipe = recipe;
        Ok(json!({ "step": trainer.step, "steps": trainer.recipe.total_steps }).into())
    }

    fn measure(&mut self, number: u32, ask: &Measure) -> Result<Answer> {
        let run = self.run(number)?;
        let Some(val) = run.data.as_ref().and_then(|data| data.val.as_ref()) else {
            let why = message!("there is no unseen text to measure on");
            return Err(Failure::new(Code::Data, why));
        };
        let all = |n: usize| if n == 0 { usize::MAX } else { n };
        let tokens = all(ask.tokens.unwrap_or(PERIODIC_TOKENS));
        let Trainer { model, recipe, step, .. } = &run.trainer;
        let begun = run.measuring.take().filter(|begun| begun.tokens == tokens);
        let mut begun = begun.unwrap_or_else(|| {
            let slices = Slices::new(val, tokens);
            Measuring { step: *step, tokens, model: model.clone(), slices }
        });
        let each = [recipe.batch_size, all(ask.slice)];
        begun.slices.score(val, &mut OneProcess, &begun.model, each, |_, _, _| false)?;
        let said = said::measured(&begun, val);
        run.measuring = Some(begun).filter(|begun| begun.slices.part() < 1.0);
        Ok(said.into())
    }
}

/// A text to learn from, out of what it is wrapped in.
///
/// # Errors
/// [`Code::Data`] for what is no text, and for conversations: what writes them down is not in a tab.
fn text_in(name: &str, blob: Vec<u8>, reading: Reading) -> Result<Input> {
    let name = shown(name);
    let input = Input::of_bytes(name.clone(), blob, reading)?;
    if input.are_chats() {
        let why = message!(
            "'{}' holds conversations, which are not learned in a tab: in a terminal train-gpt-modern \
             learns such a file, and its chat answers",
            name
        );
        return Err(Failure::new(Code::Data, why));
    }
    Ok(input)
}
