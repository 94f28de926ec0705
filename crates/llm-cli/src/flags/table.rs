//! All rows, in the order of the help.

use super::attention::ATTENTION;
use super::given::{Given, whole};
use super::row::Beside::{Else, Fixed};
use super::row::Initial::{By, Follows};
use super::row::Kind::{Few, Number, Share, Switch, Whole, Word};
use super::row::{Flag, row};
use crate::program::Program;
use llm_core::optim::{OPTIMIZERS, ScheduleKind};
use llm_core::recipe::Recipe;
use llm_core::settings::Value;

/// Flags that stand together in the help.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Above them in the help.
    pub heading: &'static str,
    /// The rows.
    pub flags: &'static [Flag],
}

/// The groups, each by its number. A row that starts from core's own value, and takes another beside
/// `--load`, needs no more than `row`.
#[rustfmt::skip]
pub const GROUPS: [Group; 6] = [
    Group { heading: "Data", flags: &[
        Flag { initial: By(|start| Value::Double(start.of([0.1, 0.1, 0.0]))),
            ..row("train.val_frac", "val-frac", "X", Share, "Share of the data kept for validation, the last part [default: 0.1]") },
    ] },
    Group { heading: "Model", flags: &[
        Flag { aliases: &["seq-len", "ctx", "block-size"], initial: By(|start| Value::Whole(start.of([256, 64, 64]))),
            ..row("train.seq_len", "seq", "T", Whole, "Context length in tokens; with --load: length of the training windows") },
        Flag { aliases: &["d-model", "n-embd"], initial: By(|start| Value::Whole(start.of([64, 128, 64]))), beside_load: Fixed,
            ..row("model.d_model", "dmodel", "C", Whole, "Width") },
        Flag { aliases: &["n-layers", "n-layer"], initial: By(|start| Value::Whole(start.of([2, 4, 1]))), beside_load: Fixed,
            ..row("model.n_layers", "layers", "L", Whole, "Number of blocks") },
    ] },
    Group { heading: "Model", flags: &[
        Flag { beside_load: Fixed, ..row("model.norm_affine", "norm-affine", "0|1", Switch, "Norms with gain and bias") },
        Flag { beside_load: Fixed, ..row("model.tied_head", "tied-head", "0|1", Switch, "The output head shares the token table") },
        Flag { beside_load: Fixed, ..row("model.head_bias", "head-bias", "0|1", Switch, "The output head has a bias") },
        Flag { beside_load: Fixed, ..row("model.activation", "activation", "KIND", Word(|| vec![("gelu_tanh", "GELU in its tanh form, GPT-2's"), ("gelu", "GELU as it is defined")]), "What the MLP does between its products") },
        Flag { beside_load: Fixed, ..row("model.n_inner", "n-inner", "N", Whole, "Width of the MLP between its products; 0: four times the width") },
        Flag { beside_load: Fixed, ..row("model.init", "init", "KIND", Word(|| vec![("fan-in", "Standard deviation 1/√fan_in"), ("gpt2", "GPT-2's")]), "How weights start") },
    ] },
    Group { heading: "Training", flags: &[
        Flag { aliases: &["max-steps", "max-iters"], initial: By(|start| Value::Whole(start.of([1500, 2000, 200]))), beside_load: Else,
            ..row("train.total_steps", "steps", "N", Whole, "Steps in all; with --load: that many more") },
    ] },
    Group { heading: "Training", flags: &[
        Flag { aliases: &["batch-size"], initial: By(|start| Value::Whole(start.of([8, 12, 4]))),
            ..row("train.batch_size", "batch", "B", Whole, "Windows per step") },
        Flag { aliases: &["grad-accum", "gradient-accumulation-steps"],
            ..row("train.accum", "accum", "N", Few, "Micro-batches of B windows per step, for batches that do not fit into memory [default: 1]") },
        row("model.dropout", "dropout", "P", Number, "Probability that a number inside the model is dropped in training [default: 0]"),
        Flag { aliases: &["learning-rate"], initial: By(|start| Value::Float(start.of([6e-3, 1e-3, 3e-4]))),
            ..row("train.lr", "lr", "X", Number, "Peak learning rate") },
        Flag { initial: By(|start| Value::Text(start.of(["cosine", "cosine", "constant"]).into())),
            ..row("train.schedule", "schedule", "KIND", Word(|| vec![("constant", "Always the peak"), ("cosine", "Half a cosine down"),
                ("linear", "A line down"), ("wsd", "Warm-up, stable, decay in the last fifth after the warm-up")]), "The rate's course after the warm-up [default: cosine]") },
        Flag { aliases: &["warmup-steps", "warmup-iters"], initial: Follows(|recipe, given| Value::Whole(warmup(recipe, given))),
            ..row("train.warmup_steps", "warmup", "N", Whole, "Steps until the peak [default: 5 % of the horizon]") },
        Flag { initial: Follows(|recipe, _| Value::Float(recipe.schedule.lr / if falls(recipe) { 10.0 } else { 1.0 })), applies: falls,
            ..row("train.min_lr", "min-lr", "X", Number, "Learning rate at the end [default: a tenth of the peak]") },
        // A constant rate has none: k steps and n − k more are then n steps, bit for bit.
        Flag { aliases: &["lr-decay-iters"], initial: Follows(|recipe, _| Value::Whole(if falls(recipe) { recipe.total_steps } else { 0 })), applies: falls,
            ..row("train.decay_steps", "decay-steps", "N", Whole, "Horizon of the course [default: the steps planned at the start]") },
        Flag { aliases: &["grad-clip"], initial: By(|start| Value::Float(start.of([1.0, 1.0, 0.0]))),
            ..row("train.clip", "clip", "X", Number, "Largest gradient norm; 0: no clipping [default: 1]") },
        row("train.matmul", "matmul", "KIND", Word(|| vec![("f32", "Not rounded"), ("bf16", "8 bits of precision inside the products, f32 everywhere else")]),
            "What matrices are rounded to when they are multiplied in training [default: f32]"),
        Flag { report: Some("optimizer"),
            ..row("train.optimizer", "optimizer", "NAME", Word(|| OPTIMIZERS.iter().map(|of| (of.name, of.doc)).collect()),
                "What moves the weights; with --load: only where the file has no optimizer state [default: adamw]") },
        Flag { initial: By(|start| Value::Float(start.of([0.1, 0.1, 0.01]))),
            ..row("train.weight_decay", "weight-decay", "X", Number, "Weight decay [default: 0.1]") },
        Flag { initial: By(|start| Value::Bool(start.of([false, false, true]))),
            ..row("train.decay_all", "decay-all", "0|1", Switch, "Decay biases too, not only matrices") },
        Flag { initial: By(|start| Value::Float(start.of([0.9, 0.9, 0.9]))),
            ..row("train.beta1", "beta1", "X", Number, "Decay of AdamW's first moment [default: 0.9]") },
        Flag { initial: By(|start| Value::Float(start.of([0.99, 0.99, 0.999]))),
            ..row("train.beta2", "beta2", "X", Number, "Decay of AdamW's second moment [default: 0.99]") },
    ] },
    Group { heading: "Training", flags: &[
        Flag { beside_load: Else,
            ..row("train.seed", "seed", "N", Whole, "Seed of weights, batches and samples [default: 1]; with --load: of samples only") },
    ] },
];

