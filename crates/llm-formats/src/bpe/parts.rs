//! A vocabulary with its merges, checked before anything is made of it, and written in one form.

use super::kind::{Words, refuse};
use crate::alphabet;
use crate::kept::Kept;
use llm_core::base::Message;
use llm_core::checkpoint::limits::MAX_BLOB;
use llm_core::tokenizer::END_OF_TEXT;
use llm_core::{Config, Result, TokenId, message};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Bytes of a token, as it is written.
const MAX_TOKEN: usize = 4096;

/// What was read. Nothing in it is believed before [`Parts::check`].
#[derive(Default)]
pub(super) struct Parts {
    /// Tokens in GPT-2's alphabet, each with its number.
    pub(super) vocab: Vec<(String, u64)>,
    /// Pairs of tokens, the first merged first.
    pub(super) merges: Vec<Merge>,
    /// Tokens that nothing is merged into, as they are written.
    pub(super) added: Vec<Added>,
    /// Which words text is cut into.
    pub(super) words: Words,
    /// Whether text is put into Unicode's form NFC.
    pub(super) nfc: bool,
    /// What the library does to tokens when they are made. It is not done here; it is kept.
    pub(super) post_processor: Value,
    /// What is next to the file.
    pub(super) kept: Kept,
    /// Words that are tokens are not cut, whatever the merges say.
    pub(super) ignore_merges: bool,
    /// Merges stand one a line: their places are the numbers of lines.
    pub(super) in_lines: bool,
}

/// A token that nothing is merged into.
pub(super) struct Added {
    pub(super) content: String,
    pub(super) id: u64,
    /// Whether no text is made of it; another one is found in any text.
    pub(super) special: bool,
    /// Whether it is found in the text's normal form.
    pub(super) normalized: bool,
}

impl Added {
    /// A token of which no text is made, such as the token that ends a text.
    pub(super) fn special(content: &str, id: u64) -> Added {
        Added { content: content.into(), id, special: true, normalized: false }
    }

    fn to_json(&self) -> String {
        let Added { content, id, special, normalized } = self;
        format!(
            r#"{{"id":{id},"content":{},"single_word":false,"lstrip":false,"rstrip":false,"normalized":{normalized},"special":{special}}}"#,
            json!(content)
        )
    }
}

/// Two tokens that become one.
pub(super) struct Merge {
    pub(super) parts: (String, String),
    /// The place in the file, from 1 on.
    pub(super) place: usize,
}

/// What has been checked.
#[cfg_attr(not(feature = "bpe"), expect(dead_code))] // of use to the tokenizer alone
pub(super) struct Checked {
    /// The bytes of all tokens in order.
    pub(super) bytes: Vec<Vec<u8>>,
    /// The token of each byte; none for some that hardly any text has.
    pub(super) singles: [Option<TokenId>; 256],
    /// Tokens that text is cut into, in GPT-2's alphabet.
    pub(super) ordinary: HashMap<String, TokenId>,
}

/// A token for a message.
fn shown(token: &str) -> String {
    let few: String = token.chars().take(40).collect();
    let more = if few.len() < token.len() { "..." } else { "" };
    format!("'{}{more}'", few.escape_debug())
}

impl Parts {
    /// Whether added tokens are found in a text as wholes. Not by GPT-2's own kind, whose one mark
    /// between texts is text like any other; one that was given more of them has them found.
    pub(super) fn finds_wholes(&self) -> bool {
        let more = self.added.iter().any(|token| token.content != END_OF_TEXT);
        self.words != Words::Gpt2 || self.nfc || !self.kept.is_empty() || more
    }

    /// The first number that no token has.
    pub(super) fn next(&self) -> u64 {
        let numbers = self.vocab.iter().map(|(_, id)| *id).chain(self.added.iter().map(|t| t.id));
        numbers.map(|id| id.saturating_add(1)).max().unwrap_or(0)
    }

    /// The number of the token that ends a text.
    pub(super) fn end(&self) -> Option<u64> {
        let end = self.kept.eos.as_deref().unwrap_or(END_OF_TEXT);
        self.added.iter().find(|token| token.content == end).map(|token| token.id)
    }

