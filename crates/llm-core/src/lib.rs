//! A small GPT from scratch, for training on a CPU and for reading.
//!
//! One training step passes through the modules in one direction; each imports only from those
//! above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | [`base`] | errors, token numbers, random streams, memory limits, named values, files that cannot be lost |
//! | [`profile`] | where the time goes |
//! | [`buffer`] | recycled storage |
//! | [`kernels`] | the maths, on slices and views |
//! | [`crew`] | sums and messages between several processes |
//! | [`listing`] | a forward pass as a list, for who computes it elsewhere |
//! | [`tensor`], [`autograd`], [`adapter`] | values that remember how they were made, the walk back, and thin matrices that learn beside one that stays |
//! | [`threads`] | how many threads work |
//! | [`ops`] | shapes, kernel, backward: one file per equation |
//! | [`gradcheck`] | is a gradient the gradient of its value? |
//! | [`model`] | settings, the attention seam, a block, the whole |
//! | [`optim`] | AdamW, Lion, Muon, schedules, clipping |
//! | [`tokenizer`], [`data`] | bytes to tokens, tokens to batches |
//! | [`recipe`] | everything that decides the next step |
//! | [`settings`] | each setting of a model and a run as a row: key, type, range |
//! | [`checkpoint`] | one file that holds a run, written so that it cannot be lost |
//! | [`train`], [`generate`] | a step and who works on it, evaluation, writing text |
//!
//! To follow one step: [`train::train_step`] → [`TinyGPT::loss`] → [`model::Block::forward`] →
//! [`ops::self_attention_1h`] → [`kernels::attention`] → [`ops::cross_entropy`] →
//! [`Tensor::backward_into`] → [`optim::AdamW::step`](optim::Optimizer::step).
//!
//! ```
//! use llm_core::train::{OneProcess, Update, train_step};
//! use llm_core::{AdamW, BatchShape, Config, Hyperparameters, TinyGPT, TokenDataset};
//!
//! let data = TokenDataset::from_bytes(b"a small text to be memorised, ".repeat(8));
//! let config = Config { vocab_size: 256, seq_len: 16, d_model: 32, ..Config::default() };
//! let mut model = TinyGPT::new(config, 1)?;
//! let mut optimizer = AdamW::new(Hyperparameters::default())?;
//! let mut losses = Vec::new();
//! let work = &mut OneProcess;
//! for step in 0..30 {
//!     let batch = data.batch(1, step, BatchShape { batch_size: 4, seq_len: 16 });
//!     let update = Update { step, lr: 3e-3, clip: 1.0 };
//!     losses.push(train_step(&mut model, &mut optimizer, [batch], update, work, &mut ())?.loss);
//! }
//! assert!(losses[29] < losses[0] - 1.0);
//! # Ok::<(), llm_core::Error>(())
//! ```
//!
//! Programs to copy from, each a short lesson, are in the crate's folder `examples`.
//!
//! The library never prints, exits or reads flags. `unsafe` is denied but for these fenced files:
//!
//! | file | why |
//! |---|---|
//! | `kernels/gemm/mod.rs`, `kernels/gemm/blocked.rs`, `kernels/gemm/single.rs` | the matrix products: pointers and strides |
//! | `kernels/gemm/pack.rs`, `kernels/gemm/microkernel.rs` | their inner loops |
//! | `kernels/gemm/neon.rs`, `kernels/gemm/plain.rs` | the inner loop of aarch64, and vectors of every machine |
//! | `kernels/gemm/accelerate.rs` | products by macOS's own library |
//! | `kernels/small/wholes.rs`, `kernels/small/dots.rs` | aarch64's products of bytes |
//! | `kernels/gemm/bf16/mod.rs`, `kernels/gemm/bf16/avx512.rs`, `kernels/gemm/bf16/amx.rs` | the same in bf16 |
//! | `kernels/simd.rs` | the run-time choice of an instruction set |
//! | `kernels/peak.rs` | the measurement of the machine's peak |
//! | `base/large_pages.rs` | the wish for large pages |
//! | `base/sysctl.rs` | what macOS says of the machine |
//! | `base/arenas.rs` | one word to the system's allocator, where a limit leaves few addresses |
//! | `base/allocations.rs` | an allocator that counts |

pub mod base;
#[doc(hidden)]
pub mod profile;

pub mod buffer;
pub mod kernels;

pub mod crew;

#[doc(hidden)]
pub mod listing;

#[doc(hidden)]
pub mod adapter;
pub mod autograd;
pub mod tensor;

pub mod threads;

pub mod gradcheck;
pub mod ops;

pub mod model;
pub mod optim;

pub mod data;
pub mod tokenizer;

pub mod checkpoint;
pub mod recipe;
pub mod settings;

pub mod generate;
pub mod train;

pub use autograd::{Gradients, no_grad};
pub use base::{Error, IoAction, Result, TokenId};
pub use data::{Batch, BatchShape, TokenDataset};
pub use model::{Attention, AttentionSpec, Config, TinyGPT};
pub use ndarray;
pub use optim::{AdamW, Hyperparameters, Schedule};
pub use recipe::Recipe;
pub use tensor::Tensor;
