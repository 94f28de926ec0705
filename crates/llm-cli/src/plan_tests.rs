//! Every flag of the table does what its row says, in a new run and with `--load`. Nothing here
//! names a flag that does what most do, so that none can be forgotten.

use crate::RunError;
use crate::args::{Cli, TrainArgs};
use crate::command_line::{Parsed, parse_with};
use crate::flags::{Flag, Kind};
use crate::messages::spelled;
use crate::program::EVERYTHING;
use llm_core::Config;
use llm_core::checkpoint::{TokenizerSpec, save};
use llm_core::model::{Footprint, SingleHead};
use llm_core::recipe::Recipe;
use llm_core::settings::Value;
use llm_core::train::Trainer;
use llm_core::{TinyGPT, TokenDataset};
use llm_run::note::Note;
use llm_run::plan::{Plan, check_options};
use llm_run::settings::{self, Given, OnLoad};
use std::fmt::Debug;
use std::path::PathBuf;

/// The words in the mouth of a user, and a file of settings.
fn args(words: &[String], file: &str) -> TrainArgs {
    let program = [EVERYTHING.models.name, "--config", "run.toml"].map(String::from);
    let all = program.iter().chain(words).map(Into::into);
    let mut command = crate::args::command(&EVERYTHING);
    match parse_with(&EVERYTHING, &mut command, all, |_| Ok(file.into())) {
        Parsed::Run(cli) => {
            let Cli { train, .. } = *cli;
            train
        }
        other => panic!("{words:?} {file}: {other:?}"),
    }
}

/// The flags of core's settings.
fn flags() -> impl Iterator<Item = &'static Flag> {
    crate::flags::flags().iter().filter(|flag| settings::of_key(flag.setting.key).is_some())
}

/// What is typed for a value within its range that is not this one.
fn another(flag: &Flag, old: &Value) -> String {
    match (flag.kind, old) {
        (Kind::Switch, Value::Bool(yes)) => (!yes).to_string(),
        (Kind::Word, Value::Text(old)) => {
            flag.words().into_iter().map(|word| word.0).find(|word| word != old).unwrap().into()
        }
        (Kind::Whole(_), Value::Whole(n)) => (if *n > 1 { n - 1 } else { n + 1 }).to_string(),
        (Kind::List, Value::Text(_)) => "2,7".into(),
        (Kind::Text, Value::Text(_)) => "sort".into(),
        (Kind::F32, Value::Float(x)) => (if *x > 0.0 { x / 2.0 } else { 0.005 }).to_string(),
        (Kind::F64, Value::Double(x)) => (if *x > 0.0 { x / 2.0 } else { 0.25 }).to_string(),
        _ => panic!("--{} does not take {}", flag.name, old.kind()),
    }
}

fn value(flag: &Flag, config: &Config, recipe: &Recipe) -> Value {
    flag.setting.value(config, recipe).unwrap()
}

/// Flags of a run that begins with a model which is loaded.
const REWARDS: [&str; 7] =
    ["reward", "group", "answer-length", "scaled", "updates", "clip-ratio", "beta"];

/// Typed, under its other names and in a file it comes to the same.
#[test]
fn every_flag_reaches_a_new_run() {
    let decided = |words: &[String], file: &str| {
        let settings = check_options(&EVERYTHING.models, &args(words, file).options(), 4000)
            .map_err(|e| crate::error::line(&e))
            .unwrap();
        let decided = settings.decided();
        (decided.config.clone(), decided.recipe.clone())
    };
    let (config, recipe) = decided(&[], "");
    for flag in flags() {
        let old = value(flag, &config, &recipe);
        let new = another(flag, &old);
        let words = |name: &str| [format!("--{name}={new}")];
        if REWARDS.contains(&flag.name) {
            let options = args(&words(flag.name), "").options();
            let refused = check_options(&EVERYTHING.models, &options, 4000);
            let line = crate::error::line(&refused.unwrap_err());
            assert!(line.contains(&format!("--{} ", flag.name)), "{line}");
            continue;
        }
        let typed = decided(&words(flag.name), "");
        let reached = value(flag, &typed.0, &typed.1);
        assert_eq!((reached.to_string(), reached == old), (new.clone(), false), "{}", flag.name);
        for alias in flag.aliases() {
            assert_eq!(decided(&words(alias), ""), typed, "{alias}");
        }
        let quote =
            if matches!(flag.kind, Kind::Word | Kind::List | Kind::Text) { "'" } else { "" };
        let file = format!("{} = {quote}{new}{quote}\n", flag.name.replace('-', "_"));
        assert_eq!(decided(&[], &file), typed, "{file}");
        // A comparison trains with it too.
        let compare = ["--heads", "1,2"].map(String::from).into_iter().chain(words(flag.name));
        let heads = [words(flag.name), ["--heads=1".to_string()]].concat();
        assert_eq!(compared(compare.collect()), args(&heads, "").given());
    }
}

