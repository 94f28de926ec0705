//! Rust source read into a [`Crate`]. Code that only tests, fuzzing or the documentation see is
//! left out.

use super::attributes::{doc_line, is_left_out, of, path_attribute};
use super::tree::{Crate, Kind, Mention, Module, Name, Sources, Type};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, Meta, UseTree, Visibility};

/// Reads the crate whose root is the file `root`.
pub fn read(name: &str, root: &str, sources: &Sources) -> Crate {
    let module = Module { file: root.into(), is_public: true, ..Module::default() };
    let krate = Crate { name: name.into(), modules: vec![module], docs: Vec::new() };
    let mut reader = Reader { krate, sources, at: 0, folder: String::new() };
    let file = reader.parse(root);
    reader.krate.docs = file.attrs.iter().filter_map(doc_line).collect();
    reader.visit_file(&file);
    reader.krate
}

struct Reader<'a> {
    krate: Crate,
    sources: &'a Sources,
    /// The module whose source is read.
    at: usize,
    /// Where the files of its children are.
    folder: String,
}

impl Reader<'_> {
    fn parse(&self, file: &str) -> syn::File {
        let text = self.sources.get(file).unwrap_or_else(|| panic!("no file {file}"));
        syn::parse_file(text).unwrap_or_else(|e| panic!("{file}: {e}"))
    }

    fn module(&mut self) -> &mut Module {
        &mut self.krate.modules[self.at]
    }

    fn define(&mut self, ident: &syn::Ident, name: Name) {
        self.module().names.push((ident.to_string(), name));
    }

    fn define_type(&mut self, ident: &syn::Ident, visibility: &Visibility) {
        self.define(ident, Name::Item);
        let is_public = matches!(visibility, Visibility::Public(_));
        let (name, line) = (ident.to_string(), ident.span().start().line);
        self.module().types.push(Type { name, line, is_public });
    }

    fn mention(&mut self, path: Vec<String>, line: usize, kind: Kind) {
        self.module().mentions.push(Mention { path, line, kind });
    }

    fn child(&mut self, item: &syn::ItemMod) {
        let name = item.ident.to_string();
        let folder = format!("{}{name}/", self.folder);
        let (file, folder) = match (&item.content, path_attribute(&item.attrs)) {
            (Some(_), _) => (self.module().file.clone(), folder),
            (None, Some(path)) => {
                let file = self.module().file.clone();
                let beside = file.rsplit_once('/').map_or("", |(folder, _)| folder);
                let file = format!("{beside}/{path}").trim_start_matches('/').to_string();
                (file.clone(), format!("{}/", file.trim_end_matches(".rs")))
            }
            (None, None) => {
                let inner = format!("{folder}mod.rs");
                let beside = format!("{}{name}.rs", self.folder);
                (if self.sources.contains_key(&inner) { inner } else { beside }, folder)
            }
        };
        let id = self.krate.modules.len();
        let (parent, is_public) = (Some(self.at), matches!(item.vis, Visibility::Public(_)));
        let module = Module { name, parent, file: file.clone(), is_public, ..Module::default() };
        self.krate.modules.push(module);
        self.define(&item.ident, Name::Module(id));
        let outside = (self.at, std::mem::replace(&mut self.folder, folder));
        self.at = id;
        match &item.content {
            Some((_, items)) => items.iter().for_each(|i| self.visit_item(i)),
            None => self.visit_file(&self.parse(&file)),
        }
        (self.at, self.folder) = outside;
    }

    /// The leaves of `use` below `prefix`.
    fn imports(&mut self, tree: &UseTree, prefix: &[String], kind: Kind) {
        let joined = |ident: &syn::Ident| [prefix, &[ident.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.imports(&path.tree, &joined(&path.ident), kind),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.imports(tree, prefix, kind));
            }
            UseTree::Name(name) if name.ident == "self" => {
                let last = prefix.last().expect("`self` stands in a group").clone();
                self.module().names.push((last, Name::Import(prefix.to_vec())));
                self.mention(prefix.to_vec(), name.ident.span().start().line, kind);
            }
            UseTree::Name(name) => {
                self.define(&name.ident, Name::Import(joined(&name.ident)));
                self.mention(joined(&name.ident), name.ident.span().start().line, kind);
            }
            UseTree::Rename(name) => {
                let path = if name.ident == "self" { prefix.to_vec() } else { joined(&name.ident) };
                self.define(&name.rename, Name::Import(path.clone()));
                self.mention(path, name.ident.span().start().line, kind);
            }
            UseTree::Glob(glob) => {
                self.module().globs.push(prefix.to_vec());
                self.mention(prefix.to_vec(), glob.star_token.spans[0].start().line, kind);
            }
        }
    }

    /// Paths among the tokens of a macro or an attribute, which syn leaves unparsed.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is = |i: usize, c: char| matches!(&tokens.get(i), Some(TokenTree::Punct(p)) if p.as_char() == c);
        let mut i = 0;
        while i < tokens.len() {
            match &tokens[i] {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(first) => {
                    let field = i > 0 && is(i - 1, '.') && !(i > 1 && is(i - 2, '.'));
                    let (line, mut path) = (first.span().start().line, vec![first.to_string()]);
                    while is(i + 1, ':') && is(i + 2, ':') {
                        let Some(TokenTree::Ident(next)) = tokens.get(i + 3) else { break };
                        path.push(next.to_string());
                        i += 3;
                    }
                    if !field {
                        self.mention(path, line, Kind::Use);
                    }
                }
                _ => {}
            }
            i += 1;
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_left_out(of(item)) {
            return;
        }
        match item {
            Item::Mod(item) => return self.child(item),
            Item::Use(item) => {
                let public = !matches!(item.vis, Visibility::Inherited);
                let kind = if public { Kind::ReExport } else { Kind::Import };
                if item.leading_colon.is_none() {
                    self.imports(&item.tree, &[], kind);
                }
                return;
            }
            Item::Const(i) => self.define(&i.ident, Name::Item),
            Item::Enum(i) => self.define_type(&i.ident, &i.vis),
            Item::Fn(i) => self.define(&i.sig.ident, Name::Item),
            Item::Static(i) => self.define(&i.ident, Name::Item),
            Item::Struct(i) => self.define_type(&i.ident, &i.vis),
            Item::Trait(i) => self.define_type(&i.ident, &i.vis),
            Item::Type(i) => self.define_type(&i.ident, &i.vis),
            Item::Union(i) => self.define_type(&i.ident, &i.vis),
            Item::Macro(i) => i.ident.iter().for_each(|ident| self.define(ident, Name::Item)),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let (None, Some(first)) = (&path.leading_colon, path.segments.first()) {
            let names = path.segments.iter().map(|s| s.ident.to_string()).collect();
            self.mention(names, first.ident.span().start().line, Kind::Use);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.visit_path(&mac.path);
        self.tokens(mac.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        match &attribute.meta {
            Meta::List(list) => self.tokens(list.tokens.clone()),
            Meta::NameValue(pair) if !pair.path.is_ident("doc") => self.visit_expr(&pair.value),
            _ => {}
        }
    }

    /// `pub(crate)` is no use of the root.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let left_out = match item {
            syn::ImplItem::Const(i) => is_left_out(&i.attrs),
            syn::ImplItem::Fn(i) => is_left_out(&i.attrs),
            _ => false,
        };
        if !left_out {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !is_left_out(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_expr_block(&mut self, block: &'ast syn::ExprBlock) {
        if !is_left_out(&block.attrs) {
            visit::visit_expr_block(self, block);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !is_left_out(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_left_out(&field.attrs) {
            visit::visit_field(self, field);
        }
    }
}
