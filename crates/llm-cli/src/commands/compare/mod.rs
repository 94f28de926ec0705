//! `compare`: the same training with different numbers of heads, and what differs.

mod folder;
mod plot;
mod results;
mod statistics;

use crate::args::{CompareArgs, OutputArgs};
use crate::console::{Out, note, stderr_is_terminal};
use crate::data::Data;
use crate::defaults::{FINAL_TOKENS, LOG_EVERY};
use crate::error::{CliError, Result};
use crate::escape::{json_line, one_line};
use crate::flags::whole;
use crate::messages::count;
use crate::plan::{Plan, named_by_flag};
use crate::program::{Heads, Program};
use crate::progress::{Progress, Shown};
use crate::report::facts::from_to;
use crate::signals::Signals;
use folder::Folder;
use llm_core::TinyGPT;
use llm_core::base::thousands;
use llm_core::recipe::Recipe;
use llm_core::train::{RunPlan, Trainer};
use results::{Common, Results, Run};
use serde_json::json;
use std::time::Instant;

/// Numbers of heads when none are given.
const HEADS: [usize; 4] = [1, 2, 4, 8];
/// Seeds when nothing is said: the fewest that show a spread worth the name.
const SEEDS: u64 = 3;
/// Most seeds.
const MOST_SEEDS: u64 = 1000;

/// Trains one model for every number of heads and every seed, and says what differs.
///
/// # Errors
/// What a training refuses, and flags that have no meaning here. Whatever ends it early, what is
/// complete is written and printed.
pub fn compare(program: &Program, args: &CompareArgs, threads: usize) -> Result<()> {
    if let Heads::One { other } = program.heads {
        return Err(CliError::Usage(format!(
            "compare: {} has one attention head; use {other} compare",
            program.name
        )));
    }
    check_flags(args)?;
    let seeds = seeds(args)?;
    let mut plan = Plan::new(program, &args.training(args.heads.first().copied().unwrap_or(1)))?;
    let heads = heads(program, args, &plan)?;
    let Some(data) = plan.data.take() else {
        return Err(CliError::Internal("a comparison without data".into()));
    };
    let Some(val) = &data.val else {
        return Err(CliError::Usage("compare needs validation data: --val-frac or --val".into()));
    };
    if plan.steps == 0 {
        return Err(CliError::Usage("--steps 0: nothing would be learnt".into()));
    }
    let folder = Folder::claim(args.out.as_deref())?;
    let stories = val.stories.as_ref();
    let common = Common {
        program: program.name,
        threads,
        data: data.label.clone(),
        tokenizer: plan.tokenizer.clone(),
        config: plan.trainer.model.config().clone(),
        recipe: plan.trainer.recipe.clone(),
        heads,
        seeds,
        floor: stories.map(|s| s.floor),
        without_reading: stories.map(|s| [s.most_frequent, s.last_mentioned]),
    };
    let comparison = Comparing {
        program,
        signals: Signals::listen(),
        json: args.json || args.output.json(),
        quiet: args.output.quiet(),
        output: &args.output,
        out: Out::default(),
        data,
        folder,
        results: Results { common, runs: Vec::new() },
    };
    let notes = std::mem::take(&mut plan.notes);
    drop(plan); // its model is none of those that are trained
    comparison.go(&notes)
}

/// Flags that are a training's, and no comparison's.
fn check_flags(args: &CompareArgs) -> Result<()> {
    let recipe = &args.recipe;
    let wrong = [
        ("--load", args.load.is_some(), "it trains new models"),
        ("--save", args.save.is_some(), "it saves no models; results go to --out DIR"),
        ("--max-time", recipe.max_time.is_some(), "all models get the same --steps"),
        ("--patience", recipe.patience.is_some(), "all models get the same --steps"),
        ("--skip-spikes", recipe.skip_spikes.is_some(), "all models get the same --steps"),
    ];
    match wrong.into_iter().find(|(_, given, _)| *given) {
        Some((flag, _, why)) => Err(CliError::Usage(format!("compare takes no {flag}: {why}"))),
        None => Ok(()),
    }
}

