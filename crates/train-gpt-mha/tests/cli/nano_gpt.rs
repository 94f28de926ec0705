//! Users of nanoGPT type what they always typed.

use super::sandbox;
use workspace_tests::cli_support::{Sandbox, some_text};

/// `data/NAME` as `prepare.py` leaves it: the text's characters, sorted, as numbers of 16 bits, and a
/// pickle of their table.
fn prepared(sandbox: &Sandbox) -> String {
    let text = String::from_utf8(some_text(3000)).unwrap();
    let mut characters: Vec<char> = text.chars().collect();
    characters.sort_unstable();
    characters.dedup();
    let number = |c: char| characters.binary_search(&c).unwrap() as u16;
    let numbers: Vec<u8> = text.chars().flat_map(|c| number(c).to_le_bytes()).collect();
    let (train, val) = numbers.split_at(2 * 2700);
    std::fs::create_dir_all(sandbox.path("data/shakespeare_char")).unwrap();
    sandbox.write("data/shakespeare_char/train.bin", train);
    sandbox.write("data/shakespeare_char/val.bin", val);
    let word = |s: &str| [&[0x8c, s.len() as u8][..], s.as_bytes(), b"\x94"].concat();
    let each = |of: &dyn Fn(char) -> Vec<u8>| characters.iter().flat_map(|&c| of(c)).collect();
    let by_number: Vec<u8> =
        each(&|c| [&[b'K', number(c) as u8][..], &word(&c.to_string())].concat());
    let by_character: Vec<u8> =
        each(&|c| [&word(&c.to_string())[..], &[b'K', number(c) as u8]].concat());
    let size = [b'K', characters.len() as u8];
    let table = [
        &b"\x80\x04}\x94("[..],
        &[&word("vocab_size")[..], &size].concat(),
        &[&word("itos")[..], b"}\x94(", &by_number, b"u"].concat(),
        &[&word("stoi")[..], b"}\x94(", &by_character, b"uu."].concat(),
    ];
    sandbox.write("data/shakespeare_char/meta.pkl", &table.concat());
    text
}

/// The settings of `config/train_shakespeare_char.py`, and what its own comments add for a CPU;
/// the model is smaller, and fewer steps are done.
const TYPED: [&str; 24] = [
    "--out_dir=out-shakespeare-char",
    "--eval_interval=250",
    "--eval_iters=200",
    "--log_interval=10",
    "--always_save_checkpoint=False",
    "--wandb_log=False",
    "--wandb_project=shakespeare-char",
    "--wandb_run_name=mini-gpt",
    "--dataset=shakespeare_char",
    "--gradient_accumulation_steps=1",
    "--batch_size=4",
    "--block_size=16",
    "--n_layer=1",
    "--n_head=2",
    "--n_embd=16",
    "--dropout=0.2",
    "--learning_rate=1e-3",
    "--max_iters=3",
    "--lr_decay_iters=3",
    "--min_lr=1e-4",
    "--beta2=0.99",
    "--warmup_iters=1",
    "--device=cpu",
    "--compile=False",
];

/// The configuration as the file that it is: Python, with comments.
#[cfg(unix)]
fn config_file() -> String {
    let line = |typed: &&str| {
        let (name, value) = typed.trim_start_matches('-').split_once('=').unwrap();
        let is_text =
            ["out_dir", "dataset", "device"].contains(&name) || name.starts_with("wandb_p");
        let value = if is_text { format!("'{value}'") } else { value.to_string() };
        format!("{name} = {value} # as it stands\n")
    };
    let lines = TYPED.iter().filter(|typed| !typed.starts_with("--wandb_run")).map(line);
    format!("# a small model of characters\n\n{}", lines.collect::<String>())
}

#[cfg(unix)]
#[test]
fn its_file_of_settings_through_the_line_of_the_page() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/from_nano_gpt.md");
    let page = std::fs::read_to_string(page).unwrap();
    let line = page.lines().find(|line| line.contains("$(sed ")).unwrap();
    let typed = line.replacen("target/release/train-gpt-mha", "exec \"$0\"", 1);
    let sandbox = sandbox();
    prepared(&sandbox);
    std::fs::create_dir(sandbox.path("config")).unwrap();
    sandbox.write("config/train_shakespeare_char.py", config_file().as_bytes());
    let run = sandbox.run_by_script(&typed, &[]);
    assert_eq!(run.code, Some(0), "{run}");
    sandbox.ok(&[&TYPED[1..], &["--out_dir=typed"]].concat());
    let log = |run: &str| String::from_utf8(sandbox.read(format!("{run}/config.toml"))).unwrap();
    assert_eq!(log("out-shakespeare-char").replace("out-shakespeare-char", "typed"), log("typed"));
}

