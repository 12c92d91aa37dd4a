//! seccomp: system calls that commands cannot make.
//!
//! Filters see numbers and arguments in registers, never what pointers lead to. So sockets
//! are told apart by family, not by address, and `clone3`, whose flags are behind a pointer, does not
//! exist in here: the C libraries fall back to `clone`. `io_uring` does not exist either, since it makes
//! calls that no filter sees. Other system call tables are closed: 32-bit programs are ended, x32 calls do
//! not exist.

use std::collections::BTreeMap;
use std::io;

use nix::libc;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// Refused whatever the arguments are.
const REFUSED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Keys of the kernel, which outlive the command.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
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
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Calls that programs find missing, so that they do without.
const MISSING: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Set by its number: not in all headers.
const SYS_FCHMODAT2: i64 = 452;

/// New namespaces, in which a command would have powers. See clone(2).
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

/// Whether there is a filter for this kind of processor. Every kernel that tau runs on has seccomp.
pub(super) fn are_filtered() -> bool {
    target().is_some() && rustix::thread::secure_computing_mode().is_ok()
}

fn target() -> Option<TargetArch> {
    TargetArch::try_from(std::env::consts::ARCH).ok()
}

/// The filters to apply, in this order. `network`: whether internet sockets can be made.
///
/// # Errors
/// When there is no filter for this kind of processor.
pub(super) fn filters(network: bool) -> io::Result<Vec<BpfProgram>> {
    filters_for(target().ok_or(io::ErrorKind::Unsupported)?, network)
}

/// The filters for a kind of processor; the numbers of system calls are those of this one.
fn filters_for(target: TargetArch, network: bool) -> io::Result<Vec<BpfProgram>> {
    let mut missing =
        program(MISSING.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS, target)?;
    let refused = program(rules(network).map_err(io::Error::other)?, libc::EPERM, target)?;
    if target == TargetArch::x86_64 {
        missing.splice(0..0, NO_X32);
    }
    Ok(vec![missing, refused])
}

/// The numbers from here on are the x32 table of the same machine.
const X32: u32 = 0x4000_0000;

/// `ld nr; jge X32, next, over; ret ENOSYS`. See the classic BPF in linux/bpf_common.h.
const NO_X32: [seccompiler::sock_filter; 3] = [
    seccompiler::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 },
    seccompiler::sock_filter { code: 0x35, jt: 0, jf: 1, k: X32 },
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

/// Everything that is refused.
fn rules(network: bool) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    sockets(&mut rules, network)?;
    for flag in NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        if flag != 0x80 {
            add(&mut rules, libc::SYS_clone, vec![when(0, MaskedEq(flag), flag)?])?;
        }
        add(&mut rules, libc::SYS_unshare, vec![when(0, MaskedEq(flag), flag)?])?;
    }
    // Characters put into the input of a terminal, and the console's own requests.
    for request in [u64::from(libc::TIOCSTI as u32), 0x541C] {
        add(&mut rules, libc::SYS_ioctl, vec![when(1, Eq, request)?])?;
    }
    setuid(&mut rules)?;
    Ok(rules)
}

/// Sockets: of the internet where that is allowed, else only connected pairs. Services of this machine
/// that listen on Unix sockets would act for the command outside the sandbox.
fn sockets(rules: &mut Rules, network: bool) -> Result<(), seccompiler::BackendError> {
    if network {
        let allowed = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        let none = allowed.iter().map(|family| when(0, Ne, u64::from(family.unsigned_abs())));
        let none = none.collect::<Result<Vec<_>, _>>()?;
        add(rules, libc::SYS_socket, none)?;
    } else {
        rules.insert(libc::SYS_socket, Vec::new());
    }
    add(rules, libc::SYS_socketpair, vec![when(0, Ne, u64::from(libc::AF_UNIX.unsigned_abs()))?])
}

/// Programs that run as the user whoever starts them: no file gets that bit.
fn setuid(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    let bit = u64::from(libc::S_ISUID);
    let mut modes =
        vec![(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (SYS_FCHMODAT2, 2), (libc::SYS_mknodat, 2)];
    #[cfg(target_arch = "x86_64")]
    modes.extend([(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)]);
    for (call, mode) in modes {
        add(rules, call, vec![when(mode, MaskedEq(bit), bit)?])?;
    }
    let mut opens = vec![(libc::SYS_openat, 2)];
    #[cfg(target_arch = "x86_64")]
    opens.push((libc::SYS_open, 1));
    for (call, flags) in opens {
        // The mode counts only where a file is made; else the register holds anything.
        for making in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
            let making = u64::from(making.unsigned_abs());
            let both = vec![when(flags, MaskedEq(making), making)?, when(flags + 1, MaskedEq(bit), bit)?];
            add(rules, call, both)?;
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

fn add(rules: &mut Rules, call: i64, all: Vec<SeccompCondition>) -> Result<(), seccompiler::BackendError> {
    rules.entry(call).or_default().push(SeccompRule::new(all)?);
    Ok(())
}

#[cfg(test)]
#[path = "system_calls_tests.rs"]
mod tests;
