//! Whatever a program may say has its Chinese, by its template: the sentences of the sources are held
//! against the files of `crates/llm-cli/src/messages/zh` and `crates/llm-messages/src/zh`. And the Chinese
//! has the same places, flags, numbers and columns as the English.

use crate::literals::{BOTH, found_in, has_han, sources};
use crate::templates::{self, all_templates, templates, without_specs};
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
const SILENT: [(&str, &str); 27] = [
    ("gguf/modelfile.rs", "a file for Ollama"),
    ("gguf/ollama.rs", "the same"),
    ("settings/effective.rs", "a file of settings"),
    ("messages/", "both languages stand there side by side"),
    ("config/sheet.rs", "a file of settings"),
    ("config/went_on.rs", "the same"),
    ("ops/", "shapes, which a program has right"),
    ("kernels/", "the same"),
    ("tensor.rs", "the same"),
    ("buffer.rs", "the same"),
    ("autograd.rs", "the same"),
    ("profile.rs", "the same"),
    ("attention_weights.rs", "the same"),
    ("model/contract.rs", "for the tests of those who write an attention"),
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
    ("exported/whatsapp.rs", "words of an app, which are recognised and not said"),
];

/// Texts that are not read at a terminal, or that are parts of others.
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

fn is_none(text: &str) -> bool {
    lines(text)
        .iter()
        .all(|line| !is_sentence(line) || NO_SENTENCES.iter().any(|(text, _)| *text == line.trim()))
}

/// The English of what is found as it is: templates, and the patterns of the command line.
fn english() -> BTreeSet<String> {
    let files = ["cli.json", "help.json", "foreign.json"]
        .map(|name| format!("llm-cli/src/messages/zh/{name}"));
    let libraries =
        ["libraries.json", "run.json"].map(|name| format!("llm-messages/src/zh/{name}"));
    let files = files.iter().chain(&libraries);
    files.flat_map(|file| templates::pairs_of(file)).map(|(en, _)| en).collect()
}

