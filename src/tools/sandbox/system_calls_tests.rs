//! Tests the filters for every kind of processor, as the kernel would run them.

use super::*;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const EPERM: u32 = 0x0005_0000 | libc::EPERM as u32;
const ENOSYS: u32 = 0x0005_0000 | libc::ENOSYS as u32;
/// Every kind of processor with filters, and the mark of its calls (linux/audit.h).
const MACHINES: [(TargetArch, u32); 3] = [
    (TargetArch::x86_64, 0xC000_003E),
    (TargetArch::aarch64, 0xC000_00B7),
    (TargetArch::riscv64, 0xC000_00F3),
];
/// 32-bit programs: x86, ARM.
const NARROW: [u32; 2] = [0x4000_0003, 0x4000_0028];

/// The verdict of one filter.
fn run(program: &BpfProgram, machine: u32, call: i64, args: [u64; 6]) -> u32 {
    let word = |offset: u32| match offset {
        0 => u32::try_from(call).unwrap(),
        4 => machine,
        offset => {
            let arg = args[usize::try_from((offset - 16) / 8).unwrap()];
            if offset % 8 == 0 { arg as u32 } else { (arg >> 32) as u32 }
        }
    };
    let (mut at, mut a) = (0, 0_u32);
    loop {
        let step = &program[at];
        at += 1;
        let mut jump = |is: bool| at += usize::from(if is { step.jt } else { step.jf });
        match step.code {
            0x20 => a = word(step.k),
            0x54 => a &= step.k,
            0x05 => at += usize::try_from(step.k).unwrap(),
            0x15 => jump(a == step.k),
            0x25 => jump(a > step.k),
            0x35 => jump(a >= step.k),
            0x06 => return step.k,
            code => panic!("an instruction that is not known: {code:#x}"),
        }
    }
}

/// The kernel's combination of all verdicts: the strictest, which is the lowest signed number.
fn answer(programs: &[BpfProgram], machine: u32, call: i64, args: [u64; 6]) -> u32 {
    let all = programs.iter().map(|program| run(program, machine, call, args));
    all.min_by_key(|answer| *answer as i32).unwrap()
}

/// The sandbox of all commands, with an IPC namespace.
const COMMAND: AllowedCalls =
    AllowedCalls { network: true, pairs: true, shared_names: true, signals: true, metadata: true };
/// The sandbox of a command without approval, where Landlock does not confine signals.
const UNASKED: AllowedCalls =
    AllowedCalls { network: false, pairs: false, shared_names: false, signals: false, metadata: false };

#[test]
fn each_kind_of_processor_gets_filters_for_its_own_calls_only() {
    for (target, machine) in MACHINES {
        let programs = filters_for(target, COMMAND).unwrap();
        let ask = |machine, call| answer(&programs, machine, call, [0; 6]);
        assert_eq!(ask(machine, libc::SYS_getpid), ALLOW);
        for call in REFUSED {
            assert_eq!(ask(machine, *call), EPERM, "{target:?} {call}");
        }
        for call in MISSING {
            assert_eq!(ask(machine, *call), ENOSYS, "{target:?} {call}");
        }
        let others = MACHINES.iter().map(|(_, other)| *other).filter(|other| *other != machine);
        for other in others.chain(NARROW) {
            for call in [libc::SYS_getpid, libc::SYS_ptrace, libc::SYS_clone3, 0, 20] {
                assert_eq!(ask(other, call), KILL, "{target:?} {other:#x} {call}");
            }
        }
    }
}

#[test]
fn no_call_is_made_that_is_newer_or_of_the_table_of_x32() {
    let (target, machine) = MACHINES[0];
    let programs = filters_for(target, COMMAND).unwrap();
    for call in REFUSED.iter().chain(MISSING).chain(&[libc::SYS_getpid, libc::SYS_socket]) {
        let call = 0x4000_0000 | call;
        assert_eq!(answer(&programs, machine, call, [0; 6]), ENOSYS, "{call:#x}");
    }
    for (target, machine) in MACHINES {
        let programs = filters_for(target, COMMAND).unwrap();
        for call in [i64::from(FIRST_UNKNOWN), 1_000, i64::from(i32::MAX)] {
            assert_eq!(answer(&programs, machine, call, [0; 6]), ENOSYS, "{call}");
        }
    }
}

