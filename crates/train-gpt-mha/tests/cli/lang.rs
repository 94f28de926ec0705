//! The programs in Chinese: every verb, the help and the errors; and what does not change with it.

use crate::{RUN, sandbox};
use std::collections::BTreeSet;
use workspace_tests::cli_support::{Outcome, Sandbox};

/// Words that are the same in both languages: names of tensors, verbs, kinds, units.
const LATIN: &str = "train gpt mha mpi mpirun srun en zh nat softmax wte wpe blocks att qkv proj out lm fc wqkv gelu tanh \
    byte char bpe cosine constant linear wsd adamw lion muon momentum zero avx avx2 avx512 scalar none text file files marked \
    heads model runs report eval generate inspect trace compare bench export import tokenizer completions \
    attention prune std token json csv svg html npz config toml data last best ckpt compare lr seed steps \
    hf safetensors gguf llm cpp help human true false name loss date original baseline gpt2 fan in stories \
    nanoGPT transformers bash zsh fish elvish powershell default prev first itself word same after copy sep \
    answer w1 w1h1 w2 w3 w4 bytes u16 endoftext gzip shell encode decode info baby nats logits losses inputs tokens positions windows next kB ms read chat chats jsonl \
    answers all messages prompt completion dropout patch lens thing spot receiver turned choices serve peft list arithmetic exact reverse sort chosen rejected";

/// A sandbox with a run in `runs/001`, of stories.
fn trained() -> (Sandbox, Outcome) {
    let sandbox = sandbox();
    let words =
        ["--steps", "4", "--eval-every", "2", "--log-every", "2", "--gen", "8", "--heads", "2"];
    let outcome = sandbox.train(&[&words[..], &["--lang", "zh"]].concat());
    (sandbox, outcome)
}

/// Words of a text that are English: small letters, no name, no flag, nothing in quotes.
fn english(text: &str) -> BTreeSet<String> {
    let known: BTreeSet<&str> = LATIN.split_whitespace().collect();
    let mut found = BTreeSet::new();
    // What stands in quotes is a text of its own, which may go over several lines ..
    let text: String = text.split(['“', '”']).step_by(2).collect();
    for line in text.lines() {
        // .. or the user's, or a token.
        let outside = line.split(['\'', '`']).step_by(2).collect::<Vec<_>>().join(" ");
        for word in
            outside.split(|c: char| c.is_whitespace() || "，。：；（）、“”·=()[]{},;|".contains(c))
        {
            let word = word.trim_matches(['.', ':', '…']);
            let is_word = word.len() > 2 && word.chars().all(|c| c.is_ascii_lowercase());
            if is_word && !known.contains(word) {
                found.insert(word.to_string());
            }
        }
    }
    found
}

fn has_han(text: &str) -> bool {
    text.contains(|c| ('\u{3400}'..='\u{9FFF}').contains(&c))
}

