//! Rows fit the settings of a run.

use super::spelled::SPELLED;
use super::*;
use llm_core::Config;
use llm_run::defaults::Start;
use llm_run::settings::{Given, all_settings, new_model, new_recipe};
use std::collections::BTreeSet;

#[test]
fn what_is_spelled_are_settings_and_their_choices() {
    let names: Vec<_> =
        flags().iter().flat_map(|flag| flag.aliases().iter().chain([&flag.name])).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    // What is spelled stands in the order of the settings, and each name is that of one.
    let spelled = SPELLED.iter().map(|of| of.setting).collect::<Vec<_>>();
    let all = all_settings().map(|of| of.name).filter(|name| spelled.contains(name));
    assert_eq!(all.collect::<Vec<_>>(), spelled);
    for flag in flags().iter().filter(|flag| flag.setting.name != "optimizer") {
        let words: Vec<_> = flag.words().into_iter().map(|(word, _)| word).collect();
        let mut choices = flag.setting.choices();
        choices.sort_by_key(|choice| words.iter().position(|word| word == choice));
        assert_eq!(words, choices, "{}", flag.name);
    }
}

/// `[default: ..]` in a help text is what a run on stories or on text starts from.
#[test]
fn the_help_says_the_values_that_count() {
    for start in [Start::Stories, Start::Text] {
        let given = Given::default();
        let config = new_model(Config::new(256, 1, 1, 1), start, &given).unwrap();
        let recipe = new_recipe(start, &given).unwrap();
        let said = |flag: &Flag| {
            let text = flag.setting.texts()[0].to_string();
            Some(text.split_once("[default: ")?.1.split_once(']')?.0.to_string())
        };
        for flag in flags() {
            let Some(said) = said(flag).filter(|said| !said.contains(' ')) else { continue };
            let Some(value) = flag.setting.value(&config, &recipe) else { continue };
            assert_eq!(value.to_string(), said, "{}", flag.name);
        }
    }
}
