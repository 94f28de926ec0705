//! docs/concepts/a_map_of_words.md: the weights that `tools/figures` read out of the model that it trains.

use serde_json::Value;

/// The tokens of the sentence, and P of every head of every layer.
pub struct Map {
    pub tokens: Vec<String>,
    weights: Value,
    expected: Value,
}

pub fn map() -> Map {
    let all: Value =
        serde_json::from_str(include_str!("../../../docs/figures/words_attention.json")).unwrap();
    let tokens = all["tokens"].as_array().unwrap().iter();
    let tokens = tokens.map(|token| token.as_str().unwrap().to_string()).collect();
    Map { tokens, weights: all["layers"].clone(), expected: all["expected"].clone() }
}

/// The weights are those of a causal attention: rows of shares, one for each token.
#[test]
fn every_row_is_a_share_of_one() {
    let map = map();
    let layers = map.weights.as_array().unwrap();
    assert_eq!((layers.len(), map.tokens.len()), (2, 18));
    for row in layers
        .iter()
        .flat_map(|heads| heads.as_array().unwrap())
        .flat_map(|rows| rows.as_array().unwrap().iter().enumerate())
    {
        let weights: Vec<f64> =
            row.1.as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect();
        assert_eq!(weights.len(), row.0 + 1);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 0.01, "{weights:?}");
    }
}

/// The commands on the page are those that `tools/figures` runs.
#[test]
fn the_page_shows_what_the_figures_are_made_with() {
    let read = |path: &str| std::fs::read_to_string(crate::docs::crate_root().join(path)).unwrap();
    let (tool, page) = (read("tools/figures"), read("docs/concepts/a_map_of_words.md"));
    let line = |name: &str| {
        let start = format!("{name} = ");
        tool.lines().find_map(|line| line.strip_prefix(&start)).expect("a setting of the tool")
    };
    let flags = line("MODEL").trim_matches(['[', ']']).replace(['"', ','], "");
    assert!(page.contains(&flags), "{flags}");
    let [sentence, asked] = ["SENTENCE", "ASKED"].map(line);
    for prompt in [sentence, asked] {
        assert!(page.contains(&format!("-p {prompt}")), "{prompt}");
    }
    // The model learned from the first 18,000 stories; no story tells this.
    let asked = asked.trim_matches('"');
    assert!(sentence.contains(asked));
    assert!((0..20_000).all(|i| !llm_stories::story(1, i).text.contains(asked)), "{asked}");
}

impl Map {
    /// The number of the n-th token that reads so, from 0.
    pub fn place(&self, token: &str, n: usize) -> usize {
        let mut places =
            self.tokens.iter().enumerate().filter(|(_, t)| t.trim_start_matches('␣') == token);
        places.nth(n).unwrap_or_else(|| panic!("no {token} number {n} in {:?}", self.tokens)).0
    }

    /// What `head` of `layer` gives to key `j` at query `i`.
    pub fn weight(&self, [layer, head]: [usize; 2], i: usize, j: usize) -> f64 {
        self.weights[layer][head][i][j].as_f64().unwrap()
    }

    /// How likely the next words Lucy and Finn are after "He gave", with these heads switched off.
    pub fn expected(&self, off: &str) -> [f64; 2] {
        [0, 1].map(|name| self.expected[off][name].as_f64().unwrap())
    }
}
