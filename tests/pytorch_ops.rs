//! Every op's value and gradients against PyTorch in float64.

use llm_core::kernels::rotary::Angles;
use llm_core::{Gradients, Result, Tensor, ops};
use llm_variant_mha::self_attention_mha;
use llm_variant_modern::{HeadShape, causal_attention_grouped};
use std::sync::Arc;
use workspace_tests::assert_close;
use workspace_tests::fixture::Fixture;

const TOL: f64 = 1e-5;

/// Gradients of Σ y∘dy: what PyTorch's `y.backward(dy)` gives.
fn backward(y: &Tensor, dy: &Tensor) -> Gradients {
    let dy = ops::reshape(dy, y.shape()).unwrap();
    ops::sum(&ops::mul(y, &dy).unwrap()).unwrap().backward().unwrap()
}

/// Checks `{op}.y` and, for each named input, `{op}.d{input}`.
fn check(f: &Fixture, op: &str, inputs: &[&str], run: impl Fn(&[Tensor]) -> Result<Tensor>) {
    let tensors: Vec<_> = inputs.iter().map(|i| f.input(&format!("{op}.{i}"))).collect();
    let y = run(&tensors).unwrap();
    assert_close(&format!("{op}.y"), y.data(), f.values(&format!("{op}.y")), TOL);
    assert_eq!(y.shape(), f.shape(&format!("{op}.y")), "{op}");
    let grads = backward(&y, &f.constant(&format!("{op}.dy")));
    for (name, x) in inputs.iter().zip(&tensors) {
        let key = format!("{op}.d{name}");
        assert_close(&key, grads.get(x).unwrap(), f.values(&key), TOL);
    }
}

#[test]
fn elementwise() {
    let f = Fixture::read("ops");
    check(&f, "add", &["a", "b"], |x| ops::add(&x[0], &x[1]));
    check(&f, "mul", &["a", "b"], |x| ops::mul(&x[0], &x[1]));
    let (s, t) = (f.meta("mul_scalar.s") as f32, f.meta("add_scalar.s") as f32);
    check(&f, "mul_scalar", &["x"], |x| ops::mul_scalar(&x[0], s));
    check(&f, "add_scalar", &["x"], |x| ops::add_scalar(&x[0], t));
    check(&f, "sum", &["x"], |x| ops::sum(&x[0]));
    check(&f, "gelu", &["x"], |x| ops::gelu(&x[0]));
    check(&f, "gelu_exact", &["x"], |x| ops::gelu_exact(&x[0]));
}

#[test]
fn products() {
    let f = Fixture::read("ops");
    check(&f, "matmul2d", &["a", "b"], |x| ops::matmul2d(&x[0], &x[1]));
    check(&f, "bmm", &["a", "b"], |x| ops::bmm(&x[0], &x[1]));
    check(&f, "linear_lastdim", &["x", "w", "b"], |x| {
        ops::linear_lastdim(&x[0], &x[1], Some(&x[2]))
    });
}

#[test]
fn rows() {
    let f = Fixture::read("ops");
    check(&f, "softmax_lastdim", &["x"], |x| ops::softmax_lastdim(&x[0]));
    check(&f, "layernorm_lastdim", &["x"], |x| ops::layernorm_lastdim(&x[0], 1e-5));
    check(&f, "layernorm_affine", &["x", "g", "b"], |x| {
        ops::layernorm_affine_lastdim(&x[0], &x[1], &x[2], 1e-5)
    });
    let (start, len) =
        (f.meta("slice_lastdim.start") as usize, f.meta("slice_lastdim.len") as usize);
    check(&f, "slice_lastdim", &["x"], |x| ops::slice_lastdim(&x[0], start, len));
}

