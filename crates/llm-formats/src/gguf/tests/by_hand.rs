//! Files that no program has written, and what is said of those that cannot be.

use super::modern;
use crate::error::{FormatError, Result};
use crate::gguf::block::BlockType;
use crate::gguf::import::rounded;
use crate::gguf::value::{MetaValue, write_text};
use crate::gguf::{Gguf, import, is_ours};
use crate::safetensors::Wanted;
use crate::tests::{Mend, mend};

/// A file by hand.
pub(super) struct Draft {
    pub(super) entries: Vec<(String, MetaValue)>,
    /// Name, axes with the last one first, number of the type, offset.
    pub(super) tensors: Vec<(String, Vec<u64>, u32, u64)>,
    pub(super) body: Vec<u8>,
}

impl Draft {
    /// Two tensors: `a [2, 3]` in F32 and `b [32]` in Q8_0.
    fn good() -> Draft {
        let entries = vec![
            ("x.text".to_string(), MetaValue::text("猫")),
            ("x.list".into(), MetaValue::Texts(vec!["a".into(), String::new()])),
            ("x.ints".into(), MetaValue::Ints(vec![1, -2])),
            ("x.others".into(), MetaValue::Others(1, vec![1, 2, 255])),
        ];
        let tensors = vec![("a".to_string(), vec![3, 2], 0, 0), ("b".into(), vec![32], 8, 32)];
        let mut body: Vec<u8> = (0..6).flat_map(|x| (x as f32).to_le_bytes()).collect();
        body.resize(32, 0);
        body.extend([0x00, 0x3C]); // 1 as f16
        body.extend(0..32);
        body.resize(96, 0);
        Draft { entries, tensors, body }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = b"GGUF\x03\0\0\0".to_vec();
        out.extend((self.tensors.len() as u64).to_le_bytes());
        out.extend((self.entries.len() as u64).to_le_bytes());
        for (key, value) in &self.entries {
            write_text(key, &mut out);
            value.write(&mut out);
        }
        for (name, axes, kind, offset) in &self.tensors {
            write_text(name, &mut out);
            out.extend((axes.len() as u32).to_le_bytes());
            axes.iter().for_each(|n| out.extend(n.to_le_bytes()));
            out.extend(kind.to_le_bytes());
            out.extend(offset.to_le_bytes());
        }
        out.resize(out.len().next_multiple_of(32), 0);
        out.extend(&self.body);
        out
    }
}

fn tensors(bytes: &[u8]) -> Result<Vec<(usize, Vec<f32>)>> {
    let mut found = Vec::new();
    let wanted = |name: &str, shape: &[usize]| Wanted::parameter(name.into(), shape.into());
    let list = [wanted("b", &[32]), wanted("a", &[2, 3])];
    Gguf::open(bytes, bytes.len() as u64)?.read(&list, |i, first, rows| {
        assert_eq!(first, 0);
        found.push((i, rows.to_vec()));
        Ok(())
    })?;
    Ok(found)
}

