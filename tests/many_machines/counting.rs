//! A member of a crew of any size, without the others.

use llm_core::Result;
use llm_core::crew::{Crew, Traffic};

/// Counts what it is given to send, and takes zeros for what the others would. The order of calls
/// does not depend on numbers, so one member at a time tells what a thousand at once would send.
#[derive(Debug)]
pub struct Counting {
    rank: usize,
    size: usize,
    pub traffic: Traffic,
}

impl Counting {
    pub fn new(rank: usize, size: usize) -> Counting {
        Counting { rank, size, traffic: Traffic::default() }
    }

    fn count(&mut self, with: usize, bytes: usize) {
        assert!(with < self.size && with != self.rank, "{} sends to {with}", self.rank);
        if bytes > 0 {
            self.traffic.messages += 1;
            self.traffic.bytes += bytes as u64;
        }
    }
}

impl Crew for Counting {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&mut self, with: usize, give: &[&[f32]], take: &mut [&mut [f32]]) -> Result<()> {
        self.count(with, give.iter().map(|list| size_of_val(*list)).sum());
        take.iter_mut().for_each(|list| list.fill(0.0));
        Ok(())
    }

    fn exchange_bytes(&mut self, with: usize, give: &[u8], take: &mut [u8]) -> Result<()> {
        self.count(with, give.len());
        take.fill(0);
        Ok(())
    }
}
