//! An optimizer from outside the core, with numbers of its own: Muon. It trains, is saved and goes on
//! exactly where its row is given, and is refused by its name where it is not.

use llm_core::base::{Error, Result};
use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save, to_bytes};
use llm_core::crew::InProcess;
use llm_core::model::SingleHead;
use llm_core::ndarray::{Array2, ArrayView2};
use llm_core::optim::{AdamW, Lion, Optimizer, OptimizerRow, OptimizerState, Slot, find_optimizer};
use llm_core::settings::{Settings, Value};
use llm_core::train::{ProcessGroup, Trainer};
use llm_core::{
    Config, Gradients, Hyperparameters, Recipe, Tensor, TinyGPT, TokenDataset, message,
};
use llm_run::models::{BASELINE, Models};
use std::sync::Arc;

/// Momentum whose matrices are made orthogonal; everything else by Adam.
///
/// Reference: Jordan et al., "Muon: An optimizer for hidden layers in neural networks".
#[derive(Clone, Debug)]
struct Muon {
    config: Hyperparameters,
    momentum: f32,
    ns_steps: u64,
    state: OptimizerState,
}

impl Muon {
    const ROW: OptimizerRow = OptimizerRow {
        name: "muon",
        doc: "Momentum whose matrices are made orthogonal",
        slots: &[
            Slot { name: "m", mean_of_squares: false },
            Slot { name: "v", mean_of_squares: true },
        ],
        settings: &[("momentum", Value::Float(0.95)), ("ns_steps", Value::Whole(5))],
        elementwise: false,
        make: |config, own| Ok(Box::new(Muon::new(config, own)?)),
    };

    fn new(config: Hyperparameters, own: &Settings) -> Result<Muon> {
        config.check()?;
        let (momentum, ns_steps) = (own.typed("momentum")?, own.typed("ns_steps")?);
        if !(0.0..1.0).contains(&momentum) {
            return Err(Error::config(
                "optimizer",
                message!("momentum {} is outside 0..1", momentum),
            ));
        }
        Ok(Muon { config, momentum, ns_steps, state: OptimizerState::default() })
    }
}

impl Optimizer for Muon {
    fn row(&self) -> &'static OptimizerRow {
        &Muon::ROW
    }

    fn config(&self) -> &Hyperparameters {
        &self.config
    }

    fn settings(&self) -> Settings {
        let mut own = Settings::default();
        // Both are finite, so neither can be refused.
        let _ = own.insert("momentum", Value::Float(self.momentum));
        let _ = own.insert("ns_steps", Value::Whole(self.ns_steps));
        own
    }

    /// Matrices: m ← μm + g, θ ← θ − lr·(0.2·√max(rows, columns)·orthogonal(g + μm) + λθ)
    fn step(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        lr: f32,
        grad_scale: f32,
    ) -> Result<()> {
        let Muon { config, momentum, ns_steps, .. } = *self;
        let Hyperparameters { beta1, beta2, eps, .. } = config;
        self.state.update(parameters, grads, |t, p, [m, v], g| {
            let decay = lr * config.decay_of(p);
            let g: Vec<f32> = g.iter().map(|g| g * grad_scale).collect();
            let delta: Vec<f32> = match *p.shape() {
                [rows, columns] => {
                    m.iter_mut().zip(&g).for_each(|(m, g)| *m = momentum * *m + g);
                    let ahead = m.iter().zip(&g).map(|(m, g)| g + momentum * m).collect();
                    let scale = 0.2 * (rows.max(columns) as f32).sqrt();
                    let ahead = Array2::from_shape_vec((rows, columns), ahead).unwrap();
                    orthogonal(ahead.view(), ns_steps).iter().map(|x| scale * x).collect()
                }
                _ => {
                    m.iter_mut().zip(&g).for_each(|(m, g)| *m = beta1 * *m + (1.0 - beta1) * g);
                    v.iter_mut().zip(&g).for_each(|(v, g)| *v = beta2 * *v + (1.0 - beta2) * g * g);
                    let [of_m, of_v] = [beta1, beta2].map(|beta| 1.0 - beta.powi(t as i32));
                    let adam = |(m, v): (&f32, &f32)| m / of_m / ((v / of_v).sqrt() + eps);
                    m.iter().zip(&*v).map(|(m, v)| adam((m, v))).collect()
                }
            };
            for (x, delta) in p.data_mut().iter_mut().zip(delta) {
                *x -= lr * delta + decay * *x;
            }
        })
    }

    fn state(&self) -> &OptimizerState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut OptimizerState {
        &mut self.state
    }

    fn boxed(&self) -> Box<dyn Optimizer> {
        Box::new(self.clone())
    }
}

/// The nearest matrix with equal singular values, by steps of Newton and Schulz.
fn orthogonal(x: ArrayView2<'_, f32>, steps: u64) -> Array2<f32> {
    if x.nrows() > x.ncols() {
        return orthogonal(x.t(), steps).t().as_standard_layout().to_owned();
    }
    let norm = x.iter().map(|x| x * x).sum::<f32>().sqrt() + 1e-7;
    let mut x = x.mapv(|x| x / norm);
    for _ in 0..steps {
        let a = x.dot(&x.t());
        let b = -4.775 * &a + 2.0315 * a.dot(&a);
        x = 3.4445 * &x + b.dot(&x);
    }
    x
}

