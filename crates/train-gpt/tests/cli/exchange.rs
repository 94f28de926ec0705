//! Models from and for other programs.

use crate::sandbox;
use workspace_tests::cli_support::{Sandbox, as_multi_head};

/// A sandbox with a model without head bias as `model`.
fn exportable() -> Sandbox {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "3", "--save", "model", "--gen", "0"];
    let run = sandbox.train(&[&words[..], &["--arch", "gpt2"]].concat());
    assert!(!run.stderr.contains("Hugging Face"), "{run}");
    sandbox
}

#[test]
fn to_hugging_face_and_back() {
    let sandbox = exportable();
    let exported = sandbox.ok(&["export", "hf", "--load", "model", "out"]);
    exported.says(&["exported 'model' to 'out'"]);
    assert_eq!(exported.stdout, b"");
    for name in ["model.safetensors", "config.json", "generation_config.json", "tokenizer.json"] {
        assert!(sandbox.path("out").join(name).is_file(), "{name}");
    }
    sandbox.ok(&["import", "hf", "out", "--save", "back"]).says(&[
        "imported 1 layer · width 16 · 1 head · context 16 · 256 byte tokens",
        "saved checkpoint 'back' at step 0",
        "generate --load back",
    ]);
    let text = |file: &str| {
        sandbox
            .ok(&["generate", "--load", file, "-p", "the", "-n", "20", "--raw", "--seed", "1"])
            .stdout
    };
    assert_eq!(text("model"), text("back"));
    let score = |file: &str| sandbox.ok(&["eval", "--load", file, "--data", "text.txt"]).stdout;
    assert_eq!(score("model"), score("back"));
    // Exported again it is the same folder.
    sandbox.ok(&["export", "hf", "--load", "back", "again", "-q"]);
    for name in ["model.safetensors", "config.json", "tokenizer.json", "vocab.json", "merges.txt"] {
        assert!(
            sandbox.read(format!("out/{name}")) == sandbox.read(format!("again/{name}")),
            "{name}"
        );
    }
}

#[test]
fn to_llama_cpp_and_back() {
    let sandbox = exportable();
    sandbox.ok(&["export", "gguf", "--load", "model", "out.gguf"]).says(&["exported 'model'"]);
    sandbox.ok(&["import", "gguf", "out.gguf", "--save", "back"]).says(&[
        "imported 1 layer · width 16 · 1 head · context 16 · 256 byte tokens",
        "saved checkpoint 'back' at step 0",
    ]);
    let score = |file: &str| sandbox.ok(&["eval", "--load", file, "--data", "text.txt"]).stdout;
    assert_eq!(score("model"), score("back"));
    // Exported again it is the same file, and one of ours is replaced.
    let first = sandbox.read("out.gguf");
    sandbox.ok(&["export", "gguf", "--load", "back", "out.gguf", "-q"]);
    assert!(first == sandbox.read("out.gguf"));
    // Beside it stands what Ollama needs; one that somebody else wrote stays.
    let modelfile = sandbox.read("out.Modelfile");
    let modelfile = String::from_utf8_lossy(&modelfile);
    assert!(modelfile.contains("\nFROM ./out.gguf\nPARAMETER num_ctx 16\n"), "{modelfile}");
    sandbox.write("own.Modelfile", b"FROM ./own.gguf\n");
    let own = ["export", "gguf", "--load", "model", "own.gguf"];
    sandbox.refuses(&own, 73, &["own.Modelfile", "was not exported by this program"]);
    assert!(!sandbox.path("own.gguf").exists());

    let small = ["export", "gguf", "--load", "model", "--type", "q8_0", "small.gguf"];
    sandbox.ok(&small).says(&["matrices are written as F32: their rows are no whole blocks of 32"]);
    sandbox
        .ok(&["import", "gguf", "small.gguf", "--save", "back"])
        .says(&["stored rounded (Q8_0)"]);
    sandbox.refuses(&["export", "hf", "--load", "model", "--type", "f32", "x"], 2, &["--type"]);
    let other = ["export", "gguf", "--load", "model", "text.txt"];
    sandbox.refuses(&other, 73, &["text.txt", "was not exported by this program"]);
    sandbox.refuses(&["import", "gguf", "text.txt", "--save", "x"], 65, &["not a GGUF file"]);
    sandbox.refuses(&["import", "gguf", "none", "--save", "x"], 66, &["none"]);
    let heads = ["import", "gguf", "out.gguf", "--save", "x", "--heads", "2"];
    sandbox.refuses(&heads, 2, &["--heads"]);
    assert!(!sandbox.path("x").exists());

    let plain = ["--data", "text.txt", "--steps", "1", "--save", "plain", "--gen", "0"];
    sandbox.train(&plain);
    let plain = ["export", "gguf", "--load", "plain", "plain.gguf"];
    sandbox.refuses(
        &plain,
        65,
        &["(b_lm)", "a GGUF file for gpt2 cannot hold", "nothing was written"],
    );
    assert!(!sandbox.path("plain.gguf").exists());
}

