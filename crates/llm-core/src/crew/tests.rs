//! The order of additions, and every rank's share, for every number of ranks.

use super::*;
use crate::Error;
use std::time::Duration;

const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

/// Numbers of which every order of additions gives another sum.
fn number(member: usize, i: usize) -> f32 {
    let exponent = ((member * 7 + i * 3) % 11) as i32 - 5;
    (1.0 + 0.37 * member as f32 + 0.011 * i as f32) * 10f32.powi(exponent)
}

/// The definition: neighbours first.
fn tree(values: &[f32]) -> f32 {
    match values.len() {
        1 => values[0],
        n => tree(&values[..n / 2]) + tree(&values[n / 2..]),
    }
}

#[test]
fn the_sum_is_the_tree_for_every_length_and_number_of_members() {
    for size in SIZES {
        for len in [0, 1, 2, 3, 5, 16, 17, 1000, 100_003] {
            let sums = InProcess::run(size, |crew| {
                let mut x: Vec<f32> = (0..len).map(|i| number(crew.rank(), i)).collect();
                crew.sum(&mut x).map(|()| x)
            });
            for sum in sums {
                let sum = sum.unwrap();
                for (i, s) in sum.iter().enumerate() {
                    let values: Vec<f32> = (0..size).map(|member| number(member, i)).collect();
                    assert_eq!(s.to_bits(), tree(&values).to_bits(), "{size} members, {len}: {i}");
                }
            }
        }
    }
}

#[test]
fn shares_are_apart_and_together_the_whole_wherever_it_is_cut() {
    for size in SIZES {
        // Cuts only at multiples of 8, as far as there are any.
        let cut = |span: std::ops::Range<usize>| (span.start + span.len() / 2).next_multiple_of(8);
        let shares = InProcess::run(size, |crew| {
            let mut x = vec![1.0; 50];
            let spans = halve(crew, &mut [&mut x], cut).unwrap();
            let share = spans.share();
            assert!(x[share.clone()].iter().all(|&v| v == size as f32));
            x[share.clone()].fill(0.5);
            double(crew, &mut [&mut x], spans).unwrap();
            assert!(x.iter().all(|&v| v == 0.5));
            share
        });
        let mut all: Vec<usize> = shares.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
    }
}

/// Wherever its numbers lie, a sum is the same.
#[test]
fn lists_are_summed_where_they_lie() {
    let lens = [3, 0, 1, 40, 6];
    let cut = |span: std::ops::Range<usize>| span.start + span.len() / 2;
    for size in SIZES {
        let sums = InProcess::run(size, |crew| {
            let mut x: Vec<f32> = (0..50).map(|i| number(crew.rank(), i)).collect();
            let mut rest = &mut x[..];
            let mut lists = Vec::new();
            for len in lens {
                let (list, others) = rest.split_at_mut(len);
                lists.push(list);
                rest = others;
            }
            let spans = halve(crew, &mut lists, cut).unwrap();
            double(crew, &mut lists, spans).unwrap();
            let mut as_one: Vec<f32> = (0..50).map(|i| number(crew.rank(), i)).collect();
            crew.sum(&mut as_one).unwrap();
            (x, as_one)
        });
        assert!(sums.into_iter().all(|(lists, as_one)| lists == as_one), "{size} members");
    }
}

#[test]
fn blocks_are_gathered_in_order_and_the_first_member_shares() {
    for size in SIZES {
        let all = InProcess::run(size, |crew| {
            let mine = [crew.rank() as u8, 100 + crew.rank() as u8];
            let gathered = crew.gather(&mine).unwrap();
            let mut shared = [crew.rank() as u8 + 1; 3];
            crew.share(&mut shared).unwrap();
            (gathered, shared)
        });
        let expected: Vec<u8> = (0..size as u8).flat_map(|rank| [rank, 100 + rank]).collect();
        assert!(all.iter().all(|got| *got == (expected.clone(), [1; 3])), "{all:?}");
    }
}

#[test]
fn who_differs_is_named_to_all() {
    let found = InProcess::run(4, |crew| {
        let mine = [7, u8::from(crew.rank() == 2)];
        crew.equal("data".into(), &[7, 0]).unwrap();
        crew.equal("data".into(), &mine).unwrap_err()
    });
    for error in found {
        assert_eq!(error.to_string(), "process 2 has other data than process 0");
    }
}

#[test]
fn a_silent_or_lost_member_is_named() {
    let mut crew =
        InProcess::crew(2).into_iter().map(|m| m.with_deadline(Duration::from_millis(20)));
    let (mut first, second) = (crew.next().unwrap(), crew.next().unwrap());
    let error = first.sum(&mut [1.0, 2.0]).unwrap_err();
    assert!(matches!(error, Error::Crew(CrewError::Silent { member: 1, .. })), "{error}");
    drop((second, crew));
    let error = first.sum(&mut [1.0, 2.0]).unwrap_err();
    assert!(matches!(error, Error::Crew(CrewError::Gone { member: 1 })), "{error}");
}

#[test]
fn messages_and_bytes_are_those_of_the_page() {
    for size in SIZES {
        let n = 1 << 12;
        let sent = InProcess::run(size, |crew| {
            crew.sum(&mut vec![1.0; n]).unwrap();
            crew.traffic()
        });
        let messages = 2 * u64::from(size.ilog2());
        let bytes = (2 * 4 * n * (size - 1) / size) as u64;
        assert!(sent.iter().all(|t| *t == Traffic { messages, bytes }), "{size}: {sent:?}");
    }
}

#[test]
fn every_member_has_an_aligned_group_of_micro_batches() {
    let of = |rank| micro_batches(rank, 4, 8).unwrap();
    assert_eq!([of(0), of(1), of(2), of(3)], [0..2, 2..4, 4..6, 6..8]);
    for (size, all) in [(3, 9), (4, 6), (2, 1), (0, 4)] {
        assert!(micro_batches(0, size, all).is_err(), "{size} members, {all}");
    }
}
