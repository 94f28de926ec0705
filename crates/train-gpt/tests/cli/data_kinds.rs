//! Data that are no plain text: recognised, made into text where that is known how, else refused.

use crate::sandbox;
use std::io::Write;
use workspace_tests::cli_support::{Sandbox, TINY, some_text};

const RUN: [&str; 6] = ["--steps", "2", "--gen", "0", "--log-every", "1"];

fn wide(text: &[u8], big: bool) -> Vec<u8> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    let unit = |u: u16| if big { u.to_be_bytes() } else { u.to_le_bytes() };
    text.encode_utf16().flat_map(unit).collect()
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

fn numbers(most: u16, n: u16) -> Vec<u8> {
    (0..n).flat_map(|i| (i.wrapping_mul(40_503) % most).to_le_bytes()).collect()
}

/// The checkpoint of a short run.
fn learned(sandbox: &Sandbox, data: &[&str]) -> Vec<u8> {
    sandbox.train(&[&["--data"], data, &RUN, &["--save", "made", "-q"]].concat());
    sandbox.read("made")
}

#[test]
fn wrapped_text_is_learned_as_the_text_in_it_and_it_is_said() {
    let sandbox = sandbox();
    let text = sandbox.read("text.txt");
    let plain = learned(&sandbox, &["text.txt"]);
    for (name, bytes, said) in [
        ("marked", [b"\xEF\xBB\xBF", &text[..]].concat(), "without the byte order mark"),
        ("little", [b"\xFF\xFE", &wide(&text, false)[..]].concat(), "converted from UTF-16"),
        ("big", [b"\xFE\xFF", &wide(&text, true)[..]].concat(), "converted from UTF-16"),
        ("unmarked", wide(&text, false), "converted from UTF-16"),
        ("text.gz", packed(&text), "unpacked (gzip)"),
        ("both.gz", packed(&wide(&text, true)), "unpacked (gzip), converted from UTF-16"),
    ] {
        sandbox.write(name, &bytes);
        assert!(learned(&sandbox, &[name]) == plain, "{name}");
        sandbox.train(&["--data", name, "--dry-run"]).says(&[&format!("'{name}', 4.0 kB, {said}")]);
        sandbox.ok(&["--load", "made", "--data", name, "--steps", "1", "--gen", "0", "--no-save"]);
        let eval = sandbox.ok(&["eval", "--load", "made", "--data", name]);
        eval.says(&[said]);
        assert!(eval.text().starts_with("tokens         3,999\n"), "{eval}");
        // Standard input and files on the disk.
        let words = [&TINY[..], &["--data", "-", "--save", "piped"], &RUN].concat();
        assert_eq!(sandbox.run_with_input(&words, &bytes).code, Some(0));
        assert!(sandbox.read("piped") == plain, "{name}");
        let words = [&TINY[..], &["--data", name, "--save", "disk"], &RUN].concat();
        let disk = sandbox.command(&words).env("LLM_DATA_IN_MEMORY", "1000").status().unwrap();
        assert!(disk.success() && sandbox.read("disk") == plain, "{name}");
    }
}

#[test]
fn what_is_no_text_is_refused_unless_somebody_insists() {
    let sandbox = sandbox();
    for (name, bytes, what) in [
        ("tokens", numbers(65, 3000), "control characters"),
        ("array.npy", [b"\x93NUMPY\x01\0v\0", &numbers(9, 900)[..]].concat(), "a NumPy array"),
        ("text.zip", [b"PK\x03\x04", &some_text(900)[..]].concat(), "a zip archive"),
        ("tar.gz", packed(&numbers(300, 900)), "control characters"),
    ] {
        sandbox.write(name, &bytes);
        sandbox.refuses(&["--data", name], 65, &[name, "is no text", what, "--data-as"]);
        sandbox.refuses(&["--data", "text.txt", "--val", name], 65, &[name, "is no text"]);
    }
    sandbox.write("cut.gz", &packed(&some_text(900))[..200]);
    sandbox.refuses(&["--data", "cut.gz"], 65, &["'cut.gz'", "gzip"]);
    // What was insisted on is remembered.
    sandbox
        .train(&[&["--data", "tokens", "--data-as", "bytes", "--save", "made"], &RUN[..]].concat());
    sandbox.ok(&["--load", "made", "--data", "tokens", "--steps", "1", "--gen", "0"]);
    let eval = sandbox.ok(&["eval", "--load", "made", "--data", "tokens"]);
    assert!(eval.text().starts_with("tokens         5,999\n"), "{eval}");
    sandbox.refuses(
        &["eval", "--load", "made", "--data", "tokens", "--data-as", "text"],
        65,
        &["control characters"],
    );
    // To insist where there was no doubt changes nothing.
    let insisted = learned(&sandbox, &["text.txt", "--data-as", "bytes"]);
    assert!(insisted == learned(&sandbox, &["text.txt"]));
    for words in [&[][..], &["--load", "made"], &["eval", "--load", "made"]] {
        sandbox.refuses(&[words, &["--data-as", "bytes"]].concat(), 2, &["--data-as", "--data"]);
    }
}

