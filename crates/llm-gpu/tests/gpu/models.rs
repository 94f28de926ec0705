//! Whole models: the gradients of the first step, the losses of forty, and the same bits again.

use crate::support::{Case, apart, first_batches, gpu, planned, text};
use llm_core::Config;
use llm_core::kernels::gemm::{Precision, within};
use llm_core::model::{Activation, Mlp, Norm, Positions, SingleHead};
use llm_core::train::{OneProcess, Trainer, Work};
use llm_gpu::{Capacity, Gpu, GpuWork, Planned, listed};
use llm_variant_mha::MultiHead;
use llm_variant_modern::Modern;

const STEPS: u64 = 40;
/// Steps of the second run.
const AGAIN: u64 = 5;
const TOLERANCE: f64 = 1e-5;

/// Losses and norms of `steps` steps of a run on the device, and the weights behind them.
fn run(gpu: &Gpu, trainer: &Trainer, steps: u64) -> (Vec<[f32; 2]>, Vec<u32>) {
    let (data, mut trainer) = (text(), trainer.clone());
    let mut work = GpuWork::new(gpu.clone(), &trainer, &data).unwrap_or_else(|e| panic!("{e}"));
    let [processor, there] = work.losses; // of one row, with its own masks
    assert!((processor - there).abs() < 1e-4, "{:?}", work.losses);
    let mut step = || {
        let report = trainer.step_with(&data, &mut work, &mut ()).unwrap();
        [report.loss, report.grad_norm]
    };
    let reports = (0..steps).map(|_| step()).collect();
    work.fetch(&mut trainer.model, trainer.optimizer.as_mut()).unwrap();
    let weights = trainer.model.parameters().flat_map(|(_, p)| p.data().to_vec());
    (reports, weights.map(f32::to_bits).collect())
}

/// The gradient of the next step by the processor, and how far that of the device is apart from it: for
/// the parameter where it is farthest.
fn gradients_apart(gpu: &Gpu, trainer: &Trainer, tolerance: f64) -> (f64, String) {
    let mut step = Case::step(gpu, trainer);
    let batches = first_batches(trainer);
    for (micro, batch) in (0..).zip(&batches) {
        step.gradient(batch, micro).unwrap();
    }
    let of = &mut batches.into_iter().map(Ok);
    let (wanted, loss, _) = OneProcess.gradients(&trainer.model, of, trainer.step).unwrap();
    let off = (f64::from(step.report().unwrap().loss) - loss).abs();
    assert!(off < tolerance, "the loss is {off:.1e} apart");
    let mut worst = (0.0, String::new());
    for ((name, p), (of, got)) in trainer.model.parameters().zip(&step.gradients().unwrap()) {
        assert_eq!(name, *of);
        let off = apart(got, wanted.get(p).unwrap());
        assert!(off < tolerance, "the gradient of {name} is {off:.1e} apart");
        if off > worst.0 {
            worst = (off, name);
        }
    }
    worst
}

fn agrees(name: &str, case: Case) {
    agree_to(TOLERANCE, name, &case.trainer());
}

fn agree_to(tolerance: f64, name: &str, start: &Trainer) {
    let matmul = start.recipe.matmul;
    let from_one_row =
        Planned::of(start, &listed(start, &text()).unwrap().2, Capacity::default()).unwrap();
    let from_all = within(matmul, || planned(start, Capacity::default())).unwrap();
    assert!(from_one_row.plan == from_all.plan, "{name}: one row's list is another's");
    let Some(gpu) = gpu() else { return };
    let worst = within(matmul, || gradients_apart(&gpu, start, tolerance));
    let mut trainer = start.clone();
    let (reports, _) = run(&gpu, start, STEPS);
    let (mut losses, mut norms) = (0.0f32, 0.0f32);
    for [loss, norm] in &reports {
        let report = trainer.step(&text()).unwrap();
        losses = losses.max((loss - report.loss).abs());
        norms = norms.max((norm / report.grad_norm - 1.0).abs());
    }
    println!(
        "{name}: gradients {:.1e} ({}), losses of {STEPS} steps {losses:.1e}, norms {norms:.1e}",
        worst.0, worst.1
    );
    assert!(f64::from(losses) < tolerance, "losses are {losses:.1e} apart");
    let [once, again] = [(); 2].map(|()| run(&gpu, start, AGAIN));
    let bits = |x: &[[f32; 2]]| x.concat().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&reports[..AGAIN as usize]), bits(&once.0), "the same bits on every run");
    assert_eq!(bits(&once.0), bits(&again.0), "the same bits on every run");
    assert_eq!(once.1, again.1, "the same bits on every run");
}

