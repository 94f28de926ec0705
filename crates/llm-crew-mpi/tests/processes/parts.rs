//! What the processes do.

use llm_core::base::CrewError;
use llm_core::crew::{Crew, InProcess};
use llm_crew_mpi::{Launcher, MpiCrew, MpiError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};
use std::time::Duration;

const IO: i32 = 74;
const SOFTWARE: i32 = 70;
const DATA: u8 = 65;
const UNAVAILABLE: u8 = 69;

/// A member that plays its part and comes to the end, or to another one.
pub fn play(part: &str) -> ExitCode {
    println!("process id {}", std::process::id());
    let mut crew = match join(part) {
        Ok(crew) => crew,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(UNAVAILABLE);
        }
    };
    let Ok(code) = catch_unwind(AssertUnwindSafe(|| act(part, &mut crew))) else {
        crew.abort(SOFTWARE)
    };
    crew.finish(code.into()).unwrap();
    ExitCode::from(code)
}

fn join(part: &str) -> Result<MpiCrew, MpiError> {
    let speechless = part == "panics_while_it_ends";
    let waits_in_vain = speechless || part.starts_with("is_silent") || part == "is_stopped";
    // On a machine with other work a process may have to wait for a core for a while.
    let deadline = Duration::from_secs(if waits_in_vain { 1 } else { 60 });
    let last_words = move |why: &CrewError| {
        assert!(!speechless, "cannot even say why");
        eprintln!("{why}");
        match why {
            CrewError::Silent { .. } => IO,
            _ => SOFTWARE,
        }
    };
    MpiCrew::join(Launcher::found(), deadline, Box::new(last_words))
}

fn act(part: &str, crew: &mut MpiCrew) -> u8 {
    let is_last = crew.rank() + 1 == crew.size();
    match part {
        "joins" => {}
        "joins_twice" => println!("{}", join(part).unwrap_err()),
        "sums" => sums(crew),
        "waits" => waits(crew),
        "exchanges" => exchanges(crew),
        "long_message" => long_message(crew),
        "is_silent" | "panics_while_it_ends" if is_last => sleep(),
        "is_silent_at_the_end" => {
            crew.sum(&mut [1.0; 3]).unwrap();
            if is_last {
                sleep();
            }
        }
        "is_stopped" if is_last => signal("STOP"),
        "is_killed" if is_last => signal("KILL"),
        "aborts" if is_last => crew.abort(DATA.into()),
        "panics" if is_last => panic!("planted"),
        "too_short" => {
            let (mut room, other) = ([0.0; 5], crew.rank() ^ 1);
            match crew.rank() {
                0 => crew.exchange(other, &[&[1.0; 3]], &mut []).unwrap(),
                _ => crew.exchange(other, &[], &mut [&mut room]).unwrap(),
            }
        }
        "too_long" => {
            let (mut room, other) = ([0.0; 2], crew.rank() ^ 1);
            match crew.rank() {
                0 => crew.exchange(other, &[&[1.0; 3]], &mut []).unwrap(),
                _ => crew.exchange(other, &[], &mut [&mut room]).unwrap(),
            }
        }
        "refuses" => {
            let why = crew.equal("data".into(), &[u8::from(is_last)]).unwrap_err();
            println!("{why}");
            return DATA;
        }
        // The others: they wait for the last one.
        "is_silent" | "is_stopped" | "is_killed" | "aborts" | "panics" | "panics_while_it_ends" => {
            crew.sum(&mut [1.0; 1000]).unwrap();
        }
        unknown => panic!("no part {unknown}"),
    }
    0
}

fn sleep() {
    std::thread::sleep(Duration::from_secs(600));
}

fn signal(name: &str) {
    let id = std::process::id().to_string();
    Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap();
    sleep(); // until it comes
}

/// Numbers of which every order of additions gives another sum.
fn numbers(member: usize, len: usize) -> Vec<f32> {
    let number = |i: usize| {
        let exponent = ((member * 7 + i * 3) % 11) as i32 - 5;
        (1.0 + 0.37 * member as f32 + 0.011 * (i % 1009) as f32) * 10f32.powi(exponent)
    };
    (0..len).map(number).collect()
}

/// As a crew of threads does it, to the bit.
fn sums(crew: &mut MpiCrew) {
    let (rank, size) = (crew.rank(), crew.size());
    let work = |crew: &mut dyn Crew, len: usize| {
        let mut x = numbers(crew.rank(), len);
        crew.sum(&mut x).unwrap();
        x.into_iter().map(f32::to_bits).collect::<Vec<u32>>()
    };
    for len in [0, 1, 2, 3, 1000, 1_000_003, 2_500_001] {
        let expected = InProcess::run(size, |member| work(member, len));
        assert!(work(crew, len) == expected[rank], "{len} numbers, member {rank} of {size}");
    }
    let gathered = crew.gather(&[rank as u8, 100 + rank as u8]).unwrap();
    let expected: Vec<u8> = (0..size as u8).flat_map(|rank| [rank, 100 + rank]).collect();
    assert_eq!(gathered, expected);
    let mut shared = vec![rank as u8 + 1; 3_000_001];
    crew.share(&mut shared).unwrap();
    assert!(shared.iter().all(|&byte| byte == 1));
    crew.equal("data".into(), b"the same").unwrap();
    if rank == 0 {
        println!("{size} processes, {}", crew.library());
    }
}

/// Pieces of all lengths, not the same in both directions, and none at all.
fn exchanges(crew: &mut MpiCrew) {
    let other = crew.rank() ^ 1;
    let content = |member: usize, len: usize| -> Vec<u8> {
        (0..len).map(|i| (i * 31 + i / 255 + member) as u8).collect()
    };
    for lens in [[0, 0], [1, 0], [0, 1], [5_000_001, 3], [1 << 20, 7 << 20], [9 << 20, 1 << 20]] {
        let (give, take) = (lens[crew.rank()], lens[other]);
        let mut came = vec![0; take];
        crew.exchange_bytes(other, &content(crew.rank(), give), &mut came).unwrap();
        assert!(came == content(other, take), "{lens:?}");
    }
}

/// The others wait for the last one, and leave their cores to whoever has work.
fn waits(crew: &mut MpiCrew) {
    const LONG: Duration = Duration::from_secs(2);
    // Nanoseconds that this thread had a core, where the system counts them.
    let worked = || {
        let counts = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        counts.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    };
    if crew.rank() + 1 == crew.size() {
        std::thread::sleep(LONG);
    }
    let before = worked();
    crew.sum(&mut [1.0; 1000]).unwrap();
    if let (Some(before), Some(after)) = (before, worked()) {
        let share = (after - before).as_secs_f64() / LONG.as_secs_f64();
        println!("waiting took {:.1} % of a core", 100.0 * share);
        assert!(share < 0.1, "{share} of a core for waiting");
    }
}

/// Beyond what 32 bits count.
fn long_message(crew: &mut MpiCrew) {
    const LEN: usize = (1 << 31) + 5;
    let byte = |member: usize, i: usize| (i % 251 + member) as u8;
    let (rank, other) = (crew.rank(), crew.rank() ^ 1);
    let give: Vec<u8> = (0..LEN).map(|i| byte(rank, i)).collect();
    let mut take = vec![0; LEN];
    crew.exchange_bytes(other, &give, &mut take).unwrap();
    assert!(take.iter().enumerate().all(|(i, &b)| b == byte(other, i)));
}
