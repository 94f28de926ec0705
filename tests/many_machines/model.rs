//! The model of docs/many_machines.md, section 6: a step on R machines, from rates of one.

use llm_cli::args::BenchName;
use llm_cli::commands::bench_workload;
use llm_core::kernels::norm::CHUNK;
use llm_core::model::parameter_shapes;
use serde_json::Value;
use workspace_tests::baseline;

/// Numbers that are summed at once, on average: where the next piece does not fit in whole, half a
/// piece of room is left.
const BUCKET: u64 = (2 << 20) - CHUNK as u64 / 2;
/// Bytes that a member gives away after a step besides its gradient: its loss, its tokens and
/// whether it was told to stop; and three times whether it goes on.
const GATHERED: [u64; 4] = [17, 9, 9, 9];
/// Standard deviation of the time of equal work, as a share of it.
pub const SIGMA: f64 = 0.01;
/// Bytes of a frame on an Ethernet wire, and those of them that are ours.
pub const FRAME: [f64; 2] = [1538.0, 1448.0];
/// Tokens of a step of GPT-2's training: windows, and tokens of each.
pub const USEFUL: [u64; 2] = [512, 1024];

pub const PROCESSES: [u64; 4] = [2, 8, 64, 1024];
pub const MICRO_BATCHES: [u64; 3] = [1, 4, 16];

/// A machine's wire.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    pub gbits: f64,
    /// Seconds until a message has arrived.
    pub latency: f64,
}

pub const NETWORKS: [Network; 4] = [
    Network { gbits: 1.0, latency: 50e-6 },
    Network { gbits: 10.0, latency: 50e-6 },
    Network { gbits: 25.0, latency: 50e-6 },
    Network { gbits: 100.0, latency: 2e-6 },
];

impl Network {
    /// Bytes of gradients in a second.
    pub fn rate(self) -> f64 {
        self.gbits * 1e9 / 8.0 * FRAME[1] / FRAME[0]
    }
}

/// A workload, and what was measured of it, in milliseconds.
#[derive(Clone, Debug)]
pub struct Rates {
    pub name: &'static str,
    of: BenchName,
    pub parameters: u64,
    /// Parameters whose gradient is complete only at the end of the way back: tables of rows.
    pub tables: u64,
    /// Tokens of a micro-batch.
    pub tokens: u64,
    /// Forward and backward of a micro-batch.
    pub micro_batch: f64,
    /// The share of it that is backward.
    pub back: f64,
    /// Clipping and AdamW.
    pub update: f64,
    /// The sum between two processes of one machine; 0 as long as it was not measured.
    pub sum: f64,
}

pub fn measured() -> Value {
    serde_json::from_str(include_str!("../../benches/measured.json")).unwrap()
}

/// W3 and W4.
pub fn rates() -> [Rates; 2] {
    let measured = measured();
    let number = |part: &Value, name: &str, column: usize| -> Option<f64> {
        part.as_array().unwrap().iter().find(|row| row[0] == name)?[column].as_f64()
    };
    let op = |name| number(&measured["ops"], name, 1).unwrap();
    // The ops of W3; those of the update have no way back.
    let ops = measured["ops"].as_array().unwrap().iter();
    let ops = ops.map(|row| [1, 2].map(|column| row[column].as_f64().unwrap()));
    let both = ops.filter(|[_, back]| *back > 0.0);
    let [forth, back] = both.fold([0.0; 2], |sum, op| [0, 1].map(|i| sum[i] + op[i]));
    let back = back / (forth + back);
    let [w3, _] = [BenchName::W3, BenchName::W4].map(|name| sizes(name).0);
    [("w3", BenchName::W3), ("w4", BenchName::W4)].map(|(name, of)| {
        let (parameters, tokens) = sizes(of);
        let config = bench_workload(of).unwrap().config();
        let tables = ((config.vocab_size + config.seq_len) * config.d_model) as u64;
        // Its time is that of memory, which holds some numbers for each parameter.
        let update = (op("`adamw`") + op("`clip`")) * parameters as f64 / w3 as f64;
        let micro_batch = number(&measured["ratios"], name, 1).unwrap() - update;
        let sum = number(&measured["many"]["sums"], name, 2).unwrap_or(0.0);
        Rates { name, of, parameters, tables, tokens, micro_batch, back, update, sum }
    })
}

