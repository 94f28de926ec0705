//! What is said before the first step.

use crate::events::Event;
use crate::messages::spelled;
use crate::program::Program;
use llm_core::base::escape;
use llm_core::base::{Filling, Message, bytes, memory, thousands};
use llm_core::kernels::gemm::Precision;
use llm_core::kernels::gemm::bf16::{self, Order};
use llm_core::kernels::simd::{self, Level};
use llm_core::optim::Schedule;
use llm_core::recipe::DataSource;
use llm_core::{TinyGPT, counted, message};
use llm_formats::FormatError;
use llm_formats::hugging_face::check_model;
use llm_formats::tokenizers;
use llm_report::course_label;
use llm_run::note::Note;
use llm_run::numbers::short;
use llm_run::plan::Plan;

/// The `start` event.
pub(super) fn start_event<'a>(
    program: &Program,
    plan: &Plan,
    chosen: &'a [String],
    threads: usize,
) -> Event<'a> {
    let trainer = &plan.trainer;
    let config = trainer.model.config();
    Event::Start {
        program: program.models.name,
        version: env!("CARGO_PKG_VERSION"),
        seed: trainer.recipe.seed,
        threads,
        kernels: simd::level().name(),
        parameters: trainer.model.parameter_count(),
        heads: trainer.model.attention().spec().n_heads,
        step: trainer.step,
        steps: plan.steps,
        expected_loss: (config.vocab_size as f64).ln(),
        entropy_floor: plan.floor(),
        chosen,
    }
}

/// What `--time` chose, as words of a command.
pub(super) fn chosen(plan: &Plan) -> Vec<String> {
    let settings = plan.notes.iter().filter_map(|note| match note {
        Note::Chosen { settings, .. } => Some(settings),
        _ => None,
    });
    let words = |(name, of): &(&'static str, _)| {
        [spelled(&message!("{}", Filling::Option(name))), llm_messages::value(of)]
    };
    settings.flatten().flat_map(words).collect()
}

/// What was loaded.
pub(super) fn loaded(plan: &Plan) -> Option<Message> {
    let path = plan.loaded.as_ref()?;
    if plan.begins {
        return Some(message!("loaded '{}', which stays as it is", escape::path(path)));
    }
    Some(message!("loaded checkpoint '{}' at step {}", escape::path(path), plan.trainer.step))
}

/// The run in a few lines.
pub(super) fn lines(program: &Program, plan: &Plan, threads: usize) -> Vec<Message> {
    let trainer = &plan.trainer;
    let (config, recipe) = (trainer.model.config(), &trainer.recipe);
    let mut lines = vec![message!(
        "{} {} · seed {} · {} · kernels {}",
        program.models.name,
        env!("CARGO_PKG_VERSION"),
        recipe.seed,
        counted!(threads, "thread"),
        simd::level().name(),
    )];
    lines.extend(plan.data.as_ref().map(|data| message!("data    {}", data.label)));
    lines.push(message!(
        "model   {} · width {} · {} · context {} · {} parameters",
        counted!(config.n_layers, "layer"),
        config.d_model,
        counted!(trainer.model.attention().spec().n_heads, "head"),
        config.seq_len,
        thousands(trainer.model.parameter_count())
    ));
    lines.extend(adapter(&trainer.model));
    let (batch, seq) = (recipe.batch_size, recipe.seq_len);
    let windows = match tokenizers::is_bytes(plan.tokenizer.as_ref()) {
        true => message!("{} × {} bytes", batch, seq),
        false => message!("{} × {} tokens", batch, seq),
    };
    lines.push(message!(
        "run     {} of {} · {} · about {} of memory",
        steps(plan.steps),
        windows,
        rate(&recipe.schedule, trainer.step),
        bytes(peak(plan))
    ));
    if recipe.matmul == Precision::Bf16 {
        lines.push(products());
    }
    // A model that comes from somewhere knows something already.
    if plan.loaded.is_none() {
        let (first, v) = (config.first_loss(), config.vocab_size);
        let expect = message!(
            "expect  a first loss near {:.2}; even guesses would cost ln {} = {:.2}",
            first,
            v,
            (v as f64).ln()
        );
        lines.push(match plan.floor() {
            None => expect,
            Some(x) => {
                message!("{}; below {:.3}, the stories' own entropy, no model can get", expect, x)
            }
        });
        let stories = matches!(recipe.data, DataSource::Stories { .. });
        lines.extend(not_to_hugging_face(&trainer.model).filter(|_| !stories));
    }
    lines
}

