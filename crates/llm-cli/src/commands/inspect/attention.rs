//! `inspect attention`.

use super::super::loaded::loaded;
use crate::args::{InspectAttentionArgs, PromptArgs};
use crate::commands::written::{
    begins_with, check_page, check_place, page_of, save, say_written, write_page,
};
use crate::console::{Out, columns, json_line, note, stdout_has_colours};
use crate::error::{Result, RunError, usage};
use crate::messages::{Tell, in_both, said, spelled};
use crate::program::Program;
use llm_core::base::escape::safe_text;
use llm_core::base::{Message, memory, real_path, replace_file, thousands};
use llm_core::recipe::DataSource;
use llm_core::{AttentionSpec, Error, IoAction, TokenId};
use llm_core::{counted, message};
use llm_formats::npz::{self, Npz};
use llm_lens::attention_maps;
use llm_report::{AttentionMaps, Fact, Ink, Page, heat_map, layer_picture, most_tokens};
use llm_run::data::Beginning;
use llm_run::plan::Loaded;
use llm_stories::story;
use serde_json::json;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What makes maps large.
const PROMPT: &str = "the length of the prompt, or --last";
/// Tokens shown when nothing is said.
const LAST: usize = 64;
/// Bytes of an unseen story that stand in for a prompt: two maps of them have room side by side.
const OPENING: usize = 35;
/// Read when nothing is said and the model knows no stories.
const SENTENCE: &str = "The cat sat on the mat";

/// Reads the prompt and shows who looks at whom.
pub(super) fn attention(program: &Program, args: &InspectAttentionArgs) -> Result<()> {
    let (path, loaded) = loaded(program, &args.load, &args.apart, &args.output)?;
    let chosen = Chosen::new(&loaded, args)?;
    check_page(args.html.as_deref())?;
    if let Some(file) = &args.npz {
        check_place(file, |start| npz::begins_with(start, "tokens"))?;
    }
    let tokens = prompt(&loaded, &args.prompt)?;
    let usual = if args.npz.is_some() { tokens.len() } else { LAST };
    let last = args.last.map_or(usual, |n| n as usize);
    check_size(args, &chosen, &loaded, last.min(tokens.len()))?;
    let pictures = pictures(args, &chosen)?;
    let maps = attention_maps(&loaded.run.model, &tokens, last).map_err(|e| match e {
        Error::Memory { .. } => RunError::Memory(e, PROMPT.into()),
        other => other.into(),
    })?;
    if let Some(file) = &args.npz {
        write_arrays(file, &maps)?;
        say_written(file, args.output.quiet());
    }
    let maps = AttentionMaps::new(maps, loaded.tokenizer.as_ref());
    let attention = loaded.run.model.attention().spec();
    let first = tokens.len() - maps.tokens.len();
    let view = View { loaded: &loaded, chosen, first, maps, attention };
    let json = args.json || args.output.json();
    let quiet = args.output.quiet();
    if view.first > 0 && !quiet {
        let (n, shown) = (tokens.len(), view.maps.tokens.len());
        note(message!("the last {} of {} tokens are shown; --last N shows others", shown, n));
    }
    let is_page =
        |file: &Path| args.html.as_deref().is_some_and(|h| real_path(h) == real_path(file));
    if let Some((_, file)) = pictures.iter().find(|(_, file)| is_page(file)) {
        let file = file.display();
        return usage(message!("--html '{}' is a picture that --svg writes", file));
    }
    for (layer, file) in pictures {
        view.write_picture(layer, &file)?;
        say_written(&file, quiet);
    }
    let page = || view.page(program, &path, &tokens[view.first..]);
    write_page(args.html.as_deref(), quiet, page)?;
    let mut out = Out::default();
    if json {
        out.write(view.json(&tokens).as_bytes());
    } else if args.svg.is_none() && args.html.is_none() && args.npz.is_none() {
        out.paint(&view.terminal(quiet));
    }
    out.finish()
}

/// All maps as a file of NumPy's.
fn write_arrays(file: &Path, maps: &llm_lens::AttentionMaps) -> Result<()> {
    let heads = maps.layers.first().map_or(0, Vec::len);
    let (layers, t) = (maps.layers.len(), maps.tokens.len());
    // They lie a row each, and are gathered.
    let numbers = [heads, t, t].iter().fold(layers as u64, |all, &n| all.saturating_mul(n as u64));
    memory::require(numbers.saturating_mul(4)).map_err(|e| RunError::Memory(e, PROMPT.into()))?;
    let weights: Vec<f32> = maps.layers.iter().flatten().flatten().flatten().copied().collect();
    save(file, |out| {
        let mut file = Npz::to(out);
        file.add("tokens", &[t], &maps.tokens)?; // first: begins_with looks for it
        file.add("attention", &[layers, heads, t, t], &weights)?;
        file.finish()
    })
}

