//! The courses' attention against PyTorch in float64: every function and module, every kind of
//! mask, every number of batch axes; values and gradients.

use llm_core::{Gradients, Tensor, ops};
use llm_courses::{
    AdditiveMask, KeepMask, Linear, MultiHeadAttention, MultiHeadOutput, SimpleMultiHeadAttention,
    linear, permute, scaled_dot_product_attention, softmax,
};
use workspace_tests::assert_close;
use workspace_tests::fixture::Fixture;

const TOL: f64 = 1e-5;

/// Gradients of Σ y∘dy, after y itself was compared.
fn compared(f: &Fixture, case: &str, y: &Tensor, dy: &Tensor) -> Gradients {
    let key = format!("{case}.y");
    assert_close(&key, y.data(), f.values(&key), TOL);
    assert_eq!(y.shape(), f.shape(&key), "{case}");
    ops::sum(&ops::mul(y, dy).unwrap()).unwrap().backward().unwrap()
}

fn compare_gradients(f: &Fixture, case: &str, grads: &Gradients, inputs: &[(&str, &Tensor)]) {
    for (name, x) in inputs {
        let key = format!("{case}.d{name}");
        assert_close(&key, grads.get(x).unwrap(), f.values(&key), TOL);
    }
}

/// The cases `{set}.{case}` of the file.
fn cases(f: &Fixture, set: &str) -> Vec<String> {
    let names = f.names(&format!("{set}."));
    names.iter().filter_map(|n| n.strip_suffix(".y")).map(|c| format!("{set}.{c}")).collect()
}

fn additive(f: &Fixture, case: &str) -> Option<AdditiveMask> {
    let key = format!("{case}.mask");
    f.has(&key).then(|| AdditiveMask::new(f.constant(&key).view().to_owned()).unwrap())
}

fn keep(f: &Fixture, case: &str) -> Option<KeepMask> {
    let key = format!("{case}.mask");
    f.has(&key).then(|| KeepMask::new(f.constant(&key).view().to_owned()))
}

#[test]
fn linear_with_one_to_four_axes() {
    let f = Fixture::read("modules");
    for rank in 1..=4 {
        let set = format!("linear{rank}");
        let [x, a, b] = ["x", "a", "b"].map(|n| f.input(&format!("{set}.{n}")));
        let dy = f.constant(&format!("{set}.dy"));
        for (case, bias) in [("bias", Some(&b)), ("none", None)] {
            let case = format!("{set}.{case}");
            let grads = compared(&f, &case, &linear(&x, &a, bias).unwrap(), &dy);
            compare_gradients(&f, &case, &grads, &[("x", &x), ("a", &a)]);
            match bias {
                Some(b) => compare_gradients(&f, &case, &grads, &[("b", b)]),
                None => assert!(grads.get(&b).is_none()),
            }
        }
    }
}

#[test]
fn softmax_over_every_axis_and_permute() {
    let f = Fixture::read("modules");
    let x = f.input("softmax.x");
    let all = cases(&f, "softmax");
    assert_eq!(all.len(), 8);
    for case in all {
        let axis = case.strip_prefix("softmax.").unwrap().parse().unwrap();
        let grads = compared(&f, &case, &softmax(&x, axis).unwrap(), &f.constant("softmax.dy"));
        compare_gradients(&f, &case, &grads, &[("x", &x)]);
    }
    let x = f.input("permute.x");
    let y = permute(&x, &[2, 0, 3, 1]).unwrap();
    let grads = compared(&f, "permute.2031", &y, &f.constant("permute.dy"));
    compare_gradients(&f, "permute.2031", &grads, &[("x", &x)]);
}

