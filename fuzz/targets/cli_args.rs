//! Any words on the command line of either program: parsed and judged as far as that goes without
//! touching a file. Every refusal must be one clean line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_fuzz::{MANY, ONE, seed};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

const SEEDS: &[&str] = &[
    "",
    "--help",
    "help",
    "--version",
    "train --steps 5 --batch 3 --accum 2 --seq 16 --dmodel 32 --layers 2 --heads 4",
    "--lr 1e-3 --min-lr 0 --warmup 3 --decay-steps 9 --schedule wsd --clip 0.5 --optimizer lion",
    "--weight-decay 0 --decay-all --beta1 0.8 --beta2 0.9 --seed 7 --preset original --val-frac .2",
    "--arch gpt2 --norm-affine 0 --tied-head 1 --head-bias true --init fan-in --tokenizer byte --dropout .1",
    "--load f --save g --save-opt 0 --save-every 1 --eval-every 0 --log-every 2 --dry-run",
    "--out d --data f --data g --allow-data-change --no-save 0",
    "--prompt p --gen 3 --temp 0.5 --topk 4 --raw --ascii-only --escape-bytes --print-next-top 3",
    "--sanity-next-from-data 3 --sanity-ctx 2 --sanity-top 1 --sanity-offset 0 --sanity-preview 1",
    "--threads 2 --quiet --message-format json --print-next-top-each-step",
    "--num-samples 2 --stop x --top-p .9 --min-p .1 --repetition-penalty 1.1 --repeat-last-n 9",
    "generate --load f --prompt-ids 1,2,3 --prompt-file q --slide 4 --json --min-acc .5",
    "generate --load f -p x -n 3 --seed 1 --temp nan",
    "eval --load f --data - --batch 2",
    "bench --workload w1 --steps 1 --json --seq 1",
    "completions bash",
    "--steps -1 --lr inf --batch 18446744073709551616 -x --stesp",
];

fuzz_target!(
    // A zero byte ends a word, so that words may hold anything else.
    init: seed(SEEDS.iter().map(|line| line.replace(' ', "\0").into_bytes())),
    |bytes: &[u8]| {
        let program = if bytes.len().is_multiple_of(2) { &ONE } else { &MANY };
        let words = bytes.split(|&b| b == 0).filter(|w| !w.is_empty());
        let words = words.map(|word| OsString::from_vec(word.to_vec()));
        let words = std::iter::once(program.models.name.into()).chain(words);
        llm_cli::fuzzing::check(program, words.collect());
    }
);