    /// Validates that every text can be cut into this vocabulary, but for [rare](is_rare) bytes.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] naming the first token, byte or merge that cannot be.
    pub(super) fn check(&self) -> Result<Checked> {
        let names = self.names()?;
        let vocab: HashSet<&str> = self.vocab.iter().map(|(t, _)| t.as_str()).collect();
        let special: HashSet<&str> = self.added.iter().map(|t| t.content.as_str()).collect();
        self.check_added(&special)?;
        let mut ordinary = HashMap::with_capacity(vocab.len());
        let mut bytes = Vec::with_capacity(names.len());
        for (id, &name) in names.iter().enumerate() {
            // The text of a special token stands for itself, but for what text without it is cut into
            // as well: a letter that is the sign of a byte, or what is merged.
            let is_cut = || name.is_ascii() || is_sign(name) || self.is_merged(name);
            let itself = special.contains(name) && !(vocab.contains(name) && is_cut());
            match alphabet::bytes(name) {
                _ if itself => bytes.push(name.as_bytes().to_vec()),
                None if special.contains(name) => bytes.push(name.as_bytes().to_vec()),
                Some(spelt) => {
                    bytes.push(spelt);
                    ordinary.insert(name.to_string(), id as TokenId);
                }
                None => {
                    return Err(refuse(message!(
                        "token {}, {}, is not written in GPT-2's alphabet (a space is \u{120})",
                        id,
                        shown(name)
                    )));
                }
            }
        }
        let singles = singles(&ordinary)?;
        self.check_merges(&ordinary)?;
        Ok(Checked { bytes, singles, ordinary })
    }

    /// Whether a merge makes it.
    fn is_merged(&self, name: &str) -> bool {
        let makes = |(a, b): &(String, String)| name.strip_prefix(&**a) == Some(b);
        self.merges.iter().any(|merge| makes(&merge.parts))
    }

    /// All tokens by number.
    fn names(&self) -> Result<Vec<&str>> {
        let mut ids: HashMap<&str, u64> = HashMap::new();
        let added = self.added.iter().map(|token| (&token.content, &token.id));
        let vocab = self.vocab.iter().map(|(token, id)| (token, id));
        for (i, (token, id)) in vocab.chain(added).enumerate() {
            if token.is_empty() || token.len() > MAX_TOKEN {
                let why =
                    message!("token {} has {} bytes, not 1 to {}", *id, token.len(), MAX_TOKEN);
                return Err(refuse(why));
            }
            // A special token may be in the vocabulary too, under its number.
            if let Some(first) = ids.insert(token, *id).filter(|f| f != id || i < self.vocab.len())
            {
                let why = message!("{} is token {} and token {}", shown(token), first, *id);
                return Err(refuse(why));
            }
        }
        let count = ids.len();
        if count > Config::MAX_VOCAB {
            return Err(refuse(message!("{} tokens are more than {}", count, Config::MAX_VOCAB)));
        }
        let mut names: Vec<Option<&str>> = vec![None; count];
        for (token, id) in ids {
            let slot = usize::try_from(id).ok().and_then(|id| names.get_mut(id));
            let Some(slot) = slot else {
                return Err(refuse(message!(
                    "{} is token {}, but {} tokens have the numbers 0 to {}",
                    shown(token),
                    id,
                    count,
                    count - 1
                )));
            };
            if let Some(other) = slot.replace(token) {
                let (a, b) = if other < token { (other, token) } else { (token, other) };
                return Err(refuse(message!("token {} is both {} and {}", id, shown(a), shown(b))));
            }
        }
        // As many numbers as places, none of them twice.
        Ok(names.into_iter().flatten().collect())
    }

    /// Refuses added tokens that cannot be found, and names of none.
    fn check_added(&self, special: &HashSet<&str>) -> Result<()> {
        if !self.finds_wholes() {
            return Ok(());
        }
        if let Some(token) = special.iter().find(|token| token.contains(char::is_whitespace)) {
            let token = shown(token);
            return Err(refuse(message!(
                "the added token {} has white space in it, which is not supported",
                token
            )));
        }
        let unknown = |name: &Option<String>| {
            name.as_ref().filter(|name| !special.contains(name.as_str())).map(|name| shown(name))
        };
        if let Some(name) = unknown(&self.kept.bos) {
            let why = message!("{}, which begins a text, is not one of its added tokens", name);
            return Err(refuse(why));
        }
        if let Some(name) = unknown(&self.kept.eos) {
            let why = message!("{}, which ends a text, is not one of its added tokens", name);
            return Err(refuse(why));
        }
        Ok(())
    }

    fn check_merges(&self, ordinary: &HashMap<String, TokenId>) -> Result<()> {
        let mut seen = HashSet::with_capacity(self.merges.len());
        for Merge { parts: (a, b), place } in &self.merges {
            let wrong = |why: Message| {
                let (a, b) = (shown(a), shown(b));
                Err(refuse(match self.in_lines {
                    true => message!("merges line {}, {} and {}: {}", *place, a, b, why),
                    false => message!("merge {}, {} and {}: {}", *place, a, b, why),
                }))
            };
            let whole = format!("{a}{b}");
            for token in [a, b, &whole] {
                if !ordinary.contains_key(token) {
                    return wrong(message!("{} is not in the vocabulary", shown(token)));
                }
            }
            if !seen.insert((a, b)) {
                return wrong(message!("they are merged before"));
            }
        }
        Ok(())
    }

