//! `inspect model`.

use crate::args::InspectModelArgs;
use crate::console::{json_line, print, room, show};
use crate::error::{Result, RunError, usage};
use crate::messages::{Tell, said};
use crate::program::Program;
use llm_core::base::escape::one_line;
use llm_core::base::{Message, bytes, thousands};
use llm_core::checkpoint::Checkpoint;
use llm_core::model::{Pair, check_attention};
use llm_core::tokenizer::ByteTokenizer;
use llm_core::{AttentionSpec, Config, Error};
use llm_core::{counted, message};
use llm_lens::{AttentionCost, KNOWN_MODELS, KnownModel, ModelReport, TensorRow};
use llm_messages::columns::left;
use llm_messages::table::{Column, table};
use llm_run::defaults::Start;
use llm_run::folder::to_load;
use llm_run::options::Options;
use llm_run::plan::{check_heads, named_by_option, read_checkpoint};
use llm_run::settings::{self, largest_divisor};
use serde::Serialize;
use serde_json::json;

/// Prints sizes. Any checkpoint will do, whatever its attention.
pub(super) fn model(program: &Program, args: &InspectModelArgs) -> Result<()> {
    let mut adapter = None;
    let (title, (report, heads)) = match &args.load {
        None => (message!("a new model"), fresh(program, args)?),
        Some(path) => {
            let path = to_load(path)?;
            let checkpoint = read_checkpoint(&program.models, &path, args.base.as_deref())?;
            let report = (loaded(args, &checkpoint)?, checkpoint.meta.attention.clone());
            adapter = Adapter::of(&checkpoint);
            (message!("'{}'", one_line(&path.display().to_string())), report)
        }
    };
    if args.json || args.output.json() {
        let known = KNOWN_MODELS.map(|m| {
            json!({
                "name": m.name, "d_model": m.d_model, "n_heads": m.n_heads, "d_key": m.d_key,
                "attention_weights": m.attention_weights(),
                "attention_biases": m.attention_biases(),
            })
        });
        let line =
            json!({ "event": "model", "model": report, "adapter": adapter, "known_models": known });
        return print(json_line(&line));
    }
    let of_adapter = adapter.map_or(String::new(), |adapter| adapter.text(&report));
    show(&(of_adapter + &text(&title, &report, &heads, room())))
}

/// The adapter of a checkpoint.
#[derive(Serialize)]
struct Adapter {
    base: String,
    base_blake3: String,
    rank: usize,
    /// Numbers that learn.
    parameters: usize,
    matrices: Vec<Matrix>,
}

/// How much an adapter adds to a matrix.
#[derive(Serialize)]
struct Matrix {
    name: String,
    /// ‖s·A·B‖/‖W‖
    change: f64,
}

impl Adapter {
    fn of(checkpoint: &Checkpoint) -> Option<Adapter> {
        let (file, base_blake3) = checkpoint.base()?;
        let norm = |name: &str| {
            let w = checkpoint.parameters().find(|(own, _)| *own == name);
            let numbers = w.iter().flat_map(|(_, w)| w.data());
            numbers.map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()
        };
        let change = |(name, pair): (&str, Pair)| Matrix {
            name: name.into(),
            change: pair.norm() / norm(name).max(f64::MIN_POSITIVE),
        };
        let pairs = || checkpoint.pairs().map(|(_, pair)| pair);
        Some(Adapter {
            base: one_line(&file.display().to_string()).to_string(),
            base_blake3,
            rank: pairs().flat_map(|pair| pair.parts).map(|part| part.rank).max().unwrap_or(0),
            parameters: pairs().map(|pair| pair.a.numel() + pair.b.numel()).sum(),
            matrices: checkpoint.pairs().map(change).collect(),
        })
    }

    fn text(&self, report: &ModelReport) -> String {
        let mut text = said(message!(
            "an adapter of rank {} beside '{}' (BLAKE3 {}..): {} numbers learn, {:.1} % of the model's\n\n",
            self.rank,
            &self.base,
            &self.base_blake3,
            thousands(self.parameters as u64),
            100.0 * self.parameters as f64 / report.parameters.max(1) as f64
        ));
        text.tell("matrix                what is added, ‖s·A·B‖, as a share of the matrix, ‖W‖\n");
        for Matrix { name, change } in &self.matrices {
            text.push_str(&format!("{name:<20}  {change:.5}\n"));
        }
        text + "\n"
    }
}

