//! Files made to do harm: all checksums are right, the content is not. Headers of both formats;
//! what only format 2 can say wrongly is in `keys.rs`.

use super::*;
use crate::model::standard_parameters;

/// The file of a small run with another header.
pub(super) fn with_contents(version: u32, change: impl FnOnce(&mut Contents)) -> Vec<u8> {
    let (mut contents, body) = apart(&good(version));
    change(&mut contents);
    signed(version, &encoded(version, &contents), &body)
}

#[track_caller]
pub(super) fn refused(file: &[u8]) -> CheckpointError {
    read(file).expect_err("a hostile file was accepted")
}

/// Another seed or rate is no harm: what is accepted must make a run that goes on.
pub(super) fn harmless(file: &[u8]) {
    if let Ok(checkpoint) = read(file) {
        let spec = checkpoint.meta.attention.clone();
        let mut trainer = checkpoint.into_trainer(Arc::new(Named(spec))).unwrap();
        if trainer.recipe.batch_size < 100 {
            let _ = trainer.step(&data()); // it may diverge, and must not panic
        }
    }
}

#[test]
fn the_helpers_change_nothing_by_themselves() {
    for version in [1, 2] {
        assert_eq!(with_contents(version, |_| ()), good(version));
    }
}

#[test]
fn huge_sizes_are_refused_before_anything_is_made() {
    for version in [1, 2] {
        for value in [0, 1 << 21, u32::MAX as usize] {
            for field in ["vocab", "context", "width", "layers"] {
                refused(&with_contents(version, |c| match field {
                    "vocab" => c.config.vocab_size = value,
                    "context" => c.config.seq_len = value,
                    "width" => c.config.d_model = value,
                    _ => c.config.n_layers = value,
                }));
            }
        }
        let all = refused(&with_contents(version, |c| {
            c.config =
                Config { init: c.config.init, ..Config::new(1 << 20, 1 << 16, 1 << 14, 512) };
            c.attention = AttentionSpec::new("two", 1);
        }));
        assert!(matches!(all, CheckpointError::Limit { what: "the number of parameters", .. }));
    }
}

#[test]
fn a_model_larger_than_its_file_is_refused_before_it_is_read() {
    for version in [1, 2] {
        let file = with_contents(version, |c| {
            let config = &mut c.config;
            (config.vocab_size, config.seq_len, config.d_model) = (1 << 19, 1 << 16, 1 << 10);
            c.own = standard_parameters(&c.config);
            c.table = table::expected(c.parameters(), c.slots(), c.tokenizer.length);
        });
        assert!(matches!(refused(&file), CheckpointError::Length { .. }));
    }
}

#[test]
fn settings_outside_their_ranges_are_refused() {
    let stories = |count| DataSource::Stories { version: 1, seed: 1, count };
    let changes: [&dyn Fn(&mut Contents); 25] = [
        &|c| c.attention.n_heads = 0,
        &|c| c.attention.n_heads = 3,
        &|c| c.attention.n_heads = u32::MAX as usize,
        &|c| c.attention.head_mask.truncate(1),
        &|c| c.attention.head_mask.push(true),
        &|c| c.recipe.hyperparameters.beta2 = 1.0,
        &|c| c.recipe.hyperparameters.eps = 0.0,
        &|c| c.recipe.schedule.lr = -1.0,
        &|c| c.recipe.schedule.min_lr = 1.0,
        &|c| c.recipe.batch_size = 0,
        &|c| c.recipe.batch_size = u32::MAX as usize,
        &|c| c.recipe.seq_len = 0,
        &|c| c.recipe.seq_len = 5, // the context is 4
        &|c| c.step = u64::MAX,
        &|c| c.optimizer.as_mut().unwrap().t = u64::MAX,
        &|c| c.optimizer = None,
        &|c| c.optimizer.as_mut().unwrap().slots.clear(),
        &|c| c.recipe.schedule.warmup_steps = u64::MAX,
        &|c| c.recipe.data = stories(u64::MAX),
        &|c| c.recipe.val_data = Some(stories(u64::MAX)),
        &|c| c.config.dropout = 1.0,
        &|c| c.recipe.accum = 0,
        &|c| c.recipe.accum = u32::MAX,
        &|c| c.tokenizer.length = u64::MAX,
        &|c| c.tokenizer.length = 0,
    ];
    for version in [1, 2] {
        for (i, change) in changes.iter().enumerate() {
            assert!(read(&with_contents(version, change)).is_err(), "change {i}, format {version}");
        }
    }
}

