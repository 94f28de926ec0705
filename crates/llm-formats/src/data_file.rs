//! What a data file is: text, text in a wrapping that is known here, or none.
//!
//! A trainer learns whatever bytes it is given, and says a share of right guesses for any. So what
//! is no text is recognised before.

use flate2::read::MultiGzDecoder;
use std::io::{self, Read};

/// Bytes from the beginning of a file that say what it is.
pub const SAMPLE: usize = 64 << 10;

/// From this share of NUL bytes on nothing is text. Bytes that are all equally frequent have 1/256.
const MOST_NUL: f64 = 0.02;

/// The three bytes that some programs write before UTF-8.
pub const UTF8_MARK: [u8; 3] = *b"\xEF\xBB\xBF";

/// What a file begins like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Text, or bytes that may be taken for it.
    Text,
    /// Text after [`UTF8_MARK`].
    MarkedUtf8,
    /// Text in units of two bytes.
    Utf16 {
        /// The high byte of a unit comes first.
        big: bool,
        /// Bytes before the text that say so.
        mark: usize,
    },
    /// Compressed with gzip.
    Gzip,
    /// A format that is not text, by its name.
    Foreign(&'static str),
    /// Nothing known, and this share of its bytes is NUL.
    Binary {
        /// Between 0 and 1.
        nul: f64,
    },
}

/// Formats by their first bytes. None begins as a text does.
const FOREIGN: [(&[u8], &str); 15] = [
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89LLMC\r\n\x1a", "a checkpoint of this program"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\xFD7zXZ\0", "compressed with xz"),
    (b"\x28\xB5\x2F\xFD", "compressed with zstd"),
    (b"BZh91AY&SY", "compressed with bzip2"),
    (b"%PDF-", "a PDF"),
    (b"\x89PNG\r\n\x1a\n", "a picture"),
    (b"\xFF\xD8\xFF", "a picture"),
    (b"\x7fELF", "a program"),
    (b"PAR1\x15", "a Parquet table"),
    (b"ARROW1\0\0", "an Arrow table"),
    (b"SQLite format 3\0", "a SQLite data base"),
    (b"\xFF\xFE\0\0", "UTF-32"),
    (b"\0\0\xFE\xFF", "UTF-32"),
];

impl Kind {
    /// Of a file that begins with `sample`, [`SAMPLE`] bytes if it has so many.
    pub fn of(sample: &[u8]) -> Kind {
        let foreign = FOREIGN.iter().find(|(magic, _)| sample.starts_with(magic));
        if let Some((_, name)) = foreign {
            return Kind::Foreign(name);
        }
        match sample {
            [0x1F, 0x8B, 8, ..] => return Kind::Gzip,
            [0xFF, 0xFE, ..] => return Kind::Utf16 { big: false, mark: 2 },
            [0xFE, 0xFF, ..] => return Kind::Utf16 { big: true, mark: 2 },
            _ => {}
        }
        let nul = sample.iter().filter(|&&b| b == 0).count() as f64 / sample.len().max(1) as f64;
        if nul < MOST_NUL {
            let marked = sample.starts_with(&UTF8_MARK);
            return if marked { Kind::MarkedUtf8 } else { Kind::Text };
        }
        let big = [false, true].into_iter().find(|&big| is_wide_ascii(sample, big));
        big.map_or(Kind::Binary { nul }, |big| Kind::Utf16 { big, mark: 0 })
    }
}

/// Is each of the first units of two bytes a character of ASCII that texts have, as good as all?
/// Small token numbers of 16 bits are not: most of them would be control characters.
fn is_wide_ascii(sample: &[u8], big: bool) -> bool {
    let (units, _) = sample.as_chunks::<2>();
    let plain = |unit: &&[u8; 2]| {
        let [low, high] = if big { [unit[1], unit[0]] } else { **unit };
        high == 0 && matches!(low, b'\t' | b'\n' | b'\r' | b' '..=b'~')
    };
    units.len() > 1 && units.iter().filter(plain).count() * 20 >= units.len() * 19
}

