//! The three things that wgpu calls unsafe.

#![allow(unsafe_code)]

use wgpu::{Adapter, Device, ShaderModule, ShaderModuleDescriptor};

/// A kernel's text, without what wgpu would write into it: an end for each loop, which keeps a driver from unrolling it
/// (a step of W1 took half as long again on lavapipe); checks of indices (a third more instructions for attention on AMD)
/// and of divisors.
pub(crate) fn module(device: &Device, desc: ShaderModuleDescriptor<'_>) -> ShaderModule {
    // SAFETY: the text is one of this crate's. Its loops end, it divides by sizes that are not 0, and its indices are
    // below what the list that binds the rooms has made room for; where a system checks those itself, it still
    // does.
    unsafe { device.create_shader_module_trusted(desc, wgpu::ShaderRuntimeChecks::unchecked()) }
}

/// Matrix units are to be had.
pub(crate) fn experimental() -> wgpu::ExperimentalFeatures {
    // SAFETY: products in f16 alone depend on it. The tests try those of the device's own units against a plain loop,
    // and a run its first loss against the processor's.
    unsafe { wgpu::ExperimentalFeatures::enabled() }
}

/// Bytes of the memory on an adapter's side, where its interface is Vulkan.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn memory(adapter: &Adapter) -> Option<u64> {
    const DEVICE_LOCAL: u32 = 1;
    // SAFETY: nothing of the adapter is destroyed or kept; it lives while it is asked.
    let of_vulkan = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = of_vulkan.shared_instance().raw_instance();
    // SAFETY: this adapter is one of that instance's.
    let memory =
        unsafe { instance.get_physical_device_memory_properties(of_vulkan.raw_physical_device()) };
    let heaps = memory.memory_heaps.iter().take(memory.memory_heap_count as usize);
    let own = heaps.filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0);
    Some(own.map(|heap| heap.size).sum()).filter(|&bytes| bytes > 0)
}

#[cfg(target_vendor = "apple")]
pub(crate) fn memory(_: &Adapter) -> Option<u64> {
    None
}
