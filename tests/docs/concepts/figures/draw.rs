//! Each figure: what stands where, and its words in both languages.

use super::svg::{COLOURS, Grid, Picture};
use super::words::map_of_words;
use super::{curves, modern};
use crate::docs::concepts::{
    adapters, embedding, lookup, masks, mlp, next, order, products, pytorch, residual, robust,
    scaling, softmax,
};
use llm_core::{Tensor, ops};

type Draw = fn(usize) -> String;

pub const ALL: [(&str, Draw); 22] = [
    ("lookup", lookup_figure),
    ("root_d", root_d),
    ("order", order_figure),
    ("masks", masks_figure),
    ("products", products_figure),
    ("robust", robust_figure),
    ("view_and_transpose", view_and_transpose),
    ("map_of_words", map_of_words),
    ("heads_and_wo", heads_and_wo),
    ("rotary", modern::rotary),
    ("groups", modern::groups),
    ("window", modern::window),
    ("next", next_figure),
    ("softmax", softmax_figure),
    ("embedding", embedding_figure),
    ("mlp", mlp_figure),
    ("residual", residual_figure),
    ("overfitting", curves::overfitting),
    ("race", curves::race),
    ("cause", curves::cause),
    ("adapters", adapters_figure),
    ("rewards", curves::rewards),
];

const NONE: &[&str] = &[];

fn plain<'a>(
    title: &'a str,
    rows: &'a [&'a str],
    columns: &'a [&'a str],
    matrix: &'a Tensor,
) -> Grid<'a> {
    Grid { title, rows, columns, matrix, shares: false }
}

fn shares<'a>(
    title: &'a str,
    rows: &'a [&'a str],
    columns: &'a [&'a str],
    matrix: &'a Tensor,
) -> Grid<'a> {
    Grid { title, rows, columns, matrix, shares: true }
}

fn next_figure(language: usize) -> String {
    let title = ["The shares of the next letter", "下一个字母的份额"][language];
    let mut picture = Picture::new(960.0, 230.0, title);
    let names = [
        ["nothing learned", "one lesson: b after a", "the text, 200 times"],
        ["什么都没学", "一课：a 后面是 b", "整段文本 200 遍"],
    ][language];
    let (once, scores, _) = next::learned().unwrap();
    let stages = [next::nothing_known().unwrap(), once, scores];
    for (i, (name, scores)) in names.iter().zip(&stages).enumerate() {
        let found = next::shares(scores).unwrap();
        let at = [40.0 + 310.0 * i as f64, 70.0];
        picture.grid(at, &shares(name, &next::LETTERS, &next::LETTERS, &found));
    }
    picture.finish()
}

fn softmax_figure(language: usize) -> String {
    let title = ["Four scores become shares", "四个分数变成份额"][language];
    let mut picture = Picture::new(800.0, 130.0, title);
    let names = [
        ["a quarter of the scores", "as they are", "four times as much"],
        ["四分之一", "原样", "四倍"],
    ][language];
    let labels = softmax::SCORES.map(|score| format!("{score}"));
    let labels = labels.each_ref().map(String::as_str);
    for (i, (name, times)) in names.into_iter().zip([0.25, 1.0, 4.0]).enumerate() {
        let found = softmax::shares(softmax::SCORES, times).unwrap();
        picture.grid([30.0 + 256.0 * i as f64, 70.0], &shares(name, NONE, &labels, &found));
    }
    picture.finish()
}

fn embedding_figure(language: usize) -> String {
    const SIDE: f64 = 260.0;
    let title = ["Rows of letters as points", "字母的行画成点"][language];
    let mut picture = Picture::new(720.0, 350.0, title);
    let names = [["before", "after 300 times"], ["之前", "300 遍之后"]][language];
    for (i, (name, passes)) in names.into_iter().zip([0, embedding::PASSES]).enumerate() {
        let wte = embedding::learned(passes).unwrap();
        let (x, y) = (50.0 + 340.0 * i as f64, 60.0);
        picture.text([x + SIDE / 2.0, y - 20.0], "middle", 14, name);
        picture.rect([x, y], [SIDE, SIDE], COLOURS[0], 0.04);
        let middle = [x + SIDE / 2.0, y + SIDE / 2.0];
        picture.stroke([x, middle[1]], [x + SIDE, middle[1]], COLOURS[0], 0.5);
        picture.stroke([middle[0], y], [middle[0], y + SIDE], COLOURS[0], 0.5);
        for (letter, row) in next::LETTERS.iter().zip(wte.data().chunks_exact(2)) {
            // A unit is 45 points long; y points up.
            let place = |at: f64, step: f32| ((at + 45.0 * f64::from(step)) * 10.0).round() / 10.0;
            let at = [place(middle[0], row[0]), place(middle[1], -row[1])];
            let corner = at.map(|x| ((x - 3.0) * 10.0).round() / 10.0);
            picture.rect(corner, [6.0, 6.0], COLOURS[1], 1.0);
            let right = ((at[0] + 8.0) * 10.0).round() / 10.0;
            picture.text([right, at[1] + 5.0], "start", 14, letter);
        }
    }
    picture.finish()
}

