//! What the ranks of a process group agree on between two steps.

use super::hooks::{Ending, Flow};
use super::work::Work;
use crate::base::Result;

/// What all do now: what the lowest rank that ends the run says, else they go on. Clocks differ from
/// machine to machine, so that one's time may be up earlier than another's.
pub(super) fn agree(work: &mut dyn Work, mine: Flow) -> Result<Flow> {
    let all = work.gather(&to_bytes(mine))?;
    let all = all.as_chunks().0.iter().map(from_bytes);
    Ok(all.into_iter().find(Flow::is_break).unwrap_or(Flow::Continue(())))
}

const BYTES: usize = 9;

fn to_bytes(flow: Flow) -> [u8; BYTES] {
    let (tag, left) = match flow {
        Flow::Continue(()) => (0, 0),
        Flow::Break(Ending::AllSteps) => (1, 0),
        Flow::Break(Ending::Interrupted) => (2, 0),
        Flow::Break(Ending::TimeIsUp { left }) => (3, left),
        Flow::Break(Ending::NoProgress) => (4, 0),
    };
    let mut bytes = [tag; BYTES];
    bytes[1..].copy_from_slice(&u64::to_le_bytes(left));
    bytes
}

fn from_bytes([tag, left @ ..]: &[u8; BYTES]) -> Flow {
    match tag {
        0 => Flow::Continue(()),
        1 => Flow::Break(Ending::AllSteps),
        3 => Flow::Break(Ending::TimeIsUp { left: u64::from_le_bytes(*left) }),
        4 => Flow::Break(Ending::NoProgress),
        _ => Flow::Break(Ending::Interrupted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_comes_through() {
        let endings = [
            Ending::AllSteps,
            Ending::Interrupted,
            Ending::TimeIsUp { left: u64::MAX - 3 },
            Ending::NoProgress,
        ];
        let flows = endings.map(Flow::Break).into_iter().chain([Flow::Continue(())]);
        for flow in flows {
            assert_eq!(from_bytes(&to_bytes(flow)), flow);
        }
    }
}
