//! Values of the pages of docs/concepts/ on heads, measured and mapped, and of the one on PyTorch's words.

use super::{Values, list};
use crate::docs::concepts::{map, pytorch, robust, wide};

pub fn add(values: &mut Values) {
    heads_off(values);
    words(values);
    let ways = pytorch::two_ways().unwrap();
    values.insert("torch.two_ways", ways.each_ref().map(wide).concat());
}

fn heads_off(values: &mut Values) {
    let (rows, [loss, facts]) = robust::table();
    values.insert("robust.whole", vec![loss, facts]);
    let of = |head: &str| rows.iter().find(|row| row.head == head).unwrap();
    let shown = rows.iter().flat_map(|row| {
        let name = row.head.parse::<f64>().unwrap();
        vec![name, loss + row.alone, ((loss + row.alone) / loss * 10.0).round() / 10.0, row.facts]
    });
    values.insert("robust.table", shown.collect());
    let (least, most) = (of("0.1"), of("0.0"));
    assert!(rows.iter().all(|row| least.alone <= row.alone && row.alone <= most.alone));
    let percent = (least.alone / loss * 100.0).round();
    values.insert("robust.least", vec![0.1, percent, least.facts]);
    values.insert("robust.most", vec![0.0, most.facts]);
    let second: Vec<f64> =
        rows.iter().filter(|r| r.head.starts_with('1')).map(|r| r.facts).collect();
    let ends = [
        second.iter().copied().fold(f64::MAX, f64::min),
        second.iter().copied().fold(0.0, f64::max),
    ];
    values.insert("robust.second", ends.to_vec());
    let first = |turn: usize| rows.iter().find(|row| row.turn == turn).unwrap();
    let three = [first(1), first(2), first(3)];
    let alone = three.map(|row| row.alone);
    let sum: f64 = alone.iter().sum();
    let names = three.map(|row| row.head.parse::<f64>().unwrap());
    values.insert("robust.names", names.to_vec());
    values.insert("robust.three", [alone.to_vec(), vec![sum, first(3).then]].concat());
    values.insert("robust.five", vec![first(5).facts_then]);
    let [one, four] = robust::error_of_votes();
    values.insert("robust.votes", vec![one, four]);
    values.insert("robust.question", vec![0.1, of("0.1").facts]);
    values.insert("robust.votes_by_hand", list![64, 16, 16, 1, 4]);
    assert_eq!(four, 64.0 / 16.0 / 16.0);
}

fn words(values: &mut Values) {
    let map = map::map();
    let gave = map.place("gave", 0);
    let [finn, lucy, giver] = [("Finn", 0), ("Lucy", 0), ("Finn", 1)].map(|(w, n)| map.place(w, n));
    let looks = |head: [usize; 2], key| {
        let name = head[0] as f64 + head[1] as f64 / 10.0;
        vec![name, map.weight(head, gave, key)]
    };
    let shown = [
        ([0, 0], finn),
        ([0, 0], lucy),
        ([0, 3], lucy),
        ([0, 3], finn),
        ([0, 1], giver),
        ([1, 0], lucy),
    ];
    values.insert("words.gave", shown.iter().flat_map(|&(head, key)| looks(head, key)).collect());
    for head in [0, 3] {
        assert!(map.weight([0, head], gave, finn) + map.weight([0, head], gave, lucy) > 0.9);
    }
    let the = map.place("the", 0);
    let [violet, silver] =
        ["violet", "silver"].map(|colour| map.weight([0, 0], the, map.place(colour, 0)));
    values.insert("words.colours", vec![0.0, violet, silver]);

    let named: [(&str, &[f64]); 6] = [
        ("", &[]),
        ("0.0", &[0.0]),
        ("0.3", &[0.3]),
        ("0.0,0.3", &[0.0, 0.3]),
        ("0.1", &[0.1]),
        ("1.0", &[1.0]),
    ];
    let rows = named.map(|(off, heads)| {
        let [lucy, finn] = map.expected(off);
        [heads, &[lucy, finn, 1.0 - lucy - finn]].concat()
    });
    values.insert("words.off", rows.concat());
    values.insert("words.clear", vec![1.0]);
    // What the page says about the table.
    let lucy = |off| map.expected(off)[0];
    assert!(lucy("0.0") > 0.7 && lucy("0.3") > 0.7 && lucy("0.0,0.3") < 0.1 && lucy("1.0") > 0.9);
    assert!(map.expected("0.1")[1] > 0.2);
}