fn seeds(args: &CompareArgs) -> Result<Vec<u64>> {
    let n = args.seeds.unwrap_or(SEEDS);
    if !(1..=MOST_SEEDS).contains(&n) {
        return Err(CliError::Usage(format!("--seeds {n} is outside 1..={MOST_SEEDS}")));
    }
    let first = whole(&args.recipe.seed.0, "seed").unwrap_or(1);
    let Some(end) = first.checked_add(n) else {
        return Err(CliError::Usage(format!(
            "--seed {first}: there are no {n} seeds from there on"
        )));
    };
    Ok((first..end).collect())
}

/// The numbers of heads, each of which a model of this width can have.
fn heads(program: &Program, args: &CompareArgs, plan: &Plan) -> Result<Vec<usize>> {
    let config = plan.trainer.model.config();
    let divides = |h: &usize| config.d_model.is_multiple_of(*h);
    let heads = match args.heads.as_slice() {
        [] => HEADS.into_iter().filter(divides).collect(),
        given => given.to_vec(),
    };
    for (i, &h) in heads.iter().enumerate() {
        if heads[..i].contains(&h) {
            return Err(CliError::Usage(format!("--heads: {h} is there twice")));
        }
        (program.with_heads)(h).check(config).map_err(named_by_flag)?;
    }
    match (heads.as_slice(), args.heads.len()) {
        ([_, _, ..], _) => Ok(heads),
        (_, 0) => Err(CliError::Usage(format!(
            "--dmodel {}: of 1, 2, 4 and 8 heads only 1 divides it; name others with --heads",
            config.d_model
        ))),
        (_, _) => {
            let given = heads.first().copied().unwrap_or(1);
            Err(CliError::Usage(format!("--heads {given}: give two or more to compare, 1,4")))
        }
    }
}

struct Comparing<'a> {
    program: &'a Program,
    signals: Signals,
    json: bool,
    quiet: bool,
    output: &'a OutputArgs,
    out: Out,
    data: Data,
    folder: Folder,
    results: Results,
}