fn mlp_figure(language: usize) -> String {
    let title =
        ["An MLP of two hidden numbers, and a norm", "两个隐藏数的 MLP，以及归一化"][language];
    let mut picture = Picture::new(960.0, 210.0, title);
    let names = [
        ["p, q", "hidden", "after GELU", "y", "a row", "its norm"],
        ["p, q", "隐藏的数", "GELU 之后", "y", "一行", "归一化之后"],
    ][language];
    let [hidden, act, y] = mlp::exactly_one().unwrap();
    let x = super::super::rows(mlp::CASES);
    for (i, (name, of)) in names.into_iter().zip([&x, &hidden, &act, &y]).enumerate() {
        picture.grid([20.0 + 134.0 * i as f64, 60.0], &plain(name, NONE, NONE, of));
    }
    let row = super::super::rows(mlp::ROW.map(|x| [x]));
    let normed = mlp::normed(1.0).unwrap();
    let normed = Tensor::from_vec(&[4, 1], normed.data().to_vec()).unwrap();
    picture.grid([680.0, 60.0], &plain(names[4], NONE, NONE, &row));
    picture.text([774.0, 118.0], "middle", 18, "→");
    picture.grid([820.0, 60.0], &plain(names[5], NONE, NONE, &normed));
    picture.finish()
}

fn residual_figure(language: usize) -> String {
    let title = ["What two layers add to the stream", "两层给残差流加上什么"][language];
    let mut picture = Picture::new(1000.0, 250.0, title);
    let names = [
        ["is", "before: layer 0 adds", "layer 1 looks", "next: layer 1 adds"],
        ["自己", "前一个：第 0 层加的", "第 1 层看哪里", "下一个：第 1 层加的"],
    ][language];
    let letters: Vec<String> = residual::TEXTS[0].chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    let stream = residual::read(residual::TEXTS[0]).unwrap();
    let pair = |from: usize| {
        let rows = stream.x[2].data().chunks_exact(6);
        Tensor::from_vec(&[6, 2], rows.flat_map(|r| r[from..from + 2].to_vec()).collect()).unwrap()
    };
    let [is, before, next] = [residual::IS, residual::BEFORE, residual::NEXT].map(pair);
    picture.grid([50.0, 70.0], &plain(names[0], &letters, NONE, &is));
    picture.grid([220.0, 70.0], &plain(names[1], &letters, NONE, &before));
    picture.grid([400.0, 70.0], &shares(names[2], &letters, &letters, &stream.p[1]));
    picture.grid([800.0, 70.0], &plain(names[3], &letters, NONE, &next));
    picture.finish()
}

fn lookup_figure(language: usize) -> String {
    let found = lookup::run(1.0).unwrap();
    let words = &lookup::WORDS[..];
    let title = ["Three words: questions, labels, contents", "三个词：提问、标签、内容"][language];
    let mut picture = Picture::new(720.0, 330.0, title);
    let names = [
        ["q: what it asks", "k: what it is found by", "S = q·kᵀ"],
        ["q：它问什么", "k：凭什么被找到", "S = q·kᵀ"],
    ][language];
    picture.grid([70.0, 60.0], &plain(names[0], words, NONE, &found.q));
    picture.grid([280.0, 60.0], &plain(names[1], words, NONE, &found.k));
    picture.grid([490.0, 60.0], &plain(names[2], words, words, &found.scores));
    let names = [
        ["P: shares", "v: what it hands over", "Y = P·v"],
        ["P：份额", "v：它交出什么", "Y = P·v"],
    ][language];
    picture.grid([70.0, 210.0], &shares(names[0], words, words, &found.p));
    picture.text([252.0, 253.0], "middle", 18, "·");
    picture.grid([335.0, 210.0], &plain(names[1], words, NONE, &found.v));
    picture.text([460.0, 253.0], "middle", 18, "=");
    picture.grid([530.0, 210.0], &plain(names[2], words, NONE, &found.y));
    picture.finish()
}

