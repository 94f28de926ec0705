//! The last measurement, in the time that there is.

use super::event::{Event, Face};
use super::kinds::Scored;
use crate::clock::TimeBudget;
use crate::data::{Report, Validation};
use crate::error::Result;
use llm_core::TinyGPT;
use llm_core::data::Window;
use llm_core::train::{Scored as WindowScored, Work};
use std::time::Instant;

/// Tokens that tell how fast a model is scored.
const PILOT: usize = 4096;

/// Called after each window: with the tokens that are scored, of how many, and the window with what
/// was found in it, none while it is measured how many there is time for. Says whether to stop.
pub type Watch<'a> = dyn FnMut(u64, u64, Option<(Window, &WindowScored<'_>)>) -> bool + 'a;

/// Scores at most `limit` tokens of `val`, in evenly spaced windows; with a clock that ends, as many as
/// there is time for. When `watch` says to stop, the result is that of the windows so far. All ranks
/// come to the same result.
///
/// # Errors
/// What scoring refuses.
pub fn measure(
    work: &mut dyn Work,
    val: &Validation,
    model: &TinyGPT,
    [batch_size, limit]: [usize; 2],
    clock: Option<&TimeBudget>,
    watch: &mut Watch<'_>,
) -> Result<Scored> {
    let wanted = val.tokens_of(limit);
    let is_up = || clock.is_some_and(TimeBudget::is_up);
    let mut limit = wanted;
    if clock.is_some_and(|clock| clock.most.is_some()) && wanted > PILOT {
        // A few are scored to know how many there is time for. They are spread over the whole text,
        // where those until the time is up would be its beginning.
        let begin = Instant::now();
        let cut = |_, _, _: &WindowScored<'_>| watch(0, 0, None) || is_up();
        let pilot = val.score_together(work, model, batch_size, PILOT, cut)?;
        let rate = pilot.evaluation.tokens as f64 / begin.elapsed().as_secs_f64().max(1e-9);
        let left = clock.and_then(TimeBudget::left).unwrap_or_default();
        let mine = wanted.min((0.8 * rate * left.as_secs_f64()) as usize).max(1);
        let mut bytes = (mine as u64).to_le_bytes();
        work.broadcast(&mut bytes)?; // clocks differ
        limit = u64::from_le_bytes(bytes) as usize;
    }
    let total = val.tokens_of(limit) as u64;
    let report = val.score_together(work, model, batch_size, limit, |tokens, window, scored| {
        watch(tokens, total, Some((window, scored))) || is_up()
    })?;
    Ok(Scored { report, total, wanted: wanted as u64 })
}

/// A measurement beside the last one, on at most `limit` tokens: of all that it scores the front end is told
/// how far it is. A signal cuts it, and the end of the time.
///
/// # Errors
/// What scoring refuses.
pub fn measure_some(
    work: &mut dyn Work,
    val: &Validation,
    model: &TinyGPT,
    [batch_size, limit]: [usize; 2],
    (face, clock): (&mut dyn Face, &TimeBudget),
) -> Result<Report> {
    let total = val.tokens_of(limit) as u64;
    val.score_together(work, model, batch_size, limit, |scored, _, _| {
        face.event(&Event::Scoring { scored, total });
        face.signal().is_some() || clock.is_up()
    })
}
