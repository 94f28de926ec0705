//! The path that the pages name is the path that runs: the spans of a real training step, held
//! against the list in llm-core's `lib.rs` and the tables of the walkthrough.

use crate::docs::pages::{Kind, Page, Site};
use llm_core::profile::{self, Opened, Phase};
use llm_core::train::Trainer;
use llm_core::{Attention, Config, Recipe, TinyGPT, TokenDataset};
use llm_variant_mha::MultiHead;
use std::sync::Arc;
use workspace_tests::workspace;

/// The span that a function opens, by the function's name in the pages; `None` opens none.
const SPANS: [(&str, Option<&str>); 19] = [
    ("train_step", Some("train_step")),
    ("TinyGPT::loss", Some("loss")),
    ("embedding", Some("embedding")),
    ("Block::forward", Some("block")),
    ("layernorm_lastdim", Some("layernorm")),
    ("self_attention_1h", Some("self_attention_1h")),
    ("linear_lastdim", Some("linear")),
    ("causal_attention_1h", Some("attention")),
    ("attention", Some("attention")), // the module of the kernel that causal_attention_1h calls
    ("gelu", Some("gelu")),
    ("add", Some("add")),
    ("reshape", Some("reshape")),
    ("cross_entropy", Some("cross_entropy")),
    ("Tensor::backward_into", Some("backward")),
    ("grad_norm", Some("clip")),
    ("check_finite", None),
    ("Schedule::at", None),
    ("AdamW::step", Some("adamw")),
    ("check_weights", None),
];

/// Functions that the page names in its sentences, beside its tables.
const IN_SENTENCES: [&str; 2] = ["train_step", "Tensor::backward_into"];

/// # Panics
/// When nothing is known of that function.
fn span_of(function: &str) -> Option<&'static str> {
    let known = SPANS.iter().find(|(name, _)| *name == function);
    known.unwrap_or_else(|| panic!("{function:?} has no row in SPANS")).1
}

/// The spans of one step of a model with one block, in order.
fn step(attention: Arc<dyn Attention>, accum: u32) -> Vec<Opened> {
    let model = TinyGPT::with_attention(Config::new(256, 8, 8, 1), attention, 1).unwrap();
    let recipe = Recipe { accum, ..Recipe::new([2, 8], 1, 1e-3) };
    let data = TokenDataset::from_bytes(b"to be or not to be".repeat(4));
    let mut trainer = Trainer::new(model, recipe).unwrap();
    let (report, opened) = profile::sequence(|| trainer.step(&data));
    report.unwrap();
    opened
}

fn single_head(accum: u32) -> Vec<Opened> {
    step(Arc::new(llm_core::model::SingleHead), accum)
}

fn names(opened: &[Opened], phase: Phase) -> Vec<&'static str> {
    opened.iter().filter(|o| o.phase == phase).map(|o| o.name).collect()
}

/// The spans around others.
fn around(opened: &[Opened]) -> Vec<&'static str> {
    let pairs = opened.windows(2).filter(|pair| pair[1].depth > pair[0].depth);
    pairs.map(|pair| pair[0].name).collect()
}

/// What stands against the list of `lib.rs`: a function that is not called or called too early, a
/// function around others that the list leaves out.
fn against_the_list(list: &[String], opened: &[Opened]) -> Vec<String> {
    let forward = names(opened, Phase::Forward);
    let mut problems = Vec::new();
    let mut last = None;
    let mut listed = Vec::new();
    for function in list {
        let Some(span) = span_of(function) else {
            problems.push(format!("{function} opens no span"));
            continue;
        };
        listed.push(span);
        let place = forward.iter().position(|name| *name == span);
        match place {
            None => problems.push(format!("{function} is not called")),
            _ if place <= last => problems.push(format!("{function} is called earlier")),
            _ => last = place,
        }
    }
    for name in around(opened).into_iter().filter(|name| !listed.contains(name)) {
        problems.push(format!("{name} is not on the list"));
    }
    problems
}

/// The functions behind "To follow one step", as they are called outside of their modules.
fn list_of(docs: &str) -> Vec<String> {
    let lines = docs.lines().skip_while(|l| !l.starts_with("//! To follow one step"));
    let lines: Vec<&str> = lines.take_while(|l| *l != "//!").collect();
    let text = lines.join(" ");
    let links = text.split("[`").skip(1).filter_map(|link| link.split("`]").next());
    links.map(last_name).collect()
}

/// `name` of `a::b::name`, `Type::name` of `a::Type::name`.
fn last_name(path: &str) -> String {
    let parts: Vec<&str> = path.split("::").collect();
    let is_type = |part: &&str| part.starts_with(|c: char| c.is_uppercase());
    let start = parts.iter().position(is_type).unwrap_or(parts.len() - 1);
    parts[start..].join("::")
}

/// The functions that the sections 3 to 6 of the walkthrough name, in the page's order: in its
/// tables, or in its sentences.
fn named_in(page: &Page, kind: Kind) -> Vec<String> {
    let start = page.lines.iter().skip_while(|l| !l.text.starts_with("### 3."));
    let sections = start.take_while(|l| !l.text.starts_with("### 7."));
    let spans = sections.filter(|l| l.kind == kind).flat_map(|row| row.code_spans());
    spans.filter_map(|span| Some(last_name(span.split_once(".rs::")?.1))).collect()
}

/// What stands against the tables: they have to name every span of the step, and in its order.
fn against_the_tables(rows: &[String], opened: &[Opened]) -> Option<String> {
    let named: Vec<&str> = rows.iter().filter_map(|row| span_of(row)).collect();
    let mut seen = names(opened, Phase::Forward);
    seen.retain(|name| !IN_SENTENCES.iter().any(|function| span_of(function) == Some(*name)));
    (named != seen).then(|| format!("the tables name\n{named:?}\nand the step is\n{seen:?}"))
}

