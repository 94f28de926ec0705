//! Faults put into small invented crates are found, and what looks like one is not.

use super::tree::Sources;
use super::{findings, reader, unexpected};

const TABLE: &str = "
//! | module | holds |
//! |---|---|
//! | [`floor`] | stands on nothing |
//! | [`left`], [`right`] | two of one height |
//! | `roof` | above all |
";
const MODULES: &str = "pub mod floor; pub mod left; pub mod right; mod roof;";

/// The problems of the table, and the details of the findings, of a crate with this root and these
/// files; files that are not given are empty.
fn crate_of(root: &str, files: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let mut sources = Sources::new();
    for name in ["floor", "left", "right", "roof"] {
        sources.insert(format!("{name}.rs"), String::new());
    }
    sources.insert("lib.rs".into(), root.into());
    for (path, text) in files {
        sources.remove(&path.replace("/mod.rs", ".rs"));
        sources.insert(path.to_string(), text.to_string());
    }
    let (table, found) = findings(&reader::read("invented", "lib.rs", &sources));
    (table, found.into_iter().map(|f| f.detail).collect())
}

/// As [`crate_of`], with the usual table and a root that also has `more`.
fn found_in(more: &str, files: &[(&str, &str)]) -> Vec<String> {
    let (table, found) = crate_of(&format!("{TABLE}{MODULES}{more}"), files);
    assert!(table.is_empty(), "{table:?}");
    found
}

