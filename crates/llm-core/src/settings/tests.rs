//! Every field has a row, every row its type and its range.

use super::*;
use crate::base::Error;
use crate::kernels::gemm::Precision;
use crate::model::{Activation, Init, Mlp, Norm, Positions, WindowOrder};
use crate::optim::{Hyperparameters, OPTIMIZERS, Schedule, ScheduleKind};
use crate::recipe::{DataForm, EndOfText, LossOn};

/// Values none of which is a default.
fn config() -> Config {
    Config {
        vocab_size: 11,
        seq_len: 12,
        d_model: 13,
        n_layers: 14,
        norm_affine: true,
        tied_head: true,
        head_bias: false,
        init: Init::Gpt2,
        dropout: 0.5,
        activation: Activation::Gelu,
        n_inner: 15,
        norm: Norm::Rms,
        norm_eps: 0.25,
        mlp: Mlp::Relu2,
        mlp_bias: false,
        positions: Positions::None,
        ngrams: vec![2, 5],
        ngram_rows: 16,
    }
}

/// Numbers of an optimizer from elsewhere.
fn own() -> Settings {
    let mut own = Settings::default();
    own.insert("momentum", Value::Float(0.875)).unwrap();
    own.insert("ns_steps", Value::Whole(5)).unwrap();
    own
}

fn recipe() -> Recipe {
    Recipe {
        batch_size: 21,
        accum: 22,
        seq_len: 23,
        total_steps: 24,
        schedule: Schedule {
            kind: ScheduleKind::Wsd,
            lr: 0.5,
            min_lr: 0.25,
            warmup_steps: 25,
            decay_steps: 26,
        },
        optimizer: "lion".into(),
        hyperparameters: Hyperparameters {
            beta1: 0.75,
            beta2: 0.625,
            eps: 0.125,
            weight_decay: 0.0625,
            decay_all: false,
        },
        optimizer_settings: own(),
        clip: 2.0,
        matmul: Precision::Bf16,
        seed: 27,
        val_frac: 0.375,
        loss_on: LossOn::All,
        order: WindowOrder::Passes,
        reward: "exact".into(),
        group: 9,
        answer_length: 32,
        scaled: true,
        updates: 4,
        clip_ratio: 0.125,
        beta: 0.0625,
        start: "a5".into(),
        data: DataSource::Stories { version: 3, seed: 28, count: 29 },
        val_data: Some(DataSource::Files {
            len: 30,
            blake3: [31; 32],
            form: DataForm::U16,
            end_of_text: EndOfText::Marked,
        }),
    }
}

#[test]
fn everything_comes_back() {
    let all = collect(&config(), &recipe()).unwrap();
    assert_eq!(read(all).unwrap(), (config(), recipe()));
    let plain = (Config::new(1, 2, 3, 4), Recipe::new([5, 6], 7, 0.5));
    assert_eq!(read(collect(&plain.0, &plain.1).unwrap()).unwrap(), plain);
}

/// A file that says nothing of a later setting is that of a model without it.
#[test]
fn later_settings_are_written_where_they_are_not_the_default() {
    let recipe = Recipe::new([5, 6], 7, 0.5);
    let plain = collect(&Config::new(1, 2, 3, 4), &recipe).unwrap();
    let later = MODEL.iter().filter(|row| row.later).map(|row| row.key);
    let later = later.chain(RECIPE.iter().filter(|row| row.later).map(|row| row.key));
    assert!(later.clone().count() > 0 && later.clone().all(|key| plain.get(key).is_none()));
    assert_eq!(read(plain).unwrap().0, Config::new(1, 2, 3, 4));
    let all = collect(&config(), &recipe).unwrap();
    assert_eq!(all.get("model.activation"), Some(&Value::Text("gelu".into())));
    assert_eq!(all.get("model.n_inner"), Some(&Value::Whole(15)));
    assert_eq!(all.get("model.norm"), Some(&Value::Text("rms".into())));
    assert_eq!(all.get("model.norm_eps"), Some(&Value::Float(0.25)));
    assert_eq!(all.get("model.mlp_bias"), Some(&Value::Bool(false)));
}

