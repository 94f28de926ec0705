//! A GPU that a driver of this machine offers.

use crate::error::{GpuError, Result};
use crate::ops::units;
use crate::plan::Units;
use crate::trusted;
use pollster::block_on;
use std::fmt::{self, Display};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An open device; a clone is the same one.
#[derive(Clone)]
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    name: Arc<str>,
    info: Arc<wgpu::AdapterInfo>,
    units: Option<Units>,
    /// The device's first error that came unasked: it is lost, or did not take a command.
    failed: Arc<Mutex<Option<String>>>,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gpu").field(&self.name).finish()
    }
}

fn instance() -> wgpu::Instance {
    let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
    desc.backends = wgpu::Backends::PRIMARY;
    wgpu::Instance::new(desc)
}

fn name_of(info: &wgpu::AdapterInfo) -> String {
    format!("{} ({}, {})", info.name, info.backend, info.driver_info)
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

/// What kernels with matrix units need.
const WITH_UNITS: wgpu::Features = wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX
    .union(wgpu::Features::SHADER_F16)
    .union(wgpu::Features::SUBGROUP);

/// The matrix units of an adapter that multiply f16 and add in f32, the larger ones of two kinds.
fn units_of(adapter: &wgpu::Adapter, info: &wgpu::AdapterInfo) -> Option<Units> {
    use wgpu::CooperativeScalarType::{F16, F32};
    let all = adapter.cooperative_matrix_properties();
    let multiplies = |edge: u32| {
        all.iter().any(|of| {
            [of.m_size, of.n_size, of.k_size] == [edge; 3] && (of.ab_type, of.cr_type) == (F16, F32)
        })
    };
    let edge = [16, 8].into_iter().find(|&edge| multiplies(edge))?;
    // Of Metal wgpu only knows that it is 64 at most; on the devices that have units it is 32.
    let subgroup = if info.backend == wgpu::Backend::Metal { 32 } else { info.subgroup_max_size };
    let units = Units { edge: edge as usize, subgroup: subgroup as usize };
    (adapter.features().contains(WITH_UNITS) && units::tiles(units).is_some()).then_some(units)
}

impl Gpu {
    /// The names of the adapters that are there, with their interface and driver. A processor may
    /// be among them, under its driver's name (llvmpipe).
    pub fn names() -> Vec<String> {
        let all = block_on(instance().enumerate_adapters(wgpu::Backends::PRIMARY));
        all.iter().map(|adapter| name_of(&adapter.get_info())).collect()
    }

    /// Opens the adapter whose name has `part` in it, in whatever case; without one, the fastest
    /// that the system knows.
    ///
    /// # Errors
    /// [`GpuError::NoAdapter`], [`GpuError::Device`] when the driver refuses.
    pub fn open(part: Option<&str>) -> Result<Gpu> {
        Gpu::opened(part, false)
    }

    /// [`Gpu::open`] with the adapter's matrix units, where wgpu can have them: for products in f16. To wgpu they are experimental.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open_with_units(part: Option<&str>) -> Result<Gpu> {
        Gpu::opened(part, true)
    }

    fn opened(part: Option<&str>, with_units: bool) -> Result<Gpu> {
        let instance = instance();
        let adapter = match part {
            Some(part) => {
                let all = block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
                let wanted = part.to_lowercase();
                all.into_iter().find(|a| name_of(&a.get_info()).to_lowercase().contains(&wanted))
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
        let info = adapter.get_info();
        let units = with_units.then(|| units_of(&adapter, &info)).flatten();
        let mut desc = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
        if units.is_some() {
            (desc.required_features, desc.experimental_features) =
                (WITH_UNITS, trusted::experimental());
        }
        let (device, queue) = block_on(adapter.request_device(&desc)).map_err(|e| said(&e))?;
        let (name, failed) = (name_of(&info).into(), Arc::new(Mutex::new(None)));
        let gpu = Gpu { device, queue, name, info: Arc::new(info), units, failed };
        gpu.listen();
        Ok(gpu)
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
        &self.name
    }

    /// The adapter's name alone.
    pub fn adapter(&self) -> &str {
        &self.info.name
    }

    /// The matrix units that have kernels here, if the device was opened with them.
    pub fn units(&self) -> Option<Units> {
        self.units
    }

    /// Whether this is a software renderer on the CPU.
    pub fn is_a_processor(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::Cpu
    }

    /// Gives the device up, as when it is lost: what is asked of it from now on is an error.
    #[doc(hidden)]
    pub fn destroy(&self) {
        self.device.destroy();
    }
}
