//! The kind of a data file: text, text in a wrapping that is known here, or none.
//!
//! A trainer learns whatever bytes it is given, and says a share of right guesses for any. So what
//! is no text is recognised before.

use crate::files::{SAMPLE, UTF8_MARK};
use crate::first_look::Look;
use flate2::read::MultiGzDecoder;
use llm_core::base::Message;
use llm_core::message;
use std::io::{self, Read};

/// From this share of control characters on nothing is text, if they are of several kinds: a table
/// may have one or two of its own between its cells, and bytes that are all equally frequent have a
/// tenth of them, of every kind.
const MOST_CONTROLS: f64 = 0.02;
const KINDS_OF_CONTROLS: usize = 6;

/// From this share of NUL bytes on nothing is text.
const MOST_NUL: f64 = 0.02;

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
    /// A format that is not text.
    Foreign(Look),
    /// An unknown format: this share of its bytes are control characters.
    Binary {
        /// Between 0 and 1.
        controls: f64,
    },
}

impl Kind {
    /// The kind of a file that begins with `sample`, [`SAMPLE`] bytes if it has as many.
    pub fn of(sample: &[u8]) -> Kind {
        match Look::of_bytes(sample) {
            // What a server sends in the place of a file is short.
            Some(Look::WebPage) if sample.len() >= SAMPLE => {}
            Some(look) => return Kind::Foreign(look),
            None => {}
        }
        match sample {
            [0x1F, 0x8B, 8, ..] => return Kind::Gzip,
            [0xFF, 0xFE, ..] => return Kind::Utf16 { big: false, mark: 2 },
            [0xFE, 0xFF, ..] => return Kind::Utf16 { big: true, mark: 2 },
            _ => {}
        }
        let [nul, controls, kinds] = controls(sample);
        let many = controls >= MOST_CONTROLS && kinds >= KINDS_OF_CONTROLS as f64;
        if nul < MOST_NUL && many {
            return Kind::Binary { controls };
        }
        if nul < MOST_NUL {
            let marked = sample.starts_with(&UTF8_MARK);
            return if marked { Kind::MarkedUtf8 } else { Kind::Text };
        }
        let big = [false, true].into_iter().find(|&big| is_wide_ascii(sample, big));
        big.map_or(Kind::Binary { controls }, |big| Kind::Utf16 { big, mark: 0 })
    }
}

/// The share of NUL bytes, that of all control characters which texts do not have, and the number of
/// kinds of them. Texts have white space, and those of terminals and of ISO 2022 what switches.
fn controls(sample: &[u8]) -> [f64; 3] {
    let mut counts = [0usize; 256];
    sample.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    let is_control = |byte: &u8| !matches!(byte, 8..=15 | 27) && byte.is_ascii_control();
    let controls = || (0..=127u8).filter(is_control).map(|byte| counts[usize::from(byte)]);
    let share = |count: usize| count as f64 / sample.len().max(1) as f64;
    [share(counts[0]), share(controls().sum()), controls().filter(|&n| n > 0).count() as f64]
}

/// Bytes before the first token number of 16 bits, the low byte first, in a file of this name that begins
/// so: llm.c and its relatives write 256 numbers of 32 bits there, the first of which says so.
///
/// # Errors
/// Why they are other numbers, or none, and what makes such ones of them.
pub(super) fn before_numbers(name: Message, sample: &[u8]) -> Result<u64, Message> {
    const LLM_C: u32 = 20_240_520;
    const LLM_C_OF_32_BITS: u32 = 20_240_801;
    const HEADER: usize = 1024;
    match Look::of_bytes(sample) {
        None => {}
        Some(Look::NumPy) => {
            return Err(message!(
                "{} is a NumPy array, and not token numbers alone; numpy.load(FILE).astype('<u2')\
                 .tofile('tokens.bin') makes them",
                name
            ));
        }
        Some(look) => {
            let look = look.message();
            return Err(message!("{} is {}, and not token numbers of 16 bits", name, look));
        }
    }
    let wide = |name: Message| {
        message!(
            "{} has token numbers of 32 bits or more, not of 16; numpy.fromfile(FILE, '<u4')\
             .astype('<u2').tofile('tokens.bin') makes them where they are below 65536",
            name
        )
    };
    let first = sample.first_chunk().map(|four| u32::from_le_bytes(*four));
    let header = match first.filter(|_| sample.len() >= HEADER) {
        Some(LLM_C) => HEADER,
        Some(LLM_C_OF_32_BITS) => return Err(wide(name)),
        _ => 0,
    };
    let (numbers, _) = sample[header..].as_chunks::<2>();
    // A few may be small by chance.
    if numbers.len() < 32 {
        return Ok(header as u64);
    }
    let odd = || numbers.iter().skip(1).step_by(2);
    if numbers.iter().any(|number| number[1] != 0) && numbers.iter().all(|number| number[0] == 0) {
        return Err(message!(
            "{} has the high byte of each token number first (big-endian); \
             numpy.fromfile(FILE, '>u2').astype('<u2').tofile('tokens.bin') turns them",
            name
        ));
    }
    if numbers.iter().any(|number| *number != [0, 0]) && odd().all(|number| *number == [0, 0]) {
        return Err(wide(name));
    }
    Ok(header as u64)
}