#[test]
fn the_list_in_the_library_is_what_a_step_calls() {
    let docs = std::fs::read_to_string(workspace().join("crates/llm-core/src/lib.rs")).unwrap();
    let list = list_of(&docs);
    assert!(list.len() > 5, "{list:?}");
    let problems = against_the_list(&list, &single_head(1));
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn the_tables_of_the_walkthrough_are_what_a_step_calls() {
    let site = Site::read(&workspace());
    for ending in ["md", "zh-CN.md"] {
        let path = format!("docs/training_and_inference_walkthrough.{ending}");
        let page = site.page(&path).unwrap();
        let sentences = named_in(page, Kind::Text);
        for function in IN_SENTENCES {
            assert!(sentences.iter().any(|name| name == function), "{path}: {function}");
        }
        let problem = against_the_tables(&named_in(page, Kind::Table), &single_head(1));
        assert_eq!(problem, None, "{path}");
    }
}

#[test]
fn the_way_back_is_the_way_to_the_loss_reversed() {
    let opened = single_head(1);
    let outer = around(&opened);
    let mut ops = names(&opened, Phase::Forward);
    ops.retain(|name| !outer.contains(name) && !["clip", "adamw"].contains(name));
    ops.reverse();
    assert_eq!(names(&opened, Phase::Backward), ops);
}

#[test]
fn several_micro_batches_go_the_same_way() {
    let (one, two) = (single_head(1), single_head(2));
    let part = |opened: &[Opened]| -> Vec<Opened> {
        let inner = opened.iter().skip_while(|o| o.name != "loss");
        inner.take_while(|o| o.name != "clip").copied().collect()
    };
    assert!(!part(&one).is_empty());
    assert_eq!(part(&two), [part(&one), part(&one)].concat());
    let ends = |opened: &[Opened]| [opened[0], opened[opened.len() - 1]].map(|o| o.name);
    assert_eq!([ends(&one), ends(&two)], [["train_step", "adamw"]; 2]);
}

#[test]
fn several_heads_go_the_same_way() {
    let renamed = step(Arc::new(MultiHead::new(2)), 1).into_iter().map(|o| match o.name {
        "self_attention_mha" => Opened { name: "self_attention_1h", ..o },
        _ => o,
    });
    assert_eq!(renamed.collect::<Vec<_>>(), single_head(1));
}

/// The step is seen in one look, and nothing in it says who works.
#[test]
fn the_step_is_short_and_names_no_process() {
    let source = std::fs::read_to_string(workspace().join("crates/llm-core/src/train/step.rs"));
    let source = source.unwrap();
    let step = &source[source.find("pub fn train_step(").unwrap()..];
    let step = &step[..step.find("\n}\n").unwrap() + 2];
    assert!(step.lines().count() <= 40, "{} lines", step.lines().count());
    for word in ["crew", "rank", "process", "divided", "shares", "Group"] {
        assert!(!step.contains(word), "{word}");
    }
}

/// A step of two functions, one op each, and a walk back.
fn invented() -> Vec<Opened> {
    let way = [("train_step", 0), ("loss", 1), ("add", 2), ("backward", 1), ("adamw", 1)];
    way.map(|(name, depth)| Opened { name, phase: Phase::Forward, depth }).to_vec()
}

#[test]
fn a_list_that_is_wrong_is_found() {
    let docs = "//! To follow one step: [`train::train_step`] → [`TinyGPT::loss`] →\n\
                //! [`ops::add`] → [`Tensor::backward_into`] → [`optim::AdamW::step`].\n//!\n//! [`x`]";
    let list = list_of(docs);
    let wanted = ["train_step", "TinyGPT::loss", "add", "Tensor::backward_into", "AdamW::step"];
    assert_eq!(list, wanted);
    let mut opened = invented();
    opened.insert(4, Opened { name: "add", phase: Phase::Backward, depth: 2 });
    let problems = |change: &dyn Fn(&mut Vec<String>)| {
        let mut list = list.clone();
        change(&mut list);
        against_the_list(&list, &opened)
    };
    assert!(problems(&|_| ()).is_empty());
    assert_eq!(problems(&|l| l.swap(2, 3)), ["add is called earlier"]);
    assert_eq!(problems(&|l| l.insert(2, "gelu".into())), ["gelu is not called"]);
    assert_eq!(problems(&|l| drop(l.remove(1))), ["loss is not on the list"]);
    assert_eq!(problems(&|l| l.push("check_finite".into())), ["check_finite opens no span"]);
}

#[test]
fn a_table_that_is_wrong_is_found() {
    let page = |rows: &[&str]| {
        let row = |r: &&str| format!("| what | `crates/a/src/b.rs::{r}` |\n");
        let table: String = rows.iter().map(row).collect();
        Page::new("p.md", &format!("### 3. F\n\n{table}\n### 7. K\n\n| `c.rs::gelu` |\n"))
    };
    let problem =
        |rows: &[&str]| against_the_tables(&named_in(&page(rows), Kind::Table), &invented());
    assert_eq!(problem(&["TinyGPT::loss", "add", "Schedule::at", "AdamW::step"]), None);
    for rows in [
        &["TinyGPT::loss", "AdamW::step"][..],
        &["TinyGPT::loss", "AdamW::step", "add"],
        &["TinyGPT::loss", "gelu", "add", "AdamW::step"],
    ] {
        assert!(problem(rows).is_some(), "{rows:?}");
    }
}
