//! Every limit one below, at, and one above it; the tensor table of every model.

use super::*;
use crate::checkpoint::limits::*;
use crate::checkpoint::table::{Entry, check_limits, expected};
use crate::model::{Footprint, ParamList, parameter_list};
use std::io;

fn check_sizes(config: &Config) -> Result<(), CheckpointError> {
    check_config(config, &SingleHead.parameters(config))
}

fn list_of(config: &Config) -> ParamList {
    parameter_list(config, &SingleHead.parameters(config))
}

fn is_limit<T: fmt::Debug>(result: Result<T, CheckpointError>) -> bool {
    matches!(result, Err(CheckpointError::Limit { .. }))
}

#[test]
fn sizes_of_the_model() {
    let check = |v: usize, t, c, l| check_sizes(&Config::new(v, t, c, l));
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
    let count = Footprint::new(&tied(262_135), &SingleHead).parameter_count();
    assert_eq!(count, Config::MAX_PARAMETERS);
    assert!(check_sizes(&tied(262_134)).is_ok());
    assert!(check_sizes(&tied(262_135)).is_ok());
    assert!(is_limit(check_sizes(&tied(262_136))));
}

#[test]
fn the_tensor_table() {
    let entry = expected(list_of(&Config::new(1, 1, 1, 1)), &[], 0).remove(0);
    let many = |n: u64| check_limits(&vec![entry.clone(); n as usize]);
    let named = |n: u64| check_limits(&[Entry { name: "n".repeat(n as usize), ..entry.clone() }]);
    let axes = |n: u64| check_limits(&[Entry { dims: vec![1; n as usize], ..entry.clone() }]);
    let role = |n: u64| check_limits(&[Entry { role: "n".repeat(n as usize), ..entry.clone() }]);
    let dtype = |n: u64| check_limits(&[Entry { dtype: "n".repeat(n as usize), ..entry.clone() }]);
    for (check, max) in [
        (&many as &dyn Fn(u64) -> _, MAX_TENSORS),
        (&named, MAX_TENSOR_NAME),
        (&axes, MAX_DIMS),
        (&role, MAX_NAME),
        (&dtype, MAX_NAME),
    ] {
        check(max - 1).unwrap();
        check(max).unwrap();
        assert!(is_limit(check(max + 1)));
    }
}

#[test]
fn numbers_in_the_header() {
    let (contents, _) = apart(&good());
    let edges = |max: u64, set: fn(&mut Contents, u64)| {
        for (value, over) in [(max - 1, false), (max, false), (max + 1, true)] {
            let mut contents = contents.clone();
            set(&mut contents, value);
            let length = contents.tokenizer.length;
            contents.table = expected(contents.parameters().unwrap(), contents.slots(), length);
            assert_eq!(is_limit(check(&contents)), over, "{value}");
        }
    };
    edges(MAX_NAME, |c, n| c.attention.name = "n".repeat(n as usize));
    edges(MAX_NAME, |c, n| c.tokenizer.kind = "n".repeat(n as usize));
    edges(MAX_BLOB, |c, n| c.tokenizer.length = n);
    edges(MAX_STEPS, |c, n| c.step = n);
    edges(MAX_STEPS, |c, n| c.optimizer.as_mut().unwrap().t = n);
    edges(MAX_STORIES, |c, n| {
        c.recipe.data = DataSource::Stories { version: 1, seed: 1, count: n };
    });
    edges(MAX_ATTENTION, |c, n| {
        c.attention.other = Settings::default();
        let value = Value::Bytes(vec![7; n as usize - 3]);
        c.attention.other.insert("key", value).unwrap();
    });
    // The recipe has the same limit for the steps it plans.
    let sets: [fn(&mut Contents, u64); 3] = [
        |c, n| c.recipe.schedule.warmup_steps = n,
        |c, n| c.recipe.total_steps = n,
        |c, n| c.recipe.schedule.decay_steps = n,
    ];
    for set in sets {
        for (value, over) in [(MAX_STEPS - 1, false), (MAX_STEPS, false), (MAX_STEPS + 1, true)] {
            let mut contents = contents.clone();
            set(&mut contents, value);
            assert_eq!(matches!(check(&contents), Err(CheckpointError::Setting { .. })), over);
        }
    }
    let names: [fn(&mut Contents) -> &mut String; 4] = [
        |c| &mut c.architecture,
        |c| &mut c.precision,
        |c| &mut c.accumulation,
        |c| &mut c.optimizer.as_mut().unwrap().name,
    ];
    for name in names {
        let mut long = contents.clone();
        *name(&mut long) = "n".repeat(65);
        assert!(is_limit(check(&long)));
        name(&mut long).pop();
        let unknown = check(&long);
        assert!(matches!(
            unknown,
            Err(CheckpointError::Architecture { .. } | CheckpointError::Setting { .. })
        ));
    }
}

