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
use crate::alphabet;
use crate::bpe;
use crate::error::{FormatError, Result, refuse, shown};
use crate::files::{json_object, read_small};
use crate::kept::Kept;
use crate::tokenizers::{self, BEGINNING, begins_with_byte};
use llm_core::checkpoint::limits::MAX_BLOB;
use llm_core::tokenizer::{ByteTokenizer, CharTokenizer, END_OF_TEXT, IdsTokenizer, Tokenizer};
use llm_core::{Error, TokenId, message};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

/// The file with a whole tokenizer.
pub const TOKENIZER: &str = "tokenizer.json";
/// File of tokens and their numbers.
const VOCAB: &str = "vocab.json";
/// File of the pairs that become one token, the first ones first.
const MERGES: &str = "merges.txt";
/// File that other models have in place of these.
const SENTENCEPIECE: &str = "tokenizer.model";
/// File that names the class that reads the others, and what some tokens are for.
const SETTINGS: &str = "tokenizer_config.json";
/// Older file that says what some tokens are for.
const SPECIAL: &str = "special_tokens_map.json";
/// File of the tokens that were added to vocab.json, and their numbers.
const ADDED: &str = "added_tokens.json";
/// File of the chat template, where it does not stand in the settings.
const TEMPLATE: &str = "chat_template.jinja";
/// Most bytes of such a file.
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
    let plain = |file: Value| (without_merges(file, tokenizer), Kept::default());
    let (mut files, kept) = match tokenizer.name() {
        IdsTokenizer::NAME => return Ok(Vec::new()),
        ByteTokenizer::NAME => plain(units::byte_file()),
        CharTokenizer::NAME => plain(units::char_file(tokenizer)),
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
    // Programs that judge a model ask for a token to begin with: of bytes one that hardly any text has.
    if begins_with_byte(tokenizer) {
        settings["bos_token"] = json!(alphabet::symbol(BEGINNING).to_string());
    }
    if let Some(template) = &kept.chat_template {
        settings["chat_template"] = json!(template);
    }
    files.push((SETTINGS, settings.to_string().into_bytes()));
    Ok(files)
}

/// The tokenizer of a folder, if it has one, for a model with this many tokens, of which `ends` end
/// a text where the tokenizer's own files do not say it.
///
/// # Errors
/// [`FormatError::File`] naming the file that does not fit.
pub fn import(folder: &Path, rows: usize, ends: &[u64]) -> Result<Option<Arc<dyn Tokenizer>>> {
    let [whole, vocab, merges] = [TOKENIZER, VOCAB, MERGES].map(|name| folder.join(name));
    let (path, tokenizer) = match (whole.exists(), vocab.exists(), merges.exists()) {
        (true, ..) => (&whole, from_whole(folder, ends)),
        (_, true, true) => (&vocab, from_older_files(folder, ends)),
        (_, true, false) => (&vocab, refuse(message!("merges.txt is missing beside it"))),
        (_, false, true) => (&merges, refuse(message!("vocab.json is missing beside it"))),
        (_, false, false) => {
            let path = folder.join(SENTENCEPIECE);
            if !path.exists() {
                return Ok(None);
            }
            let advice = message!(
                "SentencePiece's tokenizers are not read; take this one away to import the model \
                 without"
            );
            return Err(FormatError::Missing { advice }.at(&path));
        }
    };
    let fits = tokenizer.and_then(|tokenizer| with_rows(tokenizer, rows));
    fits.map(Some).map_err(|e| e.at(path))
}

/// An error of a tokenizer's files.
fn refused(e: Error) -> FormatError {
    match e {
        e @ Error::Memory { .. } => FormatError::Core(e),
        e => FormatError::Tokenizer(e),
    }
}

/// The tokenizer of tokenizer.json and what stands beside it.
fn from_whole(folder: &Path, ends: &[u64]) -> Result<Arc<dyn Tokenizer>> {
    let text = read_small(&folder.join(TOKENIZER), MAX_BLOB)?;
    match units::known(&text) {
        Some(tokenizer) => match template(folder, settings(folder)?.get("chat_template"))? {
            Some(own) => tokenizers::talking(tokenizer, Some(own), false).map_err(refused),
            None => Ok(tokenizer),
        },
        None if !bpe::AVAILABLE => bpe::from_tokenizer_json(&text).map_err(refused),
        None => {
            let named = |id| bpe::added_token(&text, id).map_err(refused);
            let kept = kept(folder, &settings(folder)?, ends, named)?;
            bpe::with_kept(&text, &kept).map_err(refused)
        }
    }
}

