//! Each kernel against its op, on shapes drawn at random: odd ones, ones of length 1, more than a
//! workgroup, more than a tile, more than a chunk.
//!
//! An op stands between a table, whose rows the batch's tokens pick, and a loss. The gradient of the
//! table and of the op's own parameters is right only when the op is, there and back.

use crate::support::{adamw, apart, gpu};
use llm_core::kernels::attention::Scoring;
use llm_core::kernels::rotary::Angles;
use llm_core::listing::listing;
use llm_core::model::Batch;
use llm_core::optim::OptimizerState;
use llm_core::{Result, Tensor, ops};
use llm_gpu::{Gpu, Planned};
use llm_variant_modern::{HeadShape, causal_attention_grouped};
use std::sync::Arc;

const SHAPES: u64 = 50;
const TOLERANCE: f64 = 1e-5;

/// Numbers that follow from a seed (a linear congruence: the test needs no more).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn from(&mut self, range: std::ops::RangeInclusive<usize>) -> usize {
        let (low, high) = range.into_inner();
        low + self.next() as usize % (high - low + 1)
    }

    fn tensor(&mut self, shape: &[usize]) -> Tensor {
        let n = shape.iter().product();
        let numbers = (0..n).map(|_| self.next() as f32 / (1u64 << 30) as f32 - 1.0).collect();
        Tensor::parameter_from_vec(shape, numbers).unwrap()
    }
}

/// An op of x and of parameters of its own.
type Op = dyn Fn(&Tensor, &[Tensor]) -> Result<Tensor>;

/// A batch, the width of the table, the op's parameters, and the op: `x [B, T, C]` to anything that
/// has a row for each token.
struct Case {
    about: String,
    b: usize,
    t: usize,
    width: usize,
    own: Vec<Tensor>,
    op: Box<Op>,
}

/// Sizes in which one or another thing is large.
fn sizes(draw: &mut Draw) -> [usize; 3] {
    let b = draw.from(1..=3);
    match draw.from(0..=3) {
        0 => [b, draw.from(1..=4), draw.from(1..=5)],
        1 => [b, draw.from(60..=150), draw.from(1..=20)],
        2 => [b, draw.from(1..=20), draw.from(60..=150)],
        _ => [b, draw.from(2..=40), draw.from(2..=40)],
    }
}

/// Runs one case on both.
fn compare(gpu: &Gpu, seed: u64, draw: &mut Draw, case: Case) -> f64 {
    let Case { about, b, t, width, own, op } = case;
    let (vocab, rows) = (draw.from(2..=70), b * t);
    let table = draw.tensor(&[vocab, width]);
    let ids = |draw: &mut Draw, below: usize| -> Vec<u32> {
        (0..rows).map(|_| draw.from(0..=below - 1) as u32).collect()
    };
    let inputs = ids(draw, vocab);
    // What the rows are read as; as wide as the op leaves them.
    let scores = |inputs: &[u32], table: &Tensor| -> Result<Tensor> {
        let x = ops::embedding_of("tokens", table, inputs, &[b, t])?;
        let y = op(&x, &own)?;
        ops::reshape(&y, &[rows, y.numel() / rows])
    };
    let (y, _) = listing(|| scores(&inputs, &table).unwrap());
    let targets = ids(draw, y.shape()[1].min(vocab));
    let loss = || ops::cross_entropy(&scores(&inputs, &table)?, &targets);
    let (loss, list) = listing(|| loss().unwrap());
    let mut parameters = vec![("table".to_string(), &table)];
    parameters.extend(own.iter().enumerate().map(|(i, p)| (format!("own.{i}"), p)));
    let planned = Planned::new(&list, &parameters, &adamw(), 1).unwrap_or_else(|e| panic!("{e}"));
    let weights = parameters.iter().map(|(name, p)| (name, p.data()));
    let mut step = planned.load_weights(gpu, weights, &OptimizerState::default()).unwrap();
    let batch = Batch::new(inputs, targets, [b, t]);
    step.gradient(&batch, 0).unwrap();
    let got = f64::from(step.report().unwrap().loss);
    let off = (got - f64::from(loss.item())).abs() / f64::from(loss.item()).abs().max(1.0);
    // Sums of many rows, which cancel out, are rounded as often as there are rows.
    let tolerance = TOLERANCE * (rows as f64 / 512.0).sqrt().max(1.0);
    assert!(off < tolerance, "seed {seed}, {about}: the loss is {off:.1e} apart");
    let wanted = loss.backward().unwrap();
    let mut worst = off;
    for ((name, p), (_, got)) in parameters.iter().zip(&step.gradients().unwrap()) {
        let off = apart(got, wanted.get(p).unwrap());
        assert!(off < tolerance, "seed {seed}, {about}: the gradient of {name} is {off:.1e} apart");
        worst = worst.max(off);
    }
    worst
}

