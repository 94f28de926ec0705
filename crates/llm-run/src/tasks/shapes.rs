//! The shapes of questions, told by the keys of a line.

use llm_core::base::{Message, escape::one_line};
use llm_core::message;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

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

/// Keys that a shape has, and those that may stand beside them and say nothing.
const KEYS: [(Shape, &[&str], &[&str]); 6] = [
    (
        Shape::HellaSwag,
        &["ctx", "endings", "label"],
        &["activity_label", "ctx_a", "ctx_b", "ind", "source_id", "split", "split_type"],
    ),
    (Shape::Arc, &["question", "choices", "answerKey"], &["id"]),
    (
        Shape::Blimp,
        &["sentence_good", "sentence_bad"],
        &[
            "UID",
            "field",
            "lexically_identical",
            "linguistics_term",
            "one_prefix_method",
            "pair_id",
            "simple_LM_method",
            "two_prefix_method",
        ],
    ),
    (Shape::Choices, &["prompt", "choices", "answer"], &["id"]),
    (Shape::Gsm8k, &["question", "answer"], &["id"]),
    (Shape::Answer, &["prompt", "answer"], &["id"]),
];

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

/// What a line asks: its shape, the context, and what is looked for.
///
/// # Errors
/// Why it is no question.
pub(super) fn question(line: &str) -> Result<(Shape, String, Ways), Message> {
    if !line.trim_start().starts_with('{') {
        return Err(message!("it is no object ({{..}})"));
    }
    let mut all: Members = serde_json::from_str(line)
        .map_err(|e| message!("it is no JSON: {}", e.to_string().replace("line 1 ", "")))?;
    all.check_once()?;
    let has_all =
        |(_, needed, _): &&(Shape, &[&str], &[&str])| needed.iter().all(|key| all.has(key));
    let Some((shape, needed, besides)) = KEYS.iter().find(has_all) else {
        return Err(message!(
            "its keys ({}) are not those of a question: ctx, endings, label; question, choices, answerKey; \
             sentence_good, sentence_bad; prompt, choices, answer; question, answer; or prompt, answer",
            all.names()
        ));
    };
    if let Some((key, _)) =
        all.0.iter().find(|(key, _)| ![*needed, *besides].concat().contains(&&**key))
    {
        return Err(message!("'{}' is no key of {}", one_line(key), shape.name()));
    }
    let (context, ways) = all.read(*shape)?;
    Ok((*shape, context, ways))
}

impl Members {
    fn read(&mut self, shape: Shape) -> Result<(String, Ways), Message> {
        match shape {
            Shape::HellaSwag => self.hellaswag(),
            Shape::Arc => {
                let [Value::Object(of)] = [self.take("choices")] else {
                    return Err(message!("its {} is no object with {}", "choices", "text, label"));
                };
                let mut of = Members(of.into_iter().collect());
                let (texts, labels) = (of.texts("text")?, of.texts("label")?);
                if texts.len() != labels.len() {
                    return Err(message!(
                        "it has {} choices and {} labels",
                        texts.len(),
                        labels.len()
                    ));
                }
                let key = self.text("answerKey")?;
                let right = labels.iter().position(|label| *label == key);
                Ok((self.asked()?, choices(" ", texts, right, &key)?))
            }
            Shape::Blimp => {
                let texts = vec![self.text("sentence_good")?, self.text("sentence_bad")?];
                if texts[0] == texts[1] {
                    return Err(message!("both sentences are the same"));
                }
                Ok((String::new(), choices(" ", texts, Some(0), "")?))
            }
            Shape::Gsm8k => Ok((self.asked()?, Ways::Written(self.text("answer")?))),
            Shape::Choices => {
                let texts = self.texts("choices")?;
                let answer = self.take("answer");
                let right = match &answer {
                    Value::String(text) => texts.iter().position(|choice| choice == text),
                    other => number(other),
                };
                let answer = answer.as_str().map_or(answer.to_string(), str::to_owned);
                Ok((self.text("prompt")?, choices("", texts, right, &answer)?))
            }
            Shape::Answer => {
                let answer = self.text("answer")?;
                if answer.is_empty() {
                    return Err(message!("its {} is empty", "answer"));
                }
                Ok((self.text("prompt")?, Ways::Continuation(answer)))
            }
        }
    }

