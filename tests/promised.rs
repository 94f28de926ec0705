//! The names that llm-core promises: at most 252, listed in `crates/llm-core/promised.txt`. What else is
//! public there is hidden from its documentation, and may change.

use crate::floors::attributes;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, UseTree, Visibility};
use workspace_tests::workspace;

const MOST: usize = 252;

/// The items of a file.
fn items_of(file: &Path) -> Vec<Item> {
    syn::parse_file(&std::fs::read_to_string(file).unwrap()).unwrap().items
}

/// The file of a module that a file in this folder names.
fn file_of(folder: &Path, name: &str) -> PathBuf {
    let flat = folder.join(format!("{name}.rs"));
    if flat.exists() { flat } else { folder.join(name).join("mod.rs") }
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    let hidden = |a: &Attribute| {
        a.path().is_ident("doc") && a.parse_args::<syn::Ident>().is_ok_and(|word| word == "hidden")
    };
    attributes.iter().any(hidden)
}

fn is_promised(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    matches!(visibility, Visibility::Public(_))
        && !is_hidden(attributes)
        && !attributes::is_left_out(attributes)
}

/// The names that a `use` gives, each with the first module of its path.
fn leaves(tree: &UseTree, first: Option<&str>, found: &mut Vec<(Option<String>, String)>) {
    match tree {
        UseTree::Path(path) => {
            let segment = path.ident.to_string();
            let first = first.map_or(Some(segment), |first| Some(first.to_string()));
            leaves(&path.tree, first.as_deref(), found);
        }
        UseTree::Name(name) => found.push((first.map(String::from), name.ident.to_string())),
        UseTree::Rename(rename) => found.push((first.map(String::from), rename.rename.to_string())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, first, found)),
        UseTree::Glob(_) => found.push((first.map(String::from), "*".into())),
    }
}

fn name_of(item: &Item) -> Option<(&Visibility, String)> {
    Some(match item {
        Item::Const(i) => (&i.vis, i.ident.to_string()),
        Item::Enum(i) => (&i.vis, i.ident.to_string()),
        Item::Fn(i) => (&i.vis, i.sig.ident.to_string()),
        Item::Static(i) => (&i.vis, i.ident.to_string()),
        Item::Struct(i) => (&i.vis, i.ident.to_string()),
        Item::Trait(i) => (&i.vis, i.ident.to_string()),
        Item::Type(i) => (&i.vis, i.ident.to_string()),
        _ => return None,
    })
}

/// The promised names of a module's items and of the modules below it, whose files are in `folder`. A name
/// that is handed on from a promised module is the same promise.
fn promised(items: &[Item], folder: &Path, path: &str, all: &mut BTreeSet<String>) {
    let is_module = |name: &str| {
        items.iter().any(|item| match item {
            Item::Mod(module) => module.ident == name && is_promised(&module.vis, &module.attrs),
            _ => false,
        })
    };
    for item in items {
        match item {
            Item::Mod(module) if is_promised(&module.vis, &module.attrs) => {
                let name = module.ident.to_string();
                let (folder, file, path) =
                    (folder.join(&name), file_of(folder, &name), format!("{path}{name}::"));
                match &module.content {
                    Some((_, items)) => promised(items, &folder, &path, all),
                    None => promised(&items_of(&file), &folder, &path, all),
                }
            }
            Item::Use(item) if is_promised(&item.vis, &item.attrs) => {
                let mut found = Vec::new();
                leaves(&item.tree, None, &mut found);
                found.retain(|(first, _)| !first.as_deref().is_some_and(is_module));
                all.extend(found.into_iter().map(|(_, name)| format!("{path}{name}")));
            }
            Item::Macro(item) => {
                let exported = item.attrs.iter().any(|a| a.path().is_ident("macro_export"));
                let name = item.ident.as_ref().filter(|_| exported && !is_hidden(&item.attrs));
                all.extend(name.map(|name| format!("{name}!")));
            }
            other => {
                let name = name_of(other);
                let name =
                    name.filter(|(visibility, _)| is_promised(visibility, attributes::of(other)));
                all.extend(name.map(|(_, name)| format!("{path}{name}")));
            }
        }
    }
}

#[test]
fn the_core_promises_what_is_listed() {
    let src = workspace().join("crates/llm-core/src");
    let mut all = BTreeSet::new();
    promised(&items_of(&src.join("lib.rs")), &src, "", &mut all);
    let list = std::fs::read_to_string(src.with_file_name("promised.txt")).unwrap();
    let listed: BTreeSet<String> = list.lines().map(String::from).collect();
    let [new, gone] = [(&all, &listed), (&listed, &all)].map(|(a, b)| a - b);
    assert!(
        new.is_empty(),
        "public, and not in promised.txt; promise it, hide it or make it private:\n{new:#?}"
    );
    assert!(gone.is_empty(), "promised, and not there:\n{gone:#?}");
    assert!(all.len() <= MOST, "{} names are promised, {MOST} at most", all.len());
}

#[test]
fn what_is_hidden_or_handed_on_is_no_new_promise() {
    let text = "pub mod a { pub struct A; #[doc(hidden)] pub fn hidden() {} fn own() {} }
        mod b { pub struct B; pub struct Own; }
        #[doc(hidden)] pub mod c { pub struct C; }
        pub use a::A; pub use b::{B, Own as Another}; pub use c::C; pub use ndarray;
        #[macro_export] macro_rules! m { () => {} }
        #[cfg(test)] pub mod tests { pub fn t() {} }";
    let items = syn::parse_file(text).unwrap().items;
    let mut all = BTreeSet::new();
    promised(&items, Path::new(""), "", &mut all);
    let want = ["a::A", "Another", "B", "C", "m!", "ndarray"].map(String::from);
    assert_eq!(all, want.into());
}
