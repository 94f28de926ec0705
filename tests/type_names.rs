//! A name means one thing within a crate.

use crate::floors::reader::read;
use crate::floors::tree::{Crate, Id, Kind, Sources, Type};
use std::collections::BTreeMap;

/// Names that stand twice, and why.
const MEANT: [(&str, &str, &str); 0] = [];

/// The crate whose names count even where no other crate sees them: its rooms are many, and a
/// reader goes through all of them.
const WHOLE: &str = "llm-cli";

/// Can a program name this type? A name that is handed on somewhere counts as if it were this one.
fn is_reachable(krate: &Crate, module: Id, item: &Type) -> bool {
    let mut above = std::iter::successors(Some(module), |&id| krate.modules[id].parent);
    let handed_on = || {
        let mentions = krate.modules.iter().flat_map(|module| &module.mentions);
        let mut names = mentions.filter(|m| m.kind == Kind::ReExport);
        names.any(|m| m.path.last().is_some_and(|name| *name == item.name))
    };
    item.is_public && (above.all(|id| krate.modules[id].is_public) || handed_on())
}

/// Each name that several types of a crate have, with its places.
fn twice(krate: &Crate) -> BTreeMap<&str, Vec<String>> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (id, module) in krate.modules.iter().enumerate() {
        for item in &module.types {
            if krate.name == WHOLE || is_reachable(krate, id, item) {
                let place = format!("{}:{}", module.file, item.line);
                places.entry(&item.name).or_default().push(place);
            }
        }
    }
    places.retain(|_, places| places.len() > 1);
    places
}

#[test]
fn no_type_has_the_name_of_another_one() {
    let (mut problems, mut used) = (Vec::new(), Vec::new());
    for krate in crate::floors::crates() {
        for (name, places) in twice(krate) {
            match MEANT.iter().find(|(of, meant, _)| *of == krate.name && *meant == name) {
                Some(meant) => used.push(meant),
                None => problems.push(format!("{} {name}: {}", krate.name, places.join(", "))),
            }
        }
    }
    let gone = MEANT.iter().filter(|meant| !used.contains(meant));
    problems.extend(gone.map(|(krate, name, _)| format!("{krate} {name}: not twice any more")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn only_what_a_program_can_name_counts_in_a_library() {
    let root = "pub mod a; mod b; mod c; pub use c::Seen; type Own = u8;";
    let files = [
        ("lib.rs", root),
        ("a.rs", "pub struct Seen; pub enum Hidden {} struct Own; pub trait Alone {}"),
        ("b.rs", "pub struct Hidden; pub struct Alone; #[cfg(test)] mod t { pub struct Seen; }"),
        ("c.rs", "pub struct Seen; pub mod inner { pub struct Hidden; }"),
    ];
    let sources: Sources = files.map(|(file, text)| (file.into(), text.into())).into();
    let found = |name: &str| {
        let krate = read(name, "lib.rs", &sources);
        twice(&krate).keys().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(found("invented"), ["Seen"]);
    assert_eq!(found(WHOLE), ["Alone", "Hidden", "Own", "Seen"]);
}
