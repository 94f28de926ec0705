use super::*;
use proptest::prelude::*;

fn of(text: &str) -> CharTokenizer {
    CharTokenizer::from_text(text.as_bytes()).unwrap()
}

fn vocabulary(tokenizer: &CharTokenizer) -> Vec<&[u8]> {
    (0..tokenizer.vocab_size()).map(|t| tokenizer.bytes_of(t as TokenId)).collect()
}

#[test]
fn the_vocabulary_is_sorted_and_has_every_character_once() {
    let tokenizer = of("hello\nworld");
    let letters = vocabulary(&tokenizer).concat();
    assert_eq!(letters, b"\ndehlorw");
    assert_eq!(tokenizer.encode(b"hello").unwrap(), [3, 2, 4, 4, 5]);
    assert_eq!(tokenizer.decode(&[3, 2, 4, 4, 5]).unwrap(), b"hello");
    let mixed = CharTokenizer::from_text(b"z\xc3\xc3\xa9\x80\xffa").unwrap();
    assert_eq!(vocabulary(&mixed), [&b"a"[..], b"z", b"\x80", b"\xc3", b"\xc3\xa9", b"\xff"]);
}

#[test]
fn characters_are_cut_as_utf8_has_them() {
    for (text, expected) in [
        (&b"ab"[..], &[&b"a"[..], b"b"][..]),
        ("é猫🐈!".as_bytes(), &["é".as_bytes(), "猫".as_bytes(), "🐈".as_bytes(), b"!"]),
        (b"\xe7\x8c", &[b"\xe7", b"\x8c"]), // a cut character
        (b"\xe7\x8ca", &[b"\xe7", b"\x8c", b"a"]),
        (b"\xf0\x9f\x90", &[b"\xf0", b"\x9f", b"\x90"]),
        (b"\xc0\x80", &[b"\xc0", b"\x80"]), // two bytes where one would do
        (b"\xed\xa0\x80", &[b"\xed", b"\xa0", b"\x80"]), // half a surrogate pair
        (b"\xf4\x90\x80\x80", &[b"\xf4", b"\x90", b"\x80", b"\x80"]), // above U+10FFFF
        (b"\xef\xbb\xbf\r\n", &[b"\xef\xbb\xbf", b"\r", b"\n"]),
    ] {
        assert_eq!(units(text).map(|(_, unit)| unit).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn an_unknown_character_is_named_with_its_place() {
    let tokenizer = of("abc");
    for (text, named, place) in [
        (&b"abxc"[..], "'x' (U+0078)", 2),
        ("a猫".as_bytes(), "'猫' (U+732B)", 1),
        (b"ab\x1b", "'\\u{1b}' (U+001B)", 2),
        (b"\xff", "the byte \\xFF", 0),
    ] {
        let refused = tokenizer.encode(text).unwrap_err().to_string();
        assert!(refused.contains(named) && refused.contains(&format!("byte {place}")), "{refused}");
    }
}

#[test]
fn a_blob_is_believed_only_when_it_could_have_been_written() {
    assert_eq!(CharTokenizer::from_blob(b"\x01a\x02\xc3\xa9\x01\xff").unwrap().vocab_size(), 3);
    for bad in [
        &b""[..],
        b"\x00",
        b"\x01",
        b"\x01a\x01",
        b"\x01b\x01a",
        b"\x01a\x01a",
        b"\x02ab",
        b"\x02\xc3\xc3",
        b"\x03\xc3\xa9a",
        b"\x03\xed\xa0\x80",
        b"\x05abcde",
        b"\xff",
        b"\x01a\x00",
        b"\x04\xf0\x9f\x90",
    ] {
        let refused = CharTokenizer::from_blob(bad);
        assert!(matches!(refused, Err(Error::Tokenizer { .. })), "{bad:?}");
    }
}

#[test]
fn there_are_limits() {
    assert!(matches!(CharTokenizer::from_text(b""), Err(Error::Tokenizer { .. })));
    let all: String = ('\0'..=char::MAX).collect(); // 1,112,064 of them
    assert!(CharTokenizer::from_text(all.as_bytes()).is_err());
    let most: String = ('\0'..=char::MAX).take(CharTokenizer::MAX_VOCAB).collect();
    let tokenizer = of(&most);
    assert_eq!(tokenizer.vocab_size(), CharTokenizer::MAX_VOCAB);
    assert_eq!(CharTokenizer::from_blob(&tokenizer.blob()).unwrap(), tokenizer);
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    let bytes = proptest::collection::vec(any::<u8>(), 1..200);
    let text = ".{1,60}".prop_map(String::into_bytes);
    // Text with holes: the cases between.
    let cut = (".{1,40}", any::<usize>()).prop_map(|(text, at)| {
        let mut bytes = text.into_bytes();
        let at = at % bytes.len();
        bytes.remove(at);
        bytes.push(0xe7);
        bytes
    });
    prop_oneof![bytes, text, cut]
}

proptest! {
    #[test]
    fn any_text_comes_back(text in texts()) {
        let tokenizer = CharTokenizer::from_text(&text).unwrap();
        let tokens = tokenizer.encode(&text).unwrap();
        prop_assert_eq!(tokenizer.decode(&tokens).unwrap(), &text[..]);
        let again = CharTokenizer::from_blob(&tokenizer.blob()).unwrap();
        prop_assert_eq!(&again, &tokenizer);
        prop_assert!(vocabulary(&tokenizer).is_sorted());
        if let Ok(text) = std::str::from_utf8(&text) {
            prop_assert_eq!(tokens.len(), text.chars().count());
        }
    }

    #[test]
    fn any_blob_is_refused_or_comes_back(blob in proptest::collection::vec(0u8..5, 0..12)) {
        if let Ok(tokenizer) = CharTokenizer::from_blob(&blob) {
            prop_assert_eq!(tokenizer.blob(), blob);
        }
    }
}
