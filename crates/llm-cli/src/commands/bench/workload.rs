//! What is measured: known sizes, so that others can be compared.

use crate::args::{BenchArgs, BenchName};
use crate::error::Result;
use crate::flags::Further;
use crate::program::Program;
use llm_core::model::{Footprint, check_attention};
use llm_core::settings::MODEL;
use llm_core::{Attention, Config};
use llm_lens::training_flops;
use llm_run::arch::Arch;
use llm_run::options::Options;
use llm_run::plan::named_by_option;
use llm_run::settings::fill;
use std::sync::Arc;

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
    /// The workload with the sizes that were given.
    pub fn with(self, args: &BenchArgs) -> Workload {
        Workload {
            layers: args.layers.unwrap_or(self.layers),
            heads: args.heads.unwrap_or(self.heads),
            d_model: args.dmodel.unwrap_or(self.d_model),
            seq_len: args.seq.unwrap_or(self.seq_len),
            batch_size: args.batch.unwrap_or(self.batch_size),
            vocab_size: args.vocab.unwrap_or(self.vocab_size),
            ..self
        }
    }

    /// The usual model: GPT-2's architecture. Positions are at least 64, as in the peers' scripts.
    pub fn config(&self) -> Config {
        Config::gpt2(self.vocab_size, self.seq_len.max(64), self.d_model, self.layers)
    }

    /// A model of these sizes with another context: GPT-2's architecture by default.
    ///
    /// # Errors
    /// [`RunError::Usage`](crate::RunError::Usage) naming the flag that does not fit the others.
    pub(super) fn model_of(&self, program: &Program, of: &Further, t: usize) -> Result<Built> {
        let arch = of.arch.or(Some(Arch::Gpt2));
        let mut given = of.given.clone();
        given.insert("heads", self.heads.into());
        let options = Options { arch, given, ..Options::default() };
        let (seq_len, d_model, n_layers) = (t, self.d_model, self.layers);
        let mut config =
            Config { seq_len, d_model, n_layers, ..options.arch_config(self.vocab_size) };
        let made = fill(MODEL, &mut config, |flag, _, _| of.given.get(flag.name).cloned())
            .and_then(|()| config.check())
            .and_then(|()| options.attention(&program.models, &config));
        let attention = made.map_err(named_by_option)?;
        check_attention(attention.as_ref(), &config).map_err(named_by_option)?;
        Ok(Built { config, attention })
    }
}

/// What a workload measures.
pub(super) struct Built {
    pub config: Config,
    pub attention: Arc<dyn Attention>,
}

impl Built {
    /// Useful floating-point operations of a training step on `batch_size` windows.
    pub(super) fn flops(&self, batch_size: usize, seq_len: usize) -> f64 {
        (batch_size * seq_len) as f64 * training_flops(&self.footprint(), seq_len)
    }

    /// Numbers of all matrices that a token goes through.
    pub(super) fn weights(&self) -> f64 {
        training_flops(&self.footprint(), 0) / 6.0
    }

    /// What its memory depends on.
    pub(super) fn footprint(&self) -> Footprint<'_> {
        Footprint::new(&self.config, self.attention.as_ref())
    }
}
