//! Numbers for other programs: a row for every scored token, arrays for NumPy.

use super::sandbox;
use llm_core::checkpoint::Checkpoint;
use llm_core::{TinyGPT, TokenId, no_grad};
use llm_variant_mha::MultiHead;
use serde_json::Value;
use std::io::{Cursor, Read};
use std::sync::Arc;
use workspace_tests::cli_support::{Sandbox, some_text};
use zip::ZipArchive;

/// A model with a context of 16, and a text whose end has to be escaped.
fn trained(sandbox: &Sandbox) -> TinyGPT {
    sandbox.write("short.txt", &[&some_text(200)[..], "\t\\ é".as_bytes()].concat());
    let sizes = ["--seq", "16", "--dmodel", "16", "--layers", "2", "--heads", "2", "--batch", "2"];
    let words = ["--data", "short.txt", "--tokenizer", "char", "--steps", "30", "--gen", "0"];
    sandbox.ok(&[&sizes[..], &words, &["--save", "m"]].concat());
    let checkpoint = Checkpoint::load(&sandbox.path("m")).unwrap();
    let attention = MultiHead::from_spec(&checkpoint.meta.attention).unwrap();
    checkpoint.into_trainer(Arc::new(attention)).unwrap().model
}

/// An array of a .npz: its shape as it is written there, and its bytes.
fn array(file: &[u8], name: &str) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut archive = ZipArchive::new(Cursor::new(file)).unwrap();
    archive.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
    let said = String::from_utf8_lossy(&bytes[10..128]);
    let shape = said.split(['(', ')']).nth(1).unwrap().trim_end_matches(", ").to_string();
    (shape, bytes.split_off(128))
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&four| f32::from_le_bytes(four)).collect()
}

fn tokens(bytes: &[u8]) -> Vec<TokenId> {
    bytes.as_chunks().0.iter().map(|&four| TokenId::from_le_bytes(four)).collect()
}

const EVAL: [&str; 5] = ["eval", "--load", "m", "--data", "short.txt"];

#[test]
fn every_scored_token_has_a_row() {
    let sandbox = sandbox();
    let model = trained(&sandbox);
    let run = sandbox.ok(&[&EVAL[..], &["--per-token", "rows.csv", "--json"]].concat());
    let means: Value = serde_json::from_str(&run.text()).unwrap();
    let lines = String::from_utf8(sandbox.read("rows.csv")).unwrap();
    let rows: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();

    let n = rows.len();
    assert_eq!(means["scored"], n);
    let mean = |of: &dyn Fn(&Value) -> f64| rows.iter().map(of).sum::<f64>() / n as f64;
    let loss = mean(&|row| row["loss"].as_f64().unwrap());
    assert!((loss - means["val_loss"].as_f64().unwrap()).abs() < 1e-6, "{loss} {means}");
    let right = mean(&|row| f64::from(row["rank"] == 1));
    assert!((right - means["accuracy"].as_f64().unwrap()).abs() < 1e-9, "{right} {means}");
    let context = model.config().seq_len;
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(
            (&row["position"], &row["window"]),
            (&(i + 1).into(), &(i / context * context).into())
        );
        let p = row["prob"].as_f64().unwrap();
        assert!((p.ln() + row["loss"].as_f64().unwrap()).abs() < 1e-6, "{row}");
        assert_eq!(row["rank"] == 1, row["first"] == row["token"], "{row}");
    }
    let text: String = rows.iter().map(|row| row["text"].as_str().unwrap()).collect();
    let written = String::from_utf8(sandbox.read("short.txt")).unwrap();
    let escaped = written.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t");
    assert!(escaped.ends_with(&text) && text.ends_with("\\t\\\\ é"), "{text:?}");

    // As CSV, to standard output: the same numbers.
    let csv = sandbox.ok(&[&EVAL[..], &["--per-token"]].concat());
    csv.says(&["tokens", "perplexity"]);
    let table = csv.text();
    assert_eq!(
        table.lines().next(),
        Some("position,window,token,text,loss,prob,rank,first,first_text")
    );
    for (line, row) in table.lines().skip(1).zip(&rows) {
        let loss = format!(",{},{},", row["loss"], row["prob"]);
        assert!(line.starts_with(&format!("{},{},", row["position"], row["window"])), "{line}");
        assert!(line.contains(&loss), "{line}: {row}");
    }
    assert_eq!(table.lines().count(), n + 1);
    let objects = sandbox.ok(&[&EVAL[..], &["--per-token=-", "--json", "-q"]].concat());
    assert_eq!((objects.text(), objects.stderr.as_str()), (lines, ""));
}

