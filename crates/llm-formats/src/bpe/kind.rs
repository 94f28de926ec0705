//! What is done to a text before pairs are merged: which words it is cut into, and whether it is put
//! into one of Unicode's normal forms. The kinds that are known here were each held against the
//! library; every other one is refused by what it has.

use crate::error::shown;
use llm_core::base::Message;
use llm_core::{Error, Result, message};
use serde_json::{Value, json};

/// Which words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Words {
    /// GPT-2's.
    #[default]
    Gpt2,
    /// GPT-2's words, with every digit by itself before that: SmolLM's.
    Gpt2Digits,
    /// Llama 3's: contractions in any case, up to three digits, signs with the line breaks after
    /// them.
    Llama3,
    /// Qwen2's and Qwen3's: Llama 3's words, with every digit by itself.
    Qwen2,
}

/// What stands before Llama 3's digits.
const BEFORE: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|";
/// What stands after them.
const AFTER: &str = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+";
/// How every pattern ends: a run of white space leaves its last character to what follows it.
const SPACE: &str = r"|\s+(?!\S)|\s+";

impl Words {
    /// All kinds.
    pub(super) const ALL: [Self; 4] = [Self::Gpt2, Self::Gpt2Digits, Self::Llama3, Self::Qwen2];

    /// The pattern, but for its end, [`SPACE`].
    pub(super) fn pattern(self) -> String {
        match self {
            Words::Gpt2 | Words::Gpt2Digits => {
                r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+".into()
            }
            Words::Llama3 => format!(r"{BEFORE}\p{{N}}{{1,3}}{AFTER}"),
            Words::Qwen2 => format!(r"{BEFORE}\p{{N}}{AFTER}"),
        }
    }

    /// As in a tokenizer.json.
    pub(crate) fn pre_tokenizer(self) -> Value {
        let level = |words: bool| byte_level(false, words);
        let both = |first: Value, second: Value| json!({"type": "Sequence", "pretokenizers": [first, second]});
        match self {
            Words::Gpt2 => level(true),
            Words::Gpt2Digits => {
                both(json!({"type": "Digits", "individual_digits": true}), level(true))
            }
            Words::Llama3 | Words::Qwen2 => both(
                json!({"type": "Split", "pattern": {"Regex": self.pattern() + SPACE},
                    "behavior": "Isolated", "invert": false}),
                level(false),
            ),
        }
    }

    /// The kind of a pre-tokenizer that is not GPT-2's alone.
    ///
    /// # Errors
    /// [`llm_core::Error::Tokenizer`] naming what is not known.
    pub(crate) fn of(pre_tokenizer: &Value) -> Result<Words> {
        let pre_tokenizer = &as_usual(pre_tokenizer);
        let fits = |words: &Words| same(pre_tokenizer, &words.pre_tokenizer());
        if let Some(words) = Words::ALL.into_iter().find(|words| fits(words)) {
            return Ok(words);
        }
        let parts = pre_tokenizer.get("pretokenizers").and_then(Value::as_array);
        let pattern = parts.into_iter().flatten().find_map(|part| part.get("pattern"));
        match pattern {
            Some(pattern) => {
                let text = pattern.get("Regex").and_then(Value::as_str);
                let text = shown(&text.map_or_else(|| pattern.to_string(), str::to_string));
                Err(refuse(message!("its words are cut by a pattern that is not known: {}", text)))
            }
            None => Err(refuse(message!(
                "its pre-tokenizer is a sequence that is not known: Digits one by one with \
                 ByteLevel is, and Split by Llama 3's or Qwen's pattern with ByteLevel"
            ))),
        }
    }
}

/// A pre-tokenizer in the words of the kinds here. What is cut out is kept where it is what does not fit that
/// is removed; and a pattern may hold line breaks themselves.
fn as_usual(pre_tokenizer: &Value) -> Value {
    let mut usual = pre_tokenizer.clone();
    let parts = usual.get_mut("pretokenizers").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten().filter(|part| part["type"] == "Split") {
        if part["behavior"] == "Removed" && part["invert"] == true {
            part["behavior"] = json!("Isolated");
            part["invert"] = json!(false);
        }
        if let Some(text) = part["pattern"]["Regex"].as_str() {
            part["pattern"]["Regex"] = json!(text.replace('\r', r"\r").replace('\n', r"\n"));
        }
    }
    usual
}

/// GPT-2's alphabet, with a space in front or without, and with its way to cut text or without.
pub(crate) fn byte_level(space: bool, words: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": space, "trim_offsets": true,
        "use_regex": words})
}

/// The error about a tokenizer that is not done here.
pub(super) fn refuse(reason: impl Into<Message>) -> Error {
    Error::tokenizer("bpe", reason)
}

/// Whether two parts of a file say the same. What says how places are counted does not matter; what
/// a file does not say is as in the library.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let usual = |key: &str| match key {
                "use_regex" => Value::Bool(true),
                "invert" => Value::Bool(false),
                _ => Value::Null,
            };
            a.keys().chain(b.keys()).filter(|key| *key != "trim_offsets").all(|key| {
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(key).cloned().unwrap_or_else(|| usual(key))
                };
                same(&of(a), &of(b))
            })
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_what_they_do() {
        for words in Words::ALL {
            assert_eq!(Words::of(&words.pre_tokenizer()).unwrap(), words);
        }
        // As Qwen's files have it.
        let mut other = Words::Qwen2.pre_tokenizer();
        other["pretokenizers"][1]["trim_offsets"] = json!(false);
        other["pretokenizers"][0].as_object_mut().unwrap().remove("invert");
        assert_eq!(Words::of(&other).unwrap(), Words::Qwen2);
        other["pretokenizers"][0]["behavior"] = json!("Removed");
        assert!(Words::of(&other).is_err());
        // As StableLM 2 and the files of cl100k have it: what fits stays, and it all fits.
        other["pretokenizers"][0]["invert"] = json!(true);
        assert_eq!(Words::of(&other).unwrap(), Words::Qwen2);
        let pattern = other["pretokenizers"][0]["pattern"]["Regex"].as_str().unwrap();
        let pattern = pattern.replace(r"\r", "\r").replace(r"\n", "\n");
        other["pretokenizers"][0]["pattern"]["Regex"] = json!(pattern);
        assert_eq!(Words::of(&other).unwrap(), Words::Qwen2);
        let mut other = Words::Llama3.pre_tokenizer();
        other["pretokenizers"][0]["pattern"]["Regex"] = json!("\u{1b}\\w+");
        let refused = Words::of(&other).unwrap_err().to_string();
        assert!(refused.contains("\\w+") && !refused.contains(char::is_control), "{refused}");
        let mut other = Words::Gpt2Digits.pre_tokenizer();
        other["pretokenizers"][0]["individual_digits"] = json!(false);
        assert!(Words::of(&other).unwrap_err().to_string().contains("Digits one by one"));
        other["pretokenizers"][0]["individual_digits"] = json!(true);
        other["pretokenizers"][1]["add_prefix_space"] = json!(true);
        assert!(Words::of(&other).is_err());
    }

    #[test]
    fn patterns_are_those_of_the_files() {
        let llama = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| \
                     ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
        assert_eq!(Words::Llama3.pattern() + SPACE, llama);
        assert_eq!(Words::Qwen2.pattern() + SPACE, llama.replace("{1,3}", ""));
    }
}
