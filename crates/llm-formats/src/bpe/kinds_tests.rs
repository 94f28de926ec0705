//! Tokenizers of other kinds than GPT-2's: cut as the library does, and what is refused of them.

use super::kind::Words;
use super::split::tests::AWKWARD;
use super::tests::SMALL;
use super::*;
use llm_core::Error;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::str::FromStr;
use std::sync::LazyLock;

fn added(id: u64, content: &str, special: bool, normalized: bool) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": normalized, "special": special})
}

/// A trained vocabulary of 300 tokens with other words, four added tokens, and a change.
fn file(words: Words, nfc: bool, change: impl Fn(&mut Value)) -> Vec<u8> {
    let mut file: Value = serde_json::from_slice(&SMALL.blob()).unwrap();
    file["pre_tokenizer"] = words.pre_tokenizer();
    file["normalizer"] = if nfc { json!({"type": "NFC"}) } else { Value::Null };
    file["added_tokens"] = json!([
        added(300, "<|endoftext|>", true, false),
        added(301, "<|im_end|>", true, false),
        added(302, "<|im_end|>more", false, false),
        added(303, "é<think>", false, true),
    ]);
    change(&mut file);
    file.to_string().into_bytes()
}

fn read(file: &[u8]) -> Arc<dyn Tokenizer> {
    from_tokenizer_json(file).unwrap()
}

type Judged = (Arc<dyn Tokenizer>, tokenizers::Tokenizer);

