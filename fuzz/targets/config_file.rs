//! Any bytes as the file of `--config`, beside a few flags: judged as far as that goes without touching
//! another file. Every refusal must be one clean line; what is accepted must mean the same when it is
//! printed and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llm_fuzz::{MANY, ONE, seed};

/// Flags, and a file.
const SEEDS: &[(&str, &str)] = &[
    ("", ""),
    ("", "lr = 1e-3\nmin_lr = 0\nwarmup = 3\ndecay_steps = 9\nschedule = 'wsd'\nclip = 0.5\n"),
    ("", "[model]\nseq = 16\ndmodel = 32\nlayers = 2\nheads = 1\narch = \"gpt2\"\ndropout = 0.1\n"),
    ("", "[model]\nnorm_affine = true\ntied_head = 0\nhead_bias = 1\ninit = 'fan-in'\n"),
    ("", "steps = 5 # all\nbatch = 3\naccum = 2\nseed = '18446744073709551615'\n"),
    ("", "preset = 'original'\nweight_decay = 0\ndecay_all = true\nbeta1 = 0.8\nbeta2 = .9\n"),
    ("", "data = ['a', \"b\\u0007\"]\nval = 'c'\ntokenizer = 'char'\nepochs = 1.5\nthreads = 2\n"),
    ("", "data = 'f'\nval_frac = 0.25\ntokenizer = 'byte'\nallow_data_change = false\n"),
    ("", "save = 'g'\nsave_opt = 0\nsave_every = 1\neval_every = 0\nmax_time = '1h30m'\n"),
    ("", "out = 'd'\nkeep = 2\nno_save = false\ndry_run = true\nskip_spikes = 6.0\nquiet = true\n"),
    ("", "prompt = '''p\n'''\ngen = 3\ntemp = 0.5\ntopk = 4\nraw = true\nprint_next_top = 3\n"),
    ("", "ascii_only = true\nescape_bytes = true\nprint_next_top_each_step = true\n"),
    ("", "overfit = true\nschedule = 'constant'\npatience = 3\nsample_every = 4\n"),
    ("", "[checks]\nsanity_next_from_data = 3\nsanity_ctx = 2\nsanity_top = 1\n"),
    ("", "[a.b]\nsanity_offset = 0\nsanity_preview = 1\n[c]\nmessage_format = 'json'\n"),
    ("", "[[c]]\nd = 1979-05-27\nload = 'f'\nconfig = 'g'\nstesp = nan\n"),
    ("", "batch-size = 1\nblock_size = 0x10\nlr = inf\n"),
    ("--lr 0.5", "lr = 1\nlr = 2\n"),
    ("--preset original", "layers = { a = 1 }\n"),
    ("--steps 3 --raw", "epochs = 2\nescape_bytes = true\n"),
    ("--out d --heads 2 -p x", "save = 's'\nheads = 4\nprompt = 'y'\n"),
];

fuzz_target!(
    // The program and the number of flags, these flags, each ended by a zero byte, and the file.
    init: seed(SEEDS.iter().flat_map(|(flags, file)| {
        let flags: Vec<_> = flags.split_whitespace().collect();
        let words: String = flags.iter().map(|flag| format!("{flag}\0")).collect();
        let first = |program| program + flags.len() as u8;
        [0, 8].map(|program| [&[first(program)], words.as_bytes(), file.as_bytes()].concat())
    })),
    |input: &[u8]| {
        let Some((first, rest)) = input.split_first() else { return };
        let program = if first & 8 == 0 { &ONE } else { &MANY };
        let mut parts: Vec<_> = rest.splitn(usize::from(first % 8) + 1, |&b| b == 0).collect();
        let file = parts.pop().unwrap_or_default();
        let words: Vec<_> = parts.iter().map(|w| String::from_utf8_lossy(w).into_owned()).collect();
        llm_cli::fuzzing::check_config(program, &words, file);
    }
);
