//! Running one of the programs as a person does: in a folder of its own, with words as arguments.

use llm_core::checkpoint::{Checkpoint, TokenizerSpec, save};
use llm_core::model::{Context, Parameters};
use llm_core::train::Trainer;
use llm_core::{Attention, AttentionSpec, Config, Result, Tensor, TinyGPT};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A model and a batch so small that a step takes a millisecond.
pub const TINY: [&str; 8] = ["--seq", "16", "--dmodel", "16", "--layers", "1", "--batch", "2"];

/// The program as a shell starts it in the foreground. Who runs the tests in the background may
/// ignore signals; a program would inherit that, and heed it.
fn hearing_signals(program: &str) -> Command {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let [hup, int, term] = [1, 2, 15].map(|signal| 1 << (signal - 1));
    if ignored & (hup | int | term) == 0 {
        // On Windows a path may lack the drive, and the folder of the test is on another one.
        return Command::new(std::path::absolute(program).unwrap());
    }
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", program]);
    command
}

/// Longest time that anything here may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program in an empty folder.
#[derive(Debug)]
pub struct Sandbox {
    program: &'static str,
    folder: TempDir,
}

impl Sandbox {
    /// `program` is the path of a binary. The folder holds `text.txt` and nothing else.
    pub fn new(program: &'static str) -> Sandbox {
        let sandbox = Sandbox { program, folder: tempfile::tempdir().unwrap() };
        sandbox.write("text.txt", &some_text(4000));
        sandbox
    }

    /// A path in the folder.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a file.
    pub fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Reads a file.
    pub fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.path(name);
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Every file below the folder, with its content; folders with none.
    pub fn everything(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path.clone());
                }
                let content = if path.is_file() { std::fs::read(&path).ok() } else { None };
                found.insert(path, content);
            }
        }
        found
    }

    /// The program with these words, in the folder, with pipes and an empty standard input.
    pub fn command<S: AsRef<OsStr>>(&self, words: &[S]) -> Command {
        let mut command = hearing_signals(self.program);
        command.args(words).current_dir(self.folder.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // How long a run would take is not what is tested.
        command.env("LLM_ESTIMATE_MS", "1");
        // Nor is the language of who runs the tests.
        command.env_remove("LLM_LANG");
        command
    }

    /// Runs it to its end.
    pub fn run<S: AsRef<OsStr>>(&self, words: &[S]) -> Outcome {
        Outcome::new(words, self.command(words).output().unwrap())
    }

    /// Runs it to its end, which must be exit code 0.
    pub fn ok<S: AsRef<OsStr>>(&self, words: &[S]) -> Outcome {
        let outcome = self.run(words);
        assert_eq!(outcome.code, Some(0), "{outcome}");
        outcome
    }

    /// Trains a [`TINY`] model, and what else the words say, to a good end.
    pub fn train(&self, words: &[&str]) -> Outcome {
        self.ok(&[&TINY, words].concat())
    }

    /// Twenty steps give the same checkpoint as ten, saved and continued by ten more, on one
    /// thread and on two.
    pub fn ten_and_ten_steps_are_twenty(&self, schedule: &[&str]) {
        let new = [&["--data", "text.txt", "-q", "--gen", "0"], schedule].concat();
        self.train(&[&new[..], &["--steps", "20", "--save", "whole"]].concat());
        for threads in ["1", "2"] {
            let on = ["--threads", threads, "--steps", "10"];
            self.train(&[&new[..], &on, &["--save", "half"]].concat());
            let rest = ["--load", "half", "--save", "two", "--data", "text.txt", "--gen", "0"];
            self.ok(&[&rest[..], &on].concat());
            let same = self.read("two") == self.read("whole");
            assert!(same, "{schedule:?}, {threads} threads");
        }
    }

    /// Runs it with these bytes as standard input.
    pub fn run_with_input(&self, words: &[&str], input: &[u8]) -> Outcome {
        let mut child = self.command(words).stdin(Stdio::piped()).spawn().unwrap();
        match child.stdin.take().unwrap().write_all(input) {
            // Whoever has read enough reads no further.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {}
            written => written.unwrap(),
        }
        Outcome::new(words, child.wait_with_output().unwrap())
    }

    /// The command is refused as every refusal has to be: this exit code, nothing on standard
    /// output, one line of error that contains all `needles`, and not a byte changed on the disk.
    pub fn refuses<S: AsRef<OsStr>>(&self, words: &[S], code: i32, needles: &[&str]) -> Outcome {
        let before = self.everything();
        let outcome = self.run(words);
        assert_eq!(outcome.code, Some(code), "{outcome}");
        outcome.says_one_error(needles);
        assert_eq!(outcome.stdout, b"", "{outcome}");
        assert!(self.everything() == before, "files changed\n{outcome}");
        outcome
    }

    /// Starts it and goes on at once.
    pub fn start(&self, words: &[&str]) -> Running {
        self.start_with(words, &[])
    }

    /// [`Sandbox::start`] with more variables in its environment.
    pub fn start_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Running {
        let mut command = self.command(words);
        command.envs(variables.iter().copied());
        Running::new(words, command)
    }

    /// [`Sandbox::start`] by a shell that ignores these signals, as `nohup` does.
    pub fn start_ignoring(&self, signals: &str, words: &[&str]) -> Running {
        let script = format!("trap '' {signals}; exec \"$0\" \"$@\"");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script, self.program]).args(words);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        Running::new(words, command)
    }

    /// Runs it to its end as a shell script does, in which `"$0" "$@"` is the command.
    pub fn run_by_script(&self, script: &str, words: &[&str]) -> Outcome {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, self.program]).args(words).current_dir(self.folder.path());
        Outcome::new(words, command.output().unwrap())
    }

    /// [`Sandbox::start`] with a standard input of which more is read than a pipe holds, and which
    /// then goes on for ever without a byte.
    pub fn start_reading(&self, words: &[&str]) -> Running {
        let mut command = self.command(words);
        command.stdin(Stdio::piped());
        let mut running = Running::new(words, command);
        let input = running.child.stdin.as_mut().unwrap();
        input.write_all(&b"some text ".repeat(20_000)).unwrap();
        running
    }
}

