//! Landlock: the files that a command can change, and the processes it can signal.
//!
//! A rule allows something for a directory and everything in it, without exceptions. A protected path within
//! a writable directory is therefore either kept read-only by a mount (see `mounts`), or the directory gets
//! no rule and its entries get one each: then nothing can be created or removed directly in it, since that
//! right would extend to the protected path. Reading is unrestricted, and Landlock has no rights for
//! changing modes, owners, times and attributes.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope,
};
use rustix::fs::{Mode, OFlags};

use super::{SandboxLevel, SandboxPolicy};

/// The newest Landlock version whose rights are used; rights that a kernel lacks are left out.
const NEWEST: ABI = ABI::V6;
/// Devices that every command may write to.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"];
/// Devices that a command without approval may write to, as this has no effect.
const SINKS: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];
/// Devices that a command without approval may read. Reading others may start something, or take what is meant for
/// another program. `/dev/tty` is the terminal of whoever opens it, if there is one.
const SOURCES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// Directories whose files such a command cannot read, except for `SOURCES` and shared memory. Reading the kernel's
/// records removes them.
const NOT_READ: [&str; 3] = ["/dev", "/sys/kernel/debug", "/sys/kernel/tracing"];
/// The directory of named shared memory.
const SHARED_MEMORY: &str = "/dev/shm";
/// The maximum number of directory entries that get a rule each.
const MAX_ENTRIES: usize = 10_000;

/// The Landlock version of this kernel; 0 without Landlock. The only way to ask is to restrict the thread, which
/// must do nothing else.
pub(super) fn version() -> u8 {
    let restricted = || {
        let ruleset = Ruleset::default().handle_access(AccessFs::WriteFile).ok()?.create().ok()?;
        Some(ruleset.restrict_self().ok()?.landlock)
    };
    match restricted() {
        Some(LandlockStatus::Available { effective_abi, .. }) => {
            u8::try_from(effective_abi as i32).unwrap_or(0)
        }
        Some(LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) | None => 0,
    }
}

/// The rules for a command. `roots` may be changed except for `protected`, unless mounts already protect that
/// (`is_mounted`); `terminal` is the command's own. `None` if there is nothing to restrict. Fails if the
/// kernel rejects a rule.
pub(super) fn ruleset(
    policy: &SandboxPolicy,
    roots: &[PathBuf],
    protected: &[PathBuf],
    is_mounted: bool,
    terminal: Option<&Path>,
) -> io::Result<Option<RulesetCreated>> {
    let scopes = super::support::Support::here().scopes();
    if policy.level == SandboxLevel::Off && !scopes {
        return Ok(None);
    }
    let mut ruleset = Ruleset::default();
    if policy.level != SandboxLevel::Off {
        ruleset = ruleset.handle_access(AccessFs::from_write(NEWEST)).map_err(io::Error::other)?;
    }
    if scopes {
        ruleset = ruleset.scope(Scope::from_all(NEWEST)).map_err(io::Error::other)?;
    }
    let mut rules = Rules { ruleset: ruleset.create().map_err(io::Error::other)?, left: MAX_ENTRIES };
    if policy.level == SandboxLevel::Off {
        return Ok(Some(rules.ruleset));
    }
    for device in DEVICES.iter().map(Path::new).chain(terminal) {
        rules.allow(device, of_device())?;
    }
    if policy.level == SandboxLevel::WorkspaceWrite {
        rules.allow(Path::new(SHARED_MEMORY), of_directory())?;
    }
    for root in roots {
        let inside = |path: &&PathBuf| path.starts_with(root);
        // A path within a protected directory was itself named as writable.
        let without: Vec<&PathBuf> = protected.iter().filter(inside).collect();
        rules.allow_without(root, if is_mounted { &[] } else { &without })?;
    }
    Ok(Some(rules.ruleset))
}

/// The rules for a command from which files are covered and that is not restricted otherwise: it cannot look into other
/// processes, which may see the files, and it makes no devices, which `cp -r` would make of a cover. `None` where these
/// rules would also forbid to move files. Fails if the kernel rejects a rule.
pub(super) fn cover_ruleset() -> io::Result<Option<RulesetCreated>> {
    /// The first version that can allow to move files to another directory.
    const MOVES: u8 = 2;
    if super::support::Support::here().landlock < MOVES {
        return Ok(None);
    }
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock;
    let ruleset = Ruleset::default().handle_access(devices | AccessFs::Refer).map_err(io::Error::other)?;
    let mut rules = Rules { ruleset: ruleset.create().map_err(io::Error::other)?, left: MAX_ENTRIES };
    rules.allow(Path::new("/"), AccessFs::Refer.into())?;
    Ok(Some(rules.ruleset))
}

