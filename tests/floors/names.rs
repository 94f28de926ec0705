//! Where a path leads.

use super::tree::{Crate, Id, Kind, Mention, Name};

/// The end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The module that is named, or in which the item is written.
    pub module: Id,
    pub is_item: bool,
    /// The first module below the root on the way; the root itself for its own items.
    pub top: Id,
}

impl Crate {
    /// Everything of this crate that `path`, written in module `from`, may stand for. Other
    /// crates, local variables and the like are nothing.
    pub fn resolve(&self, from: Id, path: &[String]) -> Vec<Target> {
        self.walk(from, path, 0)
    }

    fn walk(&self, from: Id, path: &[String], depth: usize) -> Vec<Target> {
        if depth > 16 {
            return Vec::new(); // names that import each other
        }
        let (mut at, mut rest) = (from, path);
        let mut climbs = true;
        while let (true, Some((first, others))) = (climbs, rest.split_first()) {
            match (first.as_str(), self.modules[at].parent) {
                ("crate", _) => at = 0,
                ("self", _) => {}
                ("super", Some(parent)) => at = parent,
                _ => climbs = false,
            }
            if climbs {
                rest = others;
            }
        }
        match rest.split_first() {
            None => vec![Target { module: at, is_item: false, top: self.top_of(at) }],
            Some((first, others)) => self.below(at, first, others, depth),
        }
    }

    /// `first::others` as seen from within module `at`.
    fn below(&self, at: Id, first: &str, others: &[String], depth: usize) -> Vec<Target> {
        let mut found = Vec::new();
        for (name, what) in &self.modules[at].names {
            if name == first {
                found.extend(self.follow(at, what, others, depth));
            }
        }
        if found.is_empty() {
            for glob in &self.modules[at].globs {
                for target in self.walk(at, glob, depth + 1) {
                    if !target.is_item && target.module != at {
                        found.extend(self.below(target.module, first, others, depth + 1));
                    }
                }
            }
        }
        found
    }

    fn follow(&self, at: Id, what: &Name, others: &[String], depth: usize) -> Vec<Target> {
        match what {
            Name::Item => vec![Target { module: at, is_item: true, top: self.top_of(at) }],
            Name::Module(id) => match others.split_first() {
                None => vec![Target { module: *id, is_item: false, top: self.top_of(*id) }],
                Some((first, others)) => self.below(*id, first, others, depth),
            },
            Name::Import(path) => {
                let path = [path, others].concat();
                let mut targets = self.walk_import(at, &path, depth);
                // A name that a module re-exports is that module's, whoever wrote it.
                if at != 0 {
                    targets.iter_mut().for_each(|t| t.top = self.top_of(at));
                }
                targets
            }
        }
    }

    /// As [`Self::walk`], but a name does not stand for itself: `use serde;`.
    fn walk_import(&self, at: Id, path: &[String], depth: usize) -> Vec<Target> {
        let own = |(name, what): &(String, Name)| {
            path.first() == Some(name) && matches!(what, Name::Import(p) if p[..] == path[..1])
        };
        match self.modules[at].names.iter().any(own) {
            true => Vec::new(),
            false => self.walk(at, path, depth + 1),
        }
    }

    /// Whether a mention of something in `target` makes its file need the other file.
    pub fn is_need(&self, from: Id, mention: &Mention, target: Target) -> bool {
        match mention.kind {
            // What is done with an imported module shows where it is done.
            Kind::Import => target.is_item,
            Kind::ReExport => target.is_item && !self.is_inside(target.module, from),
            // A word alone may be a variable; it cannot be a module.
            Kind::Use => target.is_item,
        }
    }
}
