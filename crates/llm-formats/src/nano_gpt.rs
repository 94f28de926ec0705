//! What nanoGPT leaves beside its token numbers: `meta.pkl`, the characters that they stand for.

use crate::error::{FormatError, Result};
use llm_core::tokenizer::{CharTokenizer, Tokenizer};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The file's name, beside `train.bin` and `val.bin`.
pub const META: &str = "meta.pkl";
/// More bytes than it can have: a table of all characters there are.
pub const MOST_META: u64 = 32 << 20;

/// What `prepare.py` of nanoGPT's examples pickles. Every type is exact, and nothing else may be
/// there: what a pickle refers to again and again could not grow in such a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meta {
    vocab_size: u32,
    itos: BTreeMap<u32, char>,
    stoi: BTreeMap<char, u32>,
}

/// The tokenizer that a `meta.pkl` describes: token i is the i-th of its characters, which are
/// sorted, as in nanoGPT's examples.
///
/// # Errors
/// [`FormatError::Content`] for what is no such table, and for characters in another order.
pub fn characters(meta: &[u8]) -> Result<CharTokenizer> {
    let meta: Meta = serde_pickle::from_slice(meta, serde_pickle::DeOptions::new())
        .map_err(|_| FormatError::content("it holds no table of characters"))?;
    let Meta { vocab_size, itos, stoi } = meta;
    let in_order = itos.iter().zip(0..).all(|((&token, _), place)| token == place)
        && itos.values().is_sorted_by(|a, b| a < b);
    if !in_order || itos.is_empty() {
        return Err(FormatError::content("its characters are not numbered in their sorted order"));
    }
    let agree = stoi.len() == itos.len() && itos.iter().all(|(i, c)| stoi.get(c) == Some(i));
    if !agree || vocab_size as usize != itos.len() {
        return Err(FormatError::content("its two tables and its size do not agree"));
    }
    let text: String = itos.into_values().collect();
    let tokenizer = CharTokenizer::from_text(text.as_bytes())?;
    debug_assert_eq!(tokenizer.vocab_size(), vocab_size as usize);
    Ok(tokenizer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Python's pickle writes it: protocol 4, memoized strings.
    fn pickled(itos: &[(u8, &str)], size: u8) -> Vec<u8> {
        let text = |s: &str| [&[0x8c, s.len() as u8][..], s.as_bytes(), b"\x94"].concat();
        let number = |n: u8| vec![b'K', n];
        let mut file = b"\x80\x04}\x94(".to_vec();
        file.extend([text("vocab_size"), number(size), text("itos"), b"}\x94(".to_vec()].concat());
        itos.iter().for_each(|(i, c)| file.extend([number(*i), text(c)].concat()));
        file.extend([b"u".to_vec(), text("stoi"), b"}\x94(".to_vec()].concat());
        itos.iter().for_each(|(i, c)| file.extend([text(c), number(*i)].concat()));
        file.extend(b"uu.");
        file
    }

    #[test]
    fn tokens_are_the_characters_of_the_table() {
        let file = pickled(&[(0, "\n"), (1, "a"), (2, "é")], 3);
        let tokenizer = characters(&file).unwrap();
        assert_eq!(tokenizer.encode("aé\n".as_bytes()).unwrap(), [1, 2, 0]);
    }

    #[test]
    fn other_tables_are_refused() {
        let why = |file: &[u8]| characters(file).unwrap_err().to_string();
        assert!(why(&pickled(&[(0, "b"), (1, "a")], 2)).contains("order"));
        assert!(why(&pickled(&[(0, "a"), (2, "b")], 2)).contains("order"));
        assert!(why(&pickled(&[(0, "a"), (1, "b")], 3)).contains("agree"));
        for other in [&b""[..], b"\x80\x04}.", b"text", &pickled(&[(0, "ab")], 1)] {
            assert!(why(other).contains("no table"), "{other:?}");
        }
        let whole = pickled(&[(0, "\n"), (1, "a"), (2, "é")], 3);
        (0..whole.len()).for_each(|cut| drop(characters(&whole[..cut]).unwrap_err()));
    }
}
