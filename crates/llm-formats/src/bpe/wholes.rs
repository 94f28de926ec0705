//! Tokens that are found in a text as they are written, before it is cut into words.

use super::kind::refuse;
use super::parts::Added;
use llm_core::{Result, TokenId};
use regex::Regex;
use std::borrow::Cow;
use std::collections::HashMap;
use tokenizers::NormalizedString;

/// Finds them: the first in the text, and of those that begin there the longest.
#[derive(Debug)]
pub(super) struct Wholes {
    /// In the text as it is, then in what has been put into its normal form.
    stages: [Option<Finder>; 2],
    nfc: bool,
}

#[derive(Debug)]
struct Finder {
    any: Regex,
    numbers: HashMap<String, TokenId>,
}

/// A part of a text.
pub(super) enum Part<'t> {
    /// One of the tokens.
    Whole(TokenId),
    /// What is to be cut into words.
    Text(Cow<'t, str>),
}

impl Finder {
    fn new(mut tokens: Vec<(String, TokenId)>) -> Result<Option<Finder>> {
        if tokens.is_empty() {
            return Ok(None);
        }
        // Of alternatives the first that fits is taken.
        tokens.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let all: Vec<String> = tokens.iter().map(|(text, _)| regex::escape(text)).collect();
        let any = Regex::new(&all.join("|")).map_err(|e| refuse(e.to_string()))?;
        Ok(Some(Finder { any, numbers: tokens.into_iter().collect() }))
    }
}

impl Wholes {
    /// `added` are found; with `nfc` the rest is put into that form.
    pub(super) fn new(added: &[Added], nfc: bool) -> Result<Wholes> {
        let stage = |normalized: bool| {
            let some = added.iter().filter(|token| token.normalized == normalized);
            let text = |token: &Added| match normalized && nfc {
                true => in_normal_form(&token.content).into_owned(),
                false => token.content.clone(),
            };
            Finder::new(some.map(|token| (text(token), token.id as TokenId)).collect())
        };
        Ok(Wholes { stages: [stage(false)?, stage(true)?], nfc })
    }

    /// The parts of a text, one after the other.
    ///
    /// # Errors
    /// What `each` says.
    pub(super) fn parts<'t>(
        &self,
        text: &'t str,
        each: &mut dyn FnMut(Part<'t>) -> Result<()>,
    ) -> Result<()> {
        let [raw, normal] = &self.stages;
        cut(raw.as_ref(), text, &mut |part| match part {
            Err(token) => each(Part::Whole(token)),
            Ok(text) => {
                let form = if self.nfc { in_normal_form(text) } else { Cow::Borrowed(text) };
                match (form, normal) {
                    (form, None) => each(Part::Text(form)),
                    (Cow::Borrowed(text), normal) => cut(normal.as_ref(), text, &mut |part| {
                        each(part.map_or_else(Part::Whole, |text| Part::Text(text.into())))
                    }),
                    (Cow::Owned(text), normal) => cut(normal.as_ref(), &text, &mut |part| {
                        let text = |text: &str| Part::Text(Cow::Owned(text.to_string()));
                        each(part.map_or_else(Part::Whole, text))
                    }),
                }
            }
        })
    }
}

/// The text between the tokens that are found, and these.
fn cut<'t>(
    finder: Option<&Finder>,
    text: &'t str,
    each: &mut dyn FnMut(Result<&'t str, TokenId>) -> Result<()>,
) -> Result<()> {
    let mut start = 0;
    for found in finder.iter().flat_map(|finder| finder.any.find_iter(text)) {
        let number = finder.and_then(|finder| finder.numbers.get(found.as_str()));
        let Some(number) = number else { continue };
        if found.start() > start {
            each(Ok(&text[start..found.start()]))?;
        }
        each(Err(*number))?;
        start = found.end();
    }
    if start < text.len() {
        each(Ok(&text[start..]))?;
    }
    Ok(())
}

/// Unicode's form NFC, as in the library: letters with their marks are one character.
fn in_normal_form(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut form = NormalizedString::from(text);
    form.nfc();
    if form.get() == text { Cow::Borrowed(text) } else { Cow::Owned(form.get().to_string()) }
}
