//! Blocks of bytes as numbers. d and m are scale and least value of a block, both f16; q is a whole
//! number of few bits. Two numbers share a byte q: `lo` is its lower half, `hi` its upper one.
//!
//! | type | bytes of a block, in their order | number j |
//! |---|---|---|
//! | Q8_0 | d, 32 × i8 | d·q\[j\] |
//! | Q4_0 | d, 16 × q | d·(lo(q\[j\]) − 8), and with hi for j + 16 |
//! | Q4_1 | d, m, 16 × q | d·lo(q\[j\]) + m, and with hi for j + 16 |
//! | Q5_0 | d, 32 bits h, 16 × q | d·(lo(q\[j\]) + 16·h\[j\] − 16), and with hi for j + 16 |
//! | Q5_1 | d, m, 32 bits h, 16 × q | d·(lo(q\[j\]) + 16·h\[j\]) + m, and with hi for j + 16 |
//! | Q4_K | d, m, 12 bytes of scales, 128 × q | d·s\[i\]·q − m·t\[i\] for part i of 32 numbers |
//! | Q5_K | d, m, 12 bytes of scales, 32 bytes h, 128 × q | the same with a fifth bit from h |
//! | Q6_K | 128 × lower 4 bits, 64 × upper 2 bits, 16 × i8 s, d | d·s\[i\]·(q − 32) for part i of 16 numbers |
//!
//! Each is computed in f32 in the order that is written here, so that the result is ggml's bit for
//! bit. Reference: `dequantize_row_*` in `ggml-quants.c` of ggml.

use super::block::BlockType;
use half::{bf16, f16};

/// The numbers of whole blocks: `out` has room for exactly as many.
pub fn dequantise(kind: BlockType, bytes: &[u8], out: &mut [f32]) {
    let block: fn(&[u8], &mut [f32]) = match kind {
        BlockType::F32 => |b, y| y[0] = f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        BlockType::F16 => |b, y| y[0] = half(b),
        BlockType::BF16 => |b, y| y[0] = bf16::from_le_bytes([b[0], b[1]]).to_f32(),
        BlockType::Q8_0 => q8_0,
        BlockType::Q4_0 => q4_0,
        BlockType::Q4_1 => q4_1,
        BlockType::Q5_0 => q5_0,
        BlockType::Q5_1 => q5_1,
        BlockType::Q4K => q4_k,
        BlockType::Q5K => q5_k,
        BlockType::Q6K => q6_k,
    };
    for (b, y) in bytes.chunks_exact(kind.bytes()).zip(out.chunks_exact_mut(kind.numbers())) {
        block(b, y);
    }
}

/// A half-precision number.
fn half(bytes: &[u8]) -> f32 {
    f16::from_le_bytes([bytes[0], bytes[1]]).to_f32()
}

fn q8_0(b: &[u8], y: &mut [f32]) {
    let d = half(b);
    for (y, q) in y.iter_mut().zip(&b[2..]) {
        *y = d * f32::from(q.cast_signed());
    }
}

/// Sixteen bytes as 32 whole numbers of 4 bits, each handed on with its place.
fn halves(q: &[u8], mut take: impl FnMut(usize, u8)) {
    for (j, q) in q.iter().enumerate() {
        take(j, q & 0xF);
        take(j + 16, q >> 4);
    }
}

fn q4_0(b: &[u8], y: &mut [f32]) {
    let d = half(b);
    halves(&b[2..], |j, q| y[j] = d * (f32::from(q) - 8.0));
}

fn q4_1(b: &[u8], y: &mut [f32]) {
    let (d, m) = (half(b), half(&b[2..]));
    halves(&b[4..], |j, q| y[j] = d * f32::from(q) + m);
}

/// The fifth bits of 32 numbers.
fn fifth(b: &[u8]) -> impl Fn(usize) -> u8 {
    let h = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    move |j| ((h >> j & 1) << 4) as u8
}

fn q5_0(b: &[u8], y: &mut [f32]) {
    let (d, h) = (half(b), fifth(&b[2..]));
    halves(&b[6..], |j, q| y[j] = d * (f32::from(q | h(j)) - 16.0));
}

fn q5_1(b: &[u8], y: &mut [f32]) {
    let (d, m, h) = (half(b), half(&b[2..]), fifth(&b[4..]));
    halves(&b[8..], |j, q| y[j] = d * f32::from(q | h(j)) + m);
}

/// Scale and least value of part i of eight, 6 bits each, out of 12 bytes: those of parts 0 to 3 are
/// the lower bits of bytes i and i + 4; of parts 4 to 7 the lower four bits are in byte i + 4, the
/// upper two are what the others left over.
fn scales(s: &[u8], i: usize) -> (f32, f32) {
    let (scale, least) = match i {
        0..4 => (s[i] & 63, s[i + 4] & 63),
        _ => (s[i + 4] & 0xF | s[i - 4] >> 6 << 4, s[i + 4] >> 4 | s[i] >> 6 << 4),
    };
    (f32::from(scale), f32::from(least))
}

fn q4_k(b: &[u8], y: &mut [f32]) {
    k_parts(b, &b[16..], |_, _| 0, y);
}

fn q5_k(b: &[u8], y: &mut [f32]) {
    let h = &b[16..48];
    k_parts(b, &b[48..], |part, j| (h[j] >> part & 1) << 4, y);
}

