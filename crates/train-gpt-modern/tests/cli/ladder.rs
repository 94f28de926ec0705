//! `compare --ladder`: sizes whose settings follow rules, and the law of their losses.

use crate::sandbox;
use serde_json::{Value, json};

const LADDER: [&str; 9] =
    ["compare", "--data", "text.txt", "--seq", "16", "--batch", "4", "--seeds", "2"];
const FEW: [&str; 2] = ["--token-ratio", "0.02"];

#[test]
fn sizes_follow_rules_and_have_a_law_or_a_reason() {
    let sandbox = sandbox();
    let words = ["--ladder", "tiny,3,mini", "--out", "out"];
    let done = sandbox.ok(&[&LADDER[..], &FEW, &words].concat());
    done.says(&["A size of L layers is 32·L wide", "0.02 for each of its N parameters"]);
    done.says(&[
        "run 1/6  size tiny  seed 1 ",
        "run 6/6  size mini  seed 2 ",
        "times √(128 / width)",
    ]);
    let text = done.text();
    assert!(text.contains("aw: ") && text.contains("N: parameters of the blocks"), "{text}");
    let all: Value = serde_json::from_slice(&sandbox.read("out/compare.json")).unwrap();
    let ladder = &all["comparison"]["ladder"];
    assert_eq!(
        (&ladder["tokens_per_parameter"], &ladder["usual_width"]),
        (&json!(0.02), &json!(128))
    );
    let rows = all["comparison"]["rows"].as_array().unwrap();
    for (row, layers) in rows.iter().zip([1, 3, 2]) {
        let rung = &row["rung"];
        let of = |key: &str| rung[key].as_u64().unwrap();
        assert_eq!((of("layers"), of("d_model"), of("n_heads")), (layers, 32 * layers, layers));
        assert_eq!(of("steps"), (0.02 * of("block_parameters") as f64 / 64.0).ceil() as u64);
        assert_eq!(
            (of("learned"), of("parameters")),
            (64 * of("steps"), row["parameters"].as_u64().unwrap())
        );
        assert!(of("block_parameters") < of("parameters"));
    }
    let law = &ladder["laws"][0];
    let points = law["points"].as_array().unwrap();
    let sizes: Vec<_> = points.iter().map(|of| of["size"].as_str().unwrap()).collect();
    assert_eq!(sizes, ["tiny", "mini", "3"]);
    let said = law["said"][0]["en"].as_str().unwrap();
    let begin = if law["law"].is_null() { "No law: " } else { "Law: validation loss ≈ " };
    assert!(said.starts_with(begin) && text.contains(&said[..begin.len()]), "{said}");
    let table = String::from_utf8(sandbox.read("out/compare.csv")).unwrap();
    assert!(table.lines().next().unwrap().ends_with(",size,block_parameters,steps,path"));
    let page = String::from_utf8(sandbox.read("out/report.html")).unwrap();
    assert!(page.contains("lawPicture(laws)") && page.contains("\"laws\":"));
    // A size is a run like any other.
    let lr = rows[2]["rung"]["lr"].as_f64().unwrap() as f32;
    let (lr, steps) = (lr.to_string(), rows[2]["rung"]["steps"].to_string());
    let typed = ["--layers", "2", "--dmodel", "64", "--heads", "2", "--steps", &steps, "--lr", &lr];
    let optimizer = ["--optimizer", ladder["optimizer"].as_str().unwrap()];
    let run = ["--data", "text.txt", "--seq", "16", "--batch", "4", "--seed", "2", "--gen", "0"];
    sandbox.ok(&[&run[..], &typed, &optimizer, &["--out", "alone"]].concat());
    assert!(sandbox.read("alone/ckpt/last") == sandbox.read("out/size-mini-seed-2/ckpt/last"));
}

/// Every kind has a law of its own, and `--steps` is the most.
#[test]
fn kinds_of_models_climb_side_by_side() {
    let sandbox = sandbox();
    let words = ["--ladder", "1,2", "--variants", "mha,rope", "--steps", "3", "--out", "out", "-q"];
    sandbox.ok(&[&LADDER[..], &words].concat());
    let all: Value = serde_json::from_slice(&sandbox.read("out/compare.json")).unwrap();
    let laws = all["comparison"]["ladder"]["laws"].as_array().unwrap();
    let of: Vec<_> = laws.iter().map(|law| law["of"].as_str().unwrap()).collect();
    assert_eq!(of, ["mha", "rope"]);
    assert_eq!(laws[1]["said"][0]["en"], "No law of rope: 2 sizes, and it takes 3.");
    let runs = all["runs"].as_array().unwrap();
    assert!(runs.iter().all(|run| run["rung"]["steps"] == 3 && run["rung"]["is_limited"] == true));
}

#[test]
fn what_a_size_moves_is_not_asked_for() {
    let sandbox = sandbox();
    let refuses = |words: &[&str], why: &[&str]| {
        sandbox.refuses(&[&LADDER[..7], &["--ladder"], words].concat(), 2, why);
    };
    refuses(&["tiny"], &["--ladder tiny", "two or more"]);
    refuses(&["tiny,1"], &["--ladder: 1 is there twice"]);
    refuses(&["tiny,huge"], &["--ladder 'huge'", "tiny, mini, small, medium, large"]);
    for (flag, value) in [("--lr", "1e-3"), ("--layers", "2"), ("--dmodel", "16"), ("--heads", "3")]
    {
        refuses(&["1,2", flag, value], &[&format!("{flag}: a size of --ladder has its own")]);
    }
    for (flag, own) in
        [("n-layer", "layers"), ("learning-rate", "lr"), ("steps", "steps"), ("epochs", "epochs")]
    {
        let vary = format!("{flag}=1,2");
        refuses(&["1,2", "--vary", &vary], &[&format!("--{own}: a size of --ladder has its own")]);
    }
    refuses(&["1,2", "--token-ratio", "0"], &["--token-ratio 0"]);
    refuses(&["1,2", "--aa", "2"], &["--ladder", "--aa"]);
    let dry = [&LADDER[..], &FEW, &["--ladder", "1,2", "--dry-run", "--out", "out"]].concat();
    sandbox.ok(&dry).says(&["size 1: about ", "all 4 runs: about "]);
    assert!(!sandbox.path("out").exists());
}
