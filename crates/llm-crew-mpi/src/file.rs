//! An opened library file.

#![allow(unsafe_code)] // the system's loader; see the comments at each block

use crate::error::MpiError;
use llm_core::message;
use std::ffi::{CStr, c_void};

/// A library file in this process. It is never closed: what was found in it stays.
#[derive(Clone, Copy)]
pub struct File(*mut c_void);

impl File {
    /// Opens a library by its path, or by a name that the system's loader looks for.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(name: &CStr) -> Result<File, String> {
        // SAFETY: `name` ends in a NUL byte. The file's initialisers run: it is the system's MPI
        // library, or the one that the user named. RTLD_GLOBAL because Open MPI loads plug-ins that
        // look for its symbols.
        let file = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if !file.is_null() {
            return Ok(File(file));
        }
        // SAFETY: dlerror gives NULL, or a text that holds until this thread's next call.
        let why = unsafe {
            let why = libc::dlerror();
            if why.is_null() { c"no reason".to_owned() } else { CStr::from_ptr(why).to_owned() }
        };
        Err(why.to_string_lossy().into_owned())
    }

    /// Whether it has a symbol of this name.
    pub fn has(self, name: &CStr) -> bool {
        self.symbol(name).is_ok()
    }

    /// The address of what has this name.
    ///
    /// # Errors
    /// [`MpiError::Missing`].
    pub fn symbol(self, name: &CStr) -> Result<*mut c_void, MpiError> {
        // SAFETY: the file is open, the name ends in a NUL byte.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if found.is_null() {
            let reason = message!("the library has no {}", name.to_string_lossy().as_ref());
            return Err(MpiError::Missing { reason });
        }
        Ok(found)
    }

    /// The function of this name.
    ///
    /// # Safety
    /// `F` is a function pointer, of the type that the library's header gives this function.
    ///
    /// # Errors
    /// [`MpiError::Missing`].
    pub unsafe fn function<F: Copy>(self, name: &CStr) -> Result<F, MpiError> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let found = self.symbol(name)?;
        // SAFETY: both are as wide as an address, which is not null, and the caller vouches for the
        // type. POSIX wants addresses of functions and of objects to fit into each other.
        Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&found) })
    }
}