fn fresh(program: &Program, args: &InspectModelArgs) -> Result<(ModelReport, AttentionSpec)> {
    check_heads(&program.models, args.heads)?;
    let (start, mut given) = (Start::Stories, args.model.given());
    given.extend(args.heads.map(|heads| ("heads", heads.into())));
    let options = Options { given: given.clone(), arch: args.model.arch, ..Options::default() };
    let vocab_size = args.vocab.unwrap_or(ByteTokenizer::VOCAB_SIZE);
    let config = settings::new_model(options.arch_config(vocab_size), start, &given);
    let config = config.and_then(|config| config.check().map(|()| config));
    let config = config.map_err(|e| match e {
        // This verb trains no vocabulary: it is given one's size.
        Error::Config { field: "vocab_size", reason } => {
            RunError::Usage(message!("--vocab: {}", reason))
        }
        other => named_by_option(other),
    })?;
    let attention = options.attention(&program.models, &config);
    let attention = attention.map_err(named_by_option)?;
    check_attention(attention.as_ref(), &config).map_err(named_by_option)?;
    let recipe = settings::new_recipe(start, &given).map_err(named_by_option)?;
    let batch = [batch(args, recipe.batch_size)?, config.seq_len];
    let footprint = recipe.footprint(&config, attention.as_ref(), program.models.optimizers)?;
    let spec = attention.spec();
    let compared = compared(&config, spec.n_heads);
    Ok((ModelReport::new(footprint, &spec, batch, compared)?, spec))
}

fn loaded(args: &InspectModelArgs, checkpoint: &Checkpoint) -> Result<ModelReport> {
    let meta = &checkpoint.meta;
    let (config, spec) = (&meta.config, &meta.attention);
    let given = settings::whole(&args.model.given(), "seq").map(|seq| seq as usize);
    let seq_len = given.unwrap_or(meta.recipe.seq_len);
    if !(1..=config.seq_len).contains(&seq_len) {
        let most = config.seq_len;
        return usage(message!("--seq {} is outside 1..={}, the model's context", seq_len, most));
    }
    let batch = [batch(args, meta.recipe.batch_size)?, seq_len];
    let compared = compared(config, spec.n_heads);
    Ok(ModelReport::new(checkpoint.footprint()?, spec, batch, compared)?)
}

fn batch(args: &InspectModelArgs, default: usize) -> Result<usize> {
    match args.batch.unwrap_or(default) {
        0 => usage("--batch 0: there is nothing in it"),
        n => Ok(n),
    }
}

/// Number of heads that one head is compared with: the model's own, else up to eight.
fn compared(config: &Config, n_heads: usize) -> usize {
    if n_heads > 1 { n_heads } else { largest_divisor(config.d_model, 8) }
}

fn text(title: &Message, report: &ModelReport, heads: &AttentionSpec, room: usize) -> String {
    let [v, t, c, l] = report.sizes;
    let ModelReport { n_heads, heads_off, batch: [b, seq], .. } = *report;
    let off = if heads_off == 0 { message!("") } else { message!(", {} switched off", heads_off) };
    let mut text = said(message!(
        "{}: L={}, C={} wide, H={} of D={}{}, context T={}, V={} tokens\n",
        title,
        counted!(l, "block"),
        c,
        counted!(n_heads, "head"),
        report.head_dim,
        off,
        t,
        thousands(v as u64)
    ));
    if !report.beyond.is_empty() {
        let beyond = report.beyond.iter().map(|more| format!("{} {}", more.setting, more.value));
        text.tell(message!("beyond the baseline: {}\n", Message::list(beyond)));
    }
    text.push_str(&of_heads(heads, report.head_dim));
    text.push('\n');
    text.tell("tensor              shape                count    share\n");
    // The blocks are all alike: one line stands for the tensor of each.
    let in_later_block = |t: &TensorRow| t.name.starts_with("blocks.") && !is_of_first_block(t);
    for tensor in report.tensors.iter().filter(|t| !in_later_block(t)) {
        let times = if is_of_first_block(tensor) { l as u64 } else { 1 };
        let name = match times {
            1 => tensor.name.clone(),
            _ => format!("blocks.*.{}", tensor.own_name()),
        };
        let shape: Vec<_> = tensor.shape.iter().map(usize::to_string).collect();
        let times_l = if times > 1 { format!("{times} x ") } else { String::new() };
        text.push_str(&format!(
            "{name:<18}  {:<13}  {:>13}  {:>5.1} %\n",
            format!("{times_l}[{}]", shape.join(", ")),
            thousands(times * tensor.count),
            100.0 * times as f64 * tensor.share
        ));
    }
    for (name, count) in [("all", report.parameters), ("without biases", report.without_biases)] {
        let name = left(&said(name), 18);
        text.push_str(&format!("{name}  {:<13}  {:>13}\n", "", thousands(count)));
    }
    text.push_str(&format!("\n{}\n\n", said(of_attention(report))));
    let m = report.memory;
    text.tell(message!(
        "memory of training with {} windows of {} tokens: {}\n  \
         weights {} · gradients {} · moments {} · activations {}\n\n",
        b,
        seq,
        bytes(m.total()),
        bytes(m.weights),
        bytes(m.gradients),
        bytes(m.moments),
        bytes(m.activations)
    ));
    text + &costs(report, room) + &known(room)
}