/// UTF-16 without its mark as UTF-8; `None` when it is none: half a surrogate pair, half a unit.
pub fn utf16(bytes: &[u8], big: bool) -> Option<String> {
    let (units, rest) = bytes.as_chunks();
    let unit = |&unit: &[u8; 2]| match big {
        true => u16::from_be_bytes(unit),
        false => u16::from_le_bytes(unit),
    };
    let text: Option<String> = char::decode_utf16(units.iter().map(unit)).map(|c| c.ok()).collect();
    text.filter(|_| rest.is_empty())
}

/// What gzip packed, all members one after the other; `None` when that is more than `most` bytes.
///
/// # Errors
/// What reading says; [`io::ErrorKind::InvalidInput`] and its relatives for damaged data.
pub fn gunzip(packed: impl Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    MultiGzDecoder::new(packed).take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn wide(text: &str, big: bool) -> Vec<u8> {
        let unit = |u: u16| if big { u.to_be_bytes() } else { u.to_le_bytes() };
        text.encode_utf16().flat_map(unit).collect()
    }

    #[test]
    fn text_is_text_and_the_rest_is_not() {
        let numbers = |most: u16| -> Vec<u8> {
            (0..4000u16).flat_map(|i| (i.wrapping_mul(40_503) % most).to_le_bytes()).collect()
        };
        let all: Vec<u8> = (0..=255).collect();
        let zip = [b"PK\x03\x04".as_slice(), b"more"].concat();
        for (bytes, kind) in [
            (&b""[..], Kind::Text),
            (b"abc", Kind::Text),
            (&all, Kind::Text),
            ("猫\r\n".as_bytes(), Kind::Text),
            (b"\xEF\xBB\xBFabc", Kind::MarkedUtf8),
            (&zip, Kind::Foreign("a zip archive")),
            (b"\x93NUMPY\x01\0", Kind::Foreign("a NumPy array")),
            (b"\x1F\x8B\x08\0", Kind::Gzip),
            (&wide("\u{feff}猫", false), Kind::Utf16 { big: false, mark: 2 }),
            (&wide("\u{feff}a", true), Kind::Utf16 { big: true, mark: 2 }),
            (&wide("once upon a time", false), Kind::Utf16 { big: false, mark: 0 }),
            (&wide("once upon a time", true), Kind::Utf16 { big: true, mark: 0 }),
        ] {
            assert_eq!(Kind::of(bytes), kind, "{bytes:?}");
        }
        for bytes in [numbers(65), numbers(2048), vec![0; 9]] {
            assert!(matches!(Kind::of(&bytes), Kind::Binary { .. }));
        }
    }

    #[test]
    fn what_is_packed_is_unpacked_up_to_a_limit() {
        let member = |text: &[u8]| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            packed.write_all(text).unwrap();
            packed.finish().unwrap()
        };
        let two = [member(b"once "), member(b"upon a time")].concat();
        assert_eq!(gunzip(&two[..], 16).unwrap().unwrap(), b"once upon a time");
        assert_eq!(gunzip(&two[..], 15).unwrap(), None);
        assert!(gunzip(&two[..two.len() - 3], 99).is_err());
        let zeros = member(&vec![0; 1 << 24]);
        assert_eq!(gunzip(&zeros[..], 1 << 10).unwrap(), None);
    }

    proptest! {
        #[test]
        fn utf16_comes_back(text: String, big: bool) {
            prop_assert_eq!(utf16(&wide(&text, big), big), Some(text));
        }

        #[test]
        fn any_bytes_are_of_some_kind(bytes: Vec<u8>) {
            let _ = (Kind::of(&bytes), utf16(&bytes, true), gunzip(&bytes[..], 1 << 16));
        }
    }

    #[test]
    fn half_a_pair_and_half_a_unit_are_no_text() {
        assert_eq!(utf16(b"a\0b", false), None);
        assert_eq!(utf16(&[0, 0xD8, b'a', 0], false), None);
    }
}
