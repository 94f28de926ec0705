//! Looking inside a model with one head a layer.

use crate::{sandbox, trained};
use serde_json::Value;
use workspace_tests::cli_support::{Outcome, as_multi_head};

/// The one JSON object on standard output.
fn json(outcome: &Outcome) -> Value {
    let events = outcome.events();
    assert_eq!(events.len(), 1, "{outcome}");
    events[0].clone()
}

#[test]
fn sizes_of_a_new_model_and_of_a_trained_one() {
    let sandbox = trained();
    let text = sandbox.ok(&["inspect", "model"]).text();
    for needle in [
        "L=2 blocks",
        "H=1 head of D=64",
        "C=64",
        "T=256",
        "148,864",
        "147,456",
        "4·C² = 16,384",
        "GPT-2 Small",
    ] {
        assert!(text.contains(needle), "{needle}\n{text}");
    }
    let small = ["inspect", "model", "--seq", "16", "--dmodel", "512"];
    let text = sandbox.ok(&small).text();
    // 16²·512 = 8·(16²·64)
    let line = text.lines().find(|line| line.contains("Q·Kᵀ")).unwrap();
    assert_eq!(line.matches("131,072").count(), 2, "{text}");
    let line = text.lines().find(|line| line.contains("softmax")).unwrap();
    assert!(line.contains("256") && line.contains("2,048"), "{text}");

    let loaded = sandbox.ok(&["inspect", "model", "--load", "model", "--seq", "8", "--json"]);
    let model = json(&loaded);
    assert_eq!(model["event"], "model");
    assert_eq!(model["model"]["sizes"], serde_json::json!([256, 16, 16, 1]));
    assert_eq!(model["model"]["batch"], serde_json::json!([2, 8]));
    assert_eq!(model["model"]["tensors"][0]["name"], "wte");
    assert_eq!(model["known_models"].as_array().unwrap().len(), 5);
    // A model that this program cannot run has sizes all the same.
    as_multi_head(&sandbox.path("model"), &sandbox.path("four"), 4);
    let four = sandbox.ok(&["inspect", "model", "--load", "four"]).text();
    assert!(four.contains("H=4 heads of D=4"), "{four}");
}

