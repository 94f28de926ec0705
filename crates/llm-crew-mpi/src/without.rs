//! Where no MPI library is known: systems other than Unix.

use crate::{Launcher, MpiError};
use llm_core::Result;
use llm_core::base::CrewError;
use llm_core::crew::Crew;
use std::convert::Infallible;
use std::time::Duration;

/// There is none here.
#[derive(Debug)]
pub struct MpiCrew(Infallible);

/// Says why, and gives the exit code.
pub type LastWords = Box<dyn Fn(&CrewError) -> i32 + Send>;

impl MpiCrew {
    /// Refuses.
    ///
    /// # Errors
    /// [`MpiError::Missing`].
    pub fn join(
        _: Option<(Launcher, usize)>,
        _: Duration,
        _: LastWords,
    ) -> std::result::Result<MpiCrew, MpiError> {
        Err(MpiError::Missing { reason: "none is known on this system".into() })
    }

    /// Nobody comes here.
    pub fn abort(&self, _: i32) -> ! {
        match self.0 {}
    }

    /// Nobody comes here.
    ///
    /// # Errors
    /// None.
    pub fn finish(self) -> std::result::Result<(), MpiError> {
        match self.0 {}
    }
}

impl Crew for MpiCrew {
    fn rank(&self) -> usize {
        match self.0 {}
    }

    fn size(&self) -> usize {
        match self.0 {}
    }

    fn exchange(&mut self, _: usize, _: &[f32], _: &mut [f32]) -> Result<()> {
        match self.0 {}
    }

    fn exchange_bytes(&mut self, _: usize, _: &[u8], _: &mut [u8]) -> Result<()> {
        match self.0 {}
    }
}
