//! Every call of a save fails in turn, and power is lost between any two.

use super::folder::State;
use super::simulated::{Call, Extent, Fault, Simulated};
use super::*;
use crate::checkpoint::save::save_on;
use std::ffi::OsStr;

const NAME: &str = "model.ckpt";

// As Linux numbers them; nothing here depends on their meaning.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Two complete checkpoints, and the run that is the second.
struct Case {
    old: Option<Vec<u8>>,
    new: Vec<u8>,
    trainer: Trainer,
}

impl Case {
    /// The folder holds an older checkpoint of the run, or none yet.
    fn both() -> [Case; 2] {
        [false, true].map(|replaces| {
            let mut trainer = small();
            let old = replaces.then(|| bytes_of(&trainer, &tokenizer(), true));
            trainer.step(&data()).unwrap();
            Case { old, new: bytes_of(&trainer, &tokenizer(), true), trainer }
        })
    }

    fn start(&self) -> State {
        State::new(&self.old.iter().map(|old| (NAME, &old[..])).collect::<Vec<_>>())
    }

    fn save(&self, fault: Option<Fault>, forgotten: Option<Call>) -> (Simulated, Result<()>) {
        let files = Simulated::new(self.start(), fault, forgotten);
        let saved = save_on(&files, Path::new(NAME), (&self.trainer).into(), &tokenizer(), true);
        (files, saved)
    }

    fn is_old_or_new(&self, content: &Option<Vec<u8>>) -> bool {
        *content == self.old || self.is_new(content)
    }

    fn is_new(&self, content: &Option<Vec<u8>>) -> bool {
        content.as_ref() == Some(&self.new)
    }

    /// How many kill -9s and power cuts were tried, and how many lost something.
    fn count_losses(&self, files: &Simulated, saved: &Result<()>) -> (usize, usize) {
        let (mut tried, mut lost) = (0, 0);
        for moment in files.moments() {
            let killed = moment.read(NAME);
            for content in [killed].into_iter().chain(moment.after_power_loss(NAME)) {
                tried += 1;
                lost += usize::from(!self.is_old_or_new(&content));
            }
        }
        if saved.is_ok() {
            let now = files.state();
            for content in [now.read(NAME)].into_iter().chain(now.after_power_loss(NAME)) {
                tried += 1;
                lost += usize::from(!self.is_new(&content));
            }
        }
        (tried, lost)
    }
}

fn is_leftover(name: &str) -> bool {
    let target =
        crate::base::target::Target { directory: "".into(), name: NAME.into(), mode: None };
    target.is_leftover(OsStr::new(name))
}

/// Calls `f` with every fault of the case until none is reached any more.
fn every_fault(case: &Case, mut f: impl FnMut(Fault, &Simulated, &Result<()>)) {
    for extent in [Extent::Once, Extent::UntilRoom, Extent::ForEver] {
        for error in [ENOSPC, EIO] {
            for done in [false, true] {
                for at in 1.. {
                    let fault = Fault { at, error, extent, done };
                    let (files, saved) = case.save(Some(fault), None);
                    if files.calls().len() < at {
                        saved.unwrap();
                        break;
                    }
                    f(fault, &files, &saved);
                }
            }
        }
    }
}

#[test]
fn the_calls_of_a_save_in_their_order() {
    for case in Case::both() {
        let (files, saved) = case.save(None, None);
        saved.unwrap();
        let mut calls = files.calls();
        use Call::*;
        assert!(calls.iter().filter(|&&c| c == Write).count() > 10, "{calls:?}");
        calls.dedup();
        let order = [Find, OpenDirectory, Create, Write, Mode, Sync, Rename, SyncDirectory];
        assert_eq!(calls, order);
        assert_eq!(files.state().names().collect::<Vec<_>>(), [NAME]);
        assert!(case.is_new(&files.state().read(NAME)));
    }
}

#[test]
fn whatever_call_fails_the_old_file_or_the_new_one_is_there_and_no_other() {
    for case in Case::both() {
        let mut points = 0;
        every_fault(&case, |fault, files, saved| {
            points += 1;
            let Err(Error::Io { action: IoAction::Save, path, source }) = saved else {
                panic!("{fault:?}: {saved:?}")
            };
            assert_eq!((&**path, source.raw_os_error()), (Path::new(NAME), Some(fault.error)));
            let state = files.state();
            let content = state.read(NAME);
            assert!(case.is_old_or_new(&content), "{fault:?}");
            if let Some(content) = content {
                read(&content).unwrap();
            }
            let others: Vec<_> = state.names().filter(|&n| n != NAME).collect();
            match fault.extent {
                Extent::Once | Extent::UntilRoom => assert!(others.is_empty(), "{fault:?}"),
                // A broken disk lets nothing be removed: the next run sweeps it.
                Extent::ForEver => {
                    assert!(others.len() <= 1 && others.iter().all(|n| is_leftover(n)))
                }
            }
            let (_, lost) = case.count_losses(files, saved);
            assert_eq!(lost, 0, "{fault:?}, then killed or without power");
        });
        assert!(points > 100, "{points}");
    }
}

#[test]
fn a_failed_sync_is_never_tried_again_on_the_same_file() {
    for case in Case::both() {
        every_fault(&case, |fault, files, _| {
            let calls = files.calls();
            if calls[fault.at - 1] == Call::Sync {
                // All that happens to the file then is its removal.
                assert_eq!(calls[fault.at..], [Call::Remove], "{fault:?}");
                assert_eq!(files.state().read(NAME), case.old);
            }
        });
    }
}

#[test]
fn whenever_power_is_lost_the_old_file_or_the_new_one_is_there() {
    for case in Case::both() {
        let (files, saved) = case.save(None, None);
        let (tried, lost) = case.count_losses(&files, &saved);
        assert!(tried > 80, "{tried}");
        assert_eq!(lost, 0);
    }
}

/// The simulation is worth something only if it notices what a careless program loses.
#[test]
fn a_forgotten_sync_is_noticed() {
    for case in Case::both() {
        for forgotten in [Call::Sync, Call::SyncDirectory] {
            let (files, saved) = case.save(None, Some(forgotten));
            assert!(case.is_new(&files.state().read(NAME)), "without a power cut all looks well");
            assert!(case.count_losses(&files, &saved).1 > 0, "{forgotten:?}");
        }
    }
}
