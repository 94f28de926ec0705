//! Advantages, the gradient that they give, and what is left of it where an answer has moved far enough.

use crate::check::{Mistake, check, mistake};
use crate::library::shares;
use crate::numbers::some;
use llm_core::ndarray::{Axis, arr1, arr2, s};
use llm_core::{Gradients, Tensor, ops};
use llm_exercises::{Array1, Array2, advantages, clipped, policy_gradient};

/// Rewards as a table, a group in each row.
fn in_groups(rewards: &[f64], group: usize) -> Array2 {
    Array2::from_shape_vec((rewards.len() / group, group), rewards.to_vec()).unwrap()
}

fn list(table: Array2) -> Array1 {
    table.into_iter().collect()
}

fn right_advantages(rewards: &[f64], group: usize) -> Array1 {
    let r = in_groups(rewards, group);
    list(&r - &r.mean_axis(Axis(1)).unwrap().insert_axis(Axis(1)))
}

fn advantage_mistakes(rewards: &[f64], group: usize) -> Vec<Mistake> {
    let (all, right) = (Array1::from(rewards.to_vec()), right_advantages(rewards, group));
    let (r, count) = (in_groups(rewards, group), group as f64);
    // The mean of every `step`-th reward taken off.
    let every = |step: usize| {
        let mut all = all.clone();
        for first in 0..step.min(all.len()) {
            let mut some = all.slice_mut(s![first..;step]);
            let mean = some.mean().unwrap();
            some -= mean;
        }
        all
    };
    let mut mistakes = vec![
        mistake(
            "the mean is that of all rewards, and not of the group's",
            &all - all.mean().unwrap(),
        ),
        mistake("the mean is not taken off", all.clone()),
        mistake("it is the mean less r: what is better gets less", -&right),
        mistake(
            "the sum of the group is taken off, and not its mean",
            list(&r - &r.sum_axis(Axis(1)).insert_axis(Axis(1))),
        ),
        mistake(
            "the mean of the others alone is taken off, which is another rule (leave one out)",
            &right * (count / (count - 1.0)),
        ),
        mistake("a group is every `group`-th answer: its answers follow each other", every(group)),
        mistake(
            "the answers are dealt out to the groups in turn: those of a group follow each other",
            every(rewards.len() / group),
        ),
    ];
    for (less, least) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1e-4), (1.0, 1e-4)] {
        let deviation = r.std_axis(Axis(1), less).insert_axis(Axis(1)) + least;
        mistakes.push(mistake(
            "it is divided by the standard deviation too, which is another rule (GRPO)",
            list(in_groups(&right.to_vec(), group) / deviation),
        ));
    }
    mistakes
}

#[test]
fn advantages_by_hand() {
    // docs/concepts/rewards.md, section 3: one question, and the same behind one whose rewards are higher by 10.
    let of_group = [0.75, -0.25, -0.25, -0.25];
    let (right_wrong, higher) = ([1.0, 0.0, 0.0, 0.0], [11.0, 10.0, 10.0, 10.0]);
    for (what, rewards, want) in [
        ("A of 1 0 0 0", right_wrong.to_vec(), of_group.to_vec()),
        ("A of two questions", [higher, right_wrong].concat(), [of_group, of_group].concat()),
        ("A where all are right", vec![1.0; 4], vec![0.0; 4]),
    ] {
        let mistakes = advantage_mistakes(&rewards, 4);
        check(what, advantages(&rewards, 4).into(), arr1(&want), &mistakes);
    }
}

#[test]
fn advantages_of_many() {
    for (questions, group) in [(1, 5), (3, 4), (5, 2), (2, 8)] {
        let rewards = some(questions * group, group as u64).to_vec();
        let want = right_advantages(&rewards, group);
        check("A", advantages(&rewards, group).into(), want, &advantage_mistakes(&rewards, group));
    }
}

fn gradient_mistakes(logits: &Array2, answers: &[usize], advantages: &[f64]) -> Vec<Mistake> {
    let (n, v) = logits.dim();
    let (p, a) = (shares(logits, 1), Array1::from(advantages.to_vec()));
    let one = |answer: &dyn Fn(usize) -> usize| {
        Array2::from_shape_fn((n, v), |(n, v)| if v == answer(n) { 1.0 } else { 0.0 })
    };
    let here = one(&|n| answers[n]);
    let rows = |table: &Array2, a: &Array1| table * &a.view().insert_axis(Axis(1)) / n as f64;
    let (up, right) = (&p - &here, rows(&(&p - &here), &a));
    let mut all = vec![
        mistake(
            "the sign is turned: a step against it makes bad answers likelier, and good ones rarer",
            -&right,
        ),
        mistake("1/N is forgotten", &right * n as f64),
        mistake("it is divided by N·V: the mean is one over answers", &right / v as f64),
        mistake(
            "softmax is forgotten: what the chosen token gets, the others of its row have to give",
            -rows(&here, &a),
        ),
        mistake("logits stand where shares belong", rows(&(logits - &here), &a)),
        mistake(
            "it is the gradient of p and not of ln p: what is rare learns too slowly",
            rows(&up, &(&a * (&p * &here).sum_axis(Axis(1)))),
        ),
        mistake("it is dL/dp: the way back through softmax is left out", -rows(&(&here / &p), &a)),
        mistake("A multiplies the chosen token alone, and not the whole row", {
            &p / n as f64 - rows(&here, &a)
        }),
        mistake("A is forgotten: every answer is imitated, wrong ones too", &up / n as f64),
        mistake("every row has the advantage of row 0", &up * (a[0] / n as f64)),
        mistake(
            "answers with A below 0 are left out: they say what to avoid",
            rows(&up, &a.mapv(|a| a.max(0.0))),
        ),
        mistake("every row has the answer of row 0", rows(&(&p - one(&|_| answers[0])), &a)),
    ];
    if answers.iter().all(|&answer| answer < n) {
        all.push(mistake(
            "A is looked up by the token, advantages[answers[n]], and not by the row",
            rows(&up, &answers.iter().map(|&answer| a[answer]).collect()),
        ));
    }
    all
}

