//! Notes on a run in words.

use llm_core::base::escape::{path, paths};
use llm_core::base::{Filling, Message, bytes, thousands};
use llm_core::settings::Value;
use llm_core::{counted, message};
use llm_run::note::Note;
use llm_run::numbers::{short, typed};

/// A note in words.
pub fn note(note: &Note) -> Message {
    match note {
        Note::Chosen { seconds, bytes: text, settings } => {
            let (time, size) = (lasting(*seconds), bytes(*text));
            message!("chosen for {} and {}: {}", time, size, list(settings, "{} {}"))
        }
        Note::ShortTime { steps, least } => message!(
            "{time} is too short: {} steps of the smallest model, which are done all the same, take about {:.0} s with everything",
            steps,
            least.ceil()
        ),
        Note::Tables => message!(
            "{ngrams} 2 would come some 0.08 bits a byte lower in the same time; such a model cannot be exported"
        ),
        Note::Bpe { tokens, wanted, bytes: text, .. } if tokens < wanted => message!(
            "bpe     {} tokens, not {}: no other pair comes twice in {}",
            thousands(*tokens as u64),
            thousands(*wanted as u64),
            bytes(*text)
        ),
        Note::Bpe { tokens, bytes: text, seconds, .. } => message!(
            "bpe     {} tokens learned from {} in {:.1} s",
            thousands(*tokens as u64),
            bytes(*text),
            seconds
        ),
        Note::Characters { count, meta } => {
            message!("tokens  {} characters, from '{}'", thousands(*count as u64), path(meta))
        }
        Note::StayNumbers { meta, why } => {
            message!("tokens  stay numbers: '{}': {}", path(meta), why)
        }
        Note::LongCharacters => message!(
            "tokens  are bytes, and most characters of this text take two or three: {tokenizer} char \
             (or bpe) makes each one token"
        ),
        Note::Replaces { option, new, old } => {
            message!("{} {} replaces the run's {}", Filling::Option(option), value(new), value(old))
        }
        Note::NoOptimizerState { optimizer } => {
            message!("the file has no optimizer state: {} starts anew", optimizer)
        }
        Note::Imported => {
            message!("an imported model: {data} FILE {steps} N trains it, {prompt} TEXT writes")
        }
        Note::AllDone { steps } => {
            message!("all {} steps are done; {steps} N trains N more, {prompt} TEXT writes", steps)
        }
        Note::OwnText { files } => message!("the run's own text is used: {}", paths(files)),
        Note::Habits(habits) => message!("the run's own {} go on", list(habits, "{}, {}")),
        Note::NewCourse { before, rate, end } => message!(
            "the rate had come down to {}: a new course from {} to 0 at step {}; {lr} sets where it begins",
            short(*before),
            short(*rate),
            end
        ),
        Note::RateTakenDown { end, rate } => message!(
            "{lr} is below the run's {min_lr}, and takes it down: the rate's course ended at step {}, \
             it stays at {} now; {schedule} constant or a later {decay_steps} changes that",
            end,
            short(*rate)
        ),
        Note::RateWithoutEffect { end, rate } => message!(
            "{lr} has no effect: the rate's course ended at step {} and stays at {}; {schedule} \
             constant or a later {decay_steps} changes that",
            end,
            short(*rate)
        ),
        Note::NoCourse => {
            message!("{min_lr} and {decay_steps} have no effect with a constant rate")
        }
        Note::LongWarmup { warmup, steps } => message!(
            "{warmup} {} is no shorter than the run's {} steps: the peak is never reached",
            warmup,
            steps
        ),
        Note::ShortCourse { end, steps } => message!(
            "the rate is 0 from step {} on, and the run has {}: the rest teaches nothing; {min_lr} or a \
             later {decay_steps} changes that",
            end,
            steps
        ),
        Note::SmallStep { tokens, enough } => message!(
            "{optimizer} is adamw: a step of {} is small for this width; from {} on it is muon",
            tokens,
            enough
        ),
        Note::LongChats { longer, count, seq_len } => message!(
            "{} of {} conversations are longer than {seq} {}: few questions are learned together with \
             their answers; shorter conversations or a larger {seq} help",
            longer,
            count,
            seq_len
        ),
        Note::FrozenEnd { mark } => message!(
            "answers end with {}, which is not what ends the model's texts: its row stays as it is, so a model that has not learned it may not learn to stop; training without {lora} changes it",
            mark.escape_debug().to_string()
        ),
        Note::NoPlace { option } => {
            message!("{} has no effect with {no_save}", Filling::Option(option))
        }
        Note::CommonKernels { used, best } => {
            message!("kernels are {} for all: not every process has {}", used, best)
        }
        Note::CommonOrder { used, best } => message!(
            "products in bf16 are added up in {} for all: not every process has {}",
            used,
            best
        ),
        Note::OwnEngine => {
            message!("LLM_ENGINE has no effect: several processes compute the same bits")
        }
        Note::Crew { processes, micro_batches } => message!(
            "crew    {} processes, each with {} of {} micro-batches",
            processes,
            *micro_batches as usize / processes,
            micro_batches
        ),
        Note::OnGpu { name, kernels, bytes: there, losses: [on_cpu, on_gpu] } => message!(
            "device  {} · {} kernels a step · {} there · the loss of a sequence is {:.4}, {:.4} on the processor",
            name,
            kernels,
            bytes(*there),
            on_gpu,
            on_cpu
        ),
        Note::SoftwareRenderer => message!(
            "note    this adapter is a software renderer on the CPU: {device} cpu is faster"
        ),
        Note::NoMatrixUnits => message!(
            "note    no matrix units that can be used: products in f16 are emulated, and f32 is as fast"
        ),
        Note::Faster { f16, f32 } => message!(
            "note    a step takes {:.1} ms with products in f16 and {:.1} ms in f32: {} is taken",
            1e3 * f16,
            1e3 * f32,
            if f32 < f16 { "f32" } else { "f16" }
        ),
        Note::EmulatedF16 => {
            message!("note    products in f16 are emulated by a processor: f32 is faster")
        }
        Note::OtherDevice(name) => message!(
            "note    the steps so far were computed on {}",
            name.as_ref().map_or(message!("the processor"), |name| name.clone().into())
        ),
        Note::Said(message) => message.clone(),
    }
}

/// `--eval-every 3, --keep 2`, with what stands between two.
fn list(settings: &[(&'static str, Value)], between: &'static str) -> Message {
    let setting =
        |(name, of): &(&'static str, Value)| message!("{} {}", Filling::Option(name), value(of));
    Message::joined(between, settings.iter().map(setting)).unwrap_or_else(|| String::new().into())
}

/// A time that was asked for.
fn lasting(seconds: f64) -> Message {
    let whole = seconds.round() as u64;
    match seconds {
        exact if exact != whole as f64 || !whole.is_multiple_of(60) => message!("{} s", seconds),
        _ => counted!(whole / 60, "minute"),
    }
}

/// A value as it would be typed.
pub fn value(value: &Value) -> String {
    match value {
        Value::Float(x) => typed(*x),
        Value::Bool(yes) => u8::from(*yes).to_string(),
        other => other.to_string(),
    }
}
