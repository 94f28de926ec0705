//! What a line of JSON holds.

use super::json::{self, Fields, MOST_KEYS, Part};
use super::keys::{is_known, kind_of, learned};
use crate::json_look::LISTS;
use llm_core::base::Message;
use llm_core::message;
use serde::Serialize;
use serde_json::{Map, Value};

/// The role of the model's own turns.
pub(super) const ASSISTANT: &str = "assistant";

/// A turn of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// The speaker: `system`, `user`, `assistant`, `tool`, or another that the template knows.
    pub role: String,
    /// What is said.
    pub content: String,
    /// What else a template may ask for, such as a name.
    #[serde(flatten)]
    pub more: Map<String, Value>,
    /// How much an answer counts: its tokens' losses are multiplied by it. 0: it is there to be read alone.
    #[serde(skip)]
    pub weight: f32,
}

impl Turn {
    /// A turn with nothing else.
    pub fn new(role: &str, content: impl Into<String>) -> Turn {
        Turn { role: role.into(), content: content.into(), more: Map::new(), weight: 1.0 }
    }
}

/// What a line holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A conversation: `{"messages": [{"role": .., "content": ..}, ..]}`, that list alone, or
    /// `{"conversations": [{"from": .., "value": ..}, ..]}`; or a question and its answer:
    /// `{"prompt": .., "completion": ..}`, `{"instruction": .., "input": .., "output": ..}`.
    Turns(Vec<Turn>),
    /// `{"text": ..}`: learned as it is.
    Text(String),
}

/// A line that is read.
pub(super) struct Read {
    pub line: Line,
    /// What is worse than the last turn, of a pair of answers.
    pub rejected: Option<String>,
    /// Keys that say nothing here.
    pub passed: Vec<String>,
}

impl Line {
    /// # Errors
    /// Why it has another shape, or which key cannot be learned with.
    pub fn parse(line: &str) -> Result<Line, Message> {
        read(line, false).map(|read| read.line)
    }

    /// What is said in it, one turn to a line.
    pub fn spoken(&self) -> String {
        match self {
            Line::Turns(turns) => turns.iter().map(|turn| format!("{}\n", turn.content)).collect(),
            Line::Text(text) => format!("{text}\n"),
        }
    }
}

/// [`Line::parse`], with the keys that are passed over; in a `pair`, two answers of which one is better.
pub(super) fn read(line: &str, pair: bool) -> Result<Read, Message> {
    let is_read = |key: &str| {
        let own = ["text", "instruction", "input", "output", "system", "system_prompt"];
        is_known(key) || own.contains(&key)
    };
    let part = json::parse(line, is_read)
        .map_err(|e| message!("it is no JSON: {}", e.to_string().replace("line 1 ", "")))?;
    let mut all = match part {
        Part::Object(all) => all,
        list @ Part::List(_) => {
            let mut all = Fields::default();
            all.all.push(("messages".into(), list));
            all
        }
        _ => return Err(message!("it is no object ({{..}})")),
    };
    let pair = pair.then(|| preferred(&mut all)).transpose()?;
    let weight = learned(&mut all)?;
    let mut system = None;
    for key in ["system", "system_prompt"] {
        match all.take(key) {
            None => {}
            Some(Part::Text(text)) if text.trim().is_empty() => {}
            Some(Part::Text(text)) if system.is_none() => system = Some((key, text)),
            Some(_) => return Err(message!("its {} is no text, or stands there twice", key)),
        }
    }
    if weight.is_some_and(|weight| weight != 1.0) && pair.is_some() {
        return Err(message!("it has a weight, which pairs of answers do not"));
    }
    let (mut line, rejected) = match pair {
        Some((turns, rejected)) => (Line::Turns(turns), Some(rejected)),
        None => (shape(&mut all)?, None),
    };
    match &mut line {
        Line::Turns(turns) => {
            if let Some((key, text)) = system {
                let first = turns.iter().find(|turn| matches!(&*turn.role, "system" | "developer"));
                match first {
                    None => turns.insert(0, Turn::new("system", text)),
                    Some(first) if first.content == text => {}
                    Some(_) => {
                        return Err(message!("it has {} beside a message of the role system", key));
                    }
                }
            }
            turns.iter_mut().for_each(|turn| turn.weight *= weight.unwrap_or(1.0));
        }
        Line::Text(_) => {
            if let Some((key, _)) = system {
                return Err(message!("it has {} beside text", key));
            }
            match weight {
                None | Some(1.0) => {}
                Some(0.0) => {
                    let why =
                        message!("its text is not to be learned (weight 0); leave the line out");
                    return Err(why);
                }
                Some(weight) => {
                    return Err(message!(
                        "it has the weight {} beside text: only answers have one",
                        weight
                    ));
                }
            }
        }
    }
    let rest = all.all.into_iter().filter(|(_, part)| !part.is_nothing()).map(|(key, _)| key);
    let passed = all.passed.into_iter().chain(rest).collect();
    Ok(Read { line, rejected, passed })
}

