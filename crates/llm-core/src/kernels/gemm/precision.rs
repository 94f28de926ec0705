//! Which numbers products multiply, and the scope that says so.

use crate::base::choices;
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// What the two matrices of a product are rounded to before they are multiplied. The sums, and
/// everything outside products, are f32 in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Not rounded.
    #[default]
    F32,
    /// bf16: the upper half of an f32, with 8 bits of precision.
    Bf16,
}

choices!(Precision, F32 = "f32", Bf16 = "bf16");

thread_local! {
    static HERE: Cell<Precision> = const { Cell::new(Precision::F32) };
}

/// The precision of the scope that this thread is in: that of the innermost [`within`], f32
/// outside. An op looks when it is called, and its gradients are computed with the same.
pub fn precision() -> Precision {
    HERE.get()
}

/// Calls f in a scope of this precision: the ops that this thread calls inside multiply with it, as
/// in PyTorch's `autocast`. What they share out to other threads goes with them.
pub fn within<R>(precision: Precision, f: impl FnOnce() -> R) -> R {
    /// Ends the scope, also when f panics.
    struct Before(Precision);
    impl Drop for Before {
        fn drop(&mut self) {
            HERE.set(self.0);
        }
    }
    let _before = Before(HERE.replace(precision));
    f()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_ends_where_it_ends() {
        assert_eq!(precision(), Precision::F32);
        let inner = within(Precision::Bf16, || {
            let inner = within(Precision::F32, precision);
            assert_eq!(precision(), Precision::Bf16);
            inner
        });
        assert_eq!((inner, precision()), (Precision::F32, Precision::F32));
        let caught = std::panic::catch_unwind(|| {
            within(Precision::Bf16, || std::panic::resume_unwind(Box::new(())))
        });
        assert!(caught.is_err());
        assert_eq!(precision(), Precision::F32);
        let other = within(Precision::Bf16, || std::thread::spawn(precision).join().unwrap());
        assert_eq!(other, Precision::F32);
    }
}
