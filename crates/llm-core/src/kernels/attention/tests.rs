//! The naive twin: loops that read like the equations, in f64.

use super::super::dropout::Dropout;
use super::super::gemm::{matrix, matrix_mut};
use super::*;
use ndarray::Array2;

struct Naive {
    p: Array2<f64>,
    y: Array2<f64>,
    dq: Array2<f64>,
    dk: Array2<f64>,
    dv: Array2<f64>,
}

/// `x`: q, k, v and dy.
fn naive(x: &[Array2<f64>; 4], scoring: Scoring) -> Naive {
    let [q, k, v, dy] = x;
    let Scoring { scale, soft_cap, window } = scoring;
    let (scale, soft_cap) = (f64::from(scale), soft_cap.map(f64::from));
    let capped = |s: f64| soft_cap.map_or(s, |c| c * (s / c).tanh());
    let (t, d) = q.dim();
    let mut p = Array2::zeros((t, t));
    for i in 0..t {
        let score = |j: usize| {
            if j > i || i - j >= window {
                f64::from(MASKED)
            } else {
                capped((0..d).map(|c| q[[i, c]] * k[[j, c]]).sum::<f64>() * scale)
            }
        };
        let max = (0..t).map(score).fold(f64::MIN, f64::max);
        let sum: f64 = (0..t).map(|j| (score(j) - max).exp()).sum();
        (0..t).for_each(|j| p[[i, j]] = (score(j) - max).exp() / sum);
    }
    let y = p.dot(v);
    let dp = dy.dot(&v.t());
    let mut ds = Array2::zeros((t, t));
    for i in 0..t {
        let dot: f64 = (0..t).map(|j| p[[i, j]] * dp[[i, j]]).sum();
        let slope = |j: usize| {
            let s = (0..d).map(|c| q[[i, c]] * k[[j, c]]).sum::<f64>() * scale;
            soft_cap.map_or(1.0, |c| (s / c).cosh().powi(-2))
        };
        (0..t).for_each(|j| ds[[i, j]] = p[[i, j]] * (dp[[i, j]] - dot) * slope(j) * scale);
    }
    Naive { dq: ds.dot(k), dk: ds.t().dot(q), dv: p.t().dot(dy), p, y }
}

fn numbers(t: usize, d: usize, salt: usize) -> Vec<f32> {
    (0..t * d).map(|i| ((i * 37 + salt * 101) % 61) as f32 / 20.0 - 1.5).collect()
}

fn wide(data: &[f32], t: usize, d: usize) -> Array2<f64> {
    Array2::from_shape_fn((t, d), |(i, c)| f64::from(data[i * d + c]))
}

fn close(got: &[f32], want: &Array2<f64>, what: &str) {
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((f64::from(*g) - w).abs() < 2e-5 * w.abs().max(1.0), "{what}[{i}]: {g}, not {w}");
    }
}

/// Windows, and what they do in a text of 130: all of it, one block and less, one position.
const WINDOWS: [usize; 6] = [usize::MAX, 130, 66, 64, 9, 1];

/// Caps that flatten most scores, some, and none to speak of; and no cap.
const CAPS: [Option<f32>; 4] = [None, Some(0.1), Some(1.0), Some(50.0)];

