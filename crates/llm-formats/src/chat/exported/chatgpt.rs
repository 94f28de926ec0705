//! ChatGPT's `conversations.json`: a tree of messages each, of which the branch is read that was
//! seen last.

use super::spoken::{LeftOut, conversation};
use crate::chat::line::{ASSISTANT, Turn};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Thread {
    mapping: BTreeMap<String, Node>,
    current_node: Option<String>,
}

#[derive(Deserialize)]
struct Node {
    message: Option<Said>,
    parent: Option<String>,
    #[serde(default)]
    children: Vec<String>,
}

#[derive(Deserialize)]
struct Said {
    author: Author,
    content: Content,
    /// A tool, or `all`.
    recipient: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Author {
    role: String,
}

#[derive(Deserialize)]
struct Content {
    content_type: String,
    parts: Option<Vec<Part>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Text(String),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Metadata {
    is_visually_hidden_from_conversation: Option<bool>,
}

/// The conversations of an export: a list, or one by itself.
pub(super) fn read(json: &str, left_out: &mut LeftOut) -> serde_json::Result<Vec<Vec<Turn>>> {
    let threads: Vec<Thread> = match json.trim_start().starts_with('[') {
        true => serde_json::from_str(json)?,
        false => vec![serde_json::from_str(json)?],
    };
    let branch = |thread: Thread| {
        let said: Vec<_> =
            thread.branch().into_iter().filter_map(|said| spoken(said, left_out)).collect();
        conversation(said, left_out)
    };
    Ok(threads.into_iter().filter_map(branch).collect())
}

impl Thread {
    /// The messages from the root to the one that was seen last, or to the end of the newest branch.
    fn branch(mut self) -> Vec<Said> {
        let root = || self.mapping.iter().find(|(_, node)| node.parent.is_none()).map(|(id, _)| id);
        let mut at = self.current_node.take();
        if at.is_none() {
            let mut last = root();
            for _ in 0..self.mapping.len() {
                let node = last.and_then(|id| self.mapping.get(id));
                last = node.and_then(|node| node.children.last()).or(last);
            }
            at = last.cloned();
        }
        let mut found = Vec::new();
        // Taken out, so that a circle comes to an end.
        while let Some(node) = at.and_then(|id| self.mapping.remove(&id)) {
            found.extend(node.message);
            at = node.parent;
        }
        found.reverse();
        found
    }
}

/// Whether it is an answer, and its text.
fn spoken(said: Said, left_out: &mut LeftOut) -> Option<(bool, String)> {
    let role = &*said.author.role;
    let hidden = said.metadata.and_then(|more| more.is_visually_hidden_from_conversation);
    let kind = &*said.content.content_type;
    let to_all = said.recipient.is_none_or(|to| to == "all");
    let is_text = matches!(kind, "text" | "multimodal_text");
    if !matches!(role, "user" | ASSISTANT) || hidden == Some(true) || !to_all || !is_text {
        left_out.system += 1;
        return None;
    }
    let parts = said.content.parts.unwrap_or_default();
    let texts = parts.into_iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        Part::Other(_) => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    if text.trim().is_empty() {
        match kind {
            "text" => left_out.system += 1,
            _ => left_out.media += 1,
        }
        return None;
    }
    Some((role == ASSISTANT, text.trim().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, parent: &str, role: &str, parts: &str) -> String {
        let more = if role == "tool" { r#", "recipient": "python""# } else { "" };
        format!(
            r#""{id}": {{"id": "{id}", "parent": {parent}, "children": [], "message": {{"author": {{"role": "{role}", "name": null}},
            "content": {{"content_type": "text", "parts": {parts}}}, "metadata": {{}}{more}}}}}"#
        )
    }

    #[test]
    fn the_branch_that_was_seen_last_is_read() {
        let nodes = [
            r#""r": {"id": "r", "message": null, "parent": null, "children": ["s"]}"#.to_string(),
            node("s", "\"r\"", "system", r#"[""]"#),
            node("h", "\"s\"", "user", r#"["about me"]"#)
                .replace("{}", r#"{"is_visually_hidden_from_conversation": true}"#),
            node("q", "\"h\"", "user", r#"["why?"]"#),
            node("x", "\"q\"", "assistant", r#"["an answer that was thrown away"]"#),
            node("t", "\"q\"", "tool", r#"["1"]"#),
            node("a", "\"t\"", "assistant", r#"["because", {"asset_pointer": "file"}]"#),
        ];
        let thread = format!(
            r#"{{"title": "Why", "create_time": 1.5, "mapping": {{{}}}, "current_node": "a"}}"#,
            nodes.join(", ")
        );
        let circle = r#"{"mapping": {"a": {"message": null, "parent": "a", "children": ["a"]}}}"#;
        let mut left_out = LeftOut::default();
        let found = read(&format!("[{thread}, {circle}]"), &mut left_out).unwrap();
        assert_eq!(found, [[Turn::new("user", "why?"), Turn::new("assistant", "because")]]);
        assert_eq!(left_out, LeftOut { system: 3, ..LeftOut::default() });
        assert_eq!(read(&thread, &mut left_out).unwrap(), found);
        let open = r#"{"mapping": {"r": {"message": null, "parent": null, "children": ["b", "q"]}, Q, A}}"#;
        let open =
            open.replace('Q', &nodes[3].replace("\"h\"", "\"r\"").replace("[],", "[\"a\"],"));
        let open = open.replace('A', &nodes[6].replace("\"t\"", "\"q\""));
        assert_eq!(read(&open, &mut left_out).unwrap(), found);
    }
}
