//! What a program that uses the library for long keeps in memory. One test, because a process has
//! one pool.

#![allow(clippy::unwrap_used)]

use llm_core::autograd::no_grad;
use llm_core::base::allocations::{Counting, large_blocks};
use llm_core::train::{OneProcess, Update, train_step};
use llm_core::{AdamW, Batch, Config, Hyperparameters, Tensor, TinyGPT, TokenDataset, TokenId};
use llm_core::{buffer, ops, threads};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MB: usize = 1 << 20;

/// Steps in which the pool asks itself several times what was in use lately.
const LATER: u64 = 3000;

fn model(seq_len: usize) -> TinyGPT {
    TinyGPT::new(Config::new(256, seq_len, 32, 2), 1).unwrap()
}

/// Squares as somebody else would write them, with results and gradients in lists of their own.
fn squares(x: &Tensor) -> Tensor {
    let y: Vec<f32> = x.data().iter().map(|x| x * x).collect();
    let (parent, value) = (x.parent(), x.detach());
    Tensor::from_op("squares", x.shape(), y, &[&x.parent()], move |dy, grads| {
        let share: Vec<f32> = value.data().iter().zip(&*dy).map(|(x, d)| 2.0 * x * d).collect();
        grads.give(&parent, share.into());
    })
}

/// Lists that the caller made.
fn lists_from_outside() {
    for _ in 0..20_000 {
        Tensor::from_vec(&[1000], vec![1.0; 1000]).unwrap();
    }
    let x = Tensor::parameter_from_vec(&[5000], vec![1.0; 5000]).unwrap();
    for _ in 0..2000 {
        let loss = ops::sum(&squares(&x)).unwrap();
        assert_eq!(loss.backward().unwrap().get(&x).unwrap()[0], 2.0);
    }
}

/// Steps on batches of the caller's own.
fn steps_on_own_batches(model: &mut TinyGPT, steps: u64) {
    let mut adamw = AdamW::new(Hyperparameters::default()).unwrap();
    for step in 0..steps {
        let tokens: Vec<TokenId> =
            (0..8 * 16).map(|i| (i as u64 * step % 256) as TokenId).collect();
        let batch = Batch::new(tokens.clone(), tokens, [8, 16]);
        let update = Update { step, lr: 1e-3, clip: 1.0 };
        train_step(model, &mut adamw, [Ok(batch)], update, &mut OneProcess, &mut ()).unwrap();
    }
}

/// Large blocks that are asked of the system by steps on batches of the library's own, once the
/// first have been done.
fn blocks_of_later_steps(model: &mut TinyGPT) -> u64 {
    let data = TokenDataset::from_bytes((0..10_000u32).map(|i| (i * i / 7) as u8).collect());
    let mut adamw = AdamW::new(Hyperparameters::default()).unwrap();
    let mut before = 0;
    for step in 0..LATER + 20 {
        if step == 20 {
            before = large_blocks();
        }
        let batch = data.batch(1, step, [4, 64]);
        let update = Update { step, lr: 1e-3, clip: 1.0 };
        train_step(model, &mut adamw, [batch], update, &mut OneProcess, &mut ()).unwrap();
    }
    large_blocks() - before
}

#[test]
fn what_waits_is_bounded_by_what_was_in_use() {
    lists_from_outside();
    assert!(buffer::waiting() < MB, "{}", buffer::waiting());

    let mut small = model(16);
    steps_on_own_batches(&mut small, 20);
    let some = buffer::waiting();
    steps_on_own_batches(&mut small, 300);
    assert_eq!(buffer::waiting(), some, "more steps leave no more");

    // A text that grows: every pass has lengths of its own.
    let reader = model(512);
    let tokens = [7; 512];
    for t in 1..=512 {
        no_grad(|| reader.logits(&tokens[..t], [1, t])).unwrap();
    }
    assert!(buffer::waiting() < 16 * MB, "{}", buffer::waiting());

    // And what a training run takes again and again is there. One thread: with several, how many
    // scratch buffers are in use at once is a matter of luck.
    let blocks = threads::with(1, || blocks_of_later_steps(&mut model(64))).unwrap();
    assert_eq!(blocks, 0);
    buffer::release_pool();
    assert_eq!(buffer::waiting(), 0);
}
