//! How much memory this process may take.

use super::error::{Error, Result};
use std::path::Path;

/// Bytes that can be had: the least of the system's available memory, the limits of the control
/// groups around this process, the address-space limit and, in WebAssembly, what its memory may
/// still grow by. `u64::MAX` where that is unknown (other systems).
pub fn available() -> u64 {
    let limits = [system(), control_group(), address_space(), growth()];
    limits.into_iter().flatten().min().unwrap_or(u64::MAX)
}

/// `Err(Error::Memory)` when `needed` bytes are more than [`available`], or WebAssembly does not give
/// them: asked before anything large is begun, since there it ends at once when memory cannot be had.
pub fn require(needed: u64) -> Result<()> {
    let available = available();
    let fits = needed <= available && (cfg!(not(target_arch = "wasm32")) || is_given(needed));
    if fits { Ok(()) } else { Err(Error::Memory { needed, available }) }
}

/// The error of an allocation of `needed` bytes that the system has refused.
pub(crate) fn refused(needed: u64) -> Error {
    Error::Memory { needed, available: available() }
}

/// Whether `bytes` can be allocated in one piece; frees them again.
fn is_given(bytes: u64) -> bool {
    let mut asked = Vec::<u8>::new();
    let given = usize::try_from(bytes).is_ok_and(|len| asked.try_reserve_exact(len).is_ok());
    std::hint::black_box(&asked); // an unused allocation would be optimised away
    given
}

/// Most memory this process has had resident so far, in bytes (0 where that is unknown).
pub fn peak_resident() -> u64 {
    status_kib("VmHWM:").map_or(0, |kib| kib * 1024)
}

/// Memory of this process that is resident now, in bytes (0 where that is unknown).
pub fn resident() -> u64 {
    status_kib("VmRSS:").map_or(0, |kib| kib * 1024)
}

/// The share of a Mac's memory that it calls free.
#[cfg(target_os = "macos")]
fn system() -> Option<u64> {
    use super::sysctl::number;
    Some(number("hw.memsize")? / 100 * number("kern.memorystatus_level")?)
}

/// `MemAvailable` of /proc/meminfo.
#[cfg(not(target_os = "macos"))]
fn system() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    Some(kib_after(&text, "MemAvailable:")? * 1024)
}

/// What the control groups of this process still leave.
fn control_group() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    left_in_groups(&groups, Path::new("/sys/fs/cgroup"))
}

/// The least that is left in the groups that these lines of `/proc/self/cgroup` name, and in those
/// around them, below `mounted`: each has a limit of its own, and all of them hold.
fn left_in_groups(groups: &str, mounted: &Path) -> Option<u64> {
    let left = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let (tree, limit, used, files) = match controllers {
            "" => ("", "memory.max", "memory.current", ["inactive_file", "active_file"]),
            list if list.split(',').any(|name| name == "memory") => (
                "memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                ["total_inactive_file", "total_active_file"],
            ),
            _ => return None,
        };
        let inside = path.trim_start_matches('/');
        let group = |above: &Path| {
            let folder = mounted.join(tree).join(above);
            let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
            let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
            let limit = number(limit)?;
            // The system's copies of files count, and go when their place is needed.
            let statistics = text("memory.stat").unwrap_or_default();
            let copies = |name: &str| -> u64 {
                let words = |line: &str| {
                    line.split_once(' ').filter(|(key, _)| *key == name)?.1.parse().ok()
                };
                statistics.lines().find_map(words).unwrap_or(0)
            };
            let copies: u64 = files.into_iter().map(copies).sum();
            Some(limit.saturating_sub(number(used).unwrap_or(0).saturating_sub(copies)))
        };
        Path::new(inside).ancestors().filter_map(group).min()
    };
    groups.lines().filter_map(left).min()
}

/// `RLIMIT_AS` less what is mapped already.
pub(super) fn address_space() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find(|l| l.starts_with("Max address space"))?;
    let limit = line.split_whitespace().nth(3)?.parse::<u64>().ok()?;
    Some(limit.saturating_sub(status_kib("VmSize:")? * 1024))
}

/// Addresses of WebAssembly that have no memory yet. A browser may refuse before they are used up.
#[cfg(target_arch = "wasm32")]
fn growth() -> Option<u64> {
    const PAGE: u64 = 1 << 16;
    Some((1 << 32) - PAGE * core::arch::wasm32::memory_size::<0>() as u64)
}

#[cfg(not(target_arch = "wasm32"))]
fn growth() -> Option<u64> {
    None
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

    /// Limits, what is used of them and copies of files in it, by folder.
    fn groups(groups: &[(&str, &str, u64, u64)], names: [&str; 3]) -> tempfile::TempDir {
        let mounted = tempfile::tempdir().unwrap();
        for (folder, limit, used, copies) in groups {
            let folder = mounted.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
            write(names[0], format!("{limit}\n"));
            write(names[1], format!("{used}\n"));
            write("memory.stat", format!("anon 7\n{} {copies}\n", names[2]));
        }
        mounted
    }

    #[test]
    fn every_control_group_around_the_process_counts() {
        let v2 = ["memory.max", "memory.current", "inactive_file"];
        let mounted = groups(
            &[("", "max", 0, 0), ("a", "900", 500, 100), ("a/b", "max", 300, 0), ("c", "5", 0, 0)],
            v2,
        );
        let left = |lines: &str| left_in_groups(lines, mounted.path());
        assert_eq!(left("0::/a/b\n"), Some(500));
        assert_eq!(left("0::/c\n"), Some(5));
        assert_eq!(left("0::/\n"), None);
        // Seen from inside a container, whose path is that of the machine outside.
        assert_eq!(left("0::/machine/c\n"), None);
        let v1 = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
        let mounted =
            groups(&[("memory", "9223372036854771712", 9, 0), ("memory/x/y", "96", 40, 4)], v1);
        let lines = "9:name=systemd:/\n4:cpu,memory:/x/y\n1:cpu:/\n0::/\n";
        assert_eq!(left_in_groups(lines, mounted.path()), Some(60));
    }
}
