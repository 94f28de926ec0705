//! `eval`: how well a model predicts a whole file.

use crate::args::EvalArgs;
use crate::console::print;
use crate::data::{Data, Input, Reading, Report, check_about_files, one_stdin};
use crate::error::{CliError, Result};
use crate::events::{self, Event};
use crate::output::to_load;
use crate::plan::{Loaded, load};
use crate::program::Program;
use crate::scoring::Scoring;
use crate::signals::Signals;
use llm_core::base::{memory, thousands};

/// Loads the model and scores the data.
///
/// # Errors
/// What loading or scoring refuses.
pub fn eval(program: &Program, args: &EvalArgs) -> Result<()> {
    let signals = Signals::listen();
    let path = to_load(&args.load)?;
    let Loaded { run, tokenizer, .. } = load(program, &path)?;
    check_about_files(&args.data, args.data_as, None)?;
    one_stdin(&args.data)?;
    let reading = Reading::for_model(&*tokenizer, &run.recipe.data, args.data_as);
    let input = signals
        .reading(|| Input::again(&run.recipe.data, &args.data, reading))?
        .ok_or_else(|| CliError::Usage("eval needs --data: a file to score".into()))?;
    let config = run.model.config();
    let batch = args.batch.unwrap_or(run.recipe.batch_size);
    if batch == 0 {
        return Err(CliError::Usage("--batch 0: there is nothing to score at a time".into()));
    }
    memory::require(config.inference_memory(batch, config.seq_len))
        .map_err(|e| CliError::Memory(e, "--batch"))?;
    let val = Data::whole(input, config.seq_len, &tokenizer)?;
    let scoring = Scoring { quiet: args.output.quiet(), signals: &signals, clock: None };
    let report = scoring.run(&val, &run.model, batch, usize::MAX)?;
    signals.check()?;
    if args.output.json() {
        return print(events::line(&Event::Eval { step: run.step, scores: (&report).into() }));
    }
    print(table(&report))
}

/// The measurement as a person reads it.
fn table(report: &Report) -> String {
    let e = &report.evaluation;
    let bits = report.bits_per_byte().map(|bits| format!("bits per byte  {bits:.4}\n"));
    let bits = bits.unwrap_or_default();
    let mut text = format!(
        "tokens         {}\nloss           {:.4} nats per {}\nperplexity     {:.3}\n\
         {bits}top-1          {:.2} %\n",
        thousands(e.tokens),
        e.loss,
        report.unit,
        e.perplexity(),
        100.0 * e.accuracy
    );
    if let Some(facts) = &report.facts {
        text.push_str(&facts_table(facts));
    }
    text
}

/// Facts by kind.
pub(super) fn facts_table(facts: &llm_stories::FactTable) -> String {
    if facts.kinds.is_empty() {
        return String::new();
    }
    let mut text = String::from("facts          right       of  places  kind\n");
    for (kind, score) in &facts.kinds {
        text.push_str(&format!(
            "             {:5.1} % {:8}       {}  {}\n",
            100.0 * score.share(),
            thousands(score.all),
            kind.places(),
            kind.name()
        ));
    }
    let total = facts.total();
    text + &format!(
        "             {:5.1} % {:8}          all\n",
        100.0 * total.share(),
        thousands(total.all)
    )
}