#[test]
fn attention_of_the_one_head() {
    let sandbox = trained();
    let words = ["inspect", "attention", "--load", "model"];
    let shown = sandbox.ok(&words);
    let text = shown.text();
    assert!(text.contains("layer 0") && text.contains("head 0"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // 22 bytes, of which the model sees the last 16: "t sat on the mat".
    shown.says(&["the prompt has 22 tokens; the model sees the last 16"]);
    let maps = json(&sandbox.ok(&[&words[..], &["-p", "a cat", "--json"]].concat()));
    assert_eq!(maps["tokens"], serde_json::json!(["a", "␣", "c", "a", "t"]));
    assert_eq!(maps["ids"], serde_json::json!([97, 32, 99, 97, 116]));
    let rows = maps["layers"][0]["heads"][0]["weights"].as_array().unwrap();
    assert_eq!(rows.len(), 5);
    for (i, row) in rows.iter().enumerate() {
        let row: Vec<f64> = row.as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect();
        assert_eq!(row.len(), i + 1);
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{row:?}");
    }
    let last = [&words[..], &["--prompt-ids", "97,32,99", "--last", "2", "--json"]].concat();
    let last = sandbox.ok(&last);
    last.says(&["the last 2 of 3 tokens"]);
    assert_eq!((&json(&last)["first"], &json(&last)["tokens"][1]), (&1.into(), &"c".into()));
}

#[test]
fn pictures_and_pages() {
    let sandbox = trained();
    let words = ["inspect", "attention", "--load", "model", "-p", "<a>&\n\"b\"\u{1b}[2J"];
    for _ in 0..2 {
        let to = [&words[..], &["--svg", "new/pics", "--html", "page.html"]].concat();
        let shown = sandbox.ok(&to);
        assert_eq!(shown.stdout, b"", "{shown}");
        shown.says(&["wrote   new/pics/attention-layer-0.svg", "wrote   page.html"]);
    }
    let svg = String::from_utf8(sandbox.read("new/pics/attention-layer-0.svg")).unwrap();
    assert!(svg.starts_with("<svg") && !svg.contains('\u{1b}') && !svg.contains("<a>"), "{svg}");
    assert!(svg.contains("&lt;") && svg.contains("&amp;"), "{svg}");
    let page = String::from_utf8(sandbox.read("page.html")).unwrap();
    assert!(page.to_ascii_lowercase().starts_with("<!doctype html") && !page.contains("<a>"));
}

#[test]
fn what_the_one_head_does() {
    let sandbox = trained();
    let words = ["inspect", "heads", "--load", "model", "--data", "text.txt", "--tokens", "500"];
    let text = sandbox.ok(&words).text();
    for needle in ["measured on 'text.txt'", "0.0 ", "even ", "A·W_o"] {
        assert!(text.contains(needle), "{needle}\n{text}");
    }
    let page = [&words[..], &["--html", "heads.html", "--json"]].concat();
    let heads = json(&sandbox.ok(&page));
    assert_eq!(heads["heads"].as_array().unwrap().len(), 1);
    let tokens = heads["scored"].as_u64().unwrap();
    assert!((1..=500).contains(&tokens), "{tokens}");
    for name in ["previous", "first", "itself", "word", "same", "after", "copy", "separator"] {
        let score = heads["heads"][0]["scores"][name].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&score) && heads["uniform"][name].is_f64(), "{name}");
    }
    assert!(heads["uniform"]["answer"].is_null(), "no facts are known of files");
    let page = String::from_utf8(sandbox.read("heads.html")).unwrap();
    assert!(page.contains(r#""even":[["previous","#), "{page}");
    // One window is looked at, however few tokens are asked for.
    let one = ["inspect", "heads", "--load", "model", "--data", "text.txt", "--tokens", "1"];
    let text = sandbox.ok(&one).text();
    assert!(text.contains(" tokens in 1 window\n"), "{text}");
}

#[test]
fn one_head_cannot_go() {
    let sandbox = trained();
    let prune = ["inspect", "prune", "--load", "model", "--data", "text.txt"];
    sandbox.refuses(&prune, 2, &["one head in all"]);
    let two =
        ["--data", "text.txt", "--steps", "2", "--save", "two", "--layers", "2", "--gen", "0"];
    let small = ["--seq", "16", "--dmodel", "16", "--batch", "2"];
    sandbox.ok(&[&two[..], &small].concat());
    let prune = ["inspect", "prune", "--load", "two", "--data", "text.txt"];
    sandbox.refuses(&prune, 2, &["cannot switch heads off", "train-gpt-mha inspect prune"]);
}

#[test]
fn what_cannot_be_inspected() {
    let sandbox = trained();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    as_multi_head(&sandbox.path("model"), &sandbox.path("four"), 4);
    sandbox.write("heads.svg", b"mine");
    std::fs::create_dir(sandbox.path("pics")).unwrap();
    sandbox.write("pics/attention-layer-0.svg", b"my own picture");
    let long = "9".repeat(30);
    for (words, code, needles) in [
        (&["inspect"][..], 2, &["a verb is missing", "prune"][..]),
        (&["inspect", "everything"], 2, &["everything", "heads"]),
        (&["inspect", "model", "--load", "model", "--dmodel", "8"], 2, &["--dmodel"]),
        (&["inspect", "model", "--load", "missing"], 66, &["missing"]),
        (&["inspect", "model", "--load", "text.txt"], 65, &["not a checkpoint"]),
        (&["inspect", "model", "--load", "model", "--seq", "17"], 2, &["--seq 17", "1..=16"]),
        (&["inspect", "model", "--heads", "4"], 2, &["--heads 4", "train-gpt-mha"]),
        (&["inspect", "model", "--vocab", "0"], 2, &["--vocab"]),
        (&["inspect", "model", "--dmodel", "0"], 2, &["--dmodel"]),
        (&["inspect", "model", "--dmodel", &long], 2, &["too large"]),
        (&["inspect", "model", "--batch", "0"], 2, &["--batch 0"]),
        (&["inspect", "attention"], 2, &["--load"]),
        (&["inspect", "attention", "--load", "four"], 65, &["4 heads", "train-gpt-mha"]),
        (&["inspect", "attention", "--load", "model", "--layer", "1"], 2, &["--layer 1"]),
        (&["inspect", "attention", "--load", "model", "--head", "1"], 2, &["--head 1", "1 head,"]),
        (&["inspect", "attention", "--load", "model", "--last", "0"], 2, &["--last 0"]),
        (&["inspect", "attention", "--load", "model", "--prompt-ids", "256"], 2, &["256"]),
        (&["inspect", "attention", "--load", "model", "--prompt-file", "no"], 66, &["'no'"]),
        (&["inspect", "attention", "--load", "model", "--html", "text.txt"], 73, &["text.txt"]),
        (&["inspect", "attention", "--load", "model", "--html", "folder"], 73, &["folder"]),
        (&["inspect", "attention", "--load", "model", "--html", "no/x"], 73, &["no/x"]),
        (
            &["inspect", "attention", "--load", "model", "-p", "a", "--svg", "text.txt"],
            73,
            &["text.txt"],
        ),
        (
            &["inspect", "attention", "--load", "model", "-p", "a", "--svg", "pics"],
            73,
            &["layer-0.svg"],
        ),
        (
            &["inspect", "attention", "--load", "model", "--svg", "new", "--prompt-ids", "256"],
            2,
            &["--prompt-ids 256"],
        ),
        (&["inspect", "heads", "--load", "model"], 2, &["trained on files", "--data"]),
        (&["inspect", "heads", "--load", "model", "--data", "no"], 66, &["'no'"]),
        (
            &["inspect", "heads", "--load", "model", "--data", "text.txt", "--tokens", "0"],
            2,
            &["--tokens 0: it must be 1 or more"],
        ),
        (
            &["inspect", "prune", "--load", "model", "--drop", "1", "--drop-heads", "0.0"],
            2,
            &["--drop"],
        ),
        (&["inspect", "prune", "--load", "model", "--drop-heads", "x"], 2, &["x", "layer.head"]),
        (&["inspect", "prune", "--load", "model", "--save", "x"], 2, &["--save needs --drop"]),
    ] {
        sandbox.refuses(words, code, needles);
    }
}

#[test]
fn a_vocabulary_without_the_sentence_has_something_to_show() {
    let sandbox = sandbox();
    sandbox.write("x.txt", "猫坐在垫子上。\n".repeat(60).as_bytes());
    let run =
        ["--data", "x.txt", "--tokenizer", "char", "--steps", "2", "--gen", "0", "--save", "m"];
    sandbox.train(&run);
    sandbox.ok(&["inspect", "attention", "--load", "m"]);
    let text = sandbox.ok(&["inspect", "attention", "--load", "m", "-p", "猫坐在"]).text();
    assert!(text.contains("猫"), "{text}");
    sandbox.refuses(&["inspect", "attention", "--load", "m", "-p", "dog"], 65, &["--prompt", "d"]);
    let heads = ["inspect", "heads", "--load", "m", "--data"];
    sandbox.ok(&[&heads[..], &["x.txt"]].concat());
    sandbox.refuses(&[&heads[..], &["text.txt"]].concat(), 65, &["text.txt"]);
}
