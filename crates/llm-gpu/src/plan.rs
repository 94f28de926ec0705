//! A step as data: rooms for numbers, and calls of kernels on them. Nothing here needs a device, so
//! what a step needs is known before anything is made.

use std::ops::Range;

/// A kernel: an entry of a text in WGSL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// The function.
    pub entry: &'static str,
    /// Pieces of the text, one behind the other.
    pub text: &'static [&'static str],
    /// Pieces behind those: how a product's operands are read, how a norm, an activation or an attention's gradient is stored.
    pub kinds: &'static [&'static str],
    /// Pieces behind those: what becomes of each number of a product, of each weight of an attention.
    pub end: &'static [&'static str],
}

impl Kernel {
    /// A kernel whose text is whole.
    pub const fn new(entry: &'static str, text: &'static [&'static str]) -> Kernel {
        Kernel { entry, text, kinds: &[], end: &[] }
    }

    /// The entry, and before it what the text is of where an entry's name stands for more.
    pub fn name(&self) -> &'static str {
        match (self.entry, self.text.last()) {
            ("forward" | "backward", Some(text)) if text.contains("FlashAttention") => {
                if self.entry == "forward" { "attention" } else { "attention_back" }
            }
            (entry, _) => entry,
        }
    }

    /// All pieces of the text.
    pub fn pieces(&self) -> impl Iterator<Item = &'static str> {
        self.text.iter().chain(self.kinds).chain(self.end).copied()
    }
}

/// Matrix units of a device: they multiply edge × edge numbers in f16 at a time, and add in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Rows and columns of all three matrices.
    pub edge: usize,
    /// The most threads that work on one together.
    pub subgroup: usize,
}

/// What there is room for on a device, and what multiplies there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Matrix units, for products in f16.
    pub units: Option<Units>,
    /// Bytes of the largest array that a kernel can be bound to.
    pub array: u64,
    /// Bytes of memory, where that is known.
    pub memory: Option<u64>,
    /// Workgroups that keep a device busy: a product has the largest tiles of which it has no fewer. Bits do not depend on it.
    pub groups: usize,
}

/// A card of its own, with the largest arrays that wgpu binds, on memory that is not known.
impl Default for Capacity {
    fn default() -> Capacity {
        Capacity { units: None, array: (1 << 31) - 4, memory: None, groups: 128 }
    }
}

impl Capacity {
    /// Into how many pieces an array of scores is cut: none is larger than an array can be, or than this part of the memory.
    pub(crate) fn pieces(&self, numbers: usize) -> usize {
        const PART: u64 = 16;
        let most = self.memory.map_or(self.array, |memory| self.array.min(memory / PART)).max(4);
        (4 * numbers as u64).div_ceil(most) as usize
    }
}

/// Room for numbers of 32 bits, by its place in [`Plan::rooms`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Room(pub(crate) usize);

impl Room {
    /// The place in [`Plan::rooms`].
    pub fn place(self) -> usize {
        self.0
    }
}

/// What a room is for.
#[derive(Clone, Debug, PartialEq)]
pub enum Use {
    /// Between two calls: it may share memory with others when it is not needed.
    Passing,
    /// Numbers kept from step to step; zeros at the start.
    Kept,
    /// Numbers kept from step to step; these at the start.
    Given(Vec<f32>),
    /// A room of another plan, with which it shares its memory: it needs none here.
    Elsewhere,
}

/// One call of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The kernel.
    pub kernel: Kernel,
    /// Sizes: binding 0, as the text's first struct has them.
    pub sizes: Vec<u32>,
    /// Bindings from 1 on.
    pub rooms: Vec<Room>,
    /// Workgroups.
    pub grid: [u32; 3],
}

/// What is run at a time: calls one after the other, between which the host says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Loss and gradient of a micro-batch.
    Gradient,
    /// Adds that gradient to the step's. No calls where a step has one micro-batch.
    Sum,
    /// The norm of the step's gradient.
    Norm,
    /// Clips by that norm, for a host that does not wait for it: see [`Planned::numbers`](crate::Planned::numbers).
    Clip,
    /// The optimizer, which changes nothing when that norm is not finite.
    Update,
    /// Losses and first choices of a batch: the one part of another plan.
    Score,
}

/// Calls in their order, on rooms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Numbers of each room, and its use.
    pub rooms: Vec<(usize, Use)>,
    /// Calls of all parts, one part behind the other.
    pub calls: Vec<Call>,
    /// The parts, and which calls are theirs.
    pub parts: Vec<(Part, Range<usize>)>,
}

/// Where the rooms of a plan lie: several that are not needed at once in one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// Numbers of each buffer; 0 where it is another plan's.
    pub sizes: Vec<usize>,
    /// The buffer of each room.
    pub of_room: Vec<usize>,
}

impl Buffers {
    /// Bytes in all.
    pub fn bytes(&self) -> u64 {
        self.sizes.iter().map(|&numbers| 4 * numbers as u64).sum()
    }
}

impl Plan {
    pub(crate) fn room(&mut self, numbers: usize, kind: Use) -> Room {
        self.rooms.push((numbers, kind));
        Room(self.rooms.len() - 1)
    }

    /// The calls so far that are no part's become this one.
    pub(crate) fn end(&mut self, part: Part) {
        let from = self.parts.last().map_or(0, |(_, calls)| calls.end);
        self.parts.push((part, from..self.calls.len()));
    }

