//! Several runs from their folders: their curves, and in what they differ.

use crate::bilingual::Bilingual;
use crate::data::Curves;
use crate::labels::state_label;
use crate::left::RunFolder;
use crate::runs::{OneRun, SeveralRuns};
use llm_core::base::escape::one_line;
use llm_run::Result;

/// Settings that do not affect what is trained on, or how.
const ELSEWHERE: &str = "out save load threads quiet message_format no_save save_every save_opt keep \
    log_every sample_every eval_every prompt prompt_file gen temp num_samples";

impl SeveralRuns {
    /// What their folders say.
    ///
    /// # Errors
    /// When a log cannot be read.
    pub fn of(runs: &[RunFolder]) -> Result<SeveralRuns> {
        let differing = differing(runs);
        let told = values(runs, &differing).into_iter().enumerate();
        SeveralRuns::in_groups(runs, differing, told, Vec::new())
    }

    /// [`SeveralRuns::of`] for runs whose values of what differs are known, and which of them to draw alike.
    ///
    /// # Errors
    /// When a log cannot be read.
    pub(crate) fn in_groups(
        runs: &[RunFolder],
        differing: Vec<String>,
        told: impl Iterator<Item = (usize, Vec<String>)>,
        groups: Vec<Bilingual>,
    ) -> Result<SeveralRuns> {
        let rows = runs.iter().zip(told);
        let rows = rows.map(|(run, (group, settings))| Ok(OneRun { group, settings, ..row(run)? }));
        Ok(SeveralRuns { rows: rows.collect::<Result<_>>()?, differing, groups })
    }
}

/// The values of these settings, for each run.
fn values(runs: &[RunFolder], differing: &[String]) -> Vec<Vec<String>> {
    let value = |run: &RunFolder, key: &String| {
        let found = run.settings.iter().find(|(name, _)| name == key);
        found.map_or("–".into(), |(_, value)| one_line(value))
    };
    let values = |run| differing.iter().map(|key| value(run, key)).collect();
    runs.iter().map(values).collect()
}

fn row(run: &RunFolder) -> Result<OneRun> {
    let info = &run.info;
    let log = llm_run::log::Curves::read(&run.path, info.vocab_size, info.entropy_floor)?;
    let Curves { val, smooth, .. } = Curves::from(&log);
    Ok(OneRun {
        name: one_line(&run.path.display().to_string()),
        val,
        smooth,
        // A run that was cut off has the measurements on the way.
        val_loss: info.result.as_ref().map(|result| result.val_loss).or(info.lowest_loss()),
        best: info.best.map(|best| best.val_loss),
        steps: info.step,
        seconds: (info.seconds > 0.0).then_some(info.seconds),
        state: state_label(run.state()).into(),
        ..OneRun::default()
    })
}

/// The keys whose values differ, in the order of the first run that has them. What only follows
/// from another one that differs is left out.
fn differing(runs: &[RunFolder]) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for (key, _) in runs.iter().flat_map(|run| &run.settings) {
        if !keys.contains(key) && ELSEWHERE.split_whitespace().all(|other| other != key) {
            keys.push(key.clone());
        }
    }
    let value = |run: &RunFolder, key: &str| {
        run.settings.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
    };
    let number = |run: &RunFolder, key: &str| value(run, key)?.parse::<f64>().ok();
    // Defaults that are a part of another setting.
    let follows = |key: &str| {
        let (of, share) = match key {
            "decay_steps" => ("steps", 1.0),
            "warmup" => ("steps", 0.05),
            _ => return false,
        };
        runs.iter().all(|run| match (number(run, key), number(run, of)) {
            (Some(own), Some(whole)) => (own - share * whole).abs() <= 1e-3 * whole.abs().max(1e-3),
            (own, _) => own.is_none(),
        })
    };
    keys.retain(|key| {
        let first = value(&runs[0], key);
        runs.iter().any(|run| value(run, key) != first) && !follows(key)
    });
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(settings: &[(&str, &str)]) -> RunFolder {
        let settings = settings.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        RunFolder { settings: settings.collect(), ..RunFolder::default() }
    }

    #[test]
    fn what_differs_is_named_and_what_follows_from_it_is_not() {
        let short = [("steps", "100"), ("warmup", "5"), ("seed", "1"), ("threads", "2")];
        let long = [("steps", "400"), ("warmup", "20"), ("seed", "1"), ("threads", "1")];
        assert_eq!(differing(&[run(&short), run(&long)]), ["steps"]);
        let own = [("steps", "400"), ("warmup", "50"), ("heads", "2")];
        assert_eq!(differing(&[run(&short), run(&own)]), ["steps", "warmup", "seed", "heads"]);
        let runs = [run(&short), run(&own)];
        assert_eq!(values(&runs, &differing(&runs))[1], ["400", "50", "–", "2"]);
        assert!(differing(&[run(&short), run(&short)]).is_empty());
    }
}
