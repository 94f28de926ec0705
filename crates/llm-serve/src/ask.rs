//! What is asked for: completions and answers, with the defaults of OpenAI's API.

use crate::error::{Refusal, Res};
use crate::fields::{Fields, expected, read};
use crate::model::Served;
use llm_core::TokenId;
use llm_core::generate::{Sampling, Stops};
use llm_formats::chat::Turn;
use serde_json::{Value, json};
use std::hash::{BuildHasher, RandomState};

/// Most texts of a request.
const CHOICES: usize = 64;
/// Most stop texts, and most bytes of each.
const STOPS: usize = 16;
const STOP_BYTES: usize = 256;
/// Most alternatives of a token.
const TOP: u64 = 20;

/// A request for texts.
pub struct Ask {
    pub prompts: Vec<Vec<TokenId>>,
    /// Texts of each prompt.
    pub n: usize,
    /// Most tokens of a text.
    pub most: usize,
    pub sampling: Sampling,
    pub stops: Stops,
    /// Whether a text begins with its prompt.
    pub echo: bool,
    /// Whether log-probabilities are wanted, and of how many alternatives.
    pub logprobs: Option<usize>,
    pub stream: bool,
    /// Whether a stream ends with the number of tokens.
    pub usage: bool,
    pub is_chat: bool,
}

impl Ask {
    /// `POST /v1/completions`.
    pub fn completion(body: &[u8], served: &Served) -> Res<Ask> {
        read(body, |fields| {
            let prompts = prompts(fields.take("prompt"), served)?;
            let most = fields.whole("max_tokens", 0..=u64::MAX)?.unwrap_or(16);
            let logprobs = fields.whole("logprobs", 0..=TOP)?;
            let echo = fields.flag("echo")?;
            fields.usual(&[("suffix", &[json!("")]), ("best_of", &[json!(1)])]);
            let ask = Ask { prompts, most, logprobs, echo, ..Ask::common(fields, served)? };
            ask.checked(served)
        })
    }

    /// `POST /v1/chat/completions`.
    pub fn chat(body: &[u8], served: &Served) -> Res<Ask> {
        read(body, |fields| {
            let turns = turns(fields.take("messages"))?;
            let prompts = vec![served.question(&turns)?];
            let newer = fields.whole("max_completion_tokens", 1..=u64::MAX)?;
            let most = fields.whole("max_tokens", 1..=u64::MAX)?.or(newer).unwrap_or(usize::MAX);
            let top = fields.whole("top_logprobs", 0..=TOP)?;
            let logprobs = match (fields.flag("logprobs")?, top) {
                (true, top) => Some(top.unwrap_or(0)),
                (false, None | Some(0)) => None,
                (false, Some(_)) => {
                    return Err(expected("top_logprobs", "'logprobs': true beside it"));
                }
            };
            let nothing = [json!([])];
            fields.usual(&[
                ("tools", &nothing),
                ("tool_choice", &[json!("none"), json!("auto")]),
                ("response_format", &[json!({"type": "text"})]),
                ("modalities", &[json!(["text"])]),
            ]);
            let common = Ask::common(fields, served)?;
            let stops = common.stops.and(served.end());
            Ask { prompts, most, logprobs, stops, is_chat: true, ..common }.checked(served)
        })
    }

    /// What both have.
    fn common(fields: &mut Fields, served: &Served) -> Res<Ask> {
        if let Some(name) = fields.text("model")?.filter(|name| *name != served.name) {
            let name: String = name.chars().take(64).collect();
            let message = format!("there is no model '{name}' here, there is '{}'", served.name);
            return Err(Refusal { status: 404, ..Refusal::field("model", message) }
                .coded("model_not_found"));
        }
        fields.text("user")?; // for their statistics
        let zero = [json!(0), json!(0.0)];
        fields.usual(&[
            ("presence_penalty", &zero),
            ("frequency_penalty", &zero),
            ("logit_bias", &[json!({})]),
            ("metadata", &[json!({})]),
            ("store", &[json!(false)]),
        ]);
        let stream = fields.flag("stream")?;
        let usage = match fields.take("stream_options") {
            None => false,
            Some(Value::Object(options)) if stream => {
                let wanted = options.get("include_usage").and_then(Value::as_bool);
                let known = ["include_usage", "include_obfuscation"];
                if let Some(name) = options.keys().find(|name| !known.contains(&name.as_str())) {
                    return Err(expected("stream_options", &format!("no '{name}'")));
                }
                wanted.unwrap_or(false)
            }
            Some(_) => {
                return Err(expected("stream_options", "an object, with 'stream': true beside it"));
            }
        };
        let seed = match fields.take("seed") {
            None => RandomState::new().hash_one(0),
            Some(seed) => seed
                .as_u64()
                .or(seed.as_i64().map(|seed| seed as u64))
                .ok_or_else(|| expected("seed", "a whole number"))?,
        };
        let plain = Sampling { seed, ..Sampling::default() };
        let sampling = Sampling {
            temperature: fields.number("temperature")?.unwrap_or(plain.temperature),
            top_p: fields.number("top_p")?.unwrap_or(plain.top_p),
            top_k: fields.whole("top_k", 0..=u64::MAX)?.unwrap_or(plain.top_k),
            min_p: fields.number("min_p")?.unwrap_or(plain.min_p),
            ..plain
        };
        sampling.check().map_err(Refusal::of_model)?;
        Ok(Ask {
            prompts: Vec::new(),
            n: fields.whole("n", 1..=CHOICES as u64)?.unwrap_or(1),
            most: 0,
            sampling,
            stops: stops(fields.take("stop"))?,
            echo: false,
            logprobs: None,
            stream,
            usage,
            is_chat: false,
        })
    }

