//! What is compared: the settings in which trainings differ.

use crate::args::{CompareArgs, TrainArgs, command, in_one_line};
use crate::error::{Result, RunError, sentence, usage};
use crate::flags::flags_of;
use crate::program::Program;
use clap::FromArgMatches;
use llm_core::base::{Message, thousands};
use llm_core::message;
use llm_report::comparison::{HEADS, KIND};
use llm_run::models::Models;

/// The settings in which a training differs, and all that it takes.
pub(super) type Varied = (Vec<(String, String)>, TrainArgs);

/// Most trainings of a comparison, seeds not counted.
const MOST_RUNS: usize = 10_000;

/// All combinations of the values of `--vary`, the first flag's changing the slowest, each for
/// every number of heads.
pub fn variants(program: &Program, args: &CompareArgs, heads: &[usize]) -> Result<Vec<Varied>> {
    let first = args.training(heads.first().copied().or(Some(1)));
    if args.aa.is_some() {
        let half = |name: &str| (vec![("half".to_string(), name.to_string())], first.clone());
        return Ok(["a", "b"].map(half).into());
    }
    let mut all = match args.model.further.variants.as_slice() {
        [] => vec![(Vec::new(), first)],
        names => kinds(program, names, &first)?,
    };
    for text in &args.vary {
        let (varied, values) = split(program, text)?;
        let name = varied.name();
        if let (Varying::Own { by: "attention", whose, key }, [_, ..]) =
            (&varied, &args.model.further.variants[..])
        {
            let values: Vec<_> = values.iter().map(|value| format!("{whose}:{value}")).collect();
            return usage(message!(
                "--vary {}: not every one of --variants has {}; name them {}",
                name,
                *key,
                values.join(",")
            ));
        }
        let runs = all.len().saturating_mul(values.len()).saturating_mul(heads.len().max(1));
        if runs > MOST_RUNS {
            let [runs, most] = [runs, MOST_RUNS].map(|n| thousands(n as u64));
            return usage(message!("{} trainings to compare; {} at most", runs, most));
        }
        let mut more = Vec::new();
        for (settings, args) in &all {
            for value in &values {
                let mut settings: Vec<(String, String)> = settings.clone();
                if settings.iter().any(|(known, _)| *known == name) {
                    return usage(message!("--vary {} is there twice", name));
                }
                settings.push((name.clone(), value.clone()));
                more.push((settings, with(program, args.clone(), &varied, value)?));
            }
        }
        all = more;
    }
    let varied = heads.len() > 1;
    let each = |(settings, args): Varied| {
        heads.iter().map(move |&n_heads| {
            let mut settings = settings.clone();
            if varied {
                settings.push((HEADS.into(), n_heads.to_string()));
            }
            let mut args = args.clone();
            args.heads.0.insert("heads", n_heads.into());
            (settings, args)
        })
    };
    let variants: Vec<Varied> = all.into_iter().flat_map(each).collect();
    match (variants.as_slice(), args.vary.first()) {
        ([_], Some(one)) => usage(message!("--vary {}: give two or more values to compare", one)),
        _ => Ok(variants),
    }
}

/// The trainings of models of these kinds, each what it says and otherwise the baseline.
fn kinds(program: &Program, names: &[String], args: &TrainArgs) -> Result<Vec<Varied>> {
    if let [one] = names {
        return usage(message!("--variants {}: give two or more to compare, mha,rope", one));
    }
    let kind = |(i, name): (usize, &String)| {
        if names[..i].contains(name) {
            return usage(message!("--variants: {} is there twice", name));
        }
        let mut kind = words(&program.models, name)?;
        if args.model.arch.is_none() {
            kind.insert(0, "--arch=baseline".into());
        }
        let args = typed(program, args.clone(), &kind)?;
        Ok((vec![(KIND.into(), name.clone())], args))
    };
    names.iter().enumerate().map(kind).collect()
}

/// The flags that the name of a kind stands for.
fn words(models: &Models, name: &str) -> Result<Vec<String>> {
    let part = |part: &str| {
        let (kind, value) = part.split_once(':').map_or((part, None), |(k, v)| (k, Some(v)));
        if let Some(own) = words_of_own(models, kind, value) {
            return Some(own);
        }
        Some(match (kind, value) {
            ("mha", None) => vec![],
            ("gqa", Some(groups)) => vec![format!("--kv-heads={groups}")],
            ("mqa", None) => vec!["--kv-heads=1".into()],
            ("rope", None) => vec!["--positions=rotary".into()],
            ("rope", Some(x)) => vec!["--positions=rotary".into(), format!("--rope-theta={x}")],
            ("nope", None) => vec!["--positions=none".into()],
            ("window", Some(n)) => vec![format!("--window={n}")],
            ("qk-norm", None) => vec!["--qk-norm".into()],
            ("rms", None) => vec!["--norm=rms".into()],
            ("swiglu" | "relu2", None) => vec![format!("--mlp={kind}")],
            ("gpt2" | "llama" | "qwen3", None) => vec![format!("--arch={kind}")],
            _ => return None,
        })
    };
    let parts: Option<Vec<_>> = name.split('+').map(part).collect();
    parts.map(|parts| parts.concat()).ok_or_else(|| {
        let attentions = models.attentions.iter().skip(1).map(|kind| kind.name);
        let own = attentions.chain(models.blocks.iter().map(|block| block.name));
        RunError::Usage(message!(
            "--variants {}: known are mha, gqa:G, mqa, rope, rope:THETA, nope, window:N, \
             qk-norm, rms, swiglu, relu2, gpt2, llama, qwen3{}, joined by +",
            name,
            own.map(|name| format!(", {name}")).collect::<String>()
        ))
    })
}

