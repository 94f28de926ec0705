//! A program with an allocator and a panic hook of its own can link this crate.

use llm_cli::command_line::{Parsed, parse};
use llm_cli::{BASELINE, Models, Program};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: System = System;

const PROGRAM: Program =
    Program { about: "", models: Models { name: "own", ..BASELINE }, attend: None };

#[test]
fn the_allocator_is_the_programs_own() {
    let parsed = parse(&PROGRAM, ["own", "--steps", "3"].map(Into::into));
    assert!(matches!(parsed, Parsed::Run(_)));
    assert_eq!(llm_core::base::allocations::large_blocks(), 0); // nobody counts
}