#[test]
fn the_baseline() {
    agrees("baseline", Case::new(Config::new(256, 16, 32, 1), SingleHead, 2));
}

#[test]
fn a_deeper_baseline_of_odd_sizes() {
    agrees("deep", Case::new(Config::new(256, 33, 20, 3), SingleHead, 3));
}

#[test]
fn several_heads_on_many_rows() {
    agrees("heads", Case::new(Config::new(256, 40, 48, 2), MultiHead::new(3), 8));
}

#[test]
fn gpt2s_options() {
    let config = Config { activation: Activation::GeluTanh, ..Config::gpt2(256, 24, 32, 2) };
    let config = Config { dropout: 0.0, ..config };
    agrees("gpt2", Case::new(config, MultiHead::new(4), 4));
}

fn dropping() -> Config {
    Config { dropout: 0.2, ..Config::new(256, 37, 40, 2) }
}

#[test]
fn dropout_with_the_masks_of_the_processor() {
    agrees("dropout", Case::new(dropping(), MultiHead::new(2), 3));
}

#[test]
fn three_micro_batches() {
    let case = Case::new(Config::new(256, 37, 40, 2), MultiHead::new(2), 2);
    agrees("accumulation", Case { accum: 3, ..case });
}

/// The rows of the second and third have masks of their own. (Losses of steps are no measure here:
/// AdamW moves a weight whose gradient is nearly nothing by as much as any other.)
#[test]
fn three_micro_batches_with_dropout() {
    let Some(gpu) = gpu() else { return };
    let case = Case { accum: 3, ..Case::new(dropping(), MultiHead::new(2), 2) };
    let (off, name) = gradients_apart(&gpu, &case.trainer(), TOLERANCE);
    println!("accumulation with dropout: gradients {off:.1e} ({name})");
}

/// Both round the same numbers to f16 (a device with units others of attention, too), but not always to the same one: what
/// their sums differ in decides where it lies just between two.
#[test]
fn products_in_f16() {
    let case = Case::new(Config::new(256, 40, 48, 2), MultiHead::new(3), 8);
    let mut trainer = case.trainer();
    trainer.recipe.matmul = Precision::F16;
    agree_to(1e-3, "f16", &trainer);
}

/// The gradient of words that are never meant, over many rows: each number is small, and none too small for f16.
#[test]
fn products_in_f16_of_small_gradients() {
    let Some(gpu) = gpu() else { return };
    let (width, words) = (16, 20_000);
    let case = Case::new(Config::new(words, 16, width, 1), MultiHead::new(2), 2);
    let mut trainer = Case { accum: 8, ..case }.trainer();
    trainer.recipe.matmul = Precision::F16;
    let (got, wanted) = within(Precision::F16, || {
        let (mut step, batches) = (Case::step(&gpu, &trainer), first_batches(&trainer));
        for (micro, batch) in (0..).zip(&batches) {
            step.gradient(batch, micro).unwrap();
        }
        let of = &mut batches.into_iter().map(Ok);
        let (wanted, _, _) = OneProcess.gradients(&trainer.model, of, trainer.step).unwrap();
        let (name, head) =
            trainer.model.parameters().find(|(_, p)| p.shape() == [width, words]).unwrap();
        let got = step.gradients().unwrap().into_iter().find(|(of, _)| *of == name).unwrap().1;
        (got, wanted.get(head).unwrap().to_vec())
    });
    // Bytes are what is meant; the words behind them are not.
    let never = |x: &[f32]| x.chunks(words).flat_map(|row| row[256..].to_vec()).collect::<Vec<_>>();
    let off = apart(&never(&got), &never(&wanted));
    println!("f16: the gradient of words that are never meant, {off:.1e}");
    assert!(off < 1e-3, "it is {off:.1e} apart");
}