#[test]
fn arrays_hold_what_the_model_says() {
    let sandbox = sandbox();
    let model = trained(&sandbox);
    let run = sandbox.ok(&[&EVAL[..], &["--npz", "eval.npz", "--json"]].concat());
    let means: Value = serde_json::from_str(&run.text()).unwrap();
    let (n, v) = (means["scored"].as_u64().unwrap() as usize, model.config().vocab_size);
    let file = sandbox.read("eval.npz");
    let of = |name: &str, shape: String| {
        let (said, bytes) = array(&file, name);
        assert_eq!(said, shape, "{name}");
        bytes
    };
    let [came, inputs] = ["tokens", "inputs"].map(|name| tokens(&of(name, n.to_string())));
    let losses = floats(&of("losses", n.to_string()));
    let logits = floats(&of("logits", format!("{n}, {v}")));
    let windows = of("windows", n.to_string());
    let windows: Vec<u64> = windows.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b)).collect();
    assert_eq!(of("positions", n.to_string()).len(), 8 * n);

    // Each window on its own, and the losses from the logits.
    for (i, group) in windows.chunk_by(|a, b| a == b).enumerate() {
        let at = i * model.config().seq_len;
        let range = at..at + group.len();
        assert_eq!(group[0], at as u64);
        let want = no_grad(|| model.logits(&inputs[range.clone()], [1, group.len()])).unwrap();
        let got = &logits[range.start * v..range.end * v];
        assert!(want.data().iter().zip(got).all(|(a, b)| (a - b).abs() < 1e-4));
        assert_eq!(inputs[at + 1..range.end], came[at..range.end - 1]);
    }
    for ((row, &token), &loss) in logits.chunks_exact(v).zip(&came).zip(&losses) {
        let sum: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
        let want = sum.ln() - f64::from(row[token as usize]);
        assert!((want - f64::from(loss)).abs() < 1e-5, "{want} {loss}");
    }
    let mean = losses.iter().map(|&l| f64::from(l)).sum::<f64>() / n as f64;
    assert!((mean - means["val_loss"].as_f64().unwrap()).abs() < 1e-9);
    // It is replaced by its like, byte for byte.
    sandbox.ok(&[&EVAL[..], &["--npz", "eval.npz", "-q"]].concat());
    assert_eq!(sandbox.read("eval.npz"), file);
}

#[test]
fn attention_is_an_array_whose_rows_add_up_to_one() {
    let sandbox = sandbox();
    trained(&sandbox);
    let text = String::from_utf8(some_text(12)).unwrap();
    let look = ["inspect", "attention", "--load", "m", "-p", &text, "--npz", "a.npz"];
    let shown = sandbox.ok(&[&look[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&shown.text()).unwrap();
    let file = sandbox.read("a.npz");
    let (shape, bytes) = array(&file, "attention");
    assert_eq!(shape, "2, 2, 12, 12");
    let p = floats(&bytes);
    for (i, row) in p.chunks_exact(12).enumerate() {
        let (seen, future) = row.split_at(i % 12 + 1);
        assert!((seen.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
        assert!(future.iter().all(|&x| x == 0.0), "{row:?}");
        let of = &json["layers"][i / 24]["heads"][i / 12 % 2]["weights"][i % 12];
        let same = of.as_array().unwrap().iter().zip(seen);
        assert!(same.clone().count() == seen.len());
        assert!(same.into_iter().all(|(a, b)| a.as_f64().unwrap() as f32 == *b), "{of}");
    }
    let ids: Vec<u64> =
        json["ids"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap()).collect();
    let kept: Vec<u64> = tokens(&array(&file, "tokens").1).into_iter().map(u64::from).collect();
    assert_eq!(ids, kept);
    sandbox.ok(&[&look[..], &["--last", "3", "-q"]].concat());
    assert_eq!(array(&sandbox.read("a.npz"), "attention").0, "2, 2, 3, 3");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_is_refused_before_anything_is_scored() {
    let sandbox = sandbox();
    trained(&sandbox);
    sandbox.write("other", b"somebody's");
    for (words, code, needles) in [
        (&["--per-token", "other"][..], 73, &["other", "not written by this program"][..]),
        (&["--npz", "other"], 73, &["other", "not written by this program"]),
        (&["--npz", "no/where.npz"], 73, &["no/where.npz", "nothing was written"]),
        (&["--npz", "same", "--per-token", "./same"], 2, &["same file"]),
        (&["--per-token", "--message-format", "json"], 2, &["name a file"]),
    ] {
        sandbox.refuses(&[&EVAL[..], words].concat(), code, needles);
    }
    let look = ["inspect", "attention", "--load", "m", "-p", "a", "--npz", "other"];
    sandbox.refuses(&look, 73, &["other", "not written by this program"]);
    assert_eq!(sandbox.read("other"), b"somebody's");

    // More than there is room for is refused with the size.
    sandbox.write("long.txt", &some_text(20_000_000));
    let words = ["eval", "--load", "m", "--data", "long.txt", "--npz", "long.npz"];
    let little = "ulimit -v 1000000; exec \"$0\" \"$@\"";
    let refused = sandbox.run_by_script(little, &words);
    assert_eq!(refused.code, Some(71), "{refused}");
    refused.says_one_error(&["needs about", "--data", "--npz"]);
    assert!(!sandbox.path("long.npz").exists());
}
