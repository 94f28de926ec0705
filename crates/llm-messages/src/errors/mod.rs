//! What the libraries refuse, in Chinese: for each kind of error its sentence, behind it its causes.
//!
//! A sentence is found by the variant, and nested messages, words and the system's reasons by the
//! [`Language`](llm_core::base::Language) of whoever shows it. What is wrong with a gradient, or with a
//! walk back, stays English: it is for programmers.
//!
//! ```
//! use llm_core::Error;
//! use llm_core::base::Language;
//! use llm_messages::errors;
//!
//! struct Plain;
//! impl Language for Plain {
//!     fn translation(&self, _: &str) -> Option<&str> {
//!         None
//!     }
//!     fn option(&self, name: &str) -> String {
//!         name.into()
//!     }
//! }
//! assert_eq!(errors::core(&Error::Stopped { step: 7 }, &Plain), "在第 7 步之后的一步里停止");
//! ```

mod causes;

mod crew;

mod checkpoint;

mod core;

mod formats;

pub use self::core::core;
pub use causes::{reason, system};
pub use checkpoint::checkpoint;
pub use crew::crew;
pub use formats::formats;

#[cfg(test)]
mod tests;