#[test]
fn shapes_that_are_repeated() {
    type Op = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let f = Fixture::read("arrays");
    let all: [(&str, Op); 3] = [("add", ops::add), ("sub", ops::sub), ("mul", ops::mul)];
    for i in 0..f.meta("pairs") as usize {
        for (name, op) in all {
            check(&f, &format!("{name}{i}"), &["a", "b"], |x| op(&x[0], &x[1]));
        }
    }
    check(&f, "broadcast_to", &["x"], |x| ops::broadcast_to(&x[0], &[2, 3, 4]));
    check(&f, "mean", &["x"], |x| ops::mean(&x[0]));
}

#[test]
fn any_axis() {
    let f = Fixture::read("arrays");
    for axis in 0..4isize {
        for axis in [axis, axis - 4] {
            let at = axis.rem_euclid(4);
            check(&f, &format!("softmax{at}"), &["x"], |x| ops::softmax(&x[0], axis));
            check(&f, &format!("slice{at}"), &["x"], |x| {
                ops::slice(&x[0], axis, 1, x[0].shape()[at as usize] - 1)
            });
        }
    }
    for (a, b) in [(0, 1), (0, 3), (1, 2), (2, 3)] {
        let key = format!("transpose{a}{b}");
        check(&f, &key, &["x"], |x| ops::transpose(&x[0], a, b));
        check(&f, &key, &["x"], |x| ops::transpose(&x[0], b - 4, a - 4));
    }
    for axis in 0..3 {
        let key = format!("concat{axis}");
        check(&f, &key, &["a", "b", "c"], |x| ops::concat(&[&x[0], &x[1], &x[2]], axis));
    }
}

#[test]
fn embedding_and_cross_entropy() {
    let f = Fixture::read("ops");
    let (ids, shape) = (f.tokens("embedding.ids"), f.shape("embedding.ids").to_vec());
    check(&f, "embedding", &["w"], |x| ops::embedding(&x[0], &ids, &shape));

    let logits = f.input("cross_entropy.logits");
    let loss = ops::cross_entropy(&logits, &f.tokens("cross_entropy.targets")).unwrap();
    assert_close("loss", loss.data(), f.values("cross_entropy.y"), TOL);
    let grads = loss.backward().unwrap();
    assert_close("dlogits", grads.get(&logits).unwrap(), f.values("cross_entropy.dlogits"), TOL);
    // The caller still holds the logits: they were not written over.
    assert_close("logits", logits.data(), f.values("cross_entropy.logits"), 0.0);
}

/// Norms, gates and rotary positions of today's models.
#[test]
fn modern_pieces() {
    let f = Fixture::read("modern");
    check(&f, "rmsnorm", &["x"], |x| ops::rmsnorm_lastdim(&x[0], None, 1e-5));
    check(&f, "rmsnorm_gain", &["x", "g"], |x| ops::rmsnorm_lastdim(&x[0], Some(&x[1]), 1e-5));
    check(&f, "silu", &["x"], |x| ops::silu(&x[0]));
    check(&f, "swiglu", &["x"], |x| ops::swiglu(&x[0]));
    check(&f, "relu2", &["x"], |x| ops::relu2(&x[0]));
    for i in 0..f.meta("rotary") as usize {
        let n = |name: &str| f.meta(&format!("rotary{i}.{name}")) as usize;
        let [heads, depth, width, start] = ["heads", "depth", "width", "start"].map(n);
        let theta = f.meta(&format!("rotary{i}.theta"));
        let angles = Arc::new(Angles::new(theta, width, start + 5));
        check(&f, &format!("rotary{i}"), &["x"], |x| {
            ops::rotary(&x[0], heads, depth, &angles, start)
        });
    }
}

