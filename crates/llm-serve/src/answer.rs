//! Answers as JSON, in the shapes of OpenAI's API.

use crate::ask::Ask;
use crate::engine::{Event, Scored, What};
use crate::error::Res;
use crate::model::Served;
use serde_json::{Map, Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::take;
use std::sync::Arc;

/// A request's answer in the making.
pub struct Answer {
    pub ask: Arc<Ask>,
    served: Arc<Served>,
    id: String,
    texts: Vec<Text>,
    /// Tokens that were written.
    written: usize,
}

/// What is new of a text.
#[derive(Default)]
struct Text {
    /// Bytes that are no character yet.
    open: Vec<u8>,
    text: String,
    scored: Vec<Scored>,
    /// Characters before it, for clients that count.
    offset: usize,
    begun: bool,
    finish: Option<&'static str>,
}

impl Answer {
    /// The answer to a request of these bytes, from which its number follows.
    pub fn new(ask: Arc<Ask>, served: Arc<Served>, body: &[u8]) -> Answer {
        let mut hash = DefaultHasher::new();
        body.hash(&mut hash);
        let id =
            format!("{}-{:016x}", if ask.is_chat { "chatcmpl" } else { "cmpl" }, hash.finish());
        let texts = (0..ask.choices()).map(|_| Text::default()).collect();
        Answer { ask, served, id, texts, written: 0 }
    }

    /// Takes in what was heard; the number of the text that it is about.
    pub fn hear(&mut self, Event { choice, what }: Event) -> Res<usize> {
        let (text, keeps) = (&mut self.texts[choice], self.ask.logprobs.is_some());
        match what {
            What::Prompt(scored) => {
                text.scored.extend(scored);
                if self.ask.echo && !text.begun {
                    let prompt = self.ask.choice(choice).0;
                    let bytes = prompt.iter().map(|&token| self.served.tokenizer.bytes_of(token));
                    text.open.extend(bytes.flatten());
                }
                text.begun = true;
            }
            What::Token(scored, more) => {
                self.written += 1;
                text.open.extend(more);
                text.scored.extend(keeps.then_some(scored));
            }
            What::End(finish, rest) => {
                text.open.extend(rest);
                text.finish = Some(finish);
            }
            What::Failed(why) => return Err(why),
        }
        text.close();
        Ok(choice)
    }

    pub fn has_ended(&self, choice: usize) -> bool {
        self.texts[choice].finish.is_some()
    }

    pub fn is_done(&self) -> bool {
        self.texts.iter().all(|text| text.finish.is_some())
    }

    /// All of it.
    pub fn whole(mut self) -> Value {
        let choices = (0..self.texts.len()).map(|choice| self.choice(choice, "message")).collect();
        self.object(choices, "chat.completion", Some(self.usage()))
    }

    /// What a stream begins with.
    pub fn beginning(&self) -> Vec<Value> {
        let begin = |i| {
            let delta = json!({"role": "assistant", "content": ""});
            self.chunk(vec![
                json!({"index": i, "delta": delta, "logprobs": null, "finish_reason": null}),
            ])
        };
        let all = if self.ask.is_chat { self.texts.len() } else { 0 };
        (0..all).map(begin).collect()
    }

    /// What is new of a text, if anything is.
    pub fn news(&mut self, choice: usize) -> Option<Value> {
        let Text { text, scored, finish, .. } = &self.texts[choice];
        let is_new = !text.is_empty() || !scored.is_empty() || finish.is_some();
        is_new.then(|| self.choice(choice, "delta")).map(|choice| self.chunk(vec![choice]))
    }

    /// What a stream ends with.
    pub fn ending(&self) -> Option<Value> {
        let usage = self.ask.usage.then(|| self.usage());
        usage.map(|usage| self.object(vec![], "chat.completion.chunk", Some(usage)))
    }

    fn chunk(&self, choices: Vec<Value>) -> Value {
        self.object(choices, "chat.completion.chunk", self.ask.usage.then_some(Value::Null))
    }

    fn object(&self, choices: Vec<Value>, of_chat: &str, usage: Option<Value>) -> Value {
        let kind = if self.ask.is_chat { of_chat } else { "text_completion" };
        let Served { name, created, .. } = &*self.served;
        let mut object = json!({
            "id": self.id, "object": kind, "created": created, "model": name, "choices": choices,
        });
        if let Some(usage) = usage {
            object["usage"] = usage;
        }
        object
    }

    fn usage(&self) -> Value {
        let prompt: usize = self.ask.prompts.iter().map(Vec::len).sum();
        let (written, all) = (self.written, self.written + prompt);
        json!({"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": all})
    }

    /// A text's news: in a conversation a `message`, or a `delta` of one.
    fn choice(&mut self, choice: usize, form: &str) -> Value {
        let Text { text, scored, offset, finish, .. } = &mut self.texts[choice];
        let (content, scored, finish) = (take(text), take(scored), *finish);
        let logprobs = match self.ask.logprobs {
            None => Value::Null,
            Some(_) if self.ask.is_chat => self.served.of_chat(&scored),
            Some(_) => self.served.of_completion(&scored, offset),
        };
        let mut all = json!({"index": choice, "logprobs": logprobs, "finish_reason": finish});
        match (self.ask.is_chat, form) {
            (false, _) => all["text"] = content.into(),
            (true, "delta") if content.is_empty() => all["delta"] = json!({}),
            (true, "delta") => all["delta"] = json!({"content": content}),
            (true, _) => {
                all[form] = json!({"role": "assistant", "content": content, "refusal": null})
            }
        }
        all
    }
}

impl Text {
    /// Makes text of bytes that are characters; at the end, of all.
    fn close(&mut self) {
        let last = self.open.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
        // Only what may yet become a character is kept: its beginning, at the end.
        let may_go_on = std::str::from_utf8(last).is_err_and(|e| e.error_len().is_none());
        let kept = if may_go_on && self.finish.is_none() { last.len() } else { 0 };
        let rest = self.open.split_off(self.open.len() - kept);
        self.text.push_str(&String::from_utf8_lossy(&self.open));
        self.open = rest;
    }
}

impl Served {
    fn of_chat(&self, scored: &[Scored]) -> Value {
        let entry = |token, logprob: Option<f64>| {
            let bytes = self.tokenizer.bytes_of(token);
            json!({"token": self.shown(token), "logprob": logprob, "bytes": bytes})
        };
        let entries = scored.iter().map(|scored| {
            let mut all = entry(scored.token, scored.logprob);
            all["top_logprobs"] = scored.top.iter().map(|&(t, p)| entry(t, Some(p))).collect();
            all
        });
        json!({"content": entries.collect::<Vec<_>>(), "refusal": null})
    }

    /// The lists of the older API; `offset` characters come before.
    fn of_completion(&self, scored: &[Scored], offset: &mut usize) -> Value {
        let mut all =
            json!({"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []});
        let mut add = |list: &str, value: Value| {
            all[list].as_array_mut().map(|list| list.push(value)).unwrap_or_default()
        };
        for Scored { token, logprob, top } in scored {
            // Two tokens may be shown alike: the likelier one stands.
            let top = top.iter().rev().map(|&(token, logprob)| (self.shown(token), json!(logprob)));
            let top = logprob.map(|_| Value::Object(top.collect::<Map<_, _>>()));
            add("text_offset", json!(*offset));
            *offset += self.shown(*token).chars().count();
            add("tokens", self.shown(*token).into());
            add("token_logprobs", json!(logprob));
            add("top_logprobs", json!(top));
        }
        all
    }
}
