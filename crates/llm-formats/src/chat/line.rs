//! What a line of JSON holds.

use llm_core::base::Message;
use llm_core::message;
use serde::Serialize;
use serde_json::{Map, Value};

/// Who is answered: the model's own turns.
pub(super) const ASSISTANT: &str = "assistant";

/// A turn of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// Who speaks: `system`, `user`, `assistant`, `tool`, or whom the template knows besides.
    pub role: String,
    /// What is said.
    pub content: String,
    /// What else a template may ask for, such as a name.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Turn {
    /// One with nothing else.
    pub fn new(role: &str, content: impl Into<String>) -> Turn {
        Turn { role: role.into(), content: content.into(), more: Map::new() }
    }
}

/// What a line holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// `{"messages": [{"role": .., "content": ..}, ..]}`, or `{"prompt": .., "completion": ..}`: a
    /// question and its answer.
    Turns(Vec<Turn>),
    /// `{"text": ..}`: learned as it is.
    Text(String),
}

impl Line {
    /// # Errors
    /// Why it has another shape.
    pub fn parse(line: &str) -> Result<Line, Message> {
        let value: Value = serde_json::from_str(line)
            .map_err(|e| message!("it is no JSON: {}", without_line(&e.to_string())))?;
        let Value::Object(mut all) = value else {
            return Err(message!("it is no object ({{..}})"));
        };
        if let Some(tools) = all.get("tools").filter(|tools| !is_nothing(tools)) {
            let kind = kind_of(tools);
            return Err(message!("it has tools ({}), which cannot be learned here", kind));
        }
        let mut take = |key: &str| all.remove(key).filter(|value| !value.is_null());
        match (take("messages"), take("prompt"), take("completion"), take("text")) {
            (Some(messages), ..) => turns(messages, "messages").map(Line::Turns),
            (None, Some(prompt), Some(completion), _) => {
                let prompt = one_side(prompt, "prompt", "user")?;
                let completion = one_side(completion, "completion", ASSISTANT)?;
                Ok(Line::Turns([prompt, completion].concat()))
            }
            (None, None, None, Some(Value::String(text))) if !text.trim().is_empty() => {
                Ok(Line::Text(text))
            }
            (None, None, None, Some(_)) => Err(message!("its text is empty, or no text")),
            _ => Err(message!(
                "it has none of messages, prompt and completion, text ({{\"messages\": [..]}})"
            )),
        }
    }

    /// What is said in it, one turn to a line.
    pub fn spoken(&self) -> String {
        match self {
            Line::Turns(turns) => turns.iter().map(|turn| format!("{}\n", turn.content)).collect(),
            Line::Text(text) => format!("{text}\n"),
        }
    }
}

/// A side of a pair: a text, or turns.
fn one_side(value: Value, key: &'static str, role: &str) -> Result<Vec<Turn>, Message> {
    match value {
        Value::String(content) => Ok(vec![checked(Turn::new(role, content), 0)?]),
        several => turns(several, key),
    }
}

fn turns(value: Value, key: &'static str) -> Result<Vec<Turn>, Message> {
    let Value::Array(turns) = value else {
        return Err(message!("its {} is no list of messages", key));
    };
    if turns.is_empty() {
        return Err(message!("its {} is an empty list", key));
    }
    turns.into_iter().enumerate().map(|(i, turn)| checked(turn_of(turn, i)?, i)).collect()
}

fn turn_of(value: Value, i: usize) -> Result<Turn, Message> {
    let n = i + 1;
    let Value::Object(mut more) = value else {
        return Err(message!("message {} is no object with role and content", n));
    };
    let role = match more.remove("role") {
        Some(Value::String(role)) => role,
        _ => return Err(message!("message {} has no role", n)),
    };
    if more.get("tool_calls").is_some_and(|calls| !is_nothing(calls)) {
        return Err(message!("message {} calls tools, which cannot be learned here", n));
    }
    match more.remove("content") {
        Some(Value::String(content)) => Ok(Turn { role, content, more }),
        Some(Value::Null) | None => Ok(Turn { role, content: String::new(), more }),
        Some(other) => {
            Err(message!("the content of message {} is {}, and no text", n, kind_of(&other)))
        }
    }
}

/// Refuses an answer that says nothing: a model would learn to say nothing.
fn checked(turn: Turn, i: usize) -> Result<Turn, Message> {
    match turn.role == ASSISTANT && turn.content.trim().is_empty() {
        true => Err(message!("the answer in message {} is empty", i + 1)),
        false => Ok(turn),
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn kind_of(value: &Value) -> Message {
    match value {
        Value::Null => message!("null"),
        Value::Bool(_) => message!("true or false"),
        Value::Number(_) => message!("a number"),
        Value::String(_) => message!("a text"),
        Value::Array(_) => message!("a list"),
        Value::Object(_) => message!("an object"),
    }
}

/// What serde_json says, whose line is always 1 here.
fn without_line(said: &str) -> String {
    said.replace("line 1 ", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_shapes_are_read() {
        let (ask, answer) = (Turn::new("user", "1+1?"), Turn::new("assistant", "2"));
        let pair = Line::Turns(vec![ask, answer]);
        for line in [
            r#"{"messages": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}]}"#,
            r#"{"prompt": "1+1?", "completion": "2", "id": 7}"#,
            r#"{"prompt": [{"role": "user", "content": "1+1?"}], "completion": [{"role": "assistant", "content": "2"}], "tools": []}"#,
        ] {
            assert_eq!(Line::parse(line).unwrap(), pair, "{line}");
        }
        assert_eq!(Line::parse(r#"{"text": "a\nb"}"#).unwrap(), Line::Text("a\nb".into()));
        assert_eq!(pair.spoken(), "1+1?\n2\n");
        let named = r#"{"messages": [{"role": "user", "content": "a", "name": "Ada"}]}"#;
        let Line::Turns(turns) = Line::parse(named).unwrap() else { panic!() };
        assert_eq!(turns[0].more["name"], "Ada");
    }

    #[test]
    fn what_is_none_of_them_is_refused() {
        for (line, why) in [
            (r#"{"messages": ["#, "it is no JSON: EOF while parsing a list at column 14"),
            ("[1]", "it is no object ({..})"),
            (r#"{"a": 1}"#, "it has none of messages, prompt and completion, text"),
            (r#"{"prompt": "a"}"#, "it has none of messages, prompt and completion, text"),
            (r#"{"text": " "}"#, "its text is empty, or no text"),
            (r#"{"messages": []}"#, "its messages is an empty list"),
            (r#"{"messages": "a"}"#, "its messages is no list of messages"),
            (r#"{"messages": [{"content": "a"}]}"#, "message 1 has no role"),
            (r#"{"prompt": "a", "completion": " "}"#, "the answer in message 1 is empty"),
            (
                r#"{"messages": [{"role": "user", "content": [1]}]}"#,
                "the content of message 1 is a list, and no text",
            ),
            (
                r#"{"messages": [{"role": "assistant", "content": null}]}"#,
                "the answer in message 1 is empty",
            ),
            (
                r#"{"messages": [{"role": "assistant", "tool_calls": [1]}]}"#,
                "message 1 calls tools",
            ),
            (r#"{"text": "a", "tools": [1]}"#, "it has tools (a list)"),
        ] {
            let said = Line::parse(line).unwrap_err().to_string();
            assert!(said.starts_with(why), "{line}: {said}");
        }
    }
}
