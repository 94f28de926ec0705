//! The trainer in a browser: the model, the attention and the stories of the programs behind one
//! door that a page's script can go through. [`Lab::ask`] takes a request and gives an answer; in
//! WebAssembly the functions of `exports.rs` hand both over.
//!
//! # The door
//!
//! The module imports nothing: `WebAssembly.instantiate(bytes, {})`. It exports its `memory` and
//!
//! | function | does |
//! |---|---|
//! | `give(len)` | a buffer of `len` bytes for the page to fill; 0 when there is no room |
//! | `ask(request, request_len, blob, blob_len)` | answers the JSON in one given buffer, which may come with the bytes in another; takes both. 0, or 1 for an error |
//! | `answer_ptr()`, `answer_len()` | the answer in JSON, until the next question |
//! | `blob_ptr()`, `blob_len()` | the bytes that came with it |
//!
//! A call that traps has run out of memory where it could not be foreseen; the instance is lost.
//!
//! # Requests
//!
//! `{"do": NAME, "run": N, ...}`. Runs live side by side, each with its number, 0 where none is
//! said; fields can be left out unless they are in bold.
//!
//! | do | fields | answer |
//! |---|---|---|
//! | `make` | `data` `"stories"` or `"text"` (the blob), `name` of the text, `heads`, `layers`, `width`, `window`, `batch`, `rate`, `steps`, `seed` | as `describe`; of a text `label`: what was found in it, as `{"en", "zh"}` |
//! | `load` | `name`; the blob is a checkpoint | as `describe`, with `name`, `optimizer` |
//! | `text` | `name`, `change`; the blob is the text of a loaded run, which has none | as `describe` |
//! | `step` | `n` | `step`, `steps`, `losses`, `tokens`, `rate`, `done` |
//! | `list` | | the step as calls of kernels on a GPU: `texts`; `kernels`: `[[entry, texts]]`, the pieces of each; `buffers`: numbers of 32 bits; `rooms`: `[[buffer, numbers]]`, which may share one; `calls`: `[[kernel, sizes, rooms, grid]]`; `parts`: `{name: [first, end]}`, calls of `gradient` and `sum` (for each of the `micro_batches`), then of `norm`, `clip`, `update`; `tokens` of a step; `report`: the room of loss and norm; `state`: the rooms of weights and what the optimizer keeps; `writes`: `[[room, numbers]]` to be written first, one behind the other in the blob |
//! | `weights` | | `writes` of the rooms `state`, as the run has them |
//! | `batch` | **`step`** from 0, `micro` | `writes` before that micro-batch, for the last one those of the update too; `rate` |
//! | `back` | **`step`**: steps done; the blob is the rooms `state` one behind the other | `step`, `steps`; the run is there now |
//! | `more` | **`steps`** beyond those that are done | `step`, `steps` |
//! | `measure` | `tokens` (0: all), `slice`: windows in this call | `done`, `part`, `step`; when done `validation_tokens`, `validation_loss`, `top1`, of stories `facts`: `[{kind, places, right, of, frequent, last}]` (the last two are right without reading), `facts_share` and the `floor` below which no loss can be |
//! | `write` | `prompt`, `tokens`, `temperature`, `top_k`, `seed` | `prompt`, `text`, `tokens` |
//! | `attention` | **`text`**, `moment` | `tokens`, `from`, `layers`, `heads`, `t`; the blob is P as f32 `[L, H, t, t]` |
//! | `next` | **`text`**, `choices`, `moment` | `pieces` (V), `likeliest`: `[{token, piece, share}]`; `choices`: the same of the first token of each |
//! | `embedding` | `token`, `moment`; `text` for a run without data | `width`, `tokens`: `[{token, piece, at: [x, y]}]`, those that the training text has most, in the two directions in which their rows differ most; the `shares` of the differences that each shows; `token`, and `nearest`: `[{token, piece, cosine}]` |
//! | `hidden` | **`text`**, `layer`, `token`, `unit`, `moment` | `tokens`, `from`, `layers`, `units`, `layer`, `token`, `strongest`: `[{unit, value}]` at that token, behind the activation; `unit`, and its `values` at every token |
//! | `twins` | `kind` of facts, `pair`: its number, `moment` | two unseen stories up to such a fact, alike but for a word: `kind`, `texts`: the tokens of each, `changed`: the places of that word, `right`: what each goes on with, `knows`: whether those are the first choices, `says`: `[{token, piece, share, word}]`, what the model goes on with, and writes up to a word's end; `layers`, `heads` |
//! | `patch` | as `twins`, and `into`: `"story"` or `"twin"`, `moved`: `[{layer, head}]`, without a head the MLP, `at`: `"last"` or `"all"` positions | `token`, `piece`, `share`, `word` of that story when these parts give what they gave in the other one; `carried`: the share of the difference of both answers' scores that came with them, null where both have the same |
//! | `lens` | **`text`**, `last`: tokens looked at, `moment` | `tokens`, `from`; `rows`: `[[{token, piece, share}]]`, the first choice at each of them before the first block and after each |
//! | `roles` | `moment`, `tokens` | `heads`: `[{layer, head, off, role, share, even, columns}]`, `even`, `windows`, `tokens` |
//! | `remember`, `moments` | | `moment`, `step`; `moments`: `[{moment, step}]` |
//! | `forget` | **`moment`** | |
//! | `save` | `optimizer` | `step`, `bytes`; the blob is a checkpoint |
//! | `describe`, `drop` | | what it is; `dropped` |
//!
//! A measurement in slices is asked for with the same fields until it is `done`; it is of the weights
//! of its first slice, and steps may be done between. An error is `{"error": {"code", "en", "zh"}}`,
//! the codes are [`Code`]'s in small letters. No field is believed: sizes are checked, and the memory
//! that they need asked for, before anything is done.
//!
//! ```
//! use llm_web::Lab;
//!
//! let mut lab = Lab::default();
//! let small = br#"{"do": "make", "heads": 2, "layers": 1, "width": 8, "window": 32, "batch": 2}"#;
//! assert_eq!(lab.ask(small, Vec::new())?.json["parameters"], 5_448);
//! let trained = lab.ask(br#"{"do": "step", "n": 3}"#, Vec::new())?;
//! assert_eq!(trained.json["losses"].as_array().map(Vec::len), Some(3));
//! let file = lab.ask(br#"{"do": "save"}"#, Vec::new())?.blob; // goes on in the terminal
//! assert!(llm_core::checkpoint::Checkpoint::from_bytes("page", &file).is_ok());
//! # Ok::<(), llm_web::Failure>(())
//! ```
//!
//! Each module imports only from those above it in this list:
//!
//! | module | holds |
//! |---|---|
//! | `words` | how what is said is said, in both languages |
//! | `failure` | what went wrong, as a code and in both languages |
//! | `request` | what can be asked |
//! | `run` | one run, its file, the moments that are remembered, how good it is |
//! | `said` | what a run is, did and found, in JSON |
//! | `look` | what it writes, where its heads look, what they do |
//! | `inside` | what it expects next, which letters are alike, what its MLPs ask |
//! | `twins` | two stories and what carries their answers, what would be said after each block |
//! | `gpu` | a step as data for the page's GPU, and weights from there |
//! | `lab` | several runs, and who answers |
//! | `exports` | the functions that WebAssembly exports |
//!
//! `unsafe` is denied but for this file, where it is the attribute that keeps a function's name:
//!
//! | file | why |
//! |---|---|
//! | `exports.rs` | what the page calls |

mod words;

mod failure;

mod request;

mod run;

mod said;

mod look;

mod inside;

mod twins;

mod gpu;

mod lab;

#[cfg(target_arch = "wasm32")]
mod exports;

pub use failure::{Code, Failure};
pub use lab::{Answer, Lab};
