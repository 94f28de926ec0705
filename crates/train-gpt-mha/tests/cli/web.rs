//! The page's runs are the terminal's: the same recipe, the same bytes, files that go both ways.

use super::sandbox;
use llm_web::Lab;
use serde_json::{Value, json};

fn ask(lab: &mut Lab, request: Value, blob: &[u8]) -> (Value, Vec<u8>) {
    let answer = lab.ask(request.to_string().as_bytes(), blob.to_vec()).unwrap();
    (answer.json, answer.blob)
}

/// Nothing is said of rates, decay, seeds and shares: both have the same in mind.
#[test]
fn a_run_of_the_page_is_one_of_the_terminal() {
    let sandbox = sandbox();
    sandbox.write("cats.txt", &b"the cat sat on the mat, and the dog sat on the cat. ".repeat(60));
    let sizes = ["--layers", "1", "--dmodel", "16", "--seq", "24", "--batch", "3", "--steps", "25"];
    let small =
        json!({ "do": "make", "layers": 1, "width": 16, "window": 24, "batch": 3, "steps": 25 });
    for (heads, data) in [(4, None), (1, None), (2, Some("cats.txt"))] {
        let file = data.map_or(Vec::new(), |file| vec!["--data", file]);
        let heads_said = heads.to_string();
        let rest = ["--heads", &heads_said, "--gen", "0", "--save", "terminal.ckpt"];
        sandbox.ok(&[&file[..], &sizes, &rest].concat());
        let mut make = small.clone();
        make["heads"] = json!(heads);
        make["data"] = json!(data.map_or("stories", |_| "text"));
        let text = data.map_or(Vec::new(), |file| sandbox.read(file));
        let mut lab = Lab::default();
        ask(&mut lab, make, &text);
        ask(&mut lab, json!({ "do": "step", "n": 25 }), b"");
        let (_, page) = ask(&mut lab, json!({ "do": "save" }), b"");
        assert!(page == sandbox.read("terminal.ckpt"), "{heads} heads, {data:?}");
    }
}

/// Sizes, length and rate that are left out are the same too.
#[test]
fn what_is_left_out_is_the_same() {
    let sandbox = sandbox();
    sandbox.write("cats.txt", &b"the cat sat on the mat. ".repeat(60));
    for (data, file) in [("stories", &[][..]), ("text", &["--data", "cats.txt"])] {
        let printed = sandbox.ok(&[file, &["--print-config"]].concat()).text();
        let make = json!({ "do": "make", "data": data });
        let (made, _) = ask(&mut Lab::default(), make, &sandbox.read("cats.txt"));
        for (ours, theirs) in [
            ("heads", "heads"),
            ("layers", "layers"),
            ("width", "dmodel"),
            ("window", "seq"),
            ("batch", "batch"),
            ("steps", "steps"),
            ("seed", "seed"),
        ] {
            let line = format!("\n{theirs} = {}\n", made[ours]);
            assert!(printed.contains(&line), "{line} {printed}");
        }
        let rate = made["rate"].as_f64().unwrap() as f32;
        assert!(printed.contains(&format!("\nlr = {rate}\n")), "{rate} {printed}");
    }
}

/// A file of the terminal has the same facts in the page.
#[test]
fn a_file_of_the_terminal_is_measured_alike() {
    let sandbox = sandbox();
    let sizes =
        ["--layers", "1", "--dmodel", "16", "--seq", "128", "--batch", "3", "--steps", "40"];
    sandbox.ok(&[&sizes[..], &["--gen", "0", "--save", "t.ckpt"]].concat());
    let run = sandbox.ok(&["eval", "--load", "t.ckpt", "--json"]);
    let there: Value = serde_json::from_str(&run.text()).unwrap();
    let mut lab = Lab::default();
    let load = json!({ "do": "load", "name": "t.ckpt" });
    assert_eq!(ask(&mut lab, load, &sandbox.read("t.ckpt")).0["step"], 40);
    let (here, _) = ask(&mut lab, json!({ "do": "measure", "tokens": 0, "slice": 0 }), b"");
    assert_eq!(here["validation_loss"], there["val_loss"]);
    let facts = there["facts"].as_object().unwrap();
    assert!(facts.len() > 4);
    for fact in here["facts"].as_array().unwrap() {
        let share = fact["right"].as_f64().unwrap() / fact["of"].as_f64().unwrap();
        let there = facts[fact["kind"].as_str().unwrap()].as_f64().unwrap();
        assert!((share - there).abs() < 1e-9, "{fact} {there}");
    }
}
