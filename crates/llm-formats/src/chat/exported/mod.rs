//! Conversations as apps export them: who said what, and when, made questions and the answers of
//! one of them.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `spoken` | what people say, when, and what of it makes a conversation |
//! | `whatsapp` | WhatsApp's text |
//! | `telegram` | Telegram Desktop's JSON |
//! | `discord` | the JSON of DiscordChatExporter |
//! | `chatgpt` | ChatGPT's JSON |

mod spoken;

pub(crate) mod whatsapp;

mod telegram;

mod discord;

mod chatgpt;

#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;

pub use crate::json_look::App;
pub use spoken::LeftOut;

use super::file::{Conversations, File};
use super::line::{Line, Turn};
use crate::files::SAMPLE;
use crate::json_look::{Holds, JsonLook};
use llm_core::base::Message;
use llm_core::message;
use serde::Serialize;
use serde::de::IgnoredAny;
use spoken::{Spoken, conversation};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A silence of as many minutes ends a conversation.
pub const SILENCE: i64 = 6 * 60;

/// Conversations out of the exports of apps.
#[derive(Debug, Default)]
pub struct Exports {
    /// Chats of people by their names, before it is known who of them answers.
    chats: Vec<Vec<Spoken>>,
    /// From a question to an answer each.
    pub conversations: Vec<Vec<Turn>>,
    /// What is in none of them.
    pub left_out: LeftOut,
}

impl App {
    /// The app that exported a text, if one did.
    fn of(text: &str) -> Option<App> {
        if whatsapp::is_one(text) {
            return Some(App::WhatsApp);
        }
        match JsonLook::of(&text.as_bytes()[..text.len().min(SAMPLE)])?.holds() {
            Holds::Export(app) => Some(app),
            _ => None,
        }
    }

    /// As it calls itself.
    fn name(self) -> &'static str {
        match self {
            App::WhatsApp => "WhatsApp",
            App::Telegram => "Telegram",
            App::Discord => "Discord",
            App::ChatGpt => "ChatGPT",
        }
    }
}

fn cut_off(name: Message, e: &serde_json::Error) -> Message {
    message!("{}: its JSON is cut off ({}); export or copy it again", name, said(e))
}

/// What serde_json says; words of the file in it may have any length.
fn said(e: &serde_json::Error) -> String {
    e.to_string().chars().take(200).collect()
}

impl Exports {
    /// What is in files, each with what to call it: exports, or conversations in any of the shapes
    /// that are learned from.
    ///
    /// # Errors
    /// The file, and why it cannot be read.
    pub fn read<'b>(files: impl IntoIterator<Item = File<'b>>) -> Result<Exports, Message> {
        let mut found = Exports::default();
        for (name, bytes) in files {
            found.add(name, bytes)?;
        }
        Ok(found)
    }

    fn add(&mut self, name: Message, bytes: &[u8]) -> Result<(), Message> {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| message!("{}: {}", name.clone(), message!("it is no UTF-8")))?;
        let text = text.trim_start_matches('\u{feff}');
        let Some(app) = App::of(text) else { return self.add_lines(name, text) };
        let left_out = &mut self.left_out;
        let read = match app {
            App::WhatsApp => {
                self.chats.push(whatsapp::read(text, left_out));
                Ok(())
            }
            App::Telegram => telegram::read(text, left_out).map(|chats| self.chats.extend(chats)),
            App::Discord => discord::read(text, left_out).map(|chat| self.chats.push(chat)),
            App::ChatGpt => chatgpt::read(text, left_out).map(|all| self.conversations.extend(all)),
        };
        read.map_err(|e| match e.is_eof() {
            true => cut_off(name, &e),
            false => message!("{}: it has the form of {}, but: {}", name, app.name(), said(&e)),
        })
    }

    /// What is learned from as it is.
    fn add_lines(&mut self, name: Message, text: &str) -> Result<(), Message> {
        if !text.trim_start().starts_with(['{', '[']) {
            return Err(message!(
                "{}: it is no export of WhatsApp (.txt), Telegram (result.json), Discord (JSON of \
                 DiscordChatExporter) or ChatGPT (conversations.json)",
                name
            ));
        }
        if let Err(e) = serde_json::from_str::<IgnoredAny>(text)
            && e.is_eof()
        {
            return Err(cut_off(name, &e));
        }
        for said in Conversations::parse([(name, text.as_bytes())])?.all {
            match said.what {
                Line::Turns(turns) => self.conversations.push(turns),
                Line::Text(_) => self.left_out.texts += 1,
            }
        }
        Ok(())
    }

    /// The speakers, and the number of messages of each, largest first. None where the
    /// files themselves say what is an answer.
    pub fn names(&self) -> Vec<(&str, usize)> {
        let mut counts = BTreeMap::new();
        for said in self.chats.iter().flatten() {
            *counts.entry(&*said.who).or_insert(0) += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        counts
    }

    /// The speaker who is meant: by the exact name, or by the only one that differs in no more
    /// than capital letters.
    pub fn meant(&self, name: &str) -> Option<String> {
        let lower = name.trim().to_lowercase();
        let names = self.names();
        let like = || names.iter().filter(|(who, _)| who.to_lowercase() == lower);
        let exact = names.iter().find(|(who, _)| *who == name);
        let only = || like().next().filter(|_| like().count() == 1);
        exact.or_else(only).map(|(who, _)| who.to_string())
    }

    /// Makes conversations of what they say: `me` answers, everyone else asks. Where several ask, their names
    /// stand before what they say.
    pub fn answered_by(&mut self, me: &str) {
        for chat in std::mem::take(&mut self.chats) {
            let mut others = chat.iter().map(|said| &said.who).filter(|who| *who != me);
            let first = others.next();
            let several = others.any(|who| Some(who) != first);
            let near = |a: &Spoken, b: &Spoken| b.when.minutes() - a.when.minutes() < SILENCE;
            for part in chat.chunk_by(near) {
                let mut before = None;
                let said = part.iter().map(|said| {
                    let goes_on = before.replace(&said.who) == Some(&said.who);
                    let text = match several && said.who != me && !goes_on {
                        true => format!("{}: {}", said.who, said.text),
                        false => said.text.clone(),
                    };
                    (said.who == me, text)
                });
                self.conversations.extend(conversation(said, &mut self.left_out));
            }
        }
    }

    /// The days of the first message and of the last one, where they are known.
    pub fn days(&self) -> Option<[String; 2]> {
        let when = || self.chats.iter().flatten().map(|said| said.when);
        let (first, last) = when().min().zip(when().max())?;
        Some([first, last].map(|at| format!("{:04}-{:02}-{:02}", at.year, at.month, at.day)))
    }

    /// Writes the conversations, a line of JSON each.
    ///
    /// # Errors
    /// What writing says.
    pub fn write(&self, mut out: &mut dyn Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct WrittenTurn<'t> {
            #[serde(flatten)]
            turn: &'t Turn,
            /// What an answer counts, where that is not 1; 0: it is read and not learned.
            #[serde(skip_serializing_if = "Option::is_none")]
            weight: Option<serde_json::Value>,
        }
        #[derive(Serialize)]
        struct Written<'t> {
            messages: Vec<WrittenTurn<'t>>,
        }
        for turns in &self.conversations {
            let weight = |turn: &Turn| match turn.weight {
                1.0 => None,
                0.0 => Some(0.into()),
                weight => Some(weight.into()),
            };
            let messages =
                turns.iter().map(|turn| WrittenTurn { turn, weight: weight(turn) }).collect();
            serde_json::to_writer(&mut out, &Written { messages })?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
