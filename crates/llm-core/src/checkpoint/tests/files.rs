//! What saving does to the file system, also when it fails.

use super::*;
use crate::base::file_calls::Disk;
use crate::base::{check_writable, sweep_stale};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use tempfile::TempDir;

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn names(directory: &Path) -> Vec<OsString> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    names
}

fn is_io<T>(result: Result<T>, wanted: IoAction) -> bool {
    matches!(result, Err(Error::Io { action, .. }) if action == wanted)
}

#[test]
fn a_saved_file_loads_and_nothing_else_is_left() {
    let dir = directory();
    let path = dir.path().join("model.ckpt");
    let trainer = small();
    for with_optimizer in [false, true] {
        save(&path, &trainer, &tokenizer(), with_optimizer).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes_of(&trainer, &tokenizer(), with_optimizer));
        let checkpoint = Checkpoint::load(&path).unwrap();
        assert_equal(&trainer, &checkpoint.into_trainer(two_heads()).unwrap(), with_optimizer);
    }
    assert_eq!(names(dir.path()), ["model.ckpt"]);
}

#[test]
fn what_is_no_file_is_neither_read_nor_replaced() {
    let dir = directory();
    let missing = dir.path().join("missing");
    assert!(is_io(Checkpoint::load(&missing), IoAction::Read));
    assert!(is_io(Checkpoint::load(dir.path()), IoAction::Read));
    let trainer = small();
    for target in [dir.path(), &missing.join("model.ckpt"), Path::new("/"), Path::new("")] {
        assert!(is_io(save(target, &trainer, &tokenizer(), true), IoAction::Save), "{target:?}");
        assert!(is_io(check_writable(target), IoAction::Create), "{target:?}");
        assert_eq!(sweep_stale(target), 0);
    }
    assert!(is_io(save(&dir.path().join("x/"), &trainer, &tokenizer(), true), IoAction::Save));
    assert!(names(dir.path()).is_empty());
    #[cfg(unix)]
    for device in ["/dev/null", "/dev/full"].map(Path::new).iter().filter(|d| d.exists()) {
        assert!(is_io(Checkpoint::load(device), IoAction::Read));
        assert!(is_io(check_writable(device), IoAction::Create));
        assert!(is_io(save(device, &trainer, &tokenizer(), true), IoAction::Save));
        assert!(!fs::metadata(device).unwrap().is_file());
    }
}

#[test]
fn a_run_that_cannot_be_stored_leaves_the_old_file() {
    let dir = directory();
    let path = dir.path().join("model.ckpt");
    save(&path, &small(), &tokenizer(), true).unwrap();
    let old = fs::read(&path).unwrap();
    let mut weights = small();
    weights.model.blocks[0].w_fc.data_mut()[3] = f32::NAN;
    let error = save(&path, &weights, &tokenizer(), false).unwrap_err();
    assert!(matches!(
        error,
        Error::Checkpoint { source: CheckpointError::NotFinite { ref tensor }, .. }
            if tensor == "blocks.0.w_fc"
    ));
    let mut moments = small();
    let mut wrong = moments.optimizer.state().clone();
    wrong.parameters[0].slots[0][0] = f32::INFINITY;
    moments.optimizer.restore(wrong.clone());
    assert!(save(&path, &moments, &tokenizer(), true).is_err());
    wrong.parameters[0].slots[0] = vec![0.0].into();
    moments.optimizer.restore(wrong.clone());
    assert!(save(&path, &moments, &tokenizer(), true).is_err());
    wrong.parameters.pop();
    moments.optimizer.restore(wrong);
    assert!(save(&path, &moments, &tokenizer(), true).is_err());
    let mut other = small();
    other.model.b_lm = None;
    assert!(save(&path, &other, &tokenizer(), true).is_err());
    other.model.b_lm = Some(Tensor::parameter(ndarray::ArrayD::zeros(vec![1, 5])));
    assert!(save(&path, &other, &tokenizer(), true).is_err());
    let mut extra = small();
    extra.model.lnf_g = Some(Tensor::parameter(ndarray::ArrayD::ones(vec![2])));
    assert!(save(&path, &extra, &tokenizer(), false).is_err());
    assert_eq!(fs::read(&path).unwrap(), old);
    assert_eq!(names(dir.path()), ["model.ckpt"]);
}

#[test]
fn a_failure_while_writing_leaves_the_old_file() {
    let dir = directory();
    let path = dir.path().join("model.ckpt");
    fs::write(&path, "old").unwrap();
    for (bytes, panics) in [(0, false), (10, false), (1 << 20, false), (10, true)] {
        let fail = |out: &mut dyn Write| {
            out.write_all(&vec![1; bytes])?;
            assert!(!panics, "in the middle");
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        let attempt =
            std::panic::AssertUnwindSafe(|| crate::base::replace::replace(&Disk, &path, fail));
        assert!(!matches!(std::panic::catch_unwind(attempt), Ok(Ok(()))));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(dir.path()), ["model.ckpt"]);
    }
}

