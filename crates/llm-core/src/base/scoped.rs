//! A value of a thread for the time of a call.

use std::cell::Cell;
use std::thread::LocalKey;

/// Runs `f` while this thread's `cell` has `value`; the old value comes back, also when `f` panics.
pub(crate) fn scoped<T: Copy + 'static, R>(
    cell: &'static LocalKey<Cell<T>>,
    value: T,
    f: impl FnOnce() -> R,
) -> R {
    struct Restore<T: Copy + 'static>(&'static LocalKey<Cell<T>>, T);
    impl<T: Copy + 'static> Drop for Restore<T> {
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    let _restore = Restore(cell, cell.replace(value));
    f()
}
