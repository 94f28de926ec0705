//! What is inside a model, as data: no sentences, no language, no drawing.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | question |
//! |---|---|
//! | `flops`, `known_models` | What does attention cost, also in well-known models? |
//! | `model` | How large is a model, and what does training it take? |
//! | `context` | The same model, for longer texts? |
//! | `maps` | Who looks at whom in this text? |
//! | `rounded` | Does rounding change what it would choose? |
//! | `patch` | What would it compute with other numbers in their place? |
//! | `inside` | What does the model compute for this text, all of it? |
//! | `logit_lens` | What would it say if it ended after each block? |
//! | `hidden` | Which hidden units of the MLPs fire in this text, and where? |
//! | `embeddings` | Which tokens have rows that are alike? |
//! | `roles` | What may a head be doing, and when do its scores say so? |
//! | `marks` | Which places of a text are of which kind? |
//! | `spread` | How large are the heads' outputs, before and after their projection? |
//! | `heads` | What does each head do, over many texts? |
//! | `prune` | What is lost without it? |
//! | `causes` | Which part carries an answer from where it is told to where it is said? |
//! | [`statistics`] | Is a mean of differences more than chance? |
//! | [`law`] | How does the loss fall with size, and what would more bring? |
//! | `verdict` | Which parts carry an answer, beyond chance? |
//! | `first_choices` | Is the token that comes the one that the model would choose? |
//! | [`trace`] | How does one number of attention come about? |
//!
//! ```
//! use llm_core::tokenizer::ByteTokenizer;
//! use llm_core::{Config, Error, TinyGPT};
//! use llm_lens::{Piece, attention_maps, measure_heads};
//!
//! let model = TinyGPT::new(Config::new(256, 16, 8, 1), 1)?;
//! let tokens = b"to be or not".map(u32::from);
//!
//! let maps = attention_maps(&model, &tokens, 12)?;
//! assert!((maps.layers[0][0][11].iter().sum::<f32>() - 1.0).abs() < 1e-5); // [L][H][T][T]
//!
//! let piece = Piece { tokens: tokens.to_vec(), known: None };
//! let pieces = std::iter::once(Ok::<_, Error>(piece));
//! let report = measure_heads(&model, &ByteTokenizer, pieces, || false)?;
//! assert_eq!(report.rows[0].role, None); // an untrained head
//! # Ok::<(), Error>(())
//! ```

mod flops;
mod known_models;

mod model;

mod context;

mod maps;

mod rounded;

mod patch;

mod inside;

mod logit_lens;

mod hidden;

mod embeddings;

mod roles;

mod marks;

mod spread;

mod heads;

mod prune;

mod causes;

pub mod statistics;

pub mod law;

mod verdict;

mod first_choices;

pub mod trace;

pub use causes::{At, Pair, Part, Reading, Sender, Share, What};
pub use context::{with_context, with_room};
pub use embeddings::{Embeddings, FlatMap};
pub use first_choices::{Probed, Probes};
pub use flops::{AttentionCost, training_flops};
pub use heads::{HeadsReport, MeasuredHead, measure_heads};
pub use hidden::{HiddenUnits, hidden_units};
pub use inside::{BlockInside, Inside, inside, values};
pub use known_models::{KNOWN_MODELS, KnownModel};
pub use logit_lens::{SaidThere, logit_lens};
pub use maps::{AttentionMaps, attention_maps};
pub use marks::{KnownText, Piece};
pub use model::{Beyond, Memory, ModelReport, TensorRow};
pub use patch::{Patch, Patches, With, head_columns};
pub use prune::{
    Cut, Dropped, FromSpec, HeadName, PruneReport, Pruner, Score, Scored, head_mask, with_head_mask,
};
pub use roles::{Column, Role};
pub use rounded::{FirstChoices, first_choice, logits_of};
pub use spread::{Spread, Spreads};
pub use verdict::{Carried, Explained, FEWEST_PAIRS, LEAST, explain, follow, receivers, verdict};
