//! What can go wrong between those who work on a step together.

use super::Message;
use crate::{message, says};

/// Why ranks of a process group cannot go on together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CrewError {
    /// Not a number of ranks that can share a step.
    Size {
        /// Number of ranks.
        size: usize,
        /// Micro-batches of a step.
        micro_batches: u64,
    },
    /// A rank did not answer in time.
    Silent {
        /// Number of the silent rank, from 0.
        member: usize,
        /// Seconds waited.
        seconds: u64,
    },
    /// A rank ended, or its machine did.
    Gone {
        /// Number of the lost rank, from 0.
        member: usize,
    },
    /// What must be the same for all is not.
    Unequal {
        /// What differs, in the plural.
        what: Message,
        /// The first that differs.
        member: usize,
    },
    /// The library that carries the messages refused a call.
    Engine {
        /// The call.
        call: &'static str,
        /// What the library says.
        reason: Message,
    },
}

says! { CrewError {
    Size { size, micro_batches } => CrewError::unfitting(*size, *micro_batches),
    Silent { member, seconds } = "process {} did not answer within {} s",
    Gone { member } = "process {} is gone",
    Unequal { member, what } = "process {} has other {} than process 0",
    Engine { call, reason } = "{} failed: {}",
} }

impl CrewError {
    /// Which numbers of processes can share `micro_batches`, where `size` cannot: powers of
    /// two that divide it.
    fn unfitting(size: usize, micro_batches: u64) -> Message {
        let fit = |shift: &u32| micro_batches.is_multiple_of(1 << shift);
        let sizes: Vec<String> =
            (0..63).take_while(fit).map(|shift| (1u64 << shift).to_string()).collect();
        match sizes.split_last() {
            Some((last, rest)) if !rest.is_empty() => message!(
                "{} micro-batches can be shared by {} or {} processes, not by {}",
                micro_batches,
                rest.join(", "),
                last,
                size
            ),
            _ if micro_batches == 1 => {
                message!("one micro-batch is for one process, not for {}", size)
            }
            _ => message!("{} micro-batches are for one process, not for {}", micro_batches, size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_that_fit_are_named() {
        let says = |size, micro_batches| CrewError::Size { size, micro_batches }.to_string();
        assert_eq!(
            says(3, 16),
            "16 micro-batches can be shared by 1, 2, 4, 8 or 16 processes, not by 3"
        );
        assert_eq!(says(4, 6), "6 micro-batches can be shared by 1 or 2 processes, not by 4");
        assert_eq!(says(2, 9), "9 micro-batches are for one process, not for 2");
        assert_eq!(says(2, 1), "one micro-batch is for one process, not for 2");
    }
}
