//! `compare`: the same training with different numbers of heads, or with other settings that
//! differ, and what comes of it.

mod again;
mod estimated;
mod ladder;
mod tables;
mod vary;

use super::devices;
use super::train::one_of_many;
use crate::args::{CompareArgs, TrainArgs};
use crate::console::{Out, json_line, note, room};
use crate::error::{Result, RunError, of_verb, reason, usage};
use crate::messages::lasting;
use crate::program::Program;
use crate::signals::Signals;
use again::Begun;
use estimated::estimated;
use ladder::{at_each_size, ladder, rungs};
use llm_core::base::{Message, escape, thousands};
use llm_core::settings::Value;
use llm_core::train::Trainer;
use llm_core::{counted, message};
use llm_report::comparison::{Costs, Diverged, HEADS, Results, Run, Variant, each_once, rules};
use llm_report::{Shared, from_to};
use llm_run::config::Sheet;
use llm_run::data::Report;
use llm_run::device::Device;
use llm_run::folder::EmptyFolder;
use llm_run::log::RunInfo;
use llm_run::models::Heads;
use llm_run::numbers::typed;
use llm_run::plan::{Decided, Plan, SharedData, SharedDecision, TextFiles, named_by_option};
use llm_run::settings::whole;
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tables::text;
use vary::variants;

/// Numbers of heads when none are given.
const USUAL_HEADS: [usize; 4] = [1, 2, 4, 8];
/// Seeds when nothing is said: the fewest that show a spread worth the name.
const SEEDS: u64 = 3;
/// Most seeds.
const MOST_SEEDS: u64 = 1000;

/// Trains one model for every number of heads, or combination of settings, and every seed, and says
/// what differs.
///
/// # Errors
/// What a training refuses, and flags that have no meaning here. Whatever ends it early, what is
/// complete is written and printed.
pub fn compare(program: &Program, args: &CompareArgs, threads: usize) -> Result<()> {
    if let Heads::One { other } = program.models.heads {
        let of = program.models.name;
        return usage(message!("compare: {} has one attention head; use {} compare", of, other));
    }
    if args.device == Some(Device::List) {
        return devices::list(args.json || args.output.json());
    }
    check_flags(args)?;
    ladder::check(args)?;
    let seeds = seeds(args)?;
    let by_heads = args.by_heads();
    let first = args.heads.first().copied().or(by_heads.then_some(1));
    let plan = Plan::new(&program.models, &args.training(first).options(), &|_, _| ())?;
    let heads = heads(program, args, &plan)?;
    let varied = variants(program, args, &heads)?;
    let ladder = ladder(args, &plan, &varied)?;
    // What one of them is refused for is said before another is trained.
    let notes = plan.notes.iter().map(llm_messages::note).collect();
    let data = SharedData::of(plan);
    let varied = match &ladder {
        Some(of) => at_each_size(program, args, &data, of, varied)?,
        None => varied.into_iter().map(|of| (of, None)).collect(),
    };
    let (mut first, mut variants, mut trainings, mut texts) =
        (None, Vec::new(), Vec::new(), Vec::new());
    for ((settings, args), rung) in varied {
        let options = args.options();
        let SharedDecision { config, recipe, parameters, head_dim, attention, .. } =
            data.decided(&program.models, &options)?;
        let n_heads = whole(&args.given(), "heads").map_or(1, |n| n as usize);
        let steps = recipe.total_steps;
        if steps == 0 {
            return usage("--steps 0: nothing would be learned");
        }
        let tokens_per_step = recipe.tokens_per_step();
        let decided = Decided {
            files: &TextFiles::default(),
            config: &config,
            recipe: &recipe,
            attention,
            tokenizer: data.tokenizer.name(),
            steps,
            sample_seed: recipe.seed,
        };
        // Whoever works on it, and wherever the data lie: what they are is in the recipe.
        texts.push(Sheet::of(&decided, &options, 0, Vec::new()).text(""));
        variants.push(Variant {
            settings,
            n_heads,
            head_dim,
            parameters,
            steps,
            tokens_per_step,
            rung,
        });
        trainings.push(args);
        first.get_or_insert((config, recipe, parameters));
    }
    let (Some((config, recipe, parameters)), Some(known)) = (first, data.data()) else {
        return Err(RunError::Internal("a comparison without data".into()));
    };
    let Some(val) = &known.val else {
        return usage("compare needs validation data: --val-frac or --val");
    };
    if args.dry_run {
        let each = variants.into_iter().zip(trainings).collect::<Vec<_>>();
        let json = args.json || args.output.json();
        return estimated(program, &data, &each, seeds.len(), json);
    }
    let plan = json!({
        "program": program.models.name, "seeds": seeds, "others": args.aa,
        "data": recipe.data, "settings": texts,
    });
    let refused = |e| of_verb(e, "nothing was trained, choose another --out");
    let begun = Begun::read(args.out.as_deref(), &plan).map_err(refused)?;
    let (claimed, folder) = match (&begun, &args.out) {
        (Some(_), Some(out)) => (None, out.clone()),
        (_, out) => {
            let claimed = EmptyFolder::claim(out.as_deref(), "compare-", "compare.json");
            let claimed = claimed.map_err(refused)?;
            let path = claimed.path.clone();
            (Some(claimed), path)
        }
    };
    let stories = val.stories.as_ref();
    let common = Shared {
        program: program.models.name,
        threads,
        data: known.label.clone(),
        tokenizer: data.tokenizer.clone(),
        config,
        parameters,
        heads: each_once(variants.iter().map(|of| of.n_heads)),
        head_dims: each_once(variants.iter().map(|of| of.head_dim)),
        recipe,
        seeds,
    };
    let comparison = Comparing {
        program,
        signals: Signals::listen(),
        json: args.json || args.output.json(),
        quiet: args.output.quiet(),
        out: Out::default(),
        notes,
        results: Results {
            common,
            variants,
            plan,
            ladder,
            floor: stories.map(|s| s.floor),
            without_reading: stories.map(|s| [s.most_frequent, s.last_mentioned]),
            runs: Vec::new(),
            diverged: Vec::new(),
        },
        trainings,
        others: args.aa.unwrap_or(0),
        data,
        folder,
        begun,
        _claimed: claimed,
    };
    comparison.signals.heed();
    comparison.go()
}

