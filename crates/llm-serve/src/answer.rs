//! Answers as JSON, in the shapes of OpenAI's API.

use crate::ask::Ask;
use crate::engine::{Event, Finish, Scored, What};
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
    choices: Vec<Text>,
    /// Tokens that were written.
    written: usize,
}

/// One text of it, since it was last told.
#[derive(Default)]
struct Text {
    /// Bytes that are no character yet.
    open: Vec<u8>,
    text: String,
    scored: Vec<Scored>,
    /// Characters before `text`, for clients that count.
    offset: usize,
    begun: bool,
    finish: Option<Finish>,
}

impl Answer {
    /// The answer to a request of these bytes, from which its number follows.
    pub fn new(ask: Arc<Ask>, served: Arc<Served>, body: &[u8]) -> Answer {
        let mut hash = DefaultHasher::new();
        body.hash(&mut hash);
        let id =
            format!("{}-{:016x}", if ask.is_chat { "chatcmpl" } else { "cmpl" }, hash.finish());
        let choices = (0..ask.choices()).map(|_| Text::default()).collect();
        Answer { ask, served, id, choices, written: 0 }
    }

    /// Takes in what was heard; the number of the text that it is about.
    pub fn hear(&mut self, Event { choice, what }: Event) -> Res<usize> {
        let (prompt, _) = self.ask.choice(choice);
        let text = &mut self.choices[choice];
        let mut bytes = Vec::new();
        match what {
            What::Prompt(scored) => {
                if self.ask.echo && !text.begun {
                    let each = prompt.iter().map(|&token| self.served.tokenizer.bytes_of(token));
                    bytes = each.flatten().copied().collect();
                }
                text.begun = true;
                text.scored.extend(scored);
            }
            What::Token(scored, more) => {
                self.written += 1;
                bytes = more;
                text.scored.push(scored);
            }
            What::End(finish, rest) => {
                bytes = rest;
                text.finish = Some(finish);
            }
            What::Failed(why) => return Err(why),
        }
        text.open.extend(bytes);
        text.close();
        Ok(choice)
    }

    pub fn has_ended(&self, choice: usize) -> bool {
        self.choices[choice].finish.is_some()
    }

    pub fn is_done(&self) -> bool {
        (0..self.choices.len()).all(|choice| self.has_ended(choice))
    }

    fn object(&self, kind: &str, choices: Vec<Value>) -> Value {
        let Served { name, created, .. } = &*self.served;
        json!({
            "id": self.id, "object": kind, "created": created, "model": name, "choices": choices,
        })
    }

    fn usage(&self) -> Value {
        let prompt: usize = self.ask.prompts.iter().map(Vec::len).sum();
        let (written, all) = (self.written, self.written + prompt);
        json!({"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": all})
    }

    /// All of it.
    pub fn whole(mut self) -> Value {
        let choices = (0..self.choices.len()).map(|i| {
            let Piece { text, logprobs, finish } = self.piece(i);
            if self.ask.is_chat {
                let message = json!({"role": "assistant", "content": text, "refusal": null});
                json!({"index": i, "message": message, "logprobs": logprobs, "finish_reason": finish})
            } else {
                json!({"index": i, "text": text, "logprobs": logprobs, "finish_reason": finish})
            }
        });
        let choices = choices.collect();
        let kind = if self.ask.is_chat { "chat.completion" } else { "text_completion" };
        let mut all = self.object(kind, choices);
        all["usage"] = self.usage();
        all
    }

    /// What a stream begins with.
    pub fn beginning(&self) -> Vec<Value> {
        if !self.ask.is_chat {
            return Vec::new();
        }
        let begin = |i| {
            let delta = json!({"role": "assistant", "content": ""});
            self.chunk(json!({"index": i, "delta": delta, "logprobs": null, "finish_reason": null}))
        };
        (0..self.choices.len()).map(begin).collect()
    }