/// A field that is added does not compile here until it has a row.
#[test]
fn every_field_has_one_row() {
    let Config {
        vocab_size: _,
        seq_len: _,
        d_model: _,
        n_layers: _,
        norm_affine: _,
        tied_head: _,
        head_bias: _,
        init: _,
        dropout: _,
        activation: _,
        n_inner: _,
        norm: _,
        norm_eps: _,
        mlp: _,
        mlp_bias: _,
        positions: _,
        ngrams: _,
        ngram_rows: _,
    } = config();
    let own = [
        "vocab_size",
        "seq_len",
        "d_model",
        "n_layers",
        "norm_affine",
        "tied_head",
        "head_bias",
        "init",
        "dropout",
        "activation",
        "n_inner",
        "norm",
        "norm_eps",
        "mlp",
        "mlp_bias",
        "positions",
        "ngrams",
        "ngram_rows",
    ];
    assert_eq!(
        MODEL.iter().map(|row| row.key).collect::<Vec<_>>(),
        own.map(|f| format!("model.{f}"))
    );

    let Recipe {
        batch_size: _,
        accum: _,
        seq_len: _,
        total_steps: _,
        schedule: Schedule { kind: _, lr: _, min_lr: _, warmup_steps: _, decay_steps: _ },
        optimizer: _,
        hyperparameters:
            Hyperparameters { beta1: _, beta2: _, eps: _, weight_decay: _, decay_all: _ },
        optimizer_settings: _,
        clip: _,
        matmul: _,
        seed: _,
        val_frac: _,
        loss_on: _,
        order: _,
        reward: _,
        group: _,
        answer_length: _,
        scaled: _,
        updates: _,
        clip_ratio: _,
        beta: _,
        start: _,
        data: _,
        val_data: _,
    } = recipe();
    let own = [
        "batch_size",
        "accum",
        "seq_len",
        "total_steps",
        "schedule",
        "lr",
        "min_lr",
        "warmup_steps",
        "decay_steps",
        "optimizer",
        "beta1",
        "beta2",
        "eps",
        "weight_decay",
        "decay_all",
        "clip",
        "matmul",
        "seed",
        "val_frac",
        "loss_on",
        "order",
        "reward",
        "group",
        "answer_length",
        "scaled",
        "updates",
        "clip_ratio",
        "beta",
        "start",
    ];
    assert_eq!(
        RECIPE.iter().map(|row| row.key).collect::<Vec<_>>(),
        own.map(|f| format!("train.{f}"))
    );
}

/// Rows set their own fields alone: each one brings the full settings nearer by one key.
#[test]
fn every_row_reads_and_sets_its_own_field() {
    fn check<T: Clone + PartialEq + std::fmt::Debug>(rows: &[Row<T>], start: T, end: T) {
        let mut now = start.clone();
        for row in rows {
            let value = (row.get)(&end);
            assert_ne!((row.get)(&start), value, "{}", row.key);
            let others = |of: &T| {
                let others = rows.iter().filter(|other| other.key != row.key);
                others.map(|other| (other.get)(of)).collect::<Vec<_>>()
            };
            let before = others(&now);
            (row.put)(&mut now, value.clone()).unwrap();
            assert_eq!(((row.get)(&now), others(&now)), (value, before), "{}", row.key);
        }
        assert_eq!(now, end);
    }
    check(MODEL, Config::new(1, 1, 1, 1), config());
    let plain = Recipe::new([1, 1], 1, 0.75);
    let without_rows = Recipe {
        data: DataSource::NONE,
        val_data: None,
        optimizer_settings: Settings::default(),
        ..recipe()
    };
    check(RECIPE, plain, without_rows);
}