/// The tokenizer of vocab.json, merges.txt and what stands beside them.
fn from_older_files(folder: &Path, ends: &[u64]) -> Result<Arc<dyn Tokenizer>> {
    let read = |name| {
        let path = folder.join(name);
        read_small(&path, MAX_BLOB).map_err(|e| e.at(&path))
    };
    let (tokens, pairs) = (read(VOCAB)?, read(MERGES)?);
    let (settings, added) = (settings(folder)?, added(folder)?);
    let named = |id| Ok(added.iter().find(|(_, of)| *of == id).map(|(text, _)| text.clone()));
    let kept = kept(folder, &settings, ends, named)?;
    bpe::from_older_files(&tokens, &pairs, &added, &settings.into(), &kept).map_err(refused)
}

/// The tokenizer, if the model has a row for each of its tokens.
fn with_rows(tokenizer: Arc<dyn Tokenizer>, rows: usize) -> Result<Arc<dyn Tokenizer>> {
    if tokenizers::fit(tokenizer.clone(), rows).is_ok() {
        return Ok(tokenizer);
    }
    let more = (rows..tokenizer.vocab_size()).take(3).map(|id| {
        format!("'{}'", shown(&String::from_utf8_lossy(tokenizer.bytes_of(id as TokenId))))
    });
    refuse(message!(
        "{} tokenizer with {} tokens, the model has {} (vocab_size); the model has no row for {}: take it \
         out there",
        tokenizer.name(),
        tokenizer.vocab_size(),
        rows,
        more.collect::<Vec<_>>().join(" ")
    ))
}

/// A file with an object of JSON in the folder, of at most `most` bytes; nothing where there is no such file.
pub(super) fn object(folder: &Path, name: &str, most: u64) -> Result<Map<String, Value>> {
    let path = folder.join(name);
    if !path.exists() {
        return Ok(Map::new());
    }
    read_small(&path, most).and_then(|text| json_object(&text)).map_err(|e| e.at(&path))
}

/// What a folder says of its tokenizer: tokenizer_config.json, and where that is silent the older
/// special_tokens_map.json.
///
/// # Errors
/// [`FormatError::File`] for what is no such file, and for a space that is put before every text.
fn settings(folder: &Path) -> Result<Map<String, Value>> {
    let mut settings = object(folder, SPECIAL, MAX_SETTINGS)?;
    settings.extend(object(folder, SETTINGS, MAX_SETTINGS)?);
    if settings.get("add_prefix_space") == Some(&Value::Bool(true)) {
        let why = message!(
            "add_prefix_space is true: a space before every text, which is not put there here"
        );
        return Err(FormatError::content(why).at(&folder.join(SETTINGS)));
    }
    Ok(settings)
}

/// The tokens that were added, and their numbers, as programs before tokenizer.json write them.
fn added(folder: &Path) -> Result<Vec<(String, u64)>> {
    let number = |(content, id): (String, Value)| match id.as_u64() {
        Some(id) => Ok((content, id)),
        None => {
            let why = message!("the number of {} is invalid", shown(&content));
            Err(FormatError::content(why).at(&folder.join(ADDED)))
        }
    };
    object(folder, ADDED, MAX_SETTINGS)?.into_iter().map(number).collect()
}

/// What is kept of a folder with these settings; `ends` are the numbers that end a text where no
/// token is named, and `named` says how the added token of a number is written.
fn kept(
    folder: &Path,
    settings: &Map<String, Value>,
    ends: &[u64],
    named: impl Fn(u64) -> Result<Option<String>>,
) -> Result<Kept> {
    // As a text, or as an object with the token's options.
    let token = |field: &str| {
        let value = settings.get(field)?;
        let text = value.as_str().or_else(|| value.get("content").and_then(Value::as_str));
        text.map(str::to_string)
    };
    let eos = match (token("eos_token"), ends.first()) {
        (None, Some(end)) => named(*end)?,
        (said, _) => said,
    };
    let eos_or_usual = eos.as_deref().unwrap_or(END_OF_TEXT);
    Ok(Kept {
        bos: token("bos_token")
            .filter(|bos| bos != eos_or_usual && *bos != alphabet::symbol(BEGINNING).to_string()),
        chat_template: template(folder, settings.get("chat_template"))?,
        eos: eos.filter(|eos| eos != END_OF_TEXT),
    })
}

/// Whether the file with a template differs from the one in the settings, which is older.
pub(super) fn has_two_templates(folder: &Path) -> Result<bool> {
    let settings = object(folder, SETTINGS, MAX_SETTINGS)?;
    let older = template_of(settings.get("chat_template"));
    Ok(older.is_some() && template(folder, None)?.is_some_and(|own| Some(&*own) != older))
}

/// The template of conversations: a file of its own, which `transformers` takes before the one in
/// the settings.
fn template(folder: &Path, field: Option<&Value>) -> Result<Option<String>> {
    let path = folder.join(TEMPLATE);
    if !path.exists() {
        return Ok(template_of(field).map(str::to_string));
    }
    let text = read_small(&path, MAX_SETTINGS).map_err(|e| e.at(&path))?;
    let text = String::from_utf8(text)
        .map_err(|_| FormatError::content(message!("it is not UTF-8")).at(&path))?;
    Ok(Some(text))
}

