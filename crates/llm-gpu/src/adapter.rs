//! The GPUs that drivers of this machine offer, before one is opened.

use crate::device::{About, Gpu, said};
use crate::error::{GpuError, Result};
use crate::ops::units;
use crate::plan::{Capacity, Units};
use crate::trusted;
use pollster::block_on;
use std::fmt;
use wgpu::{Backend, Backends, DeviceType, Features, Limits};

/// NVIDIA's number among vendors.
const NVIDIA: u32 = 0x10de;

/// Percent of the memory that the system leaves to this program, of which no more is taken: beyond it
/// drivers move arrays to the processor's memory, and a step takes ten times as long.
const OF_THE_BUDGET: u8 = 98;

/// What kernels with matrix units need.
const WITH_UNITS: Features =
    Features::EXPERIMENTAL_COOPERATIVE_MATRIX.union(Features::SHADER_F16).union(Features::SUBGROUP);

/// Bytes of a workgroup's memory that they take at most.
const FOR_UNITS: u32 = 32 << 10;

/// Drivers of Vulkan whose units are used; on Metal they are Apple's own. llvmpipe: the tests run on it (Mesa 26.2). radv: its
/// compiler takes all texts, puts no register into memory (Mesa 25.0.7, Navi 31), and lists units where a card has any. NVIDIA: all
/// cards that list units of 16 × 16 have them. Others are left alone: AMD's own driver lists units for cards that have none,
/// and Intel's units are of 8 × 16 or slower than what they replace.
const OF_DRIVERS: [&str; 3] = ["llvmpipe", "radv", "NVIDIA"];

/// What the kernels need, and what this adapter has of all else.
fn needed(have: &Limits) -> Limits {
    Limits {
        max_bind_groups: 1,
        max_bindings_per_bind_group: 9,
        max_storage_buffers_per_shader_stage: 8,
        max_uniform_buffers_per_shader_stage: 1,
        max_compute_workgroup_storage_size: 16 << 10,
        max_compute_invocations_per_workgroup: 256,
        max_compute_workgroup_size_x: 256,
        max_compute_workgroups_per_dimension: 65_535,
        min_uniform_buffer_offset_alignment: 256,
        ..have.clone()
    }
}

/// A GPU that a driver offers, not opened yet.
pub struct Adapter {
    inner: wgpu::Adapter,
    info: wgpu::AdapterInfo,
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Adapter").field(&self.described()).finish()
    }
}

impl Adapter {
    /// All that there are, those on a card of their own first, a software renderer (llvmpipe) last.
    /// A card that is there through DX12 and another interface is there once, through the other one.
    pub fn all() -> Vec<Adapter> {
        let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
        desc.backends = Backends::PRIMARY;
        desc.memory_budget_thresholds.for_resource_creation = Some(OF_THE_BUDGET);
        let all = block_on(wgpu::Instance::new(desc).enumerate_adapters(Backends::PRIMARY));
        let mut all: Vec<_> =
            all.into_iter().map(|inner| Adapter { info: inner.get_info(), inner }).collect();
        let is_dx12 = |of: &Adapter| of.info.backend == Backend::Dx12;
        let card = |of: &Adapter| [of.info.vendor, of.info.device];
        let others: Vec<_> = all.iter().filter(|of| !is_dx12(of)).map(card).collect();
        all.retain(|of| !(is_dx12(of) && others.contains(&card(of))));
        all.sort_by_key(|of| match of.info.device_type {
            DeviceType::DiscreteGpu => 0,
            DeviceType::IntegratedGpu => 1,
            DeviceType::VirtualGpu => 2,
            DeviceType::Other => 3,
            DeviceType::Cpu => 4,
        });
        all
    }