/// What the caller of this program knows.
const OPTIMIZERS: &[OptimizerRow] = &[AdamW::ROW, Lion::ROW, Muon::ROW];

fn own(settings: &[(&str, Value)]) -> Settings {
    let mut own = Settings::default();
    for (key, value) in settings {
        own.insert(key, value.clone()).unwrap();
    }
    own
}

fn recipe(settings: &[(&str, Value)]) -> Recipe {
    let optimizer_settings = own(settings);
    Recipe { optimizer: "muon".into(), optimizer_settings, ..Recipe::new([2, 16], 40, 1e-2) }
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
    [("momentum", Value::Float(0.875)), ("ns_steps", Value::Whole(3))]
}

fn bytes(trainer: &Trainer) -> Vec<u8> {
    to_bytes(trainer, &TokenizerSpec::bytes(), true).unwrap()
}

#[test]
fn it_trains() {
    let mut trainer = made(recipe(&[])).unwrap();
    assert_eq!(trainer.optimizer.settings(), own(Muon::ROW.settings));
    let data = TokenDataset::from_bytes(b"one potato, two potatoes, three potatoes. ".repeat(20));
    let losses: Vec<f32> = (0..40).map(|_| trainer.step(&data).unwrap().loss).collect();
    assert!(losses[0] > 5.0 && losses[39] < 2.5, "{losses:?}");
}

/// Rows of a matrix become orthonormal, roughly: singular values lie around 1.
#[test]
fn matrices_become_orthogonal() {
    let x = Array2::from_shape_fn((4, 9), |(i, j)| ((i * i * 7 + i * j * 5 + j) as f32).sin());
    for x in [x.clone(), x.t().to_owned()] {
        let y = orthogonal(x.view(), 8);
        assert_eq!(y.dim(), x.dim());
        let y = if y.nrows() > y.ncols() { y.t().to_owned() } else { y };
        for ((i, j), of) in y.dot(&y.t()).indexed_iter() {
            let near = if i == j { 0.4..1.6 } else { -0.4..0.4 };
            assert!(near.contains(of), "{i} {j}: {of}");
        }
    }
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
        assert_eq!(resumed.optimizer.name(), "muon");
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
    let unknown = "optimizer: 'muon' is not one of: adamw, lion";
    let model = TinyGPT::new(Config::new(256, 16, 16, 2), 1).unwrap();
    assert_eq!(Trainer::new(model, recipe(&[])).unwrap_err().to_string(), unknown);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("muon.ckpt");
    let trainer = after(made(recipe(&numbers())).unwrap(), 1);
    for with_optimizer in [false, true] {
        save(&path, &trainer, &TokenizerSpec::bytes(), with_optimizer).unwrap();
        let refused = llm_core::base::with_causes(&Checkpoint::load(&path).unwrap_err());
        assert!(refused.to_string().ends_with(unknown), "{refused}");
        let loaded = Checkpoint::load_with(&path, OPTIMIZERS).unwrap();
        assert_eq!(loaded.has_optimizer(), with_optimizer);
    }
    let knows = Models { optimizers: OPTIMIZERS, ..BASELINE };
    assert_eq!(llm_run::plan::load(&knows, &path).unwrap().run.optimizer.name(), "muon");
    assert!(llm_run::plan::load(&BASELINE, &path).is_err());
}

#[test]
fn a_number_that_it_has_not_is_refused_by_its_key() {
    for (settings, message) in [
        (&[("nesterov", Value::Bool(true))][..], "optimizer: muon has no setting 'nesterov'"),
        (
            &[("ns_steps", Value::Float(5.0))],
            "optimizer: 'ns_steps' of muon is a single-precision number, not a whole number",
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
        &[OptimizerRow { settings: &[("momentum", Value::Float(0.95))], ..Muon::ROW }];
    let file = bytes(&made(recipe(&numbers())).unwrap());
    let refused = Checkpoint::from_bytes_with("file", &file, FEWER).unwrap_err();
    let refused = llm_core::base::with_causes(&refused).to_string();
    assert!(refused.ends_with("optimizer: muon has no setting 'ns_steps'"), "{refused}");
}

/// A share of a matrix says nothing about the whole.
#[test]
fn it_cannot_be_divided() {
    let mut trainer = made(recipe(&[])).unwrap();
    let refused = InProcess::crew(1).into_iter().map(|mut crew| {
        let mut group = ProcessGroup::new(&mut crew);
        group.divide(&trainer.model, trainer.optimizer.as_mut()).unwrap_err().to_string()
    });
    let why = "optimizer: muon cannot be divided: it looks at more than one weight at a time";
    assert_eq!(refused.collect::<Vec<_>>(), [why]);
    assert_eq!(find_optimizer(OPTIMIZERS, "muon").unwrap().name, "muon");
}
