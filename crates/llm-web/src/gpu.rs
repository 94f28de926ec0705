//! The step of a run as data for the page's GPU: its list, the words of a batch, weights there and back.

use crate::failure::{Code, Failure, Result};
use crate::request::{Back, Batch};
use crate::run::{Run, training_tokens};
use llm_core::base::memory;
use llm_core::message;
use llm_core::train::Trainer;
use llm_gpu::{Capacity, Part, Planned, Room, Use, listed};
use serde_json::{Value, json};

/// What the page runs, and what it calls it.
const PARTS: [(&str, Part); 5] = [
    ("gradient", Part::Gradient),
    ("sum", Part::Sum),
    ("norm", Part::Norm),
    ("clip", Part::Clip),
    ("update", Part::Update),
];

/// Weights and what the optimizer keeps, gathered, as bytes, and scattered again.
const COPIES: u64 = 3;

/// What is written into rooms: `[[room, words]]`, and the words one behind the other as bytes.
#[derive(Default)]
struct Writes {
    rooms: Vec<Value>,
    blob: Vec<u8>,
}

impl Writes {
    fn add(&mut self, room: usize, words: impl ExactSizeIterator<Item = u32>) {
        self.rooms.push(json!([room, words.len()]));
        self.blob.extend(words.flat_map(u32::to_le_bytes));
    }

    fn numbers(&mut self, room: usize, numbers: &[f32]) {
        self.add(room, numbers.iter().map(|x| x.to_bits()));
    }
}

/// The place of one among those that there are, the last if it is new.
fn place<T: PartialEq>(all: &mut Vec<T>, one: T) -> usize {
    all.iter().position(|known| *known == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    })
}

fn places(rooms: impl IntoIterator<Item = Room>) -> Vec<usize> {
    rooms.into_iter().map(Room::place).collect()
}

/// Makes the list of the run's step, from one forward of its next batch.
///
/// # Errors
/// [`Code::Device`] for a model that has no kernels, [`Code::Data`] without data.
pub fn list(run: &mut Run) -> Result<(Value, Vec<u8>)> {
    let (_, _, list) = listed(&run.trainer, training_tokens(run.data.as_ref())?)?;
    let planned = Planned::of(&run.trainer, &list, Capacity::default())?;
    let plan = &planned.plan;
    let (mut texts, mut kernels) = (Vec::new(), Vec::new());
    let mut calls = Vec::new();
    for call in &plan.calls {
        let text: Vec<_> = call.kernel.pieces().map(|piece| place(&mut texts, piece)).collect();
        let kernel = place(&mut kernels, json!([call.kernel.entry, text]));
        let rooms = places(call.rooms.iter().copied());
        calls.push(json!([kernel, call.sizes, rooms, call.grid]));
    }
    let (mut rooms, mut writes) = (Vec::new(), Writes::default());
    for ((numbers, of), buffer) in plan.rooms.iter().zip(&planned.buffers.of_room) {
        if let Use::Given(given) = of {
            writes.numbers(rooms.len(), given);
        }
        rooms.push(json!([buffer, numbers]));
    }
    let parts = PARTS.map(|(name, part)| {
        let calls = plan.part(part);
        (name.to_string(), json!([calls.start, calls.end]))
    });
    let fixed = &planned.rooms;
    let json = json!({
        "texts": texts,
        "kernels": kernels,
        "buffers": planned.buffers.sizes,
        "rooms": rooms,
        "calls": calls,
        "parts": Value::Object(parts.into_iter().collect()),
        "micro_batches": planned.micro_batches,
        "close": Planned::CLOSE,
        "small": Planned::SMALL,
        "tokens": run.trainer.recipe.tokens_per_step(),
        "report": fixed.report.place(),
        "state": places(fixed.theta.iter().chain(fixed.slots.iter().flatten()).copied()),
        "writes": writes.rooms,
    });
    run.planned = Some(planned);
    Ok((json, writes.blob))
}

fn planned(run: &Run) -> Result<&Planned> {
    let missing = || Failure::new(Code::Request, message!("no list of this run was asked for"));
    run.planned.as_ref().ok_or_else(missing)
}

