//! What has no kernels is refused by name, before anything runs: no adapter is needed.

use crate::support::{Case, adamw, gpu, planned, text};
use llm_core::autograd::Gradients;
use llm_core::kernels::gemm::{Precision, within};
use llm_core::listing::listing;
use llm_core::model::SingleHead;
use llm_core::ops;
use llm_core::optim::{Optimizer, OptimizerParts, OptimizerRow};
use llm_core::{AdamW, Attention, Config, Tensor};
use llm_gpu::{Adapter, Capacity, Gpu, GpuError, GpuWork, Planned};
use llm_variant_mha::MultiHead;

fn refusal(config: Config, attention: impl Attention + 'static) -> GpuError {
    planned(&Case::new(config, attention, 2).trainer(), Capacity::default()).unwrap_err()
}

#[test]
fn an_op_without_kernels_is_named() {
    let table = Tensor::parameter_from_vec(&[4, 4], vec![0.5; 16]).unwrap();
    let scored = || {
        let x = ops::embedding_of("tokens", &table, &[1, 2], &[1, 2])?;
        ops::cross_entropy(&ops::reshape(&ops::softmax_lastdim(&x)?, &[2, 4])?, &[2, 3])
    };
    let (_, list) = listing(|| scored().unwrap());
    let said =
        Planned::new(&list, &[("table".into(), &table)], &adamw(), 1).unwrap_err().to_string();
    assert_eq!(said, "'softmax' has no kernels for a GPU; this model trains on the processor");
}

#[test]
fn what_an_op_cannot_do_is_said() {
    let attention = MultiHead::with_head_mask(130, [true, false].repeat(65));
    let said = refusal(Config::new(256, 8, 130, 1), attention).to_string();
    assert!(said.contains("with so many heads, some of them switched off"), "{said}");
    let table = Tensor::parameter_from_vec(&[4, 4], vec![0.5; 16]).unwrap();
    let scored = || {
        let x = ops::embedding_of("tokens", &table, &[1, 2], &[1, 2])?;
        let x = ops::add(&x, &ops::embedding(&table, &[1, 2], &[1, 2])?)?;
        ops::cross_entropy(&ops::reshape(&x, &[2, 4])?, &[2, 3])
    };
    let (_, list) = listing(|| scored().unwrap());
    let planned = Planned::new(&list, &[("table".into(), &table)], &adamw(), 1);
    let said = planned.unwrap_err().to_string();
    assert!(
        said.starts_with("'embedding' has no kernels for a GPU of rows that no token"),
        "{said}"
    );
}

#[test]
fn rounded_products_are_named() {
    let mut trainer = Case::new(Config::new(256, 8, 8, 1), SingleHead, 2).trainer();
    trainer.recipe.matmul = Precision::Bf16;
    let said =
        within(Precision::Bf16, || planned(&trainer, Capacity::default())).unwrap_err().to_string();
    assert!(said.starts_with("'linear' has no kernels for a GPU in bf16; "), "{said}");
    let Some(gpu) = gpu() else { return };
    assert_eq!(GpuWork::new(gpu, &trainer, &text()).unwrap_err().to_string(), said);
}

/// AdamW under a name of its own, which only its owner knows.
#[derive(Clone, Debug)]
struct Own(AdamW);

impl Optimizer for Own {
    fn row(&self) -> &'static OptimizerRow {
        static ROW: OptimizerRow = OptimizerRow { name: "own", ..AdamW::ROW };
        &ROW
    }
    fn parts(&self) -> &OptimizerParts {
        self.0.parts()
    }
    fn parts_mut(&mut self) -> &mut OptimizerParts {
        self.0.parts_mut()
    }
    fn step(
        &mut self,
        parameters: &mut dyn Iterator<Item = (String, &mut Tensor)>,
        grads: &Gradients,
        lr: f32,
        scale: f32,
    ) -> llm_core::Result<()> {
        self.0.step(parameters, grads, lr, scale)
    }
    fn boxed(&self) -> Box<dyn Optimizer> {
        Box::new(self.clone())
    }
}

#[test]
fn an_optimizer_without_kernels_is_named() {
    let mut trainer = Case::new(Config::new(256, 8, 8, 1), SingleHead, 2).trainer();
    trainer.optimizer = Box::new(Own(adamw()));
    let said = planned(&trainer, Capacity::default()).unwrap_err().to_string();
    assert_eq!(said, "the optimizer 'own' has no kernels for a GPU; adamw, lion and muon have");
}

#[test]
fn an_adapter_that_is_not_there_is_named_beside_those_that_are() {
    let said = Gpu::open(Some("no such thing")).unwrap_err().to_string();
    let there: Vec<_> = Adapter::all().iter().map(Adapter::described).collect();
    let there = there.join(", ");
    let wanted = match &*there {
        "" => "no GPU is called 'no such thing'; no GPU was found".to_string(),
        there => format!("no GPU is called 'no such thing'; adapters: {there}"),
    };
    assert_eq!(said, wanted);
}
