//! Everything that decides the next training step, besides weights and moments.

use crate::base::{Error, Result, Settings, choices};
use crate::data::TokenDataset;
use crate::kernels::gemm::Precision;
use crate::message;
use crate::model::{Attention, Batch, BatchShape, Config, Footprint, Origin, WindowOrder};
use crate::optim::find_optimizer;
use crate::optim::{AdamW, Hyperparameters, OPTIMIZERS, Optimizer, OptimizerRow, Schedule};
use serde::{Deserialize, Serialize};

/// Where a run's data came from: enough to know it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataSource {
    /// The built-in stories: regenerated, never stored.
    Stories {
        /// The version of their grammar.
        version: u32,
        /// Seed of the stories, and how many.
        seed: u64,
        /// Number of stories, training and validation together.
        count: u64,
    },
    /// Files, in order, as one sequence.
    Files {
        /// Bytes in all.
        len: u64,
        /// BLAKE3 of all bytes.
        blake3: [u8; 32],
        /// What the bytes are.
        form: DataForm,
        /// Where a text ends.
        end_of_text: EndOfText,
    },
}

/// What the bytes of files are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataForm {
    /// Text, which a tokenizer makes into tokens.
    #[default]
    Text,
    /// Not text; trained on as if it were.
    Bytes,
    /// Tokens already: numbers of 16 bits each, little-endian.
    U16,
    /// Conversations, a line of JSON each.
    Chats,
}

choices!(DataForm, Text = "text", Bytes = "bytes", U16 = "u16", Chats = "chats");

/// Which tokens of a conversation are learned; the others are read all the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LossOn {
    /// Targets in the answers.
    #[default]
    Answers,
    /// Targets everywhere.
    All,
}

choices!(LossOn, Answers = "answers", All = "all");

/// Where in files a text ends, and the token that says so stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndOfText {
    /// Nowhere: all is one text.
    #[default]
    None,
    /// After every file.
    Files,
    /// After every file, when there are several, and wherever
    /// [`END_OF_TEXT`](crate::tokenizer::END_OF_TEXT) is written.
    Marked,
}

choices!(EndOfText, None = "none", Files = "files", Marked = "marked");

impl DataSource {
    /// The data of a model from elsewhere, which has not been trained here yet. No file that a run
    /// learns from has this length.
    pub const NONE: DataSource = DataSource::text(0, [0; 32]);

    /// One text of `len` bytes, with their BLAKE3.
    pub const fn text(len: u64, blake3: [u8; 32]) -> DataSource {
        let (form, end_of_text) = (DataForm::Text, EndOfText::None);
        DataSource::Files { len, blake3, form, end_of_text }
    }
}

/// The settings of a run. A checkpoint holds them, so that it alone can go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// B.
    pub batch_size: usize,
    /// Micro-batches of B windows per step; the update is that of one batch of all of them.
    pub accum: u32,
    /// Length of a training window; at most the model's context.
    pub seq_len: usize,
    /// Steps planned in all.
    pub total_steps: u64,
    /// The learning rate's course.
    pub schedule: Schedule,
    /// The optimizer's name, one of [`OPTIMIZERS`] or of the caller's own.
    pub optimizer: String,
    /// The optimizer's usual numbers.
    pub hyperparameters: Hyperparameters,
    /// The optimizer's own numbers, by the keys of [`OptimizerRow::settings`]; a key that is missing has the
    /// row's value.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub optimizer_settings: Settings,
    /// Largest gradient norm; 0: no clipping.
    pub clip: f32,
    /// What matrices are rounded to inside the products of a training step. Measuring a model and
    /// writing with it never round.
    pub matmul: Precision,
    /// Seed of weights, batches and every other random draw in training.
    pub seed: u64,
    /// Share of the tokens kept for validation, the last ones.
    pub val_frac: f64,
    /// Which tokens of conversations are learned.
    pub loss_on: LossOn,
    /// In which order windows are learned.
    pub order: WindowOrder,
    /// What judges the answers that the model writes and learns from; empty: it learns from its data.
    pub reward: String,
    /// Answers to a question, whose rewards are compared with each other.
    pub group: u32,
    /// Most tokens of an answer; 0: twice the longest one that is known.
    pub answer_length: u32,
    /// Whether rewards less their mean are divided by their standard deviation.
    pub scaled: bool,
    /// Updates of each batch of answers.
    pub updates: u32,
    /// How far the ratio of a token's probability to that of the weights that wrote it may be from 1, and still
    /// teach.
    pub clip_ratio: f32,
    /// How strongly the model is held to the weights of its start.
    pub beta: f32,
    /// BLAKE3 of those weights, where all weights learn and something compares with them; else empty.
    pub start: String,
    /// What it learns from.
    pub data: DataSource,
    /// The validation data, when it is not a part of `data`.
    pub val_data: Option<DataSource>,
}

