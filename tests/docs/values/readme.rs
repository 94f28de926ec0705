//! The figures of README.md: what was measured is in `benches/measured.json`, the rest is worked out.

use super::performance::{flatten, measured};
use super::{Values, list};
use llm_cli::args::BenchName;
use llm_cli::commands::bench_workload;
use serde_json::Value;
use std::f64::consts::LN_2;
use workspace_tests::baseline;

pub fn add(values: &mut Values) {
    let measured = measured();
    let readme = &measured["readme"];
    for key in ["how", "commit", "date", "machine"] {
        assert!(readme[key].as_str().is_some_and(|text| !text.is_empty()), "readme: {key}");
    }
    let of = |key: &str| -> Vec<f64> {
        let mut numbers = Vec::new();
        flatten(&readme[key], &mut numbers);
        assert!(!numbers.is_empty(), "{key}");
        numbers
    };
    let [year, seconds, loss, best] = ["year", "seconds", "loss", "best"].map(of);
    values.insert("readme.seconds", [year, seconds].concat());
    values.insert("readme.compile", of("compile_year"));
    // Also top-1, and the folders runs/001 with the 200 bytes that the last line offers to write.
    let bits = (loss[0] / LN_2 * 1e3).round() / 1e3;
    let first = [vec![loss[0], bits, 1.0], of("top1"), of("facts"), of("without_reading")];
    let last = [vec![1.0, 1.0], best, vec![1.0, 200.0]];
    values.insert("readme.result", [first.concat(), last.concat()].concat());
    values.insert("readme.one_head", of("one_head"));
    values.insert("readme.range", range(&measured));
    values.insert("readme.limits", list![2, 8 * size_of::<f32>() as u32]); // GPT-2, bits
    values.insert("readme.avx", list![1, 512]);
    values.insert("readme.speed", speed(&measured));
    values.insert("readme.bf16", rounded(&measured));
    let licence = include_str!("../../../Cargo.toml").split("Apache-").nth(1).unwrap();
    values.insert(
        "readme.licence",
        list![licence.split('"').next().unwrap().parse::<f64>().unwrap()],
    );
    values.insert("sources.chapter", list![11]);
    values.insert("sources.table", list![1, 11]);
}

/// Columns of the row of a workload.
fn row<const N: usize>(rows: &Value, name: &str, columns: [usize; N]) -> Vec<f64> {
    let row = rows.as_array().unwrap().iter().find(|row| row[0] == name).unwrap();
    columns.map(|i| row[i].as_f64().unwrap()).to_vec()
}

/// The least and the most of PyTorch's time that a step takes: W1, W3 and W4 as it comes and with
/// AVX-512 forced on, then held to AVX2, then on the Xeon.
fn range(measured: &Value) -> Vec<f64> {
    let ends = |shares: &[f64]| {
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        vec![least, shares.iter().copied().fold(0.0, f64::max)]
    };
    let column = |rows: &Value, names: &[&str], column: usize| -> Vec<f64> {
        names.iter().map(|name| row(rows, name, [column])[0]).collect()
    };
    let sizes = ["w1", "w3", "w4"];
    let avx2 = column(&measured["avx2"]["steps"], &sizes, 3);
    let xeon = column(&measured["intel"]["steps"], &sizes[..2], 3);
    let [stock, forced] = [3, 5].map(|at| column(&measured["ratios"], &sizes, at));
    [ends(&stock), list![512], ends(&forced), ends(&avx2), ends(&xeon)].concat()
}

/// In bf16: a number's bits, then W1, W3 and W4's times, ratios to PyTorch's, ratios to our f32.
fn rounded(measured: &Value) -> Vec<f64> {
    let rows = ["w1", "w3", "w4"].map(|name| row(&measured["amx"]["steps"], name, [1, 3, 7]));
    let columns = (0..3).flat_map(|column| rows.each_ref().map(|row| row[column]));
    list![u16::BITS].into_iter().chain(columns).collect()
}

/// The table: parameters, our time, PyTorch's, and the two ratios.
fn speed(measured: &Value) -> Vec<f64> {
    let row = |part: &str, name: &str| row(&measured[part], name, [1, 2, 3, 5]);
    let millions = |name, digits| {
        let config = bench_workload(name).unwrap().config();
        let scale = 10f64.powi(digits);
        (baseline(&config).parameter_count() as f64 / 1e6 * scale).round() / scale
    };
    let sizes =
        [millions(BenchName::W1, 1), millions(BenchName::W3, 1), millions(BenchName::W4, 0)];
    let parts = [
        list![512],
        vec![sizes[0]],
        row("ratios", "w1"),
        vec![sizes[1]],
        row("ratios", "w3"),
        vec![2.0, sizes[2]], // of GPT-2
        row("ratios", "w4"),
        vec![2.0],
        row("generate", "w4"),
    ];
    let ratios = |row: &[f64]| (row[0] / row[1] - row[2]).abs() < 0.006;
    assert!([2, 4, 6, 8].iter().all(|&i| ratios(&parts[i])), "{parts:?}");
    parts.concat()
}
