//! An adapter and its base in two places: brought together again, taken out, and back.

use crate::sandbox;
use workspace_tests::cli_support::Sandbox;

/// A base of random weights and one more of the same shapes, and an adapter that has learned beside the first.
fn taught() -> Sandbox {
    let sandbox = sandbox();
    for (name, seed) in [("base", "1"), ("other", "2")] {
        let words = ["--arch", "llama", "--kv-heads", "2", "--data", "text.txt", "--steps", "2"];
        sandbox.train(&[&words[..], &["--gen", "0", "--seed", seed, "--save", name]].concat());
    }
    let lora =
        ["--load", "base", "--data", "text.txt", "--lora", "2", "--steps", "8", "--lr", "0.02"];
    sandbox.ok(&[&lora[..], &["--gen", "0", "--save", "adapter"]].concat());
    sandbox
}

/// What a model thinks of the text, to the last digit.
fn text(sandbox: &Sandbox, of: &[&str]) -> String {
    sandbox.ok(&[&["eval", "--data", "text.txt", "--json"], of].concat()).events()[0]["val_loss"]
        .to_string()
}

#[test]
fn a_base_that_has_moved_is_named() {
    let sandbox = taught();
    let said = text(&sandbox, &["--load", "adapter"]);
    assert_ne!(said, text(&sandbox, &["--load", "base"]));
    std::fs::create_dir(sandbox.path("away")).unwrap();
    std::fs::rename(sandbox.path("base"), sandbox.path("away/base")).unwrap();
    sandbox.write("question", b"hello\n");
    let verbs: [&[&str]; 11] = [
        &["generate", "-p", "the", "-n", "9", "--load", "adapter"],
        &["eval", "--data", "text.txt", "--load", "adapter"],
        &["inspect", "model", "--load", "adapter"],
        &["inspect", "attention", "-p", "the cat", "--load", "adapter"],
        &["inspect", "heads", "--data", "text.txt", "--load", "adapter"],
        &["inspect", "prune", "--data", "text.txt", "--load", "adapter"],
        &["inspect", "lens", "-p", "the cat", "--load", "adapter"],
        &["trace", "-p", "a small text", "--load", "adapter"],
        &["export", "safetensors", "whole", "--load", "adapter"],
        &["export", "peft", "peft", "--load", "adapter"],
        &["--steps", "9", "--gen", "0", "--no-save", "--data", "text.txt", "--load", "adapter"],
    ];
    for verb in verbs {
        sandbox.refuses(verb, 65, &["adapter", "base", "name their file with --base"]);
        sandbox.refuses(&[verb, &["--base", "other"]].concat(), 65, &["its weights have"]);
        sandbox.ok(&[verb, &["--base", "away/base"]].concat());
    }
    assert_eq!(said, text(&sandbox, &["--load", "adapter", "--base", "away/base"]));
    for adapter in ["adapter", "peft"] {
        let beside = |base| ["--load", base, "--adapter", adapter];
        assert_eq!(said, text(&sandbox, &beside("away/base")));
        let words = [&["generate", "-n", "3"], &beside("other")[..]].concat();
        sandbox.refuses(&words, 65, &["BLAKE3"]);
        let words = [&["generate", "-n", "3"], &beside("adapter")[..]].concat();
        sandbox.refuses(&words, 65, &["adapter"]);
    }
    let serve = ["serve", "--port", "0", "--load", "adapter"];
    sandbox.refuses(&serve, 65, &["name their file with --base"]);
    let both = ["generate", "--load", "adapter", "--base", "away/base", "--adapter", "adapter"];
    sandbox.refuses(&both, 2, &["--adapter", "--base"]);
    sandbox.refuses(&["generate", "--load", "other", "--base", "base"], 65, &["no adapter"]);
    sandbox.refuses(&["trace", "--adapter", "adapter"], 2, &["--load"]);
}

