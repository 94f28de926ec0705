//! The clap command of a program.

use super::Cli;
use super::compare::variants_arg;
use super::training::arches;
use crate::flags::further_args;
use crate::machine::version;
use crate::program::Program;
use clap::{Arg, Command, CommandFactory};
use llm_run::arch::Arch;
use llm_run::models::Heads;

/// The verb that need not be typed.
pub(crate) const TRAIN: &str = "train";

/// Flags of training that `-h` leaves to `--help`.
const RARE: [&str; 53] = [
    "accum",
    "arch",
    "top_p",
    "num_samples",
    "vocab_size",
    "min-lr",
    "patience",
    "epochs",
    "message_format",
    "save_every",
    "log_every",
    "prompt_file",
    "print_config",
    "data_as",
    "end_of_text",
    "bpe_vocab",
    "bpe_merges",
    "allow_data_change",
    "norm-affine",
    "tied-head",
    "head-bias",
    "activation",
    "n-inner",
    "init",
    "decay-steps",
    "optimizer",
    "decay-all",
    "beta1",
    "beta2",
    "skip_spikes",
    "preset",
    "save_opt",
    "keep",
    "sample_every",
    "overfit",
    "prompt_ids",
    "stop",
    "ignore_eos",
    "min_p",
    "repetition_penalty",
    "repeat_last_n",
    "slide",
    "ascii_only",
    "escape_bytes",
    "raw",
    "print_next_top",
    "print_next_top_each_step",
    "sanity_next_from_data",
    "sanity_ctx",
    "sanity_top",
    "sanity_offset",
    "min_acc",
    "sanity_preview",
];

/// The clap command of a program.
pub fn command(program: &Program) -> Command {
    let name = program.models.name;
    let examples = format!(
        "Examples:\n  \
         {name}                                        learn the built-in stories (about a minute)\n  \
         {name} --data book.txt                        learn your own text\n  \
         {name} --load runs/001 --steps 1000           go on with a run\n  \
         {name} generate --load runs/001 -p \"The\" -n 200\n  \
         {name} eval --load runs/001 --data other.txt"
    );
    // The last word on a setting counts, as scripts have it that add theirs to a command.
    let command = Cli::command().name(name).bin_name(name).about(program.about);
    let command = command.args_override_self(true);
    let command = with_options(command.version(version()), program);
    // Stands in the list and in completions, first; what it says is said without it.
    let train = Command::new(TRAIN).about("Train a model, or go on with a run: so does no verb");
    let train = train.args(command.get_arguments().cloned()).display_order(0);
    let mut place = 0;
    let command = command.mut_subcommands(|verb| {
        place += 1;
        verb.display_order(place)
    });
    let command = in_short_help(command.subcommand(train));
    let command = with_negative_numbers(with_underscores(command.after_help(examples)));
    match program.models.heads {
        Heads::One { .. } => {
            let command = command.mut_arg("heads", |arg| arg.hide(true));
            let command =
                command.mut_subcommand(TRAIN, |verb| verb.mut_arg("heads", |arg| arg.hide(true)));
            let command = command.mut_subcommand("compare", |verb| verb.hide(true));
            command.mut_subcommand("trace", |verb| verb.mut_arg("heads", |arg| arg.hide(true)))
        }
        Heads::Many { default } => command.mut_arg("heads", |arg| {
            arg.help(format!(
                "Number of attention heads; must divide the width [default: {default}]"
            ))
        }),
    }
}

/// The flags of models that not every program has.
fn with_options(command: Command, program: &Program) -> Command {
    let with_arch = |verb: Command| verb.mut_arg("arch", |arg| arch(arg, program));
    let of_new_models = |verb: Command| {
        with_arch(verb).args(further_args(&program.models).map(|arg| arg.conflicts_with("load")))
    };
    let trained = |verb: Command| with_arch(verb).args(further_args(&program.models));
    let command = trained(command).mut_subcommand("compare", trained);
    let command =
        command.mut_subcommand("inspect", |verb| verb.mut_subcommand("model", of_new_models));
    if program.models.options.is_empty() {
        return command;
    }
    let command = command.mut_subcommand("compare", |verb| verb.arg(variants_arg()));
    let measured = Arg::new("arch").long("arch").value_name("NAME").help_heading("Model");
    let measured = arch(measured, program).hide_short_help(true);
    command.mut_subcommand("bench", |verb| verb.arg(measured).args(further_args(&program.models)))
}

/// What the names of sets stand for where there are more than GPT-2's.
const SETS: &str = "A set of options: `gpt2` stands for --norm-affine --tied-head --head-bias 0 \
    --init gpt2; `llama` for those with --norm rms --mlp swiglu --mlp-bias 0 --positions rotary \
    --attention-bias 0; `qwen3` for `llama` with --qk-norm --rope-theta 1000000 and heads twice \
    as wide";

/// `--arch` with those sets that the program has the options for.
fn arch(arg: Arg, program: &Program) -> Arg {
    let few = program.models.options.is_empty();
    let arg = arg.value_parser(arches(if few { &Arch::EVERYWHERE } else { &Arch::ALL }));
    if few { arg } else { arg.help(SETS) }
}

/// `-h` shows what most people need, and says that there is more.
fn in_short_help(command: Command) -> Command {
    let command = RARE
        .iter()
        .fold(command, |command, rare| command.mut_arg(rare, |arg| arg.hide_short_help(true)));
    command.mut_args(|arg| {
        // Their names are said once, by what stands for the value.
        let is_switch = arg.get_value_names().is_some_and(|names| names == ["0|1"]);
        arg.hide_possible_values(is_switch)
    })
}

/// Every flag is understood with underscores too, as Python's programs spell theirs.
fn with_underscores(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let names = arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default());
        let spelt: Vec<_> =
            names.filter(|name| name.contains('-')).map(|n| n.replace('-', "_")).collect();
        arg.aliases(spelt)
    });
    command.mut_subcommands(with_underscores)
}

/// What follows a flag and looks like a number is its value, also in the verbs of verbs: the flag
/// says what its range is.
fn with_negative_numbers(command: Command) -> Command {
    command.allow_negative_numbers(true).mut_subcommands(with_negative_numbers)
}
