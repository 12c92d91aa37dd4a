//! Attacks on the kernel and on other processes: system calls made by this test program itself, run again in
//! the sandbox.

#![allow(unsafe_code, reason = "system calls that no library offers, made to see them refused")]

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

use nix::libc;
use tau::tools::sandbox::support::Support;

use crate::time_limit::EndInTime;

use super::{Place, has_landlock, run, text};

/// A system call with arguments for which it returns its own error where it is allowed.
type Call = (&'static str, i64, [i64; 6]);

const NONE: [i64; 6] = [0; 6];

/// Calls that are denied in the sandbox. With these arguments they do nothing where they are allowed.
fn refused() -> Vec<Call> {
    let namespaces = i64::from(libc::CLONE_NEWUSER | libc::CLONE_NEWNS);
    vec![
        // PTRACE_ATTACH to a process that does not exist.
        ("ptrace", libc::SYS_ptrace, [16, i64::from(i32::MAX), 0, 0, 0, 0]),
        ("process_vm_readv", libc::SYS_process_vm_readv, [i64::from(i32::MAX), 0, 0, 0, 0, 0]),
        ("process_vm_writev", libc::SYS_process_vm_writev, [i64::from(i32::MAX), 0, 0, 0, 0, 0]),
        ("pidfd_getfd", libc::SYS_pidfd_getfd, [-1, 0, 0, 0, 0, 0]),
        ("kcmp", libc::SYS_kcmp, [i64::from(i32::MAX), i64::from(i32::MAX), 0, 0, 0, 0]),
        ("keyctl", libc::SYS_keyctl, [-1, 0, 0, 0, 0, 0]),
        ("add_key", libc::SYS_add_key, NONE),
        ("request_key", libc::SYS_request_key, NONE),
        ("mount", libc::SYS_mount, [1, 1, 1, 0, 1, 0]),
        ("umount2", libc::SYS_umount2, [1, 0x7FFF, 0, 0, 0, 0]),
        ("open_tree", libc::SYS_open_tree, [-1, 1, 0, 0, 0, 0]),
        ("setns", libc::SYS_setns, [-1, 0, 0, 0, 0, 0]),
        ("unshare", libc::SYS_unshare, [namespaces | 0x1, 0, 0, 0, 0, 0]),
        // Without memory for the child, and with two mutually exclusive flags.
        ("clone", libc::SYS_clone, [namespaces | i64::from(libc::CLONE_FS), 0, 0, 0, 0, 0]),
        ("chroot", libc::SYS_chroot, [1, 0, 0, 0, 0, 0]),
        ("perf_event_open", libc::SYS_perf_event_open, [1, 0, -1, -1, 0, 0]),
        ("ioctl TIOCSTI", libc::SYS_ioctl, [-1, libc::TIOCSTI as i64, 0, 0, 0, 0]),
        // Bits above those that the kernel reads do not bypass the filter.
        ("ioctl TIOCSTI, disguised", libc::SYS_ioctl, [-1, 1 << 32 | libc::TIOCSTI as i64, 0, 0, 0, 0]),
        ("ioctl TIOCLINUX", libc::SYS_ioctl, [-1, 0x541C, 0, 0, 0, 0]),
        ("fchmod u+s", libc::SYS_fchmod, [-1, 0o4755, 0, 0, 0, 0]),
        ("fchmodat u+s", libc::SYS_fchmodat, [-1, 1, 0o4755, 0, 0, 0]),
        ("openat u+s", libc::SYS_openat, [-1, 1, i64::from(libc::O_CREAT), 0o4755, 0, 0]),
        ("mknodat u+s", libc::SYS_mknodat, [-1, 1, 0o4755, 0, 0, 0]),
        ("socketpair", libc::SYS_socketpair, [i64::from(libc::AF_INET), 1, 0, 0, 0, 0]),
        // NETLINK_USERSOCK: its messages go from process to process.
        ("netlink", libc::SYS_socket, [i64::from(libc::AF_NETLINK), 2, 2, 0, 0, 0]),
    ]
}

/// Calls that are missing in the sandbox.
const MISSING: &[Call] = &[
    ("clone3", libc::SYS_clone3, NONE),
    ("io_uring_setup", libc::SYS_io_uring_setup, [1, 0, 0, 0, 0, 0]),
    ("io_uring_enter", libc::SYS_io_uring_enter, [-1, 0, 0, 0, 0, 0]),
    ("io_uring_register", libc::SYS_io_uring_register, [-1, 0, 0, 0, 0, 0]),
    #[cfg(target_arch = "x86_64")]
    ("an x32 call", 0x4000_0000 + libc::SYS_getpid, NONE),
];

/// Runs one of the tests below in the sandbox, with a variable for it; returns its output between the marks.
fn child(place: &Place, flags: &[&str], test: &str, variable: (&str, &str)) -> String {
    let this = std::env::current_exe().unwrap();
    let name = format!("sandbox::calls::{test}");
    let args = [
        this.as_os_str(),
        "--exact".as_ref(),
        OsStr::new(&name),
        "--ignored".as_ref(),
        "--nocapture".as_ref(),
    ];
    let mut command = place.command(flags, &args);
    command.env(variable.0, variable.1);
    let output = run(command);
    let printed = text(&output.stdout);
    let found = printed.split_once("<<").and_then(|(_, rest)| rest.split_once(">>"));
    found
        .map_or_else(|| panic!("{flags:?}: {printed}{}", text(&output.stderr)), |(found, _)| found.to_owned())
}

/// True if system calls can be filtered, and a command be confined at all; prints a note if not.
fn has_filters() -> bool {
    if !Support::here().filters {
        eprintln!("not tested: no filters for this kind of machine");
    }
    Support::here().filters && has_landlock()
}

/// The error of each call, by name.
fn errors(flags: &[&str], which: &str) -> Vec<(String, i32)> {
    let printed = child(&Place::new(), flags, "child_that_makes_calls", ("CALLS", which));
    let line = |line: &str| {
        let (name, error) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), error.parse().unwrap())
    };
    printed.lines().filter(|line| !line.is_empty()).map(line).collect()
}

