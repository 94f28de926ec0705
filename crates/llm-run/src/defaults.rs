//! The values of flags that are not given.

/// Number of built-in stories, training and validation together.
pub const STORY_COUNT: u64 = 20_000;
/// Seed of the built-in stories. It is not `--seed`: runs with different seeds train and
/// validate on the same stories.
pub const STORY_SEED: u64 = 1;

/// Steps between two evaluations, and between two saves.
pub const INTERVAL: u64 = 250;
/// Steps between two reports.
pub const LOG_EVERY: u64 = 10;
/// Most tokens that an evaluation during training scores.
pub const PERIODIC_TOKENS: usize = 65_536;
/// Training tokens for each token that the evaluation after training scores, so that it takes a small part
/// of the time.
const LEARNED_PER_SCORED: u64 = 4;
/// Fewest tokens of the evaluation after training, if the run was trained on as many or they are soon scored.
const FEWEST_FINAL_TOKENS: usize = 1 << 18;
/// Most tokens of the evaluation after training.
pub const FINAL_TOKENS: usize = 4 << 20;
/// Operations that are done within seconds, two for a parameter and a token.
const SOON_DONE: u64 = 2_000_000_000_000;

/// Most tokens that are scored after `learned` of a text were trained on by a model with n `parameters`.
/// To score one takes a third of the time that learning it takes.
pub fn final_tokens(learned: u64, parameters: u64) -> usize {
    let soon = SOON_DONE / (2 * parameters.max(1));
    let [share, few] = [learned / LEARNED_PER_SCORED, learned.max(soon)]
        .map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    share.clamp(few.min(FEWEST_FINAL_TOKENS), FINAL_TOKENS)
}

/// Default size of a trained vocabulary.
pub const VOCAB_SIZE: usize = 1024;

/// The number that an environment variable sets, if it does.
pub fn set_by(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Sets of starting values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The C++ original's.
    Original,
}

impl Preset {
    /// Name of the preset.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Original => "original",
        }
    }
}

/// What a new run starts from. The values are in the rows of [`settings`](crate::settings).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// For the built-in stories: a window holds a story, a minute suffices.
    Stories,
    /// The user's text: the sizes of nanoGPT's configuration for a CPU.
    Text,
    /// The C++ original's.
    Original,
}

impl Start {
    /// The start for a kind of data, or of a preset.
    pub fn choose(preset: Option<Preset>, stories: bool) -> Start {
        match (preset, stories) {
            (Some(Preset::Original), _) => Start::Original,
            (None, true) => Start::Stories,
            (None, false) => Start::Text,
        }
    }

    /// The value for this start, of three: stories, text, original.
    pub fn of<T: Copy>(self, values: [T; 3]) -> T {
        values[self as usize]
    }
}

/// How text is written when nothing is said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextDefaults {
    /// Tokens.
    pub n: usize,
    /// Temperature.
    pub temperature: f32,
}

impl TextDefaults {
    /// The defaults of a preset.
    pub fn choose(preset: Option<Preset>) -> TextDefaults {
        match preset {
            Some(Preset::Original) => TextDefaults { n: 128, temperature: 1.0 },
            None => TextDefaults { n: 256, temperature: 0.8 },
        }
    }
}