/// Flags that are a training's, and no comparison's.
fn check_flags(args: &CompareArgs) -> Result<()> {
    let recipe = &args.recipe;
    let wrong = [
        ("--load", args.load.is_some(), "it trains new models"),
        ("--save", args.save.is_some(), "every run has a folder of its own in --out DIR"),
        ("--time", recipe.time.is_some(), "all models get the same --steps"),
        ("--max-time", recipe.max_time.is_some(), "all models get the same --steps"),
        ("--patience", recipe.patience.is_some(), "all models get the same --steps"),
        ("--skip-spikes", recipe.skip_spikes.is_some(), "all models get the same --steps"),
    ];
    let refused = |(flag, _, why)| usage(message!("compare takes no {}: {}", flag, why));
    wrong.into_iter().find(|(_, given, _)| *given).map_or(Ok(()), refused)
}

fn seeds(args: &CompareArgs) -> Result<Vec<u64>> {
    if let Some(n) = args.aa.filter(|n| !(1..=MOST_SEEDS).contains(n)) {
        return usage(message!("--aa {} is outside 1..={}", n, MOST_SEEDS));
    }
    if args.aa.is_some() && !args.model.further.variants.is_empty() {
        return usage("--aa compares equals: leave --variants out");
    }
    let n = args.aa.or(args.seeds).unwrap_or(SEEDS);
    if !(1..=MOST_SEEDS).contains(&n) {
        return usage(message!("--seeds {} is outside 1..={}", n, MOST_SEEDS));
    }
    let first = whole(&args.recipe.seed.0, "seed").unwrap_or(1);
    let all = if args.aa.is_some() { 2 * n } else { n };
    let Some(end) = first.checked_add(all).map(|end| end - (all - n)) else {
        return usage(message!("--seed {}: there are no {} seeds from there on", first, n));
    };
    Ok((first..end).collect())
}

