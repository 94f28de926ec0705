//! One number of attention followed by hand, with one head.

use crate::{sandbox, trained};
use serde_json::Value;
use workspace_tests::cli_support::Outcome;

const MODEL: [&str; 3] = ["trace", "--load", "model"];

fn json(outcome: &Outcome) -> Value {
    let events = outcome.events();
    assert_eq!((events.len(), &events[0]["event"]), (1, &"trace".into()), "{outcome}");
    events[0].clone()
}

fn has(outcome: &Outcome, lines: &[&str]) {
    let text = outcome.text();
    for wanted in lines {
        assert!(text.lines().any(|line| line.trim() == *wanted), "no line {wanted:?}\n{text}");
    }
}

#[test]
fn the_example_has_the_numbers_of_the_pages() {
    let both = [
        "qi  = (b*T + i)*C = (0*3 + 2)*4 = 8  q[8..11]",
        "kj  = (b*T + j)*C = (0*3 + 1)*4 = 4  k[4..7]",
        "q[8]*k[4]   = 1 * 0  = 0",
        "off = (b*T + i)*T + j = (0*3 + 2)*3 + 1 = 7",
        "scores[7] = S[0, 2, 1] = 0",
        "P = [0.3836517312, 0.2326965376, 0.3836517312]",
        "att[i] = [0.3836517312, 0.4653930752, 1.1509551936, 0]",
    ];
    let sandbox = sandbox();
    let en = sandbox.ok(&["trace"]);
    has(&en, &both);
    has(&en, &["scale  1/√C = 1/√4 = 0.5 (a product with the reciprocal, no division)"]);
    has(&en, &["mask  j = 1 <= i = 2: allowed, nothing is changed"]);
    let last = en.text().lines().last().unwrap().to_string();
    assert!(last.contains("the kernel has 0.2326965") && last.contains("difference"), "{last}");
    assert!(last.ends_with("no more than rounding"), "{last}");
    let zh = sandbox.ok(&["trace", "--lang", "zh"]);
    has(&zh, &both);
    has(&zh, &["缩放因子  1/√C = 1/√4 = 0.5（乘以倒数，不用除法）"]);
    has(&zh, &["掩码  j = 1 <= i = 2：允许看，不改动"]);
    assert!(zh.text().lines().last().unwrap().ends_with("不超过舍入误差"), "{zh}");
}

#[test]
fn a_hidden_score() {
    let words = ["trace", "--query", "1", "--key", "2"];
    let en = sandbox().ok(&words);
    has(&en, &["scores[5] = S[0, 1, 2] = -1e9", "P = [0.5, 0.5, 0]", "att[i] = [0.5, 1, 0, 0]"]);
    has(&en, &["so its weight is 0, v[j] adds nothing, and no gradient flows through this pair"]);
    let zh = sandbox().ok(&[&words[..], &["--lang", "zh"]].concat());
    has(&zh, &["所以它的权重是 0，v[j] 不起作用，也没有梯度流过这一对"]);
}

#[test]
fn a_trained_model_agrees_with_its_kernel() {
    let sandbox = trained();
    let words = [&MODEL[..], &["-p", "the cat sat", "--query", "4", "--key", "2"]].concat();
    let walk = json(&sandbox.ok(&[&words[..], &["--json"]].concat()));
    assert_eq!(walk["kernel"]["agrees"], true, "{walk}");
    for difference in ["probs_difference", "att_difference"] {
        assert!(walk["kernel"][difference].as_f64().unwrap() < 1e-6, "{walk}");
    }
    let sizes = ["batch_size", "seq_len", "d_model", "n_heads"].map(|n| walk["sizes"][n].clone());
    assert_eq!(sizes, [1, 11, 16, 1].map(Value::from));
    assert_eq!(walk["tokens"][4]["text"], "'c'");
    // Two ways to ask for JSON, and a second sequence with the same numbers elsewhere.
    let again = json(&sandbox.ok(&[&words[..], &["--message-format", "json"]].concat()));
    assert_eq!(again, walk);
    let second = [&words[..], &["--json", "--batch", "2", "--batch-index", "1"]].concat();
    let second = json(&sandbox.ok(&second));
    assert_eq!(second["offsets"]["score"], (11 + 4) * 11 + 2);
    assert_eq!(second["row"], walk["row"]);

    let page = sandbox.ok(&words);
    has(&page, &["layer 0", "i = 4: token 'c' (id 99)", "j = 2: token 'e' (id 101)"]);
    has(&page, &["… 8 more"]); // of the 16 channels
    let all = sandbox.ok(&[&words[..], &["--all"]].concat()).text();
    assert!(!all.contains('…') && all.lines().any(|line| line.trim().starts_with("q[79]*k[47]")));
    let zh = sandbox.ok(&[&words[..], &["--lang", "zh"]].concat());
    has(&zh, &["第 0 层", "i = 4：词元 'c'（编号 99）", "…… 还有 8 行"]);
}