#[test]
fn gradient_by_hand() {
    // docs/concepts/rewards.md, section 3: a b b b. The rows add up to −[0.1875, −0.1875].
    let logits = Array2::from_shape_fn((4, 2), |(_, v)| [0.0, 3f64.ln()][v]);
    let (answers, a) = ([0, 1, 1, 1], [0.75, -0.25, -0.25, -0.25]);
    let of_b = [-0.015625, 0.015625];
    let want = arr2(&[[-0.140625, 0.140625], of_b, of_b, of_b]);
    let mistakes = gradient_mistakes(&logits, &answers, &a);
    check("dL/dlogits", policy_gradient(&logits, &answers, &a), want, &mistakes);
}

#[test]
fn gradient_as_in_the_library() {
    for (n_len, v_len) in [(6, 5), (8, 4), (2, 7), (1, 3)] {
        let (logits, a) = (some((n_len, v_len), 1), some(n_len, 2).to_vec());
        let answers: Vec<usize> = (0..n_len).map(|n| (5 * n + 2) % v_len).collect();
        // −ln p of every answer by itself, its gradient as often as it is worth.
        let mut grads = Gradients::default();
        let of_row = |n: usize| logits.slice(s![n..n + 1, ..]).mapv(|x| x as f32).into_dyn();
        let rows: Vec<Tensor> = (0..n_len).map(|n| Tensor::parameter(of_row(n))).collect();
        for n in 0..n_len {
            let loss = ops::cross_entropy(&rows[n], &[answers[n] as u32]).unwrap();
            grads = loss.backward_into(grads, (a[n] / n_len as f64) as f32).unwrap();
        }
        let want = Array2::from_shape_fn((n_len, v_len), |(n, v)| {
            f64::from(grads.get(&rows[n]).unwrap()[v])
        });
        let mistakes = gradient_mistakes(&logits, &answers, &a);
        check("dL/dlogits", policy_gradient(&logits, &answers, &a), want, &mistakes);
    }
}

/// A weight for a ratio, an advantage and ε.
type Weight = fn(f64, f64, f64) -> f64;

fn clip(ratio: f64, epsilon: f64) -> f64 {
    ratio.max(1.0 - epsilon).min(1.0 + epsilon)
}

fn kept(ratio: f64, a: f64, epsilon: f64) -> f64 {
    (ratio * a).min(clip(ratio, epsilon) * a)
}

/// Every advantage with every ratio, with the numbers that mistakes give.
fn check_weights(ratios: &[f64], all: &[f64], epsilon: f64, want: Array2) {
    let table = |weight: Weight| {
        Array2::from_shape_fn((all.len(), ratios.len()), |(row, column)| {
            weight(ratios[column], all[row], epsilon)
        })
    };
    let mistakes: [(&'static str, Weight); 9] = [
        ("nothing is clipped", |r, a, _| r * a),
        (
            "the ratio is stopped on both sides, whatever the sign of A: who moved the wrong way has to come back",
            |r, a, e| if r == clip(r, e) { r * a } else { 0.0 },
        ),
        ("the ratio is forgotten: its gradient is ratio·∇ln p", |r, a, e| {
            if clip(r, e) * a < r * a { 0.0 } else { a }
        }),
        ("the clipped number is the weight: what is held where it is has no gradient", kept),
        ("the min is left out: clip(ratio)·A is the weight", |r, a, e| clip(r, e) * a),
        ("max stands in place of min", |r, a, e| if clip(r, e) * a > r * a { 0.0 } else { r * a }),
        (
            "an answer with A below 0 is clipped as one with A above 0: it has gone far enough below 1 − ε, not above 1 + ε",
            |r, a, e| if r > 1.0 + e { 0.0 } else { r * a },
        ),
        (
            "an answer with A above 0 is clipped as one with A below 0: it has gone far enough above 1 + ε, not below 1 − ε",
            |r, a, e| if r < 1.0 - e { 0.0 } else { r * a },
        ),
        ("the sign is turned: J is to grow, it is no loss", |r, a, e| {
            if clip(r, e) * a < r * a { 0.0 } else { -r * a }
        }),
    ];
    let mistakes = mistakes.map(|(what, weight)| mistake(what, table(weight)));
    check("the weight of each ratio (columns) and A (rows)", table(clipped), want, &mistakes);
}

#[test]
fn clipped_by_hand() {
    let want = arr2(&[[1.0, 1.8, 2.2, 0.0], [0.0, -1.8, -2.2, -3.0]]);
    check_weights(&[0.5, 0.9, 1.1, 1.5], &[2.0, -2.0], 0.2, want);
}

#[test]
fn clipped_as_a_small_step_says() {
    let ratios = some(12, 5).mapv(|x: f64| (x / 2.0).exp()).to_vec();
    let all = some(6, 6).to_vec();
    for epsilon in [0.1, 0.2, 0.3] {
        // How much J grows when ln p does: the ratio is e to the difference of the two ln p.
        let want = Array2::from_shape_fn((all.len(), ratios.len()), |(row, column)| {
            let j = |h: f64| kept(ratios[column] * h.exp(), all[row], epsilon);
            (j(1e-6) - j(-1e-6)) / 2e-6
        });
        check_weights(&ratios, &all, epsilon, want);
    }
}