/// Whether nearly all of the first units of two bytes are characters of ASCII that texts have.
/// Small token numbers of 16 bits are not: most of them would be control characters.
fn is_wide_ascii(sample: &[u8], big: bool) -> bool {
    let (units, _) = sample.as_chunks::<2>();
    let plain = |unit: &&[u8; 2]| {
        let [low, high] = if big { [unit[1], unit[0]] } else { **unit };
        high == 0 && matches!(low, b'\t' | b'\n' | b'\r' | b' '..=b'~')
    };
    units.len() > 1 && units.iter().filter(plain).count() * 20 >= units.len() * 19
}

/// UTF-16 without its mark as UTF-8; `None` when it is invalid: half a surrogate pair, half a unit.
pub fn utf16(bytes: &[u8], big: bool) -> Option<String> {
    let (units, rest) = bytes.as_chunks();
    let unit: fn([u8; 2]) -> u16 = if big { u16::from_be_bytes } else { u16::from_le_bytes };
    let units = units.iter().copied().map(unit);
    let text: Option<String> = char::decode_utf16(units).map(|c| c.ok()).collect();
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
            ("猫\r\n".as_bytes(), Kind::Text),
            (b"\xEF\xBB\xBFabc", Kind::MarkedUtf8),
            (&zip, Kind::Foreign(Look::Zip)),
            (b"\x93NUMPY\x01\0", Kind::Foreign(Look::NumPy)),
            (b"\x1F\x8B\x08\0", Kind::Gzip),
            (&wide("\u{feff}猫", false), Kind::Utf16 { big: false, mark: 2 }),
            (&wide("\u{feff}a", true), Kind::Utf16 { big: true, mark: 2 }),
            (&wide("once upon a time", false), Kind::Utf16 { big: false, mark: 0 }),
            (&wide("once upon a time", true), Kind::Utf16 { big: true, mark: 0 }),
        ] {
            assert_eq!(Kind::of(bytes), kind, "{bytes:?}");
        }
        // As good as random: what is packed, sound, weights. And a table of a data base's.
        let random = (0..4000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert_eq!(Kind::of(&b"a\x01b\x02c\n".repeat(99)), Kind::Text);
        for bytes in [numbers(65), numbers(2048), vec![0; 9], random, all] {
            assert!(matches!(Kind::of(&bytes), Kind::Binary { .. }));
        }
    }

    #[test]
    fn numbers_of_16_bits_and_what_comes_before_them() {
        let of = |numbers: &[u16]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
        let numbers: Vec<u16> = (0..100).map(|i| i * 7 % 65).collect();
        let before =
            |sample: &[u8]| before_numbers("it".into(), sample).map_err(|why| why.to_string());
        assert_eq!(before(&of(&numbers)), Ok(0));
        let llm_c = [&20_240_520u32.to_le_bytes()[..], &[1; 1020], &of(&numbers)].concat();
        assert_eq!(before(&llm_c), Ok(1024));
        let wide: Vec<u8> = numbers.iter().flat_map(|&n| u32::from(n).to_le_bytes()).collect();
        let big: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
        assert!(before(&wide).unwrap_err().starts_with("it has token numbers of 32 bits"));
        assert!(before(&big).unwrap_err().starts_with("it has the high byte"));
        assert!(before(b"\x93NUMPY\x01").unwrap_err().starts_with("it is a NumPy array"));
        assert!(before(b"PK\x03\x04").unwrap_err().starts_with("it is a zip archive, and not"));
        assert_eq!(before(&[0; 400]), Ok(0));
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
