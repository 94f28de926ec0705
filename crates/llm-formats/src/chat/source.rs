//! The source of a chat template, before it is read: a program from outside.
//!
//! Jinja's reader calls itself for every word of `not not not ..`, and what it makes runs with the
//! operators of minijinja, some of which take no account of time and memory. So the source is
//! bounded here, word by word, and whatever it gives a name to goes through a filter that bounds it
//! (`kept` in `environment`): `{% set a = b + c %}` is read as `{% set a = (b + c)|kept %}`. Nothing
//! grows without a name: not beyond what stands in one expression.

use llm_core::base::{self, Message};
use llm_core::message;

/// Bytes of a template; the longest known ones have 20,000.
const MOST_BYTES: usize = 256 << 10;

/// Words of an expression or statement (46 in known ones), brackets in one another, and `elif` of
/// one `if`.
const MOST_WORDS: usize = 256;
const MOST_BRACKETS: usize = 32;
const MOST_BRANCHES: usize = 100;

/// What is done with values that get a name; the second where it is an attribute.
pub(super) const KEPT: [&str; 2] = ["kept", "kept_inside"];

/// A word of an expression.
struct Word<'s> {
    text: &'s str,
    start: usize,
    /// Brackets around it.
    depth: usize,
}

impl Word<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    fn is_text(&self) -> bool {
        self.text.starts_with(['\'', '"'])
    }
}

/// The source with everything bounded that gets a name.
///
/// # Errors
/// What there is too much of, or is not done here.
pub(super) fn bounded(source: &str) -> Result<String, Message> {
    if source.len() > MOST_BYTES {
        let [len, most] = [source.len(), MOST_BYTES].map(|n| base::bytes(n as u64));
        return Err(message!("its chat template is too long: {}, of at most {}", len, most));
    }
    let mut bounded = String::with_capacity(source.len());
    let (mut at, mut copied) = (0, 0);
    let mut branches = Vec::new();
    while let Some((start, kind)) = next_mark(source, at) {
        let inner = start + 2;
        let skipped = match kind {
            b'#' => Some(find(source, inner, "#}").map(|end| end + 2)),
            b'%' => basic_tag(source, inner, "raw").map(|raw| end_of_raw(source, raw)),
            _ => None,
        };
        let end = match skipped {
            Some(end) => end,
            None => {
                let close = if kind == b'%' { "%}" } else { "}}" };
                let (words, end) = words(source, inner, close)?;
                if let (b'%', Some(end)) = (kind, end) {
                    for (place, put) in statement(&words, &source[..end], &mut branches)? {
                        bounded.push_str(&source[copied..place]);
                        bounded.push_str(&put);
                        copied = place;
                    }
                }
                end.map(|end| end + source[end..].find(close).unwrap_or(0) + 2)
            }
        };
        // What has no end is refused by Jinja's reader.
        let Some(end) = end else { break };
        at = end;
    }
    bounded.push_str(&source[copied..]);
    Ok(bounded)
}

fn find(source: &str, from: usize, what: &str) -> Option<usize> {
    source.get(from..)?.find(what).map(|at| from + at)
}

/// Where the next `{{`, `{%` or `{#` stands.
fn next_mark(source: &str, from: usize) -> Option<(usize, u8)> {
    let mut pairs = source.as_bytes().windows(2).enumerate().skip(from);
    pairs
        .find(|(_, pair)| pair[0] == b'{' && b"{%#".contains(&pair[1]))
        .map(|(i, pair)| (i, pair[1]))
}

/// Where a statement of one word ends that begins there.
fn basic_tag(source: &str, from: usize, word: &str) -> Option<usize> {
    let rest = source.get(from..)?;
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest).trim_start();
    let rest = rest.strip_prefix(word)?.trim_start();
    let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest).strip_prefix("%}")?;
    Some(source.len() - rest.len())
}

fn end_of_raw(source: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = find(source, at, "{%")? + 2;
        if let Some(end) = basic_tag(source, at, "endraw") {
            return Some(end);
        }
    }
}

/// Words, and where the mark (with its `-`) stands that ends them.
type Words<'s> = (Vec<Word<'s>>, Option<usize>);

/// The words from there on.
fn words<'s>(source: &'s str, from: usize, close: &str) -> Result<Words<'s>, Message> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut at = from;
    if source[at..].starts_with(['-', '+']) {
        at += 1;
    }
    let mut depth = 0usize;
    loop {
        let rest = source[at..].trim_start();
        at = source.len() - rest.len();
        let Some(first) = rest.chars().next() else { return Ok((words, None)) };
        let marked = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        if depth == 0 && (rest.starts_with(close) || marked.starts_with(close)) {
            return Ok((words, Some(at)));
        }
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let len = match first {
            '\'' | '"' => match end_of_text(rest, first) {
                Some(len) => len,
                None => return Ok((words, None)),
            },
            c if is_name(c) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            _ if ["==", "!=", "<=", ">=", "//", "**"].iter().any(|two| rest.starts_with(two)) => 2,
            c => c.len_utf8(),
        };
        match first {
            '(' | '[' | '{' => depth += 1,
            // Jinja's reader refuses what is closed and was not opened.
            ')' | ']' | '}' if depth == 0 => return Ok((words, None)),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth > MOST_BRACKETS || words.len() == MOST_WORDS {
            return Err(message!("its chat template has too long or too deep an expression"));
        }
        words.push(Word { text: &rest[..len], start: at, depth });
        at += len;
        if let [.., before, sign, after] = words.as_slice()
            && sign.text.starts_with('*')
            && !matches!(before.text, "(" | ",")
            && !before.is_text()
            && !after.is_text()
        {
            return Err(not_done(sign.text));
        }
    }
}

