//! Files made to do harm: all checksums are right, the content is not.

use super::*;
use crate::checkpoint::header::StoredSource;
use crate::checkpoint::table::{Dtype, Role};

/// The file of a small run with another header.
fn with_header(change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let (mut header, body) = apart(&bytes_of(&small(), &tokenizer(), true));
    change(&mut header);
    signed(&postcard::to_stdvec(&header).unwrap(), &body)
}

/// The same, with other tensors; their checksums are made right.
fn with_body(change: impl FnOnce(&Header, &mut Vec<u8>)) -> Vec<u8> {
    let (mut header, mut body) = apart(&bytes_of(&small(), &tokenizer(), true));
    change(&header, &mut body);
    for entry in &mut header.tensors {
        let start = entry.offset as usize;
        entry.crc32 = crc32fast::hash(&body[start..start + entry.length as usize]);
    }
    signed(&postcard::to_stdvec(&header).unwrap(), &body)
}

#[track_caller]
fn refused(file: &[u8]) -> CheckpointError {
    read(file).expect_err("a hostile file was accepted")
}

/// Another seed or rate is no harm: what is accepted must make a run that goes on.
fn harmless(file: &[u8]) {
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
    let good = bytes_of(&small(), &tokenizer(), true);
    assert_eq!(with_header(|_| ()), good);
    assert_eq!(with_body(|_, _| ()), good);
}

#[test]
fn huge_sizes_are_refused_before_anything_is_made() {
    for value in [0, 1 << 21, u32::MAX] {
        for field in ["vocab", "context", "width", "layers"] {
            refused(&with_header(|h| match field {
                "vocab" => h.vocab_size = value,
                "context" => h.context = value,
                "width" => h.d_model = value,
                _ => h.n_layers = value,
            }));
        }
    }
    let all = refused(&with_header(|h| {
        (h.vocab_size, h.context, h.d_model, h.n_layers) = (1 << 20, 1 << 16, 1 << 14, 512);
        (h.n_heads, h.head_mask) = (1, Vec::new());
    }));
    assert!(matches!(all, CheckpointError::Limit { what: "the number of parameters", .. }));
}

#[test]
fn a_model_larger_than_its_file_is_refused_before_it_is_read() {
    let file = with_header(|h| {
        (h.vocab_size, h.context, h.d_model) = (1 << 19, 1 << 16, 1 << 10);
        h.tensors = table::expected(&h.config(), h.moments, h.tokenizer_length);
    });
    assert!(matches!(refused(&file), CheckpointError::Length { .. }));
}

#[test]
fn settings_outside_their_ranges_are_refused() {
    let changes: [fn(&mut Header); 31] = [
        |h| h.n_heads = 0,
        |h| h.n_heads = 3,
        |h| h.n_heads = u32::MAX,
        |h| h.head_mask.truncate(1),
        |h| h.head_mask.push(true),
        |h| h.lr = f32::NAN,
        |h| h.lr = f32::INFINITY,
        |h| h.min_lr = f32::NAN,
        |h| h.beta1 = f32::NAN,
        |h| h.beta2 = 1.0,
        |h| h.eps = f32::INFINITY,
        |h| h.weight_decay = f32::NAN,
        |h| h.clip = f32::NAN,
        |h| h.val_frac = f64::NAN,
        |h| h.batch_size = 0,
        |h| h.batch_size = u32::MAX,
        |h| h.seq_len = 0,
        |h| h.seq_len = 5, // the context is 4
        |h| h.step = u64::MAX,
        |h| h.adam_t = Some(u64::MAX),
        |h| h.adam_t = None,
        |h| h.warmup_steps = u64::MAX,
        |h| h.data = StoredSource::Stories { version: 1, seed: 1, count: u64::MAX },
        |h| h.dropout = 1.0,
        |h| h.dropout = f32::NAN,
        |h| h.accum = 0,
        |h| h.accum = u32::MAX,
        |h| h.val_data = Some(StoredSource::Stories { version: 1, seed: 1, count: u64::MAX }),
        |h| h.tokenizer_length = u64::MAX,
        |h| h.tokenizer_length = 0,
        |h| h.moments = false,
    ];
    for (i, change) in changes.into_iter().enumerate() {
        assert!(read(&with_header(change)).is_err(), "change {i}");
    }
}