/// Out to peft and back it is the same adapter, which goes on learning.
#[test]
fn an_adapter_goes_to_peft_and_comes_back() {
    let sandbox = taught();
    let said = text(&sandbox, &["--load", "adapter"]);
    sandbox.ok(&["export", "peft", "peft", "--load", "adapter"]).says(&["exported 'adapter' to"]);
    sandbox.refuses(&["export", "peft", "peft", "--load", "adapter"], 73, &["not empty"]);
    let import = |base, save| ["import", "peft", "peft", "--base", base, "--save", save];
    let done = sandbox.ok(&import("base", "again"));
    done.says(&["imported an adapter of", "saved checkpoint 'again' at step 0"]);
    assert!(!done.stderr.contains("not proven"), "{done}");
    assert_eq!(said, text(&sandbox, &["--load", "again"]));
    sandbox.refuses(&import("other", "wrong"), 65, &["adapter_model.safetensors", "BLAKE3"]);
    sandbox.refuses(&import("adapter", "wrong"), 65, &["merge"]);
    assert!(!sandbox.path("wrong").exists());
    sandbox.refuses(&["import", "peft", "peft", "--save", "x"], 2, &["--base"]);
    sandbox.refuses(&["import", "hf", "peft", "--save", "x"], 65, &["import peft"]);
    let hf = ["import", "hf", "peft", "--base", "base", "--save", "x"];
    sandbox.refuses(&hf, 2, &["--base is for import peft"]);
    let words =
        ["--load", "again", "--data", "text.txt", "--steps", "4", "--gen", "0", "--save", "more"];
    sandbox.ok(&words).says(&["adapter rank 2"]);
    assert_ne!(said, text(&sandbox, &["--load", "more"]));
    sandbox.ok(&["import", "peft", "peft", "--base", "base", "--save", "again"]);
    // Of what other programs wrote nothing says where it belongs.
    let bytes = sandbox.read("peft/adapter_model.safetensors");
    let unsaid = String::from_utf8_lossy(&bytes[..200]).replace("base_blake3", "base_BLAKE3");
    sandbox.write("peft/adapter_model.safetensors", &[unsaid.as_bytes(), &bytes[200..]].concat());
    let done = sandbox.ok(&import("base", "again"));
    done.says(&["the base is not proven"]);
    assert_eq!(said, text(&sandbox, &["--load", "again"]));
}

#[test]
fn an_adapter_for_llama_cpp_is_a_file_by_itself() {
    let sandbox = taught();
    let alone = ["export", "gguf", "a.gguf", "--adapter", "--load"];
    sandbox.ok(&[&alone[..], &["adapter"]].concat()).says(&["exported 'adapter' to 'a.gguf'"]);
    assert!(!sandbox.path("a.Modelfile").exists());
    sandbox.ok(&[&alone[..], &["adapter"]].concat());
    sandbox.refuses(&[&alone[..], &["base"]].concat(), 65, &["'base' has no adapter"]);
    sandbox.refuses(&["export", "peft", "p", "--load", "base"], 65, &["'base' has no adapter"]);
    sandbox.refuses(&["export", "hf", "h", "--adapter", "--load", "adapter"], 2, &["--adapter"]);
    sandbox.refuses(&["import", "gguf", "a.gguf", "--save", "x"], 65, &["it is an adapter"]);
    let whole = |kind, load| ["export", "gguf", "w.gguf", "--type", kind, "--load", load];
    sandbox.ok(&whole("q8_0", "adapter")).says(&["rounded to Q8_0", "of the adapter's change"]);
    for (kind, load) in [("f32", "adapter"), ("q8_0", "base")] {
        let done = sandbox.ok(&whole(kind, load));
        assert!(!done.stderr.contains("is kept"), "{done}");
    }
}

/// What is served is the model with its adapter, under the adapter's name.
#[cfg(unix)]
#[test]
fn an_adapter_is_served_beside_its_base() {
    use std::io::{Read, Write};
    let sandbox = taught();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = port.to_string();
    let ways: [&[&str]; 2] = [&["--load", "adapter"], &["--load", "base", "--adapter", "adapter"]];
    for way in ways {
        let greedy = ["generate", "-p", "a small", "-n", "12", "--temp", "0", "--json"];
        let said = sandbox.ok(&[&greedy[..], way].concat()).events()[0]["text"].clone();
        let mut run = sandbox.start(&[&["serve", "--port", &at], way].concat());
        run.wait_for("model adapter");
        let body =
            r#"{"model": "adapter", "prompt": "a small", "max_tokens": 12, "temperature": 0}"#;
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(
            stream,
            "POST /v1/completions HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        let json = all.split("\r\n\r\n").nth(1).unwrap();
        let answer: serde_json::Value = serde_json::from_str(json).unwrap();
        let text = answer["choices"][0]["text"].as_str().unwrap();
        assert!(said.as_str().unwrap().ends_with(text) && !text.is_empty(), "{said} {text}");
        run.signal("TERM");
        assert_eq!(run.end().code, Some(0));
    }
}
