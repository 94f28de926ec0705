//! Learning from rewards and from pairs of answers beside TRL's losses in PyTorch (float64).

use crate::pytorch_training::model;
use llm_core::crew::InProcess;
use llm_core::model::{Mode, Origin};
use llm_core::settings::Value;
use llm_core::{Batch, TinyGPT};
use llm_run::models::BASELINE;
use llm_run::options::Options;
use llm_run::rewards::{Attempt, advantages, compared, learned, weighed};
use llm_run::settings::Given;
use llm_run::training::{Identity, run};
use serde_json::json;
use workspace_tests::assert_close;
use workspace_tests::fixture::Fixture;

const TOL: f64 = 1e-5;

/// The answers of the fixture.
fn answers(f: &Fixture) -> Vec<Attempt> {
    let (tokens, width) = (f.tokens("tokens"), f.shape("tokens")[1]);
    let lengths = f.values("start").iter().zip(f.values("length"));
    let each = tokens.chunks_exact(width).zip(lengths).map(|(row, (&start, &length))| {
        let (prompt, rest) = row.split_at(start as usize);
        let tokens = rest[..length as usize].to_vec();
        Attempt { prompt: prompt.to_vec(), tokens, text: String::new(), ended: true, entropy: 0.0 }
    });
    each.collect()
}

/// The batch of these rows of a step, whose weights are those of rewards.
fn batch(f: &Fixture, answers: &[Attempt], first: usize, rows: usize, scaled: bool) -> Batch {
    let n = |name: &str| f.meta(name) as usize;
    let weights = advantages(f.values("rewards"), n("group"), scaled);
    let origin = Origin { first_row: first as u64, step_rows: 8, ..Origin::default() };
    let these = first..first + rows;
    learned(&answers[these.clone()], &weights[these], origin, n("most"))
}

/// The gradient of some micro-batches is that of the fixture; their loss comes along.
fn check_gradients(f: &Fixture, name: &str, model: &TinyGPT, batches: &[Batch]) -> f64 {
    let (mut loss, mut grads) = (0.0, vec![0.0f64; model.parameter_count() as usize]);
    for batch in batches {
        let share = batch.share(batches.len());
        let of = model.loss(batch, Mode::Training).unwrap();
        loss += f64::from(share) * f64::from(of.item());
        let of = of.backward_into(Default::default(), share).unwrap();
        let flat = model.parameters().flat_map(|(_, p)| of.get(p).unwrap().to_vec());
        grads.iter_mut().zip(flat).for_each(|(sum, g)| *sum += f64::from(g));
    }
    let mut at = 0;
    for (p, tensor) in model.parameters() {
        let own: Vec<f32> = grads[at..at + tensor.numel()].iter().map(|g| *g as f32).collect();
        at += tensor.numel();
        let expected = f.values(&format!("{name}.grad.{p}"));
        assert_close(&format!("{name} d{p}"), &own, expected, TOL);
    }
    loss
}

/// Loss and gradients of a step's answers: of all at once, and of micro-batches by their shares.
#[test]
fn loss_and_gradients_are_those_of_trl() {
    let f = Fixture::read("rewards");
    let (model, answers) = (model(&f), answers(&f));
    for (name, scaled) in [("plain", false), ("scaled", true)] {
        for rows in [8, 4] {
            let parts = (0..8).step_by(rows);
            let batches: Vec<Batch> =
                parts.map(|first| batch(&f, &answers, first, rows, scaled)).collect();
            let loss = check_gradients(&f, name, &model, &batches);
            assert_close(name, &[loss as f32], f.values(&format!("{name}.loss")), TOL);
        }
    }
}

/// ln p of places as the fixture has them, for some rows from `first` on.
fn logs(f: &Fixture, name: &str, first: usize, batch: &Batch) -> Vec<f32> {
    let (all, width) = (f.values(name), f.shape(name)[1]);
    let [rows, t] = batch.shape;
    let row = |row: usize| all[(first + row) * width..][..t].iter().map(|x| *x as f32);
    (0..rows).flat_map(row).collect()
}

