//! All rows, in the order of the help.

use super::row::Kind::{Few, Number, Share, Switch, Whole, Word};
use super::row::{Flag, row};
use llm_core::optim::OPTIMIZERS;
use llm_run::models::Models;
use llm_run::settings::ALL_OPTIONS;

/// Flags that stand together in the help.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Above them in the help.
    pub heading: &'static str,
    /// The rows.
    pub flags: &'static [Flag],
}

/// The groups, each by its number.
#[rustfmt::skip]
pub const GROUPS: [Group; 6] = [
    Group { heading: "Data", flags: &[
        row("val-frac", "X", Share, "Share of the data kept for validation, the last part [default: 0.1]"),
    ] },
    Group { heading: "Model", flags: &[
        Flag { aliases: &["seq-len", "ctx", "block-size"], ..row("seq", "T", Whole, "Context length in tokens; with --load: length of the training windows") },
        Flag { aliases: &["d-model", "n-embd"], ..row("dmodel", "C", Whole, "Width") },
        Flag { aliases: &["n-layers", "n-layer"], ..row("layers", "L", Whole, "Number of blocks") },
    ] },
    Group { heading: "Model", flags: &[
        row("norm-affine", "0|1", Switch, "Norms with gain and bias"),
        row("tied-head", "0|1", Switch, "The output head shares the token table"),
        row("head-bias", "0|1", Switch, "The output head has a bias"),
        row("activation", "KIND", Word(|| vec![("gelu_tanh", "GELU in its tanh form, GPT-2's"), ("gelu", "GELU as it is defined")]), "What the MLP does between its products"),
        row("n-inner", "N", Whole, "Width of the MLP between its products; 0: four times the width"),
        row("init", "KIND", Word(|| vec![("fan-in", "Standard deviation 1/√fan_in"), ("gpt2", "GPT-2's")]), "How weights start"),
    ] },
    Group { heading: "Training", flags: &[
        Flag { aliases: &["max-steps", "max-iters"], ..row("steps", "N", Whole, "Steps in all; with --load: that many more") },
    ] },
    Group { heading: "Training", flags: &[
        Flag { aliases: &["batch-size"], ..row("batch", "B", Whole, "Windows per step") },
        Flag { aliases: &["grad-accum", "gradient-accumulation-steps"], ..row("accum", "N", Few, "Micro-batches of B windows per step, for batches that do not fit into memory [default: 1]") },
        row("dropout", "P", Number, "Probability that a number inside the model is dropped in training [default: 0]"),
        Flag { aliases: &["learning-rate"], ..row("lr", "X", Number, "Peak learning rate") },
        row("schedule", "KIND", Word(|| vec![("constant", "Always the peak"), ("cosine", "Half a cosine down"), ("linear", "A line down"), ("wsd", "Warm-up, stable, decay in the last fifth after the warm-up")]), "The rate's course after the warm-up [default: cosine]"),
        Flag { aliases: &["warmup-steps", "warmup-iters"], ..row("warmup", "N", Whole, "Steps until the peak [default: 5 % of the horizon]") },
        row("min-lr", "X", Number, "Learning rate at the end [default: a tenth of the peak]"),
        Flag { aliases: &["lr-decay-iters"], ..row("decay-steps", "N", Whole, "Horizon of the course [default: the steps planned at the start]") },
        Flag { aliases: &["grad-clip"], ..row("clip", "X", Number, "Largest gradient norm; 0: no clipping [default: 1]") },
        row("matmul", "KIND", Word(|| vec![("f32", "Not rounded"), ("bf16", "8 bits of precision inside the products, f32 everywhere else")]), "What matrices are rounded to when they are multiplied in training [default: f32]"),
        row("optimizer", "NAME", Word(|| OPTIMIZERS.iter().map(|of| (of.name, of.doc)).collect()), "What moves the weights; with --load: only where the file has no optimizer state [default: adamw]"),
        row("weight-decay", "X", Number, "Weight decay [default: 0.1]"),
        row("decay-all", "0|1", Switch, "Decay biases too, not only matrices"),
        row("beta1", "X", Number, "Decay of AdamW's first moment [default: 0.9]"),
        row("beta2", "X", Number, "Decay of AdamW's second moment [default: 0.99]"),
    ] },
    Group { heading: "Training", flags: &[
        row("seed", "N", Whole, "Seed of weights, batches and samples [default: 1]; with --load: of samples only"),
    ] },
];

/// What goes beyond the baseline's model, its attention last. A program has those that its description
/// names, and no other.
#[rustfmt::skip]
pub const FURTHER: Group = Group { heading: "Model", flags: &[
    row("norm", "KIND", Word(|| vec![("layer", "Layer normalisation"), ("rms", "By the root of the mean square; --norm-affine then means a gain")]), "What every norm does [default: layer]"),
    row("mlp", "KIND", Word(|| vec![("gelu", "One product, GELU"), ("swiglu", "Two products, one the gate of the other; --n-inner 0: about as many weights"), ("relu2", "One product, the square of ReLU")]), "What kind of MLP a block has [default: gelu]"),
    row("mlp-bias", "0|1", Switch, "The products of the MLP add biases"),
    row("positions", "KIND", Word(|| vec![("learned", "A table of positions"), ("none", "Nothing says them"), ("rotary", "The attention turns queries and keys by them")]), "How the order of tokens is known [default: learned]"),
    Flag { aliases: &["n-kv-heads"], ..row("kv-heads", "G", Whole, "Heads of keys and values; must divide --heads, 1 is multi-query [default: as many as of queries]") },
    row("head-dim", "D", Whole, "Channels of a head [default: the width divided by --heads]"),
    row("rope-theta", "X", Share, "Base of the angles of rotary positions [default: 10000]"),
    row("rotary-dim", "N", Whole, "Channels of a head that rotary positions turn, an even number [default: all]"),
    Flag { aliases: &["sliding-window"], ..row("window", "N", Whole, "A position sees the last N, itself among them [default: all]") },
    row("qk-norm", "0|1", Switch, "Queries and keys are normed, each head by itself"),
    row("attention-bias", "0|1", Switch, "The projections of the attention add biases"),
] };

/// The share of the data that is not learnt.
pub const VAL_FRAC: usize = 0;
/// Sizes of a model.
pub const SIZES: usize = 1;
/// Options of a model.
pub const OPTIONS: usize = 2;
/// How long it learns.
pub const LENGTH: usize = 3;
/// How it learns.
pub const LEARNING: usize = 4;
/// What is drawn.
pub const SEED: usize = 5;

/// Every row.
pub fn flags() -> impl Iterator<Item = &'static Flag> {
    GROUPS.iter().flat_map(|group| group.flags).chain(FURTHER.flags)
}

/// Every row for these models.
pub fn flags_of(models: &Models) -> impl Iterator<Item = &'static Flag> {
    flags().filter(move |flag| {
        let name = flag.setting_name();
        !ALL_OPTIONS.contains(&&*name) || models.offers(&name)
    })
}
