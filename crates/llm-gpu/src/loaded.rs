//! A plan on a device: its buffers, its kernels compiled, what each call is bound to.

use crate::device::{Gpu, in_a_line, said};
use crate::error::{GpuError, Result};
use crate::plan::{Buffers, Kernel, Plan, Room, Use};
use crate::trusted;
use llm_core::base::{Message, bytes};
use llm_core::message;
use pollster::block_on;
use std::collections::HashMap;
use std::num::NonZeroU64;

/// Each call's sizes lie this far apart in one buffer: every device can begin a binding there.
const ALIGNED: usize = 256;

/// A call with its kernel compiled and its buffers bound.
pub(crate) struct Ready {
    pub pipeline: wgpu::ComputePipeline,
    pub bindings: wgpu::BindGroup,
    pub grid: [u32; 3],
}

/// A plan on a device.
pub(crate) struct Loaded {
    pub calls: Vec<Ready>,
    /// The buffer of each room, and how much of it is the room's.
    rooms: Vec<(wgpu::Buffer, u64)>,
}

impl Loaded {
    pub(crate) fn buffer(&self, room: Room) -> &wgpu::Buffer {
        &self.rooms[room.0].0
    }

    /// The buffers of several.
    pub(crate) fn of(&self, rooms: &[Room]) -> Vec<wgpu::Buffer> {
        rooms.iter().map(|&room| self.buffer(room).clone()).collect()
    }
}

fn no_memory(of: &Buffers, of_weights: bool, what: Message) -> GpuError {
    GpuError::Memory { needed: of.bytes(), of_weights, what }
}

impl Gpu {
    /// Makes the buffers and bindings of a plan and compiles its kernels. Its rooms that are elsewhere lie in these, in
    /// their order.
    ///
    /// # Errors
    /// [`GpuError::Memory`]; [`GpuError::Device`] when a driver does not take a kernel.
    pub(crate) fn load(
        &self,
        plan: &Plan,
        buffers: &Buffers,
        elsewhere: &[wgpu::Buffer],
    ) -> Result<Loaded> {
        self.fits(plan, buffers)?;
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let others = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let loaded = self.make(plan, buffers, elsewhere);
        let [other, refused] = [others, memory].map(|scope| block_on(scope.pop()));
        if let Some(words) = refused {
            return Err(no_memory(buffers, false, in_a_line(&words).into()));
        }
        other.map_or(Ok(()), |words| Err(said(&words)))?;
        self.check().map(|()| loaded)
    }

    /// Compares what a plan needs with what this device has, the weights first: less of the rest would not
    /// help them.
    fn fits(&self, plan: &Plan, buffers: &Buffers) -> Result<()> {
        let most = self.array;
        let mut stays = vec![false; buffers.sizes.len()];
        for ((_, kind), &buffer) in plan.rooms.iter().zip(&buffers.of_room) {
            stays[buffer] = *kind != Use::Passing;
        }
        for of_weights in [true, false] {
            let all = buffers.sizes.iter().zip(&stays).filter(|(_, stays)| **stays || !of_weights);
            let sizes: Vec<u64> = all.map(|(&numbers, _)| 4 * numbers as u64).collect();
            let largest = sizes.iter().max().copied().unwrap_or(0);
            let sum: u64 = sizes.iter().sum();
            if largest > most {
                let what = message!("one array has {}, it allows {}", bytes(largest), bytes(most));
                return Err(no_memory(buffers, of_weights, what));
            }
            if let Some(there) = self.memory.filter(|&there| sum > there) {
                return Err(no_memory(buffers, of_weights, message!("it has {}", bytes(there))));
            }
        }
        Ok(())
    }

