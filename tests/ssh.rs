//! `tau attach ssh://…`: the real screen on a session behind a real sshd on loopback.

mod servers;
mod sshd;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use crate::harness::answering;
use crate::live::{Home, command, texts, wait_for_state};
use crate::live_ends::process_of;
use crate::screen::{Screen, TIMEOUT, composer};
use crate::time_limit::RunInTime;
use sshd::{Sshd, WithTau};

fn wait_for_screen(screen: &Screen) {
    screen.wait_until("composer", |cells| cells.alternate_screen() && composer(cells).is_some());
}

#[test]
fn a_broken_connection_comes_back_and_nothing_is_lost() {
    let url = answering(Duration::from_secs(6), "an answer from afar");
    let Some(sshd) = Sshd::start(WithTau::InPath, &url) else { return };
    // What a shell prints at its start is not for the screen.
    fs::write(sshd.home().join(".bashrc"), "printf 'noise\\033[31m\\n'; printf 'more noise\\n' >&2\n")
        .unwrap();
    let screen = sshd.attach(&format!("ssh://box{}", sshd.work().display()));
    wait_for_screen(&screen);
    screen.wait_for("box:");
    assert!(!screen.text().contains("noise"), "{}", screen.text());
    screen.type_keys("hello there\r");
    screen.wait_for("▌ hello there");
    let id = sshd.only_session();
    wait_for_state(&sshd.home(), &id, "running");
    // Keys are folded here, whatever the connection does.
    let sessions = sshd.connections();
    assert!(!sessions.is_empty());
    for pid in &sessions {
        kill_process(*pid, Signal::STOP).unwrap();
    }
    screen.type_keys("felt here");
    screen.wait_for_composer("felt here");
    // No login is possible for a while, and the connection is gone.
    sshd.signal(Signal::STOP);
    for pid in &sessions {
        kill_process(*pid, Signal::KILL).unwrap();
    }
    screen.wait_for("connection lost, trying again");
    screen.type_keys("\x15while away");
    screen.wait_for_composer("while away");
    screen.type_keys("\r");
    screen.wait_until("taken", |cells| !cells.contents().contains("while away"));
    wait_for_state(&sshd.home(), &id, "running");
    sshd.signal(Signal::CONT);
    screen.wait_until("no loss", |cells| !cells.contents().contains("connection lost"));
    screen.wait_until("both answers", |cells| {
        let text = cells.contents();
        text.matches("an answer from afar").count() == 2 && text.matches("▌ while away").count() == 1
    });
    // Quitting leaves the session, which the address and its id lead to.
    screen.type_keys("\x04");
    screen.wait_for(&format!("detached; the session continues: tau attach ssh://box {id}"));
    screen.wait_for("exit=0");
    let (_, out, _) = texts(&crate::live::command(&sshd.home(), &["logs", &id]).output_in_time());
    assert_eq!(out, "an answer from afar\nan answer from afar\n");
    let again = sshd.attach(&format!("ssh://box --session {}", &id[30..]));
    again.wait_for("▌ while away");
}

#[test]
fn a_session_without_a_message_comes_back_too() {
    let url = answering(Duration::ZERO, "at last");
    let Some(sshd) = Sshd::start(WithTau::InPath, &url) else { return };
    let screen = sshd.attach("ssh://box/~/work");
    wait_for_screen(&screen);
    screen.wait_for("box:");
    let id = sshd.only_session();
    screen.type_keys("a draft");
    screen.wait_for_composer("a draft");
    sshd.signal(Signal::STOP);
    for pid in sshd.connections() {
        kill_process(pid, Signal::KILL).unwrap();
    }
    screen.wait_for("connection lost, trying again");
    // Its process ends, as nobody looks.
    crate::time_limit::until(
        TIMEOUT,
        || !sshd.home().join(format!("tau/logs/live/{id}.json")).exists(),
        || "the process stays".to_owned(),
    );
    sshd.signal(Signal::CONT);
    screen.wait_until("no loss", |cells| !cells.contents().contains("connection lost"));
    screen.wait_for_composer("a draft");
    screen.type_keys("\r");
    screen.wait_for("▌ a draft");
    screen.wait_for("at last");
    assert_eq!(sshd.only_session(), id);
}

#[test]
fn a_run_that_is_killed_there_is_said_to_be_interrupted() {
    let url = answering(Duration::from_secs(60), "never");
    let Some(sshd) = Sshd::start(WithTau::InPath, &url) else { return };
    let screen = sshd.attach("ssh://box/~/work");
    wait_for_screen(&screen);
    screen.wait_for("box:");
    screen.type_keys("hello there\r");
    let id = sshd.only_session();
    wait_for_state(&sshd.home(), &id, "running");
    let process = process_of(&sshd.home(), &id);
    kill_process(process, Signal::KILL).unwrap();
    screen.wait_for("this session was interrupted during a run");
    wait_for_state(&sshd.home(), &id, "failed");
    let (code, _, err) = texts(&command(&sshd.home(), &["wait", &id]).output_in_time());
    assert!(code == Some(101) && err.contains("to continue: tau send"), "{code:?} {err}");
    let place = format!("/proc/{}", process.as_raw_nonzero());
    let is_gone = || !std::path::Path::new(&place).exists();
    crate::time_limit::until(TIMEOUT, is_gone, || "the killed process was not waited for".to_owned());
}

