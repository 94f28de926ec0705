//! An answer held against the right one and, if it is another, against what the usual mistakes give.

use llm_core::ndarray::{ArrayD, Dimension};
use std::fmt::Write;
use std::panic::Location;

/// What somebody does, as the end of "this is what comes out when", and what comes out.
pub type Mistake = (&'static str, ArrayD<f64>);

/// A mistake whose result has the rank of the answer.
pub fn mistake<D: Dimension>(
    what: &'static str,
    gives: llm_core::ndarray::Array<f64, D>,
) -> Mistake {
    (what, gives.into_dyn())
}

/// Panics unless `got` is `want` to about five places, and says what was probably done, and in which file.
#[track_caller]
pub fn check<D: Dimension>(
    what: &str,
    got: llm_core::ndarray::Array<f64, D>,
    want: llm_core::ndarray::Array<f64, D>,
    mistakes: &[Mistake],
) {
    let (got, want) = (got.into_dyn(), want.into_dyn());
    if close(&got, &want) {
        return;
    }
    let mut message = format!("{what} is not right.\n");
    let looks_like = mistakes.iter().filter(|(_, gives)| close(&got, gives));
    // On numbers as small as those done by hand a mistake may come out right, or like another one.
    let mut names: Vec<&str> =
        looks_like.filter(|(_, gives)| !close(gives, &want)).map(|m| m.0).collect();
    names.dedup();
    if !names.is_empty() {
        let _ = writeln!(message, "  This is what comes out when {}.", names.join(",\n  or when "));
    }
    let file = Location::caller().file().rsplit(['/', '\\']).next().unwrap_or_default();
    let _ = writeln!(message, "  Where to look: src/{file}, and what it calls.");
    if got.shape() != want.shape() {
        let _ = writeln!(message, "  Yours has the shape {:?}.", got.shape());
        let _ = writeln!(message, "  Wanted is        {:?}.", want.shape());
    } else {
        let differ = |(a, b): &(&f64, &f64)| !same(**a, **b);
        let wrong = got.iter().zip(&want).filter(differ).count();
        let first = want.indexed_iter().find(|(i, b)| !same(got[i], **b));
        if let Some((at, b)) = first {
            let _ = writeln!(
                message,
                "  {wrong} of {} numbers differ. The first: at {:?} yours is {:.6}, wanted is {b:.6}.",
                want.len(),
                at.as_array_view().as_slice().unwrap_or_default(),
                got[at.clone()],
            );
        }
        if got.iter().any(|x| x.is_nan()) && names.is_empty() {
            message += "  NaN comes of 0/0, of 0·∞ and of ∞ − ∞.\n";
        }
        if want.len() <= 24 {
            let _ = writeln!(message, "  Yours:\n{got:.4}\n  Wanted:\n{want:.4}");
        }
    }
    if names.is_empty() {
        message += "  No usual mistake alone gives this. Does another red test name one, or is an exercise before this one red?\n  \
                    Then begin there. If not, print every step of the test that is done by hand, and hold it against the page;\n  \
                    `hints.md` has three hints for each exercise.\n";
    }
    panic!("{message}");
}

fn same(a: f64, b: f64) -> bool {
    let near = || b.is_finite() && (a - b).abs() <= 1e-5 * b.abs().max(1.0);
    a == b || a.is_nan() && b.is_nan() || near()
}

fn close(a: &ArrayD<f64>, b: &ArrayD<f64>) -> bool {
    a.shape() == b.shape() && a.iter().zip(b).all(|(a, b)| same(*a, *b))
}
