//! The functions of the opened library.
//!
//! The only file that turns names into functions. Each is called through a method here, whose
//! comment says what the standard asks of the caller.

#![allow(unsafe_code)] // see the comments at each block

use crate::MpiError;
use crate::abi::{Abi, Handle, NAMES, SERIALIZED, Value};
use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// A status that nobody looks at: room for the largest known, 24 bytes.
type Status = [u64; 8];

/// An MPI library in this process, started.
#[derive(Debug)]
pub struct Library {
    abi: Abi,
    world: Handle,
    byte: Handle,
    calls: Calls,
}

/// What is called. The signatures are those of `mpi.h`, with handles as wide as an address.
#[derive(Clone, Copy, Debug)]
struct Calls {
    comm_rank: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    comm_size: unsafe extern "C" fn(Handle, *mut c_int) -> c_int,
    isend: Isend,
    irecv: Irecv,
    test: unsafe extern "C" fn(*mut Handle, *mut c_int, *mut Status) -> c_int,
    abort: unsafe extern "C" fn(Handle, c_int) -> c_int,
    finalize: unsafe extern "C" fn() -> c_int,
    error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int,
}

type InitThread =
    unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int;
type SetErrhandler = unsafe extern "C" fn(Handle, Handle) -> c_int;
type Isend =
    unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;
type Irecv =
    unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut Handle) -> c_int;

/// A message under way. The bytes that it reads or writes must stay where they are until
/// [`Library::is_done`] said so.
#[derive(Debug)]
pub struct Request(Handle);

/// An opened library file.
#[derive(Clone, Copy)]
struct File(*mut c_void);

impl File {
    fn open(name: &CStr) -> Result<File, String> {
        // SAFETY: `name` ends in a NUL byte. The file's initialisers run: it is the system's MPI
        // library, or the one that the user named. It is never closed, so what it gives stays.
        // RTLD_GLOBAL because Open MPI loads plug-ins that look for its symbols.
        let file = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if !file.is_null() {
            return Ok(File(file));
        }
        // SAFETY: dlerror gives NUL or a text that holds until the next call of this thread.
        let why = unsafe {
            let why = libc::dlerror();
            if why.is_null() { c"no reason".to_owned() } else { CStr::from_ptr(why).to_owned() }
        };
        Err(why.to_string_lossy().into_owned())
    }

    fn has(self, name: &CStr) -> bool {
        self.symbol(name).is_ok()
    }

    fn symbol(self, name: &CStr) -> Result<*mut c_void, MpiError> {
        // SAFETY: the file is open, the name ends in a NUL byte.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if found.is_null() {
            let reason = format!("the library has no {}", name.to_string_lossy());
            return Err(MpiError::Missing { reason });
        }
        Ok(found)
    }

    fn handle(self, value: Value) -> Result<Handle, MpiError> {
        match value {
            Value::Number(number) => Ok(number),
            Value::Symbol(name) => Ok(self.symbol(name)? as Handle),
        }
    }

    /// # Safety
    /// `F` is the type of the C function `name`, by `mpi.h`.
    unsafe fn function<F: Copy>(self, name: &CStr) -> Result<F, MpiError> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let found = self.symbol(name)?;
        // SAFETY: both are as wide as an address, and the caller vouches for the type.
        Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&found) })
    }
}

impl Library {
    /// Opens the library, and starts it: afterwards this process is known to the others.
    ///
    /// `wanted` is a path, or the end of one of the known names. With more than one on the machine
    /// it is the launcher's that is tried first.
    ///
    /// # Errors
    /// [`MpiError::Missing`], [`MpiError::Call`].
    pub fn start(first: Abi, wanted: Option<&str>) -> Result<Library, MpiError> {
        let (file, abi) = find(first, wanted)?;
        // SAFETY: the types are those of mpi.h in Open MPI 4 and 5 and MPICH 4, with handles as
        // wide as an address, see `abi.rs`.
        let (init, set_errhandler, calls) = unsafe {
            (
                file.function::<InitThread>(c"MPI_Init_thread")?,
                file.function::<SetErrhandler>(c"MPI_Comm_set_errhandler")?,
                Calls {
                    comm_rank: file.function(c"MPI_Comm_rank")?,
                    comm_size: file.function(c"MPI_Comm_size")?,
                    isend: file.function(c"MPI_Isend")?,
                    irecv: file.function(c"MPI_Irecv")?,
                    test: file.function(c"MPI_Test")?,
                    abort: file.function(c"MPI_Abort")?,
                    finalize: file.function(c"MPI_Finalize")?,
                    error_string: file.function(c"MPI_Error_string")?,
                },
            )
        };
        let library = Library {
            abi,
            world: file.handle(abi.world())?,
            byte: file.handle(abi.byte())?,
            calls,
        };
        let mut provided = 0;
        // SAFETY: once in a process (the caller sees to it); no arguments are handed on, which the
        // standard allows.
        let done =
            unsafe { init(std::ptr::null_mut(), std::ptr::null_mut(), SERIALIZED, &mut provided) };
        library.check("MPI_Init_thread", done)?;
        if provided < SERIALIZED {
            let reason = "it cannot be called from more than one thread".into();
            return Err(MpiError::Call { call: "MPI_Init_thread", reason });
        }
        let errors_return = file.handle(abi.errors_return())?;
        // SAFETY: both handles are the library's own.
        let done = unsafe { set_errhandler(library.world, errors_return) };
        library.check("MPI_Comm_set_errhandler", done)?;
        Ok(library)
    }

    /// Open MPI or MPICH.
    pub fn abi(&self) -> Abi {
        self.abi
    }

