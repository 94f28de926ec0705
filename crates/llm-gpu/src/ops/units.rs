//! Products by a device's matrix units.

use super::common::Tiles;
use super::half::BITS;
use crate::plan::{Kernel, Units};

/// Texts for tiles of C of some edge: N units a side, DEPTH numbers of the sum at a time.
macro_rules! texts {
    ($(($unit:literal, $edge:literal, $subgroup:literal): $($tile:literal = $n:literal, $depth:literal)|+;)+) => {
        &[$((
            Units { edge: $edge, subgroup: $subgroup },
            &[$(($tile, texts!($unit, $n, $depth, $subgroup))),+],
        )),+]
    };
    ($unit:literal, $n:literal, $depth:literal, $subgroup:literal) => {
        Kernel::new(
            "product",
            &[
                include_str!($unit),
                concat!("const N: u32 = ", $n, "u; const DEPTH: u32 = ", $depth, "u; "),
                concat!("const SUBGROUP: u32 = ", $subgroup, "u;\n"),
                BITS,
                include_str!("product.wgsl"),
                include_str!("units.wgsl"),
            ],
        )
    };
}

const TEXTS: &[(Units, &Tiles)] = texts! {
    ("unit_16.wgsl", 16, 16): 128 = 4, 16 | 64 = 2, 32;
    ("unit_16.wgsl", 16, 32): 128 = 4, 16 | 64 = 2, 32;
    ("unit_16.wgsl", 16, 64): 128 = 4, 16 | 64 = 2, 32;
    ("unit_8.wgsl", 8, 8): 64 = 4, 32;
    ("unit_8.wgsl", 8, 16): 64 = 4, 32;
    ("unit_8.wgsl", 8, 32): 64 = 4, 32;
    ("unit_8.wgsl", 8, 64): 64 = 4, 32;
};

/// The kernels for such units.
pub(crate) fn tiles(units: Units) -> Option<&'static Tiles> {
    TEXTS.iter().find(|(of, _)| *of == units).map(|(_, tiles)| *tiles)
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::{Kernel, TEXTS};
    use crate::device::Gpu;
    use crate::ops::flash;
    use crate::ops::matmul::{KINDS, PLAIN};

    /// A device has units of one size, and runs their kernels in the tests of products; what wgpu says of the
    /// other texts is heard here.
    #[test]
    fn every_text_is_taken() {
        let Ok(gpu) = Gpu::open_with_units(None) else { return };
        if gpu.units().is_none() {
            return println!("skipped: {} has no matrix units", gpu.name());
        }
        let product = |&(_, kernel): &(usize, Kernel)| {
            let kinds = KINDS.into_iter().flatten();
            kinds.map(move |kinds| Kernel { kinds, end: PLAIN, ..kernel })
        };
        let products = TEXTS.iter().flat_map(|(_, tiles)| tiles.iter().flat_map(product));
        for kernel in products.chain(flash::by_units()) {
            let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
            let text: String = kernel.pieces().collect();
            let source = wgpu::ShaderSource::Wgsl(text.clone().into());
            let desc = wgpu::ShaderModuleDescriptor { label: None, source };
            drop(gpu.device.create_shader_module(desc));
            let said = pollster::block_on(scope.pop());
            assert!(said.is_none(), "{said:?}: {text}");
        }
    }
}