/// A device whose arrays hold half of the scores, with memory for less than a step keeps, which one workgroup keeps busy: scores
/// are made in pieces, norms and activations are made again, products have the largest tiles. Gradients, measurements and bits are as ever.
#[test]
fn a_smaller_device_computes_the_same() {
    let Some(gpu) = gpu() else { return };
    let config = || Config::new(256, 16, 16, 1);
    let tied = Config { dropout: 0.0, ..Config::gpt2(256, 16, 16, 1) };
    let llama = Modern::grouped(4, 2).with_rotary(500.0).without_biases();
    for (name, case) in [
        ("heads", Case::new(config(), MultiHead::new(2), 17)),
        ("tied", Case::new(tied, MultiHead::new(2), 17)),
        ("llama", Case::new(modern(16, 16, 1, Mlp::SwiGlu), llama, 17)),
        ("accum", Case { accum: 2, ..Case::new(config(), MultiHead::new(2), 17) }),
        ("f16", Case::new(config(), MultiHead::new(2), 17)),
    ] {
        let mut start = case.trainer();
        let tolerance = if name == "f16" { 1e-3 } else { TOLERANCE };
        start.recipe.matmul = if name == "f16" { Precision::F16 } else { Precision::F32 };
        let (matmul, list) = (start.recipe.matmul, listed(&start, &text()).unwrap().2);
        let whole = Planned::of(&start, &list, gpu.capacity()).unwrap();
        let array = 4 * 17 * 16 * 256 / 2;
        let small = gpu.clone().shrunk(array, Some(16 * array.max(whole.bytes() / 20)));
        let less = Planned::of(&start, &list, small.capacity()).unwrap();
        assert!(less.bytes() < whole.bytes() * 7 / 8, "{} of {}", less.bytes(), whole.bytes());
        assert!(less.buffers.sizes.iter().all(|&numbers| 4 * numbers as u64 <= array));
        let (off, of) = within(matmul, || gradients_apart(&small, &start, tolerance));
        println!("{name} in pieces: gradients {off:.1e} ({of}), {} kernels", less.calls());
        let [once, again] = [(); 2].map(|()| run(&small, &start, AGAIN));
        assert!(once.1 == again.1, "the same bits on every run");
        let batch = &first_batches(&start)[0];
        let scores = [&gpu, &small].map(|gpu| {
            let mut work = GpuWork::new(gpu.clone(), &start, &text()).unwrap();
            work.score(&start.model, batch).unwrap().unwrap()
        });
        assert!(scores[0] == scores[1], "{name}: a measurement in pieces");
    }
}

