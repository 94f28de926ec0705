//! The weight of each crate: lines of its code may only become fewer, unless the commit that adds
//! them says so here.

use crate::floors::attributes::is_left_out;
use crate::floors::crates;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::parse::Parser;
use workspace_tests::workspace;

/// The most lines of code of each crate: lines of `src` with a token that is no comment and stands
/// in no test. A number that grows is explained by the commit that changes it; that of llm-cli has
/// to become smaller, as the run leaves it for a library.
const MOST: [(&str, usize); 19] = [
    ("llm-cli", 9_880),
    ("llm-core", 17_745),
    ("llm-courses", 660),
    ("llm-crew-mpi", 740),
    ("llm-formats", 10_875),
    ("llm-gpu", 3_950),
    ("llm-lens", 2_690),
    ("llm-messages", 710),
    ("llm-python", 2_790),
    ("llm-report", 2_570),
    ("llm-run", 10_640),
    ("llm-serve", 1_390),
    ("llm-stories", 930),
    ("llm-variant-mha", 210),
    ("llm-variant-modern", 400),
    ("llm-web", 1_350),
    ("train-gpt", 50),
    ("train-gpt-mha", 50),
    ("train-gpt-modern", 50),
];

/// The most lines of code of all crates together: what one of them grows by, the others lose, unless
/// the commit says here why the house is to be larger.
const ALL: usize = 67_360;

/// Lines by which a limit may exceed what there is; a crate that lost more takes its limit along.
const SLACK: usize = 50;

/// Lines that hold a token of code: no comment, no documentation, nothing that only tests see.
fn lines_of_code(text: &str) -> usize {
    let tokens = text.parse().unwrap();
    let mut lines = BTreeSet::new();
    collect(tokens, &mut lines);
    lines.len()
}

fn collect(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if let (TokenTree::Punct(mark), Some(next)) = (&token, tokens.peek())
            && mark.as_char() == '#'
        {
            let inner = matches!(next, TokenTree::Punct(p) if p.as_char() == '!');
            let bang = inner.then(|| tokens.next()).flatten();
            let Some(TokenTree::Group(group)) = tokens.peek() else { continue };
            let group = group.clone();
            if is_doc(&group.stream()) {
                tokens.next();
                continue;
            }
            let attribute: TokenStream =
                [token.clone(), TokenTree::Group(group)].into_iter().collect();
            let parsed = syn::Attribute::parse_outer.parse2(attribute);
            if bang.is_none() && parsed.is_ok_and(|all| is_left_out(&all)) {
                tokens.next();
                skip_item(&mut tokens);
                continue;
            }
        }
        match token {
            TokenTree::Group(group) => {
                let (open, close) = (group.span_open(), group.span_close());
                if group.delimiter() != Delimiter::None {
                    lines.extend([open.start().line, close.start().line]);
                }
                collect(group.stream(), lines);
            }
            other => lines.extend(other.span().start().line..=other.span().end().line),
        }
    }
}

fn is_doc(attribute: &TokenStream) -> bool {
    matches!(attribute.clone().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc")
}

/// Everything up to the end of what an attribute stands before: a block in braces, `;` or `,`.
fn skip_item(tokens: &mut std::iter::Peekable<proc_macro2::token_stream::IntoIter>) {
    for token in tokens.by_ref() {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => break,
            TokenTree::Punct(p) if [';', ','].contains(&p.as_char()) => return,
            _ => {}
        }
    }
    if matches!(tokens.peek(), Some(TokenTree::Punct(p)) if [';', ','].contains(&p.as_char())) {
        tokens.next();
    }
}

#[test]
fn comments_and_tests_weigh_nothing() {
    let text = "//! A crate.\n\
                #![allow(dead_code)]\n\
                use a::{\n    B,\n};\n\
                \n\
                /// One.\n\
                /* none */\n\
                #[derive(Debug)]\n\
                struct One {\n    /// Field.\n    a: u8, // here\n    #[cfg(test)]\n    b: u8,\n}\n\
                const TEXT: &str = \"two\nlines\";\n\
                #[cfg(test)]\n\
                #[allow(unused)]\n\
                mod tests {\n    fn f() {}\n}\n\
                #[cfg(any(test, fuzzing))]\n\
                use a::{B, C};\n\
                #[cfg(unix)]\n\
                fn f() {}\n";
    assert_eq!(lines_of_code(text), 1 + 3 + 4 + 2 + 2);
}

#[test]
fn no_crate_becomes_heavier_unseen() {
    let mut problems = Vec::new();
    let found: Vec<(String, usize)> = crates()
        .iter()
        .map(|krate| {
            let src = workspace().join("crates").join(&krate.name).join("src");
            let files: BTreeSet<&str> = krate.modules.iter().map(|m| m.file.as_str()).collect();
            let read = |file: &&str| std::fs::read_to_string(src.join(file)).unwrap();
            let lines = files.iter().map(|file| lines_of_code(&read(file))).sum();
            (krate.name.clone(), lines)
        })
        .collect();
    for (name, lines) in &found {
        match MOST.iter().find(|(of, _)| of == name) {
            Some((_, most)) if lines > most => {
                problems.push(format!("{name} has {lines} lines of code, {most} at most: shorten it, or raise the number here \
                     and say why in the commit"));
            }
            Some((_, most)) if lines + SLACK < *most => {
                problems.push(format!("{name} has {lines} lines of code: lower its {most}"));
            }
            Some(_) => {}
            None => problems.push(format!("{name} has {lines} lines of code and no limit")),
        }
    }
    let sum: usize = found.iter().map(|(_, lines)| lines).sum();
    if !(ALL - 2 * SLACK..=ALL).contains(&sum) {
        problems.push(format!("all crates have {sum} lines of code, the limit is {ALL}"));
    }
    let is_there = |name: &str| found.iter().any(|(of, _)| of == name);
    let gone = MOST.iter().filter(|(name, _)| !is_there(name));
    problems.extend(gone.map(|(name, _)| format!("{name} is gone: take it from the list")));
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
