//! An optimizer from outside the core, with numbers of its own: SGD with momentum. It trains, is saved and
//! goes on exactly where its row is given, and is refused by its name where it is not.

use llm_cli::Program;
use llm_cli::command_line::{Parsed, parse};
use llm_core::base::{Error, Result};
use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save, to_bytes};
use llm_core::model::SingleHead;
use llm_core::optim::{AdamW, Lion, Optimizer, OptimizerParts, OptimizerRow, Slot};
use llm_core::settings::{Settings, Value};
use llm_core::train::Trainer;
use llm_core::{
    Config, Gradients, Hyperparameters, Recipe, Tensor, TinyGPT, TokenDataset, message,
};
use llm_run::models::{BASELINE, Models};
use llm_run::plan::check_options;
use std::sync::Arc;

/// Stochastic gradient descent with momentum, Nesterov's if it is asked for: PyTorch's `SGD`.
#[derive(Clone, Debug)]
struct Sgd {
    parts: OptimizerParts,
    momentum: f32,
    nesterov: bool,
}

impl Sgd {
    const ROW: OptimizerRow = OptimizerRow {
        name: "sgd",
        doc: "The gradient and its momentum",
        slots: &[Slot { name: "m", mean_of_squares: false }],
        settings: &[("momentum", Value::Float(0.9)), ("nesterov", Value::Bool(false))],
        elementwise: true,
        make: |config, own| Ok(Box::new(Sgd::new(config, own)?)),
    };

    fn new(config: Hyperparameters, own: &Settings) -> Result<Sgd> {
        let (momentum, nesterov) = (own.typed("momentum")?, own.typed("nesterov")?);
        if !(0.0..1.0).contains(&momentum) {
            return Err(Error::config(
                "optimizer",
                message!("momentum {} is outside 0..1", momentum),
            ));
        }
        let parts = OptimizerParts::new(&Sgd::ROW, config, own.clone())?;
        Ok(Sgd { parts, momentum, nesterov })
    }
}

impl Optimizer for Sgd {
    fn parts(&self) -> &OptimizerParts {
        &self.parts
    }

    fn parts_mut(&mut self) -> &mut OptimizerParts {
        &mut self.parts
    }

    /// m ← μm + g,  θ ← θ − lr·(m + λθ); Nesterov's: g + μm in place of m
    fn step(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        lr: f32,
        grad_scale: f32,
    ) -> Result<()> {
        let Sgd { parts: OptimizerParts { config, state, .. }, momentum, nesterov } = self;
        let (momentum, nesterov) = (*momentum, *nesterov);
        state.update(parameters, grads, |_t, p, [m], g| {
            let decay = lr * config.decay_of(p);
            for ((x, m), g) in p.data_mut().iter_mut().zip(m).zip(g) {
                let g = g * grad_scale;
                *m = momentum * *m + g;
                let along = if nesterov { g + momentum * *m } else { *m };
                *x -= lr * along + decay * *x;
            }
        })
    }

    fn boxed(&self) -> Box<dyn Optimizer> {
        Box::new(self.clone())
    }
}

/// What the caller of this program knows.
const OPTIMIZERS: &[OptimizerRow] = &[AdamW::ROW, Lion::ROW, Sgd::ROW];

/// A program that knows it.
const PROGRAM: Program =
    Program { about: "", models: Models { optimizers: OPTIMIZERS, ..BASELINE }, attend: None };

fn own(settings: &[(&str, Value)]) -> Settings {
    let mut own = Settings::default();
    for (key, value) in settings {
        own.insert(key, value.clone()).unwrap();
    }
    own
}

fn recipe(settings: &[(&str, Value)]) -> Recipe {
    let optimizer_settings = own(settings);
    Recipe { optimizer: "sgd".into(), optimizer_settings, ..Recipe::new([2, 16], 40, 0.3) }
}

fn made(recipe: Recipe) -> Result<Trainer> {
    let model = TinyGPT::new(Config::new(256, 16, 16, 2), 1)?;
    Trainer::with_optimizers(model, recipe, OPTIMIZERS)
}

fn after(mut trainer: Trainer, steps: u64) -> Trainer {
    let data = TokenDataset::from_bytes(b"one potato, two potatoes, three potatoes. ".repeat(20));
    for _ in 0..steps {
        trainer.step(&data).unwrap();
    }
    trainer
}

