//! The conversations in files, and which of them stay unseen.

use super::line::{ASSISTANT, Line, Turn, read};
use super::pieces::{self, Spot};
use super::template::Template;
use llm_core::base::Message;
use llm_core::message;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashSet};
use std::hash::{Hash, Hasher};

/// Different names of keys that are counted.
const MOST_NAMES: usize = 1000;

/// What a file is called, and what is in it.
pub type File<'b> = (Message, &'b [u8]);

/// A conversation of a file.
#[derive(Clone, Debug)]
pub(super) struct Said {
    /// The number of the file, from 0 on.
    pub file: usize,
    pub spot: Spot,
    pub what: Line,
    /// What is worse than the last turn, of a pair of answers.
    pub rejected: Option<String>,
}

/// The conversations in files.
#[derive(Clone, Debug)]
pub struct Conversations {
    pub(super) all: Vec<Said>,
    /// What to call each file.
    names: Vec<Message>,
    /// How often keys are passed over that say nothing here.
    passed: BTreeMap<String, usize>,
}

impl Conversations {
    /// The conversations of files, each with what to call it.
    ///
    /// # Errors
    /// The file, the line and why it cannot be read.
    pub fn parse<'b>(files: impl IntoIterator<Item = File<'b>>) -> Result<Conversations, Message> {
        Conversations::read(files, false).map_err(|(_, why)| why)
    }

    /// [`Conversations::parse`], or `pairs` of answers, with the number of the file that cannot be read.
    pub(crate) fn read<'b>(
        files: impl IntoIterator<Item = File<'b>>,
        pairs: bool,
    ) -> Result<Conversations, (usize, Message)> {
        let (all, names, passed) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut found = Conversations { all, names, passed };
        for (file, (name, bytes)) in files.into_iter().enumerate() {
            found.names.push(name);
            let Conversations { all, passed, .. } = &mut found;
            let read = pieces::each(bytes, |spot, text| {
                let read = read(text, pairs)?;
                all.push(Said { file, spot, what: read.line, rejected: read.rejected });
                read.passed.into_iter().for_each(|key| count(passed, key));
                Ok(())
            });
            read.map_err(|(spot, why)| (file, found.at((file, spot), why)))?;
        }
        Ok(found)
    }

    /// Something about a place in a file.
    pub(super) fn at(&self, (file, spot): (usize, Spot), why: Message) -> Message {
        let (Some(name), Spot { line, entry }) = (self.names.get(file), spot) else { return why };
        match entry {
            0 => message!("{}, line {}: {}", name.clone(), line, why),
            n => message!("{}, conversation {} (line {}): {}", name.clone(), n, line, why),
        }
    }

    /// The number of conversations.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The conversations to learn, and the last `share` of each file, which stay unseen; one at least, where there
    /// are several.
    pub fn divided(self, share: f64) -> [Conversations; 2] {
        let is_unseen = self.are_unseen(share);
        let (names, passed) = (self.names, self.passed);
        let part = |all| Conversations { all, names: names.clone(), passed: passed.clone() };
        let (mut learned, mut unseen) = (Vec::new(), Vec::new());
        for (said, is_unseen) in self.all.into_iter().zip(is_unseen) {
            if is_unseen { unseen.push(said) } else { learned.push(said) }
        }
        [part(learned), part(unseen)]
    }

    /// Which conversations stay unseen.
    fn are_unseen(&self, share: f64) -> Vec<bool> {
        let share = if self.len() < 2 { 0.0 } else { share.clamp(0.0, 1.0) };
        let due = |n: usize| (n as f64 * share).ceil() as usize;
        let (mut before, mut taken, mut all) = (0, 0, Vec::new());
        for of_file in self.all.chunk_by(|a, b| a.file == b.file) {
            before += of_file.len();
            let apart = due(before).saturating_sub(taken).min(of_file.len());
            taken += apart;
            all.extend((0..of_file.len()).map(|i| i >= of_file.len() - apart));
        }
        all
    }

    /// The part of those that stay unseen which is among the others too, word for word.
    pub fn repeated(&self, share: f64) -> f64 {
        let is_unseen = self.are_unseen(share);
        let of = |unseen: bool| {
            let some = self.all.iter().zip(&is_unseen).filter(move |(_, is)| **is == unseen);
            some.map(|(said, _)| said.hash())
        };
        share_in(of(true), &of(false).collect())
    }

    /// The part of these that is among others too, word for word.
    pub fn repeated_in(&self, others: &Conversations) -> f64 {
        share_in(self.all.iter().map(Said::hash), &others.all.iter().map(Said::hash).collect())
    }

    /// The answers that are said to be read alone.
    pub fn not_learned(&self) -> usize {
        self.answers().filter(|turn| turn.weight == 0.0).count()
    }

    /// The answers that count more or less than others.
    pub fn weighted(&self) -> usize {
        self.answers().filter(|turn| ![0.0, 1.0].contains(&turn.weight)).count()
    }

    fn answers(&self) -> impl Iterator<Item = &Turn> {
        self.turns().filter(|turn| turn.role == ASSISTANT)
    }

    /// The keys that say nothing here, or nothing to this template, and how often each stands there.
    pub fn passed_over(&self, template: &Template) -> BTreeMap<String, usize> {
        let mut all = self.passed.clone();
        let keys = self.turns().flat_map(|turn| turn.more.keys());
        keys.filter(|key| !template.names(key)).for_each(|key| count(&mut all, key.clone()));
        all
    }

    fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.all.iter().flat_map(|said| match &said.what {
            Line::Turns(turns) => &turns[..],
            Line::Text(_) => &[],
        })
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

