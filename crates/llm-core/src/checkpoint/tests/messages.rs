//! The wording of every error, and that a file can cause each of them.

use super::*;
use crate::checkpoint::adapter::SavedAdapter;
use crate::checkpoint::table::BLOB;
use crate::model::AdapterSpec;

/// A number for every kind of error; a new kind does not compile until it has one here.
fn number(error: &CheckpointError) -> usize {
    use CheckpointError as E;
    match error {
        E::NotACheckpoint => 0,
        E::TooShort { .. } => 1,
        E::OldFormat { .. } => 2,
        E::Version { .. } => 3,
        E::Flags { .. } => 4,
        E::Length { .. } => 5,
        E::Limit { .. } => 6,
        E::Padding { .. } => 7,
        E::HeaderChecksum => 8,
        E::HeaderEncoding(_) => 9,
        E::HeaderRest { .. } => 10,
        E::Architecture { .. } => 11,
        E::Setting { .. } => 12,
        E::TensorCount { .. } => 13,
        E::Tensor { .. } => 14,
        E::TensorChecksum { .. } => 15,
        E::FileChecksum => 16,
        E::TokenizerHash => 17,
        E::NotFinite { .. } => 18,
        E::Negative { .. } => 19,
        E::Attention { .. } => 20,
        E::Base { .. } => 21,
    }
}
const KINDS: usize = 22;

#[test]
fn every_error_happens_and_reads_well() {
    let good = bytes_of(&small(), &tokenizer(), true);
    let (contents, body) = apart(&good);
    let header = encoded(&contents);
    let raw = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = good.clone();
        change(&mut file);
        read(&file).unwrap_err()
    };
    let again = |change: &dyn Fn(&mut Contents, &mut Vec<u8>)| {
        let (mut contents, mut body) = (contents.clone(), body.clone());
        change(&mut contents, &mut body);
        for entry in &mut contents.table {
            let tensor = body.get(entry.offset as usize..(entry.offset + entry.length) as usize);
            entry.crc32 = crc32fast::hash(tensor.unwrap());
        }
        read(&signed(&encoded(&contents), &body)).unwrap_err()
    };
    let data_start = table::padded(40 + header.len() as u64) as usize;
    let length = good.len();
    let last = *b"\0\0\x80\xbf"; // -1
    let second = contents.table.iter().find(|e| e.role == "v").unwrap().offset as usize;
    let other = read(&good).unwrap().into_trainer(Arc::new(SingleHead));
    let Err(Error::Checkpoint { source: attention, .. }) = other else { panic!() };
    let blob = contents.table.iter().find(|e| e.role == BLOB).unwrap().offset as usize;

    let lost = SavedAdapter {
        spec: AdapterSpec::default(),
        base_blake3: [0xab; 32],
        base_file: String::new(),
    };
    let all = [
        (
            lost.missing("../base".into(), "it is gone".into()),
            "an adapter of the weights with BLAKE3 abababababababab..; '../base': it is gone".into(),
        ),
        (raw(&|f| f[0] = b'x'), "not a checkpoint of this program".to_string()),
        (raw(&|f| f.truncate(30)), "file is 30 bytes, too short for a checkpoint".into()),
        (
            raw(&|f| f[8] = 1),
            "format 1, which is no longer read; the programs of commit ba6595f read it and save it \
             again as format 2"
                .into(),
        ),
        (raw(&|f| f[8] = 3), "format 3, this program reads 2".into()),
        (raw(&|f| f[13] = 1), "unknown flags 0x100".into()),
        (raw(&|f| f.truncate(500)), format!("file is 500 bytes, header says {length}")),
        (
            again(&|c, _| c.step = u64::MAX),
            "the number of steps done is 18446744073709551615, the limit is 9007199254740992"
                .into(),
        ),
        (raw(&|f| f[data_start + 8 + 24] = 1), "the padding after tensor b_lm is not zero".into()),
        (raw(&|f| f[41] ^= 1), "checksum mismatch in the header".into()),
        (read(&signed(&header[1..], &body)).unwrap_err(), "the header cannot be decoded".into()),
        (
            read(&signed(&[&header[..], b"abc"].concat(), &body)).unwrap_err(),
            "3 bytes left over in the header".into(),
        ),
        (
            again(&|c, _| c.architecture = "\x1b[31m".into()),
            "architecture '\\u{1b}[31m', this program knows 'tiny-gpt'".into(),
        ),
        (again(&|c, _| c.attention.n_heads = 0), "n_heads: 0 is outside 1..=65536".into()),
        (again(&|c, _| drop(c.table.pop())), "36 tensors, this model has 37".into()),
        (
            again(&|c, _| c.table[0].name = "\n\u{202e}".into()),
            "tensor b_lm: name is '\\n\\u{202e}', this model needs 'b_lm'".into(),
        ),
        (raw(&|f| f[data_start + 64] ^= 1), "checksum mismatch in tensor b_lm (m)".into()),
        (raw(&|f| f[length - 1] ^= 1), "checksum mismatch in the file".into()),
        (
            again(&|_, b| b[blob] ^= 1),
            "the tokenizer's data do not have the BLAKE3 hash that the header names".into(),
        ),
        (
            again(&|_, b| b[..4].copy_from_slice(&[0xff; 4])),
            "tensor b_lm has a value that is not finite".into(),
        ),
        (
            again(&|_, b| b[second..second + 4].copy_from_slice(&last)),
            "tensor b_lm (v) has a negative value, but it is a mean of squares".into(),
        ),
        (
            attention,
            "made with two attention (2 heads, 1 switched off), which \
             single-head attention (1 head) would read as something else"
                .into(),
        ),
    ];
    let mut seen = [false; KINDS];
    for (error, message) in &all {
        assert_eq!(error.to_string(), *message);
        seen[number(error)] = true;
        if let Some(source) = std::error::Error::source(error) {
            assert!(!message.contains(&source.to_string()));
        }
    }
    assert!(seen.iter().all(|&s| s), "{seen:?}");
}
