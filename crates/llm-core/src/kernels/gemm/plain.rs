//! Vectors of four numbers for every machine: what the compiler makes one instruction of where there are
//! such vectors. A multiplication, then an addition: nothing is fused, so all machines round alike.
#![allow(unsafe_code)]

/// Four numbers.
pub(in super::super) type Four = [f32; 4];

#[inline(always)]
pub(super) fn zero() -> Four {
    splat(0.0)
}

#[inline(always)]
pub(in super::super) fn splat(x: f32) -> Four {
    [x; 4]
}

/// # Safety
/// Four numbers must be there.
#[inline(always)]
pub(super) unsafe fn load(from: *const f32) -> Four {
    // SAFETY: the caller's promise.
    unsafe { from.cast::<Four>().read_unaligned() }
}

/// # Safety
/// There must be room for four numbers.
#[inline(always)]
pub(super) unsafe fn store(to: *mut f32, x: Four) {
    // SAFETY: the caller's promise.
    unsafe { to.cast::<Four>().write_unaligned(x) }
}

#[inline(always)]
pub(super) fn mul(a: Four, b: Four) -> Four {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3]]
}

#[inline(always)]
pub(super) fn add(a: Four, b: Four) -> Four {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}

#[inline(always)]
pub(in super::super) fn multiply_add(a: Four, b: Four, c: Four) -> Four {
    add(mul(a, b), c)
}
