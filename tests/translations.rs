//! Whatever a program may say has its Chinese: the sentences of the sources are held against the
//! catalogue of the command line, `crates/llm-cli/src/messages/zh` with that of the libraries,
//! `crates/llm-messages/src/zh`. Those that are messages are held by their templates, in `templates.rs`.

use crate::literals::{found_in, has_han, sources};
use crate::templates::{self, templates, without_specs};
use std::collections::BTreeSet;

/// Crates whose sentences reach a person at the terminal.
const CRATES: [&str; 7] = [
    "llm-cli",
    "llm-core",
    "llm-formats",
    "llm-lens",
    "llm-run",
    "llm-variant-mha",
    "llm-variant-modern",
];

/// Files whose sentences do not, and why.
const SILENT: [(&str, &str); 24] = [
    ("settings/effective.rs", "a file of settings"),
    ("messages/", "both languages stand there side by side"),
    ("config/sheet.rs", "a file of settings"),
    ("config/went_on.rs", "the same"),
    ("compare/plot.rs", "a picture"),
    ("ops/", "shapes, which a program has right"),
    ("kernels/", "the same"),
    ("tensor.rs", "the same"),
    ("buffer.rs", "the same"),
    ("autograd.rs", "the same"),
    ("profile.rs", "the same"),
    ("attention_weights.rs", "the same"),
    ("model/block.rs", "the same"),
    ("model/tiny_gpt.rs", "documentation inside a macro, and shapes"),
    ("model/forward.rs", "the same"),
    ("model/decode.rs", "the same"),
    ("generate/", "the same; what is said about flags is checked where they are"),
    ("data/windows.rs", "the same"),
    ("data/dataset.rs", "the same"),
    ("trace/loops.rs", "the same"),
    ("trace/follow.rs", "the same"),
    ("settings/model.rs", "what rows of settings are about, for programmers"),
    ("settings/run.rs", "the same"),
    ("fuzzing.rs", "no program has it"),
];

/// Texts that nobody reads at a terminal, or that are parts of others.
const NO_SENTENCES: [(&str, &str); 38] = [
    ("The cat sat on the mat", "read by a model"),
    ("a comparison without data", "a fault of the program, for who mends it"),
    ("a comparison without validation data", "the same"),
    ("a choice without tokenizer", "the same"),
    ("a file without tokenizer", "the same"),
    ("a run without data", "the same"),
    ("files that are stories", "the same"),
    ("flags without a choice", "the same"),
    ("no such workload", "the same"),
    ("no unseen stories", "the same"),
    ("text for numbers", "the same"),
    ("feeding a checksum cannot fail", "the same"),
    ("the place is inside the fixed part", "the same"),
    ("only whether it can be read matters", "the same"),
    ("a similar argument exists", "how clap begins a line, which is there as a whole"),
    ("is not in", "the same"),
    ("For more information", "a line of clap's that is not shown"),
    ("go on reading", "a verb; the sentence is there with it"),
    ("cut off", "a state of runs, in both languages elsewhere"),
    ("the tokenizer's", "why a setting has no flag, for who changes the table"),
    ("the same, core's, whatever a run starts from", "the same"),
    ("7 7: the settings of a run", "above a file of settings"),
    ("that of a model from elsewhere; a new one has core's", "the same"),
    ("Attention of layer 7", "in a picture"),
    ("<!-- A page of train-gpt. -->", "how a page begins"),
    ("texts end, and no token says so", "a fault of the program, for who mends it"),
    ("gradient of input 7 is 7, differences of the value say 7", "a check for programmers"),
    ("Checks after training", "a heading, there with its colon"),
    ("(os error", "how the system ends a reason"),
    ("7 [default: 7 for the stories, 7 for --data]", "a text of the help, there in its parts"),
    ("qkv of shape [B, T, 3C], none of them 0", "a shape, which a program has right"),
    ("a mask of 7 heads", "the same"),
    ("qkv of shape [B, T, (H+2G)·D]", "the same"),
    ("qkv of shape [B, T, 7], none of them 0", "the same"),
    ("{'descr': '7', 'fortran_order': False, 'shape': (7), }", "in a file of NumPy's"),
    ("Max address space", "a file of the system"),
    ("model name", "the same"),
    ("SQLite format 3\0", "how a file begins"),
];

/// The lines of a text as a program fills them in, with a number in each place.
fn lines(text: &str) -> Vec<String> {
    let mut filled = String::new();
    let mut inside = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' | '}' if chars.peek() == Some(&c) => filled.extend(chars.next()),
            // A brace that is one, in quotes.
            '{' if chars.peek() == Some(&'\'') => filled.push(c),
            '{' => inside = true,
            '}' if inside => (inside, filled) = (false, filled + "7"),
            _ if inside => {}
            _ => filled.push(c),
        }
    }
    filled.lines().map(String::from).collect()
}

/// Two words beside each other, or a word beside a place, and two words at least.
fn is_sentence(line: &str) -> bool {
    let is_word = |word: &&str| {
        let word = word.trim_matches([',', ':', ';', '(', ')', '\'', '.']);
        word.len() > 1 && word.chars().all(|c| c.is_ascii_alphabetic() || c == '\'')
    };
    let begins = |next: &str| {
        let next = next.trim_start_matches('(');
        next.starts_with(|c: char| c.is_ascii_lowercase() || c == '7')
    };
    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    let long = words.iter().copied().filter(|word| word.len() > 2 && is_word(word)).count();
    long > 1 && words.windows(2).any(|pair| is_word(&pair[0]) && begins(pair[1]))
}

