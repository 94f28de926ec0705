//! The maps of a token: what each head of each layer looks at from there.

use crate::ask::{tokens, turns};
use crate::error::{Refusal, Res, expected};
use crate::fields::read;
use crate::model::Served;
use llm_core::model::Probe;
use llm_core::ndarray::ArrayView2;
use llm_core::{TinyGPT, TokenId, no_grad};
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

/// Most numbers of an answer: layers · heads · positions.
const MOST: usize = 1 << 20;

/// A request for maps.
pub struct Look {
    pub tokens: Vec<TokenId>,
    /// The position that looks: from 0, the last one unless another is asked for.
    pub position: usize,
}

impl Look {
    /// `POST /attention`: `tokens`, or a text as `prompt`, or `messages`; behind them an `answer`.
    pub fn read(body: &[u8], served: &Served) -> Res<Look> {
        read(body, |fields| {
            let given = fields.get("tokens", "numbers of tokens", |value| tokens(value, served))?;
            let mut tokens = match (given, fields.text("prompt")?, fields.take("messages")) {
                (Some(tokens), None, None) => tokens,
                (None, Some(text), None) => served.tokens(&text)?,
                (None, None, messages @ Some(_)) => served.question(&turns(messages)?)?,
                _ => return Err(expected("tokens", "tokens, or 'prompt', or 'messages'")),
            };
            tokens.extend(served.tokens(&fields.text("answer")?.unwrap_or_default())?);
            served.check(&tokens, 0)?;
            let last = tokens.len() - 1;
            let position = fields.whole("position", [0, last])?.unwrap_or(last);
            Ok(Look { tokens, position })
        })
    }

    /// Row `position` of P in each layer and head: `maps[layer][head][position]`.
    pub fn answer(&self, model: &TinyGPT, served: &Served) -> Res<Value> {
        let Look { ref tokens, position } = *self;
        let (layers, heads) = (model.config().n_layers, model.attention().spec().n_heads.max(1));
        if layers * heads * (position + 1) > MOST {
            return Err(Refusal::new(400, "there are too many heads to show them all"));
        }
        let rows = Rows { position, heads, rows: Mutex::new(vec![Vec::new(); layers * heads]) };
        no_grad(|| model.forward(&tokens[..=position], [1, position + 1], Some(&rows)))
            .map_err(Refusal::of_model)?;
        let rows = rows.rows.into_inner().unwrap_or_else(PoisonError::into_inner);
        let maps: Vec<_> = rows.chunks(heads).collect();
        let text: Vec<String> = tokens.iter().map(|&token| served.shown(token)).collect();
        Ok(json!({
            "layers": layers, "heads": heads, "position": position, "tokens": tokens, "text": text, "maps": maps,
        }))
    }
}

/// Keeps one row of each head.
struct Rows {
    position: usize,
    heads: usize,
    rows: Mutex<Vec<Vec<f64>>>,
}

impl Probe for Rows {
    fn head(&self, layer: usize, _sequence: usize, head: usize, probs: ArrayView2<'_, f32>) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        // Four digits are more than a picture has.
        let short = |p: &f32| (f64::from(*p) * 1e4).round() / 1e4;
        rows[layer * self.heads + head] = probs.row(self.position).iter().map(short).collect();
    }
}
