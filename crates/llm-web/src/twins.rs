//! Two stories that are alike but for one word, what becomes of their answers when parts of the model
//! change places, and what would be said after each block.

use crate::failure::{Code, Failure, Result};
use crate::inside::read;
use crate::look::piece;
use crate::request::{Lens, Moved, Pairing, Place, Side};
use crate::run::Run;
use llm_core::generate::{Generator, Sampling};
use llm_core::model::Site;
use llm_core::recipe::DataSource;
use llm_core::tokenizer::Tokenizer;
use llm_core::{TinyGPT, TokenId, message};
use llm_lens::{Inside, Pair, Patch, Patches, Reading, With, head_columns, logit_lens, values};
use llm_run::data::twin_pairs;
use llm_stories::FactKind;
use serde_json::{Value, json};

/// Most tokens of a word that is written. A pair leaves room for them, so that no window slides away
/// from the positions that are replaced.
const LONGEST_WORD: usize = 12;
/// Stories from one pair to the next, as many as are looked through for one.
const APART: u64 = 40;
/// Positions of the lens when nothing is said.
const SEEN: usize = 24;

/// A pair of unseen stories up to a fact, and how the model goes on in both.
///
/// # Errors
/// [`Code::Data`] for a run that has learned something else, or whose window no such pair fits;
/// [`Code::Setting`] for a kind of facts that there is not; [`Code::Memory`].
pub fn twins(run: &Run, ask: &Pairing) -> Result<Value> {
    let (model, tokenizer) = (run.model(ask.moment)?, run.tokenizer.as_ref());
    let (kind, pair) = pair_of(run, model, ask)?;
    let pieces = |tokens: &[TokenId]| {
        tokens.iter().map(|&token| piece(tokenizer, token)).collect::<Vec<_>>()
    };
    let reading = Reading::new(model, &pair)?;
    Ok(json!({
        "kind": kind.name(),
        "texts": [pieces(&pair.clean), pieces(&pair.other)],
        "changed": pair.changed(),
        "right": pieces(&pair.answers),
        "knows": reading.is_right(),
        "says": [
            said(model, tokenizer, &pair.clean, None)?.1,
            said(model, tokenizer, &pair.other, None)?.1,
        ],
        "layers": model.config().n_layers,
        "heads": model.attention().spec().n_heads,
    }))
}

/// How the model goes on in one story of a pair when parts of it give what they gave in the other.
/// `carried` is the share of the difference of both answers' scores that came with them.
///
/// # Errors
/// As [`twins`]; [`Code::Setting`] naming a layer or a head that the model does not have.
pub fn patch(run: &Run, ask: &Pairing) -> Result<Value> {
    let (model, tokenizer) = (run.model(ask.moment)?, run.tokenizer.as_ref());
    let (_, mut pair) = pair_of(run, model, ask)?;
    if ask.into == Side::Twin {
        std::mem::swap(&mut pair.clean, &mut pair.other);
        pair.answers.reverse();
    }
    let [own, other] = Reading::new(model, &pair)?.differences();
    let from = values(model, &pair.other)?;
    let last = pair.clean.len() - 1;
    let positions = if ask.at == Place::All { 0..last + 1 } else { last..last + 1 };
    let put = |moved| put(model, moved, &from, positions.clone().collect());
    let list = ask.moved.iter().map(put).collect::<Result<Vec<_>>>()?;
    let patches = Patches::new(model, vec![list])?;
    let (scores, mut says) = said(model, tokenizer, &pair.clean, Some(&patches))?;
    let [mine, its] = pair.answers.map(|token| f64::from(scores[token as usize]));
    // A model that has learned nothing may have the same scores for both: then this is no number, and null.
    says["carried"] = json!((own - (mine - its)) / (own - other));
    Ok(says)
}