/// A later update of the same answers, whose probabilities have changed, and their distance to a reference.
#[test]
fn clipped_ratios_and_their_distance_are_those_of_trl() {
    let f = Fixture::read("rewards");
    let (model, answers) = (model(&f), answers(&f));
    for (name, beta) in [("clipped", 0.0), ("kl", 0.25)] {
        for rows in [8, 4] {
            let (mut sums, mut batches) = ([0.0; 4], Vec::new());
            for first in (0..8).step_by(rows) {
                let batch = batch(&f, &answers, first, rows, false);
                let [old, start] = ["old", "ref"].map(|name| logs(&f, name, first, &batch));
                let now = model.log_probs(&batch).unwrap();
                let (batch, own) = weighed(batch, [&now, &old, &start], [0.2, beta]);
                sums.iter_mut().zip(own).for_each(|(all, x)| *all += x);
                batches.push(batch);
            }
            check_gradients(&f, name, &model, &batches);
            let [kl, clipped, tokens, loss] = sums;
            assert!(kl > 0.0 && clipped > 1.0 && tokens == 22.0, "{sums:?}");
            let loss = loss / batches[0].step_targets.unwrap() as f64;
            assert_close(name, &[loss as f32], f.values(&format!("{name}.loss")), TOL);
        }
    }
}

#[test]
fn pairs_teach_what_they_do_in_trl() {
    let f = Fixture::read("rewards");
    let (model, answers) = (model(&f), answers(&f));
    for rows in [8, 4] {
        let (mut loss, mut batches) = (0.0, Vec::new());
        for first in (0..8).step_by(rows) {
            let batch = batch(&f, &answers, first, rows, false);
            let now = model.log_probs(&batch).unwrap();
            let mut start = logs(&f, "ref", first, &batch);
            let asked = start.iter_mut().zip(batch.targets.iter());
            asked.filter(|(_, of)| **of == Batch::IGNORED).for_each(|(log, _)| *log = 0.0);
            let (batch, sums) = compared(batch, [&now, &start], 0.5);
            assert_eq!(sums.pairs as usize, rows / 2);
            loss += sums.loss / 4.0;
            batches.push(Batch { step_targets: Some(4), ..batch });
        }
        check_gradients(&f, "dpo", &model, &batches);
        assert_close("dpo", &[loss as f32], f.values("dpo.loss"), TOL);
    }
}

/// Does a run by a number of processes; the bytes of its checkpoint.
fn ran(options: &Options, size: usize) -> Vec<u8> {
    let out = options.out.as_ref().unwrap().join(size.to_string());
    let options = Options { out: Some(out.clone()), members: size, ..options.clone() };
    let identity = || Identity::of("rewards", 1);
    let all = InProcess::run(size, |crew| {
        run(&BASELINE, &options, identity(), Some(crew), &mut ()).map_err(|e| e.to_string())
    });
    all.into_iter().for_each(|done| done.unwrap());
    std::fs::read(out.join("ckpt/last")).unwrap()
}

/// Answers with several updates, held to the start, and pairs of answers.
#[test]
fn any_number_of_processes_learns_the_same_bits_from_rewards_and_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let lines = |of: &dyn Fn(usize) -> serde_json::Value| -> String {
        (0..20).map(|i| format!("{}\n", of(i))).collect()
    };
    let chats =
        |i: usize| json!({"prompt": (i % 7).to_string(), "completion": (["a", "bc"][i % 2])});
    let pairs = |i: usize| json!({"prompt": (i % 7).to_string(), "chosen": "bc", "rejected": "a"});
    std::fs::write(at("chats.jsonl"), lines(&chats)).unwrap();
    std::fs::write(at("pairs.jsonl"), lines(&pairs)).unwrap();
    let given = |numbers: &[(&'static str, usize)]| -> Given {
        numbers.iter().map(|(name, n)| (*name, Value::from(*n))).collect()
    };
    let sizes = [("steps", 20), ("batch", 2), ("seq", 64), ("dmodel", 8), ("layers", 1)];
    let base = Options {
        data: vec![at("chats.jsonl")],
        given: given(&sizes),
        save: Some(at("m")),
        ..Options::default()
    };
    run(&BASELINE, &base, Identity::of("rewards", 1), None, &mut ()).unwrap();
    let mut rewards =
        given(&[("steps", 3), ("batch", 1), ("accum", 4), ("group", 4), ("updates", 2)]);
    rewards.extend([("reward", Value::Text("exact".into())), ("beta", Value::Float(0.1))]);
    let mut pairs = given(&[("steps", 3), ("batch", 1), ("accum", 4)]);
    pairs.insert("reward", Value::Text("dpo".into()));
    for (name, given) in [("chats.jsonl", rewards), ("pairs.jsonl", pairs)] {
        let (data, load) = (vec![at(name)], Some(at("m")));
        let out = Some(at("runs").join(name));
        let options = Options { data, load, given, out, ..Options::default() };
        let alone = ran(&options, 1);
        assert!([2, 4].iter().all(|size| ran(&options, *size) == alone), "{name}");
    }
}
