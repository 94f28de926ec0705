//! Every command of the README and of the pages, typed from top to bottom: each page in a folder of
//! its own that holds what the repository holds, and `runs/001` from the README's first command.
//! Models are made smaller and runs shorter; nothing else is changed.

use crate::sandbox;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a page needs that is not made on it, or what takes long: not typed here.
const ELSEWHERE: [(&str, &str); 14] = [
    ("bench", "measures, for a long time"),
    ("serve --load", "answers until a signal comes, see crates/train-gpt/tests/cli/serving.rs"),
    ("--device list", "needs the feature gpu; its words are read in crates/llm-run/src/device.rs"),
    ("--device gpu", "needs a GPU, see crates/llm-gpu/tests/gpu/runs.rs"),
    ("import hf continued", "made by a program in Python, see tests/hf/roundtrip.py"),
    ("--load continued.ckpt", "made by a program in Python, see tests/hf/roundtrip.py"),
    ("--dataset=", "made by nanoGPT, see crates/train-gpt-mha/tests/cli/nano_gpt.rs"),
    ("import hf from-nano", "made by a program in Python, see tests/nano_gpt/checkpoint.py"),
    ("--load from-nano.ckpt", "made by a program in Python, see tests/nano_gpt/checkpoint.py"),
    ("eval --load from-the-tab.ckpt", "made in the browser, see tests/browser/web.mjs"),
    ("--load from-the-tab.ckpt", "made in the browser, see tests/browser/web.mjs"),
    ("smollm2", "a model from elsewhere, see tests/gguf/smollm2.py"),
    ("--load tuned.ckpt", "made of that model, see tests/gguf/smollm2.py"),
    (
        "import llm-cpp prefix",
        "made by the C++ original, see crates/llm-formats/src/llm_cpp/tests.rs",
    ),
];

/// What readers of a page bring, by its name, and whence it is here.
const BROUGHT: [(&str, &str, Brought); 4] = [
    (
        "fine_tuning.md",
        "chats.jsonl",
        Brought::Text("{\"prompt\": \"1?\", \"completion\": \"2.\"}\n"),
    ),
    ("rewards.md", "sums.jsonl", Brought::Text("{\"prompt\": \"1+1=\", \"completion\": \"2\"}\n")),
    ("rewards.md", "unseen.jsonl", Brought::Text("{\"prompt\": \"1+1=\", \"answer\": \"2\"}\n")),
    ("your_chats.md", "result.json", Brought::Fixture("tests/fixtures/chats/telegram_result.json")),
];

enum Brought {
    /// The same line ten times.
    Text(&'static str),
    Fixture(&'static str),
}

/// Flags of a small model, where the page does not say otherwise.
const SMALL: [(&str, &str); 6] = [
    ("--dmodel", "16"),
    ("--layers", "2"),
    ("--seq", "64"),
    ("--batch", "2"),
    ("--steps", "1"),
    ("--gen", "5"),
];

/// What a ladder has of its own.
const SIZES: [&str; 2] = ["--dmodel", "--layers"];

/// Flags of verbs that measure for a short time, where the page does not say otherwise.
const SHORT: [(&str, &str, &str); 3] = [
    ("compare", "--seeds", "2"),
    ("inspect heads", "--tokens", "2048"),
    ("inspect prune", "--tokens", "2048"),
];

/// nanoGPT's words for some of them.
const NANO_GPT: [(&str, &str); 5] = [
    ("--n_embd=", "--dmodel"),
    ("--n_layer=", "--layers"),
    ("--block_size=", "--seq"),
    ("--batch_size=", "--batch"),
    ("--max_iters=", "--steps"),
];

/// What stands behind a command that is meant to fail.
const REFUSED: &str = "# refused";

/// The programs by name: the others lie beside ours, or are built there.
fn program(name: &str) -> PathBuf {
    let ours = PathBuf::from(env!("CARGO_BIN_EXE_train-gpt-mha"));
    let path = ours.with_file_name(name);
    if !path.exists() {
        let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "-p", name, "--profile", profile]);
        assert!(cargo.status().unwrap().success(), "{name} cannot be built");
    }
    path
}

/// A command of a page as it is typed here; `None` for another program's.
fn typed(line: &str) -> Option<String> {
    let line = line.split(" #").next().unwrap_or_default().trim();
    if line.starts_with("cat ") || line.starts_with("echo ") {
        return Some(line.to_string());
    }
    let rest = line.strip_prefix("cargo run --release -p ").or(line.strip_prefix("cargo run -p "));
    let rest = rest.or(line.strip_prefix("target/release/"))?;
    let (name, words) = rest.split_once(' ').unwrap_or((rest, ""));
    if !["train-gpt", "train-gpt-mha", "train-gpt-modern"].contains(&name) {
        return None;
    }
    let words = words.trim().strip_prefix("--").filter(|w| w.starts_with([' '])).unwrap_or(words);
    let program = program(name);
    Some(format!("'{}' {}", program.display(), smaller(words.trim())))
}

/// A word, or the two that nanoGPT's is here.
fn in_our_words(word: &str) -> Vec<String> {
    let ours = NANO_GPT
        .iter()
        .find_map(|(theirs, ours)| Some(vec![ours.to_string(), word.strip_prefix(theirs)?.into()]));
    ours.unwrap_or_else(|| vec![word.into()])
}

