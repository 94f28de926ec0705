//! What a run needs: its buffers taken and given back on paper, as a step does it.
//!
//! Storage is recycled by length (see [`buffer`](crate::buffer)), so what counts is, for each
//! length, the most buffers of it that are in use at once.

use super::{AdapterSpec, Attention, Config, Kept, ParamList, Positions, TinyGPT, parameter_list};
use crate::buffer::most_that_wait;
use std::collections::BTreeMap;

/// Buffers by length, in numbers of f32.
#[derive(Default)]
struct BuffersInUse {
    of_length: BTreeMap<u128, Count>,
    used: u128,
    height: u128,
}

#[derive(Clone, Copy, Default)]
struct Count {
    used: i64,
    most: i64,
}

impl BuffersInUse {
    fn take(&mut self, lengths: impl IntoIterator<Item = u128>) {
        for len in lengths {
            let count = self.of_length.entry(len).or_default();
            count.used += 1;
            count.most = count.most.max(count.used);
            self.used += len;
            self.height = self.height.max(self.used);
        }
    }

    fn give(&mut self, lengths: impl IntoIterator<Item = u128>) {
        for len in lengths {
            self.of_length.entry(len).or_default().used -= 1;
            self.used = self.used.saturating_sub(len);
        }
    }

    /// Buffers that are taken and given back at once.
    fn pass<const N: usize>(&mut self, lengths: [u128; N]) {
        self.take(lengths);
        self.give(lengths);
    }

    fn total(&self) -> u128 {
        self.of_length.iter().map(|(len, count)| len * count.most.max(0) as u128).sum()
    }
}

/// What the memory of a run depends on.
#[derive(Clone, Debug)]
pub struct Footprint<'a> {
    /// Sizes and options.
    pub config: &'a Config,
    /// The parameters of a block's attention.
    pub attention: ParamList,
    /// What a position leaves for the backward pass of a block's attention.
    pub kept: Kept,
    /// Numbers that the optimizer keeps for each weight: 2 for AdamW.
    pub slots: usize,
    /// Micro-batches of a step: gradients of ⌊log₂ M⌋ finished groups are kept besides the one
    /// being computed.
    pub micro_batches: u32,
    /// What learns in place of the model's own parameters, which are frozen.
    pub adapter: Option<AdapterSpec>,
    /// Whether a step keeps only what goes into each block.
    pub recompute: bool,
    /// Frozen numbers that are kept in two bytes, not in four.
    pub halves: u64,
}

