//! What settings by key can say wrongly.

use super::hostile::refused;
use super::*;
use crate::checkpoint::contents::SavedOptimizer;
use crate::checkpoint::header::Header;

/// The file of a small run with another header.
fn with_header(change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let (contents, body) = apart(&good());
    let mut header = Header::new(&contents).unwrap();
    change(&mut header);
    signed(&postcard::to_stdvec(&header).unwrap(), &body)
}

/// A file with one setting changed or, where it sorts, added.
fn with(key: &str, value: Value) -> Vec<u8> {
    with_header(|h| match h.settings.binary_search_by(|(k, _)| k.as_str().cmp(key)) {
        Ok(at) => h.settings[at].1 = value,
        Err(at) => h.settings.insert(at, (key.into(), value)),
    })
}

fn without(key: &str) -> Vec<u8> {
    with_header(|h| h.settings.retain(|(k, _)| k != key))
}

#[track_caller]
fn refused_setting(file: &[u8]) -> String {
    match refused(file) {
        CheckpointError::Setting { field, reason } => format!("{field}: {reason}"),
        other => panic!("{other}"),
    }
}

#[test]
fn the_helpers_change_nothing_by_themselves() {
    assert_eq!(with_header(|_| ()), good());
    assert_eq!(with("train.seed", Value::Whole(99)), good());
}

#[test]
fn an_unknown_key_is_refused_by_its_name() {
    for key in ["model.experts", "train.ema", "val_data.seed", "data.count", "a", "z.z"] {
        let error = refused_setting(&with(key, Value::Bool(true)));
        assert_eq!(error, format!("settings: '{key}' is unknown to this program"));
    }
}

#[test]
fn a_key_that_is_not_there_has_its_default() {
    let checkpoint = read(&without("train.clip")).unwrap();
    assert_eq!(checkpoint.meta.recipe.clip, 1.0);
    assert_eq!(read(&without("train.val_frac")).unwrap().meta.recipe.val_frac, 0.0);
    assert_eq!(read(&without("train.optimizer")).unwrap().meta.recipe.optimizer, "adamw");
    assert_eq!(read(&without("architecture")).unwrap().meta, read(&good()).unwrap().meta);
    // There is no size of a model that goes without saying.
    for key in ["model.vocab_size", "model.n_layers", "train.batch_size", "train.lr"] {
        refused_setting(&without(key));
    }
    let error = refused_setting(&without("data.length"));
    assert_eq!(error, "settings: 'data.length' is missing");
}

#[test]
fn keys_out_of_order_or_twice_are_refused() {
    for at in 1..10 {
        refused_setting(&with_header(|h| h.settings.swap(at - 1, at)));
        refused_setting(&with_header(|h| h.settings.insert(at, h.settings[at].clone())));
    }
    refused_setting(&with_header(|h| {
        let pair = ("a".to_string(), Value::Bool(true));
        h.attention.settings = vec![pair.clone(), pair];
    }));
}

#[test]
fn values_of_another_type_are_refused_by_the_name_of_the_key() {
    let (contents, _) = apart(&good());
    let keys: Vec<_> = Header::new(&contents).unwrap().settings;
    let values = [
        Value::Bool(true),
        Value::Whole(1),
        Value::Float(0.5),
        Value::Double(0.5),
        Value::Text("\x1b[31m".into()),
        Value::Bytes(vec![1; 31]),
        Value::Bits(vec![true; 5000]),
    ];
    for (key, own) in &keys {
        for value in values.iter().filter(|v| v.kind() != own.kind()) {
            let error = refused_setting(&with(key, value.clone()));
            assert!(error.contains(key) || error.contains("'data'"), "{key}: {error}");
            assert!(!error.contains('\x1b') && error.len() < 300);
        }
    }
    for (key, value) in [
        ("train.accum", Value::Whole(1 << 32)),
        ("data.blake3", Value::Bytes(vec![1; 31])),
        ("data.kind", Value::Text("web".into())),
        ("model.init", Value::Text("ones".into())),
        ("train.schedule", Value::Text("Cosine".into())),
        ("train.optimizer", Value::Text("nobody".into())),
    ] {
        refused_setting(&with(key, value));
    }
}

#[test]
fn numbers_that_are_none_are_refused() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for key in ["lr", "min_lr", "beta1", "beta2", "eps", "weight_decay", "clip"] {
            refused_setting(&with(&format!("train.{key}"), Value::Float(value)));
        }
        refused_setting(&with("model.dropout", Value::Float(value)));
        refused_setting(&with("train.val_frac", Value::Double(value.into())));
    }
}

#[test]
fn keys_and_values_have_limits() {
    let many = |n: usize| {
        with_header(|h| {
            h.attention.settings = (0..n).map(|i| (format!("{i:04}"), Value::Bool(true))).collect();
        })
    };
    assert!(read(&many(Settings::MAX_KEYS)).is_ok());
    refused_setting(&many(Settings::MAX_KEYS + 1));
    let one = |key: &str, value: Value| {
        with_header(|h| {
            h.attention.settings = vec![(key.to_string(), value)];
        })
    };
    let yes = Value::Bool(true);
    assert!(read(&one(&"k".repeat(64), yes.clone())).is_ok());
    for key in [&"k".repeat(65), "", "K", "a b", "a-b", "é", "\x1b[31m"] {
        assert!(!refused_setting(&one(key, yes.clone())).contains('\x1b'));
    }
    assert!(read(&one("k", Value::Bytes(vec![0; 4095]))).is_ok());
    let error = refused(&one("k", Value::Bytes(vec![0; 4096])));
    assert!(matches!(error, CheckpointError::Limit { .. }), "{error}");
    refused_setting(&one("k", Value::Text("x".repeat(4097))));
    refused_setting(&one("k", Value::Bits(vec![true; 4097])));
}

#[test]
fn an_unknown_precision_or_order_of_additions_is_refused_by_its_name() {
    let error = refused_setting(&with_header(|h| h.precision = "bf16".into()));
    assert_eq!(error, "precision: 'bf16' is not one of: f32");
    let error = refused_setting(&with_header(|h| h.accumulation = "\x07".into()));
    assert_eq!(error, "accumulation: '\\u{7}' is not one of: tree");
}

#[test]
fn an_optimizer_must_be_the_runs_own_with_its_slots() {
    let optimizer = |change: fn(&mut SavedOptimizer)| {
        refused_setting(&with_header(|h| change(h.optimizer.as_mut().unwrap())))
    };
    let names: Vec<_> = OPTIMIZERS.iter().map(|row| row.name).collect();
    let want = format!("optimizer: 'nobody' is not one of: {}", names.join(", "));
    assert_eq!(optimizer(|o| o.name = "nobody".into()), want);
    assert_eq!(
        optimizer(|o| o.name = "lion".into()),
        "optimizer: the state of lion in a run with adamw"
    );
    assert_eq!(optimizer(|o| o.slots.truncate(1)), "optimizer: adamw does not keep 'm'");
    optimizer(|o| o.slots.reverse());
    optimizer(|o| o.slots.push("m".into()));
    optimizer(|o| o.slots[0] = "weight".into());
}