/// The numbers of heads, each of which a model of this width can have.
fn heads(program: &Program, args: &CompareArgs, plan: &Plan) -> Result<Vec<usize>> {
    let config = plan.trainer.model.config();
    if !args.by_heads() && args.heads.len() < 2 {
        return Ok(vec![plan.trainer.model.attention().spec().n_heads]);
    }
    let fits = |h: usize| -> Result<()> {
        let attention = args.training(Some(h)).options().attention(&program.models, config);
        attention.and_then(|attention| attention.check(config)).map_err(named_by_option)
    };
    let heads = match args.heads.as_slice() {
        [] => USUAL_HEADS.into_iter().filter(|h| fits(*h).is_ok()).collect(),
        given => given.to_vec(),
    };
    for (i, &h) in heads.iter().enumerate() {
        if heads[..i].contains(&h) {
            return usage(message!("--heads: {} is there twice", h));
        }
        fits(h)?;
    }
    match (heads.as_slice(), args.heads.len()) {
        ([_, _, ..], _) => Ok(heads),
        (_, 0) => usage(message!(
            "--dmodel {}: of 1, 2, 4 and 8 heads only 1 divides it; name others with --heads",
            config.d_model
        )),
        (_, _) => {
            let given = heads.first().copied().unwrap_or(1);
            usage(message!("--heads {}: give two or more to compare, 1,4", given))
        }
    }
}

struct Comparing<'a> {
    program: &'a Program,
    signals: Signals,
    json: bool,
    quiet: bool,
    out: Out,
    notes: Vec<Message>,
    /// One for each of the variants.
    trainings: Vec<TrainArgs>,
    /// By how much the seeds of the second half of equals are larger.
    others: u64,
    data: SharedData,
    folder: PathBuf,
    begun: Option<Begun>,
    /// Taken away again where nothing was put into it.
    _claimed: Option<EmptyFolder>,
    results: Results,
}