    /// The name alone.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// The interface: vulkan, metal or dx12.
    pub fn interface(&self) -> &'static str {
        self.info.backend.to_str()
    }

    /// The driver's name, and its version.
    pub fn driver(&self) -> [&str; 2] {
        [&self.info.driver, &self.info.driver_info]
    }

    /// Name, interface and driver in a line.
    pub fn described(&self) -> String {
        let wgpu::AdapterInfo { name, backend, driver_info, .. } = &self.info;
        format!("{name} ({backend}, {driver_info})")
    }

    /// The place on the bus, which tells equal cards apart; empty where it is not told.
    pub fn bus(&self) -> &str {
        &self.info.device_pci_bus_id
    }

    /// Whether it is of NVIDIA's.
    pub fn is_nvidia(&self) -> bool {
        self.info.vendor == NVIDIA
    }

    /// Whether this is a software renderer on the CPU.
    pub fn is_a_processor(&self) -> bool {
        self.info.device_type == DeviceType::Cpu
    }

    /// Bytes of its memory, where the interface tells it; a processor's is the machine's.
    pub fn memory(&self) -> Option<u64> {
        trusted::memory(&self.inner).filter(|_| !self.is_a_processor())
    }

    /// Workgroups that keep it busy, about two for each of its compute units. wgpu does not tell how many there are: cards of their
    /// own have dozens, what is part of a processor some ten.
    fn groups(&self) -> usize {
        match self.info.device_type {
            DeviceType::IntegratedGpu | DeviceType::Cpu => 24,
            _ => Capacity::default().groups,
        }
    }

    /// The matrix units that multiply f16 and add in f32 and have kernels here, the larger ones of two kinds.
    pub fn units(&self) -> Option<Units> {
        use wgpu::CooperativeScalarType::{F16, F32};
        let all = self.inner.cooperative_matrix_properties();
        let multiplies = |edge: u32| {
            all.iter().any(|of| {
                [of.m_size, of.n_size, of.k_size] == [edge; 3]
                    && (of.ab_type, of.cr_type) == (F16, F32)
            })
        };
        let edge = [16, 8].into_iter().find(|&edge| multiplies(edge))?;
        // Of Metal wgpu only knows that it is 64 at most; on the devices that have units it is 32.
        let is_metal = self.info.backend == Backend::Metal;
        let subgroup = if is_metal { 32 } else { self.info.subgroup_max_size };
        let units = Units { edge: edge as usize, subgroup: subgroup as usize };
        let wide = self.inner.limits().max_compute_workgroup_storage_size >= FOR_UNITS;
        let usable = self.inner.features().contains(WITH_UNITS) && units::tiles(units).is_some();
        (usable && wide && (is_metal || OF_DRIVERS.contains(&&*self.info.driver))).then_some(units)
    }

    /// Opens it, with its matrix units if they are wanted and to be had: to wgpu they are experimental.
    ///
    /// # Errors
    /// [`GpuError::Limit`] for one that is too small for the kernels; [`GpuError::Device`] when the driver
    /// refuses.
    pub fn open(&self, with_units: bool) -> Result<Gpu> {
        let required_limits = self.inner.limits();
        let mut lacks = Ok(());
        needed(&required_limits).check_limits_with_fail_fn(
            &required_limits,
            true,
            |of, needs, has| {
                lacks = Err(GpuError::Limit { of, needs, has });
            },
        );
        lacks?;
        let units = with_units.then(|| self.units()).flatten();
        let mut desc = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
        if units.is_some() {
            (desc.required_features, desc.experimental_features) =
                (WITH_UNITS, trusted::experimental());
        }
        let (device, queue) = block_on(self.inner.request_device(&desc)).map_err(|e| said(&e))?;
        let of = About {
            described: self.described(),
            name: self.info.name.clone(),
            is_a_processor: self.is_a_processor(),
            memory: self.memory(),
            groups: self.groups(),
            units,
        };
        Ok(Gpu::new(device, queue, of))
    }
}

impl Gpu {
    /// Opens the first adapter whose name has `part` in it, in whatever case; without one, the first of
    /// [`Adapter::all`].
    ///
    /// # Errors
    /// [`GpuError::NoAdapter`]; as [`Adapter::open`].
    pub fn open(part: Option<&str>) -> Result<Gpu> {
        Gpu::opened(part, false)
    }

    /// [`Gpu::open`] with the adapter's matrix units, where they are to be had: for products in f16.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub fn open_with_units(part: Option<&str>) -> Result<Gpu> {
        Gpu::opened(part, true)
    }

    fn opened(part: Option<&str>, with_units: bool) -> Result<Gpu> {
        let (all, wanted) = (Adapter::all(), part.unwrap_or_default().to_lowercase());
        let found = all.iter().find(|of| of.described().to_lowercase().contains(&wanted));
        let none = || GpuError::NoAdapter {
            asked: part.map(String::from),
            there: all.iter().map(Adapter::described).collect(),
        };
        found.ok_or_else(none)?.open(with_units)
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, needed};

    /// A small board's limits (V3D 7.1 with Mesa) are enough, although its textures are small; a workgroup
    /// of half the threads is not.
    #[test]
    fn a_small_board_has_what_kernels_need() {
        let board = Limits {
            max_texture_dimension_2d: 4096,
            max_storage_buffers_per_shader_stage: 8,
            max_compute_workgroup_storage_size: 16 << 10,
            max_compute_invocations_per_workgroup: 256,
            ..Limits::downlevel_defaults()
        };
        assert!(needed(&board).check_limits(&board));
        let smaller = Limits { max_compute_invocations_per_workgroup: 128, ..board };
        assert!(!needed(&smaller).check_limits(&smaller));
    }
}