#[test]
fn its_settings_typed_as_they_stand() {
    let sandbox = sandbox();
    let text = prepared(&sandbox);
    let run = sandbox.ok(&TYPED);
    run.says(&["from 'data/shakespeare_char/meta.pkl'", "--eval-iters 200:", "--wandb-project"]);
    // The same as the text itself, cut where train.bin ends.
    sandbox.write("train.txt", &text.as_bytes()[..2700]);
    sandbox.write("val.txt", &text.as_bytes()[2700..]);
    let ours = ["--data", "train.txt", "--val", "val.txt", "--tokenizer", "char", "--out", "ours"];
    sandbox.ok(&[&TYPED[9..22], &ours].concat());
    let loss = |run: &str| {
        let log = String::from_utf8(sandbox.read(format!("{run}/metrics.csv"))).unwrap();
        let column = |line: &str| line.split(',').nth(2).unwrap().to_string();
        log.lines().skip(1).map(column).collect::<Vec<_>>()
    };
    assert_eq!(loss("out-shakespeare-char"), loss("ours"));

    // It is trained on, resumed and sampled.
    sandbox.ok(&["--load", "out-shakespeare-char", "--max_iters=2", "--device=cpu", "--gen=0"]);
    let sample = ["generate", "--out_dir=out-shakespeare-char", "--start=the ", "--num_samples=2"];
    let more = ["--max_new_tokens=5", "--temperature=0.8", "--top_k=200", "--device=cpu"];
    let written = sandbox.ok(&[&sample[..], &more, &["--init_from=resume"]].concat()).text();
    assert_eq!(written.matches("the ").count(), 2, "{written}");
    sandbox.write("prompt.txt", b"the ");
    let from_file = [&sample[..2], &["--start=FILE:prompt.txt", "-n", "3"]].concat();
    assert!(sandbox.ok(&from_file).text().starts_with("the "));
    // The settings printed are the same command.
    let fresh: Vec<_> = TYPED[1..].iter().chain(&["--print-config"]).copied().collect();
    sandbox.write("run.toml", sandbox.ok(&fresh).text().as_bytes());
    sandbox.ok(&["--config", "run.toml", "--out", "again", "--gen", "0"]);
    assert_eq!(loss("again"), loss("ours"));
}

#[test]
fn what_is_not_so_here_is_answered() {
    let sandbox = sandbox();
    for (flag, answer) in [
        ("--device=cuda", "feature gpu"),
        ("--dtype=bfloat16", "--matmul bf16"),
        ("--dtype=float16", "--matmul f16"),
        ("--init_from=resume", "--load RUN"),
        ("--init_from=gpt2-xl", "import hf"),
        ("--eval_only=True", "eval --load"),
        ("--wandb_log=True", "metrics.csv"),
        ("--decay_lr=False", "--schedule constant"),
        ("--bias=False", "here it is --head-bias"),
    ] {
        sandbox.refuses(&["--data", "text.txt", flag], 2, &[&flag[2..6], answer]);
    }
    // A flag that this program has not is no answer.
    let bias = sandbox.refuses(&["--data", "text.txt", "--bias=False"], 2, &[]);
    assert!(!bias.stderr.contains("--mlp-bias"), "{bias}");
    let generate = ["generate", "--load", "x", "--init_from=gpt2"];
    sandbox.refuses(&generate, 2, &["import hf"]);
    sandbox.refuses(&["--dataset=none"], 66, &["data/none/train.bin"]);
    // What needs nothing is said in a line, and what is so anyway is not.
    let run = ["--data", "text.txt", "--compile", "--backend=nccl", "--bias=True", "--dry-run"];
    let said = sandbox.train(&[&run[..], &["--decay_lr=True", "--dtype=float32"]].concat());
    said.says(&["--compile: nothing", "--backend nccl: mpirun", "--bias True:"]);
    assert!(!said.stderr.contains("decay-lr") && !said.stderr.contains("dtype"), "{said}");
    // Nothing is suggested that nobody meant.
    let far = sandbox.refuses(&["--workers", "3"], 2, &["--workers"]);
    assert!(!far.stderr.contains("similar"), "{far}");
    sandbox.refuses(&["--stesp", "3"], 2, &["--steps"]);
}

/// The flags of `train.py` and of `sample.py`.
const TRAIN_PY: &str = "out_dir eval_interval log_interval eval_iters eval_only \
    always_save_checkpoint init_from wandb_log wandb_project wandb_run_name dataset \
    gradient_accumulation_steps batch_size block_size n_layer n_head n_embd dropout bias learning_rate \
    max_iters weight_decay beta1 beta2 grad_clip decay_lr warmup_iters lr_decay_iters min_lr backend \
    device dtype compile";
