use super::*;
use llm_core::Config;
use llm_core::generate::next_logits;
use llm_core::tokenizer::{ByteTokenizer, CharTokenizer};
use llm_formats::tokenizers::talking;
use std::sync::Arc;

const HELLASWAG: &str = r#"{"ctx": "A cat", "endings": ["sat.", "flew."], "label": "1"}"#;
const ARC: &str = r#"{"id": 3, "question": "Who?", "choices": {"text": ["he", "she", "it"], "label": ["1", "2", "3"]}, "answerKey": "3"}"#;
const BLIMP: &str = r#"{"sentence_good": "She sat.", "sentence_bad": "She sits.", "UID": "a"}"#;
const GSM8K: &str = r##"{"question": "1+1?", "answer": "2\n#### 2"}"##;
const CHOICES: &str = r#"{"prompt": "A ", "choices": ["b", "cc"], "answer": "cc"}"#;
const ANSWER: &str = r#"{"prompt": "A ", "answer": "b"}"#;

fn read(text: &str) -> Result<Task> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("task.jsonl");
    std::fs::write(&path, text).unwrap();
    Task::read(&path)
}

fn model(seq_len: usize) -> TinyGPT {
    TinyGPT::new(Config::new(256, seq_len, 8, 1), 5).unwrap()
}

fn asked(text: &str, seq_len: usize) -> Result<Answers> {
    let answers = read(text)?.ask(&model(seq_len), &ByteTokenizer, 3, None, &mut |_, _| false)?;
    Ok(answers.unwrap())
}

#[test]
fn a_shape_is_known_by_its_keys() {
    let choices = |delimiter, texts: &[&str], right| {
        let texts = texts.iter().map(|text| text.to_string()).collect();
        Ways::Choices { delimiter, texts, right }
    };
    let cleaned = r#"{"ctx": "", "endings": ["sat [x]  down", "b"], "label": 0, "activity_label": " Cat",
        "ctx_a": "A [title] b", "ctx_b": "IT Was"}"#;
    for (line, shape, context, ways) in [
        (HELLASWAG, Shape::HellaSwag, "A cat", choices(" ", &["sat.", "flew."], 1)),
        (
            &cleaned.replace('\n', ""),
            Shape::HellaSwag,
            "Cat: A. b It was",
            choices(" ", &["sat  down", "b"], 0),
        ),
        (ARC, Shape::Arc, "Question: Who?\nAnswer:", choices(" ", &["he", "she", "it"], 2)),
        (BLIMP, Shape::Blimp, "", choices(" ", &["She sat.", "She sits."], 0)),
        (GSM8K, Shape::Gsm8k, "Question: 1+1?\nAnswer:", Ways::Written("2\n#### 2".into())),
        (CHOICES, Shape::Choices, "A ", choices("", &["b", "cc"], 1)),
        (ANSWER, Shape::Answer, "A ", Ways::Continuation("b".into())),
    ] {
        let found = shapes::question(line).unwrap_or_else(|why| panic!("{line}: {why}"));
        assert_eq!(found, (shape, Question { context: context.into(), ways }), "{line}");
    }
}

