//! Products of matrices that lie anywhere in a room, many at once.

use super::common::Tiles;
use super::half::BITS;
use super::units;
use crate::maker::{Maker, Target};
use crate::plan::{Call, Kernel, Room};

macro_rules! tiles {
    ($($tile:literal: $side:literal, $q:literal, $depth:literal;)+) => {
        [$((
            $tile,
            Kernel::new(
                "product",
                &[
                    concat!("const SIDE: u32 = ", $side, "u; const Q: u32 = ", $q, "u; const DEPTH: u32 = ", $depth, "u;\n"),
                    BITS,
                    include_str!("product.wgsl"),
                    include_str!("matmul.wgsl"),
                ],
            ),
        )),+]
    };
}

/// How A and B are read: numbers that begin anywhere, four at a time, or four that are stored as f16.
pub(super) const KINDS: [[&[&str]; 3]; 3] = {
    const A: [&str; 3] = [
        include_str!("a_by_one.wgsl"),
        include_str!("a_by_four.wgsl"),
        include_str!("a_by_half.wgsl"),
    ];
    const B: [&str; 3] = [
        include_str!("b_by_one.wgsl"),
        include_str!("b_by_four.wgsl"),
        include_str!("b_by_half.wgsl"),
    ];
    [
        [&[A[0], B[0]], &[A[0], B[1]], &[A[0], B[2]]],
        [&[A[1], B[0]], &[A[1], B[1]], &[A[1], B[2]]],
        [&[A[2], B[0]], &[A[2], B[1]], &[A[2], B[2]]],
    ]
};

const TILES: &Tiles = &tiles! {
    128: 16, 2, 8;
    64: 16, 1, 16;
    32: 8, 1, 16;
};

/// A matrix in a room, or one for each outer and inner number.
#[derive(Clone, Copy)]
pub(crate) struct View {
    room: Room,
    at: usize,
    /// From a row to the next, from a column to the next.
    strides: [usize; 2],
    /// From an outer number to the next, from an inner one to the next.
    steps: [usize; 2],
    /// Whether its numbers are stored as f16.
    is_half: bool,
}

impl View {
    /// A row-major matrix of `columns` columns that begins at `at`.
    pub(crate) fn of(room: Room, at: usize, columns: usize) -> View {
        View { room, at, strides: [columns, 1], steps: [0, 0], is_half: false }
    }

    pub(crate) fn stepping(self, steps: [usize; 2]) -> View {
        View { steps, ..self }
    }

    /// This view, of numbers that are stored as f16 if `is_half` says so.
    pub(crate) fn half(self, is_half: bool) -> View {
        View { is_half, ..self }
    }

    /// The place in [`KINDS`] of how a matrix of this size is read.
    fn kind(self, sizes: [usize; 2]) -> usize {
        let by_four = self.by_four(sizes);
        debug_assert!(by_four || !self.is_half, "numbers of 16 bits are read four at a time");
        usize::from(by_four) + usize::from(self.is_half)
    }

    /// Whether its numbers can be read four at a time, `[rows, columns]` of them.
    fn by_four(self, [rows, columns]: [usize; 2]) -> bool {
        let [row, column] = self.strides;
        let (along, across) = if column == 1 { (columns, row) } else { (rows, column) };
        let [outer, inner] = self.steps;
        [self.at, along, across, outer, inner].iter().all(|n| n % 4 == 0)
    }

    /// The transpose.
    pub(crate) fn t(self) -> View {
        let [row, column] = self.strides;
        View { strides: [column, row], ..self }
    }
}

/// What is known to be 0, and is not computed or not read.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Causal {
    No = 0,
    /// Only the lower triangle of C is wanted.
    Result = 1,
    /// A is a lower triangle.
    Left = 2,
    /// A is the transpose of one.
    LeftTransposed = 3,
}

/// What becomes of a product's numbers.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Plain,
    /// C is what an activation reads, and this room gets what it makes of it.
    Activated(&'static [&'static str], Room),
    /// C times an activation's slope at what that read, which lies there as C does in its own. As f16 it is stored times this.
    Slope(&'static [&'static str], Room, f32),
}

/// Pieces of text that end a product.
pub(crate) const PLAIN: &[&str] = &[include_str!("end_plain.wgsl")];

