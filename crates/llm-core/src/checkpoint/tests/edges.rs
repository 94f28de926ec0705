//! Every limit one below, at, and one above it; the tensor table of every model.

use super::*;
use crate::checkpoint::limits::*;
use crate::checkpoint::table::{Entry, check_limits, expected};
use crate::model::parameter_shapes;
use std::io;

fn is_limit<T: std::fmt::Debug>(result: Result<T, CheckpointError>) -> bool {
    matches!(result, Err(CheckpointError::Limit { .. }))
}

#[test]
fn sizes_of_the_model() {
    let check = |v: usize, t, c, l| check_config(&Config::new(v, t, c, l));
    let edges = |max: usize, f: &dyn Fn(usize) -> Result<(), CheckpointError>| {
        f(max - 1).unwrap();
        f(max).unwrap();
        assert!(matches!(f(max + 1), Err(CheckpointError::Setting { .. })));
        assert!(matches!(f(0), Err(CheckpointError::Setting { .. })));
    };
    edges(1 << 20, &|v| check(v, 1, 1, 1));
    edges(1 << 16, &|t| check(1, t, 1, 1));
    edges(1 << 14, &|c| check(1, 1, c, 1));
    edges(512, &|l| check(1, 1, 1, l));
    // C·(V + T + 12C + 9) is 2^33 exactly here.
    let tied =
        |v| Config { tied_head: true, head_bias: false, ..Config::new(v, 1 << 16, 1 << 14, 1) };
    assert_eq!(tied(262_135).parameter_count(), Config::MAX_PARAMETERS);
    assert!(check_config(&tied(262_134)).is_ok());
    assert!(check_config(&tied(262_135)).is_ok());
    assert!(is_limit(check_config(&tied(262_136))));
}

#[test]
fn the_tensor_table() {
    let entry = expected(&Config::new(1, 1, 1, 1), false, 0).remove(0);
    let many = |n: u64| check_limits(&vec![entry.clone(); n as usize]);
    let named = |n: u64| check_limits(&[Entry { name: "n".repeat(n as usize), ..entry.clone() }]);
    let axes = |n: u64| check_limits(&[Entry { dims: vec![1; n as usize], ..entry.clone() }]);
    for (check, max) in
        [(&many as &dyn Fn(u64) -> _, MAX_TENSORS), (&named, MAX_TENSOR_NAME), (&axes, MAX_DIMS)]
    {
        check(max - 1).unwrap();
        check(max).unwrap();
        assert!(is_limit(check(max + 1)));
    }
}

#[test]
fn numbers_in_the_header() {
    let (header, _) = apart(&bytes_of(&small(), &tokenizer(), true));
    let edges = |max: u64, set: fn(&mut Header, u64)| {
        for (value, over) in [(max - 1, false), (max, false), (max + 1, true)] {
            let mut header = header.clone();
            set(&mut header, value);
            header.tensors = expected(&header.config(), true, header.tokenizer_length);
            assert_eq!(is_limit(check::check(&header)), over, "{value}");
        }
    };
    edges(MAX_NAME, |h, n| h.attention = "n".repeat(n as usize));
    edges(MAX_NAME, |h, n| h.tokenizer = "n".repeat(n as usize));
    edges(MAX_BLOB, |h, n| h.tokenizer_length = n);
    edges(MAX_STEPS, |h, n| h.step = n);
    edges(MAX_STEPS, |h, n| h.adam_t = Some(n));
    edges(MAX_STORIES, |h, n| {
        h.data = header::StoredSource::Stories { version: 1, seed: 1, count: n };
    });
    // The recipe has the same limit for the steps it plans.
    let sets: [fn(&mut Header, u64); 3] =
        [|h, n| h.warmup_steps = n, |h, n| h.total_steps = n, |h, n| h.decay_steps = n];
    for set in sets {
        for (value, over) in [(MAX_STEPS - 1, false), (MAX_STEPS, false), (MAX_STEPS + 1, true)] {
            let mut header = header.clone();
            set(&mut header, value);
            assert_eq!(matches!(check::check(&header), Err(CheckpointError::Setting { .. })), over);
        }
    }
    let mut long = header.clone();
    long.architecture = "n".repeat(65);
    assert!(is_limit(check::check(&long)));
    long.architecture.pop();
    assert!(matches!(check::check(&long), Err(CheckpointError::Architecture { .. })));
}

#[test]
fn the_length_of_the_header() {
    for (length, over) in [(MAX_HEADER - 1, false), (MAX_HEADER, false), (MAX_HEADER + 1, true)] {
        let file = signed(&vec![0xff; length as usize], &[]);
        match read(&file) {
            Err(CheckpointError::Limit { what: "the length of the header", .. }) => assert!(over),
            Err(CheckpointError::HeaderEncoding(_)) => assert!(!over),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_deepest_model_has_a_header_that_fits() {
    let config = Config::gpt2(1 << 20, 1 << 16, 512, Config::MAX_LAYERS);
    check_config(&config).unwrap();
    let (mut header, _) = apart(&bytes_of(&small(), &tokenizer(), true));
    header.tensors = expected(&config, true, MAX_BLOB);
    header.tensors.iter_mut().for_each(|e| e.crc32 = u32::MAX);
    header.head_mask = vec![true; 32 * Config::MAX_LAYERS];
    assert!(postcard::to_stdvec(&header).unwrap().len() as u64 <= MAX_HEADER);
}

#[test]
fn the_largest_tokenizer_makes_the_round_trip() {
    let mut tokenizer = tokenizer();
    tokenizer.blob = vec![3; MAX_BLOB as usize];
    let trainer = small();
    assert_eq!(read(&bytes_of(&trainer, &tokenizer, false)).unwrap().meta.tokenizer, tokenizer);
    tokenizer.blob.push(3);
    assert!(is_limit(Prepared::new(&trainer, &tokenizer, false).map(drop)));
}

#[test]
fn a_model_that_memory_cannot_hold_is_refused_before_its_first_tensor() {
    let (mut header, _) = apart(&bytes_of(&small(), &tokenizer(), true));
    (header.vocab_size, header.context, header.d_model) = (1 << 18, 1 << 16, 1 << 13);
    header.tensors = expected(&header.config(), true, header.tokenizer_length);
    let body = table::body_length(&header.tensors);
    assert!(body > 60 << 30);
    let header = postcard::to_stdvec(&header).unwrap();
    let start = [&fixed::write(&header, body)[..], &header].concat();
    let length = table::padded(start.len() as u64) + body + 32;
    // As from a sparse file: zeros without end. Where there is so much memory, or none can be
    // asked for, the first tensor's checksum ends it.
    let result = parse(io::Read::chain(&start[..], io::repeat(0)), length);
    match result {
        Err(Failure::Memory(Error::Memory { needed, .. })) => assert_eq!(needed, body),
        Err(Failure::Content(CheckpointError::TensorChecksum { .. })) => {
            assert!(crate::util::memory::available() >= body);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_shapes_are_those_of_the_model() {
    for options in 0..8 {
        for base in [Config::new(13, 6, 8, 3), Config::gpt2(13, 6, 8, 1)] {
            let config = Config {
                norm_affine: options & 1 > 0,
                tied_head: options & 2 > 0,
                head_bias: options & 4 > 0,
                ..base
            };
            let model = TinyGPT::new(config.clone(), 1).unwrap();
            let shapes = model.parameters().map(|(n, p)| (n, p.shape().to_vec()));
            assert_eq!(parameter_shapes(&config), shapes.collect::<Vec<_>>());
        }
    }
}