fn smaller(words: &str) -> String {
    // What goes into a file stays at the end.
    let (words, into) = words.split_once(" > ").map_or((words, None), |(w, i)| (w, Some(i)));
    let mut all: Vec<String> = words.split_whitespace().flat_map(in_our_words).collect();
    // One step, whatever the time: what it chooses is tried elsewhere.
    if let Some(at) = all.iter().position(|word| word == "--time") {
        all.drain(at..at + 2);
    }
    let trains = all.first().is_none_or(|word| word.starts_with('-') || word == "compare");
    let from_a_file = ["--load", "--config"].iter().any(|flag| all.iter().any(|w| w == flag));
    for (flag, value) in SMALL {
        match all.iter().position(|word| word == flag) {
            Some(at) if trains && flag == "--steps" => all[at + 1] = value.into(),
            // A size of a ladder has its own.
            None if all.iter().any(|w| w == "--ladder") && SIZES.contains(&flag) => {}
            None if trains
                && !from_a_file
                && !(flag == "--gen" && words.starts_with("compare")) =>
            {
                all.extend([flag.into(), value.into()]);
            }
            _ => {}
        }
    }
    for (verb, flag, value) in SHORT.iter().filter(|of| words.starts_with(of.0)) {
        match all.iter().position(|word| word == flag) {
            Some(at) if *verb == "compare" => all[at + 1] = value.to_string(),
            None => all.extend([flag.to_string(), value.to_string()]),
            _ => {}
        }
    }
    if let Some(file) = into {
        all.extend([">".into(), file.into()]);
    }
    all.join(" ")
}

/// Commands of the shell blocks of a page: a line, with the next where it ends in `\`, and with all up to
/// `END` where a file is written.
fn commands(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap().replace("\\\n", " ");
    let mut found: Vec<String> = Vec::new();
    let mut inside = false;
    for whole in text.lines() {
        let line = whole.trim();
        if let Some(command) = found.last_mut()
            && command.contains("<<'END'")
            && !command.ends_with("\nEND")
        {
            command.push_str(&format!("\n{whole}"));
            continue;
        }
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside {
            found.push(line.to_string());
        }
    }
    found
}

fn pages(root: &Path) -> Vec<PathBuf> {
    let mut open = vec![root.join("docs")];
    let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(".md") {
                found.push(path);
            }
        }
    }
    found.retain(|page| !page.to_string_lossy().ends_with(".zh-CN.md"));
    found.sort();
    found
}

fn shell(folder: &Path, command: &str) -> std::process::Output {
    Command::new("/bin/sh").args(["-c", command]).current_dir(folder).output().unwrap()
}

/// What became of the commands of a page.
#[derive(Default)]
struct Typed {
    commands: usize,
    problems: Vec<String>,
}

/// Types the commands of a page in a folder that holds the repository's pages and `runs`.
fn type_page(root: &Path, page: &Path, typed: &[(String, bool)], runs: &Path) -> Typed {
    let sandbox = sandbox();
    let folder = sandbox.path("");
    for name in ["docs", "README.md"] {
        std::os::unix::fs::symlink(root.join(name), sandbox.path(name)).unwrap();
    }
    if !page.ends_with("README.md") {
        let copied = shell(&folder, &format!("cp -R '{}' runs", runs.display()));
        assert!(copied.status.success(), "{copied:?}");
    }
    for (_, name, what) in BROUGHT.iter().filter(|(of, ..)| page.ends_with(of)) {
        match what {
            Brought::Text(line) => sandbox.write(name, line.repeat(10).as_bytes()),
            Brought::Fixture(path) => sandbox.write(name, &fs::read(root.join(path)).unwrap()),
        }
    }
    let mut problems = Vec::new();
    for (command, is_refused) in typed {
        let output = shell(&folder, command);
        if output.status.success() == *is_refused {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            let last = why.lines().last().unwrap_or_default();
            problems.push(format!("{}: {command}\n    {last}", page.display()));
        }
    }
    Typed { commands: typed.len(), problems }
}

#[test]
fn every_command_of_every_page_works_from_top_to_bottom() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let first = sandbox();
    let command = format!("'{}' {}", program("train-gpt-mha").display(), smaller(""));
    assert!(shell(&first.path(""), &command).status.success(), "{command}");
    let runs = first.path("runs");

    let mut missing: Vec<&str> = ELSEWHERE.iter().map(|(what, _)| *what).collect();
    let mut to_type = Vec::new();
    for page in pages(&root) {
        let all = commands(&page);
        let skipped = |line: &str| ELSEWHERE.iter().find(|(what, _)| line.contains(what));
        all.iter().filter_map(|line| skipped(line)).for_each(|(w, _)| missing.retain(|m| m != w));
        let typed: Vec<(String, bool)> = all
            .iter()
            .filter(|line| skipped(line).is_none())
            .filter_map(|line| Some((typed(line)?, line.ends_with(REFUSED))))
            .collect();
        if !typed.is_empty() {
            to_type.push((page, typed));
        }
    }
    // Those with most commands first, as many pages at once as there are processors.
    to_type.sort_by_key(|(_, typed)| std::cmp::Reverse(typed.len()));
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Typed::default()));
    let work = || {
        while let Some((page, typed)) = to_type.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Typed { commands, problems } = type_page(&root, page, typed, &runs);
            let mut done = done.lock().unwrap();
            done.commands += commands;
            done.problems.extend(problems);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));

    let Typed { commands, problems } = done.into_inner().unwrap();
    let failed = problems.len();
    assert!(problems.is_empty(), "{failed} of {commands} fail:\n{}", problems.join("\n"));
    assert!(commands > 40, "only {commands} commands are found");
    assert_eq!(missing, Vec::<&str>::new(), "named as done elsewhere, and on no page");
}
