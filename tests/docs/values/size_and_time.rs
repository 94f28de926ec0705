//! Values of docs/size_and_time.md: what `benches/size_and_time.py` wrote down.

use super::performance::{flatten, measured};
use super::{Values, list};
use llm_core::Config;
use serde_json::Value;
use workspace_tests::baseline;

pub fn add(values: &mut Values) {
    let kept = include_str!("../../../benches/size_and_time.json");
    let kept: Value = serde_json::from_str(kept).unwrap();
    let mut rows = Vec::new();
    flatten(&kept["rows"], &mut rows);
    assert!(!rows.is_empty());
    values.insert("size.rows", rows);

    let of = |key: &str| {
        let mut numbers = Vec::new();
        flatten(&kept["time"][key], &mut numbers);
        numbers
    };
    values.insert("size.ten_minutes", of("ten_minutes"));
    values.insert("size.timed", of("rows"));
    values.insert("size.passes", of("passes"));
    values.insert("size.now", [of("now"), of("now_loaded")].concat());
    values.insert("size.now_before", of("now_before"));
    // What was chosen leads in every row.
    for row in kept["time"]["rows"].as_array().unwrap() {
        let bits = [6, 7].map(|column| row[column].as_f64().unwrap());
        assert!(bits[0] < bits[1], "{row}");
    }

    let run = |name: &str| &kept["runs"][name];
    let steps = |name: &str| run(name)["steps"].as_f64().unwrap();
    let bits = |name: &str, which: &str| {
        (run(name)["result"][which].as_f64().unwrap() * 100.0).round() / 100.0
    };
    let bpe = |text: &str| format!("{text}-tokenizer-bpe-vocabsize-2048");
    let last = |name: &str| bits(name, "last");
    let tenth = ["0.1-MB-1min-small", "0.1-MB-10min-small-dropout-0.2"];
    values.insert("size.tenth", list![last(tenth[0]), 0.2, last(tenth[1])]);
    let best_step = |name: &str| run(name)["result"]["best_step"].as_f64().unwrap();
    assert!(bits(tenth[1], "best") < last(tenth[1]) && best_step(tenth[1]) < steps(tenth[1]));
    let one = [&bpe("1-MB-1min-small"), "1-MB-1min-small"];
    values.insert("size.one", one.map(last).to_vec());
    let ten_minutes = &bpe("1-MB-10min-small");
    let by_heart = [steps(ten_minutes), best_step(ten_minutes), bits(ten_minutes, "best")];
    values.insert("size.by_heart", [&by_heart[..], &[last(ten_minutes)]].concat());
    values.insert("size.dropout", list![0.1, last(&format!("{ten_minutes}-dropout-0.1"))]);
    let hour = &format!("{}-dropout-0.2", bpe("1-MB-60min-medium"));
    values.insert("size.hour", list![0.2, best_step(hour), bits(hour, "best"), last(hour)]);
    let ten = [&bpe("10-MB-1min-small"), &bpe("10-MB-10min-small")].map(|name| last(name));
    values.insert("size.ten", ten.to_vec());
    values.insert("size.medium", list![last(&bpe("10-MB-10min-medium"))]);
    let hours = [&bpe("10-MB-60min-medium"), &bpe("100-MB-60min-medium")];
    values.insert("size.ten_hour", list![last(hours[0])]);
    // Still falling: no measurement on the way was better than the last of them.
    assert!(hours.iter().all(|hour| best_step(hour) + 1.0 >= steps(hour)));
    let tokens = |name: &str, window: f64, batch: f64| steps(name) * window * batch;
    let read = tokens(&bpe("100-MB-10min-small"), 64.0, 12.0);
    values.insert("size.hundred", list![read]);
    let in_an_hour = tokens(hours[1], 128.0, 16.0);
    values.insert("size.hundred_hour", list![last(hours[1]), in_an_hour]);
    let third = tokens(&bpe("10-MB-10min-medium"), 128.0, 16.0);
    assert_eq!((tokens(&bpe("10-MB-10min-small"), 64.0, 12.0) / third).round(), 3.0);

    // The flags in the page are those of the script.
    let script = include_str!("../../../benches/size_and_time.py");
    let pages = [
        include_str!("../../../docs/size_and_time.md"),
        include_str!("../../../docs/size_and_time.zh-CN.md"),
    ];
    let said = |start: &str| {
        let said = script.split_once(start).unwrap().1.split_once('"').unwrap().0;
        assert!(pages.iter().all(|page| page.contains(&format!("`{said}`"))), "{said}");
        said
    };
    said("BPE = \"");
    let mut sizes = Vec::new();
    for name in ["small", "medium"] {
        let given = said(&format!("\"{name}\": \"")).split(' ');
        let given: Vec<usize> = given.filter_map(|word| word.parse().ok()).collect();
        let [layers, width, _, context, _] = given[..] else { panic!("{name}: {given:?}") };
        sizes.push(baseline(&Config::new(256, context, width, layers)).parameter_count() as f64);
    }
    values.insert("size.sizes", sizes);
    values.insert("size.bits", list![u8::BITS]);
    let here = run("10-MB-1min-small")["step_ms"].as_f64().unwrap();
    let sweep = measured()["sweep"].clone();
    let mut rows = sweep.as_array().unwrap().iter();
    let with_bytes = rows.find(|row| row[0] == "V" && row[1] == 256).unwrap();
    let there = with_bytes[2].as_f64().unwrap();
    assert_eq!((here / there).round(), 6.0);
    values.insert("size.step", list![here, there]);
}
