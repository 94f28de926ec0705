//! Rows fit the settings of a run.

use super::*;
use llm_core::Config;
use llm_run::defaults::Start;
use llm_run::settings::{ATTENTION, Given, new_model, new_recipe, settings};
use std::collections::BTreeSet;

/// Adding a setting fails here until it is in the table.
#[test]
fn every_setting_has_a_flag() {
    let names: Vec<_> = flags().flat_map(|flag| flag.aliases.iter().chain([&flag.name])).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    let of_flags: BTreeSet<_> = flags().map(Flag::setting_name).collect();
    let of_attention = ATTENTION.iter().map(|row| &row.setting);
    let all: BTreeSet<_> = settings().chain(of_attention).map(|of| of.name.to_string()).collect();
    assert_eq!(of_flags, all);
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
            let Some(setting) = flag.setting() else { continue };
            let value = setting.value(&config, &recipe).unwrap();
            assert_eq!(value.to_string(), said, "{}", flag.name);
        }
    }
}
