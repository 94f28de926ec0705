//! Faults put into pages on purpose are found.

use super::pages::{Page, Site};
use super::{
    checklist, commands, contents, crates, figures, lessons, manifests, names, numbers, twins,
    words,
};
use std::collections::BTreeMap;

const ENGLISH: &str = "> [简体中文](page.zh-CN.md)\n\n# One\n\nThe root is `Cargo.toml`.\n";
const CHINESE: &str = "> [English](page.md)\n\n# 一\n\n根文件是 `Cargo.toml`。\n";

/// A page and its twin, made of these bodies.
fn site(english: &str, chinese: &str) -> Site {
    let pages = vec![
        Page::new("docs/page.md", &format!("{ENGLISH}\n{english}\n")),
        Page::new("docs/page.zh-CN.md", &format!("{CHINESE}\n{chinese}\n")),
    ];
    Site { root: super::crate_root(), pages }
}

/// The problems of a body that is the same in both languages.
fn both(body: &str) -> Vec<String> {
    let site = site(body, body);
    let values = BTreeMap::from([("pair", vec![0.383_651_7, 4.0])]);
    let mut found = twins::problems(&site);
    found.extend(names::problems(&site));
    found.extend(commands::problems(&site));
    found.extend(manifests::problems(&site));
    found.extend(manifests::code_problems(&site));
    found.extend(crates::problems(&site));
    let outputs = BTreeMap::from([("lesson", vec!["loss 5.55".into(), "done".into()])]);
    let all = lessons::problems(&site, &outputs);
    found.extend(all.into_iter().filter(|p| !p.starts_with("no page shows")));
    let all = numbers::problems(&site, &values);
    found.extend(all.into_iter().filter(|p| !p.starts_with("no page shows")));
    found
}

#[test]
fn sound_pages_have_no_problems() {
    for body in [
        "See [the root](../Cargo.toml).",
        "`crates/llm-core/src/model/tiny_gpt.rs::TinyGPT::with_attention` and `TinyGPT`",
        "`crates/llm-core/src/ops/attention.rs::causal_attention_1h`: `let parts`",
        "```sh\nmpirun -n 2 --bind-to none target/release/train-gpt-mha --heads 2\n```",
        "`cargo run --release -p train-gpt-mha -- --heads 4` and `cargo test -p workspace-tests`",
        "P[2,1] is 0.3837, T is 4. <!-- check: pair -->",
        "<!-- prints: lesson -->\n```text\nloss 5.55\ndone\n```",
        "<!-- prints: lesson -->\n```text\nloss …\ndo…\n```",
        "`cargo run --release -p llm-core --example tensors`",
        "<!-- check: pair -->\n```text\nself_attention_1h 0.38365 4 4C\n```",
    ] {
        assert_eq!(both(body), Vec::<String>::new(), "{body}");
    }
}

