//! A GPU that a driver of this machine offers.

use crate::error::{GpuError, Result};
use crate::plan::{Capacity, Units};
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An open device; a clone is the same one.
#[derive(Clone)]
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    /// Name, interface and driver.
    label: Arc<str>,
    adapter: Arc<str>,
    is_a_processor: bool,
    /// Bytes of the adapter's memory, where that is known.
    pub(crate) memory: Option<u64>,
    groups: usize,
    units: Option<Units>,
    /// Bytes of the largest array that a kernel can be bound to.
    pub(crate) array: u64,
    /// The device's first error that came unasked: it is lost, or did not take a command.
    failed: Arc<Mutex<Option<String>>>,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gpu").field(&self.label).finish()
    }
}

/// A driver's message in one line.
pub(crate) fn in_a_line(words: &dyn Display) -> String {
    words.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a driver says.
pub(crate) fn said(words: &dyn Display) -> GpuError {
    GpuError::Device(in_a_line(words))
}

fn locked(failed: &Mutex<Option<String>>) -> MutexGuard<'_, Option<String>> {
    failed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of an adapter before it is opened.
pub(crate) struct About {
    pub described: String,
    pub name: String,
    pub is_a_processor: bool,
    pub memory: Option<u64>,
    /// Workgroups that keep it busy.
    pub groups: usize,
    pub units: Option<Units>,
}

impl Gpu {
    /// A device that an adapter gave.
    pub(crate) fn new(device: wgpu::Device, queue: wgpu::Queue, of: About) -> Gpu {
        let About { described, name, is_a_processor, memory, groups, units } = of;
        let (label, adapter, failed) = (described.into(), name.into(), Arc::default());
        let limits = device.limits();
        let array = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let gpu = Gpu {
            device,
            queue,
            label,
            adapter,
            is_a_processor,
            memory,
            groups,
            units,
            array,
            failed,
        };
        gpu.listen();
        gpu
    }

    /// Keeps errors that come unasked, of which wgpu would make a panic.
    fn listen(&self) {
        let failed = self.failed.clone();
        self.device.set_device_lost_callback(move |reason, words| {
            *locked(&failed) = Some(format!("lost ({reason:?}) {words}"));
        });
        let failed = self.failed.clone();
        self.device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| {
            locked(&failed).get_or_insert(e.to_string());
        }));
    }

    /// `Err` with the error that came unasked, if one did: a lost device is found before its consequences.
    pub(crate) fn check(&self) -> Result<()> {
        if locked(&self.failed).is_some() {
            drop(self.device.poll(wgpu::PollType::Poll)); // which is when it says so
        }
        locked(&self.failed).as_ref().map_or(Ok(()), |words| Err(said(words)))
    }

    /// The adapter's name, interface and driver.
    pub fn name(&self) -> &str {
        &self.label
    }

    /// The adapter's name alone.
    pub fn adapter(&self) -> &str {
        &self.adapter
    }

    /// The matrix units that have kernels here, if the device was opened with them.
    pub fn units(&self) -> Option<Units> {
        self.units
    }

    /// What there is room for.
    pub fn capacity(&self) -> Capacity {
        let Gpu { units, array, memory, groups, .. } = *self;
        Capacity { units, array, memory, groups }
    }

    /// Takes the device for a smaller one.
    #[doc(hidden)]
    pub fn shrunk(self, array: u64, memory: Option<u64>) -> Gpu {
        Gpu { array, memory, groups: 1, ..self }
    }

    /// Whether this is a software renderer on the CPU.
    pub fn is_a_processor(&self) -> bool {
        self.is_a_processor
    }

    /// Gives the device up, as when it is lost: what is asked of it from now on is an error.
    #[doc(hidden)]
    pub fn destroy(&self) {
        self.device.destroy();
    }
}