impl Comparing<'_> {
    fn go(mut self, notes: &[String]) -> Result<()> {
        self.open(notes);
        let ended = self.runs();
        if !self.results.runs.is_empty() {
            self.close();
        }
        let (done, all) = (self.results.runs.len(), self.results.planned());
        let kept = match done {
            0 => "nothing is written".to_string(),
            _ => format!("{done} of {all} runs are complete, in '{}'", self.folder.name()),
        };
        match ended {
            Ok(()) => self.out.finish(),
            Err(CliError::Signal(signal)) => {
                note(&format!("interrupted: {kept}"));
                Err(CliError::Signal(signal))
            }
            Err(CliError::Core { source, hint: _ }) => Err(CliError::hint(source, kept)),
            Err(other) => Err(other),
        }
    }

    fn open(&mut self, notes: &[String]) {
        let Common { config, recipe, heads, seeds, threads, data, floor, .. } =
            &self.results.common;
        if self.json {
            let start = json!({
                "event": "start", "program": self.program.name, "version": env!("CARGO_PKG_VERSION"),
                "threads": threads, "heads": heads, "seeds": seeds, "steps": recipe.total_steps,
                "runs": self.results.planned(), "parameters": config.parameter_count(),
                "expected_loss": (config.vocab_size as f64).ln(), "entropy_floor": floor,
                "path": self.folder.path.display().to_string(),
            });
            self.emit(&start);
            return;
        }
        let heads = heads.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let seeds = from_to(seeds);
        let lines = [
            format!("compare heads {heads} · seeds {seeds} · {threads} threads"),
            format!("data    {}", one_line(data)),
            format!(
                "model   {} · width {} · context {} · {} parameters, whatever the heads",
                count(config.n_layers, "layer"),
                config.d_model,
                config.seq_len,
                thousands(config.parameter_count())
            ),
            format!(
                "runs    {} of {} steps of {} × {} · lr {}",
                self.results.planned(),
                thousands(recipe.total_steps),
                recipe.batch_size,
                recipe.seq_len,
                recipe.schedule.lr
            ),
        ];
        notes.iter().chain(&lines).for_each(|line| self.say(line));
    }

    /// All trainings, a seed of every number of heads before the next seed: whenever it ends,
    /// every number of heads has had about as many.
    fn runs(&mut self) -> Result<()> {
        let Common { heads, seeds, .. } = &self.results.common;
        let all: Vec<_> = seeds.iter().flat_map(|&s| heads.iter().map(move |&h| (s, h))).collect();
        for (i, &(seed, heads)) in all.iter().enumerate() {
            let begin = Instant::now();
            let run = self.run(heads, seed)?;
            let (number, left) = (i + 1, all.len() - i - 1);
            if self.json {
                let mut line = json!({ "event": "run", "number": number, "of": all.len() });
                merge(&mut line, json!(run));
                self.emit(&line);
            }
            let facts = run.scores.facts_accuracy;
            let facts = facts.map_or(String::new(), |f| format!("  facts={:.1} %", 100.0 * f));
            self.say(&format!(
                "run {number}/{}  heads {heads}  seed {seed}  val_loss={:.4}{facts}  {:.1} s",
                all.len(),
                run.scores.val_loss,
                run.seconds
            ));
            if i == 0 && left > 0 {
                let minutes = left as f64 * begin.elapsed().as_secs_f64() / 60.0;
                self.say(&format!("        about {minutes:.1} min for the other {left}"));
            }
            self.results.runs.push(run);
            self.folder.write(&self.results).map_err(CliError::from)?;
        }
        Ok(())
    }

    /// One training, and what it came to.
    fn run(&self, heads: usize, seed: u64) -> Result<Run> {
        let Common { config, recipe, .. } = &self.results.common;
        let attention = (self.program.with_heads)(heads);
        let model = TinyGPT::with_attention(config.clone(), attention, seed)?;
        let recipe = Recipe { seed, ..recipe.clone() };
        let (steps, batch_size) = (recipe.total_steps, recipe.batch_size);
        let mut trainer = Trainer::new(model, recipe)?;
        // Thousands of lines of steps would hide the runs; a bar does not.
        let human = OutputArgs { message_format: None, ..self.output.clone() };
        let bar = stderr_is_terminal().then(|| Progress::new(&human, LOG_EVERY, steps));
        let begin = Instant::now();
        let mut shown = Shown::new(bar, self.signals.clone(), Out::default());
        trainer.run(&self.data.train, &RunPlan::new(steps), &mut shown)?;
        shown.finish();
        self.signals.check()?;
        let stop = |_| self.signals.pending().is_some();
        let seconds = begin.elapsed().as_secs_f64();
        let Some(val) = &self.data.val else {
            return Err(CliError::Internal("a comparison without validation data".into()));
        };
        let report = val.score(&trainer.model, batch_size, FINAL_TOKENS, stop)?;
        self.signals.check()?;
        let (head_dim, parameters) =
            (config.d_model / heads.max(1), trainer.model.parameter_count());
        Ok(Run { heads, head_dim, parameters, seed, seconds, scores: (&report).into() })
    }

    /// What is complete, for a person or a program.
    fn close(&mut self) {
        let path = self.folder.path.display().to_string();
        if self.json {
            let comparison = self.results.comparison();
            let mut line = json!({ "event": "done", "path": path });
            merge(&mut line, json!(comparison));
            self.emit(&line);
            return;
        }
        self.out.write(format!("\n{}", self.results.table()).as_bytes());
        let name = self.folder.name();
        self.say(&format!("\nwritten {name}/compare.json, compare.csv, compare.svg"));
        self.say(&format!("report  {name}/report.html"));
    }

    fn emit(&mut self, line: &serde_json::Value) {
        self.out.write(json_line(line).as_bytes());
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            note(line);
        }
    }
}

/// The fields of another object too.
fn merge(to: &mut serde_json::Value, from: serde_json::Value) {
    if let (Some(to), serde_json::Value::Object(from)) = (to.as_object_mut(), from) {
        to.extend(from);
    }
}
