//! `tokenizer info`.

use super::source::open;
use crate::args::InfoArgs;
use crate::console::{Out, json_line};
use crate::error::{Result, RunError};
use crate::generation::shown;
use crate::messages::{Tell, said};
use llm_core::base::thousands;
use llm_core::tokenizer::Tokenizer;
use llm_core::{TokenId, message};
use llm_run::data::{Input, Reading, one_stdin};
use serde_json::json;

/// Longest tokens that are shown.
const LONGEST: usize = 10;

/// Prints what there is to know.
pub(super) fn info(args: &InfoArgs) -> Result<()> {
    one_stdin(&args.data)?;
    let tokenizer = open(&args.source)?;
    let tokenizer = tokenizer.as_ref();
    let measured = measure(args, tokenizer)?;
    let longest = longest(tokenizer);
    let blob = tokenizer.blob();
    let fingerprint = blake3::hash(&blob).to_hex();
    let mut out = Out::default();
    if args.json || args.output.json() {
        let words = longest.iter().map(|&id| String::from_utf8_lossy(tokenizer.bytes_of(id)));
        let line = json!({
            "kind": tokenizer.name(),
            "vocab_size": tokenizer.vocab_size(),
            "end_of_text": tokenizer.end_of_text(),
            "stored_bytes": blob.len(),
            "blake3": fingerprint.as_str(),
            "longest": words.collect::<Vec<_>>(),
            "data_bytes": measured.map(|m| m.0),
            "data_tokens": measured.map(|m| m.1),
        });
        out.write(json_line(&line).as_bytes());
        return out.finish();
    }
    let mut text = said(message!(
        "tokenizer        {}\ntokens           {}\nstored bytes     {}\nBLAKE3           {}\n",
        tokenizer.name(),
        thousands(tokenizer.vocab_size() as u64),
        thousands(blob.len() as u64),
        fingerprint.as_str()
    ));
    if let Some(end) = tokenizer.end_of_text() {
        text.tell(message!("end of a text    token {}\n", end));
    }
    if let Some((bytes, tokens)) = measured {
        text.tell(message!(
            "bytes per token  {:.3} ({} bytes, {} tokens)\n",
            bytes as f64 / tokens.max(1) as f64,
            thousands(bytes),
            thousands(tokens)
        ));
    }
    text.tell("longest tokens\n");
    for id in longest {
        let (bytes, name) = (tokenizer.bytes_of(id).len(), shown(tokenizer, id));
        text.push_str(&format!("  {id:>7}  {bytes:>3} B  {name}\n"));
    }
    out.show(&text);
    out.finish()
}

/// Bytes and tokens of the data.
fn measure(args: &InfoArgs, tokenizer: &dyn Tokenizer) -> Result<Option<(u64, u64)>> {
    if args.data.is_empty() {
        return Ok(None);
    }
    match Input::files(&args.data, Reading::new(tokenizer.name(), None))? {
        Input::Files(files) => {
            let bytes = files.texts.text().len() as u64;
            Ok(Some((bytes, files.tokens(tokenizer)?.len() as u64)))
        }
        Input::Stories { .. } => Err(RunError::Internal("files that are stories".into())),
    }
}

/// The longest tokens of text, longest first, of equal ones the first.
fn longest(tokenizer: &dyn Tokenizer) -> Vec<TokenId> {
    let of_text = |id: &TokenId| Some(*id) != tokenizer.end_of_text();
    let mut all: Vec<_> = (0..tokenizer.vocab_size() as TokenId).filter(of_text).collect();
    all.sort_by_key(|&id| std::cmp::Reverse(tokenizer.bytes_of(id).len()));
    all.truncate(LONGEST);
    all
}
