//! An attention with other parameters than the core's.

use super::hostile::{refused, with_contents};
use super::*;
use crate::model::{Context, Param, ParamList};
use crate::ops;

/// Looks at nothing but the position itself, through two matrices: `w_in [C, nC]`,
/// `w_back [nC, C]`.
#[derive(Clone)]
struct Narrow(u64);

impl Attention for Narrow {
    fn spec(&self) -> AttentionSpec {
        let mut spec = AttentionSpec::new("narrow", 1);
        spec.other.insert("factor", Value::Whole(self.0)).unwrap();
        spec
    }
    fn parameters(&self, config: &Config) -> ParamList {
        let (c, wide) = (config.d_model, config.d_model * self.0 as usize);
        vec![
            ("w_in".into(), Param::weight([c, wide])),
            ("w_back".into(), Param::into_stream([wide, c])),
        ]
    }
    fn forward(&self, x: &Tensor, p: &Parameters, _ctx: &Context<'_>) -> Result<Tensor> {
        let [w_in, w_back] = p.named(["w_in", "w_back"])?;
        ops::linear_lastdim(&ops::linear_lastdim(x, w_in, None)?, w_back, None)
    }
}

fn narrow() -> Trainer {
    trained(Config::gpt2(5, 4, 6, 2), Arc::new(Narrow(2)))
}

#[test]
fn they_come_back_bit_by_bit_and_train_on() {
    let mut through = narrow();
    let file = bytes_of(&through, &tokenizer(), true);
    let checkpoint = read(&file).unwrap();
    let names: Vec<_> = checkpoint.parameters().map(|(name, _)| name.to_string()).collect();
    assert!(names.contains(&"blocks.1.w_back".to_string()), "{names:?}");
    let own = checkpoint.attention_parameters();
    let own: Vec<_> = own.iter().map(|(name, p)| (name.as_str(), &p.shape[..])).collect();
    assert_eq!(own, [("w_in", &[6, 12][..]), ("w_back", &[12, 6])]);
    let mut again = checkpoint.into_trainer(Arc::new(Narrow(2))).unwrap();
    assert_equal(&through, &again, true);
    assert_eq!(bytes_of(&again, &tokenizer(), true), file);
    assert_eq!(through.step(&data()).unwrap(), again.step(&data()).unwrap());
}

#[test]
fn another_attention_is_refused_and_so_are_its_tensors_under_this_name() {
    let checkpoint = || read(&bytes_of(&narrow(), &tokenizer(), true)).unwrap();
    for other in [Arc::new(Narrow(3)) as Arc<dyn Attention>, Arc::new(SingleHead)] {
        let refused = checkpoint().into_trainer(other);
        let Err(Error::Checkpoint { source, .. }) = refused else { panic!("accepted") };
        let CheckpointError::Attention { saved, .. } = source else { panic!("{source}") };
        assert_eq!(saved.to_string(), "narrow attention (1 head, factor 2)");
    }
    // The same description, other tensors.
    let impostor = Arc::new(Named(Narrow(2).spec()));
    let Err(Error::Checkpoint { source, .. }) = checkpoint().into_trainer(impostor) else {
        panic!("accepted")
    };
    assert!(matches!(source, CheckpointError::TensorCount { .. }));
}

#[test]
fn what_a_file_says_about_them_is_checked() {
    let changes: [&dyn Fn(&mut Contents); 11] = [
        &|c| c.own[0].0 = String::new(),
        &|c| c.own[0].0 = "\x1b[31m".into(),
        &|c| c.own[0].0 = "a.b".into(),
        &|c| c.own[0].0 = "w_fc".into(), // the block's own
        &|c| c.own[0].0 = c.own[1].0.clone(),
        &|c| c.own[0].0 = "n".repeat(65),
        &|c| c.own[0].1.shape = vec![usize::MAX, usize::MAX],
        &|c| c.own[0].1.shape = vec![1; 5],
        &|c| c.own[0].1.shape.clear(),
        &|c| c.own.clear(),
        &|c| {
            let one = c.own[0].1.clone();
            c.own = (0..65).map(|i| (format!("p{i}"), one.clone())).collect();
        },
    ];
    for (i, change) in changes.iter().enumerate() {
        let error = refused(&with_contents(|c| {
            change(c);
            if i < 6 && c.own.iter().all(|(_, p)| p.numel() < 100) {
                c.table = table::expected(c.parameters().unwrap(), c.slots(), c.tokenizer.length);
            }
        }));
        assert!(!error.to_string().contains('\x1b'), "change {i}");
        let expected = match i {
            0..=4 => matches!(error, CheckpointError::Setting { field: "attention", .. }),
            5..=7 | 10 => matches!(error, CheckpointError::Limit { .. }),
            _ => matches!(
                error,
                CheckpointError::Tensor { .. } | CheckpointError::TensorCount { .. }
            ),
        };
        assert!(expected, "change {i}: {error}");
    }
}