#[test]
fn an_imported_model_learns_what_it_is_given() {
    let sandbox = exportable();
    sandbox.ok(&["export", "safetensors", "--load", "model", "file"]);
    let json = ["--message-format", "json"];
    let saved =
        sandbox.ok(&[&["import", "safetensors", "file", "--save", "new"], &json[..]].concat());
    assert_eq!(saved.events_of("saved")[0]["path"], "new");
    sandbox.ok(&["--load", "new", "--no-save"]).says(&["--data FILE --steps N"]);
    let on = ["--load", "new", "--save", "new", "--steps", "2", "--gen", "0", "--batch", "2"];
    sandbox.refuses(&on, 2, &["'new' was imported", "--data"]);
    let text = ["--data", "text.txt"];
    sandbox.ok(&[&on[..], &text].concat()).says(&["saved checkpoint 'new' at step 2"]);
    sandbox.write("other.txt", b"something else to read, and then some more of it to be read");
    let other = ["--data", "other.txt"];
    sandbox.refuses(&[&on[..], &other].concat(), 65, &["--allow-data-change"]);
    sandbox.ok(&[&on[..], &text].concat());
}

#[test]
fn a_model_with_a_head_bias_stays_here() {
    let sandbox = sandbox();
    let words = ["--data", "text.txt", "--steps", "2", "--save", "model", "--gen", "0"];
    sandbox.train(&words).says(&["Hugging Face", "--head-bias 0"]);
    let words = ["export", "hf", "--load", "model", "out"];
    sandbox.refuses(&words, 65, &["'model'", "b_lm", "--head-bias 0", "--arch gpt2"]);
    sandbox.ok(&["export", "safetensors", "--load", "model", "file"]);
    // A bias of zeros is none.
    let words = ["--data", "text.txt", "--steps", "0", "--save", "zero", "--gen", "0"];
    sandbox.train(&words);
    sandbox.ok(&["export", "hf", "--load", "zero", "out"]).says(&["gains of 1"]);
}

