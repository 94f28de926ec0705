//! A new run: built-in values, preset, flags.

use super::checks::{named_by_option, require, steps_of, training_memory, unfit, without_a_course};
use super::files::TextFiles;
use super::loaded::Loaded;
use super::rewarded;
use super::run::Plan;
use crate::data::{Cut, Data, Input, Reading, check_kind_of_data};
use crate::defaults::{Preset, Start, TextDefaults, VOCAB_SIZE};
use crate::error::{Result, usage};
use crate::models::Models;
use crate::note::Note;
use crate::options::Options;
use crate::settings::{self, Given};
use crate::tokenizers::{self, Choice, Made, Watching};
use llm_core::model::{Footprint, check_attention};
use llm_core::optim::{AdamW, Muon, OptimizerRow};
use llm_core::recipe::{DataForm, DataSource, EndOfText, Recipe};
use llm_core::settings::Value;
use llm_core::tokenizer::{ByteTokenizer, Tokenizer};
use llm_core::train::Trainer;
use llm_core::{Attention, Config, TinyGPT, message};
use std::sync::Arc;

/// A new run.
pub(super) fn plan(models: &Models, options: &Options, watch: &Watching<'_>) -> Result<Plan> {
    let settings = settings(models, options)?;
    require(settings.memory(options, &[])?)?;
    let tokens = &settings.tokens;
    // A file that is no tokenizer is found out before a large text is read.
    tokens.load()?;
    let ends = match (options.end_of_text, options.preset) {
        (Some(said), _) => said,
        (None, Some(Preset::Original)) => EndOfText::None,
        (None, None) => EndOfText::Files,
    };
    let reading = Reading::new(tokens.kind(), options.data_as).ending(ends);
    let stories = options.data.is_empty();
    let input = if stories { Input::stories() } else { options.files(&options.data, reading)? };
    if let Input::Files(files) = &input
        && files.texts.largest().is_some()
    {
        // What was not to be seen before the files were.
        Choice::of_numbers(&options.tokenizer)?;
    }
    check_kind_of_data(&options.given, &input)?;
    let again = || Reading::again(tokens.kind(), &input.source(), options.data_as);
    let val =
        (!options.val.is_empty()).then(|| options.files(&options.val, again())).transpose()?;
    let hint = match (&options.tokenizer.kind, tokens) {
        (None, Choice::Byte) => long_characters(&input)?,
        _ => None,
    };
    let val_frac = settings.recipe.val_frac;
    let Made { tokenizer, note } = tokenizers::make(tokens, &input, val_frac, watch)?;
    let (settings, options) = match fitting(&input, options, &tokenizer)? {
        Some(fitting) => (self::settings(models, &fitting)?, &fitting.clone()),
        None => (settings, options),
    };
    let sources = (input.source(), val.as_ref().map(Input::source));
    let mut settings = settings.on(options, tokenizer.vocab_size(), sources)?;
    let data = Data::new(input, val, val_frac, Cut::from(&settings.recipe), &tokenizer)?;
    let long = unfit(&data, &settings.recipe);
    plan_epochs(options, data.tokens_of_epoch(settings.recipe.seq_len), &mut settings)?;
    let plan = settings.plan(options, data, tokenizer)?;
    let ignored = ignored(&options.given, &plan.trainer.recipe);
    let hint = hint.into_iter().chain(long);
    let notes = note.into_iter().chain(hint).chain(plan.notes).chain(ignored).collect();
    Ok(Plan { notes, ..plan })
}

/// Most tokens of a window that is chosen for conversations.
const LONGEST_FITTED: usize = 512;
/// Fewer leave no room for a question that is longer than those that were learned. Rows are as long as the
/// longest conversation in a batch, so what is not used takes no time.
const SHORTEST_FITTED: usize = 128;

/// The window into which the longest of conversations of these lengths fits, as far as it is chosen.
pub fn fitted(lengths: &[usize]) -> usize {
    let longest = lengths.iter().copied().max().unwrap_or(0);
    longest.next_multiple_of(64).clamp(SHORTEST_FITTED, LONGEST_FITTED)
}

/// The options with a window that conversations fit into, where none was asked for.
pub(super) fn fitting(
    input: &Input,
    options: &Options,
    tokenizer: &Arc<dyn Tokenizer>,
) -> Result<Option<Options>> {
    let asked = options.given.contains_key("seq") || options.preset.is_some();
    let Some(chats) = input.chats().filter(|_| !asked) else { return Ok(None) };
    let seq_len = fitted(&chats.lengths(&**tokenizer)?);
    let mut options = options.clone();
    options.given.insert("seq", seq_len.into());
    Ok(Some(options))
}

