//! The same numbers, summed in three ways.

use crate::Both;
use llm_core::crew::Crew;
use mpi::collective::SystemOperation;
use mpi::traits::*;

/// Numbers of either sign and of all sizes, so that every order of additions gives other bits.
fn numbers(member: usize, len: usize) -> Vec<f32> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(member as u64 + 1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let unit = (state >> 40) as f32 / (1 << 23) as f32 - 1.0;
        unit * 10f32.powi((state % 9) as i32 - 4)
    };
    (0..len).map(|_| next()).collect()
}

/// The definition: neighbours first.
fn tree(values: &[f32]) -> f32 {
    match values {
        [one] => *one,
        more => tree(&more[..more.len() / 2]) + tree(&more[more.len() / 2..]),
    }
}

pub fn compare(both: &mut Both, same_tree: bool) {
    let (rank, size) = (both.crew.rank(), both.crew.size());
    for len in [1, 3, 1000, 20_000, 1_000_003, 10_000_019] {
        let mine = numbers(rank, len);
        let mut ours = mine.clone();
        both.crew.sum(&mut ours).expect("a sum");
        let mut theirs = vec![0f32; len];
        both.world.all_reduce_into(&mine[..], &mut theirs[..], SystemOperation::sum());
        let mut all = vec![0f32; len * size];
        both.world.all_gather_into(&mine[..], &mut all[..]);

        let (mut others, mut folds) = (0, 0);
        for i in 0..len {
            let values: Vec<f32> = (0..size).map(|member| all[member * len + i]).collect();
            assert_eq!(ours[i].to_bits(), tree(&values).to_bits(), "number {i} of {len}");
            // Each of the additions rounds by at most half a unit of the last place of its result.
            let sizes: f32 = values.iter().map(|v| v.abs()).sum();
            let rounding = size as f32 * f32::EPSILON * sizes;
            assert!((ours[i] - theirs[i]).abs() <= rounding, "number {i} of {len}");
            others += usize::from(ours[i].to_bits() != theirs[i].to_bits());
            let fold = values.iter().skip(1).fold(values[0], |sum, value| sum + value);
            folds += usize::from(ours[i].to_bits() != fold.to_bits());
        }
        assert!(!same_tree || others == 0, "{others} of {len} numbers have other bits");
        assert!(size < 4 || len < 1000 || folds > 0, "numbers that show no order");
        if both.is_first() {
            println!(
                "{len:>9} numbers: the tree. By rounding {others} differ from MPI_Allreduce's, {folds} from a fold"
            );
        }
    }
}