#[test]
fn every_sentence_of_the_sources_has_its_chinese() {
    let (known, mut missing) = (english(), Vec::new());
    // Help is found by its lines, without the default.
    let help = |text: &str| {
        text.lines().all(|line| {
            let line = line.split(" [default:").next().unwrap_or_default();
            let behind = line.rsplit("  ").next().unwrap_or_default();
            !is_sentence(line) || [line, behind].iter().any(|part| known.contains(part.trim()))
        })
    };
    for krate in CRATES {
        missing.extend(found_in(krate, |file, text| {
            let place = format!("{krate}/{file}");
            let silent = SILENT.iter().any(|(part, _)| place.contains(part)) || text.contains(BOTH);
            let key = without_specs(text);
            let found = known.contains(&key) || known.contains(&with(&key, "{}"));
            !silent && !found && !help(text) && !is_none(text)
        }));
    }
    let said = templates("llm-cli")
        .into_iter()
        .filter(|key| !known.contains(key) && key.chars().any(char::is_alphabetic));
    missing.extend(said.map(|key| format!("template {key:?}")));
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

#[test]
fn no_chinese_is_left_over() {
    let programs = ["train-gpt", "train-gpt-mha", "train-gpt-modern"];
    let mut said: BTreeSet<String> = templates("llm-cli");
    let mut source = String::new();
    for krate in programs.into_iter().chain(["llm-cli", "llm-core", "llm-lens", "llm-run"]) {
        sources(krate).for_each(|(_, text)| source.push_str(&in_one_line(&text)));
        found_in(krate, |_, text| {
            said.insert(without_specs(text));
            false
        });
    }
    let mut left: Vec<String> = templates::pairs_of("llm-cli/src/messages/zh/cli.json")
        .into_iter()
        .filter_map(|(en, _)| (!said.contains(&en)).then_some(en))
        .collect();
    // Help is put together by clap, and stands in comments too.
    let help =
        templates::pairs_of("llm-cli/src/messages/zh/help.json").into_iter().map(|(en, _)| en);
    let source = source.replace("\\\"", "\"");
    left.extend(help.filter(|en| {
        let longest = en.split("{}").max_by_key(|piece| piece.len()).unwrap_or_default();
        !source.contains(longest.trim().trim_end_matches(':'))
    }));
    assert!(left.is_empty(), "{} that nobody says:\n{left:#?}", left.len());
}

/// The sources with texts and comments of several lines in one.
fn in_one_line(source: &str) -> String {
    let line =
        |line: &str| line.trim().trim_start_matches("/// ").trim_end_matches('\\').to_string();
    source.lines().map(|text| line(text) + " ").collect::<String>().replace("  ", " ")
}

/// Flags and numbers of a text, in order of their letters.
fn facts(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let words = text.split(|c| !is_part(c)).map(|word| word.trim_matches(['.', '_']));
    let fact = |word: &str| match word.starts_with(|c: char| c.is_ascii_digit()) {
        true => Some(word.split(|c: char| c.is_ascii_alphabetic()).next()?.into()),
        false => (word.starts_with("--") && word.len() > 2).then(|| word.to_string()),
    };
    let mut facts: Vec<String> = words.filter_map(fact).collect();
    facts.sort();
    facts
}

/// A text with this in its places.
fn with(text: &str, place: &str) -> String {
    let parts = text.split('{').enumerate();
    let part = |(i, part): (usize, &str)| match part.split_once('}') {
        Some((_, after)) if i > 0 => format!("{place}{after}"),
        _ => part.to_string(),
    };
    parts.map(part).collect()
}

#[test]
fn both_languages_have_the_same_flags_and_numbers() {
    let all = all_templates();
    assert!(all.len() > 900, "{}", all.len());
    let help = help_in_both();
    assert!(help.len() > 150, "{}", help.len());
    for (en, zh) in all.into_iter().chain(help) {
        assert_eq!(facts(&with(&en, " ")), facts(&with(&zh, " ")), "{en:?}: {zh:?}");
    }
}

/// The texts of the help whose Chinese stands beside them: comments of several lines, and texts.
fn help_in_both() -> Vec<(String, String)> {
    let mut texts = BTreeSet::new();
    for (_, source) in sources("llm-cli") {
        let mut comment = String::new();
        for line in source.lines().map(str::trim) {
            match line.strip_prefix("/// ") {
                Some(text) => comment += &format!(" {text}"),
                None => _ = texts.insert(std::mem::take(&mut comment)),
            }
        }
    }
    found_in("llm-cli", |_, text| {
        texts.insert(text.into());
        false
    });
    let pair = |text: &String| {
        let (en, zh) = text.split_once(BOTH)?;
        has_han(zh).then(|| (en.into(), zh.into()))
    };
    texts.iter().filter_map(pair).collect()
}

/// Columns of a terminal.
fn width(text: &str) -> usize {
    text.chars().map(|c| if c as u32 >= 0x2E80 && c as u32 != 0x2026 { 2 } else { 1 }).sum()
}

/// Begin and end of what stands between two spaces or more.
fn cells(line: &str) -> Vec<(usize, usize)> {
    let (mut cells, mut at) = (Vec::new(), 0);
    for cell in line.split("  ") {
        let begin = at + width(cell) - width(cell.trim_start());
        if !cell.trim().is_empty() {
            cells.push((begin, at + width(cell.trim_end())));
        }
        at += width(cell) + 2;
    }
    cells
}

#[test]
fn columns_stand_where_they_stand_in_english() {
    for (en, zh) in all_templates() {
        for (en, zh) in en.lines().zip(zh.lines()) {
            let (en, zh) = (en.trim_start(), zh.trim_start());
            // What comes behind a place may be anywhere.
            let fixed = |text: &str| text.split('{').next().unwrap_or_default().to_string();
            let (ours, theirs) = (cells(&fixed(zh)), cells(&fixed(en)));
            let numbers = [zh, en].map(|text| cells(&with(text, "7")).len());
            assert!(!en.contains("  ") || numbers[0] == numbers[1], "{en:?}: {zh:?}");
            for ((begin, end), (left, right)) in ours.into_iter().zip(theirs) {
                let is_last = right == width(fixed(en).trim_end());
                assert!(begin == left || end == right || is_last, "{en:?}: {zh:?}");
            }
        }
    }
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
