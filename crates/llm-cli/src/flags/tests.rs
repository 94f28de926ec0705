//! Rows fit core's settings.

use super::*;
use llm_core::Config;
use llm_core::settings::{MODEL, RECIPE, Value};
use llm_run::defaults::Start;
use std::collections::BTreeSet;

fn keys_of_core() -> Vec<&'static str> {
    MODEL.iter().map(|row| row.key).chain(RECIPE.iter().map(|row| row.key)).collect()
}

/// Whoever adds a setting to core is sent to the table, or to its list of those without a flag.
#[test]
fn every_setting_of_core_has_a_flag_or_a_reason_for_none() {
    for key in keys_of_core() {
        let reason = WITHOUT_A_FLAG.iter().find(|without| without.0 == key);
        assert_ne!(of_key(key).is_some(), reason.is_some(), "{key}");
    }
    for (key, reason) in WITHOUT_A_FLAG {
        assert!(keys_of_core().contains(key) && !reason.is_empty(), "{key}");
    }
    for flag in flags() {
        assert!(keys_of_core().contains(&flag.key), "{}", flag.key);
    }
    let keys: BTreeSet<_> = flags().map(|flag| flag.key).collect();
    let names: Vec<_> = flags().flat_map(|flag| flag.aliases.iter().chain([&flag.name])).collect();
    assert_eq!(keys.len(), flags().count());
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
}

/// `[default: ..]` in a help text is what a run on stories or on text starts from.
#[test]
fn the_help_says_the_values_that_count() {
    for start in [Start::Stories, Start::Text] {
        let given = Given::default();
        let config = new_model(Config::new(256, 1, 1, 1), start, &given).unwrap();
        let recipe = new_recipe(start, &given).unwrap();
        let said = |flag: &Flag| Some(flag.help.split_once("[default: ")?.1.split_once(']')?.0);
        for flag in flags() {
            let Some(said) = said(flag).filter(|said| !said.contains(' ')) else { continue };
            assert_eq!(flag.value(&config, &recipe).unwrap().to_string(), said, "{}", flag.name);
        }
    }
}

/// What the errors of core call a setting leads to what is typed.
#[test]
fn fields_lead_to_flags() {
    for (field, flag) in [
        ("d_model", "dmodel"),
        ("n_layers", "layers"),
        ("seq_len", "seq"),
        ("batch_size", "batch"),
        ("warmup_steps", "warmup"),
        ("total_steps", "steps"),
        ("min_lr", "min-lr"),
        ("val_frac", "val-frac"),
    ] {
        assert_eq!(of_field(field).unwrap().name, flag);
    }
    assert!(of_field("heads").is_none() && of_field("vocab_size").is_none());
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
    let (steps, horizon) = (("steps", Value::Whole(400)), ("decay-steps", Value::Whole(60)));
    let lowest = ("min-lr", Value::Float(1e-6));
    assert_eq!(course(&[]), (1e-3, 1e-3 / 10.0, 100, 2000));
    assert_eq!(course(&[&steps]), (1e-3, 1e-3 / 10.0, 20, 400));
    assert_eq!(course(&[&steps, &horizon]), (1e-3, 1e-3 / 10.0, 3, 60));
    assert_eq!(course(&[&lowest]), (1e-3, 1e-6, 100, 2000));
    assert_eq!(course(&[&constant, &steps, &horizon, &lowest]), (1e-3, 1e-3, 0, 0));
}
