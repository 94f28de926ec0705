//! What a program sees in a folder, and what the disk has of it.
//!
//! A write reaches the disk for certain with the sync of its file, a name with the sync of the
//! folder. Before that anything may have happened to it ([`State::after_power_loss`]).

use std::collections::BTreeMap;

/// A file's content.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) seen: Vec<u8>,
    pub(super) on_disk: Vec<u8>,
    /// Writes that the disk may or may not have: where, what.
    pub(super) open: Vec<(usize, Vec<u8>)>,
    pub(super) sync_failed: bool,
}

/// A change of one name that the disk may or may not have.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Set(String, usize),
    Unset(String),
}

/// The folder at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) nodes: Vec<Node>,
    pub(super) names: BTreeMap<String, usize>,
    pub(super) names_on_disk: BTreeMap<String, usize>,
    pub(super) open: Vec<Change>,
}

impl State {
    /// With these files, all on the disk.
    pub(super) fn new(files: &[(&str, &[u8])]) -> State {
        let mut state = State::default();
        for (name, content) in files {
            state.names.insert(name.to_string(), state.nodes.len());
            let (seen, on_disk) = (content.to_vec(), content.to_vec());
            state.nodes.push(Node { seen, on_disk, ..Node::default() });
        }
        state.names_on_disk = state.names.clone();
        state
    }

    /// What a program reads there.
    pub(super) fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.names.get(name).map(|&node| self.nodes[node].seen.clone())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Everything that may be read there when power comes back: any choice of the folder's open
    /// changes (two names of one rename are two changes), with any outcome of the file's writes.
    pub(super) fn after_power_loss(&self, name: &str) -> Vec<Option<Vec<u8>>> {
        let mut found = Vec::new();
        for choice in 0..1u32 << self.open.len() {
            let mut names = self.names_on_disk.clone();
            let chosen = (0..).zip(&self.open).filter(|(i, _)| choice >> i & 1 == 1);
            chosen.for_each(|(_, change)| apply(&mut names, change));
            match names.get(name) {
                None => found.push(None),
                Some(&node) => found.extend(self.nodes[node].outcomes().into_iter().map(Some)),
            }
        }
        found
    }

    pub(super) fn change(&mut self, change: Change) {
        apply(&mut self.names, &change);
        self.open.push(change);
    }
}

fn apply(names: &mut BTreeMap<String, usize>, change: &Change) {
    match change {
        Change::Set(name, node) => drop(names.insert(name.clone(), *node)),
        Change::Unset(name) => drop(names.remove(name)),
    }
}

impl Node {
    /// Writes that came in order and were cut anywhere; that came out of order, with zeros or
    /// garbage in the place of the missing one; a length without content.
    fn outcomes(&self) -> Vec<Vec<u8>> {
        let mut content = self.on_disk.clone();
        let mut found = vec![content.clone()];
        for (at, bytes) in &self.open {
            for length in [1, bytes.len() / 2, bytes.len()] {
                put(&mut content, *at, &bytes[..length]);
                found.push(content.clone());
            }
        }
        for filler in [0, 0xa5] {
            let mut nothing = content.clone();
            for (at, bytes) in &self.open {
                let mut one_missing = content.clone();
                put(&mut one_missing, *at, &vec![filler; bytes.len()]);
                found.push(one_missing);
                put(&mut nothing, *at, &vec![filler; bytes.len()]);
            }
            found.push(nothing);
        }
        found
    }
}

fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    content.resize(content.len().max(at + bytes.len()), 0);
    content[at..at + bytes.len()].copy_from_slice(bytes);
}
