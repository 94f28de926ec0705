//! The lines of files, and which of them stay unseen.

use super::line::Line;
use llm_core::base::Message;
use llm_core::message;

/// A line of a file.
#[derive(Clone, Debug)]
pub(super) struct Said {
    /// The number of the file, from 0 on.
    pub file: usize,
    /// The number of the line, from 1 on.
    pub line: usize,
    pub what: Line,
}

/// The conversations in files, a line each.
#[derive(Clone, Debug)]
pub struct Conversations {
    pub(super) all: Vec<Said>,
    /// What to call each file.
    names: Vec<Message>,
}

impl Conversations {
    /// Those of files, each with what to call it.
    ///
    /// # Errors
    /// The file, the line and why it cannot be read.
    pub fn parse<'b>(
        files: impl IntoIterator<Item = (Message, &'b [u8])>,
    ) -> Result<Conversations, Message> {
        let mut found = Conversations { all: Vec::new(), names: Vec::new() };
        for (file, (name, bytes)) in files.into_iter().enumerate() {
            found.names.push(name);
            for (i, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
                let place = (file, i + 1);
                let text = std::str::from_utf8(line)
                    .map_err(|_| found.at(place, message!("it is no UTF-8")))?;
                let text = text.trim_start_matches('\u{feff}').trim();
                if !text.is_empty() {
                    let what = Line::parse(text).map_err(|why| found.at(place, why))?;
                    found.all.push(Said { file, line: i + 1, what });
                }
            }
        }
        Ok(found)
    }

    /// Something about a line of a file.
    pub(super) fn at(&self, (file, line): (usize, usize), why: Message) -> Message {
        match self.names.get(file) {
            Some(name) => message!("{}, line {}: {}", name.clone(), line, why),
            None => why,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Those to learn, and the last `share` of each file, which stay unseen; one at least, where there
    /// are several.
    pub fn divided(self, share: f64) -> [Conversations; 2] {
        let share = if self.len() < 2 { 0.0 } else { share.clamp(0.0, 1.0) };
        let due = |n: usize| (n as f64 * share).ceil() as usize;
        let mut parts =
            [(); 2].map(|()| Conversations { all: Vec::new(), names: self.names.clone() });
        let (mut before, mut taken) = (0, 0);
        for of_file in self.all.chunk_by(|a, b| a.file == b.file) {
            before += of_file.len();
            let apart = due(before).saturating_sub(taken).min(of_file.len());
            taken += apart;
            let (learned, unseen) = of_file.split_at(of_file.len() - apart);
            parts[0].all.extend_from_slice(learned);
            parts[1].all.extend_from_slice(unseen);
        }
        parts
    }

    /// What is said in them, to learn a vocabulary from: evenly spaced ones of no more than about
    /// `most` bytes.
    pub fn spoken(&self, most: usize) -> Vec<u8> {
        let bytes: usize = self.all.iter().map(|said| said.what.spoken().len()).sum();
        let every = bytes.div_ceil(most.max(1)).max(1);
        let some = self.all.iter().step_by(every);
        some.flat_map(|said| said.what.spoken().into_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(files: &[&str]) -> Result<Conversations, Message> {
        let files = files.iter().enumerate();
        Conversations::parse(files.map(|(i, text)| (message!("file {}", i), text.as_bytes())))
    }

    fn lines(of: &Conversations) -> Vec<(usize, usize)> {
        of.all.iter().map(|said| (said.file, said.line)).collect()
    }

    #[test]
    fn lines_are_numbered_as_an_editor_numbers_them() {
        let found =
            parse(&["\u{feff}{\"text\": \"a\"}\r\n\n{\"text\": \"b\"}", "{\"text\": \"c\"}\n"]);
        assert_eq!(lines(&found.unwrap()), [(0, 1), (0, 3), (1, 1)]);
        let said = parse(&["{\"text\": \"a\"}\n", "\n\n{\"txt\": 1}"]).unwrap_err().to_string();
        assert!(said.starts_with("file 1, line 3: it has none of"), "{said}");
    }

    #[test]
    fn the_last_of_each_file_are_unseen() {
        let four = "{\"text\": \"a\"}\n".repeat(4);
        let ten = "{\"text\": \"b\"}\n".repeat(10);
        let [learned, unseen] = parse(&[&four, &ten]).unwrap().divided(0.1);
        assert_eq!(lines(&unseen), [(0, 4), (1, 10)]);
        assert_eq!((learned.len(), learned.spoken(1 << 20).len()), (12, 24));
        assert_eq!(learned.spoken(8).len(), 8);
        let [learned, unseen] = parse(&[&four]).unwrap().divided(0.0);
        assert_eq!((learned.len(), unseen.is_empty()), (4, true));
        let [learned, unseen] = parse(&[&four[..14]]).unwrap().divided(0.1);
        assert_eq!((learned.len(), unseen.is_empty()), (1, true));
    }
}