/// The flags of an attention or a block of the program's own; `softcap:20` has the first of its numbers.
fn words_of_own(models: &Models, name: &str, value: Option<&str>) -> Option<Vec<String>> {
    if let (Some(block), None) = (models.blocks.iter().find(|block| block.name == name), value) {
        let typed = block.settings.iter();
        return Some(
            typed.map(|(key, value)| format!("--{}={value}", key.replace('_', "-"))).collect(),
        );
    }
    let kind = models.attentions.iter().skip(1).find(|kind| kind.name == name)?;
    let chosen = format!("--attention={name}");
    match (value, kind.settings.first()) {
        (None, _) => Some(vec![chosen]),
        (Some(x), Some((key, _))) => Some(vec![chosen, format!("--attention-set={key}={x}")]),
        (Some(_), None) => None,
    }
}

/// What is varied.
#[derive(Debug, PartialEq)]
enum Varying {
    /// A flag, by its own name.
    Flag(&'static str),
    /// `softcap.cap`: a number of an attention's or an optimizer's own.
    Own {
        /// The flag that chooses whose.
        by: &'static str,
        /// Name of the attention or the optimizer.
        whose: &'static str,
        /// The number's name.
        key: &'static str,
    },
}

impl Varying {
    fn name(&self) -> String {
        match self {
            Varying::Flag(flag) => (*flag).to_string(),
            Varying::Own { whose, key, .. } => format!("{whose}.{key}"),
        }
    }

    /// What is typed for a value.
    fn words(&self, value: &str) -> Vec<String> {
        match self {
            Varying::Flag(flag) => vec![format!("--{flag}={value}")],
            Varying::Own { by, whose, key } => {
                vec![format!("--{by}={whose}"), format!("--{by}-set={key}={value}")]
            }
        }
    }

    /// The numbers of attentions' and optimizers' own.
    fn all_own(models: &Models) -> impl Iterator<Item = Varying> {
        let attentions =
            models.attentions.iter().map(|kind| ("attention", kind.name, kind.settings));
        let optimizers = models.optimizers.iter().map(|row| ("optimizer", row.name, row.settings));
        attentions.chain(optimizers).flat_map(|(by, whose, settings)| {
            settings.iter().map(move |(key, _)| Varying::Own { by, whose, key })
        })
    }
}

/// `lr=1e-3,3e-3`: what is varied, and the values, each once.
fn split(program: &Program, text: &str) -> Result<(Varying, Vec<String>)> {
    let refused = |why: Message| RunError::Usage(message!("--vary {}: {}", text, why));
    let form = || refused("give a flag and its values, lr=1e-3,3e-3".into());
    let (typed, values) = text.split_once('=').ok_or_else(form)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_string()).collect();
    if values.iter().any(String::is_empty) {
        return Err(form());
    }
    let number = |value: &String| value.parse::<f64>().ok();
    let same = |a: &String, b: &String| a == b || number(a).is_some_and(|a| Some(a) == number(b));
    if let Some(twice) =
        (1..values.len()).find(|&i| values[..i].iter().any(|v| same(v, &values[i])))
    {
        return Err(refused(message!("{} is there twice", values[twice])));
    }
    let plain = typed.trim().trim_start_matches('-').replace('_', "-");
    if plain == HEADS || plain == "n-heads" || plain == "n-head" {
        let heads = values.join(",");
        return Err(refused(message!("numbers of heads are given as --heads {}", heads)));
    }
    if plain == "seed" {
        return Err(refused("seeds are counted: --seed FIRST --seeds N".into()));
    }
    if plain == "val-frac" {
        return Err(refused("losses on different parts of a text cannot be compared".into()));
    }
    let is_meant = |name: &str, aliases: &[&str]| name == plain || aliases.contains(&&*plain);
    let found = flags_of(&program.models)
        .find(|flag| is_meant(flag.name, flag.aliases()))
        .map(|flag| flag.name);
    let others = ["arch", "epochs", "attention"].into_iter().find(|name| *name == plain);
    let others = others.filter(|name| *name != "attention" || program.models.has_choice());
    let flag = found.or(others).map(Varying::Flag);
    let own = |name: &str| {
        Varying::all_own(&program.models).find(|of| of.name().replace('_', "-") == name)
    };
    flag.or_else(|| own(&plain)).map(|of| (of, values)).ok_or_else(|| {
        let known = flags_of(&program.models)
            .map(|flag| flag.name)
            .filter(|name| !["heads", "seed", "val-frac"].contains(name));
        let own = Varying::all_own(&program.models).map(|of| of.name());
        let known = known.chain(["arch", "epochs"]).map(ToString::to_string).chain(own);
        refused(message!(
            "only settings of a model and of its training can be varied: {}",
            known.collect::<Vec<_>>().join(", ")
        ))
    })
}