fn on_many_shapes(name: &str, make: impl Fn(&mut Draw) -> Case) {
    let Some(gpu) = gpu() else { return };
    let begin = std::env::var("LLM_GPU_SEED").ok().and_then(|seed| seed.parse().ok());
    let begin: u64 = begin.unwrap_or_else(|| u64::from(std::process::id()));
    println!("{name}: seeds from {begin} on (LLM_GPU_SEED={begin} draws the same)");
    let worst = (begin..begin + SHAPES).map(|seed| {
        let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let case = make(&mut draw);
        compare(&gpu, seed, &mut draw, case)
    });
    println!("{name}: {SHAPES} shapes, {:.1e} apart at most", worst.fold(0.0, f64::max));
}

fn case(
    name: &str,
    [b, t, width]: [usize; 3],
    own: Vec<Tensor>,
    op: impl Fn(&Tensor, &[Tensor]) -> Result<Tensor> + 'static,
) -> Case {
    Case { about: format!("{name} of [{b}, {t}, {width}]"), b, t, width, own, op: Box::new(op) }
}

#[test]
fn embedding_add_and_cross_entropy() {
    on_many_shapes("embedding, add", |draw| {
        let size @ [b, t, c] = sizes(draw);
        let more = draw.from(0..=2);
        let places = draw.tensor(&[t + more, c]);
        case("add", size, vec![places], move |x, own| {
            let ids: Vec<u32> = (0..b * t).map(|i| (i % t) as u32).collect();
            let y = ops::add(x, &ops::embedding_of("places", &own[0], &ids, &[b, t])?)?;
            ops::add(&ops::add(&y, x)?, &y) // both shared, in either order
        })
    });
}

/// Rows whose places are added up in pieces first, of few tokens and of many.
#[test]
fn places_in_pieces() {
    on_many_shapes("embedding of many rows", |draw| {
        let size = [draw.from(1..=3), draw.from(1024..=1100), draw.from(1..=3)];
        case("many rows", size, vec![], |x, _| ops::gelu(x))
    });
}

#[test]
fn linear_plain_and_transposed() {
    on_many_shapes("linear", |draw| {
        let (size, o) = (sizes(draw), draw.from(1..=90));
        let (transposed, bias) = (draw.from(0..=1) == 1, draw.from(0..=1) == 1);
        let shape = if transposed { [o, size[2]] } else { [size[2], o] };
        let mut own = vec![draw.tensor(&shape)];
        if bias {
            own.push(draw.tensor(&[o]));
        }
        case("linear", size, own, move |x, own| {
            let op = if transposed { ops::linear_tied } else { ops::linear_lastdim };
            op(x, &own[0], own.get(1))
        })
    });
}

