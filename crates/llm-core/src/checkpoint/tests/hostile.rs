//! Files made to do harm: all checksums are right, the content is not. What settings by key can say
//! wrongly is in `keys.rs`.

use super::*;

/// The file of a small run with another header.
pub(super) fn with_contents(change: impl FnOnce(&mut Contents)) -> Vec<u8> {
    let (mut contents, body) = apart(&good());
    change(&mut contents);
    signed(&encoded(&contents), &body)
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
    assert_eq!(with_contents(|_| ()), good());
}

#[test]
fn huge_sizes_are_refused_before_anything_is_made() {
    for value in [0, 1 << 21, u32::MAX as usize] {
        for field in ["vocab", "context", "width", "layers"] {
            refused(&with_contents(|c| match field {
                "vocab" => c.config.vocab_size = value,
                "context" => c.config.seq_len = value,
                "width" => c.config.d_model = value,
                _ => c.config.n_layers = value,
            }));
        }
    }
    let all = refused(&with_contents(|c| {
        c.config = Config { init: c.config.init, ..Config::new(1 << 20, 1 << 16, 1 << 14, 512) };
        c.attention = AttentionSpec::new("two", 1);
    }));
    let CheckpointError::Limit { what, .. } = all else { panic!("{all}") };
    assert_eq!(what.template(), "the number of parameters");
}

#[test]
fn a_model_larger_than_its_file_is_refused_before_it_is_read() {
    let file = with_contents(|c| {
        let config = &mut c.config;
        (config.vocab_size, config.seq_len, config.d_model) = (1 << 19, 1 << 16, 1 << 10);
        c.own = SingleHead.parameters(&c.config);
        c.table = table::expected(c.parameters().unwrap(), c.slots(), c.tokenizer.length);
    });
    assert!(matches!(refused(&file), CheckpointError::Length { .. }));
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
    for (i, change) in changes.iter().enumerate() {
        assert!(read(&with_contents(change)).is_err(), "change {i}");
    }
}

#[test]
fn a_header_that_is_none_is_refused() {
    let (contents, body) = apart(&good());
    let good = encoded(&contents);
    let longer = [&good[..], &[0, 0]].concat();
    let error = refused(&signed(&longer, &body));
    assert!(matches!(error, CheckpointError::HeaderRest { extra: 2 }));
    for length in 0..good.len() {
        let error = refused(&signed(&good[..length], &body));
        assert!(matches!(error, CheckpointError::HeaderEncoding(_)), "{length}: {error}");
    }
    // A list that claims 2^60 entries.
    let lie = [&[0xff; 8][..], &[0x0f]].concat();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad.splice(at..at + 1, lie.iter().copied());
        harmless(&signed(&bad, &body));
    }
}

#[test]
fn a_number_that_stands_for_no_kind_is_refused() {
    let (contents, body) = apart(&good());
    let good = encoded(&contents);
    // A key is followed by its value's kind.
    let key = b"train.seed";
    let at = good.windows(key.len()).position(|w| w == key).unwrap() + key.len();
    for unknown in [7, 255] {
        let mut bad = good.clone();
        bad[at] = unknown;
        let error = refused(&signed(&bad, &body));
        assert!(matches!(error, CheckpointError::HeaderEncoding(_)));
    }
}

#[test]
fn every_changed_header_byte_is_harmless_below_the_checksum() {
    let (contents, body) = apart(&good());
    let good = encoded(&contents);
    for at in 0..good.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= flip;
            harmless(&signed(&bad, &body));
        }
    }
}
