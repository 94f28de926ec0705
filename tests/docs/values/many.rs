//! Values of docs/many_machines.md: a sum of four processes followed by hand, and the tables of
//! `benches/many_machines.py`.

use super::{Values, list, wide};
use crate::many_machines::model::{
    FRAME, MICRO_BATCHES, NETWORKS, PROCESSES, Rates, SIGMA, USEFUL, bytes, measured, messages,
    rates,
};
use llm_cli::error::Kind;
use llm_core::Result;
use llm_core::base::CrewError;
use llm_core::crew::{Crew, InProcess};

const ENGLISH: &str = include_str!("../../../docs/many_machines.md");
const CHINESE: &str = include_str!("../../../docs/many_machines.zh-CN.md");

/// What the four processes of the page begin with.
const START: [[f32; 4]; 4] = [
    [1.0, 16_777_216.0, 100.0, 1000.0],
    [2.0, 1.0, 200.0, 2000.0],
    [3.0, 1.0, 300.0, 3000.0],
    [4.0, -16_777_216.0, 400.0, 4000.0],
];

pub fn add(values: &mut Values) {
    by_hand(values);
    orders(values);
    let all = rates();
    model(values, &all);
    tables(values, &all);
    let sums = &measured()["many"]["sums"];
    if sums.as_array().unwrap().is_empty() {
        // A sentence of the page says so, and goes when there are numbers.
        values.insert("many.unmeasured", Vec::new());
    } else {
        let mut numbers = Vec::new();
        super::performance::flatten(sums, &mut numbers);
        values.insert("many.sums", numbers);
    }
    failures(values);
}

/// An exchange: with whom, what was sent and taken, what the member holds then.
type Exchange = (usize, Vec<f32>, Vec<f32>, Vec<f32>);

/// A member of a crew that writes down its exchanges.
#[derive(Debug)]
struct Watched<'a> {
    crew: &'a mut InProcess,
    held: Vec<f32>,
    exchanges: Vec<Exchange>,
}

impl Crew for Watched<'_> {
    fn rank(&self) -> usize {
        self.crew.rank()
    }

    fn size(&self) -> usize {
        self.crew.size()
    }

    fn exchange(&mut self, with: usize, give: &[&[f32]], take: &mut [&mut [f32]]) -> Result<()> {
        self.crew.exchange(with, give, take)?;
        let ([give], [take]) = (give, take) else { panic!("one list") };
        let lower = self.rank() < with;
        // Halving keeps a part of what is held and adds to it; doubling puts the two side by side.
        if give.len() + take.len() == self.held.len() {
            let keep = if lower { &self.held[..take.len()] } else { &self.held[give.len()..] };
            self.held = keep.iter().zip(&**take).map(|(mine, theirs)| mine + theirs).collect();
        } else {
            let (left, right) = if lower { (*give, &**take) } else { (&**take, *give) };
            self.held = [left, right].concat();
        }
        self.exchanges.push((with, give.to_vec(), take.to_vec(), self.held.clone()));
        Ok(())
    }

    fn exchange_bytes(&mut self, with: usize, give: &[u8], take: &mut [u8]) -> Result<()> {
        self.crew.exchange_bytes(with, give, take)
    }
}

/// The sum, exchange by exchange.
fn by_hand(values: &mut Values) {
    let start = START.iter().enumerate();
    let start = start.flat_map(|(r, row)| [list![r as u32], wide(row)].concat());
    values.insert("many.start", start.collect());
    let members = InProcess::run(START.len(), |crew| {
        let mut x = START[crew.rank()];
        let mut crew = Watched { crew, held: x.to_vec(), exchanges: Vec::new() };
        crew.sum(&mut x).unwrap();
        assert_eq!(crew.held, x);
        crew.exchanges
    });
    let mut rounds = Vec::new();
    for round in 0..members[0].len() {
        for (rank, exchanges) in members.iter().enumerate() {
            let (with, give, take, held) = &exchanges[round];
            let who = [round + 1, rank, *with].map(|n| n as f64).to_vec();
            rounds.extend([who, wide(give), wide(take), wide(held)].concat());
        }
    }
    values.insert("many.rounds", rounds);
}