/// Weights and what the optimizer keeps, as they are now.
///
/// # Errors
/// [`Code::Request`] before a list, [`Code::Memory`].
pub fn weights(run: &Run) -> Result<(Value, Vec<u8>)> {
    let (planned, Trainer { model, optimizer, .. }) = (planned(run)?, &run.trainer);
    let rooms = &planned.rooms;
    let floats = model.parameter_count() * (1 + rooms.slots.len() as u64);
    memory::require(floats.saturating_mul(4 * COPIES))?;
    let weights: Vec<_> = model.parameters().collect();
    let mut writes = Writes::default();
    let theta = planned.gather(weights.iter().map(|(name, p)| (name, p.data())))?;
    let slots = planned.slots(optimizer.state())?;
    let rooms = std::iter::once(&rooms.theta).chain(&rooms.slots);
    for (rooms, numbers) in rooms.zip(std::iter::once(&theta).chain(&slots)) {
        for (room, numbers) in rooms.iter().zip(planned.each(numbers)) {
            writes.numbers(room.place(), numbers);
        }
    }
    Ok((json!({ "writes": writes.rooms }), writes.blob))
}

/// What a micro-batch of a step writes; the last one also what its update does. The step may be a later
/// one than the run's next: who asks has its weights.
///
/// # Errors
/// [`Code::Request`] before a list and for a step that is done or not planned.
pub fn batch(run: &Run, ask: &Batch) -> Result<(Value, Vec<u8>)> {
    let (planned, Trainer { optimizer, recipe, .. }) = (planned(run)?, &run.trainer);
    let ahead = ahead(run, ask.step, 1)?;
    if ask.micro >= planned.micro_batches {
        let why = message!("step {} has no micro-batch {}", ask.step, ask.micro);
        return Err(Failure::new(Code::Request, why));
    }
    let batch = recipe.batch(training_tokens(run.data.as_ref())?, ask.step, ask.micro)?;
    let mut writes = Writes::default();
    for (room, words) in planned.words(&batch, ask.micro)? {
        writes.add(room.place(), words.into_iter());
    }
    let rate = recipe.schedule.at(ask.step);
    if ask.micro + 1 == planned.micro_batches {
        let (room, words) = planned.numbers(optimizer.state().t + ahead + 1, rate, recipe.clip);
        writes.add(room.place(), words.into_iter());
    }
    Ok((json!({ "writes": writes.rooms, "rate": rate }), writes.blob))
}

/// How far a step is ahead of the run, which has to have `more` steps behind it.
fn ahead(run: &Run, step: u64, more: u64) -> Result<u64> {
    let Trainer { recipe, step: now, .. } = &run.trainer;
    let last = recipe.total_steps.checked_sub(more);
    match step.checked_sub(*now).filter(|_| last.is_some_and(|last| step <= last)) {
        Some(ahead) => Ok(ahead),
        None => {
            let why = message!("step {} is not between {} and {}", step, now, recipe.total_steps);
            Err(Failure::new(Code::Request, why))
        }
    }
}

/// Takes weights and what the optimizer keeps after `step` steps: numbers of the rooms `state`, one
/// behind the other.
///
/// # Errors
/// [`Code::Request`] before a list, for a step that is not ahead or another number of bytes;
/// [`Code::Diverged`] for a number that is not finite. The run is then as before.
pub fn back(run: &mut Run, ask: &Back, blob: &[u8]) -> Result<Value> {
    let (ahead, planned) = (ahead(run, ask.step, 0)?, planned(run)?);
    let rooms = 1 + planned.rooms.slots.len();
    let each = run.trainer.model.parameter_count() as usize;
    if blob.len() != 4 * rooms * each {
        let why = message!("{} bytes for {} numbers", blob.len(), rooms * each);
        return Err(Failure::new(Code::Request, why));
    }
    let (words, _) = blob.as_chunks::<4>();
    let numbers: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
    if !numbers.iter().all(|x| x.is_finite()) {
        let why = message!("a number of step {} is not finite", ask.step);
        return Err(Failure::new(Code::Diverged, why));
    }
    let mut all = numbers.chunks_exact(each.max(1));
    let theta = all.next().unwrap_or_default();
    let slots: Vec<Vec<f32>> = all.map(<[f32]>::to_vec).collect();
    let trainer = &mut run.trainer;
    let Some(planned) = &run.planned else { return Ok(Value::Null) };
    for ((_, parameter), (_, numbers)) in trainer.model.parameters_mut().zip(planned.scatter(theta))
    {
        parameter.data_mut().copy_from_slice(numbers);
    }
    let t = trainer.optimizer.state().t + ahead;
    trainer.optimizer.restore(planned.state(t, &slots));
    trainer.step = ask.step;
    Ok(json!({ "step": trainer.step, "steps": trainer.recipe.total_steps }))
}
