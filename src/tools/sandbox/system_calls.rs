//! seccomp: the system calls that commands cannot make.
//!
//! Filters see numbers and arguments in registers, never the memory behind pointers. Sockets are therefore
//! distinguished by family, not by address, and `clone3`, whose flags are behind a pointer, is missing: the
//! C libraries fall back to `clone`, and from `openat2` to `openat`. `io_uring` is missing too, since its
//! calls bypass filters, and so are calls newer than this file. Other system call tables are closed: 32-bit
//! programs are killed, x32 calls are missing.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

use nix::libc;
use seccompiler::SeccompCmpOp::{Eq, Gt, Lt, MaskedEq, Ne};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// Mounts, and other ways to what is behind one. Denied with any arguments.
const MOUNTS: &[i64] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
];

/// Denied with any arguments, besides [`MOUNTS`].
const REFUSED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Kernel keys, which outlive the command.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_chroot,
    // The kernel and the machine.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Calls reported as missing, so that programs do without them.
const MISSING: &[i64] = &[
    libc::SYS_clone3,
    // Its flags and its mode are behind a pointer.
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

// Given by number, which is the same on every processor: not all headers have them.
const SYS_FCHMODAT2: i64 = 452;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_OPEN_TREE_ATTR: i64 = 467;
const SYS_FILE_SETATTR: i64 = 469;
/// The first call unknown to this file: from here on, calls are reported as missing.
const FIRST_UNKNOWN: u32 = 470;

/// System V shared memory, semaphores and queues, and POSIX queues: their names are shared by all processes
/// of a user.
const SHARED_BY_NAME: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Modes, owners, times and attributes of files, which Landlock does not cover.
const METADATA: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SYS_SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Signals, for kernels whose Landlock does not confine them.
const SIGNALS: &[i64] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
];

/// The permissions that differ between commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AllowedCalls {
    /// Internet sockets.
    pub(super) network: bool,
    /// Connected pairs of sockets.
    pub(super) pairs: bool,
    /// Named memory, semaphores and queues: harmless in a namespace of the command's own.
    pub(super) shared_names: bool,
    /// Signals: harmless where Landlock confines them.
    pub(super) signals: bool,
    /// Changes to modes, owners, times and attributes of files.
    pub(super) metadata: bool,
}

/// New namespaces, in which a command would have capabilities. See clone(2).
const NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    // CLONE_NEWTIME is for unshare only: in clone it is part of the signal's number.
    0x80,
];

/// True if there is a filter for this kind of processor. Every kernel that tau runs on has seccomp.
pub(super) fn are_filtered() -> bool {
    target().is_some() && rustix::thread::secure_computing_mode().is_ok()
}

fn target() -> Option<TargetArch> {
    TargetArch::try_from(std::env::consts::ARCH).ok()
}

/// The filters to apply, in this order. Fails if there is no filter for this kind of processor.
pub(super) fn filters(allowed: AllowedCalls) -> io::Result<Vec<BpfProgram>> {
    filters_for(target().ok_or(io::ErrorKind::Unsupported)?, allowed)
}

/// The filter for a command that can do all but uncover files.
pub(super) fn cover_filters() -> io::Result<Vec<BpfProgram>> {
    let rules = MOUNTS.iter().map(|call| (*call, Vec::new())).collect();
    let mut mounts = program(rules, libc::EPERM, target().ok_or(io::ErrorKind::Unsupported)?)?;
    mounts.splice(0..0, NO_UNKNOWN);
    Ok(vec![mounts])
}

/// The filters for a kind of processor; the numbers of system calls are those of this one.
fn filters_for(target: TargetArch, allowed: AllowedCalls) -> io::Result<Vec<BpfProgram>> {
    let mut missing =
        program(MISSING.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS, target)?;
    missing.splice(0..0, NO_UNKNOWN);
    let mut programs = vec![missing];
    if !allowed.metadata {
        let requests = requests_to_files().map_err(io::Error::other)?;
        programs.push(program(requests, libc::ENOTTY, target)?);
    }
    programs.push(program(rules(allowed).map_err(io::Error::other)?, libc::EPERM, target)?);
    Ok(programs)
}

