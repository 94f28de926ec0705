//! `import chats`: exports of apps become conversations, and those are learned.

use super::sandbox;
use std::process::Command;
use workspace_tests::cli_support::{Sandbox, TINY};

/// The same chat, but for the last one, whose files say themselves what is an answer.
const EXPORTS: [&str; 5] = [
    "whatsapp_android.txt",
    "whatsapp_ios.txt",
    "telegram_result.json",
    "discord.json",
    "chatgpt_conversations.json",
];

fn with_exports() -> Sandbox {
    let sandbox = sandbox();
    for name in EXPORTS {
        let path = workspace_tests::workspace().join("tests/fixtures/chats").join(name);
        sandbox.write(name, &std::fs::read(path).unwrap());
    }
    sandbox
}

fn import<'a>(files: &[&'a str], save: &'a str) -> Vec<&'a str> {
    [&["import", "chats"], files, &["--me", "Tom Berg", "--save", save]].concat()
}

#[test]
fn every_export_becomes_conversations_that_are_learned() {
    let sandbox = with_exports();
    for (i, name) in EXPORTS.into_iter().enumerate() {
        let made = sandbox.ok(&import(&[name], "chats.jsonl"));
        assert_eq!(made.stdout, b"");
        made.says(&[
            "conversations of",
            "left out",
            "'chats.jsonl'",
            "--data chats.jsonl --time 2m",
        ]);
        if i < 4 {
            made.says(&["34 conversations of 136 messages, 2023-11-13 to 2023-12-16"]);
            made.says(&["8 without text (media), 1 of the app or of tools"]);
        }
        let lines = String::from_utf8(sandbox.read("chats.jsonl")).unwrap();
        let first = r#"{"messages":[{"role":"user","content":"what can i do with rice?"},{"role":"assistant","content":"make soup, rice soup is the best"},"#;
        assert!(lines.starts_with(first), "{lines}");
        assert!(
            !lines.contains("omitted") && !lines.contains("sorry") && !lines.contains("encrypted")
        );
        let run =
            ["--data", "chats.jsonl", "--steps", "2", "--gen", "0", "--seq", "160", "--no-save"];
        sandbox
            .ok(&[&TINY[2..], &run[..]].concat())
            .says(&[&format!("{} conversations", lines.lines().count())]);
        sandbox.refuses(&import(&[name], "chats.jsonl"), 73, &["'chats.jsonl'", "there already"]);
        std::fs::rename(sandbox.path("chats.jsonl"), sandbox.path(format!("{i}.jsonl"))).unwrap();
    }
    for name in ["1.jsonl", "2.jsonl", "3.jsonl"] {
        assert!(sandbox.read(name) == sandbox.read("0.jsonl"), "{name}");
    }
    let all = [&EXPORTS[..], &["0.jsonl"]].concat();
    let made =
        sandbox.ok(&[&import(&all, "all.jsonl")[..], &["--message-format", "json", "-q"]].concat());
    assert_eq!(made.stderr, "");
    let done = &made.events_of("imported")[0];
    assert_eq!(
        (&done["conversations"], &done["left_out"]["media"]),
        (&(34 * 5 + 24).into(), &32.into())
    );
}

#[test]
fn an_export_may_be_packed_or_in_another_encoding() {
    let sandbox = with_exports();
    sandbox.ok(&import(&["whatsapp_ios.txt"], "a"));
    let text = String::from_utf8(sandbox.read("whatsapp_ios.txt")).unwrap();
    let wide: Vec<u8> =
        format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    sandbox.write("wide.txt", &wide);
    sandbox.write("marked.txt", format!("\u{feff}{text}").as_bytes());
    let packed = Command::new("gzip").arg("-kn").arg(sandbox.path("marked.txt")).status();
    let packed = packed.is_ok_and(|status| status.success()).then_some("marked.txt.gz");
    for name in ["wide.txt", "marked.txt"].into_iter().chain(packed) {
        sandbox.ok(&import(&[name], "b"));
        assert!(sandbox.read("a") == sandbox.read("b"), "{name}");
        std::fs::remove_file(sandbox.path("b")).unwrap();
    }
    assert_eq!(sandbox.run_with_input(&import(&["-"], "b"), text.as_bytes()).code, Some(0));
    assert!(sandbox.read("a") == sandbox.read("b"));
}

#[test]
fn without_a_name_those_who_speak_are_listed() {
    let sandbox = with_exports();
    let files =
        ["import", "chats", "discord.json", "telegram_result.json", "--save", "chats.jsonl"];
    let needles = [
        "--me is missing",
        "'Tom Berg' (164), Mia (136)",
        "telegram_result.json --me 'Tom Berg' --save chats.jsonl",
    ];
    sandbox.refuses(&files, 2, &needles);
    for (name, known) in [("tom berg", true), ("Tom", false)] {
        let words = [&files[..], &["--me", name]].concat();
        match known {
            true => drop(sandbox.ok(&words)),
            false => drop(sandbox.refuses(&words, 2, &["--me Tom: nobody", "'Tom Berg' (164)"])),
        }
        let _ = std::fs::remove_file(sandbox.path("chats.jsonl"));
    }
    sandbox.ok(&["import", "chats", "chatgpt_conversations.json", "--save", "chats.jsonl"]);
}

#[test]
fn what_is_no_export_is_refused_by_name() {
    let sandbox = with_exports();
    let json = String::from_utf8(sandbox.read("telegram_result.json")).unwrap();
    sandbox.write("cut.json", &json.as_bytes()[..9000]);
    sandbox.write("deep.json", "[".repeat(1 << 20).as_bytes());
    sandbox.write("a.zip", b"PK\x03\x04more");
    let android = String::from_utf8(sandbox.read("whatsapp_android.txt")).unwrap();
    sandbox.write("asked.txt", android.replace("Tom Berg", "Mia").as_bytes());
    for (name, code, why) in [
        ("cut.json", 65, "its JSON is cut off"),
        ("deep.json", 65, "nothing was imported"),
        ("text.txt", 65, "no export of WhatsApp"),
        ("a.zip", 65, "unpack it"),
        ("missing", 66, "no such file"),
    ] {
        sandbox.refuses(&import(&[name], "x"), code, &[name, why]);
    }
    sandbox.refuses(
        &["import", "chats", "asked.txt", "--me", "mia", "--save", "x"],
        65,
        &["no question with an answer"],
    );
    sandbox.refuses(&["import", "hf", "a", "b", "--save", "x"], 2, &["one source"]);
    sandbox.refuses(
        &["import", "hf", "a", "--me", "b", "--save", "x"],
        2,
        &["--me is for import chats"],
    );
    let heads = [&import(&["discord.json"], "x")[..], &["--heads", "2"]].concat();
    sandbox.refuses(&heads, 2, &["--heads is for models"]);
}
