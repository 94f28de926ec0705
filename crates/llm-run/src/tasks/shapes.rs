//! The shapes of questions, told by the keys of a line.

use llm_core::base::{Message, escape::one_line};
use llm_core::message;
use regex::Regex;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// The right number behind `####`.
pub(super) const STRICT: &str = "exact_match,strict-match";
/// The right number at the end.
pub(super) const FLEXIBLE: &str = "exact_match,flexible-extract";

/// A kind of question, by the keys of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `ctx`, `endings`, `label` (HellaSwag): the ending that follows. With `activity_label`, `ctx_a` and `ctx_b` the
    /// context is made of these, and all texts are cleaned, as the harness does.
    HellaSwag,
    /// `question`, `choices` of `text` and `label`, `answerKey` (ARC): a choice behind "Question: ..\nAnswer:".
    Arc,
    /// `sentence_good`, `sentence_bad` (BLiMP): the likelier one of a pair.
    Blimp,
    /// `question`, `answer` (GSM8K): the number is written, behind "Question: ..\nAnswer:".
    Gsm8k,
    /// `prompt`, `choices`, `answer`: a choice as it stands behind the prompt as it stands. The answer is the number of
    /// the choice, from 0, or its text.
    Choices,
    /// `prompt`, `answer`: exactly this follows.
    Answer,
}

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    /// What the model sees first.
    pub context: String,
    pub ways: Ways,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ways {
    /// The best of some, each behind the delimiter.
    Choices { delimiter: &'static str, texts: Vec<String>, right: usize },
    /// What follows.
    Continuation(String),
    /// A number in what is written.
    Written(String),
}

/// Marks in HellaSwag's texts.
static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[.*?\]").ok());

/// Keys that a shape has, and those that may stand beside them.
const KEYS: [(Shape, &str, &str); 6] = [
    (Shape::HellaSwag, "ctx|endings|label", HELLASWAG),
    (Shape::Arc, "question|choices|answerKey", "id"),
    (Shape::Blimp, "sentence_good|sentence_bad", BLIMP),
    (Shape::Choices, "prompt|choices|answer", "id"),
    (Shape::Gsm8k, "question|answer", "id"),
    (Shape::Answer, "prompt|answer", "id"),
];
const HELLASWAG: &str = "activity_label|ctx_a|ctx_b|ind|source_id|split|split_type";
const BLIMP: &str = "UID|field|lexically_identical|linguistics_term|one_prefix_method|pair_id|\
    simple_LM_method|two_prefix_method";

impl Shape {
    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Shape::HellaSwag => "hellaswag",
            Shape::Arc => "arc",
            Shape::Blimp => "blimp",
            Shape::Gsm8k => "gsm8k",
            Shape::Choices => "choices",
            Shape::Answer => "answer",
        }
    }

    /// The ways to count right answers, by the harness's names.
    pub(super) fn counted(self) -> &'static [&'static str] {
        match self {
            Shape::HellaSwag | Shape::Arc | Shape::Choices => &["acc", "acc_norm"],
            Shape::Blimp | Shape::Answer => &["acc"],
            Shape::Gsm8k => &[STRICT, FLEXIBLE],
        }
    }
}

/// White space as Python's `str.isspace` has it.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// What a line asks.
///
/// # Errors
/// Why it is no question.
pub(super) fn question(line: &str) -> Result<(Shape, Question), Message> {
    let all: Map<String, Value> = serde_json::from_str(line)
        .map_err(|e| message!("it is no JSON: {}", e.to_string().replace("line 1 ", "")))?;
    let has_all =
        |(_, needed, _): &&(Shape, &str, &str)| needed.split('|').all(|key| all.contains_key(key));
    let Some((shape, needed, beside)) = KEYS.iter().find(has_all) else {
        let keys: Vec<&str> = all.keys().map(|key| &**key).collect();
        return Err(message!(
            "its keys ({}) are not those of a question: ctx, endings, label; question, choices, answerKey; \
             sentence_good, sentence_bad; prompt, choices, answer; question, answer; or prompt, answer",
            one_line(&keys.join(", "))
        ));
    };
    let is_known = |key: &&String| needed.split('|').chain(beside.split('|')).any(|of| of == *key);
    match all.keys().find(|key| !is_known(key)) {
        Some(key) => Err(message!("'{}' is no key of {}", one_line(key), shape.name())),
        None => Ok((*shape, read(*shape, &all)?)),
    }
}

