//! A program with an allocator and a panic hook of its own can link this crate.

use llm_cli::command_line::{Parsed, parse};
use llm_cli::{Arch, Heads, Models, Program};
use llm_core::model::SingleHead;
use llm_core::optim::OPTIMIZERS;
use std::alloc::System;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: System = System;

const PROGRAM: Program = Program {
    about: "",
    models: Models {
        name: "own",
        heads: Heads::One { other: "another" },
        attention: SingleHead::NAME,
        options: &[],
        for_text: Arch::Baseline,
        beyond: None,
        from_spec: |spec| Ok(Arc::new(SingleHead::from_spec(spec)?)),
        optimizers: OPTIMIZERS,
    },
    attend: None,
};

#[test]
fn the_allocator_is_the_programs_own() {
    let parsed = parse(&PROGRAM, ["own", "--steps", "3"].map(Into::into));
    assert!(matches!(parsed, Parsed::Run(_)));
    assert_eq!(llm_core::base::allocations::large_blocks(), 0); // nobody counts
}
