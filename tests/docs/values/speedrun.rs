//! Values of docs/time_to_quality.md: what `benches/speedrun.py` wrote down.

use super::Values;
use crate::docs::numbers::numbers;
use serde_json::Value;

/// The rows of the table, in its order: as the script names them, and by how much the page multiplies a quality.
const ROWS: [(&str, f64); 26] = [
    ("stories 0.95 before", 100.0),
    ("stories 0.95 now", 100.0),
    ("stories 0.98 before", 100.0),
    ("stories 0.98 now", 100.0),
    ("chars 1.9 torch", 1.0),
    ("chars 1.9 before", 1.0),
    ("chars 1.9 now", 1.0),
    ("chars 1.9 tables", 1.0),
    ("chars 1.81 torch", 1.0),
    ("chars 1.81 before", 1.0),
    ("chars 1.81 now", 1.0),
    ("chars 1.81 tables", 1.0),
    ("chars 1.6 now", 1.0),
    ("chars 1.6 tables", 1.0),
    ("text-bits 2.475 before", 1.0),
    ("text-bits 2.475 now", 1.0),
    ("text-bits 2.475 tables", 1.0),
    ("text-bits 2.28 before", 1.0),
    ("text-bits 2.28 now", 1.0),
    ("text-bits 2.28 tables", 1.0),
    ("second-bits 1.67 before", 1.0),
    ("second-bits 1.67 now", 1.0),
    ("second-bits 1.67 tables", 1.0),
    ("second-bits 1.37 before", 1.0),
    ("second-bits 1.37 now", 1.0),
    ("second-bits 1.37 tables", 1.0),
];

/// Flags of the rows in bits that the table leaves out.
const VOCABULARY: &str = " --tokenizer bpe --vocab-size 2048";

pub fn add(values: &mut Values) {
    let kept = include_str!("../../../benches/speedrun.json");
    let kept: Value = serde_json::from_str(kept).unwrap();
    let of = |name: &str, what: &str| -> [f64; 3] {
        [0, 1, 2].map(|i| kept["rows"][name][what][i].as_f64().unwrap())
    };
    let seconds = |name: &str| of(name, "seconds")[0];
    let mut rows = Vec::new();
    for (name, times) in ROWS {
        let target: f64 = name.split(' ').nth(1).unwrap().parse().unwrap();
        let (quality, reached) = (of(name, "quality"), kept["rows"][name]["runs"].as_array());
        let good = if times > 1.0 { quality[0] >= target } else { quality[0] <= target };
        // PyTorch's recipe does not come to 1.81, and the one of before not quite to 95 and 98 %.
        let short = ["chars 1.81 torch", "stories 0.95 before", "stories 0.98 before"];
        assert_eq!(good, !short.contains(&name), "{name}: {quality:?}");
        assert!(reached.unwrap().len() >= 3, "{name}");
        rows.extend([target * times, of(name, "seconds")[0]]);
        rows.extend(of(name, "seconds")[1..].iter().chain([quality[0] * times].iter()));
        let flags = kept["rows"][name]["command"].as_str().unwrap_or_default();
        let flags = flags.replace(VOCABULARY, "");
        rows.extend(numbers(&flags, false).iter().map(|number| number.value));
    }
    values.insert("speed.rows", rows);
    let ratio = |a: &str, b: &str| seconds(a) / seconds(b);
    let stories = |at: &str| ratio(&format!("stories {at} now"), &format!("stories {at} before"));
    let chars = |who: &str| ratio(&format!("chars 1.81 {who}"), "chars 1.81 before");
    let torch = |who: &str| ratio("chars 1.9 torch", &format!("chars 1.9 {who}"));
    let all = [98.0, stories("0.98"), 95.0, stories("0.95"), 1.81, chars("now"), chars("tables")];
    values.insert("speed.ratios", all.to_vec());
    values.insert("speed.torch", vec![1.9, torch("now"), torch("tables"), 1.81]);
    assert!(seconds("chars 1.6 now") < seconds("chars 1.81 before"));
    let bits = |who: &str| -> Vec<f64> {
        let targets = ["text-bits 2.475", "text-bits 2.28", "second-bits 1.67", "second-bits 1.37"];
        targets.map(|of| ratio(&format!("{of} {who}"), &format!("{of} before"))).to_vec()
    };
    values.insert("speed.bits", bits("now"));
    values.insert("speed.bits_tables", bits("tables"));
    values.insert("speed.same_time", vec![1.81, 1.6]);
    values.insert("speed.short", vec![0.011]); // three seeds of each, once
    values.insert("speed.uneven", vec![97.0]); // the same
}
