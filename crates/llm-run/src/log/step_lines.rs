//! Files of a run with a line of JSON for what happened after some steps.

use crate::log::reopen::length_of;
use llm_core::base::replace_file;
use llm_core::{Error, IoAction, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// More bytes than a line has: every character of a text as an escape, or as six bytes of one.
const MAX_LINE: u64 = 1 << 18;

/// What a line holds.
pub trait StepLine: Serialize + DeserializeOwned {
    /// Name of the file.
    const NAME: &'static str;

    /// The step after which it was.
    fn step(&self) -> u64;
}

/// The lines of one kind in a run's folder; the file is made with the first one.
#[derive(Debug)]
pub struct StepLines<T> {
    dir: PathBuf,
    kind: PhantomData<T>,
}

impl<T: StepLine> StepLines<T> {
    /// For a run that has done `done` steps: lines of later steps are taken away, and so is one that a kill
    /// cut.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn open(dir: &Path, done: u64) -> Result<StepLines<T>> {
        let path = dir.join(T::NAME);
        let lines = read::<T>(&path).map_err(|e| Error::io(IoAction::Write, &path, e))?;
        let kept: Vec<&T> = lines.all.iter().filter(|line| line.step() <= done).collect();
        if kept.len() < lines.all.len() || lines.torn {
            let text: Vec<u8> = kept.into_iter().flat_map(line).collect();
            replace_file(&path, |out| out.write_all(&text))
                .map_err(|e| Error::io(IoAction::Write, &path, e))?;
        }
        Ok(StepLines { dir: dir.to_path_buf(), kind: PhantomData })
    }

    /// The lines in the folder of a run, whatever became of it.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn read(dir: &Path) -> Result<Vec<T>> {
        StepLines { dir: dir.to_path_buf(), kind: PhantomData }.all()
    }

    /// Tells the lines the new name of their folder.
    pub fn moved_to(&mut self, dir: &Path) {
        self.dir = dir.to_path_buf();
    }

    /// Adds a line.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn push(&self, of: &T) -> Result<()> {
        let path = self.dir.join(T::NAME);
        let file = File::options().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(&line(of)))
            .map_err(|e| Error::io(IoAction::Write, &path, e))
    }

    /// All of the run, in order.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn all(&self) -> Result<Vec<T>> {
        let path = self.dir.join(T::NAME);
        read(&path).map(|lines| lines.all).map_err(|e| Error::io(IoAction::Write, &path, e))
    }
}

fn line<T: StepLine>(of: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(of).unwrap_or_default();
    line.push(b'\n');
    line
}

struct Lines<T> {
    all: Vec<T>,
    /// Something that is no such line comes after them.
    torn: bool,
}

fn read<T: StepLine>(path: &Path) -> io::Result<Lines<T>> {
    let mut lines = Lines { all: Vec::new(), torn: false };
    if length_of(path)?.is_none() {
        return Ok(lines);
    }
    let (mut file, mut line) = (BufReader::new(File::open(path)?), Vec::new());
    while (&mut file).take(MAX_LINE).read_until(b'\n', &mut line)? > 0 {
        match serde_json::from_slice(&line) {
            Ok(of) if line.ends_with(b"\n") => lines.all.push(of),
            _ => {
                lines.torn = true;
                break;
            }
        }
        line.clear();
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::samples::MOST_CHARS;
    use crate::log::{AnswerMoment, Sample};
    use std::fs;

    fn sample(step: u64) -> Sample {
        Sample::new(step, "a\n\u{1b}", &format!("</script> {step} 猫"))
    }

    #[test]
    fn samples_stay_over_a_resume_up_to_its_step() {
        let dir = tempfile::tempdir().unwrap();
        let samples = StepLines::<Sample>::open(dir.path(), 0).unwrap();
        assert_eq!(samples.all().unwrap(), []);
        for step in [10, 20, 20, 30] {
            samples.push(&sample(step)).unwrap();
        }
        let again = StepLines::<Sample>::open(dir.path(), 20).unwrap();
        assert_eq!(again.all().unwrap(), [sample(10), sample(20), sample(20)]);
    }

    /// Numbers of any size come back as they were, so that a run which goes on has the bytes of one that did not stop.
    #[test]
    fn lines_that_stay_keep_their_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let moments = StepLines::<AnswerMoment>::open(dir.path(), 0).unwrap();
        let mut x = 0.036_091_393_975_441_956;
        for step in 1..=200 {
            moments
                .push(&AnswerMoment { step, start_kl: Some(x), ..AnswerMoment::default() })
                .unwrap();
            x = 3.9 * x * (1.0 - x);
        }
        let path = dir.path().join(AnswerMoment::NAME);
        let before = fs::read_to_string(&path).unwrap();
        StepLines::<AnswerMoment>::open(dir.path(), 199).unwrap();
        let after = fs::read_to_string(&path).unwrap();
        assert_eq!(after, before[..before.trim_end().rfind('\n').unwrap() + 1]);
    }

    #[test]
    fn half_a_line_goes_wherever_it_was_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(Sample::NAME);
        let whole = [line(&sample(1)), line(&sample(2))].concat();
        for end in 0..=whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let samples = StepLines::<Sample>::open(dir.path(), 9).unwrap();
            samples.push(&sample(3)).unwrap();
            let steps: Vec<_> = samples.all().unwrap().iter().map(|s| s.step).collect();
            let lines = whole[..end].iter().filter(|&&b| b == b'\n').count();
            assert_eq!(steps, [&[1, 2][..lines], &[3]].concat(), "{end}");
        }
    }

    #[test]
    fn the_longest_text_is_a_line_that_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let samples = StepLines::<Sample>::open(dir.path(), 0).unwrap();
        let text = "\u{1}".repeat(2 * MOST_CHARS);
        samples.push(&Sample::new(1, &text, &text)).unwrap();
        let all = samples.all().unwrap();
        assert_eq!(all[0].text.chars().count(), MOST_CHARS + 1);
        assert!(all[0].text.ends_with('…'));
    }
}