/// Refuses more weights than a file of them could be opened with.
fn check_size(args: &InspectAttentionArgs, of: &Chosen, loaded: &Loaded, t: usize) -> Result<()> {
    const MOST_WEIGHTS: usize = 4_000_000;
    let model = &loaded.run.model;
    let all = model.config().n_layers * model.attention().spec().n_heads;
    // A page has all heads.
    let heads = match (&args.html, args.json || args.output.json() || args.svg.is_some()) {
        (Some(_), _) => all,
        (None, true) => of.layers.len() * of.heads.len(),
        (None, false) => return Ok(()),
    };
    let weights = heads.saturating_mul(t.saturating_mul(t + 1) / 2);
    if weights <= MOST_WEIGHTS {
        return Ok(());
    }
    let fewer = match args.html.is_some() {
        true => message!("show fewer tokens"),
        false => message!("show fewer tokens, or one --layer and --head"),
    };
    usage(message!(
        "--last: {} tokens and {} heads make {} weights, more than the {} that fit into a \
         file; {}",
        t,
        heads,
        thousands(weights as u64),
        thousands(MOST_WEIGHTS as u64),
        fewer
    ))
}

/// Layers and heads to be shown.
struct Chosen {
    layers: Range<usize>,
    heads: Range<usize>,
}

impl Chosen {
    fn new(loaded: &Loaded, args: &InspectAttentionArgs) -> Result<Chosen> {
        let model = &loaded.run.model;
        let one = |what: &str, given: Option<usize>, all: usize, has: Message| match given {
            None => Ok(0..all),
            Some(i) if i < all => Ok(i..i + 1),
            Some(i) => usage(message!("--{} {}: the model has {}, counted from 0", what, i, has)),
        };
        let (layers, heads) = (model.config().n_layers, model.attention().spec().n_heads);
        Ok(Chosen {
            layers: one("layer", args.layer, layers, counted!(layers, "layer"))?,
            heads: one("head", args.head, heads, counted!(heads, "head"))?,
        })
    }
}

/// The tokens that the model reads.
pub(super) fn prompt(loaded: &Loaded, given: &PromptArgs) -> Result<Vec<TokenId>> {
    let opening = match loaded.run.recipe.data {
        // The story after the last one: never trained on.
        DataSource::Stories { seed, count, .. } => {
            let text = story(seed, count).text;
            let end = text[..OPENING.min(text.len())].rfind(' ').unwrap_or(0);
            text[..end].to_string()
        }
        DataSource::Files { .. } => SENTENCE.to_string(),
    };
    let tokenizer = loaded.tokenizer.as_ref();
    let beginning = Beginning::text(&opening, tokenizer);
    let mut tokens = given.tokens_or(tokenizer, beginning)?;
    let window = loaded.run.model.config().seq_len;
    if tokens.len() > window {
        let n = tokens.len();
        note(message!("the prompt has {} tokens; the model sees the last {}", n, window));
        tokens.drain(..n - window);
    }
    Ok(tokens)
}

/// The files of `--svg`, each of them checked; the folder is made.
fn pictures(args: &InspectAttentionArgs, chosen: &Chosen) -> Result<Vec<(usize, PathBuf)>> {
    let Some(dir) = &args.svg else { return Ok(Vec::new()) };
    if !dir.is_dir() {
        std::fs::create_dir_all(dir).map_err(|source| {
            RunError::not_created(dir, source, "nothing was written, choose another --svg")
        })?;
    }
    let file = |layer| (layer, dir.join(format!("attention-layer-{layer}.svg")));
    let files: Vec<_> = chosen.layers.clone().map(file).collect();
    files.iter().try_for_each(|(_, file)| check_place(file, |start| begins_with(start, "<svg")))?;
    Ok(files)
}

/// What is shown, in whatever form.
struct View<'a> {
    loaded: &'a Loaded,
    chosen: Chosen,
    /// Number of the first token that is shown.
    first: usize,
    maps: AttentionMaps,
    attention: AttentionSpec,
}