    fn make(&self, plan: &Plan, buffers: &Buffers, elsewhere: &[wgpu::Buffer]) -> Loaded {
        let usage = wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_DST
            | wgpu::BufferUsages::COPY_SRC;
        let new = |numbers: usize, usage: wgpu::BufferUsages| {
            let size = 4 * numbers as u64;
            let label = None;
            let desc = wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false };
            self.device.create_buffer(&desc)
        };
        let of_others = plan.rooms.iter().zip(&buffers.of_room);
        let of_others = of_others.filter(|((_, kind), _)| *kind == Use::Elsewhere);
        let of_others: HashMap<_, _> = of_others.map(|(_, &of)| of).zip(elsewhere).collect();
        let made: Vec<_> = (buffers.sizes.iter().enumerate())
            .map(|(i, &numbers)| match of_others.get(&i) {
                Some(buffer) => (*buffer).clone(),
                None => new(numbers, usage),
            })
            .collect();
        let rooms: Vec<(wgpu::Buffer, u64)> = plan
            .rooms
            .iter()
            .zip(&buffers.of_room)
            .map(|((numbers, _), &buffer)| (made[buffer].clone(), 4 * (*numbers).max(1) as u64))
            .collect();
        for ((_, kind), (buffer, _)) in plan.rooms.iter().zip(&rooms) {
            if let Use::Given(numbers) = kind {
                self.queue.write_buffer(buffer, 0, bytemuck::cast_slice(numbers));
            }
        }
        let mut sizes: Vec<u32> = Vec::new();
        for (i, call) in plan.calls.iter().enumerate() {
            sizes.resize(i * ALIGNED / 4, 0);
            sizes.extend(&call.sizes);
        }
        sizes.resize(plan.calls.len() * ALIGNED / 4, 0);
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let all_sizes = new(sizes.len().max(1), usage);
        self.queue.write_buffer(&all_sizes, 0, bytemuck::cast_slice(&sizes));
        let mut pipelines: HashMap<Kernel, wgpu::ComputePipeline> = HashMap::new();
        let calls = plan.calls.iter().enumerate().map(|(i, call)| {
            let pipeline =
                pipelines.entry(call.kernel).or_insert_with(|| self.compile(call.kernel)).clone();
            let own = wgpu::BufferBinding {
                buffer: &all_sizes,
                offset: (i * ALIGNED) as u64,
                size: NonZeroU64::new(ALIGNED as u64),
            };
            let whole = call.rooms.iter().map(|room| {
                let (buffer, bytes) = &rooms[room.0];
                wgpu::BufferBinding { buffer, offset: 0, size: NonZeroU64::new(*bytes) }
            });
            let entries: Vec<_> = std::iter::once(own)
                .chain(whole)
                .enumerate()
                .map(|(binding, part)| wgpu::BindGroupEntry {
                    binding: binding as u32,
                    resource: wgpu::BindingResource::Buffer(part),
                })
                .collect();
            let bindings = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(call.kernel.entry),
                layout: &pipeline.get_bind_group_layout(0),
                entries: &entries,
            });
            Ready { pipeline, bindings, grid: call.grid }
        });
        let calls = calls.collect();
        Loaded { calls, rooms }
    }

    /// A kernel compiled; its bindings are what the entry uses, as layouts follow from the text.
    fn compile(&self, kernel: Kernel) -> wgpu::ComputePipeline {
        let source = wgpu::ShaderSource::Wgsl(kernel.pieces().collect::<String>().into());
        let label = Some(kernel.entry);
        let desc = wgpu::ShaderModuleDescriptor { label, source };
        let module = trusted::module(&self.device, desc);
        self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: None,
            module: &module,
            entry_point: Some(kernel.entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false, // each kernel fills what it reads
                ..Default::default()
            },
            cache: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is made of a plan that the device has no room for, and it is said whether less at a time
    /// would have one.
    #[test]
    fn too_large_an_array_is_refused() {
        let Ok(mut gpu) = Gpu::open(None) else { return };
        let most = gpu.device.limits().max_storage_buffer_binding_size / 4;
        for (kind, all) in [(Use::Passing, false), (Use::Kept, true)] {
            let mut plan = Plan::default();
            plan.room(most as usize + 1, kind);
            plan.room(8, Use::Passing);
            let refused = gpu.load(&plan, &plan.buffers(), &[]).map(drop).unwrap_err();
            let GpuError::Memory { of_weights, .. } = refused else { panic!("{refused}") };
            assert!(of_weights == all && refused.to_string().contains(": one array has "));
        }
        // Each array is small enough; all of them are too much.
        gpu.memory = Some(4 * 20);
        for (kept, all) in [(8, false), (24, true)] {
            let mut plan = Plan::default();
            plan.room(kept, Use::Kept);
            plan.room(16, Use::Passing);
            let refused = gpu.load(&plan, &plan.buffers(), &[]).map(drop).unwrap_err();
            assert!(matches!(refused, GpuError::Memory { of_weights, .. } if of_weights == all));
            assert!(refused.to_string().ends_with(": it has 80 B"), "{refused}");
        }
    }

    /// What a driver says of a kernel that it does not take is an error in one line.
    #[test]
    fn a_kernel_that_is_not_taken_is_an_error() {
        let Ok(gpu) = Gpu::open(None) else { return };
        let mut plan = Plan::default();
        let room = plan.room(4, Use::Passing);
        let kernel = Kernel::new("none", &["nothing"]);
        let (sizes, rooms, grid) = (Vec::new(), vec![room], [1, 1, 1]);
        plan.calls.push(crate::plan::Call { kernel, sizes, rooms, grid });
        let said = gpu.load(&plan, &plan.buffers(), &[]).map(drop).unwrap_err().to_string();
        assert!(said.starts_with("the GPU: ") && !said.contains('\n'), "{said}");
    }
}