impl<'a> Footprint<'a> {
    /// The footprint of a model with this attention, AdamW and steps of one micro-batch.
    pub fn new(config: &'a Config, attention: &dyn Attention) -> Footprint<'a> {
        let (kept, attention) = (attention.kept(config), attention.parameters(config));
        Footprint {
            config,
            attention,
            kept,
            slots: 2,
            micro_batches: 1,
            adapter: None,
            recompute: false,
            halves: 0,
        }
    }

    /// Number of parameters.
    pub fn parameter_count(&self) -> u64 {
        let all = parameter_list(self.config, &self.attention);
        all.iter().fold(0, |sum, (_, p)| sum.saturating_add(p.numel()))
    }

    /// Number of parameters that learn.
    pub fn trained_count(&self) -> u64 {
        let Some(adapter) = &self.adapter else { return self.parameter_count() };
        let all = adapter.parameters(&parameter_list(self.config, &self.attention));
        all.map_or(0, |all| all.iter().fold(0, |sum, (_, p)| sum.saturating_add(p.numel())))
    }

    /// Numbers that the pairs of an adapter keep of a row: those of x·A.
    fn kept_by_pairs(&self) -> u128 {
        let parts = self.adapter.iter().flat_map(|adapter| &adapter.0).flat_map(|(_, parts)| parts);
        parts.map(|part| part.rank as u128).sum()
    }

    /// Gradients of finished groups of micro-batches that wait while the next one is being
    /// computed.
    pub fn kept_gradients(&self) -> u32 {
        self.micro_batches.max(1).ilog2()
    }

    /// Bytes of what the optimizer remembers.
    pub fn optimizer(&self) -> u64 {
        self.trained_count().saturating_mul(4 * self.slots as u64)
    }

    /// Estimated bytes of a training run: parameters, gradients, the optimizer's state, and what a
    /// batch `[B, T]` leaves for backward.
    pub fn training(&self, batch_size: usize, seq_len: usize) -> u64 {
        self.training_of_lengths(batch_size, [seq_len])
    }

    /// [`Footprint::training`] of steps whose rows have ever other lengths, such as conversations: what was taken for
    /// one length waits while another takes its own, as far as the [pool](crate::buffer) lets it.
    pub fn training_of_lengths(
        &self,
        batch_size: usize,
        lengths: impl IntoIterator<Item = usize>,
    ) -> u64 {
        let step = |length: usize| Step::of(self, batch_size.saturating_mul(length));
        let mut lengths: Vec<usize> = lengths.into_iter().collect();
        lengths.sort_unstable();
        lengths.dedup();
        let longest = step(lengths.pop().unwrap_or(0));
        let bare = step(0).total;
        let waiting = lengths.into_iter().map(|length| step(length).total.saturating_sub(bare));
        let kept = longest.total.saturating_add(waiting.fold(0, u128::saturating_add));
        let most = longest.height.saturating_add(most_waiting(longest.height));
        let floats = longest.fixed.saturating_add(kept.min(most.max(longest.total)));
        let bytes = floats.saturating_mul(4).saturating_sub(2 * u128::from(self.halves));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Estimated bytes for running the model forward only on a batch `[B, T]`.
    pub fn inference(&self, batch_size: usize, seq_len: usize) -> u64 {
        let Config { vocab_size, d_model, .. } = *self.config;
        let mlp = self.config.hidden() + self.config.inner();
        let [v, c, mlp] = [vocab_size, d_model, mlp].map(|n| n as u128);
        let rows = batch_size.saturating_mul(seq_len) as u128;
        let of_row = 8 * c + (self.kept.qkv + self.kept.heads) as u128 + mlp + 2 * v;
        let floats = u128::from(self.parameter_count()) + rows * of_row;
        u64::try_from(4 * floats).unwrap_or(u64::MAX)
    }
}

impl TinyGPT {
    /// [`Footprint::inference`] of this model.
    pub fn inference_memory(&self, batch_size: usize, seq_len: usize) -> u64 {
        Footprint::new(self.config(), self.attention().as_ref()).inference(batch_size, seq_len)
    }
}

/// Numbers of f32 that may wait in the pool where a step has `height` of them in use at its highest.
fn most_waiting(height: u128) -> u128 {
    let bytes = usize::try_from(4 * height).unwrap_or(usize::MAX);
    most_that_wait(bytes) as u128 / 4
}

/// Numbers of f32 that training takes at most.
struct Step {
    /// Weights, the optimizer's state, gradients that wait.
    fixed: u128,
    /// Gradients, and what a batch leaves for backward: all buffers, used again by their lengths.
    total: u128,
    /// The most of these that are in use at once.
    height: u128,
}

impl Step {
    fn of(of: &Footprint<'_>, rows: usize) -> Step {
        let [all, trained] = [of.parameter_count(), of.trained_count()].map(u128::from);
        let waiting = u128::from(of.kept_gradients()) * trained;
        let mut step = StepOnPaper::new(of, rows as u128);
        step.forward();
        step.backward_of_head();
        for _ in 0..of.config.n_layers {
            if of.recompute {
                let again = step.kept_of_block();
                step.buffers.take(again);
                step.buffers.pass([step.stream; 2]);
            }
            step.backward_of_mlp();
            step.backward_of_attention();
        }
        let [v, c, t] = step.sizes;
        let ngrams = step.ngrams;
        step.learn((!of.config.tied_head).then_some(v * c));
        step.learn(step.learned.then_some(t * c));
        step.learn((ngrams > 0).then_some(ngrams * c));
        let blocks = if of.recompute { of.config.n_layers.max(1) as u128 } else { 1 };
        // The model, and the gradient of its adapter with what that keeps of each row.
        let (frozen, pairs) = match of.adapter {
            Some(_) => (all + trained, rows as u128 * of.kept_by_pairs() / blocks),
            None => (0, 0),
        };
        Step {
            fixed: frozen + (1 + of.slots as u128) * trained + waiting,
            total: pairs + step.buffers.total(),
            height: pairs + step.buffers.height,
        }
    }
}

/// Rows of which the scores are there at the same time, where the head learns nothing.
const HEAD_PIECE: u128 = crate::ops::HEAD_PIECE as u128;

/// A training step whose buffers are taken and given back on paper, and the lengths of these.
struct StepOnPaper<'f> {
    of: &'f Footprint<'f>,
    buffers: BuffersInUse,
    /// V, C and the context's length.
    sizes: [u128; 3],
    logits: u128,
    stream: u128,
    act: u128,
    wide: u128,
    qkv: u128,
    heads: u128,
    /// Normed keys; 0 where they are not normed.
    keys: u128,
    learned: bool,
    ngrams: u128,
}

impl<'f> StepOnPaper<'f> {
    fn new(of: &'f Footprint<'f>, n: u128) -> StepOnPaper<'f> {
        let Footprint { config, kept: Kept { qkv, heads, normed_keys }, .. } = of;
        let sizes = [config.vocab_size, config.d_model, config.seq_len].map(|n| n as u128);
        let of_rows = |of_row: usize| n * of_row as u128;
        StepOnPaper {
            of,
            buffers: BuffersInUse::default(),
            sizes,
            logits: n * sizes[0],
            stream: n * sizes[1],
            act: of_rows(config.inner()),
            wide: of_rows(config.hidden()),
            qkv: of_rows(*qkv),
            heads: of_rows(*heads),
            keys: of_rows(*normed_keys),
            learned: config.positions == Positions::Learned,
            ngrams: config.all_ngram_rows() as u128,
        }
    }