#[test]
fn what_is_no_question_is_refused_by_its_line() {
    let arc = |from: &str, to: &str| ARC.replace(from, to);
    for (line, why) in [
        ("[1]", "no JSON: invalid type: sequence, expected a map"),
        ("{\"prompt\": ", "no JSON: EOF"),
        (r#"{"prompt": "a"}"#, "its keys (prompt) are not those of a question"),
        (&ANSWER.replace('}', r#", "anser": 1}"#), "'anser' is no key of answer"),
        (&ANSWER.replace(r#""b""#, "1"), "its answer is no text"),
        (&ANSWER.replace(r#""b""#, r#""""#), "its answer is empty"),
        (&CHOICES.replace(r#""cc"}"#, "2}"), "its answer '2' is none of its 2 choices"),
        (&CHOICES.replace(r#""cc"}"#, r#""c"}"#), "its answer 'c' is none"),
        (&CHOICES.replace(r#", "cc"]"#, "]"), "it has 1 choices"),
        (&CHOICES.replace(r#"["b""#, r#"["""#), "one of its choices is empty"),
        (&CHOICES.replace(r#"["b""#, "[1"), "its choices is no list of texts"),
        (&HELLASWAG.replace(r#""1""#, r#""""#), "its answer '' is none"),
        (&HELLASWAG.replace(r#""1""#, "-1"), "its answer '-1' is none"),
        (&HELLASWAG.replace('}', r#", "ctx_a": "a"}"#), "its ctx_b is no text"),
        (&arc(r#""answerKey": "3""#, r#""answerKey": "D""#), "its answer 'D' is none"),
        (&arc(r#", "3"]"#, "]"), "3 choices and 2 labels"),
        (&BLIMP.replace("sits", "sat"), "both sentences are the same"),
        (BLIMP, "its shape is blimp, that of line 1 is answer"),
    ] {
        let refused = read(&format!("{ANSWER}\n\n{line}\n")).unwrap_err();
        let said = refused.to_string();
        assert!(said.contains("task.jsonl', line 3: ") && said.contains(why), "{line}: {said}");
    }
    for (text, why) in [("", "no question in it"), ("\n \n", "no question in it")] {
        assert!(read(text).unwrap_err().to_string().contains(why), "{text:?}");
    }
    assert!(Task::read(Path::new("missing")).is_err());
}

/// Token by token, as the equation says.
fn by_hand(model: &TinyGPT, context: &str, continuation: &str) -> f64 {
    let mut tokens: Vec<_> = context.bytes().map(TokenId::from).collect();
    let ln_p = continuation.bytes().map(|byte| {
        let logits = next_logits(model, &tokens).unwrap();
        let logits = logits.iter().map(|&x| f64::from(x));
        let all = logits.clone().map(f64::exp).sum::<f64>().ln();
        tokens.push(byte.into());
        logits.collect::<Vec<_>>()[usize::from(byte)] - all
    });
    ln_p.sum()
}

#[test]
fn ln_p_is_the_sum_over_what_follows_the_context() {
    let model = model(40);
    let text = [CHOICES, &CHOICES.replace("A ", "Longer, and so apart ")].join("\n");
    let found = asked(&text, 40).unwrap();
    for (of, context) in found.questions.iter().zip(["A ", "Longer, and so apart "]) {
        for (ln_p, choice) in of.logprobs.iter().zip(["b", "cc"]) {
            let context = context.trim_end();
            let wanted = by_hand(&model, context, &format!(" {choice}"));
            assert!((ln_p - wanted).abs() < 1e-4, "{ln_p}, not {wanted}");
        }
        let [b, cc] = of.logprobs[..] else { panic!() };
        assert_eq!(of.right["acc"], cc > b);
        assert_eq!(of.right["acc_norm"], cc / 2.0 > b);
    }
    assert_eq!((found.guessing, found.cut, found.begins_with), (Some(0.5), 0, None));
    // Nothing before a sentence: the byte that exports begin with.
    let found = asked(BLIMP, 40).unwrap();
    let wanted = by_hand(&model, "\x14", " She sat.");
    assert!((found.questions[0].logprobs[0] - wanted).abs() < 1e-4);
    assert_eq!(found.begins_with, Some(0x14));
    // What begins with that byte has it once.
    let twice = r#"{"prompt": "", "answer": "\u0014b"}"#;
    let found = asked(twice, 40).unwrap();
    assert!((found.questions[0].logprobs[0] - by_hand(&model, "\x14", "b")).abs() < 1e-4);
}

#[test]
fn an_exact_answer_is_what_would_be_written() {
    let model = model(40);
    let mut tokens = b"A".map(TokenId::from).to_vec();
    for _ in 0..3 {
        tokens.push(llm_lens::first_choice(&next_logits(&model, &tokens).unwrap()));
    }
    let answer: String = tokens[1..].iter().map(|&byte| char::from(byte as u8)).collect();
    let line = |answer: &str| serde_json::json!({"prompt": "A", "answer": answer}).to_string();
    if answer.is_ascii() {
        let found = asked(&[line(&answer), line(&format!("{answer}~"))].join("\n"), 40).unwrap();
        assert!(found.questions[0].right["acc"]);
    }
    assert_eq!(asked(&line("zz"), 40).unwrap().guessing, None);
}

#[test]
fn what_does_not_fit_loses_its_beginning() {
    let long = r#"{"prompt": "0123456789", "choices": ["ab", "c"], "answer": 0}"#;
    let found = asked(long, 8).unwrap();
    // Eight inputs, of which the last tokens are scored.
    let wanted = by_hand(&model(8), "3456789", "ab");
    assert!((found.questions[0].logprobs[0] - wanted).abs() < 1e-4);
    assert_eq!(found.cut, 1);
    let refused = asked(&long.replace("ab", "012345678"), 8).unwrap_err().to_string();
    assert!(refused.contains("line 1: an answer has 9 tokens of its own, not 1 to 8"), "{refused}");
    let written = asked(GSM8K, 8).unwrap();
    assert_eq!((written.cut, written.most_written, written.guessing), (1, Some(4), None));
    assert!(written.questions[0].text.as_ref().unwrap().chars().count() <= 4);
}

#[test]
fn a_question_that_a_model_cannot_be_asked_is_refused_by_its_line() {
    let chars = CharTokenizer::from_text(b" Abc").unwrap();
    let model = TinyGPT::new(Config::new(4, 16, 8, 1), 5).unwrap();
    let ask = |text: &str| {
        read(text)
            .unwrap()
            .ask(&model, &chars, 1, None, &mut |_, _| false)
            .map(|found| found.unwrap())
    };
    assert_eq!(ask(CHOICES).unwrap().questions.len(), 1);
    let refused = |text: &str| ask(text).unwrap_err().to_string();
    let unknown = refused(&[CHOICES, &CHOICES.replace("cc", "d")].join("\n"));
    assert!(unknown.contains("line 2: 'd' (U+0064)"), "{unknown}");
    let first = refused(r#"{"sentence_good": "Ab", "sentence_bad": "Ac"}"#);
    assert!(first.contains("no token to begin a text with"), "{first}");
    let blank = refused(&CHOICES.replace("A ", "  "));
    assert!(blank.contains("white space alone"), "{blank}");
}

#[test]
fn asking_stops_when_it_is_told_to() {
    for text in [CHOICES, GSM8K] {
        let task = read(text).unwrap();
        assert!(task.ask(&model(40), &ByteTokenizer, 1, None, &mut |_, _| true).unwrap().is_none());
    }
}

#[test]
fn shares_have_errors_and_intervals() {
    let rate = Rate { name: "acc", right: 102, of: 120 };
    assert_eq!(rate.share(), 0.85);
    assert!((rate.stderr().unwrap() - 0.032_732_683_535_398_86).abs() < 1e-12);
    let [low, high] = rate.interval();
    assert!(low < 0.78 && high > 0.90);
    assert_eq!(Rate { of: 1, right: 1, ..rate }.stderr(), None);
    let json = serde_json::to_value(asked(CHOICES, 40).unwrap()).unwrap();
    assert_eq!((&json["shape"], &json["questions"]), (&"choices".into(), &1.into()));
    assert!(json["acc_interval"].is_array() && json["acc_stderr"].is_null());
}

/// A context is what a user says, and an answer what comes after all that the template writes: its line break is no
/// part of it.
#[test]
fn a_conversation_asks_with_the_template() {
    let talking = talking(Arc::new(ByteTokenizer), None, false).unwrap();
    let chat = ChatFormat::of(&*talking).unwrap();
    let model = model(80);
    let ask =
        |line: &str| read(line).unwrap().ask(&model, &*talking, 2, Some(&chat), &mut |_, _| false);
    let found = ask(&CHOICES.replace("A ", "2+2=")).unwrap().unwrap();
    let context = "<|im_start|>user\n2+2=<|im_end|>\n<|im_start|>assistant\n";
    for (ln_p, choice) in found.questions[0].logprobs.iter().zip(["b", "cc"]) {
        let wanted = by_hand(&model, context, choice);
        assert!((ln_p - wanted).abs() < 1e-4, "{ln_p}, not {wanted}");
    }
    let refused = ask(BLIMP).unwrap_err().to_string();
    assert!(refused.contains("nothing that a user says"), "{refused}");
}
