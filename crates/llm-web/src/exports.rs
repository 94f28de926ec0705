//! What the page calls. Compiled for WebAssembly alone.
//!
//! The page asks for buffers with [`give`], fills them, and hands them back to [`ask`]; the answer
//! stays until the next question. Numbers that are no buffer of ours are an error, not a fault: no
//! pointer is followed here.
#![allow(unsafe_code)] // the attribute that keeps a function's name; there is no unsafe block

use crate::Lab;
use std::cell::RefCell;

/// Everything that lives between two calls.
#[derive(Default)]
struct Door {
    lab: Lab,
    /// Buffers that the page fills.
    given: Vec<Vec<u8>>,
    answer: Vec<u8>,
    blob: Vec<u8>,
}

impl Door {
    /// The given buffer at this address, cut to `len`; `None` when none is that long.
    fn taken(&mut self, address: usize, len: usize) -> Option<Vec<u8>> {
        let fits = |own: &Vec<u8>| own.as_ptr() as usize == address && own.len() >= len;
        let place = self.given.iter().position(fits)?;
        let mut own = self.given.swap_remove(place);
        own.truncate(len);
        Some(own)
    }
}

thread_local! {
    static DOOR: RefCell<Door> = RefCell::default();
}

/// A buffer of `len` bytes, to be filled; 0 when there is no room.
#[unsafe(no_mangle)]
pub extern "C" fn give(len: usize) -> *mut u8 {
    DOOR.with_borrow_mut(|door| {
        let mut own = Vec::new();
        // An empty one has no address of its own.
        if own.try_reserve_exact(len.max(1)).is_err() {
            return std::ptr::null_mut();
        }
        own.resize(len.max(1), 0);
        let address = own.as_mut_ptr();
        door.given.push(own);
        address
    })
}

/// Answers a request: 0, or 1 when the answer says what is wrong. Both buffers are taken.
#[unsafe(no_mangle)]
pub extern "C" fn ask(request: usize, request_len: usize, blob: usize, blob_len: usize) -> u32 {
    DOOR.with_borrow_mut(|door| {
        (door.answer, door.blob) = Default::default();
        let request = door.taken(request, request_len).unwrap_or_default();
        let blob = door.taken(blob, blob_len).unwrap_or_default();
        let answered = door.lab.ask(&request, blob);
        let failed = u32::from(answered.is_err());
        (door.answer, door.blob) = match answered {
            Ok(answer) => (answer.json.to_string().into_bytes(), answer.blob),
            Err(failure) => (failure.json().to_string().into_bytes(), Vec::new()),
        };
        failed
    })
}

/// Where the last answer is.
#[unsafe(no_mangle)]
pub extern "C" fn answer_ptr() -> *const u8 {
    DOOR.with_borrow(|door| door.answer.as_ptr())
}

/// Length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn answer_len() -> usize {
    DOOR.with_borrow(|door| door.answer.len())
}

/// Where its bytes are.
#[unsafe(no_mangle)]
pub extern "C" fn blob_ptr() -> *const u8 {
    DOOR.with_borrow(|door| door.blob.as_ptr())
}

/// How many.
#[unsafe(no_mangle)]
pub extern "C" fn blob_len() -> usize {
    DOOR.with_borrow(|door| door.blob.len())
}
