//! What Ollama needs besides the model: a Modelfile.
//!
//! A model that goes on with a text is sent the prompt as it is. One with a chat template has that in
//! its file, where Ollama finds it; a `TEMPLATE` here would take its place.
//!
//! Reference: `docs/modelfile.mdx` and `docs/template.mdx` of Ollama.

use crate::tokenizers::kept;
use llm_core::tokenizer::{END_OF_TEXT, Tokenizer};
use llm_core::{Error, IoAction, Result, TinyGPT, base};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The first line of every one that is written here.
const HEAD: &str = "# written by train-gpt, for Ollama\n";
/// Tokens that a model without an end of texts goes on for.
const TOKENS: usize = 256;
/// How evenly tokens are drawn.
const TEMPERATURE: f32 = 0.8;

const EXTENSION: &str = "Modelfile";

/// Where the Modelfile of the model at `path` stands: beside it, `book.Modelfile` of `book.gguf`.
pub fn modelfile_of(path: &Path) -> PathBuf {
    match path.extension() {
        Some(own) if own == EXTENSION => path.with_extension(format!("{EXTENSION}.{EXTENSION}")),
        _ => path.with_extension(EXTENSION),
    }
}

/// Whether the file was written by [`write_modelfile`]. For a look before it is replaced.
pub fn is_our_modelfile(path: &Path) -> bool {
    let mut head = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(HEAD.len() as u64).read_to_end(&mut head));
    read.is_ok() && head == HEAD.as_bytes()
}

/// Writes the Modelfile of the model that was exported to `path`.
///
/// # Errors
/// What the system says; a damaged tokenizer. An old file then stays.
pub fn write_modelfile(path: &Path, model: &TinyGPT, tokenizer: &dyn Tokenizer) -> Result<()> {
    let target = modelfile_of(path);
    let failed = |source: io::Error| Error::io(IoAction::Save, &target, source);
    let chats = kept(tokenizer)?.chat_template.is_some_and(|template| !template.is_empty());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = tokenizer.end_of_text().is_some();
    let text = modelfile(&name, model.config().seq_len, chats, ends);
    base::replace_file(&target, |to| to.write_all(text.as_bytes())).map_err(failed)
}

/// The text for a model of this file name and context: whether its file has a chat template, and
/// whether a token of its ends a text.
pub fn modelfile(name: &str, context: usize, chats: bool, ends: bool) -> String {
    // More would be more than the model has learned to look back at.
    let mut text = format!("{HEAD}FROM ./{name}\nPARAMETER num_ctx {context}\n");
    if chats {
        return text;
    }
    text += "TEMPLATE \"{{ .Prompt }}\"\n";
    text += &format!("PARAMETER temperature {TEMPERATURE}\nPARAMETER num_predict {TOKENS}\n");
    if ends {
        text += &format!("PARAMETER stop \"{END_OF_TEXT}\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_needs() {
        let base = "# written by train-gpt, for Ollama\n\
                    FROM ./my book.gguf\n\
                    PARAMETER num_ctx 64\n\
                    TEMPLATE \"{{ .Prompt }}\"\n\
                    PARAMETER temperature 0.8\n\
                    PARAMETER num_predict 256\n";
        assert_eq!(modelfile("my book.gguf", 64, false, false), base);
        let ended = modelfile("my book.gguf", 64, false, true);
        assert_eq!(ended, format!("{base}PARAMETER stop \"<|endoftext|>\"\n"));
        let chats = modelfile("chat.gguf", 2048, true, true);
        assert!(!chats.contains("TEMPLATE") && !chats.contains("stop"), "{chats}");
        assert!(chats.contains("PARAMETER num_ctx 2048\n"));
    }

    #[test]
    fn only_its_own_are_known_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.Modelfile");
        std::fs::write(&path, modelfile("a.gguf", 8, false, false)).unwrap();
        assert!(is_our_modelfile(&path));
        std::fs::write(&path, "FROM ./a.gguf\n").unwrap();
        assert!(!is_our_modelfile(&path));
        assert_eq!(modelfile_of(Path::new("x/book.gguf")), Path::new("x/book.Modelfile"));
        for path in ["book", "book.Modelfile"] {
            assert_ne!(modelfile_of(Path::new(path)), Path::new(path));
        }
    }
}