/// Numbers of which neither is the usual one.
fn numbers() -> [(&'static str, Value); 2] {
    [("momentum", Value::Float(0.875)), ("nesterov", Value::Bool(true))]
}

fn bytes(trainer: &Trainer) -> Vec<u8> {
    to_bytes(trainer, &TokenizerSpec::bytes(), true).unwrap()
}

#[test]
fn it_trains() {
    let mut trainer = made(recipe(&[])).unwrap();
    assert_eq!(trainer.optimizer.settings(), own(Sgd::ROW.settings));
    let data = TokenDataset::from_bytes(b"one potato, two potatoes, three potatoes. ".repeat(20));
    let losses: Vec<f32> = (0..40).map(|_| trainer.step(&data).unwrap().loss).collect();
    assert!(losses[0] > 5.0 && losses[39] < 2.5, "{losses:?}");
}

/// Three steps, a file and three more are six, to the byte; so are its own numbers.
#[test]
fn it_goes_on_as_if_it_had_never_stopped() {
    let through = bytes(&after(made(recipe(&numbers())).unwrap(), 6));
    for saved_at in 0..6 {
        let file = bytes(&after(made(recipe(&numbers())).unwrap(), saved_at));
        let checkpoint = Checkpoint::from_bytes_with("file", &file, OPTIMIZERS).unwrap();
        assert_eq!(checkpoint.meta.recipe.optimizer_settings, own(&numbers()));
        let resumed = checkpoint.into_trainer(Arc::new(SingleHead)).unwrap();
        assert_eq!(resumed.optimizer.name(), "sgd");
        assert_eq!(resumed.optimizer.settings(), own(&numbers()));
        assert!(bytes(&after(resumed, 6 - saved_at)) == through, "saved after {saved_at} steps");
    }
    let usual = bytes(&after(made(recipe(&[])).unwrap(), 6));
    assert!(usual != through); // the numbers do decide
}

/// What is saved are the optimizer's numbers, whatever became of the recipe's copy.
#[test]
fn its_own_numbers_are_the_ones_saved() {
    let mut trainer = after(made(recipe(&numbers())).unwrap(), 1);
    trainer.recipe.optimizer_settings = Settings::default();
    let read = Checkpoint::from_bytes_with("file", &bytes(&trainer), OPTIMIZERS).unwrap();
    assert_eq!(read.meta.recipe.optimizer_settings, own(&numbers()));
}

#[test]
fn it_is_refused_by_its_name_where_nobody_has_given_its_row() {
    let unknown = "optimizer: 'sgd' is not one of: adamw, lion, muon";
    let model = TinyGPT::new(Config::new(256, 16, 16, 2), 1).unwrap();
    assert_eq!(Trainer::new(model, recipe(&[])).unwrap_err().to_string(), unknown);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sgd.ckpt");
    let trainer = after(made(recipe(&numbers())).unwrap(), 1);
    for with_optimizer in [false, true] {
        save(&path, &trainer, &TokenizerSpec::bytes(), with_optimizer).unwrap();
        let refused = llm_core::base::with_causes(&Checkpoint::load(&path).unwrap_err());
        assert!(refused.to_string().ends_with(unknown), "{refused}");
        let loaded = Checkpoint::load_with(&path, OPTIMIZERS).unwrap();
        assert_eq!(loaded.has_optimizer(), with_optimizer);
    }
    let knows = Models { optimizers: OPTIMIZERS, ..BASELINE };
    assert_eq!(llm_run::plan::load(&knows, &path).unwrap().run.optimizer.name(), "sgd");
    assert!(llm_run::plan::load(&BASELINE, &path).is_err());
}

#[test]
fn a_number_that_it_has_not_is_refused_by_its_key() {
    for (settings, message) in [
        (&[("dampening", Value::Float(0.5))][..], "optimizer: sgd has no setting 'dampening'"),
        (
            &[("nesterov", Value::Float(1.0))],
            "optimizer: 'nesterov' of sgd is a single-precision number, not yes or no",
        ),
        (&[("momentum", Value::Float(1.0))], "optimizer: momentum 1 is outside 0..1"),
    ] {
        assert_eq!(made(recipe(settings)).unwrap_err().to_string(), message);
    }
    let with_adamw = Recipe { optimizer: "adamw".into(), ..recipe(&numbers()) };
    let refused = made(with_adamw).unwrap_err().to_string();
    assert_eq!(refused, "optimizer: adamw has no setting 'momentum'");
    // A row of the same name that no longer has the key refuses the file.
    const FEWER: &[OptimizerRow] =
        &[OptimizerRow { settings: &[("momentum", Value::Float(0.9))], ..Sgd::ROW }];
    let file = bytes(&made(recipe(&numbers())).unwrap());
    let refused = Checkpoint::from_bytes_with("file", &file, FEWER).unwrap_err();
    let refused = llm_core::base::with_causes(&refused).to_string();
    assert!(refused.ends_with("optimizer: sgd has no setting 'nesterov'"), "{refused}");
}

/// The program that has its row takes its name and its numbers as flags, and explains it in the help.
#[test]
fn it_is_named_by_a_flag() {
    let words = |words: &[&str]| parse(&PROGRAM, ["own"].iter().chain(words).map(Into::into));
    let optimizer = |flags: &[&str]| {
        let Parsed::Run(cli) = words(flags) else { panic!("not understood: {flags:?}") };
        let settings = check_options(&PROGRAM.models, &cli.train.options(), 4000);
        let settings = settings.map_err(|e| e.to_string())?;
        let recipe = settings.decided().recipe;
        let made = recipe.make_optimizer(OPTIMIZERS).map_err(|e| e.to_string())?;
        Ok::<_, String>((made.name(), made.settings()))
    };
    let sgd = ["--optimizer", "sgd"];
    assert_eq!(optimizer(&sgd), Ok(("sgd", own(Sgd::ROW.settings))));
    let set = ["--optimizer-set=momentum=0.875", "--optimizer-set", "nesterov=true"];
    assert_eq!(optimizer(&[&sgd[..], &set].concat()), Ok(("sgd", own(&numbers()))));
    for (number, why) in [
        ("dampening=0.5", "sgd has no 'dampening'; valid names: momentum, nesterov"),
        ("nesterov=1.5", "'nesterov=1.5': expected yes or no"),
        ("momentum", "'momentum': expected a single-precision number"),
        ("momentum=1", "momentum 1 is outside 0..1"),
    ] {
        let refused = optimizer(&[&sgd[..], &["--optimizer-set", number]].concat()).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    let Parsed::Text(help) = words(&["--help"]) else { panic!("no help") };
    assert!(help.contains("sgd") && help.contains("The gradient and its momentum"), "{help}");
}