fn read(shape: Shape, all: &Map<String, Value>) -> Result<Question, Message> {
    let asked = || text(all, "question").map(|of| format!("Question: {of}\nAnswer:"));
    let (context, ways) = match shape {
        Shape::HellaSwag => hellaswag(all)?,
        Shape::Arc => {
            let none = Map::new();
            let of = all["choices"].as_object().unwrap_or(&none);
            let (texts, labels) = (texts(of, "text")?, texts(of, "label")?);
            if texts.len() != labels.len() {
                let (texts, labels) = (texts.len(), labels.len());
                return Err(message!("it has {} choices and {} labels", texts, labels));
            }
            let key = text(all, "answerKey")?;
            let right = labels.iter().position(|label| *label == key);
            (asked()?, choices(" ", texts, right, &all["answerKey"])?)
        }
        Shape::Blimp => {
            let texts = vec![text(all, "sentence_good")?, text(all, "sentence_bad")?];
            if texts[0] == texts[1] {
                return Err(message!("both sentences are the same"));
            }
            (String::new(), choices(" ", texts, Some(0), &Value::Null)?)
        }
        Shape::Gsm8k => (asked()?, Ways::Written(text(all, "answer")?)),
        Shape::Choices => {
            let (texts, answer) = (texts(all, "choices")?, &all["answer"]);
            let of_text = |of: &str| texts.iter().position(|choice| choice == of);
            let right = answer.as_str().map_or_else(|| number(answer), of_text);
            (text(all, "prompt")?, choices("", texts, right, answer)?)
        }
        Shape::Answer => {
            let answer = text(all, "answer")?;
            if answer.is_empty() {
                return Err(message!("its {} is empty", "answer"));
            }
            (text(all, "prompt")?, Ways::Continuation(answer))
        }
    };
    Ok(Question { context, ways })
}

fn hellaswag(all: &Map<String, Value>) -> Result<(String, Ways), Message> {
    let (mut context, mut endings) = (text(all, "ctx")?, texts(all, "endings")?);
    let label = &all["label"];
    let right = label.as_str().map_or_else(|| number(label), |text| text.parse().ok());
    if ["activity_label", "ctx_a", "ctx_b"].iter().any(|key| all.contains_key(*key)) {
        let b = text(all, "ctx_b")?.to_lowercase();
        let mut rest = b.chars();
        let first: String = rest.next().into_iter().flat_map(char::to_uppercase).collect();
        let (about, a, rest) = (text(all, "activity_label")?, text(all, "ctx_a")?, rest.as_str());
        context = clean(&format!("{about}: {a} {first}{rest}"));
        endings = endings.iter().map(|ending| clean(ending)).collect();
    }
    Ok((context, choices(" ", endings, right, label)?))
}

fn text(all: &Map<String, Value>, key: &'static str) -> Result<String, Message> {
    let text = all.get(key).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| message!("its {} is no text", key))
}

fn texts(all: &Map<String, Value>, key: &'static str) -> Result<Vec<String>, Message> {
    let list = all.get(key).and_then(Value::as_array);
    let texts =
        list.and_then(|list| list.iter().map(|of| of.as_str().map(str::to_owned)).collect());
    texts.ok_or_else(|| message!("its {} is no list of texts", key))
}

fn number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|n| usize::try_from(n).ok())
}

fn choices(
    delimiter: &'static str,
    texts: Vec<String>,
    right: Option<usize>,
    answer: &Value,
) -> Result<Ways, Message> {
    let count = texts.len();
    match right.filter(|&right| right < count) {
        _ if count < 2 => Err(message!("it has {} choices, two are needed", count)),
        _ if texts.iter().any(String::is_empty) => Err(message!("one of its choices is empty")),
        Some(right) => Ok(Ways::Choices { delimiter, texts, right }),
        None => {
            let named = one_line(&answer.as_str().map_or(answer.to_string(), str::to_owned));
            Err(message!("its answer '{}' is none of its {} choices", named, count))
        }
    }
}

/// A text of HellaSwag without the marks of the pages that it comes from: the harness's `preprocess`.
fn clean(text: &str) -> String {
    let text = text.trim_matches(is_space).replace(" [title]", ". ");
    let bare = MARKS.as_ref().map_or(text.as_str().into(), |marks| marks.replace_all(&text, ""));
    bare.replace("  ", " ")
}
