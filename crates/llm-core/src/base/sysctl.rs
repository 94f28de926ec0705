//! What macOS says of the machine.
#![allow(unsafe_code)]

use std::ffi::CString;

/// A whole number by its name, `hw.memsize` for example; `None` where it has no such name.
pub(super) fn number(name: &str) -> Option<u64> {
    let bytes = read(name)?;
    match bytes.len() {
        4 => Some(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
        8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

/// A text by its name.
pub(super) fn text(name: &str) -> Option<String> {
    let bytes = read(name)?;
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8(bytes[..end].to_vec()).ok()
}

fn read(name: &str) -> Option<Vec<u8>> {
    let name = CString::new(name).ok()?;
    let mut bytes = vec![0u8; 256];
    let mut length = bytes.len();
    // SAFETY: the name ends with 0, and the call writes at most `length` bytes.
    let failed = unsafe {
        libc::sysctlbyname(
            name.as_ptr(),
            bytes.as_mut_ptr().cast(),
            &raw mut length,
            std::ptr::null_mut(),
            0,
        )
    };
    bytes.truncate(length);
    (failed == 0).then_some(bytes)
}