/// Ours, and the library's of what ours writes.
static KINDS: LazyLock<Vec<Judged>> = LazyLock::new(|| {
    let all = Words::ALL.into_iter().flat_map(|words| [(words, false), (words, true)]);
    let all = all.filter(|kind| *kind != (Words::Gpt2, false));
    let both = |(words, nfc)| {
        let ours = read(&file(words, nfc, |_| {}));
        let blob = String::from_utf8(ours.blob()).unwrap();
        (ours, tokenizers::Tokenizer::from_str(&blob).unwrap())
    };
    all.map(both).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn text_is_cut_as_the_library_does(
        parts in proptest::collection::vec(
            (AWKWARD, "(<\\|im_end\\|>|<\\|im_end\\|>mor|<\\|im_end\\|>more|<\\|endoftext\\|>|é<think>|e\u{301}<think>|<think|12345|!\n\n| \r\n x|'S'll|){0,2}"),
            0..3,
        )
    ) {
        let text: String = parts.into_iter().flat_map(|(a, b)| [a, b]).collect();
        for (ours, library) in &*KINDS {
            let tokens = ours.encode(text.as_bytes()).unwrap();
            let theirs = library.encode(&*text, false).unwrap();
            prop_assert_eq!(theirs.get_ids(), &tokens);
        }
    }
}

#[test]
fn added_tokens_are_wholes_and_ends_are_known() {
    let text = "the<|im_end|>more cat<|im_end|>\n<|endoftext|>";
    for words in Words::ALL.into_iter().filter(|words| *words != Words::Gpt2) {
        let ours = read(&file(words, false, |_| {}));
        let tokens = ours.encode(text.as_bytes()).unwrap();
        assert!([300, 301, 302].iter().all(|id| tokens.contains(id)), "{tokens:?}");
        assert_eq!(ours.decode(&tokens).unwrap(), text.as_bytes());
        assert_eq!((ours.end_of_text(), ours.vocab_size()), (Some(300), 304));
        assert_eq!(read(&ours.blob()).blob(), ours.blob());
        // A text in pieces has the tokens of the whole.
        let long = text.repeat(20_000);
        let whole = ours.encode(long.as_bytes()).unwrap();
        assert_eq!(whole.len(), tokens.len() * 20_000);
    }
    // Of GPT-2's own kind they are text, unless something is kept.
    let gpt2 = file(Words::Gpt2, false, |file| {
        file["added_tokens"] = json!([added(300, "<|endoftext|>", true, false)]);
    });
    assert!(!read(&gpt2).encode(b"<|endoftext|>").unwrap().contains(&300));
    let kept = Kept { chat_template: Some("{{ a }}".into()), ..Kept::default() };
    assert_eq!(with_kept(&gpt2, &kept).unwrap().encode(b"<|endoftext|>").unwrap(), [300]);
    assert_eq!(with_kept(&gpt2, &Kept::default()).unwrap().blob(), read(&gpt2).blob());
}

/// A letter that is the sign of a byte, and one that a merge makes, are still what other text is cut
/// into; as the library does, which writes them as those bytes.
#[test]
fn an_added_letter_may_be_the_sign_of_a_byte() {
    let number = |file: &Value, token: &str| file["model"]["vocab"][token].as_u64().unwrap();
    let whole = file(Words::Gpt2, false, |file| {
        file["model"]["vocab"]["Ã¤"] = json!(300);
        file["model"]["merges"].as_array_mut().unwrap().push(json!(["Ã", "¤"]));
        let own = number(file, "é");
        file["added_tokens"] = json!([
            added(number(file, "ä"), "ä", false, false),
            added(300, "Ã¤", false, false),
            added(own, "é", true, false),
            added(301, "<|endoftext|>", true, false),
        ]);
    });
    let ours = read(&whole);
    let library = tokenizers::Tokenizer::from_str(std::str::from_utf8(&whole).unwrap()).unwrap();
    for text in ["ä", "Bär", "the é ä", "你好 äé", "e\u{301}", "Ã¤", "Ã ¤ é<|endoftext|>ä"]
    {
        let tokens = ours.encode(text.as_bytes()).unwrap();
        assert_eq!(library.encode(text, false).unwrap().get_ids(), &tokens, "{text}");
        let written = String::from_utf8_lossy(&ours.decode(&tokens).unwrap()).into_owned();
        assert_eq!(library.decode(&tokens, false).unwrap(), written, "{text}");
    }
    assert_eq!(read(&ours.blob()).blob(), ours.blob());
}

#[test]
fn what_is_kept_comes_back() {
    let plain = file(Words::Qwen2, true, |_| {});
    let kept = Kept {
        bos: Some("<|endoftext|>".into()),
        chat_template: Some("{% for m in messages %}{{ m }}{% endfor %}".into()),
        eos: Some("<|im_end|>".into()),
    };
    let ours = with_kept(&plain, &kept).unwrap();
    assert_eq!(ours.end_of_text(), Some(301));
    // What is written as GPT-2's mark is a token of its own then.
    let marked = llm_core::tokenizer::encode_marked(&*ours, b"<|endoftext|><|im_end|>").unwrap();
    assert_eq!(marked, [300, 301]);
    let again = read(&ours.blob());
    assert_eq!((again.blob(), again.end_of_text()), (ours.blob(), Some(301)));
    let (whole, found, gpt2s) = taken_apart(&ours.blob()).unwrap();
    assert_eq!((found, gpt2s), (kept.clone(), false));
    assert_eq!(with_kept(&whole, &kept).unwrap().blob(), ours.blob());
    assert_eq!(added_token(&whole, 302).unwrap().as_deref(), Some("<|im_end|>more"));
    assert_eq!(added_token(&whole, 7).unwrap(), None);
    // The library reads what is written for it.
    tokenizers::Tokenizer::from_str(std::str::from_utf8(&whole).unwrap()).unwrap();
    let other = Kept { eos: Some("</s>".into()), ..Kept::default() };
    let refused = with_kept(&plain, &other).map(drop).unwrap_err().to_string();
    assert!(refused.contains("'</s>', which ends a text, is not one of its added"), "{refused}");
}

/// What the library would put around a text is kept, not done.
#[test]
fn a_post_processor_goes_through() {
    let template =
        json!({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}});
    let ours = read(&file(Words::Llama3, false, |file| file["post_processor"] = template.clone()));
    let blob: Value = serde_json::from_slice(&ours.blob()).unwrap();
    assert_eq!(blob["post_processor"], template);
    let level = |file: &mut Value| file["post_processor"] = json!({"type": "ByteLevel"});
    let blob: Value =
        serde_json::from_slice(&read(&file(Words::Llama3, false, level)).blob()).unwrap();
    assert_eq!(blob["post_processor"], Value::Null);
}

#[test]
fn what_is_not_known_is_refused() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 8] = [
        (|f| f["added_tokens"][1]["content"] = json!("<im end>"), "has white space in it"),
        (|f| f["added_tokens"][1]["lstrip"] = json!(true), "'<|im_end|>' has lstrip"),
        (|f| f["added_tokens"][1]["rstrip"] = json!(true), "'<|im_end|>' has rstrip"),
        (|f| f["added_tokens"][1]["single_word"] = json!(true), "'<|im_end|>' has single_word"),
        (|f| f["normalizer"] = json!({"type": "NFKC"}), "its normalizer is NFKC, supported is NFC"),
        (
            |f| f["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = json!("\\w"),
            "cut by a pattern that is not known: \\w",
        ),
        (
            |f| f["pre_tokenizer"]["pretokenizers"][0] = json!({"type": "Whitespace"}),
            "a sequence that is not known",
        ),
        (|f| f["kept"] = json!({"unknown": 1}), "not a tokenizer.json"),
    ];
    for (change, needle) in cases {
        let made = from_tokenizer_json(&file(Words::Llama3, false, change));
        let Err(Error::Tokenizer { reason, .. }) = made else { panic!("taken: {needle}") };
        let reason = reason.to_string();
        assert!(reason.contains(needle) && !reason.contains(char::is_control), "{reason}");
    }
}
