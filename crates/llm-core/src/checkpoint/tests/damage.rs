//! Accidents, and lies about lengths: no such file is accepted, none makes the reader panic.

use super::*;

#[test]
fn every_changed_byte_is_noticed() {
    for good in [good(), golden::GOLDEN.to_vec()] {
        assert!(read(&good).is_ok());
        let mut file = good.clone();
        for at in 0..good.len() {
            for flip in [0x01, 0x02, 0x03, 0x80, 0xff] {
                file[at] ^= flip;
                assert!(read(&file).is_err(), "byte {at} with {flip:#x}");
                file[at] ^= flip;
            }
        }
        assert_eq!(file, good);
    }
}

#[test]
fn every_other_length_is_noticed() {
    let good = bytes_of(&small(), &tokenizer(), true);
    for length in 0..good.len() {
        let error = read(&good[..length]).unwrap_err();
        let expected = match length {
            ..40 => matches!(error, CheckpointError::TooShort { .. }),
            _ => matches!(error, CheckpointError::Length { .. }),
        };
        assert!(expected, "{length}: {error}");
    }
    // Appended: zeros, a hash-like tail, the file itself once more.
    let tails = (1..=130).chain([4096]).flat_map(|n| [vec![0; n], vec![0xff; n]]);
    for tail in tails.chain([good[good.len() - 32..].to_vec(), good.clone()]) {
        let file = [&good[..], &tail].concat();
        assert!(matches!(read(&file), Err(CheckpointError::Length { .. })), "{} more", tail.len());
    }
}

#[test]
fn two_bytes_that_change_places_are_noticed() {
    let good = bytes_of(&small(), &tokenizer(), true);
    let mut file = good.clone();
    for at in 1..good.len() {
        for distance in [1, 8, 64] {
            let Some(other) = at.checked_sub(distance).filter(|&o| good[o] != good[at]) else {
                continue;
            };
            file.swap(at, other);
            assert!(read(&file).is_err(), "{other} and {at}");
            file.swap(at, other);
        }
    }
    assert_eq!(file, good);
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_an_input_error() {
    let good = bytes_of(&small(), &tokenizer(), true);
    for length in [0, 39, 100, good.len() - 1] {
        let result = parse(&good[..length], good.len() as u64, OPTIMIZERS);
        assert!(matches!(result, Err(Failure::Io(_))));
    }
}

#[test]
fn foreign_content_is_told_apart() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0";
    for foreign in [&b"x"[..], b"Once upon a time there was a cat.", png, &[0; 200], &[0xff; 200]] {
        assert!(matches!(read(foreign), Err(CheckpointError::NotACheckpoint)));
    }
    assert!(matches!(read(b""), Err(CheckpointError::TooShort { actual: 0 })));
    // What copying in text mode does to line ends.
    let good = bytes_of(&small(), &tokenizer(), true);
    let text: Vec<u8> = good.iter().copied().filter(|&b| b != b'\r').collect();
    assert!(matches!(read(&text), Err(CheckpointError::NotACheckpoint)));
}

#[test]
fn lies_in_the_fixed_part_are_refused() {
    let good = bytes_of(&small(), &tokenizer(), true);
    let most = limits::MAX_HEADER;
    for (at, value) in [(16, 0), (16, 1), (16, most), (16, most + 1), (16, u64::MAX)]
        .into_iter()
        .chain([(24, 0), (24, u64::MAX), (24, good.len() as u64 + 64)])
    {
        let mut file = good.clone();
        file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let mut crc = crc32fast::Hasher::new();
        let end = usize::try_from(value).map_or(file.len(), |n| n.saturating_add(40));
        crc.update(&file[..32]);
        crc.update(&file[40..end.clamp(40, file.len())]);
        file[32..36].copy_from_slice(&crc.finalize().to_le_bytes());
        assert!(read(&file).is_err());
    }
    for (at, bit) in [(8, 0x01), (8, 0x02), (11, 0x80), (12, 0x01), (15, 0x80)] {
        let mut file = good.clone();
        file[at] ^= bit;
        let error = read(&file).unwrap_err();
        let expected = matches!(error, CheckpointError::Version { .. } if at < 12)
            || matches!(error, CheckpointError::Flags { .. } if at >= 12);
        assert!(expected, "{error}");
    }
}

/// However much of it is there, and with all checksums right: format 1 by its name, others as
/// unknown.
#[test]
fn other_versions_are_refused() {
    let good = good();
    let (_, header, body) = fuzzing::apart(&good).unwrap();
    for version in [0, 1, 3, 99, 0x102, u32::MAX] {
        let mut file = good.clone();
        file[8..12].copy_from_slice(&version.to_le_bytes());
        let signed = fuzzing::signed(version, header, body);
        for file in [&file[..40], &file[..41], &file[..200], &file[..], &signed[..]] {
            let error = read(file).unwrap_err();
            let expected = match error {
                CheckpointError::OldFormat { found } => version == 1 && found == 1,
                CheckpointError::Version { found, newest } => {
                    version != 1 && found == version && newest == 2
                }
                _ => false,
            };
            assert!(expected, "{version}: {error}");
        }
    }
}