#[test]
fn a_row_that_is_missing_or_too_many() {
    let problems = |table: &str| crate_of(&format!("{table}{MODULES}"), &[]).0;
    assert!(problems(TABLE).is_empty());
    assert_eq!(problems(&TABLE.replace(", [`right`]", "")), [r#"the table has no "right""#]);
    assert_eq!(problems("//! No table.\n").len(), 4);
    let cellar = problems(&TABLE.replace("`roof`", "`roof`, [`cellar`]"));
    assert_eq!(cellar, [r#"the table names "[`cellar`]", which is no module"#]);
    let twice = problems(&TABLE.replace("`roof`", "`roof`, [`floor`]"));
    assert_eq!(twice, [r#"the table names "[`floor`]" twice"#]);
}

#[test]
fn an_import_that_goes_up_in_every_way_of_writing_it() {
    for (source, path) in [
        ("use crate::roof::Tile;", "crate::roof::Tile"),
        ("use crate::roof;", "crate::roof"),
        ("use crate::{left::Lamp, roof::{self as top}};", "crate::roof"),
        ("use super::{roof::{Tile as T}};", "super::roof::Tile"),
        ("pub use crate::roof::Tile;", "crate::roof::Tile"),
        ("use crate::roof::*;", "crate::roof"),
        ("fn f(_: crate::roof::Tile) {}", "crate::roof::Tile"),
        ("mod inner { fn f() { super::super::roof::g() } }", "super::super::roof::g"),
        ("macro_rules! m { () => { $crate::roof::g() } }", "crate::roof::g"),
        ("fn f() { println!(\"{}\", crate::roof::g()) }", "crate::roof::g"),
        ("#[arg(value_parser = crate::roof::g)] struct A;", "crate::roof::g"),
        ("#[cfg(feature = \"roofs\")] use crate::roof::Tile;", "crate::roof::Tile"),
        ("fn f() { use crate::Tile; }", "crate::Tile"),
    ] {
        let roof = ("roof.rs", "pub struct Tile; pub fn g() {}");
        let left = ("left.rs", "pub struct Lamp;");
        let found = found_in("pub use roof::Tile;", &[("right.rs", source), roof, left]);
        let wanted = format!("right.rs:1 names {path}: right → roof");
        assert_eq!(found, [wanted], "{source}");
    }
}

#[test]
fn nothing_imports_the_root() {
    let found = found_in("pub fn run() {}", &[("roof.rs", "\nfn f() { crate::run() }")]);
    assert_eq!(found, ["roof.rs:2 names crate::run: roof → lib.rs"]);
}

#[test]
fn what_goes_down_or_is_no_import_is_let_through() {
    let found = found_in(
        "pub use floor::Stone; fn f(_: roof::Tile) {}",
        &[
            ("floor.rs", "//! See [`crate::roof`].\npub struct Stone;"),
            ("left.rs", "use crate::{Stone, right}; fn f() { let floor = 1; g(floor, right::X) }"),
            ("right.rs", "/// As `crate::roof`\n#[doc = \"x\"] pub const X: crate::Stone = 1;"),
            ("roof.rs", "use floor::X; use crate::floor; use super::left; pub(crate) struct Tile;"),
        ],
    );
    assert!(found.is_empty(), "{found:?}");
    let tests = "#[cfg(test)] mod tests; #[cfg(test)] use crate::roof::T;
        #[cfg(any(test, fuzzing))] mod probe { use crate::roof::T; }
        #[cfg(doc)] use crate::roof; #[cfg(all(test, unix))] fn f() { crate::roof::g() }";
    let found = found_in("", &[("left.rs", tests), ("roof.rs", "pub struct T;")]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn files_of_one_module_that_need_each_other() {
    let found = found_in(
        "",
        &[
            ("left/mod.rs", "mod a; mod b; mod c; pub use a::Lamp;"),
            ("left/a.rs", "pub struct Lamp;\nimpl Lamp { fn f() { super::b::oil() } }"),
            ("left/b.rs", "use super::c::press;\npub fn oil() { press() }"),
            // The table's own module only hands the name on: the circle goes through a.rs.
            ("left/c.rs", "pub fn press() -> crate::left::Lamp { todo() }"),
        ],
    );
    let circle = "left/a.rs:2 → left/b.rs (oil) → left/c.rs (press) → left/a.rs (Lamp)";
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], circle);
}

#[test]
fn a_name_that_is_handed_on_is_needed_where_it_is_used() {
    let child = "use super::oil; pub struct Lamp(fn()); fn f() { oil() }";
    let files = |parent| {
        found_in("", &[("left/mod.rs", parent), ("left/lamp.rs", child), ("right.rs", "")])
    };
    let handed_on = files("mod lamp; pub use lamp::Lamp; pub fn oil() {}");
    assert!(handed_on.is_empty(), "{handed_on:?}");
    let used = files("mod lamp; pub use lamp::Lamp; pub fn oil(_: Lamp) {}");
    assert_eq!(used[1], "left/mod.rs:1 → left/lamp.rs (Lamp) → left/mod.rs (oil)");
    let imported = files("mod lamp; use lamp::Lamp; pub fn oil() {}");
    assert_eq!(imported.len(), 2, "{imported:?}");
}

#[test]
fn two_modules_of_one_row_may_not_need_each_other() {
    let files = [
        ("left.rs", "use crate::right::r; pub fn l() {}"),
        ("right.rs", "use crate::left::l; pub fn r() {}"),
    ];
    let circle = "left.rs:1 → right.rs (r) → left.rs (l)";
    assert_eq!(found_in("", &files)[0], circle);
}

#[test]
fn the_circles_that_are_meant() {
    let root = "//! | module | holds |\n//! |---|---|\n//! | `tensor`, `autograd` | |\nmod tensor; mod autograd;";
    let tensor = ("tensor.rs", "use crate::autograd::Gradients; pub struct Tensor;");
    let autograd = ("autograd.rs", "use crate::tensor::Tensor; pub struct Gradients;");
    assert_eq!(crate_of(root, &[tensor, autograd]), (vec![], vec![]));
}

#[test]
fn a_list_of_what_is_known_is_exact() {
    let sources = [("floor.rs", "use crate::left::Lamp;"), ("left.rs", "pub struct Lamp;")];
    let mut files = Sources::from([("lib.rs".into(), format!("{TABLE}{MODULES}"))]);
    files.extend(["right.rs", "roof.rs"].map(|name| (name.into(), String::new())));
    files.extend(sources.map(|(name, text)| (name.into(), text.into())));
    let (_, found) = findings(&reader::read("invented", "lib.rs", &files));
    assert!(unexpected(&["floor → left"], &found).is_empty());
    assert_eq!(unexpected(&[], &found), ["floor.rs:1 names crate::left::Lamp: floor → left"]);
    let mended = unexpected(&["floor → left", "floor → roof"], &found);
    assert_eq!(mended, [r#""floor → roof" is mended: take it from the list"#]);
}
