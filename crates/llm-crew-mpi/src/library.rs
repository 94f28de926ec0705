//! Finds the machine's library, tells what it is, and starts it.

#![allow(unsafe_code)] // calls into the library; see the comments at each block

use crate::error::MpiError;
use crate::file::File;
use crate::handle::{Address, Number};
use crate::launcher::Launcher;
use crate::mpi::Mpi;
use crate::table::Table;
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a library's handles are, see `handle.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    OpenMpi,
    Mpich,
}

/// What the loader is asked for. Debian calls MPICH by its name, others `libmpi`, as Intel's is.
#[cfg(not(target_vendor = "apple"))]
const NAMES: [(Kind, &CStr); 3] = [
    (Kind::OpenMpi, c"libmpi.so.40"),
    (Kind::Mpich, c"libmpich.so.12"),
    (Kind::Mpich, c"libmpi.so.12"),
];
/// What the loader is asked for.
#[cfg(target_vendor = "apple")]
const NAMES: [(Kind, &CStr); 2] =
    [(Kind::OpenMpi, c"libmpi.40.dylib"), (Kind::Mpich, c"libmpi.12.dylib")];

/// What the libraries with MPICH's handles say of themselves: they agreed on them in 2013, as the
/// MPICH ABI Compatibility Initiative.
const LIKE_MPICH: [&str; 3] = ["MPICH", "Intel(R) MPI", "MVAPICH"];

/// Opens the library and starts it: afterwards this process is known to the others.
///
/// `wanted` is a path, or a name for the system's loader. Else those of the launcher's kind are
/// tried first. Only once in a process: MPI knows no second start.
///
/// # Errors
/// [`MpiError::Missing`], [`MpiError::Call`].
pub fn start(launcher: Option<Launcher>, wanted: Option<&str>) -> Result<Box<dyn Mpi>, MpiError> {
    static STARTED: AtomicBool = AtomicBool::new(false);
    let (file, kind, name) = find(launcher, wanted)?;
    if STARTED.swap(true, Ordering::SeqCst) {
        let reason = "this process has joined a crew before".into();
        return Err(MpiError::Call { call: "MPI_Init_thread", reason });
    }
    // SAFETY: `find` told the handles from what is in the file; whoever came later went back above.
    unsafe {
        Ok(match kind {
            Kind::OpenMpi => Box::new(Table::<Address>::start(file, name)?),
            Kind::Mpich => Box::new(Table::<Number>::start(file, name)?),
        })
    }
}

/// The library that is wanted, else the first that is there.
fn find(
    launcher: Option<Launcher>,
    wanted: Option<&str>,
) -> Result<(File, Kind, String), MpiError> {
    let names: Vec<CString> = match wanted {
        Some(name) => CString::new(name).into_iter().collect(),
        None => usual(launcher).map(CStr::to_owned).collect(),
    };
    let mut tried = Vec::new();
    for name in names {
        let file = match File::open(&name) {
            Ok(file) => file,
            Err(why) => {
                tried.push(why);
                continue;
            }
        };
        match (kind(file), version(file)) {
            (Some(kind), Some(version)) => return Ok((file, kind, short(&version))),
            _ => tried.push(format!("{} is none that is known", name.to_string_lossy())),
        }
    }
    Err(MpiError::Missing { reason: tried.join("; ") })
}

/// The usual names, those of the launcher's kind first.
fn usual(launcher: Option<Launcher>) -> impl Iterator<Item = &'static CStr> {
    let first = if launcher == Some(Launcher::Mpich) { Kind::Mpich } else { Kind::OpenMpi };
    let (mine, other): (Vec<_>, Vec<_>) = NAMES.into_iter().partition(|(kind, _)| *kind == first);
    mine.into_iter().chain(other).map(|(_, name)| name)
}

/// What a file is called says less than what is in it.
fn kind(file: File) -> Option<Kind> {
    if file.has(c"ompi_mpi_comm_world") {
        return Some(Kind::OpenMpi);
    }
    let version = version(file)?;
    let is_like_mpich = LIKE_MPICH.iter().any(|name| version.contains(name));
    (is_like_mpich && !has_standard_handles(file)).then_some(Kind::Mpich)
}

/// Does it speak the binary interface that MPI has had since version 5? Its handles are others.
fn has_standard_handles(file: File) -> bool {
    type AbiVersion = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: the function's type, by the standard.
    let Ok(ask) = (unsafe { file.function::<AbiVersion>(c"MPI_Abi_get_version") }) else {
        return false;
    };
    // SAFETY: may be called before the start; both places are ours.
    unsafe { ask(&mut major, &mut minor) };
    major >= 0 // −1 where the library has handles of its own
}

/// What the library says of itself.
fn version(file: File) -> Option<String> {
    type LibraryVersion = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
    /// MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI and 8192 in MPICH.
    const ROOM: usize = 16_384;
    let (mut text, mut len): (Vec<c_char>, c_int) = (vec![0; ROOM], 0);
    // SAFETY: the function's type, by the standard.
    let ask = unsafe { file.function::<LibraryVersion>(c"MPI_Get_library_version") }.ok()?;
    // SAFETY: may be called before the start; there is room for the longest text.
    let done = unsafe { ask(text.as_mut_ptr(), &mut len) };
    text[ROOM - 1] = 0;
    // SAFETY: a NUL byte ends the text, at the latest at the end of its room.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) };
    (done == 0).then(|| text.to_string_lossy().into_owned())
}

/// "Open MPI v4.1.4", "MPICH Version: 4.0.2": the rest tells how it was built.
fn short(version: &str) -> String {
    let first = version.split([',', '\n']).next().unwrap_or_default();
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launchers_library_is_tried_first_and_all_are_tried() {
        let first = |launcher| {
            let name = usual(launcher).next().unwrap();
            NAMES.into_iter().find(|(_, of)| *of == name).unwrap().0
        };
        assert_eq!(first(None), Kind::OpenMpi);
        assert_eq!(first(Some(Launcher::OpenMpi)), Kind::OpenMpi);
        assert_eq!(first(Some(Launcher::Mpich)), Kind::Mpich);
        assert_eq!(usual(Some(Launcher::Mpich)).count(), NAMES.len());
    }

    #[test]
    fn a_version_is_the_beginning_of_what_the_library_says() {
        let open_mpi = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4";
        assert_eq!(short(open_mpi), "Open MPI v4.1.4");
        let mpich = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n";
        assert_eq!(short(mpich), "MPICH Version: 4.0.2");
    }

    #[test]
    fn what_is_no_mpi_library_is_refused_by_its_name() {
        let reason = |name: &str| match find(None, Some(name)) {
            Err(MpiError::Missing { reason }) => reason,
            other => panic!("{name}: {:?}", other.map(|(_, kind, version)| (kind, version))),
        };
        assert!(reason("libnothing.so.7").contains("libnothing.so.7"));
        #[cfg(target_os = "linux")]
        assert_eq!(reason("libc.so.6"), "libc.so.6 is none that is known");
    }
}
