//! What DiscordChatExporter writes as JSON: one channel.

use super::spoken::{LeftOut, Moment, Spoken};
use serde::Deserialize;

#[derive(Deserialize)]
struct Export {
    messages: Vec<Post>,
}

#[derive(Deserialize)]
struct Post {
    r#type: String,
    timestamp: String,
    content: String,
    author: Author,
}

#[derive(Deserialize)]
struct Author {
    name: String,
    /// On this server.
    nickname: Option<String>,
}

/// The messages of an export, the newest of which may come first.
pub(super) fn read(json: &str, left_out: &mut LeftOut) -> Result<Vec<Spoken>, serde_json::Error> {
    let Export { messages } = serde_json::from_str(json)?;
    let mut found = Vec::new();
    for Post { r#type, timestamp, content, author } in messages {
        let said = content.trim();
        match (&*r#type, Moment::of_iso(&timestamp)) {
            ("Default" | "Reply", Some(when)) if !said.is_empty() => {
                let who = author.nickname.filter(|name| !name.is_empty()).unwrap_or(author.name);
                found.push(Spoken { when, who, text: said.into() });
            }
            ("Default" | "Reply", _) => left_out.media += 1,
            _ => left_out.system += 1,
        }
    }
    if found.first().zip(found.last()).is_some_and(|(first, last)| first.when > last.when) {
        found.reverse();
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_is_read() {
        let post = |kind, minute, name, nickname, content| {
            format!(
                r#"{{"id": "1", "type": "{kind}", "timestamp": "2023-12-31T21:{minute}:07.123+00:00", "timestampEdited": null,
                "isPinned": false, "content": "{content}", "attachments": [], "reactions": [],
                "author": {{"id": "2", "name": "{name}", "nickname": {nickname}, "isBot": false}}}}"#
            )
        };
        let all = [
            post("RecipientAdd", 14, "mia", "null", "Added tom."),
            post("Default", 15, "mia", "\"Mia\"", "hi"),
            post("Reply", 16, "tom", "null", " lol "),
            post("Default", 17, "tom", "\"\"", ""),
            post("Call", 18, "tom", "null", "Started a call."),
        ];
        let json = |posts: &[String]| {
            format!(
                r#"{{"guild": {{"id": "0"}}, "channel": {{}}, "messages": [{}]}}"#,
                posts.join(",")
            )
        };
        for posts in [all.to_vec(), all.iter().rev().cloned().collect()] {
            let mut left_out = LeftOut::default();
            let found = read(&json(&posts), &mut left_out).unwrap();
            let said: Vec<_> = found.iter().map(|said| (&*said.who, &*said.text)).collect();
            assert_eq!(said, [("Mia", "hi"), ("tom", "lol")]);
            assert_eq!((left_out.media, left_out.system), (1, 2));
        }
    }
}
