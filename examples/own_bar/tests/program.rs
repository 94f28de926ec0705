//! The program writes its line again at every step, and ends with what was measured.

#![allow(clippy::unwrap_used)]

use std::process::Command;

#[test]
fn one_line_is_written_again_at_every_step() {
    let output = Command::new(env!("CARGO_BIN_EXE_own-bar")).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    let states: Vec<&str> = lines[0].split('\r').skip(1).collect();
    assert_eq!(states.len(), 60);
    assert!(states[0].starts_with("[..............................] 1/60  loss "), "{}", states[0]);
    assert!(states[0].ends_with("unseen ?") && !states[59].ends_with("unseen ?"));
    assert!(states[59].starts_with("[##############################] 60/60  loss "));
    assert!(lines[1].starts_with("unseen text: "));
}