#[test]
fn the_length_of_the_header() {
    for (length, over) in [(MAX_HEADER - 1, false), (MAX_HEADER, false), (MAX_HEADER + 1, true)] {
        let file = signed(&vec![0xff; length as usize], &[]);
        match read(&file) {
            Err(CheckpointError::Limit { what, .. }) => {
                assert!(over && what.template() == "the length of the header");
            }
            Err(CheckpointError::HeaderEncoding(_)) => assert!(!over),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_deepest_model_has_a_header_that_fits() {
    let config = Config::gpt2(1 << 20, 1 << 16, 512, Config::MAX_LAYERS);
    check_sizes(&config).unwrap();
    let (mut contents, _) = apart(&good());
    contents.table = expected(list_of(&config), contents.slots(), MAX_BLOB);
    contents.table.iter_mut().for_each(|e| e.crc32 = u32::MAX);
    contents.attention.head_mask = vec![true; 32 * Config::MAX_LAYERS];
    // Twice over, so that there is room for what a later optimizer keeps.
    assert!(2 * encoded(&contents).len() as u64 <= MAX_HEADER);
}

#[test]
fn the_largest_tokenizer_makes_the_round_trip() {
    let mut tokenizer = tokenizer();
    tokenizer.blob = vec![3; MAX_BLOB as usize];
    let trainer = small();
    assert_eq!(read(&bytes_of(&trainer, &tokenizer, false)).unwrap().meta.tokenizer, tokenizer);
    tokenizer.blob.push(3);
    assert!(is_limit(Prepared::new(Path::new(""), (&trainer).into(), &tokenizer, false).map(drop)));
}

#[test]
fn a_model_that_memory_cannot_hold_is_refused_before_its_first_tensor() {
    let (mut contents, _) = apart(&good());
    let config = &mut contents.config;
    (config.vocab_size, config.seq_len, config.d_model) = (1 << 18, 1 << 16, 1 << 13);
    contents.own = SingleHead.parameters(&contents.config);
    let length = contents.tokenizer.length;
    contents.table = expected(contents.parameters().unwrap(), contents.slots(), length);
    let body = table::body_length(&contents.table);
    assert!(body > 60 << 30);
    let header = encoded(&contents);
    let start = [&fixed::write(FORMAT_VERSION, &header, body)[..], &header].concat();
    let length = table::padded(start.len() as u64) + body + 32;
    // As from a sparse file: zeros without end. Where there is that much memory, or none can be
    // asked for, the first tensor's checksum ends it.
    let result = parse(io::Read::chain(&start[..], io::repeat(0)), length, OPTIMIZERS);
    match result {
        Err(Failure::Memory(Error::Memory { needed, .. })) => assert_eq!(needed, body),
        Err(Failure::Content(CheckpointError::TensorChecksum { .. })) => {
            assert!(crate::base::memory::available() >= body);
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
                n_inner: if options & 1 > 0 { 11 } else { 0 },
                ..base
            };
            let model = TinyGPT::new(config.clone(), 1).unwrap();
            let shapes = model.parameters().map(|(n, p)| (n, p.shape().to_vec()));
            assert_eq!(parameter_shapes(&config), shapes.collect::<Vec<_>>());
        }
    }
}
