//! The commit that a program is built from, where git knows one; the variable `LLM_COMMIT` says
//! another.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LLM_COMMIT");
    if let Some(commit) = std::env::var("LLM_COMMIT").ok().or_else(of_git) {
        println!("cargo:rustc-env=LLM_COMMIT={commit}");
    }
}

fn of_git() -> Option<String> {
    // Another repository, into which these files were copied, says nothing about them.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo:rerun-if-changed={log}");
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !text.is_empty()).then_some(text)
}