fn why(bytes: &[u8]) -> String {
    match tensors(bytes) {
        Err(FormatError::Content(why)) => why.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn of_several_roundings_that_of_most_numbers_is_named() {
    let kind_of = |draft: &Draft| {
        let bytes = draft.bytes();
        rounded(&Gguf::open(&bytes[..], bytes.len() as u64).unwrap().tensors).map(BlockType::name)
    };
    let mut draft = Draft::good();
    assert_eq!(kind_of(&draft), Some("Q8_0"));
    const Q4_1: u32 = 3;
    draft.tensors.push(("c".into(), vec![64], Q4_1, 96)); // two blocks of 20 bytes
    draft.body.resize(96 + 64, 0);
    assert_eq!(kind_of(&draft), Some("Q4_1"));
    draft.tensors.truncate(1);
    draft.body.truncate(32);
    assert_eq!(kind_of(&draft), None);
}

#[test]
fn a_file_by_hand_is_read() {
    let draft = Draft::good();
    let found = tensors(&draft.bytes()).unwrap();
    let b: Vec<f32> = (0..32).map(|x| x as f32).collect();
    assert_eq!(found, [(1, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), (0, b)]);
    let bytes = draft.bytes();
    let file = Gguf::open(&bytes[..], bytes.len() as u64).unwrap();
    assert!(draft.entries.iter().all(|(key, value)| file.metadata[key] == *value));
    // The padding behind the last tensor may be missing.
    let short = &bytes[..bytes.len() - 30];
    assert!(tensors(short).is_ok());
    let mut version_2 = bytes.clone();
    version_2[4] = 2;
    assert!(tensors(&version_2).is_ok());
}

#[test]
fn every_cut_is_refused() {
    let bytes = Draft::good().bytes();
    for end in 0..bytes.len() - 30 {
        let refused = why(&bytes[..end]);
        assert!(refused.contains("ends too early"), "{end}: {refused}");
    }
}

#[test]
fn files_that_cannot_be_are_refused() {
    let changed = |change: fn(&mut Draft)| {
        let mut draft = Draft::good();
        change(&mut draft);
        why(&draft.bytes())
    };
    let at = |place: usize, bytes: &[u8]| {
        let mut file = Draft::good().bytes();
        file[place..place + bytes.len()].copy_from_slice(bytes);
        why(&file)
    };
    for (found, needle) in [
        (at(0, b"GGML"), "not a GGUF file"),
        (at(4, &[1]), "version 1"),
        (at(4, &[0, 0, 0, 3]), "big-endian"),
        (at(8, &[0xFF; 8]), "18446744073709551615 tensors"),
        (at(16, &[0xFF; 4]), "4294967295 entries"),
        (at(24, &[0xFF; 8]), "a text of 18446744073709551615 bytes"),
        (at(32, &[0xFF]), "no UTF-8"),
        (changed(|d| d.tensors[0].1[0] = 0), "tensor a: no numbers"),
        (changed(|d| d.tensors[0].1 = vec![u64::MAX, 3]), "more than there can be"),
        (changed(|d| d.tensors[0].1 = vec![1 << 40, 1 << 23]), "more bytes than there can be"),
        (changed(|d| d.tensors[0].1 = vec![1 << 62]), "more bytes than there can be"),
        (changed(|d| d.tensors[0].1 = vec![1 << 61]), "tensor b: it begins at byte 32"),
        (changed(|d| d.tensors[0].1 = vec![1 << 40]), "tensor b: it begins at byte 32"),
        (changed(|d| d.tensors[1].1 = vec![64]), "ends too early"),
        (changed(|d| d.tensors[0].1 = vec![1; 5]), "5 axes"),
        (changed(|d| d.tensors[0].1 = vec![]), "0 axes"),
        (changed(|d| d.tensors[0].2 = 10), "it is Q2_K, only F32, F16, BF16, Q8_0"),
        (changed(|d| d.tensors[0].2 = 99), "of type number 99"),
        (changed(|d| d.tensors[1].1 = vec![31]), "no whole blocks of 32 (Q8_0)"),
        (changed(|d| d.tensors[1].3 = 0), "it begins at byte 0, not at 32"),
        (changed(|d| d.tensors[1].3 = 64), "it begins at byte 64, not at 32"),
        (changed(|d| d.tensors[1].3 = u64::MAX), "it begins at byte 18446744073709551615"),
        (changed(|d| d.tensors[1].0 = "a".into()), "tensor a: it is there twice"),
        (changed(|d| d.tensors[1].0 = "c".into()), "tensor c does not belong"),
        (changed(|d| drop(d.tensors.pop())), "bytes follow the last tensor"),
        (changed(|d| d.tensors[0].1 = vec![2, 3]), "tensor a is [3, 2], this model needs [2, 3]"),
        (changed(|d| d.body.extend([0; 32])), "bytes follow the last tensor"),
        (changed(|d| d.body[..4].fill(0xFF)), "tensor a has a value that is not finite"),
        (changed(|d| d.body[33] = 0x7C), "tensor b has a value that is not finite"),
        (changed(|d| d.entries[1].0 = "x.text".into()), "x.text is there twice"),
        (
            changed(|d| d.entries.push(("general.alignment".into(), MetaValue::u32(48)))),
            "alignment is 48",
        ),
        (
            changed(|d| d.entries.push(("general.alignment".into(), MetaValue::u32(8192)))),
            "alignment is 8192",
        ),
        (changed(|d| d.entries.push(("x".repeat(300), MetaValue::u32(1)))), "a text of 300 bytes"),
        (
            changed(|d| d.entries.push(("y".into(), MetaValue::Others(9, vec![0])))),
            "a list of lists",
        ),
        (
            changed(|d| d.entries.push(("y".into(), MetaValue::Others(77, vec![0])))),
            "unknown type 77",
        ),
    ] {
        assert!(found.contains(needle), "{found} / {needle}");
    }
    let long = "x".repeat((1 << 20) + 1);
    let draft = Draft { entries: vec![("y".into(), MetaValue::Text(long))], ..Draft::good() };
    assert!(why(&draft.bytes()).contains("y: a text of 1048577 bytes"));
    let many = MetaValue::Others(0, vec![0; (1 << 20) + 1]);
    let draft = Draft { entries: vec![("y".into(), many)], ..Draft::good() };
    assert!(why(&draft.bytes()).contains("a list of 1048577 values"));
    let list = |i: u32| (i.to_string(), MetaValue::Texts(vec![String::new(); 1 << 20]));
    let draft = Draft { entries: (0..3).map(list).collect(), ..Draft::good() };
    assert!(why(&draft.bytes()).contains("more than 64 MiB"));
}

#[test]
fn a_file_that_is_not_there_or_damaged_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let refused = import(&path, &modern).unwrap_err();
    assert_eq!(mend(&refused), Mend::Place);
    std::fs::write(&path, b"GGUF").unwrap();
    assert_eq!(mend(&import(&path, &modern).unwrap_err()), Mend::Content);
    assert!(!is_ours(&path));
}
