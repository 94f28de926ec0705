//! An adapter beside a matrix: forward, backward, merged.

use crate::check::{Mistake, check, mistake};
use crate::library::{array, tensor};
use crate::numbers::some;
use llm_core::model::AdapterSpec;
use llm_core::ndarray::{Array2 as Table, arr2};
use llm_core::{Config, Tensor, TinyGPT, ops};
use llm_exercises::{Adapter, Array2, adapted, adapter_backward, merge};

fn scale(adapter: &Adapter) -> f64 {
    adapter.alpha / adapter.a.ncols() as f64
}

/// x·W and x·A·B with every wrong s, and with the wrong products.
fn forward_mistakes(x: &Array2, w: &Array2, adapter: &Adapter) -> Vec<Mistake> {
    let (Adapter { a, b, alpha }, s) = (adapter, scale(adapter));
    let (own, added, r) = (x.dot(w), x.dot(a).dot(b), a.ncols() as f64);
    let mut all = vec![
        mistake("alpha / r is forgotten: x·W + (x·A)·B", &own + &added),
        mistake("s is alpha, and not alpha / r", &own + &added * *alpha),
        mistake("s is r / alpha, and not alpha / r", &own + &added * (r / alpha)),
        mistake(
            "s is alpha / √r, which is another rule (rsLoRA)",
            &own + &added * (alpha / r.sqrt()),
        ),
        mistake("x·W is left out: what the model knows is gone", &added * s),
        mistake("s multiplies x·W too: W is to stay as it is", (&own + &added) * s),
    ];
    if w.is_square() {
        let exchanged = x.dot(&b.t()).dot(&a.t());
        all.push(mistake("A and B are exchanged: x·Bᵀ·Aᵀ", &own + exchanged * s));
        let behind = own.dot(a).dot(b);
        all.push(mistake(
            "A reads x·W and not x: the two stand beside each other",
            &own + behind * s,
        ));
    }
    all
}

fn backward_mistakes(x: &Array2, adapter: &Adapter, dy: &Array2) -> [Vec<Mistake>; 2] {
    let (Adapter { a, b, alpha }, s) = (adapter, scale(adapter));
    let [n_in, r, n_out] = [a.nrows(), a.ncols(), b.ncols()];
    let t = x.nrows() as f64;
    let (d_a, d_b) = (x.t().dot(&dy.dot(&b.t())), x.dot(a).t().dot(dy));
    let of = |gradient: &Array2| {
        vec![
            mistake("s is forgotten on the way back", gradient.clone()),
            mistake("s is alpha on the way back, and not alpha / r", gradient * *alpha),
            mistake("it is a mean over positions and not their sum", gradient * (s / t)),
            mistake("s is there twice: in x·A or dy already, and once more", gradient * (s * s)),
        ]
    };
    let mut all = [of(&d_a), of(&d_b)];
    if d_a.dim() == d_b.dim() {
        all[0].push(mistake("dA and dB are exchanged", &d_b * s));
        all[1].push(mistake("dA and dB are exchanged", &d_a * s));
    }
    let of_w = x.t().dot(dy);
    if r == n_out {
        all[0].push(mistake("dA is xᵀ·dy: that would be W's gradient, and W stays", of_w.clone()));
    }
    if r == n_in {
        all[1].push(mistake("dB is xᵀ·dy: that would be W's gradient, and W stays", of_w));
    }
    if n_in == n_out {
        all[0].push(mistake("A stands where Bᵀ belongs: dy·A", x.t().dot(&dy.dot(a)) * s));
    }
    all
}

fn merge_mistakes(w: &Array2, adapter: &Adapter) -> Vec<Mistake> {
    let (Adapter { a, b, alpha }, s) = (adapter, scale(adapter));
    let product = a.dot(b);
    let mut all = vec![
        mistake("alpha / r is forgotten: W + A·B", w + &product),
        mistake("s is alpha, and not alpha / r", w + &product * *alpha),
        mistake("the pair is merged twice: W + 2·s·A·B", w + &product * (2.0 * s)),
        mistake("W is set and not added to", &product * s),
        mistake("it is subtracted", w - &product * s),
    ];
    if w.is_square() {
        all.push(mistake("A and B are exchanged: Bᵀ·Aᵀ", w + &product.t() * s));
    }
    all
}