/// `ld nr; jge FIRST_UNKNOWN, next, over; ret ENOSYS`. See the classic BPF in linux/bpf_common.h. The numbers of
/// the x32 table of the same machine are above all others, too.
const NO_UNKNOWN: [seccompiler::sock_filter; 3] = [
    seccompiler::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 },
    seccompiler::sock_filter { code: 0x35, jt: 0, jf: 1, k: FIRST_UNKNOWN },
    seccompiler::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0x0005_0000 | libc::ENOSYS as u32 },
];

fn program(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    error: libc::c_int,
    target: TargetArch,
) -> io::Result<BpfProgram> {
    let action = SeccompAction::Errno(error.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, target).map_err(io::Error::other)?;
    BpfProgram::try_from(filter).map_err(io::Error::other)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Everything that is denied.
fn rules(allowed: AllowedCalls) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = MOUNTS.iter().chain(REFUSED).map(|call| (*call, Vec::new())).collect();
    sockets(&mut rules, allowed)?;
    for flag in NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        if flag != 0x80 {
            add(&mut rules, libc::SYS_clone, vec![when(0, MaskedEq(flag), flag)?])?;
        }
        add(&mut rules, libc::SYS_unshare, vec![when(0, MaskedEq(flag), flag)?])?;
    }
    // Characters pushed into a terminal's input, and the console's own requests.
    for request in [u64::from(libc::TIOCSTI as u32), 0x541C] {
        add(&mut rules, libc::SYS_ioctl, vec![when(1, Eq, request)?])?;
    }
    subvolumes(&mut rules)?;
    other_processes(&mut rules)?;
    privileged_bits(&mut rules)?;
    let whole =
        [(allowed.shared_names, SHARED_BY_NAME), (allowed.signals, SIGNALS), (allowed.metadata, METADATA)];
    for calls in whole.iter().filter(|(allowed, _)| !allowed).map(|(_, calls)| calls) {
        rules.extend(calls.iter().map(|call| (*call, Vec::new())));
    }
    Ok(rules)
}

/// Sockets: internet sockets if allowed, otherwise only connected pairs, if those are. Local services that
/// listen on Unix sockets would act for the command outside the sandbox. A connectionless pair could send to
/// them, too: a datagram names its receiver. So does a message of netlink, where protocols other than the one about
/// interfaces and routes (`NETLINK_ROUTE`, which is 0) take it to other processes.
fn sockets(rules: &mut Rules, allowed: AllowedCalls) -> Result<(), seccompiler::BackendError> {
    if allowed.network {
        let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        let none = families.iter().map(|family| when(0, Ne, u64::from(family.unsigned_abs())));
        let none = none.collect::<Result<Vec<_>, _>>()?;
        add(rules, libc::SYS_socket, none)?;
        let netlink = when(0, Eq, u64::from(libc::AF_NETLINK.unsigned_abs()))?;
        add(rules, libc::SYS_socket, vec![netlink, when(2, Ne, 0)?])?;
    } else {
        rules.insert(libc::SYS_socket, Vec::new());
    }
    if !allowed.pairs {
        rules.insert(libc::SYS_socketpair, Vec::new());
        return Ok(());
    }
    add(rules, libc::SYS_socketpair, vec![when(0, Ne, u64::from(libc::AF_UNIX.unsigned_abs()))?])?;
    /// The bits of the second argument that are the type. See linux/net.h.
    const TYPE: u64 = 0xF;
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(|kind| u64::from(kind.unsigned_abs()));
    for kind in (0..=TYPE).filter(|kind| !connected.contains(kind)) {
        add(rules, libc::SYS_socketpair, vec![when(1, MaskedEq(TYPE), kind)?])?;
    }
    Ok(())
}

