//! Where small blocks of memory come from when there is little address space.
//!
//! glibc gives each thread an arena of its own, for which it reserves 64 MiB of addresses. Where a
//! limit (`ulimit -v`) leaves no room for that, it asks the system for each block by itself: at
//! least a page of 4 KiB, and a call into the system. With one arena for all threads a block takes
//! what it needs.
#![allow(unsafe_code)]

use super::memory;

/// Address space in which there is room for arenas.
const PLENTY: u64 = 4 << 30;

/// Lets threads that are started from now on share one arena, if a limit leaves little address
/// space. Nothing else changes.
pub fn share_if_limited() {
    if memory::address_space().is_some_and(|left| left < PLENTY) {
        share();
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn share() {
    // SAFETY: sets a number that the allocator reads when a thread takes its first block.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn share() {}
