//! Training: the step, the loop around it, and evaluation. Nothing here prints.
//!
//! | file | holds |
//! |---|---|
//! | `step.rs`, `accumulate.rs` | [`train_step`]: loss, backward, clip, update, of one micro-batch or many |
//! | `beside.rs`, `together.rs` | the sums over a crew's members, beside the way back; what else they make of their parts |
//! | `agree.rs` | what they agree on between two steps |
//! | `hooks.rs` | [`Hooks`]: who looks at a run, or takes part in it |
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
mod report;
mod run;
mod spikes;
mod step;
mod together;
mod trainer;
mod usable;

pub use accumulate::Tree;
pub use evaluate::{Evaluation, Scored, Sums, evaluate, evaluate_together};
pub use hooks::{Ending, Flow, Hooks, Pending, Verdict};
pub use keep::{Best, Keeper};
pub use limits::{Patience, TimeLimit};
pub use report::StepReport;
pub use run::{RunPlan, Validation};
pub use spikes::{Spike, SpikeGuard, WINDOW as SPIKE_WINDOW};
pub use step::{Update, train_step};
pub use trainer::Trainer;
pub use usable::check_usable;
