//! Where a comparison leaves its results.

use super::picture::svg;
use super::results::{Results, Run};
use super::variant::{HEADS, Variant};
use crate::text::write;
use llm_core::base::escape::{self, escaped_json};
use llm_core::base::replace_file;
use llm_core::{Error, IoAction};
use llm_run::Result;
use llm_run::folder::REPORT;
use llm_run::ladder::Rung;
use llm_stories::FactKind;
use serde_json::json;
use std::io;
use std::path::Path;

impl Results {
    /// Writes `compare.json` alone, from which a comparison goes on that is cut in its first run.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn begin(&self, dir: &Path) -> Result<()> {
        let path = dir.join("compare.json");
        let text = self.json().map_err(io::Error::other);
        let done = text.and_then(|text| replace_file(&path, |out| out.write_all(text.as_bytes())));
        Ok(done.map_err(|source| Error::io(IoAction::Write, path, source))?)
    }

    /// Writes, or writes anew, everything that is known: `compare.json`, `compare.csv`,
    /// `compare.svg` and the page.
    ///
    /// # Errors
    /// [`Error::Io`] with the path; what reading the runs' logs says.
    pub fn write(&self, dir: &Path) -> Result<()> {
        let put = |name: &str, bytes: io::Result<Vec<u8>>| {
            let path = dir.join(name);
            let done = bytes.and_then(|bytes| replace_file(&path, |out| out.write_all(&bytes)));
            done.map_err(|source| Error::io(IoAction::Write, path, source))
        };
        self.begin(dir)?;
        put("compare.csv", self.csv())?;
        let picture = svg(&self.comparison());
        put("compare.svg", picture.map(String::into_bytes).map_err(io::Error::other))?;
        write(&dir.join(REPORT), &self.page(escape::path(dir))?)?;
        Ok(())
    }

    fn json(&self) -> serde_json::Result<String> {
        let (of, comparison) = (&self.common, self.comparison());
        let (config, recipe) = (&of.config, &of.recipe);
        let whole = json!({
            "program": of.program,
            "version": env!("CARGO_PKG_VERSION"),
            "threads": of.threads,
            "data": of.data.to_string(),
            "heads": of.heads,
            "seeds": of.seeds,
            "steps": recipe.total_steps,
            "recipe": recipe,
            "model": { "vocab_size": config.vocab_size, "seq_len": config.seq_len,
                       "d_model": config.d_model, "n_layers": config.n_layers },
            "plan": self.plan,
            "complete": comparison.complete,
            "runs": self.runs,
            "diverged": self.diverged,
            "comparison": comparison,
        });
        Ok(escaped_json(&serde_json::to_string_pretty(&whole)?) + "\n")
    }

    /// A row for each run.
    fn csv(&self) -> io::Result<Vec<u8>> {
        let mut table = csv::Writer::from_writer(Vec::new());
        let names = ["heads", "head_dim", "parameters", "seed", "seconds", "val_loss"];
        let more = ["bits_per_byte", "accuracy", "scored", "learned", "facts_accuracy"];
        let kinds = FactKind::ALL.iter().map(|kind| kind.name());
        let varied = self.differ_in().into_iter().filter(|name| *name != HEADS);
        let of_ladder = self.ladder.iter().flat_map(|_| ["block_parameters", "steps"]);
        let names = names.into_iter().chain(more).chain(kinds);
        table.write_record(names.chain(varied).chain(of_ladder).chain(["path"]))?;
        for Run { variant, seed, seconds, path, report, costs: _ } in &self.runs {
            let Variant { settings, n_heads, head_dim, parameters, rung, .. } = variant;
            let learned = variant.learned().to_string();
            let (found, facts) = (&report.evaluation, report.facts.as_ref());
            let known = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
            let first = [n_heads.to_string(), head_dim.to_string(), parameters.to_string()];
            let then = [seed.to_string(), seconds.to_string(), found.loss.to_string()];
            let next = [known(report.bits_per_byte()), found.accuracy.to_string()];
            let facts_right = known(facts.map(|facts| facts.total().share()));
            let all = [found.tokens.to_string(), learned, facts_right];
            let share = |kind: &FactKind| Some(facts?.kinds.get(kind)?.share());
            let kinds = FactKind::ALL.iter().map(|kind| known(share(kind)));
            let varied = settings.iter().filter(|(name, _)| name != HEADS);
            let of_rung = |of: &Rung| [of.block_parameters, of.steps].map(|n| n.to_string());
            let of_ladder = rung.iter().flat_map(of_rung);
            let varied =
                varied.map(|(_, value)| value.clone()).chain(of_ladder).chain([path.clone()]);
            let cells = first.into_iter().chain(then).chain(next).chain(all);
            table.write_record(cells.chain(kinds).chain(varied))?;
        }
        table.into_inner().map_err(|e| io::Error::other(e.to_string()))
    }
}