#[test]
fn commands_that_cannot_be() {
    let sandbox = exportable();
    sandbox.ok(&["export", "hf", "--load", "model", "out"]);
    as_multi_head(&sandbox.path("model"), &sandbox.path("four"), 4);
    std::fs::create_dir(sandbox.path("full")).unwrap();
    sandbox.write("full/file", b"x");
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    for (words, code, needles) in [
        (&["export"][..], 2, &["--load"][..]),
        (&["export", "hf", "--load", "model"], 2, &["TARGET"]),
        (&["export", "onnx", "--load", "model", "x"], 2, &["onnx"]),
        (&["import", "hf", "out"], 2, &["--save"]),
        (&["import", "onnx", "out", "--save", "x"], 2, &["onnx"]),
        (&["import", "gguf", "out", "--save", "x"], 65, &["Hugging Face", "import hf"]),
        (&["import", "hf", "out", "--save", "x", "--heads", "2"], 2, &["--heads 2"]),
        (&["export", "hf", "--load", "missing", "x"], 66, &["missing"]),
        (&["export", "hf", "--load", "text.txt", "x"], 65, &["text.txt", "not a checkpoint"]),
        (&["export", "hf", "--load", "four", "x"], 65, &["4 heads", "train-gpt-mha"]),
        (&["export", "hf", "--load", "model", "full"], 73, &["full", "not empty"]),
        (&["export", "hf", "--load", "model", "out"], 73, &["out", "not empty"]),
        (&["export", "hf", "--load", "model", "text.txt"], 73, &["text.txt", "not a folder"]),
        (&["export", "hf", "--load", "model", "/proc/x"], 73, &["/proc/x"]),
        (&["export", "safetensors", "--load", "model", "text.txt"], 73, &["text.txt", "exists"]),
        (&["export", "safetensors", "--load", "model", "full"], 73, &["full", "directory"]),
        (&["export", "safetensors", "--load", "model", "no/file"], 73, &["no/file"]),
        (&["import", "hf", "missing", "--save", "x"], 66, &["missing"]),
        (&["import", "hf", "model", "--save", "x"], 65, &["model", "a checkpoint", "--load"]),
        (&["import", "hf", "text.txt", "--save", "x"], 66, &["text.txt", "not a folder"]),
        (&["import", "hf", "empty", "--save", "x"], 66, &["empty/config.json"]),
        (&["import", "hf", "out", "--save", "text.txt"], 73, &["text.txt", "not a checkpoint"]),
        (&["import", "hf", "out", "--save", "full"], 73, &["full", "nothing was imported"]),
        (&["import", "safetensors", "missing", "--save", "x"], 66, &["missing"]),
        (
            &["import", "safetensors", "model", "--save", "x"],
            65,
            &["model", "nothing was imported"],
        ),
        (&["import", "safetensors", "text.txt", "--save", "x"], 65, &["text.txt", "header"]),
        #[cfg(unix)]
        (&["import", "safetensors", "/dev/zero", "--save", "x"], 66, &["/dev/zero", "regular"]),
        (&["import", "safetensors", "out/model.safetensors", "--save", "x"], 65, &["import hf"]),
        (&["import", "llm-cpp", "model", "--save", "x"], 66, &["model.json"]),
    ] {
        sandbox.refuses(words, code, needles);
    }
    sandbox.refuses(
        &["import", "safetensors", "out/model.safetensors", "--save", "x", "--heads", "1"],
        65,
        &["import hf reads 'out'"],
    );
}

#[test]
fn what_was_exported_here_may_be_replaced() {
    let sandbox = exportable();
    for _ in 0..2 {
        sandbox.ok(&["export", "safetensors", "--load", "model", "file"]);
        sandbox.ok(&["import", "safetensors", "file", "--save", "back"]);
    }
    let words = ["--load", "back", "--data", "text.txt", "--steps", "1", "--gen", "0", "--no-save"];
    sandbox.ok(&words);
}

#[test]
fn a_model_without_a_tokenizer_says_what_it_takes() {
    let sandbox = exportable();
    sandbox.ok(&["export", "hf", "--load", "model", "out"]);
    for name in ["tokenizer.json", "vocab.json", "merges.txt"] {
        std::fs::remove_file(sandbox.path("out").join(name)).unwrap();
    }
    let imported = sandbox.ok(&["import", "hf", "out", "--save", "ids"]);
    imported.says(&["256 ids tokens", "no tokenizer files", "generate --load ids --prompt-ids"]);
    sandbox.refuses(&["generate", "--load", "ids", "-p", "the"], 65, &["--prompt-ids"]);
    let on = ["--load", "ids", "--data", "text.txt", "--steps", "1", "--no-save"];
    sandbox.refuses(&on, 65, &["ids tokenizer", "import it again"]);
    sandbox.refuses(&["eval", "--load", "ids", "--data", "text.txt"], 65, &["ids tokenizer"]);
    sandbox.ok(&["export", "hf", "--load", "ids", "again"]).says(&["no tokenizer files"]);
    assert!(!sandbox.path("again/tokenizer.json").exists());
}

