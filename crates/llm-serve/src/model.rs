//! What is known of the model without its weights.

use crate::error::{Refusal, Res};
use llm_core::tokenizer::Tokenizer;
use llm_core::{TinyGPT, TokenId};
use llm_formats::chat::{ChatFormat, Turn};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The model as connections know it.
pub struct Served {
    /// For clients.
    pub name: String,
    /// Most tokens of a prompt and an answer.
    pub context: usize,
    pub tokenizer: Arc<dyn Tokenizer>,
    /// How it talks, or why it cannot.
    format: Result<ChatFormat, String>,
    /// When it was opened, in seconds since 1970.
    pub created: u64,
}

impl Served {
    pub fn new(name: &str, model: &TinyGPT, tokenizer: Arc<dyn Tokenizer>) -> Arc<Served> {
        let format = ChatFormat::of(&*tokenizer).map_err(|e| e.to_string());
        let created =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let context = model.config().seq_len;
        Arc::new(Served { name: name.into(), context, tokenizer, format, created })
    }

    /// A text's tokens.
    pub fn tokens(&self, text: &str) -> Res<Vec<TokenId>> {
        self.tokenizer.encode(text.as_bytes()).map_err(|e| Refusal::new(400, e.to_string()))
    }

    /// The tokens of a conversation, up to where the next answer begins.
    pub fn question(&self, turns: &[Turn]) -> Res<Vec<TokenId>> {
        let refused = |why: String| Refusal::field("messages", why);
        let format = self.format.as_ref().map_err(|why| refused(why.clone()))?;
        format.question(turns, &*self.tokenizer).map_err(|e| refused(e.to_string()))
    }

    /// What ends an answer of a conversation.
    pub fn end(&self) -> Vec<u8> {
        self.format.as_ref().map(|format| format.end.clone().into_bytes()).unwrap_or_default()
    }

    /// A token as a text: a part of a character as OpenAI's completions write it.
    pub fn shown(&self, token: TokenId) -> String {
        let bytes = self.tokenizer.bytes_of(token);
        match std::str::from_utf8(bytes) {
            Ok(text) => text.to_string(),
            Err(_) => {
                bytes.iter().fold("bytes:".into(), |text, byte| format!("{text}\\x{byte:02x}"))
            }
        }
    }

    /// `Err` unless a prompt leaves room for a token, where `more` are wanted.
    pub fn check(&self, prompt: &[TokenId], more: usize) -> Res<()> {
        let (n, context) = (prompt.len(), self.context);
        let refused =
            |message: String| Err(Refusal::new(400, message).coded("context_length_exceeded"));
        match n {
            0 => Err(Refusal::field("prompt", "a prompt of no token")),
            _ if n + more.min(1) <= context => Ok(()),
            _ => refused(format!(
                "a prompt of {n} tokens is too long for the model's context of {context}"
            )),
        }
    }
}
