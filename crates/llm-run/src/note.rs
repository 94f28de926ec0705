//! What is worth saying about a run before it begins.

use llm_core::base::Message;
use llm_core::settings::Value;
use std::path::PathBuf;

/// Something worth saying, in numbers and names. Options are named by their fields.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// What was chosen for a run of a given time.
    Chosen {
        /// The time in seconds.
        seconds: f64,
        /// Bytes of the text.
        bytes: u64,
        /// Chosen values by the names of the options. Asked for, they make the same run.
        settings: Vec<(&'static str, Value)>,
    },
    /// The time is too short: the fewest steps of the smallest model take longer.
    ShortTime {
        /// These steps.
        steps: u64,
        /// Seconds that all of it takes about.
        least: f64,
    },
    /// A table of pairs of tokens would make the run better, and its model stay here.
    Tables,
    /// A vocabulary was learned from the text.
    Bpe {
        /// Tokens of the vocabulary.
        tokens: usize,
        /// Tokens that were asked for.
        wanted: usize,
        /// Bytes of the text that it was learned from.
        bytes: u64,
        /// Seconds that it took.
        seconds: f64,
    },
    /// Token numbers stand for characters, which a file next to them names.
    Characters {
        /// Number of characters.
        count: usize,
        /// The file.
        meta: PathBuf,
    },
    /// The file next to token numbers names no characters.
    StayNumbers {
        /// The file.
        meta: PathBuf,
        /// The cause.
        why: Message,
    },
    /// Tokens are bytes, and most characters of the text take several.
    LongCharacters,
    /// Hardly a conversation fits into a window.
    LongChats {
        /// Training conversations that do not fit.
        longer: usize,
        /// Training conversations.
        count: usize,
        /// Tokens of a window.
        seq_len: usize,
    },
    /// A setting that differs from the loaded run's.
    Replaces {
        /// The option.
        option: &'static str,
        /// The new value.
        new: Value,
        /// The run's value.
        old: Value,
    },
    /// The optimizer begins anew, since the loaded file has none of its state.
    NoOptimizerState {
        /// Name of the optimizer.
        optimizer: String,
    },
    /// A model from elsewhere, with nothing to do.
    Imported,
    /// A run that is finished, with nothing to do.
    AllDone {
        /// Steps of the run.
        steps: u64,
    },
    /// The text is the run's own, found where it was.
    OwnText {
        /// Files of the text.
        files: Vec<PathBuf>,
    },
    /// Habits that the run keeps, though not asked for this time.
    Habits(Vec<(&'static str, Value)>),
    /// A new course of the rate, since the old one has ended.
    NewCourse {
        /// Where it ended.
        before: f32,
        /// The rate that it begins with.
        rate: f32,
        /// The step at which it ends at 0.
        end: u64,
    },
    /// The rate stays at the end of its course, which was taken down.
    RateTakenDown {
        /// The step at which the course ended.
        end: u64,
        /// The rate.
        rate: f32,
    },
    /// The rate stays at the end of its course, whatever peak is asked for.
    RateWithoutEffect {
        /// The step at which the course ended.
        end: u64,
        /// The rate.
        rate: f32,
    },
    /// A constant rate has no course.
    NoCourse,
    /// The peak of the rate is never reached.
    LongWarmup {
        /// Steps of the warm-up.
        warmup: u64,
        /// Steps of the run.
        steps: u64,
    },
    /// The rate is 0 before the last step.
    ShortCourse {
        /// The step from which on it is.
        end: u64,
        /// Steps of the run.
        steps: u64,
    },
    /// Steps so small, for the width, that the text is learned with AdamW.
    SmallStep {
        /// Tokens of a step.
        tokens: u64,
        /// Tokens from which on it would be Muon.
        enough: u64,
    },
    /// Answers end with a token whose row an adapter cannot change, and which the model may not have learned.
    FrozenEnd {
        /// The token's text.
        mark: String,
    },
    /// A place to save in, where nothing is saved.
    NoPlace {
        /// The option that names it.
        option: &'static str,
    },
    /// The kernels of all processes are those that every process has.
    CommonKernels {
        /// The instruction set that is used.
        used: &'static str,
        /// The best instruction set of any process.
        best: &'static str,
    },
    /// Products in bf16 are summed in the order that every process has.
    CommonOrder {
        /// The order that is used.
        used: &'static str,
        /// The best order of any process.
        best: &'static str,
    },
    /// The matrix-product engine cannot be chosen where several processes compute the same bits.
    OwnEngine,
    /// Several processes share each step.
    Crew {
        /// Number of processes.
        processes: usize,
        /// Micro-batches of a step.
        micro_batches: u32,
    },
    /// A GPU computes the steps.
    OnGpu {
        /// Adapter, interface and driver.
        name: String,
        /// Kernels that a step calls.
        kernels: usize,
        /// Bytes of GPU memory that a step needs.
        bytes: u64,
        /// The first loss on the CPU and on the GPU, in nats per token.
        losses: [f32; 2],
    },
    /// The GPU is a software renderer on the CPU.
    SoftwareRenderer,
    /// Products in f16 are emulated by a GPU without usable matrix units.
    NoMatrixUnits,
    /// Seconds of a step on a GPU with products in f16 and in f32, of which the faster is taken.
    Faster {
        /// In f16.
        f16: f64,
        /// In f32.
        f32: f64,
    },
    /// Products in f16 are emulated by the CPU.
    EmulatedF16,
    /// Another device computed the steps so far: a GPU by its name, or the CPU.
    OtherDevice(Option<String>),
    /// A sentence of the front end.
    Said(Message),
}

impl Note {
    /// Whether something that was asked for has no effect, or another one than expected.
    pub fn is_warning(&self) -> bool {
        matches!(
            self,
            Note::NoCourse
                | Note::ShortTime { .. }
                | Note::LongWarmup { .. }
                | Note::ShortCourse { .. }
                | Note::RateTakenDown { .. }
                | Note::RateWithoutEffect { .. }
                | Note::NoOptimizerState { .. }
                | Note::NewCourse { .. }
                | Note::FrozenEnd { .. }
        )
    }
}