/// Said where most of a text takes several bytes a character, so that bytes are poor tokens.
fn long_characters(input: &Input) -> Result<Option<Note>> {
    const SAMPLE: usize = 1 << 16;
    let Input::Files(files) = input else { return Ok(None) };
    if files.texts.largest().is_some() {
        return Ok(None);
    }
    let sample = files.texts.learned(0.0, Some(SAMPLE))?;
    let outside = sample.iter().filter(|byte| !byte.is_ascii()).count();
    Ok((2 * outside > sample.len()).then_some(Note::LongCharacters))
}

/// What follows from the flags alone.
#[derive(Debug)]
pub struct Settings {
    files: TextFiles,
    pub(super) config: Config,
    pub(super) attention: Arc<dyn Attention>,
    pub(super) recipe: Recipe,
    optimizers: &'static [OptimizerRow],
    tokens: Choice,
    notes: Vec<Note>,
}

impl Settings {
    /// The settings on data from these sources, for training and validation, in tokens of a
    /// vocabulary. There is memory for it.
    pub(super) fn on(
        self,
        options: &Options,
        vocab_size: usize,
        (data, val_data): (DataSource, Option<DataSource>),
    ) -> Result<Settings> {
        let config = Config { vocab_size, ..self.config };
        let settings =
            Settings { config, recipe: Recipe { data, val_data, ..self.recipe }, ..self };
        check_config(&settings.config, settings.attention.as_ref())?;
        require(settings.memory(options, &[])?)?;
        Ok(settings)
    }

    fn memory(&self, options: &Options, lengths: &[usize]) -> Result<u64> {
        let model = (&self.config, self.attention.as_ref());
        training_memory(model, &self.recipe, self.optimizers, options, None, lengths)
    }

    /// The run of these settings on data that are there.
    pub(super) fn plan(
        self,
        options: &Options,
        data: Data,
        tokenizer: Arc<dyn Tokenizer>,
    ) -> Result<Plan> {
        let memory = self.memory(options, &data.train.row_lengths())?;
        let steps = self.recipe.total_steps;
        let (files, notes) = (self.files.clone(), self.notes.clone());
        let (data, text) = (Some(data), TextDefaults::choose(options.preset));
        let plan = Loaded { run: self.trainer()?, tokenizer, has_optimizer: true }.into();
        Ok(Plan { steps, data, files, notes, memory, text, ..plan })
    }

    /// A model of these settings, and how it will learn.
    pub(super) fn trainer(self) -> Result<Trainer> {
        let Settings { config, attention, recipe, optimizers, .. } = self;
        let model = TinyGPT::with_attention(config, attention, recipe.seed)?;
        Ok(Trainer::with_optimizers(model, recipe, optimizers)?)
    }

    /// The plan that they would become.
    pub fn decided(&self) -> super::run::Decided<'_> {
        super::run::Decided {
            files: &self.files,
            config: &self.config,
            recipe: &self.recipe,
            attention: self.attention.spec(),
            tokenizer: self.tokens.kind(),
            steps: self.recipe.total_steps,
            sample_seed: self.recipe.seed,
        }
    }
}

/// Muon's momentum for texts, whose runs are short: 0.007 to 0.027 bits a byte better than its usual 0.95 in
/// six of six runs of 250 to 1,400 steps on two texts.
const MOMENTUM: f32 = 0.9;

