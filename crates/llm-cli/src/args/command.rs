//! The clap command of a program.

use super::Cli;
use super::choices::arches;
use super::compare::variants_arg;
use crate::flags::{further_args, optimizer_parser};
use crate::machine::version;
use crate::program::Program;
use crate::words::{chosen, in_one_language};
use clap::builder::BoolishValueParser;
use clap::{Arg, Command, CommandFactory};
use llm_run::models::Heads;
use llm_run::rewards::SETTINGS;

/// The verb that need not be typed.
pub(crate) const TRAIN: &str = "train";

/// The clap command of a program, in the language that was chosen.
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
    let command = Cli::command().mut_subcommands(in_full);
    let command = command.name(name).bin_name(name).about(program.about).args_override_self(true);
    let command = with_switches(with_options(command.version(version()), program));
    // Stands in the list and in completions, first; what it says is said without it.
    let train = Command::new(TRAIN).about(
        "Train a model, or go on with a run: so does no verb \
         zh: 训练模型，或接着训练；不写命令也是这样",
    );
    let train = train.args(command.get_arguments().cloned()).display_order(0);
    let mut place = 0;
    let command = command.mut_subcommands(|verb| {
        place += 1;
        verb.display_order(place)
    });
    // What stands for the value says their names once.
    let command = command.mut_args(|arg| {
        let is_switch = is_switch(&arg);
        arg.hide_possible_values(is_switch)
    });
    let command = command.subcommand(train).after_help(examples);
    let command = with_negative_numbers(with_underscores(command));
    in_one_language(match program.models.heads {
        Heads::One { .. } => {
            let without = |verb: Command| verb.mut_arg("heads", |arg| arg.hide(true));
            let command = without(command).mut_subcommand(TRAIN, without);
            let command = command.mut_subcommand("compare", |verb| verb.hide(true));
            command.mut_subcommand("trace", without)
        }
        Heads::Many { default } => command.mut_arg("heads", |arg| {
            let default = chosen(&format!("[default: {default}] zh: [默认：{default}]"));
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            arg.help(format!("{help} {default}"))
        }),
    })
}

/// The flags of models that not every program has.
fn with_options(command: Command, program: &Program) -> Command {
    let with_arch = |verb: Command| verb.mut_arg("arch", |arg| arch(arg, program));
    let of_new_models = |verb: Command| {
        with_arch(verb).args(further_args(&program.models).map(|arg| arg.conflicts_with("load")))
    };
    let trained = |verb: Command| {
        let with_further = with_arch(verb).args(further_args(&program.models));
        let optimizers = optimizer_parser(&program.models);
        with_further.mut_arg("optimizer", |arg| arg.value_parser(optimizers))
    };
    let new_ones = |verb: Command| {
        let loaded = |arg: &Arg| SETTINGS.contains(&&*arg.get_id().as_str().replace('-', "_"));
        trained(verb).mut_args(|arg| if loaded(&arg) { arg.hide(true) } else { arg })
    };
    let command = trained(command).mut_subcommand("compare", new_ones);
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
    --init gpt2; `llama` for the first three of these with --norm rms --mlp swiglu --mlp-bias 0 \
    --positions rotary --attention-bias 0; `qwen3` for `llama` with --qk-norm \
    --rope-theta 1000000 and heads twice as wide [default: llama for --data, else baseline] \
    zh: 一组选项：`gpt2` 代表 --norm-affine --tied-head --head-bias 0 --init gpt2；`llama` 取其中前三个，\
    再加 --norm rms --mlp swiglu --mlp-bias 0 --positions rotary --attention-bias 0；`qwen3` 是 `llama` \
    加 --qk-norm --rope-theta 1000000，头加宽一倍 [默认：学 --data 时 llama，否则 baseline]";

/// `--arch` with those sets that the program has the options for.
fn arch(arg: Arg, program: &Program) -> Arg {
    let all = !program.models.options.is_empty();
    let arg = arg.value_parser(arches(all));
    if all { arg.help(SETS) } else { arg }
}

/// `-h` of a verb leaves nothing to `--help`, as that of training does.
fn in_full(verb: Command) -> Command {
    verb.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(in_full)
}

/// Whether the flag is on or off.
fn is_switch(arg: &Arg) -> bool {
    arg.get_value_names().is_some_and(|names| names == ["0|1"])
}

/// A switch may stand without a value.
fn with_switches(command: Command) -> Command {
    let switch = |arg: Arg| match is_switch(&arg) {
        true => arg
            .value_parser(BoolishValueParser::new())
            .num_args(0..=1)
            .default_missing_value("true"),
        false => arg,
    };
    command.mut_args(switch).mut_subcommands(with_switches)
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
