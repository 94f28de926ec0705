//! What a step costs, by its list: no device is needed to count.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use llm_core::listing::{Fact, Input, Listed, listing};
use llm_core::model::{Config, Mode};
use llm_core::optim::{AdamW, Hyperparameters};
use llm_core::{Tensor, TinyGPT, TokenDataset, ops};
use llm_gpu::{Capacity, Cost, Planned};
use llm_variant_mha::MultiHead;
use std::collections::HashMap;
use std::sync::Arc;

/// The plan of a step of a model with four heads.
fn planned(config: Config, rows: usize) -> Planned {
    let [vocab, seq] = [config.vocab_size, config.seq_len];
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(4)), 1).unwrap();
    let text = TokenDataset::from_bytes((0..4 * seq + 1).map(|i| (i % vocab) as u8).collect());
    let batch = text.batch(1, 0, [rows, seq]).unwrap();
    let (loss, list) = listing(|| model.loss(&batch, Mode::Training));
    loss.unwrap();
    let parameters: Vec<_> = model.parameters().collect();
    let optimizer = AdamW::new(Hyperparameters::default()).unwrap();
    Planned::new(&list, &parameters, &optimizer, 1).unwrap()
}

/// Calls of a kernel in a plan.
fn calls(planned: &Planned, entry: &str) -> usize {
    planned.plan.calls.iter().filter(|call| call.kernel.entry == entry).count()
}

/// `bench`'s W1: what follows a product is done by the product's call, and so are sums for biases.
#[test]
fn few_calls_in_a_step() {
    let small = planned(Config::new(65, 64, 128, 4), 12);
    assert!(small.calls() <= 95, "{} calls", small.calls());
    for gone in ["add", "columns"] {
        assert_eq!(calls(&small, gone), 0, "{gone}");
    }
    // Scores and their gradient have one place: of so many numbers there is no second one.
    let wide = planned(Config::new(1000, 16, 8, 1), 4);
    let scores = 4 * 16 * 1000;
    assert_eq!(wide.plan.rooms.iter().filter(|(numbers, _)| *numbers == scores).count(), 1);
    // Masks of attention's weights are made where they are needed: no room has one of every pair of tokens.
    let dropping = planned(Config { dropout: 0.1, ..Config::new(65, 1024, 64, 2) }, 1);
    let pairs = 4 * 1024 * 1024;
    assert!(dropping.plan.rooms.iter().all(|(numbers, _)| *numbers < pairs / 2));
    assert_eq!(calls(&dropping, "product"), 3 * 9);
    // Twelve blocks, as W4 has: three products for each of 49 matrices, a norm before each half of a block, there
    // and back, two calls of each attention.
    let deep = planned(Config::new(65, 64, 32, 12), 2);
    assert_eq!(calls(&deep, "product"), 3 * 49);
    assert!(deep.calls() <= 240, "{} calls", deep.calls());
}

/// A step of GPT-2's width and vocabulary with these rows of 1,024 tokens, without computing one: the list of a model whose
/// sizes are all unlike, in which others are put in their place, and products' bits.
fn gpt2(rows: usize, layers: usize, is_tied: bool, bits: f64, on: Capacity) -> Planned {
    const HEADS: usize = 12;
    let (small, large) = ([2, 3, 24, 101], [rows, 1024, 768, 50_257]);
    let size = |[b, t, c, v]: [usize; 4]| [b, t, c, v, 3 * c, 4 * c, b * t, c / HEADS];
    let [from, to] = [small, large].map(size);
    let lengths: HashMap<_, _> = from.into_iter().zip(to).skip(1).chain([(1, 1)]).collect();
    let wide = |shape: &[usize]| -> Vec<usize> {
        let mut all: Vec<_> = shape.iter().map(|n| lengths.get(n).copied().unwrap_or(*n)).collect();
        if shape.first() == Some(&small[0]) && shape.len() > 1 {
            all[0] = rows;
        }
        all
    };
    let [b, t, c, v] = small;
    let config = match is_tied {
        true => Config { dropout: 0.0, ..Config::gpt2(v, t, c, layers) },
        false => Config::new(v, t, c, layers),
    };
    let model = TinyGPT::with_attention(config, Arc::new(MultiHead::new(HEADS)), 1).unwrap();
    let text = TokenDataset::from_bytes((0..50).map(|i| (i % v) as u8).collect());
    let batch = text.batch(1, 0, [b, t]).unwrap();
    let (loss, mut list) = listing(|| model.loss(&batch, Mode::Training));
    loss.unwrap();
    let mut ids = HashMap::new();
    let parameters: Vec<_> = (model.parameters())
        .map(|(name, p)| {
            let shape = wide(p.shape());
            let zeros = vec![0.0; shape.iter().product()];
            let large = Tensor::parameter_from_vec(&shape, zeros).unwrap();
            ids.insert(p.id().unwrap(), large.id().unwrap());
            (name, large)
        })
        .collect();
    for Listed { inputs, shape, facts, .. } in &mut list {
        for input in inputs {
            let Input::Variable { id, shape } = input else { panic!("a constant") };
            *id = ids.get(id).copied().unwrap_or(*id);
            *shape = wide(shape);
        }
        *shape = wide(shape);
        for (name, fact) in facts {
            match fact {
                Fact::Ids(ids) => *ids = (0..rows * 1024).map(|i| (i % 1024) as u32).collect(),
                Fact::Number(d) if *name == "head_dim" => *d = (768 / HEADS) as f64,
                Fact::Number(of) if *name == "bits" => *of = bits,
                _ => {}
            }
        }
    }
    let parameters: Vec<_> = parameters.iter().map(|(name, p)| (name.clone(), p)).collect();
    let optimizer = AdamW::new(Hyperparameters::default()).unwrap();
    Planned::by(on, &list, &parameters, &optimizer, 1).unwrap()
}