/// Decides everything that needs neither files nor memory.
pub(super) fn settings(models: &Models, options: &Options) -> Result<Settings> {
    rewarded::check(options)?;
    let stories = options.data.is_empty();
    let (start, mut given) = (Start::choose(options.preset, stories), options.given.clone());
    if start == Start::Text && options.arch.is_none() {
        // Whatever the set of options that a text has by default: a head of its own learns faster.
        given.entry("tied_head").or_insert(Value::Bool(false));
    }
    let arch = options.arch.or((start == Start::Text).then_some(models.for_text));
    let options = &Options { arch, ..options.clone() };
    if options.allow_data_change.is_some() {
        return usage(message!("{allow_data_change} is for going on with a run: it needs {load}"));
    }
    if stories && !options.val.is_empty() {
        return usage(message!("{val} needs {data}"));
    }
    let numbers = options.data_as == Some(DataForm::U16);
    let of = if numbers { Choice::of_numbers } else { Choice::of };
    let tokens = of(&options.tokenizer)?.unwrap_or(Choice::Byte);
    // All but the vocabulary of a text is known, and refused, before the text is read.
    let vocab_size = match &tokens {
        Choice::Byte => ByteTokenizer::VOCAB_SIZE,
        Choice::Learn { vocab_size } => vocab_size.unwrap_or(VOCAB_SIZE),
        Choice::Numbers { vocab_size } => vocab_size.unwrap_or(1),
        Choice::Char | Choice::File(_) | Choice::Pair { .. } => 1,
    };
    let config = settings::new_model(options.arch_config(vocab_size), start, &given);
    let config = config.map_err(named_by_option)?;
    config.check().map_err(named_by_option)?;
    let attention = options.attention(models, &config).map_err(named_by_option)?;
    check_attention(attention.as_ref(), &config).map_err(named_by_option)?;
    check_config(&config, attention.as_ref())?;
    let mut recipe = settings::new_recipe(start, &given).map_err(named_by_option)?;
    if !options.val.is_empty() {
        recipe.val_frac = 0.0;
    }
    let asked = start != Start::Text || given.contains_key("optimizer");
    let notes: Vec<Note> = small_step(&recipe, &config).filter(|_| !asked).into_iter().collect();
    if !notes.is_empty() {
        recipe.optimizer = AdamW::NAME.into();
    }
    if start == Start::Text && recipe.optimizer == Muon::NAME {
        recipe.optimizer_settings.insert("momentum", Value::Float(MOMENTUM))?;
    }
    let own = settings::set_own(&mut recipe, &options.optimizer_set, models.optimizers);
    own.map_err(named_by_option)?;
    recipe.data = Input::stories().source(); // until the files are read
    recipe.check_with(models.optimizers).map_err(named_by_option)?;
    let files = TextFiles::typed(options);
    let optimizers = models.optimizers;
    Ok(Settings { files, config, attention, recipe, optimizers, tokens, notes })
}

/// Said where a step learns from so few tokens, for the width, that Muon's products, which do not
/// depend on their number, take longer than they save.
fn small_step(recipe: &Recipe, config: &Config) -> Option<Note> {
    const TOKENS_A_CHANNEL: u64 = 4;
    let (tokens, enough) = (recipe.tokens_per_step(), TOKENS_A_CHANNEL * config.d_model as u64);
    (tokens < enough).then_some(Note::SmallStep { tokens, enough })
}

/// Counts steps by `--epochs`, once the data's number of tokens is known.
pub(super) fn plan_epochs(options: &Options, tokens: usize, settings: &mut Settings) -> Result<()> {
    let Settings { recipe, optimizers, .. } = settings;
    let Some(epochs) = options.epochs else { return Ok(()) };
    recipe.total_steps = steps_of(epochs, tokens, recipe)?;
    let start = Start::choose(options.preset, options.data.is_empty());
    settings::rate_of_steps(recipe, start, &options.given);
    settings::follow(recipe, &options.given, |_| true).map_err(named_by_option)?;
    recipe.check_with(optimizers).map_err(named_by_option)
}

pub(super) fn check_config(config: &Config, attention: &dyn Attention) -> Result<()> {
    config.check().map_err(named_by_option)?;
    let footprint = Footprint::new(config, attention);
    let parameters = footprint.parameter_count();
    if parameters > Config::MAX_PARAMETERS {
        return require(footprint.training(1, 1)).and(usage(message!(
            "{} parameters are more than this program takes; lower {dmodel} or {layers}",
            llm_core::base::thousands(parameters)
        )));
    }
    Ok(())
}

/// Settings that have no effect here, to be said.
fn ignored(given: &Given, recipe: &Recipe) -> Vec<Note> {
    let (warmup, steps) = (recipe.schedule.warmup_steps, recipe.total_steps);
    let unreached = (warmup >= steps && warmup > 0).then_some(Note::LongWarmup { warmup, steps });
    let end = recipe.schedule.decay_steps.max(warmup);
    let idle = recipe.schedule.at(end) == 0.0 && end < steps;
    let short = idle.then_some(Note::ShortCourse { end, steps });
    unreached.into_iter().chain(short).chain(without_a_course(given, recipe)).collect()
}
