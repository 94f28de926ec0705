//! Telegram Desktop's `result.json`: of one chat, or of all of an account.

use super::spoken::{LeftOut, Moment, Spoken};
use serde::Deserialize;

#[derive(Deserialize)]
struct Export {
    messages: Option<Vec<Post>>,
    chats: Option<Chats>,
    left_chats: Option<Chats>,
}

#[derive(Deserialize)]
struct Chats {
    list: Vec<Chat>,
}

#[derive(Deserialize)]
struct Chat {
    messages: Vec<Post>,
}

#[derive(Deserialize)]
struct Post {
    r#type: String,
    date: String,
    /// The speaker; `None` where the account is deleted.
    from: Option<String>,
    from_id: Option<String>,
    text: Option<Text>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Plain(String),
    Styled { text: String },
}

/// The chats of an export.
pub(super) fn read(json: &str, left_out: &mut LeftOut) -> serde_json::Result<Vec<Vec<Spoken>>> {
    let Export { messages, chats, left_chats } = serde_json::from_str(json)?;
    let lists = chats.into_iter().chain(left_chats).flat_map(|chats| chats.list);
    let all = messages.into_iter().chain(lists.map(|chat| chat.messages));
    let mut spoken = |post: Post| {
        if post.r#type != "message" {
            left_out.system += 1;
            return None;
        }
        let text = post.text.map_or_else(String::new, Text::plain);
        match (Moment::of_iso(&post.date), text.trim()) {
            (Some(when), text) if !text.is_empty() => {
                let who = post.from.or(post.from_id).unwrap_or_else(|| "?".into());
                Some(Spoken { when, who, text: text.into() })
            }
            _ => {
                left_out.media += 1;
                None
            }
        }
    };
    Ok(all.map(|posts| posts.into_iter().filter_map(&mut spoken).collect()).collect())
}

impl Text {
    fn plain(self) -> String {
        match self {
            Text::Plain(text) => text,
            Text::Parts(parts) => {
                let plain = |part| match part {
                    Part::Plain(text) | Part::Styled { text } => text,
                };
                parts.into_iter().map(plain).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chat_and_all_of_an_account_are_read() {
        let posts = r#"[
            {"id": 1, "type": "service", "date": "2023-12-31T21:14:00", "actor": "Mia", "action": "create_group", "text": ""},
            {"id": 2, "type": "message", "date": "2023-12-31T21:15:07", "date_unixtime": "1704053707", "from": "Mia", "from_id": "user1",
             "text": ["see ", {"type": "link", "text": "https://a.b"}, " now"], "text_entities": []},
            {"id": 3, "type": "message", "date": "2023-12-31T21:16:00", "from": null, "from_id": "user2", "text": "gone"},
            {"id": 4, "type": "message", "date": "2023-12-31T21:17:00", "from": "Mia", "photo": "photos/1.jpg", "text": ""}
        ]"#;
        let one =
            format!(r#"{{"name": "Mia", "type": "personal_chat", "id": 1, "messages": {posts}}}"#);
        let all = format!(
            r#"{{"about": "", "personal_information": {{}}, "chats": {{"about": "", "list": [{one}, {one}]}}}}"#
        );
        for (json, n) in [(one, 1), (all, 2)] {
            let mut left_out = LeftOut::default();
            let chats = read(&json, &mut left_out).unwrap();
            assert_eq!((chats.len(), left_out.system, left_out.media), (n, n, n));
            let said = chats[n - 1].iter().map(|said| (&*said.who, &*said.text));
            assert_eq!(
                said.collect::<Vec<_>>(),
                [("Mia", "see https://a.b now"), ("user2", "gone")]
            );
            assert_eq!(chats[0][0].when.minute, 21 * 60 + 15);
        }
    }
}