#[test]
fn a_missing_tau_is_copied_after_a_question() {
    let url = answering(Duration::ZERO, "from the copy");
    let Some(sshd) = Sshd::start(WithTau::Nowhere, &url) else { return };
    let cache = sshd.home().join(".cache/tau/bin");
    let refused = sshd.attach("ssh://box/~/work");
    refused.wait_for("There is no tau on box.");
    refused.wait_for("[y/N]");
    refused.type_keys("n\r");
    refused.wait_for("nothing was copied");
    refused.wait_for("exit=3");
    assert!(!cache.exists());
    // Nobody can be asked.
    let output = sshd.run("ssh://box/~/work");
    let (code, _, err) = texts(&output);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("there is no tau on box") && err.contains("attach from a terminal"), "{err}");
    let screen = sshd.attach("ssh://box/~/work");
    screen.wait_for("[y/N]");
    screen.type_keys("y\r");
    wait_for_screen(&screen);
    screen.wait_for("box:");
    screen.type_keys("hello\r");
    screen.wait_for("from the copy");
    let files: Vec<_> = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(
        files[0].to_str().unwrap().starts_with(concat!("tau-", env!("CARGO_PKG_VERSION"), "-")),
        "{files:?}"
    );
    // The next one is not asked about.
    let next = sshd.attach("ssh://box/~/work");
    next.wait_for("from the copy");
}

#[test]
fn a_copy_that_is_interrupted_leaves_nothing() {
    let Some(sshd) = Sshd::start(WithTau::Nowhere, "http://127.0.0.1:9/v1") else { return };
    sshd.place(
        "cat",
        "#!/bin/sh\nhead -c 1000; touch ~/begun; until test -e ~/resume; do sleep 0.02; done; exec /bin/cat >/dev/null\n",
    );
    let screen = sshd.attach("ssh://box/~/work");
    screen.wait_for("[y/N]");
    screen.type_keys("y\r");
    let wait = |what: &str, is_so: &dyn Fn() -> bool| {
        crate::time_limit::until(TIMEOUT, is_so, || what.to_owned());
    };
    wait("the copy does not begin", &|| sshd.home().join("begun").exists());
    let cache = sshd.home().join(".cache/tau/bin");
    let count = || fs::read_dir(&cache).unwrap().count();
    assert_eq!(count(), 1);
    screen.type_keys("\x03");
    wait("the connection stays", &|| sshd.connections().is_empty());
    fs::write(sshd.home().join("resume"), "").unwrap();
    wait("a part of the copy is left", &|| count() == 0);
}

#[test]
fn a_copy_that_does_not_run_there_and_another_tau_are_said() {
    let Some(sshd) = Sshd::start(WithTau::Nowhere, "http://127.0.0.1:9/v1") else { return };
    sshd.place("tau", "#!/bin/sh\necho 'tau 0.0.9, attach 1'\n");
    let screen = sshd.attach("ssh://box/~/work");
    screen.wait_for("is another version or build than this one");
    screen.type_keys("\r");
    screen.wait_for("nothing was copied");
    screen.wait_for("exit=3");
    // The copy is checked before it is used: here nothing can be started from that folder.
    sshd.place("chmod", "#!/bin/sh\necho 'nothing runs from here' >&2\nexit 1\n");
    let screen = sshd.attach("ssh://box/~/work");
    screen.wait_for("[y/N]");
    screen.type_keys("y\r");
    screen.wait_for("nothing runs from here");
    screen.wait_for("the copy does not run on box");
    screen.wait_for("exit=3");
    assert_eq!(fs::read_dir(sshd.home().join(".cache/tau/bin")).unwrap().count(), 0);
    // A program of another system is not offered.
    sshd.place("uname", "#!/bin/sh\n[ \"$1\" = -s ] && echo Plan9 || echo vax\n");
    let (code, _, err) = texts(&sshd.run("ssh://box/~/work"));
    assert_eq!(code, Some(3));
    assert!(err.contains("not for Plan9 vax"), "{err}");
}

