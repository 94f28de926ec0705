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

use crate::bpe;
use crate::error::{FormatError, Result, shown};
use crate::files::read_small;
use crate::kept::Kept;
use crate::tokenizers;
use llm_core::checkpoint::limits::MAX_BLOB;
use llm_core::tokenizer::{
    ByteTokenizer, CharTokenizer, END_OF_TEXT, IdsTokenizer, Tokenizer, WithEndOfText,
};
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
/// Bytes of a tokenizer.json that may be one of ours: of char, with every character there is.
const MAX_OURS: usize = 4 << 20;

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
        ByteTokenizer::NAME => (without_merges(byte_file(), tokenizer), Kept::default()),
        CharTokenizer::NAME => (without_merges(char_file(tokenizer), tokenizer), Kept::default()),
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
        let tokenizer = match ours(&text) {
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
        file["added_tokens"] = json!([added(end)]);
    }
    let vocab = vocab.to_string().into_bytes();
    vec![(TOKENIZER, file.to_string().into_bytes()), (VOCAB, vocab), (MERGES, NO_MERGES.to_vec())]
}

fn file(vocab: Map<String, Value>, pre_tokenizer: Value, decoder: Value) -> Value {
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": null,
        "decoder": decoder,
        "model": {
            "type": "BPE",
            "dropout": null,
            "unk_token": null,
            "continuing_subword_prefix": null,
            "end_of_word_suffix": null,
            "fuse_unk": false,
            "byte_fallback": false,
            "ignore_merges": false,
            "vocab": vocab,
            "merges": [],
        },
    })
}

/// The entry of the token that ends a text.
fn added(end: TokenId) -> Value {
    json!({
        "id": end,
        "content": END_OF_TEXT,
        "single_word": false,
        "lstrip": false,
        "rstrip": false,
        "normalized": false,
        "special": true,
    })
}

/// Every byte is a token, under the character that GPT-2 has for it.
fn byte_file() -> Value {
    let vocab = (0..=255).map(|b| (letter(b).to_string(), json!(b))).collect();
    let level = |space: bool| {
        json!({
            "type": "ByteLevel",
            "add_prefix_space": space,
            "trim_offsets": true,
            "use_regex": false,
        })
    };
    file(vocab, level(false), level(true))
}

/// GPT-2's character for a byte: itself where it can be seen, else one from U+0100 on, in order.
pub(crate) fn letter(byte: u8) -> char {
    let seen = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if seen(byte) {
        return char::from(byte);
    }
    let place = (0..byte).filter(|&b| !seen(b)).count() as u32;
    char::from_u32(0x100 + place).unwrap_or('\u{100}')
}

/// Every character is a token.
fn char_file(tokenizer: &dyn Tokenizer) -> Value {
    let name = |unit: &[u8]| match std::str::from_utf8(unit) {
        Ok(text) => text.to_string(),
        Err(_) => unit.iter().map(|b| format!("<0x{b:02X}>")).collect(),
    };
    // The tokens proper: a padded vocabulary ends with numbers that stand for nothing.
    let units = (0..tokenizer.vocab_size() as TokenId).map(|id| (id, tokenizer.bytes_of(id)));
    // The token that ends a text is none of the model's.
    let units =
        units.take_while(|(id, unit)| !unit.is_empty() && Some(*id) != tokenizer.end_of_text());
    let vocab = units.map(|(id, unit)| (name(unit), json!(id))).collect();
    let decoders = json!([{"type": "ByteFallback"}, {"type": "Fuse"}]);
    file(vocab, Value::Null, json!({"type": "Sequence", "decoders": decoders}))
}

/// The tokenizer of a tokenizer.json that [`export`] wrote as byte or char.
fn ours(text: &[u8]) -> Option<Arc<dyn Tokenizer>> {
    if text.len() > MAX_OURS {
        return None;
    }
    let file: Value = serde_json::from_slice(text).ok()?;
    if same(&file, &byte_file()) {
        return with_added(&file, Arc::new(ByteTokenizer));
    }
    let mut units: Vec<(u64, Vec<u8>)> = Vec::new();
    for (name, id) in file["model"]["vocab"].as_object()? {
        units.push((id.as_u64()?, unit(name)?));
    }
    units.sort();
    let mut blob = Vec::new();
    for (_, unit) in &units {
        blob.push(unit.len() as u8);
        blob.extend(unit);
    }
    let chars = CharTokenizer::from_blob(&blob).ok()?;
    if !same(&file, &char_file(&chars)) {
        return None;
    }
    with_added(&file, Arc::new(chars))
}

/// The tokenizer with what the file adds to it, which is nothing or the token that ends a text.
fn with_added(file: &Value, tokenizer: Arc<dyn Tokenizer>) -> Option<Arc<dyn Tokenizer>> {
    match file["added_tokens"].as_array().map(Vec::as_slice).unwrap_or_default() {
        [] => Some(tokenizer),
        [only] => {
            let ended = WithEndOfText::extend(tokenizer).ok()?;
            (*only == added(ended.end_of_text()?)).then_some(ended)
        }
        _ => None,
    }
}

/// One character, or a byte that is none.
fn unit(name: &str) -> Option<Vec<u8>> {
    let mut chars = name.chars();
    if let (Some(_), None) = (chars.next(), chars.next()) {
        return Some(name.as_bytes().to_vec());
    }
    let byte = name.strip_prefix("<0x")?.strip_suffix('>').filter(|digits| digits.len() == 2)?;
    u8::from_str_radix(byte, 16).ok().map(|byte| vec![byte])
}

/// Whether both files make the same tokens of the same text, but for added tokens.
fn same(file: &Value, ours: &Value) -> bool {
    let equal = |path: &str| file.pointer(path) == ours.pointer(path);
    let empty = |path: &str| file.pointer(path).and_then(Value::as_array).is_none_or(Vec::is_empty);
    let matter = ["/model/type", "/model/vocab", "/pre_tokenizer", "/normalizer"];
    matter.iter().all(|path| equal(path)) && empty("/model/merges")
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
    fn letters_are_gpt2s() {
        for (byte, c) in
            [(b'a', 'a'), (b' ', 'Ġ'), (b'\n', 'Ċ'), (0, 'Ā'), (0xAD, 'Ń'), (0xFF, 'ÿ')]
        {
            assert_eq!(letter(byte), c, "{byte}");
        }
    }

    #[test]
    fn others_are_not_taken_for_ours() {
        let file = |change: fn(&mut Value)| {
            let mut changed = byte_file();
            change(&mut changed);
            ours(changed.to_string().as_bytes()).is_none()
        };
        assert!(file(|f| f["model"]["vocab"]["a"] = json!(98)));
        assert!(file(|f| f["model"]["merges"] = json!(["a b"])));
        assert!(file(|f| f["normalizer"] = json!({"type": "Lowercase"})));
        assert!(file(|f| f["pre_tokenizer"]["add_prefix_space"] = json!(true)));
        assert!(file(|f| f["added_tokens"] = json!([{"id": 256, "content": "x"}])));
        assert!(!file(|f| f["padding"] = json!("whatever")));
        for text in
            ["", "{}", "[]", "{\"model\":{\"vocab\":{}}}", "{\"model\":{\"vocab\":{\"ab\":0}}}"]
        {
            assert!(ours(text.as_bytes()).is_none(), "{text}");
        }
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