#[test]
fn norms() {
    on_many_shapes("norms", |draw| {
        let [b, t, c] = sizes(draw);
        let (c, kind) = (c.max(3), draw.from(0..=3)); // of two numbers a norm leaves the signs alone
        let own = (0..[0, 2, 0, 1][kind]).map(|_| draw.tensor(&[c])).collect();
        let names = ["layernorm", "affine layernorm", "rmsnorm", "affine rmsnorm"];
        case(names[kind], [b, t, c], own, move |x, own| match kind {
            0 => ops::layernorm_lastdim(x, 1e-2),
            1 => ops::layernorm_affine_lastdim(x, &own[0], &own[1], 1e-2),
            2 => ops::rmsnorm_lastdim(x, None, 1e-2),
            _ => ops::rmsnorm_lastdim(x, Some(&own[0]), 1e-2),
        })
    });
}

#[test]
fn activations() {
    on_many_shapes("activations", |draw| {
        let [b, t, c] = sizes(draw);
        let kind = draw.from(0..=4);
        let size = [b, t, if kind == 4 { 2 * c } else { c }];
        let names = ["gelu", "gelu_exact", "silu", "relu2", "swiglu"];
        case(names[kind], size, vec![], move |x, _| {
            // x twice: its gradient is added to, not only written.
            let y = [ops::gelu, ops::gelu_exact, ops::silu, ops::relu2, ops::swiglu][kind](x)?;
            if kind == 4 { Ok(y) } else { ops::add(&y, x) }
        })
    });
}

#[test]
fn attention_of_heads_groups_and_windows() {
    on_many_shapes("attention", |draw| {
        let [b, t, _] = sizes(draw);
        let (kv_heads, each, head_dim) = (draw.from(1..=3), draw.from(1..=3), draw.from(1..=20));
        attention(draw, [b, t], kv_heads, each, head_dim)
    });
}

/// Heads of those widths that have a kernel of their own, and windows of several tiles.
#[test]
fn attention_in_one_call() {
    on_many_shapes("attention in one call", |draw| {
        let d = [8, 16, 24, 32, 48, 64, 80, 96, 128][draw.from(0..=8)];
        let (b, t) = (draw.from(1..=2), draw.from(1..=150));
        let (kv_heads, each) = (draw.from(1..=2), draw.from(1..=2));
        attention(draw, [b, t], kv_heads, each, d)
    });
}

fn attention(
    draw: &mut Draw,
    [b, t]: [usize; 2],
    kv_heads: usize,
    each: usize,
    head_dim: usize,
) -> Case {
    let window = if draw.from(0..=1) == 0 { usize::MAX } else { draw.from(1..=t + 1) };
    let soft_cap = [None, None, Some(0.3), Some(50.0)][draw.from(0..=3)];
    let scoring = Scoring { window, soft_cap, ..Scoring::new(head_dim) };
    let heads = HeadShape { n_heads: kv_heads * each, kv_heads, head_dim, scoring };
    let size = [b, t, heads.all() * head_dim];
    let mut made =
        case("attention", size, vec![], move |x, _| causal_attention_grouped(x, heads, &[], None));
    made.about += &format!(" {heads:?}");
    made
}

#[test]
fn rotary_positions() {
    on_many_shapes("rotary", |draw| {
        let [b, t, _] = sizes(draw);
        let (heads, half) = (draw.from(1..=4), draw.from(1..=9));
        let (head, rest) = (2 * half + draw.from(0..=3), draw.from(0..=7));
        let start = draw.from(0..=3);
        let angles = Arc::new(Angles::new(100.0, 2 * half, start + t));
        case("rotary", [b, t, heads * head + rest], vec![], move |x, _| {
            ops::add(&ops::rotary(x, heads, head, &angles, start)?, x)
        })
    });
}

#[test]
fn slices_and_concat() {
    on_many_shapes("slice, concat", |draw| {
        let [b, t, c] = sizes(draw);
        let (n, first) = (draw.from(2..=5), draw.from(1..=4));
        let first = first.min(n - 1);
        case("slice", [b, t, n * c], vec![], move |x, _| {
            let rows = ops::reshape(x, &[b, t, n, c])?;
            let (a, b) = (ops::slice(&rows, 2, 0, first)?, ops::slice(&rows, 2, first, n - first)?);
            ops::concat(&[&ops::gelu(&b)?, &a, &b], 2)
        })
    });
}
