//! Words and commands as a shell reads them back.

use llm_core::base::escape::one_line;

/// The program that reads what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// One as POSIX describes it.
    Posix,
    /// cmd.exe or PowerShell: what is printed means the same to both.
    Windows,
}

/// The shells of this system.
pub const HERE: Shell = if cfg!(windows) { Shell::Windows } else { Shell::Posix };

impl Shell {
    /// A word that is an argument.
    pub fn word(self, word: &str) -> String {
        let text = one_line(word);
        // A path that begins like a flag.
        let text = match text.len() > 1 && text.starts_with('-') {
            true => format!(".{}{text}", self.separator()),
            false => text,
        };
        self.in_quotes_if_needed(&text)
    }

    /// A path that is the command itself. One name alone is looked for elsewhere.
    pub fn command(self, path: &str) -> String {
        let text = one_line(path);
        let separator = self.separator();
        let text = match text.contains(['/', separator]) {
            true => text,
            false => format!(".{separator}{text}"),
        };
        if self == Shell::Posix {
            return self.in_quotes_if_needed(&text);
        }
        // PowerShell prints what begins with a quote, and does not run it.
        let parts = text.split(separator).map(|part| match part {
            "" => String::new(),
            part => self.in_quotes_if_needed(part),
        });
        let text = parts.collect::<Vec<_>>().join("\\");
        if text.starts_with('"') { format!(".\\{text}") } else { text }
    }

    fn separator(self) -> char {
        if self == Shell::Windows { '\\' } else { '/' }
    }

    /// Whether the character means itself wherever it stands.
    fn is_plain(self, c: char) -> bool {
        c.is_alphanumeric()
            || "_-./:+=".contains(c)
            || match self {
                Shell::Posix => "@%,".contains(c),
                Shell::Windows => c == '\\',
            }
    }

    fn in_quotes_if_needed(self, text: &str) -> String {
        if !text.is_empty() && text.chars().all(|c| self.is_plain(c)) {
            return text.into();
        }
        match self {
            Shell::Posix => format!("'{}'", text.replace('\'', "'\\''")),
            Shell::Windows => in_double_quotes(text),
        }
    }
}

/// As programs on Windows take their words apart: a backslash is one, but before a quote it is doubled,
/// and a quote inside has one before it.
fn in_double_quotes(text: &str) -> String {
    let (mut all, mut backslashes) = (String::from('"'), 0);
    for c in text.chars() {
        if c == '"' {
            all.push_str(&"\\".repeat(backslashes + 1));
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        all.push(c);
    }
    all + &"\\".repeat(backslashes) + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        let quoted = |s: &str| Shell::Posix.word(s);
        assert_eq!(quoted("runs/001"), "runs/001");
        assert_eq!(quoted("my run"), "'my run'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted("-dash"), "./-dash");
        assert_eq!(quoted("-"), "-");
        assert_eq!(quoted("Lucy met"), "'Lucy met'");
        assert_eq!(quoted(r"a\b"), r"'a\b'");
    }

    #[test]
    fn words_survive_the_shells_of_windows() {
        for (word, expected) in [
            (r"runs\001", r"runs\001"),
            (r"C:\runs\猫\ckpt", r"C:\runs\猫\ckpt"),
            ("my run", "\"my run\""),
            ("it's", "\"it's\""),
            ("-dash", r".\-dash"),
            ("", "\"\""),
            // Two words to PowerShell, and a name to look up.
            ("a,b", "\"a,b\""),
            ("@a", "\"@a\""),
            // The last backslash would take the quote for itself.
            (r"my run\", "\"my run\\\\\""),
            ("say \"yes\"", "\"say \\\"yes\\\"\""),
        ] {
            assert_eq!(Shell::Windows.word(word), expected, "{word}");
        }
    }

    #[test]
    fn the_command_itself_is_run_and_not_printed() {
        for (path, posix, windows) in [
            ("target/train-gpt", "target/train-gpt", "target/train-gpt"),
            ("train-gpt", "./train-gpt", r".\train-gpt"),
            ("my dir/train-gpt", "'my dir/train-gpt'", ".\\\"my dir/train-gpt\""),
        ] {
            assert_eq!(Shell::Posix.command(path), posix);
            assert_eq!(Shell::Windows.command(path), windows);
        }
        for (path, expected) in [
            (r"target\train-gpt.exe", r"target\train-gpt.exe"),
            (r"C:\Program Files\train-gpt.exe", "C:\\\"Program Files\"\\train-gpt.exe"),
            (r"my dir\train-gpt.exe", ".\\\"my dir\"\\train-gpt.exe"),
            (r"\\host\my dir\train-gpt.exe", "\\\\host\\\"my dir\"\\train-gpt.exe"),
        ] {
            assert_eq!(Shell::Windows.command(path), expected, "{path}");
        }
    }
}