impl Recipe {
    /// `total_steps` steps of B windows of T tokens at a constant rate, with AdamW, its defaults and
    /// gradients clipped at 1; everything else is a field to change.
    pub fn new(shape: impl Into<BatchShape>, total_steps: u64, lr: f32) -> Recipe {
        let BatchShape { batch_size, seq_len } = shape.into();
        Recipe {
            batch_size,
            accum: 1,
            seq_len,
            total_steps,
            schedule: Schedule::constant(lr),
            optimizer: AdamW::NAME.into(),
            hyperparameters: Hyperparameters::default(),
            optimizer_settings: Settings::default(),
            clip: 1.0,
            matmul: Precision::F32,
            seed: 1,
            val_frac: 0.0,
            loss_on: LossOn::Answers,
            order: WindowOrder::Random,
            reward: String::new(),
            group: 8,
            answer_length: 0,
            scaled: false,
            updates: 1,
            clip_ratio: 0.2,
            beta: 0.0,
            start: String::new(),
            data: DataSource::NONE,
            val_data: None,
        }
    }

    /// Most steps: whole numbers that an f64 still tells apart.
    pub const MAX_STEPS: u64 = 1 << 53;

    /// Plans `steps` steps in all; a horizon of the rate that was the end of the run moves along.
    pub fn end_at(&mut self, steps: u64) {
        let Recipe { schedule, total_steps, .. } = self;
        if schedule.decay_steps == *total_steps {
            schedule.decay_steps = steps;
        }
        *total_steps = steps;
    }

    /// Tokens that a step learns from, all its micro-batches together.
    pub fn tokens_per_step(&self) -> u64 {
        let windows = (self.batch_size as u64).saturating_mul(self.accum.into());
        windows.saturating_mul(self.seq_len as u64)
    }

    /// Micro-batch `micro` of a step, both from 0.
    ///
    /// # Errors
    /// As [`TokenDataset::batch`].
    pub fn batch(&self, data: &TokenDataset, step: u64, micro: u32) -> Result<Batch> {
        let Recipe { seed, batch_size, seq_len, accum, order, .. } = *self;
        let rows = |micro_batches: u32| (batch_size as u64).saturating_mul(micro_batches.into());
        let (first_row, step_rows) = (rows(micro), rows(accum));
        data.rows(Origin { seed, step, first_row, step_rows, order }, [batch_size, seq_len])
    }

    /// What the memory of such a run of a model depends on.
    ///
    /// # Errors
    /// [`Error::Config`] when none of `optimizers` is the run's.
    pub fn footprint<'a>(
        &self,
        config: &'a Config,
        attention: &dyn Attention,
        optimizers: &[OptimizerRow],
    ) -> Result<Footprint<'a>> {
        let slots = find_optimizer(optimizers, &self.optimizer)?.slots.len();
        Ok(Footprint { slots, micro_batches: self.accum, ..Footprint::new(config, attention) })
    }

    /// A fresh optimizer, as the run names it.
    ///
    /// # Errors
    /// [`Error::Config`] when none of `optimizers` has the name, or as [`OptimizerRow::build`].
    pub fn make_optimizer(&self, optimizers: &[OptimizerRow]) -> Result<Box<dyn Optimizer>> {
        let row = find_optimizer(optimizers, &self.optimizer)?;
        row.build(self.hyperparameters, &self.optimizer_settings)
    }

    /// Validates each setting's range, of a run with an optimizer of this crate.
    ///
    /// # Errors
    /// [`Error::Config`] naming the setting.
    pub fn check(&self) -> Result<()> {
        self.check_with(OPTIMIZERS)
    }

    /// [`Recipe::check`] of a run with one of these optimizers.
    ///
    /// # Errors
    /// [`Error::Config`] naming the setting.
    pub fn check_with(&self, optimizers: &[OptimizerRow]) -> Result<()> {
        let within = (1..=1 << 20).contains(&self.batch_size);
        let reason = message!("{} is outside 1..=1048576", self.batch_size);
        Error::unless(within, "batch_size", reason)?;
        let Schedule { warmup_steps, decay_steps, .. } = self.schedule;
        for (field, steps) in [
            ("total_steps", self.total_steps),
            ("decay_steps", decay_steps),
            ("warmup_steps", warmup_steps),
        ] {
            let reason = message!("{} is too many, the most is {}", steps, Recipe::MAX_STEPS);
            Error::unless(steps <= Recipe::MAX_STEPS, field, reason)?;
        }
        let within = (1..=1 << 16).contains(&self.accum);
        Error::unless(within, "accum", message!("{} is outside 1..=65536", self.accum))?;
        Error::unless(self.seq_len > 0, "seq_len", message!("0 is not a length"))?;
        let fits = self.clip >= 0.0 && self.clip.is_finite();
        let reason = message!("{} is not a finite number of 0 or more", self.clip);
        Error::unless(fits, "clip", reason)?;
        let within = (2..=1 << 12).contains(&self.group);
        Error::unless(within, "group", message!("{} is outside 2..=4096", self.group))?;
        let within = (1..=1 << 10).contains(&self.updates);
        Error::unless(within, "updates", message!("{} is outside 1..=1024", self.updates))?;
        let within = self.clip_ratio > 0.0 && self.clip_ratio < 1.0;
        let reason = message!("{} is not between 0 and 1", self.clip_ratio);
        Error::unless(within, "clip_ratio", reason)?;
        let fits = self.beta >= 0.0 && self.beta.is_finite();
        let reason = message!("{} is not a finite number of 0 or more", self.beta);
        Error::unless(fits, "beta", reason)?;
        let within = (0.0..1.0).contains(&self.val_frac);
        Error::unless(within, "val_frac", message!("{} is outside 0..1", self.val_frac))?;
        self.schedule.check()?;
        self.hyperparameters.check()?;
        self.make_optimizer(optimizers).map(drop)
    }
}
