//! Values of docs/size_and_time.md: what `benches/size_and_time.py` wrote down.

use super::performance::{flatten, measured};
use super::{Values, list};
use llm_core::Config;
use serde_json::Value;

pub fn add(values: &mut Values) {
    let kept = include_str!("../../../benches/size_and_time.json");
    let kept: Value = serde_json::from_str(kept).unwrap();
    let mut rows = Vec::new();
    flatten(&kept["rows"], &mut rows);
    assert!(!rows.is_empty());
    values.insert("size.rows", rows);

    let run = |name: &str| &kept["runs"][name];
    let steps = |name: &str| run(name)["steps"].as_f64().unwrap();
    let bits = |name: &str, which: &str| {
        (run(name)["result"][which].as_f64().unwrap() * 100.0).round() / 100.0
    };
    let bpe = |text: &str| format!("{text}-tokenizer-bpe-vocabsize-2048");
    let last = |name: &str| bits(name, "last");
    let tenth = ["0.1-MB-1min-small", "0.1-MB-10min-small-dropout-0.2"];
    values.insert("size.tenth", tenth.map(last).to_vec());
    assert!(bits(tenth[1], "best") < last(tenth[1]));
    let one = [&bpe("1-MB-1min-small"), "1-MB-1min-small"];
    values.insert("size.one", one.map(last).to_vec());
    let ten_minutes = &bpe("1-MB-10min-small");
    let best = run(ten_minutes)["result"]["best_step"].as_f64().unwrap();
    let by_heart = [bits(ten_minutes, "best"), last(ten_minutes)];
    values.insert("size.by_heart", [&[best, steps(ten_minutes)], &by_heart[..]].concat());
    values.insert("size.by_heart_zh", [&[steps(ten_minutes), best], &by_heart[..]].concat());
    values.insert("size.dropout", list![0.1, last(&format!("{ten_minutes}-dropout-0.1"))]);
    let ten = [&bpe("10-MB-1min-small"), &bpe("10-MB-10min-small")].map(|name| last(name));
    values.insert("size.ten", ten.to_vec());
    values.insert("size.medium", list![last(&bpe("10-MB-10min-medium"))]);
    let tokens = |name: &str, window: f64, batch: f64| steps(name) * window * batch;
    let read = tokens(&bpe("100-MB-10min-small"), 64.0, 12.0);
    values.insert("size.hundred", list![(read / 1e5).round() / 10.0]);
    let third = tokens(&bpe("10-MB-10min-medium"), 128.0, 16.0);
    assert_eq!((tokens(&bpe("10-MB-10min-small"), 64.0, 12.0) / third).round(), 3.0);

    let script = include_str!("../../../benches/size_and_time.py");
    let mut sizes = Vec::new();
    for name in ["small", "medium"] {
        let flags = script.split_once(&format!("\"{name}\": \"")).unwrap().1;
        let flags = flags.split_once('"').unwrap().0.split(' ');
        let given: Vec<f64> = flags.filter_map(|word| word.parse().ok()).collect();
        let [layers, width, _, context, ..] = given[..] else { panic!("{name}: {given:?}") };
        let bytes = Config::new(256, context as usize, width as usize, layers as usize);
        sizes.extend(given);
        sizes.push(bytes.parameter_count() as f64);
    }
    values.insert("size.sizes", sizes);
    let vocabulary = script.split_once("--vocab-size ").unwrap().1;
    let vocabulary = vocabulary.split_once('"').unwrap().0.parse::<u32>().unwrap();
    values.insert("size.bits", list![u8::BITS, vocabulary]);
    let here = kept["runs"]["10-MB-1min-small"]["step_ms"].as_f64().unwrap();
    let there = measured()["ratios"][0][1].as_f64().unwrap();
    values.insert("size.step", list![here, there]);
}
