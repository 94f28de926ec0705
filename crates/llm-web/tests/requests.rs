//! Every request, and what is refused.
#![allow(clippy::unwrap_used)] // a test

use llm_core::checkpoint::{Checkpoint, TokenizerSpec, to_bytes};
use llm_core::kernels::gemm::Precision;
use llm_core::model::SingleHead;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::{Trainer, evaluate};
use llm_core::{Config, Recipe, TinyGPT};
use llm_lens::{At, Embeddings, Pair, Part, Reading, What, hidden_units};
use llm_run::data::twin_pairs;
use llm_stories::FactKind;
use llm_variant_mha::MultiHead;
use llm_web::{Answer, Code, Failure, Lab};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A run that takes no time.
const SMALL: &str = r#""heads": 2, "layers": 1, "width": 8, "window": 32, "batch": 2, "steps": 6"#;

fn ask(lab: &mut Lab, request: &Value, blob: &[u8]) -> Result<Answer, Failure> {
    lab.ask(request.to_string().as_bytes(), blob.to_vec())
}

fn answer(lab: &mut Lab, request: Value) -> Value {
    ask(lab, &request, b"").unwrap().json
}

fn small(more: &str) -> Value {
    serde_json::from_str(&format!("{{\"do\": \"make\", {SMALL}{more}}}")).unwrap()
}

fn with_small() -> Lab {
    let mut lab = Lab::default();
    answer(&mut lab, small(""));
    lab
}

fn text() -> Vec<u8> {
    b"the cat sat on the mat, and the dog sat on the cat. ".repeat(40)
}

