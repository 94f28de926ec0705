//! Training: the step, the loop around it, and evaluation. Nothing here prints.
//!
//! | file | holds |
//! |---|---|
//! | `step.rs` | [`train_step`]: loss, backward, clip, update |
//! | `work.rs`, `accumulate.rs` | [`Work`]: who works on a step; [`OneProcess`]: one micro-batch or many |
//! | `process_group.rs` | [`ProcessGroup`]: several processes, and if wanted a divided optimizer |
//! | `beside.rs`, `together.rs`, `shares.rs` | its sums, during the backward pass; what else its ranks make of their parts; what of the weights is whose |
//! | `agree.rs` | what its ranks agree on between two steps |
//! | `hooks.rs` | [`Hooks`]: who watches a run, or takes part in it |
//! | `trainer.rs`, `run.rs` | [`Trainer`]: a run between two steps; [`Trainer::run`], the loop |
//! | `evaluate.rs` | loss and accuracy over many windows |
//! | `usable.rs` | [`check_usable`]: whether a state is worth keeping |
//! | `keep.rs`, `limits.rs`, `spikes.rs` | best and last states; time and patience; steps that stand out |

mod accumulate;
mod agree;
mod beside;
mod evaluate;
mod hooks;
mod keep;
mod limits;
mod process_group;
mod run;
mod shares;
mod spikes;
mod step;
mod together;
mod trainer;
mod usable;
mod work;

pub use accumulate::Tree;
pub use evaluate::{Evaluation, Scored, Sums, evaluate, evaluate_together};
pub use hooks::{Ending, Flow, Hooks, Pending, StepReport, Verdict};
pub use keep::{Best, Keeper};
pub use limits::{Patience, TimeLimit};
pub use process_group::ProcessGroup;
pub use run::{RunPlan, Validation};
#[doc(hidden)]
pub use spikes::WINDOW as SPIKE_WINDOW;
pub use spikes::{Spike, SpikeGuard};
pub use step::{Update, train_step};
pub use trainer::Trainer;
pub use usable::check_usable;
pub use work::{Batches, NonFinite, OneProcess, StepSum, Work};