/// Takes a pair of answers out of a line: the conversation up to the better one, and the worse one. What both begin
/// with is the prompt of a line without one, or goes on with it.
fn preferred(all: &mut Fields) -> Result<(Vec<Turn>, String), Message> {
    let (Some(chosen), Some(rejected)) = (all.take("chosen"), all.take("rejected")) else {
        return Err(message!("it has no chosen and rejected, of which one answer is better"));
    };
    let (mut prompt, mut is_whole) = match all.take("prompt") {
        Some(Part::Text(text)) if !text.is_empty() => (vec![Turn::new("user", text)], false),
        Some(list @ Part::List(_)) => (turns(list, "prompt", &mut all.passed)?, true),
        _ => (Vec::new(), false),
    };
    for key in LISTS {
        if let (true, Some(list)) = (prompt.is_empty(), all.take(key)) {
            (prompt, is_whole) = (turns(list, key, &mut all.passed)?, false);
        }
    }
    let [better, worse] = match (chosen, rejected) {
        (Part::Text(a), Part::Text(b)) => {
            let from = if prompt.is_empty() { alike(&a, &b) } else { 0 };
            if from > 0 {
                prompt.push(Turn::new("user", &a[..from]));
            }
            [&a[from..], &b[from..]].map(|answer| vec![Turn::new(ASSISTANT, answer)])
        }
        (a @ Part::List(_), b @ Part::List(_)) => {
            let mut a = turns(a, "chosen", &mut all.passed)?;
            let mut b = turns(b, "rejected", &mut all.passed)?;
            let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            let rest = [&mut a, &mut b].map(|side| side.split_off(same));
            // Often they say the prompt again.
            prompt = match same > 0 && (!is_whole || a.starts_with(&prompt)) {
                true => a,
                false => [prompt, a].concat(),
            };
            rest
        }
        (a, b) => {
            let [a, b] = [a, b].map(|side| kind_of(&side));
            return Err(message!("its chosen is {}, and its rejected is {}", a, b));
        }
    };
    if prompt.iter().all(|turn| turn.content.trim().is_empty()) {
        return Err(message!("it has no prompt, and its chosen and rejected begin unlike"));
    }
    let ([a], [b]) = (&better[..], &worse[..]) else {
        return Err(message!(
            "its chosen and rejected are not one answer each, behind what they share"
        ));
    };
    if [a, b].iter().any(|turn| turn.weight != 1.0) {
        return Err(message!("it has a weight, which pairs of answers do not"));
    }
    if [a, b].iter().any(|turn| turn.role != ASSISTANT) || a.content == b.content {
        return Err(message!(
            "its chosen and rejected are no two unlike answers of the role assistant"
        ));
    }
    let worse = checked(b.clone(), prompt.len())?.content;
    prompt.push(checked(a.clone(), prompt.len())?);
    Ok((prompt, worse))
}

/// The bytes that two texts begin with, without a space at their end.
fn alike(a: &str, b: &str) -> usize {
    let other = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b);
    let at = other.map_or(a.len().min(b.len()), |((at, _), _)| at);
    at - usize::from(a[..at].ends_with(' '))
}

