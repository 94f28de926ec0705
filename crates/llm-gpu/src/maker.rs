//! The plan's builder: where values and gradients lie.

use crate::error::{GpuError, Result};
use crate::layout::{Layout, Spot};
use crate::plan::{Call, Capacity, Kernel, Plan, Room, Units, Use, elements};
use crate::rule::NUMBERS;
use llm_core::kernels::ngrams::NgramTable;
use llm_core::listing::{Input, Listed};
use llm_core::message;
use llm_core::model::Batch;
use std::collections::{HashMap, HashSet};

const ELEMENTWISE: &[&str] = &[include_str!("ops/elementwise.wgsl")];
const COPY: Kernel = Kernel::new("copy", ELEMENTWISE);
/// Rows of parts added up into θ's order.
pub(crate) const OF_PARTS: Kernel = Kernel::new("of_parts", &[include_str!("ops/of_parts.wgsl")]);
const ACCUMULATE: Kernel = Kernel::new("accumulate", ELEMENTWISE);

/// The rooms that every step has besides its activations.
#[derive(Clone, Debug, Default)]
pub struct Rooms {
    /// All parameters, one behind the other: a room, or several where a device has none so large.
    pub theta: Vec<Room>,
    /// The gradient of a micro-batch, in the same order.
    pub grads: Vec<Room>,
    /// The step's gradient: `grads` itself where the step has one micro-batch.
    pub total: Vec<Room>,
    /// What the optimizer keeps, in the order of its slots.
    pub slots: Vec<Vec<Room>>,
    /// The batch's tokens, `[B·T]`.
    pub tokens: Room,
    /// The batch's targets, `[B·T]`.
    pub targets: Room,
    /// Where each token stands: starts `[V+1]`, places `[B·T]`.
    pub sorted: Room,
    /// For each table of n-grams, which rows the tokens have, and where each of them stands.
    pub ngrams: Vec<(NgramTable, usize, [Room; 2])>,
    /// What decides masks: seed and step, two words each, and the first sequence.
    pub drawn: Room,
    /// What a loss of this micro-batch counts in the step's; 1 behind the first of several; 1 where no host waits for the
    /// report: what is not finite then holds all later steps, too, until the report is overwritten.
    pub share: Room,
    /// What the optimizer wants to know of an update.
    pub numbers: Room,
    /// Loss and norm of the step, and whether one of them holds later steps.
    pub report: Room,
}

/// What batches a step is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batches {
    /// B and T.
    pub shape: [usize; 2],
    pub vocab: usize,
}

impl Batches {
    /// Whether all tokens of a batch, and all targets that count, are in the vocabulary.
    pub(crate) fn knows(&self, batch: &Batch) -> bool {
        let targets = batch.targets.iter().filter(|&&t| t != Batch::IGNORED);
        batch.inputs.iter().chain(targets).all(|&t| (t as usize) < self.vocab)
    }

    /// The refusal of a batch of another shape.
    pub(crate) fn refused(&self, batch: &Batch) -> GpuError {
        let [theirs, ours] = [batch.shape, self.shape].map(|shape| shape.to_vec());
        GpuError::List(message!("a batch of {} for a step that was made for {}", theirs, ours))
    }
}

/// The plan's builder.
pub(crate) struct Maker<'a> {
    pub plan: Plan,
    pub fixed: Rooms,
    /// B and T.
    pub batch: [usize; 2],
    /// Micro-batches of a step of this process.
    pub micro_batches: u32,
    /// Processes that share a step.
    pub ranks: u32,
    pub on: Capacity,
    /// Whether what is made in a pass over numbers is made again on the way back, not kept.
    pub is_tight: bool,
    /// Whether this is a measurement, without a way back.
    pub measures: bool,
    /// A text that is read token by token.
    pub text: Option<Growing>,
    layout: &'a Layout,
    /// The op of each result, and those that use it.
    ops: HashMap<u64, &'a Listed>,
    users: HashMap<u64, Vec<&'a Listed>>,
    values: HashMap<u64, Room>,
    gradients: HashMap<u64, Room>,
    /// How many gradients lie in a room: it is not written to while it is another's as well.
    holders: HashMap<Room, usize>,
    /// Rooms whose numbers are stored as f16, two in a word.
    halves: HashSet<Room>,
    /// Parameters that have a part of their gradient.
    written: HashSet<u64>,
    pub waiting: Waiting,
}

