//! A tokenizer as llama.cpp keeps it: a list of tokens in GPT-2's alphabet, and merges.
//!
//! | kind | as |
//! |---|---|
//! | byte | 256 tokens, token b stands for byte b; one merge that can never apply, as there must be some |
//! | char | its characters; merges put the bytes of a longer one together |
//! | bpe | itself, with the name of how text is cut before anything is merged |
//! | ids | nothing: llama.cpp takes no model without tokens |
//!
//! What was written as byte or char is known again when it is read. Every other one is read through
//! its tokenizer.json, so that what is true of one is true here.

use super::value::{Entry, MetaValue, Metadata};
use super::ways::{UNITS, WAYS, ignores_merges};
use crate::alphabet;
use crate::bpe::{self, Words};
use crate::chat::ChatFormat;
use crate::error::{FormatError, Result, refuse, shown};
use crate::kept::Kept;
use crate::tokenizers;
use llm_core::base::Message;
use llm_core::tokenizer::{
    ByteTokenizer, CharTokenizer, END_OF_TEXT, PaddedTokenizer, Tokenizer, WithEndOfText,
};
use llm_core::{TokenId, message};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Kinds of tokens, by their numbers in a file.
mod kind {
    pub(super) const NORMAL: i32 = 1;
    /// Text is never cut into it.
    pub(super) const CONTROL: i32 = 3;
    /// Found in text as a whole, before anything is cut.
    pub(super) const USER: i32 = 4;
    /// Stands for nothing.
    pub(super) const UNUSED: i32 = 5;
}

/// A merge of what cannot be there: two spaces are never merged.
const NEVER: &str = "\u{120}\u{120} \u{120}\u{120}";

/// A tokenizer in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tokens {
    /// Name of the way in which text is cut first.
    pre: String,
    names: Vec<String>,
    kinds: Vec<i32>,
    /// Pairs, the first merged first.
    merges: Vec<String>,
    /// The token that ends a text.
    end: Option<TokenId>,
    /// The token that ends an answer.
    end_of_turn: Option<TokenId>,
    /// First and last token and chat template, where they are named.
    kept: Kept,
}

/// A key of the tokenizer's.
fn full(name: &str) -> String {
    format!("tokenizer.ggml.{name}")
}

/// Key that only files of ours have: the token that ends a text, where programs are told of turns.
const END_OF_TEXT_ID: &str = "tiny-gpt.end_of_text_id";

/// Key of the way in which a model is talked to.
pub(super) const TEMPLATE: &str = "chat_template";

impl Tokens {
    /// A tokenizer as a file has it.
    ///
    /// # Errors
    /// [`FormatError::NoGgufTokens`] for what llama.cpp cannot do.
    pub(super) fn of(tokenizer: &dyn Tokenizer) -> Result<Tokens> {
        let none = |why: Message| FormatError::NoGgufTokens { kind: shown(tokenizer.name()), why };
        let mut tokens = match tokenizer.name() {
            ByteTokenizer::NAME | CharTokenizer::NAME => Tokens::units(tokenizer),
            bpe::NAME => Tokens::bpe(&tokenizer.blob()).map_err(none)?,
            _ => {
                return Err(none(message!(
                    "llama.cpp takes no model whose tokens stand for no text"
                )));
            }
        };
        tokens.end = tokenizer.end_of_text();
        tokens.end_of_turn = ChatFormat::own(tokenizer).and_then(|format| format.end_token);
        for id in tokens.names.len()..tokenizer.vocab_size() {
            tokens.names.push(format!("[PAD{id}]"));
            tokens.kinds.push(kind::UNUSED);
        }
        Ok(tokens)
    }

    /// Bytes, or characters: every token stands for itself.
    fn units(tokenizer: &dyn Tokenizer) -> Tokens {
        let (mut names, mut kinds) = (Vec::<String>::new(), Vec::new());
        for id in 0..tokenizer.vocab_size() as TokenId {
            let unit = tokenizer.bytes_of(id);
            if tokenizer.end_of_text() == Some(id) {
                names.push(END_OF_TEXT.into());
                kinds.push(kind::CONTROL);
            } else if unit.is_empty() {
                break; // the others stand for nothing
            } else {
                names.push(alphabet::symbols(unit));
                kinds.push(kind::NORMAL);
            }
        }
        let (mut merges, mut seen) = (Vec::new(), HashSet::new());
        let units = names.iter().zip(&kinds).filter(|(_, kind)| **kind == kind::NORMAL);
        for letters in units.map(|(name, _)| name.chars().collect::<Vec<char>>()) {
            for cut in 1..letters.len() {
                let [head, next] = [&letters[..cut], &letters[cut..=cut]];
                let merge: String = [head, &[' '], next].concat().into_iter().collect();
                if seen.insert(merge.clone()) {
                    merges.push(merge);
                }
            }
        }
        if merges.is_empty() {
            merges.push(NEVER.into());
        }
        Tokens { pre: UNITS.into(), names, kinds, merges, ..Tokens::default() }
    }