impl Said {
    /// The hash of what is said, and by whom.
    fn hash(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        match &self.what {
            Line::Turns(turns) => {
                turns.iter().for_each(|turn| (&turn.role, turn.content.trim()).hash(&mut hash));
            }
            Line::Text(text) => text.trim().hash(&mut hash),
        }
        self.rejected.hash(&mut hash);
        hash.finish()
    }
}

fn share_in(own: impl Iterator<Item = u64>, others: &HashSet<u64>) -> f64 {
    let (mut all, mut again) = (0usize, 0usize);
    for hash in own {
        all += 1;
        again += usize::from(others.contains(&hash));
    }
    again as f64 / all.max(1) as f64
}

fn count(keys: &mut BTreeMap<String, usize>, key: String) {
    if keys.len() < MOST_NAMES || keys.contains_key(&key) {
        *keys.entry(key).or_insert(0) += 1;
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
        of.all.iter().map(|said| (said.file, said.spot.line)).collect()
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
    fn a_list_is_read_as_lines_are() {
        let found = parse(&["[{\"text\": \"a\", \"id\": 1},\n {\"text\": \"b\", \"id\": 2}]"]);
        let found = found.unwrap();
        assert_eq!((lines(&found), found.passed["id"]), (vec![(0, 1), (0, 2)], 2));
        let said = parse(&["[{\"text\": \"a\"},\n {\"txt\": 1}]"]).unwrap_err().to_string();
        assert!(said.starts_with("file 0, conversation 2 (line 2): it has none of"), "{said}");
    }

    #[test]
    fn unseen_ones_that_are_among_the_others_are_found() {
        let turn =
            |i: usize| format!("{{\"prompt\": \"{i}\", \"completion\": \"a\", \"id\": {i}}}\n");
        let of = |numbers: &[usize]| {
            parse(&[&numbers.iter().map(|&i| turn(i)).collect::<String>()]).unwrap()
        };
        assert_eq!(of(&[1, 2, 3, 4]).repeated(0.5), 0.0);
        assert_eq!(of(&[1, 2, 3, 1]).repeated(0.5), 0.5);
        assert_eq!(of(&[1]).repeated(0.5), 0.0);
        assert_eq!(of(&[1, 5]).repeated_in(&of(&[4, 5, 6])), 0.5);
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
