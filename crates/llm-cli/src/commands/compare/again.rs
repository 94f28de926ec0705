//! A comparison that was cut goes on in its folder.

use crate::error::{Result, RunError};
use llm_report::comparison::{Diverged, Variant};
use serde_json::Value;
use std::path::Path;

/// What the folder of a comparison says that was begun there.
pub(super) struct Begun(Value);

impl Begun {
    /// Reads the folder; nothing where no comparison lies there.
    ///
    /// # Errors
    /// [`RunError::Create`] where another one does.
    pub fn read(out: Option<&Path>, plan: &Value) -> Result<Option<Begun>> {
        let Some(out) = out else { return Ok(None) };
        let Ok(text) = std::fs::read_to_string(out.join("compare.json")) else { return Ok(None) };
        let Ok(found) = serde_json::from_str::<Value>(&text) else { return Ok(None) };
        match found.get("plan") {
            Some(known) if *known == *plan => Ok(Some(Begun(found))),
            _ => {
                let why = "another comparison lies there; with its own flags it goes on".into();
                Err(RunError::Create { path: out.into(), why })
            }
        }
    }

    /// The run of this kind and seed, where it ran away.
    pub fn diverged(&self, of: &Variant, seed: u64) -> Option<Diverged> {
        let name = of.folder(seed);
        let all = self.0["diverged"].as_array()?.iter();
        let at = |run: &&Value| {
            run["path"].as_str().is_some_and(|path| Path::new(path).ends_with(&name))
        };
        let found = all.clone().find(at)?;
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_string();
        Some(Diverged { settings: of.settings.clone(), seed, why: text("why"), path: text("path") })
    }
}
