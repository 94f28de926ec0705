//! All runs, and who answers which request.

use crate::data::{self, Data, Stories};
use crate::failure::{Code, Failure, Result};
use crate::look;
use crate::measure::Measuring;
use crate::memory::room;
use crate::recipe;
use crate::request::{
    Attention, Forget, Load, Make, Measure, More, Nothing, Request, Roles, Save, Source, Step,
    Text, Write,
};
use crate::run::Run;
use llm_core::recipe::DataSource;
use llm_core::{Recipe, message};
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

/// Several runs side by side.
#[derive(Debug, Default)]
pub struct Lab {
    runs: BTreeMap<u32, Run>,
    /// Runs on the same stories share them.
    stories: Option<Arc<Stories>>,
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
            "more" => self.more(run, &request.fields()?),
            "measure" => self.measure(run, &request.fields()?),
            "write" => Ok(look::write(self.run(run)?, &request.fields::<Write>()?)?.into()),
            "attention" => {
                let (json, blob) =
                    look::attention(self.run(run)?, &request.fields::<Attention>()?)?;
                Ok(Answer { json, blob })
            }
            "roles" => Ok(look::roles(self.run(run)?, &request.fields::<Roles>()?)?.into()),
            "remember" => {
                let Nothing {} = request.fields()?;
                let step = self.run_mut(run)?.remember()?;
                Ok(json!({ "moment": step, "step": step }).into())
            }
            "moments" => {
                let Nothing {} = request.fields()?;
                let moments = self.run(run)?.moments.iter();
                let moments = moments.map(|(step, _)| json!({ "moment": step, "step": step }));
                Ok(json!({ "moments": moments.collect::<Vec<_>>() }).into())
            }
            "forget" => {
                let Forget { moment } = request.fields()?;
                self.run_mut(run)?.forget(moment)?;
                Ok(json!({}).into())
            }
            "save" => {
                let Save { optimizer } = request.fields()?;
                let run = self.run(run)?;
                let blob = run.save(optimizer)?;
                let json = json!({ "step": run.trainer.step, "bytes": blob.len() });
                Ok(Answer { json, blob })
            }
            "describe" => {
                let Nothing {} = request.fields()?;
                Ok(self.run(run)?.describe().into())
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

    fn run(&self, number: u32) -> Result<&Run> {
        self.runs.get(&number).ok_or_else(|| no_run(number))
    }

    fn run_mut(&mut self, number: u32) -> Result<&mut Run> {
        self.runs.get_mut(&number).ok_or_else(|| no_run(number))
    }

    /// Puts a run into its place, and says what it is.
    fn put(&mut self, number: u32, run: Run) -> Result<Answer> {
        if self.runs.len() >= MOST_RUNS && !self.runs.contains_key(&number) {
            let why = message!("{} runs are open; drop one of them", MOST_RUNS);
            return Err(Failure::new(Code::Run, why));
        }
        let said = run.describe();
        self.runs.insert(number, run);
        Ok(said.into())
    }

    fn make(&mut self, number: u32, make: &Make, blob: Vec<u8>) -> Result<Answer> {
        let run = match make.data {
            Source::Stories => {
                let settings = Run::settings(make, recipe::stories())?;
                let stories = self.stories(&settings.1)?;
                let tokenizer = llm_core::tokenizer::ByteTokenizer;
                let data = Data::of_stories(&stories, &tokenizer, settings.1.seq_len)?;
                Run::new(settings, data)?
            }
            Source::Text => {
                let text = data::text(&make.name, blob)?;
                let settings = Run::settings(make, source_of(&text))?;
                let tokenizer = llm_core::tokenizer::ByteTokenizer;
                let Recipe { val_frac, seq_len, .. } = settings.1;
                let data = Data::of_text(text, &tokenizer, val_frac, seq_len)?;
                Run::new(settings, data)?
            }
        };
        self.put(number, run)
    }

    fn load(&mut self, number: u32, load: &Load, file: &[u8]) -> Result<Answer> {
        let mut run = Run::load(&load.name, file)?;
        let recipe = &run.trainer.recipe;
        if matches!(recipe.data, DataSource::Stories { .. }) {
            let stories = self.stories(recipe)?;
            run.data = Some(Data::of_stories(&stories, &*run.tokenizer, recipe.seq_len)?);
        }
        self.put(number, run)
    }

    /// Gives a run its text, or another one.
    fn text(&mut self, number: u32, ask: &Text, blob: Vec<u8>) -> Result<Answer> {
        let run = self.run_mut(number)?;
        let text = data::text(&ask.name, blob)?;
        let source = source_of(&text);
        let recipe = &run.trainer.recipe;
        let learnt_another = recipe.data != source && recipe.data != DataSource::NONE;
        if learnt_another && !ask.change {
            let name = data::shown(&ask.name);
            let why = message!("'{}' is not the text that this run has learnt from", name);
            return Err(Failure::new(Code::Data, why));
        }
        let Recipe { val_frac, seq_len, .. } = *recipe;
        room(2 * text.len() as u64)?;
        run.data = Some(Data::of_text(text, &*run.tokenizer, val_frac, seq_len)?);
        run.trainer.recipe.data = source;
        run.measuring = None;
        Ok(run.describe().into())
    }

    fn step(&mut self, number: u32, ask: &Step) -> Result<Answer> {
        let run = self.run_mut(number)?;
        let losses = run.step(ask.n)?;
        let recipe = &run.trainer.recipe;
        Ok(json!({
            "step": run.trainer.step,
            "steps": recipe.total_steps,
            "losses": losses,
            "tokens": recipe.tokens_per_step() * losses.len() as u64,
            "rate": recipe.schedule.at(run.trainer.step.saturating_sub(1)),
            "done": run.left() == 0,
        })
        .into())
    }

    fn more(&mut self, number: u32, ask: &More) -> Result<Answer> {
        let trainer = &mut self.run_mut(number)?.trainer;
        let recipe = Recipe {
            total_steps: trainer.step.saturating_add(ask.steps),
            ..trainer.recipe.clone()
        };
        recipe.check()?;
        trainer.recipe = recipe;
        Ok(json!({ "step": trainer.step, "steps": trainer.recipe.total_steps }).into())
    }

    fn measure(&mut self, number: u32, ask: &Measure) -> Result<Answer> {
        let run = self.run_mut(number)?;
        let Some(data) = run.data.as_ref().filter(|data| !data.windows.is_empty()) else {
            let why = message!("there is no unseen text to measure on");
            return Err(Failure::new(Code::Data, why));
        };
        let begun = run.measuring.take().filter(|begun| begun.tokens == ask.tokens);
        let (model, step) = (&run.trainer.model, run.trainer.step);
        let mut measuring = begun.unwrap_or_else(|| Measuring::new(model, step, data, ask.tokens));
        measuring.go_on(data, ask.slice, run.trainer.recipe.batch_size)?;
        let found = measuring.found();
        run.measuring = (!measuring.is_done()).then_some(measuring);
        Ok(found.into())
    }

    /// The stories of a recipe, told once.
    fn stories(&mut self, recipe: &Recipe) -> Result<Arc<Stories>> {
        let known = self.stories.as_ref();
        if let Some(stories) = known.filter(|known| known.are(&recipe.data, recipe.val_frac)) {
            return Ok(stories.clone());
        }
        let stories = Arc::new(Stories::new(&recipe.data, recipe.val_frac)?);
        self.stories = Some(stories.clone());
        Ok(stories)
    }
}

fn no_run(number: u32) -> Failure {
    Failure::new(Code::Run, message!("there is no run {}", number))
}

/// How a checkpoint knows a text again.
fn source_of(text: &[u8]) -> DataSource {
    DataSource::text(text.len() as u64, blake3::hash(text).into())
}