/// What is said, in one of the usual shapes.
fn shape(all: &mut Fields) -> Result<Line, Message> {
    for key in LISTS {
        if let Some(messages) = all.take(key) {
            return turns(messages, key, &mut all.passed).map(Line::Turns);
        }
    }
    let has = |all: &Fields, key: &str| {
        let is =
            |(own, part): &(String, Part)| own == key && !matches!(part, Part::Scalar(Value::Null));
        all.all.iter().any(is)
    };
    for [ask, answer] in [["prompt", "completion"], ["instruction", "output"]] {
        if !has(all, ask) || !has(all, answer) {
            continue;
        }
        let mut side = |key: &'static str, role: &str| match all.take(key) {
            Some(Part::Text(content)) => Ok(vec![checked(Turn::new(role, content), 0)?]),
            Some(several @ Part::List(_)) => turns(several, key, &mut all.passed),
            Some(other) => Err(message!("its {} is {}, and no text", key, kind_of(&other))),
            None => Ok(Vec::new()),
        };
        let (mut prompt, completion) = (side(ask, "user")?, side(answer, ASSISTANT)?);
        if let (true, [question]) = (ask == "instruction", &mut prompt[..]) {
            match all.take("input") {
                None => {}
                Some(Part::Text(input)) if input.trim().is_empty() => {}
                Some(Part::Text(input)) => {
                    question.content = format!("{}\n\n{input}", question.content);
                }
                Some(other) => {
                    return Err(message!("its {} is {}, and no text", "input", kind_of(&other)));
                }
            }
        }
        return Ok(Line::Turns([prompt, completion].concat()));
    }
    match all.take("text") {
        // A side of a pair that is not whole is not passed over.
        _ if has(all, "prompt") || has(all, "completion") => {}
        Some(Part::Text(text)) if !text.trim().is_empty() => return Ok(Line::Text(text)),
        Some(_) => return Err(message!("its text is empty, or no text")),
        None => {}
    }
    Err(message!(
        "it has none of messages, conversations, prompt and completion, instruction and output, text \
         ({{\"messages\": [..]}})"
    ))
}

fn turns(value: Part, key: &'static str, passed: &mut Vec<String>) -> Result<Vec<Turn>, Message> {
    let Part::List(turns) = value else {
        return Err(message!("its {} is {}, and no list of messages", key, kind_of(&value)));
    };
    if turns.is_empty() {
        return Err(message!("its {} is an empty list", key));
    }
    let turn = |(i, turn)| checked(turn_of(turn, i + 1, passed)?, i);
    turns.into_iter().enumerate().map(turn).collect()
}

fn turn_of(value: Part, n: usize, passed: &mut Vec<String>) -> Result<Turn, Message> {
    let Part::Object(mut all) = value else {
        return Err(message!("message {} is no object with role and content", n));
    };
    if !all.passed.is_empty() {
        return Err(message!("message {} has more than {} keys", n, MOST_KEYS));
    }
    let weight = learned(&mut all).map_err(|why| message!("message {}: {}", n, why))?;
    let is_spoken = all.all.iter().any(|(key, _)| key == "value");
    let role = all.take("role").or_else(|| if is_spoken { all.take("from") } else { None });
    let role = match role {
        Some(Part::Text(role)) => usual(role),
        _ => return Err(message!("message {} has no role", n)),
    };
    // Questions are not learned.
    if weight.is_some_and(|weight| weight > 0.0) && role != ASSISTANT {
        passed.push(format!("weight of {role}"));
    }
    let content = match all.take("content").or_else(|| all.take("value")) {
        Some(Part::Text(content)) => content,
        None => String::new(),
        Some(other) => {
            let kind = kind_of(&other);
            return Err(message!("the content of message {} is {}, and no text", n, kind));
        }
    };
    let mut turn = Turn { weight: weight.unwrap_or(1.0), ..Turn::new(&role, content) };
    for (key, part) in all.all {
        match part {
            part if part.is_nothing() => {}
            Part::Scalar(value) => _ = turn.more.insert(key, value),
            Part::Text(text) => _ = turn.more.insert(key, text.into()),
            _ => passed.push(key),
        }
    }
    Ok(turn)
}

/// The usual name of a role that other programs call otherwise.
fn usual(role: String) -> String {
    match &*role.to_ascii_lowercase() {
        "human" | "user" => "user".into(),
        "gpt" | "assistant" | "chatgpt" | "bot" | "model" => ASSISTANT.into(),
        "system" => "system".into(),
        _ => role,
    }
}

