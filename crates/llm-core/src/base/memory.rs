//! How much memory this process may take.

use super::error::{Error, Result};

/// Bytes that can be had: the least of the system's available memory, the control group's limit
/// and the address-space limit. `u64::MAX` where nothing can be learnt (other systems).
pub fn available() -> u64 {
    [system(), control_group(), address_space()].into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// `Err(Error::Memory)` when `needed` bytes are more than [`available`].
pub fn require(needed: u64) -> Result<()> {
    let available = available();
    if needed > available { Err(Error::Memory { needed, available }) } else { Ok(()) }
}

/// Most memory this process has had resident so far, in bytes (0 where nothing can be learnt).
pub fn peak_resident() -> u64 {
    status_kib("VmHWM:").map_or(0, |kib| kib * 1024)
}

/// Memory of this process that is resident now, in bytes (0 where nothing can be learnt).
pub fn resident() -> u64 {
    status_kib("VmRSS:").map_or(0, |kib| kib * 1024)
}

/// `MemAvailable` of /proc/meminfo.
fn system() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    Some(kib_after(&text, "MemAvailable:")? * 1024)
}

/// What the control group (v2, then v1) still leaves.
fn control_group() -> Option<u64> {
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let v2 = number("/sys/fs/cgroup/memory.max")
        .map(|max| max.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    v2.or_else(|| number("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
}

/// `RLIMIT_AS` less what is mapped already.
fn address_space() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find(|l| l.starts_with("Max address space"))?;
    let limit = line.split_whitespace().nth(3)?.parse::<u64>().ok()?;
    Some(limit.saturating_sub(status_kib("VmSize:")? * 1024))
}

fn status_kib(key: &str) -> Option<u64> {
    kib_after(&std::fs::read_to_string("/proc/self/status").ok()?, key)
}

fn kib_after(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|l| l.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_petabyte_is_refused_and_a_byte_is_not() {
        assert!(require(1).is_ok());
        if available() < u64::MAX {
            assert!(matches!(require(1 << 50), Err(Error::Memory { .. })));
        }
    }
}