/// What `compare` gives to a training.
fn compared(words: Vec<String>) -> Given {
    let all = [EVERYTHING.models.name, "compare"].map(String::from).into_iter().chain(words);
    let mut command = crate::args::command(&EVERYTHING);
    let parsed = parse_with(&EVERYTHING, &mut command, all.map(Into::into), |_| Ok(String::new()));
    let Parsed::Run(cli) = parsed else { panic!("{parsed:?}") };
    let Some(crate::args::Verb::Compare(args)) = cli.verb else { panic!("no comparison") };
    args.training(Some(1)).given()
}

/// A folder with a small run, saved after a step.
struct Saved {
    folder: tempfile::TempDir,
    config: Config,
    recipe: Recipe,
}

impl Saved {
    fn new(with_optimizer: bool) -> Saved {
        let folder = tempfile::tempdir().unwrap();
        let text = b"a small text to go on with. ".repeat(40);
        std::fs::write(folder.path().join("text"), &text).unwrap();
        let words = ["--seq=8", "--dmodel=8", "--layers=1", "--batch=2", "--steps=20"];
        let settings = {
            let words = args(&words.map(String::from), "");
            check_options(&EVERYTHING.models, &words.options(), 4000).unwrap()
        };
        let decided = settings.decided();
        let (config, mut recipe) = (decided.config.clone(), decided.recipe.clone());
        recipe.data =
            llm_core::recipe::DataSource::text(text.len() as u64, *blake3::hash(&text).as_bytes());
        let model = TinyGPT::new(config.clone(), 1).unwrap();
        let mut trainer = Trainer::new(model, recipe).unwrap();
        trainer.step(&TokenDataset::from_bytes(text)).unwrap();
        let path = folder.path().join("run");
        save(&path, &trainer, &TokenizerSpec::bytes(), with_optimizer).unwrap();
        Saved { folder, config, recipe: trainer.recipe }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// The plan with `--load`; nothing is saved by it.
    fn go_on(&self, words: &[String]) -> Result<Plan, RunError> {
        let file = |flag: &str, name: &str| {
            format!("--{flag}={}", self.folder.path().join(name).display())
        };
        let all = [&[file("load", "run"), file("data", "text")], words].concat();
        Plan::new(&EVERYTHING.models, &args(&all, "").options(), &|_, _| ())
    }
}

/// Settings but for those that mean something else with `--load`, or follow from the flag.
fn comparable(flag: &Flag, config: &Config, recipe: &Recipe) -> impl PartialEq + Debug {
    let others = flags().filter(|other| other.name != flag.name);
    others.map(|other| (other.name, value(other, config, recipe))).collect::<Vec<_>>()
}

/// With `--load` every flag is taken into account and said, or refused by its name.
#[test]
fn no_flag_is_dropped_beside_load() {
    let saved = Saved::new(false);
    let (config, recipe) = (&saved.config, &saved.recipe);
    for flag in flags() {
        let old = value(flag, config, recipe);
        let new = another(flag, &old);
        let result = saved.go_on(&[format!("--{}={new}", flag.name)]);
        if flag.setting.on_load == OnLoad::Fixed {
            let line = crate::error::line(&result.unwrap_err());
            let shown = |text: &str| text.replace("false", "0").replace("true", "1");
            let [old, new] = [&old.to_string(), &new].map(|text| shown(text));
            let wanted = format!(" {old} in file, {new} given; leave it out");
            assert!(line.contains(&wanted), "--{}: {line}", flag.name);
            assert!(line.contains(&saved.path().display().to_string()), "{line}");
            continue;
        }
        if flag.name == "loss-on" {
            let line = crate::error::line(&result.unwrap_err());
            assert!(line.contains("--loss-on all is for conversations"), "{line}");
            continue;
        }
        if REWARDS.contains(&flag.name) {
            // Rewards begin a run of their own, and the others are about them.
            let line = crate::error::line(&result.unwrap_err());
            assert!(line.contains(&format!("--{} ", flag.name)), "{line}");
            continue;
        }
        let plan = result.map_err(|e| crate::error::line(&e)).unwrap();
        let (now, now_recipe) = (plan.trainer.model.config(), &plan.trainer.recipe);
        let is_said = said(&plan).iter().any(|note| note.starts_with(&format!("--{} ", flag.name)));
        match flag.name {
            "steps" => assert_eq!((plan.steps.to_string(), is_said), (new, false)),
            "seed" => assert_eq!((plan.sample_seed.to_string(), is_said), (new, false)),
            name => {
                assert_eq!(
                    flag.setting.on_load,
                    OnLoad::Replaces,
                    "--{name} has a row, and no test"
                );
                let reached = value(flag, now, now_recipe);
                assert_eq!((reached.to_string(), reached == old), (new, false), "--{name}");
                assert!(is_said, "--{name}: {:?}", plan.notes);
                if name != "schedule" {
                    let unchanged = comparable(flag, config, recipe);
                    assert_eq!(comparable(flag, now, now_recipe), unchanged, "--{name}");
                }
            }
        }
        // What is there already is no conflict, and nothing to say.
        if flag.name != "steps" {
            let plan = saved.go_on(&[format!("--{}={old}", flag.name)]).unwrap();
            let silent = !plan.notes.iter().any(|note| matches!(note, Note::Replaces { .. }));
            assert!(silent, "--{}: {:?}", flag.name, plan.notes);
            assert_eq!(plan.trainer.recipe, *recipe);
        }
    }
}

/// The notes of a plan, in words.
fn said(plan: &Plan) -> Vec<String> {
    plan.notes.iter().map(|note| spelled(&llm_messages::note(note))).collect()
}

/// The optimizer is the run's as long as it remembers something.
#[test]
fn another_optimizer_needs_a_file_without_a_state() {
    let lion = ["--optimizer=lion".to_string()];
    let refused = Saved::new(true).go_on(&lion).unwrap_err();
    assert_eq!(refused.kind(), crate::error::Kind::Usage);
    assert!(
        crate::error::line(&refused).contains("--optimizer lion"),
        "{}",
        crate::error::line(&refused)
    );
    let plan = Saved::new(false).go_on(&lion).unwrap();
    assert_eq!(plan.trainer.optimizer.name(), "lion");
    let wanted = [
        "--optimizer lion replaces the run's muon",
        "the file has no optimizer state: lion starts anew",
    ];
    assert_eq!(said(&plan), wanted);
}

/// A course without an end has no place for one.
#[test]
fn flags_without_an_effect_are_said_to_have_none() {
    let saved = Saved::new(true);
    for flag in ["--min-lr=1e-9", "--decay-steps=9"] {
        let words = ["--schedule=constant", flag].map(String::from);
        let said = |plan: &Plan| plan.notes.contains(&Note::NoCourse);
        assert!(said(&saved.go_on(&words).unwrap()), "{flag}");
    }
}

/// Slots of the optimizer and gradients of finished groups are counted.
#[test]
fn memory_is_that_of_the_optimizer_and_of_the_accumulation() {
    let saved = Saved::new(false);
    let memory = |words: &[&str]| {
        let words: Vec<_> = words.iter().map(ToString::to_string).collect();
        saved.go_on(&words).unwrap().memory
    };
    let set = 4 * Footprint::new(&saved.config, &SingleHead).parameter_count();
    let adamw = memory(&[]);
    assert_eq!(adamw - memory(&["--optimizer=lion"]), set);
    assert_eq!(memory(&["--accum=4"]) - adamw, 2 * set);
}