    /// The embeddings and their sums; per block x, norm, qkv, y, x', norm', and what the MLP's
    /// activation took and made stay.
    fn forward(&mut self) {
        let StepOnPaper { of, logits, stream, .. } = *self;
        self.buffers.take([stream]);
        if self.learned || self.ngrams > 0 {
            self.buffers.pass([stream; 2]);
        }
        for _ in 0..of.config.n_layers {
            self.forward_of_block();
            if of.recompute {
                let kept = self.kept_of_block();
                self.buffers.give(kept);
            }
        }
        if of.adapter.is_some() {
            self.buffers.take([stream; 2]); // final norm and its gradient, which the loss makes
            return self.buffers.pass([logits.min(HEAD_PIECE * self.sizes[0])]);
        }
        self.buffers.take([stream, logits]); // final norm; logits, which become their own gradient
    }

    fn forward_of_block(&mut self) {
        let StepOnPaper { stream, act, wide, qkv, heads, keys, .. } = *self;
        let buffers = &mut self.buffers;
        // Normed queries and keys are cut out, normed and joined with the values.
        if keys > 0 {
            buffers.take([heads, keys]); // queries, keys
            buffers.pass([heads, keys, keys, qkv]); // their norms, values, all before
        }
        buffers.take([stream, qkv, heads, stream]); // norm, qkv, y, sum
        buffers.pass([stream]); // projection
        buffers.take([stream, wide, act, stream]); // norm, hidden, gelu, sum
        buffers.pass([stream]); // out
    }

    /// What [`StepOnPaper::forward_of_block`] takes, but for the last sum.
    fn kept_of_block(&self) -> impl Iterator<Item = u128> + use<> {
        let StepOnPaper { stream, act, wide, qkv, heads, keys, .. } = *self;
        let normed = [heads, keys].map(|n| (keys > 0).then_some(n)).into_iter().flatten();
        normed.chain([stream, qkv, heads, stream, stream, wide, act])
    }

    /// Takes the gradients of parameters, which stay until the update; a frozen one has none.
    fn learn(&mut self, lengths: impl IntoIterator<Item = u128>) {
        if self.of.adapter.is_none() {
            self.buffers.take(lengths);
        }
    }

    /// The other direction begins.
    fn backward_of_head(&mut self) {
        let [v, c, _] = self.sizes;
        self.learn([v * c]);
        self.learn(self.of.config.head_bias.then_some(v));
        let StepOnPaper { of, buffers, logits, stream, .. } = self;
        match of.adapter {
            Some(_) => buffers.give([*stream]),
            None => {
                buffers.take([*stream]);
                buffers.give([*logits, *stream]);
            }
        }
        buffers.take([*stream]); // final norm
        buffers.give([*stream; 2]);
    }

    fn backward_of_mlp(&mut self) {
        let StepOnPaper { of, sizes: [_, c, _], stream, act, wide, .. } = *self;
        let [inner, hidden] = [of.config.inner(), of.config.hidden()].map(|n| n as u128);
        let bias = |n| of.config.mlp_bias.then_some(n);
        self.buffers.take([stream, act]); // the other way of the sum, out
        self.learn([inner * c]);
        self.learn(bias(c));
        self.buffers.give([stream, act]);
        self.buffers.take([wide]); // gelu
        self.buffers.give([wide, act]);
        self.buffers.take([stream]); // hidden
        self.learn([c * hidden]);
        self.learn(bias(hidden));
        self.buffers.give([wide, stream]);
        self.buffers.take([stream]); // norm'
        self.buffers.give([stream; 3]);
    }

    fn backward_of_attention(&mut self) {
        let StepOnPaper { of, stream, qkv, heads, keys, .. } = *self;
        let buffers = &mut self.buffers;
        buffers.take([stream, heads]); // the other way of the sum
        buffers.give([stream]);
        buffers.take([qkv]);
        buffers.give([heads, heads, qkv]);
        if keys > 0 {
            buffers.pass([heads, keys, keys, heads, keys, qkv]); // of the parts, of the norms, of all
            buffers.give([heads, keys]);
        }
        buffers.take([stream]);
        self.learn(of.attention.iter().map(|(_, p)| u128::from(p.numel())));
        self.buffers.give([qkv, stream]);
        self.buffers.take([stream]); // norm
        self.buffers.give([stream; 3]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AttentionSpec, Mlp, SingleHead};

    fn plain(config: &Config) -> Footprint<'_> {
        Footprint::new(config, &SingleHead)
    }

