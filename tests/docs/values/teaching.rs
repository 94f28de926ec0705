//! Values of the teacher's sheet: the minutes of its two lessons, and what came of its runs.

use super::performance::measured;
use super::{Values, list};

/// Minutes of each part of the lesson with the page, and of the one with the programs.
const PAGE: [u32; 7] = [5, 4, 7, 7, 10, 7, 5];
const PROGRAMS: [u32; 7] = [10, 10, 15, 20, 20, 10, 5];

pub fn add(values: &mut Values) {
    values.insert("teaching.page", parts(&PAGE, 45));
    values.insert("teaching.programs", parts(&PROGRAMS, 90));
    let measured = measured();
    let readme = &measured["readme"];
    let [loss, four] = [&readme["loss"], &readme["facts"][0]].map(|value| value.as_f64().unwrap());
    let one = [0, 1, 2].map(|at| readme["one_head"][at].as_f64().unwrap());
    // All facts, one head and four; the name of the other person, one head and four.
    values.insert("teaching.heads", vec![one[0], four, one[1], one[2]]);
    values.insert("teaching.even_given", list![256]);
    values.insert("teaching.even", vec![256.0, 256f64.ln()]);
    values.insert("teaching.share_given", vec![loss]);
    values.insert("teaching.share", vec![-loss, (-loss).exp()]);
}

/// The minutes at which each part of a lesson begins and ends.
fn parts(minutes: &[u32], whole: u32) -> Vec<f64> {
    let mut at = 0;
    let mut found = Vec::new();
    for part in minutes {
        found.extend(list![at, at + part]);
        at += part;
    }
    assert_eq!(at, whole, "minutes of a lesson");
    found
}