/// The names of all optimizers.
fn optimizers() -> String {
    OPTIMIZERS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

/// What `check` refuses a row refuses, with the same words, and leaves the old value.
#[test]
fn ranges_are_those_of_check() {
    let refused: [(&str, Value, &str); 14] = [
        ("train.batch_size", Value::Whole(0), "batch_size: 0 is outside 1..=1048576"),
        ("train.accum", Value::Whole(65537), "accum: 65537 is outside 1..=65536"),
        ("train.seq_len", Value::Whole(0), "seq_len: 0 is not a length"),
        (
            "train.total_steps",
            Value::Whole(u64::MAX),
            "total_steps: 18446744073709551615 is too many, the most is 9007199254740992",
        ),
        ("train.lr", Value::Float(0.0), "lr: 0 is not a finite number above 0"),
        ("train.min_lr", Value::Float(2.0), "min_lr: 2 is outside 0..=0.5"),
        (
            "train.warmup_steps",
            Value::Whole((1 << 53) + 1),
            "warmup_steps: 9007199254740993 is too many, the most is 9007199254740992",
        ),
        (
            "train.decay_steps",
            Value::Whole((1 << 53) + 1),
            "decay_steps: 9007199254740993 is too many, the most is 9007199254740992",
        ),
        ("train.beta1", Value::Float(1.0), "beta1: 1 is outside 0..1"),
        ("train.beta2", Value::Float(-0.5), "beta2: -0.5 is outside 0..1"),
        ("train.eps", Value::Float(0.0), "eps: 0 is not above 0"),
        ("train.weight_decay", Value::Float(-1.0), "weight_decay: -1 is not 0 or more"),
        ("train.clip", Value::Float(-1.0), "clip: -1 is not a finite number of 0 or more"),
        ("train.val_frac", Value::Double(1.0), "val_frac: 1 is outside 0..1"),
    ];
    for (key, value, message) in refused {
        let row = RECIPE.iter().find(|row| row.key == key).unwrap();
        let mut now = recipe();
        assert_eq!((row.put)(&mut now, value).unwrap_err().to_string(), message);
        assert_eq!(now, recipe());
    }
    // Which optimizers there are, the caller of `check` knows.
    let nobody = Recipe { optimizer: "nobody".into(), ..Recipe::new([1, 1], 1, 0.5) };
    let message = format!("optimizer: 'nobody' is not one of: {}", optimizers());
    assert_eq!(nobody.check().unwrap_err().to_string(), message);
    let over = [
        ("model.vocab_size", Config::MAX_VOCAB),
        ("model.seq_len", Config::MAX_SEQ),
        ("model.d_model", Config::MAX_D_MODEL),
        ("model.n_layers", Config::MAX_LAYERS),
        ("model.n_inner", Config::MAX_INNER),
    ];
    for (key, max) in over {
        let row = MODEL.iter().find(|row| row.key == key).unwrap();
        let mut now = config();
        (row.put)(&mut now, Value::Whole(max as u64)).unwrap();
        let refused = (row.put)(&mut now, Value::Whole(max as u64 + 1));
        assert!(matches!(refused, Err(Error::Config { field, .. }) if key.ends_with(field)));
    }
}

#[test]
fn a_value_of_another_type_is_refused_by_the_name_of_its_key() {
    let mut now = config();
    let row = &MODEL[2];
    let error = (row.put)(&mut now, Value::Text("wide".into())).unwrap_err().to_string();
    let wanted = "settings: 'model.d_model' is a text (wide), expected a whole number that this \
                  machine can count to";
    assert_eq!((error.as_str(), now), (wanted, config()));
}

#[test]
fn a_key_that_is_not_there_leaves_the_default_and_one_too_many_is_refused() {
    let (config, recipe) = read(Settings::default()).unwrap();
    assert_eq!((config, recipe), (Config::new(0, 0, 0, 0), Recipe::new([0, 0], 0, 0.0)));
    let mut further = collect(&self::config(), &self::recipe()).unwrap();
    further.insert("model.experts", Value::Whole(8)).unwrap();
    let error = read(further).unwrap_err().to_string();
    assert_eq!(error, "settings: 'model.experts' is unknown to this program");
}