/// A device whose arrays are smaller than θ: it lies in several, and so does what the optimizer keeps.
#[test]
fn weights_in_several_arrays() {
    let Some(gpu) = gpu() else { return };
    let tied = Config { dropout: 0.0, ..Config::gpt2(256, 8, 32, 3) };
    let heads = || Case::new(Config::new(256, 8, 32, 3), MultiHead::new(2), 2);
    for (name, case) in [
        ("adamw", heads()),
        ("muon", Case { accum: 2, ..muon(heads()) }),
        ("lion", Case { optimizer: "lion", lr: 3e-4, ..heads() }),
        ("tied", Case::new(tied, MultiHead::new(2), 2)),
    ] {
        let start = case.trainer();
        let small = gpu.clone().shrunk(100_000, None);
        let planned = Planned::of(&start, &listed(&start, &text()).unwrap().2, small.capacity());
        let rooms = planned.unwrap().rooms;
        assert!(rooms.theta.len() > 1 && rooms.slots[0].len() == rooms.theta.len());
        let (off, of) = gradients_apart(&small, &start, TOLERANCE);
        println!("{name} in {} arrays: gradients {off:.1e} ({of})", rooms.theta.len());
        // The losses of a run, what it fetches, and what it measures with it.
        let (mut here, mut there) = (start.clone(), start.clone());
        let mut work = GpuWork::new(small, &there, &text()).unwrap();
        for _ in 0..8 {
            let wanted = here.step(&text()).unwrap().loss;
            let got = there.step_with(&text(), &mut work, &mut ()).unwrap().loss;
            assert!((got - wanted).abs() < 1e-5, "{name}: {got} and {wanted}");
        }
        work.fetch(&mut there.model, there.optimizer.as_mut()).unwrap();
        let batch = &first_batches(&here)[0];
        let (got, _) = work.score(&there.model, batch).unwrap().unwrap();
        let mut again = GpuWork::new(gpu.clone(), &there, &text()).unwrap();
        assert!(again.score(&there.model, batch).unwrap().unwrap().0 == got, "{name}");
        let (a, b) = (here.step(&text()).unwrap(), there.step_with(&text(), &mut again, &mut ()));
        assert!((a.loss - b.unwrap().loss).abs() < 1e-5, "{name}: what the optimizer kept");
    }
}

/// Tables with a row for each n-gram, and tables in which some share one.
#[test]
fn tables_of_ngrams() {
    let config = |rows| Config { ngrams: vec![2, 3], ngram_rows: rows, ..dropping() };
    agrees("ngrams", Case::new(config(500), MultiHead::new(2), 3));
    let config = Config { ngrams: vec![2], ngram_rows: 70_000, ..Config::new(256, 16, 8, 1) };
    agrees("pairs", Case { accum: 2, ..Case::new(config, MultiHead::new(2), 2) });
}

/// With a kernel of their own, and with weights that are stored.
#[test]
fn heads_that_are_switched_off() {
    let some =
        || MultiHead::with_head_mask(4, [true, false, true, false, true, true, true, false].into());
    agrees("masked", Case::new(Config::new(256, 24, 32, 2), some(), 3));
    agrees("masked, 5 channels", Case::new(Config::new(256, 24, 20, 2), some(), 3));
}

fn muon(case: Case) -> Case {
    Case { optimizer: "muon", lr: 1e-2, ..case }
}

#[test]
fn muon_of_heads() {
    agrees("muon", muon(Case::new(Config::new(256, 24, 32, 2), MultiHead::new(4), 3)));
}

#[test]
fn muon_of_groups_and_three_micro_batches() {
    let attention = Modern::grouped(4, 2).with_rotary(500.0).without_biases();
    let case = Case::new(modern(21, 32, 3, Mlp::SwiGlu), attention, 2);
    agrees("muon of groups", muon(Case { accum: 3, ..case }));
}

#[test]
fn lion() {
    let case = Case::new(Config::new(256, 16, 32, 1), SingleHead, 2);
    agrees("lion", Case { optimizer: "lion", lr: 3e-4, ..case });
}

/// GPT-2's small weights and AdamW's small moments let two runs of another rounding part, so their
/// losses are no measure with dropout. The gradient is: at the weights that the GPU came to, with the
/// masks of that step.
#[test]
fn a_later_gradient_of_gpt2_with_dropout() {
    let Some(gpu) = gpu() else { return };
    let config = Config { dropout: 0.2, ..Config::gpt2(256, 37, 40, 2) };
    let mut trainer = Case::new(config, MultiHead::new(2), 3).trainer();
    let mut work = GpuWork::new(gpu.clone(), &trainer, &text()).unwrap();
    for _ in 0..STEPS {
        trainer.step_with(&text(), &mut work, &mut ()).unwrap();
    }
    work.fetch(&mut trainer.model, trainer.optimizer.as_mut()).unwrap();
    let (off, name) = gradients_apart(&gpu, &trainer, TOLERANCE);
    println!("gpt2 with dropout, step {STEPS}: gradients {off:.1e} ({name})");
}

