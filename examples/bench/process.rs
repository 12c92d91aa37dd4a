//! A process's resource use, from `/proc` (Linux).

use std::time::Duration;

/// The resources used so far by a process.
#[derive(Default)]
pub struct Usage {
    /// The current resident memory, in kilobytes.
    pub resident: u64,
    /// The CPU time of all threads ever, in clock ticks.
    pub cpu: Duration,
    /// The exact CPU time of the existing threads.
    pub running: Duration,
    /// How often these threads yielded the CPU to wait.
    pub waits: u64,
}

impl Usage {
    /// The usage of a process, and of its children that run the same program; zero if it is unknown. Pages that
    /// a process shares with its child are counted once.
    pub fn of(pid: u32) -> Self {
        let mut usage = Usage::of_one(pid);
        let children = same_program(pid);
        if !children.is_empty() {
            let rollup = format!("/proc/{pid}/smaps_rollup");
            usage.resident = field(&rollup, "Private_Clean:") + field(&rollup, "Private_Dirty:");
        }
        for child in children.into_iter().map(Usage::of_one) {
            usage.resident += child.resident;
            usage.cpu += child.cpu;
            usage.running += child.running;
            usage.waits += child.waits;
        }
        usage
    }

    fn of_one(pid: u32) -> Self {
        let folder = format!("/proc/{pid}");
        let mut usage = Usage {
            resident: field(&format!("{folder}/status"), "VmRSS:"),
            cpu: cpu(&format!("{folder}/stat")),
            ..Usage::default()
        };
        for thread in std::fs::read_dir(format!("{folder}/task")).into_iter().flatten().flatten() {
            let thread = thread.path().display().to_string();
            let text = std::fs::read_to_string(format!("{thread}/schedstat")).unwrap_or_default();
            let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse().ok());
            usage.running += Duration::from_nanos(nanoseconds.unwrap_or(0));
            usage.waits += field(&format!("{thread}/status"), "voluntary_ctxt_switches:");
        }
        usage
    }

    /// The memory of a process that is its own, in kilobytes: pages of its file are shared.
    pub fn own_memory(pid: u32) -> u64 {
        field(&format!("/proc/{pid}/status"), "RssAnon:")
    }

    /// The resident memory in readable form.
    pub fn resident(&self) -> String {
        format!("{:.1} MB", self.resident as f64 / 1024.0)
    }

    /// How often the process woke up since `before`.
    pub fn wakes_since(&self, before: &Usage) -> f64 {
        self.waits.saturating_sub(before.waits) as f64
    }
}

/// The children of a process that run the same program: the screen of tau is in one.
fn same_program(pid: u32) -> Vec<u32> {
    let name = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    children.filter(|child| name(*child) == name(pid)).collect()
}

/// The number after `name` in a file of lines.
fn field(path: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// User and system time from `stat`, fields 14 and 15; a tick is 10 ms on every existing Linux.
fn cpu(path: &str) -> Duration {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // The name, in parentheses, may contain anything.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// The peak resident memory of a process, in kilobytes.
pub fn peak(pid: u32) -> u64 {
    same_program(pid).into_iter().map(peak_of_one).sum::<u64>() + peak_of_one(pid)
}

fn peak_of_one(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