/// Parts of gradients that one call will add up.
#[derive(Default)]
pub(crate) struct Waiting {
    room: Option<Room>,
    pub pieces: Vec<[u32; 8]>,
    pub numbers: usize,
    /// The one of θ's arrays that all of them are for.
    pub array: usize,
    /// Numbers of the longest row.
    pub widest: usize,
}

/// A text that grows by a token at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growing {
    /// The most tokens.
    pub context: usize,
    /// Where the place of the next one stands.
    pub place: Room,
}

/// A gradient to be written: overwritten the first time, added to after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<T> {
    pub to: T,
    /// 0 or 1.
    pub add: u32,
}

/// What an op's forward leaves: its result, and what its backward needs.
pub(crate) struct Made {
    pub result: Room,
    pub kept: Vec<Room>,
}

impl From<Room> for Made {
    fn from(result: Room) -> Made {
        Made { result, kept: Vec::new() }
    }
}

impl<'a> Maker<'a> {
    /// An empty plan with what every step has: how many numbers the optimizer keeps of each weight,
    /// and of micro-batches.
    pub(crate) fn new(
        layout: &'a Layout,
        batches: Batches,
        slots: usize,
        micro_batches: u32,
        on: Capacity,
    ) -> Maker<'a> {
        let mut plan = Plan::default();
        let mut each = || layout.arrays.iter().map(|of| plan.room(of.numbers, Use::Kept)).collect();
        let (theta, grads): (_, Vec<_>) = (each(), each());
        let total = if micro_batches > 1 { each() } else { grads.clone() };
        let slots = (0..slots).map(|_| each()).collect();
        let kept = |numbers| plan.room(numbers, Use::Kept);
        let rows = batches.shape.iter().product();
        let [tokens, targets, sorted, drawn, share, numbers, report] =
            [rows, rows, batches.vocab + 1 + rows, 5, 3, NUMBERS, 3].map(kept);
        let batch = Rooms { tokens, targets, sorted, drawn, share, ..Rooms::default() };
        let fixed = Rooms { theta, grads, total, slots, numbers, report, ..batch };
        Maker { micro_batches, ..Maker::of(plan, fixed, layout, batches, on) }
    }

    /// An empty plan of a measurement, beside a step that has θ. A step's other rooms are not used.
    pub(crate) fn scoring(layout: &'a Layout, batches: Batches, on: Capacity) -> Maker<'a> {
        let mut plan = Plan::default();
        let theta = layout.arrays.iter().map(|of| plan.room(of.numbers, Use::Elsewhere)).collect();
        let rows = batches.shape.iter().product();
        let [tokens, targets, report] = [rows, rows, 2 * rows].map(|n| plan.room(n, Use::Kept));
        let fixed = Rooms { theta, tokens, targets, report, ..Rooms::default() };
        Maker { measures: true, ..Maker::of(plan, fixed, layout, batches, on) }
    }

    fn of(
        plan: Plan,
        fixed: Rooms,
        layout: &'a Layout,
        batches: Batches,
        on: Capacity,
    ) -> Maker<'a> {
        Maker {
            plan,
            fixed,
            batch: batches.shape,
            micro_batches: 1,
            ranks: 1,
            on,
            is_tight: false,
            measures: false,
            text: None,
            layout,
            ops: HashMap::new(),
            users: HashMap::new(),
            values: HashMap::new(),
            gradients: HashMap::new(),
            holders: HashMap::new(),
            halves: HashSet::new(),
            written: HashSet::new(),
            waiting: Waiting::default(),
        }
    }

    /// Rooms for the rows of a table of n-grams, and for where each of its `all` rows stands.
    pub(crate) fn look_up(&mut self, table: NgramTable, rows: usize, all: usize) -> [Room; 2] {
        let there = self.fixed.ngrams.iter().find(|(of, ..)| *of == table);
        if let Some((.., rooms)) = there {
            return *rooms;
        }
        let rooms = [rows, all + 1 + rows].map(|n| self.plan.room(n, Use::Kept));
        self.fixed.ngrams.push((table, all, rooms));
        rooms
    }

    /// Matrix units. A browser has none, and their texts need not be in its core.
    pub(crate) fn units(&self) -> Option<Units> {
        self.on.units.filter(|_| !cfg!(target_family = "wasm"))
    }

    /// Into how many pieces scores are cut.
    pub(crate) fn pieces(&self, numbers: usize) -> usize {
        self.on.pieces(numbers)
    }

    /// Rows of a step: the tokens of all processes' micro-batches.
    pub(crate) fn rows_of_a_step(&self) -> usize {
        self.batch.iter().product::<usize>() * (self.micro_batches * self.ranks) as usize
    }

    /// The list that is planned.
    pub(crate) fn follow(&mut self, list: &'a [Listed]) {
        for made in list {
            self.ops.insert(made.result, made);
            for id in made.inputs.iter().filter_map(Input::id) {
                self.users.entry(id).or_default().push(made);
            }
        }
    }

    /// The one op that uses this op's result, if there is one alone.
    pub(crate) fn only_user(&self, made: &Listed) -> Option<&'a Listed> {
        if let [user] = self.users(made) { Some(user) } else { None }
    }

    /// Whether there is an op of this kind.
    pub(crate) fn any(&self, is: impl Fn(&Listed) -> bool) -> bool {
        self.ops.values().any(|made| is(made))
    }

    /// The ops that use this op's result.
    pub(crate) fn users(&self, made: &Listed) -> &[&'a Listed] {
        self.users.get(&made.result).map_or(&[], |users| users)
    }

    /// The op that made input `i`.
    pub(crate) fn maker_of(&self, made: &Listed, i: usize) -> Option<&'a Listed> {
        made.inputs.get(i).and_then(Input::id).and_then(|id| self.ops.get(&id).copied())
    }

    /// The room of a sum's other part, which has the sum's shape and which nothing else uses.
    pub(crate) fn alone_in(&self, sum: &Listed, part: &Listed) -> Option<Room> {
        let i = sum.inputs.iter().position(|input| input.id() != Some(part.result))?;
        let same = sum.inputs.iter().all(|input| input.shape() == part.shape);
        let other = self.maker_of(sum, i).filter(|other| same && self.only_user(other).is_some());
        other.and_then(|_| self.value(sum, i).ok())
    }

    /// Whether the result of an op is there, made by the call of another.
    pub(crate) fn has(&self, made: &Listed) -> bool {
        self.values.contains_key(&made.result)
    }

    /// Keeps the result of an op for those that use it.
    pub(crate) fn keep(&mut self, made: &Listed, result: Room) {
        self.values.insert(made.result, result);
    }

    /// Takes out the gradient of a result, which is complete when its turn comes.
    pub(crate) fn gradient_of(&mut self, made: &Listed) -> Option<Room> {
        self.gradients.remove(&made.result)
    }

    /// A parameter that has no gradient, if there is one.
    pub(crate) fn unused(&self) -> Option<&str> {
        self.layout.without(&self.written)
    }

    pub(crate) fn call(&mut self, kernel: Kernel, sizes: &[u32], rooms: &[Room], grid: [u32; 3]) {
        self.plan.calls.push(Call { kernel, sizes: sizes.to_vec(), rooms: rooms.to_vec(), grid });
    }

    pub(crate) fn room(&mut self, numbers: usize) -> Room {
        self.plan.room(numbers, Use::Passing)
    }

    /// A room for numbers that are stored as f16, if they are.
    pub(crate) fn room_of(&mut self, numbers: usize, half: bool) -> Room {
        let room = self.room(if half { numbers.div_ceil(2) } else { numbers });
        if half {
            self.halves.insert(room);
        }
        room
    }

    /// Whether a room's numbers are stored as f16.
    pub(crate) fn is_half(&self, room: Room) -> bool {
        self.halves.contains(&room)
    }

    /// A room of its own with these numbers.
    pub(crate) fn copy_of(&mut self, room: Room, numbers: usize) -> Room {
        let own = self.room(numbers);
        self.call(COPY, &[numbers as u32], &[room, own], elements(numbers));
        own
    }

    /// The result of an earlier op that is input `i`.
    pub(crate) fn value(&self, made: &Listed, i: usize) -> Result<Room> {
        let value = made.inputs.get(i).and_then(Input::id).and_then(|id| self.values.get(&id));
        value.copied().ok_or_else(|| {
            GpuError::no(made.op, message!("where an input is no result of another op"))
        })
    }

    /// Where the parameter that is input `i` begins in θ.
    pub(crate) fn weight(&self, made: &Listed, i: usize) -> Result<Spot> {
        let at = made.inputs.get(i).and_then(Input::id).and_then(|id| self.layout.at(id));
        at.ok_or_else(|| GpuError::no(made.op, message!("where its weight is no parameter")))
    }

    /// Where the gradient of input `i`, a result, is to be written.
    pub(crate) fn target(&mut self, made: &Listed, i: usize) -> Target<Room> {
        let numbers = made.inputs[i].shape().iter().product();
        let Some(id) = made.inputs[i].id() else {
            return Target { to: self.room(numbers), add: 0 };
        };
        let Some(&room) = self.gradients.get(&id) else {
            let room = self.room(numbers);
            self.hold(id, room);
            return Target { to: room, add: 0 };
        };
        if self.holders[&room] == 1 {
            return Target { to: room, add: 1 };
        }
        // Another's as well, or being read: from here on this one has its own.
        let own = self.copy_of(room, numbers);
        self.let_go(room);
        self.hold(id, own);
        Target { to: own, add: 1 }
    }

    /// [`Maker::target`] of the one op that uses input `i`, as f16.
    pub(crate) fn half_target(&mut self, made: &Listed, i: usize) -> Target<Room> {
        let room = self.room_of(made.inputs[i].shape().iter().product(), true);
        if let Some(id) = made.inputs[i].id() {
            self.hold(id, room);
        }
        Target { to: room, add: 0 }
    }

    /// Adds a whole room to the gradient of input `i`; the first time it is the gradient itself.
    pub(crate) fn share(&mut self, made: &Listed, i: usize, dx: Room) {
        let Some(id) = made.inputs[i].id() else { return };
        if !self.gradients.contains_key(&id) {
            return self.hold(id, dx);
        }
        let to = self.target(made, i).to;
        let numbers: usize = made.inputs[i].shape().iter().product();
        self.call(ACCUMULATE, &[numbers as u32], &[dx, to], elements(numbers));
    }

    /// Where the gradient of the parameter that is input `i` begins.
    pub(crate) fn weight_target(&mut self, made: &Listed, i: usize) -> Result<Target<Spot>> {
        let to = self.weight(made, i)?;
        let id = made.inputs[i].id().unwrap_or_default();
        let add = u32::from(!self.written.insert(id));
        if add == 1 {
            self.add_up_waiting(); // what is added to has to be there
        }
        Ok(Target { to, add })
    }

    /// The room of the parts that wait, as large as they are by now.
    pub(crate) fn waiting_room(&mut self) -> Room {
        let numbers = self.waiting.numbers;
        let room = self.waiting.room.unwrap_or_else(|| self.room(numbers));
        self.waiting.room = Some(room);
        self.plan.rooms[room.place()].0 = numbers;
        room
    }

    /// Adds up the parts that wait.
    pub(crate) fn add_up_waiting(&mut self) {
        let Waiting { room, pieces, widest, array, .. } = std::mem::take(&mut self.waiting);
        let Some(room) = room else { return };
        let [groups, ..] = elements(widest);
        let (rooms, grid) = ([room, self.fixed.grads[array]], [groups, pieces.len() as u32, 1]);
        self.call(OF_PARTS, &pieces.concat(), &rooms, grid);
    }

    /// The gradient of this result lies in this room.
    pub(crate) fn hold(&mut self, id: u64, room: Room) {
        self.gradients.insert(id, room);
        *self.holders.entry(room).or_default() += 1;
    }

    /// One gradient fewer lies in this room.
    pub(crate) fn let_go(&mut self, room: Room) {
        if let Some(holders) = self.holders.get_mut(&room) {
            *holders -= 1;
        }
    }
}
