//! What attributes say: conditions, documentation, paths of files.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta, Token};

pub fn of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(i) => &i.attrs,
        Item::Enum(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Macro(i) => &i.attrs,
        Item::Mod(i) => &i.attrs,
        Item::Static(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        Item::Trait(i) => &i.attrs,
        Item::Type(i) => &i.attrs,
        Item::Union(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        _ => &[],
    }
}

/// Whether there is a `#[cfg(..)]` that no build of a program fulfils.
pub fn is_left_out(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        let Meta::List(list) = &a.meta else { return false };
        list.path.is_ident("cfg") && list.parse_args::<Meta>().is_ok_and(|meta| is_never(&meta))
    })
}

fn is_never(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => ["test", "doc", "fuzzing"].iter().any(|c| path.is_ident(c)),
        Meta::List(list) => {
            let inner = Punctuated::<Meta, Token![,]>::parse_terminated;
            let Ok(inner) = list.parse_args_with(inner) else { return false };
            let mut inner = inner.iter();
            list.path.is_ident("all") && inner.clone().any(is_never)
                || list.path.is_ident("any") && inner.all(is_never)
        }
        Meta::NameValue(_) => false,
    }
}

fn text_of(attribute: &Attribute, key: &str) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if pair.path.is_ident(key) => {
            Some(text.value())
        }
        _ => None,
    }
}

pub fn doc_line(attribute: &Attribute) -> Option<String> {
    text_of(attribute, "doc")
}

pub fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|a| text_of(a, "path"))
}
