//! Values of docs/variants/modern/measured.md: what `benches/variants.py` has written down.

use crate::docs::values::performance::flatten;
use crate::docs::values::{Values, list};
use serde_json::Value;

/// In the order of the tables.
const KINDS: [&str; 12] = [
    "mha",
    "rms",
    "swiglu",
    "relu2",
    "gqa:2",
    "mqa",
    "qk-norm",
    "rope",
    "nope",
    "window:16",
    "llama",
    "qwen3",
];

/// Models with a table of positions have a larger loss in windows that begin anywhere.
const MIDDLE: f64 = 1.2;

struct Kind<'a>(&'a str, &'a Value);

impl Kind<'_> {
    /// One number for each seed.
    fn seeds(&self, pointer: &str) -> Vec<f64> {
        self.1.pointer(pointer).map(flat).unwrap_or_default()
    }

    fn whole(&self, key: &str) -> f64 {
        self.1[key].as_f64().unwrap()
    }

    /// Mean and sample standard deviation, times `unit`.
    fn spread(&self, pointer: &str, unit: f64) -> Vec<f64> {
        let values = self.seeds(pointer);
        if values.is_empty() {
            return Vec::new();
        }
        let (n, mean) = (values.len() as f64, mean(&values));
        assert_eq!(values.len(), 3, "{}", self.0);
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        vec![unit * mean, unit * (squares / (n - 1.0)).sqrt()]
    }

    /// The number in its name, if there is one.
    fn named(&self) -> Vec<f64> {
        self.0.split_once(':').map(|(_, n)| n.parse().unwrap()).into_iter().collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn flat(list: &Value) -> Vec<f64> {
    let mut numbers = Vec::new();
    flatten(list, &mut numbers);
    numbers
}

fn kinds(data: &Value) -> Vec<Kind<'_>> {
    assert_eq!(data["rows"].as_object().unwrap().len(), KINDS.len());
    KINDS.iter().map(|&name| kind(data, name)).collect()
}

fn kind<'a>(data: &'a Value, name: &'a str) -> Kind<'a> {
    Kind(name, &data["rows"][name])
}

pub fn add(values: &mut Values) {
    let all: Value =
        serde_json::from_str(include_str!("../../../../benches/variants.json")).unwrap();
    let (stories, plays) = (&all["stories"], &all["tinyshakespeare"]);
    let table = |data, columns: fn(&Kind) -> Vec<f64>| {
        kinds(data).iter().flat_map(|kind| [kind.named(), columns(kind)].concat()).collect()
    };
    values.insert(
        "side.stories",
        table(stories, |kind| {
            let sizes = vec![kind.whole("parameters"), kind.whole("cache_bytes")];
            [sizes, kind.spread("/loss", 1.0), kind.spread("/facts", 100.0)].concat()
        }),
    );
    let at = |kind: &Kind| {
        ["/at_lengths/0", "/at_lengths/1", "/at_lengths/2"].map(|p| kind.spread(p, 1.0)).concat()
    };
    let lengths = |data| [list![1, 2, 4], table(data, at)].concat();
    values.insert("side.lengths", lengths(stories));
    values.insert("side.plays", table(plays, |kind| kind.spread("/loss", 1.0)));
    values.insert("side.plays_lengths", lengths(plays));
    let sizes = |data: &Value| flat(&data["width, window, steps"]);
    values.insert("side.run", sizes(stories));
    values.insert("side.run_plays", sizes(plays));
    values.insert("side.window", vec![sizes(stories)[1]]);
    values.insert("side.steps", vec![sizes(stories)[2]]);
    // What the tables are read for.
    let loss = |data: &Value, name: &str| mean(&kind(data, name).seeds("/loss"));
    let below = |name: &str| loss(plays, "mha") - loss(plays, name);
    let size = |name: &str| kind(plays, name).whole("parameters");
    values.insert("side.rope_plays", vec![loss(plays, "mha"), loss(plays, "rope")]);
    values.insert("side.llama_plays", vec![loss(plays, "llama"), size("llama"), size("mha")]);
    values.insert("side.small", ["swiglu", "relu2", "window:16"].map(below).to_vec());
    values.insert("side.groups", vec![-below("gqa:2")]);
    let in_windows =
        |name: &str, i: usize| mean(&kind(plays, name).seeds(&format!("/at_lengths/{i}")));
    values.insert(
        "side.lost",
        ["llama", "qwen3"].map(|name| in_windows(name, 2) - in_windows(name, 0)).to_vec(),
    );
    let mut seeds = kind(stories, "qwen3").seeds("/facts");
    seeds.sort_by(f64::total_cmp);
    values.insert("side.seeds", seeds.iter().map(|share| 100.0 * share).collect());
    let window = kind(stories, "window:16").named()[0];
    values.insert("side.reach", vec![window, 2.0 * (window - 1.0) + 1.0]);
    values.insert("side.guess", vec![100.0 * stories["last_mentioned"].as_f64().unwrap()]);
    for name in ["mha", "rms", "swiglu", "relu2", "gqa:2", "mqa", "qk-norm"] {
        assert!(mean(&kind(stories, name).seeds("/at_lengths/0")) > MIDDLE, "{name}");
    }
    values.insert("side.middle", vec![MIDDLE]);
    let early = |name| mean(&kind(stories, name).seeds("/early"));
    values.insert("side.early", list![250, early("rope"), early("mha")]);
    let longer = |name: &str| {
        let of = |i: usize| all["longer"][name][i].as_f64().unwrap();
        vec![of(0), 100.0 * of(2), of(1)]
    };
    values.insert("side.longer", [longer("rope"), longer("mha")[1..].to_vec()].concat());
}
