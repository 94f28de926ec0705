//! Vocabularies as others write them, recognised by what is in them.

use super::about::{AVAILABLE, UNAVAILABLE};
use super::kind::{Words, refuse};
use super::parts::{Added, Merge, Parts};
use crate::kept::Kept;
use llm_core::base::{Fill, Message, memory};
use llm_core::checkpoint::limits::MAX_BLOB;
use llm_core::tokenizer::END_OF_TEXT;
use llm_core::{Result, message};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// A tokenizer.json.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for one whose encoding would not be that of GPT-2's kind, naming
/// what it has.
pub(super) fn tokenizer_json(file: &[u8]) -> Result<Parts> {
    with_kept(file, &Kept::default())
}

/// A tokenizer.json with what is next to it, in the place of what is kept in it.
///
/// # Errors
/// As [`tokenizer_json`].
pub(super) fn with_kept(file: &[u8], kept: &Kept) -> Result<Parts> {
    check_size(file)?;
    let no_json = |e: serde_json::Error| {
        refuse(message!("not a tokenizer.json: {}", Message::words(e.to_string())))
    };
    let outline: Outline = serde_json::from_slice(file).map_err(no_json)?;
    let kind = outline.model.kind.as_deref().unwrap_or("BPE");
    if kind != "BPE" {
        return Err(refuse(message!("its model is {}, supported is BPE", named(kind))));
    }
    supported("normalizer", &outline.normalizer, "NFC", |normalizer| is(normalizer, "NFC"))?;
    let nfc = !only_one(&outline.normalizer).is_null();
    let words = match only_one(&outline.pre_tokenizer) {
        sequence if sequence["type"] == "Sequence" => Words::of(sequence)?,
        one => {
            let only = message!("ByteLevel with add_prefix_space false");
            supported("pre-tokenizer", one, only, byte_level_words)?;
            Words::Gpt2
        }
    };
    if outline.pre_tokenizer.is_null() {
        return Err(refuse(message!("it has no pre-tokenizer, supported is ByteLevel")));
    }
    supported("decoder", &outline.decoder, "ByteLevel", |decoder| is(decoder, "ByteLevel"))?;
    let Model { dropout, prefix, suffix, ignore_merges, vocab, merges } =
        serde_json::from_slice::<File>(file).map_err(no_json)?.model;
    if dropout.is_some_and(|p| p != 0.0) {
        let why = message!("it has a dropout: the same text would be cut in different ways");
        return Err(refuse(why));
    }
    for (what, value) in [("continuing_subword_prefix", prefix), ("end_of_word_suffix", suffix)] {
        if value.is_some_and(|text| !text.is_empty()) {
            return Err(refuse(message!("it has a {}, which byte-level BPE has not", what)));
        }
    }
    let merges = numbered(merges)?;
    let mut parts = Parts {
        vocab: vocab.0,
        merges,
        words,
        nfc,
        kept: if kept.is_empty() { outline.kept } else { kept.clone() },
        ignore_merges,
        ..Parts::default()
    };
    let more = outline.added_tokens.iter().any(|token| token.content != END_OF_TEXT);
    let wholes = more || parts.finds_wholes();
    for token in outline.added_tokens {
        parts.added.push(added(token, wholes)?);
    }
    let post = outline.post_processor;
    if parts.finds_wholes() && !is(&post, "ByteLevel") {
        parts.post_processor = post;
    }
    Ok(parts)
}

/// An added token; with `wholes` it is found in a text.
fn added(token: AddedToken, wholes: bool) -> Result<Added> {
    let AddedToken { id, content, special, single_word, lstrip, rstrip, normalized } = token;
    if !wholes && !special {
        return Err(refuse(message!(
            "the added token '{}' is not marked as special: it would be found inside words",
            named(&content)
        )));
    }
    if !wholes {
        return Ok(Added { content, id, special, normalized: false });
    }
    let ways = [("single_word", single_word), ("lstrip", lstrip), ("rstrip", rstrip)];
    match ways.iter().find(|(_, on)| *on) {
        Some((way, _)) => Err(refuse(message!(
            "the added token '{}' has {}, which is not supported",
            named(&content),
            *way
        ))),
        None => Ok(Added { content, id, special, normalized }),
    }
}