    fn checked(self, served: &Served) -> Res<Ask> {
        if self.n * self.prompts.len() > CHOICES {
            return Err(expected("n", &format!("at most {CHOICES} texts of all prompts")));
        }
        self.prompts.iter().try_for_each(|prompt| served.check(prompt, self.most))?;
        Ok(self)
    }

    /// Texts of all prompts.
    pub fn choices(&self) -> usize {
        self.n * self.prompts.len()
    }

    /// Text number `choice`: its prompt, and how it is drawn.
    pub fn choice(&self, choice: usize) -> (&[TokenId], Sampling) {
        let sample = (choice % self.n) as u64;
        (&self.prompts[choice / self.n], Sampling { sample, ..self.sampling.clone() })
    }
}

/// A text, its tokens, or a list of either.
fn prompts(value: Option<Value>, served: &Served) -> Res<Vec<Vec<TokenId>>> {
    let one = |value: &Value| match value {
        Value::String(text) => served.tokens(text),
        Value::Array(tokens) => tokens.iter().map(|token| number(token, served)).collect(),
        _ => Err(expected("prompt", "a text, tokens, or a list of either")),
    };
    match value {
        None => Err(expected("prompt", "a text, tokens, or a list of either")),
        Some(Value::Array(list)) if !list.first().is_some_and(Value::is_number) => {
            let fits = (1..=CHOICES).contains(&list.len());
            if !fits {
                return Err(expected("prompt", &format!("1 to {CHOICES} prompts")));
            }
            list.iter().map(one).collect()
        }
        Some(value) => Ok(vec![one(&value)?]),
    }
}

/// A token's number.
pub fn number(value: &Value, served: &Served) -> Res<TokenId> {
    let most = served.tokenizer.vocab_size() as u64;
    let known = value.as_u64().filter(|&token| token < most).map(|token| token as TokenId);
    known.ok_or_else(|| expected("prompt", &format!("token numbers below {most}")))
}

fn stops(value: Option<Value>) -> Res<Stops> {
    let wrong = || expected("stop", &format!("at most {STOPS} texts of 1 to {STOP_BYTES} bytes"));
    let texts = match value {
        None => Vec::new(),
        Some(Value::Array(texts)) => texts,
        Some(text) => vec![text],
    };
    let bytes = |text: Value| match text {
        Value::String(text) if (1..=STOP_BYTES).contains(&text.len()) => Ok(text.into_bytes()),
        _ => Err(wrong()),
    };
    if texts.len() > STOPS {
        return Err(wrong());
    }
    Ok(Stops::new(texts.into_iter().map(bytes).collect::<Res<Vec<_>>>()?))
}

/// Messages of a conversation.
pub fn turns(value: Option<Value>) -> Res<Vec<Turn>> {
    let Some(Value::Array(messages)) = value.filter(|value| *value != json!([])) else {
        return Err(expected("messages", "a list of messages"));
    };
    messages.into_iter().map(turn).collect()
}

fn turn(message: Value) -> Res<Turn> {
    let Value::Object(mut message) = message else {
        return Err(expected("messages", "objects with 'role' and 'content'"));
    };
    let role = match message.remove("role").as_ref().and_then(Value::as_str) {
        Some("system" | "developer") => "system",
        Some("user") => "user",
        Some("assistant") => "assistant",
        _ => return Err(expected("messages", "the roles system, user and assistant")),
    };
    let text = match message.remove("content") {
        Some(Value::String(text)) => text,
        Some(Value::Array(parts)) => parts.iter().map(part).collect::<Res<String>>()?,
        _ => return Err(expected("messages", "a text as 'content'")),
    };
    // lm-evaluation-harness says of each message that it is a text.
    let usual = |name: &str, value: &Value| value.is_null() || name == "type" && *value == "text";
    if let Some((name, _)) = message.iter().find(|(name, value)| !usual(name, value)) {
        let name: String = name.chars().take(64).collect();
        return Err(Refusal::field(
            "messages",
            format!("'messages': '{name}' is not supported by this server"),
        ));
    }
    Ok(Turn::new(role, text))
}

fn part(part: &Value) -> Res<&str> {
    let is_text = part["type"] == "text";
    let text = part["text"].as_str().filter(|_| is_text);
    text.ok_or_else(|| {
        expected("messages", "parts of the type 'text'; this model reads nothing else")
    })
}