/// What learns in place of the model.
fn adapter(model: &TinyGPT) -> Option<Message> {
    let spec = model.adapter()?;
    let parts = || spec.0.iter().flat_map(|(_, parts)| parts);
    let (learn, all) = (model.trained_count(), model.parameter_count());
    Some(message!(
        "adapter rank {} · beside {} matrices · {} numbers learn, {:.1} % of the model's",
        parts().map(|part| part.rank).max().unwrap_or(0),
        parts().filter(|part| part.rank > 0).count(),
        thousands(learn),
        100.0 * learn as f64 / all.max(1) as f64
    ))
}

/// A number of steps.
pub(super) fn steps(n: u64) -> Message {
    if n == 1 { message!("1 step") } else { message!("{} steps", thousands(n)) }
}

/// How matrices are multiplied that are rounded to bf16.
fn products() -> Message {
    if bf16::has_unit() {
        return match bf16::order() {
            Order::Pairs => "note    products in bf16, by this processor's instruction for pairs",
            Order::Tiles => "note    products in bf16, by this processor's unit for tiles (AMX)",
        }
        .into();
    }
    let order = bf16::order().name();
    // As measured at W1 and W3 in pairs, against the same instruction set's own f32; tiles take about as long.
    let times = match simd::level() {
        Level::Avx512 => 10,
        Level::Avx2 => 5,
        Level::Neon | Level::Portable => {
            return message!(
                "note    products in bf16, in {}, emulated, with the same bits as a processor's unit: a step takes \
                 several times as long as in f32",
                order
            );
        }
    };
    message!(
        "note    products in bf16, in {}, emulated, with the same bits as a processor's unit: a step takes \
         about {} times as long as in f32",
        order,
        times
    )
}

/// Where the model cannot go: to be known before it is trained.
fn not_to_hugging_face(model: &TinyGPT) -> Option<Message> {
    let why = match check_model(model) {
        // A bias that is still zero would not hinder.
        Ok(_) if !model.config().head_bias => return None,
        Ok(_) | Err(FormatError::HeadBias) => {
            message!("GPT-2 has no head bias, in llama.cpp neither; --head-bias 0 leaves it out")
        }
        Err(other) => other.message(),
    };
    Some(message!("note    cannot go to Hugging Face: {}", why))
}

/// The learning rate: at the start of a run its peak, later the rate that the next step will have.
fn rate(schedule: &Schedule, step: u64) -> Message {
    let [peak, next] = [schedule.lr, schedule.at(step)].map(short);
    let kind = course_label(schedule.kind);
    if step == 0 || next == peak {
        return message!("lr {} ({})", peak, kind);
    }
    message!("lr {} now ({}, peak {})", next, kind, peak)
}

/// What measurements, samples and saving take besides, in bytes.
const MARGIN: u64 = 5 << 20;

/// Most memory of the whole process: what is there now, data and weights included, and what
/// training takes on top; or, if that was more, what loading took.
pub(super) fn peak(plan: &Plan) -> u64 {
    let more = plan.memory.saturating_sub(plan.held());
    memory::peak_resident().max(memory::resident().saturating_add(more + MARGIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use llm_core::optim::ScheduleKind;

    #[test]
    fn the_rate_is_the_one_that_comes_next() {
        let cosine = Schedule {
            kind: ScheduleKind::Cosine,
            lr: 1e-3,
            min_lr: 1e-4,
            warmup_steps: 4,
            decay_steps: 14,
        };
        let rate = |schedule: &Schedule, step| rate(schedule, step).to_string();
        assert_eq!(rate(&cosine, 0), "lr 0.001 (cosine)");
        assert_eq!(rate(&cosine, 4), "lr 0.001 (cosine)");
        assert_eq!(rate(&cosine, 9), "lr 0.00055 now (cosine, peak 0.001)");
        assert_eq!(rate(&cosine, 100), "lr 0.0001 now (cosine, peak 0.001)");
        assert_eq!(rate(&Schedule::constant(0.5), 7), "lr 0.5 (constant)");
        assert_eq!(rate(&Schedule::constant(1e20), 7), "lr 1e20 (constant)");
    }
}
