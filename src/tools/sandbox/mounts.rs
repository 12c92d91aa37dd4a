//! Mounts that keep files read-only although the directory above them can be changed.
//!
//! In a mount namespace of its own, a command sees protected paths through a read-only mount, and the
//! directories that lead there through mounts onto themselves: a mount point can be neither renamed nor
//! removed, so no other directory can take its place. An IPC namespace comes with it: named memory,
//! semaphores and queues are the command's own. Unprivileged users need a user namespace for both, which
//! some systems forbid. The command can undo neither: Landlock and the system call filter deny all mount
//! calls.
//!
//! Files that rules deny are covered in the same way: by something that cannot be opened, or, where only changes
//! are denied, by themselves, read-only. The folders above are mounted onto themselves where the rule is about their
//! names.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags, StatVfsMountFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;

use crate::access::{DeniedFile, DeniedUse};

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

/// A mount to be made.
#[derive(Debug)]
struct Mount {
    path: CString,
    source: Source,
    /// Its flags; `None` keeps the existing ones.
    flags: Option<MountFlags>,
    /// Whether it is left out where its path is gone, or cannot be reached by the command either.
    may_be_gone: bool,
}

/// The thing that is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The directory or file itself.
    Itself,
    /// A device, on a mount without devices: nobody can open it, not even root, or read it as empty.
    ClosedDevice,
    /// A new folder without rights. To root it is empty.
    EmptyFolder,
}

impl Mount {
    /// Makes only system calls.
    fn make(&self) -> io::Result<()> {
        match self.source {
            Source::Itself => rustix::mount::mount_bind_recursive(&*self.path, &*self.path)?,
            Source::ClosedDevice => rustix::mount::mount_bind(DEVICE, &*self.path)?,
            Source::EmptyFolder => {
                let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
                let size = c"mode=000,size=4k,nr_inodes=2";
                return Ok(rustix::mount::mount(c"tmpfs", &*self.path, c"tmpfs", flags, size)?);
            }
        }
        if let Some(flags) = self.flags {
            rustix::mount::mount_remount(&*self.path, flags, c"")?;
        }
        Ok(())
    }
}

/// The device that covers a file.
const DEVICE: &CStr = c"/dev/null";

/// Everything that is done in the child.
#[derive(Debug)]
pub(super) struct MountPlan {
    namespaces: Namespaces,
    /// Whether named memory, semaphores and queues are those of the machine.
    shares_names: bool,
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
            let path = CString::new(path.as_os_str().as_bytes())?;
            mounts.push(Mount { path, source: Source::Itself, flags, may_be_gone: false });
        }
        let map = |id: u32| CString::new(format!("{id} {id} 1"));
        Ok(MountPlan {
            namespaces,
            shares_names: false,
            mounts,
            cwd: CString::new(cwd.as_os_str().as_bytes())?,
            user: map(geteuid().as_raw())?,
            group: map(getegid().as_raw())?,
        })
    }

    /// Leaves named memory, semaphores and queues those of the machine.
    pub(super) fn share_names(&mut self) {
        self.shares_names = true;
    }

    /// Adds covers for these files, above all other mounts.
    pub(super) fn cover(&mut self, denied: &[DeniedFile]) -> io::Result<()> {
        let mut denied: Vec<&DeniedFile> = denied.iter().collect();
        // A folder that cannot be moved may hold what cannot be changed, and that what cannot be read.
        denied.sort();
        denied.sort_by_key(|file| file.denied);
        for file in denied {
            let Ok(metadata) = file.path.symlink_metadata() else { continue };
            let (source, flags) = match file.denied {
                DeniedUse::Move => (Source::Itself, None),
                DeniedUse::Change => (Source::Itself, flags_of(&file.path, true).ok()),
                DeniedUse::Read if metadata.is_dir() => (Source::EmptyFolder, None),
                DeniedUse::Read => {
                    let flags = flags_of(Path::new(OsStr::from_bytes(DEVICE.to_bytes())), true)?;
                    (Source::ClosedDevice, Some(flags | MountFlags::NODEV))
                }
            };
            let path = CString::new(file.path.as_os_str().as_bytes())?;
            self.mounts.push(Mount { path, source, flags, may_be_gone: true });
        }
        Ok(())
    }

    /// Creates the namespace and the mounts. Only system calls: for a child after the fork. Fails if the
    /// kernel denies one of them.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        let own = match self.shares_names {
            true => UnshareFlags::NEWNS,
            false => UnshareFlags::NEWNS | UnshareFlags::NEWIPC,
        };
        match self.namespaces {
            Namespaces::Direct => unshare(own)?,
            Namespaces::User => {
                unshare(UnshareFlags::NEWUSER | own)?;
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
            match mount.make() {
                Err(error) if mount.may_be_gone && is_out_of_reach(&error) => {}
                made => made?,
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

fn is_out_of_reach(error: &io::Error) -> bool {
    let error = Errno::from_io_error(error);
    error.is_some_and(|error| [Errno::NOENT, Errno::NOTDIR, Errno::ACCESS].contains(&error))
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