fn sizes(name: BenchName) -> (u64, u64) {
    let workload = bench_workload(name).unwrap();
    let tokens = workload.batch_size * workload.seq_len;
    (baseline(&workload.config()).parameter_count(), tokens as u64)
}

/// Sums that a gradient takes.
pub fn sums(parameters: u64) -> u64 {
    parameters.div_ceil(BUCKET)
}

fn rounds(processes: u64) -> u64 {
    u64::from(processes.ilog2())
}

/// Messages of a member in one sum: halving and doubling.
pub fn messages_of_a_sum(processes: u64) -> u64 {
    2 * rounds(processes)
}

/// Bytes that a member sends in one sum, on average.
pub fn bytes_of_a_sum(numbers: u64, processes: u64) -> f64 {
    (2 * 4 * numbers * (processes - 1)) as f64 / processes as f64
}

/// Messages of a member in a step; fewer where there are more members than pieces to share.
pub fn messages(parameters: u64, processes: u64) -> u64 {
    sums(parameters) * messages_of_a_sum(processes) + GATHERED.len() as u64 * rounds(processes)
}

/// Bytes that a member sends in a step, on average.
pub fn bytes(parameters: u64, processes: u64) -> f64 {
    let small = (processes - 1) * GATHERED.iter().sum::<u64>();
    bytes_of_a_sum(parameters, processes) + small as f64
}

impl Rates {
    /// How many numbers each parameter has.
    pub fn lens(&self) -> Vec<usize> {
        let shapes = parameter_shapes(&bench_workload(self.of).unwrap().config());
        shapes.iter().map(|(_, shape)| shape.iter().product()).collect()
    }

    /// Milliseconds of a step.
    pub fn step(&self, processes: u64, micro_batches: u64, network: Network, divided: bool) -> f64 {
        let r = processes as f64;
        let waiting = 1.0 + SIGMA * (2.0 * r.ln()).sqrt();
        let computing = micro_batches as f64 * self.micro_batch * waiting;
        let update = if divided { self.update / r } else { self.update };
        let own = self.sum * 2.0 * (r - 1.0) / r;
        let under_way = messages(self.parameters, processes) as f64 * network.latency
            + bytes(self.parameters, processes) / network.rate();
        computing + update + own + self.waits(1e3 * under_way, divided)
    }

    /// The share of a gradient that goes to the others first.
    pub fn first(&self) -> f64 {
        (BUCKET as f64 / self.parameters as f64).min(1.0)
    }

    /// The share of a gradient that goes to the others when the way back is over: what is not in
    /// buckets that are full before the tables come.
    pub fn late(&self) -> f64 {
        let before = (self.parameters - self.tables) / BUCKET * BUCKET;
        (self.parameters - before) as f64 / self.parameters as f64
    }

    /// How long after the last micro-batch's way back messages are still under way.
    /// They begin with the first bucket, and end with the last. Of a divided optimizer's the second
    /// half begins after the update.
    pub fn waits(&self, under_way: f64, divided: bool) -> f64 {
        let (beside, after) = if divided { (0.5, 0.5) } else { (1.0, 0.0) };
        let beside = beside * under_way;
        let back = self.back * self.micro_batch;
        after * under_way + (beside - (1.0 - self.first()) * back).max(self.late() * beside)
    }

    /// One process's time for the same step over R times theirs: without and with
    /// `--shard-optimizer`.
    pub fn efficiency(&self, processes: u64, micro_batches: u64, network: Network) -> [f64; 2] {
        let all = (processes * micro_batches) as f64;
        let alone = all * self.micro_batch + self.update;
        [false, true].map(|divided| {
            alone / (processes as f64 * self.step(processes, micro_batches, network, divided))
        })
    }

    /// Bytes of AdamW's two moments in one process, when they are divided.
    pub fn moments(&self, processes: u64) -> f64 {
        2.0 * 4.0 * self.parameters as f64 / processes as f64
    }

    /// Processes whose steps have as many tokens as GPT-2's.
    pub fn useful(&self, micro_batches: u64) -> u64 {
        USEFUL[0] * USEFUL[1] / (micro_batches * self.tokens)
    }
}