/// The page's example: rank 1 beside a table of three by three.
fn by_hand() -> (Array2, Array2, Adapter) {
    let x = arr2(&[[1.0, 1.0, 0.0]]);
    let w = arr2(&[[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]);
    let (a, b) = (arr2(&[[1.0], [2.0], [-1.0]]), arr2(&[[2.0, 0.0, 1.0]]));
    (x, w, Adapter { a, b, alpha: 2.0 })
}

#[test]
fn forward_by_hand() {
    // docs/concepts/adapters.md, section 1.
    let (x, w, adapter) = by_hand();
    let mistakes = forward_mistakes(&x, &w, &adapter);
    check("y", adapted(&x, &w, &adapter), arr2(&[[13.0, 1.0, 8.0]]), &mistakes);
}

#[test]
fn gradients_by_hand() {
    // docs/concepts/adapters.md, section 3: at the start B is 0, so A has no gradient yet; then B has moved.
    let (x, _, adapter) = by_hand();
    let dy = arr2(&[[1.0, -1.0, 0.0]]);
    let want_a = [arr2(&[[0.0], [0.0], [0.0]]), arr2(&[[-2.4], [-2.4], [0.0]])];
    for (b, want_a) in [[0.0; 3], [-0.6, 0.6, 0.0]].into_iter().zip(want_a) {
        let adapter = Adapter { b: arr2(&[b]), ..adapter.clone() };
        let mistakes = backward_mistakes(&x, &adapter, &dy);
        let (d_a, d_b) = adapter_backward(&x, &adapter, &dy);
        check("dB", d_b, arr2(&[[6.0, -6.0, 0.0]]), &mistakes[1]);
        check("dA", d_a, want_a, &mistakes[0]);
    }
}

#[test]
fn merged_by_hand() {
    let (_, w, adapter) = by_hand();
    let want = arr2(&[[5.0, 0.0, 4.0], [8.0, 1.0, 4.0], [-3.0, 0.0, -1.0]]);
    let mut merged = w.clone();
    merge(&mut merged, &mut adapter.clone());
    check("W′", merged, want, &merge_mistakes(&w, &adapter));
}

/// T, in, r, out, alpha: thin, square, and all of one size.
const SIZES: [[usize; 5]; 4] =
    [[3, 4, 2, 16, 6], [5, 4, 2, 4, 3], [3, 16, 3, 4, 1], [4, 4, 4, 4, 12]];

fn sized([t, n_in, r, n_out, alpha]: [usize; 5]) -> (Array2, Adapter, Array2) {
    let (a, b) = (some((n_in, r), 2), some((r, n_out), 3));
    (some((t, n_in), 1), Adapter { a, b, alpha: alpha as f64 }, some((t, n_out), 4))
}

/// A model of the library with this adapter beside one of its matrices, and the name of that.
fn model([_, n_in, r, n_out, _]: [usize; 5], adapter: &Adapter) -> (TinyGPT, &'static str) {
    let name = match n_in.cmp(&n_out) {
        std::cmp::Ordering::Less => "blocks.0.w_fc",
        std::cmp::Ordering::Equal => "blocks.0.w_proj",
        std::cmp::Ordering::Greater => "blocks.0.w_out",
    };
    let model = TinyGPT::new(Config::new(8, 8, 4, 1), 1).unwrap();
    let spec = AdapterSpec::uniform([(name.into(), vec![n_out])], r, scale(adapter) as f32);
    let numbers = [("lora_a", &adapter.a), ("lora_b", &adapter.b)];
    let numbers = numbers.map(|(ending, of)| (format!("{name}.{ending}"), tensor(of)));
    (model.with_adapter_of(&spec, numbers.into()).unwrap(), name)
}

fn matrix<'m>(model: &'m TinyGPT, name: &str) -> &'m Tensor {
    model.parameters().find(|(of, _)| of == name).unwrap().1
}

#[test]
fn as_in_the_library() {
    for sizes in SIZES {
        let (x, adapter, dy) = sized(sizes);
        let (model, name) = model(sizes, &adapter);
        let of_library = matrix(&model, name);
        let w: Array2 = array(of_library);
        let y = ops::linear_lastdim(&tensor(&x), of_library, None).unwrap();
        let mistakes = forward_mistakes(&x, &w, &adapter);
        check("y", adapted(&x, &w, &adapter), array(&y), &mistakes);

        let loss = ops::sum(&ops::mul(&y, &tensor(&dy)).unwrap()).unwrap();
        let grads = loss.backward().unwrap();
        let pair = of_library.adapter().unwrap();
        let [want_a, want_b] =
            [(&pair.a, &adapter.a), (&pair.b, &adapter.b)].map(|(leaf, like)| {
                Table::from_shape_vec(like.dim(), grads.get(leaf).unwrap().to_vec())
                    .unwrap()
                    .mapv(f64::from)
            });
        let mistakes = backward_mistakes(&x, &adapter, &dy);
        let (d_a, d_b) = adapter_backward(&x, &adapter, &dy);
        check("dA", d_a, want_a, &mistakes[0]);
        check("dB", d_b, want_b, &mistakes[1]);
    }
}

#[test]
fn merged_as_in_the_library() {
    for sizes in SIZES {
        let (_, adapter, _) = sized(sizes);
        let (model, name) = model(sizes, &adapter);
        let w: Array2 = array(matrix(&model, name));
        let want: Array2 = array(matrix(&model.merged(), name));
        let (mut merged, mut behind) = (w.clone(), adapter.clone());
        merge(&mut merged, &mut behind);
        check("W′", merged.clone(), want.clone(), &merge_mistakes(&w, &adapter));
        let dead =
            "A is set to 0: with B at 0 as well no gradient is left, and nothing would learn again";
        let nothing = |of: &Array2| Array2::zeros(of.raw_dim());
        check(
            "A behind the merge",
            behind.a.clone(),
            adapter.a.clone(),
            &[mistake(dead, nothing(&adapter.a))],
        );
        let twice = "B is left as it was: whoever multiplies adds the pair to W a second time, it is merged twice";
        check(
            "B behind the merge",
            behind.b.clone(),
            nothing(&adapter.b),
            &[mistake(twice, adapter.b.clone())],
        );
        merge(&mut merged, &mut behind);
        check("W′ merged again", merged, want, &merge_mistakes(&w, &adapter));
    }
}
