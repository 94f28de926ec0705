//! Large pages for long buffers.
//!
//! Weights are read from end to end, and for each page of 4 KiB the processor has to look up where
//! it lies. Pages of 2 MiB need that 512 times less often. Linux gives them where a program asks.
#![allow(unsafe_code)]

/// Room for `len` numbers in large pages, if the system has them.
///
/// # Errors
/// When there is no room at all.
pub(crate) fn room<T>(len: usize) -> Result<Vec<T>, std::collections::TryReserveError> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(len)?;
    #[cfg(target_os = "linux")]
    ask_for_large_pages(memory.spare_capacity_mut());
    Ok(memory)
}

/// A wish, to be said before the memory is first written; nothing depends on the answer.
#[cfg(target_os = "linux")]
fn ask_for_large_pages<T>(memory: &mut [std::mem::MaybeUninit<T>]) {
    /// Shorter buffers hold hardly a whole large page.
    const LONG: usize = 4 << 20;
    const PAGE: usize = 4096;
    if size_of_val(memory) < LONG {
        return;
    }
    let range = memory.as_mut_ptr_range();
    let start = range.start.addr().next_multiple_of(PAGE);
    let bytes = range.end.addr().saturating_sub(start) / PAGE * PAGE;
    // SAFETY: whole pages inside one allocation; the advice changes no content.
    unsafe { libc::madvise(range.start.with_addr(start).cast(), bytes, libc::MADV_HUGEPAGE) };
}

#[cfg(test)]
mod tests {
    use super::room;

    #[test]
    fn room_is_as_large_as_asked_for_or_refused() {
        for len in [0, 1, (4 << 20) - 1, (4 << 20) + 1, (9 << 20) + 5] {
            let mut bytes = room::<u8>(len).unwrap();
            assert!(bytes.is_empty() && bytes.capacity() >= len);
            bytes.resize(len, 7);
            assert!(bytes.iter().all(|&b| b == 7));
        }
        assert!(room::<f32>(usize::MAX / 8).is_err());
    }
}
