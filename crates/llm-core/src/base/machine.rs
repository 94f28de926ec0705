//! This computer: what its processor is called, and how many of its cores are worth a thread.
//!
//! A step's work is cut into equal pieces, and its end waits for the last of them: where some cores are half as fast as the
//! others, as in Apple's processors and in hybrid ones of Intel and ARM, the fast cores alone are sooner done.

use std::collections::BTreeSet;
use std::path::Path;

#[cfg(target_os = "macos")]
use super::sysctl;

/// How many cores are worth a thread each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// Cores of the machine that are worth a thread.
    pub all: usize,
    /// Cores among them that this process may use.
    pub free: usize,
}

/// The fast cores where some are slow, else all.
pub fn cores() -> Cores {
    let free = std::thread::available_parallelism().map_or(1, |n| n.get());
    #[cfg(target_os = "macos")]
    if sysctl::number("hw.nperflevels").is_some_and(|levels| levels > 1)
        && let Some(fast) = sysctl::number("hw.perflevel0.physicalcpu")
    {
        return Cores::of(free, fast as usize, fast as usize);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    match fast_cores(Path::new("/sys/devices")) {
        Some(fast) => {
            let mine = allowed.map_or_else(|| fast.clone(), numbers);
            Cores::of(free, fast.len(), fast.intersection(&mine).count())
        }
        None => {
            let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
            let all = info.lines().filter(|line| line.starts_with("processor")).count();
            Cores { all: all.max(free), free }
        }
    }
}

impl Cores {
    /// Counts `fast` cores, `mine` of which are among the `free`. Slow ones are better than none.
    fn of(free: usize, fast: usize, mine: usize) -> Cores {
        match free.min(mine) {
            0 => Cores { all: free, free },
            mine => Cores { all: fast, free: mine },
        }
    }
}

/// The processor as it calls itself, if it does.
pub fn processor() -> Option<String> {
    #[cfg(target_os = "macos")]
    let name = sysctl::text("machdep.cpu.brand_string");
    #[cfg(windows)]
    let name = std::env::var("PROCESSOR_IDENTIFIER").ok();
    #[cfg(not(any(target_os = "macos", windows)))]
    let name = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|info| {
        let name = |line: &str| {
            let (key, name) = line.split_once(':')?;
            (key.trim() == "model name").then(|| name.trim().to_string())
        };
        info.lines().find_map(name)
    });
    name
}

/// The fast cores below Linux's `/sys/devices`; `None` where all are alike or it does not say.
fn fast_cores(devices: &Path) -> Option<BTreeSet<usize>> {
    let text = |name: &Path| std::fs::read_to_string(devices.join(name)).ok();
    // Intel: two kinds, each with a list.
    if text(Path::new("cpu_atom/cpus")).is_some_and(|slow| !numbers(&slow).is_empty()) {
        return text(Path::new("cpu_core/cpus")).map(|fast| numbers(&fast));
    }
    // ARM: a number for each, the fastest core's being 1024.
    let online = numbers(&text(Path::new("system/cpu/online"))?);
    let capacity = |core: &usize| {
        let name = format!("system/cpu/cpu{core}/cpu_capacity");
        text(Path::new(&name))?.trim().parse::<u64>().ok()
    };
    let capacities = online.iter().map(|core| Some((*core, capacity(core)?)));
    let capacities: Vec<(usize, u64)> = capacities.collect::<Option<_>>()?;
    let most = capacities.iter().map(|(_, capacity)| *capacity).max()?;
    let fast = capacities.iter().filter(|(_, capacity)| 2 * capacity > most);
    let fast: BTreeSet<usize> = fast.map(|(core, _)| *core).collect();
    (fast.len() < capacities.len()).then_some(fast)
}

/// The numbers of a list as Linux writes it: `0-3,8`.
fn numbers(list: &str) -> BTreeSet<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse().ok()?)
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn slow_cores_are_left_out() {
        let fast = |files: &[(&str, &str)]| fast_cores(devices(files).path());
        assert_eq!(fast(&[]), None);
        assert_eq!(fast(&[("system/cpu/online", "0-3\n")]), None);
        let intel = [("cpu_core/cpus", "0-3,8\n"), ("cpu_atom/cpus", "4-7\n")];
        assert_eq!(fast(&intel), Some(BTreeSet::from([0, 1, 2, 3, 8])));
        assert_eq!(fast(&intel[..1]), None);
        let arm = |last| {
            let capacity = |core: &'static str, text| (core, text);
            fast(&[
                ("system/cpu/online", "0-2\n"),
                capacity("system/cpu/cpu0/cpu_capacity", "1024\n"),
                capacity("system/cpu/cpu1/cpu_capacity", "900\n"),
                capacity("system/cpu/cpu2/cpu_capacity", last),
            ])
        };
        assert_eq!(arm("446\n"), Some(BTreeSet::from([0, 1])));
        assert_eq!(arm("1024\n"), None);
        assert_eq!(arm("what?\n"), None);
    }

    #[test]
    fn fast_cores_are_those_that_may_be_used() {
        assert_eq!(Cores::of(8, 4, 4), Cores { all: 4, free: 4 });
        assert_eq!(Cores::of(3, 4, 4), Cores { all: 4, free: 3 });
        assert_eq!(Cores::of(3, 4, 1), Cores { all: 4, free: 1 });
        // Bound to slow cores alone.
        assert_eq!(Cores::of(2, 4, 0), Cores { all: 2, free: 2 });
    }

    #[test]
    fn this_machine_has_a_core() {
        let Cores { all, free } = cores();
        assert!((1..=all).contains(&free));
    }
}