/// The vocabulary and the merges of the library's model.
///
/// # Errors
/// When the library's own words cannot be read.
#[cfg(feature = "bpe")]
pub(super) fn of_library(model: &tokenizers::models::bpe::BPE) -> Result<Parts> {
    let text = serde_json::to_vec(model).map_err(|e| refuse(e.to_string()))?;
    let model: Model = serde_json::from_slice(&text).map_err(|e| refuse(e.to_string()))?;
    let merges = numbered(model.merges)?;
    Ok(Parts { vocab: model.vocab.0, merges, ..Parts::default() })
}

/// Merges with their places.
fn numbered(merges: Vec<RawMerge>) -> Result<Vec<Merge>> {
    let merges = merges.into_iter().zip(1..).map(|(merge, place)| {
        let parts = match merge {
            RawMerge::Pair(a, b) => Some((a, b)),
            RawMerge::Line(line) => pair(&line),
        };
        let parts = parts.ok_or_else(|| refuse(message!("merge {} is not two tokens", place)))?;
        Ok(Merge { parts, place })
    });
    merges.collect()
}

/// A vocabulary, as GPT-2's vocab.json or as one token a line, and merges, one pair a line.
///
/// # Errors
/// [`llm_core::Error::Tokenizer`] for what is neither.
pub(super) fn vocab_and_merges(vocab: &[u8], merges: &[u8]) -> Result<Parts> {
    check_size(vocab)?;
    check_size(merges)?;
    let vocab = if vocab.trim_ascii_start().starts_with(b"{") {
        let read = serde_json::from_slice::<Entries>(vocab);
        read.map_err(|e| {
            refuse(message!(
                "the vocabulary is not a map of tokens to numbers: {}",
                Message::words(e.to_string())
            ))
        })?
        .0
    } else {
        let tokens = lines("vocabulary", vocab).filter(|line| !is_empty(line));
        let numbered = tokens.zip(0..).map(|(line, id)| line.map(|(_, token)| (token.into(), id)));
        numbered.collect::<Result<_>>()?
    };
    let mut pairs = Vec::new();
    for line in lines("merges", merges).filter(|line| !is_empty(line)) {
        let (place, line) = line?;
        match pair(line) {
            Some(_) if place == 1 && line.starts_with("#version") => {}
            None if place == 1 && line.starts_with('#') => {}
            Some(parts) => pairs.push(Merge { parts, place }),
            None => return Err(refuse(message!("merges line {} is not two tokens", place))),
        }
    }
    // GPT-2's mark between documents: in its vocabulary, but never made of text.
    let mark = vocab.iter().find(|(token, _)| token == END_OF_TEXT);
    let added = mark.map(|(_, id)| Added::special(END_OF_TEXT, *id)).into_iter().collect();
    Ok(Parts { vocab, merges: pairs, added, in_lines: true, ..Parts::default() })
}

/// The tokens that older programs write besides these: a map of their numbers, and of some more is
/// said in tokenizer_config.json.
///
/// # Errors
/// As [`tokenizer_json`].
pub(super) fn add(parts: &mut Parts, numbers: &[(String, u64)], said: &Value) -> Result<()> {
    let said = said.get("added_tokens_decoder").and_then(Value::as_object);
    let said = said.into_iter().flatten().filter_map(|(id, token)| {
        let mut token = token.clone();
        token.as_object_mut()?.insert("id".into(), id.parse::<u64>().ok()?.into());
        serde_json::from_value::<AddedToken>(token).ok()
    });
    let mut tokens: Vec<AddedToken> = said.collect();
    for (content, id) in numbers {
        if tokens.iter().all(|token| token.content != *content) {
            tokens.push(AddedToken { id: *id, content: content.clone(), ..AddedToken::default() });
        }
    }
    for token in tokens.into_iter().filter(|token| token.content != END_OF_TEXT) {
        parts.added.push(added(token, true)?);
    }
    Ok(())
}

/// What reading takes for each byte of a file, in the library's tables and ours (17 as measured),
const FILE_MEMORY: u64 = 32;
/// Memory that reading takes in any case, in bytes.
const AT_LEAST: u64 = 4 << 20;

/// Refuses a file that is too large, and every file in a program without BPE.
fn check_size(file: &[u8]) -> Result<()> {
    match file.len() as u64 {
        _ if !AVAILABLE => Err(refuse(UNAVAILABLE)),
        n if n > MAX_BLOB => Err(refuse(message!("{} bytes are more than {}", n, MAX_BLOB))),
        n => memory::require(AT_LEAST + n * FILE_MEMORY),
    }
}