/// The rules for a command without approval: it can change the contents of `private`, and read everything
/// except `hidden` and devices. Both are without links. Of devices it can read `SOURCES` and its own `terminal`. Names
/// can be listed everywhere. Fails if the kernel rejects a rule.
pub(super) fn unasked_ruleset(
    private: &Path,
    hidden: &[PathBuf],
    terminal: Option<&Path>,
) -> io::Result<RulesetCreated> {
    let rights = AccessFs::from_write(NEWEST) | AccessFs::ReadFile;
    let mut ruleset = Ruleset::default().handle_access(rights).map_err(io::Error::other)?;
    if super::support::Support::here().scopes() {
        ruleset = ruleset.scope(Scope::from_all(NEWEST)).map_err(io::Error::other)?;
    }
    let mut rules = Rules { ruleset: ruleset.create().map_err(io::Error::other)?, left: MAX_ENTRIES };
    for device in SINKS {
        rules.allow(Path::new(device), of_file())?;
    }
    for device in SOURCES.iter().map(Path::new).chain(terminal) {
        rules.allow(device, AccessFs::ReadFile.into())?;
    }
    rules.allow(private, of_directory())?;
    let shared = Path::new(SHARED_MEMORY);
    let in_shared: Vec<&PathBuf> = hidden.iter().filter(|path| path.starts_with(shared)).collect();
    rules.allow_reading(shared, &in_shared)?;
    let without = NOT_READ.map(PathBuf::from);
    let without: Vec<&PathBuf> = hidden.iter().chain(&without).collect();
    rules.allow_reading(Path::new("/"), &without)?;
    Ok(rules.ruleset)
}

/// All rights to the contents of a directory, except creating devices.
fn of_directory() -> BitFlags<AccessFs> {
    AccessFs::from_write(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

fn of_file() -> BitFlags<AccessFs> {
    AccessFs::WriteFile | AccessFs::Truncate
}

fn of_device() -> BitFlags<AccessFs> {
    of_file() | AccessFs::IoctlDev
}

struct Rules {
    ruleset: RulesetCreated,
    /// The number of entries that may still get a rule.
    left: usize,
}

/// Adds the rule for a path without exceptions.
type AllowPath = dyn Fn(&mut Rules, &Path) -> io::Result<()>;

impl Rules {
    /// Allows everything at `path` except paths at or in `without`.
    fn allow_without(&mut self, path: &Path, without: &[&PathBuf]) -> io::Result<()> {
        self.allow_beside(path, without, &|rules, path| {
            let Ok(metadata) = path.symlink_metadata() else { return Ok(()) };
            match metadata.is_dir() {
                true => rules.allow(path, of_directory()),
                // The target of a link has its own rule, or none.
                false if metadata.is_symlink() => Ok(()),
                false => rules.allow(path, of_file()),
            }
        })
    }

    /// Allows reading everything at `path` except paths at or in `hidden`. Entries of a
    /// directory that cannot be listed stay hidden, too, unless they lead to a hidden path; so do devices, FIFOs, and a
    /// file with several names, as a rule for a file holds for all of them.
    fn allow_reading(&mut self, path: &Path, hidden: &[&PathBuf]) -> io::Result<()> {
        self.allow_beside(path, hidden, &|rules, path| match path.symlink_metadata() {
            Ok(metadata) if !metadata.is_dir() && (!metadata.is_file() || metadata.nlink() > 1) => Ok(()),
            _ => rules.allow(path, AccessFs::ReadFile.into()),
        })
    }

    /// Calls `allow` for `path`, or, if something in it is left out, for each entry beside that.
    fn allow_beside(&mut self, path: &Path, without: &[&PathBuf], allow: &AllowPath) -> io::Result<()> {
        if without.iter().any(|left_out| *left_out == path) {
            return Ok(());
        }
        if without.is_empty() {
            return allow(self, path);
        }
        for entry in entries(path, without) {
            let Some(left) = self.left.checked_sub(1) else { return Ok(()) };
            self.left = left;
            let inside: Vec<&PathBuf> =
                without.iter().copied().filter(|left_out| left_out.starts_with(&entry)).collect();
            self.allow_beside(&entry, &inside, allow)?;
        }
        Ok(())
    }

    /// Adds a rule. A path that cannot be opened gets none: then nothing in it can be changed.
    fn allow(&mut self, path: &Path, rights: BitFlags<AccessFs>) -> io::Result<()> {
        let Ok(file) = open(path) else { return Ok(()) };
        (&mut self.ruleset).add_rule(PathBeneath::new(file, rights)).map_err(io::Error::other)?;
        Ok(())
    }
}

/// The entries of a directory. Where it cannot be listed, as `/home` with mode 711, those that lead to `without`:
/// their names are known.
fn entries(path: &Path, without: &[&PathBuf]) -> Vec<PathBuf> {
    if let Ok(entries) = fs::read_dir(path) {
        return entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    }
    let next = |left_out: &&PathBuf| Some(path.join(left_out.strip_prefix(path).ok()?.iter().next()?));
    without.iter().filter_map(next).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Names the file without opening it; links are not followed, so that no one can put one in its place.
fn open(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_lead_somewhere_are_known_without_a_list() {
        let hidden = ["/no/list/u/.ssh", "/no/list/u/.netrc", "/no/list/v/x"].map(PathBuf::from);
        let hidden: Vec<&PathBuf> = hidden.iter().collect();
        assert_eq!(entries(Path::new("/no/list"), &hidden), ["/no/list/u", "/no/list/v"].map(PathBuf::from));
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("beside"), "").unwrap();
        assert_eq!(entries(folder.path(), &[&folder.path().join("gone")]), [folder.path().join("beside")]);
    }
}
