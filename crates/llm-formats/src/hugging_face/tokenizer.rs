//! Tokenizer files: tokenizer.json, and vocab.json with merges.txt for older programs.
//!
//! | kind | as |
//! |---|---|
//! | byte | byte-level BPE of 256 tokens without merges; token b stands for byte b |
//! | char | BPE over characters without merges; a byte that is no UTF-8 is called `<0xNN>` |
//! | bpe | itself |
//! | ids | nothing |
//!
//! Which token begins and which ends a text, and the template of conversations, stand in
//! tokenizer_config.json; in a checkpoint they are [`Kept`] with the tokenizer.
//!
//! What was written as byte or char is known again when it is read.

use super::units;
use crate::bpe;
use crate::error::{FormatError, Result, shown};
use crate::files::read_small;
use crate::kept::Kept;
use crate::tokenizers;
use llm_core::checkpoint::limits::MAX_BLOB;
use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, END_OF_TEXT, IdsTokenizer, Tokenizer};
use llm_core::{Error, TokenId};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

/// The whole tokenizer.
const TOKENIZER: &str = "tokenizer.json";
/// Tokens and their numbers.
const VOCAB: &str = "vocab.json";
/// Pairs that become one token, the first ones first.
const MERGES: &str = "merges.txt";
/// What other models have in place of these.
const SENTENCEPIECE: &str = "tokenizer.model";
const NO_SENTENCEPIECE: &str = "SentencePiece's files are not read: save the tokenizer as \
    tokenizer.json too (AutoTokenizer.from_pretrained(..).save_pretrained(..)), or take this one \
    away to import the model without";
/// Which class reads the files, and what some tokens are for.
const SETTINGS: &str = "tokenizer_config.json";
/// How a conversation is written down, where it does not stand there.
const TEMPLATE: &str = "chat_template.jinja";
/// Bytes of each of them.
const MAX_SETTINGS: u64 = 16 << 20;

/// The merges file of a tokenizer without any.
const NO_MERGES: &[u8] = b"#version: 0.2\n";