#[test]
fn prompts_of_all_kinds_are_the_same() {
    let sandbox = trained();
    sandbox.write("prompt", b"the");
    let walk = |words: &[&str]| json(&sandbox.ok(&[&MODEL[..], &["--json"], words].concat()));
    let text = walk(&["--prompt", "the"]);
    assert_eq!(text["place"]["query"], 2);
    assert_eq!(walk(&["--prompt-file", "prompt"]), text);
    assert_eq!(walk(&["--prompt-ids", "116,104,101"]), text);
    // One token alone looks at itself.
    let one = walk(&["-p", "t"]);
    assert_eq!((&one["place"]["query"], &one["place"]["key"]), (&0.into(), &0.into()));
    assert_eq!(one["row"]["probs"], serde_json::json!([1.0]));
}

#[test]
fn tokens_cannot_control_the_terminal() {
    let page = trained().ok(&[&MODEL[..], &["-p", "\x1b[2J"]].concat()).text();
    assert!(page.contains("'\\x1B'") && !page.contains('\x1b'), "{page}");
}

#[test]
fn places_that_are_not_there() {
    let sandbox = trained();
    let outside = ["--head", "1"];
    sandbox.refuses(&[&["trace"], &outside[..]].concat(), 2, &["--head 1", "train-gpt-mha trace"]);
    let of_model = [&MODEL[..], &["-p", "the"], &outside].concat();
    sandbox.refuses(&of_model, 2, &["--head 1", "train-gpt-mha trace"]);
    sandbox.refuses(&["trace", "--heads", "2"], 2, &["--heads 2", "train-gpt-mha"]);
    for (flag, value, range) in [
        ("--batch-index", "1", "0..=0"),
        ("--query", "3", "0..=2"),
        ("--key", "3", "0..=2"),
        ("--query", "18446744073709551615", "0..=2"),
        ("--batch", "0", "1..=1024"),
        ("--batch", "1025", "1..=1024"),
    ] {
        let needles = [&format!("{flag} {value}")[..], range];
        sandbox.refuses(&["trace", flag, value], 2, &needles);
        sandbox.refuses(&[&MODEL[..], &["-p", "the", flag, value]].concat(), 2, &needles);
    }
    let layer = [&MODEL[..], &["-p", "the", "--layer", "1"]].concat();
    sandbox.refuses(&layer, 2, &["--layer 1", "0..=0"]);
    sandbox.refuses(&["trace", "--query", "-1"], 2, &["--query", "-1"]);
    sandbox.refuses(&["trace", "--lang", "fr"], 2, &["--lang", "fr"]);
}

#[test]
fn prompts_that_cannot_be() {
    let sandbox = trained();
    sandbox.write("empty", b"");
    for (words, code, needles) in [
        (&[][..], 2, &["--prompt", "--load"][..]),
        (&["-p", ""], 2, &["--prompt", "empty"]),
        (&["--prompt-file", "empty"], 2, &["--prompt-file", "empty"]),
        (&["--prompt-file", "missing"], 66, &["'missing'"]),
        (&["-p", "seventeen letters"], 2, &["--prompt", "17", "16"]),
        (&["--prompt-ids", "256"], 2, &["--prompt-ids 256", "255"]),
        (&["-p", "a", "--prompt-ids", "1"], 2, &["--prompt"]),
    ] {
        sandbox.refuses(&[&MODEL[..], words].concat(), code, needles);
    }
    for (flag, value) in [("--prompt", "the"), ("--prompt-ids", "1"), ("--layer", "0")] {
        sandbox.refuses(&["trace", flag, value], 2, &[flag, "--load"]);
    }
    sandbox.refuses(&["trace", "--load", "missing", "-p", "a"], 66, &["missing"]);
    sandbox.refuses(&["trace", "--load", "text.txt", "-p", "a"], 65, &["not a checkpoint"]);
    let words = ["--data", "text.txt", "--steps", "1", "--tokenizer", "char", "--save", "chars"];
    sandbox.train(&[&words[..], &["--gen", "0"]].concat());
    sandbox.refuses(&["trace", "--load", "chars", "-p", "tqz"], 65, &["--prompt", "'q'"]);
}

#[test]
fn the_answers_of_the_pages_are_what_is_printed() {
    workspace_tests::answers::check(&sandbox(), "train-gpt");
}
