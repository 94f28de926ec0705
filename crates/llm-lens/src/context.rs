//! A model with another context.

use llm_core::model::Positions;
use llm_core::{Config, TinyGPT};

/// The model with a context of `seq_len` tokens; its parameters are shared, not copied. None where
/// it has a table of positions, which ends, or where no context is as long.
///
/// ```
/// use llm_core::model::Positions;
/// use llm_core::{Config, TinyGPT};
/// use llm_lens::with_context;
///
/// let config = Config { positions: Positions::None, ..Config::new(256, 8, 8, 1) };
/// let longer = with_context(&TinyGPT::new(config, 1)?, 32).unwrap();
/// assert_eq!(longer.logits(&[7; 32], [1, 32])?.shape(), [1, 32, 256]);
/// assert!(with_context(&TinyGPT::new(Config::new(256, 8, 8, 1), 1)?, 32).is_none());
/// # Ok::<(), llm_core::Error>(())
/// ```
pub fn with_context(model: &TinyGPT, seq_len: usize) -> Option<TinyGPT> {
    let config = Config { seq_len, ..model.config().clone() };
    if config.positions == Positions::Learned {
        return None;
    }
    let parameters = model.parameters().map(|(name, p)| (name, p.clone())).collect();
    TinyGPT::from_parameters(config, model.attention().clone(), parameters).ok()
}

/// The model with room for `tokens` tokens, when none of them sees farther than its `window` and no
/// table of positions ends; `None` where there is room, or cannot be. What is kept of the tokens
/// then goes on where it would have to be made anew for each token past the context. With several
/// blocks it still knows of texts that reading the last tokens anew would have forgotten, so what
/// is written may differ.
pub fn with_room(model: &TinyGPT, window: Option<usize>, tokens: usize) -> Option<TinyGPT> {
    let (seq_len, room) = (model.config().seq_len, tokens.min(Config::MAX_SEQ));
    let is_windowed = window.is_some_and(|window| window <= seq_len);
    if is_windowed && room > seq_len { with_context(model, room) } else { None }
}
