//! Measured figures: the pages must show what `benches/measured.json` holds, and the sizes those
//! of the benchmark itself.

use super::{Values, list};
use llm_cli::args::BenchName;
use llm_cli::commands::{BenchWorkload, bench_workload};
use llm_core::TokenId;
use llm_lens::training_flops;
use serde_json::Value;
use workspace_tests::baseline;

pub fn add(values: &mut Values) {
    let measured = measured();
    assert!(measured["how"].as_str().is_some_and(|how| how.contains("two cores")));
    for (id, key) in [
        ("perf.ratios", "ratios"),
        ("perf.ops", "ops"),
        ("perf.ops_w1", "w1/ops"),
        ("perf.shares", "shown_shares"),
        ("perf.sweep", "sweep"),
        ("perf.threads", "threads"),
        ("perf.busy", "busy"),
        ("perf.avx2", "avx2/steps"),
        ("perf.avx2_generate", "avx2/generate"),
        ("perf.memory", "memory"),
        ("perf.noise", "noise"),
        ("perf.generate", "generate"),
        ("why.products", "products"),
        ("bpe.sizes", "bpe"),
        ("outgrow.losses", "outgrow"),
        ("perf.bf16", "bf16/steps"),
        ("perf.amx", "amx/steps"),
        ("precision.seeds", "amx/seeds"),
        ("precision.seeds_steps", "amx/seeds_steps"),
        ("precision.facts", "amx/facts"),
        ("precision.f16_seeds", "f16/seeds"),
        ("perf.intel", "intel/steps"),
        ("perf.today", "today/steps"),
        ("perf.shared_keys", "today/shared_keys"),
    ] {
        let mut numbers = Vec::new();
        flatten(measured.pointer(&format!("/{key}")).unwrap(), &mut numbers);
        assert!(!numbers.is_empty(), "{key}");
        values.insert(id, numbers);
    }
    values.insert("perf.smollm2", smollm2().to_vec());
    values.insert("perf.w1_rest", what_stops_w1(&measured));
    for w in BenchName::ALL.iter().filter_map(|name| bench_workload(*name)) {
        let [l, c, t, b] = [w.layers, w.d_model, w.seq_len, w.batch_size];
        let useful = flops_of_matrices(&w) + 7 * l * b * t * t * c;
        let flops = (b * t) as f64 * training_flops(&baseline(&w.config()), t);
        assert!((flops / useful as f64 - 1.0).abs() < 1e-12);
    }
    let w1 = bench_workload(BenchName::W1).unwrap();
    let sweep = include_str!("../../../benches/sweep.py");
    let tokens = w1.batch_size * w1.seq_len;
    assert!(sweep.contains(&format!("\"--batch\", {tokens} // t]")), "B falls as T rises");
    values.insert("perf.sweep_tokens", list![tokens as u32]);
    values.insert("perf.formula", list![6, 12, 2, 7]);
    values.insert("perf.clip", list![1]);
    values.insert("outgrow.bytes", list![300_000]);
    values.insert("outgrow.tolerance", list![1e-4]);
    let [byte, narrow, wide] = [size_of::<u8>(), size_of::<u16>(), size_of::<TokenId>()];
    let [bytes, most] = [1 << u8::BITS, 1 << u16::BITS];
    let on_disk = llm_formats::data_files::in_memory() as usize >> 20;
    let held = [byte, on_disk, bytes, byte, most, narrow, wide, u16::BITS as usize, narrow];
    values.insert("data.bytes", held.map(|n| n as f64).to_vec());
    let units = [u8::BITS, u16::BITS, u8::BITS, u16::BITS];
    values.insert("data.kinds", units.map(f64::from).to_vec());
    values.insert("bpe.default", list![llm_run::defaults::VOCAB_SIZE as u32]);
    values.insert("perf.own", list![8, 256]);
    values.insert("perf.attention_sizes", list![4, 12, 1024, 64, 8, 6, 256, 64]);
    let sizes = BenchName::ALL.iter().filter_map(|name| bench_workload(*name)).flat_map(|w| {
        let BenchWorkload { layers, heads, d_model, seq_len, batch_size, vocab_size, .. } = w;
        [layers, heads, d_model, seq_len, batch_size, vocab_size].map(|n| n as f64)
    });
    values.insert("perf.sizes", sizes.collect());
}

/// Layers, width and windows' length that `compare.py` gives the bench for SmolLM2.
fn smollm2() -> [f64; 3] {
    let script = include_str!("../../../benches/peers/compare.py");
    let after = |start: &str, flag: &str| -> f64 {
        let flags = script.split_once(start).unwrap().1.lines().next().unwrap();
        flags
            .split_once(&format!("\"{flag}\", \""))
            .unwrap()
            .1
            .split('"')
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    let sizes = "SMOLLM2 = [";
    [after(sizes, "--layers"), after(sizes, "--dmodel"), after("\"smollm2\": [", "--seq")]
}

/// What was measured, with the commands and the machine.
pub(super) fn measured() -> Value {
    serde_json::from_str(include_str!("../../../benches/measured.json")).unwrap()
}

/// All numbers in order.
pub(super) fn flatten(value: &Value, numbers: &mut Vec<f64>) {
    match value {
        Value::Number(n) => numbers.extend(n.as_f64()),
        Value::Array(list) => list.iter().for_each(|v| flatten(v, numbers)),
        _ => {}
    }
}

/// The first part of the page's formula.
fn flops_of_matrices(w: &BenchWorkload) -> usize {
    let [l, c, v] = [w.layers, w.d_model, w.vocab_size];
    6 * w.batch_size * w.seq_len * (12 * l * c * c + v * c)
}

/// W1's part of PyTorch's time; its step; its products as a share of the peak; what is no product as a share
/// of the step; the part that was hoped for, and how much shorter the step would have to be for it.
fn what_stops_w1(measured: &Value) -> Vec<f64> {
    const HOPED: f64 = 0.65;
    let number = |pointer: &str| measured.pointer(pointer).unwrap().as_f64().unwrap();
    let percent = |share: f64| (100.0 * share).round();
    let (step, ratio) = (number("/w1/step"), number("/ratios/0/5"));
    let products = number("/w1/ops/0/1") + number("/w1/ops/0/2");
    let w = bench_workload(BenchName::W1).unwrap();
    let of_peak = flops_of_matrices(&w) as f64 / (products * 1e-3) / (number("/w1/peak") * 1e9);
    let (rest, shorter) = (1.0 - products / step, 1.0 - HOPED / ratio);
    vec![
        ratio,
        (step * 10.0).round() / 10.0,
        percent(of_peak),
        percent(rest),
        HOPED,
        percent(shorter),
    ]
}
