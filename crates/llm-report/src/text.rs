//! `report.html`: one self-contained page about a run, a model or a comparison.
//!
//! The page is a template (`page.html`, `page.css` and the folder `script` next to this file, with
//! what the trainer in a browser has too, `web/shared`) and a [`Page`] as JSON. It fetches nothing,
//! and what a model wrote can never become a part of it: `<` is escaped in the JSON, the script
//! shows texts as texts only, and no other script may run.

#[cfg(test)]
mod tests;

use crate::bilingual::Bilingual;
use crate::data::Page;
use llm_core::base::replace_file;
use llm_core::{Error, IoAction, Result};
use std::io;
use std::path::Path;

/// What the page does: one script, of these files in this order. Those of `web/shared` are modules
/// that the trainer in a browser imports.
const SCRIPT: [&str; 19] = [
    include_str!("../../../web/shared/words.js"),
    include_str!("../../../web/shared/say.js"),
    include_str!("../../../web/shared/make.js"),
    include_str!("../../../web/shared/view.js"),
    include_str!("../../../web/shared/chart.js"),
    include_str!("../../../web/shared/map.js"),
    include_str!("script/words.js"),
    include_str!("script/state.js"),
    include_str!("script/makers.js"),
    include_str!("script/overview.js"),
    include_str!("script/losses.js"),
    include_str!("script/attention.js"),
    include_str!("script/heads.js"),
    include_str!("script/causes.js"),
    include_str!("script/rewards.js"),
    include_str!("script/ladder.js"),
    include_str!("script/compare.js"),
    include_str!("script/runs.js"),
    include_str!("script/build.js"),
];

/// How it looks, in the same way.
const STYLE: &str =
    concat!("\n", include_str!("../../../web/shared/shared.css"), include_str!("page.css"));

/// The files as one script, in which the names of all are at hand: a line that begins with `import`
/// is left out, and `export` at the beginning of one. `web/assemble.py` knows modules by the same
/// lines.
fn script() -> String {
    let kept = SCRIPT.iter().flat_map(|file| file.lines()).filter(|l| !l.starts_with("import "));
    let code: Vec<_> = kept.map(|line| line.strip_prefix("export ").unwrap_or(line)).collect();
    format!("\n'use strict';\n{{\n{}\n}}\n", code.join("\n"))
}

/// Writes the page; an older one is replaced.
///
/// # Errors
/// [`Error::Io`] with the path; an older page is then as before.
pub fn write(path: &Path, page: &Page) -> Result<()> {
    let failed = |source| Error::io(IoAction::Write, path, source);
    let html = html(page).map_err(|e| failed(io::Error::other(e)))?;
    replace_file(path, |out| out.write_all(html.as_bytes())).map_err(failed)
}

/// The page as text.
pub fn html(page: &Page) -> serde_json::Result<String> {
    // In JSON this is the same character, and in HTML it can end no script.
    let json = serde_json::to_string(page)?.replace('<', "\\u003c");
    // Only what bears this word may run, and no text can contain the hash of itself.
    let nonce = blake3::hash(json.as_bytes()).to_hex();
    let mut html = String::with_capacity(json.len() + (1 << 16));
    for part in include_str!("page.html").split_inclusive("}}") {
        let Some((text, name)) = part.strip_suffix("}}").and_then(|p| p.rsplit_once("{{")) else {
            html.push_str(part);
            continue;
        };
        html.push_str(text);
        match name {
            "nonce" => html.push_str(&nonce),
            "style" => html.push_str(STYLE),
            "script" => html.push_str(&script()),
            "data" => html.push_str(&json),
            "title" => html.push_str(&escaped(&page.title)),
            "facts" => html.push_str(&escaped(&plain_facts(page))),
            _ => html.push_str(name),
        }
    }
    Ok(html)
}

/// The facts for a browser without scripts.
fn plain_facts(page: &Page) -> String {
    let both = |Bilingual { en, zh }: &Bilingual| match en == zh {
        true => en.clone(),
        false => format!("{en} / {zh}"),
    };
    let facts = page.facts.iter().map(|f| format!("{}: {}", both(&f.label), both(&f.value)));
    facts.collect::<Vec<_>>().join("\n")
}

/// Text in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
