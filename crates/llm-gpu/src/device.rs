//! A GPU that a driver of this machine offers, and its kernels.

use crate::error::{GpuError, Result};
use crate::plan::{Buffers, Kernel, Part, Plan, Room, Use};
use pollster::block_on;
use std::collections::HashMap;
use std::num::NonZeroU64;
use wgpu::util::DeviceExt;

/// Each call's sizes lie this far apart in one buffer: every device can begin a binding there.
const ALIGNED: usize = 256;

/// An open device; a clone is the same one.
#[derive(Clone)]
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    name: String,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Gpu").field(&self.name).finish()
    }
}

fn instance() -> wgpu::Instance {
    let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
    desc.backends = wgpu::Backends::PRIMARY;
    wgpu::Instance::new(desc)
}

fn name_of(adapter: &wgpu::Adapter) -> String {
    let info = adapter.get_info();
    format!("{} ({}, {})", info.name, info.backend, info.driver_info)
}

impl Gpu {
    /// The names of the adapters that are there, with their interface and driver. A processor may
    /// be among them, under its driver's name (llvmpipe).
    pub fn names() -> Vec<String> {
        let all = block_on(instance().enumerate_adapters(wgpu::Backends::PRIMARY));
        all.iter().map(name_of).collect()
    }

    /// Opens the adapter whose name has `part` in it, in whatever case; without one, the fastest
    /// that the system knows.
    ///
    /// # Errors
    /// [`GpuError::NoAdapter`], [`GpuError::Device`] when the driver refuses.
    pub fn open(part: Option<&str>) -> Result<Gpu> {
        let instance = instance();
        let adapter = match part {
            Some(part) => {
                let all = block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
                let wanted = part.to_lowercase();
                all.into_iter().find(|a| name_of(a).to_lowercase().contains(&wanted))
            }
            None => {
                let power_preference = wgpu::PowerPreference::HighPerformance;
                let options =
                    wgpu::RequestAdapterOptions { power_preference, ..Default::default() };
                block_on(instance.request_adapter(&options)).ok()
            }
        };
        let adapter = adapter.ok_or_else(|| GpuError::NoAdapter {
            asked: part.map(String::from),
            there: Gpu::names(),
        })?;
        let have = adapter.limits();
        let required_limits = wgpu::Limits {
            max_buffer_size: have.max_buffer_size,
            max_storage_buffer_binding_size: have.max_storage_buffer_binding_size,
            ..wgpu::Limits::default()
        };
        let desc = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
        let (device, queue) =
            block_on(adapter.request_device(&desc)).map_err(|e| GpuError::Device(e.to_string()))?;
        Ok(Gpu { device, queue, name: name_of(&adapter) })
    }

    /// Its name, interface and driver.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes the buffers and bindings of a plan and compiles its kernels.
    ///
    /// # Errors
    /// [`GpuError::Device`] when there is no memory, or a driver does not take a kernel.
    pub(crate) fn load(&self, plan: &Plan, buffers: &Buffers) -> Result<Loaded> {
        let scopes = [wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation]
            .map(|filter| self.device.push_error_scope(filter));
        let loaded = self.make(plan, buffers);
        let said = scopes.into_iter().rev().filter_map(|scope| block_on(scope.pop()));
        match said.last() {
            Some(said) => Err(GpuError::Device(said.to_string())),
            None => Ok(loaded),
        }
    }

    fn make(&self, plan: &Plan, buffers: &Buffers) -> Loaded {
        let made: Vec<wgpu::Buffer> = buffers
            .sizes
            .iter()
            .map(|&numbers| {
                self.device.create_buffer(&wgpu::BufferDescriptor {
                    label: None,
                    size: 4 * numbers as u64,
                    usage: wgpu::BufferUsages::STORAGE
                        | wgpu::BufferUsages::COPY_DST
                        | wgpu::BufferUsages::COPY_SRC,
                    mapped_at_creation: false,
                })
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
        let sizes = self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(&sizes),
            usage: wgpu::BufferUsages::UNIFORM,
        });
        let mut pipelines: HashMap<Kernel, wgpu::ComputePipeline> = HashMap::new();
        let calls = plan.calls.iter().enumerate().map(|(i, call)| {
            let pipeline =
                pipelines.entry(call.kernel).or_insert_with(|| self.compile(call.kernel)).clone();
            let own = wgpu::BufferBinding {
                buffer: &sizes,
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

    /// Its bindings are those that the entry uses: layouts follow from the text.
    fn compile(&self, kernel: Kernel) -> wgpu::ComputePipeline {
        let source = wgpu::ShaderSource::Wgsl(kernel.text.concat().into());
        let label = Some(kernel.entry);
        let module =
            self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label, source });
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

    pub(crate) fn write(&self, to: &Loaded, room: Room, numbers: &[u8]) {
        self.queue.write_buffer(&to.rooms[room.0].0, 0, numbers);
    }

    /// The first `numbers` of a room, when all that was queued is done.
    ///
    /// # Errors
    /// [`GpuError::Device`] when the device is lost.
    pub(crate) fn read(&self, from: &Loaded, room: Room, numbers: usize) -> Result<Vec<f32>> {
        let bytes = 4 * numbers as u64;
        let to = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(&from.rooms[room.0].0, 0, &to, 0, bytes);
        self.queue.submit([encoder.finish()]);
        let (tell, told) = std::sync::mpsc::channel();
        to.map_async(wgpu::MapMode::Read, .., move |done| drop(tell.send(done)));
        let device = |said: &dyn std::fmt::Display| GpuError::Device(said.to_string());
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| device(&e))?;
        told.recv().map_err(|e| device(&e))?.map_err(|e| device(&e))?;
        let view = to.get_mapped_range(..).map_err(|e| device(&e))?;
        Ok(bytemuck::cast_slice(&view).to_vec())
    }

    /// Queues parts of a plan; nothing is waited for.
    pub(crate) fn run(&self, loaded: &Loaded, plan: &Plan, parts: &[Part]) {
        let calls = parts.iter().flat_map(|&part| &loaded.calls[plan.part(part)]);
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for Ready { pipeline, bindings, grid: [x, y, z] } in calls {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, bindings, &[]);
                pass.dispatch_workgroups(*x, *y, *z);
            }
        }
        self.queue.submit([encoder.finish()]);
    }
}

/// A call with its kernel compiled and its buffers bound.
struct Ready {
    pipeline: wgpu::ComputePipeline,
    bindings: wgpu::BindGroup,
    grid: [u32; 3],
}

/// A plan on a device.
pub(crate) struct Loaded {
    calls: Vec<Ready>,
    /// The buffer of each room, and how much of it is the room's.
    rooms: Vec<(wgpu::Buffer, u64)>,
}