impl View<'_> {
    /// The maps of a layer with their titles.
    fn heads(&self, layer: usize) -> Vec<(Message, &[Vec<f32>])> {
        let spec = &self.attention;
        let Some(maps) = self.maps.layers.get(layer) else { return Vec::new() };
        let of = |head: usize| {
            let off = spec.head_mask.get(layer * spec.n_heads + head) == Some(&false);
            let groups = spec.kv_heads;
            let title = match (groups.map(|n| head * n / spec.n_heads.max(1)), off) {
                (None, false) => message!("head {}", head),
                (None, true) => message!("head {} (off)", head),
                (Some(group), false) => message!("head {} (keys {})", head, group),
                (Some(group), true) => message!("head {} (keys {}) (off)", head, group),
            };
            maps.get(head).map(|map| (title, &map[..]))
        };
        self.chosen.heads.clone().filter_map(of).collect()
    }

    /// Tokens at the beginning of row i that lie outside its window.
    fn hidden(&self, i: usize) -> usize {
        self.attention.window.map_or(0, |window| (i + 1).saturating_sub(window))
    }

    fn terminal(&self, quiet: bool) -> String {
        let ink = if stdout_has_colours() { Ink::Greys } else { Ink::Digits };
        let all = self.maps.tokens.len();
        let columns = columns();
        let most = most_tokens(columns);
        let skipped = all.saturating_sub(most);
        if skipped > 0 && !quiet {
            note(message!("{} columns have room for the last {} tokens", columns, most));
        }
        let mut text = said(match ink {
            Ink::Digits => {
                "rows look at columns; 7: a weight of 0.7 to 0.8, 0: 0.05 to 0.1, a dot: less\n"
            }
            Ink::Greys => {
                "rows look at columns; brighter is more (the square root of the weight)\n"
            }
        });
        if let Some(window) = self.attention.window {
            let sees = message!("a row sees {} columns: blank is outside its window\n", window);
            text.tell(sees);
        }
        for layer in self.chosen.layers.clone() {
            let heads = self.heads(layer).into_iter().map(|(title, map)| {
                let rows = map.iter().skip(skipped);
                let row = |(i, row): (usize, &Vec<f32>)| {
                    let mut row = row[skipped.min(row.len())..].to_vec();
                    row.iter_mut().take(self.hidden(i)).for_each(|weight| *weight = f32::NAN);
                    row
                };
                (said(title), rows.enumerate().map(row).collect::<Vec<_>>())
            });
            let heads: Vec<_> = heads.collect();
            let maps: Vec<_> = heads.iter().map(|(t, map)| (t.clone(), &map[..])).collect();
            let tokens = &self.maps.tokens[skipped..];
            text.tell(message!("\nlayer {}\n", layer));
            text.push_str(&heat_map(tokens, self.first + skipped, &maps, ink, columns));
        }
        text
    }

    fn json(&self, tokens: &[TokenId]) -> String {
        let head = |(head, (_, map)): (usize, (Message, &[Vec<f32>]))| {
            let rows = map.iter().enumerate().map(|(i, row)| &row[..i + 1]);
            json!({ "head": head, "weights": rows.collect::<Vec<_>>() })
        };
        let layer = |layer| {
            let heads = self.chosen.heads.clone().zip(self.heads(layer)).map(head);
            json!({ "layer": layer, "heads": heads.collect::<Vec<_>>() })
        };
        let layers: Vec<_> = self.chosen.layers.clone().map(layer).collect();
        let line = json!({
            "event": "attention",
            "first": self.first,
            "ids": &tokens[self.first..],
            "tokens": self.maps.tokens,
            "head_mask": self.loaded.run.model.attention().spec().head_mask,
            "layers": layers,
        });
        json_line(&line)
    }

    fn write_picture(&self, layer: usize, file: &Path) -> Result<()> {
        let title = format!("Attention of layer {layer}");
        let failed = |source| Error::io(IoAction::Save, file, source);
        let heads = self.heads(layer).into_iter().map(|(title, map)| (spelled(&title), map));
        let heads: Vec<_> = heads.collect();
        let svg = layer_picture(&title, &self.maps.tokens, &heads).map_err(failed)?;
        replace_file(file, |out| out.write_all(svg.as_bytes())).map_err(failed)?;
        Ok(())
    }

    fn page(&self, program: &Program, path: &Path, tokens: &[TokenId]) -> Page {
        let bytes_of = |&token| self.loaded.tokenizer.bytes_of(token);
        let bytes: Vec<u8> = tokens.iter().flat_map(bytes_of).copied().collect();
        let text = if bytes.is_empty() { self.maps.tokens.join(" ") } else { safe_text(&bytes) };
        let first = Fact::new(in_both("First token shown"), self.first.to_string());
        let facts = vec![Fact::new(in_both("Text"), text), first];
        let attention = Some(self.maps.clone());
        Page { attention, ..page_of(path, program, "attention", facts) }
    }
}