#[test]
fn token_numbers_are_learned_as_they_are() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("set")).unwrap();
    sandbox.write("train.bin", &numbers(300, 3000));
    sandbox.write("set/train.bin", &numbers(300, 3000));
    sandbox.write("set/val.bin", &numbers(290, 400));
    sandbox.write("set/meta.pkl", b"\x80\x04}.");
    sandbox.refuses(&["--data", "train.bin"], 65, &["--data-as u16"]);
    let said = learned(&sandbox, &["train.bin", "--tokens", "u16"]);
    let outcome =
        sandbox.train(&[&["--data", "set/train.bin", "--save", "seen"], &RUN[..]].concat());
    outcome.says(&["6.0 kB, 3,000 tokens of 16 bits, a vocabulary of 300 numbers", "ln 300"]);
    assert!(sandbox.read("seen") == said);
    let words = [&TINY[..], &["--data", "set/train.bin", "--save", "disk"], &RUN].concat();
    let disk = sandbox.command(&words).env("LLM_DATA_IN_MEMORY", "1000").status().unwrap();
    assert!(disk.success() && sandbox.read("disk") == said);

    // A larger table, one that is too small, one that would need text.
    let sized = |n| ["--data", "train.bin", "--data-as", "u16", "--vocab-size", n];
    sandbox.train(&[&sized("512"), &RUN[..]].concat()).says(&["a vocabulary of 512 numbers"]);
    sandbox.refuses(&sized("256"), 65, &["token 299", "256"]);
    let chars = ["--data", "set/train.bin", "--tokenizer", "char"];
    sandbox.refuses(&chars, 2, &["token numbers", "--tokenizer"]);
    sandbox.refuses(&["--data", "set/train.bin", "text.txt"], 65, &["'text.txt'", "one kind"]);

    // The run goes on, is judged and writes, as numbers.
    let eval = sandbox.ok(&["eval", "--load", "seen", "--data", "set/val.bin"]);
    assert!(eval.text().starts_with("tokens         399\n"), "{eval}");
    assert!(!eval.text().contains("bits per byte"), "{eval}");
    sandbox.ok(&["--load", "seen", "--data", "train.bin", "--steps", "1", "--gen", "0"]);
    sandbox.refuses(&["eval", "--load", "seen", "--data", "text.txt"], 65, &["ids tokenizer"]);
    let more = ["generate", "--load", "seen", "--prompt-ids", "7", "-n", "5"];
    let written = sandbox.ok(&more).text();
    let tokens: Vec<u16> = written.split_whitespace().map(|n| n.parse().unwrap()).collect();
    assert!(tokens.len() == 6 && tokens[0] == 7 && tokens.iter().all(|&t| t < 300), "{written}");
    let val = ["--data", "set/train.bin", "--val", "set/val.bin", "--steps", "1", "--gen", "3"];
    sandbox.train(&val).says(&["validation: 'set/val.bin', 800 B, 400 tokens of 16 bits"]);
    let config = sandbox.train(&[&sized("512")[..], &["--print-config"]].concat()).text();
    sandbox.write("run.toml", config.as_bytes());
    sandbox.ok(&["--config", "run.toml", "--steps", "1", "--gen", "0"]);
    sandbox.write("odd.bin", b"abc");
    sandbox.write("meta.pkl", b"");
    let seen = ["--data", "train.bin", "--tokenizer", "byte"];
    sandbox.refuses(&seen, 2, &["holds token numbers", "leave --tokenizer out"]);
    sandbox.refuses(&["--data", "odd.bin", "--data-as", "u16"], 65, &["'odd.bin'", "3 bytes"]);
}