#[test]
fn the_table_must_be_the_expected_one() {
    let changes: [fn(&mut Header); 17] = [
        |h| h.tensors[1].offset += 64,
        |h| h.tensors[1].offset = 0,
        |h| h.tensors[1].offset = u64::MAX,
        |h| h.tensors[0].length -= 4,
        |h| h.tensors[0].length = u64::MAX,
        |h| h.tensors[0].dims = vec![u64::MAX, u64::MAX],
        |h| h.tensors[0].dims.push(1),
        |h| h.tensors[0].dims.clear(),
        |h| h.tensors[0].dtype = Dtype::U8,
        |h| h.tensors[0].role = Role::V,
        |h| h.tensors[0].name = "../../etc/passwd".into(),
        |h| h.tensors.swap(0, 1),
        |h| h.tensors.reverse(),
        |h| h.tensors[1] = h.tensors[0].clone(),
        |h| h.tensors.push(h.tensors[0].clone()),
        |h| drop(h.tensors.pop()),
        |h| h.tensors.clear(),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let error = refused(&with_header(change));
        let about_tensors =
            matches!(error, CheckpointError::Tensor { .. } | CheckpointError::TensorCount { .. });
        assert!(about_tensors, "change {i}: {error}");
    }
}

#[test]
fn a_header_that_is_none_is_refused() {
    let (header, body) = apart(&bytes_of(&small(), &tokenizer(), true));
    let good = postcard::to_stdvec(&header).unwrap();
    let longer = [&good[..], &[0, 0]].concat();
    assert!(matches!(refused(&signed(&longer, &body)), CheckpointError::HeaderRest { extra: 2 }));
    for length in 0..good.len() {
        let error = refused(&signed(&good[..length], &body));
        assert!(matches!(error, CheckpointError::HeaderEncoding(_)), "{length}: {error}");
    }
    // Role and type of the first tensor follow its name; the highest known values are 3 and 1.
    let name = header.tensors[0].name.as_bytes();
    let at = good.windows(name.len()).position(|w| w == name).unwrap() + name.len();
    for (at, unknown) in [(at, 4), (at, 255), (at + 1, 2)] {
        let mut bad = good.clone();
        bad[at] = unknown;
        assert!(matches!(refused(&signed(&bad, &body)), CheckpointError::HeaderEncoding(_)));
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
fn every_changed_header_byte_is_harmless_below_the_checksum() {
    let (header, body) = apart(&bytes_of(&small(), &tokenizer(), true));
    let good = postcard::to_stdvec(&header).unwrap();
    for at in 0..good.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= flip;
            harmless(&signed(&bad, &body));
        }
    }
}

#[test]
fn values_that_no_training_has_are_refused() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for index in [0, 1, 2] {
            let file = with_body(|header, body| {
                let at = header.tensors[index].offset as usize;
                body[at..at + 4].copy_from_slice(&value.to_le_bytes());
            });
            assert!(matches!(refused(&file), CheckpointError::NotFinite { .. }));
        }
    }
    let file = with_body(|header, body| {
        let v = header.tensors.iter().find(|e| e.role == Role::V).unwrap();
        body[v.offset as usize..][..4].copy_from_slice(&(-1e-20f32).to_le_bytes());
    });
    assert!(matches!(refused(&file), CheckpointError::Negative { .. }));
}

#[test]
fn another_blob_or_padding_is_refused() {
    let place = |h: &Header| h.tensors.iter().find(|e| e.role == Role::Blob).unwrap().offset;
    let blob = with_body(|h, body| body[place(h) as usize] ^= 1);
    assert!(matches!(refused(&blob), CheckpointError::TokenizerHash));
    let padding = with_body(|h, body| body[(place(h) + h.tokenizer_length) as usize] = 1);
    assert!(matches!(refused(&padding), CheckpointError::Padding { .. }));
    let good = with_header(|_| ());
    let length = u64::from_le_bytes(good[16..24].try_into().unwrap()) as usize;
    assert!(!(40 + length).is_multiple_of(64), "this file has no padding to damage");
    for at in [36, 39, 40 + length] {
        let mut file = good[..good.len() - 32].to_vec();
        file[at] = 1;
        file.extend(blake3::hash(&file).as_bytes());
        assert!(matches!(refused(&file), CheckpointError::Padding { .. }));
    }
}
