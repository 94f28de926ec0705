//! Hostile tables and tensors.

use super::hostile::{refused, with_contents};
use super::*;
use crate::checkpoint::table::{BLOB, U8};

/// The file of a small run with other tensors; their checksums are made right.
fn with_body(change: impl FnOnce(&Contents, &mut Vec<u8>)) -> Vec<u8> {
    let (mut contents, mut body) = apart(&good());
    change(&contents, &mut body);
    for entry in &mut contents.table {
        let start = entry.offset as usize;
        entry.crc32 = crc32fast::hash(&body[start..start + entry.length as usize]);
    }
    signed(&encoded(&contents), &body)
}

#[test]
fn the_helper_changes_nothing_by_itself() {
    assert_eq!(with_body(|_, _| ()), good());
}

#[test]
fn the_table_must_be_the_expected_one() {
    let changes: [fn(&mut Contents); 17] = [
        |c| c.table[1].offset += 64,
        |c| c.table[1].offset = 0,
        |c| c.table[1].offset = u64::MAX,
        |c| c.table[0].length -= 4,
        |c| c.table[0].length = u64::MAX,
        |c| c.table[0].dims = vec![u64::MAX, u64::MAX],
        |c| c.table[0].dims.push(1),
        |c| c.table[0].dims.clear(),
        |c| c.table[0].dtype = U8.into(),
        |c| c.table[0].role = "v".into(),
        |c| c.table[0].name = "../../etc/passwd".into(),
        |c| c.table.swap(0, 1),
        |c| c.table.reverse(),
        |c| c.table[1] = c.table[0].clone(),
        |c| c.table.push(c.table[0].clone()),
        |c| drop(c.table.pop()),
        |c| c.table.clear(),
    ];
    for (i, change) in changes.into_iter().enumerate() {
        let error = refused(&with_contents(change));
        let about_tensors =
            matches!(error, CheckpointError::Tensor { .. } | CheckpointError::TensorCount { .. });
        assert!(about_tensors, "change {i}: {error}");
    }
}

#[test]
fn roles_and_types_of_their_own_are_refused_without_reaching_the_terminal() {
    let changes: [fn(&mut Contents); 4] = [
        |c| c.table[0].role = "\x1b[31m".into(),
        |c| c.table[0].dtype = "\x1b[31m".into(),
        |c| c.table[0].role = String::new(),
        |c| c.table[1].role = "weight".into(),
    ];
    for change in changes {
        let error = refused(&with_contents(change));
        assert!(matches!(error, CheckpointError::Tensor { .. }), "{error}");
        assert!(!error.to_string().contains('\x1b'));
    }
}

#[test]
fn values_that_no_training_has_are_refused() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for index in [0, 1, 2] {
            let file = with_body(|contents, body| {
                let at = contents.table[index].offset as usize;
                body[at..at + 4].copy_from_slice(&value.to_le_bytes());
            });
            assert!(matches!(refused(&file), CheckpointError::NotFinite { .. }));
        }
    }
    let file = with_body(|contents, body| {
        let v = contents.table.iter().find(|e| e.role == "v").unwrap();
        body[v.offset as usize..][..4].copy_from_slice(&(-1e-20f32).to_le_bytes());
    });
    assert!(matches!(refused(&file), CheckpointError::Negative { .. }));
}

#[test]
fn another_blob_or_padding_is_refused() {
    let place = |c: &Contents| c.table.iter().find(|e| e.role == BLOB).unwrap().offset;
    let blob = with_body(|c, body| body[place(c) as usize] ^= 1);
    assert!(matches!(refused(&blob), CheckpointError::TokenizerHash));
    let padding = |c: &Contents| (place(c) + c.tokenizer.length) as usize;
    let padding = with_body(|c, body| body[padding(c)] = 1);
    assert!(matches!(refused(&padding), CheckpointError::Padding { .. }));
    let good = good();
    let length = u64::from_le_bytes(good[16..24].try_into().unwrap()) as usize;
    assert!(!(40 + length).is_multiple_of(64), "this file has no padding to damage");
    for at in [36, 39, 40 + length] {
        let mut file = good[..good.len() - 32].to_vec();
        file[at] = 1;
        file.extend(blake3::hash(&file).as_bytes());
        assert!(matches!(refused(&file), CheckpointError::Padding { .. }));
    }
}