fn root_d(language: usize) -> String {
    let measured = |divided: bool| {
        scaling::WIDTHS
            .map(|d| scaling::measure(d, if divided { (d as f32).sqrt() } else { 1.0 }).unwrap())
    };
    let [raw, divided] = [false, true].map(measured);
    let title =
        ["What the length D does, without and with the division", "长度 D 的影响，除之前与除之后"]
            [language];
    let names = [["q·k", "q·k / √D"]; 2][language];
    let labels = scaling::WIDTHS.map(|d| format!("D = {d}"));
    let mut picture = Picture::new(760.0, 260.0, title);
    let panels = [
        ["largest weight of 16", "gradient of the middle row"],
        ["16 个权重里最大的", "居中一行的梯度"],
    ][language];
    let largest = [raw.map(|m| m.largest), divided.map(|m| m.largest)];
    let gradient = [raw.map(|m| m.gradient), divided.map(|m| m.gradient)];
    for (i, (of, most)) in [(largest, 1.0), (gradient, 0.4)].into_iter().enumerate() {
        let series = [(names[0], &of[0][..]), (names[1], &of[1][..])];
        picture.bars([80.0 + 370.0 * i as f64, 76.0], panels[i], &labels, series, most);
    }
    picture.finish()
}

fn order_figure(language: usize) -> String {
    let title = ["Two orders, without and with positions", "两种词序，没有位置与有位置"][language];
    let mut picture = Picture::new(760.0, 370.0, title);
    let panels = [["without positions", "with positions"], ["没有位置", "有位置"]][language];
    for (i, positions) in [false, true].into_iter().enumerate() {
        for (n, order) in order::ORDERS.into_iter().enumerate() {
            let words = order.map(|word| order::WORDS[word]);
            let read = order::read(order, positions).unwrap();
            let (x, y) = (70.0 + 370.0 * n as f64, 90.0 + 160.0 * i as f64);
            picture.grid([x, y], &shares(&format!("P, {}", panels[i]), &words, &words, &read.p));
            picture.grid([x + 180.0, y], &plain("Y", NONE, NONE, &read.y));
        }
    }
    for (n, order) in order::ORDERS.into_iter().enumerate() {
        let words = order.map(|word| order::WORDS[word]);
        picture.text([215.0 + 370.0 * n as f64, 30.0], "middle", 15, &words.join(" "));
    }
    picture.finish()
}

fn masks_figure(language: usize) -> String {
    let title = [
        "Masks: 1 is seen, 0 is hidden; and looking into another text",
        "掩码：1 看得见，0 遮住；以及看另一段文本",
    ];
    let mut picture = Picture::new(760.0, 310.0, title[language]);
    let [causal, padding, both] = masks::masks();
    let second = |mask: &llm_core::ndarray::ArrayD<f32>| {
        Tensor::new(mask.index_axis(llm_core::ndarray::Axis(0), 1).to_owned())
    };
    let padding = ops::broadcast_to(&second(&padding), &[3, 3]).unwrap();
    let names =
        [["causal", "padding in place 2", "both"], ["因果", "位置 2 是填充", "两者"]][language];
    let places = &["0", "1", "2"][..];
    let grids = [(names[0], Tensor::new(causal)), (names[1], padding), (names[2], second(&both))];
    for (i, (name, mask)) in grids.iter().enumerate() {
        picture.grid([60.0 + 240.0 * i as f64, 60.0], &shares(name, places, places, mask));
    }
    let all = masks::cross().unwrap();
    let names = [
        ["head 0: two queries, three keys", "head 1", "out"],
        ["头 0：两个查询，三个键", "头 1", "输出"],
    ][language];
    for head in 0..2 {
        let p =
            Tensor::from_vec(&[2, 3], all.weights.data()[6 * head..6 * head + 6].to_vec()).unwrap();
        picture.grid(
            [60.0 + 240.0 * head as f64, 220.0],
            &shares(names[head], &["0", "1"], places, &p),
        );
    }
    picture.grid([540.0, 220.0], &plain(names[2], &["0", "1"], NONE, &all.output));
    picture.finish()
}

fn products_figure(language: usize) -> String {
    let title =
        ["Projection and comparison: the same operation", "投影与比较：同一种运算"][language];
    let mut picture = Picture::new(720.0, 310.0, title);
    let words = &["a", "b", "c"][..];
    let names = [
        ["x: three words", "W: learned", "x·W: projected"],
        ["x：三个词", "W：学来的", "x·W：投影"],
    ][language];
    let (x, w) = (products::vectors(), products::directions());
    let [projected, compared] = products::both().unwrap();
    let turned = ops::transpose(&x, 0, 1).unwrap();
    picture.grid([60.0, 60.0], &plain(names[0], words, NONE, &x));
    picture.grid([270.0, 60.0], &plain(names[1], NONE, NONE, &w));
    picture.grid([500.0, 60.0], &plain(names[2], words, NONE, &projected));
    let names = [
        ["x: three words", "xᵀ: the same words", "x·xᵀ: compared"],
        ["x：三个词", "xᵀ：同样的词", "x·xᵀ：比较"],
    ][language];
    picture.grid([60.0, 205.0], &plain(names[0], words, NONE, &x));
    picture.grid([270.0, 205.0], &plain(names[1], NONE, words, &turned));
    picture.grid([500.0, 205.0], &plain(names[2], words, words, &compared));
    for y in [92.0, 243.0] {
        picture.text([215.0, y], "middle", 18, "·");
        picture.text([460.0, y], "middle", 18, "=");
    }
    picture.finish()
}

