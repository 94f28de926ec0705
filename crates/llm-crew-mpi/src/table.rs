//! The functions of a library, with handles as it has them.

#![allow(unsafe_code)] // calls into the library; see the comments at each block

use crate::error::MpiError;
use crate::file::File;
use crate::handle::{Constant, Handle};
use crate::mpi::{Mpi, Request};
use llm_core::message;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// `MPI_THREAD_SERIALIZED`, the same in both: any thread may call, one at a time.
pub const SERIALIZED: c_int = 2;

/// Room for an error's text: `MPI_MAX_ERROR_STRING` is 256 in Open MPI and 512 in MPICH.
pub const ERROR_ROOM: usize = 1024;

/// Between two processes messages of one tag come in the order in which they were sent.
const TAG: c_int = 0;

/// An `MPI_Status`, which the library alone writes and reads: 24 bytes in Open MPI, 20 in MPICH.
pub type Status = [u64; 8];

/// What is called. The types are those of `mpi.h`, `H` for every kind of handle.
#[derive(Debug)]
pub struct Table<H> {
    name: String,
    /// Whether `MPI_Finalize` may never return, see [`Table::start`].
    stalls: bool,
    world: H,
    byte: H,
    comm_rank: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    comm_size: unsafe extern "C" fn(H, *mut c_int) -> c_int,
    isend: unsafe extern "C" fn(*const c_void, c_int, H, c_int, c_int, H, *mut H) -> c_int,
    irecv: unsafe extern "C" fn(*mut c_void, c_int, H, c_int, c_int, H, *mut H) -> c_int,
    test: unsafe extern "C" fn(*mut H, *mut c_int, *mut Status) -> c_int,
    get_count: unsafe extern "C" fn(*const Status, H, *mut c_int) -> c_int,
    abort: unsafe extern "C" fn(H, c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int,
}

type Initialized = unsafe extern "C" fn(*mut c_int) -> c_int;
type InitThread =
    unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int;
type SetErrhandler<H> = unsafe extern "C" fn(H, H) -> c_int;

impl<H: Handle> Table<H> {
    /// Starts the library, which calls itself `name`: afterwards this process is known to the
    /// others. One that `stalls` is not left by `MPI_Finalize`, from which it may not come back.
    ///
    /// # Safety
    /// `file` is an MPI library whose handles are `H`. No other thread starts one meanwhile.
    ///
    /// # Errors
    /// [`MpiError::Missing`], [`MpiError::Call`].
    pub unsafe fn start(file: File, name: String, stalls: bool) -> Result<Table<H>, MpiError> {
        const { assert!(size_of::<H>() <= size_of::<usize>()) }; // see [`Request::handle`]
        // SAFETY: the types are those of mpi.h, which `headers.rs` compares, and the caller vouches
        // for `H`.
        let (initialized, init, set_errhandler, table) = unsafe {
            (
                file.function::<Initialized>(c"MPI_Initialized")?,
                file.function::<InitThread>(c"MPI_Init_thread")?,
                file.function::<SetErrhandler<H>>(c"MPI_Comm_set_errhandler")?,
                Table {
                    name,
                    stalls,
                    world: H::of(Constant::World, file)?,
                    byte: H::of(Constant::Byte, file)?,
                    comm_rank: file.function(c"MPI_Comm_rank")?,
                    comm_size: file.function(c"MPI_Comm_size")?,
                    isend: file.function(c"MPI_Isend")?,
                    irecv: file.function(c"MPI_Irecv")?,
                    test: file.function(c"MPI_Test")?,
                    get_count: file.function(c"MPI_Get_count")?,
                    abort: file.function(c"MPI_Abort")?,
                    finalize: file.function(c"MPI_Finalize")?,
                    error_string: file.function(c"MPI_Error_string")?,
                },
            )
        };
        let errors_return = H::of(Constant::ErrorsReturn, file)?;
        let mut before = 0;
        // SAFETY: this one may be called at any time; the place is ours.
        let done = unsafe { initialized(&mut before) };
        table.check("MPI_Initialized", done)?;
        if before != 0 {
            let reason = message!("this process has started it before");
            return Err(MpiError::Call { call: "MPI_Init_thread", reason });
        }
        let mut provided = 0;
        // SAFETY: not started before, as was just asked, nor by another thread, says the caller. No
        // arguments are handed on, which the standard allows.
        let done =
            unsafe { init(std::ptr::null_mut(), std::ptr::null_mut(), SERIALIZED, &mut provided) };
        table.check("MPI_Init_thread", done)?;
        if provided < SERIALIZED {
            let reason = message!("the library cannot be called from more than one thread");
            return Err(MpiError::Call { call: "MPI_Init_thread", reason });
        }
        // SAFETY: started; both handles are the library's own.
        let done = unsafe { set_errhandler(table.world, errors_return) };
        table.check("MPI_Comm_set_errhandler", done)?;
        Ok(table)
    }

    fn check(&self, call: &'static str, done: c_int) -> Result<(), MpiError> {
        if done == 0 {
            return Ok(()); // MPI_SUCCESS
        }
        let (mut text, mut len): ([c_char; ERROR_ROOM], c_int) = ([0; ERROR_ROOM], 0);
        // SAFETY: there is room for the longest text.
        let said = unsafe { (self.error_string)(done, text.as_mut_ptr(), &mut len) };
        text[ERROR_ROOM - 1] = 0;
        let reason = if said == 0 {
            // SAFETY: a NUL byte ends the text, at the latest at the end of its room.
            let text = unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy();
            text.split_whitespace().collect::<Vec<_>>().join(" ").into() // MPICH's has several lines
        } else {
            message!("error {}", done)
        };
        Err(MpiError::Call { call, reason })
    }
}

/// Bytes and a number of a process, as the library counts.
fn counts(call: &'static str, len: usize, member: usize) -> Result<(c_int, c_int), MpiError> {
    match (c_int::try_from(len), c_int::try_from(member)) {
        (Ok(len), Ok(member)) => Ok((len, member)),
        _ => Err(MpiError::Call { call, reason: message!("{} bytes are too many", len) }),
    }
}

impl<H: Handle> Mpi for Table<H> {
    fn name(&self) -> &str {
        &self.name
    }

