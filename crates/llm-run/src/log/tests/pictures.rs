//! The picture of a log.

use super::{row, run, tempdir};
use crate::log::{Curves, Row, RunLog, plot};
use std::fs;
use std::path::PathBuf;

#[test]
fn the_picture_shows_curves_levels_and_units() {
    let dir = run(1, 3000);
    let curves = Curves::read(dir.path(), 256, Some(0.58)).unwrap();
    assert!(curves.train.len() + curves.smooth.len() + curves.val.len() <= 2500);
    plot::write(dir.path(), &curves).unwrap();
    let svg = fs::read_to_string(dir.path().join("loss.svg")).unwrap();
    for needle in ["ln 256 = 5.55", "entropy floor = 0.580", "nats per token", "step", "validation"]
    {
        assert!(svg.contains(needle), "no {needle}");
    }
    assert!(svg.len() < 300_000, "{} bytes", svg.len());
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
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

/// Draws what a person should look at after changing the picture:
/// `LOOK=folder cargo test -p llm-cli pictures -- --ignored`.
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
        let mut log = RunLog::open(&dir, 0).unwrap();
        let mut state = 1u32;
        for step in 1..=last {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
            let fall = 0.7 + 4.9 * (-(step as f32) / (0.08 * last as f32)).exp();
            let spike = if step % (last / 3) == last / 4 { 4.0 } else { 0.0 };
            log.row(Row { loss: fall + 0.3 * noise + spike, ..row(step) }).unwrap();
            if step % every == 0 {
                log.val_loss(step, f64::from(fall) + 0.05);
            }
        }
        log.flush(false).unwrap();
        plot::write(&dir, &Curves::read(&dir, 256, floor).unwrap()).unwrap();
    }
}

#[test]
fn a_picture_of_next_to_nothing() {
    let dir = tempdir().unwrap();
    let picture = dir.path().join("loss.svg");
    plot::write(dir.path(), &Curves::read(dir.path(), 256, None).unwrap()).unwrap();
    assert!(!picture.exists());
    let mut log = RunLog::open(dir.path(), 0).unwrap();
    for (step, loss) in [(1, f32::NAN), (2, f32::INFINITY), (3, 1e30)] {
        log.row(Row { loss, ..row(step) }).unwrap();
        log.val_loss(step, f64::NAN);
    }
    log.flush(false).unwrap();
    plot::write(dir.path(), &Curves::read(dir.path(), 0, Some(f64::NAN)).unwrap()).unwrap();
    let svg = fs::read_to_string(picture).unwrap();
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}
