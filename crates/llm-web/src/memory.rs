//! Is there room? Asked before anything large is begun: where memory cannot be had, WebAssembly
//! ends at once, and the page with all its runs.

use crate::failure::Result;
use llm_core::Error;
use llm_core::base::memory;

/// `Ok` when `bytes` can be had, all together. They are asked for and given back: a browser that
/// refuses more memory is found out here.
///
/// # Errors
/// [`Code::Memory`](crate::Code::Memory).
pub fn room(bytes: u64) -> Result<()> {
    memory::require(bytes)?;
    let refused = || Error::Memory { needed: bytes, available: memory::available() };
    let len = usize::try_from(bytes).map_err(|_| refused())?;
    Vec::<u8>::new().try_reserve_exact(len).map_err(|_| refused())?;
    Ok(())
}