#[test]
#[ignore = "run by the tests below"]
fn child_that_makes_calls() {
    let calls = match std::env::var("CALLS").as_deref() {
        Ok("refused") => refused(),
        Ok("missing") => MISSING.to_vec(),
        Ok("sockets") => {
            (0..50).map(|family| ("socket", libc::SYS_socket, [family, 2, 0, 0, 0, 0])).collect()
        }
        _ => return,
    };
    let mut printed = String::new();
    for (name, number, [a, b, c, d, e, f]) in calls {
        // SAFETY: every pointer among these arguments is null or in the first page, which is never mapped,
        // so that the kernel rejects it.
        let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
        let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
        printed += &format!("{name} {}\n", if answer < 0 { error } else { 0 });
    }
    println!("<<{printed}>>");
}

#[test]
fn ways_out_through_the_kernel_are_refused() {
    needs!(has_filters());
    for (which, error) in [("refused", libc::EPERM), ("missing", libc::ENOSYS)] {
        let free = errors(&["--sandbox", "off", "--network", "on"], which);
        let confined = errors(&["--sandbox", "workspace-write"], which);
        assert_eq!(free.len(), confined.len());
        let mut told_apart = 0;
        for ((name, free), (_, confined)) in free.iter().zip(&confined) {
            assert_eq!(*confined, error, "{name} is not refused");
            if *free == error {
                eprintln!("not told apart: this machine refuses {name} by itself");
            } else {
                told_apart += 1;
            }
        }
        assert!(told_apart > 0);
    }
}

