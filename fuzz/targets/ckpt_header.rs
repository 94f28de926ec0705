//! Below the checksums: a header of any bytes, then one whose table and tensors are made to fit
//! its settings, both with all lengths and checksums right. The first byte chooses between them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_core::checkpoint::FORMAT_VERSION;
use llm_core::checkpoint::fuzzing::{apart, complete, read, signed};
use llm_fuzz::{checkpoints, seed, use_it};
use std::sync::OnceLock;

/// The tensors of one file, for headers that come near its own.
static BODY: OnceLock<Vec<u8>> = OnceLock::new();

fuzz_target!(
    init: {
        let files = checkpoints();
        let parts: Vec<_> = files.iter().filter_map(|file| apart(file)).collect();
        seed([0u8, 1].into_iter().flat_map(|made_to_fit| {
            parts.iter().map(move |(_, header, _)| [&[made_to_fit], *header].concat())
        }));
        BODY.get_or_init(|| parts[1].2.to_vec());
    },
    |input: &[u8]| {
        let Some((mode, header)) = input.split_first() else { return };
        let file = if mode % 2 == 0 {
            complete(header, &[0, 0, 128, 63, 0, 0, 0, 62])
        } else {
            Some(signed(FORMAT_VERSION, header, BODY.get().map_or(&[], |body| body)))
        };
        if let Some(Ok(checkpoint)) = file.map(|file| read(&file)) {
            use_it(checkpoint, input);
        }
    }
);