impl Comparing<'_> {
    fn go(mut self) -> Result<()> {
        self.open();
        let ended = match &self.begun {
            None => self.results.begin(&self.folder).and_then(|()| self.runs()),
            Some(_) => {
                let name = escape::path(&self.folder);
                self.say(message!("goes on where the comparison in '{}' was cut", name));
                self.runs()
            }
        };
        if !self.results.runs.is_empty() {
            self.close();
        }
        let (done, all) = (self.results.runs.len(), self.results.planned());
        let folder = escape::path(&self.folder);
        let kept = match done {
            0 => message!("0 of {} runs are complete", all),
            _ => message!("{} of {} runs are complete, in '{}'", done, all, folder),
        };
        match ended {
            Ok(()) => self.out.finish(),
            Err(RunError::Signal(signal)) => {
                note(message!("interrupted: {}", kept));
                Err(RunError::Signal(signal))
            }
            Err(RunError::Core { source, hint: _ }) => Err(RunError::hint(source, kept)),
            Err(other) => Err(other),
        }
    }

    fn open(&mut self) {
        let Shared { config, heads, parameters, recipe, seeds, threads, data, .. } =
            &self.results.common;
        if self.json {
            let variants = self.results.variants.iter();
            let variants: Vec<_> = variants.map(|of| json!(of)["settings"].take()).collect();
            let start = json!({
                "event": "start", "program": self.program.models.name, "version": env!("CARGO_PKG_VERSION"),
                "threads": threads, "heads": heads, "variants": variants,
                "seeds": seeds, "steps": recipe.total_steps,
                "runs": self.results.planned(), "parameters": parameters,
                "expected_loss": (config.vocab_size as f64).ln(), "entropy_floor": self.results.floor,
                "path": self.folder.display().to_string(),
            });
            return self.emit(start, &json!({}));
        }
        let (what, seeds) = (self.results.compared(), from_to(seeds));
        let by_heads = self.results.differ_in() == [HEADS];
        let of_first = |line| if by_heads { line } else { message!("{}, in the first run", line) };
        let model = message!(
            "model   {} · width {} · context {} · {} parameters",
            counted!(config.n_layers, "layer"),
            config.d_model,
            config.seq_len,
            thousands(*parameters)
        );
        let lines = [
            message!("compare {} · seeds {} · {}", what, seeds, counted!(*threads, "thread")),
            message!("data    {}", data),
            if by_heads { message!("{}, whatever the heads", model) } else { of_first(model) },
            of_first(message!(
                "runs    {} of {} steps of {} × {} · lr {}",
                self.results.planned(),
                thousands(recipe.total_steps),
                recipe.batch_size,
                recipe.seq_len,
                typed(recipe.schedule.lr)
            )),
        ];
        self.notes.iter().for_each(|note| self.say(note));
        lines.iter().for_each(|line| self.say(line));
        self.results.ladder.iter().flat_map(rules).for_each(|rule| self.say(rule));
        let sizes = self.results.variants.iter();
        let sizes: Vec<_> = sizes.filter_map(|of| Some((of.values(), of.rung.as_ref()?))).collect();
        if !sizes.is_empty() {
            self.say(rungs(&sizes, room()).trim_end().to_string());
        }
    }

    /// All trainings, a seed of every variant before the next seed: whenever it ends, every variant
    /// has had about as many.
    fn runs(&mut self) -> Result<()> {
        let (seeds, variants) = (&self.results.common.seeds, self.results.variants.len());
        let all: Vec<_> =
            seeds.iter().flat_map(|&seed| (0..variants).map(move |v| (seed, v))).collect();
        for (i, &(seed, variant)) in all.iter().enumerate() {
            let seed = seed + self.others * variant as u64;
            let begin = Instant::now();
            let (number, left) = (i + 1, all.len() - i - 1);
            let of = &self.results.variants[variant];
            if let Some(run) = self.begun.as_ref().and_then(|begun| begun.diverged(of, seed)) {
                self.results.diverged.push(run);
                if !self.results.runs.is_empty() {
                    self.results.write(&self.folder)?;
                }
                continue;
            }
            let run = match self.run(variant, seed) {
                // One that runs away says something about its settings, and nothing about the others.
                Err(e) if e.is_divergence() => {
                    let why = match &e {
                        RunError::Core { source, hint: _ } => source.to_string(),
                        other => reason(other),
                    };
                    self.diverged(variant, seed, [number, all.len()], why);
                    match (self.results.runs.is_empty(), left) {
                        (true, 0) => return Err(e),
                        (true, _) => {} // nothing to compare yet
                        (false, _) => self.results.write(&self.folder)?,
                    }
                    continue;
                }
                run => run?,
            };
            self.emit(json!({ "event": "run", "number": number, "of": all.len() }), &run);
            let facts = run.report.facts.as_ref().map(|facts| 100.0 * facts.total().share());
            let facts = facts.map(|percent| message!("  facts={:.1} %", percent));
            self.say(message!(
                "run {}/{}  {}  seed {}  val_loss={:.4}{}  {:.1} s",
                number,
                all.len(),
                run.variant.in_a_line(),
                seed,
                run.report.evaluation.loss,
                facts.unwrap_or_default(),
                run.seconds
            ));
            // Sizes take times of their own.
            if i == 0 && left > 0 && self.results.ladder.is_none() {
                let rest = lasting(left as f64 * begin.elapsed().as_secs_f64());
                self.say(message!("        about {} for the other {}", rest, left));
            }
            self.results.runs.push(run);
            self.results.write(&self.folder)?;
        }
        Ok(())
    }

    /// Keeps, and says, that a training ran away.
    fn diverged(&mut self, variant: usize, seed: u64, [number, all]: [usize; 2], why: String) {
        let of = &self.results.variants[variant];
        let path = self.folder.join(of.folder(seed)).display().to_string();
        let (settings, name) = (of.settings.clone(), of.in_a_line());
        self.say(message!("run {}/{}  {}  seed {}  diverged: {}", number, all, name, seed, why));
        let run = Diverged { settings, seed, why, path };
        self.emit(json!({ "event": "diverged", "number": number, "of": all }), &run);
        self.results.diverged.push(run);
    }

    /// One training in a folder of its own, and what it came to.
    fn run(&mut self, variant: usize, seed: u64) -> Result<Run> {
        let of = &self.results.variants[variant];
        let dir = self.folder.join(of.folder(seed));
        let mut args = self.trainings[variant].clone();
        args.recipe.seed.0.insert("seed", Value::Whole(seed));
        let models = &self.program.models;
        let mut plan = if self.begun.is_some() && dir.join("ckpt/last").is_file() {
            args.load = Some(dir.clone());
            self.signals.reading(|| self.data.go_on(models, &dir))?
        } else {
            if self.begun.is_some() {
                let _ = std::fs::remove_dir_all(&dir); // cut before its first checkpoint
            }
            args.out = Some(dir.clone());
            let options = args.options();
            let plan = || self.data.plan(models, &options);
            let again = self.data.reads_again(models, &options)?;
            if again { self.signals.reading(plan)? } else { plan()? }
        };
        let done = match plan.steps {
            0 => self.measured(&plan, &dir),
            _ => {
                let threads = self.results.common.threads;
                one_of_many(self.program, &args, &mut plan, threads, &self.signals)
            }
        };
        let stop = || self.signals.pending().is_some();
        let costs = (self.results.by_kind() && done.is_ok()).then(|| Costs::of(&plan, stop));
        let costs = costs.transpose()?;
        let (report, seconds) = done?;
        self.signals.check()?;
        let path = dir.display().to_string();
        Ok(Run { variant: of.clone(), seed, seconds, path, report, costs })
    }

    /// What was measured, and the seconds of the steps, of a run that was done before.
    fn measured(&self, plan: &Plan, folder: &Path) -> Result<(Report, f64)> {
        let missing = || RunError::Internal("a comparison without validation data".into());
        let val = plan.data.as_ref().and_then(|data| data.val.as_ref()).ok_or_else(missing)?;
        let Trainer { model, recipe, .. } = &plan.trainer;
        let stop = |_| self.signals.pending().is_some();
        let report = val.score(model, recipe.batch_size, usize::MAX, stop)?;
        let speed = RunInfo::read(folder).map_or(0.0, |info| info.tokens_per_s);
        let tokens = (recipe.total_steps * recipe.tokens_per_step()) as f64;
        Ok((report, if speed > 0.0 { tokens / speed } else { 0.0 }))
    }

    /// What is complete, for a person or a program.
    fn close(&mut self) {
        let comparison = self.results.comparison();
        if self.json {
            let path = self.folder.display().to_string();
            return self.emit(json!({ "event": "done", "path": path }), &comparison);
        }
        self.out.show(&format!("\n{}", text(&comparison, room())));
        let name = escape::path(&self.folder);
        self.say(message!("\nwritten {}/compare.json, compare.csv, compare.svg", name));
        self.say(message!("report  {}", format!("{name}/report.html")));
        let (variants, seeds) = (&self.results.variants, &self.results.common.seeds);
        let first = variants.first().zip(seeds.first()).map(|(of, seed)| of.folder(*seed));
        self.say(message!("runs    {}/{}, ...", name, first.unwrap_or_default()));
    }

    /// Writes an event for a program, with the fields of another object too.
    fn emit(&mut self, mut event: serde_json::Value, more: &impl Serialize) {
        if !self.json {
            return;
        }
        if let (Some(event), serde_json::Value::Object(more)) = (event.as_object_mut(), json!(more))
        {
            event.extend(more);
        }
        self.out.write(json_line(&event).as_bytes());
    }

    fn say(&self, line: impl Into<Message>) {
        if !self.quiet {
            note(line);
        }
    }
}
