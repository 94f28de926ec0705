//! What may stay of a log when its run goes on.
//!
//! The log is read line by line, and nothing in it is believed: a kill may have cut the last line
//! at any byte, and anybody may have edited the file.

use crate::log::aside::move_aside;
use crate::log::row::{Format, Row};
use llm_core::base::{Message, replace_file};
use llm_core::message;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The last row that stayed, and something to tell the user.
type Reopened = (Option<Row>, Option<Message>);

/// Makes `format`'s file in `dir` hold the rows up to step `done` and nothing else, so that the
/// row of step `done + 1` can be appended. What cannot be continued is moved aside.
pub(crate) fn reopen(dir: &Path, format: Format, done: u64) -> io::Result<Reopened> {
    let path = dir.join(format.file_name());
    llm_core::base::sweep_stale(&path);
    let length = length_of(&path)?;
    let (kept, note) = match length {
        None => (Kept::default(), None),
        Some(_) => match scan(format, BufReader::new(File::open(&path)?), done)? {
            Ok(kept) => (kept, None),
            Err(why) => (Kept::default(), Some(move_aside(&path, why)?)),
        },
    };
    if kept.bytes == 0 {
        let header = format.header()?;
        replace_file(&path, |out| out.write_all(&header))?;
    } else if Some(kept.bytes) < length {
        // Never cut in place: a kill leaves the old file or the new one.
        let mut old = File::open(&path)?.take(kept.bytes);
        replace_file(&path, |mut out| io::copy(&mut old, &mut out).map(drop))?;
    }
    Ok((kept.last, note))
}

/// Bytes of the file, if there is one. Asked before it is opened: that would wait for ever at a pipe.
pub(crate) fn length_of(path: &Path) -> io::Result<Option<u64>> {
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Ok(metadata) if !metadata.is_file() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, message!("not a regular file")))
        }
        found => found.map(|metadata| Some(metadata.len())),
    }
}

/// The part of a log that stays.
#[derive(Default)]
struct Kept {
    bytes: u64,
    last: Option<Row>,
}

/// The part of a log that stays, or why none can.
type Found = Result<Kept, Message>;

fn scan(format: Format, mut from: impl BufRead, done: u64) -> io::Result<Found> {
    let mut kept = Kept::default();
    let (mut line, mut number) = (Vec::new(), 0u64);
    let header = format.header()?;
    if !header.is_empty() {
        number += 1;
        match read_line(&mut from, &mut line)? {
            Line::Whole if line == header => kept.bytes = header.len() as u64,
            Line::Torn if header.starts_with(&line) => return Ok(Ok(kept)),
            _ => return Ok(Err(message!("is not a log of this program (line 1)"))),
        }
    }
    loop {
        number += 1;
        match read_line(&mut from, &mut line)? {
            Line::Torn => break, // cut by a kill, or the end
            Line::Whole => {}
            Line::TooLong => return Ok(Err(message!("has no row in line {}", number))),
        }
        let Some(row) = format.decode(&line) else {
            return Ok(Err(message!("has no row in line {}", number)));
        };
        if row.step > done {
            break; // steps that the checkpoint does not know
        }
        // A log may begin at any step: the run may have come from another folder.
        let before = kept.last.map_or(row.step.wrapping_sub(1), |last| last.step);
        if row.step != before.wrapping_add(1) || row.step == 0 {
            let why = message!("has step {} after step {} (line {})", row.step, before, number);
            return Ok(Err(why));
        }
        kept.bytes += line.len() as u64;
        kept.last = Some(row);
    }
    match kept.last {
        Some(last) if last.step < done => {
            Ok(Err(message!("ends at step {}, but the checkpoint is of step {}", last.step, done)))
        }
        _ => Ok(Ok(kept)),
    }
}

enum Line {
    /// With its line break.
    Whole,
    /// Without one: the end of the file. Perhaps empty.
    Torn,
    /// Longer than any row.
    TooLong,
}

fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    let limit = Format::MAX_LINE;
    from.take(limit as u64).read_until(b'\n', line)?;
    Ok(match line.last() {
        Some(b'\n') => Line::Whole,
        _ if line.len() == limit => Line::TooLong,
        _ => Line::Torn,
    })
}