#[test]
fn several_files_after_one_flag_and_folders() {
    let sandbox = sandbox();
    let text = some_text(4000);
    std::fs::create_dir_all(sandbox.path("books/more")).unwrap();
    sandbox.write("books/a.txt", &text[..1000]);
    sandbox.write("books/more/b.txt", &text[1000..1500]);
    sandbox.write("books/z.gz", &packed(&text[1500..]));
    sandbox.write("books/.hidden", b"nobody reads this");
    sandbox.write("books/picture.png", b"\x89PNG\r\n\x1a\n\0\0");
    let plain = learned(&sandbox, &["text.txt"]);
    let one = ["--end-of-text", "none"];
    let files = ["books/a.txt", "books/more/b.txt", "books/z.gz", one[0], one[1]];
    assert!(learned(&sandbox, &files) == plain);
    assert!(learned(&sandbox, &["books", one[0], one[1]]) == plain);
    assert!(learned(&sandbox, &["books"]) == learned(&sandbox, &files[..3]));
    let outcome = sandbox.train(&["--data", "books", "--dry-run"]);
    outcome
        .says(&["'books' (3 files), 4.0 kB, 3 texts, 1 unpacked (gzip): 'books/z.gz', left out as no text: 1 ('books/picture.png')"]);
    sandbox.ok(&["eval", "--load", "made", "--data", "books/a.txt", "text.txt"]);
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.refuses(&["--data", "empty"], 66, &["'empty'", "folder"]);
}

/// Bytes are poor tokens of a text whose characters take several.
#[test]
fn a_text_of_long_characters_gets_a_hint() {
    let sandbox = sandbox();
    sandbox.write("zh.txt", "小猫在河边看见一条鱼。".repeat(100).as_bytes());
    sandbox.write("mixed.txt", "cafés and naïve words, mostly ASCII. ".repeat(100).as_bytes());
    let run = ["--steps", "1", "--gen", "0", "--no-save"];
    let hinted = |words: &[&str]| {
        sandbox.train(&[&["--data"], words, &run].concat()).stderr.contains("--tokenizer char")
    };
    assert!(hinted(&["zh.txt"]));
    for words in
        [&["zh.txt", "--tokenizer", "char"][..], &["zh.txt", "--tokenizer", "byte"], &["mixed.txt"]]
    {
        assert!(!hinted(words), "{words:?}");
    }
}

/// Text in another encoding is learned as the bytes that it is, and that is said.
#[test]
fn text_that_is_no_utf_8_is_said() {
    let sandbox = sandbox();
    let latin = [&b"gr\xFC\xDFe. "[..], &sandbox.read("text.txt")].concat();
    sandbox.write("latin.txt", &latin);
    let said = "not UTF-8 and learned byte by byte (iconv converts it)";
    let words = ["--data", "latin.txt", "--steps", "1", "--gen", "0", "--no-save"];
    sandbox.train(&words).says(&["latin.txt", said]);
    sandbox.train(&[&words[..], &["--tokenizer", "char"]].concat()).says(&[said]);
    // Who insists knows.
    let insists = sandbox.train(&[&words[..], &["--data-as", "bytes"]].concat());
    assert!(!insists.stderr.contains("UTF-8"), "{insists}");
    // A character that the sample cuts in two is whole.
    let long = "猫".repeat(30_000);
    sandbox.write("long.txt", long.as_bytes());
    let words = words.map(|word| if word == "latin.txt" { "long.txt" } else { word });
    assert!(!sandbox.train(&words).stderr.contains("UTF-8"));
}

/// Bytes as good as random, as archives, sound and weights have them.
fn noise(n: u32) -> Vec<u8> {
    (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn what_looks_like_nothing_is_no_text_either() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("texts")).unwrap();
    sandbox.write("texts/a.txt", &some_text(3000));
    for (name, bytes, what) in [
        ("weights", noise(4000), "control characters"),
        ("sound", noise(70_000), "control characters"),
        ("b.7z", [b"7z\xBC\xAF\x27\x1C", &noise(900)[..]].concat(), "a 7-Zip archive"),
        ("c.wav", [b"RIFF\x01\x02\x03\x04WAVEfmt ", &noise(900)[..]].concat(), "sound"),
        ("m.gguf", [b"GGUF\x03\0\0\0", &noise(900)[..]].concat(), "a GGUF file"),
        ("page.txt", b"<!DOCTYPE html><title>404 Not Found</title>".to_vec(), "a web page"),
        ("big.txt", b"version https://git-lfs.github.com/spec/v1\noid".to_vec(), "git-lfs"),
    ] {
        sandbox.write(name, &bytes);
        sandbox.refuses(&["--data", name], 65, &[name, "is no text", what]);
        sandbox.write(format!("texts/{name}"), &bytes);
    }
    let left = sandbox.train(&[&["--data", "texts", "--no-save"], &RUN[..]].concat());
    left.says(&["left out as no text: 7 ('texts/b.7z'"]);
    // A page that is called one is text.
    sandbox.write("page.html", &[&b"<!DOCTYPE html>"[..], &some_text(900)].concat());
    sandbox.train(&[&["--data", "page.html", "--no-save"], &RUN[..]].concat());
}

