//! A kernel without Landlock, and a machine without namespaces: nothing is claimed that is not enforced.
//!
//! This test program runs again, makes the kernel deny the system calls to itself, and becomes tau.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use nix::libc;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use tau::tools::sandbox::support::Support;

use super::{Place, has_landlock, run, text};
use crate::screen::Screen;

/// The missing features by name: a system call, and the error of a kernel without it.
const KERNELS: [(&str, i64, i32); 2] = [
    ("landlock", libc::SYS_landlock_create_ruleset, libc::ENOSYS),
    ("namespaces", libc::SYS_unshare, libc::EPERM),
];

/// Its arguments are in `ARGS`, one per line.
#[test]
#[ignore = "run by the tests below"]
fn tau_without() {
    let (Ok(without), Ok(args)) = (std::env::var("WITHOUT"), std::env::var("ARGS")) else { return };
    let (_, call, error) = KERNELS.into_iter().find(|(name, ..)| *name == without).unwrap();
    let target = std::env::consts::ARCH.try_into().unwrap();
    let action = SeccompAction::Errno(error.unsigned_abs());
    let rules = [(call, Vec::new())].into();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, target).unwrap();
    seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
    let mut tau = Command::new(env!("CARGO_BIN_EXE_tau"));
    panic!("{}", tau.args(args.lines()).env_remove("WITHOUT").env_remove("ARGS").exec());
}

/// The arguments with which this program becomes tau.
const BECOME: [&str; 5] =
    ["--exact", "sandbox::other_kernels::tau_without", "--ignored", "--nocapture", "--test-threads=1"];

fn tau_on_kernel(place: &Place, without: &str, args: &[&str]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(BECOME).env("WITHOUT", without).env("ARGS", args.join("\n")).current_dir(&place.work);
    command.env("TAU_HOME", &place.home).env("HOME", &place.outside).env("OUT", &place.outside);
    for name in ["TAU_SANDBOX", "TAU_NETWORK"] {
        command.env_remove(name);
    }
    run(command)
}

fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn without_landlock_tau_sandbox_runs_nothing() {
    needs!(Support::here().filters);
    let place = Place::new();
    let script = ["sandbox", "--", "/bin/sh", "-c", "echo x > f; echo ran"];
    let output = tau_on_kernel(&place, "landlock", &script);
    assert!(!output.status.success() && !said(&output).contains("ran\n"), "{}", said(&output));
    assert!(!place.work.join("f").exists());
    let words = ["the command was not run", "this kernel has no Landlock", "in force: no sandbox"];
    assert!(words.iter().all(|words| said(&output).contains(words)), "{}", said(&output));
    // The remaining protections of the kernel are used.
    let script = [
        "sandbox",
        "--sandbox",
        "off",
        "--network",
        "off",
        "--",
        "/bin/sh",
        "-c",
        "echo x > f; exec 3<>/dev/udp/127.0.0.1/9 && echo sent",
    ];
    let script: Vec<&str> =
        script.iter().map(|word| if *word == "/bin/sh" { "bash" } else { word }).collect();
    let output = tau_on_kernel(&place, "landlock", &script);
    assert!(place.work.join("f").exists() && !said(&output).contains("sent\n"), "{}", said(&output));
}

#[test]
fn without_landlock_doctor_says_so() {
    needs!(Support::here().filters);
    let place = Place::new();
    std::fs::write(place.home.join("config.toml"), "sandbox.level = \"workspace-write\"\n").unwrap();
    let shown = said(&tau_on_kernel(&place, "landlock", &["doctor"]));
    for words in ["no sandbox", "not in this kernel", "so commands can change any file"] {
        assert!(shown.contains(words), "no {words:?} in {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_landlock_the_screen_says_no_sandbox_and_commands_are_asked() {
    needs!(Support::here().filters);
    let server = crate::undo_screen::server().await;
    let url = server.url();
    tokio::task::spawn_blocking(move || asked_on_the_screen(&url)).await.unwrap();
}

fn asked_on_the_screen(url: &str) {
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "export WITHOUT=landlock TAU_PERMISSION_MODE=ask TAU_SANDBOX=workspace-write; \
         export ARGS=$'--base-url\\n{url}\\n--api-key\\nx\\n--model\\nm'; exec {this:?} {}",
        BECOME.join(" ")
    );
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 120, 40);
    screen.wait_for("ask for something");
    screen.wait_for("this kernel has no Landlock");
    screen.wait_until("the footer", |cells| {
        cells
            .rows(0, 120)
            .filter(|row| !row.trim().is_empty())
            .last()
            .is_some_and(|row| row.contains("no sandbox"))
    });
    screen.type_keys("change the files\r");
    screen.wait_for("1 Yes, once");
    assert!(!screen.home().join("work/made").exists());
}

#[test]
fn without_namespaces_the_rest_is_still_protected() {
    needs!(Support::here().filters && has_landlock());
    let place = Place::new();
    let script =
        "echo x > $OUT/f; echo x > .git/hooks/evil; echo x > .git/config; mv .git g; mkdir d/e && echo made";
    std::fs::create_dir(place.work.join("d")).unwrap();
    let output = tau_on_kernel(&place, "namespaces", &["sandbox", "--", "/bin/sh", "-c", script]);
    assert!(said(&output).contains("made\n"), "{}", said(&output));
    for path in [place.outside.join("f"), place.work.join(".git/hooks/evil"), place.work.join("g")] {
        assert!(!path.exists(), "{}", path.display());
    }
    assert_eq!(std::fs::read_to_string(place.work.join(".git/config")).unwrap(), "[core]\n");
    let shown = said(&tau_on_kernel(&place, "namespaces", &["doctor"]));
    assert!(shown.contains("not allowed here: next to .git/hooks nothing can be created"), "{shown}");
}
