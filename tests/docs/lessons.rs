//! The library's examples run, and print what the pages show.
//!
//! `<!-- prints: name -->` before a block: it is what the example of that name prints, line by line;
//! in the page `…` stands for any text that may differ between processors.

use super::pages::{Kind, Line, Page, Site};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

/// What an example prints on this thread goes here: in the modules below, the macro is this one.
macro_rules! println {
    ($($part:tt)*) => {
        crate::docs::lessons::say(format!($($part)*))
    };
}

#[path = "../../crates/llm-core/examples/a_run_that_goes_on.rs"]
mod a_run_that_goes_on;
#[path = "../../crates/llm-gpu/examples/a_step_as_a_list.rs"]
mod a_step_as_a_list;
#[path = "../../crates/llm-courses/examples/attention_modules.rs"]
mod attention_modules;
#[path = "../../crates/llm-core/examples/autograd.rs"]
mod autograd;
#[path = "../../crates/llm-lens/examples/cut_heads.rs"]
mod cut_heads;
#[path = "../../crates/llm-stories/examples/facts.rs"]
mod facts;
#[path = "../../crates/llm-core/examples/grouped_queries/main.rs"]
pub mod grouped_queries;
#[path = "../../crates/llm-lens/examples/head_roles.rs"]
mod head_roles;
#[path = "../../crates/llm-courses/examples/heads_and_mixing.rs"]
mod heads_and_mixing;
#[path = "../../crates/llm-formats/examples/import_gpt2.rs"]
mod import_gpt2;
#[cfg(feature = "bpe")]
#[path = "../../crates/llm-formats/examples/learn_bpe.rs"]
mod learn_bpe;
#[path = "../../crates/llm-run/examples/log_a_run.rs"]
mod log_a_run;
#[path = "../../crates/llm-core/examples/one_head_by_hand.rs"]
mod one_head_by_hand;
#[path = "../../crates/llm-core/examples/own_attention.rs"]
pub mod own_attention;
#[path = "../../crates/llm-core/examples/own_op.rs"]
mod own_op;
#[path = "../../crates/llm-lens/examples/score_loop.rs"]
mod score_loop;
#[path = "../../crates/llm-core/examples/tensors.rs"]
mod tensors;
#[path = "../../crates/llm-core/examples/text_in_text_out.rs"]
mod text_in_text_out;
#[path = "../../crates/llm-core/examples/train_a_tiny_model.rs"]
mod train_a_tiny_model;
#[path = "../../crates/llm-variant-mha/examples/two_heads_by_hand.rs"]
mod two_heads_by_hand;
#[path = "../../crates/llm-core/examples/two_trainers.rs"]
mod two_trainers;

/// Name and main function of an example.
type Lesson = (&'static str, fn() -> Result<(), Box<dyn Error>>);

const LESSONS: &[Lesson] = &[
    ("tensors", || Ok(tensors::main()?)),
    ("autograd", || Ok(autograd::main()?)),
    ("one_head_by_hand", || Ok(one_head_by_hand::main()?)),
    ("own_op", || Ok(own_op::main()?)),
    ("own_attention", || Ok(own_attention::main()?)),
    ("grouped_queries", || Ok(grouped_queries::main()?)),
    ("train_a_tiny_model", || Ok(train_a_tiny_model::main()?)),
    ("a_run_that_goes_on", || Ok(a_run_that_goes_on::main()?)),
    ("a_step_as_a_list", a_step_as_a_list::main),
    ("two_trainers", || Ok(two_trainers::main()?)),
    ("text_in_text_out", || Ok(text_in_text_out::main()?)),
    ("two_heads_by_hand", || Ok(two_heads_by_hand::main()?)),
    ("attention_modules", || Ok(attention_modules::main()?)),
    ("heads_and_mixing", || Ok(heads_and_mixing::main()?)),
    ("facts", || Ok(facts::main()?)),
    ("import_gpt2", import_gpt2::main),
    #[cfg(feature = "bpe")]
    ("learn_bpe", || Ok(learn_bpe::main()?)),
    ("score_loop", || Ok(score_loop::main()?)),
    ("head_roles", head_roles::main),
    ("cut_heads", || Ok(cut_heads::main()?)),
    ("log_a_run", log_a_run::main),
];

/// Lessons that a build without BPE does not have.
const NOT_BUILT: &[&str] = if cfg!(feature = "bpe") { &[] } else { &["learn_bpe"] };

thread_local! {
    static SAID: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

pub fn say(line: String) {
    SAID.with_borrow_mut(|said| said.push(line));
}

pub type Outputs = BTreeMap<&'static str, Vec<String>>;

/// Runs every example, each on a thread of its own.
pub fn outputs() -> Outputs {
    std::thread::scope(|scope| {
        let threads: Vec<_> = LESSONS
            .iter()
            .map(|&(name, main)| {
                let run = move || {
                    main().unwrap_or_else(|e| panic!("{name}: {e}"));
                    SAID.take()
                };
                (name, scope.spawn(run))
            })
            .collect();
        threads.into_iter().map(|(name, thread)| (name, thread.join().expect(name))).collect()
    })
}

pub fn problems(site: &Site, outputs: &Outputs) -> Vec<String> {
    let mut found = Vec::new();
    let mut shown = BTreeSet::new();
    for page in &site.pages {
        for (i, mark) in page.lines.iter().enumerate() {
            let Some(name) = mark.mark("prints").filter(|name| !NOT_BUILT.contains(name)) else {
                continue;
            };
            shown.insert(name);
            let output = outputs.get(name).map_or(&[][..], Vec::as_slice);
            found.extend(difference(page, mark, page.block_after(i), output));
        }
    }
    let hidden = outputs.keys().filter(|name| !shown.contains(**name));
    found.extend(hidden.map(|name| format!("no page shows what {name} prints")));
    found
}

fn difference(page: &Page, mark: &Line, block: &[Line], output: &[String]) -> Option<String> {
    let body: Vec<&Line> = block
        .iter()
        .filter(|l| matches!(l.kind, Kind::Code(_)) && !l.text.starts_with("```"))
        .collect();
    if body.len() != output.len() {
        let lines = (body.len(), output.len());
        return Some(
            page.at(mark, format!("{} lines where the example prints {}", lines.0, lines.1)),
        );
    }
    let (line, printed) = body.iter().zip(output).find(|(l, printed)| !fits(&l.text, printed))?;
    Some(page.at(line, format!("the example prints {printed:?}")))
}

/// Whether a text is the pattern, with anything for each `…`.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('…') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().map(|(i, _)| i).chain([rest.len()]).any(|i| fits(after, &rest[i..]))
        }),
    }
}
