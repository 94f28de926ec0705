//! `inspect lens`.

use super::super::loaded::loaded;
use crate::args::InspectLensArgs;
use crate::console::{json_line, print, room, show};
use crate::error::Result;
use crate::generation::shown;
use crate::messages::{Tell, said};
use crate::program::Program;
use llm_core::message;
use llm_lens::{SaidThere, logit_lens};
use llm_messages::table::{Column, table};
use serde_json::json;

/// Tokens shown when nothing is said.
const LAST: usize = 24;

/// Reads the prompt and shows what would be said after each block.
pub(super) fn lens(program: &Program, args: &InspectLensArgs) -> Result<()> {
    let (_, loaded) = loaded(program, &args.load, &args.apart, &args.output)?;
    let tokens = super::attention::prompt(&loaded, &args.prompt)?;
    let layers = logit_lens(&loaded.run.model, &tokens)?;
    let tokenizer = loaded.tokenizer.as_ref();
    if args.json || args.output.json() {
        let there = |there: &SaidThere| {
            let text = shown(tokenizer, there.token);
            json!({ "token": there.token, "text": text, "p": there.p, "next": there.next })
        };
        let of = |layer: &Vec<SaidThere>| layer.iter().map(there).collect::<Vec<_>>();
        let layers: Vec<_> = layers.iter().map(of).collect();
        return print(json_line(&json!({ "event": "lens", "tokens": tokens, "layers": layers })));
    }
    let first = tokens.len() - args.last.map_or(LAST, |n| n as usize).min(tokens.len());
    let heading = |layer: usize| match layer {
        0 => said(message!("before block 0")),
        _ => said(message!("behind block {}", layer - 1)),
    };
    let mut rows = vec![vec![said("token")]];
    rows[0].extend((0..layers.len()).map(heading));
    for (i, token) in tokens.iter().enumerate().skip(first) {
        let there = layers.iter().map(|layer| {
            let SaidThere { token, p, .. } = layer[i];
            format!("{} {:.0}%", shown(tokenizer, token), 100.0 * p)
        });
        rows.push(std::iter::once(shown(tokenizer, *token)).chain(there).collect());
    }
    let mut columns = vec![Column::left(0, 8)];
    columns.resize(rows[0].len(), Column::left(2, 14));
    let mut text = table(&columns, &rows, room());
    text.tell(
        "\nWhat would come next if the model ended there: the stream through the final norm and the output \
         head.\n",
    );
    show(&text)
}
