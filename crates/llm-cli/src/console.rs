//! The two ends of the terminal: results on standard output, everything else on standard error.
//!
//! Never `println!`: that panics when a pipe closes or a disk is full, and a run would be lost.

use crate::error::{Result, RunError};
use crate::messages::said;
use crate::voice;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use llm_core::base::Message;
use llm_core::base::escape::{escaped_json, safe_lines};
use llm_messages::columns::broken;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;
use terminal_size::{Height, Width};

/// Writes a whole result to standard output.
///
/// # Errors
/// As [`Out::finish`].
pub fn print(result: impl AsRef<[u8]>) -> Result<()> {
    let mut out = Out::default();
    out.write(result.as_ref());
    out.finish()
}

/// The value as one line of JSON: nothing in it is more than text, also not to a terminal.
pub fn json_line(value: &impl Serialize) -> String {
    escaped_json(&serde_json::to_string(value).unwrap_or_default()) + "\n"
}

/// Standard output that survives its reader's leaving.
#[derive(Debug, Default)]
pub struct Out {
    closed: bool,
    error: Option<io::Error>,
}

impl Out {
    /// Writes and flushes. A closed pipe ends output quietly; any other failure is kept for
    /// [`Out::finish`]. Either way the caller goes on.
    pub fn write(&mut self, bytes: &[u8]) {
        self.write_to(&mut io::stdout().lock(), bytes);
    }

    /// A text for a person that is in that language already; it cannot control the terminal.
    pub fn show(&mut self, text: &str) {
        self.paint(&safe_lines(text));
    }

    /// A text with colours, whose names are safe already.
    pub(crate) fn paint(&mut self, text: &str) {
        self.write(in_lines(text, room()).as_bytes());
    }

    /// A line for a person, in the language that was chosen.
    pub(crate) fn line(&mut self, line: impl Into<Message>) {
        self.show(&(said(line) + "\n"));
    }

    /// [`Out::write`] on any output.
    pub(crate) fn write_to(&mut self, output: &mut impl Write, bytes: &[u8]) {
        if self.closed || self.error.is_some() || voice::is_silent() {
            return;
        }
        match output.write_all(bytes).and_then(|()| output.flush()) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => self.closed = true,
            Err(e) => self.error = Some(e),
        }
    }

    /// Whether the reader has gone.
    pub fn is_closed(&self) -> bool {
        self.closed || self.error.is_some()
    }

    /// The failure that came up on the way, if any.
    pub fn finish(&mut self) -> Result<()> {
        self.error.take().map_or(Ok(()), |e| Err(RunError::Output(e)))
    }
}

/// A whole result for a person that is in that language already; it cannot control the terminal.
///
/// # Errors
/// As [`Out::finish`].
pub fn show(result: &str) -> Result<()> {
    print(in_lines(&safe_lines(result), room()))
}

/// A line on standard error, which cannot control the terminal whatever is in it; on a terminal in as
/// many as it needs. Failures are ignored, there is nowhere to report them.
pub fn note(line: impl Into<Message>) {
    noted(&said(line));
}

/// [`note`] of a line that is in the language that was chosen already.
pub fn noted(line: &str) {
    if voice::is_silent() {
        return;
    }
    let text = in_lines(&safe_lines(line), room_for_notes());
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// How the style of a line with a bar begins where there is room for one.
const BAR: &str = "{spinner} [{wide_bar}] ";
/// Columns from which a line has room for a bar; below, numbers alone say how far it is.
const ROOM_FOR_A_BAR: usize = 75;

/// A bar on a terminal that can move its cursor; none elsewhere, or when it is to be `quiet`. It goes
/// away with its value.
pub(crate) fn bar(len: u64, style: &str, quiet: bool) -> Option<ProgressBar> {
    if quiet || voice::is_silent() || !io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::new(len).with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template(fitted(style, room_for_notes())) {
        bar.set_style(style.progress_chars("#>-"));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    Some(bar).filter(|bar| !bar.is_hidden())
}

/// The end of a bar's style: how long it will take.
pub(crate) fn eta() -> String {
    said("eta") + " {eta}"
}

fn fitted(style: &str, room: usize) -> &str {
    style.strip_prefix(BAR).filter(|_| room < ROOM_FOR_A_BAR).unwrap_or(style)
}

/// Columns of a terminal of which nothing is known.
const USUAL_COLUMNS: usize = 80;

/// Columns that a line of standard output may take: the terminal's, or what `COLUMNS` says.
pub fn columns() -> usize {
    known_columns(terminal_size::terminal_size_of(io::stdout())).unwrap_or(USUAL_COLUMNS)
}

/// Columns that tables and sentences may take: where nothing is known, any number.
pub fn room() -> usize {
    known_columns(terminal_size::terminal_size_of(io::stdout())).unwrap_or(usize::MAX)
}

/// Columns of a line of standard error.
fn room_for_notes() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stderr());
    terminal.and_then(|size| known_columns(Some(size))).unwrap_or(usize::MAX)
}

fn known_columns(terminal: Option<(Width, Height)>) -> Option<usize> {
    let set = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()); // as clap has it
    let found = set.or_else(|| terminal.map(|(width, _)| usize::from(width.0)));
    found.filter(|&columns| columns > 0)
}

/// A text whose sentences are in lines of at most `columns` columns.
fn in_lines(text: &str, columns: usize) -> String {
    text.split('\n').map(|line| broken(line, columns)).collect::<Vec<_>>().join("\n")
}

/// Whether standard output is a terminal that is to have colours, and now obeys them: an old console of
/// Windows has to be asked to.
pub fn stdout_has_colours() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let wanted = io::stdout().is_terminal() && !set("NO_COLOR") && !dumb;
    wanted && anstyle_query::windows::enable_ansi_colors().unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_has_numbers_and_no_bar() {
        let style = "{spinner} [{wide_bar}] {pos}/{len}  {msg}  eta {eta}";
        assert_eq!(fitted(style, 80), style);
        assert_eq!(fitted(style, 60), "{pos}/{len}  {msg}  eta {eta}");
    }

    #[test]
    fn json_says_the_same_and_cannot_control_the_terminal() {
        let obeyed = ['\x1b', '\x7f', '\u{9b}', '\u{202e}', '\u{2068}', '\u{2028}'];
        for c in obeyed.into_iter().chain(['猫', '🐈', '\n']) {
            let text = format!("a{c}\"b");
            let line = json_line(&text);
            assert!(!line.trim_end_matches('\n').contains(&obeyed[..]), "{line:?}");
            assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        }
    }

    #[test]
    fn sentences_are_broken_and_tables_are_not() {
        let text = "one two three\none  two  three\n";
        assert_eq!(in_lines(text, 8), "one two\nthree\none  two  three\n");
    }
}