    /// A tokenizer.json, our own or one that was read, as a file has it.
    fn bpe(blob: &[u8]) -> Result<Tokens, Message> {
        let damaged = || message!("its tokenizer.json is damaged");
        let file: Value = serde_json::from_slice(blob).map_err(|_| damaged())?;
        let mut ids = BTreeMap::new();
        for (name, id) in file["model"]["vocab"].as_object().ok_or_else(damaged)? {
            ids.insert(id.as_u64().ok_or_else(damaged)?, (name.clone(), kind::NORMAL));
        }
        for added in file["added_tokens"].as_array().ok_or_else(damaged)? {
            let name = added["content"].as_str().ok_or_else(damaged)?;
            let special = added["special"] == json!(true);
            let kind = if special { kind::CONTROL } else { kind::USER };
            ids.insert(added["id"].as_u64().ok_or_else(damaged)?, (name.into(), kind));
        }
        let mut merges = Vec::new();
        for merge in file["model"]["merges"].as_array().ok_or_else(damaged)? {
            merges.push(match (merge.as_str(), merge[0].as_str(), merge[1].as_str()) {
                (Some(line), ..) => line.into(),
                (_, Some(a), Some(b)) => format!("{a} {b}"),
                _ => return Err(damaged()),
            });
        }
        if merges.is_empty() {
            merges.push(NEVER.into());
        }
        let words = Words::of(&file["pre_tokenizer"]).ok();
        let Some((pre, _)) = WAYS.into_iter().find(|(_, known)| words == Some(*known)) else {
            return Err(message!("llama.cpp has no name for the way in which it cuts text"));
        };
        if ignores_merges(pre) != (file["model"]["ignore_merges"] == json!(true)) {
            return Err(message!(
                "llama.cpp would take other words whole than it does (ignore_merges)"
            ));
        }
        let (names, kinds) = ids.into_values().unzip();
        let kept = file.get("kept").cloned().map_or(Ok(Kept::default()), serde_json::from_value);
        let (pre, kept) = (pre.into(), kept.map_err(|_| damaged())?);
        Ok(Tokens { pre, names, kinds, merges, kept, ..Tokens::default() })
    }

    /// Entries of a file's metadata, in their order. A file without a token that ends a text would
    /// be taken for one that ends at token 11: then it is the one of [`Tokens::end`]. One that learned turns
    /// ends where an answer does, as there are programs that know one end alone.
    pub(super) fn entries(self) -> Vec<Entry> {
        let end_of_text = self.end();
        let end = self.end_of_turn.unwrap_or(end_of_text);
        let Tokens { pre, names, kinds, merges, end_of_turn, kept, end: own_end } = self;
        let begin = kept.bos.and_then(|bos| names.iter().position(|name| *name == bos));
        let begin = begin.map_or(end_of_text, |id| id as TokenId);
        let [begin, end] = [begin, end].map(MetaValue::u32);
        let mut entries = vec![
            (full("model"), MetaValue::text("gpt2")),
            (full("pre"), MetaValue::Text(pre)),
            (full("tokens"), MetaValue::Texts(names)),
            (full("token_type"), MetaValue::Ints(kinds)),
            (full("merges"), MetaValue::Texts(merges)),
            (full("bos_token_id"), begin),
            (full("eos_token_id"), end),
            (full("add_bos_token"), MetaValue::Bool(false)),
        ];
        entries.extend(end_of_turn.map(|id| (full("eot_token_id"), MetaValue::u32(id))));
        let own_end = own_end.filter(|id| end_of_turn.is_some_and(|turn| turn != *id));
        entries.extend(own_end.map(|id| (END_OF_TEXT_ID.into(), MetaValue::u32(id))));
        let template = kept.chat_template.map(MetaValue::Text);
        entries.extend(template.map(|text| (format!("tokenizer.{TEMPLATE}"), text)));
        entries
    }

