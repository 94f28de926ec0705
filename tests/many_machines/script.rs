//! benches/many_machines.py, which makes the page's tables, reckons as `model.rs` does.

use super::model::{MICRO_BATCHES, NETWORKS, PROCESSES, Rates, bytes, messages, rates};
use serde_json::Value;
use std::process::{Command, Stdio};

/// Every number, in the order of the text.
fn flatten(value: &Value, numbers: &mut Vec<f64>) {
    match value {
        Value::Number(n) => numbers.extend(n.as_f64()),
        Value::Array(list) => list.iter().for_each(|v| flatten(v, numbers)),
        _ => {}
    }
}

/// What the script says of a workload, by its keys.
fn expected(rates: &Rates) -> [(&'static str, Vec<f64>); 4] {
    let mut far = Vec::new();
    for network in NETWORKS {
        for micro_batches in MICRO_BATCHES {
            far.extend([network.gbits, micro_batches as f64]);
            far.extend(PROCESSES.iter().flat_map(|r| rates.efficiency(*r, micro_batches, network)));
        }
    }
    let mut useful = Vec::new();
    for micro_batches in MICRO_BATCHES {
        let processes = rates.useful(micro_batches);
        useful.extend([micro_batches as f64, processes as f64]);
        useful.extend(
            NETWORKS.iter().flat_map(|net| rates.efficiency(processes, micro_batches, *net)),
        );
    }
    let traffic = PROCESSES.iter().flat_map(|&r| {
        let sent = messages(rates.parameters, r) as f64;
        [r as f64, sent, bytes(rates.parameters, r) / 1e6]
    });
    let moments = [1].iter().chain(&PROCESSES).map(|&r| rates.moments(r) / 1e6);
    [
        ("far", far),
        ("useful", useful),
        ("traffic", traffic.collect()),
        ("moments", moments.collect()),
    ]
}

#[test]
#[allow(clippy::print_stderr)] // what is left out is said
fn the_script_computes_the_same() {
    let script = workspace_tests::workspace().join("benches/many_machines.py");
    let mut python = Command::new("python3");
    let done = python.arg(script).arg("--json").stderr(Stdio::inherit()).output();
    let Ok(done) = done else {
        eprintln!("no python3: benches/many_machines.py is not compared");
        return;
    };
    assert!(done.status.success());
    let said: Value = serde_json::from_slice(&done.stdout).unwrap();
    for rates in rates() {
        for (key, expected) in expected(&rates) {
            let mut numbers = Vec::new();
            flatten(&said[rates.name][key], &mut numbers);
            let same = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
            let all = numbers.len() == expected.len() && numbers.iter().zip(&expected).all(same);
            assert!(all, "{} {key}:\n{numbers:?}\n{expected:?}", rates.name);
        }
    }
}
