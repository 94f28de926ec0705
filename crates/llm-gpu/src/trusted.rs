//! The two things that wgpu calls unsafe.

#![allow(unsafe_code)]

use wgpu::{Device, ShaderModule, ShaderModuleDescriptor};

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