#[test]
fn one_head_equals_its_naive_twin() {
    let capped = CAPS.into_iter().flat_map(|cap| WINDOWS.map(|window| (cap, window)));
    for (t, (soft_cap, window)) in [1, 2, 3, 5, 17, 63, 64, 65, 66, 130]
        .into_iter()
        .flat_map(|t| capped.clone().map(move |of| (t, of)))
    {
        for d in [1, 2, 7, 16, 33] {
            let [q, k, v, dy] = [1, 2, 3, 4].map(|salt| numbers(t, d, salt));
            let scoring = Scoring { soft_cap, window, ..Scoring::new(d) };
            let want = naive(&[&q, &k, &v, &dy].map(|x| wide(x, t, d)), scoring);
            // The three operands interleaved as in qkv, and NaN wherever an output goes.
            let mut qkv = vec![0.0; t * 3 * d];
            for i in 0..t {
                for (n, x) in [&q, &k, &v].into_iter().enumerate() {
                    qkv[(i * 3 + n) * d..][..d].copy_from_slice(&x[i * d..][..d]);
                }
            }
            let parts = head_views(&qkv, [1, t, 3, d]);
            let [q_view, k_view, v_view] = [0, 1, 2].map(|part| head_view(&parts, 0, part));
            let head = Head::new([q_view, k_view, v_view], scoring);
            let (mut y, mut lse) = (vec![f32::NAN; t * d], vec![f32::NAN; t]);
            let outputs =
                [head_views_mut(&mut y, [1, t, 1, d]), row_views_mut(&mut lse, [1, 1, t])];
            each_head(outputs, 0, |_, _, [y, lse]| forward(head, y, lse));
            close(&y, &want.y, "y");
            close(&probs(q_view, k_view, scoring), &want.p, "p");

            let mut dqkv = vec![f32::NAN; t * 3 * d];
            let [y_views, dy_views] = [&y, &dy].map(|x| head_views(x, [1, t, 1, d]));
            each_head(qkv_views_mut(&mut dqkv, [1, t, 1, d]), 0, |_, _, [dq, dk, dv]| {
                let [y, dy] = [&y_views, &dy_views].map(|x| head_view(x, 0, 0));
                let output = HeadOutput { y, lse: &lse, dy };
                backward(head, output, HeadGradients { dq, dk, dv }, Accumulate::First);
            });
            let grads = head_views(&dqkv, [1, t, 3, d]);
            for (n, want) in [&want.dq, &want.dk, &want.dv].into_iter().enumerate() {
                let got = head_view(&grads, 0, n).iter().copied().collect::<Vec<_>>();
                close(&got, want, ["dq", "dk", "dv"][n]);
            }

            // The last row again, as a step of generation over the positions that it sees.
            let first = t.saturating_sub(window);
            let (mut scores, mut last) = (vec![f32::NAN; t - first], vec![f32::NAN; d]);
            let [k, v] = [k_view, v_view].map(|x| x.slice_move(ndarray::s![first.., ..]));
            attend_one(&q[(t - 1) * d..], k, v, scoring, &mut scores, &mut last);
            for c in 0..d {
                assert!((f64::from(last[c]) - want.y[[t - 1, c]]).abs() < 2e-5);
            }
        }
    }
}

/// A window as long as the text equals no window, bit for bit, with dropout too.
#[test]
fn a_window_over_everything_is_the_whole_text() {
    let masks = Dropout::new(0.4, 3, 1, 0).unwrap().at(1u64, 130);
    for (t, masks) in [(1, None), (70, None), (70, Some(masks)), (130, Some(masks))] {
        let d = 7;
        let [q, k, v, dy] = [1, 2, 3, 4].map(|salt| numbers(t, d, salt));
        let [qv, kv, vv, dyv] = [&q, &k, &v, &dy].map(|x| matrix(x, t, d));
        let run = |window: Option<usize>| {
            let mut all = [(); 4].map(|()| vec![f32::NAN; t * d]);
            let mut lse = vec![f32::NAN; t];
            let [y, dq, dk, dv] = all.each_mut().map(|x| &mut x[..]);
            let mut head = Head { masks, ..Head::new([qv, kv, vv], 0.5) };
            head.scoring.window = window.unwrap_or(usize::MAX);
            forward(head, matrix_mut(y, t, d), matrix_mut(&mut lse, t, 1));
            let output = HeadOutput { y: matrix(y, t, d), lse: &lse, dy: dyv };
            let [dq, dk, dv] = [dq, dk, dv].map(|x| matrix_mut(x, t, d));
            backward(head, output, HeadGradients { dq, dk, dv }, Accumulate::First);
            all
        };
        assert!(run(None) == run(Some(t)) && run(None) == run(Some(t + 1)));
    }
}

/// Two heads of queries over the same keys and values: the sum of what each alone would give.
#[test]
fn shares_of_heads_that_read_the_same_keys_add_up() {
    for (t, window) in [(5, usize::MAX), (70, usize::MAX), (130, 20)] {
        let d = 3;
        let [k, v, dy] = [2, 3, 4].map(|salt| numbers(t, d, salt));
        let [kv, vv, dyv] = [&k, &v, &dy].map(|x| matrix(x, t, d));
        let (mut dk, mut dv) = (vec![f32::NAN; t * d], vec![f32::NAN; t * d]);
        let mut sums = [(); 2].map(|()| Array2::<f64>::zeros((t, d)));
        for (salt, accumulate) in [(1, Accumulate::First), (7, Accumulate::Add)] {
            let q = numbers(t, d, salt);
            let (mut y, mut dq, mut lse) = (vec![0.0; t * d], vec![0.0; t * d], vec![0.0; t]);
            let scoring = Scoring { window, ..Scoring::from(0.5) };
            let head = Head::new([matrix(&q, t, d), kv, vv], scoring);
            forward(head, matrix_mut(&mut y, t, d), matrix_mut(&mut lse, t, 1));
            let [dq, dk, dv] = [&mut dq, &mut dk, &mut dv].map(|x| matrix_mut(x, t, d));
            let output = HeadOutput { y: matrix(&y, t, d), lse: &lse, dy: dyv };
            backward(head, output, HeadGradients { dq, dk, dv }, accumulate);
            let want = naive(&[&q, &k, &v, &dy].map(|x| wide(x, t, d)), scoring);
            sums[0] += &want.dk;
            sums[1] += &want.dv;
        }
        close(&dk, &sums[0], "dk");
        close(&dv, &sums[1], "dv");
    }
}

