//! The samples of a run, a line of JSON each.

use crate::log::reopen::length_of;
use llm_core::base::replace_file;
use llm_core::{Error, IoAction, Result};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

const NAME: &str = "samples.jsonl";
/// Most characters of a prompt or text that are kept.
const MOST_CHARS: usize = 8192;
/// More bytes than a line has: every character as an escape, or as six bytes of one.
const MAX_LINE: u64 = 1 << 18;

/// A text that the model wrote on the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// After which step.
    pub step: u64,
    /// What it began with.
    pub prompt: String,
    /// What the model wrote after it.
    pub text: String,
}

/// The samples of a run's folder; the file is made with the first one.
#[derive(Debug)]
pub struct Samples {
    dir: PathBuf,
}

impl Samples {
    /// For a run that has done `done` steps: samples of later steps are taken away, and so is a
    /// line that a kill cut.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn open(dir: &Path, done: u64) -> Result<Samples> {
        let path = dir.join(NAME);
        let lines = read(&path).map_err(|e| Error::io(IoAction::Write, &path, e))?;
        let kept: Vec<&Sample> = lines.samples.iter().filter(|s| s.step <= done).collect();
        if kept.len() < lines.samples.len() || lines.torn {
            let text: Vec<u8> = kept.into_iter().flat_map(line).collect();
            replace_file(&path, |out| out.write_all(&text))
                .map_err(|e| Error::io(IoAction::Write, &path, e))?;
        }
        Ok(Samples { dir: dir.to_path_buf() })
    }

    /// The samples in the folder of a run, whatever became of it.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn read(dir: &Path) -> Result<Vec<Sample>> {
        Samples { dir: dir.to_path_buf() }.all()
    }

    /// Tells the samples the new name of their folder.
    pub fn moved_to(&mut self, dir: &Path) {
        self.dir = dir.to_path_buf();
    }

    /// Adds one. Of a very long text the beginning is kept.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn push(&self, sample: &Sample) -> Result<()> {
        let path = self.dir.join(NAME);
        let cut = |text: &str| match text.char_indices().nth(MOST_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_string(),
        };
        let (prompt, text) = (cut(&sample.prompt), cut(&sample.text));
        let sample = Sample { step: sample.step, prompt, text };
        let file = File::options().create(true).append(true).open(&path);
        file.and_then(|mut file| file.write_all(&line(&sample)))
            .map_err(|e| Error::io(IoAction::Write, &path, e))
    }

    /// All of the run, in order.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn all(&self) -> Result<Vec<Sample>> {
        let path = self.dir.join(NAME);
        read(&path).map(|lines| lines.samples).map_err(|e| Error::io(IoAction::Write, &path, e))
    }
}

fn line(sample: &Sample) -> Vec<u8> {
    let mut line = serde_json::to_vec(sample).unwrap_or_default();
    line.push(b'\n');
    line
}

#[derive(Default)]
struct Lines {
    samples: Vec<Sample>,
    /// Something that is no sample comes after them.
    torn: bool,
}

fn read(path: &Path) -> io::Result<Lines> {
    let mut lines = Lines::default();
    if length_of(path)?.is_none() {
        return Ok(lines);
    }
    let (mut file, mut line) = (BufReader::new(File::open(path)?), Vec::new());
    while (&mut file).take(MAX_LINE).read_until(b'\n', &mut line)? > 0 {
        match serde_json::from_slice(&line) {
            Ok(sample) if line.ends_with(b"\n") => lines.samples.push(sample),
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
    use std::fs;

    fn sample(step: u64) -> Sample {
        Sample { step, prompt: "a\n\u{1b}".into(), text: format!("</script> {step} 猫") }
    }

    #[test]
    fn samples_stay_over_a_resume_up_to_its_step() {
        let dir = tempfile::tempdir().unwrap();
        let samples = Samples::open(dir.path(), 0).unwrap();
        assert_eq!(samples.all().unwrap(), []);
        for step in [10, 20, 20, 30] {
            samples.push(&sample(step)).unwrap();
        }
        let again = Samples::open(dir.path(), 20).unwrap();
        assert_eq!(again.all().unwrap(), [sample(10), sample(20), sample(20)]);
    }

    #[test]
    fn half_a_line_goes_wherever_it_was_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(NAME);
        let whole = [line(&sample(1)), line(&sample(2))].concat();
        for end in 0..=whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let samples = Samples::open(dir.path(), 9).unwrap();
            samples.push(&sample(3)).unwrap();
            let steps: Vec<_> = samples.all().unwrap().iter().map(|s| s.step).collect();
            let lines = whole[..end].iter().filter(|&&b| b == b'\n').count();
            assert_eq!(steps, [&[1, 2][..lines], &[3]].concat(), "{end}");
        }
    }

    #[test]
    fn the_longest_text_is_a_line_that_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let samples = Samples::open(dir.path(), 0).unwrap();
        let text = "\u{1}".repeat(2 * MOST_CHARS);
        samples.push(&Sample { step: 1, prompt: text.clone(), text }).unwrap();
        let all = samples.all().unwrap();
        assert_eq!(all[0].text.chars().count(), MOST_CHARS + 1);
        assert!(all[0].text.ends_with('…'));
    }
}