    /// The token that llama.cpp ends a text at: the one that is for it; else byte 0, which no text
    /// has; else the last one that stands for something.
    pub(super) fn end(&self) -> TokenId {
        let nul = alphabet::symbols(&[0]);
        let nul = || self.names.iter().position(|name| *name == nul);
        let last = || self.kinds.iter().rposition(|kind| *kind == kind::NORMAL);
        let end = self.end.or(self.end_of_turn);
        let id = end.map(|id| id as usize).or_else(nul).or_else(last);
        id.unwrap_or(0) as TokenId
    }

    /// A token of the model's own text that llama.cpp would end a text at, for want of another.
    pub(super) fn end_within_text(&self) -> Option<TokenId> {
        let end = self.end();
        let within = self.end.or(self.end_of_turn).is_none()
            && self.names[end as usize] != alphabet::symbols(&[0]);
        within.then_some(end)
    }

    /// The tokenizer of a file, if there is one. Lists of texts are taken out, as they may be long.
    ///
    /// # Errors
    /// [`FormatError::Content`] for one that is not of GPT-2's kind, or damaged.
    pub(super) fn read(metadata: &mut Metadata, gpt2: bool) -> Result<Option<Tokens>> {
        match metadata.get(&full("model")) {
            None => return Ok(None),
            Some(MetaValue::Text(model)) if model == "gpt2" => {}
            Some(other) => {
                return refuse(message!(
                    "{} is {}, supported: {}",
                    full("model"),
                    other.in_words(),
                    message!("'gpt2' (byte-level BPE)")
                ));
            }
        }
        let mut texts = |name: &str| match metadata.remove(&full(name)) {
            Some(MetaValue::Texts(texts)) => Ok(texts),
            Some(_) => refuse(message!("{} is no list of texts", full(name))),
            None => refuse(message!("{} is missing", full(name))),
        };
        let (names, merges) = (texts("tokens")?, texts("merges")?);
        let key = |name: &str| metadata.get(&full(name));
        let kinds = match key("token_type") {
            Some(MetaValue::Ints(kinds)) => kinds.clone(),
            Some(_) => {
                return refuse(message!("{} is no list of whole numbers", full("token_type")));
            }
            None => vec![kind::NORMAL; names.len()],
        };
        if kinds.len() != names.len() {
            let (kinds, names) = (kinds.len(), names.len());
            let key = full("token_type");
            return refuse(message!("{} has {} numbers for {} tokens", key, kinds, names));
        }
        let known = WAYS.map(|(name, _)| name);
        let pre = match key("pre") {
            Some(MetaValue::Text(pre)) if known.contains(&pre.as_str()) => pre.clone(),
            // Files from before there was this key: GPT-2's own way is the one of a GPT-2.
            None if gpt2 => known[0].into(),
            Some(MetaValue::Text(pre)) if gpt2 && pre == "default" => known[0].into(),
            found => {
                let (key, known) = (full("pre"), known.join(", "));
                return Err(FormatError::content(match found.map(MetaValue::in_words) {
                    Some(found) => message!("{} is {}, supported: {}", key, found, known),
                    None => message!("{} is missing, supported: {}", key, known),
                }));
            }
        };
        let token = |name: &str| TokenId::try_from(key(name)?.whole()?).ok();
        let own_end = || TokenId::try_from(metadata.get(END_OF_TEXT_ID)?.whole()?).ok();
        let end = own_end().or_else(|| token("eos_token_id"));
        let control = |id: TokenId| {
            let at = id as usize;
            names.get(at).filter(|_| kinds.get(at) == Some(&kind::CONTROL)).cloned()
        };
        let (first, last) = (token("bos_token_id").and_then(control), end.and_then(control));
        let kept = Kept {
            bos: first.filter(|first| last.as_ref() != Some(first)),
            chat_template: match metadata.get(&format!("tokenizer.{TEMPLATE}")) {
                Some(MetaValue::Text(text)) => Some(text.clone()),
                _ => None,
            },
            eos: last.filter(|last| last != END_OF_TEXT),
        };
        Ok(Some(Tokens { pre, names, kinds, merges, end, end_of_turn: None, kept }))
    }

