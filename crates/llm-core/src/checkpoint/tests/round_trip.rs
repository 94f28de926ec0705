//! What goes in comes out.

use super::*;

#[test]
fn everything_comes_back_bit_by_bit() {
    for config in [Config::new(5, 4, 6, 2), Config::gpt2(5, 4, 6, 2)] {
        let single: Arc<dyn Attention> = Arc::new(SingleHead);
        let mut own = Settings::default();
        own.insert("sinks", Value::Whole(128)).unwrap();
        own.insert("theta", Value::Float(1e4)).unwrap();
        let masked: Arc<dyn Attention> = Arc::new(Named(AttentionSpec {
            head_mask: vec![true, false, true, true, true, false],
            window: Some(3),
            other: own,
            ..AttentionSpec::new("several", 3)
        }));
        for (attention, with_optimizer, tokenizer, val_data) in [
            (single, true, TokenizerSpec::bytes(), DataSource::text(321, [8; 32])),
            (masked, false, tokenizer(), DataSource::Stories { version: 1, seed: 2, count: 3 }),
        ] {
            let mut trainer = trained(config.clone(), attention.clone());
            // What the golden file does not have.
            trainer.model.set_dropout(0.125).unwrap();
            trainer.recipe.accum = 5;
            trainer.recipe.val_data = Some(val_data);
            let file = bytes_of(&trainer, &tokenizer, with_optimizer);
            assert_eq!(file, bytes_of(&trainer, &tokenizer, with_optimizer));
            let checkpoint = read(&file).unwrap();
            assert_eq!(checkpoint.has_optimizer(), with_optimizer);
            assert_eq!(checkpoint.parameter_count(), trainer.model.parameter_count());
            assert_eq!(checkpoint.meta.tokenizer, tokenizer);
            assert!(
                checkpoint
                    .parameters()
                    .zip(trainer.model.parameters())
                    .all(|(a, b)| { a.0 == b.0 && a.1.shape() == b.1.shape() })
            );
            let again = checkpoint.into_trainer(attention).unwrap();
            assert_equal(&trainer, &again, with_optimizer);
            if with_optimizer {
                assert_eq!(file, bytes_of(&again, &tokenizer, true));
            }
        }
    }
}

#[test]
fn the_next_steps_are_those_of_the_run_that_went_on() {
    let mut through = small();
    let mut resumed =
        read(&bytes_of(&through, &tokenizer(), true)).unwrap().into_trainer(two_heads()).unwrap();
    for _ in 0..3 {
        assert_eq!(through.step(&data()).unwrap(), resumed.step(&data()).unwrap());
    }
    let [a, b] = [&through, &resumed].map(|t| bytes_of(t, &tokenizer(), true));
    assert_eq!(a, b);
}

#[test]
fn an_optimizer_before_its_first_update_is_saved_too() {
    let model = TinyGPT::new(Config::gpt2(5, 4, 2, 1), 1).unwrap();
    let trainer = Trainer::new(model, recipe()).unwrap();
    let file = bytes_of(&trainer, &tokenizer(), true);
    let checkpoint = read(&file).unwrap();
    assert!(checkpoint.has_optimizer());
    let again = checkpoint.into_trainer(Arc::new(SingleHead)).unwrap();
    assert_equal(&trainer, &again, true);
    assert_eq!(file, bytes_of(&again, &tokenizer(), true));
}

#[test]
fn another_attention_or_a_changed_model_is_refused_and_another_recipe_is_not() {
    let checkpoint = read(&bytes_of(&small(), &tokenizer(), true)).unwrap();
    let other = checkpoint.clone().into_trainer(Arc::new(SingleHead));
    assert!(matches!(
        other,
        Err(Error::Checkpoint { source: CheckpointError::Attention { .. }, .. })
    ));
    for config in [Config::new(5, 4, 4, 1), Config::gpt2(5, 4, 2, 1)] {
        let mut changed = checkpoint.clone();
        changed.meta.config = config;
        assert!(matches!(changed.into_trainer(two_heads()), Err(Error::Checkpoint { .. })));
    }
    let mut changed = checkpoint;
    changed.meta.recipe.hyperparameters.weight_decay = 0.5;
    changed.meta.recipe.total_steps = 50;
    let trainer = changed.into_trainer(two_heads()).unwrap();
    assert_eq!((trainer.optimizer.config().weight_decay, trainer.recipe.total_steps), (0.5, 50));
}

#[test]
fn the_optimizers_own_settings_are_the_ones_saved() {
    let mut trainer = small();
    trainer.recipe.hyperparameters.beta1 = 0.1;
    let again = read(&bytes_of(&trainer, &tokenizer(), true)).unwrap();
    assert_eq!(again.meta.recipe, recipe());
}

/// The same bytes, the same checks, errors under the name that is given.
#[test]
fn in_memory_as_in_a_file() {
    let run = small();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    save(&path, &run, &tokenizer(), true).unwrap();
    let bytes = to_bytes(&run, &tokenizer(), true).unwrap();
    assert_eq!(bytes, std::fs::read(&path).unwrap());
    assert_eq!(bytes.capacity(), bytes.len());
    let again = Checkpoint::from_bytes("run", &bytes).unwrap();
    assert_equal(&run, &again.into_trainer(two_heads()).unwrap(), true);
    let refused = Checkpoint::from_bytes("some name", &bytes[..bytes.len() - 1]).unwrap_err();
    assert!(matches!(refused, Error::Checkpoint { path, .. } if path == Path::new("some name")));
}
