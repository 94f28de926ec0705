//! Files of checkpoint format 1, and what the programs that wrote them made of them afterwards
//! (`fixtures/format1`): a later program measures, writes and trains on to the same numbers.

use crate::cli_support::{Outcome, Sandbox};
use serde_json::Value;
use std::path::PathBuf;

/// Kernels whose numbers were recorded: both give the same bits.
const KERNELS: [&str; 2] = ["avx2", "avx512"];
/// Others add in another order, ...
const NEARLY: f64 = 1e-4;
/// ... and micro-batches are not added in the order of the program that wrote this file.
const ANOTHER_ORDER: &str = "accumulation";

/// A command and the events it printed, without what the clock decides.
struct Run {
    words: Vec<String>,
    events: Vec<Value>,
}

/// `program`, called `name`, comes to the recorded numbers with every file that `name` wrote, and
/// if `all` with those of the other program too. Without `bpe` that tokenizer's file is left out.
///
/// # Panics
/// Naming the command and the number that differs.
pub fn same_numbers(program: &'static str, name: &str, all: bool, bpe: bool) {
    let sandbox = Sandbox::new(program);
    for text in ["text.txt", "other.txt"] {
        sandbox.write(text, &std::fs::read(folder().join(text)).unwrap());
    }
    let recorded = std::fs::read(folder().join("expected.json")).unwrap();
    let files: Vec<Value> = serde_json::from_slice(&recorded).unwrap();
    for file in files.iter().filter(|f| all || f["program"] == name) {
        let name = string(&file["file"]);
        if name != "bpe" || bpe {
            holds(&sandbox, &name, &list(&file["runs"], run));
        }
    }
}

/// This file is of format 1, and its commands print what they did.
fn holds(sandbox: &Sandbox, name: &str, runs: &[Run]) {
    let file = format!("{name}.ckpt");
    let bytes = std::fs::read(folder().join(&file)).unwrap();
    assert_eq!(bytes[8..12], 1u32.to_le_bytes(), "{file} is a file of format 1");
    sandbox.write(&file, &bytes);
    let outcomes: Vec<Outcome> = runs.iter().map(|run| sandbox.ok(&run.words)).collect();
    // The last one trains, and says with which kernels.
    let training = outcomes.last().unwrap();
    training.says(&["the file is of format 1"]);
    let start = &training.events_of("start")[0];
    let recorded = KERNELS.iter().any(|kernels| start["kernels"] == *kernels);
    for (run, outcome) in runs.iter().zip(&outcomes) {
        let trains = run.events.iter().any(|e| e["event"] == "step");
        let exactly = recorded && !(trains && name == ANOTHER_ORDER);
        run.compare(outcome, if exactly { 0.0 } else { NEARLY });
    }
}

impl Run {
    /// The events of the recorded kinds are those recorded, in everything that is recorded of
    /// them; numbers to `tolerance`, and at 0 to the bit.
    fn compare(&self, outcome: &Outcome, tolerance: f64) {
        let kind = |event: &Value| self.events.iter().any(|e| e["event"] == event["event"]);
        let printed: Vec<Value> = outcome.events().into_iter().filter(kind).collect();
        assert_eq!(printed.len(), self.events.len(), "events\n{outcome}");
        for (event, got) in self.events.iter().zip(&printed) {
            for (key, want) in event.as_object().unwrap() {
                let got = &got[key];
                assert!(close(got, want, tolerance), "{key}: {got} instead of {want}\n{outcome}");
            }
        }
    }
}

/// Equal, but for numbers with a fraction, alone or in a list, that are as near as this.
fn close(got: &Value, want: &Value, tolerance: f64) -> bool {
    match (got, want) {
        (Value::Number(a), Value::Number(b)) if b.is_f64() => {
            (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() <= tolerance
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b, tolerance))
        }
        _ => got == want,
    }
}

fn folder() -> PathBuf {
    crate::workspace().join("tests/fixtures/format1")
}

fn run(recorded: &Value) -> Run {
    Run { words: list(&recorded["words"], string), events: list(&recorded["events"], Value::clone) }
}

fn list<T>(value: &Value, item: impl Fn(&Value) -> T) -> Vec<T> {
    value.as_array().unwrap().iter().map(item).collect()
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_string()
}
