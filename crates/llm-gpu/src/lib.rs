//! A training step on any GPU, by kernels in WGSL through `wgpu`: Vulkan, Metal or DX12, with nothing
//! to install beside the driver.
//!
//! The step is a fixed list of calls, made from the ops that the model's own forward records on the
//! processor ([`llm_core::listing`]): the model is described once, there. An op without kernels is
//! refused by its name before anything runs.
//!
//! | module | holds |
//! |---|---|
//! | `error` | what can go wrong |
//! | `plan` | a step as data: rooms, calls, memory; no device |
//! | `rule` | the optimizer: which parameters it moves how, and by which numbers |
//! | `layout` | all parameters as one array |
//! | `maker` | a plan in the making: where values and gradients lie |
//! | `ops` | the calls of each op, its kernels beside it |
//! | `cost` | what calls cost, by their sizes |
//! | `update` | the calls of each optimizer, its kernels beside it |
//! | `walk` | from a list to a plan, there and back |
//! | `listed` | the list of a batch's forward, from one of its rows |
//! | `planned` | a step that is made and not yet on a device |
//! | `words` | what the host says before each part |
//! | `scoring` | what a measurement is, as data |
//! | `trusted` | what wgpu calls unsafe: `trusted.rs` alone has unsafe code |
//! | `device` | an adapter that was opened |
//! | `adapter` | what drivers offer |
//! | `loaded` | buffers and kernels of a plan there |
//! | `queue` | to write, run and read |
//! | `step` | a batch in, loss and weights out |
//! | `scores` | a measurement there |
//! | `model` | a model's weights there, to be measured and to write |
//! | `work` | the step as a run's [`Work`](llm_core::train::Work) |
//!
//! What runs it here stands behind the feature `native`; without it there is the list alone, which is
//! data.
//!
//! Every number has one writer and every sum a fixed order, without atomics: an adapter makes the
//! same bits on every run. Two adapters do not, and neither of them those of the processor.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::print_stdout))]

mod error;

mod plan;

mod rule;

mod layout;

mod maker;

mod ops;

mod cost;

mod update;

mod walk;

mod listed;

mod planned;

mod words;

mod scoring;

#[cfg(feature = "native")]
mod trusted;

#[cfg(feature = "native")]
mod device;

#[cfg(feature = "native")]
mod adapter;

#[cfg(feature = "native")]
mod loaded;

#[cfg(feature = "native")]
mod queue;

#[cfg(feature = "native")]
mod step;

#[cfg(feature = "native")]
mod scores;

#[cfg(feature = "native")]
mod model;

#[cfg(feature = "native")]
mod work;

#[cfg(feature = "native")]
pub use adapter::Adapter;
pub use cost::Cost;
#[cfg(feature = "native")]
pub use device::Gpu;
pub use error::GpuError;
pub use listed::listed;
pub use maker::Rooms;
#[cfg(feature = "native")]
pub use model::{GpuModel, GpuReader};
pub use plan::{Buffers, Call, Capacity, Kernel, Part, Plan, Room, Units, Use};
pub use planned::Planned;
pub use scoring::Scoring;
#[cfg(feature = "native")]
pub use step::{Report, Step};
pub use words::Words;
#[cfg(feature = "native")]
pub use work::GpuWork;
