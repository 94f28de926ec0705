//! Heads that are switched off: what changes, what does not, and what finds out.

use llm_core::data::Windows;
use llm_core::generate::Decoder;
use llm_core::tokenizer::ByteTokenizer;
use llm_core::train::evaluate;
use llm_core::{AttentionSpec, Config, Error, Result, TinyGPT, TokenDataset};
use llm_lens::{Piece, Pruner, Score, attention_maps, head_mask, measure_heads, with_head_mask};
use llm_variant_mha::MultiHead;
use std::ops::ControlFlow;
use std::sync::Arc;

const HEADS: usize = 4;
const WIDTH: usize = 16;

fn model() -> TinyGPT {
    let config = Config::new(256, 32, WIDTH, 2);
    TinyGPT::with_attention(config, Arc::new(MultiHead::new(HEADS)), 5).unwrap()
}

fn text() -> Vec<u8> {
    b"the cat sat on the mat, and the dog sat on the cat. ".repeat(8)
}

fn loss(model: &TinyGPT) -> Result<Score> {
    let data = TokenDataset::from_bytes(text());
    let windows = Windows::consecutive(data.len(), 32);
    let all = evaluate(model, &data, &windows, 4, |_| ControlFlow::Continue(()))?;
    Ok(Score { loss: all.loss, details: () })
}

fn from_spec(spec: &AttentionSpec) -> Result<Arc<dyn llm_core::Attention>> {
    Ok(Arc::new(MultiHead::from_spec(spec)?))
}

/// Nothing of this head reaches the stream: its rows of the output projection are 0.
fn silence(model: &mut TinyGPT, layer: usize, head: usize) {
    let rows = WIDTH / HEADS * WIDTH;
    let w_proj = model.blocks[layer].attention.get_mut("w_proj").unwrap();
    w_proj.data_mut()[head * rows..(head + 1) * rows].fill(0.0);
}

#[test]
fn a_head_that_nobody_hears_is_not_missed_and_goes_first() {
    let mut model = model();
    silence(&mut model, 1, 2);
    let mut pruner = Pruner::new(&model, &from_spec, loss);
    let mask = head_mask(&model);
    assert_eq!(mask, [true; 2 * HEADS]);
    let whole = pruner.score(&mask).unwrap().loss;
    let alone = pruner.each_alone(&mask).unwrap();
    assert_eq!(alone.len(), 2 * HEADS);
    for s in &alone {
        let unheard = (s.head.layer, s.head.head) == (1, 2);
        assert_eq!(s.score.loss == whole, unheard, "{s:?} {whole}");
    }
    // One that makes the model worse is what goes before it.
    let better = alone.iter().filter(|s| s.score.loss < whole).count();
    let mut order = Vec::new();
    let greedy =
        pruner.greedy(&alone, 2 * HEADS, |s| order.push((s.head.layer, s.head.head))).unwrap();
    assert_eq!(greedy.len(), 2 * HEADS);
    assert!(greedy[0].score.loss <= whole);
    assert!(better > 0 || order[0] == (1, 2), "{order:?}");
    let mut all = order.clone();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 2 * HEADS);
}

/// Each stage takes the least loss of all heads that are left, with those before it off.
#[test]
fn the_greedy_order_measures_anew_each_time() {
    let model = model();
    let mut pruner = Pruner::new(&model, &from_spec, loss);
    let mut mask = head_mask(&model);
    let alone = pruner.each_alone(&mask).unwrap();
    for s in pruner.greedy(&alone, 3, |_| {}).unwrap() {
        let tried = pruner.each_alone(&mask).unwrap();
        let least = tried.iter().map(|t| t.score.loss).fold(f64::INFINITY, f64::min);
        assert_eq!(s.score.loss, least);
        mask[s.head.layer * HEADS + s.head.head] = false;
        assert_eq!(pruner.score(&mask).unwrap().loss, least);
    }
}

#[test]
fn a_head_that_is_off_is_as_good_as_silent_in_training_order_and_with_the_cache() {
    let mut silent = model();
    silence(&mut silent, 0, 1);
    silence(&mut silent, 1, 3);
    let mut mask = vec![true; 2 * HEADS];
    (mask[1], mask[HEADS + 3]) = (false, false);
    let whole = model();
    let off = with_head_mask(&whole, &mask, &from_spec).unwrap();
    assert_eq!(off.attention().spec().head_mask, mask);
    assert_eq!(off.wte.data().as_ptr(), whole.wte.data().as_ptr());
    let tokens: Vec<u32> = text()[..20].iter().map(|&b| b.into()).collect();
    let [a, b] = [&off, &silent].map(|m| m.logits(&tokens, [1, 20]).unwrap());
    assert_eq!(a.data(), b.data());
    assert_ne!(a.data(), whole.logits(&tokens, [1, 20]).unwrap().data());
    let mut decoder = Decoder::new(&off).unwrap();
    for (i, token) in tokens.iter().enumerate() {
        let logits = decoder.feed(&[*token]).unwrap();
        let want = &a.data()[i * 256..(i + 1) * 256];
        assert!(logits.iter().zip(want).all(|(x, y)| (x - y).abs() < 1e-4), "position {i}");
    }
}

#[test]
fn all_heads_on_is_the_model_itself() {
    let whole = model();
    let mut pruner = Pruner::new(&whole, &from_spec, loss);
    let same = with_head_mask(&whole, &[true; 2 * HEADS], &from_spec).unwrap();
    assert_eq!(same.attention().spec(), whole.attention().spec());
    let short = with_head_mask(&whole, &[true, false], &from_spec);
    assert!(matches!(short, Err(Error::Config { .. })));
    assert!(pruner.score(&[false; 2 * HEADS]).unwrap().loss.is_finite());
}

#[test]
fn every_head_has_a_map_and_a_row() {
    let model = model();
    let tokens: Vec<u32> = text()[..20].iter().map(|&b| b.into()).collect();
    let maps = attention_maps(&model, &tokens, 64).unwrap();
    assert_eq!(maps.layers.iter().map(Vec::len).collect::<Vec<_>>(), [HEADS; 2]);
    for row in maps.layers.iter().flatten().flat_map(|map| map.iter().enumerate()) {
        assert!((row.1.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
        assert!(row.1[row.0 + 1..].iter().all(|w| *w == 0.0));
    }
    let mut mask = vec![true; 2 * HEADS];
    mask[5] = false;
    let off = with_head_mask(&model, &mask, &from_spec).unwrap();
    let piece: Result<Piece<'_>> = Ok(Piece { tokens, known: None });
    let report = measure_heads(&off, &ByteTokenizer, std::iter::once(piece), || false).unwrap();
    for (i, row) in report.rows.iter().enumerate() {
        assert_eq!((row.layer, row.head), (i / HEADS, i % HEADS));
        assert_eq!(row.is_off, i == 5, "{row:?}");
    }
}