    /// The calls of a part.
    pub fn part(&self, part: Part) -> Range<usize> {
        self.parts.iter().find(|(of, _)| *of == part).map_or(0..0, |(_, calls)| calls.clone())
    }

    /// The first and the last call that uses each room.
    fn lives(&self) -> Vec<Option<[usize; 2]>> {
        let mut lives: Vec<Option<[usize; 2]>> = vec![None; self.rooms.len()];
        for (i, call) in self.calls.iter().enumerate() {
            for room in &call.rooms {
                let life = lives[room.0].get_or_insert([i, i]);
                life[1] = i;
            }
        }
        lives
    }

    /// Puts every room into a buffer. The largest come first, so each buffer has the size of the
    /// first room in it; later ones join the first buffer whose rooms live at other times. Two
    /// rooms of one call live at the same time: a buffer is never read and written in one call.
    pub fn buffers(&self) -> Buffers {
        let lives = self.lives();
        let mut by_size: Vec<usize> = (0..self.rooms.len()).collect();
        by_size.sort_by_key(|&room| (std::cmp::Reverse(self.rooms[room].0), room));
        let mut sizes = Vec::new();
        let mut guests: Vec<Vec<[usize; 2]>> = Vec::new();
        let mut of_room = vec![0; self.rooms.len()];
        for room in by_size {
            let (numbers, kind) = &self.rooms[room];
            let life = match kind {
                Use::Passing => lives[room].unwrap_or([0, 0]),
                Use::Kept | Use::Given(_) | Use::Elsewhere => [0, usize::MAX],
            };
            let apart = |other: &[usize; 2]| other[1] < life[0] || life[1] < other[0];
            let free = guests.iter().position(|all| all.iter().all(apart));
            let buffer = free.unwrap_or_else(|| {
                sizes.push(if *kind == Use::Elsewhere { 0 } else { (*numbers).max(4) });
                guests.push(Vec::new());
                sizes.len() - 1
            });
            guests[buffer].push(life);
            of_room[room] = buffer;
        }
        Buffers { sizes, of_room }
    }
}

/// Workgroups of 256 threads for n numbers; each thread goes on by the whole grid.
pub(crate) fn elements(n: usize) -> [u32; 3] {
    [n.div_ceil(256).clamp(1, 16_384) as u32, 1, 1]
}

/// A workgroup for each row; no axis of a grid may have more than 65,535.
pub(crate) fn rows(n: usize) -> [u32; 3] {
    const MOST: usize = 32_768;
    if n <= MOST { [n as u32, 1, 1] } else { [MOST as u32, n.div_ceil(MOST) as u32, 1] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Kernel = Kernel::new("none", &[]);

    fn plan(sizes: &[usize], calls: &[&[usize]]) -> Plan {
        let mut plan = Plan::default();
        for &n in sizes {
            plan.room(n, Use::Passing);
        }
        plan.calls = calls
            .iter()
            .map(|rooms| Call {
                kernel: NONE,
                sizes: Vec::new(),
                rooms: rooms.iter().map(|&room| Room(room)).collect(),
                grid: [1, 1, 1],
            })
            .collect();
        plan
    }

    #[test]
    fn rooms_share_when_they_live_at_other_times() {
        // 0 → 1 → 2 → 3: the first is free when the third is written.
        let chain = plan(&[8, 16, 8, 16], &[&[0, 1], &[1, 2], &[2, 3]]);
        let buffers = chain.buffers();
        assert_eq!(buffers.of_room, [1, 0, 1, 0]);
        assert_eq!(buffers.bytes(), 4 * (16 + 8));
        // A room that is read once more at the end shares with none.
        let kept = plan(&[8, 16, 8, 16], &[&[0, 1], &[1, 2], &[2, 3], &[0, 3]]);
        let of = kept.buffers().of_room;
        assert!(of[1..].iter().all(|&other| other != of[0]));
    }

    #[test]
    fn what_is_kept_is_alone() {
        let mut chain = plan(&[8, 8, 8], &[&[0, 1], &[1, 2]]);
        chain.rooms[0].1 = Use::Kept;
        let of = chain.buffers().of_room;
        assert!(of[0] != of[1] && of[0] != of[2] && of[1] != of[2]);
    }

    /// No two rooms of a buffer are needed at once, whatever the plan.
    #[test]
    fn no_room_is_given_away_too_early() {
        let mut state = 7u64;
        let mut draw = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % n
        };
        for _ in 0..200 {
            let rooms = 2 + draw(12);
            let sizes: Vec<usize> = (0..rooms).map(|_| 1 + draw(50)).collect();
            let calls: Vec<Vec<usize>> =
                (0..20).map(|_| (0..1 + draw(3)).map(|_| draw(rooms)).collect()).collect();
            let calls: Vec<&[usize]> = calls.iter().map(|call| &call[..]).collect();
            let plan = plan(&sizes, &calls);
            let (lives, buffers) = (plan.lives(), plan.buffers());
            for (a, b) in (0..rooms).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let (Some([a0, a1]), Some([b0, b1])) = (lives[a], lives[b]) else { continue };
                let at_once = a0 <= b1 && b0 <= a1;
                assert!(!(at_once && buffers.of_room[a] == buffers.of_room[b]));
            }
            assert!((0..rooms).all(|r| buffers.sizes[buffers.of_room[r]] >= sizes[r]));
        }
    }
}
