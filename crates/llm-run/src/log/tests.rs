//! A log that is cut, damaged and continued.

use super::*;
use proptest::prelude::*;
use std::path::Path;
use std::{fs, io};
use tempfile::TempDir;

/// An empty folder, in memory where that can be had: these tests wait for the disk a thousand times.
fn tempdir() -> io::Result<TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

fn row(step: u64) -> Row {
    let loss = 5.5 / (step as f32).sqrt();
    Row { step, tokens: 512 * step, loss, lr: 6e-3, grad_norm: 0.7, ..Row::default() }
}

/// A folder with the log of a run that went from step `first` to `last`.
fn run(first: u64, last: u64) -> TempDir {
    let dir = tempdir().unwrap();
    go_on(dir.path(), first - 1, last);
    dir
}

fn go_on(dir: &Path, done: u64, last: u64) -> Vec<String> {
    let mut log = RunLog::open(dir, done).unwrap();
    for step in done + 1..=last {
        log.row(row(step)).unwrap();
        if step % 5 == 0 {
            log.val_loss(step, step as f64);
        }
    }
    log.flush(true).unwrap();
    log.notes.iter().map(ToString::to_string).collect()
}

fn text(dir: &Path, format: Format) -> String {
    fs::read_to_string(dir.join(format.file_name())).unwrap()
}

fn steps(dir: &Path, format: Format) -> Vec<u64> {
    let text = text(dir, format);
    let rows = text.lines().skip(usize::from(format == Format::Csv));
    rows.map(|line| format.decode(line.as_bytes()).unwrap().step).collect()
}

#[test]
fn a_row_for_each_step_with_the_validation_loss_where_it_was_measured() {
    let dir = run(1, 6);
    let csv = text(dir.path(), Format::Csv);
    assert_eq!(csv.lines().count(), 7);
    for line in csv.lines().skip(1) {
        let row = Format::Csv.decode(line.as_bytes()).unwrap();
        assert_eq!(row.val_loss, (row.step == 5).then_some(5.0));
    }
    let json = text(dir.path(), Format::Jsonl);
    let rows: Vec<serde_json::Value> =
        json.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(rows[4]["val_loss"], 5.0);
    assert!(rows[5]["val_loss"].is_null());
}

#[test]
fn a_validation_loss_of_another_step_is_not_put_anywhere() {
    let dir = tempdir().unwrap();
    let mut log = RunLog::open(dir.path(), 0).unwrap();
    log.val_loss(0, 9.0);
    log.row(row(1)).unwrap();
    log.val_loss(2, 9.0);
    log.flush(false).unwrap();
    log.val_loss(1, 9.0);
    drop(log);
    assert!(!text(dir.path(), Format::Csv).contains("9.0"));
}

#[test]
fn later_steps_than_the_checkpoint_s_are_taken_away() {
    for done in [0, 1, 7, 9, 10] {
        let dir = run(1, 10);
        let long = text(dir.path(), Format::Csv);
        assert!(go_on(dir.path(), done, done + 2).is_empty());
        for format in Format::ALL {
            let all: Vec<u64> = (1..=done + 2).collect();
            assert_eq!(steps(dir.path(), format), all, "{format:?}");
        }
        // What stays is byte for byte what was there.
        let kept: String = long.lines().take(done as usize + 1).map(|l| format!("{l}\n")).collect();
        assert!(text(dir.path(), Format::Csv).starts_with(&kept));
        let names = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(names, 2, "something was left behind");
    }
}

#[test]
fn tokens_go_on_from_the_last_row() {
    let dir = run(1, 10);
    assert_eq!(RunLog::open(dir.path(), 4).unwrap().tokens, Some(4 * 512));
    assert_eq!(RunLog::open(dir.path(), 0).unwrap().tokens, None);
}

#[test]
fn a_log_may_begin_late() {
    let dir = run(101, 110);
    assert!(go_on(dir.path(), 105, 107).is_empty());
    assert_eq!(steps(dir.path(), Format::Csv), (101..=107).collect::<Vec<_>>());
    // Resumed before its beginning, nothing of it is true.
    assert!(go_on(dir.path(), 50, 52).is_empty());
    assert_eq!(steps(dir.path(), Format::Jsonl), [51, 52]);
}

/// Whatever byte a kill leaves as the last: the log goes on without a word, or, when it lacks
/// steps that the checkpoint has, is kept under another name.
#[test]
fn cut_at_every_byte() {
    for (format, done) in
        [(Format::Csv, 0), (Format::Csv, 3), (Format::Jsonl, 0), (Format::Jsonl, 3)]
    {
        let whole = text(run(1, 4).path(), format);
        for cut in 0..=whole.len() {
            let dir = run(1, 4);
            fs::write(dir.path().join(format.file_name()), &whole[..cut]).unwrap();
            let notes = go_on(dir.path(), done, 5);
            let rows = whole[..cut].matches('\n').count() as u64;
            let rows = rows.saturating_sub(u64::from(format == Format::Csv));
            let first = if rows >= done { 1 } else { done + 1 };
            assert_eq!(steps(dir.path(), format), (first..=5).collect::<Vec<_>>(), "cut at {cut}");
            let lacks = rows > 0 && rows < done;
            assert_eq!(notes.len(), usize::from(lacks), "cut at {cut}: {notes:?}");
            let aside = dir.path().join(format!("{}.old-1", format.file_name()));
            assert_eq!(fs::read(aside).ok(), lacks.then(|| whole.as_bytes()[..cut].to_vec()));
        }
    }
}