/// A command at work.
#[derive(Debug)]
pub struct Running {
    words: String,
    child: Child,
    log: tempfile::NamedTempFile,
}

impl Running {
    fn new(words: &[&str], mut command: Command) -> Running {
        let log = tempfile::NamedTempFile::new().unwrap();
        command.stdout(Stdio::null()).stderr(log.reopen().unwrap());
        let child = command.spawn().unwrap();
        Running { words: words.join(" "), child, log }
    }

    /// Waits until standard error says this.
    pub fn wait_for(&mut self, needle: &str) {
        let start = Instant::now();
        loop {
            let said = std::fs::read_to_string(self.log.path()).unwrap();
            if holds(&said, needle) {
                return;
            }
            let context = || format!("no {needle:?} from {}\n{said}", self.words);
            assert!(start.elapsed() < PATIENCE, "{}", context());
            assert_eq!(self.child.try_wait().unwrap(), None, "{}", context());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it as nothing can prevent.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Sends a signal, by its name without `SIG`.
    #[cfg(unix)]
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is over.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for the end.
    pub fn end(&mut self) -> Outcome {
        let start = Instant::now();
        // Not `wait`, which would close its standard input and so end what reads it.
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let why = "does not end; do the tests run where signals are ignored (nohup, &)?";
            assert!(start.elapsed() < 2 * PATIENCE, "{} {why}", self.words);
            std::thread::sleep(Duration::from_millis(5));
        };
        let stderr = std::fs::read(self.log.path()).unwrap();
        Outcome::new(&[&self.words], Output { status, stdout: Vec::new(), stderr })
    }
}

impl Drop for Running {
    /// A test that failed leaves nothing running behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What became of a command.
#[derive(Debug)]
pub struct Outcome {
    words: String,
    /// Exit code; none when a signal killed it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: String,
}

impl Outcome {
    /// From what the system says.
    pub fn new<S: AsRef<OsStr>>(words: &[S], output: Output) -> Outcome {
        let words: Vec<_> = words.iter().map(|w| w.as_ref().to_string_lossy()).collect();
        let stderr = String::from_utf8(output.stderr);
        Outcome {
            words: words.join(" "),
            code: output.status.code(),
            stdout: output.stdout,
            stderr: stderr.unwrap_or_else(|e| panic!("{}: stderr is not UTF-8: {e}", words.len())),
        }
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error says all of this.
    pub fn says(&self, needles: &[&str]) {
        for needle in needles {
            assert!(holds(&self.stderr, needle), "does not say {needle:?}\n{self}");
        }
    }

    /// Standard output says all of this.
    pub fn prints(&self, needles: &[&str]) {
        for needle in needles {
            assert!(holds(&self.text(), needle), "does not print {needle:?}\n{self}");
        }
    }

    /// Standard error is one line beginning with `error: ` that says all of this, without control
    /// characters and without the words of a panic.
    pub fn says_one_error(&self, needles: &[&str]) {
        let line = self.stderr.strip_suffix('\n').unwrap_or(&self.stderr);
        assert!(line.starts_with("error: "), "{self}");
        assert!(!line.contains(char::is_control), "not one clean line\n{self}");
        assert!(!line.contains("panicked"), "{self}");
        self.says(needles);
    }

    /// Standard output as JSON objects, one a line and nothing else.
    pub fn events(&self) -> Vec<Value> {
        let value = |line: &str| -> Value {
            let value = serde_json::from_str(line);
            value.unwrap_or_else(|e| panic!("not JSON ({e}): {line}\n{self}"))
        };
        let events: Vec<Value> = self.text().lines().map(value).collect();
        assert!(events.iter().all(|e| e["event"].is_string()), "{self}");
        events
    }

    /// The events of one kind.
    pub fn events_of(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|e| e["event"] == kind).collect()
    }