#[test]
fn planted_faults_are_found() {
    for (fault, body) in [
        ("dead link", "See [this](nowhere.md)."),
        ("no heading", "See [this](#nowhere)."),
        ("no file", "See `crates/llm-core/src/nowhere.rs`."),
        ("no file", "```text\ncrates/llm-core/src/nowhere.rs\n```"),
        ("does not define", "`crates/llm-core/src/tensor.rs::nowhere`"),
        ("does not define", "`crates/llm-core/src/tensor.rs::Nowhere::new`"),
        ("has no `let", "`crates/llm-core/src/ops/attention.rs::self_attention_1h`: `let nowhere`"),
        ("names no file", "`let parts`"),
        ("occurs nowhere", "`self_attention_2h`"),
        ("no -p", "`cargo test -p train-gpt-mla`"),
        ("no test", "`cargo test -p llm-core heads_that_fly`"),
        ("no -p", "`cargo run -p llm-core`"),
        ("no flag", "`cargo run -p train-gpt -- --wheels 4`"),
        ("no flag", "```sh\nmpirun -n 2 target/release/train-gpt-mha --wheels 4\n```"),
        ("no verb", "```sh\ncargo run -p train-gpt -- fly\n```"),
        ("where the code computes", "0.3838 4 <!-- check: pair -->"),
        ("where the code computes", "0.383653 4 <!-- check: pair -->"),
        ("where the code computes", "0.3837 5 <!-- check: pair -->"),
        ("numbers, not", "0.3837 <!-- check: pair -->"),
        ("unknown check", "0.3837 <!-- check: nothing -->"),
        ("nothing checks", "It is 0.3837."),
        ("nothing checks", "```text\noffset 8\n```"),
        ("does not have this code", "<!-- code: tests/docs.rs -->\n```rust\nfn nowhere() {}\n```"),
        ("Rust without", "```rust\nfn nowhere() {}\n```"),
        ("the order is", "<!-- order -->\n```text\nbase -> kernels\n```"),
        ("avx512 is in", "<!-- features -->\n| a | b |\n|---|---|\n| `avx512` | `llm-core` |"),
        ("bpe is not in", "<!-- features -->\n| a | b |\n|---|---|\n| `avx512` | all |"),
        ("which features stay", "`cargo build -p train-gpt --no-default-features`"),
        ("prints \"loss 5.55\"", "<!-- prints: lesson -->\n```text\nloss 5.56\ndone\n```"),
        ("prints \"done\"", "<!-- prints: lesson -->\n```text\nloss …\n… one\n```"),
        ("1 lines where", "<!-- prints: lesson -->\n```text\nloss …\n```"),
        ("prints 0", "<!-- prints: nowhere -->\n```text\nloss …\n```"),
        ("no --example", "`cargo run -p llm-core --example nowhere`"),
        ("no --example", "`cargo run -p train-gpt --example tensors`"),
        ("uses", "<!-- crates -->\n| a | b |\n|---|---|\n| `llm-core` | `llm-cli` |"),
        ("not in the table", "<!-- crates -->\n| a | b |\n|---|---|\n| `llm-core` | none |"),
        ("not in the tree", "<!-- tree -->\n```text\ncrates/\n  llm-core/\n```"),
    ] {
        let found = both(body);
        assert!(found.iter().any(|p| p.contains(fault)), "{body}: {found:?}");
    }
}

#[test]
fn twins_that_differ_are_found() {
    for (fault, english, chinese) in [
        ("headings", "## Two", "二"),
        ("headings", "## Two", "### 二"),
        ("tables", "| a |\n|---|\n| b |", "a b"),
        ("tables", "| a |\n|---|\n| b |", "| 甲 |\n|---|\n| 乙 |\n| 丙 |"),
        ("code blocks", "```text\n1 2\n```", "```text\n1 3\n```"),
        ("code blocks", "```text\n1 2\n```", "1 2"),
        ("formulas", "$$\nx = 2\n$$", "$$\nx = 3\n$$"),
        ("marks", "1 <!-- check: pair -->", "1"),
        ("paths", "`docs/`", "文件夹"),
        ("inline code", "`TinyGPT`", "模型"),
        ("links", "[a](../Cargo.toml)", "甲"),
    ] {
        let found = twins::problems(&site(english, chinese));
        assert!(found.iter().any(|p| p.contains(fault)), "{english}: {found:?}");
    }
    let near = site("[above](#one)", "[见上](#一)");
    assert_eq!((names::problems(&near), twins::problems(&near)), (Vec::new(), Vec::new()));
    let mut alone = site("", "");
    alone.pages.pop();
    assert!(twins::problems(&alone).iter().any(|p| p.contains("has no twin")));
    let mut unlinked = site("", "");
    unlinked.pages[1] = Page::new("docs/page.zh-CN.md", "# 一\n");
    assert!(twins::problems(&unlinked).iter().any(|p| p.contains("not the switch")));
    let foreign = site("[a](page.md)", "[甲](page.md)");
    assert!(names::problems(&foreign).iter().any(|p| p.contains("in the other language")));
}

#[test]
fn faults_in_the_table_of_contents_are_found() {
    let site = site("", "");
    let problems = |summary: &str| contents::problems(&site, &format!("# Summary\n{summary}"));
    let [en, zh] = ["\n# English\n", "\n# 简体中文\n"];
    let (one, two) = ("- [One](page.md)\n", "- [一](page.zh-CN.md)\n");
    assert_eq!(problems(&[en, one, zh, two].concat()), Vec::<String>::new());
    for (fault, summary) in [
        ("is there 0 times", [en, zh].concat()),
        ("is there 2 times", [en, one, one, zh, two, two].concat()),
        ("not the same pages", [en, one, zh].concat()),
        ("not the same pages", [en, one, zh, "  ", two].concat()),
        ("in the other part", [en, two, zh, one].concat()),
        ("no page docs/two.md", [en, one, "- [Two](two.md)\n", zh, two].concat()),
        ("is called \"One\"", [en, "- [1](page.md)\n", zh, two].concat()),
        ("more than two parts", [en, one, zh, two, en].concat()),
    ] {
        let found = problems(&summary);
        assert!(found.iter().any(|p| p.contains(fault)), "{summary}: {found:?}");
    }
}

