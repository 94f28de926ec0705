//! What can be learned from.

use crate::sandbox;
use workspace_tests::cli_support::{TINY, some_text};

#[test]
fn text_bytes_standard_input_and_several_files() {
    let sandbox = sandbox();
    // Each once, among text: as many control characters as this would be no text.
    let all_bytes: Vec<u8> = (0..=255).chain(some_text(1744)).collect();
    sandbox.write("bytes", &all_bytes);
    let text = sandbox.read("text.txt");
    sandbox.write("both", &[&text[..], &all_bytes].concat());
    for (words, input, same_as) in [
        (&["text.txt"][..], None, "text.txt"),
        (&["bytes"], None, "bytes"),
        (&["-"], Some(&all_bytes), "bytes"),
        (&["text.txt", "bytes"], None, "both"),
        (&["text.txt", "-"], Some(&all_bytes), "both"),
    ] {
        let rest = ["--steps", "2", "--gen", "9", "--save", "got"];
        let data: Vec<&str> = words.iter().flat_map(|name| ["--data", name]).collect();
        let words = [&TINY[..], &data, &["--end-of-text", "none"], &rest].concat();
        let none = Vec::new();
        let outcome = sandbox.run_with_input(&words, input.unwrap_or(&none));
        assert_eq!(outcome.code, Some(0), "{outcome}");
        sandbox.train(&["--data", same_as, "--steps", "2", "--save", "want", "-q"]);
        assert!(
            sandbox.read("got") == sandbox.read("want"),
            "other than --data {same_as}\n{outcome}"
        );
    }
}

#[test]
fn the_smallest_text_trains() {
    let sandbox = sandbox();
    sandbox.write("small", b"abc");
    let words =
        ["--data", "small", "--seq", "2", "--dmodel", "8", "--steps", "2", "--val-frac", "0"];
    sandbox.ok(&words).says(&["no validation data"]);
}
