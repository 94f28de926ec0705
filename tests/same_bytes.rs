//! What would round otherwise on another system stays out of what a model is made of.

use crate::floors::attributes;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use workspace_tests::workspace;

/// Methods of floats that std leaves to the system's library, whose last bits differ from one to the next. Roots are
/// exact everywhere.
const SYSTEMS: [&str; 25] = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "exp",
    "exp2", "exp_m1", "hypot", "ln", "ln_1p", "log", "log10", "log2", "powf", "sin", "sin_cos",
    "sinh", "tan", "tanh",
];

/// The crates whose numbers come into a checkpoint.
const MODELS: [&str; 3] = ["llm-core", "llm-variant-mha", "llm-variant-modern"];

/// Calls of such methods in a source, each with its line; what only tests see is left out.
struct Calls(Vec<(usize, String)>);

impl Calls {
    fn of(source: &str) -> Vec<(usize, String)> {
        let mut found = Calls(Vec::new());
        found.visit_file(&syn::parse_file(source).unwrap());
        found.0
    }

    fn tokens(&mut self, tokens: proc_macro2::TokenStream) {
        use proc_macro2::TokenTree::{Group, Ident, Punct};
        let mut after_dot = false;
        for token in tokens {
            match &token {
                Group(group) => self.tokens(group.stream()),
                Ident(name) if after_dot => self.name(name),
                _ => {}
            }
            after_dot = matches!(&token, Punct(punct) if matches!(punct.as_char(), '.' | ':'));
        }
    }

    fn name(&mut self, name: &proc_macro2::Ident) {
        if SYSTEMS.iter().any(|of| name == of) {
            self.0.push((name.span().start().line, name.to_string()));
        }
    }
}

impl<'ast> Visit<'ast> for Calls {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !attributes::is_left_out(attributes::of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.name(&call.method);
        visit::visit_expr_method_call(self, call);
    }

    /// `f32::exp`, also where it is handed on.
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|s| &s.ident).collect();
        if let [.., of, name] = &segments[..]
            && (*of == "f32" || *of == "f64")
        {
            self.name(name);
        }
        visit::visit_path(self, path);
    }

    /// The body of a `simd_kernel!`, and whatever else a macro is given.
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let mut inside = Calls(Vec::new());
        inside.tokens(mac.tokens.clone());
        self.0.append(&mut inside.0);
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.append(&mut sources(&path)),
            false => found.push(path),
        }
    }
    found.retain(|path| path.extension().is_some_and(|e| e == "rs"));
    found
}

#[test]
fn no_number_of_a_model_comes_from_the_systems_maths() {
    let mut files = 0;
    for name in MODELS {
        for path in sources(&workspace().join("crates").join(name).join("src")) {
            let is_test = path.iter().any(|part| part == "tests" || part == "tests.rs");
            if is_test {
                continue;
            }
            files += 1;
            let found = Calls::of(&std::fs::read_to_string(&path).unwrap());
            assert!(found.is_empty(), "{}: of the crate libm instead: {found:?}", path.display());
        }
    }
    assert!(files > 100);
}

#[test]
fn calls_are_found_wherever_they_stand() {
    let source = "fn f(x: f32) { x.exp(); kernel! { fn g(x: f32) { x.ln(); libm::logf(x); f64::sin(x) } } [x].map(f64::cos); }
        #[cfg(test)] mod tests { fn f(x: f32) { x.tanh(); } }";
    let found: Vec<String> = Calls::of(source).into_iter().map(|(_, name)| name).collect();
    assert_eq!(found, ["exp", "ln", "sin", "cos"]);
}