#[test]
fn sessions_of_a_machine_are_offered_without_a_folder() {
    let url = answering(Duration::from_secs(60), "never");
    let Some(sshd) = Sshd::start(WithTau::InPath, &url) else { return };
    let empty = sshd.attach("ssh://box");
    empty.wait_for("No session is open on box.");
    empty.type_keys("work\r");
    wait_for_screen(&empty);
    empty.type_keys("count the stars\r");
    empty.wait_for("▌ count the stars");
    let id = sshd.only_session();
    wait_for_state(&sshd.home(), &id, "running");
    let other = sshd.attach("ssh://box");
    other.wait_for("Open on box:");
    other.wait_for("count the stars");
    other.type_keys("1\r");
    other.wait_for("▌ count the stars");
    // What one stops, the other sees.
    other.type_keys("\x1b");
    wait_for_state(&sshd.home(), &id, "idle");
    other.type_keys("\x04");
    other.wait_for("exit=0");
    let none = sshd.attach("ssh://box");
    none.wait_for("Open on box:");
    none.type_keys("\r");
    none.wait_for("nothing was chosen");
    none.wait_for("exit=130");
}

#[test]
fn what_hinders_a_connection_is_said_in_plain_text() {
    let Some(sshd) = Sshd::start(WithTau::InPath, "http://127.0.0.1:9/v1") else { return };
    let says = |address: &str, code: i32, text: &str| {
        let (found, out, err) = texts(&sshd.run(address));
        assert_eq!(found, Some(code), "{address}: {out}{err}");
        assert!(err.contains(text), "{address}: {err}");
        assert!(!err.contains('\x1b'), "{err:?}");
        assert_eq!(err.matches(text).count(), 1, "said twice: {err}");
    };
    says("ssh://closed/srv", 3, "Connection refused");
    says("ssh://stranger/srv", 3, "Host key verification failed");
    says("ssh://keyless/srv", 3, "Permission denied");
    says("ssh://box/no/such/folder", 3, "cannot work in /no/such/folder");
    says("ssh://box/~/work ffff", 3, "no session \"ffff\"");
    says("ssh://box/~/work ../../etc", 3, "no session");
    // What the other machine sends is foreign text.
    sshd.place(
        "tau",
        concat!(
            "#!/bin/sh\nif [ \"$2\" = protocol ]; then exec \"$TAU_BIN\" \"$@\"; fi\n",
            "echo 'tau-attach: {\"refused\":{\"why\":\"\\u001b[31mred\\u001b]0;title\\u0007\"}}'\n"
        ),
    );
    says("ssh://box/srv", 3, "[31mred]0;title");
    sshd.place(
        "tau",
        concat!(
            "#!/bin/sh\nif [ \"$2\" = protocol ]; then exec \"$TAU_BIN\" \"$@\"; fi\n",
            "printf '\\033[31mbad\\n' >&2; head -c 100000 /dev/urandom; exit 1\n"
        ),
    );
    says("ssh://box/srv", 3, "[31mbad");
}

#[test]
fn an_error_of_ssh_is_said_once() {
    let home = Home::new();
    let ssh = home.at("ssh");
    fs::write(&ssh, "#!/bin/sh\necho 'ssh: no route to box' >&2\nexit 255\n").unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    for (arguments, why) in [
        (&["attach", "ssh://box/srv"][..], "cannot attach to box"),
        (&["logs", "ssh://box#ffff"][..], "cannot reach box"),
    ] {
        let (code, _, err) = texts(&home.command(arguments).env("TAU_SSH", &ssh).output_in_time());
        let said = format!("ssh: no route to box\ntau: {why}: ssh ended without a connection\n");
        assert_eq!((code, err), (Some(3), said));
    }
}

#[test]
fn nothing_of_an_address_reaches_a_shell_or_the_options_of_ssh() {
    let Some(sshd) = Sshd::start(WithTau::InPath, "http://127.0.0.1:9/v1") else { return };
    let mark = sshd.home().join("mark");
    let touch = format!("touch${{IFS}}{}", mark.display());
    for address in [
        format!("ssh://-oProxyCommand={touch}/srv"),
        format!("ssh://-oProxyCommand=touch%20{}/srv", mark.display()),
        format!("ssh://box;{touch}/srv"),
        "ssh://$(id)/srv".to_owned(),
        "ssh://box/a%0ab".to_owned(),
        "ssh://root:secret@box/srv".to_owned(),
    ] {
        let (code, _, err) = texts(&sshd.run_one(&address));
        assert_eq!(code, Some(2), "{address}: {err}");
        assert!(err.contains("is not an ssh address"), "{err}");
    }
    // A folder may have any name.
    let name = format!("-x '\"; touch {}; `id` $(id) &", "mark");
    fs::create_dir(sshd.home().join(&name)).unwrap();
    let screen = sshd.attach_one(&format!("ssh://box/~/{}", name.replace('%', "%25")));
    wait_for_screen(&screen);
    screen.wait_for("box:");
    screen.type_keys("!pwd\r");
    screen.wait_for("touch mark");
    assert!(!mark.exists() && !sshd.work().join("mark").exists());
}
