//! The page about a run, a model or a comparison: one HTML file, in English and Chinese; and pictures
//! of losses and of attention. It prints nothing and knows no flag.
//!
//! A run's page is made by its front end, a [`Face`](llm_run::training::Face); [`Reporter`] is one that
//! makes it, and tells its program what happens. The parts of it by themselves: [`About`] is what it
//! knows when the run begins, [`page`] makes the [`Page`] of what the run is now, [`html`] its text.
//! [`folder_page`] makes one of what a run left in its folder.
//!
//! ```
//! use llm_report::{Fact, Page, html};
//!
//! let facts = vec![Fact::new("Model", "L 1 · C 32")];
//! let page = Page { title: "a model".into(), facts, ..Page::default() };
//! assert!(html(&page)?.ends_with("</html>\n"));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `bilingual` | a text in both languages |
//! | `labels` | labels of facts, heads and states; what is not on a page |
//! | `label` | a token as a label of one line |
//! | `runs` | several runs side by side |
//! | `data` | what a page shows |
//! | `facts` | lines about settings that a run and a comparison share |
//! | `text` | the page as one file |
//! | `left` | what a run left in its folder |
//! | `several` | several runs from their folders |
//! | `run` | the page of a run |
//! | `folder` | the page of what a run left in its folder |
//! | `losses` | the losses as a picture |
//! | `reporter` | a front end that makes the page of its run |
//! | `groups` | groups of runs side by side: mean, spread, a picture |
//! | [`comparison`] | the results of a comparison, and what may be concluded from them |
//! | `heat`, `svg` | attention as a map of characters, and as a picture |

mod bilingual;

mod labels;

mod label;

mod runs;

mod data;

mod facts;

mod text;

mod left;

mod several;

mod run;

mod folder;

mod losses;

mod reporter;

mod groups;

pub mod comparison;

mod heat;
mod svg;

pub use bilingual::Bilingual;
pub use data::{
    AttentionMaps, Climbed, Compared, ComparedCosts, Comparison, Curves, Fact, FinalLoss, FoundLaw,
    HeadRow, LawPoint, Page, Pruned, Pruning, Rewards, SizeLaw, named,
};
pub use facts::{Shared, from_to};
pub use folder::{Unshown, folder_page};
pub use groups::GroupSpread;
pub use heat::{Ink, heat_map, most_tokens};
pub use label::{fitted, label};
pub use labels::{course_label, fact_label, role_label, state_label};
pub use left::{RunFolder, below};
pub use losses::loss_picture;
pub use reporter::Reporter;
pub use run::{About, page};
pub use runs::{OneRun, SeveralRuns};
pub use svg::layer_picture;
pub use text::{html, write};