/// Format 2 has no way to write them; `keys.rs` puts them there byte by byte.
#[test]
fn numbers_that_are_none_are_refused_in_format_1() {
    let changes: [fn(&mut Contents); 10] = [
        |c| c.recipe.schedule.lr = f32::NAN,
        |c| c.recipe.schedule.lr = f32::INFINITY,
        |c| c.recipe.schedule.min_lr = f32::NAN,
        |c| c.recipe.hyperparameters.beta1 = f32::NAN,
        |c| c.recipe.hyperparameters.eps = f32::INFINITY,
        |c| c.recipe.hyperparameters.weight_decay = f32::NAN,
        |c| c.recipe.clip = f32::NAN,
        |c| c.recipe.val_frac = f64::NAN,
        |c| c.config.dropout = f32::NAN,
        |c| c.config.dropout = -f32::INFINITY,
    ];
    for (i, change) in changes.into_iter().enumerate() {
        assert!(read(&with_contents(1, change)).is_err(), "change {i}");
    }
}

#[test]
fn moments_without_the_number_of_updates_are_refused_in_format_1() {
    let (contents, body) = apart(&good(1));
    let mut header = format1::OldHeader::new(&contents);
    header.adam_t = None;
    let file = signed(1, &postcard::to_stdvec(&header).unwrap(), &body);
    assert!(matches!(refused(&file), CheckpointError::Setting { field: "moments", .. }));
}

#[test]
fn a_header_that_is_none_is_refused() {
    for version in [1, 2] {
        let (contents, body) = apart(&good(version));
        let good = encoded(version, &contents);
        let longer = [&good[..], &[0, 0]].concat();
        let error = refused(&signed(version, &longer, &body));
        assert!(matches!(error, CheckpointError::HeaderRest { extra: 2 }));
        for length in 0..good.len() {
            let error = refused(&signed(version, &good[..length], &body));
            assert!(matches!(error, CheckpointError::HeaderEncoding(_)), "{length}: {error}");
        }
        // A list that claims 2^60 entries.
        let lie = [&[0xff; 8][..], &[0x0f]].concat();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad.splice(at..at + 1, lie.iter().copied());
            harmless(&signed(version, &bad, &body));
        }
        // A header of the other format.
        refused(&signed(3 - version, &good, &body));
    }
}

#[test]
fn a_number_that_stands_for_no_kind_is_refused() {
    // In format 1 the first tensor's name is followed by its role and its type.
    let (contents, body) = apart(&good(1));
    let good = encoded(1, &contents);
    let name = contents.table[0].name.as_bytes();
    let at = good.windows(name.len()).position(|w| w == name).unwrap() + name.len();
    for (at, unknown) in [(at, 4), (at, 255), (at + 1, 2)] {
        let mut bad = good.clone();
        bad[at] = unknown;
        let error = refused(&signed(1, &bad, &body));
        assert!(matches!(error, CheckpointError::HeaderEncoding(_)));
    }
    // In format 2 a key is followed by its value's kind.
    let good = encoded(2, &contents);
    let key = b"train.seed";
    let at = good.windows(key.len()).position(|w| w == key).unwrap() + key.len();
    for unknown in [7, 255] {
        let mut bad = good.clone();
        bad[at] = unknown;
        let error = refused(&signed(2, &bad, &body));
        assert!(matches!(error, CheckpointError::HeaderEncoding(_)));
    }
}

#[test]
fn every_changed_header_byte_is_harmless_below_the_checksum() {
    for version in [1, 2] {
        let (contents, body) = apart(&good(version));
        let good = encoded(version, &contents);
        for at in 0..good.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                harmless(&signed(version, &bad, &body));
            }
        }
    }
}