fn losses(answer: &Value) -> Vec<f32> {
    answer["losses"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect()
}

#[test]
fn a_run_is_made_described_and_dropped() {
    let mut lab = Lab::default();
    let made = answer(&mut lab, small(r#", "run": 3"#));
    for (key, want) in [
        ("heads", json!(2)),
        ("layers", json!(1)),
        ("width", json!(8)),
        ("window", json!(32)),
        ("vocabulary", json!(256)),
        ("data", json!("stories")),
        ("step", json!(0)),
        ("steps", json!(6)),
        ("attention", json!("multi-head")),
        ("program", json!("train-gpt-mha")),
        ("tokens_per_step", json!(64)),
    ] {
        assert_eq!(made[key], want, "{key}");
    }
    assert!(made["train_tokens"].as_u64() > made["validation_tokens"].as_u64());
    assert_eq!(answer(&mut lab, json!({ "do": "describe", "run": 3 })), made);
    assert_eq!(answer(&mut lab, json!({ "do": "drop", "run": 3 }))["dropped"], true);
    let gone = ask(&mut lab, &json!({ "do": "describe", "run": 3 }), b"").unwrap_err();
    assert_eq!(gone.code, Code::Run);
    let single = answer(&mut lab, small(r#", "run": 1, "heads": 1"#).clone());
    assert_eq!(single["attention"], "single-head");
}

#[test]
fn steps_are_counted_and_end() {
    let mut lab = with_small();
    let first = answer(&mut lab, json!({ "do": "step", "n": 4 }));
    assert_eq!(
        (losses(&first).len(), &first["done"], &first["tokens"]),
        (4, &json!(false), &json!(256))
    );
    let last = answer(&mut lab, json!({ "do": "step", "n": 4 }));
    assert_eq!((losses(&last).len(), &last["done"], &last["step"]), (2, &json!(true), &json!(6)));
    assert!(losses(&answer(&mut lab, json!({ "do": "step" }))).is_empty());
    assert_eq!(answer(&mut lab, json!({ "do": "more", "steps": 3 }))["steps"], 9);
    assert_eq!(losses(&answer(&mut lab, json!({ "do": "step", "n": 9 }))).len(), 3);
}

/// Runs side by side do not see each other.
#[test]
fn runs_race() {
    let mut lab = with_small();
    answer(&mut lab, small(r#", "run": 1"#));
    answer(&mut lab, small(r#", "run": 2, "seed": 7"#));
    let mut all = [const { Vec::new() }; 3];
    for _ in 0..3 {
        for (run, of) in all.iter_mut().enumerate() {
            of.extend(losses(&answer(&mut lab, json!({ "do": "step", "run": run, "n": 2 }))));
        }
    }
    assert_eq!(all[0], all[1]);
    assert_ne!(all[0], all[2]);
}

/// A measurement in slices is the one in a single call, and that of core.
#[test]
fn a_measurement_is_the_same_in_slices() {
    let mut lab = Lab::default();
    answer(&mut lab, small(r#", "window": 128"#));
    answer(&mut lab, json!({ "do": "step", "n": 2 }));
    let whole = answer(&mut lab, json!({ "do": "measure", "tokens": 2000 }));
    let mut parts = Vec::new();
    let sliced = loop {
        let request = json!({ "do": "measure", "tokens": 2000, "slice": 4 });
        let found = answer(&mut lab, request);
        // Training goes on between; what is measured stays.
        answer(&mut lab, json!({ "do": "step", "n": 1 }));
        match found["done"].as_bool() {
            Some(true) => break found,
            _ => parts.push(found["part"].as_f64().unwrap()),
        }
    };
    assert_eq!(sliced, whole);
    assert!(parts.len() > 1 && parts.is_sorted());
    let kinds = whole["facts"].as_array().unwrap();
    let sum = |key: &str| kinds.iter().map(|kind| kind[key].as_u64().unwrap()).sum::<u64>();
    assert!(kinds.len() > 4 && sum("of") > sum("frequent") && sum("of") > sum("last"));
    assert_eq!(whole["facts_share"].as_f64().unwrap(), sum("right") as f64 / sum("of") as f64);
    let floor = whole["floor"].as_f64().unwrap();
    assert!(floor > 0.0 && floor < whole["validation_loss"].as_f64().unwrap());
    let later = answer(&mut lab, json!({ "do": "measure", "tokens": 2000 }));
    assert_ne!(later["validation_loss"], whole["validation_loss"]);
}

#[test]
fn text_is_written_and_read() {
    let mut lab = with_small();
    let written = answer(&mut lab, json!({ "do": "write", "prompt": "Ann", "tokens": 5 }));
    assert_eq!(
        (&written["prompt"], written["tokens"].as_array().unwrap().len()),
        (&json!("Ann"), 5)
    );
    let again =
        json!({ "do": "write", "prompt": "Ann", "tokens": 5, "temperature": 0.8, "seed": 1 });
    assert_eq!(answer(&mut lab, again), written);
    let opening = answer(&mut lab, json!({ "do": "write", "tokens": 0 }));
    assert_eq!(opening["prompt"], answer(&mut lab, json!({ "do": "describe" }))["opening"]);

    let shown = ask(&mut lab, &json!({ "do": "attention", "text": "Ann é" }), b"").unwrap();
    assert_eq!(shown.json["tokens"], json!(["A", "n", "n", " ", "\\xc3", "\\xa9"]));
    let weights: Vec<f32> =
        shown.blob.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    assert_eq!(weights.len(), 2 * 6 * 6); // one layer, two heads
    for (i, row) in weights.chunks(6).enumerate() {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!(row[i % 6 + 1..].iter().all(|&p| p == 0.0));
    }
    // Of a long text the last that the model can read.
    let long = answer(&mut lab, json!({ "do": "attention", "text": "x".repeat(40) }));
    assert_eq!((&long["t"], &long["from"]), (&json!(32), &json!(8)));
}

#[test]
fn moments_are_remembered() {
    let mut lab = with_small();
    let map = |lab: &mut Lab, moment: Option<u64>| {
        let mut request = json!({ "do": "attention", "text": "Ann met Bob" });
        if let Some(moment) = moment {
            request["moment"] = json!(moment);
        }
        ask(lab, &request, b"").unwrap().blob
    };
    let first = map(&mut lab, None);
    assert_eq!(answer(&mut lab, json!({ "do": "remember" })), json!({ "moment": 0, "step": 0 }));
    answer(&mut lab, json!({ "do": "step", "n": 6 }));
    answer(&mut lab, json!({ "do": "remember" }));
    assert_ne!(map(&mut lab, None), first);
    assert_eq!(map(&mut lab, Some(0)), first);
    let moments = answer(&mut lab, json!({ "do": "moments" }))["moments"].clone();
    assert_eq!(moments, json!([{ "moment": 0, "step": 0 }, { "moment": 6, "step": 6 }]));
    let roles = |lab: &mut Lab, moment: u64| {
        answer(lab, json!({ "do": "roles", "moment": moment, "tokens": 500 }))
    };
    let (now, then) = (roles(&mut lab, 6), roles(&mut lab, 0));
    assert_eq!(now["heads"].as_array().unwrap().len(), 2);
    assert_ne!(now["heads"], then["heads"]);
    assert_eq!(now["even"], then["even"]);
    answer(&mut lab, json!({ "do": "forget", "moment": 0 }));
    let gone = ask(&mut lab, &json!({ "do": "forget", "moment": 0 }), b"").unwrap_err();
    assert_eq!(gone.code, Code::Run);
}

/// What comes next, which letters are alike, what the MLPs ask: as the libraries say of the saved model.
#[test]
fn what_is_inside_is_what_the_libraries_find() {
    let mut lab = with_small();
    answer(&mut lab, json!({ "do": "remember" }));
    answer(&mut lab, json!({ "do": "step", "n": 3 }));
    let file = ask(&mut lab, &json!({ "do": "save" }), b"").unwrap().blob;
    let checkpoint = Checkpoint::from_bytes("page", &file).unwrap();
    let attention = MultiHead::from_spec(&checkpoint.meta.attention).unwrap();
    let model = checkpoint.into_trainer(Arc::new(attention)).unwrap().model;
    let text = b"Ann met Bob".map(u32::from);

    let request = json!({ "do": "next", "text": "Ann met Bob", "choices": ["Bob", "."] });
    let next = answer(&mut lab, request.clone());
    let logits = model.logits(&text, [1, 11]).unwrap();
    let scores: Vec<f64> = logits.data()[10 * 256..].iter().map(|&x| f64::from(x).exp()).collect();
    let share = |token: usize| scores[token] / scores.iter().sum::<f64>();
    assert_eq!(next["pieces"], 256);
    for (choice, byte) in next["choices"].as_array().unwrap().iter().zip(*b"B.") {
        assert_eq!(
            (&choice["token"], &choice["piece"]),
            (&json!(byte), &json!(char::from(byte).to_string()))
        );
        assert!((choice["share"].as_f64().unwrap() - share(byte.into())).abs() < 1e-5, "{choice}");
    }
    let likeliest = next["likeliest"].as_array().unwrap();
    let most = (0..256).map(share).fold(0.0, f64::max);
    assert!((likeliest[0]["share"].as_f64().unwrap() - most).abs() < 1e-5);
    let mut before = request;
    before["moment"] = json!(0);
    assert_ne!(answer(&mut lab, before), next);

    let alike = answer(&mut lab, json!({ "do": "embedding", "token": b'e' }));
    let shown = alike["tokens"].as_array().unwrap();
    let tokens: Vec<u32> = shown.iter().map(|of| of["token"].as_u64().unwrap() as u32).collect();
    let told = llm_stories::StoryCorpus::new(1, 0..2000).data.tokens(0, 65_536).unwrap();
    let count = |token: u32| told.iter().filter(|&&of| of == token).count();
    assert!(
        tokens.is_sorted_by_key(|&token| std::cmp::Reverse(count(token))) && count(tokens[0]) > 0
    );
    assert!(told.iter().all(|token| tokens.contains(token)));
    let rows = Embeddings::new(&model, tokens.clone()).unwrap();
    let map = rows.flat_map();
    assert_eq!((&alike["shares"], &alike["width"]), (&json!(map.shares), &json!(8)));
    assert_eq!(shown[3]["at"], json!(map.points[3]));
    let e = tokens.iter().position(|&token| token == u32::from(b'e')).unwrap();
    let (token, cosine) = rows.nearest(e, 1)[0];
    let nearest = &alike["nearest"][0];
    assert_eq!((&nearest["token"], &nearest["cosine"]), (&json!(token), &json!(cosine)));
    let other = answer(&mut lab, json!({ "do": "embedding", "token": 255 }));
    assert_eq!(other["token"], tokens[0]);

    let units = hidden_units(&model, &text).unwrap();
    let fires = answer(&mut lab, json!({ "do": "hidden", "text": "Ann met Bob", "token": 4 }));
    let (unit, value) = units.strongest(0, 4, 1)[0];
    assert_eq!(fires["strongest"][0], json!({ "unit": unit, "value": value }));
    assert_eq!(
        (&fires["unit"], &fires["units"], &fires["layer"]),
        (&json!(unit), &json!(32), &json!(0))
    );
    assert_eq!(fires["values"], json!(units.of_unit(0, unit)));
    let wild =
        json!({ "do": "hidden", "text": "x".repeat(40), "layer": 9, "token": 99, "unit": 99 });
    let wild = answer(&mut lab, wild);
    let seen = ["layer", "token", "unit", "from"].map(|key| wild[key].as_u64().unwrap());
    assert_eq!(seen, [0, 31, 31, 8]);
}

/// Two stories, what their parts carry, and what would be said after each block: as the lens says.
#[test]
fn parts_of_twins_change_places() {
    let mut lab = Lab::default();
    answer(&mut lab, small(r#", "layers": 2, "width": 16, "window": 256"#));
    answer(&mut lab, json!({ "do": "remember" }));
    answer(&mut lab, json!({ "do": "step", "n": 5 }));
    let file = ask(&mut lab, &json!({ "do": "save" }), b"").unwrap().blob;
    let checkpoint = Checkpoint::from_bytes("page", &file).unwrap();
    let attention = MultiHead::from_spec(&checkpoint.meta.attention).unwrap();
    let model = checkpoint.into_trainer(Arc::new(attention)).unwrap().model;
    let twins = answer(&mut lab, json!({ "do": "twins", "kind": "receiver", "pair": 3 }));
    assert_ne!(answer(&mut lab, json!({ "do": "twins", "kind": "receiver" })), twins);
    let tokens = |i: usize| -> Vec<u32> {
        let pieces = twins["texts"][i].as_array().unwrap().iter();
        pieces.map(|piece| u32::from(piece.as_str().unwrap().as_bytes()[0])).collect()
    };
    let letter = |i: usize| u32::from(twins["right"][i].as_str().unwrap().as_bytes()[0]);
    let pair = Pair { clean: tokens(0), other: tokens(1), answers: [letter(0), letter(1)] };
    let seen = ["kind", "changed", "layers", "heads"].map(|key| &twins[key]);
    assert_eq!(seen, [&json!("receiver"), &json!(pair.changed()), &json!(2), &json!(2)]);
    let from = (1, 20_000 + 3 * 40); // behind all stories of the run
    let known = twin_pairs(from, FactKind::Receiver, &ByteTokenizer, 244, 1);
    assert_eq!(Some(&pair), known.first());
    let reading = Reading::new(&model, &pair).unwrap();
    assert_eq!(twins["knows"], reading.is_right());

    let parts = Part::all(&model).into_iter().filter(|part| part.at == At::Last);
    let parts: Vec<Part> =
        parts.filter(|part| matches!(part.what, What::Head(_) | What::Mlp)).collect();
    let moved = |part: &Part| match part.what {
        What::Head(head) => json!({ "layer": part.layer, "head": head }),
        _ => json!({ "layer": part.layer }),
    };
    let patch = |lab: &mut Lab, more: Value| {
        let mut request = json!({ "do": "patch", "kind": "receiver", "pair": 3 });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answer(lab, request)
    };
    for (part, share) in parts.iter().zip(reading.shares(&parts).unwrap()) {
        let one = [moved(part)];
        let into = patch(&mut lab, json!({ "moved": one }))["carried"].as_f64().unwrap();
        // What is put into the twin from the story is what taking it out leaves of the difference.
        let back =
            patch(&mut lab, json!({ "moved": one, "into": "twin" }))["carried"].as_f64().unwrap();
        assert!((into - share.put_in).abs() < 1e-4, "{part:?}: {into} {share:?}");
        assert!((back - share.taken_out).abs() < 1e-4, "{part:?}: {back} {share:?}");
    }
    // All together at the end are all that the answer is made of, as the last letter is the same.
    let all: Vec<Value> = parts.iter().map(moved).collect();
    let whole = patch(&mut lab, json!({ "moved": all }));
    assert!((whole["carried"].as_f64().unwrap() - 1.0).abs() < 1e-4, "{whole}");
    assert_eq!(
        (&whole["piece"], &whole["token"]),
        (&twins["says"][1]["piece"], &twins["says"][1]["token"])
    );
    let none = patch(&mut lab, json!({}));
    assert_eq!((&none["word"], none["carried"].as_f64()), (&twins["says"][0]["word"], Some(0.0)));
    let everywhere = patch(&mut lab, json!({ "moved": [all[0]], "at": "all" }));
    assert_ne!(everywhere["carried"], patch(&mut lab, json!({ "moved": [all[0]] }))["carried"]);
    // Before the first step nothing reaches the answer: there is no difference that could be shared.
    let before = patch(&mut lab, json!({ "moment": 0, "moved": all[..1] }));
    assert!(before["share"] != none["share"] && before["carried"].is_null(), "{before}");

    let lens = answer(&mut lab, json!({ "do": "lens", "text": "Ann met Bob", "last": 4 }));
    let said = llm_lens::logit_lens(&model, &b"Ann met Bob".map(u32::from)).unwrap();
    assert_eq!((&lens["from"], &lens["tokens"]), (&json!(7), &json!([" ", "B", "o", "b"])));
    let rows = lens["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for (row, said) in rows.iter().zip(said) {
        let (token, share) = (said[8].token, said[8].p);
        assert_eq!((&row[1]["token"], &row[1]["share"]), (&json!(token), &json!(share)));
    }

    for (moved, needle, zh) in [
        (json!({ "layer": 2 }), "no layer 2", "没有第 2 层"),
        (json!({ "layer": 1, "head": 2 }), "layer 1 of this model has no head 2", "没有头 2"),
    ] {
        let refused = ask(&mut lab, &json!({ "do": "patch", "moved": [moved] }), b"").unwrap_err();
        assert!(refused.code == Code::Setting && refused.en.contains(needle), "{refused}");
        assert!(refused.zh.contains(zh), "{}", refused.zh);
    }
    let make = small(r#", "data": "text", "name": "cats.txt", "run": 1"#);
    ask(&mut lab, &make, &text()).unwrap();
    let refused = ask(&mut lab, &json!({ "do": "twins", "run": 1 }), b"").unwrap_err();
    assert!(refused.code == Code::Data && refused.en.contains("has not learned"), "{refused}");
}

/// A file of the page is a run of the libraries, and goes on as the page does.
#[test]
fn a_saved_run_goes_on_elsewhere_and_here() {
    let mut lab = with_small();
    answer(&mut lab, json!({ "do": "step", "n": 3 }));
    let file = ask(&mut lab, &json!({ "do": "save" }), b"").unwrap().blob;
    let checkpoint = Checkpoint::from_bytes("page", &file).unwrap();
    let attention = MultiHead::from_spec(&checkpoint.meta.attention).unwrap();
    let mut trainer = checkpoint.into_trainer(Arc::new(attention)).unwrap();
    assert_eq!(trainer.step, 3);
    let corpus = llm_stories::StoryCorpus::new(1, 0..18_000);
    let elsewhere: Vec<f32> = (0..3).map(|_| trainer.step(&corpus.data).unwrap().loss).collect();

    let load = json!({ "do": "load", "run": 1, "name": "x.ckpt" });
    let loaded = ask(&mut lab, &load, &file).unwrap().json;
    let facts = [&loaded["step"], &loaded["name"], &loaded["optimizer"], &loaded["has_data"]];
    assert_eq!(facts, [&json!(3), &json!("x.ckpt"), &json!(true), &json!(true)]);
    let here = losses(&answer(&mut lab, json!({ "do": "step", "n": 3 })));
    let there = losses(&answer(&mut lab, json!({ "do": "step", "run": 1, "n": 3 })));
    assert_eq!((&here, &there), (&elsewhere, &elsewhere));

    let unseen = llm_stories::StoryCorpus::new(1, 18_000..20_000).data;
    let windows = unseen.windows(32).evenly_spaced(3000);
    let found = evaluate(&trainer.model, &unseen, &windows, 2, |_| ControlFlow::Continue(()));
    let measured = answer(&mut lab, json!({ "do": "measure", "tokens": 3000 }));
    assert_eq!(measured["validation_loss"].as_f64().unwrap(), found.unwrap().loss);
}

#[test]
fn a_text_is_learned_and_has_to_be_there() {
    let mut lab = Lab::default();
    let make = small(r#", "data": "text", "name": "cats.txt""#);
    let made = ask(&mut lab, &make, &text()).unwrap().json;
    assert_eq!((&made["data"], &made["opening"]), (&json!("text"), &Value::Null));
    answer(&mut lab, json!({ "do": "step", "n": 2 }));
    let found = answer(&mut lab, json!({ "do": "measure" }));
    assert!(found["facts"].is_null() && found["validation_loss"].as_f64().unwrap() > 1.0);
    let file = ask(&mut lab, &json!({ "do": "save" }), b"").unwrap().blob;
    let then = losses(&answer(&mut lab, json!({ "do": "step", "n": 2 })));

    let load = json!({ "do": "load", "name": "cats.ckpt" });
    assert_eq!(ask(&mut lab, &load, &file).unwrap().json["has_data"], false);
    for request in [json!({ "do": "step" }), json!({ "do": "measure" }), json!({ "do": "roles" })] {
        assert_eq!(ask(&mut lab, &request, b"").unwrap_err().code, Code::Data);
    }
    let other = b"another text, which nobody has learned. ".repeat(40);
    let give = |change: bool| json!({ "do": "text", "name": "other.txt", "change": change });
    assert_eq!(ask(&mut lab, &give(false), &other).unwrap_err().code, Code::Data);
    let mut marked = b"\xEF\xBB\xBF".to_vec(); // some programs write it before a text
    marked.extend(text());
    ask(&mut lab, &give(false), &marked).unwrap();
    assert_eq!(losses(&answer(&mut lab, json!({ "do": "step", "n": 2 }))), then);
    ask(&mut lab, &give(true), &other).unwrap();
    answer(&mut lab, json!({ "do": "step" }));
}

#[test]
fn a_text_is_taken_out_of_its_encoding_and_what_it_is_said() {
    let mut lab = Lab::default();
    let make = |name: &str| small(&format!(r#", "data": "text", "name": "{name}""#));
    let plain = ask(&mut lab, &make("a.txt"), &text()).unwrap().json;
    let units: Vec<u16> = String::from_utf8(text()).unwrap().encode_utf16().collect();
    let little = units.iter().flat_map(|unit| unit.to_le_bytes());
    let marked = [0xFF, 0xFE].into_iter().chain(little.clone()).collect::<Vec<u8>>();
    let big = [0xFE, 0xFF].into_iter().chain(units.iter().flat_map(|unit| unit.to_be_bytes()));
    for bytes in [marked, big.collect(), little.collect()] {
        let made = ask(&mut lab, &make("a.txt"), &bytes).unwrap().json;
        assert_eq!(made["train_tokens"], plain["train_tokens"]);
        let label = made["label"]["en"].as_str().unwrap();
        assert!(label.contains("converted from UTF-16"), "{label}");
        assert!(made["label"]["zh"].as_str().unwrap().contains("UTF-16"));
    }
    for (name, line, said) in [
        ("a.txt", "{\"text\": \"the cat sat\"}\n", "JSON lines"),
        ("a.json", "[{\n\"text\": \"the cat sat\"},\n", "JSON"),
        ("a.csv", "id,text\n1,the cat sat\n", "a table"),
    ] {
        let made = ask(&mut lab, &make(name), line.repeat(60).as_bytes()).unwrap().json;
        let label = made["label"]["en"].as_str().unwrap();
        assert!(label.contains(said), "{name}: {label}");
    }
    assert_eq!(answer(&mut lab, small("")).get("label"), None);
}

#[test]
fn conversations_are_for_the_programs() {
    let turns = r#"[{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2."}]"#;
    let lines = format!("{{\"messages\": {turns}}}\n").repeat(60);
    let mut lab = with_small();
    let refused = |lab: &mut Lab, request: &Value| {
        let refused = ask(lab, request, lines.as_bytes()).unwrap_err();
        assert_eq!(refused.code, Code::Data);
        assert!(refused.en.contains("'a.jsonl' holds conversations"), "{refused}");
        assert!(refused.en.contains("train-gpt-modern learns such a file"), "{refused}");
        assert!(!refused.en.contains("cargo") && refused.zh.contains("对话"), "{}", refused.zh);
    };
    refused(&mut lab, &small(r#", "data": "text", "name": "a.jsonl""#));
    refused(&mut lab, &json!({ "do": "text", "name": "a.jsonl", "change": true }));
}

/// GPT-2's options, heads that are switched off, no optimizer.
#[test]
fn models_of_all_programs_that_have_these_heads_are_opened() {
    let recipe = Recipe::new([2, 8], 10, 1e-3);
    let saved = |model: TinyGPT| {
        let trainer = Trainer::new(model, recipe.clone()).unwrap();
        let bytes = TokenizerSpec::bytes();
        to_bytes(&trainer, &bytes, false).unwrap()
    };
    let gpt2 = Config::gpt2(256, 8, 8, 2);
    let off = MultiHead::with_head_mask(2, vec![true, false, true, true]);
    let pruned = TinyGPT::with_attention(gpt2, Arc::new(off), 1).unwrap();
    let single =
        TinyGPT::with_attention(Config::new(256, 8, 8, 2), Arc::new(SingleHead), 1).unwrap();
    let mut lab = Lab::default();
    let load = json!({ "do": "load" });
    let opened = ask(&mut lab, &load, &saved(pruned)).unwrap().json;
    assert_eq!((&opened["arch"], &opened["heads_off"]), (&json!("gpt2"), &json!([[0, 1]])));
    assert_eq!((&opened["optimizer"], &opened["data"]), (&json!(false), &json!("none")));
    answer(&mut lab, json!({ "do": "write", "prompt": "a", "tokens": 12 }));
    let opened = ask(&mut lab, &load, &saved(single)).unwrap().json;
    assert_eq!((&opened["program"], &opened["arch"]), (&json!("train-gpt"), &json!("baseline")));
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_lost() {
    let mut lab = with_small();
    let file = ask(&mut lab, &json!({ "do": "save" }), b"").unwrap().blob;
    let mut damaged = file.clone();
    damaged[file.len() / 2] ^= 1;
    let requests: [(Value, &[u8], Code, &str); 39] = [
        (json!(7), b"", Code::Request, "no request"),
        (json!({}), b"", Code::Request, "'do' is no name"),
        (json!({ "do": "dance" }), b"", Code::Request, "no request 'dance'"),
        (json!({ "do": "step", "run": "x" }), b"", Code::Request, "'run' is no number"),
        (json!({ "do": "step", "n": -1 }), b"", Code::Request, "no request 'step'"),
        (json!({ "do": "step", "m": 1 }), b"", Code::Request, "unknown field `m`"),
        (json!({ "do": "drop", "n": 1 }), b"", Code::Request, "unknown field `n`"),
        (json!({ "do": "more" }), b"", Code::Request, "missing field `steps`"),
        (json!({ "do": "step", "run": 9 }), b"", Code::Run, "no run 9"),
        (json!({ "do": "make", "heads": 0 }), b"", Code::Setting, "heads"),
        (json!({ "do": "make", "heads": 3 }), b"", Code::Setting, "valid values: 1, 2, 4"),
        (json!({ "do": "make", "width": 0 }), b"", Code::Setting, "d_model"),
        (json!({ "do": "make", "layers": 10_000 }), b"", Code::Setting, "n_layers"),
        (json!({ "do": "make", "window": 0 }), b"", Code::Setting, "seq_len"),
        (json!({ "do": "make", "batch": 0 }), b"", Code::Setting, "batch_size"),
        (json!({ "do": "make", "rate": 0.0 }), b"", Code::Setting, "lr"),
        (json!({ "do": "make", "width": 16_384, "layers": 512 }), b"", Code::Memory, "memory"),
        (json!({ "do": "make", "data": "text" }), b"", Code::Data, "is empty"),
        (json!({ "do": "make", "data": "text" }), b"short", Code::Data, "has 5 tokens"),
        (json!({ "do": "make", "data": "text" }), b"PK\x03\x04", Code::Data, "a zip archive"),
        (json!({ "do": "make", "data": "text" }), &[0; 99], Code::Data, "100 % of its first"),
        (json!({ "do": "make", "data": "text" }), &file, Code::Data, "a checkpoint"),
        (json!({ "do": "load" }), b"", Code::Checkpoint, "too short"),
        (json!({ "do": "load", "name": "a\n" }), &damaged, Code::Checkpoint, "checksum mismatch"),
        (json!({ "do": "load" }), &text(), Code::Checkpoint, "not a checkpoint"),
        (json!({ "do": "load" }), &file[..file.len() - 1], Code::Checkpoint, "header says"),
        (json!({ "do": "write", "prompt": "" }), b"", Code::Text, "the text is empty"),
        (json!({ "do": "write", "temperature": -1.0 }), b"", Code::Setting, "temperature"),
        (json!({ "do": "write", "tokens": 1u64 << 40 }), b"", Code::Setting, "tokens"),
        (json!({ "do": "attention" }), b"", Code::Text, "the text is empty"),
        (json!({ "do": "next" }), b"", Code::Text, "the text is empty"),
        (json!({ "do": "next", "text": "a", "choices": [""] }), b"", Code::Text, "is empty"),
        (json!({ "do": "hidden" }), b"", Code::Text, "the text is empty"),
        (json!({ "do": "embedding", "moment": 7 }), b"", Code::Run, "no moment of step 7"),
        (json!({ "do": "twins", "kind": "who" }), b"", Code::Setting, "no facts of kind 'who'"),
        (json!({ "do": "twins" }), b"", Code::Data, "no pair 0 of kind 'other-person' fits"),
        (json!({ "do": "patch", "pair": u64::MAX }), b"", Code::Data, "fits into this model"),
        (json!({ "do": "patch", "into": "both" }), b"", Code::Request, "unknown variant `both`"),
        (json!({ "do": "lens" }), b"", Code::Text, "the text is empty"),
    ];
    let before = answer(&mut lab, json!({ "do": "describe" }));
    for (request, blob, code, needle) in requests {
        let refused = ask(&mut lab, &request, blob).unwrap_err();
        assert_eq!(refused.code, code, "{request}: {refused}");
        assert!(refused.en.contains(needle) && !refused.en.contains('\n'), "{request}: {refused}");
        assert_eq!(answer(&mut lab, json!({ "do": "describe" })), before);
    }
    assert_eq!(lab.ask(b"{", Vec::new()).unwrap_err().code, Code::Request);
    let json = lab.ask(b"{}", Vec::new()).unwrap_err().json();
    assert_eq!(json["error"]["code"], "request");
}

#[test]
fn an_attention_of_another_program_is_named() {
    let bytes = TokenizerSpec::bytes();
    // An attention that calls itself otherwise, through the library's own door.
    let other = TinyGPT::with_attention(Config::new(256, 8, 8, 1), Arc::new(Other), 1).unwrap();
    let trainer = Trainer::new(other, Recipe::new([2, 8], 10, 1e-3)).unwrap();
    let file = to_bytes(&trainer, &bytes, false).unwrap();
    let refused = ask(&mut Lab::default(), &json!({ "do": "load" }), &file).unwrap_err();
    assert_eq!(refused.code, Code::Attention);
    assert!(refused.en.contains("'other' attention"), "{refused}");
}

/// The baseline under another name.
struct Other;

impl llm_core::Attention for Other {
    fn spec(&self) -> llm_core::AttentionSpec {
        llm_core::AttentionSpec::new("other", 1)
    }
    fn check(&self, config: &Config) -> llm_core::Result<()> {
        SingleHead.check(config)
    }
    fn forward(
        &self,
        x: &llm_core::Tensor,
        p: &llm_core::model::Parameters,
        ctx: &llm_core::model::Context<'_>,
    ) -> llm_core::Result<llm_core::Tensor> {
        SingleHead.forward(x, p, ctx)
    }
}

/// The rooms of an answer's `writes`, each with its numbers from the blob.
fn written(answer: &Answer) -> Vec<(u64, Vec<u32>)> {
    let mut words = answer.blob.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap()));
    let rooms = answer.json["writes"].as_array().unwrap().iter().map(|of| {
        let [room, numbers] = [0, 1].map(|i| of[i].as_u64().unwrap());
        (room, words.by_ref().take(numbers as usize).collect())
    });
    let rooms = rooms.collect();
    assert_eq!(words.next(), None);
    rooms
}

#[test]
fn a_step_is_data_for_a_gpu() {
    let mut lab = with_small();
    let early = ask(&mut lab, &json!({ "do": "weights" }), b"").unwrap_err();
    assert_eq!(early.code, Code::Request, "before the list");
    let list = ask(&mut lab, &json!({ "do": "list" }), b"").unwrap();
    let (json, count) = (&list.json, |key: &str| list.json[key].as_array().unwrap().len() as u64);
    for call in json["calls"].as_array().unwrap() {
        assert!(call[0].as_u64().unwrap() < count("kernels"));
        let rooms = call[2].as_array().unwrap();
        assert!(rooms.iter().all(|room| room.as_u64().unwrap() < count("rooms")));
    }
    for kernel in json["kernels"].as_array().unwrap() {
        let text = kernel[1]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| json["texts"][i.as_u64().unwrap() as usize].as_str().unwrap())
            .collect::<String>();
        assert!(text.contains(&format!("fn {}(", kernel[0].as_str().unwrap())));
    }
    for room in json["rooms"].as_array().unwrap() {
        let size = &json["buffers"][room[0].as_u64().unwrap() as usize];
        assert!(room[1].as_u64() <= size.as_u64());
    }
    // The parts follow one another up to the last call.
    let mut end = 0;
    for part in ["gradient", "sum", "norm", "clip", "update"] {
        assert_eq!(json["parts"][part][0], end, "{part}");
        end = json["parts"][part][1].as_u64().unwrap();
    }
    assert_eq!(end, count("calls"));
    written(&list);
    let batch = ask(&mut lab, &json!({ "do": "batch", "step": 3 }), b"").unwrap();
    let tokens = written(&batch)[0].1.clone();
    assert_eq!(tokens.len(), 64);
    // Those of the step when it is the next.
    answer(&mut lab, json!({ "do": "step", "n": 3 }));
    let next = ask(&mut lab, &json!({ "do": "batch", "step": 3 }), b"").unwrap();
    assert_eq!((&next.blob, &next.json), (&batch.blob, &batch.json));
    for (request, what) in [
        (json!({ "do": "batch", "step": 2 }), "that is done"),
        (json!({ "do": "batch", "step": 6 }), "beyond the last"),
        (json!({ "do": "batch", "step": 3, "micro": 1 }), "no such micro-batch"),
        (json!({ "do": "batch" }), "no step"),
    ] {
        assert_eq!(ask(&mut lab, &request, b"").unwrap_err().code, Code::Request, "{what}");
    }
}

#[test]
fn weights_go_to_a_gpu_and_come_back() {
    let mut lab = with_small();
    answer(&mut lab, json!({ "do": "step", "n": 2 }));
    let saved = |lab: &mut Lab| ask(lab, &json!({ "do": "save" }), b"").unwrap().blob;
    let before = saved(&mut lab);
    let state = answer(&mut lab, json!({ "do": "list" }))["state"].clone();
    let there = ask(&mut lab, &json!({ "do": "weights" }), b"").unwrap();
    let rooms: Vec<_> = written(&there).into_iter().map(|(room, _)| json!(room)).collect();
    assert_eq!(json!(rooms), state);
    let back = |lab: &mut Lab, step: u64, blob: &[u8]| {
        ask(lab, &json!({ "do": "back", "step": step }), blob)
    };
    let mut bad = there.blob.clone();
    bad[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    for (step, blob, code) in [
        (1, &there.blob, Code::Request),
        (7, &there.blob, Code::Request),
        (3, &there.blob[4..].to_vec(), Code::Request),
        (3, &bad, Code::Diverged),
    ] {
        assert_eq!(back(&mut lab, step, blob).unwrap_err().code, code, "step {step}");
    }
    assert_eq!(back(&mut lab, 2, &there.blob).unwrap().json["step"], 2);
    assert_eq!(saved(&mut lab), before, "as they were");
    // Other weights, two updates later.
    let halved = |word: &[u8]| (f32::from_le_bytes(word.try_into().unwrap()) / 2.0).to_le_bytes();
    let half: Vec<u8> = there.blob.chunks_exact(4).flat_map(halved).collect();
    assert_eq!(back(&mut lab, 4, &half).unwrap().json, json!({ "step": 4, "steps": 6 }));
    let file = saved(&mut lab);
    let [old, new] = [&before, &file].map(|file| {
        let checkpoint = Checkpoint::from_bytes("one", file).unwrap();
        checkpoint.into_trainer(Arc::new(MultiHead::new(2))).unwrap()
    });
    assert_eq!((old.step, new.step), (2, 4));
    assert_eq!((old.optimizer.state().t, new.optimizer.state().t), (2, 4));
    for ((_, old), (_, new)) in old.model.parameters().zip(new.model.parameters()) {
        assert!(old.data().iter().zip(new.data()).all(|(old, new)| old / 2.0 == *new));
    }
    answer(&mut lab, json!({ "do": "step", "n": 2 }));
}

/// A file of the terminal may have what the page cannot ask for: several micro-batches, products in bf16.
#[test]
fn what_a_file_trains_with_is_in_the_list_or_refused() {
    let mut lab = with_small();
    let file = ask(&mut lab, &json!({ "do": "save" }), b"").unwrap().blob;
    let with = |change: fn(&mut Recipe)| {
        let checkpoint = Checkpoint::from_bytes("page", &file).unwrap();
        let mut trainer = checkpoint.into_trainer(Arc::new(MultiHead::new(2))).unwrap();
        change(&mut trainer.recipe);
        to_bytes(&trainer, &TokenizerSpec::bytes(), true).unwrap()
    };
    let load = json!({ "do": "load" });
    ask(&mut lab, &load, &with(|recipe| recipe.accum = 2)).unwrap();
    assert_eq!(answer(&mut lab, json!({ "do": "list" }))["micro_batches"], 2);
    let [first, last] = [0, 1].map(|micro| {
        let batch = json!({ "do": "batch", "step": 0, "micro": micro });
        written(&ask(&mut lab, &batch, b"").unwrap())
    });
    assert_eq!(first.len() + 1, last.len(), "the update's numbers come with the last");
    assert_ne!(first[0], last[0], "other tokens");

    ask(&mut lab, &load, &with(|recipe| recipe.matmul = Precision::Bf16)).unwrap();
    let refused = ask(&mut lab, &json!({ "do": "list" }), b"").unwrap_err();
    assert_eq!(refused.code, Code::Device);
    assert!(refused.en.contains("this model trains on the processor"), "{}", refused.en);
    assert!(refused.zh.contains("处理器"), "{}", refused.zh);
    answer(&mut lab, json!({ "do": "step" }));
}
