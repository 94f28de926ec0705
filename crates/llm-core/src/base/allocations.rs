//! A system allocator that counts large blocks: shows that a training step takes none.
//!
//! A program declares it once:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: llm_core::base::allocations::Counting = llm_core::base::allocations::Counting;
//! ```
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks of this many bytes and more are counted: a page of fresh memory costs a page fault.
pub const LARGE: usize = 4096;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Large blocks requested so far by the whole process; 0 for ever unless [`Counting`] is declared.
pub fn large_blocks() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// The system's allocator with a counter.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

fn count(size: usize) {
    if size >= LARGE {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(ptr, layout) }
    }
}
