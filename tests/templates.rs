//! Every template of the libraries has its translation, and no other has one: the sources are held
//! against `crates/llm-messages/src/zh/libraries.json`, those of the page's core also against
//! `crates/llm-web/src/zh.json`.

use crate::floors::attributes;
use crate::literals::sources;
use llm_messages::Catalogue;
use proc_macro2::{TokenStream, TokenTree};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use workspace_tests::workspace;

/// Crates whose messages are translated there.
pub const CRATES: [&str; 11] = [
    "llm-core",
    "llm-crew-mpi",
    "llm-formats",
    "llm-gpu",
    "llm-lens",
    "llm-messages",
    "llm-report",
    "llm-run",
    "llm-serve",
    "llm-variant-mha",
    "llm-variant-modern",
];

/// The templates of a source, as their translations' keys; what only tests see is left out.
#[derive(Default)]
struct Templates(BTreeSet<String>);

impl Templates {
    fn of(source: &str) -> BTreeSet<String> {
        let mut found = Templates::default();
        found.visit_file(&syn::parse_file(source).unwrap());
        found.0
    }

    fn put(&mut self, literal: Option<&TokenTree>, form: impl Fn(String) -> String) {
        let Some(TokenTree::Literal(literal)) = literal else { return };
        if let syn::Lit::Str(text) = syn::Lit::new(literal.clone()) {
            self.0.insert(without_specs(&form(text.value())));
        }
    }

    /// `message!("…", ..)` and `counted!(.., "…")`.
    fn call(&mut self, name: &str, inside: TokenStream) {
        let tokens: Vec<TokenTree> = inside.clone().into_iter().collect();
        match name {
            "message" => self.put(tokens.first(), |text| text),
            // A variant of an error and what it says.
            "says" => return self.said_of_variants(inside),
            "counted" => {
                self.put(tokens.last(), |text| format!("{{}} {text}"));
                self.put(tokens.last(), |text| format!("{{}} {text}s"));
            }
            _ => {}
        }
        self.tokens(inside);
    }

    /// `says! { Error { Variant { field } = "…", .. } }`.
    fn said_of_variants(&mut self, inside: TokenStream) {
        let all: Vec<TokenTree> = inside.clone().into_iter().collect();
        for pair in all.windows(2) {
            if matches!(&pair[0], TokenTree::Punct(mark) if mark.as_char() == '=') {
                self.put(Some(&pair[1]), |text| text);
            }
        }
        for token in &all {
            if let TokenTree::Group(group) = token {
                self.said_of_variants(group.stream());
            }
        }
        self.tokens(inside);
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let all: Vec<TokenTree> = tokens.into_iter().collect();
        for (i, token) in all.iter().enumerate() {
            let TokenTree::Group(group) = token else { continue };
            match all[..i] {
                [.., TokenTree::Ident(ref name), TokenTree::Punct(ref mark)]
                    if mark.as_char() == '!' =>
                {
                    self.call(&name.to_string(), group.stream());
                }
                _ => self.tokens(group.stream()),
            }
        }
    }
}

impl<'ast> Visit<'ast> for Templates {
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

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let name = mac.path.segments.last().map(|last| last.ident.to_string());
        self.call(&name.unwrap_or_default(), mac.tokens.clone());
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let (syn::Expr::Path(of), Some(syn::Expr::Lit(first))) = (&*call.func, call.args.first())
            && of.path.segments.last().is_some_and(|last| last.ident == "joined")
            && let syn::Lit::Str(text) = &first.lit
        {
            self.0.insert(text.value());
        }
        visit::visit_expr_call(self, call);
    }
}

/// `{:.4}` as `{}`.
pub fn without_specs(template: &str) -> String {
    let mut parts = template.split("{:");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |all, part| all + "{}" + part.split_once('}').map_or("", |(_, rest)| rest))
}

/// The templates of a crate.
pub fn templates(krate: &str) -> BTreeSet<String> {
    sources(krate).flat_map(|(_, source)| Templates::of(&source)).collect()
}

/// Whether a place is an option's, by its name.
fn is_option(inside: &str) -> bool {
    inside.starts_with(|c: char| c.is_ascii_lowercase())
}

/// The options that a text names.
fn options(text: &str) -> BTreeSet<&str> {
    let insides = text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    insides.filter(|inside| is_option(inside)).collect()
}

/// Which values a text has places for, from 0 on, in their order.
fn places(text: &str) -> Vec<usize> {
    let text = text.replace("{{", "").replace("}}", "");
    let mut next = 0;
    let insides = text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    let insides = insides.filter(|inside| !is_option(inside));
    let mut places: Vec<usize> = insides
        .map(|inside| {
            let at = inside.parse::<usize>().map_or(next, |number| number - 1);
            next = at + 1;
            at
        })
        .collect();
    places.sort();
    places
}

