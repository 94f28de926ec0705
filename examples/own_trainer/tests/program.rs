//! The program goes on after it was killed as if it had not been, and its page has both languages.

#![allow(clippy::unwrap_used)] // also in the helpers between the tests

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The program on the text of a folder, with its run in this one.
fn trainer(folder: &Path, run: &str, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_own-trainer"));
    command.current_dir(folder).args(["text.txt", run]).args(words).stdout(Stdio::piped());
    command
}

fn said(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text.txt"), "the cat sat on the mat. ".repeat(200)).unwrap();
    let whole = said(trainer(folder.path(), "whole", &[]));
    for line in ["eval  step 20", "saved checkpoint", "result  validation loss", "done    step 120"]
    {
        assert!(whole.contains(line), "{line}: {whole}");
    }

    let mut killed = trainer(folder.path(), "killed", &["zh"]).spawn().unwrap();
    let mut lines = BufReader::new(killed.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("已保存检查点")));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let rest = said(trainer(folder.path(), "killed", &["zh"]));
    assert!(rest.contains("完成    第 120 步"), "{rest}");

    let file = |run: &str, name: &str| fs::read(folder.path().join(run).join(name)).unwrap();
    for name in ["ckpt/last", "ckpt/best"] {
        assert!(file("whole", name) == file("killed", name), "{name}");
    }
    let page = String::from_utf8(file("killed", "report.html")).unwrap();
    assert!(page.contains("Validation loss at the end") && page.contains("结束时的验证损失"));
    assert!(file("killed", "loss.svg").starts_with(b"<svg"));
}

/// The own optimizer trains with a number of its own, goes on with it, and refuses another's.
#[test]
fn an_optimizer_of_its_own_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text.txt"), "the cat sat on the mat. ".repeat(200)).unwrap();
    let sgd = ["en", "sgd", "momentum=0.8"];
    assert!(said(trainer(folder.path(), "run", &sgd)).contains("done    step 120"));
    let config = fs::read_to_string(folder.path().join("run/config.toml")).unwrap();
    assert!(config.contains("optimizer = \"sgd\""), "{config}");
    assert!(config.contains("optimizer_set = [\"momentum=0.8\"]"), "{config}");
    let refused = |run: &str, words: &[&str]| {
        let output = trainer(folder.path(), run, words).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let line = refused("other", &["en", "sgd", "beta=1"]);
    assert!(line.contains("sgd has no 'beta'; valid names: momentum"), "{line}");
    let line = refused("run", &["en", "lion"]);
    assert!(line.contains("optimizer"), "{line}");
}

#[test]
fn what_cannot_be_is_a_line_in_both_languages() {
    let folder = tempfile::tempdir().unwrap();
    for (words, begin) in [(&[][..], "cannot read"), (&["zh"], "无法读取")] {
        let output = trainer(folder.path(), "run", words).output().unwrap();
        let line = String::from_utf8(output.stdout).unwrap();
        assert_eq!((output.status.code(), line.lines().count()), (Some(1), 1), "{line}");
        assert!(line.starts_with(begin), "{line}");
    }
}
