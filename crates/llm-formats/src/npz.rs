//! NumPy's .npz: a zip of .npy files, one for each array, not compressed.

use llm_core::base::memory;
use llm_core::data::Window;
use llm_core::train::Scored;
use llm_core::{TokenId, message};
use std::fmt;
use std::io::{self, Write};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, StreamWriter, ZipWriter};

/// A type of numbers that an array may hold.
pub trait Number: Copy {
    /// NumPy's word for the type: little-endian, its kind, its bytes.
    const KIND: &'static str;
    /// Appends the bytes of a number, the lowest first.
    fn put(self, out: &mut Vec<u8>);
}

macro_rules! number {
    ($type:ty, $kind:literal) => {
        impl Number for $type {
            const KIND: &'static str = $kind;
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}

number!(u32, "<u4");
number!(u64, "<u8");
number!(f32, "<f4");

/// A file being written.
pub struct Npz<'a>(ZipWriter<StreamWriter<&'a mut dyn Write>>);

impl fmt::Debug for Npz<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Npz").finish_non_exhaustive()
    }
}

impl<'a> Npz<'a> {
    /// A file that goes into `out`, from front to back.
    pub fn to(out: &'a mut dyn Write) -> Npz<'a> {
        Npz(ZipWriter::new_stream(out))
    }

    /// Adds an array: `values` in the order of `shape`, the last axis fastest.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::InvalidInput`] when the shape has another number of
    /// values.
    pub fn add<N: Number>(&mut self, name: &str, shape: &[usize], values: &[N]) -> io::Result<()> {
        if shape.iter().product::<usize>() != values.len() {
            let (shape, n) = (format!("{shape:?}"), values.len());
            let why = message!("{} of shape {} has {} values", name, shape, n);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let large = size_of_val(values) as u64 >= u64::from(u32::MAX) - HEADER as u64;
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        self.0.start_file(format!("{name}.npy"), stored.large_file(large))?;
        self.0.write_all(&header::<N>(shape))?;
        let mut piece = Vec::new();
        for values in values.chunks(1 << 13) {
            piece.clear();
            values.iter().for_each(|value| value.put(&mut piece));
            self.0.write_all(&piece)?;
        }
        Ok(())
    }

    /// Writes the list of arrays, which ends the file.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()?;
        Ok(())
    }
}

/// Bytes before an array's values, a multiple of 64: enough for every shape here.
const HEADER: usize = 128;

/// The header before the values: version 1.0 of the format, a dictionary of Python's, blanks.
fn header<N: Number>(shape: &[usize]) -> Vec<u8> {
    let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let kind = N::KIND;
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    let (start, room) = (b"\x93NUMPY\x01\x00", HEADER - 10);
    let mut out = [&start[..], &(room as u16).to_le_bytes()].concat();
    out.extend(format!("{text:<0$}\n", room - 1).bytes());
    out
}

/// Losses and scores of N tokens, as such a file.
#[derive(Debug, Default)]
pub struct ScoredTokens {
    vocab: usize,
    /// N tokens.
    tokens: Vec<TokenId>,
    /// The token before each, N.
    inputs: Vec<TokenId>,
    /// Places of the tokens in the text, N.
    positions: Vec<u64>,
    /// Places where each token's window begins, N.
    windows: Vec<u64>,
    /// Nats for each token, N.
    losses: Vec<f32>,
    /// Scores, N·V.
    logits: Vec<f32>,
}

impl ScoredTokens {
    /// Room for N tokens.
    ///
    /// # Errors
    /// [`Error::Memory`](llm_core::Error::Memory).
    pub fn of(n: usize, vocab: usize) -> llm_core::Result<ScoredTokens> {
        let each = 4 * (vocab as u64 + 3) + 2 * 8;
        memory::require(each.saturating_mul(n as u64))?;
        let logits = Vec::with_capacity(n * vocab);
        Ok(ScoredTokens { vocab, logits, ..ScoredTokens::default() })
    }

    /// Adds the tokens of a window.
    pub fn add(&mut self, window: Window, scored: &Scored<'_>) {
        self.tokens.extend(scored.targets);
        self.inputs.extend(scored.inputs);
        let (start, len) = (window.start as u64, scored.targets.len() as u64);
        self.positions.extend(start + 1..=start + len);
        self.windows.extend((0..len).map(|_| start));
        self.losses.extend(scored.losses);
        self.logits.extend(scored.logits);
    }

    /// Writes the file.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let ScoredTokens { vocab, tokens, inputs, positions, windows, losses, logits } = self;
        let n = tokens.len();
        let mut file = Npz::to(out);
        file.add("tokens", &[n], tokens)?; // first: who asks `begins_with` looks for it
        file.add("inputs", &[n], inputs)?;
        file.add("positions", &[n], positions)?;
        file.add("windows", &[n], windows)?;
        file.add("losses", &[n], losses)?;
        file.add("logits", &[n, *vocab], logits)?;
        file.finish()
    }
}

/// Whether a file that begins like this holds an array of this name first.
pub fn begins_with(start: &[u8], name: &str) -> bool {
    let first = start.get(30..).unwrap_or_default();
    start.starts_with(b"PK\x03\x04") && first.starts_with(format!("{name}.npy").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Read};
    use zip::ZipArchive;

    #[test]
    fn arrays_lie_in_the_file_as_numpy_reads_them() {
        let mut bytes = Vec::new();
        let mut file = Npz::to(&mut bytes);
        file.add("tokens", &[2], &[3u32, 258]).unwrap();
        file.add("logits", &[2, 3], &[0.5f32, -1.0, 2.0, 1e-30, 0.0, 9.0]).unwrap();
        assert!(file.add("x", &[3], &[1u64]).is_err());
        file.finish().unwrap();
        assert!(begins_with(&bytes, "tokens") && !begins_with(&bytes, "logits"));
        assert!(!begins_with(b"PK\x03\x04", "tokens") && !begins_with(b"", "tokens"));

        let mut again = ZipArchive::new(Cursor::new(bytes)).unwrap();
        let mut read = |name: &str| {
            let mut bytes = Vec::new();
            again.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        };
        let tokens = read("tokens.npy");
        assert_eq!(tokens[..10], *b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(tokens[127..], *b"\n\x03\0\0\0\x02\x01\0\0");
        let logits = read("logits.npy");
        let said = std::str::from_utf8(&logits[10..128]).unwrap().trim_end();
        assert_eq!(said, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, ), }");
        assert_eq!(logits[128..136], [0.5f32.to_le_bytes(), (-1f32).to_le_bytes()].concat());
        assert_eq!(logits.len(), 128 + 6 * 4);
    }

    #[test]
    fn the_longest_header_has_room() {
        let header = header::<f32>(&[usize::MAX; 2]);
        assert_eq!((header.len(), header[127]), (HEADER, b'\n'));
        assert_eq!(super::header::<u64>(&[1 << 20; 5]).len(), HEADER);
    }
}
