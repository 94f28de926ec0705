//! What is asked of a device: to write, to run, to read.

use crate::device::{Gpu, said};
use crate::error::Result;
use crate::loaded::{Loaded, Ready};
use crate::plan::{Part, Plan, Room};
use crate::words::Words;
use std::sync::mpsc::channel;

impl Gpu {
    /// Queues numbers for a room: they are there before what is queued after them.
    pub(crate) fn write(&self, to: &Loaded, room: Room, numbers: &[f32]) {
        self.queue.write_buffer(to.buffer(room), 0, bytemuck::cast_slice(numbers));
    }

    /// Queues words for their rooms.
    pub(crate) fn say(&self, to: &Loaded, words: &[Words]) {
        for (room, words) in words {
            self.queue.write_buffer(to.buffer(*room), 0, bytemuck::cast_slice(words));
        }
    }

    /// Parts of a plan as commands, not queued yet; behind them the first numbers of a room are copied out.
    pub(crate) fn encode(
        &self,
        loaded: &Loaded,
        plan: &Plan,
        parts: &[Part],
        out: Option<(Room, &wgpu::Buffer)>,
    ) -> wgpu::CommandBuffer {
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
        if let Some((room, to)) = out {
            encoder.copy_buffer_to_buffer(loaded.buffer(room), 0, to, 0, to.size());
        }
        encoder.finish()
    }

    /// A buffer into which the first numbers of a room can be copied out.
    pub(crate) fn outbox(&self, numbers: usize) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * numbers as u64,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }

    /// The numbers copied out, when all that was queued is done.
    ///
    /// # Errors
    /// [`GpuError::Device`](crate::GpuError::Device) when the device is lost, or something queued was not
    /// taken.
    pub(crate) fn wait(&self, out: &wgpu::Buffer) -> Result<Vec<f32>> {
        self.wait_for(out, None)
    }

    /// [`Gpu::wait`], for no more than what was queued up to there.
    ///
    /// # Errors
    /// As [`Gpu::wait`].
    pub(crate) fn wait_for(
        &self,
        out: &wgpu::Buffer,
        submission_index: Option<wgpu::SubmissionIndex>,
    ) -> Result<Vec<f32>> {
        self.check()?;
        let (tell, told) = channel();
        out.map_async(wgpu::MapMode::Read, .., move |done| drop(tell.send(done)));
        let waited = self.device.poll(wgpu::PollType::Wait { submission_index, timeout: None });
        self.check()?;
        waited.map_err(|e| said(&e))?;
        // It has called back by now, or never will.
        told.try_recv().map_err(|e| said(&e))?.map_err(|e| said(&e))?;
        let numbers = {
            let view = out.get_mapped_range(..).map_err(|e| said(&e))?;
            bytemuck::cast_slice(&view).to_vec()
        };
        out.unmap();
        Ok(numbers)
    }

    /// The first `numbers` of a room, when all that was queued is done.
    ///
    /// # Errors
    /// As [`Gpu::wait`].
    pub(crate) fn read(&self, from: &Loaded, room: Room, numbers: usize) -> Result<Vec<f32>> {
        self.check()?;
        let (nothing, out) = (Plan::default(), self.outbox(numbers));
        self.queue.submit([self.encode(from, &nothing, &[], Some((room, &out)))]);
        self.wait(&out)
    }
}