/// Refuses an answer that says nothing: a model would learn to say nothing.
fn checked(turn: Turn, i: usize) -> Result<Turn, Message> {
    match turn.role == ASSISTANT && turn.content.trim().is_empty() {
        true => Err(message!("the answer in message {} is empty", i + 1)),
        false => Ok(turn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Line {
        Line::Turns(vec![Turn::new("user", "1+1?"), Turn::new("assistant", "2")])
    }

    fn turns(line: &str) -> Vec<Turn> {
        match Line::parse(line).unwrap_or_else(|why| panic!("{line}: {why}")) {
            Line::Turns(turns) => turns,
            Line::Text(text) => panic!("{text}"),
        }
    }

    fn passed(line: &str) -> String {
        read(line, false).unwrap().passed.join(" ")
    }

    #[test]
    fn the_usual_shapes_are_read() {
        for line in [
            r#"{"messages": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}]}"#,
            r#"[{"role": "User", "content": "1+1?"}, {"role": "model", "content": "2"}]"#,
            r#"{"conversations": [{"from": "human", "value": "1+1?"}, {"from": "gpt", "value": "2"}]}"#,
            r#"{"dialogue": [{"role": "user", "content": "1+1?"}, {"role": "bot", "content": "2"}]}"#,
            r#"{"instruction": "1+1?", "input": "", "output": "2"}"#,
            r#"{"prompt": "1+1?", "completion": "2", "id": 7}"#,
            r#"{"prompt": [{"role": "user", "content": "1+1?"}], "completion": [{"role": "assistant", "content": "2"}], "tools": []}"#,
        ] {
            assert_eq!(Line::parse(line).unwrap(), pair(), "{line}");
        }
        assert_eq!(Line::parse(r#"{"text": "a\nb"}"#).unwrap(), Line::Text("a\nb".into()));
        assert_eq!(pair().spoken(), "1+1?\n2\n");
        let named = r#"{"messages": [{"role": "user", "content": "a", "name": "Ada"}]}"#;
        assert_eq!(turns(named)[0].more["name"], "Ada");
        let asked = turns(r#"{"instruction": "Add.", "input": "1 1", "output": "2"}"#);
        assert_eq!(asked[0].content, "Add.\n\n1 1");
    }

    /// As TRL has them: with a prompt, and without one.
    #[test]
    fn pairs_of_answers_are_read_in_their_usual_shapes() {
        let user = r#"{"role": "user", "content": "1+1?"}"#;
        let [two, three] =
            ["2", "3"].map(|n| format!(r#"{{"role": "assistant", "content": "{n}"}}"#));
        let [a, b] = [&two, &three].map(|said| format!("[{user}, {said}]"));
        for line in [
            r#"{"prompt": "1+1?", "chosen": "2", "rejected": "3"}"#.to_string(),
            r#"{"chosen": "1+1? 2", "rejected": "1+1? 3"}"#.replace("? ", "?"),
            format!(r#"{{"prompt": [{user}], "chosen": [{two}], "rejected": [{three}]}}"#),
            format!(r#"{{"messages": [{user}], "chosen": "2", "rejected": "3"}}"#),
            format!(r#"{{"messages": [{user}], "chosen": [{two}], "rejected": [{three}]}}"#),
            format!(r#"{{"chosen": {a}, "rejected": {b}, "score_chosen": 9}}"#),
            format!(r#"{{"prompt": "1+1?", "chosen": {a}, "rejected": {b}, "messages": {a}}}"#),
            format!(r#"{{"prompt": [{user}], "chosen": {a}, "rejected": {b}}}"#),
        ] {
            let found = read(&line, true).unwrap_or_else(|why| panic!("{line}: {why}"));
            assert_eq!((found.line, found.rejected.as_deref()), (pair(), Some("3")), "{line}");
            assert!(Line::parse(&line).unwrap_err().to_string().contains("it has chosen ("));
        }
        let spoken = read(r#"{"chosen": "It is blue", "rejected": "It is green"}"#, true).unwrap();
        assert_eq!(
            (spoken.line.spoken(), spoken.rejected.unwrap()),
            ("It is\n blue\n".into(), " green".into())
        );
        let longer = format!(
            r#"{{"prompt": [{user}, {two}], "chosen": [{user}, {two}], "rejected": [{user}, {three}]}}"#
        );
        let Line::Turns(turns) = read(&longer, true).unwrap().line else { panic!() };
        assert_eq!(turns.len(), 4);
        for (line, why) in [
            (r#"{"prompt": "a", "completion": "b"}"#, "it has no chosen and rejected"),
            (r#"{"prompt": "a", "chosen": "b"}"#, "it has no chosen and rejected"),
            (r#"{"prompt": "a", "chosen": "b", "rejected": "b"}"#, "no two unlike answers"),
            (
                r#"{"prompt": "a", "chosen": "b", "rejected": " "}"#,
                "the answer in message 2 is empty",
            ),
            (r#"{"chosen": "b", "rejected": "c"}"#, "it has no prompt"),
            (
                r#"{"prompt": "a", "chosen": "b", "rejected": ["c"]}"#,
                "its chosen is a text, and its rejected is a list",
            ),
            (
                r#"{"prompt": "a", "chosen": "b", "rejected": "c", "weight": 0}"#,
                "it has a weight, which pairs of answers do not",
            ),
            (
                r#"{"prompt": "a", "chosen": "b", "rejected": "c", "tools": [1]}"#,
                "it has tools (a list)",
            ),
            (
                &format!(r#"{{"chosen": {a}, "rejected": [{user}, {three}, {user}]}}"#),
                "not one answer each",
            ),
        ] {
            let said = read(line, true).map(|_| ()).unwrap_err().to_string();
            assert!(said.contains(why), "{line}: {said}");
        }
    }

    #[test]
    fn what_says_what_is_learned_is_read() {
        let said = r#"{"role": "user", "content": "a"}, {"role": "assistant", "content": "b""#;
        let learned = |more: &str, beside: &str| {
            turns(&format!("{{\"messages\": [{said}{more}}}]{beside}}}"))[1].weight
        };
        assert_eq!([learned("", ""), learned(r#", "weight": 1"#, r#", "train": true"#)], [1.0; 2]);
        assert_eq!(learned(r#", "weight": 0.5"#, r#", "weight": 0.25"#), 0.125);
        for more in [r#", "weight": 0"#, r#", "trainable": false"#, r#", "loss_mask": 0"#] {
            assert_eq!([learned(more, ""), learned("", more)], [0.0; 2], "{more}");
        }
        for system in ["system", "system_prompt"] {
            let line = format!("{{\"{system}\": \"Be brief.\", \"messages\": [{said}}}]}}");
            assert_eq!(turns(&line)[0], Turn::new("system", "Be brief."));
        }
        let thought = turns(&format!("[{said}, \"reasoning_content\": \"hm\"}}]"));
        assert_eq!(thought[1].more["reasoning_content"], "hm");
    }

    #[test]
    fn what_is_passed_over_is_counted() {
        let said = r#""messages": [{"role": "user", "content": "a", "weight": 1, "parts": [1]}]"#;
        let line =
            format!(r#"{{"id": [[[1]]], {said}, "prompt": "a", "tools": null, "text": ""}}"#);
        assert_eq!(passed(&line), "id weight of user parts prompt");
    }

    #[test]
    fn what_is_none_of_them_is_refused() {
        let said = r#"{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}"#;
        let beside = |more: &str| format!("{{\"messages\": [{said}], {more}}}");
        let many: Vec<_> = (0..70).map(|i| format!("\"k{i}\": 1")).collect();
        for (line, why) in [
            (r#"{"messages": ["#, "it is no JSON: EOF while parsing a list at column 14"),
            ("1", "it is no object ({..})"),
            ("[1]", "message 1 is no object with role and content"),
            (r#"{"a": 1}"#, "it has none of messages, conversations, prompt and completion"),
            (r#"{"prompt": "a"}"#, "it has none of messages, conversations, prompt"),
            (r#"{"text": " "}"#, "its text is empty, or no text"),
            (r#"{"messages": []}"#, "its messages is an empty list"),
            (r#"{"messages": "a"}"#, "its messages is a text, and no list of messages"),
            (r#"{"messages": [{"content": "a"}]}"#, "message 1 has no role"),
            (r#"[{"from": "Ada", "text": "a"}]"#, "message 1 has no role"),
            (r#"{"prompt": "a", "completion": " "}"#, "the answer in message 1 is empty"),
            (r#"{"instruction": "a", "output": ["b"]}"#, "its output is a list, and no text"),
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
                "message 1: it has tool_calls (a list), which cannot be learned here",
            ),
            (r#"{"text": "a", "tools": [1]}"#, "it has tools (a list)"),
            (r#"{"text": "a", "weight": 0}"#, "its text is not to be learned"),
            (&beside(r#""rejected": "c""#), "it has rejected (a text)"),
            (&beside(r#""images": ["a"]"#), "it has images (a list)"),
            (&beside(r#""label": false"#), "it has label (true or false)"),
            (&beside(r#""weight": -0.5"#), "its weight is -0.5: only 0 to 100 are read"),
            (&beside(r#""weight": 1e3"#), "its weight is 1000.0: only 0 to 100 are read"),
            (&beside(r#""weight": "1""#), "its weight is a text: only 0 to 100 are read"),
            (&beside(r#""train": 0.5"#), "its train is 0.5: only 0, 1, true and false"),
            (r#"{"text": "a", "weight": 0.5}"#, "it has the weight 0.5 beside text"),
            (&beside(r#""messages": [1]"#), "it has the key 'messages' twice"),
            (&beside(r#""system": ["a"]"#), "its system is no text"),
            (
                r#"{"system": "a", "messages": [{"role": "system", "content": "b"}]}"#,
                "it has system beside a message of the role system",
            ),
            (
                &format!("[{{\"role\": \"user\", {}}}]", many.join(",")),
                "message 1 has more than 64",
            ),
        ] {
            let said = Line::parse(line).unwrap_err().to_string();
            assert!(said.starts_with(why), "{line}: {said}");
        }
    }
}
