//! What is asked for: completions and answers, with the defaults of OpenAI's API.

use crate::error::{Refusal, Res, expected};
use crate::fields::{Fields, UNKNOWN, read};
use crate::model::Served;
use llm_core::TokenId;
use llm_core::generate::{Sampling, Stops};
use llm_formats::chat::Turn;
use serde_json::{Value, json};
use std::hash::{BuildHasher, RandomState};

/// Most texts of a request.
const CHOICES: usize = 64;
/// Most stop texts, and most bytes of each.
const STOPS: [usize; 2] = [16, 256];
/// Bounds of the number of a token's alternatives.
const TOP: [usize; 2] = [0, 20];

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
            let mut ask = Ask::common(fields, served)?;
            ask.prompts = prompts(fields.take("prompt"), served)?;
            ask.most = fields.whole("max_tokens", [0, usize::MAX])?.unwrap_or(16);
            ask.logprobs = fields.whole("logprobs", TOP)?;
            ask.echo = fields.flag("echo")?;
            fields.usual("suffix", &[json!("")]);
            fields.usual("best_of", &[json!(1)]);
            ask.checked(served)
        })
    }

    /// `POST /v1/chat/completions`.
    pub fn chat(body: &[u8], served: &Served) -> Res<Ask> {
        read(body, |fields| {
            let common = Ask::common(fields, served)?;
            let stops = common.stops.and(served.end());
            let mut ask = Ask { stops, is_chat: true, ..common };
            ask.prompts = vec![served.question(&turns(fields.take("messages"))?)?];
            let any = [1, usize::MAX];
            let newer = fields.whole("max_completion_tokens", any)?;
            ask.most = fields.whole("max_tokens", any)?.or(newer).unwrap_or(usize::MAX);
            let top = fields.whole("top_logprobs", TOP)?.unwrap_or(0);
            ask.logprobs = fields.flag("logprobs")?.then_some(top);
            if top > 0 && ask.logprobs.is_none() {
                return Err(expected("top_logprobs", "'logprobs': true beside it"));
            }
            fields.usual("tools", &[json!([])]);
            fields.usual("tool_choice", &[json!("none"), json!("auto")]);
            fields.usual("response_format", &[json!({"type": "text"})]);
            fields.usual("modalities", &[json!(["text"])]);
            ask.checked(served)
        })
    }

    /// What both have.
    fn common(fields: &mut Fields, served: &Served) -> Res<Ask> {
        if fields.text("model")?.is_some_and(|name| name != served.name) {
            let why = format!("there is no such model here, there is '{}'", served.name);
            let refusal = Refusal::field("model", &why).coded("model_not_found");
            return Err(Refusal { status: 404, ..refusal });
        }
        fields.text("user")?; // for their statistics
        for name in ["presence_penalty", "frequency_penalty"] {
            fields.usual(name, &[json!(0), json!(0.0)]);
        }
        for name in ["logit_bias", "metadata"] {
            fields.usual(name, &[json!({})]);
        }
        fields.usual("store", &[json!(false)]);
        let stream = fields.flag("stream")?;
        let with_usage = |value: &Value| {
            let obfuscation = ["include_usage", "include_obfuscation"];
            let known = value.as_object()?.keys().all(|name| obfuscation.contains(&&**name));
            (stream && known).then(|| value["include_usage"] == true)
        };
        let what = "'include_usage', with 'stream': true beside it";
        let seed = |value: &Value| value.as_u64().or(value.as_i64().map(|seed| seed as u64));
        let seed = fields.get("seed", "a whole number", seed)?;
        let plain = Sampling::default();
        let sampling = Sampling {
            seed: seed.unwrap_or_else(|| RandomState::new().hash_one(0)),
            temperature: fields.number("temperature")?.unwrap_or(plain.temperature),
            top_p: fields.number("top_p")?.unwrap_or(plain.top_p),
            top_k: fields.whole("top_k", [0, usize::MAX])?.unwrap_or(plain.top_k),
            min_p: fields.number("min_p")?.unwrap_or(plain.min_p),
            ..plain
        };
        sampling.check().map_err(Refusal::of_model)?;
        Ok(Ask {
            prompts: Vec::new(),
            n: fields.whole("n", [1, CHOICES])?.unwrap_or(1),
            most: 0,
            sampling,
            stops: stops(fields.take("stop"))?,
            echo: false,
            logprobs: None,
            stream,
            usage: fields.get("stream_options", what, with_usage)?.unwrap_or(false),
            is_chat: false,
        })
    }

    fn checked(self, served: &Served) -> Res<Ask> {
        if self.choices() > CHOICES {
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
    let wrong = || expected("prompt", &format!("a text, tokens, or 1 to {CHOICES} of either"));
    let one = |value: &Value| match value {
        Value::String(text) => served.tokens(text),
        Value::Array(_) => tokens(value, served).ok_or_else(wrong),
        _ => Err(wrong()),
    };
    match value.as_ref().ok_or_else(wrong)? {
        Value::Array(list) if !list.first().is_some_and(Value::is_number) => {
            let fits = (1..=CHOICES).contains(&list.len());
            if fits { list.iter().map(one).collect() } else { Err(wrong()) }
        }
        value => Ok(vec![one(value)?]),
    }
}

/// The numbers of tokens in a list.
pub fn tokens(value: &Value, served: &Served) -> Option<Vec<TokenId>> {
    let known = |token: &u64| *token < served.tokenizer.vocab_size() as u64;
    let number = |value: &Value| value.as_u64().filter(known).map(|token| token as TokenId);
    value.as_array()?.iter().map(number).collect()
}

fn stops(value: Option<Value>) -> Res<Stops> {
    let [most, bytes] = STOPS;
    let texts = match value {
        None => Vec::new(),
        Some(Value::Array(texts)) => texts,
        Some(text) => vec![text],
    };
    let text = |text: &Value| {
        let text = text.as_str().filter(|text| (1..=bytes).contains(&text.len()));
        text.map(|text| text.as_bytes().to_vec())
    };
    let all: Option<Vec<_>> = texts.iter().map(text).collect();
    let all = all.filter(|all| all.len() <= most).map(Stops::new);
    all.ok_or_else(|| expected("stop", &format!("at most {most} texts of 1 to {bytes} bytes")))
}

/// Messages of a conversation.
pub fn turns(value: Option<Value>) -> Res<Vec<Turn>> {
    match value {
        Some(Value::Array(messages)) if !messages.is_empty() => messages.iter().map(turn).collect(),
        _ => Err(expected("messages", "a list of messages")),
    }
}

fn turn(message: &Value) -> Res<Turn> {
    let wrong = |what: &str| expected("messages", what);
    let role = match message["role"].as_str() {
        Some("system" | "developer") => "system",
        Some("user") => "user",
        Some("assistant") => "assistant",
        _ => return Err(wrong("a 'role' of system, user or assistant")),
    };
    let part = |part: &Value| {
        (part["type"] == "text").then(|| part["text"].as_str()).flatten().map(String::from)
    };
    let text = match &message["content"] {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => parts.iter().map(part).collect(),
        _ => None,
    };
    // lm-evaluation-harness says of each message that it is a text.
    let known = |(name, value): (&String, &Value)| {
        ["role", "content"].contains(&&**name)
            || value.is_null()
            || name == "type" && *value == "text"
    };
    if let Some((name, _)) =
        message.as_object().and_then(|all| all.iter().find(|field| !known(*field)))
    {
        let name: String = name.chars().take(64).collect();
        return Err(wrong(&format!("no '{name}' in a message; {UNKNOWN}")));
    }
    Ok(Turn::new(
        role,
        text.ok_or_else(|| wrong("a text as 'content', or parts of the type 'text'"))?,
    ))
}