    fn rank_and_size(&self) -> Result<(usize, usize), MpiError> {
        let (mut rank, mut size): (c_int, c_int) = (0, 0);
        // SAFETY: started; the place is ours.
        let done = unsafe { (self.comm_rank)(self.world, &mut rank) };
        self.check("MPI_Comm_rank", done)?;
        // SAFETY: likewise.
        let done = unsafe { (self.comm_size)(self.world, &mut size) };
        self.check("MPI_Comm_size", done)?;
        Ok((rank.max(0) as usize, size.max(1) as usize))
    }

    unsafe fn send(&self, bytes: &[u8], to: usize) -> Result<Request, MpiError> {
        let (count, to) = counts("MPI_Isend", bytes.len(), to)?;
        let mut request = Request { handle: 0, expected: None };
        let (bytes, handle) = (bytes.as_ptr().cast(), (&raw mut request.handle).cast::<H>());
        // SAFETY: started; `count` bytes are there, and the caller keeps them; the place for the
        // request is ours and wide enough.
        let done = unsafe { (self.isend)(bytes, count, self.byte, to, TAG, self.world, handle) };
        self.check("MPI_Isend", done)?;
        Ok(request)
    }

    unsafe fn receive(&self, bytes: &mut [u8], from: usize) -> Result<Request, MpiError> {
        let (count, from) = counts("MPI_Irecv", bytes.len(), from)?;
        let mut request = Request { handle: 0, expected: Some(bytes.len()) };
        let (bytes, handle) = (bytes.as_mut_ptr().cast(), (&raw mut request.handle).cast::<H>());
        // SAFETY: as for sending; at most `count` bytes are written, a longer message is an error.
        let done = unsafe { (self.irecv)(bytes, count, self.byte, from, TAG, self.world, handle) };
        self.check("MPI_Irecv", done)?;
        Ok(request)
    }

    fn is_done(&self, request: &mut Request) -> Result<bool, MpiError> {
        let (mut flag, mut status): (c_int, Status) = (0, [0; 8]);
        let handle = (&raw mut request.handle).cast::<H>();
        // SAFETY: there is one library in a process, and a request is made by it alone. After a
        // message is through the handle is null, and to ask again is allowed. A status has room.
        let done = unsafe { (self.test)(handle, &mut flag, &mut status) };
        self.check("MPI_Test", done)?;
        if flag == 0 {
            return Ok(false);
        }
        if let Some(expected) = request.expected.take() {
            let mut came = 0;
            // SAFETY: the status is of a message that came, in bytes.
            let done = unsafe { (self.get_count)(&status, self.byte, &mut came) };
            self.check("MPI_Get_count", done)?;
            if usize::try_from(came) != Ok(expected) {
                let reason = message!("{} bytes came in place of {}", came, expected);
                return Err(MpiError::Call { call: "MPI_Test", reason });
            }
        }
        Ok(true)
    }

    fn abort(&self, code: i32) -> ! {
        /// The library may need this to reach the other machines, and not more.
        const GRACE: Duration = Duration::from_secs(5);
        /// What this process said last goes through the launcher, and MPICH's drops what it has not
        /// yet handed on when it is asked to end.
        const MOMENT: Duration = Duration::from_millis(200);
        let _watch = end_after(GRACE, code);
        std::thread::sleep(MOMENT);
        // SAFETY: started. What is under way is dropped with the process.
        unsafe { (self.abort)(self.world, code) };
        end(code) // a library that comes back has told the others
    }

    fn finish(self: Box<Self>, code: i32) -> Result<(), MpiError> {
        /// A library takes no longer to leave a thousand others.
        const LONG: Duration = Duration::from_secs(60);
        if self.stalls {
            hush();
            self.abort(code)
        }
        let _watch = end_after(LONG, code);
        // SAFETY: started once and finished once, for `self` is gone afterwards. Nothing is under
        // way: the caller that has begun a message borrows `self` until it is through.
        let done = unsafe { (self.finalize)() };
        self.check("MPI_Finalize", done)
    }
}

/// Should a call not come back in time, this process ends nevertheless; not once what is given back
/// is gone. Where there is no thread to be had it goes without.
fn end_after(time: Duration, code: i32) -> Sender<()> {
    let (is_back, watched) = channel();
    let watch = move || {
        if watched.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
            end(code)
        }
    };
    let _without = std::thread::Builder::new().spawn(watch);
    is_back
}

/// The library tells on stderr that it was asked to end all. Where all had come to their end that is
/// no news, and nothing else is to be said any more.
fn hush() {
    // SAFETY: a constant path; descriptors that are not open are refused by the system.
    unsafe {
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        if nowhere >= 0 {
            libc::dup2(nowhere, libc::STDERR_FILENO);
        }
    }
}

/// At once: nothing of the library's runs any more.
fn end(code: i32) -> ! {
    // SAFETY: allowed at any time; no destructors run and no locks are taken.
    unsafe { libc::_exit(code) }
}