#[test]
fn what_is_more_than_text_is_said() {
    let sandbox = sandbox();
    let lines = |line: &str| line.repeat(99).into_bytes();
    for (name, bytes, said) in [
        ("a.jsonl", lines("{\"text\": \"once upon\"}\n"), "jq -r .text"),
        ("a.json", [b"[", &lines("{\"text\": \"once\"},")[..], b"{}]"].concat(), "'.[].text'"),
        ("a.csv", lines("1,once upon a time\n"), "csvcut -c text"),
        ("a.txt", lines("once upon\r\n"), "tr -d '\\r'"),
        ("b.txt", lines("once upon<|endoftext|>"), "99 times, learned as letters (--end-of-text"),
    ] {
        sandbox.write(name, &bytes);
        let as_text = ["--data-as", "text"];
        let as_text = if name.ends_with(".jsonl") { &as_text[..] } else { &[] };
        let once = sandbox.train(&[&["--data", name, "--dry-run"], as_text].concat());
        once.says(&[said]);
        let zh = ["--data", name, "--dry-run", "--lang", "zh"];
        let zh = sandbox.train(&[&zh[..], as_text].concat());
        assert!(!zh.stderr.contains("learned"), "{zh}");
    }
    let marked = ["--data", "b.txt", "--end-of-text", "marked", "--dry-run"];
    assert!(!sandbox.train(&marked).stderr.contains("learned as letters"));
}

#[test]
fn token_numbers_of_other_programs_are_known_for_what_they_are() {
    let sandbox = sandbox();
    let ours = numbers(300, 3000);
    sandbox.write("ours.bin", &ours);
    let llm_c = [&20_240_520u32.to_le_bytes()[..], &[1; 1020], &ours].concat();
    sandbox.write("llm_c.bin", &llm_c);
    let as_u16 = |name| [name, "--data-as", "u16"];
    assert!(learned(&sandbox, &as_u16("ours.bin")) == learned(&sandbox, &as_u16("llm_c.bin")));
    let words = ["--data", "llm_c.bin", "--data-as", "u16", "--dry-run"];
    sandbox.train(&words).says(&["without the header of llm.c", "a vocabulary of 300 numbers"]);
    let pairs: Vec<&[u8]> = ours.chunks(2).collect();
    let wide = pairs.iter().flat_map(|pair| [pair[0], pair[1], 0, 0]).collect::<Vec<_>>();
    let big = numbers(200, 3000).chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect::<Vec<_>>();
    for (name, bytes, said) in [
        ("a.npy", [b"\x93NUMPY\x01\0v\0", &ours[..]].concat(), "a NumPy array"),
        ("wide.bin", wide, "32 bits"),
        ("big.bin", big, "big-endian"),
    ] {
        sandbox.write(name, &bytes);
        sandbox.refuses(&["--data", name, "--data-as", "u16"], 65, &[name, said]);
    }
}

#[cfg(unix)]
#[test]
fn what_is_learned_is_not_called_unseen() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("texts")).unwrap();
    sandbox.write("texts/a.txt", &some_text(3000));
    sandbox.write("texts/b.txt", &some_text(900));
    sandbox.write("copy.gz", &packed(&some_text(900)));
    std::os::unix::fs::symlink("texts/a.txt", sandbox.path("link")).unwrap();
    for (data, val) in
        [("texts", "texts/b.txt"), ("texts", "copy.gz"), ("texts", "link"), ("link", "link")]
    {
        sandbox.refuses(&["--data", data, "--val", val], 65, &[val, "is learned too", "--val"]);
    }
    sandbox.write("texts/c.txt", &some_text(900));
    let once = sandbox.train(&[&["--data", "texts", "--no-save"], &RUN[..]].concat());
    once.says(&["'texts' (2 files), 3.9 kB", "equal to another and taken once: 1 ('texts/c.txt')"]);
}

#[cfg(unix)]
#[test]
fn a_file_of_the_kernel_that_waits_is_not_waited_for() {
    // /proc/kmsg is one; who may not read it is refused for that.
    let outcome = sandbox().run(&["--data", "/proc/kmsg", "--no-save"]);
    assert!([65, 66].contains(&outcome.code.unwrap()), "{outcome}");
}
