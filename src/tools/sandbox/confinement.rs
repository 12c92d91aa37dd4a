//! A sandbox policy prepared for one command, and applied to it between fork and exec.
//!
//! Everything possible is prepared beforehand: directories are read, rules and filters built. The child then
//! only makes system calls. The kernel's restrictions hold for the process and all its descendants forever,
//! whatever becomes of tau.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::denial::SandboxDenial;
use super::repository_watch::RepositoryWatch;
#[cfg(target_os = "linux")]
use super::support::Support;
#[cfg(target_os = "linux")]
use super::system_calls::AllowedCalls;
use super::{SandboxPolicy, protected};
use crate::access::DeniedFile;

/// The command's context.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The directory it starts in.
    pub cwd: &'a Path,
    /// The terminal it runs in, if it has one of its own.
    pub terminal: Option<&'a Path>,
    /// tau's own directories in the temporary directory.
    pub scratch: Option<&'a Path>,
    /// The private temporary folder of a command that runs without approval.
    pub private: Option<&'a Path>,
    /// The files that rules keep from it.
    pub denied: &'a [DeniedFile],
}

/// How protected files are kept from a sandboxed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// There are none.
    NotNeeded,
    Mounts,
    /// By rules for the entries around them: nothing can be created or removed directly in the directories
    /// that lead to them.
    Entries,
}

impl Guard {
    /// The guard used on this machine if there is something to protect.
    pub fn here() -> Self {
        #[cfg(target_os = "linux")]
        if super::mounts::Namespaces::here().is_none() {
            return Guard::Entries;
        }
        Guard::Mounts
    }
}

/// Whether this machine can keep the files that rules deny from commands.
pub fn covers_files() -> bool {
    cfg!(target_os = "linux") && Guard::here() == Guard::Mounts && super::support::Support::here().filters
}

/// A policy prepared for one command.
#[derive(Debug)]
pub struct Confinement {
    /// How protected files are kept from it.
    pub guard: Guard,
    /// The state of the repositories that the command can change.
    watch: RepositoryWatch,
    #[cfg(target_os = "linux")]
    child: Option<InChild>,
    #[cfg(not(target_os = "linux"))]
    profile: String,
}

#[cfg(target_os = "linux")]
#[derive(Debug)]
struct InChild {
    mounts: Option<super::mounts::MountPlan>,
    rules: Option<landlock::RulesetCreated>,
    filters: Vec<seccompiler::BpfProgram>,
    /// The capabilities of root that are kept.
    powers: rustix::thread::CapabilitySet,
}

#[cfg(target_os = "linux")]
impl Confinement {
    /// Prepares `policy` for a command. Leaves out anything this kernel cannot enforce, see
    /// [`super::support::Support::enforcement`].
    ///
    /// # Errors
    /// If something that this kernel can enforce cannot be prepared.
    pub fn prepare(policy: &SandboxPolicy, around: Surroundings<'_>) -> io::Result<Self> {
        use super::mounts::{MountPlan, Namespaces};

        if policy.unasked {
            return Confinement::prepare_unasked_command(policy, around);
        }
        if policy.is_off() {
            return Confinement::prepare_covers(around);
        }
        let support = Support::here();
        let roots = if support.landlock > 0 { policy.roots() } else { Vec::new() };
        protected::prepare(policy, &roots);
        let mut guarded = protected::protected_paths(policy, &roots);
        guarded.retain(|path| protected::within(path, &roots));
        let mut guard = if guarded.is_empty() { Guard::NotNeeded } else { Guard::Entries };
        let mut mounts = None;
        let namespaces = if policy.namespaces && !roots.is_empty() { Namespaces::here() } else { None };
        if let Some(namespaces) = namespaces {
            // tau opens files in there: no one may put links in their place.
            let scratch = around.scratch.and_then(|path| path.canonicalize().ok());
            let all: Vec<PathBuf> = guarded.iter().cloned().chain(scratch).collect();
            mounts = MountPlan::new(namespaces, &roots, &all, around.cwd).ok();
            if mounts.is_some() && guard == Guard::Entries {
                guard = Guard::Mounts;
            }
        }
        let rules = match support.landlock {
            0 => None,
            _ => super::file_rules::ruleset(policy, &roots, &guarded, mounts.is_some(), around.terminal)?,
        };
        let mounts = if policy.namespaces { with_covers(mounts, around)? } else { mounts };
        let filters = if support.filters {
            super::system_calls::filters(AllowedCalls {
                network: policy.network,
                pairs: true,
                shared_names: mounts.is_some(),
                signals: true,
                metadata: true,
            })?
        } else {
            Vec::new()
        };
        let watch = RepositoryWatch::new(&roots, &policy.workspace);
        let child = InChild { mounts, rules, filters, powers: kept_powers() };
        Ok(Confinement { guard, watch, child: Some(child) })
    }

    /// Prepares the policy of a command that runs without approval. All of it is enforced, or the command
    /// does not run.
    fn prepare_unasked_command(policy: &SandboxPolicy, around: Surroundings<'_>) -> io::Result<Self> {
        if !Support::here().confines_unasked_commands() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let private = around.private.ok_or(io::ErrorKind::NotFound)?;
        let rules = Some(super::unasked::ruleset(policy, private, around.terminal)?);
        let filters = super::unasked::filters()?;
        let powers = rustix::thread::CapabilitySet::DAC_READ_SEARCH;
        let child = InChild { mounts: with_covers(None, around)?, rules, filters, powers };
        Ok(Confinement::without_guard(child))
    }