/// c (+)= α·a·b (+ bias + β·d).
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub c: View,
    pub a: View,
    pub b: View,
    /// M, N, K.
    pub sizes: [usize; 3],
    /// How many outer and inner ones.
    pub batch: [usize; 2],
    pub alpha: f32,
    pub causal: Causal,
    /// A number for each column, which begin here in a room.
    pub bias: Option<(Room, u32)>,
    /// β times a matrix of another room, which lies there as the result does in its own.
    pub plus: Option<(Room, f32)>,
    pub end: End,
    pub add: u32,
    /// Where the sums of B's columns go in C's room, as many as C has columns, behind one another for chunks as those are.
    pub sums: Option<Target<u32>>,
    /// Not 0: the outer numbers are chunks of so much of K.
    pub chunk: usize,
    /// What A and B are multiplied by before they are rounded to f16; their product is divided by it.
    pub f16: Option<[f32; 2]>,
}

impl Product {
    pub(crate) fn new(c: View, a: View, b: View, sizes: [usize; 3]) -> Product {
        Product {
            c,
            a,
            b,
            sizes,
            batch: [1, 1],
            alpha: 1.0,
            causal: Causal::No,
            bias: None,
            plus: None,
            end: End::Plain,
            add: 0,
            sums: None,
            chunk: 0,
            f16: None,
        }
    }

    pub(crate) fn call(self, maker: &mut Maker<'_>) {
        let units = self.f16.and(maker.units()).and_then(units::tiles);
        self.call_one_of(units.unwrap_or(TILES), units.is_some(), maker);
    }

    /// With the largest of these tiles that leaves enough of them for a device's many processors.
    fn call_one_of(self, all: &Tiles, by_units: bool, maker: &mut Maker<'_>) {
        let Product { c, a, b, sizes: [m, n, k], batch, add, chunk, f16, sums, .. } = self;
        let z = batch[0] * batch[1];
        let tiles = |tile: usize| [n.div_ceil(tile), m.div_ceil(tile)];
        let [times_a, times_b] = f16.unwrap_or([1.0; 2]);
        let fits = |tile: usize| tiles(tile).iter().product::<usize>() * z >= maker.on.groups;
        let (tile, kernel) =
            all.iter().find(|(tile, _)| fits(*tile)).unwrap_or(&all[all.len() - 1]);
        let kinds = KINDS[a.kind([m, k])][b.kind([k, n])];
        let [c_row, c_column] = c.strides;
        debug_assert_eq!(c_column, 1, "a result is row-major");
        let view = |v: View| [v.at, v.strides[0], v.strides[1], v.steps[0], v.steps[1]];
        let mut all: Vec<u32> = [m, n, k, batch[1]].map(|n| n as u32).to_vec();
        all.extend(view(a).into_iter().chain(view(b)).map(|n| n as u32));
        all.extend([c.at, c_row, c.steps[0], c.steps[1]].map(|n| n as u32));
        let flag = |is: bool, bit: u32| if is { bit } else { 0 };
        let plus = flag(self.bias.is_some(), 1) | flag(self.plus.is_some(), 2);
        let (d, beta) = self.plus.unwrap_or((b.room, 0.0));
        let (d, end, more, c_times) = match self.end {
            End::Plain => (d, PLAIN, None, 1.0),
            End::Activated(text, to) => (d, text, Some(to), 1.0),
            End::Slope(text, of, times) => (of, text, None, times),
        };
        let (bias, bias_at) = self.bias.unwrap_or((b.room, 0));
        all.extend([(self.alpha / (times_a * times_b)).to_bits(), plus]);
        all.extend([bias_at, beta.to_bits(), add]);
        all.extend([flag(sums.is_some(), 1), sums.map_or(0, |s| s.to), sums.map_or(0, |s| s.add)]);
        all.extend([self.causal as u32, chunk as u32]);
        all.extend([times_a.to_bits(), times_b.to_bits(), u32::from(f16.is_some() && !by_units)]);
        all.push(c_times.to_bits());
        let [x, y] = tiles(*tile).map(|n| n as u32);
        let rooms: Vec<Room> = [a.room, b.room, bias, d, c.room].into_iter().chain(more).collect();
        maker.call(Kernel { kinds, end, ..*kernel }, &all, &rooms, [x, y, z as u32]);
    }
}