    fn hellaswag(&mut self) -> Result<(String, Ways), Message> {
        let (ctx, endings) = (self.text("ctx")?, self.texts("endings")?);
        let label = self.take("label");
        let right = label.as_str().map_or_else(|| number(&label), |text| text.parse().ok());
        let label = label.as_str().map_or(label.to_string(), str::to_owned);
        if !["activity_label", "ctx_a", "ctx_b"].iter().any(|key| self.has(key)) {
            return Ok((ctx, choices(" ", endings, right, &label)?));
        }
        let (about, a, b) =
            (self.text("activity_label")?, self.text("ctx_a")?, self.text("ctx_b")?);
        let mut rest = b.chars();
        let first: String = rest.next().into_iter().flat_map(char::to_uppercase).collect();
        let context = clean(&format!("{about}: {a} {first}{}", rest.as_str().to_lowercase()));
        let endings = endings.iter().map(|ending| clean(ending)).collect();
        Ok((context, choices(" ", endings, right, &label)?))
    }

    fn asked(&mut self) -> Result<String, Message> {
        Ok(format!("Question: {}\nAnswer:", self.text("question")?))
    }

    fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(own, _)| own == key)
    }

    fn take(&mut self, key: &str) -> Value {
        let of = self.0.iter_mut().find(|(own, _)| own == key);
        of.map_or(Value::Null, |(_, value)| value.take())
    }

    fn text(&mut self, key: &'static str) -> Result<String, Message> {
        match self.take(key) {
            Value::String(text) => Ok(text),
            _ => Err(message!("its {} is no text", key)),
        }
    }

    fn texts(&mut self, key: &'static str) -> Result<Vec<String>, Message> {
        let Value::Array(all) = self.take(key) else {
            return Err(message!("its {} is no list of texts", key));
        };
        let text = |value: Value| value.as_str().map(str::to_owned);
        let texts = all.into_iter().map(text).collect::<Option<_>>();
        texts.ok_or_else(|| message!("its {} is no list of texts", key))
    }

    fn names(&self) -> String {
        one_line(&self.0.iter().map(|(key, _)| &**key).collect::<Vec<_>>().join(", "))
    }

    fn check_once(&self) -> Result<(), Message> {
        let twice = |i: &usize| self.0[..*i].iter().any(|(key, _)| *key == self.0[*i].0);
        match (0..self.0.len()).find(twice) {
            Some(i) => Err(message!("it has the key '{}' twice", one_line(&self.0[i].0))),
            None => Ok(()),
        }
    }
}

fn number(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|n| usize::try_from(n).ok())
}

fn choices(
    delimiter: &'static str,
    texts: Vec<String>,
    right: Option<usize>,
    named: &str,
) -> Result<Ways, Message> {
    if texts.len() < 2 {
        return Err(message!("it has {} choices, two are needed", texts.len()));
    }
    if texts.iter().any(String::is_empty) {
        return Err(message!("one of its choices is empty"));
    }
    match right.filter(|&right| right < texts.len()) {
        Some(right) => Ok(Ways::Choices { delimiter, texts, right }),
        None => {
            Err(message!("its answer '{}' is none of its {} choices", one_line(named), texts.len()))
        }
    }
}

/// A text of HellaSwag without the marks of the pages that it comes from: the harness's `preprocess`.
fn clean(text: &str) -> String {
    let text = text.trim_matches(is_space).replace(" [title]", ". ");
    let mut cleaned = String::new();
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once('[') {
        cleaned += before;
        // Of one line: `\[.*?\]`.
        rest = match after.split_once(']').filter(|(inside, _)| !inside.contains('\n')) {
            Some((_, after)) => after,
            None => {
                cleaned.push('[');
                after
            }
        };
    }
    (cleaned + rest).replace("  ", " ")
}

/// The members of an object, also those that stand there twice.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Members, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut all = Vec::new();
                while let Some(member) = map.next_entry()? {
                    all.push(member);
                }
                Ok(Members(all))
            }
        }
        from.deserialize_map(All)
    }
}
