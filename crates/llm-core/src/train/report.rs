//! What is known about a step.

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepReport {
    /// Steps done, this one included.
    pub step: u64,
    /// Loss of the batch before the update, in nats per token.
    pub loss: f32,
    /// Learning rate of the update.
    pub lr: f32,
    /// Norm of the gradient before clipping.
    pub grad_norm: f32,
    /// Tokens in the batch.
    pub tokens: u64,
    /// A hook left the update out: the weights are as before.
    pub skipped: bool,
}
