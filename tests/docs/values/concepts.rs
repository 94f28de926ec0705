//! Values of docs/concepts/: what the examples beside the pages compute. Those of heads and of PyTorch's words are in
//! `concept_heads.rs`.

use super::head::close;
use super::{Values, list, wide};
use crate::docs::concepts::{lookup, masks, order, products, scaling};
use llm_core::Tensor;

pub fn add(values: &mut Values) {
    queries_keys_values(values);
    root_d(values);
    positions(values);
    hidden(values);
    cross(values);
    two_products(values);
}

fn row<const N: usize>(matrix: &Tensor, i: usize) -> [f32; N] {
    let n = matrix.shape()[1];
    matrix.data()[i * n..i * n + N].try_into().unwrap()
}

fn queries_keys_values(values: &mut Values) {
    let found = lookup::run(1.0).unwrap();
    let of = |word| [&found.q, &found.k, &found.v].map(|m| wide(&row::<2>(m, word))).concat();
    values.insert("qkv.vectors", (0..3).flat_map(of).collect());

    let it = 2;
    let q = row::<2>(&found.q, it);
    let p = row::<3>(&found.p, it);
    let mut shown = Vec::new();
    let mut sum = 0.0;
    for j in 0..3 {
        let k = row::<2>(&found.k, j);
        let score = found.scores.data()[3 * it + j];
        sum += score.exp();
        shown.extend(list![q[0], k[0], q[1], k[1], score, score.exp()]);
    }
    shown.push(f64::from(sum));
    shown.extend(wide(&p));
    for c in 0..2 {
        let v = [0, 1, 2].map(|j| row::<2>(&found.v, j)[c]);
        shown.extend((0..3).flat_map(|j| list![p[j], v[j]]));
        shown.push(f64::from(found.y.data()[2 * it + c]));
    }
    values.insert("qkv.row", shown);
    let [cat, mat] = [row::<3>(&found.p, 0), row::<3>(&found.p, 1)];
    values.insert("qkv.mutual", list![cat[1], mat[0]]);
    let loud = (0..4u8).flat_map(|times| {
        let p = lookup::run(times.into()).unwrap().p;
        list![times, 0, row::<3>(&p, it)[0]]
    });
    values.insert("qkv.loud", loud.collect());
    values.insert("qkv.question", list![p[1], 10, p[1] * 10.0]);
}

fn root_d(values: &mut Values) {
    let signs = scaling::sums_of_four_signs();
    let cases: u32 = signs.iter().map(|(_, times)| times).sum();
    let squares = |&(sum, times): &(i32, u32)| (sum * sum) as u32 * times;
    let all: u32 = signs.iter().map(squares).sum();
    // The heading of the third column has a square in words.
    let rows = signs.iter().flat_map(|row| list![row.0, row.1, squares(row)]);
    values.insert("root.signs", rows.chain(list![cases, all]).collect());
    values.insert("root.four", list![4]);
    values.insert("root.variance", list![0, all, cases, all / cases]);
    assert_eq!(all / cases, 4);

    let share = |score: f64| {
        let p = 1.0 / (1.0 + (-score).exp());
        [score, p, p * (1.0 - p)]
    };
    let two = [4.0, 16.0, 64.0f64].iter().flat_map(|&d| {
        let root = d.sqrt();
        [vec![d], share(root).to_vec(), share(1.0).to_vec()].concat()
    });
    values.insert("root.two", list![1, 1, 1].into_iter().chain(two).collect());

    let measured = scaling::WIDTHS.iter().flat_map(|&d| {
        let raw = scaling::measure(d, 1.0).unwrap();
        let divided = scaling::measure(d, (d as f32).sqrt()).unwrap();
        let pairs = [[raw.variance, divided.variance], [raw.largest, divided.largest]];
        let gradients = [raw.gradient, divided.gradient];
        [vec![d as f64], pairs.concat(), gradients.to_vec()].concat()
    });
    values.insert("root.measured", measured.collect());
    let c = 64;
    let heads = [1, 4, 16].map(|h| {
        let d = c / h;
        let [by_c, by_d] = [c, d].map(|n| scaling::measure(d, (n as f32).sqrt()).unwrap());
        vec![h as f64, d as f64, by_c.variance, by_c.largest, by_d.variance, by_d.largest]
    });
    values.insert("root.heads", heads.concat());
    values.insert("root.width", list![c as u32]);
    values.insert("root.question", list![9, 1, 3, 1]);
}

