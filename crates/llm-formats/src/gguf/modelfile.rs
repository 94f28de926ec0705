//! The Modelfile, which Ollama needs besides the model.
//!
//! A model that goes on with a text is sent the prompt as it is. One that learned conversations has its way
//! of talking there, in Ollama's own language, and stops at its marks.
//!
//! Reference: `docs/modelfile.mdx` of Ollama.

use super::ollama::template_of;
use crate::chat::ChatFormat;
use crate::error::{FormatError, refuse};
use crate::tokenizers::kept;
use llm_core::tokenizer::{END_OF_TEXT, Tokenizer};
use llm_core::{Error, IoAction, Result, TinyGPT, base, message};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The first line of every one that is written here.
const HEAD: &str = "# written by train-gpt, for Ollama\n";
/// Tokens that a model without an end of texts goes on for.
const TOKENS: usize = 256;
/// Temperature at which tokens are drawn.
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

/// Refuses a file whose name a line of a Modelfile cannot hold.
///
/// # Errors
/// [`FormatError::Content`] naming it.
pub fn check_name(path: &Path) -> std::result::Result<(), FormatError> {
    let name = path.file_name().unwrap_or_default();
    let fits = |name: &str| !name.contains(char::is_control) && name.trim() == name;
    match name.to_str().is_some_and(fits) {
        true => Ok(()),
        false => refuse(message!(
            "the Modelfile beside it cannot name '{}': control characters, blanks at its ends, and what is \
             no UTF-8 have no place in a line",
            name.to_string_lossy().escape_debug().to_string()
        )),
    }
}

/// How a Modelfile that was written lets the model speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// The model goes on with a text.
    Text,
    /// The model's chat template is in it.
    Talks,
    /// The model's chat template is in it, which has no place for a system message.
    WithoutSystem,
    /// Ollama's language cannot say what the model's template writes.
    Unsaid,
}

/// Writes the Modelfile of the model that was exported to `path`.
///
/// # Errors
/// What the system says. An old file then stays.
pub fn write_modelfile(path: &Path, model: &TinyGPT, tokenizer: &dyn Tokenizer) -> Result<Spoken> {
    let target = modelfile_of(path);
    let failed = |source: io::Error| Error::io(IoAction::Save, &target, source);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ends = tokenizer.end_of_text().is_some();
    let format = ChatFormat::own(tokenizer);
    let context = model.config().seq_len;
    let has_own = kept(tokenizer)?.chat_template.is_some_and(|own| !own.is_empty());
    let (text, spoken) = match has_own && format.is_none() {
        // The bare prompt would be wrong for it, and its marks are unknown.
        true => (beginning(&name, context), Spoken::Unsaid),
        false => modelfile(&name, context, format.as_ref(), ends),
    };
    base::replace_file(&target, |to| to.write_all(text.as_bytes())).map_err(failed)?;
    Ok(spoken)
}

/// The lines that any model has. A longer context would be more than it has learned to look back at.
fn beginning(name: &str, context: usize) -> String {
    format!("{HEAD}FROM ./{name}\nPARAMETER num_ctx {context}\n")
}

