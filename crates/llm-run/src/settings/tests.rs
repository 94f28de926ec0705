//! Rows fit core's settings.

use super::*;
use crate::defaults::Start;
use llm_core::AttentionSpec;
use llm_core::optim::OPTIMIZERS;
use llm_core::settings::{MODEL, RECIPE, Value};
use std::collections::BTreeSet;

/// Core's settings that no run is asked for, and why.
const NOT_ASKED_FOR: &[(&str, &str)] = &[
    ("model.vocab_size", "the tokenizer's"),
    ("model.norm_eps", "that of a model from elsewhere; a new one has core's"),
    ("train.start", "that of the weights which a run began with"),
    ("train.eps", "the same, core's, whatever a run starts from"),
];

fn keys_of_core() -> Vec<&'static str> {
    MODEL.iter().map(|row| row.key).chain(RECIPE.iter().map(|row| row.key)).collect()
}

/// Adding a setting to core fails here until it is in the table, or in its list of those without a
/// setting.
#[test]
fn every_setting_of_core_has_a_row_or_a_reason_for_none() {
    for key in keys_of_core() {
        let reason = NOT_ASKED_FOR.iter().find(|without| without.0 == key);
        assert_ne!(of_key(key).is_some(), reason.is_some(), "{key}");
    }
    for (key, reason) in NOT_ASKED_FOR {
        assert!(keys_of_core().contains(key) && !reason.is_empty(), "{key}");
    }
    for setting in settings() {
        assert!(keys_of_core().contains(&setting.key), "{}", setting.key);
    }
    let keys: BTreeSet<_> = settings().map(|setting| setting.key).collect();
    let names: Vec<_> = settings().map(|setting| setting.name).collect();
    assert_eq!(keys.len(), settings().count());
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
}

/// What the errors of core call a setting leads to what is typed.
#[test]
fn fields_lead_to_settings() {
    for (field, name) in [
        ("d_model", "dmodel"),
        ("n_layers", "layers"),
        ("seq_len", "seq"),
        ("batch_size", "batch"),
        ("warmup_steps", "warmup"),
        ("total_steps", "steps"),
        ("min_lr", "min_lr"),
        ("val_frac", "val_frac"),
    ] {
        assert_eq!(of_field(field).unwrap().name, name);
    }
    assert!(of_field("heads").is_none() && of_field("vocab_size").is_none());
}

/// A row of an attention without an example would be typed as a switch.
#[test]
fn every_setting_of_an_attention_has_an_example_of_its_kind() {
    for AttentionRow { setting, get, put, .. } in &ATTENTION {
        let mut spec = AttentionSpec::new("", 1);
        put(&mut spec, &setting.example());
        assert_eq!(get(&spec), Some(setting.example()), "{}", setting.name);
    }
}

/// A number of an optimizer's own has no option that an error could name.
#[test]
fn a_number_out_of_range_is_named_by_its_option() {
    let given = Given::from([("optimizer", Value::Text("muon".into()))]);
    let mut recipe = new_recipe(Start::Text, &given).unwrap();
    let refused = set_own(&mut recipe, &["momentum=1".into()], OPTIMIZERS).unwrap_err();
    assert!(refused.to_string().contains("optimizer_set: momentum 1 is outside 0..1"), "{refused}");
}

/// A value that was given is left alone; the others follow.
#[test]
fn some_settings_follow_from_others() {
    let course = |values: &[&(&'static str, Value)]| {
        let schedule =
            new_recipe(Start::Text, &values.iter().copied().cloned().collect()).unwrap().schedule;
        (schedule.lr, schedule.min_lr, schedule.warmup_steps, schedule.decay_steps)
    };
    let constant = ("schedule", Value::Text("constant".into()));
    let (steps, horizon) = (("steps", Value::Whole(400)), ("decay_steps", Value::Whole(60)));
    let lowest = ("min_lr", Value::Float(1e-6));
    assert_eq!(course(&[]), (4e-3, 0.0, 100, 2000));
    assert_eq!(course(&[&steps]), (1e-2, 0.0, 20, 400));
    assert_eq!(course(&[&steps, &horizon]), (1e-2, 0.0, 3, 60));
    assert_eq!(course(&[&lowest]), (4e-3, 1e-6, 100, 2000));
    assert_eq!(course(&[&constant, &steps, &horizon, &lowest]), (1e-2, 1e-2, 0, 0));
}