fn positions(values: &mut Values) {
    const BITES: usize = 1;
    let sentence = |words: [usize; 3]| {
        let read = order::read(words, false).unwrap();
        let p = row::<3>(&read.p, 1);
        let mut shown = Vec::new();
        for (place, word) in words.into_iter().enumerate() {
            let [q, k] = [order::WTE[BITES], order::WTE[word]];
            let score = q[0] * k[0] + q[1] * k[1];
            shown.extend(list![q[0], k[0], q[1], k[1], score, score.exp(), p[place]]);
        }
        shown.extend(wide(&row::<2>(&read.y, 1)));
        shown
    };
    let [one, other] = order::ORDERS;
    values.insert("order.without", [sentence(one), sentence(other)].concat());
    let dog = order::output(one, false, 0);
    close(&dog, &order::output(other, false, 0));
    values.insert("order.dog", wide(&dog));

    let with = order::ORDERS.map(|words| {
        let x = order::read(words, true).unwrap().x;
        let of = |word| wide(&row::<2>(&x, words.iter().position(|&w| w == word).unwrap()));
        [of(0), of(1), of(2), wide(&order::output(words, true, BITES))].concat()
    });
    values.insert("order.with", with.concat());
    let read = order::read(one, true).unwrap();
    let x = row::<2>(&read.x, 1);
    let scores = [0, 1, 2].map(|i| {
        let key = row::<2>(&read.x, i);
        x[0] * key[0] + x[1] * key[1]
    });
    let own = list![x[0], x[0], x[1], x[1], scores[1], scores[0], scores[2]];
    values.insert("order.question", [own, list![row::<3>(&read.p, 1)[1]]].concat());
}

fn hidden(values: &mut Values) {
    let [all, two] = masks::weights().unwrap();
    let s = masks::SCORES;
    values.insert("mask.scores", wide(&s));
    let e = s.map(f32::exp);
    let shown = [wide(&e), wide(&all), list![e[0], e[1], 0], wide(&two)];
    values.insert("mask.weights", shown.concat());
    values.insert("mask.trap", list![0, all[0], all[1], all[0] + all[1], 1]);
}

fn cross(values: &mut Values) {
    let all = masks::cross().unwrap();
    let p = |head: usize| -> [f32; 3] {
        all.weights.data()[6 * head..6 * head + 3].try_into().unwrap()
    };
    let (query, key, value) = (
        [2.0f32, 0.0],
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0f32]],
        [[10.0, 0.0], [0.0, 10.0], [5.0, 5.0f32]],
    );
    let out = row::<2>(&all.output, 0);
    let mut shown = Vec::new();
    for (h, (q, y)) in query.into_iter().zip(out).enumerate() {
        shown.extend(list![h as u32, 0]);
        for k in key.map(|key| key[h]) {
            shown.extend(if h == 0 { list![q, k, q * k] } else { list![q * k] });
        }
        shown.extend(wide(&p(h)));
        (0..3).for_each(|j| shown.extend(list![p(h)[j], value[j][h]]));
        shown.push(f64::from(y));
    }
    values.insert("mask.cross", shown);
    close(&row::<2>(&all.output, 1), &[out[1], out[0]]);
    values.insert("mask.out", [list![0], wide(&out), list![1]].concat());
}

fn two_products(values: &mut Values) {
    let (x, w) = (products::vectors(), products::directions());
    let [projected, compared] = products::both().unwrap();
    let v = [0, 1, 2].map(|i| row::<2>(&x, i));
    let length = v.map(|v| (v[0] * v[0] + v[1] * v[1]).sqrt());
    assert!(length.iter().all(|l| (l - length[0]).abs() < 1e-6));
    values.insert("prod.length", list![length[0]]);
    let a = v[0];
    let mut dots = v.concat();
    for (j, other) in v.iter().enumerate() {
        dots.extend([a[0], other[0], a[1], other[1], compared.data()[j]]);
    }
    values.insert("prod.dots", wide(&dots));
    let cosine = compared.data()[1] / (length[0] * length[1]);
    values.insert("prod.cosine", list![length[0] * length[1], cosine, compared.data()[1]]);
    let columns = [0, 1].map(|j| [w.data()[j], w.data()[2 + j]]);
    values.insert("prod.directions", wide(&columns.concat()));
    let mut shown = Vec::new();
    for (i, v) in v.iter().enumerate() {
        for column in columns {
            // The page writes the second product with its sign outside.
            shown.extend([v[0], column[0].abs(), v[1].abs(), column[1].abs()]);
        }
        shown.extend(row::<2>(&projected, i));
    }
    values.insert("prod.projected", wide(&shown));
    values.insert("prod.compared", wide(compared.data()));

    let [q, k, scores, _] = products::learned().unwrap();
    values.insert("prod.learned", [wide(q.data()), wide(k.data()), wide(scores.data())].concat());
    values.insert("prod.sides", list![scores.data()[1], scores.data()[3]]);
    let turned = columns[1].map(|c| -c);
    let last = row::<2>(&projected, 2);
    let question = [wide(&turned), wide(&[last[0], -last[1]])];
    values.insert("prod.question", question.concat());
}
