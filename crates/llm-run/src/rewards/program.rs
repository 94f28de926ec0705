//! A program that judges: a line of JSON for each answer on its standard input, a number for each on its standard
//! output.

use super::{Attempt, Questions};
use crate::defaults::set_by;
use llm_core::base::escape::one_line;
use llm_core::base::{Message, system_reason};
use llm_core::message;
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Most seconds for one number. The environment variable `LLM_REWARD_MS` sets another time, for tests.
const PATIENCE: Duration = Duration::from_secs(60);
/// More bytes than a number has.
const LONGEST: u64 = 4096;

/// A program at work; it ends with this value.
pub(super) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

/// The lines that a program is told of answers.
pub(super) fn told(answers: &[Attempt], questions: &Questions) -> String {
    let line = |answer: &Attempt| {
        let known = questions.texts.get(&answer.prompt);
        let (question, expected) = known.cloned().unwrap_or_default();
        let Attempt { text, ended, .. } = answer;
        let mut line = json!({ "question": question, "answer": text, "ended": ended });
        if let Some(expected) = expected {
            line["expected"] = expected.into();
        }
        format!("{line}\n")
    };
    answers.iter().map(line).collect()
}

impl Program {
    /// Starts the command, by the system's shell.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub fn start(command: &str) -> Result<Program, Message> {
        let mut shell = match cfg!(windows) {
            true => Command::new("cmd"),
            false => Command::new("sh"),
        };
        // The program takes the shell's place, so that it is what is ended.
        match cfg!(windows) {
            true => shell.args(["/C", command]),
            false => shell.args(["-c", &format!("exec {command}")]),
        };
        let started = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child =
            started.map_err(|e| message!("it cannot be started: {}", system_reason(&e)))?;
        let (sender, lines) = channel();
        let input = child.stdin.take();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                let (mut output, mut line) = (BufReader::new(output), Vec::new());
                while (&mut output).take(LONGEST).read_until(b'\n', &mut line).is_ok_and(|n| n > 0)
                {
                    if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                        break;
                    }
                    line.clear();
                }
            });
        }
        Ok(Program { child, input, lines })
    }

    /// The numbers that it says of `n` answers of which it is `told`.
    ///
    /// # Errors
    /// What it did instead.
    pub fn judge(&mut self, told: &str, n: usize) -> Result<Vec<f64>, Message> {
        let patience = set_by("LLM_REWARD_MS").map_or(PATIENCE, Duration::from_millis);
        let (Some(input), lines) = (&mut self.input, &self.lines) else {
            return Err(message!("it has ended"));
        };
        let said = thread::scope(|scope| {
            // Beside the reading: a program may say the first number before it has read the last answer. Where it
            // no longer reads, the reading says so.
            scope
                .spawn(move || drop(input.write_all(told.as_bytes()).and_then(|()| input.flush())));
            let read = |i: usize| match lines.recv_timeout(patience) {
                Ok(line) => number(&line),
                Err(RecvTimeoutError::Timeout) => Err(message!(
                    "it says nothing for {} s, after {} of {} numbers",
                    patience.as_secs_f64(),
                    i,
                    n
                )),
                Err(RecvTimeoutError::Disconnected) => {
                    Err(message!("it ended after {} of {} numbers", i, n))
                }
            };
            let said: Result<Vec<f64>, Message> = (0..n).map(read).collect();
            if said.is_err() {
                let _ = self.child.kill(); // so that the writing ends, too
            }
            said
        })?;
        Ok(said)
    }
}

/// A reward.
fn number(line: &str) -> Result<f64, Message> {
    let number = line.trim().parse().ok().filter(|x: &f64| x.is_finite() && x.abs() <= 1e9);
    let shown: String = line.trim().chars().take(80).collect();
    number.ok_or_else(|| message!("it says '{}', which is no number", one_line(&shown)))
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn judged(command: &str, n: usize) -> Result<Vec<f64>, String> {
        let mut program = Program::start(command).map_err(|e| e.to_string())?;
        program.judge(&"{}\n".repeat(n), n).map_err(|e| e.to_string())
    }

    #[test]
    fn numbers_come_line_by_line() {
        let each = "sh -c 'while read line; do echo 0.5; done'";
        assert_eq!(judged(each, 3).unwrap(), [0.5; 3]);
        // More than a pipe holds, in both ways.
        assert_eq!(judged(each, 50_000).unwrap().len(), 50_000);
    }

    #[test]
    fn anything_else_is_said() {
        for (command, why) in [
            ("false", "it ended after 0 of 2 numbers"),
            ("echo 7", "it ended after 1 of 2 numbers"),
            ("echo nan", "it says 'nan', which is no number"),
            ("printf 'a\\033b\\n'", "it says 'a\\x1Bb', which is no number"),
        ] {
            assert_eq!(judged(command, 2).unwrap_err(), why, "{command}");
        }
    }
}
