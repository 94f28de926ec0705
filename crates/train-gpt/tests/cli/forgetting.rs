//! `--forget`: what a model knew before its steps, and knows after them.

use crate::trained;
use serde_json::Value;

#[test]
fn what_is_unseen_and_what_is_forgotten_stand_in_a_table() {
    let sandbox = trained();
    sandbox.write("other", &b"a sailor has no teapot, but he has a song. ".repeat(60));
    for lora in [&["--lora", "2"][..], &["--allow-data-change"]] {
        let name = lora[0].trim_start_matches('-');
        let run = ["--load", "model", "--data", "other", "--steps", "9", "--lr", "0.03"];
        let words = [&run[..], lora, &["--forget", "text.txt"]].concat();
        let outcome = sandbox.ok(&[&words[..], &["--out", name]].concat());
        let said = String::from_utf8_lossy(&outcome.stdout).into_owned();
        for line in
            ["forget  before  after", "unseen text, nats per token", "'text.txt', bits per byte"]
        {
            assert!(said.contains(line), "{said}");
        }
        let json = ["--no-save", "--message-format", "json"];
        let outcome = sandbox.ok(&[&words[..], &json].concat());
        let found = &outcome.events_of("forgotten")[0];
        let number = |e: &Value| e.as_f64().unwrap();
        let [unseen, bits] =
            ["unseen", "bits_per_byte"].map(|of| [0, 1].map(|i| number(&found[of][i])));
        assert!(unseen[1] < unseen[0], "{found}");
        for (model, bits) in ["model", name].into_iter().zip(bits) {
            let words = ["eval", "--load", model, "--data", "text.txt", "--json"];
            let eval: Value = serde_json::from_slice(&sandbox.ok(&words).stdout).unwrap();
            // An adapter is merged there.
            assert!((number(&eval["bits_per_byte"]) - bits).abs() < 1e-4 * bits, "{eval} {bits}");
        }
        assert_eq!(unseen[1], number(&outcome.events_of("done")[0]["val_loss"]));
        let info: Value =
            serde_json::from_slice(&sandbox.read(format!("{name}/run.json"))).unwrap();
        assert_eq!(info["forgotten"]["bits_per_byte"], found["bits_per_byte"]);
        // A measurement does not change what is learned.
        sandbox.ok(&[&words[..], &["--save", "measured"]].concat());
        sandbox.ok(&[&run[..], lora, &["--save", "plain"]].concat());
        assert!(sandbox.read("plain") == sandbox.read("measured"));
    }
    sandbox.refuses(&["--forget", "text.txt"], 2, &["--load"]);
    let gone = ["--load", "model", "--data", "other", "--lora", "2", "--forget", "gone"];
    sandbox.refuses(&gone, 66, &["gone"]);
}