/// Bytes of a text in quotes.
fn end_of_text(rest: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    let mut chars = rest.char_indices().skip(1);
    let end = chars.find(|&(_, c)| {
        let ends = c == quote && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map(|(i, _)| i + 1)
}

fn not_done(word: &str) -> Message {
    message!("its chat template uses '{}', which is not done here", word.to_string())
}

/// What to put where into a statement that ends with the source. `branches` counts those of each
/// `if` around it.
fn statement(
    words: &[Word<'_>],
    source: &str,
    branches: &mut Vec<usize>,
) -> Result<Vec<(usize, String)>, Message> {
    let Some(keyword) = words.first() else { return Ok(Vec::new()) };
    let end = source.trim_end().len();
    let at = |what: &str| words.iter().position(|word| word.depth == 0 && word.text == what);
    let around = |from: usize, to: usize, filter: &str| {
        [(from, " (".to_string()), (to, format!(")|{filter} "))]
    };
    Ok(match keyword.text {
        "if" | "elif" => {
            match branches.last_mut() {
                Some(n) if keyword.text == "elif" => *n += 1,
                _ => branches.push(0),
            }
            if branches.last() > Some(&MOST_BRANCHES) {
                return Err(message!(
                    "its chat template has an if of more than {} branches",
                    MOST_BRANCHES
                ));
            }
            around(keyword.end(), end, KEPT[0]).into()
        }
        "endif" => {
            branches.pop();
            Vec::new()
        }
        "set" => match at("=") {
            None => Vec::new(),
            Some(sign) => {
                let inside = words[..sign].iter().any(|word| word.text == ".");
                around(words[sign].end(), end, KEPT[usize::from(inside)]).into()
            }
        },
        "for" => {
            let Some(from) = at("in") else { return Ok(Vec::new()) };
            if at("recursive").is_some() {
                return Err(not_done("recursive"));
            }
            let chosen = at("if").filter(|&chosen| chosen > from);
            let to = chosen.map_or(end, |chosen| words[chosen].start);
            let mut put = Vec::from(around(words[from].end(), to, KEPT[0]));
            if let Some(chosen) = chosen {
                put.extend(around(words[chosen].end(), end, KEPT[0]));
            }
            put
        }
        "macro" => {
            let pairs = words.windows(2).filter(|pair| {
                matches!(pair[0].text, "(" | ",") && pair[0].depth == 1 && pair[1].text != ")"
            });
            let names = pairs.map(|pair| pair[1].text);
            // The last one gets the mark that ends the statement.
            let bound = names.map(|name| format!(" %}}{{% set {name} = {name}|{} ", KEPT[0]));
            bound.map(|put| (end, put)).collect()
        }
        "call" | "with" => return Err(not_done(keyword.text)),
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gets_a_name_is_bounded() {
        for (source, wanted) in [
            ("a {{ b }} {# {% set x = 1 %} #}", "a {{ b }} {# {% set x = 1 %} #}"),
            ("{% set x = y + '%}' -%}", "{% set x = (y + '%}')|kept  -%}"),
            (
                "{%- set n.x=[1] %}{{ {'a': {}} }}",
                "{%- set n.x= ([1])|kept_inside  %}{{ {'a': {}} }}",
            ),
            ("{% set x %}a{% endset %}", "{% set x %}a{% endset %}"),
            ("{% for a, b in c if a == b %}", "{% for a, b in ( c )|kept if ( a == b)|kept  %}"),
            (
                "{% raw %}{% set x = 1 %}{% endraw %}{% if a%}",
                "{% raw %}{% set x = 1 %}{% endraw %}{% if ( a)|kept %}",
            ),
            (
                "{% macro f(a, b=(1, 2)) -%}",
                "{% macro f(a, b=(1, 2)) %}{% set a = a|kept  %}{% set b = b|kept  -%}",
            ),
            ("{{ '-' * 3 }}{{ f(*a, **b) }}{{ 'é' }}", "{{ '-' * 3 }}{{ f(*a, **b) }}{{ 'é' }}"),
            ("{% set x = 1", "{% set x = 1"),
        ] {
            let squeezed = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(squeezed(&bounded(source).unwrap()), squeezed(wanted), "{source}");
        }
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let refused = |source: String| bounded(&source).unwrap_err().to_string();
        for (word, n) in [("not ", 300), ("1+", 200), ("a.", 200), ("(", 40)] {
            let said = refused(format!("{{{{ {}1 }}}}", word.repeat(n)));
            assert!(said.contains("too long or too deep an expression"), "{said}");
        }
        assert!(refused("a".repeat(300_000)).contains("too long: "));
        let branches = format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(101));
        assert!(refused(branches).contains("more than 100 branches"));
        for source in [
            "{% for a in b recursive %}",
            "{% call f() %}",
            "{% with a = b %}",
            "{{ a * 2 }}",
            "{{ 2 ** 2 }}",
        ] {
            let said = refused(source.into());
            assert!(said.contains("which is not done here"), "{said}");
        }
    }
}
