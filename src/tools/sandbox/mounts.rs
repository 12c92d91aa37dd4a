//! Mounts that keep files read-only although the directory above them can be changed.
//!
//! In a mount namespace of its own, a command sees protected paths through a read-only mount, and the
//! directories that lead there through mounts onto themselves: a mount point can be neither renamed nor
//! removed, so no other directory can take its place. An IPC namespace comes with it: named memory,
//! semaphores and queues are the command's own. Unprivileged users need a user namespace for both, which
//! some systems forbid. The command can undo neither: Landlock and the system call filter deny all mount
//! calls.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, StatVfsMountFlags};
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

/// How this process gets a mount namespace for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Namespaces {
    /// Directly, since it has the capability.
    Direct,
    /// Through a user namespace.
    User,
}

impl Namespaces {
    /// The way that works here; `None` if none does. Probed once, with a program that does nothing.
    pub(super) fn here() -> Option<Self> {
        static HERE: OnceLock<Option<Namespaces>> = OnceLock::new();
        *HERE.get_or_init(|| [Namespaces::Direct, Namespaces::User].into_iter().find(|way| way.works()))
    }

    fn works(self) -> bool {
        if self == Namespaces::Direct && !geteuid().is_root() {
            return false;
        }
        let Ok(mut plan) = MountPlan::new(self, &[], &[PathBuf::from("/dev/null")], Path::new("/")) else {
            return false;
        };
        let mut nothing = Command::new("/bin/sh");
        nothing
            .args(["-c", ":"])
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        run_before_exec(&mut nothing, move || plan.enter());
        nothing.status().is_ok_and(|status| status.success())
    }
}

#[allow(unsafe_code, reason = "the only way to change a child between fork and exec")]
fn run_before_exec(command: &mut Command, prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: `MountPlan::enter` makes system calls only.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// A mount to be made: a directory or file onto itself.
#[derive(Debug)]
struct Mount {
    path: CString,
    /// Its flags; `None` keeps the existing ones.
    flags: Option<MountFlags>,
}

/// Everything that is done in the child.
#[derive(Debug)]
pub(super) struct MountPlan {
    namespaces: Namespaces,
    mounts: Vec<Mount>,
    /// Entered again afterwards: a mount over a process's current directory does not replace it.
    cwd: CString,
    user: CString,
    group: CString,
}

impl MountPlan {
    /// Plans the mounts that protect these paths within these roots. The error is `Unsupported` if one of
    /// them is a symbolic link, which cannot be a mount point.
    pub(super) fn new(
        namespaces: Namespaces,
        roots: &[PathBuf],
        protected: &[PathBuf],
        cwd: &Path,
    ) -> io::Result<Self> {
        let mut steps: Vec<(PathBuf, bool)> = Vec::new();
        for path in protected {
            let Ok(metadata) = path.symlink_metadata() else { continue };
            if metadata.is_symlink() {
                return Err(io::ErrorKind::Unsupported.into());
            }
            steps.push((path.clone(), false));
            steps.extend(leading_to(path, roots).map(|folder| (folder.to_path_buf(), true)));
        }
        // Writable paths within a protected one.
        let nested = roots.iter().filter(|root| protected.iter().any(|path| root.starts_with(path)));
        steps.extend(nested.map(|root| (root.clone(), true)));
        steps.sort();
        steps.dedup_by(|later, earlier| later.0 == earlier.0);
        // In order, what is within a path comes right after it.
        let mut read_only: Option<&PathBuf> = None;
        let mut mounts = Vec::new();
        for (path, writable) in &steps {
            let below = read_only.is_some_and(|above| path.starts_with(above));
            if !below && !writable {
                read_only = Some(path);
            }
            let flags = match (writable, below) {
                (true, false) => None,
                (writable, _) => Some(flags_of(path, !writable)?),
            };
            mounts.push(Mount { path: CString::new(path.as_os_str().as_bytes())?, flags });
        }
        let map = |id: u32| CString::new(format!("{id} {id} 1"));
        Ok(MountPlan {
            namespaces,
            mounts,
            cwd: CString::new(cwd.as_os_str().as_bytes())?,
            user: map(geteuid().as_raw())?,
            group: map(getegid().as_raw())?,
        })
    }

    /// Creates the namespace and the mounts. Only system calls: for a child after the fork. Fails if the
    /// kernel denies one of them.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        match self.namespaces {
            Namespaces::Direct => unshare(UnshareFlags::NEWNS | UnshareFlags::NEWIPC)?,
            Namespaces::User => {
                unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWIPC)?;
                // These files belong to root in a process that is not dumpable, such as tau.
                let dumpable = rustix::process::dumpable_behavior()?;
                rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable)?;
                write(c"/proc/self/setgroups", c"deny")?;
                write(c"/proc/self/uid_map", &self.user)?;
                write(c"/proc/self/gid_map", &self.group)?;
                rustix::process::set_dumpable_behavior(dumpable)?;
            }
        }
        // Mounts made outside still appear in here, but none of these outside.
        let private = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        rustix::mount::mount_change(c"/", private)?;
        for mount in &self.mounts {
            rustix::mount::mount_bind_recursive(&*mount.path, &*mount.path)?;
            if let Some(flags) = mount.flags {
                rustix::mount::mount_remount(&*mount.path, flags, c"")?;
            }
        }
        rustix::process::chdir(&*self.cwd)?;
        Ok(())
    }
}

/// The directories above `path` that could be renamed or removed: those within a root.
fn leading_to<'a>(path: &'a Path, roots: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
    path.ancestors()
        .skip(1)
        .filter(|folder| roots.iter().any(|root| folder.starts_with(root) && folder != root))
}

/// The flags of the mount at `path`, for a new one: locked flags must be repeated.
fn flags_of(path: &Path, read_only: bool) -> io::Result<MountFlags> {
    let has = rustix::fs::statvfs(path)?.f_flag;
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let kept = kept.into_iter().filter(|(flag, _)| has.contains(*flag)).map(|(_, flag)| flag);
    let mut flags = kept.fold(MountFlags::BIND, |flags, flag| flags | flag);
    if read_only || has.contains(StatVfsMountFlags::RDONLY) {
        flags |= MountFlags::RDONLY;
    }
    Ok(flags)
}

#[allow(unsafe_code, reason = "the wrapper is unsafe for a flag that is not used here")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: unsound for `UnshareFlags::FILES` only, when another thread uses the descriptors.
    unsafe { rustix::thread::unshare_unsafe(flags)? };
    Ok(())
}

fn write(path: &std::ffi::CStr, text: &std::ffi::CStr) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.to_bytes())?;
    Ok(())
}
