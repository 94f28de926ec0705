//! Finds the machine's library, tells what it is, and starts it.

#![allow(unsafe_code)] // calls into the library; see the comments at each block

use crate::error::MpiError;
use crate::file::File;
use crate::handle::{Address, Number};
use crate::launcher::Launcher;
use crate::mpi::Mpi;
use crate::table::Table;
use llm_core::base::Message;
use llm_core::message;
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
    let (file, kind, version) = find(launcher, wanted)?;
    let is_hydra = Launcher::is_hydra(|name| std::env::var(name).ok());
    let (name, stalls) = (short(&version), is_hydra && stalls(&version));
    if STARTED.swap(true, Ordering::SeqCst) {
        let reason = message!("this process has joined a crew before");
        return Err(MpiError::Call { call: "MPI_Init_thread", reason });
    }
    // SAFETY: `find` decided the handles by what is in the file; a later caller returned above.
    unsafe {
        Ok(match kind {
            Kind::OpenMpi => Box::new(Table::<Address>::start(file, name, stalls)?),
            Kind::Mpich => Box::new(Table::<Number>::start(file, name, stalls)?),
        })
    }
}

/// The library that is wanted, else the first that is there, and what it says of itself.
fn find(launcher: Option<Launcher>, named: Option<&str>) -> Result<(File, Kind, String), MpiError> {
    let names: Vec<CString> = match named {
        Some(name) => CString::new(name).into_iter().collect(),
        None => usual(launcher).map(CStr::to_owned).collect(),
    };
    let mut tried = Vec::new();
    for name in names {
        let file = match File::open(&name) {
            Ok(file) => file,
            Err(why) => {
                tried.push(why.into());
                continue;
            }
        };
        match (kind(file), version(file)) {
            (Some(kind), Some(version)) => return Ok((file, kind, version)),
            _ => tried.push(message!("{} is not a known library", name.to_string_lossy().as_ref())),
        }
    }
    let all = tried.into_iter().reduce(|all: Message, one| message!("{}; {}", all, one));
    Err(MpiError::Missing { reason: all.unwrap_or_else(|| String::new().into()) })
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

/// Whether it speaks the binary interface that MPI has had since version 5. Its handles are others.
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

/// Whether `MPI_Finalize` may never return. MPICH before 4.2 over UCX: a process that has closed
/// its connections waits for the launcher and answers no process, while others wait for its answer
/// to close theirs (mended by pmodels/mpich #6596). Seen with version 4.0.2 over TCP: of four
/// processes two stayed, in about half of the runs.
///
/// Under Hydra, MPICH's own launcher, `MPI_Abort` ends all processes with the exit code that it is
/// given, 0 also, and does not wait. What other launchers make of it is not known: there the
/// processes end by themselves after a while, see `table.rs`.
fn stalls(version: &str) -> bool {
    let of = |key: &str| {
        let line = version.lines().find_map(|line| line.trim_start().strip_prefix(key));
        line.map(str::trim).unwrap_or_default()
    };
    let mut numbers = of("MPICH Version:").split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => {
            of("MPICH Device:").starts_with("ch4:ucx") && (major, minor) < (4, 2)
        }
        _ => false,
    }
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
    fn an_mpich_from_which_one_does_not_come_back_is_told_by_its_version_and_device() {
        let mpich = |version: &str, device: &str| {
            stalls(&format!(
                "MPICH Version:\t{version}\nMPICH ABI:\t14:2:2\nMPICH Device:\t{device}\n"
            ))
        };
        for version in ["3.4.3", "4.0.2", "4.1", "4.1.2"] {
            assert!(mpich(version, "ch4:ucx"), "{version}");
            assert!(!mpich(version, "ch4:ofi") && !mpich(version, "ch3:nemesis"), "{version}");
        }
        for version in ["4.2.0", "4.2rc1", "4.10.1", "5.0", ""] {
            assert!(!mpich(version, "ch4:ucx"), "{version}");
        }
        assert!(!stalls("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"));
    }

    #[test]
    fn what_is_no_mpi_library_is_refused_by_its_name() {
        let reason = |name: &str| match find(None, Some(name)) {
            Err(MpiError::Missing { reason }) => reason.to_string(),
            other => panic!("{name}: {:?}", other.map(|(_, kind, version)| (kind, version))),
        };
        assert!(reason("libnothing.so.7").contains("libnothing.so.7"));
        #[cfg(target_os = "linux")]
        assert_eq!(reason("libc.so.6"), "libc.so.6 is not a known library");
    }
}
