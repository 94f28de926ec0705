//! Files written as the format says, and files that break it.

use super::*;
use crate::tests::{Mend, mend, one_head};
use llm_core::TinyGPT;
use llm_core::data::TokenDataset;
use llm_core::optim::{OptimizerState, ParameterState};
use llm_core::train::Trainer;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A run of the original's kind, two steps old.
fn trainer(vocab_size: usize) -> Trainer {
    let config = Config::new(vocab_size, 80, 4, 2);
    let model = TinyGPT::new(config.clone(), 3).unwrap();
    let recipe =
        MetaJson::parse(&json_of(&config, 2, true).to_string().into_bytes()).unwrap().recipe;
    let mut trainer = Trainer::new(model, recipe).unwrap();
    let data = TokenDataset::from_tokens((0..200).map(|i| i * i % 5).collect());
    for _ in 0..2 {
        trainer.step(&data).unwrap();
    }
    trainer
}

fn json_of(config: &Config, step: u64, moments: bool) -> Value {
    json!({
        "format": "build-llm-using-cpp-checkpoint", "version": 1,
        "vocab_size": config.vocab_size, "seq_len": config.seq_len,
        "d_model": config.d_model, "n_layers": config.n_layers,
        "lr": 3e-4, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01,
        "step": step, "has_optim_state": moments, "further": "keys do not matter",
    })
}

fn bin_of(trainer: &Trainer, moments: bool) -> Vec<u8> {
    let mut out = b"BGPTCKPT".to_vec();
    let floats = |out: &mut Vec<u8>, values: &[f32]| {
        values.iter().for_each(|x| out.extend(x.to_le_bytes()));
    };
    out.extend(1u32.to_le_bytes());
    out.extend(u32::from(moments).to_le_bytes());
    out.extend(trainer.step.to_le_bytes());
    out.extend((trainer.model.parameters().count() as u32).to_le_bytes());
    for (_, p) in trainer.model.parameters() {
        out.extend((p.numel() as u64).to_le_bytes());
        floats(&mut out, p.data());
    }
    if moments {
        let state = trainer.optimizer.state();
        out.extend(state.t.to_le_bytes());
        for slot in state.parameters.iter().flat_map(|of| &of.slots) {
            floats(&mut out, slot);
        }
    }
    out
}

struct Pair(TempDir);

impl Pair {
    fn new(json: &Value, bin: &[u8]) -> Pair {
        let pair = Pair(tempfile::tempdir().unwrap());
        std::fs::write(pair.0.path().join("model.v2.json"), json.to_string()).unwrap();
        std::fs::write(pair.0.path().join("model.v2.bin"), bin).unwrap();
        pair
    }

    fn import(&self, n_heads: Option<usize>) -> Result<Imported> {
        import(&self.0.path().join("model.v2"), n_heads, &one_head)
    }

    fn refused(&self) -> String {
        let refused = self.import(None).map(drop).unwrap_err();
        assert_eq!(mend(&refused), Mend::Content, "{refused}");
        refused.to_string()
    }
}

#[test]
fn weights_moments_step_and_settings_come_along() {
    for (vocab_size, kind) in [(256, "byte"), (7, "ids")] {
        for moments in [true, false] {
            let before = trainer(vocab_size);
            let json = json_of(before.model.config(), 2, moments);
            let imported = Pair::new(&json, &bin_of(&before, moments)).import(None).unwrap();
            assert_eq!(imported.notes, [Note::HeadsUnknown]);
            let (after, tokenizer) = imported.into_trainer().unwrap();
            assert_eq!(tokenizer.kind, kind);
            assert_eq!((after.step, after.recipe.total_steps), (2, 2));
            assert_eq!(after.model.config(), before.model.config());
            for ((name, a), (again, b)) in before.model.parameters().zip(after.model.parameters()) {
                assert_eq!((&name, a.data()), (&again, b.data()));
            }
            let recipe = &after.recipe;
            assert_eq!(recipe.schedule, llm_core::Schedule::constant(3e-4));
            assert_eq!(
                (recipe.hyperparameters.beta2, recipe.hyperparameters.weight_decay),
                (0.999, 0.01)
            );
            assert!(recipe.hyperparameters.decay_all && recipe.clip == 0.0 && recipe.seq_len == 64);
            let [found, all] = [&after, &before].map(|run| run.optimizer.state());
            assert_eq!(found.t, if moments { 2 } else { 0 });
            let list = |of: &OptimizerState| {
                let slots = |p: &ParameterState| p.slots.iter().map(|s| s.to_vec()).collect();
                of.parameters.iter().map(|p| (p.name.clone(), slots(p))).collect()
            };
            let [found, all]: [Vec<(String, Vec<Vec<f32>>)>; 2] = [list(found), list(all)];
            assert_eq!(found, if moments { all } else { Vec::new() });
        }
    }
}