/// The one in the settings: a text, or one of several by its name.
fn template_of(field: Option<&Value>) -> Option<&str> {
    match field? {
        Value::Array(all) => all.iter().find(|of| of["name"] == "default")?["template"].as_str(),
        field => field.as_str(),
    }
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

    #[cfg(feature = "bpe")]
    #[test]
    fn bytes_keep_a_template_and_characters_refuse_it() {
        let bytes = WithEndOfText::extend(Arc::new(ByteTokenizer)).unwrap();
        let chars = Arc::new(CharTokenizer::from_text(b"abc").unwrap());
        for (tokenizer, is_kept) in [(bytes, true), (chars as Arc<dyn Tokenizer>, false)] {
            let folder = tempfile::tempdir().unwrap();
            for (name, bytes) in export(&*tokenizer, 16).unwrap() {
                std::fs::write(folder.path().join(name), bytes).unwrap();
            }
            std::fs::write(folder.path().join(TEMPLATE), "{{ messages }}").unwrap();
            let again = import(folder.path(), tokenizer.vocab_size(), &[]).map(Option::unwrap);
            let template = again.map(|again| tokenizers::kept(&*again).unwrap().chat_template);
            match is_kept {
                true => assert_eq!(template.unwrap().as_deref(), Some("{{ messages }}")),
                false => assert!(template.unwrap_err().to_string().contains("no room for a chat")),
            }
        }
    }

    #[cfg(feature = "bpe")]
    #[test]
    fn tokens_that_were_added_to_older_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let encode = |text: &str| {
            let tokenizer = import(folder.path(), 300, &[])?.unwrap();
            Ok::<_, FormatError>(tokenizer.encode(text.as_bytes()).unwrap())
        };
        let mut vocab = units::byte_file()["model"]["vocab"].clone();
        vocab[END_OF_TEXT] = json!(256);
        write(VOCAB, &vocab.to_string());
        write(MERGES, "#version: 0.2\n");
        assert_eq!(encode("<u>").unwrap(), b"<u>".map(TokenId::from));
        write(ADDED, r#"{"<u>": 257, "wörd": 258}"#);
        assert_eq!(encode("<u>a wörd").unwrap(), [257, 97, 32, 258]);
        // As special_tokens_map.json names them, and what is not done here.
        write(SPECIAL, r#"{"bos_token": "<u>", "eos_token": {"content": "wörd"}}"#);
        let tokenizer = import(folder.path(), 300, &[]).unwrap().unwrap();
        assert_eq!(tokenizers::begin_of_text(&*tokenizer).unwrap(), Some(257));
        assert_eq!(tokenizer.end_of_text(), Some(258));
        let token = r#"{"content": "<u>", "lstrip": true, "special": true}"#;
        for (settings, why) in [
            (format!(r#"{{"added_tokens_decoder": {{"257": {token}}}}}"#), "'<u>' has lstrip"),
            (r#"{"add_prefix_space": true}"#.into(), "add_prefix_space is true"),
        ] {
            write(SETTINGS, &settings);
            let refused = encode("a").unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }

    /// As fine-tuning scripts leave it: a token of which the model has no row.
    #[cfg(feature = "bpe")]
    #[test]
    fn a_token_without_a_row_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = units::byte_file();
        file["added_tokens"] = json!([units::added(256)]);
        file["added_tokens"][0]["content"] = json!("[PAD]");
        file["pre_tokenizer"]["use_regex"] = json!(true);
        std::fs::write(folder.path().join(TOKENIZER), file.to_string()).unwrap();
        let refused = import(folder.path(), 256, &[]).map(drop).unwrap_err().to_string();
        assert!(refused.contains("no row for '[PAD]'"), "{refused}");
    }

    #[test]
    fn the_file_of_a_template_goes_before_the_settings() {
        let folder = tempfile::tempdir().unwrap();
        let settings = json!({"chat_template": [{"name": "default", "template": "old"}]});
        let of = || template(folder.path(), settings.get("chat_template")).unwrap().unwrap();
        std::fs::write(folder.path().join(SETTINGS), settings.to_string()).unwrap();
        assert_eq!((of().as_str(), has_two_templates(folder.path()).unwrap()), ("old", false));
        for (text, differs) in [("new", true), ("old", false)] {
            std::fs::write(folder.path().join(TEMPLATE), text).unwrap();
            assert_eq!((of().as_str(), has_two_templates(folder.path()).unwrap()), (text, differs));
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
            refused.contains("tokenizer.model': SentencePiece's tokenizers are not read"),
            "{refused}"
        );
    }
}