    /// The number of this process, and how many there are.
    pub fn rank_and_size(&self) -> Result<(usize, usize), MpiError> {
        let (mut rank, mut size): (c_int, c_int) = (0, 0);
        // SAFETY: started; both places are ours.
        let done = unsafe { (self.calls.comm_rank)(self.world, &mut rank) };
        self.check("MPI_Comm_rank", done)?;
        // SAFETY: likewise.
        let done = unsafe { (self.calls.comm_size)(self.world, &mut size) };
        self.check("MPI_Comm_size", done)?;
        Ok((rank.max(0) as usize, size.max(1) as usize))
    }

    /// Begins to send bytes to a process.
    ///
    /// # Safety
    /// The bytes stay where they are, unchanged, until [`Library::is_done`] or the process ends.
    pub unsafe fn send(&self, bytes: &[u8], to: usize) -> Result<Request, MpiError> {
        let (count, to) = self.fits("MPI_Isend", bytes.len(), to)?;
        let mut request: Handle = 0;
        // SAFETY: started; `count` bytes from that address are ours, and the caller keeps them.
        let done = unsafe {
            (self.calls.isend)(
                bytes.as_ptr().cast(),
                count,
                self.byte,
                to,
                TAG,
                self.world,
                &mut request,
            )
        };
        self.check("MPI_Isend", done)?;
        Ok(Request(request))
    }

    /// Begins to receive as many bytes from a process.
    ///
    /// # Safety
    /// The bytes stay where they are, and nobody looks at them, until [`Library::is_done`] or the
    /// process ends.
    pub unsafe fn receive(&self, bytes: &mut [u8], from: usize) -> Result<Request, MpiError> {
        let (count, from) = self.fits("MPI_Irecv", bytes.len(), from)?;
        let mut request: Handle = 0;
        // SAFETY: as for sending; the library writes at most `count` bytes.
        let done = unsafe {
            (self.calls.irecv)(
                bytes.as_mut_ptr().cast(),
                count,
                self.byte,
                from,
                TAG,
                self.world,
                &mut request,
            )
        };
        self.check("MPI_Irecv", done)?;
        Ok(Request(request))
    }

    /// Has the message gone, or come? Messages move on while this is called.
    pub fn is_done(&self, request: &mut Request) -> Result<bool, MpiError> {
        let (mut flag, mut status): (c_int, Status) = (0, [0; 8]);
        // SAFETY: the request is one of this library; a finished one is null, and asking again is
        // allowed. The status has more room than either library's.
        let done = unsafe { (self.calls.test)(&mut request.0, &mut flag, &mut status) };
        self.check("MPI_Test", done)?;
        Ok(flag != 0)
    }

    /// Ends all processes, this one too.
    pub fn abort(&self, code: i32) -> ! {
        // SAFETY: started. What is under way is dropped with the process.
        unsafe { (self.calls.abort)(self.world, code) };
        std::process::exit(code) // an MPI that comes back from it has told the others
    }

    /// The end of a run that all came to: waits for the others. Nothing may be called after it.
    pub fn finish(self) -> Result<(), MpiError> {
        // SAFETY: started once, finished once: `self` is gone afterwards.
        let done = unsafe { (self.calls.finalize)() };
        self.check("MPI_Finalize", done)
    }

    fn fits(
        &self,
        call: &'static str,
        len: usize,
        member: usize,
    ) -> Result<(c_int, c_int), MpiError> {
        match (c_int::try_from(len), c_int::try_from(member)) {
            (Ok(len), Ok(member)) => Ok((len, member)),
            _ => Err(MpiError::Call { call, reason: format!("{len} bytes are too many") }),
        }
    }

    fn check(&self, call: &'static str, done: c_int) -> Result<(), MpiError> {
        if done == 0 {
            return Ok(());
        }
        // MPI_MAX_ERROR_STRING is 256 in Open MPI and 512 in MPICH.
        let (mut text, mut len): ([c_char; 1024], c_int) = ([0; 1024], 0);
        // SAFETY: there is room for the longest text, which ends in a NUL byte.
        let said = unsafe { (self.calls.error_string)(done, text.as_mut_ptr(), &mut len) };
        text[text.len() - 1] = 0;
        let reason = if said == 0 {
            // SAFETY: the text ends in a NUL byte, at the latest at its end.
            unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned()
        } else {
            format!("error {done}")
        };
        Err(MpiError::Call { call, reason })
    }
}

/// Between two processes messages of one tag come in the order in which they were sent.
const TAG: c_int = 0;

/// The library that is wanted, else the first that is there, beginning with those of `first`.
fn find(first: Abi, wanted: Option<&str>) -> Result<(File, Abi), MpiError> {
    let mut tried = Vec::new();
    let mut names: Vec<CString> = Vec::new();
    match wanted {
        Some(path) => names.extend(CString::new(path)),
        None => {
            let of = |abi: Abi| NAMES.iter().filter(move |(known, _)| *known == abi);
            let other = if first == Abi::OpenMpi { Abi::Mpich } else { Abi::OpenMpi };
            names.extend(of(first).chain(of(other)).map(|(_, name)| (*name).to_owned()));
        }
    }
    for name in names {
        match File::open(&name) {
            // What a file is called says less than what is in it.
            Ok(file) if file.has(c"ompi_mpi_comm_world") => return Ok((file, Abi::OpenMpi)),
            Ok(file) if file.has(c"MPI_Init_thread") => return Ok((file, Abi::Mpich)),
            Ok(_) => tried.push(format!("{} is none", name.to_string_lossy())),
            Err(why) => tried.push(why),
        }
    }
    Err(MpiError::Missing { reason: tried.join("; ") })
}