/// The text for a model of this file name and context, with how it talks if it does, and whether a token of
/// its ends a text.
pub fn modelfile(
    name: &str,
    context: usize,
    format: Option<&ChatFormat>,
    ends: bool,
) -> (String, Spoken) {
    let mut text = beginning(name, context);
    let Some(format) = format else {
        text += "TEMPLATE \"{{ .Prompt }}\"\n";
        text += &format!("PARAMETER temperature {TEMPERATURE}\nPARAMETER num_predict {TOKENS}\n");
        if ends {
            text += &format!("PARAMETER stop \"{END_OF_TEXT}\"\n");
        }
        return (text, Spoken::Text);
    };
    let spoken = match template_of(&format.template) {
        Some((template, system)) => {
            text += &format!("TEMPLATE \"\"\"{template}\"\"\"\n");
            if system { Spoken::Talks } else { Spoken::WithoutSystem }
        }
        None => Spoken::Unsaid,
    };
    // A mark within an answer would be the end of one, whatever the template calls it.
    let end = Some(&format.end).filter(|end| !end.is_empty() && !format.marks.contains(end));
    for stop in format.marks.iter().chain(end).filter(|stop| !stop.contains(['"', '\n'])) {
        text += &format!("PARAMETER stop \"{stop}\"\n");
    }
    (text, spoken)
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
        assert_eq!(modelfile("my book.gguf", 64, None, false).0, base);
        let ended = modelfile("my book.gguf", 64, None, true).0;
        assert_eq!(ended, format!("{base}PARAMETER stop \"<|endoftext|>\"\n"));
    }

    #[cfg(feature = "bpe")]
    #[test]
    fn a_model_that_talks_has_its_template_and_its_marks() {
        use crate::tokenizers::talking;
        use llm_core::tokenizer::ByteTokenizer;
        use std::sync::Arc;
        let bytes = talking(Arc::new(ByteTokenizer), None, true).unwrap();
        let format = ChatFormat::own(&*bytes);
        let (text, spoken) = modelfile("chat.gguf", 2048, format.as_ref(), true);
        assert_eq!(spoken, Spoken::Talks);
        assert!(text.contains("TEMPLATE \"\"\"{{ if .System }}<|im_start|>system\n"), "{text}");
        let stops = "PARAMETER stop \"<|im_start|>\"\nPARAMETER stop \"<|im_end|>\"\n";
        assert!(text.ends_with(stops) && text.contains("PARAMETER num_ctx 2048\n"), "{text}");
        let odd = talking(Arc::new(ByteTokenizer), Some("{{ messages | length }}".into()), true);
        let format = ChatFormat::own(&*odd.unwrap());
        let (text, spoken) = modelfile("chat.gguf", 2048, format.as_ref(), true);
        assert_eq!((spoken, text.contains("TEMPLATE")), (Spoken::Unsaid, false));
    }

    /// A template that refuses a question and its answer is there all the same.
    #[cfg(feature = "bpe")]
    #[test]
    fn a_template_that_cannot_be_tried_is_not_a_bare_prompt() {
        use crate::tokenizers::talking;
        use llm_core::Config;
        use llm_core::tokenizer::ByteTokenizer;
        use std::sync::Arc;
        let refuses =
            talking(Arc::new(ByteTokenizer), Some("{{ raise_exception('no') }}".into()), true);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gguf");
        let model = TinyGPT::new(Config::new(258, 8, 8, 1), 1).unwrap();
        assert_eq!(write_modelfile(&path, &model, &*refuses.unwrap()).unwrap(), Spoken::Unsaid);
        let text = std::fs::read_to_string(modelfile_of(&path)).unwrap();
        assert!(!text.contains("TEMPLATE") && text.contains("num_ctx 8"), "{text}");
    }

    #[test]
    fn a_name_adds_no_line() {
        for name in ["a.gguf", "my book.gguf", "a\"b#{{x}}.gguf", "-n", "\u{732b}.gguf"] {
            assert!(check_name(Path::new(name)).is_ok(), "{name}");
        }
        for name in ["x\nSYSTEM evil\n.gguf", "a.gguf ", " a", "\tb", "a\u{85}"] {
            assert!(check_name(Path::new(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn only_its_own_are_known_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.Modelfile");
        std::fs::write(&path, modelfile("a.gguf", 8, None, false).0).unwrap();
        assert!(is_our_modelfile(&path));
        std::fs::write(&path, "FROM ./a.gguf\n").unwrap();
        assert!(!is_our_modelfile(&path));
        assert_eq!(modelfile_of(Path::new("x/book.gguf")), Path::new("x/book.Modelfile"));
        for path in ["book", "book.Modelfile"] {
            assert_ne!(modelfile_of(Path::new(path)), Path::new(path));
        }
    }
}