/// What is wrong with a file for these templates: without an entry, with other places, or an entry
/// that is of none of them or there twice.
fn problems(templates: &BTreeSet<String>, pairs: &[(String, String)]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut entries: BTreeMap<&str, &str> = BTreeMap::new();
    for (en, zh) in pairs {
        if entries.insert(en, zh).is_some() {
            problems.push(format!("twice: {en:?}"));
        }
    }
    for (en, zh) in &entries {
        if !templates.contains(*en) {
            problems.push(format!("nobody says {en:?}"));
        } else if places(en) != places(zh) || options(en) != options(zh) {
            problems.push(format!("other places: {en:?} = {zh:?}"));
        }
    }
    let says = |template: &&String| template.contains(char::is_alphabetic);
    let missing = templates.iter().filter(says);
    let missing = missing.filter(|template| !entries.contains_key(template.as_str()));
    problems.extend(missing.map(|template| {
        format!("no translation of {template:?} in the zh/*.json of its crate or of llm-messages")
    }));
    problems
}

/// What stands in a file below `crates`, an entry a line: JSON itself keeps the last of two with one key.
pub fn pairs_of(file: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(workspace().join("crates").join(file)).unwrap();
    let entry = |line: &str| {
        let inside = line.trim().trim_end_matches(',');
        let object: Map<String, Value> = serde_json::from_str(&format!("{{{inside}}}")).ok()?;
        let (en, zh) = object.into_iter().next()?;
        Some((en, zh.as_str()?.to_string()))
    };
    text.lines().filter_map(entry).collect()
}

/// What the libraries say.
fn of_libraries() -> Vec<(String, String)> {
    let files = ["libraries.json", "run.json"].map(|name| format!("llm-messages/src/zh/{name}"));
    files.iter().flat_map(|file| pairs_of(file)).collect()
}

/// All templates, with those of the command line.
pub fn all_templates() -> Vec<(String, String)> {
    of_libraries().into_iter().chain(pairs_of("llm-cli/src/messages/zh/cli.json")).collect()
}

#[test]
fn every_template_of_the_libraries_has_its_chinese() {
    let all: BTreeSet<String> = CRATES.into_iter().flat_map(templates).collect();
    let problems = problems(&all, &of_libraries());
    assert!(problems.is_empty() && all.len() > 350, "{}", problems.join("\n"));
}

/// An entry in a section that is read as something else would be English without a word.
#[test]
fn every_translation_is_found_by_its_template() {
    let files = [
        "llm-messages/src/zh/libraries.json",
        "llm-messages/src/zh/run.json",
        "llm-cli/src/messages/zh/cli.json",
        "llm-web/src/zh.json",
    ];
    for file in files {
        let text = std::fs::read_to_string(workspace().join("crates").join(file)).unwrap();
        let catalogue = Catalogue::new(&[&text]);
        for (en, zh) in pairs_of(file) {
            assert_eq!(catalogue.translation(&en), Some(&zh[..]), "{file}");
        }
    }
}

#[test]
fn every_translation_of_the_command_line_has_the_same_places() {
    let own = pairs_of("llm-cli/src/messages/zh/cli.json");
    let problems = problems(&own.iter().map(|(en, _)| en.clone()).collect(), &own);
    assert!(problems.is_empty() && own.len() > 300, "{}", problems.join("\n"));
}

#[test]
fn every_template_of_the_pages_core_has_its_chinese() {
    let known: BTreeSet<String> = of_libraries().into_iter().map(|(en, _)| en).collect();
    let own = &templates("llm-web") - &known;
    let problems = problems(&own, &pairs_of("llm-web/src/zh.json"));
    assert!(problems.is_empty() && own.len() > 15, "{}", problems.join("\n"));
}

#[test]
fn templates_are_found_wherever_code_has_them() {
    let source = r##"
        fn f() -> Message {
            assert!(message!("one {:.2} of {}", counted!(2, "head"), message!("two")).is());
            Message::joined("{}; {}", all)
        }
        named!(Kind, message!("'a' or 'b'"), A = "a");
        const C: Message = llm_core::message!("{{3}} {:e}", x);
        #[cfg(test)]
        mod tests { fn g() { message!("tested"); } }
    "##;
    let want = ["one {} of {}", "{} head", "{} heads", "two", "{}; {}", "'a' or 'b'", "{{3}} {}"];
    assert_eq!(Templates::of(source), want.map(String::from).into());
    assert_eq!(places("{2} {} {1} {{4}}"), [0, 1, 2]);
    assert_eq!(places("{} {}"), [0, 1]);
    assert_eq!(places("{2} {}"), [1, 2]);
}