/// Lines with their numbers.
fn lines<'a>(what: &str, file: &'a [u8]) -> impl Iterator<Item = Result<(usize, &'a str)>> {
    file.split(|&b| b == b'\n').enumerate().map(move |(i, line)| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = std::str::from_utf8(line);
        let text = text.map_err(|_| {
            refuse(message!(
                "{} line {} is not UTF-8 text; bytes are written in GPT-2's alphabet",
                what,
                i + 1
            ))
        });
        Ok((i + 1, text?))
    })
}

fn is_empty(line: &Result<(usize, &str)>) -> bool {
    line.as_ref().is_ok_and(|(_, text)| text.is_empty())
}

fn pair(line: &str) -> Option<(String, String)> {
    let (a, b) = line.split_once(' ')?;
    let whole = !a.is_empty() && !b.is_empty() && !b.contains(' ');
    whole.then(|| (a.to_string(), b.to_string()))
}

/// Refuses a part of the file that says anything but what is supported.
fn supported(what: &str, part: &Value, only: impl Fill, fits: fn(&Value) -> bool) -> Result<()> {
    let inner = only_one(part);
    if inner.is_null() || fits(inner) {
        return Ok(());
    }
    let says = |option: &str| inner.get(option).and_then(Value::as_bool);
    let found = match (is(inner, "ByteLevel"), says("add_prefix_space"), says("use_regex")) {
        (true, _, Some(false)) => message!("ByteLevel without its words"),
        (true, space, _) if space != Some(false) => message!("ByteLevel with a space put in front"),
        _ => kind_of(inner),
    };
    Err(refuse(message!("its {} is {}, supported is {}", what, found, only)))
}

/// GPT-2's words, nothing put in front of the first.
fn byte_level_words(pre_tokenizer: &Value) -> bool {
    let says = |option: &str, value: bool| pre_tokenizer.get(option) == Some(&Value::Bool(value));
    is(pre_tokenizer, "ByteLevel") && says("add_prefix_space", false) && !says("use_regex", false)
}

/// What a sequence of one consists of; the thing itself otherwise.
fn only_one(part: &Value) -> &Value {
    match parts_of(part) {
        Some([one]) => one,
        Some([]) => &Value::Null,
        _ => part,
    }
}

/// What a sequence consists of.
fn parts_of(part: &Value) -> Option<&[Value]> {
    let lists = ["pretokenizers", "decoders", "normalizers"].iter().filter_map(|k| part.get(k));
    lists.filter_map(Value::as_array).map(Vec::as_slice).next()
}

/// Whether a part is of this type, and no sequence.
fn is(part: &Value, kind: &str) -> bool {
    part.get("type").and_then(Value::as_str) == Some(kind) && parts_of(part).is_none()
}

/// `ByteLevel`, `Sequence of Split, ByteLevel`.
fn kind_of(part: &Value) -> Message {
    let kind = |part: &Value| match part.get("type").and_then(Value::as_str) {
        Some(kind) => named(kind).into(),
        None => message!("of no known type"),
    };
    let parts = parts_of(part).map(|list| list.iter().take(5).map(kind));
    match parts.map(|kinds| kinds.reduce(|all, one| message!("{}, {}", all, one))) {
        Some(kinds) => message!("{} of {}", kind(part), kinds.unwrap_or_else(|| "".into())),
        None => kind(part),
    }
}

/// A word from the file, fit for a message.
fn named(word: &str) -> String {
    word.chars().take(40).flat_map(char::escape_debug).collect()
}

/// What a tokenizer.json does besides merging.
#[derive(Deserialize)]
struct Outline {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    decoder: Value,
    #[serde(default)]
    kept: Kept,
    model: Kind,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Default, Deserialize)]
struct AddedToken {
    id: u64,
    content: String,
    #[serde(default)]
    special: bool,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
    #[serde(default)]
    normalized: bool,
}

#[derive(Deserialize)]
struct File {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    dropout: Option<f64>,
    #[serde(rename = "continuing_subword_prefix")]
    prefix: Option<String>,
    #[serde(rename = "end_of_word_suffix")]
    suffix: Option<String>,
    #[serde(default)]
    ignore_merges: bool,
    vocab: Entries,
    merges: Vec<RawMerge>,
}

/// A merge as it is written today, and as it was.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawMerge {
    Pair(String, String),
    Line(String),
}

/// A map as it is written, with keys that may come twice.
struct Entries(Vec<(String, u64)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entries, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of tokens to numbers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Read)
    }
}
