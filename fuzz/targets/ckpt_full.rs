//! A whole file of any bytes, as it is and with its checksums made right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_core::checkpoint::fuzzing::{apart, read, signed};
use llm_fuzz::{checkpoints, seed, use_it};

fuzz_target!(
    init: seed(checkpoints()),
    |file: &[u8]| {
        if let Ok(checkpoint) = read(file) {
            use_it(checkpoint, file);
        }
        let again = apart(file).map(|(version, header, body)| read(&signed(version, header, body)));
        if let Some(Ok(checkpoint)) = again {
            use_it(checkpoint, file);
        }
    }
);