/// btrfs requests that create and remove subvolumes in a directory that is open for reading; cloning ranges
/// of files stays allowed. See linux/btrfs.h.
fn subvolumes(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    const CLONING: [u64; 3] = [0x4004_9409, 0x4020_940D, 0xC018_9436];
    let mut all = vec![when(1, MaskedEq(0xFF00), 0x9400)?];
    for request in CLONING {
        all.push(when(1, Ne, request)?);
    }
    add(rules, libc::SYS_ioctl, all)
}

/// Limits, priorities, processors and memory of processes that are named by a number. A process names itself
/// by 0; reading is unrestricted.
fn other_processes(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    let by_first = [
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
        libc::SYS_migrate_pages,
        libc::SYS_move_pages,
    ];
    for call in by_first {
        add(rules, call, vec![when(0, Ne, 0)?])?;
    }
    let sets = SeccompCondition::new(2, SeccompCmpArgLen::Qword, Ne, 0)?;
    add(rules, libc::SYS_prlimit64, vec![when(0, Ne, 0)?, sets])?;
    // A third kind is all processes of a user: PRIO_USER, IOPRIO_WHO_USER.
    for (call, of_user) in [(libc::SYS_setpriority, 2), (libc::SYS_ioprio_set, 3)] {
        add(rules, call, vec![when(1, Ne, 0)?])?;
        add(rules, call, vec![when(0, Eq, of_user)?])?;
    }
    Ok(())
}

/// Requests to anything but terminals and pipes: they can change attributes of files that are open for
/// reading. See asm-generic/ioctls.h.
fn requests_to_files() -> Result<Rules, seccompiler::BackendError> {
    const TERMINALS: std::ops::RangeInclusive<u64> = 0x5400..=0x54FF;
    /// TCGETS2, TIOCGPTN.
    const READING: [u64; 2] = [0x802C_542A, 0x8004_5430];
    let mut rules = Rules::new();
    add(&mut rules, libc::SYS_ioctl, vec![when(1, Lt, *TERMINALS.start())?])?;
    let mut above = vec![when(1, Gt, *TERMINALS.end())?];
    for request in READING {
        above.push(when(1, Ne, request)?);
    }
    add(&mut rules, libc::SYS_ioctl, above)?;
    Ok(rules)
}

/// Set-user-id and set-group-id: no file gets those bits.
fn privileged_bits(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    let mut modes =
        vec![(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (SYS_FCHMODAT2, 2), (libc::SYS_mknodat, 2)];
    let mut opens = vec![(libc::SYS_openat, 2)];
    #[cfg(target_arch = "x86_64")]
    {
        modes.extend([(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)]);
        opens.push((libc::SYS_open, 1));
    }
    for bit in [libc::S_ISUID, libc::S_ISGID].map(u64::from) {
        for (call, mode) in &modes {
            add(rules, *call, vec![when(*mode, MaskedEq(bit), bit)?])?;
        }
        for (call, flags) in &opens {
            // The mode counts only when a file is created; otherwise the register holds anything.
            for making in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
                let making = u64::from(making.unsigned_abs());
                let both =
                    vec![when(*flags, MaskedEq(making), making)?, when(*flags + 1, MaskedEq(bit), bit)?];
                add(rules, *call, both)?;
            }
        }
    }
    Ok(())
}

fn when(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// Denies a call if all of these conditions hold; a call denied with any arguments stays so.
fn add(rules: &mut Rules, call: i64, all: Vec<SeccompCondition>) -> Result<(), seccompiler::BackendError> {
    let rule = SeccompRule::new(all)?;
    match rules.entry(call) {
        Entry::Occupied(known) if known.get().is_empty() => {}
        Entry::Occupied(mut known) => known.get_mut().push(rule),
        Entry::Vacant(unknown) => drop(unknown.insert(vec![rule])),
    }
    Ok(())
}

#[cfg(test)]
#[path = "system_calls_tests.rs"]
mod tests;
