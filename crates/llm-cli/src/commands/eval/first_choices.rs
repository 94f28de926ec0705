//! `eval --weights`: whether rounding changes what the model would say.

use crate::events::BesideF32;
use llm_core::base::Message;
use llm_core::message;
use llm_messages::unit;
use llm_run::data::Report;

/// For a person.
pub(super) fn lines(beside: &BesideF32, report: &Report) -> Message {
    let change = 100.0 * (report.evaluation.loss / beside.f32_loss - 1.0);
    message!(
        "in f32         {:.4} nats per {}: {} changes it by {:+.3} %\n\
         same choice    {:.2} %\n",
        beside.f32_loss,
        unit(report),
        beside.weights,
        change,
        100.0 * beside.same_first_choice
    )
}