    fn training(of: &Footprint<'_>, rows: usize) -> u128 {
        let Step { fixed, total, .. } = Step::of(of, rows);
        fixed + total
    }

    /// A length more costs what it leaves, and many of them no more than the pool keeps.
    #[test]
    fn lengths_wait_as_long_as_the_pool_lets_them() {
        let config = Config::new(300, 64, 64, 8);
        let of = plain(&config);
        let bytes = |lengths: &[usize]| of.training_of_lengths(4, lengths.iter().copied());
        assert_eq!(bytes(&[60]), of.training(4, 60));
        assert_eq!(bytes(&[60, 31, 60]) - bytes(&[60]), bytes(&[31]) - bytes(&[0]));
        let all: Vec<usize> = (1..=60).collect();
        let Step { fixed, height, .. } = Step::of(&of, 240);
        assert_eq!(u128::from(bytes(&all)), 4 * (fixed + height) + 16 * height);
        let half = Footprint { halves: 1000, ..of.clone() };
        assert_eq!(of.training(4, 60) - half.training(4, 60), 2000);
    }

    #[test]
    fn counts_of_known_models() {
        assert_eq!(plain(&Config::new(256, 64, 64, 1)).parameter_count(), 86_848);
        let gpt2 = Config::gpt2(50257, 1024, 768, 12);
        assert_eq!(plain(&gpt2).parameter_count(), 124_439_808);
        let largest = Config::new(1 << 20, 1 << 16, 1 << 14, 512);
        assert!(plain(&largest).training(usize::MAX, 1 << 16) > 0);
    }

    #[test]
    fn micro_batches_keep_gradients_of_finished_groups() {
        let config = Config::new(256, 64, 48, 3);
        let bytes = |micro_batches| Footprint { micro_batches, ..plain(&config) }.training(2, 64);
        let set = 4 * plain(&config).parameter_count();
        assert_eq!([2, 3, 4, 8].map(|m| (bytes(m) - bytes(1)) / set), [1, 1, 2, 3]);
    }

    #[test]
    fn every_gradient_is_on_paper() {
        // Without rows nothing but weights, moments and gradients is left.
        for config in [
            Config::new(256, 64, 48, 3),
            Config { tied_head: true, ..Config::new(9, 5, 7, 2) },
            Config { n_inner: 11, ..Config::new(9, 5, 7, 2) },
            Config { mlp: Mlp::SwiGlu, mlp_bias: false, n_inner: 11, ..Config::new(9, 5, 7, 2) },
            Config { positions: Positions::None, mlp: Mlp::Relu2, ..Config::new(9, 5, 7, 2) },
            Config { ngrams: vec![2, 3], ngram_rows: 200, ..Config::new(9, 5, 7, 2) },
        ] {
            let all = 4 * u128::from(plain(&config).parameter_count());
            assert_eq!(training(&plain(&config), 0), all, "{config:?}");
        }
    }

    /// Heads that are together wider than the stream leave more of a row.
    #[test]
    fn wide_heads_are_on_paper() {
        let config = Config::new(300, 64, 64, 8);
        let floats = |d: usize| {
            let wide = AttentionSpec { head_dim: Some(d), ..AttentionSpec::new("wide", 4) };
            let of = Footprint { kept: wide.kept(64), ..plain(&config) };
            training(&of, 1000) - training(&of, 0)
        };
        assert_eq!(floats(16), training(&plain(&config), 1000) - training(&plain(&config), 0));
        assert!(floats(32) >= floats(16) + 8 * 1000 * 64);
    }

    /// Normed queries and keys leave what they were.
    #[test]
    fn norms_of_heads_are_on_paper() {
        let config = Config::new(300, 64, 64, 8);
        let floats = |normed: bool| {
            let normed_keys = if normed { 64 } else { 0 };
            let of =
                Footprint { kept: Kept { normed_keys, ..plain(&config).kept }, ..plain(&config) };
            training(&of, 1000) - training(&of, 0)
        };
        let kept = floats(true) - floats(false);
        assert!((8 * 1000 * 128..8 * 1000 * 128 + 10 * 1000 * 64).contains(&kept), "{kept}");
    }

    #[test]
    fn a_length_that_occurs_twice_is_counted_once() {
        // With as many rows as channels activations and gradients have the same lengths.
        let config = Config::new(300, 64, 64, 8);
        let floats = |rows| training(&plain(&config), rows);
        assert!(floats(64) < floats(63));
    }
}
