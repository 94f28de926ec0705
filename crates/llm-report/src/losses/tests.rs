//! The picture of a log.

use super::*;
use llm_run::log::{PICTURE, Row, RunLog};
use std::fs;
use std::path::{Path, PathBuf};

/// The curves of a log of these rows and validation losses.
fn curves(dir: &Path, rows: impl Iterator<Item = (Row, Option<f64>)>, vocab_size: usize) -> Curves {
    let mut log = RunLog::open(dir, 0).unwrap();
    for (row, val_loss) in rows {
        log.row(row).unwrap();
        val_loss.into_iter().for_each(|loss| log.val_loss(row.step, loss));
    }
    log.flush(false).unwrap();
    Curves::read(dir, vocab_size, None).unwrap()
}

#[test]
fn the_picture_shows_curves_levels_and_units() {
    let dir = tempfile::tempdir().unwrap();
    let row = |step| Row { step, loss: 5.5 / (step as f32).sqrt(), ..Row::default() };
    let rows = (1..=3000).map(|step| (row(step), (step % 5 == 0).then_some(step as f64)));
    let curves = Curves { entropy_floor: Some(0.58), ..curves(dir.path(), rows, 256) };
    assert!(curves.train.len() + curves.smooth.len() + curves.val.len() <= 2500);
    let svg = loss_picture(&curves).unwrap();
    for needle in ["ln 256 = 5.55", "entropy floor = 0.580", "nats per token", "step", "validation"]
    {
        assert!(svg.contains(needle), "no {needle}");
    }
    assert!(svg.len() < 300_000, "{} bytes", svg.len());
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

/// The loss of answers is what it is, below 0 too, and no vocabulary says where it begins.
#[test]
fn a_picture_of_rewards_goes_below_zero() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("rewards.jsonl"), "").unwrap();
    let row = |step| Row { step, loss: -0.25 * step as f32, ..Row::default() };
    let svg =
        loss_picture(&curves(dir.path(), (1..=4).map(|step| (row(step), None)), 256)).unwrap();
    assert!(
        svg.contains("-0.8") && !svg.contains("knows nothing") && !svg.contains("nats"),
        "{svg}"
    );
}

/// Draws what a person should look at after changing the picture:
/// `LOOK=folder cargo test -p llm-report pictures -- --ignored`.
#[test]
#[ignore = "for the eyes"]
fn pictures() {
    let look = std::env::var_os("LOOK").map(PathBuf::from).unwrap();
    for (name, last, every, floor) in
        [("short", 40, 10, None), ("stories", 1500, 250, Some(0.58)), ("long", 60_000, 500, None)]
    {
        let dir = look.join(name);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let mut state = 1u32;
        let rows = (1..=last).map(|step| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
            let fall = 0.7 + 4.9 * (-(step as f32) / (0.08 * last as f32)).exp();
            let spike = if step % (last / 3) == last / 4 { 4.0 } else { 0.0 };
            let row = Row { step, loss: fall + 0.3 * noise + spike, ..Row::default() };
            (row, (step % every == 0).then_some(f64::from(fall) + 0.05))
        });
        let curves = Curves { entropy_floor: floor, ..curves(&dir, rows, 256) };
        fs::write(dir.join(PICTURE), loss_picture(&curves).unwrap()).unwrap();
    }
}

#[test]
fn a_picture_of_next_to_nothing() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(loss_picture(&Curves::read(dir.path(), 256, None).unwrap()), None);
    let losses = [(1, f32::NAN), (2, f32::INFINITY), (3, 1e30)];
    let rows = losses.map(|(step, loss)| (Row { step, loss, ..Row::default() }, Some(f64::NAN)));
    curves(dir.path(), rows.into_iter(), 0);
    let svg = loss_picture(&Curves::read(dir.path(), 0, Some(f64::NAN)).unwrap()).unwrap();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}