    /// Prepares the covers of denied files for a command that may do anything else.
    fn prepare_covers(around: Surroundings<'_>) -> io::Result<Self> {
        use rustix::thread::CapabilitySet;

        let mut mounts = with_covers(None, around)?;
        mounts.iter_mut().for_each(super::mounts::MountPlan::share_names);
        let rules = super::file_rules::cover_ruleset()?;
        let filters = super::system_calls::cover_filters()?;
        // Those with which root gets at the memory of others and of the kernel.
        let dropped = CapabilitySet::SYS_ADMIN
            | CapabilitySet::SYS_PTRACE
            | CapabilitySet::SYS_MODULE
            | CapabilitySet::SYS_RAWIO
            | CapabilitySet::BPF
            | CapabilitySet::PERFMON;
        let powers = CapabilitySet::all() & !dropped;
        Ok(Confinement::without_guard(InChild { mounts, rules, filters, powers }))
    }

    fn without_guard(child: InChild) -> Self {
        Confinement { guard: Guard::NotNeeded, watch: RepositoryWatch::default(), child: Some(child) }
    }

    /// Confines `command` when it is started, once.
    pub fn apply(&mut self, command: &mut Command) {
        let Some(mut child) = self.child.take() else { return };
        before_exec(command, move || child.enter());
    }
}

#[cfg(target_os = "linux")]
impl InChild {
    /// Makes only system calls.
    fn enter(&mut self) -> io::Result<()> {
        use rustix::io::Errno;

        if let Some(mounts) = &mut self.mounts {
            mounts.enter()?;
        }
        drop_powers(self.powers)?;
        if let Some(rules) = self.rules.take() {
            let status = rules.restrict_self().map_err(|_| Errno::PERM)?;
            if status.ruleset == landlock::RulesetStatus::NotEnforced {
                return Err(Errno::NOSYS.into());
            }
        }
        for filter in &self.filters {
            seccompiler::apply_filter(filter).map_err(|_| Errno::PERM)?;
        }
        Ok(())
    }
}

/// The mounts of a command with the covers of the files that rules keep from it, where this machine has namespaces.
#[cfg(target_os = "linux")]
fn with_covers(
    mounts: Option<super::mounts::MountPlan>,
    around: Surroundings<'_>,
) -> io::Result<Option<super::mounts::MountPlan>> {
    use super::mounts::{MountPlan, Namespaces};

    if around.denied.is_empty() {
        return Ok(mounts);
    }
    let Some(namespaces) = Namespaces::here() else { return Ok(mounts) };
    let mut mounts = match mounts {
        Some(mounts) => mounts,
        None => MountPlan::new(namespaces, &[], &[], around.cwd)?,
    };
    mounts.cover(around.denied)?;
    Ok(Some(mounts))
}

/// The capabilities of root on files and users.
#[cfg(target_os = "linux")]
fn kept_powers() -> rustix::thread::CapabilitySet {
    use rustix::thread::CapabilitySet;

    CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::DAC_READ_SEARCH
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID
        | CapabilitySet::KILL
        | CapabilitySet::SETGID
        | CapabilitySet::SETUID
        | CapabilitySet::NET_BIND_SERVICE
}

/// Drops all other capabilities of root. A program cannot regain them: `no_new_privs` follows.
#[cfg(target_os = "linux")]
fn drop_powers(kept: rustix::thread::CapabilitySet) -> io::Result<()> {
    use rustix::thread::{capabilities, set_capabilities};

    let mut sets = capabilities(None)?;
    sets.effective &= kept;
    sets.permitted &= kept;
    sets.inheritable &= kept;
    Ok(set_capabilities(None, sets)?)
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the only way to restrict a child before exec, and not this process")]
fn before_exec(command: &mut Command, prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    use std::os::unix::process::CommandExt;

    // SAFETY: between fork and exec only system calls are made: `InChild::enter` allocates nothing where it
    // succeeds and takes no lock, so the state of other threads at the fork does not matter.
    unsafe {
        command.pre_exec(prepare);
    }
}

#[cfg(not(target_os = "linux"))]
impl Confinement {
    /// Prepares `policy` for a command. Leaves out anything this system cannot enforce, see
    /// [`super::support::Support::enforcement`].
    ///
    /// # Errors
    /// None on this system.
    pub fn prepare(policy: &SandboxPolicy, around: Surroundings<'_>) -> io::Result<Self> {
        let seatbelt = super::support::Support::here().seatbelt;
        let profile =
            if seatbelt { super::seatbelt::profile(policy, around.terminal) } else { String::new() };
        let watch = RepositoryWatch::new(&policy.roots(), &policy.workspace);
        Ok(Confinement { guard: Guard::NotNeeded, watch, profile })
    }

    /// Confines `command` when it is started: its program becomes an argument of the confining one.
    pub fn apply(&mut self, command: &mut Command) {
        if self.profile.is_empty() {
            return;
        }
        let mut confined = Command::new(super::seatbelt::PROGRAM);
        confined.arg("-p").arg(&self.profile).arg(command.get_program()).args(command.get_args());
        confined.env_clear();
        confined.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(cwd) = command.get_current_dir() {
            confined.current_dir(cwd);
        }
        *command = confined;
    }
}

impl Confinement {
    /// Removes files that the command created and that would make git run something, and reports them.
    pub fn clear_away(&self) -> Option<SandboxDenial> {
        let mut undone = self.watch.settle();
        // What has a new name must be told: the user finds it there.
        undone.sort_by_key(|it| it.renamed.is_none());
        undone.into_iter().next().map(|it| SandboxDenial::planted(&it.path, it.renamed))
    }
}