#[test]
fn a_log_that_cannot_be_is_moved_aside_and_never_lost() {
    let dir = run(1, 6);
    let (good, long) = (text(dir.path(), Format::Csv), "7".repeat(3000));
    let lines: Vec<String> = good.lines().map(String::from).collect();
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        lines.join("\n") + "\n"
    };
    for (n, (bad, why)) in [
        (with(&|l| drop(l.remove(3))), "step 4 after step 2"),
        (with(&|l| l.insert(3, l[2].clone())), "step 2 after step 2"),
        (with(&|l| l[3] = "some words".into()), "line 4"),
        (with(&|l| l[3] = long.clone()), "line 4"),
        (with(&|l| l[0] = "step,loss".into()), "line 1"),
        (with(&|l| l.truncate(4)), "ends at step 3, but the checkpoint is of step 6"),
        ("\u{0}".repeat(100), "line 1"),
        ("years of measurements".into(), "line 1"),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(dir.path().join("metrics.csv"), &bad).unwrap();
        let notes = go_on(dir.path(), 6, 6);
        let old = format!("metrics.csv.old-{}", n + 1);
        assert!(notes.len() == 1 && notes[0].contains(why) && notes[0].contains(&old), "{notes:?}");
        assert_eq!(fs::read_to_string(dir.path().join(old)).unwrap(), bad);
        assert_eq!(text(dir.path(), Format::Csv), format!("{}\n", lines[0]));
    }
}

#[test]
fn only_the_next_step_can_be_added() {
    for wrong in [0, 1, 2, 4] {
        let dir = run(1, 2);
        let mut log = RunLog::open(dir.path(), 2).unwrap();
        assert!(log.row(row(wrong)).is_err());
        // Said once; the run goes on.
        assert!(log.row(row(3)).is_ok() && log.flush(true).is_ok());
        drop(log);
        assert_eq!(steps(dir.path(), Format::Csv), [1, 2]);
    }
}

#[test]
fn a_folder_that_went_away_is_said_once() {
    let dir = run(1, 2);
    let mut log = RunLog::open(dir.path(), 2).unwrap();
    log.row(row(3)).unwrap();
    dir.close().unwrap();
    let error = log.flush(true).unwrap_err();
    assert!(error.to_string().contains("metrics.csv"), "{error}");
    assert!(log.flush(true).is_ok() && log.row(row(4)).is_ok());
}

#[test]
fn a_place_that_cannot_be_written_is_an_error_with_its_name() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("metrics.jsonl")).unwrap();
    for dir in [dir.path(), Path::new("/proc"), &dir.path().join("missing")] {
        let error = RunLog::open(dir, 0).map(drop).unwrap_err().to_string();
        assert!(error.contains("metrics."), "{error}");
    }
}

#[test]
fn what_was_not_flushed_is_written_at_the_end() {
    let dir = tempdir().unwrap();
    let mut log = RunLog::open(dir.path(), 0).unwrap();
    log.row(row(1)).unwrap();
    drop(log);
    assert_eq!(steps(dir.path(), Format::Jsonl), [1]);
}

#[test]
fn settings_are_written_whole() {
    let dir = tempdir().unwrap();
    for text in ["a = 1\n", "b = 2\n"] {
        put(&dir.path().join(CONFIG), text).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("config.toml")).unwrap(), text);
    }
    assert!(put(&dir.path().join("missing/config.toml"), "").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Any bytes in the place of a log: it is continued or moved aside, and never fails.
    #[test]
    fn any_bytes(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..600),
        header in any::<bool>(),
        done in 0u64..5,
    ) {
        let dir = run(1, 4);
        for format in Format::ALL {
            let start = if header { format.header().unwrap() } else { Vec::new() };
            bytes.splice(0..0, start);
            fs::write(dir.path().join(format.file_name()), &bytes).unwrap();
        }
        go_on(dir.path(), done, done + 1);
        for format in Format::ALL {
            prop_assert_eq!(steps(dir.path(), format), [done + 1]);
        }
    }
}

#[test]
fn rate_norm_and_speed_are_few_points_and_keep_their_extremes() {
    let dir = tempdir().unwrap();
    let mut log = RunLog::open(dir.path(), 0).unwrap();
    for step in 1..=3000 {
        let grad_norm = if step == 1234 { 40.0 } else { 1.0 };
        let tokens_per_s = if step == 1 { f32::INFINITY } else { 500.0 };
        log.row(Row { grad_norm, tokens_per_s, ..row(step) }).unwrap();
    }
    log.flush(false).unwrap();
    let curves = Curves::read(dir.path(), 256, None).unwrap();
    for points in [&curves.lr, &curves.grad_norm, &curves.tokens_per_s] {
        assert!((80..=320).contains(&points.len()), "{}", points.len());
        assert!(points.windows(2).all(|w| w[0].0 < w[1].0));
    }
    assert!(curves.grad_norm.contains(&(1234.0, 40.0)));
    assert!(curves.tokens_per_s.iter().all(|point| point.1 == 500.0));
}
