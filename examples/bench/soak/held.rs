//! Resources held by a process, from `/proc` (Linux).

use std::path::Path;

use super::super::process::Usage;

/// The resources held by a process at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Resident memory, in kilobytes.
    pub resident: u64,
    pub threads: usize,
    /// Open files, sockets and pipes.
    pub descriptors: usize,
    /// Other processes in its folders: its children and their descendants.
    pub processes: usize,
    /// Entries in its temporary folder. Their sizes are bounded, and sessions refer to them: output of
    /// commands that was too long.
    pub temporary: usize,
}

impl Held {
    /// The resources held by `pid`, whose folders are in `place`.
    pub fn of(pid: u32, place: &Path, temporary: &Path) -> Result<Self, String> {
        let count = |name: &str| std::fs::read_dir(format!("/proc/{pid}/{name}")).map(Iterator::count);
        let threads = count("task").map_err(|error| format!("the process has ended: {error}"))?;
        Ok(Held {
            resident: Usage::of(pid).resident,
            threads,
            descriptors: count("fd").map_err(|error| error.to_string())?,
            processes: others(pid, place),
            temporary: std::fs::read_dir(temporary).map(Iterator::count).unwrap_or(0),
        })
    }
}

/// The number of processes that work in `place`, except `pid`.
fn others(pid: u32, place: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_there =
        |id: &u32| std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd.starts_with(place));
    ids.filter(|id| *id != pid).filter(is_there).count()
}

/// Checks that the last round holds no more than usual: the maximum of the first half, and a little. Open
/// sessions have at most `session_files`.
pub fn check(rounds: &[Held], with_memory: bool, session_files: u64) -> Result<(), String> {
    let (first, Some(last)) = (rounds.get(..rounds.len() / 2).unwrap_or_default(), rounds.last()) else {
        return Err("nothing was read".to_owned());
    };
    let usual = |of: fn(&Held) -> u64| first.iter().map(of).max().unwrap_or(0);
    type Figure = (&'static str, fn(&Held) -> u64, fn(u64) -> u64, u64);
    let figures: [Figure; 5] = [
        ("kilobytes of memory", |held| held.resident, |usual| usual + usual / 10 + 4096, 0),
        ("threads", |held| held.threads as u64, |usual| usual + 4, 0),
        ("open files", |held| held.descriptors as u64, |usual| usual + 4, session_files),
        ("processes", |held| held.processes as u64, |_| 0, 0),
        ("temporary files", |held| held.temporary as u64, |usual| usual + 4, 0),
    ];
    let grown: Vec<String> = figures
        .iter()
        .skip(usize::from(!with_memory))
        .map(|(name, of, most, more)| (name, of(last), most(usual(*of)) + more))
        .filter(|(_, held, most)| held > most)
        .map(|(name, held, most)| format!("{held} {name}, more than {most}"))
        .collect();
    if grown.is_empty() { Ok(()) } else { Err(format!("it grows: {}", grown.join("; "))) }
}