const SAMPLE_PY: &str = "init_from out_dir start num_samples max_new_tokens temperature top_k seed \
    device dtype compile";

/// What a row of the page is tried with, where it does not set the same.
const SMALL: [[&str; 2]; 5] = [
    ["--data", "long.txt"],
    ["--dmodel", "48"],
    ["--layers", "1"],
    ["--seq", "16"],
    ["--batch", "2"],
];

/// A row of the page's tables: what nanoGPT's user types, our flags for it, and what happens.
struct Row {
    typed: String,
    ours: Vec<String>,
    happens: String,
}

impl Row {
    fn name(&self) -> &str {
        self.typed[2..].split('=').next().unwrap()
    }

    fn value(&self) -> &str {
        self.typed.split_once('=').unwrap().1
    }
}

/// The rows of the tables of flags in a language's page.
fn rows_of(page: &str) -> Vec<Row> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let spans =
        |cell: &str| cell.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
    let rows = text.lines().filter(|line| line.starts_with("| `--"));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let flags = cells.filter_map(|cells| match cells[..] {
        [theirs, ours, happens] => {
            Some(Row { typed: spans(theirs).remove(0), ours: spans(ours), happens: happens.into() })
        }
        _ => None,
    });
    flags.collect()
}

#[test]
fn the_page_has_every_flag_and_what_it_says_of_each_is_so() {
    let rows = rows_of("from_nano_gpt.md");
    let names: Vec<&str> = rows.iter().map(Row::name).collect();
    let all: Vec<&str> = TRAIN_PY.split(' ').chain(SAMPLE_PY.split(' ')).collect();
    let all: Vec<&str> = all.into_iter().filter(|name| !name.is_empty()).collect();
    assert_eq!(names, all);
    let (train, sample) = rows.split_at(names.len() - 11);

    let sandbox = sandbox();
    prepared(&sandbox);
    std::fs::rename(sandbox.path("data/shakespeare_char"), sandbox.path("data/openwebtext"))
        .unwrap();
    sandbox.write("long.txt", &some_text(30_000));
    for row in train {
        let with = |words: &[&str]| {
            // A dry run measures a step: all that the row does not say is small.
            let said = |[flag, _]: &&[&str; 2]| row.ours.iter().any(|ours| ours == flag);
            let rest = SMALL.iter().filter(|pair| !said(pair)).flatten().copied();
            sandbox.run(&rest.chain(words.iter().copied()).collect::<Vec<_>>())
        };
        answered(row, &with(&[&row.typed, "--dry-run"]));
        if let [ours] = &row.ours[..] {
            let theirs = with(&[&row.typed, "--print-config"]).text();
            assert_eq!(
                theirs,
                with(&[ours, row.value(), "--print-config"]).text(),
                "{}",
                row.typed
            );
        }
    }
    sandbox.train(&["--data", "text.txt", "--steps", "2", "--gen", "0", "--out", "out"]);
    for row in sample {
        let with = |words: &[&str]| {
            let load: &[&str] = if row.name() == "out_dir" { &[] } else { &["--load", "out"] };
            let few: &[&str] = if row.name() == "max_new_tokens" { &[] } else { &["-n", "5"] };
            sandbox.run(&[&["generate"], load, few, words].concat())
        };
        let written = with(&[&row.typed]);
        answered(row, &written);
        if let [ours] = &row.ours[..] {
            assert_eq!(written.text(), with(&[ours, row.value()]).text(), "{}", row.typed);
        }
    }
}

/// Checks that what the row says happened.
fn answered(row: &Row, outcome: &workspace_tests::cli_support::Outcome) {
    let refused = row.happens.starts_with("refused");
    assert_eq!(outcome.code, Some(if refused { 2 } else { 0 }), "{}: {outcome}", row.typed);
    let noted = outcome.stderr.contains(&format!("--{}", row.name().replace('_', "-")));
    let says = refused || row.happens.starts_with("a note");
    assert_eq!(noted, says, "{}: {outcome}", row.typed);
}

#[test]
fn both_languages_have_the_same_rows() {
    let typed = |page| rows_of(page).into_iter().map(|r| (r.typed, r.ours)).collect::<Vec<_>>();
    assert_eq!(typed("from_nano_gpt.md"), typed("from_nano_gpt.zh-CN.md"));
}

/// What is not so here is said of all flags at once.
#[test]
fn all_flags_are_refused_at_once() {
    let typed = ["--data", "text.txt", "--wandb_log=True", "--decay_lr=False", "--init_from=gpt2"];
    let all = ["--wandb-log True: leave it out", "--decay-lr False: use", "--init-from gpt2: "];
    sandbox().refuses(&typed, 2, &all);
    sandbox().refuses(&["train.py", "config/x.py"], 2, &["docs/from_nano_gpt.md has a line"]);
}
