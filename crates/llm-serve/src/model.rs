//! What is known of the model without its weights.

use crate::error::{Refusal, Res};
use llm_core::tokenizer::Tokenizer;
use llm_core::{TinyGPT, TokenId};
use llm_formats::chat::{ChatFormat, Turn};
use std::sync::Arc;
use std::time::SystemTime;

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
        let since = SystemTime::UNIX_EPOCH.elapsed();
        let (created, context) = (since.map_or(0, |since| since.as_secs()), model.config().seq_len);
        Arc::new(Served { name: name.into(), context, tokenizer, format, created })
    }

    /// A text's tokens.
    pub fn tokens(&self, text: &str) -> Res<Vec<TokenId>> {
        self.tokenizer.encode(text.as_bytes()).map_err(|e| Refusal::new(400, e.to_string()))
    }

    /// The tokens of a conversation, up to where the next answer begins.
    pub fn question(&self, turns: &[Turn]) -> Res<Vec<TokenId>> {
        let refused = |why: &str| Refusal::field("messages", why);
        let format = self.format.as_ref().map_err(|why| refused(why))?;
        format.question(turns, &*self.tokenizer).map_err(|e| refused(&e.to_string()))
    }

    /// Whether it has a way of talking: where it does not, the page offers to write on.
    pub fn has_template(&self) -> bool {
        self.format.as_ref().is_ok_and(|format| format.template.is_own)
    }

    /// What ends an answer of a conversation.
    pub fn end(&self) -> Vec<u8> {
        self.format.as_ref().map(|format| format.end.clone().into_bytes()).unwrap_or_default()
    }

    /// A token as a text: a part of a character as OpenAI's completions write it.
    pub fn shown(&self, token: TokenId) -> String {
        let bytes = self.tokenizer.bytes_of(token);
        let escaped = || bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
        std::str::from_utf8(bytes).map_or_else(|_| "bytes:".to_string() + &escaped(), String::from)
    }

    /// `Err` unless a prompt leaves room for a token, where `more` are wanted.
    pub fn check(&self, prompt: &[TokenId], more: usize) -> Res<()> {
        match prompt.len() {
            0 => Err(Refusal::field("prompt", "it has no token")),
            n if n + more.min(1) <= self.context => Ok(()),
            n => {
                let why = format!("{n} tokens are too many for the context of {}", self.context);
                Err(Refusal::field("prompt", &why).coded("context_length_exceeded"))
            }
        }
    }
}
