//! After the first steps, a training step asks the system for no large block. By itself in a
//! process, because the counter counts everybody.

use llm_core::base::allocations::{Counting, large_blocks};
use llm_core::train::{OneProcess, Update, train_step};
use llm_core::{AdamW, Config, Hyperparameters, TinyGPT, TokenDataset};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_step_takes_no_large_block() {
    let data = TokenDataset::from_bytes((0..9000u32).map(|i| (i * i / 7) as u8).collect());
    // One thread: with several, how many scratch buffers are in use at once is a matter of luck.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for config in [Config::new(256, 64, 64, 2), Config::gpt2(256, 64, 64, 2)] {
            let mut model = TinyGPT::new(config, 1).unwrap();
            let mut adamw = AdamW::new(Hyperparameters::default()).unwrap();
            let mut steps = |n: u64| {
                let before = large_blocks();
                for i in 0..n {
                    // Many rows, so that a list of tokens alone is larger than a page.
                    let batch = data.batch(1, i, [20, 64]);
                    let update = Update { step: i, lr: 1e-3, clip: 1.0 };
                    train_step(&mut model, &mut adamw, [batch], update, &mut OneProcess, &mut ())
                        .unwrap();
                }
                large_blocks() - before
            };
            steps(3);
            assert!(large_blocks() > 0, "the counter counts");
            assert_eq!(steps(10), 0);
        }
    });
}
