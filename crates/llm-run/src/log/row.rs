//! One step's row, and the two ways it is written.

use serde::{Deserialize, Deserializer, Serialize};
use std::io;

/// What is known about one training step. The fields are the columns, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Steps done, this one included.
    pub step: u64,
    /// Tokens trained on so far, by all steps.
    pub tokens: u64,
    /// Loss of the batch before the update, in nats per token.
    #[serde(deserialize_with = "number")]
    pub loss: f32,
    /// Loss on unseen data after this step, where it was measured, in nats per token.
    pub val_loss: Option<f64>,
    /// Learning rate.
    #[serde(deserialize_with = "number")]
    pub lr: f32,
    /// Norm of the gradient before clipping.
    #[serde(deserialize_with = "number")]
    pub grad_norm: f32,
    /// Speed of training.
    #[serde(deserialize_with = "number")]
    pub tokens_per_s: f32,
    /// Memory of the process.
    pub memory_bytes: u64,
}

/// JSON writes what is not finite as null.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f32, D::Error> {
    Ok(Option::<f32>::deserialize(from)?.unwrap_or(f32::NAN))
}

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// With a header; what is not known is empty.
    Csv,
    /// An object a line; what is not known is null.
    Jsonl,
}

impl Format {
    /// CSV and JSON lines.
    pub const ALL: [Format; 2] = [Format::Csv, Format::Jsonl];

    /// More bytes than a row can have.
    pub const MAX_LINE: usize = 1024;

    /// The file in a run's folder.
    pub fn file_name(self) -> &'static str {
        match self {
            Format::Csv => "metrics.csv",
            Format::Jsonl => "metrics.jsonl",
        }
    }

    /// What the file begins with.
    pub fn header(self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        if self == Format::Csv {
            write_csv(&mut text, &Row::default(), true)?;
            let end = text.iter().position(|&b| b == b'\n').map_or(0, |i| i + 1);
            text.truncate(end);
        }
        Ok(text)
    }

    /// Appends the row as a line.
    pub fn encode(self, row: &Row, to: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Format::Csv => write_csv(to, row, false),
            Format::Jsonl => {
                serde_json::to_writer(&mut *to, row)?;
                to.push(b'\n');
                Ok(())
            }
        }
    }

    /// The row of a line; `None` when it is invalid.
    pub fn decode(self, line: &[u8]) -> Option<Row> {
        if self == Format::Jsonl {
            return serde_json::from_slice(line).ok();
        }
        let mut reader = csv::ReaderBuilder::new();
        let reader = reader.has_headers(false).buffer_capacity(Format::MAX_LINE);
        let record = reader.from_reader(line).into_records().next()?.ok()?;
        let columns = self.header().ok()?.split(|&b| b == b',').count();
        (record.len() == columns).then(|| record.deserialize(None).ok())?
    }
}

fn write_csv(to: &mut Vec<u8>, row: &Row, header: bool) -> io::Result<()> {
    // The writer's own buffer is allocated for every row: a small one.
    let mut writer = csv::WriterBuilder::new();
    let writer = writer.has_headers(header).buffer_capacity(Format::MAX_LINE);
    let mut writer = writer.from_writer(to);
    writer.serialize(row).map_err(io::Error::from)?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(format: Format, row: &Row) -> Vec<u8> {
        let mut line = Vec::new();
        format.encode(row, &mut line).unwrap();
        line
    }

    #[test]
    fn what_is_not_known_is_empty() {
        let row = Row { step: 3, tokens: 96, loss: 5.5, lr: 6e-3, ..Row::default() };
        let header = "step,tokens,loss,val_loss,lr,grad_norm,tokens_per_s,memory_bytes\n";
        assert_eq!(Format::Csv.header().unwrap(), header.as_bytes());
        assert_eq!(encoded(Format::Csv, &row), b"3,96,5.5,,0.006,0.0,0.0,0\n");
        let json = encoded(Format::Jsonl, &row);
        assert!(json.starts_with(br#"{"step":3,"tokens":96,"loss":5.5,"val_loss":null,"#));
        assert_eq!(Format::Jsonl.header().unwrap(), b"");
    }

    #[test]
    fn other_lines_are_no_rows() {
        for line in ["\n", "1,2\n", "1,2,3,,5,6,7,8,9\n", "x,2,3,,5,6,7,8\n", "-1,2,3,,5,6,7,8\n"] {
            assert_eq!(Format::Csv.decode(line.as_bytes()), None, "{line}");
        }
        for line in ["\n", "{}\n", "[1]\n", "{\"step\":1}\n", "\0\0\n"] {
            assert_eq!(Format::Jsonl.decode(line.as_bytes()), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn numbers_read_back_to_the_same(
            [step, tokens, memory_bytes] in any::<[u64; 3]>(),
            bits in any::<[u32; 4]>(),
            val_loss in proptest::option::of(-1e30..1e30),
        ) {
            let [loss, lr, grad_norm, tokens_per_s] = bits.map(f32::from_bits);
            let row =
                Row { step, tokens, loss, val_loss, lr, grad_norm, tokens_per_s, memory_bytes };
            for format in Format::ALL {
                let line = encoded(format, &row);
                prop_assert!(line.len() < Format::MAX_LINE && line.ends_with(b"\n"));
                let back = format.decode(&line).unwrap();
                prop_assert_eq!(back.step, step);
                for (back, there) in [
                    (back.loss, loss),
                    (back.lr, lr),
                    (back.grad_norm, grad_norm),
                    (back.tokens_per_s, tokens_per_s),
                ] {
                    if there.is_finite() {
                        prop_assert_eq!(back.to_bits(), there.to_bits());
                    } else {
                        prop_assert!(!back.is_finite());
                    }
                }
                prop_assert_eq!(back.memory_bytes, memory_bytes);
                prop_assert_eq!(back.val_loss.is_some(), val_loss.is_some());
            }
        }
    }
}