fn adapters_figure(language: usize) -> String {
    let title =
        ["A matrix that stays, and a pair beside it", "不动的矩阵，和它旁边的一对"][language];
    let mut picture = Picture::new(775.0, 170.0, title);
    let names = [
        ["W: stays", "A: asks", "B: follows", "W + ΔW"],
        ["W：不动", "A：提问", "B：随之而来", "W + ΔW"],
    ][language];
    let [[a, b, _], _] = adapters::products().unwrap();
    let merged = adapters::matrix(&adapters::model(adapters::B).unwrap().merged());
    picture.grid([30.0, 60.0], &plain(names[0], NONE, NONE, &adapters::w()));
    picture.grid([272.0, 60.0], &plain(names[1], NONE, NONE, &a));
    picture.grid([362.0, 86.0], &plain(names[2], NONE, NONE, &b));
    picture.grid([580.0, 60.0], &plain(names[3], NONE, NONE, &merged));
    for (x, sign) in [(232.0, "+ 2 ·"), (344.0, "·"), (552.0, "=")] {
        picture.text([x, 105.0], "middle", 18, sign);
    }
    picture.finish()
}

fn robust_figure(language: usize) -> String {
    let (rows, [loss, _]) = robust::table();
    let title = ["What the loss is without a head", "少一个头时的损失"][language];
    let names = [["all heads on", "this one off"], ["全部的头", "关掉这一个"]][language];
    let head = ["head", "头"][language];
    let labels: Vec<String> = rows.iter().map(|row| format!("{head} {}", row.head)).collect();
    let (whole, without): (Vec<f64>, Vec<f64>) =
        rows.iter().map(|row| (loss, loss + row.alone)).unzip();
    let mut picture = Picture::new(420.0, 420.0, title);
    let series = [(names[0], &whole[..]), (names[1], &without[..])];
    picture.bars([90.0, 76.0], title, &labels, series, 1.2);
    picture.finish()
}

fn heads_and_wo(language: usize) -> String {
    let title = ["One head, then the output matrix", "一个头，然后输出矩阵"][language];
    let mut picture = Picture::new(780.0, 190.0, title);
    let names =
        [["P, head 0", "V, head 0", "A", "A·W_o"], ["P，头 0", "V，头 0", "A", "A·W_o"]][language];
    let [p, v, a, out] = crate::docs::values::why::corner();
    let grids = [
        shares(names[0], NONE, NONE, &p),
        plain(names[1], NONE, NONE, &v),
        plain(names[2], NONE, NONE, &a),
        plain(names[3], NONE, NONE, &out),
    ];
    for (i, grid) in grids.iter().enumerate() {
        let x = 20.0 + 192.0 * i as f64;
        picture.grid([x, 60.0], grid);
        picture.text([x - 15.0, 104.0], "middle", 18, ["", "·", "=", "→"][i]);
    }
    let said = [
        "the first three positions and channels of [16, 16], [16, 128], [16, 512], [16, 512]",
        "[16, 16]、[16, 128]、[16, 512]、[16, 512] 的前三个位置和通道",
    ][language];
    picture.text([390.0, 168.0], "middle", 12, said);
    picture.finish()
}

fn view_and_transpose(language: usize) -> String {
    let title = ["reshape is not transpose", "reshape 不是 transpose"][language];
    let mut picture = Picture::new(600.0, 200.0, title);
    let [x, reshaped, turned] = pytorch::two_ways().unwrap();
    let names = [["x [2, 3]", "reshape [3, 2]", "transpose [3, 2]"]; 2][language];
    picture.grid([40.0, 70.0], &plain(names[0], NONE, NONE, &x));
    picture.grid([270.0, 70.0], &plain(names[1], NONE, NONE, &reshaped));
    picture.grid([440.0, 70.0], &plain(names[2], NONE, NONE, &turned));
    let said = [["the same numbers in a row", "rows become columns"], ["数的次序不变", "行变成列"]]
        [language];
    picture.text([324.0, 172.0], "middle", 12, said[0]);
    picture.text([494.0, 172.0], "middle", 12, said[1]);
    picture.finish()
}
