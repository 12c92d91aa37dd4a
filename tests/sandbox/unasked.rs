//! A command that runs without approval, attacked: it changes nothing, talks to no one and reads no keys.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Output;
use std::sync::Arc;

use serde_json::json;
use tau::tools::sandbox::confinement::{Confinement, Surroundings};
use tau::tools::sandbox::support::Support;
use tau::tools::sandbox::{SandboxPolicy, SandboxRule};
use tau::tools::{Details, ToolError};

use super::attacks::{Attack, GIT, OUTSIDE};
use super::{Place, has_program, run, text};
use crate::support::tool_bench::Bench;
use crate::time_limit::EndInTime;

/// True if this kernel can keep a command from changing anything; prints a note if not.
pub(crate) fn is_confined() -> bool {
    let confines = Support::here().confines_unasked_commands();
    if !confines {
        eprintln!("not tested: this kernel cannot confine what nobody was asked about");
    }
    confines
}

fn policy(place: &Place) -> SandboxPolicy {
    let session = SandboxPolicy {
        workspace: place.work.clone(),
        own: vec![place.home.clone()],
        ..SandboxPolicy::off()
    };
    session.for_unasked_command(vec![place.outside.join(".ssh"), place.outside.join(".netrc")])
}

/// Runs a shell script, confined or not.
fn script(place: &Place, script: &str, confined: bool) -> Output {
    let mut command = std::process::Command::new("/bin/bash");
    command.args(["-c", script]).current_dir(&place.work).stdin(std::process::Stdio::null());
    command.env("OUT", &place.outside).env("HOME", &place.outside).env("TAU_HOME", &place.home);
    let private = tempfile::tempdir().unwrap();
    command.env("TMPDIR", private.path());
    if confined {
        let around = Surroundings {
            cwd: &place.work,
            terminal: None,
            scratch: None,
            private: Some(private.path()),
            denied: &[],
        };
        Confinement::prepare(&policy(place), around).unwrap().apply(&mut command);
    }
    run(command)
}

