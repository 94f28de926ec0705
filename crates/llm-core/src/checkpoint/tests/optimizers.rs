//! Runs with another optimizer than AdamW.

use super::*;
use crate::optim::find_optimizer;

fn lion(steps: usize) -> Trainer {
    trained("lion", steps)
}

fn trained(optimizer: &str, steps: usize) -> Trainer {
    let model = TinyGPT::with_attention(Config::gpt2(5, 4, 6, 2), two_heads_twice(), 3).unwrap();
    let mut optimizer_settings = Settings::default();
    for (key, value) in find_optimizer(OPTIMIZERS, optimizer).unwrap().settings {
        optimizer_settings.insert(key, value.clone()).unwrap();
    }
    let recipe = Recipe { optimizer: optimizer.into(), optimizer_settings, ..recipe() };
    let mut trainer = Trainer::new(model, recipe).unwrap();
    for _ in 0..steps {
        trainer.step(&data()).unwrap();
    }
    trainer
}

/// For two layers.
fn two_heads_twice() -> Arc<dyn Attention> {
    let head_mask = [true, false].repeat(2);
    Arc::new(Named(AttentionSpec { head_mask, ..AttentionSpec::new("two", 2) }))
}

#[test]
fn every_optimizer_goes_on_as_if_it_had_never_stopped() {
    for name in OPTIMIZERS.iter().map(|row| row.name) {
        let through = trained(name, 9);
        let all = bytes_of(&through, &tokenizer(), true);
        for k in 0..9 {
            let checkpoint = read(&bytes_of(&trained(name, k), &tokenizer(), true)).unwrap();
            assert_eq!(checkpoint.meta.recipe.optimizer, name);
            let mut resumed = checkpoint.into_trainer(two_heads_twice()).unwrap();
            assert_eq!(resumed.optimizer.name(), name);
            for _ in k..9 {
                resumed.step(&data()).unwrap();
            }
            assert_equal(&through, &resumed, true);
            assert_eq!(bytes_of(&resumed, &tokenizer(), true), all);
        }
    }
}

#[test]
fn lions_file_has_one_slot_less() {
    let length = |optimizer: &str, with_optimizer| {
        let mut trainer = lion(0);
        trainer.recipe.optimizer = optimizer.into();
        let mut trainer = Trainer::new(trainer.model, trainer.recipe).unwrap();
        trainer.step(&data()).unwrap();
        let file = bytes_of(&trainer, &tokenizer(), with_optimizer);
        fuzzing::apart(&file).unwrap().2.len()
    };
    let weights = length("lion", false);
    let blob = table::padded(tokenizer().blob.len() as u64) as usize;
    assert_eq!(length("lion", true), 2 * weights - blob);
    assert_eq!(length("adamw", true), 3 * weights - 2 * blob);
}

#[test]
fn a_run_that_changes_its_optimizer_starts_the_new_one_afresh() {
    let mut checkpoint = read(&bytes_of(&lion(3), &tokenizer(), true)).unwrap();
    checkpoint.meta.recipe.optimizer = "adamw".into();
    let mut trainer = checkpoint.into_trainer(two_heads_twice()).unwrap();
    assert_eq!((trainer.optimizer.name(), trainer.optimizer.state().t), ("adamw", 0));
    trainer.step(&data()).unwrap();
    assert_eq!((trainer.step, trainer.optimizer.state().parameters[0].slots.len()), (4, 2));
}

/// The saved name is that of the optimizer that ran, whatever became of the recipe's copy.
#[test]
fn the_optimizer_that_ran_is_the_one_saved() {
    let mut trainer = lion(2);
    trainer.recipe.optimizer = "adamw".into();
    let checkpoint = read(&bytes_of(&trainer, &tokenizer(), true)).unwrap();
    assert_eq!(checkpoint.meta.recipe.optimizer, "lion");
}

#[test]
fn no_slot_has_the_name_of_another_role() {
    for row in OPTIMIZERS {
        let mut names: Vec<_> = row.slots.iter().map(|slot| slot.name).collect();
        names.extend([table::WEIGHT, table::BLOB]);
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|n| (1..=limits::MAX_NAME as usize).contains(&n.len())));
        let made = row.build(Hyperparameters::default(), &Settings::default()).unwrap();
        assert_eq!((made.name(), made.slots()), (row.name, row.slots));
    }
}
