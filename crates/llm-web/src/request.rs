//! What can be asked, as it stands in JSON.

use crate::failure::{Code, Failure, Result, shown};
use llm_core::base::Message;
use llm_core::message;
use llm_core::settings::Value as Setting;
use llm_run::options::Options;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A request before its fields are read.
#[derive(Debug)]
pub struct Request {
    /// What is to be done.
    pub name: String,
    /// With which run.
    pub run: u32,
    fields: Map<String, Value>,
}

impl Request {
    /// The request of an object `{"do": NAME, "run": N, ...}`; without a number the run is 0.
    ///
    /// # Errors
    /// [`Code::Request`] for what is no such object.
    pub fn parse(json: &[u8]) -> Result<Request> {
        let no_request = |e: Message| Failure::new(Code::Request, message!("no request: {}", e));
        let mut fields: Map<String, Value> =
            serde_json::from_slice(json).map_err(|e| no_request(e.to_string().into()))?;
        let name = fields.remove("do").and_then(|name| name.as_str().map(String::from));
        let name = name.ok_or_else(|| no_request(message!("its field 'do' is no name")))?;
        let run = fields.remove("run").unwrap_or_else(|| 0.into());
        let run = run.as_u64().and_then(|run| u32::try_from(run).ok());
        let run = run.ok_or_else(|| no_request(message!("its field 'run' is no number")))?;
        Ok(Request { name, run, fields })
    }

    /// The other fields of the request.
    ///
    /// # Errors
    /// [`Code::Request`] for a field that such a request does not have, or of another type.
    pub fn fields<T: DeserializeOwned>(self) -> Result<T> {
        serde_json::from_value(Value::Object(self.fields)).map_err(|e| {
            let name = self.name.escape_default();
            Failure::new(Code::Request, message!("no request '{}': {}", name, e.to_string()))
        })
    }
}

/// `make`: a new run. What is left out is as the trainers have it. A test holds the two against each
/// other: the same bytes of a checkpoint.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Make {
    /// `stories`, or `text`: the blob, UTF-8.
    pub data: Source,
    /// What to call the text.
    pub name: String,
    /// H.
    pub heads: Option<usize>,
    /// L.
    pub layers: Option<usize>,
    /// C.
    pub width: Option<usize>,
    /// T.
    pub window: Option<usize>,
    /// B.
    pub batch: Option<usize>,
    /// The highest learning rate.
    pub rate: Option<f32>,
    /// Steps in all.
    pub steps: Option<u64>,
    /// Seed of weights and batches.
    pub seed: Option<u64>,
}

impl Make {
    /// The options of such a run.
    pub fn options(&self) -> Options {
        let whole = |n: Option<usize>| n.map(|n| Setting::Whole(n as u64));
        let given = [
            ("heads", whole(self.heads)),
            ("layers", whole(self.layers)),
            ("dmodel", whole(self.width)),
            ("seq", whole(self.window)),
            ("batch", whole(self.batch)),
            ("lr", self.rate.map(Setting::Float)),
            ("steps", self.steps.map(Setting::Whole)),
            ("seed", self.seed.map(Setting::Whole)),
        ];
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let data = match self.data {
            Source::Stories => Vec::new(),
            Source::Text => vec![shown(&self.name).into()],
        };
        Options { given, data, ..Options::default() }
    }
}

/// What a run learns from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The built-in stories.
    #[default]
    Stories,
    /// The user's text.
    Text,
}

/// `step`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// How many; nothing: 1.
    pub n: Option<u64>,
}

/// `batch`: of a step that a GPU makes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Which, from 0.
    pub step: u64,
    /// Which of its micro-batches.
    #[serde(default)]
    pub micro: u32,
}

/// `back`: the blob is what a GPU has made of the weights.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Back {
    /// Steps done.
    pub step: u64,
}

/// `more`: steps beyond the end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct More {
    /// How many.
    pub steps: u64,
}

/// `measure`: of unseen text.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Measure {
    /// Most tokens, evenly spread; 0: all; nothing: as during training.
    pub tokens: Option<usize>,
    /// Most windows in this call; 0: all.
    pub slice: usize,
}

/// `write`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Write {
    /// What it begins with; nothing: as an unseen story begins, or a line's end.
    pub prompt: Option<String>,
    /// How many; nothing: as the trainers.
    pub tokens: Option<usize>,
    /// Divides the logits; 0: the most likely token; nothing: as the trainers.
    pub temperature: Option<f32>,
    /// Only the k most likely; 0: all.
    pub top_k: usize,
    /// Seed of the draws; nothing: the run's.
    pub seed: Option<u64>,
}

/// `attention`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Attention {
    /// What is read.
    pub text: String,
    /// A remembered moment; nothing: now.
    pub moment: Option<u64>,
}

/// `next`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Next {
    /// What is read.
    pub text: String,
    /// What may follow: of each, the first token is looked at.
    pub choices: Vec<String>,
    /// A remembered moment; nothing: now.
    pub moment: Option<u64>,
}

/// `embedding`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Embedding {
    /// Token whose neighbours are looked for; nothing, or one that is not shown: the most frequent.
    pub token: Option<u32>,
    /// Text whose tokens are shown where the run has no data.
    pub text: String,
    /// A remembered moment; nothing: now.
    pub moment: Option<u64>,
}

/// `hidden`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hidden {
    /// What is read.
    pub text: String,
    /// Nothing: the last.
    pub layer: Option<usize>,
    /// The place in what is read; nothing: the last.
    pub token: Option<usize>,
    /// Nothing: the one that fires most at that token.
    pub unit: Option<usize>,
    /// A remembered moment; nothing: now.
    pub moment: Option<u64>,
}

/// `twins`, and `patch`, which has all fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pairing {
    /// The kind of facts; nothing: the other person.
    pub kind: Option<String>,
    /// Number of the pair, from 0.
    pub pair: u64,
    /// The story that gets something.
    pub into: Side,
    /// What it gets from the other one.
    pub moved: Vec<Moved>,
    /// Where that stands in it.
    pub at: Place,
    /// A remembered moment; nothing: now.
    pub moment: Option<u64>,
}

/// One of two stories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first.
    #[default]
    Story,
    /// The one that differs from it in a word.
    Twin,
}

/// Positions of a story.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// The last, from which the answer is said.
    #[default]
    Last,
    /// All positions.
    All,
}

/// A part of the model.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// Number of the block, from 0.
    pub layer: usize,
    /// Number of the head; nothing: the MLP.
    pub head: Option<usize>,
}

/// `lens`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Lens {
    /// What is read.
    pub text: String,
    /// How many of its last tokens are looked at; nothing: 24.
    pub last: Option<usize>,
    /// A remembered moment; nothing: now.
    pub moment: Option<u64>,
}

/// `roles`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Roles {
    /// A remembered moment; nothing: now.
    pub moment: Option<u64>,
    /// Most tokens that are measured; nothing: 16,384.
    pub tokens: Option<usize>,
}

/// `forget`: a remembered moment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// Step of the moment.
    pub moment: u64,
}

/// `save`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Save {
    /// With the optimizer's state, so that training goes on exactly; nothing: true.
    pub optimizer: Option<bool>,
}

/// `load`: the blob is a checkpoint.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// What to call it.
    pub name: String,
}

/// `text`: the blob is what the run learns from.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Text {
    /// What to call it.
    pub name: String,
    /// Whether the text may differ from the one before.
    pub change: bool,
}

/// `list`, `weights`, `remember`, `moments`, `describe`, `drop` have no fields.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}