#[test]
fn each_group_is_visited_once_with_all_its_heads() {
    let [b, t, h, g, d] = [3, 2, 6, 3, 4];
    for work in [0, usize::MAX] {
        let (mut x, mut y) = (vec![-1.0; b * t * h * d], vec![-1.0; b * t * g * d]);
        let outputs = [head_views_mut(&mut x, [b, t, h, d]), head_views_mut(&mut y, [b, t, g, d])];
        each_group(outputs, g, work, |sequence, group, [mut heads, mut shared]| {
            assert_eq!((heads.dim(), shared.dim()), ((h / g, t, d), (1, t, d)));
            for (i, mut head) in heads.outer_iter_mut().enumerate() {
                head.mapv_inplace(|x| x + 1.0 + (sequence * h + group * (h / g) + i) as f32);
            }
            shared.mapv_inplace(|x| x + 1.0 + (sequence * g + group) as f32);
        });
        for (data, n) in [(&x, h), (&y, g)] {
            let views = head_views(data, [b, t, n, d]);
            for i in 0..b * n {
                assert!(head_view(&views, i / n, i % n).iter().all(|&x| x == i as f32));
            }
        }
    }
}

#[test]
fn views_cut_channels_into_heads() {
    // [B=2, T=3, N=2, D=2]: element (b, t, n, d) lies at ((b·T + t)·N + n)·D + d.
    let data: Vec<f32> = (0..24).map(|i| i as f32).collect();
    let views = head_views(&data, [2, 3, 2, 2]);
    for (b, t, n, d) in [(0, 2, 1, 0), (1, 0, 0, 1), (1, 2, 1, 1)] {
        assert_eq!(head_view(&views, b, n)[[t, d]], (((b * 3 + t) * 2 + n) * 2 + d) as f32);
    }
}

#[test]
fn each_head_is_visited_once_with_its_own_part() {
    let [b, t, h, d] = [5, 2, 7, 3];
    for work in [0, usize::MAX] {
        let (mut dqkv, mut lse) = (vec![-1.0; b * t * 3 * h * d], vec![-1.0; b * h * t]);
        each_head(qkv_views_mut(&mut dqkv, [b, t, h, d]), work, |sequence, head, parts| {
            for (part, mut view) in parts.into_iter().enumerate() {
                assert_eq!(view.dim(), (t, d));
                view.mapv_inplace(|x| x + 1.0 + (sequence * 3 * h + part * h + head) as f32);
            }
        });
        let rows = [row_views_mut(&mut lse, [b, h, t])];
        each_head(rows, work, |sequence, head, [mut lse]| lse.fill((sequence * h + head) as f32));
        let views = head_views(&dqkv, [b, t, 3 * h, d]);
        for (i, n) in (0..b * 3 * h).map(|i| (i, i as f32)) {
            assert!(head_view(&views, i / (3 * h), i % (3 * h)).iter().all(|&x| x == n));
        }
        assert!(lse.iter().enumerate().all(|(i, &x)| x == (i / t) as f32));
    }
}

/// With masks Y = (M ∘ P)·V, P itself without masks; the gradient is checked where all ops are.
#[test]
fn dropped_weights_do_not_reach_the_output() {
    let masks = Dropout::new(0.4, 3, 1, 0).unwrap().at(1u64, 130);
    for t in [1, 5, 64, 130] {
        let d = 7;
        let [q, k, v] = [1, 2, 3].map(|salt| numbers(t, d, salt));
        let [qv, kv, vv] = [&q, &k, &v].map(|x| matrix(x, t, d));
        let (mut y, mut lse) = (vec![f32::NAN; t * d], vec![f32::NAN; t]);
        let outputs = (matrix_mut(&mut y, t, d), matrix_mut(&mut lse, t, 1));
        let head = Head { masks: Some(masks), ..Head::new([qv, kv, vv], 0.5) };
        forward(head, outputs.0, outputs.1);
        let mut p = Array2::from_shape_vec((t, t), probs(qv, kv, 0.5)).unwrap();
        for i in 0..t {
            let mut m = vec![f32::NAN; i + 1];
            masks.multipliers(i, &mut m);
            (0..=i).for_each(|j| p[[i, j]] *= m[j]);
        }
        close(&y, &p.mapv(f64::from).dot(&wide(&v, t, d)), "y");
    }
}