/// What a product multiplies and adds, and the bytes of its operands, each once, from its sizes.
pub(crate) fn product_costs(call: &Call) -> [f64; 2] {
    let size = |i: usize| call.sizes.get(i).copied().unwrap_or_default();
    let [m, n, k, z] = [size(0), size(1), size(2), call.grid[2]].map(f64::from);
    let [plus, adds, causal, chunk] = [19, 22, 26, 27].map(size);
    let times = if chunk > 0 { 1.0 } else { z }; // chunks of k are of one product
    let triangle = if causal > 0 { 0.5 } else { 1.0 };
    let bytes = |piece: Option<&&str>| {
        let is_half = |text: &&str| text.contains("array<Stored>") || text.contains("f16_of(");
        let is_half = piece.is_some_and(is_half);
        if is_half { 2.0 } else { 4.0 }
    };
    let (end, kinds) = (call.kernel.end, call.kernel.kinds);
    // C, and what an end makes beside it or reads for it; D; C once more where it is added to.
    let of_c = bytes(end.last()) + if end.len() > 1 { 4.0 } else { 0.0 };
    let of_c = of_c + 4.0 * f64::from(u32::from(plus & 2 != 0) + adds);
    let operands = m * k * bytes(kinds.first()) + k * n * bytes(kinds.last());
    [2.0 * m * n * k * times * triangle, times * operands + z * m * n * of_c]
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::device::Gpu;
    use crate::layout::Layout;
    use crate::maker::Batches;
    use crate::plan::{Capacity, Part, Plan, Use};
    use crate::rule::Rule;
    use llm_core::{AdamW, Hyperparameters, Tensor};

    /// 2·x, of which a slope is said to be 3·x: each is told from the other, and from none.
    const TWICE: &[&str] =
        &["fn value(x: f32) -> f32 { return 2.0 * x; }\n", include_str!("end_activated.wgsl")];
    const TWICE_BACK: &[&str] =
        &["fn slope(x: f32) -> f32 { return 3.0 * x; }\n", include_str!("end_slope.wgsl")];

    const HALF: &[&str] =
        &["fn value(x: f32) -> f32 { return 2.0 * x; }\n", include_str!("end_activated_half.wgsl")];
    const HALF_BACK: &[&str] =
        &["fn slope(x: f32) -> f32 { return 3.0 * x; }\n", include_str!("end_slope_half.wgsl")];

    struct Draw(u64);

    impl Draw {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.0 >> 40
        }

        fn below(&mut self, n: usize) -> usize {
            self.next() as usize % n
        }

        /// Between 1/8 and 1 or their negatives: none is so small that some devices make 0 of it in f16.
        fn numbers(&mut self, n: usize) -> Vec<f32> {
            let mut next = || self.next() as f32 / (1 << 24) as f32 * 1.75 - 0.875;
            (0..n).map(|_| next()).map(|x| x + 0.125f32.copysign(x)).collect()
        }
    }

    /// The nearest number of 11 bits.
    fn f16(x: f32) -> f32 {
        if x.abs() < 1.0 / 16384.0 {
            return (x * 16_777_216.0).round_ties_even() / 16_777_216.0;
        }
        let bits = x.to_bits();
        f32::from_bits((bits + 0xfff + (bits >> 13 & 1)) & !0x1fff)
    }

    /// Numbers times `times` as f16, two in a word; none is small or large.
    fn packed(numbers: &[f32], times: f32) -> Vec<f32> {
        let half = |x: &f32| {
            let bits = f16(times * x).to_bits();
            (bits >> 16 & 0x8000) | ((bits & 0x7fff_ffff) - (112 << 23)) >> 13
        };
        let word =
            |two: &[f32]| f32::from_bits(half(&two[0]) | half(two.get(1).unwrap_or(&1.0)) << 16);
        numbers.chunks(2).map(word).collect()
    }

    /// The first `n` numbers of such words.
    fn unpacked(words: &[f32], n: usize) -> Vec<f32> {
        let halves = words.iter().flat_map(|w| [w.to_bits() & 0xffff, w.to_bits() >> 16]);
        let number = |h: u32| match h & 0x7fff {
            small if small < 0x400 => {
                small as f32 / if h > 0x7fff { -16_777_216.0 } else { 16_777_216.0 }
            }
            size => f32::from_bits(((h & 0x8000) << 16) | ((size << 13) + (112 << 23))),
        };
        halves.map(number).take(n).collect()
    }

    /// A product drawn, by one kernel alone; how far it is from a plain loop, relative to the size of its sums.
    fn off(gpu: &Gpu, draw: &mut Draw, kernels: &Tiles, by_units: bool, f16s: bool) -> f64 {
        let by = 1 + 3 * draw.below(2); // whether all can be read four at a time
        let [m, n, k] = [40, 40, 20].map(|most| by * (1 + draw.below(most)));
        let w = Tensor::parameter_from_vec(&[1, n], draw.numbers(n)).unwrap();
        let rule = Rule::of(&AdamW::new(Hyperparameters::default()).unwrap()).unwrap();
        let layout = Layout::new(&[("w".to_string(), &w)], &rule, &[], u64::MAX).unwrap();
        let mut maker =
            Maker::scoring(&layout, Batches { shape: [1, 1], vocab: 1 }, Capacity::default());
        maker.plan = Plan::default();
        let theta = maker.plan.room(n, Use::Given(w.data().to_vec()));
        maker.fixed.theta = vec![theta];
        let times = f16s.then_some([64.0, 0.5]);
        let [ta, tb] = times.unwrap_or([1.0; 2]);
        // As f16 it is, times this, where it can be.
        let mut given = |maker: &mut Maker<'_>, [rows, columns]: [usize; 2], half: Option<f32>| {
            let (gap, at) = (by * draw.below(3), by * draw.below(3));
            let numbers = draw.numbers(at + 2 * rows * (columns + gap));
            let half = half.filter(|_| f16s && by == 4 && draw.below(2) == 0);
            let words = half.map_or_else(|| numbers.clone(), |times| packed(&numbers, times));
            let room = maker.plan.room(words.len(), Use::Given(words));
            let step = rows * (columns + gap);
            let view = View::of(room, at, columns + gap).stepping([step, 0]).half(half.is_some());
            (view, numbers)
        };
        let (a, of_a) = if k % 2 == 0 {
            given(&mut maker, [m, k], Some(ta))
        } else {
            let (v, numbers) = given(&mut maker, [k, m], Some(ta));
            (v.t(), numbers)
        };
        let (b, of_b) = if n % 3 == 0 {
            let (v, numbers) = given(&mut maker, [n, k], Some(tb));
            (v.t(), numbers)
        } else {
            given(&mut maker, [k, n], Some(tb))
        };
        let (c, mut of_c) = given(&mut maker, [m + 1, n], Some(1.0)); // with a row for the sums of B's columns
        let of_d = draw.numbers(of_c.len());
        let d = maker.plan.room(of_d.len(), Use::Given(of_d.clone()));
        let e = View::of(maker.plan.room(of_c.len(), Use::Passing), 0, 1);
        let e = e.half(f16s && by == 4 && draw.below(2) == 0);
        let add = if c.is_half { 0 } else { draw.below(2) as u32 };
        let chunk = if draw.below(3) == 0 { 16 } else { 0 };
        let bias = (draw.below(2) == 0).then_some((theta, 0));
        let plus = (!c.is_half && draw.below(2) == 0).then_some((d, 0.5));
        let sums = (!c.is_half && draw.below(2) == 0)
            .then(|| Target { to: (c.at + m * c.strides[0]) as u32, add });
        let end = match draw.below(3) {
            _ if c.is_half => End::Slope(HALF_BACK, d, 0.5),
            0 if add == 0 => End::Activated(if e.is_half { HALF } else { TWICE }, e.room),
            1 if plus.is_none() => End::Slope(TWICE_BACK, d, 1.0),
            _ => End::Plain,
        };
        let sums = sums.filter(|_| matches!(end, End::Plain));
        let batch = if chunk > 0 { [k.div_ceil(chunk).min(2), 1] } else { [2, 1] };
        let still = |v: View| if chunk > 0 { v.stepping([0, 0]) } else { v };
        let (a, b) = (still(a), still(b));
        let product = Product {
            batch,
            bias,
            plus,
            end,
            add,
            sums,
            chunk,
            alpha: 0.25,
            f16: times,
            ..Product::new(c, a, b, [m, n, k])
        };
        product.call_one_of(kernels, by_units, &mut maker);
        maker.plan.end(Part::Gradient);
        let loaded = gpu.load(&maker.plan, &maker.plan.buffers(), &[]).unwrap();
        gpu.queue.submit([gpu.encode(&loaded, &maker.plan, &[Part::Gradient], None)]);
        let there = |v: View, n: usize| {
            let words =
                gpu.read(&loaded, v.room, if v.is_half { n.div_ceil(2) } else { n }).unwrap();
            if v.is_half { unpacked(&words, n) } else { words }
        };
        let (got, activated) = (there(c, of_c.len()), there(e, of_c.len()));
        if c.is_half {
            of_c = unpacked(&packed(&of_c, 1.0), of_c.len());
        }

        let read = |v: View, numbers: &[f32], z: usize, i: usize, j: usize, times: f32| {
            let x = times * numbers[v.at + z * v.steps[0] + i * v.strides[0] + j * v.strides[1]];
            f64::from(if f16s { f16(x) } else { x })
        };
        let (mut wanted, mut worst) = (of_c.clone(), 0.0f64);
        for (z, i, j) in
            (0..batch[0]).flat_map(|z| (0..m).flat_map(move |i| (0..n).map(move |j| (z, i, j))))
        {
            let range = if chunk > 0 { z * chunk..k.min((z + 1) * chunk) } else { 0..k };
            let (mut sum, mut size) = (0.0, 1.0);
            for k in range {
                let part = read(a, &of_a, z, i, k, ta) * read(b, &of_b, z, k, j, tb);
                sum += part;
                size += part.abs() / f64::from(ta * tb);
            }
            let at = c.at + z * c.steps[0] + i * c.strides[0] + j;
            let bias = bias.map_or(0.0, |_| w.data()[j]);
            let more = bias + plus.map_or(0.0, |(_, beta)| beta * of_d[at]);
            let (mut number, mut steep) = ((0.25 * sum / f64::from(ta * tb)) as f32 + more, 1.0);
            match end {
                End::Plain => {}
                End::Activated(..) if e.is_half => assert_eq!(activated[at], f16(2.0 * got[at])),
                End::Activated(..) => assert_eq!(activated[at], 2.0 * got[at]),
                End::Slope(_, _, times) => {
                    steep = 3.0 * of_d[at];
                    number *= times * steep;
                }
            }
            wanted[at] = number + if add == 1 { of_c[at] } else { 0.0 };
            if let (Some(_), 0) = (sums, i) {
                let range = if chunk > 0 { z * chunk..k.min((z + 1) * chunk) } else { 0..k };
                let sum: f64 = range.map(|k| read(b, &of_b, z, k, j, 1.0)).sum();
                let at = at + m * c.strides[0];
                wanted[at] = sum as f32 + if add == 1 { of_c[at] } else { 0.0 };
                worst = worst.max(f64::from((got[at] - wanted[at]).abs()) / k as f64);
            }
            let rounded = if c.is_half { wanted[at].abs() / 2048.0 + 1e-7 } else { 0.0 };
            let off = ((got[at] - wanted[at]).abs() - rounded).max(0.0) / steep.abs().max(1.0);
            let off = f64::from(off);
            worst = worst.max(off / size);
        }
        let others = (0..got.len()).filter(|&i| wanted[i].to_bits() == of_c[i].to_bits());
        assert!(others.clone().all(|i| got[i] == of_c[i]), "written beside C");
        worst
    }

    /// Each tile, read by one and by four, against a plain loop: odd sizes, transposes, steps, chunks, sums that go on.
    #[test]
    fn every_tile_multiplies() {
        let named = std::env::var("LLM_GPU").ok();
        let Ok(gpu) = Gpu::open_with_units(named.as_deref()) else { return };
        let seed = std::env::var("LLM_GPU_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
        let mut draw = Draw(seed);
        let of_units = gpu.units().and_then(units::tiles);
        println!("{}: {:?}, seed {seed}", gpu.name(), gpu.units());
        let f32s = TILES.chunks(1).flat_map(|tile| [(tile, false, false), (tile, false, true)]);
        let f16s = of_units.unwrap_or(&[]).chunks(1).map(|tile| (tile, true, true));
        for (kernels, by_units, rounded) in f32s.chain(f16s) {
            let worst = (0..20).map(|_| off(&gpu, &mut draw, kernels, by_units, rounded));
            let worst = worst.fold(0.0, f64::max);
            println!("tile of {}, units {by_units}, f16 {rounded}: {worst:.1e}", kernels[0].0);
            assert!(
                worst < 1e-6,
                "tile of {}, units {by_units}, f16 {rounded}, seed {seed}: {worst:.1e}",
                kernels[0].0
            );
        }
    }
}