/// What the heads have beyond multi-head attention.
fn of_heads(spec: &AttentionSpec, head_dim: usize) -> String {
    let mut text = String::new();
    if let Some(groups) = spec.kv_heads {
        let each = spec.n_heads / groups.max(1);
        let group = |g: usize| match each {
            1 => format!("{g}: {g}"),
            _ => format!("{g}: {}-{}", g * each, (g + 1) * each - 1),
        };
        let all = Message::list((0..groups).map(group));
        let (kept, of_all) = (2 * groups * head_dim, 2 * spec.n_heads * head_dim);
        text.tell(message!("heads that read the same keys and values: {}\n", all));
        text.tell(message!("of a token a block keeps 2·G·D = {} numbers, not {}\n", kept, of_all));
    }
    if let Some(rotary) = &spec.rotary {
        let frequencies = rotary.frequencies(head_dim);
        let last = frequencies.last().copied().unwrap_or(1.0);
        text.tell(message!(
            "rotary positions: pairs of {} channels turn by 1 to {:.2e} radians a position\n",
            2 * frequencies.len(),
            last
        ));
        if rotary.scaling.is_some() {
            text.tell("low frequencies are scaled, for longer texts\n");
        }
    }
    if let Some(window) = spec.window {
        text.tell(message!("a token sees the last {}, itself among them\n", window));
    }
    if spec.qk_norm {
        text.tell("queries and keys are normed\n");
    }
    text
}

fn of_attention(report: &ModelReport) -> Message {
    let (weights, biases) = (report.attention_weights, report.attention_biases);
    let [weights, biases] = [weights, biases].map(thousands);
    match report.attention.is_empty() {
        true => {
            message!("attention of a block: {} weights (+ {} biases), its own", weights, biases)
        }
        false => message!(
            "attention of a block: 4·C² = {} weights (+ 4·C = {} biases), whatever H is",
            weights,
            biases
        ),
    }
}

fn is_of_first_block(tensor: &TensorRow) -> bool {
    tensor.name.starts_with("blocks.0.")
}

/// One head compared with several.
fn costs(report: &ModelReport, room: usize) -> String {
    if report.attention.is_empty() {
        return String::new();
    }
    let row = |name: Message, of: &dyn Fn(&AttentionCost) -> String| {
        std::iter::once(said(name)).chain(report.attention.iter().map(of)).collect()
    };
    let heads = |costs: &AttentionCost| match costs.n_heads {
        1 => said(counted!(1, "head")),
        n => said(message!("{} heads of {}", n, costs.head_dim)),
    };
    let [_, seq] = report.batch;
    type Count = fn(&AttentionCost) -> u64;
    let parts: [(&str, Count); 4] = [
        ("  multiplications, Q·Kᵀ         H·(T²·D)", |of| of.score_macs),
        ("  multiplications, P·V          H·(T²·D)", |of| of.value_macs),
        ("  multiplications, projections  4·T·C²", |of| of.projection_macs),
        ("  numbers through softmax       H·T²", |of| of.softmax_elements),
    ];
    let mut rows: Vec<Vec<String>> =
        vec![row(message!("a block's attention on {} tokens", seq), &heads)];
    rows.extend(parts.map(|(name, of)| row(name.into(), &|costs| thousands(of(costs)))));
    let mut columns = vec![Column::left(0, 40)];
    columns.resize(1 + report.attention.len(), Column::right(2, 18));
    table(&columns, &rows, room) + "\n"
}

fn known(room: usize) -> String {
    let headings = ["known models", "d_model", "heads", "d_key", "4·C² of a block", "(+ 4·C)"];
    let row = |m: &KnownModel| {
        let sizes = [thousands(m.d_model as u64), m.n_heads.to_string(), m.d_key.to_string()];
        let costs = [m.attention_weights(), m.attention_biases()].map(thousands);
        [m.name.to_string()].into_iter().chain(sizes).chain(costs).collect()
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(headings.map(said).to_vec()).chain(KNOWN_MODELS.iter().map(row)).collect();
    let wide = [7, 5, 5, 16, 7].map(|wide| Column::right(2, wide));
    let columns: Vec<_> = std::iter::once(Column::left(0, 16)).chain(wide).collect();
    table(&columns, &rows, room)
}