/// What would be said at the last positions of a text if the model ended before its first block,
/// after its first, and so on to the last.
///
/// # Errors
/// [`Code::Text`] for a text that the model cannot read, [`Code::Memory`].
pub fn lens(run: &Run, ask: &Lens) -> Result<Value> {
    let (model, tokenizer) = (run.model(ask.moment)?, run.tokenizer.as_ref());
    let (from, tokens) = read(model, tokenizer, &ask.text)?;
    let first = tokens.len().saturating_sub(ask.last.unwrap_or(SEEN));
    let rows = logit_lens(model, &tokens)?.into_iter().map(|row| {
        let seen = row.into_iter().skip(first);
        let seen = seen.map(
            |of| json!({ "token": of.token, "piece": piece(tokenizer, of.token), "share": of.p }),
        );
        seen.collect::<Vec<_>>()
    });
    Ok(json!({
        "tokens": tokens[first..].iter().map(|&token| piece(tokenizer, token)).collect::<Vec<_>>(),
        "from": from + first,
        "rows": rows.collect::<Vec<_>>(),
    }))
}

/// The pair that is asked for, of the stories after the last one that the run has.
fn pair_of(run: &Run, model: &TinyGPT, ask: &Pairing) -> Result<(FactKind, Pair)> {
    let DataSource::Stories { seed, count, .. } = run.trainer.recipe.data else {
        let why = message!("twins are built-in stories, and this run has not learned them");
        return Err(Failure::new(Code::Data, why));
    };
    let kind = match &ask.kind {
        None => Some(FactKind::OtherPerson),
        Some(name) => FactKind::ALL.into_iter().find(|kind| kind.name() == name),
    };
    let Some(kind) = kind else {
        let name = ask.kind.as_deref().unwrap_or_default().escape_debug();
        let why = message!("no facts of kind '{}'; kinds are {}", name, FactKind::NAMES);
        return Err(Failure::new(Code::Setting, why));
    };
    let room = model.config().seq_len.saturating_sub(LONGEST_WORD);
    let from = count.saturating_add(ask.pair.saturating_mul(APART));
    let pair = twin_pairs((seed, from), kind, run.tokenizer.as_ref(), room, 1).pop();
    let none = || {
        let why = message!(
            "no pair {} of kind '{}' fits into this model's window",
            ask.pair,
            kind.name()
        );
        Failure::new(Code::Data, why)
    };
    Ok((kind, pair.ok_or_else(none)?))
}

/// The patch for a part that gives what it gave in another text.
fn put<'a>(
    model: &TinyGPT,
    moved: &Moved,
    from: &'a Inside,
    positions: Vec<usize>,
) -> Result<Patch<'a>> {
    let Moved { layer, head } = *moved;
    let refused = |why| Err(Failure::new(Code::Setting, why));
    let Some(block) = from.blocks.get(layer) else {
        return refused(message!("this model has no layer {}", layer));
    };
    let site = if head.is_some() { Site::Heads } else { Site::Mlp };
    if let Some(head) = head.filter(|head| *head >= model.attention().spec().n_heads) {
        return refused(message!("layer {} of this model has no head {}", layer, head));
    }
    let columns = head.map(|head| head_columns(model, head));
    Ok(Patch { layer, site, columns, positions, with: With::Run(block.at(site).view()) })
}

/// The scores of what comes next; the likeliest of it, its share, and the word that is written on
/// from there, always the likeliest.
fn said(
    model: &TinyGPT,
    tokenizer: &dyn Tokenizer,
    text: &[TokenId],
    patches: Option<&Patches<'_>>,
) -> Result<(Vec<f32>, Value)> {
    let mut generator = Generator::new(model, text, Sampling::greedy(), 1)?;
    if let Some(patches) = patches {
        generator = generator.with_probe(patches);
    }
    let scores = generator.logits()?.to_vec();
    let first = generator.next_token()?;
    let letter = |token| tokenizer.bytes_of(token).first().is_some_and(u8::is_ascii_alphabetic);
    let mut word = piece(tokenizer, first.token);
    let mut last = first.token;
    for _ in 1..LONGEST_WORD {
        if letter(last) {
            last = generator.next_token()?.token;
        }
        if letter(last) {
            word.push_str(&piece(tokenizer, last));
        }
    }
    let (token, share) = (first.token, f64::from(first.logprob).exp());
    Ok((
        scores,
        json!({ "token": token, "piece": piece(tokenizer, token), "share": share, "word": word }),
    ))
}
