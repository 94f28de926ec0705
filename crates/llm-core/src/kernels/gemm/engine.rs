//! The engine that multiplies matrices of f32: the kernels here, or on a Mac Apple's library.

use crate::base::choices;
use std::sync::OnceLock;

/// The engine that multiplies matrices of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// Our kernels: the same bits on every machine.
    Own,
    /// macOS's Accelerate, which has the processor's matrix units. An element's bits depend on where in the matrix it
    /// stands, and on the version of the system.
    Accelerate,
}

choices!(Engine, Own = "own", Accelerate = "accelerate");

static ENGINE: OnceLock<Engine> = OnceLock::new();

impl Engine {
    /// The engines of this system.
    pub const HERE: &[Engine] =
        if cfg!(target_os = "macos") { &Engine::ALL } else { &[Engine::Own] };
}

/// The engine in use: [`asked`], unless [`own_alone`] came first.
pub fn engine() -> Engine {
    *ENGINE.get_or_init(asked)
}

/// What `LLM_ENGINE` asks for, if this system has it, else [`Engine::Own`].
pub fn asked() -> Engine {
    let name = std::env::var("LLM_ENGINE").unwrap_or_default();
    let asked = Engine::HERE.iter().find(|engine| engine.name() == name);
    asked.copied().unwrap_or(Engine::Own)
}

/// Uses [`Engine::Own`] from now on, for machines that are to compute the same bits. Too late when a
/// product has been made already.
pub fn own_alone() {
    ENGINE.get_or_init(|| Engine::Own);
}