/// The training with this value too.
fn with(program: &Program, args: TrainArgs, of: &Varying, value: &str) -> Result<TrainArgs> {
    if let Varying::Flag(flag) = of
        && args.given().contains_key(&*flag.replace('-', "_"))
    {
        return usage(message!("--{} is given, and varied by --vary", *flag));
    }
    if let Varying::Own { by, key, .. } = of {
        let typed = args.model.further.attention_set.iter().chain(&args.recipe.optimizer_set);
        if typed.filter_map(|text| text.split_once('=')).any(|(known, _)| known == *key) {
            let flag = format!("{by}-set {key}");
            return usage(message!("--{} is given, and varied by --vary", flag));
        }
    }
    typed(program, args, &of.words(value))
        .map_err(|e| RunError::Usage(message!("--vary: {}", sentence(&e))))
}

/// The training with these words typed too.
fn typed(program: &Program, mut args: TrainArgs, words: &[String]) -> Result<TrainArgs> {
    let words = std::iter::once(program.models.name.to_string()).chain(words.iter().cloned());
    let mut command = command(program);
    let typed = command
        .try_get_matches_from_mut(words)
        .and_then(|matches| args.update_from_arg_matches(&matches));
    typed.map_err(|e| RunError::Usage(in_one_line(&e, &[])))?;
    Ok(args)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{BASELINE, EVERYTHING};
    use llm_core::settings::Value;

    #[test]
    fn a_flag_and_its_values() {
        assert_eq!(
            split(&BASELINE, "lr=1e-3, 3e-3").unwrap(),
            (Varying::Flag("lr"), vec!["1e-3".into(), "3e-3".into()])
        );
        assert_eq!(split(&BASELINE, "--learning_rate=1").unwrap().0.name(), "lr");
        assert_eq!(split(&BASELINE, "epochs=1").unwrap().0.name(), "epochs");
        assert_eq!(split(&EVERYTHING, "norm=layer,rms").unwrap().0.name(), "norm");
        let (own, _) = split(&BASELINE, "muon.momentum=0.9,0.95").unwrap();
        assert_eq!(own.words("0.9"), ["--optimizer=muon", "--optimizer-set=momentum=0.9"]);
        for (text, why) in [
            ("lr", "give a flag"),
            ("lr=", "give a flag"),
            ("lr=1,,2", "give a flag"),
            ("lr=1,2,1", "1 is there twice"),
            ("lr=1e-3,0.001", "0.001 is there twice"),
            ("heads=1,2", "--heads 1,2"),
            ("seed=1,2", "--seeds N"),
            ("data=a,b", "only settings"),
            ("norm=layer,rms", "only settings"),
            ("attention=a,b", "only settings"),
            ("muon.lr=1,2", "only settings"),
            ("tokenizer=char", "only settings"),
        ] {
            let line = crate::error::line(&split(&BASELINE, text).unwrap_err());
            assert!(line.contains(why) && line.contains(text), "{line}");
        }
    }

    #[test]
    fn a_kind_stands_for_flags() {
        let of = |name| {
            words(&EVERYTHING.models, name)
                .map(|words| words.join(" "))
                .map_err(|e| crate::error::line(&e))
        };
        assert_eq!(of("mha").unwrap(), "");
        assert_eq!(of("gqa:2+rope").unwrap(), "--kv-heads=2 --positions=rotary");
        assert_eq!(of("rope:5e5").unwrap(), "--positions=rotary --rope-theta=5e5");
        assert_eq!(of("llama+window:64").unwrap(), "--arch=llama --window=64");
        for name in ["", "gqa", "mha:2", "llama:2", "rope+", "alibi", "window"] {
            let line = of(name).unwrap_err();
            assert!(line.contains("--variants") && line.contains(name), "{line}");
        }
        let names = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            let mut args = TrainArgs::default();
            args.model.sizes.0.insert("layers", Value::Whole(3));
            args.model.further.given.insert("rope_theta", Value::Float(5e5));
            kinds(&EVERYTHING, &names, &args).map_err(|e| crate::error::line(&e))
        };
        assert!(names(&["mha"]).unwrap_err().contains("two or more"));
        assert!(names(&["mha", "nope", "mha"]).unwrap_err().contains("mha is there twice"));
        assert!(names(&["mha", "gqa:x"]).unwrap_err().contains("--kv-heads"));
        let (settings, args) = names(&["mha", "gqa:2+nope"]).unwrap().remove(1);
        assert_eq!(settings, [(KIND.into(), "gqa:2+nope".into())]);
        let given = args.given();
        assert_eq!(
            (given["kv_heads"].clone(), given["layers"].clone()),
            (Value::Whole(2), Value::Whole(3))
        );
        assert_eq!(given["rope_theta"], Value::Float(5e5));
    }
}
