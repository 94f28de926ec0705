//! GPT-2's alphabet: a printable character for every byte, so that vocabularies are text.
//!
//! Bytes that are printable in Latin-1 stand for themselves; the others, in rising order, are
//! U+0100 and what follows: a space is `Ġ`, a line feed `Ċ`.

/// The character of a byte.
pub(crate) fn symbol(byte: u8) -> char {
    let shifted = match byte {
        b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF => return char::from(byte),
        0x00..=0x20 => byte,
        0x7F..=0xA0 => byte - 0x7F + 0x21,
        0xAD => 0x43,
    };
    char::from_u32(0x100 + u32::from(shifted)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The byte of a character, if it is one of the alphabet.
pub(crate) fn byte(symbol: char) -> Option<u8> {
    match u32::from(symbol) {
        code @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => u8::try_from(code).ok(),
        code @ 0x100..=0x120 => u8::try_from(code - 0x100).ok(),
        code @ 0x121..=0x142 => u8::try_from(code - 0x121 + 0x7F).ok(),
        0x143 => Some(0xAD),
        _ => None,
    }
}

/// Bytes in the alphabet.
pub(crate) fn symbols(bytes: &[u8]) -> String {
    bytes.iter().copied().map(symbol).collect()
}

/// The bytes of a token; `None` when it has a character outside the alphabet.
pub(crate) fn bytes(token: &str) -> Option<Vec<u8>> {
    token.chars().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "bpe")]
    #[test]
    fn it_is_the_one_of_tokenizers() {
        use tokenizers::pre_tokenizers::byte_level::ByteLevel;
        let all: std::collections::HashSet<char> = (0..=255).map(symbol).collect();
        assert_eq!(all, ByteLevel::alphabet().into_iter().collect());
    }

    #[test]
    fn every_byte_has_a_character_of_its_own() {
        for b in 0..=255 {
            assert_eq!(byte(symbol(b)), Some(b));
        }
        for c in ['\0', ' ', '\u{7f}', '\u{a0}', '\u{ad}', '\u{144}', '猫'] {
            assert_eq!(byte(c), None, "{c:?}");
        }
        assert_eq!(symbols(" a\né".as_bytes()), "ĠaĊÃ©");
        assert_eq!(bytes("ĠaĊÃ©").unwrap(), " a\né".as_bytes());
    }
}
