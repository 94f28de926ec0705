//! The results of a comparison: what was measured of each run, what may be concluded from it, and
//! the files that say so.
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `variant` | the settings in which trainings differ |
//! | `costs` | what kinds of models cost besides their steps |
//! | `conclusions` | what may be said about a difference |
//! | `ladder` | sizes of a ladder, and the law of their losses |
//! | `results` | the runs, and what follows from them |
//! | `picture` | the results as a picture |
//! | `page` | the results as a page |
//! | `files` | the results in a folder |

mod variant;

mod costs;

mod conclusions;

mod ladder;

mod results;

mod picture;

mod page;

mod files;

pub use costs::Costs;
pub use ladder::rules;
pub use results::{Diverged, Results, Run};
pub use variant::{HEADS, KIND, SIZE, Variant, each_once};