/// What goes beyond the baseline's model. A program has those that its description names, and no
/// other: they are put into its command, and its models may have them.
#[rustfmt::skip]
pub const FURTHER: Group = Group { heading: "Model", flags: &[
    Flag { beside_load: Fixed, ..row("model.norm", "norm", "KIND", Word(|| vec![("layer", "Layer normalisation"), ("rms", "By the root of the mean square; --norm-affine then means a gain")]), "What every norm does [default: layer]") },
    Flag { beside_load: Fixed, ..row("model.mlp", "mlp", "KIND", Word(|| vec![("gelu", "One product, GELU"), ("swiglu", "Two products, one the gate of the other; --n-inner 0: about as many weights"), ("relu2", "One product, the square of ReLU")]), "What kind of MLP a block has [default: gelu]") },
    Flag { beside_load: Fixed, ..row("model.mlp_bias", "mlp-bias", "0|1", Switch, "The products of the MLP add biases") },
    Flag { beside_load: Fixed, ..row("model.positions", "positions", "KIND", Word(|| vec![("learned", "A table of positions"), ("none", "Nothing says them"), ("rotary", "The attention turns queries and keys by them")]), "How the order of tokens is known [default: learned]") },
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

/// Every row of core's settings.
pub fn flags() -> impl Iterator<Item = &'static Flag> {
    GROUPS.iter().flat_map(|group| group.flags).chain(FURTHER.flags)
}

/// Every row of a program, those of its attention last.
pub fn flags_of(program: &Program) -> impl Iterator<Item = &'static Flag> {
    let of_attention = || ATTENTION.iter().map(|row| &row.flag);
    flags().chain(of_attention()).filter(move |flag| {
        let is_it = |further: &Flag| further.name == flag.name;
        let is_further = FURTHER.flags.iter().any(is_it) || of_attention().any(is_it);
        !is_further || program.offers(flag.name)
    })
}

/// Core's settings that cannot be typed, and why.
pub const WITHOUT_A_FLAG: &[(&str, &str)] = &[
    ("model.vocab_size", "the tokenizer's"),
    ("model.norm_eps", "that of a model from elsewhere; a new one has core's"),
    ("train.eps", "the same, core's, whatever a run starts from"),
];

/// Does the rate fall, and so have an end and a horizon?
fn falls(recipe: &Recipe) -> bool {
    recipe.schedule.kind != ScheduleKind::Constant
}

fn warmup(recipe: &Recipe, given: &Given) -> u64 {
    let horizon = whole(given, "decay-steps").unwrap_or(recipe.total_steps);
    if falls(recipe) { horizon / 20 } else { 0 }
}