/// Batch axes (), (2), (2, 1), (2, 1, 2); scales; masks of every shape, with −∞ or without.
#[test]
fn scaled_dot_product_attention_with_every_mask_and_scale() {
    let f = Fixture::read("modules");
    let sets = [("sdpa0", 16), ("sdpa1", 22), ("sdpa2", 26), ("sdpa3", 26), ("sdpa_long", 1)];
    for (set, n) in sets {
        let [q, k, v] = ["q", "k", "v"].map(|n| f.input(&format!("{set}.{n}")));
        let dy = f.constant(&format!("{set}.dy"));
        let all = cases(&f, set);
        assert_eq!(all.len(), n, "{all:?}");
        for case in all {
            let scale = f.meta_if_any(&format!("{case}.scale")).map(|s| s as f32);
            let mask = additive(&f, &case);
            let y = scaled_dot_product_attention(&q, &k, &v, scale, mask.as_ref()).unwrap();
            let grads = compared(&f, &case, &y, &dy);
            compare_gradients(&f, &case, &grads, &[("q", &q), ("k", &k), ("v", &v)]);
        }
    }
}

fn compare_parts(f: &Fixture, case: &str, got: &MultiHeadOutput) {
    for (name, x) in [("p", &got.weights), ("concat", &got.concat)] {
        let key = format!("{case}.{name}");
        assert_close(&key, x.data(), f.values(&key), TOL);
        assert_eq!(x.shape(), f.shape(&key), "{key}");
    }
}

#[test]
fn simple_multi_head_attention_with_every_mask() {
    let f = Fixture::read("modules");
    let ws = ["wq", "wk", "wv", "wo"];
    let [wq, wk, wv, wo] = ws.map(|n| f.input(&format!("weights.{n}")));
    let heads = f.meta("simple.heads") as usize;
    let module = SimpleMultiHeadAttention::new(6, heads, wq, wk, wv, wo).unwrap();
    for (set, n) in [("simple0", 11), ("simple1", 13), ("simple2", 13)] {
        let names = ["query", "key", "value"];
        let [query, key, value] = names.map(|n| f.input(&format!("{set}.{n}")));
        let dy = f.constant(&format!("{set}.dy"));
        let all = cases(&f, set);
        assert_eq!(all.len(), n, "{all:?}");
        for case in all {
            let mask = additive(&f, &case);
            let got = module.attend(&query, &key, &value, mask.as_ref()).unwrap();
            compare_parts(&f, &case, &got);
            let y = module.forward(&query, &key, &value, mask.as_ref()).unwrap();
            let grads = compared(&f, &case, &y, &dy);
            let inputs = [("query", &query), ("key", &key), ("value", &value)];
            compare_gradients(&f, &case, &grads, &inputs);
            for (name, w) in module.parameters() {
                compare_gradients(&f, &case, &grads, &[(name.as_str(), w)]);
            }
        }
    }
}

#[test]
fn multi_head_attention_with_every_mask() {
    let f = Fixture::read("modules");
    let map = |w: &str, b: &str| {
        let [w, b] = [w, b].map(|n| f.input(&format!("weights.{n}")));
        Linear::new(w, Some(b)).unwrap()
    };
    let [wq, wk, wv, wo] =
        [("wq", "bq"), ("wk", "bk"), ("wv", "bv"), ("wo", "bo")].map(|(w, b)| map(w, b));
    let heads = f.meta("mha.heads") as usize;
    let module = MultiHeadAttention::from_linears(heads, wq, wk, wv, wo).unwrap();
    for (set, n) in [("mha0", 11), ("mha1", 13), ("mha2", 13)] {
        let x = f.input(&format!("{set}.x"));
        let dy = f.constant(&format!("{set}.dy"));
        let all = cases(&f, set);
        assert_eq!(all.len(), n, "{all:?}");
        for case in all {
            let mask = keep(&f, &case);
            compare_parts(&f, &case, &module.attend(&x, mask.as_ref()).unwrap());
            let grads = compared(&f, &case, &module.forward(&x, mask.as_ref()).unwrap(), &dy);
            compare_gradients(&f, &case, &grads, &[("x", &x)]);
            for (name, p) in module.parameters() {
                // wq.weight is wq in the file, wq.bias is bq
                let (map, what) = name.split_once('.').unwrap();
                let key = if what == "bias" { map.replace('w', "b") } else { map.to_string() };
                compare_gradients(&f, &case, &grads, &[(key.as_str(), p)]);
            }
        }
    }
}
