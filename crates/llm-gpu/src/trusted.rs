//! The two things that wgpu calls unsafe.

#![allow(unsafe_code)]

/// A kernel's text, without the checks that wgpu would write into each loop: they keep a driver from unrolling it.
pub(crate) fn module(
    device: &wgpu::Device,
    desc: wgpu::ShaderModuleDescriptor<'_>,
) -> wgpu::ShaderModule {
    // SAFETY: the text is one of this crate's. Its loops count up to a bound, it divides by sizes that are not 0, and
    // its indices are below what the list that binds the rooms has made room for; where a system checks those
    // itself, it still does.
    unsafe { device.create_shader_module_trusted(desc, wgpu::ShaderRuntimeChecks::unchecked()) }
}

/// Matrix units are to be had.
pub(crate) fn experimental() -> wgpu::ExperimentalFeatures {
    // SAFETY: products alone depend on it; the tests try each against a plain loop, and a run its first loss
    // against the processor's.
    unsafe { wgpu::ExperimentalFeatures::enabled() }
}
