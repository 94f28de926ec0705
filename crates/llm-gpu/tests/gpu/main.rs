//! The step on a GPU against the processor's. Any adapter does, Mesa's processor driver (lavapipe)
//! among them; without one every test says so and is skipped.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod kernels;
mod models;
mod refused;
mod runs;
mod support;
mod texts;
