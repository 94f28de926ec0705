//! Attention in one call by a device's matrix units: the texts, for each kind of units and each width of a head.

use crate::plan::Units;

/// A text without and with a soft cap of scores.
type Capped = [&'static [&'static str]; 2];

macro_rules! texts {
    ($(($unit:literal, $edge:literal, $subgroup:literal);)+) => {
        &[$((
            Units { edge: $edge, subgroup: $subgroup },
            &[
                texts!($unit, $subgroup, 16),
                texts!($unit, $subgroup, 32),
                texts!($unit, $subgroup, 48),
                texts!($unit, $subgroup, 64),
                texts!($unit, $subgroup, 80),
                texts!($unit, $subgroup, 96),
                texts!($unit, $subgroup, 128),
            ],
        )),+]
    };
    ($unit:literal, $subgroup:literal, $d:literal) => {
        ($d, [texts!($unit, $subgroup, $d, "false"), texts!($unit, $subgroup, $d, "true")])
    };
    ($unit:literal, $subgroup:literal, $d:literal, $capped:literal) => {
        &[
            include_str!($unit),
            concat!("const SUBGROUP: u32 = ", $subgroup, "u; const D: u32 = ", $d, "u; "),
            concat!("const CAPPED: bool = ", $capped, ";\n"),
            include_str!("flash_heads.wgsl"),
            include_str!("flash_units.wgsl"),
        ]
    };
}

/// Widths of a head, and their texts. Tiles and what is exchanged take 32 KiB at most.
const TEXTS: &[(Units, &[(usize, Capped)])] = texts! {
    ("unit_16.wgsl", 16, 16);
    ("unit_16.wgsl", 16, 32);
    ("unit_16.wgsl", 16, 64);
    ("unit_8.wgsl", 8, 8);
    ("unit_8.wgsl", 8, 16);
    ("unit_8.wgsl", 8, 32);
    ("unit_8.wgsl", 8, 64);
};

/// Every text.
#[cfg(all(test, feature = "native"))]
pub(super) fn texts() -> impl Iterator<Item = &'static [&'static str]> {
    TEXTS.iter().flat_map(|(_, widths)| widths.iter().flat_map(|(_, texts)| *texts))
}

/// Rows of a workgroup.
pub(super) const ROWS: usize = 64;

/// The text for heads of this width.
pub(super) fn text(units: Units, d: usize, capped: bool) -> Option<&'static [&'static str]> {
    let (_, widths) = TEXTS.iter().find(|(of, _)| *of == units)?;
    let (_, texts) = widths.iter().find(|(of, _)| *of == d)?;
    Some(texts[usize::from(capped)])
}