#[test]
fn faults_in_the_list_of_promises_are_found() {
    let path = "docs/promises.md";
    let real = Site::read(&super::crate_root());
    let text = std::fs::read_to_string(real.root.join(path)).unwrap();
    let problems = |text: &str| checklist::page_problems(&real, &Page::new(path, text)).0;
    assert_eq!(problems(&text), Vec::<String>::new());
    let row = text.lines().find(|l| l.starts_with("| S3.8 ")).unwrap();
    let test = "tests/mha_vs_single_head.rs::nowhere";
    for (fault, planted) in [
        ("rows, the first that differ", String::new()),
        ("rows, the first that differ", row.replace("S3.8", "S3.9")),
        ("no state", row.replace("| done |", "| soon |")),
        ("without a place", "| S3.8 | heads | done | somewhere |".into()),
        ("has no test", format!("| S3.8 | heads | done | `{test}` |")),
    ] {
        let found = problems(&text.replace(row, &planted));
        assert!(found.iter().any(|p| p.contains(fault)), "{planted}: {found:?}");
    }
}

#[test]
fn faults_in_figures_are_found() {
    let real = Site::read(&super::crate_root());
    let figures = figures::read(&real);
    assert_eq!(figures::problems(&real, &figures), Vec::<String>::new());
    let change = |name: &str, from: &str, to: &str| {
        let mut figures = figures.clone();
        let text = figures.get_mut(name).unwrap();
        assert!(text.contains(from), "{name}");
        *text = text.replace(from, to);
        figures::problems(&real, &figures)
    };
    for (fault, found) in [
        ("is English", change("model.zh-CN.svg", "注意力", "attention")),
        ("where the English figure has", change("model.zh-CN.svg", "x=\"210\"", "x=\"211\"")),
        ("other numbers", change("concat_wo.zh-CN.svg", "512 个", "511 个")),
        ("is English", change("two_splits.zh-CN.svg", "两种等价", "two equal")),
    ] {
        assert!(found.iter().any(|p| p.contains(fault)), "{fault}: {found:?}");
    }
    // A title is read aloud: a figure with no other words needs a twin too.
    for twin in ["model.zh-CN.svg", "two_splits.zh-CN.svg"] {
        let mut without = figures.clone();
        without.remove(twin);
        let found = figures::problems(&real, &without);
        assert!(found.iter().any(|p| p.contains(&format!("and no {twin}"))), "{found:?}");
    }
}

#[test]
fn a_page_without_the_answer_is_found() {
    let mut real = Site::read(&super::crate_root());
    assert_eq!(checklist::answers(&real), Vec::<String>::new());
    let page = real.pages.iter_mut().find(|p| p.path == "docs/performance.md").unwrap();
    *page = Page::new(&page.path, "# How fast, and why\n");
    assert_eq!(checklist::answers(&real).len(), 1);
}

#[test]
fn words_that_are_not_used_are_found() {
    let refused = words::refused(&Site::read(&super::crate_root()));
    let problems = |text: &str| {
        words::page_problems(
            &Page::new("docs/page.zh-CN.md", &format!("{CHINESE}\n{text}\n")),
            &refused,
        )
    };
    for text in ["每个 token 一行。", "## 一个 block", "| 遮罩 |", "优化器的动差", "0.5 nat。"]
    {
        assert_eq!(problems(text).len(), 1, "{text}");
    }
    for text in ["`token`", "[词元](token.md)", "tokenizer", "一个块", "```text\n9 tokens\n```"]
    {
        assert_eq!(problems(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn an_answer_that_is_not_printed_is_found() {
    use workspace_tests::answers::{answers, missing};
    let page = "```sh\ncargo run -p train-gpt -- trace --all\n```\n\n<!-- answer -->\n```text\na = 1\nb  = 2\n```\n";
    let [answer] = &answers("page", page)[..] else { panic!("one answer") };
    assert_eq!(
        (&answer.program[..], &answer.words[..]),
        ("train-gpt", &["trace", "--all"].map(String::from)[..])
    );
    assert_eq!(missing(answer, "   a =  1\nmore\nb = 2\n"), None);
    for printed in ["", "a = 1\nb = 3\n", "b = 2\na = 1\n"] {
        assert!(missing(answer, printed).is_some_and(|p| p.starts_with("page:5: ")), "{printed:?}");
    }
}
