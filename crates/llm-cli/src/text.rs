//! Writing text to standard output as the model makes it.

use crate::args::SamplingArgs;
use crate::console::{Out, Printer, Show, note, safe_text};
use crate::defaults::TextDefaults;
use crate::error::{CliError, Result};
use crate::events::{self, Event};
use crate::signals::Signals;
use llm_core::generate::{Sampling, generate, next_logits};
use llm_core::tokenizer::Tokenizer;
use llm_core::{Error, TinyGPT, TokenId};
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What is to be written.
pub struct Request {
    /// What it begins with.
    pub prompt: Vec<u8>,
    /// The same in tokens.
    tokens: Vec<TokenId>,
    tokenizer: Arc<dyn Tokenizer>,
    /// Number of tokens.
    pub n: usize,
    /// How they are drawn.
    pub sampling: Sampling,
    /// How they are shown.
    pub show: Show,
    /// Number of next tokens in a table; 0: no table.
    pub table: usize,
    /// A table before every token.
    pub table_each: bool,
}

impl Request {
    /// From the flags; `opening` stands in for a prompt that is not given.
    ///
    /// # Errors
    /// [`CliError::Usage`] naming the flag; [`CliError::Data`] naming a character of the prompt
    /// that the model does not know.
    pub fn new(
        args: &SamplingArgs,
        defaults: &TextDefaults,
        tokenizer: &Arc<dyn Tokenizer>,
        seed: u64,
        opening: Option<&str>,
    ) -> Result<Request> {
        let yes = |flag: Option<bool>| flag.unwrap_or(false);
        let given = args.prompt.as_deref().map(bytes_of).filter(|text| !text.is_empty());
        let tokens = match &given {
            Some(text) => tokenizer.encode(text).map_err(unknown_in_prompt)?,
            // A vocabulary without them has a first token at least.
            None => tokenizer.encode(opening.unwrap_or("\n").as_bytes()).unwrap_or(vec![0]),
        };
        let sampling = Sampling {
            temperature: args.temp.unwrap_or(defaults.temperature),
            top_k: args.topk.unwrap_or(0),
            seed,
            allowed: if yes(args.ascii_only) { ascii(tokenizer.as_ref()) } else { Vec::new() },
        };
        if let Err(e) = sampling.check() {
            return Err(CliError::Usage(format!("--{e}")));
        }
        Ok(Request {
            prompt: tokenizer.decode(&tokens)?,
            tokens,
            tokenizer: tokenizer.clone(),
            n: args.n.unwrap_or(defaults.n),
            sampling,
            show: match (yes(args.raw), yes(args.escape_bytes)) {
                (true, _) => Show::Raw,
                (false, true) => Show::Escaped,
                (false, false) => Show::Safe,
            },
            table: args.print_next_top.unwrap_or(if yes(args.print_next_top_each_step) {
                10
            } else {
                0
            }),
            table_each: yes(args.print_next_top_each_step),
        })
    }

    /// Writes the prompt and what follows it; the result is what followed, as bytes.
    ///
    /// With `stream` false nothing is printed.
    ///
    /// # Errors
    /// [`CliError::Signal`] after a signal; what generation refuses.
    pub fn write(
        &self,
        model: &TinyGPT,
        out: &mut Out,
        signals: &Signals,
        stream: bool,
    ) -> Result<Vec<u8>> {
        let tokens = &self.tokens;
        let window = model.config().seq_len;
        if tokens.len() > window {
            note(&format!(
                "the prompt has {} tokens; the model sees the last {window}",
                tokens.len()
            ));
        }
        if self.table > 0 && stream {
            let logits = next_logits(model, tokens)?;
            out.write(self.next_table(&logits)?.as_bytes());
        }
        let mut printer = Printer::new(self.show);
        let mut context = tokens.clone();
        let mut table_error = None;
        if stream {
            out.write(&printer.push(&self.prompt));
        }
        let written = generate(model, tokens, self.n, &self.sampling, |token| {
            if stream {
                out.write(&printer.push(self.tokenizer.bytes_of(token)));
            }
            context.push(token);
            if self.table > 0 && self.table_each && stream {
                let table = next_logits(model, &context).map_err(CliError::from);
                match table.and_then(|logits| self.next_table(&logits)) {
                    Ok(text) => out.write(format!("\n{text}").as_bytes()),
                    Err(e) => table_error = Some(e),
                }
            }
            let stop = signals.pending().is_some() || (stream && out.is_closed());
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if stream {
            out.write(&printer.finish());
            out.write(b"\n");
        }
        table_error.map_or(Ok(()), Err)?;
        signals.check()?;
        Ok(self.tokenizer.decode(&written)?)
    }

    /// The `sample` event of what was written.
    pub fn sample_line(&self, step: u64, written: &[u8]) -> Vec<u8> {
        let (prompt, text) =
            (String::from_utf8_lossy(&self.prompt), String::from_utf8_lossy(written));
        events::line(&Event::Sample { step, prompt: &prompt, text: &text })
    }

    /// The most likely next tokens, after temperature and before top-k or any draw.
    fn next_table(&self, logits: &[f32]) -> Result<String> {
        let all = Sampling { top_k: 0, ..self.sampling.clone() };
        let all = Sampling { temperature: all.temperature.max(f32::MIN_POSITIVE), ..all };
        let mut text =
            format!("Top-{} next tokens (after temperature, before sampling):\n", self.table);
        for (rank, (id, p)) in all.distribution(logits)?.iter().take(self.table).enumerate() {
            let token = shown(self.tokenizer.as_ref(), *id);
            text.push_str(&format!("  {:>2}. id={id:<3} p={p:.6} {token}\n", rank + 1));
        }
        Ok(text)
    }
}

/// A token as one sees it: `'a'`, `'猫'`, `'\n'`, `'\xNN'`.
pub fn shown(tokenizer: &dyn Tokenizer, id: TokenId) -> String {
    match tokenizer.bytes_of(id) {
        [] => format!("#{id}"),
        bytes => {
            let text = safe_text(bytes).replace('\n', "\\n").replace('\t', "\\t");
            format!("'{text}'")
        }
    }
}

/// The tokens that are printable ASCII, tab, line feed and carriage return.
fn ascii(tokenizer: &dyn Tokenizer) -> Vec<bool> {
    let plain = |b: &u8| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let all = 0..tokenizer.vocab_size() as TokenId;
    all.map(|token| tokenizer.bytes_of(token).iter().all(plain)).collect()
}

/// What the vocabulary does not have, as what to do about it.
fn unknown_in_prompt(e: Error) -> CliError {
    match e {
        Error::UnknownUnit { .. } => {
            CliError::Data(format!("--prompt: {e}; the model never saw it, leave it out"))
        }
        other => other.into(),
    }
}

/// The bytes of an argument, whatever they are.
#[cfg(unix)]
fn bytes_of(text: &OsStr) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(text).to_vec()
}

#[cfg(not(unix))]
fn bytes_of(text: &OsStr) -> Vec<u8> {
    text.to_string_lossy().into_owned().into_bytes()
}
