//! The page on numbers and precision: bf16 by hand, small weights by hand.

use super::performance::{flatten, measured};
use super::{Values, list, wide};
use llm_core::kernels::gemm::bf16::number::{GROUP, round, widen};
use llm_core::kernels::gemm::{Execution, Precision, Threads, gemm, matrix, matrix_mut};
use llm_core::kernels::small::block::{Rounded, WIDTH};
use llm_core::kernels::small::{SmallKind, SmallMatrix, Stored, add_product};

/// The nearest bf16.
fn nearest(x: f32) -> f32 {
    widen(round(x))
}

/// Bits, read as a decimal number.
fn digits(bits: u16) -> f64 {
    format!("{bits:b}").parse().unwrap()
}

pub fn add(values: &mut Values) {
    let fields = |x: f32| {
        let bits = round(x);
        let [sign, exponent, behind] = [bits >> 15, bits >> 7 & 0xff, bits & 0x7f];
        let sized = (1.0 + f64::from(behind) / 128.0) * 2f64.powi(i32::from(exponent) - 127);
        assert_eq!(f64::from(x).abs(), sized);
        [x.into(), digits(sign), digits(exponent), digits(behind), exponent.into(), behind.into()]
    };
    let shown = [1.0f32, 1.0078125, 3.140625, -0.5];
    values.insert("precision.bits", shown.into_iter().flat_map(fields).collect());
    values.insert("precision.formula", list![1, 128, 2, 127]);
    let (below, above) = (f32::from_bits(0x3f7f_0000), f32::from_bits(0x3f81_0000));
    assert_eq!([nearest(below), nearest(above)], [below, above]);
    values.insert("precision.neighbours", list![below, above]);
    values.insert("precision.steps", list![1, f64::from(f32::EPSILON), above - 1.0, 65_536]);
    assert_eq!((above - 1.0) / f32::EPSILON, 65_536.0);
    let rows = [1.003f32, 1.005, 1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, 0.1, 257.0];
    let between = |x: f32| {
        let low = widen((x.to_bits() >> 16) as u16);
        let high = widen((x.to_bits() >> 16) as u16 + 1);
        assert!(low < x && x < high);
        [x, low, high, nearest(x)].map(f64::from)
    };
    values.insert("precision.rounding", rows.into_iter().flat_map(between).collect());
    values.insert("precision.worst", list![100.0 / 256.0]);
    values.insert("precision.sum", list![256, 1, 256]);
    let [f16, bf16] = [Precision::F16, Precision::Bf16].map(|kind| kind.bits() as f64);
    values.insert("precision.f16", vec![f16, bf16]);
    let rounded = |x: f32| {
        let (mut c, work) = ([0.0], Execution { precision: Precision::F16, ..Threads::One.into() });
        gemm(1.0, matrix(&[x], 1, 1), matrix(&[1.0], 1, 1), 0.0, matrix_mut(&mut c, 1, 1), work);
        c[0]
    };
    let least = (0..99).take_while(|&e| rounded(2f32.powi(-e)) > 0.0).last().unwrap();
    let most = (0..70_000).rev().map(|n| n as f32).find(|&n| rounded(n) == n).unwrap();
    values.insert("precision.f16_range", vec![2.0, f64::from(-least), 0.0, f64::from(most)]);
    // The first number is the name of a processor's generation.
    values.insert("precision.orders", list![4, 2 * GROUP as u32]);
    assert_eq!(nearest(257.0), 256.0);

    let bits_of = |bytes: usize| (bytes * 8) as f64 / WIDTH as f64;
    let matrices = [[768, 2304], [768, 768], [768, 3072], [3072, 768]];
    let bytes = |kind: SmallKind| {
        // The head and the first of a block stay in 8 bits.
        let finer = if kind == SmallKind::Q4 { SmallKind::Q8 } else { kind };
        let [qkv, others @ ..] = matrices;
        let others: u64 = others.iter().map(|shape| SmallMatrix::bytes(kind, *shape)).sum();
        12 * (SmallMatrix::bytes(finer, qkv) + others) + SmallMatrix::bytes(finer, [768, 50257])
    };
    let weights = 12 * matrices.iter().map(|[k, n]| k * n).sum::<usize>() + 768 * 50257;
    let mut sizes = list![32, (4 * weights) as u32 / 1_000_000];
    sizes.splice(0..0, [WIDTH as f64, 4.0 * WIDTH as f64]);
    for kind in SmallKind::ALL {
        let megabytes = (bytes(kind) as f64 / 1e6).round();
        sizes.extend([kind.block_bytes() as f64, bits_of(kind.block_bytes()), megabytes]);
    }
    values.insert("precision.sizes", sizes);
    values.insert("precision.group_and_scale", list![WIDTH as u32, u16::BITS]);

    let steps = f64::from(i16::MAX);
    let finer = (steps / 127.0).round();
    values.insert("precision.inputs", vec![WIDTH as f64, i16::BITS.into(), steps, finer]);

    let llama_cpp = &measured()["llama_cpp"];
    for (key, of) in
        [("precision.llama_cpp", llama_cpp), ("precision.llama_cpp_newer", &llama_cpp["newer"])]
    {
        let mut rows = Vec::new();
        flatten(&of["rows"], &mut rows);
        values.insert(key, rows);
    }

    let row = [0.9f32, -0.31, 0.05, -1.27];
    let x = [1.0f32, 2.0, -1.0, 0.5];
    let mut whole = [0.0; WIDTH];
    whole[..row.len()].copy_from_slice(&row);
    let kept = |kind: SmallKind, zero: i32| {
        let Rounded { scale, steps } = kind.round(&whole);
        let steps = steps.map(|step| (i32::from(step) - zero, kind.number(scale, step)));
        let largest = steps[3];
        (largest.1 / largest.0 as f32, steps)
    };
    let ((d8, q8), (d4, q4)) = (kept(SmallKind::Q8, 128), kept(SmallKind::Q4, 8));
    values.insert("precision.row", wide(&row));
    values.insert("precision.q8_scale", list![1.27, 127, 1.27 / 127.0, d8]);
    values.insert("precision.q4_scale", list![-1.27, -8, 1.27 / 8.0, d4]);
    let rows = (0..row.len()).flat_map(|i| {
        let small = [q8[i].0 as f32, q8[i].1, q4[i].0 as f32, q4[i].1];
        [&[row[i], nearest(row[i])][..], &small].concat()
    });
    values.insert("precision.by_hand", rows.map(f64::from).collect());
    let exact: f32 = row.iter().zip(x).map(|(w, x)| w * x).sum();
    let product = |kind: SmallKind| {
        let w = SmallMatrix::new(kind, &row, [row.len(), 1], Stored::ByInput).unwrap();
        let mut y = [0.0];
        add_product(&mut y, &x, &w, 1, &mut Vec::new());
        y[0]
    };
    let products = SmallKind::ALL.map(product);
    values.insert("precision.x", wide(&x));
    values.insert(
        "precision.products",
        [&[exact][..], &products].concat().iter().map(|&y| y.into()).collect(),
    );
}
