//! What a run is asked for.

use crate::arch::Arch;
use crate::data::{Input, Reading};
use crate::defaults::Preset;
use crate::device::Device;
use crate::error::{Result, option, usage};
use crate::models::Models;
use crate::settings::{Given, attention_of, usual_heads};
use crate::tokenizers::TokenizerOptions;
use llm_core::recipe::{DataForm, EndOfText};
use llm_core::settings::Value;
use llm_core::{Attention, Config, Result as CoreResult, message};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Everything that a run can be asked for. What is not said comes from the checkpoint, the preset or
/// the built-in values, in that order.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Settings of the model and the run, by their names.
    pub given: Given,
    /// Numbers of the optimizer's own, each as NAME=X.
    pub optimizer_set: Vec<String>,
    /// A set of options of the model.
    pub arch: Option<Arch>,
    /// The attention, of several that there are.
    pub attention: Option<String>,
    /// Numbers of the attention's own, each as NAME=X.
    pub attention_set: Vec<String>,
    /// A set of values to start from.
    pub preset: Option<Preset>,
    /// Steps as passes over the training data; where a run goes on: that many more.
    pub epochs: Option<f64>,
    /// Training text: files and folders; `-` is standard input. None: the built-in stories.
    pub data: Vec<PathBuf>,
    /// Validation text: files and folders.
    pub val: Vec<PathBuf>,
    /// Files of `data` and `val` that are in memory, by the names that stand for them there.
    pub held: BTreeMap<PathBuf, Arc<[u8]>>,
    /// What the files hold, where it is not seen or is no text.
    pub data_as: Option<DataForm>,
    /// Where a text ends, and a token says so.
    pub end_of_text: Option<EndOfText>,
    /// How text is cut.
    pub tokenizer: TokenizerOptions,
    /// Whether a run may go on with other data.
    pub allow_data_change: Option<bool>,
    /// The checkpoint, or the folder of a run, to go on with.
    pub load: Option<PathBuf>,
    /// The rank of an adapter that learns in place of the loaded model.
    pub lora: Option<usize>,
    /// Whether a step computes each block twice, for less memory.
    pub recompute: Option<bool>,
    /// The file of the weights under the loaded adapter, where it is not the one that it names.
    pub base: Option<PathBuf>,
    /// A text on which the model is measured before its first step and after its last.
    pub forget: Option<PathBuf>,
    /// The file to save the run in.
    pub save: Option<PathBuf>,
    /// The folder to save it in; neither: `runs/NNN`, the next free number.
    pub out: Option<PathBuf>,
    /// Whether nothing is saved.
    pub no_save: Option<bool>,
    /// How often it is measured, saved and heard of.
    pub habits: Habits,
    /// The time that it may take, the last measurement included.
    pub max_time: Option<Duration>,
    /// The time that a new run should take, for which sizes and steps that are not given are chosen.
    pub time: Option<Duration>,
    /// Whether the run is only planned, tried and estimated.
    pub dry_run: bool,
    /// Whether the run is a test that memorises one batch, of which nothing is saved.
    pub overfit: bool,
    /// Where the steps are computed.
    pub device: Device,
    /// Number of processes that share each step; 0 counts as 1.
    pub members: usize,
    /// Whether each process keeps the optimizer's state of its share alone.
    pub shard_optimizer: Option<bool>,
    /// Whether text is asked for, so that there is something to do without steps.
    pub writes: bool,
    /// Whether the data are needed without steps, too.
    pub reads: bool,
}

/// How often a run is measured, saved and heard of, and when it stops by itself.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// Steps between two measurements; 0: at the end alone.
    pub eval_every: Option<u64>,
    /// Steps between two saves; 0: at the end alone.
    pub save_every: Option<u64>,
    /// Steps between two reports; 0: never.
    pub log_every: Option<u64>,
    /// Steps between two samples.
    pub sample_every: Option<u64>,
    /// How many periodic checkpoints are kept.
    pub keep: Option<usize>,
    /// Whether the optimizer's moments are saved too; true: in `best` as well.
    pub save_opt: Option<bool>,
    /// Measurements in a row without a better loss, after which it stops; 0: never.
    pub patience: Option<u64>,
    /// Standard deviations by which an update that is left out stands out; 0: none is.
    pub skip_spikes: Option<f32>,
    /// Habits of the run that goes on, which were not asked for.
    pub remembered: Vec<(&'static str, Value)>,
}

impl Options {
    /// Refuses what a GPU cannot do, and a GPU in a program that was built without GPUs.
    ///
    /// # Errors
    /// [`RunError::Usage`](crate::error::RunError::Usage) naming it.
    pub fn check_device(&self) -> Result<()> {
        let for_the_cpu = [
            (self.overfit, message!("{}", option("overfit"))),
            (self.time.is_some(), message!("{}", option("time"))),
            (self.shard_optimizer == Some(true), message!("{}", option("shard_optimizer"))),
            (self.lora.is_some(), message!("{}", option("lora"))),
            (self.recompute == Some(true), message!("{}", option("recompute"))),
        ];
        match for_the_cpu.into_iter().find(|(is_asked, _)| *is_asked) {
            Some((_, what)) if self.device != Device::Cpu => {
                usage(message!("{} is for the processor: leave {device} out", what))
            }
            _ => self.device.check(),
        }
    }

    /// A run that is kept in a folder: where one lies there already, it goes on.
    pub fn in_folder(folder: &Path) -> Options {
        let load = folder.join("ckpt/last").is_file().then(|| folder.into());
        Options { load, out: Some(folder.into()), ..Options::default() }
    }

    /// Files of these options: one that is held, or as they lie on the disk.
    ///
    /// # Errors
    /// As [`Input::files`].
    pub fn files(&self, paths: &[PathBuf], reading: Reading) -> Result<Input> {
        let held = if let [one] = paths { self.held.get_key_value(one) } else { None };
        let Some((name, bytes)) = held else { return Input::files(paths, reading) };
        Input::of_bytes(name.to_string_lossy().into_owned(), bytes.to_vec(), reading)
    }

    /// The options that the set of the model stands for, without sizes.
    pub fn arch_config(&self, vocab_size: usize) -> Config {
        self.arch.unwrap_or_default().config(vocab_size)
    }

    /// The attention of a new model of these settings.
    ///
    /// # Errors
    /// As [`attention_of`] and [`Models::new_attention`].
    pub fn attention(&self, models: &Models, config: &Config) -> CoreResult<Arc<dyn Attention>> {
        let heads = usual_heads(models, config, &self.given);
        let of_arch = self.arch.unwrap_or_default().attention(heads, config.d_model);
        let described = attention_of(of_arch, config, &self.given)?;
        models.new_attention(self.attention.as_deref(), &self.attention_set, described)
    }
}
