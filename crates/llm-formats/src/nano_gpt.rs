//! `meta.pkl`, which nanoGPT leaves next to its token numbers: the characters that they stand for.

use crate::error::{FormatError, Result, refuse};
use llm_core::message;
use llm_core::tokenizer::{CharTokenizer, Tokenizer};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The file's name, next to `train.bin` and `val.bin`.
pub const META: &str = "meta.pkl";
/// Most bytes of the file: more than a table of all characters has.
pub const MOST_META: u64 = 32 << 20;

/// The table that `prepare.py` of nanoGPT's examples pickles. Every type is exact, and nothing else may be
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
    let meta = Some(meta).filter(|meta| is_flat(meta));
    let meta = meta.and_then(|m| serde_pickle::from_slice(m, serde_pickle::DeOptions::new()).ok());
    let meta: Option<Meta> = meta;
    let meta =
        meta.ok_or_else(|| FormatError::content(message!("it holds no table of characters")))?;
    let Meta { vocab_size, itos, stoi } = meta;
    let in_order = itos.iter().zip(0..).all(|((&token, _), place)| token == place)
        && itos.values().is_sorted_by(|a, b| a < b);
    if !in_order || itos.is_empty() {
        return refuse(message!("its characters are not numbered in their sorted order"));
    }
    let agree = stoi.len() == itos.len() && itos.iter().all(|(i, c)| stoi.get(c) == Some(i));
    if !agree || vocab_size as usize != itos.len() {
        return refuse(message!("its two tables and its size do not agree"));
    }
    let text: String = itos.into_values().collect();
    let tokenizer = CharTokenizer::from_text(text.as_bytes())?;
    debug_assert_eq!(tokenizer.vocab_size(), vocab_size as usize);
    Ok(tokenizer)
}

/// Whether a pickle is made of words, small numbers and three tables, as a `meta.pkl` is: what nests
/// deeper would overflow the stack of who reads it, and long numbers take for ever.
///
/// The operations are those of Python's `Lib/pickletools.py`.
fn is_flat(mut pickle: &[u8]) -> bool {
    let mut tables = 0;
    while let Some((&operation, rest)) = pickle.split_first() {
        let length = |bytes: usize| {
            let (length, _) = rest.split_at_checked(bytes)?;
            let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
            length.checked_add(bytes)
        };
        let argument = match operation {
            b'.' => return tables <= 3,
            b'}' => {
                tables += 1;
                Some(0)
            }
            b'(' | b'u' | b's' | 0x94 => Some(0), // mark, items, an item, remember
            0x80 | b'K' | b'q' | b'h' => Some(1), // protocol, a number, places
            b'M' => Some(2),                      // a number
            b'J' | b'r' | b'j' => Some(4),        // a number, places
            0x95 => Some(8),                      // how long a frame is
            0x8c => length(1),                    // a word
            b'X' => length(4),
            _ => None,
        };
        match argument.and_then(|bytes| rest.get(bytes..)) {
            Some(rest) => pickle = rest,
            None => return false,
        }
    }
    false
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
        // Deep, long, and with tables in tables.
        let deep = [&b"\x80\x02"[..], &[b']'; 32_500], &[b'a'; 32_499], b"."].concat();
        let long = [&b"\x80\x02L"[..], &[b'9'; 3_000_000], b"L\n."].concat();
        let tables = [&b"\x80\x02"[..], &[b'}'; 100_000], b"."].concat();
        for other in [deep, long, tables] {
            assert!(why(&other).contains("no table"));
        }
        let whole = pickled(&[(0, "\n"), (1, "a"), (2, "é")], 3);
        (0..whole.len()).for_each(|cut| drop(characters(&whole[..cut]).unwrap_err()));
    }
}