    /// The bits of all reported losses, by step.
    pub fn losses(&self) -> Vec<(u64, u32)> {
        let bits = |e: &Value| e["loss"].to_string().parse::<f32>().unwrap().to_bits();
        let steps = self.events_of("step");
        steps.iter().map(|e| (e["step"].as_u64().unwrap(), bits(e))).collect()
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outcome { words, code, stdout, stderr } = self;
        let stdout = stdout.escape_ascii();
        write!(f, "words:  {words}\ncode:   {code:?}\nstdout: {stdout}\nstderr: {stderr}")
    }
}

/// Whether the text has these words, in which paths are written as elsewhere than on Windows.
pub fn holds(text: &str, words: &str) -> bool {
    let has = |text: &str, words: &str| text.contains(words);
    has(text, words) || cfg!(windows) && has(&text.replace('\\', "/"), &words.replace('\\', "/"))
}

/// A path below the folder as the system writes it.
pub fn native(path: &str) -> String {
    path.replace('/', std::path::MAIN_SEPARATOR_STR)
}

/// Words in an order that follows no pattern, the same on every machine.
pub fn some_text(len: usize) -> Vec<u8> {
    drawn_text(1, len)
}

/// The same words in another order: no passage of the one stands in the other.
pub fn other_text(len: usize) -> Vec<u8> {
    drawn_text(2, len)
}

fn drawn_text(seed: u32, len: usize) -> Vec<u8> {
    let words = ["the ", "cat ", "sat ", "on ", "a ", "mat.\n", "Where ", "is ", "it? "];
    let mut state = seed;
    let mut text = Vec::new();
    while text.len() < len {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.extend(words[(state >> 16) as usize % words.len()].as_bytes());
    }
    text.truncate(len);
    text
}

/// Rewrites the single-head checkpoint `from` as one of a model with several heads. Shapes are the
/// same, so this needs no crate that can compute with several.
pub fn as_multi_head(from: &Path, to: &Path, n_heads: usize) {
    let single = Checkpoint::load(from).unwrap();
    let mut model =
        TinyGPT::with_attention(single.meta.config.clone(), Arc::new(Heads(n_heads)), 0);
    let model = model.as_mut().unwrap();
    let weights = single.parameters().map(|(_, p)| p.clone());
    for ((_, place), weight) in model.parameters_mut().zip(weights) {
        *place = weight;
    }
    let trainer = Trainer::new(model.clone(), single.meta.recipe.clone()).unwrap();
    let trainer = Trainer { step: single.meta.step, ..trainer };
    save(to, &trainer, &TokenizerSpec::bytes(), true).unwrap();
}

/// Multi-head attention in name only: enough to be written into a checkpoint.
struct Heads(usize);

impl Attention for Heads {
    fn spec(&self) -> AttentionSpec {
        AttentionSpec::new("multi-head", self.0)
    }

    fn check(&self, _: &Config) -> Result<()> {
        Ok(())
    }

    fn forward(&self, _: &Tensor, _: &Parameters, _: &Context<'_>) -> Result<Tensor> {
        unreachable!("never computed with")
    }
}