/// Eight parts of 32 numbers: two share 32 bytes, the first has their lower halves. `more` gives
/// what is added to number j of a part.
fn k_parts(b: &[u8], q: &[u8], more: impl Fn(usize, usize) -> u8, y: &mut [f32]) {
    let (d, m) = (half(b), half(&b[2..]));
    for (part, y) in y.chunks_exact_mut(32).enumerate() {
        let (scale, least) = scales(&b[4..16], part);
        let (scale, least) = (d * scale, m * least);
        let bytes = &q[part / 2 * 32..][..32];
        for (j, (y, q)) in y.iter_mut().zip(bytes).enumerate() {
            let q = if part % 2 == 0 { q & 0xF } else { q >> 4 };
            *y = scale * f32::from(q | more(part, j)) - least;
        }
    }
}

fn q6_k(b: &[u8], y: &mut [f32]) {
    let (low, high, s, d) = (&b[..128], &b[128..192], &b[192..208], half(&b[208..]));
    for (j, y) in y.iter_mut().enumerate() {
        // Two halves of 128 numbers, each of four quarters of 32.
        let (side, quarter, l) = (j / 128, j % 128 / 32, j % 32);
        let byte = low[side * 64 + quarter % 2 * 32 + l];
        let lower = if quarter < 2 { byte & 0xF } else { byte >> 4 };
        let upper = high[side * 32 + l] >> (2 * quarter) & 3;
        let q = f32::from(lower | upper << 4) - 32.0;
        *y = d * f32::from(s[j / 16].cast_signed()) * q;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(kind: BlockType, bytes: &[u8]) -> Vec<f32> {
        let mut out = vec![f32::NAN; bytes.len() / kind.bytes() * kind.numbers()];
        dequantise(kind, bytes, &mut out);
        out
    }

    /// f16 of 0.5, 2 and −1.
    const HALF: [u8; 2] = [0x00, 0x38];
    const TWO: [u8; 2] = [0x00, 0x40];
    const MINUS_ONE: [u8; 2] = [0x00, 0xBC];

    #[test]
    fn a_number_alone_is_itself() {
        assert_eq!(numbers(BlockType::F32, &1.25f32.to_le_bytes()), [1.25]);
        assert_eq!(numbers(BlockType::F16, &[TWO, MINUS_ONE].concat()), [2.0, -1.0]);
        assert_eq!(numbers(BlockType::BF16, &[0x80, 0x3F, 0x00, 0xC0]), [1.0, -2.0]);
    }

    #[test]
    fn blocks_of_32_by_hand() {
        let eight = numbers(BlockType::Q8_0, &[&HALF[..], &[1, 0xFF], &[0; 30]].concat());
        assert_eq!((eight[0], eight[1], eight[31]), (0.5, -0.5, 0.0));
        // The first byte holds numbers 0 and 16.
        let four = numbers(BlockType::Q4_0, &[&HALF[..], &[0xF0], &[0x88; 15]].concat());
        assert_eq!((four[0], four[16], four[1], four[17]), (-4.0, 3.5, 0.0, 0.0));
        let least = numbers(BlockType::Q4_1, &[&HALF[..], &MINUS_ONE, &[0x52], &[0; 15]].concat());
        assert_eq!((least[0], least[16], least[31]), (0.0, 1.5, -1.0));
        // Fifth bits of numbers 0 and 31.
        let bits = (1u32 | 1 << 31).to_le_bytes();
        let five = numbers(BlockType::Q5_0, &[&HALF[..], &bits, &[0x21], &[0; 15]].concat());
        assert_eq!((five[0], five[16], five[31], five[1]), (0.5, -7.0, 0.0, -8.0));
        let five = numbers(BlockType::Q5_1, &[&HALF[..], &TWO, &bits, &[0x21], &[0; 15]].concat());
        assert_eq!((five[0], five[16], five[31], five[1]), (10.5, 3.0, 10.0, 2.0));
    }

    #[test]
    fn blocks_of_256_by_hand() {
        // Scales 1 to 8, least values 0 but for the last part, which has 33 = 1 + 2·16.
        let mut s = [0u8; 12];
        for i in 0..4 {
            s[i] = i as u8 + 1;
            s[i + 8] = i as u8 + 5;
        }
        s[11] |= 1 << 4;
        s[7] |= 2 << 6;
        let q = [0x21u8; 128];
        let four = numbers(BlockType::Q4K, &[&HALF[..], &TWO, &s, &q].concat());
        assert_eq!((four[0], four[32], four[64], four[255]), (0.5, 2.0, 1.5, 8.0 - 66.0));
        let mut h = [0u8; 32];
        h[31] = 1 << 7; // number 31 of part 7
        let five = numbers(BlockType::Q5K, &[&HALF[..], &TWO, &s, &h, &q].concat());
        assert_eq!((five[254], five[255]), (8.0 - 66.0, 72.0 - 66.0));
        assert_eq!(five[..254], four[..254]);

        let (mut low, mut high, mut s) = ([0u8; 128], [0u8; 64], [1u8; 16]);
        low[0] = 0x3F; // numbers 0 and 64
        high[0] = 0b11_00_00_10; // their upper bits: 2 for number 0, 3 for number 96
        s[15] = 0xFF;
        let six = numbers(BlockType::Q6K, &[&low[..], &high, &s, &HALF].concat());
        assert_eq!((six[0], six[64], six[96], six[1]), (7.5, -14.5, 8.0, -16.0));
        assert_eq!(six[255], 16.0);
    }
}