#[test]
fn sockets_of_every_family_are_refused() {
    needs!(has_filters());
    let free = errors(&["--sandbox", "off", "--network", "on"], "sockets");
    let open = |errors: &[(String, i32)]| -> Vec<i32> {
        let refused = |(_, error): &(String, i32)| *error != libc::EPERM;
        (0..).zip(errors).filter(|(_, entry)| refused(entry)).map(|(family, _)| family).collect()
    };
    let usual = [libc::AF_UNIX, libc::AF_INET, libc::AF_NETLINK];
    assert!(usual.iter().all(|family| open(&free).contains(family)), "{free:?}");
    for level in ["off", "read-only", "workspace-write"] {
        let confined = errors(&["--sandbox", level, "--network", "off"], "sockets");
        assert_eq!(open(&confined), [0; 0], "{level}");
    }
    let confined = errors(&["--sandbox", "workspace-write", "--network", "on"], "sockets");
    assert_eq!(open(&confined), [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
}

/// A call through the table for 32-bit programs, which has other numbers.
#[test]
#[ignore = "run by the test below"]
#[cfg(target_arch = "x86_64")]
fn child_that_makes_a_32_bit_call() {
    if std::env::var_os("CALLS").is_none() {
        return;
    }
    let answer: i32;
    // SAFETY: 20 is getpid in that table; it has no arguments and touches no memory.
    unsafe {
        std::arch::asm!(
            "int 0x80", inlateout("eax") 20_i32 => answer,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    println!("<<{answer}>>");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_32_bit_call_ends_the_program() {
    needs!(has_filters());
    let place = Place::new();
    let call = |flags: &[&str]| {
        let this = std::env::current_exe().unwrap();
        let name = "sandbox::calls::child_that_makes_a_32_bit_call";
        let args = ["--exact", name, "--ignored", "--nocapture"].map(OsStr::new);
        let mut command = place.command(flags, &[&[this.as_os_str()], &args[..]].concat());
        command.env("CALLS", "32");
        let output = run(command);
        (output.status.code(), text(&output.stdout).contains("<<"))
    };
    let free = call(&["--sandbox", "off", "--network", "on"]);
    if free != (Some(0), true) {
        eprintln!("not told apart: this kernel runs no 32-bit calls: {free:?}");
    }
    // SIGSYS, or SIGSEGV if the kernel has no such calls.
    let (code, answered) = call(&["--sandbox", "workspace-write"]);
    assert!(!answered && (code == Some(128 + libc::SIGSYS) || free.0 == code), "{code:?}");
}

#[test]
#[ignore = "run by the test below"]
fn child_that_attacks_a_process() {
    let Ok(pid) = std::env::var("VICTIM") else { return };
    let number: i32 = pid.parse().unwrap();
    let name = std::env::var("SOCKET").unwrap_or_default();
    // SAFETY: no pointers.
    let traced = unsafe { libc::ptrace(libc::PTRACE_SEIZE, number, 0, 0) } == 0;
    let signalled = nix::sys::signal::kill(nix::unistd::Pid::from_raw(number), None).is_ok();
    let environment = std::fs::read(Path::new("/proc").join(&pid).join("environ")).is_ok();
    let memory =
        std::fs::OpenOptions::new().write(true).open(Path::new("/proc").join(&pid).join("mem")).is_ok();
    let root = std::fs::read_link(Path::new("/proc").join(&pid).join("root")).is_ok();
    let address = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
    let connected = UnixStream::connect_addr(&address).is_ok();
    println!("<<{traced} {signalled} {environment} {memory} {root} {connected}>>");
}

#[test]
fn other_processes_and_abstract_sockets_are_out_of_reach() {
    needs!(has_landlock());
    let mut victim = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let socket = format!("tau-test-{}-{}", std::process::id(), victim.id());
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&socket).unwrap()).unwrap();
    let attack = |flags: &[&str]| {
        let place = Place::new();
        let this = std::env::current_exe().unwrap();
        let name = "sandbox::calls::child_that_attacks_a_process";
        let args = [
            this.as_os_str(),
            "--exact".as_ref(),
            name.as_ref(),
            "--ignored".as_ref(),
            "--nocapture".as_ref(),
        ];
        let mut command = place.command(flags, &args);
        command.env("VICTIM", victim.id().to_string()).env("SOCKET", &socket);
        let printed = text(&run(command).stdout);
        let found =
            printed.split_once("<<").and_then(|(_, rest)| rest.split_once(">>")).unwrap().0.to_owned();
        found.split(' ').map(|word| word == "true").collect::<Vec<bool>>()
    };
    let free = attack(&["--sandbox", "off", "--network", "on"]);
    let confined = attack(&["--sandbox", "workspace-write", "--network", "on"]);
    victim.kill().unwrap();
    victim.wait_in_time("the end of the victim");
    // Whether a process may trace one that is not its child depends on the machine.
    assert!(free[1..].iter().all(|works| *works), "{free:?}");
    let [traced, signalled, environment, memory, root, connected] = confined[..] else {
        panic!("{confined:?}")
    };
    assert!(!traced && !environment && !memory && !root && !connected, "{confined:?}");
    let scopes = Support::here().landlock >= 6;
    assert_eq!(signalled, !scopes, "signals are confined from version 6 on: {}", Support::here().landlock);
}
