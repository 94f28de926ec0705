//! What is measured: known sizes, so that others can be measured beside.

use crate::args::{BenchArgs, BenchName};
use llm_core::Config;
use llm_lens::training_flops;

/// Sizes of a training step.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// L.
    pub layers: usize,
    /// H.
    pub heads: usize,
    /// C.
    pub d_model: usize,
    /// T.
    pub seq_len: usize,
    /// B.
    pub batch_size: usize,
    /// V.
    pub vocab_size: usize,
    /// Measured steps, after a fifth as many for warming up.
    pub steps: usize,
}

/// The training workloads.
const WORKLOADS: [(BenchName, Workload); 5] = [
    (BenchName::W1, sizes([4, 4, 128, 64, 12, 65], 200)),
    (BenchName::W1h1, sizes([4, 1, 128, 64, 12, 256], 200)),
    (BenchName::W2, sizes([1, 1, 64, 64, 4, 256], 1000)),
    (BenchName::W3, sizes([6, 6, 384, 256, 8, 65], 15)),
    (BenchName::W4, sizes([12, 12, 768, 64, 4, 50257], 10)),
];

const fn sizes(lhctbv: [usize; 6], steps: usize) -> Workload {
    let [layers, heads, d_model, seq_len, batch_size, vocab_size] = lhctbv;
    Workload { layers, heads, d_model, seq_len, batch_size, vocab_size, steps }
}

/// The sizes of a name, when it is a training step.
pub fn workload(name: BenchName) -> Option<Workload> {
    WORKLOADS.iter().find(|(known, _)| *known == name).map(|(_, w)| *w)
}

impl Workload {
    /// The same with other sizes, where they are given.
    pub fn with(self, args: &BenchArgs) -> Workload {
        Workload {
            layers: args.layers.unwrap_or(self.layers),
            heads: args.heads.unwrap_or(self.heads),
            d_model: args.dmodel.unwrap_or(self.d_model),
            seq_len: args.seq.unwrap_or(self.seq_len),
            batch_size: args.batch.unwrap_or(self.batch_size).max(1),
            vocab_size: args.vocab.unwrap_or(self.vocab_size),
            ..self
        }
    }

    /// The model: GPT-2's architecture. Positions are at least 64, as in the peers' scripts.
    pub fn config(&self) -> Config {
        Config::gpt2(self.vocab_size, self.seq_len.max(64), self.d_model, self.layers)
    }

    /// Useful floating-point operations of a step.
    pub fn flops(&self) -> f64 {
        let tokens = self.batch_size * self.seq_len;
        tokens as f64 * training_flops(&self.config(), self.seq_len)
    }
}
