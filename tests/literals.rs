//! What the texts in the sources may say: a library spells no flag, and Chinese stands in the
//! catalogue of messages alone.

use crate::floors::{attributes, crates};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use workspace_tests::workspace;

/// Everything below the command line.
const LIBRARIES: [&str; 12] = [
    "llm-core",
    "llm-courses",
    "llm-crew-mpi",
    "llm-formats",
    "llm-lens",
    "llm-messages",
    "llm-report",
    "llm-run",
    "llm-stories",
    "llm-variant-mha",
    "llm-variant-modern",
    "llm-web",
];

/// The texts of a source, each with its line; code that only tests, fuzzing or the documentation
/// see is left out, and so are comments.
struct Literals(Vec<(usize, String)>);

impl Literals {
    fn of(source: &str) -> Vec<(usize, String)> {
        let mut found = Literals(Vec::new());
        found.visit_file(&syn::parse_file(source).unwrap());
        found.0
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let is_doc = |tokens: &TokenStream| matches!(tokens.clone().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc");
        for token in tokens {
            match token {
                TokenTree::Group(group) if is_doc(&group.stream()) => {}
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => self.visit_lit(&syn::Lit::new(literal)),
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Literals {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !attributes::is_left_out(attributes::of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !attributes::is_left_out(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_lit(&mut self, literal: &'ast syn::Lit) {
        let text = match literal {
            syn::Lit::Str(text) => text.value(),
            syn::Lit::ByteStr(bytes) => String::from_utf8_lossy(&bytes.value()).into_owned(),
            syn::Lit::Char(c) => c.value().into(),
            _ => return,
        };
        self.0.push((literal.span().start().line, text));
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.tokens(mac.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        match &attribute.meta {
            syn::Meta::List(list) => self.tokens(list.tokens.clone()),
            syn::Meta::NameValue(pair) if !pair.path.is_ident("doc") => {
                self.visit_expr(&pair.value)
            }
            _ => {}
        }
    }
}

/// The sources of a crate, by their files below its `src`.
pub fn sources(krate: &str) -> impl Iterator<Item = (String, String)> {
    let folder = workspace().join("crates").join(krate);
    let modules = &crates().iter().find(|of| of.name == krate).unwrap().modules;
    let files: BTreeSet<&str> = modules.iter().map(|module| module.file.as_str()).collect();
    files.into_iter().map(move |file| {
        let source = std::fs::read_to_string(folder.join("src").join(file)).unwrap();
        (file.to_string(), source)
    })
}

/// Texts of a crate that `is_wrong`, with their places.
pub fn found_in(krate: &str, mut is_wrong: impl FnMut(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (file, source) in sources(krate) {
        let wrong = Literals::of(&source).into_iter().filter(|(_, text)| is_wrong(&file, text));
        found.extend(wrong.map(|(line, text)| format!("{krate}/src/{file}:{line}: {text:?}")));
    }
    found
}

fn spells_a_flag(text: &str) -> bool {
    let after = text.match_indices("--").map(|(at, dashes)| &text[at + dashes.len()..]);
    after.into_iter().any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
}

#[test]
fn no_library_spells_a_flag() {
    let found = LIBRARIES.iter().flat_map(|krate| found_in(krate, |_, text| spells_a_flag(text)));
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

pub fn has_han(text: &str) -> bool {
    text.contains(|c| ('\u{3400}'..='\u{9FFF}').contains(&c))
}

/// Between both languages in a text of the help.
pub const BOTH: &str = "zh: ";

#[test]
fn both_languages_stand_side_by_side_in_the_catalogue() {
    let elsewhere = |krate: &str, place: &'static str| {
        found_in(krate, |file, text| {
            !file.starts_with(place) && has_han(text) && !text.contains(BOTH)
        })
    };
    let found = [elsewhere("llm-cli", "messages/"), elsewhere("llm-report", "labels.rs")].concat();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn texts_are_found_wherever_code_has_them() {
    let source = r##"
        //! --doc
        const A: &str = "a --first";
        #[error("--second {x}")]
        struct B;
        impl B {
            fn f() { println!("{}", format!(r#"x
                --third"#)) }
            #[cfg(test)]
            fn g() { "--tested"; }
        }
        #[cfg(test)]
        mod tests { const C: &str = "--tested"; }
        messages! { name(x) "en {x}", "中 --fourth {x}"; }
        const NONE: [&str; 3] = ["--", "a -- b", "1 --2"];
    "##;
    let lines = |is_wrong: fn(&str) -> bool| -> Vec<usize> {
        let found = Literals::of(source).into_iter().filter(|(_, text)| is_wrong(text));
        found.map(|(line, _)| line).collect()
    };
    assert_eq!(lines(spells_a_flag), [3, 4, 7, 14]);
    assert_eq!(lines(has_han), [14]);
}