/// Columns of a line on a terminal.
fn columns(line: &str) -> usize {
    let is_wide = |c: char| matches!(c, '\u{2E80}'..='\u{A4CF}' | '\u{FF00}'..='\u{FF60}');
    line.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

/// Says Chinese and no English, on both outputs together; `skipped`: lines that a model wrote.
fn is_chinese(outcome: &Outcome, skipped: impl Fn(&str) -> bool) {
    let text = outcome.text() + &outcome.stderr;
    let lines: Vec<&str> = text.lines().filter(|line| !skipped(line)).collect();
    let text = lines.join("\n");
    assert!(has_han(&text), "{outcome}");
    assert_eq!(english(&text), BTreeSet::new(), "{outcome}");
}

#[test]
fn a_run_speaks_chinese() {
    let (_, outcome) = trained();
    outcome.says(&[
        "数据    内置故事",
        "第 4 步  (4/4)  损失=",
        "测量  第 2 步  验证损失=",
        "已保存检查点",
    ]);
    outcome.prints(&["结果    验证损失 ", " 奈特 / 字节", "首选命中率"]);
    is_chinese(&outcome, |line| {
        line.starts_with("Lucy") || line.contains("generate --load") || !has_han(line)
    });
    let dry = sandbox().train(&["--data", "text.txt", "--dry-run", "--lang", "zh"]);
    dry.prints(&["时间    在这里约"]);
    dry.says(&["模型    1 层", "学习率 0.004（线性）"]);
}

#[test]
fn every_verb_speaks_chinese() {
    let (sandbox, _) = trained();
    let on = ["--load", "runs/001"];
    let few = ["--tokens", "40"];
    let verbs: [(&[&str], &[&str], &[&str]); 8] = [
        (&["inspect", "model"], &on, &["张量", "全部", "不算偏置", "乘法，投影", "已知模型"]),
        (
            &["inspect", "attention", "--load", "runs/001"],
            &["-p", "the cat"],
            &["行看列", "第 0 层", "头 1"],
        ),
        (
            &["inspect", "heads", "--load", "runs/001"],
            &few,
            &["测量所用：没见过的内置故事", "前一个", "平均 "],
        ),
        (
            &["inspect", "prune", "--load", "runs/001", "--drop", "1"],
            &few,
            &["每次只关一个头", "逐个关掉", "去掉 "],
        ),
        (&["eval", "--load", "runs/001"], &["--data", "text.txt"], &["困惑度", "每字节比特数"]),
        (&["tokenizer", "info"], &on, &["分词器           byte", "最长的词元"]),
        (&["runs"], &[], &["验证损失", "已完成", "内置故事"]),
        (&["trace"], &[], &["手工追踪注意力的一个分数"]),
    ];
    for (verb, more, said) in verbs {
        for lang in [&["--lang", "zh"][..], &["--lang=zh-CN"]] {
            // Anywhere in the command.
            let outcome = sandbox.ok(&[lang, verb, more].concat());
            outcome.prints(said);
            if verb[0] == "trace" {
                continue; // full of formulas, and has tests of its own
            }
            // Lines of numbers have no words.
            is_chinese(&outcome, |line| !has_han(line));
            // No longer than in English, or what a terminal has.
            let long = |text: &str| text.lines().map(columns).max().unwrap_or(0);
            let most = long(&sandbox.ok(&[verb, more].concat()).text()).max(80);
            assert!(long(&outcome.text()) <= most, "{outcome}");
        }
    }
    let english: BTreeSet<String> = ["inspect model", "inspect heads", "runs"]
        .iter()
        .flat_map(|verb| {
            let words: Vec<&str> = verb
                .split(' ')
                .chain(if *verb == "runs" { [].iter() } else { on.iter() }.copied())
                .collect();
            let [zh, en] = [&["--lang", "zh"][..], &["--lang", "en"]]
                .map(|lang| sandbox.ok(&[&words, lang].concat()));
            assert_eq!(zh.text().lines().count(), en.text().lines().count());
            assert_eq!(en.text(), sandbox.ok(&words).text());
            english(&zh.text())
        })
        .collect();
    assert_eq!(english, BTreeSet::new());
}

#[test]
fn a_comparison_speaks_chinese() {
    let sandbox = sandbox();
    let words = [
        "compare", "--heads", "1,2", "--seeds", "2", "--steps", "2", "--out", "cmp", "--lang", "zh",
    ];
    let small = ["--seq", "16", "--dmodel", "16", "--layers", "1", "--batch", "2"];
    let outcome = sandbox.ok(&[&words[..], &small].concat());
    outcome.says(&["比较 heads 1, 2", "训练 1/4", "已写入  cmp/compare.json"]);
    outcome.prints(&["参数量", "验证损失（最小–最大）", "规则：", "1 个头", "以上只是"]);
    is_chinese(&outcome, |line| line.starts_with("网页") || line.contains("cmp/"));
}

#[test]
fn the_help_is_chinese_and_fits() {
    let sandbox = sandbox();
    let verbs = "generate|serve|eval|tokenizer|tokenizer train|tokenizer encode|tokenizer decode|tokenizer info|\
        inspect|inspect model|inspect attention|inspect heads|inspect prune|inspect patch|\
        inspect lens|trace|runs|report|compare|bench|export|\
        import|completions";
    for verb in [""].into_iter().chain(verbs.split('|')) {
        for flag in ["-h", "--help"] {
            let words: Vec<&str> =
                verb.split(' ').filter(|w| !w.is_empty()).chain([flag, "--lang", "zh"]).collect();
            let help = sandbox.ok(&words);
            let text = help.text();
            assert!(
                text.contains("用法：train-gpt-mha") && text.contains("--lang <LANG>"),
                "{text}"
            );
            let allowed = |word: &String| {
                // A choice's value inside a sentence.
                let within = [format!("[{word}"), format!("{word}]")];
                ["random", "products"].contains(&word.as_str())
                    || within.iter().any(|of| text.contains(of))
            };
            let left: Vec<String> =
                english(&text).into_iter().filter(|word| !allowed(word)).collect();
            assert!(left.is_empty(), "{words:?}: {left:?}\n{text}");
            for line in text.lines().filter(|line| has_han(line)) {
                assert!(columns(line) <= 80, "{words:?}: {line}");
            }
            assert!(flag == "--help" || text.lines().count() <= 120, "{}", text.lines().count());
        }
    }
    let version = sandbox.ok(&["--version", "--lang", "zh"]);
    version.prints(&["核函数"]);
}

#[test]
fn errors_are_chinese_with_the_same_codes() {
    let (sandbox, _) = trained();
    for (line, said) in [
        ("--lr x", "错误：--lr x：不是数；参见 train-gpt-mha --help"),
        ("--stesp 3", "错误：不认识的选项 '--stesp'；有一个相近的选项：'--steps'"),
        ("nothing", "错误：多出的 'nothing'；命令要写在最前面"),
        ("eval", "错误：缺少 --load；参见 train-gpt-mha eval --help"),
        ("--data no.txt", "错误：无法读取 'no.txt'：没有这个文件或目录"),
        ("--load text.txt", "错误：检查点 'text.txt'：不是本程序的检查点"),
        ("--heads 3", "错误：--heads：3 个头不能整除宽度（d_model）64；可以用 "),
        ("--seq 9999 --data text.txt", "错误：'text.txt' 太小：训练部分有 3600 个词元"),
        ("--warmup -1", "错误：--warmup"),
        ("--save a --out b", "错误：选项 '--save <FILE>' 不能与 '--out <DIR>' 同用"),
        ("trace --head 9", "错误：--head 9 不在 0..=1 之内：头数是 2"),
        ("runs nowhere", "错误：无法读取 'nowhere'：没有这个文件或目录"),
        ("compare --heads 2", "错误：--heads 2：请给出两个或更多来比较，如 1,4"),
        ("inspect prune --load runs/001 --drop 9", "错误：--drop 9："),
        (
            "generate --load runs/001 --prompt-ids 999",
            "错误：--prompt-ids 999：模型的词元是 0 到 255",
        ),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let english_one = sandbox.run(&words);
        english_one.says_one_error(&[]);
        let chinese = sandbox.run(&[&words[..], &["--lang", "zh"]].concat());
        assert_eq!(chinese.code, english_one.code, "{chinese}");
        assert!(chinese.stderr.starts_with(said), "{chinese}");
        assert_eq!(chinese.stderr.lines().count(), 1, "{chinese}");
        assert_eq!(english(&chinese.stderr), BTreeSet::new(), "{chinese}");
    }
}

#[test]
fn the_environment_may_choose_and_a_flag_is_stronger() {
    let sandbox = sandbox();
    let run = |words: &[&str], lang: &str| {
        let output = sandbox.command(words).env("LLM_LANG", lang).output().unwrap();
        Outcome::new(words, output).stderr
    };
    assert!(run(&["--data", "no"], "zh").starts_with("错误："));
    assert!(run(&["runs"], "fr").contains("LLM_LANG is 'fr': possible values: en, zh"));
    assert!(run(&["--data", "no"], "").starts_with("error: "));
    assert!(run(&["--data", "no"], "french").starts_with("error: "));
    assert!(run(&["--data", "no", "--lang", "en"], "zh").starts_with("error: "));
    assert!(run(&["--lang", "xx"], "zh").contains("'--lang <LANG>' 不能取值 'xx'"));
    sandbox.refuses(&["--lang", "xx"], 2, &["--lang", "xx", "en, zh"]);
    // The system's language is not asked.
    let output = sandbox.command(&["--data", "no"]).env("LANG", "zh_CN.UTF-8").output().unwrap();
    assert!(Outcome::new(&["LANG"], output).stderr.starts_with("error: "));
}

#[test]
fn programs_and_files_see_no_language() {
    let sandbox = sandbox();
    let same = |words: &[&str]| {
        let [en, zh] = ["en", "zh"].map(|lang| sandbox.ok(&[words, &["--lang", lang]].concat()));
        assert_eq!(en.text(), zh.text());
    };
    sandbox.train(&[&RUN[..], &["model", "--heads", "2", "--lang", "zh"]].concat());
    sandbox.train(&[&RUN[..], &["other", "--heads", "2"]].concat());
    assert_eq!(sandbox.read("model"), sandbox.read("other"));
    let on = ["--load", "model", "--json"];
    same(&[&["inspect", "model"], &on[..]].concat());
    same(&[&["inspect", "heads", "--data", "text.txt"], &on[..]].concat());
    same(&[&["eval", "--data", "text.txt"], &on[..]].concat());
    same(&["trace", "--json"]);
    same(&["--data", "text.txt", "--print-config"]);
}