    /// As a tokenizer.json that says the same everywhere, byte for byte.
    ///
    /// # Errors
    /// [`Error::Tokenizer`] when it is too large for a checkpoint.
    pub(super) fn to_json(&self) -> Result<Vec<u8>> {
        const LEVEL: &str =
            r#"{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}"#;
        let mut added: Vec<_> = self.added.iter().collect();
        added.sort_by_key(|token| token.id);
        let added: Vec<_> = added.into_iter().map(Added::to_json).collect();
        let vocab = self.vocab.iter().map(|(token, id)| (token.as_str(), *id));
        let merges: Vec<_> = self.merges.iter().map(|merge| &merge.parts).collect();
        let merges = serde_json::to_string(&merges).map_err(|e| refuse(e.to_string()))?;
        let pre_tokenizer = match self.words {
            Words::Gpt2 => LEVEL.to_string(),
            other => other.pre_tokenizer().to_string(),
        };
        let kept = match self.kept.is_empty() {
            true => String::new(),
            false => {
                let kept = serde_json::to_string(&self.kept).map_err(|e| refuse(e.to_string()))?;
                format!(r#","kept":{kept}"#)
            }
        };
        // In the library's order.
        let blob = [
            r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":["#,
            &added.join(","),
            r#"],"normalizer":"#,
            if self.nfc { r#"{"type":"NFC"}"# } else { "null" },
            r#","pre_tokenizer":"#,
            &pre_tokenizer,
            r#","post_processor":"#,
            &self.post_processor.to_string(),
            r#","decoder":"#,
            LEVEL,
            r#","model":{"type":"BPE","dropout":null,"unk_token":null,"#,
            r#""continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"#,
            r#""byte_fallback":false,"ignore_merges":"#,
            if self.ignore_merges { "true" } else { "false" },
            r#","vocab":"#,
            &numbers(vocab),
            r#","merges":"#,
            &merges,
            "}",
            &kept,
            "}",
        ];
        let blob = blob.concat().into_bytes();
        if blob.len() as u64 > MAX_BLOB {
            let why =
                message!("{} bytes are more than a checkpoint holds, {}", blob.len(), MAX_BLOB);
            return Err(refuse(why));
        }
        Ok(blob)
    }

    /// As GPT-2's two files.
    pub(super) fn to_gpt2(&self) -> (Vec<u8>, Vec<u8>) {
        let added = self.added.iter().map(|token| (token.content.as_str(), token.id));
        let vocab = self.vocab.iter().map(|(token, id)| (token.as_str(), *id));
        let vocab = numbers(vocab.chain(added)).into_bytes();
        let mut merges = String::from("#version: 0.2\n");
        for Merge { parts: (a, b), .. } in &self.merges {
            merges.push_str(&format!("{a} {b}\n"));
        }
        (vocab, merges.into_bytes())
    }
}

/// The token of each byte.
fn singles(ordinary: &HashMap<String, TokenId>) -> Result<[Option<TokenId>; 256]> {
    let bytes = std::array::from_fn(|b| b as u8);
    let singles = bytes.map(|b| ordinary.get(&alphabet::symbol(b).to_string()).copied());
    let missing: Vec<u8> =
        bytes.into_iter().filter(|&b| singles[usize::from(b)].is_none()).collect();
    match missing[..] {
        [first, ..] if !missing.iter().copied().all(is_rare) => Err(refuse(message!(
            "the vocabulary lacks {} of the 256 bytes, the first is {} (written {}); a \
             text with it could not be cut",
            missing.len(),
            format_args!("0x{first:02X}"),
            shown(&alphabet::symbol(first).to_string())
        ))),
        _ => Ok(singles),
    }
}

/// Whether it is how GPT-2's alphabet writes one byte.
fn is_sign(name: &str) -> bool {
    alphabet::bytes(name).is_some_and(|bytes| bytes.len() == 1)
}

/// Whether it is in hardly any text. Vocabularies that were trained without all bytes being given,
/// such as SmolLM2's, lack some of these: control characters, the first bytes of characters of
/// which none has a meaning, and what UTF-8 never has.
fn is_rare(byte: u8) -> bool {
    let white = matches!(byte, b'\t' | b'\n' | b'\r');
    byte.is_ascii_control() && !white || matches!(byte, 0xC0 | 0xC1 | 0xF1 | 0xF2 | 0xF4..=0xFF)
}

/// Tokens and their numbers as an object of JSON, in the order of the numbers.
fn numbers<'t>(vocab: impl Iterator<Item = (&'t str, u64)>) -> String {
    let mut vocab: Vec<_> = vocab.collect();
    vocab.sort_by_key(|(_, id)| *id);
    vocab.dedup();
    let entries: Vec<_> =
        vocab.into_iter().map(|(token, id)| format!("{}:{id}", json!(token))).collect();
    format!("{{{}}}", entries.join(","))
}