/// Files by their names.
type Files = Vec<(&'static str, Vec<u8>)>;

/// The files of a tokenizer, for a model with this context.
///
/// # Errors
/// [`FormatError::TokenizerKind`] when there are no such files for it.
pub fn export(tokenizer: &dyn Tokenizer, context: usize) -> Result<Files> {
    let json = |value: &Value| value.to_string().into_bytes();
    let (mut files, kept) = match tokenizer.name() {
        IdsTokenizer::NAME => return Ok(Vec::new()),
        ByteTokenizer::NAME => (without_merges(units::byte_file(), tokenizer), Kept::default()),
        CharTokenizer::NAME => {
            (without_merges(units::char_file(tokenizer), tokenizer), Kept::default())
        }
        kind => bpe_files(kind, tokenizer.blob())?,
    };
    let mut settings = json!({
        "add_prefix_space": false,
        "clean_up_tokenization_spaces": false,
        // Without this it makes token types too, and GPT-2 would add what it has for token 0.
        "model_input_names": ["input_ids", "attention_mask"],
        "model_max_length": context,
        "tokenizer_class": "PreTrainedTokenizerFast",
    });
    if tokenizer.end_of_text().is_some() {
        // As GPT-2, unless it is said: one token parts texts, wherever one looks from.
        let end = kept.eos.as_deref().unwrap_or(END_OF_TEXT);
        settings["bos_token"] = json!(kept.bos.as_deref().unwrap_or(end));
        settings["eos_token"] = json!(end);
    }
    if let Some(template) = &kept.chat_template {
        settings["chat_template"] = json!(template);
    }
    files.push((SETTINGS, json(&settings)));
    Ok(files)
}

/// The tokenizer of a folder, if it has one, for a model with so many tokens, of which `ends` end a
/// text where the tokenizer's own files do not say it.
///
/// # Errors
/// [`FormatError::File`] naming the file that does not fit.
pub fn import(folder: &Path, rows: usize, ends: &[u64]) -> Result<Option<Arc<dyn Tokenizer>>> {
    let [whole, vocab, merges] = [TOKENIZER, VOCAB, MERGES].map(|name| folder.join(name));
    let read = |path: &Path| read_small(path, MAX_BLOB).map_err(|e| e.at(path));
    let refused = |path: &Path, e: Error| match e {
        e @ Error::Memory { .. } => FormatError::Core(e).at(path),
        e => FormatError::content(e.to_string()).at(path),
    };
    let fits = |path: &Path, tokenizer: Arc<dyn Tokenizer>| {
        let fit = tokenizers::fit(tokenizer.clone(), rows);
        fit.map_err(|e| FormatError::content(format!("{e} (vocab_size)")).at(path))?;
        Ok(Some(tokenizer))
    };
    if whole.exists() {
        let text = read(&whole)?;
        let tokenizer = match units::known(&text) {
            Some(tokenizer) => tokenizer,
            None if !bpe::AVAILABLE => {
                return bpe::from_tokenizer_json(&text).map(Some).map_err(|e| refused(&whole, e));
            }
            None => {
                let kept = match kept(folder, &text, ends) {
                    Err(FormatError::Core(e)) => return Err(refused(&whole, e)),
                    kept => kept?,
                };
                bpe::with_kept(&text, &kept).map_err(|e| refused(&whole, e))?
            }
        };
        return fits(&whole, tokenizer);
    }
    match (vocab.exists(), merges.exists()) {
        (true, true) => {
            let (tokens, pairs) = (read(&vocab)?, read(&merges)?);
            let tokenizer =
                bpe::from_vocab_and_merges(&tokens, &pairs).map_err(|e| refused(&vocab, e))?;
            fits(&vocab, tokenizer)
        }
        (false, false) => match folder.join(SENTENCEPIECE) {
            path if path.exists() => {
                Err(FormatError::Missing { advice: NO_SENTENCEPIECE }.at(&path))
            }
            _ => Ok(None),
        },
        (true, false) => Err(FormatError::content("merges.txt is missing beside it").at(&vocab)),
        (false, true) => Err(FormatError::content("vocab.json is missing beside it").at(&merges)),
    }
}

/// The token that begins a text: the one that ends one, unless another is kept.
///
/// # Errors
/// [`FormatError::Core`] for a damaged tokenizer.
pub(super) fn begin_of_text(tokenizer: &dyn Tokenizer) -> Result<Option<TokenId>> {
    if tokenizer.name() != bpe::NAME {
        return Ok(tokenizer.end_of_text());
    }
    let Some(bos) = bpe::taken_apart(&tokenizer.blob())?.1.bos else {
        return Ok(tokenizer.end_of_text());
    };
    let all = 0..tokenizer.vocab_size() as TokenId;
    Ok(all.into_iter().find(|&id| tokenizer.bytes_of(id) == bos.as_bytes()))
}

/// What is kept of a folder with this tokenizer.json; `ends` are the numbers that end a text where
/// no token is named.
fn kept(folder: &Path, file: &[u8], ends: &[u64]) -> Result<Kept> {
    let path = folder.join(SETTINGS);
    let settings: Map<String, Value> = match path.exists() {
        false => Map::new(),
        true => {
            let text = read_small(&path, MAX_SETTINGS).map_err(|e| e.at(&path))?;
            let no_object = |e: serde_json::Error| {
                FormatError::content(format!("no JSON object: {}", shown(&e.to_string()))).at(&path)
            };
            serde_json::from_slice(&text).map_err(no_object)?
        }
    };
    // As a text, or as an object with the token's options.
    let token = |field: &str| {
        let value = settings.get(field)?;
        let text = value.as_str().or_else(|| value.get("content").and_then(Value::as_str));
        text.map(str::to_string)
    };
    let eos = match (token("eos_token"), ends.first()) {
        (None, Some(end)) => bpe::added_token(file, *end)?,
        (named, _) => named,
    };
    let eos_or_usual = eos.as_deref().unwrap_or(END_OF_TEXT);
    Ok(Kept {
        bos: token("bos_token").filter(|bos| bos != eos_or_usual),
        chat_template: template(folder, settings.get("chat_template"))?,
        eos: eos.filter(|eos| eos != END_OF_TEXT),
    })
}

/// The template of conversations: a text, one of several by its name, or a file of its own.
fn template(folder: &Path, field: Option<&Value>) -> Result<Option<String>> {
    let of_default = |all: &Vec<Value>| {
        let default = all.iter().find(|entry| entry["name"] == "default")?;
        default["template"].as_str().map(str::to_string)
    };
    match field {
        Some(Value::String(text)) => return Ok(Some(text.clone())),
        Some(Value::Array(all)) => return Ok(of_default(all)),
        _ => {}
    }
    let path = folder.join(TEMPLATE);
    if !path.exists() {
        return Ok(None);
    }
    let text = read_small(&path, MAX_SETTINGS).map_err(|e| e.at(&path))?;
    let text =
        String::from_utf8(text).map_err(|_| FormatError::content("it is not UTF-8").at(&path))?;
    Ok(Some(text))
}

/// tokenizer.json and its two older parts, the second of them empty.
fn without_merges(mut file: Value, tokenizer: &dyn Tokenizer) -> Files {
    let mut vocab = file["model"]["vocab"].clone();
    if let Some(end) = tokenizer.end_of_text() {
        vocab[END_OF_TEXT] = json!(end);
        file["added_tokens"] = json!([units::added(end)]);
    }
    let vocab = vocab.to_string().into_bytes();
    vec![(TOKENIZER, file.to_string().into_bytes()), (VOCAB, vocab), (MERGES, NO_MERGES.to_vec())]
}

/// The files of a tokenizer whose data are its tokenizer.json.
fn bpe_files(kind: &str, blob: Vec<u8>) -> Result<(Files, Kept)> {
    if kind != bpe::NAME {
        return Err(FormatError::TokenizerKind { kind: shown(kind) });
    }
    let (whole, kept, gpt2s) = bpe::taken_apart(&blob)?;
    let mut files = vec![(TOKENIZER, whole)];
    if gpt2s {
        let (vocab, merges) = bpe::gpt2_files(&blob)?;
        files.extend([(VOCAB, vocab), (MERGES, merges)]);
    }
    Ok((files, kept))
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::tokenizer::WithEndOfText;

    fn round_trip(tokenizer: &dyn Tokenizer) -> Arc<dyn Tokenizer> {
        let files = export(tokenizer, 16).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in &files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        import(folder.path(), tokenizer.vocab_size(), &[]).unwrap().unwrap()
    }

    #[test]
    fn bytes_and_characters_are_known_again() {
        assert_eq!(round_trip(&ByteTokenizer).name(), "byte");
        for text in [&b"once upon\na time"[..], "naïve 猫\t<0xFF>".as_bytes(), b"a\xffb\xfe", b"x"]
        {
            let chars = CharTokenizer::from_text(text).unwrap();
            let again = round_trip(&chars);
            assert_eq!((again.name(), again.blob()), ("char", chars.blob()));
            let ended = WithEndOfText::extend(Arc::new(chars)).unwrap();
            assert_eq!(round_trip(&*ended).blob(), ended.blob());
        }
        let ended = WithEndOfText::extend(Arc::new(ByteTokenizer)).unwrap();
        let again = round_trip(&*ended);
        assert_eq!((again.blob(), again.end_of_text()), (ended.blob(), Some(256)));
        let settings = export(&*ended, 16).unwrap().pop().unwrap().1;
        let settings: Value = serde_json::from_slice(&settings).unwrap();
        assert_eq!(settings["eos_token"], END_OF_TEXT);
    }

    #[test]
    fn a_folder_without_files_has_none_and_half_of_them_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(import(folder.path(), 256, &[]).unwrap().is_none());
        std::fs::write(folder.path().join(VOCAB), "{}").unwrap();
        let refused = import(folder.path(), 256, &[]).map(drop).unwrap_err();
        assert!(refused.to_string().contains("merges.txt is missing"), "{refused}");
        std::fs::rename(folder.path().join(VOCAB), folder.path().join(SENTENCEPIECE)).unwrap();
        let refused = import(folder.path(), 256, &[]).map(drop).unwrap_err().to_string();
        assert!(
            refused.contains("tokenizer.model': SentencePiece's files are not read"),
            "{refused}"
        );
    }
}
