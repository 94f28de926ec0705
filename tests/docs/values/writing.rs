//! The page on writing text: choices, windows, the size of a cache.

use super::{Values, list};
use llm_core::generate::{Sampling, window_start};

pub fn add(values: &mut Values) {
    let fitted = [1, 1 << 20].map(|longest| llm_run::plan::fitted(&[longest]) as f64);
    values.insert("chats.window", fitted.to_vec());
    values.insert("chats.silence", vec![llm_formats::chat::exported::SILENCE as f64 / 60.0]);
    let logits = [0.0f32, 2.0, 1.0, 2.0];
    let plain = Sampling::default();
    let [top_k, top_p, min_p] = [2.0, 0.8, 0.5];
    let kept = |s: Sampling| -> Vec<u32> {
        let mut kept: Vec<_> = s.distribution(&logits, &[]).unwrap().iter().map(|c| c.0).collect();
        kept.sort();
        kept
    };
    assert_eq!(kept(Sampling { top_k: top_k as usize, ..plain.clone() }), [1, 3]);
    assert_eq!(kept(Sampling { top_p: top_p as f32, ..plain.clone() }), [1, 2, 3]);
    assert_eq!(kept(Sampling { min_p: min_p as f32, ..plain.clone() }), [1, 3]);
    let mut all = plain.distribution(&logits, &[]).unwrap();
    all.sort_by_key(|c| c.0);
    values.insert("write.scores", logits.iter().map(|&x| x.into()).chain([1.0]).collect());
    let rows = all.iter().flat_map(|&(id, p)| [f64::from(id), p]);
    values.insert("write.example", [top_k, top_p, min_p].into_iter().chain(rows).collect());
    let (l, t, c) = (12, 1024, 768);
    values.insert("write.cache", list![l, t, c, 2 * l * t * c]);
    values.insert("write.tolerance", list![1e-5]);
    values.insert("write.window_size", list![4]);
    let rows = (4..=8u32).flat_map(|n| {
        let start = |slide| window_start(n as usize, 4, slide) as f64;
        [f64::from(n), start(1), start(2)]
    });
    values.insert("write.window", [1.0, 2.0].into_iter().chain(rows).collect());
    values.insert("write.exit", list![llm_cli::error::Kind::Diverged.code()]);
}
