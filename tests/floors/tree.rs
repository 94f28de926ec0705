//! A crate as a tree of modules, each with the names of its scope and the paths it writes.

use super::reader;
use std::collections::BTreeMap;
use std::path::Path;

/// Sources below `src`, by their path from there.
pub type Sources = BTreeMap<String, String>;

/// A module's place in [`Crate::modules`]; the crate's root is 0.
pub type Id = usize;

pub struct Crate {
    pub name: String,
    pub modules: Vec<Module>,
    /// The doc comment of the root, a line each.
    pub docs: Vec<String>,
}

#[derive(Default)]
pub struct Module {
    pub name: String,
    pub parent: Option<Id>,
    pub file: String,
    /// What can be named in it; a name may stand for several things (a type and a function).
    pub names: Vec<(String, Name)>,
    /// What it imports whole, with `*`.
    pub globs: Vec<Vec<String>>,
    pub mentions: Vec<Mention>,
    /// What it is declared with: `pub mod`.
    pub is_public: bool,
    pub types: Vec<Type>,
}

/// A struct, enum, union, trait or alias that is written in a module.
pub struct Type {
    pub name: String,
    pub line: usize,
    pub is_public: bool,
}

#[derive(Clone)]
pub enum Name {
    Module(Id),
    /// A type, function, constant, macro written here.
    Item,
    Import(Vec<String>),
}

/// A path as it stands in the source.
pub struct Mention {
    pub path: Vec<String>,
    pub line: usize,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Import,
    /// `pub use`, with any visibility.
    ReExport,
    /// Within code.
    Use,
}

impl Crate {
    /// The library or program in `folder/src`, if there is one.
    pub fn in_folder(folder: &Path) -> Option<Crate> {
        let src = folder.join("src");
        let mut sources = Sources::new();
        for path in crate::docs::pages::files(&src, &["rs"]) {
            let relative = path.strip_prefix(&src).ok()?.to_str()?.replace('\\', "/");
            sources.insert(relative, std::fs::read_to_string(path).ok()?);
        }
        let root = ["lib.rs", "main.rs"].into_iter().find(|r| sources.contains_key(*r))?;
        Some(reader::read(folder.file_name()?.to_str()?, root, &sources))
    }

    /// The children of the root, in the order of the source.
    pub fn top_modules(&self) -> impl Iterator<Item = Id> {
        (1..self.modules.len()).filter(|&id| self.modules[id].parent == Some(0))
    }

    /// The child of the root that holds a module; the root holds itself.
    pub fn top_of(&self, mut id: Id) -> Id {
        while let Some(parent) = self.modules[id].parent.filter(|&p| p != 0) {
            id = parent;
        }
        id
    }

    /// Whether `inner` is the module `outer` or below it.
    pub fn is_inside(&self, inner: Id, outer: Id) -> bool {
        let mut at = Some(inner);
        while let Some(id) = at {
            if id == outer {
                return true;
            }
            at = self.modules[id].parent;
        }
        false
    }
}