/// `bench`'s W4 at GPT-2's length. Before products ended in what follows them (0cd70567), the list moved 28.085 GB in 403
/// calls, by the same count.
#[test]
fn few_bytes_in_a_step() {
    let w4 = gpt2(4, 12, false, 24.0, Capacity::default());
    for (name, calls, of) in w4.plan.costs(1) {
        println!("{name:<14} {calls:4} {:8.1} GFLOP {:8.3} GB", of.flops / 1e9, of.bytes / 1e9);
    }
    let all: Cost = w4.plan.costs(1).into_iter().map(|(.., cost)| cost).sum();
    println!("{} calls, {:.0} GFLOP, {:.3} GB", w4.calls(), all.flops / 1e9, all.bytes / 1e9);
    assert!(w4.calls() <= 240, "{} calls", w4.calls());
    assert!(all.bytes < 0.9 * 28.085e9, "{} bytes", all.bytes);
    assert!((3.3e12..3.5e12).contains(&all.flops), "{} FLOP", all.flops);
}

/// What only products in f16 read is stored as f16.
#[test]
fn fewer_bytes_in_f16() {
    let [f32s, f16s] = [24.0, 11.0].map(|bits| gpt2(4, 12, false, bits, Capacity::default()));
    let bytes = |of: &Planned| of.plan.costs(1).iter().map(|(.., of)| of.bytes).sum::<f64>();
    for (name, calls, of) in f16s.plan.costs(1) {
        println!("{name:<14} {calls:4} {:8.1} GFLOP {:8.3} GB", of.flops / 1e9, of.bytes / 1e9);
    }
    let [least, most] = [&f16s, &f32s].map(bytes);
    println!("{least} for {most} bytes, {} for {} of memory", f16s.bytes(), f32s.bytes());
    assert!(least < 0.87 * most, "{least} of {most} bytes");
    assert!(f16s.bytes() < f32s.bytes(), "{} of {}", f16s.bytes(), f32s.bytes());
    assert_eq!(f16s.calls(), f32s.calls());
}

/// nanoGPT's batch of GPT-2: 12 rows of 1,024 tokens, whose scores are 2.47 GB.
#[test]
fn nano_gpts_batch_fits_into_eight_gigabytes() {
    let memory = 8_000_000_000;
    let on = Capacity { memory: Some(memory), ..Capacity::default() };
    let small = gpt2(12, 12, true, 24.0, on);
    let most = 4 * small.buffers.sizes.iter().max().copied().unwrap_or_default() as u64;
    println!("{} bytes, {} calls, largest array {most}", small.bytes(), small.calls());
    assert!(small.bytes() < memory && most < on.array, "{} bytes, {most}", small.bytes());
    let scores = 12 * 1024 * 50_257;
    assert!(small.plan.rooms.iter().all(|(numbers, _)| *numbers < scores));
    // With more memory nothing is computed twice.
    let large = gpt2(12, 12, true, 24.0, Capacity { memory: Some(10 * memory), ..on });
    assert!(large.calls() < small.calls() && large.bytes() > memory);
    assert_eq!(calls(&large, "mean_loss"), 1);
}

/// Weights that are too many for one array lie in several; what an op reads is in the same.
#[test]
fn weights_in_arrays_that_there_are() {
    let on = Capacity { array: 1 << 28, ..Capacity::default() };
    let many = gpt2(1, 12, false, 24.0, on);
    assert_eq!(many.rooms.theta.len(), 3);
    assert!(many.buffers.sizes.iter().all(|&numbers| 4 * numbers as u64 <= on.array));
    assert_eq!(calls(&many, "update"), 3);
}

/// What a linear layer in f16 and another op read is stored as it is; as f16 only what none but such layers read.
#[test]
fn what_another_op_reads_is_no_f16() {
    let parameter = |shape: &[usize]| {
        let numbers = (0..shape.iter().product()).map(|i| i as f32 / 100.0).collect();
        Tensor::parameter_from_vec(shape, numbers).unwrap()
    };
    let [table, gain, bias, w] = [&[5, 8][..], &[8], &[8], &[8, 8]].map(parameter);
    let stored = |is_added: bool| {
        let (loss, mut list) = listing(|| {
            let x = ops::embedding_of("tokens", &table, &[1, 2, 3, 4], &[2, 2])?;
            let y = ops::layernorm_affine_lastdim(&x, &gain, &bias, 1e-5)?;
            let z = ops::linear_lastdim(&y, &w, None)?;
            let z = if is_added { ops::add(&z, &y)? } else { z };
            ops::cross_entropy(&ops::reshape(&z, &[4, 8])?, &[1, 2, 3, 4])
        });
        loss.unwrap();
        for (name, fact) in list.iter_mut().flat_map(|made| &mut made.facts) {
            if *name == "bits" {
                *fact = Fact::Number(11.0);
            }
        }
        let names = ["table", "gain", "bias", "w"].map(String::from);
        let parameters: Vec<_> = names.into_iter().zip([&table, &gain, &bias, &w]).collect();
        let optimizer = AdamW::new(Hyperparameters::default()).unwrap();
        let planned = Planned::new(&list, &parameters, &optimizer, 1).unwrap();
        let norms = planned.plan.calls.iter().filter(|call| call.kernel.entry == "forward");
        norms.flat_map(|call| call.kernel.pieces()).any(|piece| piece.contains("f16_of("))
    };
    assert!(stored(false) && !stored(true));
}
