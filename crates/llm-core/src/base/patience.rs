//! Patience with other programs that hold a file: a virus scanner, a backup, an editor. Windows lets no
//! file be replaced that somebody has open without allowing it.

use std::io::{self, ErrorKind};
use std::thread::sleep;
use std::time::Duration;

/// The first of [`PAUSES`] pauses between tries. Each is twice as long as the one before: five seconds
/// in all.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const PAUSES: u32 = 9;

/// What Windows says of a file that another program holds: `ERROR_ACCESS_DENIED` and
/// `ERROR_SHARING_VIOLATION`. The former has other causes too; then only time is lost.
const HELD: [i32; 2] = [5, 32];

/// Does this to a file, and again for a while if another program holds it.
pub(super) fn patiently(attempt: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    insisting(attempt, is_held, sleep)
}

fn is_held(e: &io::Error) -> bool {
    cfg!(windows) && e.raw_os_error().is_some_and(|code| HELD.contains(&code))
}

fn insisting(
    mut attempt: impl FnMut() -> io::Result<()>,
    is_held: impl Fn(&io::Error) -> bool,
    mut wait: impl FnMut(Duration),
) -> io::Result<()> {
    for n in 0..PAUSES {
        match attempt() {
            Err(e) if is_held(&e) => wait(FIRST_PAUSE * (1 << n)),
            done => return done,
        }
    }
    attempt()
}

/// Whether a file cannot be put into its place because of what is there: held by another program,
/// protected, a folder. Under another name next to it there may be no such hindrance.
pub fn is_refused(e: &io::Error) -> bool {
    use ErrorKind::{IsADirectory, PermissionDenied, ResourceBusy};
    matches!(e.kind(), PermissionDenied | IsADirectory | ResourceBusy) || is_held(e)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// Tries that a file held for the first `held` of them costs, what came of it, the time waited.
    fn held_for(held: u32) -> (u32, io::Result<()>, Duration) {
        let (tries, waited) = (Cell::new(0), RefCell::new(Duration::ZERO));
        let attempt = || {
            tries.set(tries.get() + 1);
            if tries.get() > held { Ok(()) } else { Err(io::Error::from_raw_os_error(32)) }
        };
        let is_held = |e: &io::Error| e.raw_os_error() == Some(32);
        let done = insisting(attempt, is_held, |pause| *waited.borrow_mut() += pause);
        (tries.get(), done, waited.into_inner())
    }

    #[test]
    fn what_is_held_is_tried_again_for_five_seconds() {
        for held in [0, 1, 5, PAUSES] {
            let (tries, done, waited) = held_for(held);
            assert!(done.is_ok() && tries == held + 1, "{held}: {tries}, {done:?}");
            assert_eq!(waited, FIRST_PAUSE * ((1 << held) - 1));
        }
        let (tries, done, waited) = held_for(u32::MAX);
        assert_eq!((tries, done.unwrap_err().raw_os_error()), (PAUSES + 1, Some(32)));
        assert!((5..6).contains(&waited.as_secs()), "{waited:?}");
    }

    #[test]
    fn other_errors_end_it_at_once() {
        let mut tries = 0;
        let attempt = || {
            tries += 1;
            Err(io::Error::from_raw_os_error(28))
        };
        assert!(patiently(attempt).is_err());
        assert_eq!(tries, 1);
    }

    #[test]
    fn a_full_disk_or_a_missing_folder_is_no_refusal() {
        for kind in [ErrorKind::StorageFull, ErrorKind::NotFound, ErrorKind::ReadOnlyFilesystem] {
            assert!(!is_refused(&kind.into()), "{kind}");
        }
        assert!(is_refused(&ErrorKind::PermissionDenied.into()));
    }
}