fn modern(seq: usize, width: usize, layers: usize, mlp: Mlp) -> Config {
    let mut config = Config::new(256, seq, width, layers);
    (config.norm, config.norm_affine) = (Norm::Rms, true);
    (config.positions, config.mlp) = (Positions::Rotary, mlp);
    (config.mlp_bias, config.head_bias) = (false, false);
    config
}

#[test]
fn groups_rotary_rms_and_swiglu() {
    let attention = Modern::grouped(4, 2).with_rotary(500.0).without_biases();
    agrees("llama", Case::new(modern(21, 32, 2, Mlp::SwiGlu), attention, 3));
}

#[test]
fn a_window_qk_norm_and_relu2() {
    let attention = Modern::grouped(6, 3).with_rotary(500.0).with_window(5).with_qk_norm();
    agrees("qk", Case::new(modern(19, 36, 2, Mlp::Relu2), attention, 2));
}

/// Heads whose products are by matrix units too: of every width, with rows that end within a tile and go over several,
/// groups, a window, a soft cap, dropout, micro-batches.
#[test]
fn attention_by_units() {
    let Some(gpu) = gpu() else { return };
    if gpu.units().is_none() {
        return println!("skipped: {} has no matrix units", gpu.name());
    }
    for (i, width) in [16, 32, 48, 64, 80, 96, 128].into_iter().enumerate() {
        let heads = Modern::grouped(2, 1 + i % 2);
        let heads = if i % 3 == 0 { heads.with_window(41) } else { heads };
        let heads = if i % 3 == 1 { heads.with_soft_cap(0.4) } else { heads };
        let dropout = if i % 2 == 0 { 0.3 } else { 0.0 };
        // Weights of so long a row are small, and what reaches them on the way back smaller.
        let tokens = if width == 32 { 700 } else { 70 + 9 * i };
        let config = Config { dropout, ..Config::new(256, tokens, 2 * width, 1) };
        let case = Case { accum: 1 + (i % 2) as u32, ..Case::new(config, heads, 2) };
        let mut trainer = case.trainer();
        trainer.recipe.matmul = Precision::F16;
        let (off, name) = within(Precision::F16, || gradients_apart(&gpu, &trainer, 2e-3));
        println!("heads of {width} by units: gradients {off:.1e} ({name})");
    }
}

/// Heads with a kernel of their own, and others whose weights are stored.
#[test]
fn scores_with_a_soft_cap() {
    let attention = |heads: Modern| heads.with_rotary(500.0).with_window(7).with_soft_cap(0.4);
    let config = || modern(19, 32, 2, Mlp::SwiGlu);
    agrees("capped", Case::new(config(), attention(Modern::grouped(4, 2)), 2));
    agrees("capped, 4 channels", Case::new(config(), attention(Modern::grouped(8, 2)), 2));
    for heads in [4, 8] {
        let dropped = Config { dropout: 0.2, ..config() };
        agrees("capped, dropout", Case::new(dropped, attention(Modern::grouped(heads, 2)), 2));
    }
}

/// Masks that attention makes where it needs them, for heads of every width that has a kernel: rows of keys that end within
/// a block of the masks' stream and go over several, groups, a window, a second micro-batch.
#[test]
fn weights_are_dropped_where_they_are_made() {
    let Some(gpu) = gpu() else { return };
    for (i, width) in [8, 16, 24, 32, 48, 64, 80, 96, 128].into_iter().enumerate() {
        let heads = Modern::grouped(2, 1 + i % 2);
        let heads = if i % 3 == 0 { heads.with_window(41) } else { heads };
        let config = Config { dropout: 0.3, ..Config::new(256, 70 + i, 2 * width, 1) };
        let case = Case { accum: 1 + (i % 2) as u32, ..Case::new(config, heads, 2) };
        let (off, name) = gradients_apart(&gpu, &case.trainer(), TOLERANCE);
        println!("heads of {width} with dropout: gradients {off:.1e} ({name})");
    }
}