    /// What is new of a text, if anything is.
    pub fn news(&mut self, choice: usize) -> Option<Value> {
        let text = &self.choices[choice];
        if text.text.is_empty() && text.scored.is_empty() && text.finish.is_none() {
            return None;
        }
        let Piece { text, logprobs, finish } = self.piece(choice);
        let news = if self.ask.is_chat {
            let delta = if text.is_empty() { json!({}) } else { json!({"content": text}) };
            json!({"index": choice, "delta": delta, "logprobs": logprobs, "finish_reason": finish})
        } else {
            json!({"index": choice, "text": text, "logprobs": logprobs, "finish_reason": finish})
        };
        Some(self.chunk(news))
    }

    fn chunk(&self, choice: Value) -> Value {
        let kind = if self.ask.is_chat { "chat.completion.chunk" } else { "text_completion" };
        let mut chunk = self.object(kind, vec![choice]);
        if self.ask.usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    /// What a stream ends with.
    pub fn ending(&self) -> Option<Value> {
        self.ask.usage.then(|| {
            let mut last = self.chunk(Value::Null);
            last["choices"] = json!([]);
            last["usage"] = self.usage();
            last
        })
    }

    /// A text's part that was not told, with its log-probabilities and its end.
    fn piece(&mut self, choice: usize) -> Piece {
        let piece = &mut self.choices[choice];
        let (text, scored, begin) = (take(&mut piece.text), take(&mut piece.scored), piece.offset);
        let logprobs = match self.ask.logprobs {
            None => Value::Null,
            Some(_) if self.ask.is_chat => self.served.of_chat(&scored),
            Some(_) => {
                let (logprobs, offset) = self.served.of_completion(&scored, begin);
                self.choices[choice].offset = offset;
                logprobs
            }
        };
        let finish = self.choices[choice].finish.map(|finish| match finish {
            Finish::Stop => "stop",
            Finish::Length => "length",
        });
        Piece { text, logprobs, finish }
    }
}

struct Piece {
    text: String,
    logprobs: Value,
    finish: Option<&'static str>,
}

impl Text {
    /// Makes text of bytes that are characters; at the end, of all.
    fn close(&mut self) {
        let open = match self.open.utf8_chunks().last() {
            // Only what may yet become a character is kept: its beginning, at the end.
            Some(last) if self.finish.is_none() && may_go_on(last.invalid()) => {
                last.invalid().len()
            }
            _ => 0,
        };
        let rest = self.open.split_off(self.open.len() - open);
        self.text.push_str(&String::from_utf8_lossy(&self.open));
        self.open = rest;
    }
}

/// Whether bytes are the beginning of a character.
fn may_go_on(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
}

impl Served {
    fn of_chat(&self, scored: &[Scored]) -> Value {
        let token = |token, logprob: Option<f64>| {
            let bytes = self.tokenizer.bytes_of(token);
            json!({"token": self.shown(token), "logprob": logprob, "bytes": bytes})
        };
        let entries = scored.iter().map(|scored| {
            let mut entry = token(scored.token, scored.logprob);
            entry["top_logprobs"] = scored.top.iter().map(|&(t, p)| token(t, Some(p))).collect();
            entry
        });
        json!({"content": entries.collect::<Vec<_>>(), "refusal": null})
    }

    /// The lists of the older API, and where the text goes on.
    fn of_completion(&self, scored: &[Scored], begin: usize) -> (Value, usize) {
        let (mut offset, mut offsets) = (begin, Vec::new());
        let shown: Vec<String> = scored.iter().map(|scored| self.shown(scored.token)).collect();
        for text in &shown {
            offsets.push(offset);
            offset += text.chars().count();
        }
        let top = scored.iter().map(|scored| match scored.logprob {
            None => Value::Null,
            Some(_) => {
                let mut all = Map::new();
                // Two tokens may be shown alike: the likelier one stands.
                for &(token, logprob) in &scored.top {
                    all.entry(self.shown(token)).or_insert_with(|| json!(logprob));
                }
                Value::Object(all)
            }
        });
        let logprobs = json!({
            "tokens": shown,
            "token_logprobs": scored.iter().map(|scored| scored.logprob).collect::<Vec<_>>(),
            "top_logprobs": top.collect::<Vec<_>>(),
            "text_offset": offsets,
        });
        (logprobs, offset)
    }
}
