//! The page on looking inside: sizes and costs are computed, what training decides is measured.

use super::performance::{flatten, measured};
use super::{Values, list};
use llm_core::{AttentionSpec, Config};
use llm_lens::statistics::RISK;
use llm_lens::{AttentionCost, KNOWN_MODELS, ModelReport, training_flops};
use llm_run::ladder::depth;
use serde_json::Value;
use workspace_tests::baseline;

pub fn add(values: &mut Values) {
    let config = Config::new(256, 256, 64, 2);
    let model =
        ModelReport::new(baseline(&config), &AttentionSpec::new("multi-head", 4), [8, 256], 4)
            .unwrap();
    let attention = ["w_qkv", "b_qkv", "w_proj", "b_proj"].map(|name| format!("blocks.0.{name}"));
    let tensors = model.tensors.iter().filter(|t| attention.contains(&t.name));
    let rows = tensors.flat_map(|t| t.shape.iter().map(|&n| n as f64).chain([t.count as f64]));
    values.insert("inside.tensors", rows.collect());
    values.insert("inside.all", list![model.parameters as u32]);
    let [weights, biases] = [model.attention_weights, model.attention_biases].map(|n| n as f64);
    values.insert("inside.block", vec![4.0, weights, 4.0, biases]);
    let known = KNOWN_MODELS.iter().flat_map(|m| {
        assert_eq!(m.d_key, m.d_model / m.n_heads);
        let number = m.name.strip_prefix("GPT-").and_then(|rest| rest[..1].parse::<f64>().ok());
        let sizes = [m.d_model, m.n_heads, m.d_key].map(|n| n as f64);
        let counts = [m.attention_weights(), m.attention_biases()].map(|n| n as f64);
        number.into_iter().chain(sizes).chain(counts).collect::<Vec<_>>()
    });
    values.insert("inside.known", [4.0, 4.0].into_iter().chain(known).collect());
    values.insert("inside.keys", list![64, 128]);
    let [one, eight] = [1, 8].map(|heads| AttentionCost::new(16, 512, heads));
    values.insert("inside.window", list![16, 512]);
    let parts: [fn(&AttentionCost) -> u64; 4] =
        [|c| c.score_macs, |c| c.value_macs, |c| c.projection_macs, |c| c.softmax_elements];
    let rows = parts.iter().enumerate().flat_map(|(i, part)| {
        let letter = (i == 2).then_some(4.0); // of 4·T·C²
        letter.into_iter().chain([&one, &eight].map(|cost| part(cost) as f64))
    });
    values.insert("inside.costs", list![1, 8, 64].into_iter().chain(rows).collect());
    values.insert("inside.sum", list![16, 16, 512, 8, 16, 16, 64]);
    useful(values);
    trained(values);
    ladder(values);
}

/// The sizes of a ladder and their law, measured, with the rules that made them.
fn ladder(values: &mut Values) {
    let all: Value = serde_json::from_str(include_str!("../../../benches/variants.json")).unwrap();
    let (mut rows, mut law) = (Vec::new(), Vec::new());
    let sizes = [("tiny", 1), ("mini", 2), ("3", 3), ("small", 4)];
    for ((name, layers), row) in sizes.into_iter().zip(all["ladder"]["rows"].as_array().unwrap()) {
        assert_eq!(depth(name).unwrap(), layers);
        rows.extend(name.parse::<f64>());
        flatten(row, &mut rows);
    }
    flatten(&all["ladder"]["law"], &mut law);
    law[2] = -law[2]; // as the equation has it
    values.insert("ladder.rows", rows);
    values.insert("ladder.law", law);
    values.insert("ladder.risk", vec![100.0 * (1.0 - RISK)]);
}

/// The equation of the page on runs, and the model of the default run in it.
fn useful(values: &mut Values) {
    let [matrix, attention] = [6.0, 3.5];
    let of = |[l, c, t, v, i]: [f64; 5]| {
        matrix * (l * (4.0 * c * c + 2.0 * c * i) + v * c) + attention * 2.0 * l * t * c
    };
    let default_run = training_flops(&baseline(&Config::new(256, 256, 64, 2)), 256);
    assert_eq!(default_run, of([2.0, 64.0, 256.0, 256.0, 256.0]));
    let narrow = Config { n_inner: 96, ..Config::new(100, 32, 48, 3) };
    assert_eq!(training_flops(&baseline(&narrow), 16), of([3.0, 48.0, 16.0, 100.0, 96.0]));
    values.insert("run.flops", vec![matrix, 4.0, 2.0, 2.0, attention, 2.0]);
    values.insert("run.default_flops", vec![default_run]);
}

/// What training decides.
fn trained(values: &mut Values) {
    let measured = measured();
    let mut of = |id, keys: &[&str]| {
        let mut numbers = Vec::new();
        keys.iter().for_each(|key| flatten(&measured["inside"][key], &mut numbers));
        assert!(!numbers.is_empty(), "{id}");
        values.insert(id, numbers);
    };
    of("inside.heads", &["heads", "even"]);
    of("inside.outputs", &["outputs"]);
    of("inside.whole", &["whole"]);
    of("inside.prune", &["prune"]);
    of("inside.loss", &["loss"]);
    of("inside.facts", &["facts"]);
    of("inside.said", &["said"]);
    of("inside.rule", &["rule"]);
    let facts = measured["inside"]["facts"].as_array().unwrap();
    let other = facts.iter().find(|row| row[0] == "other-person").unwrap();
    // Behind the name: a mean and a spread for each number of heads.
    let with = |column: usize| other[1 + 2 * column].as_f64().unwrap();
    values.insert("why.experiment", vec![with(0), with(3)]);
    let rows = measured["inside"]["loss"].as_array().unwrap();
    values.insert("why.heads", rows.iter().map(|row| row[0].as_f64().unwrap()).collect());
}