/// The line itself, the end of another one, without its default, or what it says behind two spaces,
/// as in the list of examples.
fn is_known(line: &str, in_chinese: impl Fn(&str) -> Option<String>) -> bool {
    let (text, end) = (line.trim(), format!("7{line}"));
    // One place stands for what a token is.
    let (unit, units) = (text.replace("per 7", "per byte"), text.replace("7 7s", "7 bytes"));
    let one = text.replace("one 7", "one byte");
    let alone = text.trim_start_matches([';', ',', ':']).trim();
    let without_default = text.split(" [default:").next().unwrap_or_default();
    let behind = text.rsplit("  ").next().unwrap_or_default();
    [text, &end, alone, without_default, behind, &unit, &units, &one]
        .iter()
        .filter_map(|part| in_chinese(part))
        .any(|said| has_han(&said))
}

fn is_none(line: &str) -> bool {
    line.contains("eta 7") || NO_SENTENCES.iter().any(|(text, _)| *text == line.trim())
}

#[test]
fn every_sentence_of_the_sources_has_its_chinese() {
    let mut missing = Vec::new();
    let messages: BTreeSet<String> = templates::CRATES.into_iter().flat_map(templates).collect();
    for krate in CRATES {
        missing.extend(found_in(krate, |file, text| {
            let place = format!("{krate}/{file}");
            let silent = SILENT.iter().any(|(part, _)| place.contains(part))
                || messages.contains(&without_specs(text));
            let lost = |line: &String| {
                is_sentence(line) && !is_known(line, llm_cli::in_chinese) && !is_none(line)
            };
            !silent && lines(text).iter().any(lost)
        }));
    }
    assert!(missing.is_empty(), "{} without Chinese:\n{}", missing.len(), missing.join("\n"));
}

/// A sentence of the page's core is a message, whose translation `templates.rs` looks for.
#[test]
fn every_sentence_of_the_pages_core_is_a_message() {
    let messages = templates("llm-web");
    let said = |text: &str| lines(text).iter().any(|line| is_sentence(line));
    let lost = |text: &str| said(text) && !messages.contains(&without_specs(text));
    let found = found_in("llm-web", |_, text| lost(text));
    assert!(found.is_empty(), "{} are no messages:\n{}", found.len(), found.join("\n"));
}

/// The sources with texts and comments of several lines in one.
fn in_one_line(source: &str) -> String {
    let lines = source.lines().map(|line| line.trim().trim_start_matches("///").trim_start());
    let line = |line: &str| match line.strip_suffix('\\') {
        Some(rest) => rest.to_string(),
        None => format!("{line} "),
    };
    lines.map(line).collect()
}

/// Options by their names as flags: `{val_frac}` as `--val-frac`.
fn with_flags(text: &str) -> String {
    let mut parts = text.split('{');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |all, part| match part.split_once('}') {
        Some((name, rest)) if name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') => {
            format!("{all}--{}{rest}", name.replace('_', "-"))
        }
        _ => format!("{all}{{{part}"),
    })
}

#[test]
fn no_chinese_is_left_over() {
    let programs = ["train-gpt", "train-gpt-mha", "train-gpt-modern"];
    let main = |krate: &str| {
        let file = workspace_tests::workspace().join("crates").join(krate).join("src/main.rs");
        std::fs::read_to_string(file).unwrap()
    };
    let mut said: String = programs.map(main).map(|source| in_one_line(&source)).concat();
    for (_, source) in CRATES.into_iter().flat_map(sources) {
        said.push_str(&in_one_line(&source));
    }
    for (_, source) in ["llm-run", "llm-messages"].into_iter().flat_map(sources) {
        said.push_str(&with_flags(&in_one_line(&source)));
    }
    let said = said.replace("\\\"", "\"").replace("\\\\", "\\");
    let said = said.replace("{{", "{").replace("}}", "}");
    let foreign = include_str!("../crates/llm-cli/src/messages/zh/foreign.toml");
    let is_there = |sentence: &&str| {
        let longest = sentence.split("{}").max_by_key(|piece| piece.len()).unwrap_or_default();
        let quoted = [format!("\"{sentence}\""), format!("'{sentence}'")];
        said.contains(longest.trim().trim_end_matches(':'))
            || quoted.iter().any(|quoted| foreign.contains(quoted))
    };
    let left: BTreeSet<&str> = llm_cli::sentences().filter(|s| !is_there(s)).collect();
    assert!(left.is_empty(), "{} that nobody says:\n{left:#?}", left.len());
}

#[test]
fn sentences_are_known_from_other_texts() {
    for text in ["give more text", "cannot read 'x': {why}", "; try fewer", "no run (no ckpt/last)"]
    {
        assert!(lines(text).iter().any(|line| is_sentence(line)), "{text}");
    }
    for text in ["compare.json", "L C H T", "{spinner} [{bar}]", "GPT-2 124M"] {
        assert!(!lines(text).iter().any(|line| is_sentence(line)), "{text}");
    }
    assert_eq!(lines("a {{b}} {c:>7.1}\nd"), ["a {b} 7", "d"]);
}