/// The second number of each process, added in other orders.
fn orders(values: &mut Values) {
    let column = START.map(|row| row[1]);
    let fold = |order: [usize; 4]| order[1..].iter().fold(column[order[0]], |s, &i| s + column[i]);
    // In a ring part i begins at process i and goes round.
    let (left, ring) = ([0, 1, 2, 3], [1, 2, 3, 0]);
    let sums = InProcess::run(START.len(), |crew| {
        let mut x = START[crew.rank()];
        crew.sum(&mut x).unwrap();
        x[1]
    });
    let all = [fold(left), fold(ring), sums[0]];
    assert!((0..3).all(|i| (0..i).all(|j| all[i] != all[j])), "all differ: {all:?}");
    // The signs stand between the numbers.
    let row =
        |order: [usize; 4], sum| [wide(&order.map(|i| column[i].abs())), wide(&[sum])].concat();
    let rows = [row(left, all[0]), row(ring, all[1]), row(left, all[2])];
    values.insert("many.orders", rows.concat());
    // Above it every second whole number has no f32.
    let most = 2f32.powi(f32::MANTISSA_DIGITS as i32);
    assert!(most == column[0] && most + 1.0 == most && most + 2.0 > most);
    values.insert("many.limit", list![most]);
}

/// Formula, rates and assumptions.
fn model(values: &mut Values, all: &[Rates; 2]) {
    values.insert("many.formula", list![1, 2, 2, 1, 1]);
    let of = |r: &Rates| {
        let times = [r.micro_batch, r.update, r.back, r.first(), r.late()];
        [[r.parameters as f64, r.tokens as f64].as_slice(), &times].concat()
    };
    values.insert("many.rates", all.iter().flat_map(of).collect());
    let networks =
        NETWORKS.iter().flat_map(|n| [n.gbits, n.latency * 1e6, (n.rate() / 1e6).round()]);
    values.insert("many.networks", networks.collect());
    values.insert("many.assumptions", vec![100.0 * SIGMA, FRAME[0], FRAME[1]]);
    let [windows, tokens] = USEFUL.map(|n| n as f64);
    values.insert("many.gpt2", vec![2.0, windows, tokens, windows * tokens]);
}

fn tables(values: &mut Values, all: &[Rates; 2]) {
    let numbers = |counts: &[u64]| counts.iter().map(|&n| n as f64).collect::<Vec<_>>();
    let traffic = all.iter().flat_map(|rates| {
        let p = rates.parameters;
        PROCESSES.iter().flat_map(move |&r| [r as f64, messages(p, r) as f64, bytes(p, r) / 1e6])
    });
    values.insert("many.traffic", traffic.collect());
    let counts = [&[1][..], &PROCESSES].concat();
    let moments = all.iter().flat_map(|rates| counts.iter().map(|&r| rates.moments(r) / 1e6));
    values.insert("many.moments", numbers(&counts).into_iter().chain(moments).collect());
    for (id, rates) in ["many.w3", "many.w4"].into_iter().zip(all) {
        let rows = NETWORKS.iter().flat_map(|net| MICRO_BATCHES.iter().map(move |m| (net, *m)));
        let rows = rows.flat_map(|(net, m)| {
            let cells = PROCESSES.iter().flat_map(move |r| rates.efficiency(*r, m, *net));
            [net.gbits, m as f64].into_iter().chain(cells)
        });
        values.insert(id, numbers(&PROCESSES).into_iter().chain(rows).collect());
    }
    let useful = all.iter().flat_map(|rates| {
        MICRO_BATCHES.iter().flat_map(move |&m| {
            let r = rates.useful(m);
            let cells = NETWORKS.iter().flat_map(move |net| rates.efficiency(r, m, *net));
            [m as f64, r as f64].into_iter().chain(cells)
        })
    });
    let heading = NETWORKS.iter().map(|net| net.gbits);
    values.insert("many.useful", heading.chain(useful).collect());
}

/// What is refused, and how a crew's run ends.
fn failures(values: &mut Values) {
    let refused = CrewError::Size { size: 3, micro_batches: 8 }.to_string();
    for page in [ENGLISH, CHINESE] {
        assert!(page.contains(&format!("\n{refused}\n")), "{refused}");
    }
    let words = refused.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok());
    values.insert("many.refused", words.collect());
    let codes = [
        Kind::Usage.code(),
        Kind::Unavailable.code(),
        Kind::Usage.code(),
        Kind::BadData.code(),
        Kind::Io.code(),
        Kind::Internal.code(),
        Kind::Busy.code(),
    ];
    values.insert("many.failures", codes.into_iter().map(f64::from).collect());
    let help = include_str!("../../../crates/llm-cli/src/args/crew.rs");
    let seconds = help.split("[default: ").find_map(|said| said.split_once("s]")?.0.parse().ok());
    values.insert("many.timeout", vec![seconds.unwrap()]);
    let library = include_str!("../../../crates/llm-crew-mpi/src/library.rs");
    let table = include_str!("../../../crates/llm-crew-mpi/src/table.rs");
    let after =
        |text: &'static str, what| text.split_once(what).unwrap().1.split(')').next().unwrap();
    let sound: f64 = after(library, "(major, minor) < (").replace(", ", ".").parse().unwrap();
    let given: f64 = after(table, "const LONG: Duration = Duration::from_secs(").parse().unwrap();
    values.insert("many.stalls", vec![sound, given]);
}
