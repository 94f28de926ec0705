//! What can go wrong on the way to a GPU, and on it.

use llm_core::base::{Message, bytes};
use llm_core::{message, says};

/// Why there is no step on a GPU.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GpuError {
    /// No adapter was found, or none has the asked name.
    NoAdapter {
        /// A part of a name.
        asked: Option<String>,
        /// The names of those that are there.
        there: Vec<String>,
    },
    /// An op that has no kernels, or not for what it is asked to do.
    NoKernels {
        /// The op's name.
        op: &'static str,
        /// What is missing; `None`: the op itself.
        why: Option<Message>,
    },
    /// An optimizer that has no kernels.
    NoOptimizer {
        /// The optimizer's name.
        name: &'static str,
    },
    /// A list that is not one of a loss, or something that does not belong to it.
    List(Message),
    /// An adapter that is too small for the kernels.
    Limit {
        /// What there is too little of, by wgpu's name.
        of: &'static str,
        /// What the kernels need.
        needs: u64,
        /// What the adapter has.
        has: u64,
    },
    /// More memory than the device has, or gives to one buffer.
    Memory {
        /// Bytes of all buffers together.
        needed: u64,
        /// Whether it is too much for the weights alone, with what belongs to each of them: a smaller
        /// batch does not help.
        of_weights: bool,
        /// What was refused.
        what: Message,
    },
    /// The device computes something else than the processor.
    Differs {
        /// The first loss on the device.
        gpu: f32,
        /// The first loss on the processor.
        processor: f32,
    },
    /// What the device or its driver says.
    Device(String),
}

says! { GpuError {
    NoAdapter { asked, there } => no_adapter(asked.as_deref(), there),
    NoKernels { op, why } => match why {
        Some(why) => message!("'{}' has no kernels for a GPU {}; this model trains on the processor", op, why),
        None => message!("'{}' has no kernels for a GPU; this model trains on the processor", op),
    },
    NoOptimizer { name } = "the optimizer '{}' has no kernels for a GPU; adamw, lion and muon have",
    List(what) => what.clone(),
    Limit { of, has, needs } =
        "this adapter is too small for the kernels: its '{}' is {}, {} are needed",
    Memory { needed, of_weights, what } => match of_weights {
        true => message!("a step needs {} of the GPU's memory, and the weights alone are too much: {}", bytes(*needed), what),
        false => message!("a step needs {} of the GPU's memory: {}", bytes(*needed), what),
    },
    Differs { gpu, processor } =
        "the first loss is {} on the GPU and {} on the processor: a kernel or this driver computes \
         something else",
    Device(said) = "the GPU: {}",
} }

fn no_adapter(asked: Option<&str>, there: &[String]) -> Message {
    let all = Message::list(there);
    match (asked, there) {
        (Some(name), []) => message!("no GPU is called '{}'; no GPU was found", name),
        (Some(name), _) => message!("no GPU is called '{}'; adapters: {}", name, all),
        (None, []) => message!("no GPU was found"),
        (None, _) => message!("no GPU was found; adapters: {}", all),
    }
}

impl GpuError {
    /// The refusal of an op without kernels.
    pub(crate) fn without(op: &'static str) -> GpuError {
        GpuError::NoKernels { op, why: None }
    }

    /// The refusal of an op without kernels for this.
    pub(crate) fn no(op: &'static str, why: Message) -> GpuError {
        GpuError::NoKernels { op, why: Some(why) }
    }

    /// The refusal of an op that lacks a fact without which its result cannot be computed.
    pub(crate) fn unsaid(op: &'static str, what: &'static str) -> GpuError {
        GpuError::List(message!("'{}' does not say its {}", op, what))
    }
}

impl std::error::Error for GpuError {}

/// A run's error: the device's.
impl From<GpuError> for llm_core::Error {
    fn from(error: GpuError) -> llm_core::Error {
        llm_core::Error::Device(error.message())
    }
}

/// A result with this error.
pub type Result<T, E = GpuError> = std::result::Result<T, E>;

/// Largest difference of a first loss on the CPU and on a GPU, relative to the CPU's.
pub(crate) const CLOSE: f32 = 1e-3;

/// Largest difference where the GPU's matrix units round what attention multiplies, which the CPU does not.
#[cfg(feature = "native")]
const CLOSE_BY_UNITS: f32 = 5e-3;

/// Smallest loss, in nats per token, that [`CLOSE`] is relative to: the loss of a model that memorised its text is mostly
/// rounding.
pub(crate) const SMALL: f32 = 0.1;

/// Whether a device computes what the processor does. Weights that give no number give none there.
#[cfg(feature = "native")]
pub(crate) fn check_close([processor, gpu]: [f32; 2], by_units: bool) -> Result<()> {
    let most = if by_units { CLOSE_BY_UNITS } else { CLOSE };
    let close = (gpu - processor).abs() <= most * processor.abs().max(SMALL);
    let neither = !gpu.is_finite() && !processor.is_finite();
    if close || neither { Ok(()) } else { Err(GpuError::Differs { gpu, processor }) }
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_computes_something_else_is_refused() {
        for fine in [
            [5.5, 5.5],
            [5.5, 5.504],
            [2e-5, 1e-5],
            [f32::NAN, f32::NAN],
            [f32::INFINITY, f32::NAN],
        ] {
            assert_eq!(check_close(fine, false), Ok(()));
        }
        for bad in [[5.5, 5.51], [5.51, 5.5], [f32::NAN, 5.5], [5.5, f32::NAN], [5.5, 0.0]] {
            let said = check_close(bad, false).unwrap_err().to_string();
            assert!(said.contains("on the processor: a kernel or this driver computes"), "{said}");
        }
        let by_units = |gpu| check_close([5.5, gpu], true).is_ok();
        assert_eq!([5.52, 5.54].map(by_units), [true, false]);
    }
}
