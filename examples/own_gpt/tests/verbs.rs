//! An attention of the program's own is a row of a comparison; its number is varied, kept, and refused where it changes.

#![allow(clippy::unwrap_used)] // also in the helpers between the tests

use std::fs;
use std::path::Path;
use std::process::Command;

const SMALL: &str = "--data text.txt --layers 1 --dmodel 16 --seq 16 --batch 2 --steps 3 --lang en";

/// A folder with a text.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text.txt"), "the cat sat on the mat. ".repeat(50)).unwrap();
    folder
}

/// What the program says, and whether it ended well.
fn own_gpt(folder: &Path, words: &str) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_own-gpt"));
    let small = if words.contains("--load") { "--lang en" } else { SMALL };
    let output =
        command.current_dir(folder).args(words.split(' ')).args(small.split(' ')).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn own_ideas_are_compared_by_their_names() {
    let folder = folder();
    for (words, rows) in [
        (
            "--variants mha,gqa:2,softcap,softcap:5,capped-relu2",
            &["mha", "gqa:2", "softcap", "softcap:5", "capped-relu2"][..],
        ),
        ("--vary softcap.cap=5,20", &["5", "20"]),
        ("--vary attention=modern,softcap", &["modern", "softcap"]),
        ("--vary sgd.momentum=0.5,0.9", &["0.5", "0.9"]),
    ] {
        let (ended, said) = own_gpt(folder.path(), &format!("compare {words} --seeds 1 --out c"));
        assert!(ended, "{said}");
        let found = fs::read_to_string(folder.path().join("c/compare.json")).unwrap();
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let runs = found["runs"].as_array().unwrap().iter();
        let named = runs.map(|run| run["settings"].as_object().unwrap().values().next().unwrap());
        assert_eq!(named.collect::<Vec<_>>(), rows, "{words}");
        fs::remove_dir_all(folder.path().join("c")).unwrap();
    }
    for (words, why) in [
        ("--variants mha,softcop", "qwen3, softcap, capped-relu2, joined by +"),
        ("--variants mha,softcap --vary softcap.cap=5,20", "name them softcap:5,softcap:20"),
        ("--vary softcap.cap=5,-1", "cap has to be above 0"),
        (
            "--vary softcap.cap=5,20 --attention softcap --attention-set cap=1",
            "is given, and varied by --vary",
        ),
        ("--vary softcap.cop=1,2", "softcap.cap"),
    ] {
        let (ended, said) = own_gpt(folder.path(), &format!("compare {words}"));
        assert!(!ended && said.contains(why) && said.lines().count() == 1, "{said}");
    }
}

/// The file of settings and the checkpoint hold it; what would compute something else is refused.
#[test]
fn an_own_number_is_kept() {
    let folder = folder();
    let run = |words: &str| own_gpt(folder.path(), words);
    assert!(run("--attention softcap --attention-set cap=8 --out a").0);
    let config = fs::read_to_string(folder.path().join("a/config.toml")).unwrap();
    assert!(config.contains("attention = \"softcap\"\nattention_set = [\"cap=8\"]"), "{config}");
    assert!(run("--config a/config.toml --out b").0);
    let file = |run: &str| fs::read(folder.path().join(run).join("ckpt/last")).unwrap();
    assert!(file("a") == file("b"));
    assert!(run("--load a --steps 1 --attention softcap --attention-set cap=8.0 --out c").0);
    for (words, why) in [
        ("--load a --attention-set cap=9", "--attention-set cap=8 in file, cap=9 given"),
        ("--load a --attention modern", "--attention softcap in file, modern given"),
        ("--attention-set cap=9", "modern has no numbers of its own"),
        ("--attention softcap --arch llama", "softcap has heads and a cap alone"),
        ("export hf --load a out", "'softcap' attention"),
    ] {
        let (ended, said) = run(words);
        assert!(!ended && said.contains(why), "{words}: {said}");
    }
}
