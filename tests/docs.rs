//! The pages in docs/ (and those of the workspace's folder) stay true: both languages say the same,
//! links, paths, names and commands exist, numbers are those that the code computes.

mod checklist;
mod commands;
pub mod concepts;
mod contents;
mod crates;
mod examples;
mod figures;
pub mod lessons;
mod manifests;
mod modules;
mod names;
mod numbers;
pub mod pages;
mod planted;
mod readme;
mod security;
mod twins;
mod values;
mod way_one;
mod words;

use pages::Site;

fn site() -> Site {
    Site::read(&crate_root())
}

fn crate_root() -> std::path::PathBuf {
    workspace_tests::workspace()
}

fn none(problems: Vec<String>) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn the_pages_are_there() {
    let site = site();
    for page in [
        "README",
        "adding_a_variant",
        "doors/README",
        "doors/hook",
        "doors/op",
        "doors/optimizer",
        "doors/setting",
        "architecture/hidden_states_vs_attention_matrices",
        "attention_indexing_trace",
        "concepts/README",
        "concepts/queries_keys_values",
        "autograd_and_memory_layout",
        "learn_by_hand",
        "library_examples",
        "looking_inside",
        "pages",
        "promises",
        "training_and_inference_walkthrough",
        "transformer_math_to_code",
        "architecture/folder_layout_and_targets",
        "variants/mha/what_changed_vs_core",
        "variants/mha/sample_processing_walkthrough",
        "variants/modern/README",
        "variants/modern/rms_norm",
        "variants/modern/gated_mlp",
        "variants/modern/rotary_positions",
        "variants/modern/grouped_queries",
        "variants/modern/sliding_window",
        "variants/modern/qk_norm",
        "variants/modern/soft_cap",
        "variants/modern/llama",
        "variants/modern/measured",
    ] {
        assert!(site.page(&format!("docs/{page}.md")).is_some(), "{page}");
    }
    for page in ["README.md", "CONTRIBUTING.md", "SECURITY.md"] {
        assert!(site.page(page).is_some(), "{page}");
    }
}

#[test]
fn both_languages_say_the_same() {
    none(twins::problems(&site()));
}

#[test]
fn links_paths_and_names_exist() {
    none(names::problems(&site()));
}

#[test]
fn figures_are_shown_in_both_languages() {
    let site = site();
    none(figures::problems(&site, &figures::read(&site)));
}

#[test]
fn the_book_has_every_page_once() {
    none(contents::problems(&site(), &std::fs::read_to_string(contents::path()).unwrap()));
}

#[test]
fn answers_name_a_program_and_its_lines() {
    for answer in workspace_tests::answers::all_answers() {
        let known = ["train-gpt", "train-gpt-mha"].contains(&answer.program.as_str());
        assert!(known && !answer.words.is_empty() && !answer.lines.is_empty(), "{answer:?}");
    }
}

#[test]
fn every_promise_has_a_place() {
    none(checklist::problems(&site()));
}

#[test]
fn one_word_for_one_thing_in_chinese() {
    none(words::problems(&site()));
}

#[test]
fn commands_exist() {
    none(commands::problems(&site()));
}

#[test]
fn tables_of_crates_and_trees_of_folders_are_right() {
    none(manifests::problems(&site()));
}

#[test]
fn files_with_unsafe_code_are_named() {
    none(security::problems(&site()));
}

#[test]
fn the_order_of_modules_and_the_features_are_right() {
    none(crates::problems(&site()));
}

#[test]
fn code_in_the_pages_is_code_that_runs() {
    none(manifests::code_problems(&site()));
}

#[test]
fn examples_print_what_the_pages_show() {
    none(lessons::problems(&site(), &lessons::outputs()));
}

#[test]
fn numbers_are_those_the_code_computes() {
    none(numbers::problems(&site(), &values::all()));
}