/// A place with a file of known mode, owner and time in the workspace.
fn place() -> Place {
    let place = Place::new();
    fs::write(place.work.join("file"), "text").unwrap();
    fs::set_permissions(place.work.join("file"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(place.outside.join(".ssh")).unwrap();
    fs::write(place.outside.join(".ssh/id"), "PRIVATE").unwrap();
    fs::write(place.outside.join(".netrc"), "PRIVATE").unwrap();
    place
}

/// Everything about the files of a place that could be changed.
fn state(place: &Place) -> Vec<String> {
    let mut found = Vec::new();
    for root in [&place.work, &place.outside, &place.home] {
        for entry in walkdir(root) {
            let about = entry.symlink_metadata().unwrap();
            let content = if about.is_file() { fs::read(&entry).unwrap() } else { Vec::new() };
            let times = (about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec());
            found.push(format!(
                "{} {:o} {} {times:?} {content:?}",
                entry.display(),
                about.mode(),
                about.uid()
            ));
        }
    }
    found.sort();
    found
}

fn walkdir(root: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = vec![root.to_path_buf()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        if path.symlink_metadata().unwrap().is_dir() {
            found.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found
}

/// Changes within the workspace, and of metadata.
const CHANGES: &[&str] = &[
    "echo x > made",
    "echo x >> file",
    ": > file",
    "rm file",
    "mv file other",
    "ln file other",
    "ln -s file other",
    "mkdir made",
    "mkfifo made",
    "chmod 777 file",
    "chmod u+s file",
    "chown 1:1 file",
    "touch file",
    "touch -d 2001-01-01 file",
    "touch -h -d 2001-01-01 file",
    "truncate -s 0 file",
    "dd if=/dev/zero of=file bs=1 count=1 conv=notrunc",
    "cp file other",
    "exec 9<file; echo x > /proc/self/fd/9",
    "echo x > /proc/self/cwd/made",
    "echo x > $OUT/.bashrc",
    "cd $OUT && touch made",
    "git init -q made",
    "git config --file .git/config core.fsmonitor evil",
    "chattr +A file",
    "python3 -c 'import os; os.setxattr(\"file\", \"user.x\", b\"y\")'",
    "python3 -c 'import os; os.utime(\"file\", (1, 1))'",
    "python3 -c 'import os; os.chmod(\"file\", 0o777)'",
    "python3 -c 'import os; os.open(\"made\", os.O_CREAT | os.O_WRONLY)'",
    "python3 -c 'import os; os.open(\".\", os.O_TMPFILE | os.O_WRONLY)'",
    "(sleep 0.05; echo x > made; chmod 777 file) >/dev/null 2>&1 & wait",
];

#[test]
fn nothing_is_changed() {
    needs!(is_confined());
    let mut without = 0;
    for change in CHANGES {
        let place = place();
        let before = state(&place);
        script(&place, change, true);
        assert_eq!(state(&place), before, "{change}");
        script(&place, change, false);
        without += usize::from(state(&place) != before);
    }
    // An unnamed file leaves nothing to see; some systems have no chattr or attributes.
    assert!(without + 5 > CHANGES.len(), "only {without} change something unconfined");
}

#[test]
fn nothing_works_that_the_sandbox_of_all_commands_stops() {
    needs!(is_confined());
    for Attack { script: attack, worked } in OUTSIDE.iter().chain(GIT) {
        let place = Place::new();
        let output = script(&place, attack, true);
        assert!(!worked(&place), "works: {attack}\n{}", text(&output.stderr));
    }
}

/// Programs that exit with 0 only if they escape, or reach another process: `$OTHER` is its id.
const REACHES: &[&str] = &[
    "kill -0 $OTHER && kill -STOP $OTHER",
    "kill -9 $OTHER",
    "renice -n 5 -p $OTHER",
    "taskset -p 1 $OTHER",
    "chrt -i -p 0 $OTHER",
    "ionice -c 3 -p $OTHER",
    "prlimit --pid $OTHER --fsize=0",
    "cat /proc/$OTHER/environ | grep .",
    "head -c 1 /proc/$OTHER/mem",
    "ls -l /proc/$OTHER/cwd | grep -- '->'",
    "exec 3<>/dev/tcp/127.0.0.1/9 || exec 3<>/dev/udp/127.0.0.1/9",
    "python3 -c 'import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)'",
    "python3 -c 'import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)'",
    "python3 -c 'import socket; socket.socketpair()'",
    "python3 -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)'",
    "ipcmk -M 100",
    "ipcmk -Q",
    "ipcmk -S 1",
    "unshare -r true",
    "cat $HOME/.ssh/id",
    "cat $HOME/.netrc",
    "cat $TAU_HOME/config.toml",
    "cat < $HOME/.ssh/id",
    "cat $HOME/.s*/i*",
    "cd $HOME/.ssh && cat id",
    "cat /proc/self/root$HOME/.ssh/id",
    "cat /proc/self/cwd/../outside/.netrc",
    "grep -r PRIVATE $HOME",
    "find $HOME -type f -exec cat {} + | grep PRIVATE",
];

#[test]
fn another_name_of_a_key_does_not_make_it_readable() {
    needs!(is_confined());
    let place = place();
    fs::hard_link(place.outside.join(".ssh/id"), place.outside.join("other")).unwrap();
    fs::write(place.outside.join("plain"), "PLAIN").unwrap();
    let output = script(&place, "cat $HOME/.ssh/id $HOME/other $HOME/plain", true);
    assert_eq!(text(&output.stdout), "PLAIN", "{}", text(&output.stderr));
}

#[test]
fn no_other_process_is_reached_and_no_key_is_read() {
    needs!(is_confined());
    let mut works = 0;
    for reach in REACHES {
        let place = place();
        fs::write(place.home.join("config.toml"), "x").unwrap();
        let ends = |confined: bool| {
            let mut other = std::process::Command::new("sleep").arg("60").env("KEY", "k").spawn().unwrap();
            let output = script(&place, &format!("OTHER={}; {reach}", other.id()), confined);
            other.kill().unwrap();
            other.wait_in_time("the end of sleep");
            (output.status.success(), text(&output.stdout) + &text(&output.stderr))
        };
        let (worked, printed) = ends(true);
        assert!(!worked && !printed.contains("PRIVATE\n"), "{reach}: {printed}");
        works += usize::from(ends(false).0);
    }
    assert!(works * 2 > REACHES.len(), "only {works} work unconfined");
}

/// Input in another terminal stays there, and no device is opened.
#[test]
fn no_device_is_opened_but_the_harmless_ones() {
    use rustix::pty::OpenptFlags;

    needs!(is_confined());
    let place = place();
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&ours).unwrap();
    rustix::pty::unlockpt(&ours).unwrap();
    let name = rustix::pty::ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    std::os::unix::fs::symlink(&name, place.work.join("link")).unwrap();
    for (read, printed) in [(format!("head -c7 {name}"), "typed\n"), ("head -c7 link".to_owned(), "typed\n")]
    {
        rustix::io::write(&ours, b"typed\n").unwrap();
        let output = script(&place, &format!("{read} | head -n1"), true);
        assert_eq!(text(&output.stdout), "", "{read}");
        assert!(text(&output.stderr).contains("Permission denied"), "{read}: {}", text(&output.stderr));
        // It is still there for the program that it was meant for.
        assert_eq!(text(&script(&place, &format!("head -n1 {name}"), false).stdout), printed, "{read}");
    }
    for device in ["/dev/ptmx", "/dev/pts/ptmx", "/dev/kmsg", "/dev/../dev/ptmx"] {
        let opened = script(&place, &format!("exec 3<{device}"), true);
        assert!(!opened.status.success(), "{device}");
    }
    assert!(script(&place, "exec 3</dev/ptmx", false).status.success());
    let free = "set -e; cat /dev/null; head -c3 /dev/zero | wc -c; head -c3 /dev/urandom | wc -c; cat /dev/stdin <<< in
        cat <(echo sub) /proc/self/fd/0 < file; echo | cat /dev/fd/0 - /dev/null; mkfifo $TMPDIR/p
        echo fifo > $TMPDIR/p & cat $TMPDIR/p; ls /dev /dev/pts > /dev/null; rm $TMPDIR/p";
    let output = script(&place, free, true);
    assert_eq!(text(&output.stdout), "3\n3\nin\nsub\ntext\nfifo\n", "{}", text(&output.stderr));
}

/// Allowed operations work: otherwise it would be easy.
#[test]
fn reading_works_and_so_does_a_temporary_file() {
    needs!(is_confined());
    let place = place();
    fs::write(place.outside.join("beside"), "beside").unwrap();
    let all = "set -e; cat file; cat $OUT/secret; cat $OUT/beside; ls -la . $OUT / >/dev/null; echo x > /dev/null
        t=$(mktemp); echo t > $t; cat $t; rm $t; cat <<< here; diff <(echo a) <(echo a); sort -S 1k /etc/passwd >/dev/null
        trap 'echo signal' USR1; kill -USR1 $$; (exit 3) || true; sleep 0.01 & wait";
    let output = script(&place, all, true);
    let expected = "textsecretbesidet\nhere\nsignal\n";
    assert_eq!(
        (text(&output.stdout).as_str(), output.status.code()),
        (expected, Some(0)),
        "{}",
        text(&output.stderr)
    );
    // A file created after the rules for reading is readable, too.
    fs::write(place.outside.join("new"), "new").unwrap();
    assert_eq!(text(&script(&place, "cat $OUT/new", true).stdout), "new");
}

#[test]
fn git_works_in_a_repository_and_leaves_its_index() {
    needs!(is_confined() && has_program("git"));
    let place = Place::new();
    let make = "set -e; git init -q r; cd r; echo a > f; git add f; \
        git -c user.name=n -c user.email=e commit -qm first; sleep 0.01; touch f; echo b > g";
    assert!(script(&place, make, false).status.success());
    let index = place.work.join("r/.git/index");
    let before = fs::metadata(&index).unwrap().modified().unwrap();
    let output =
        script(&place, "cd r && git status --short && git log -p | grep -c '^+a' && git diff --stat", true);
    assert_eq!(
        (text(&output.stdout).as_str(), output.status.code()),
        ("?? g\n1\n", Some(0)),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(fs::metadata(&index).unwrap().modified().unwrap(), before);
}

/// Repository settings with which git runs `touch`.
const PROGRAMS_OF_GIT: &[&str] = &[
    "core.fsmonitor '$OUT/ran; false'",
    "core.hooksPath hooks",
    "log.showSignature true",
    "gpg.program ./ran.sh",
    "core.pager 'touch $OUT/ran; cat'",
    "core.sshCommand 'touch $OUT/ran'",
    "core.alternateRefsCommand 'touch $OUT/ran'",
];

#[tokio::test]
async fn what_a_command_is_told_keeps_git_from_running_what_the_repository_names() {
    needs!(is_confined() && has_program("git"));
    for setting in PROGRAMS_OF_GIT {
        let place = Place::new();
        let make = format!(
            "set -e; rm -r .git; git init -q .; printf '#!/bin/sh\\necho RA\\047\\047N\\n' > ran.sh; chmod +x ran.sh; mkdir hooks
             cp ran.sh hooks/post-index-change; git config {setting}; echo a > f; git add -A
             git -c core.hooksPath=/dev/null -c user.name=n -c user.email=e commit -qm first"
        );
        let output = script(&place, &make, false);
        assert!(output.status.success(), "{setting}: {}", text(&output.stderr));
        let mut bench = Bench::new();
        bench.context.cwd = Arc::from(place.work.as_path());
        bench.context.sandbox = Arc::new(policy(&place));
        let printed =
            bench.text("bash", json!({"command": "git status; git log -p; git diff; git show"})).await;
        assert!(!printed.contains("RAN"), "{setting}: {printed}");
        assert!(printed.contains("first"), "{setting}: {printed}");
    }
}

#[tokio::test]
async fn the_model_is_told_what_was_refused_and_that_nobody_was_asked() {
    needs!(is_confined());
    let place = place();
    let mut bench = Bench::new();
    bench.context.cwd = Arc::from(place.work.as_path());
    bench.context.sandbox = Arc::new(policy(&place));
    for (command, rule, words) in [
        (
            "echo x > made",
            SandboxRule::ReadOnly,
            "a command that runs without a question cannot change anything",
        ),
        (
            "exec 3<>/dev/tcp/127.0.0.1/9",
            SandboxRule::Network,
            "off for a command that runs without a question",
        ),
    ] {
        let Err(ToolError::Refused { message, details }) =
            bench.call("bash", json!({"command": command})).await
        else {
            panic!("{command} worked");
        };
        let Details::Terminal(output) = *details else { panic!() };
        let denial = output.blocked.unwrap();
        assert_eq!((denial.rule, denial.unasked), (rule, true), "{command}");
        assert!(message.contains(words), "{command}: {message}");
    }
    let text = bench.text("bash", json!({"command": "echo x > $TMPDIR/f && cat $TMPDIR/f"})).await;
    assert!(text.starts_with("x\n"), "{text}");
    let text = bench.text("bash", json!({"command": "echo $TMPDIR; echo x > $TMPDIR/f"})).await;
    let folder = text.lines().next().unwrap();
    assert!(folder.contains("private") && !std::path::Path::new(folder).exists(), "{text}");
}
