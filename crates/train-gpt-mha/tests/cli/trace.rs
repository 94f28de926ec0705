//! One number of attention followed by hand, with several heads.

use crate::{RUN, sandbox};
use llm_core::TinyGPT;
use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save};
use llm_core::train::Trainer;
use llm_variant_mha::MultiHead;
use serde_json::Value;
use std::sync::Arc;
use workspace_tests::cli_support::{Outcome, Sandbox};

const MODEL: [&str; 5] = ["trace", "--load", "model", "-p", "the cat sat"];

fn trained(heads: &str, layers: &str) -> Sandbox {
    let sandbox = sandbox();
    let sizes = ["--seq", "16", "--dmodel", "16", "--batch", "2"];
    let model = ["model", "--heads", heads, "--layers", layers];
    sandbox.ok(&[&RUN[..], &model, &sizes].concat());
    sandbox
}

fn has(outcome: &Outcome, lines: &[&str]) {
    let text = outcome.text();
    for wanted in lines {
        assert!(text.lines().any(|line| line.trim() == *wanted), "no line {wanted:?}\n{text}");
    }
}

fn json(sandbox: &Sandbox, words: &[&str]) -> Value {
    sandbox.ok(&[words, &["--json"]].concat()).events()[0].clone()
}

#[test]
fn the_example_has_the_numbers_of_the_pages() {
    let both = [
        "q_base  = ((b*T + i)*H + h)*D = ((0*3 + 2)*2 + 1)*2 = 10  q[10..11]",
        "k_base  = ((b*T + j)*H + h)*D = ((0*3 + 1)*2 + 1)*2 = 6   k[6..7]",
        "q[10]*k[6]  = 1 * 0   = 0",
        "q[11]*k[7]  = -1 * 1  = -1",
        "off = ((b*H + h)*T + i)*T + j = ((0*2 + 1)*3 + 2)*3 + 1 = 16",
        "scores[16] = S[0, 1, 2, 1] = -0.7071067812",
        "P = [0.5759753452, 0.1400292450, 0.2839954097]",
        "att_h[i] = [7.1797305009, 2.8202694991]",
    ];
    let sandbox = sandbox();
    let en = sandbox.ok(&["trace"]);
    has(&en, &both);
    let zh = sandbox.ok(&["trace", "--lang", "zh"]);
    has(&zh, &both);
    assert!(zh.text().contains("视图：同一块存储，数据不动"), "{zh}");
    for (page, word) in [(en, "the kernel has 0.14002"), (zh, "核函数得到 0.14002")] {
        assert!(page.text().lines().last().unwrap().contains(word), "{page}");
    }
}

#[test]
fn the_example_with_other_heads_and_sequences() {
    let sandbox = sandbox();
    has(&sandbox.ok(&["trace", "--heads", "1"]), &["scores[7] = S[0, 0, 2, 1] = 0"]);
    let four = json(&sandbox, &["trace", "--heads", "4"]);
    assert_eq!((&four["place"]["head"], &four["offsets"]["q"]), (&3.into(), &11.into()));
    let second = ["trace", "--batch", "2", "--batch-index", "1"];
    has(&sandbox.ok(&second), &["off = ((b*H + h)*T + i)*T + j = ((1*2 + 1)*3 + 2)*3 + 1 = 34"]);
    let hidden = ["trace", "--query", "1", "--key", "2"];
    has(&sandbox.ok(&hidden), &["scores[14] = S[0, 1, 1, 2] = -1e9"]);
    for heads in ["0", "3", "8"] {
        sandbox.refuses(&["trace", "--heads", heads], 2, &["--heads", heads, "1, 2 or 4"]);
    }
    sandbox.refuses(&["trace", "--head", "2"], 2, &["--head 2", "0..=1"]);
}

#[test]
fn every_head_of_every_layer_agrees_with_its_kernel() {
    let sandbox = trained("4", "2");
    for layer in ["0", "1"] {
        for head in ["0", "1", "2", "3"] {
            for (query, key) in [("10", "0"), ("3", "7")] {
                let place = ["--layer", layer, "--head", head, "--query", query, "--key", key];
                let walk = json(&sandbox, &[&MODEL[..], &place].concat());
                assert_eq!(walk["kernel"]["agrees"], true, "{walk}");
                assert_eq!(walk["masked"], key == "7");
                let p = |of: &Value| of["probs"][0].as_f64().unwrap();
                assert!((p(&walk["row"]) - p(&walk["kernel"])).abs() < 1e-6);
            }
        }
    }
    sandbox.refuses(&[&MODEL[..], &["--head", "4"]].concat(), 2, &["--head 4", "0..=3"]);
    sandbox.refuses(&[&MODEL[..], &["--layer", "2"]].concat(), 2, &["--layer 2", "0..=1"]);
    sandbox.refuses(&[&MODEL[..], &["--heads", "2"]].concat(), 2, &["--heads 2", "4"]);
    json(&sandbox, &[&MODEL[..], &["--heads", "4"]].concat());
}

#[test]
fn a_head_that_is_switched_off_gives_zeros() {
    let sandbox = trained("2", "1");
    let loaded = Checkpoint::load(&sandbox.path("model")).unwrap();
    let attention = Arc::new(MultiHead::with_head_mask(2, vec![true, false]));
    let weights = loaded.parameters().map(|(name, p)| (name.into(), p.clone())).collect();
    let model = TinyGPT::from_parameters(loaded.meta.config.clone(), attention, weights).unwrap();
    let trainer = Trainer::new(model, loaded.meta.recipe.clone()).unwrap();
    save(&sandbox.path("model"), &trainer, &TokenizerSpec::bytes(), false).unwrap();

    let off = json(&sandbox, &[&MODEL[..], &["--head", "1"]].concat());
    assert_eq!((&off["head_used"], &off["kernel"]["agrees"]), (&false.into(), &true.into()));
    assert!(off["row"]["att"].as_array().unwrap().iter().all(|y| *y == 0.0), "{off}");
    let on = json(&sandbox, &[&MODEL[..], &["--head", "0"]].concat());
    assert_eq!((&on["head_used"], &on["kernel"]["agrees"]), (&true.into(), &true.into()));
    let words = [&MODEL[..], &["--head", "1"]].concat();
    has(&sandbox.ok(&words), &["head 1 is switched off in this model: its output is zeros"]);
    let zh = [&words[..], &["--lang", "zh"]].concat();
    has(&sandbox.ok(&zh), &["这个模型里第 1 个头已关闭：它的输出全是零"]);
}

#[test]
fn the_answers_of_the_pages_are_what_is_printed() {
    workspace_tests::answers::check(&sandbox(), "train-gpt-mha");
}