/// What it is follows from its settings alone, and so does who takes it.
#[test]
fn a_llama_is_for_another_program() {
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("llama")).unwrap();
    sandbox.write("llama/config.json", br#"{"model_type": "llama"}"#);
    let words = ["import", "hf", "llama", "--save", "new"];
    let why = ["32 attention heads", "import it with train-gpt-modern", "nothing was imported"];
    sandbox.refuses(&words, 65, &why);
    sandbox.write("llama/config.json", br#"{"model_type": "llama", "hidden_act": "gelu"}"#);
    sandbox.refuses(&words, 65, &["hidden_act is \"gelu\", supported: silu"]);
    assert!(!sandbox.path("new").exists());
}

#[test]
fn a_file_at_the_wrong_door_is_called_what_it_is() {
    let sandbox = sandbox();
    let gpt2 = ["--arch", "gpt2", "--data", "text.txt", "--steps", "1", "--gen", "0"];
    sandbox.train(&[&gpt2[..], &["--save", "model"]].concat());
    sandbox.ok(&["export", "hf", "--load", "model", "hf"]);
    sandbox.ok(&["export", "gguf", "--load", "model", "m.gguf"]);
    sandbox.ok(&["export", "safetensors", "--load", "model", "m.safetensors"]);
    let pytorch = [&b"PK\x03\x04"[..], &[0; 26], b"ckpt/data.pkl"].concat();
    sandbox.write("ckpt.pt", &pytorch);
    sandbox.write("pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    sandbox.write("page", b"<html><title>404</title>");
    sandbox.write("config.py", b"n_layer = 1\n");
    sandbox.write("m-00001-of-00002.gguf", &sandbox.read("m.gguf")[..900]);
    for folder in ["two", "peft"] {
        std::fs::create_dir(sandbox.path(folder)).unwrap();
    }
    sandbox.write("two/a", &sandbox.read("model"));
    sandbox.write("two/b", &sandbox.read("model"));
    sandbox.write("peft/adapter_config.json", b"{}");
    let import = |kind, file| vec!["import", kind, file, "--save", "back"];
    let load = |file| vec!["generate", "--load", file];
    for (words, said) in [
        (load("m.gguf"), ["a GGUF file", "import gguf"]),
        (load("m.safetensors"), ["a safetensors file", "import safetensors"]),
        (load("hf"), ["Hugging Face", "import hf"]),
        (load("ckpt.pt"), ["PyTorch", "tools/nano_gpt_checkpoint.py"]),
        (load("pointer"), ["git-lfs", "git lfs pull"]),
        (load("two"), ["2 checkpoints", "name one"]),
        (load("peft"), ["PEFT", "import peft"]),
        (import("safetensors", "m.gguf"), ["a GGUF file", "import gguf"]),
        (import("safetensors", "ckpt.pt"), ["PyTorch", "tools/nano_gpt_checkpoint.py"]),
        (import("safetensors", "hf/model.safetensors"), ["Hugging Face", "import hf reads 'hf'"]),
        (import("gguf", "m.safetensors"), ["a safetensors file", "import safetensors"]),
        (import("gguf", "m-00001-of-00002.gguf"), ["part 1 of 2", "llama-gguf-split --merge"]),
        (import("gguf", "page"), ["a web page", "server"]),
        (import("hf", "m.gguf"), ["a GGUF file", "import gguf"]),
        (import("hf", "peft"), ["PEFT", "import peft"]),
        (vec!["--config", "config.py"], ["Python", "docs/from_nano_gpt.md"]),
        (vec!["tokenizer", "info", "--tokenizer", "./pointer"], ["git-lfs", "git lfs pull"]),
    ] {
        sandbox.refuses(&words, 65, &said);
    }
    // Within a folder too.
    for name in ["model.safetensors", "config.json", "tokenizer.json"] {
        let whole = sandbox.read(format!("hf/{name}"));
        sandbox.write(format!("hf/{name}"), &sandbox.read("pointer"));
        sandbox.refuses(&import("hf", "hf"), 65, &[name, "git-lfs", "git lfs pull"]);
        // As Windows' editors write it.
        if name.ends_with("json") {
            sandbox.write(format!("hf/{name}"), &[b"\xEF\xBB\xBF", &whole[..]].concat());
            sandbox.ok(&import("hf", "hf"));
        }
        sandbox.write(format!("hf/{name}"), &whole);
    }
}