/// Heads that share keys and values, and see a window: y, P and the gradient.
#[test]
fn grouped_heads_and_windows() {
    let f = Fixture::read("modern");
    for i in 0..f.meta("grouped") as usize {
        let (key, n) = (format!("grouped{i}"), |name: &str| f.meta(&format!("grouped{i}.{name}")));
        let [n_heads, kv_heads, window] =
            ["heads", "groups", "window"].map(|name| n(name) as usize);
        let head_dim = f.shape(&format!("{key}.qkv"))[2] / (n_heads + 2 * kv_heads);
        let window = if window == 0 { usize::MAX } else { window };
        let heads = HeadShape::of([n_heads, kv_heads, head_dim]).within(window);
        check(&f, &key, &["qkv"], |x| causal_attention_grouped(&x[0], heads, &[], None));
    }
}

/// `set`: where the inputs are; `outputs`: where values and gradients for H heads are.
fn check_attention(f: &Fixture, set: &str, outputs: &str, h: usize) {
    let names = ["x", "w_qkv", "b_qkv", "w_proj", "b_proj"];
    let inputs = names.map(|n| f.input(&format!("{set}.{n}")));
    let [x, w_qkv, b_qkv, w_proj, b_proj] = &inputs;
    let mut results = vec![
        self_attention_mha(x, w_qkv, b_qkv, w_proj, b_proj, h, &ops::Context::new(0)).unwrap(),
    ];
    if h == 1 {
        results.push(
            ops::self_attention_1h(x, w_qkv, b_qkv, w_proj, b_proj, &ops::Context::new(0)).unwrap(),
        );
    }
    for y in results {
        assert_close(&format!("{outputs}.y"), y.data(), f.values(&format!("{outputs}.y")), TOL);
        let grads = backward(&y, &f.constant(&format!("{set}.dy")));
        for (name, input) in names.iter().zip(&inputs) {
            let key = format!("{outputs}.d{name}");
            assert_close(&key, grads.get(input).unwrap(), f.values(&key), TOL);
        }
    }
}

#[test]
fn attention_with_one_two_three_and_c_heads() {
    let f = Fixture::read("ops");
    for h in [1, 2, 3, 12] {
        check_attention(&f, "self_attention", &format!("self_attention_h{h}"), h);
    }
    // longer than a block of query rows
    check_attention(&f, "self_attention_long", "self_attention_long", 2);
}

/// What a probe sees is PyTorch's P and the concatenated heads.
#[test]
fn probes_see_weights_and_heads() {
    use llm_core::Attention;
    use llm_core::model::{Context, Probe, Site};
    use llm_core::ndarray::{Array3, ArrayView2, ArrayView3};
    use std::cell::RefCell;

    struct See {
        p: RefCell<Vec<f32>>,
        concat: RefCell<Vec<f32>>,
    }
    impl Probe for See {
        fn head(&self, _: usize, _: usize, _: usize, probs: ArrayView2<'_, f32>) {
            self.p.borrow_mut().extend(probs.iter());
        }
        fn value(&self, _: usize, _: Site, y: ArrayView3<'_, f32>) -> Option<Array3<f32>> {
            self.concat.borrow_mut().extend(y.iter());
            None
        }
    }
    let f = Fixture::read("ops");
    let input = |n: &str| f.input(&format!("self_attention.{n}"));
    let own = ["w_qkv", "b_qkv", "w_proj", "b_proj"].map(|n| (n.to_string(), input(n)));
    let (x, p) = (input("x"), llm_core::model::Parameters::new(own.into()));
    let all: [(usize, Box<dyn Attention>); 3] = [
        (1, Box::new(llm_core::model::SingleHead)),
        (2, Box::new(llm_variant_mha::MultiHead::new(2))),
        (12, Box::new(llm_variant_mha::MultiHead::new(12))),
    ];
    for (h, attention) in all {
        let see = See { p: RefCell::default(), concat: RefCell::default() };
        let ctx = Context::new(0).with_probe(Some(&see));
        attention.forward(&x, &p, &ctx).unwrap();
        let key = |n: &str| format!("self_attention_h{h}.{n}");
        assert_close("p", &see.p.borrow(), f.values(&key("p")), 1e-6);
        assert_close("concat", &see.concat.borrow(), f.values(&key("concat")), TOL);
    }
}