/// A limit on the size of files makes the system refuse a write, as a full disk does. It is a
/// property of a process, so the saving happens in another one: this test again.
#[cfg(unix)]
#[test]
fn a_write_that_the_system_refuses_leaves_the_old_file() {
    const VARIABLE: &str = "LLM_CORE_TEST_FULL_DISK";
    if let Some(path) = std::env::var_os(VARIABLE) {
        let trainer = trained(Config::new(50, 4, 16, 1), two_heads());
        let error = save(Path::new(&path), &trainer, &tokenizer(), true).unwrap_err();
        assert!(matches!(
            error,
            Error::Io { action: IoAction::Save, source, .. } if source.kind() == io::ErrorKind::FileTooLarge
        ));
        return;
    }
    let dir = directory();
    let path = dir.path().join("model.ckpt");
    fs::write(&path, "old").unwrap();
    let this = "checkpoint::tests::files::a_write_that_the_system_refuses_leaves_the_old_file";
    let done = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 4; exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg(this)
        .env(VARIABLE, &path)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    assert!(String::from_utf8_lossy(&done.stdout).contains("1 passed"));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(dir.path()), ["model.ckpt"]);
}

#[cfg(unix)]
#[test]
fn a_new_file_takes_over_the_old_ones_mode_or_the_umasks() {
    use std::os::unix::fs::PermissionsExt;
    let dir = directory();
    let path = dir.path().join("model.ckpt");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let trainer = small();
    save(&path, &trainer, &tokenizer(), true).unwrap();
    let plain = dir.path().join("plain");
    fs::write(&plain, "").unwrap();
    assert_eq!(mode(&path), mode(&plain));
    for old in [0o600, 0o640, 0o666, 0o777, 0o444] {
        fs::set_permissions(&path, fs::Permissions::from_mode(old)).unwrap();
        save(&path, &trainer, &tokenizer(), true).unwrap();
        assert_eq!(mode(&path), old);
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_stay() {
    use std::os::unix::fs::symlink;
    let dir = directory();
    let [real, links] = ["real", "links"].map(|n| dir.path().join(n));
    fs::create_dir(&real).unwrap();
    fs::create_dir(&links).unwrap();
    let path = links.join("model.ckpt");
    symlink("second", &path).unwrap();
    symlink("../real/model.ckpt", links.join("second")).unwrap();
    // Dangling at first, then not.
    for _ in 0..2 {
        check_writable(&path).unwrap();
        save(&path, &small(), &tokenizer(), true).unwrap();
        Checkpoint::load(&path).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert!(fs::symlink_metadata(real.join("model.ckpt")).unwrap().is_file());
        assert_eq!(names(&real), ["model.ckpt"]);
        assert_eq!(names(&links), ["model.ckpt", "second"]);
    }
    symlink("loop", links.join("loop")).unwrap();
    assert!(is_io(save(&links.join("loop"), &small(), &tokenizer(), true), IoAction::Save));
    assert!(is_io(Checkpoint::load(&links.join("loop")), IoAction::Read));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_without_waiting() {
    let dir = directory();
    let path = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if made.is_ok_and(|s| s.success()) {
        assert!(is_io(Checkpoint::load(&path), IoAction::Read));
        assert!(is_io(save(&path, &small(), &tokenizer(), true), IoAction::Save));
    }
}

#[test]
fn only_own_leftovers_are_swept() {
    let dir = directory();
    let path = dir.path().join("model.ckpt");
    let long = dir.path().join("l".repeat(240));
    let kept = [
        ".model.ckpt.tmp-abc",
        ".model.ckpt.tmp-abcdefg",
        ".model.ckpt.tmp-abc.ef",
        ".model.ckpt.old.tmp-abcdef",
        ".other.tmp-abcdef",
        "model.ckpt",
    ];
    for name in kept.iter().chain(&[".model.ckpt.tmp-abcDE1", ".model.ckpt.tmp-000000"]) {
        fs::write(dir.path().join(name), "").unwrap();
    }
    fs::create_dir(dir.path().join(".model.ckpt.tmp-folder")).unwrap();
    assert_eq!(sweep_stale(&path), 2);
    assert_eq!(sweep_stale(&path), 0);
    assert_eq!(names(dir.path()).len(), kept.len() + 1);
    // Names so long that a temporary one next to them must be another.
    save(&long, &small(), &tokenizer(), true).unwrap();
    Checkpoint::load(&long).unwrap();
    assert_eq!(sweep_stale(&long), 0);
}

#[test]
fn a_killed_saves_leftover_is_one_that_is_swept() {
    let dir = directory();
    for name in ["model.ckpt".to_string(), "l".repeat(250)] {
        let path = dir.path().join(name);
        crate::base::replace::replace(&Disk, &path, |_| {
            // The temporary file as it is now, at a place where it is not removed.
            let temporary = dir.path().join(names(dir.path()).pop().unwrap());
            fs::rename(&temporary, dir.path().join("aside")).unwrap();
            fs::copy(dir.path().join("aside"), &temporary).unwrap();
            assert_eq!(sweep_stale(&path), 1);
            fs::rename(dir.path().join("aside"), &temporary)
        })
        .unwrap();
        fs::remove_file(&path).unwrap();
    }
}