#[test]
fn json_that_does_not_fit_is_refused() {
    let trainer = trainer(7);
    let bin = bin_of(&trainer, true);
    let good = json_of(trainer.model.config(), 2, true);
    for (field, value, needle) in [
        ("format", json!("another"), "format 'another'"),
        ("version", json!(2), "version 2, this program reads 1"),
        ("version", json!("1"), "version"),
        ("vocab_size", json!(0), "vocab_size"),
        ("vocab_size", json!(-5), "json"),
        ("seq_len", json!(1e9), "seq_len"),
        ("d_model", json!(1u64 << 40), "d_model"),
        ("n_layers", json!(513), "n_layers"),
        ("lr", json!(0.0), "lr"),
        ("lr", json!("fast"), "json"),
        ("beta1", json!(1.0), "beta1"),
        ("eps", json!(0.0), "eps"),
        ("step", json!(-1), "json"),
        ("step", json!(3), "step is 2, the JSON file says 3"),
        ("step", json!(1u64 << 60), "1152921504606846976 is too many"),
        ("has_optim_state", json!(false), "optimizer state is 1, the JSON file says 0"),
        ("has_optim_state", json!(1), "json"),
        ("n_layers", json!(1), "20 parameters, this model has 12"),
        ("vocab_size", json!(8), "bytes, this model needs"),
    ] {
        let mut json = good.clone();
        json[field] = value;
        let refused = Pair::new(&json, &bin).refused();
        assert!(refused.contains(needle), "{field}: {refused}");
    }
    for field in good.as_object().unwrap().keys().filter(|key| *key != "further") {
        let mut json = good.clone();
        json.as_object_mut().unwrap().remove(field);
        assert!(Pair::new(&json, &bin).refused().contains(field), "{field}");
    }
    assert!(Pair::new(&json!([]), &bin).refused().contains("model.v2.json"));
}

#[test]
fn a_binary_file_that_does_not_fit_is_refused() {
    let trainer = trainer(7);
    let json = json_of(trainer.model.config(), 2, true);
    let good = bin_of(&trainer, true);
    let changed = |place: usize, bytes: &[u8]| {
        let mut bin = good.clone();
        bin[place..place + bytes.len()].copy_from_slice(bytes);
        bin
    };
    let end = good.len();
    for (bin, needle) in [
        (changed(0, b"X"), "not a checkpoint of the C++ original"),
        (changed(8, &2u32.to_le_bytes()), "version 2"),
        (changed(12, &0u32.to_le_bytes()), "optimizer state is 0"),
        (changed(12, &7u32.to_le_bytes()), "optimizer state is 7"),
        (changed(16, &9u64.to_le_bytes()), "step is 9"),
        (changed(24, &21u32.to_le_bytes()), "21 parameters, this model has 20"),
        (changed(28, &29u64.to_le_bytes()), "wte has 29 elements, this model needs 28"),
        (changed(28, &u64::MAX.to_le_bytes()), "wte has 18446744073709551615 elements"),
        (changed(36, &f32::NAN.to_le_bytes()), "wte has a value that is not finite"),
        (changed(end - 4, &(-1f32).to_le_bytes()), "b_lm has a negative second moment"),
        (good[..end - 1].to_vec(), "bytes, this model needs"),
        ([&good[..], b"x"].concat(), "bytes, this model needs"),
        (good[..20].to_vec(), "too short"),
        (Vec::new(), "too short"),
    ] {
        let refused = Pair::new(&json, &bin).refused();
        assert!(refused.contains(needle) && refused.contains("model.v2.bin"), "{refused}");
    }
    let t = end - 8 - 8 * trainer.model.parameter_count() as usize;
    let refused = Pair::new(&json, &changed(t, &u64::MAX.to_le_bytes())).refused();
    assert!(refused.contains("updates done are too many"), "{refused}");
}

#[test]
fn files_that_are_not_there_and_heads_that_are_not_here() {
    let trainer = trainer(7);
    let pair = Pair::new(&json_of(trainer.model.config(), 2, true), &bin_of(&trainer, true));
    let refused = pair.import(Some(2)).map(drop).unwrap_err();
    assert!(refused.to_string().contains("multi-head attention with heads: 2,"), "{refused}");
    std::fs::remove_file(pair.0.path().join("model.v2.bin")).unwrap();
    let refused = pair.import(None).map(drop).unwrap_err();
    assert_eq!(mend(&refused), Mend::Place);
    assert!(refused.to_string().contains("model.v2.bin"), "{refused}");
    let missing = import(Path::new("/nowhere/model"), None, &one_head).map(drop).unwrap_err();
    assert_eq!(mend(&missing), Mend::Place);
}