#[test]
fn arguments_are_looked_at() {
    let (create, suid) = (u64::from(libc::O_CREAT.unsigned_abs()), 0o4755);
    let cases = [
        (libc::SYS_clone, [17, 0, 0, 0, 0, 0], ALLOW),
        (libc::SYS_clone, [17 | 0x1000_0000, 0, 0, 0, 0, 0], EPERM),
        (libc::SYS_clone, [17 | 0x0002_0000, 0, 0, 0, 0, 0], EPERM),
        (libc::SYS_unshare, [0x400, 0, 0, 0, 0, 0], ALLOW),
        (libc::SYS_unshare, [0x80, 0, 0, 0, 0, 0], EPERM),
        (libc::SYS_ioctl, [0, 0x5401, 0, 0, 0, 0], ALLOW),
        (libc::SYS_ioctl, [0, 0x5412, 0, 0, 0, 0], EPERM),
        // Bits above those that the kernel reads have no effect.
        (libc::SYS_ioctl, [0, 0xFFFF_FFFF_0000_5412, 0, 0, 0, 0], EPERM),
        (libc::SYS_fchmod, [3, 0o1755, 0, 0, 0, 0], ALLOW),
        (libc::SYS_fchmod, [3, 0o2755, 0, 0, 0, 0], EPERM),
        (libc::SYS_fchmod, [3, suid, 0, 0, 0, 0], EPERM),
        (libc::SYS_openat, [0, 0, 0, suid, 0, 0], ALLOW),
        (libc::SYS_openat, [0, 0, create, 0o644, 0, 0], ALLOW),
        (libc::SYS_openat, [0, 0, create, suid, 0, 0], EPERM),
        (libc::SYS_openat, [0, 0, create, 0o2644, 0, 0], EPERM),
        // A clone of a range of a file, a new subvolume.
        (libc::SYS_ioctl, [3, 0x4020_940D, 0, 0, 0, 0], ALLOW),
        (libc::SYS_ioctl, [3, 0x5000_940E, 0, 0, 0, 0], EPERM),
        // Limits: reading those of others, setting its own; setting those of others, also by a pointer with
        // a low half of zeros.
        (libc::SYS_prlimit64, [7, 1, 0, 0x1000, 0, 0], ALLOW),
        (libc::SYS_prlimit64, [0, 1, 0x1000, 0, 0, 0], ALLOW),
        (libc::SYS_prlimit64, [7, 1, 0x1000, 0, 0, 0], EPERM),
        (libc::SYS_prlimit64, [7, 1, 1 << 32, 0, 0, 0], EPERM),
        (libc::SYS_setpriority, [0, 0, 5, 0, 0, 0], ALLOW),
        (libc::SYS_setpriority, [0, 7, 5, 0, 0, 0], EPERM),
        (libc::SYS_setpriority, [2, 0, 5, 0, 0, 0], EPERM),
        (libc::SYS_ioprio_set, [1, 0, 0, 0, 0, 0], ALLOW),
        (libc::SYS_ioprio_set, [3, 0, 0, 0, 0, 0], EPERM),
        (libc::SYS_sched_setaffinity, [0, 8, 0x1000, 0, 0, 0], ALLOW),
        (libc::SYS_sched_setaffinity, [7, 8, 0x1000, 0, 0, 0], EPERM),
        (libc::SYS_sched_setscheduler, [7, 0, 0x1000, 0, 0, 0], EPERM),
        (libc::SYS_socketpair, [1, 1, 0, 0, 0, 0], ALLOW),
        (libc::SYS_socketpair, [1, 5 | 0x80000, 0, 0, 0, 0], ALLOW),
        (libc::SYS_socketpair, [1, 2, 0, 0, 0, 0], EPERM),
        (libc::SYS_socketpair, [1, 3 | 0x800, 0, 0, 0, 0], EPERM),
        (libc::SYS_socketpair, [2, 1, 0, 0, 0, 0], EPERM),
    ];
    for (target, machine) in MACHINES {
        for network in [true, false] {
            let programs = filters_for(target, AllowedCalls { network, ..COMMAND }).unwrap();
            for (call, args, expected) in cases {
                assert_eq!(answer(&programs, machine, call, args), expected, "{call} {args:?}");
            }
            for family in 0..50 {
                let internet = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].contains(&family);
                for protocol in [0, 2, 6, 1 << 32 | 16] {
                    let reaches_processes = family == libc::AF_NETLINK && protocol != 0;
                    let expected = if network && internet && !reaches_processes { ALLOW } else { EPERM };
                    let args = [u64::from(family.unsigned_abs()), 1, protocol, 0, 0, 0];
                    let given = answer(&programs, machine, libc::SYS_socket, args);
                    assert_eq!(given, expected, "{family} {protocol}");
                }
            }
        }
    }
}

#[test]
fn a_command_that_nobody_was_asked_about_changes_nothing_of_files_and_talks_to_nobody() {
    for (target, machine) in MACHINES {
        let programs = filters_for(target, UNASKED).unwrap();
        let ask = |call, args| answer(&programs, machine, call, args);
        for call in METADATA.iter().chain(SIGNALS).chain(SHARED_BY_NAME) {
            assert_eq!(ask(*call, [0; 6]), EPERM, "{call}");
        }
        for kind in 0..16 {
            assert_eq!(ask(libc::SYS_socketpair, [1, kind, 0, 0, 0, 0]), EPERM);
            assert_eq!(ask(libc::SYS_socket, [2, kind, 0, 0, 0, 0]), EPERM);
        }
        // Terminals and pipes; flags of files, a subvolume.
        for request in [0x5401, 0x541B, 0x802C_542A] {
            assert_eq!(ask(libc::SYS_ioctl, [1, request, 0, 0, 0, 0]), ALLOW, "{request:#x}");
        }
        for request in [0x4008_6602, 0x5000_940E, 0x1277, 0xFFFF_FFFF_4008_6602] {
            assert_ne!(ask(libc::SYS_ioctl, [1, request, 0, 0, 0, 0]), ALLOW, "{request:#x}");
        }
        assert_eq!(ask(libc::SYS_getpid, [0; 6]), ALLOW);
    }
}
