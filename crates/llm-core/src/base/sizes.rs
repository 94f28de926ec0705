//! Sizes as a person reads them.

/// A byte count as a person reads it: `812 B`, `8.7 MB`, `1.5 GB` (powers of 1000).
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 {
        return format!("{n} B");
    }
    let decimals = usize::from(value < 99.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// An integer with thousands separators: `124,672`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(bytes(812), "812 B");
        assert_eq!(bytes(8_730_000), "8.7 MB");
        assert_eq!(bytes(999_600), "1.0 MB");
        assert_eq!(bytes(48_000_000_000), "48.0 GB");
        assert_eq!(bytes(480_000_000_000), "480 GB");
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(124_672), "124,672");
    }
}