    /// The tokenizer of a file for a model with a vocabulary of this size.
    ///
    /// # Errors
    /// [`FormatError::Content`] naming what it is not, or cannot be.
    pub(super) fn tokenizer(&self, rows: usize) -> Result<Arc<dyn Tokenizer>> {
        if self.names.len() != rows {
            let kind = "gpt2".into();
            return Err(FormatError::Vocabulary { kind, tokens: self.names.len(), rows });
        }
        if let Some(ours) = self.ours() {
            return Ok(ours);
        }
        let file = self.tokenizer_json()?;
        let tokenizer = bpe::with_kept(&file, &self.kept).map_err(|e| match e {
            e @ llm_core::Error::Memory { .. } => FormatError::Core(e),
            e => FormatError::Refused(e),
        })?;
        Ok(PaddedTokenizer::pad(tokenizer, rows))
    }

    /// The token that it names as the end of a text, when that is not ours.
    pub(super) fn foreign_end(&self, tokenizer: &dyn Tokenizer) -> Option<TokenId> {
        let control = |id: &TokenId| self.kinds.get(*id as usize) == Some(&kind::CONTROL);
        self.end.filter(control).filter(|id| tokenizer.end_of_text() != Some(*id))
    }

    /// Bytes or characters, as [`Tokens::of`] writes them.
    fn ours(&self) -> Option<Arc<dyn Tokenizer>> {
        let plain = self.kinds.iter().take_while(|kind| **kind == kind::NORMAL).count();
        let units = self.names[..plain].iter().map(|name| alphabet::bytes(name));
        let units = units.collect::<Option<Vec<_>>>()?;
        let all_bytes = plain == ByteTokenizer::VOCAB_SIZE && units.iter().all(|u| u.len() == 1);
        let units: Arc<dyn Tokenizer> = match all_bytes {
            true => Arc::new(ByteTokenizer),
            false => Arc::new(tokenizers::characters(units.into_iter())?),
        };
        let units = match self.kinds.get(plain) {
            Some(&kind::CONTROL) => WithEndOfText::extend(units).ok()?,
            _ => units,
        };
        let tokenizer = PaddedTokenizer::pad(units, self.names.len());
        let again = Tokens::of(tokenizer.as_ref()).ok()?;
        let same = Tokens { end: again.end, ..self.clone() } == again;
        same.then_some(tokenizer)
    }

    /// The tokenizer as a tokenizer.json.
    fn tokenizer_json(&self) -> Result<Vec<u8>> {
        let (mut vocab, mut added) = (Map::new(), Vec::new());
        // Unused tokens at the end are rows that the model has for rounder numbers.
        let used = self.kinds.iter().rposition(|kind| *kind != kind::UNUSED).map_or(0, |i| i + 1);
        for (id, (name, kind)) in self.names.iter().zip(&self.kinds).take(used).enumerate() {
            match *kind {
                kind::NORMAL => {
                    if vocab.insert(name.clone(), json!(id)).is_some() {
                        return refuse(message!("{} has '{}' twice", full("tokens"), shown(name)));
                    }
                }
                kind::CONTROL | kind::USER | kind::UNUSED => added.push(json!({
                    "id": id, "content": name, "single_word": false, "lstrip": false,
                    "rstrip": false, "normalized": false, "special": *kind != kind::USER,
                })),
                other => {
                    return refuse(message!(
                        "{} of '{}' is {}, not 1, 3, 4 or 5",
                        full("token_type"),
                        shown(name),
                        other
                    ));
                }
            }
        }
        let pair = |merge: &String| {
            let cut = merge.char_indices().skip(1).find(|(_, c)| *c == ' ').map(|(i, _)| i);
            let cut = cut.ok_or_else(|| {
                FormatError::content(message!("{} has '{}'", full("merges"), shown(merge)))
            })?;
            Ok(json!([merge[..cut], merge[cut + 1..]]))
        };
        let merges = self.merges.iter().filter(|merge| *merge != NEVER);
        let merges: Vec<Value> = merges.map(pair).collect::<Result<_>>()?;
        let way = WAYS.into_iter().find(|(name, _)| *name == self.pre);
        let file = json!({
            "version": "1.0",
            "added_tokens": added,
            // Llama's and GPT-2's take text as it is; Qwen's puts it into one of Unicode's forms.
            "normalizer": (self.pre == "qwen2").then(|| json!({"type": "NFC"})),
            "pre_tokenizer": way.map(|(_, words)| words.pre_tokenizer()),
            "decoder": Words::Gpt2.pre_tokenizer(),
            "model": {"type": "BPE", "ignore_merges": ignores_merges(&self.pre), "vocab": vocab,
                "merges": merges},
        });
        Ok(file.to_string().into_bytes())
    }
}
