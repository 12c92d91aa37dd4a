//! Two processes on one session: who owns it, and what the second may do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use tau::agent::session::lock::{Life, Owner, lock_for_deletion, note_path, read_owner};
use tau::agent::session::{Access, ForkRange, Session, SessionError};

use crate::support::session_files::{Folder, HEADER, line, texts, user};
use crate::time_limit::{EndInTime, in_time};

fn owner(fields: Value) -> Owner {
    serde_json::from_value(fields).unwrap()
}

#[test]
fn a_note_names_the_owner_as_long_as_the_session_is_open() {
    let folder = Folder::new();
    let path = folder.file(format!("{HEADER}\n{}\n", line("a", None, "one")));
    let session = Session::open(&path).unwrap();
    let noted_owner = read_owner(&path).unwrap();
    assert_eq!((noted_owner.pid, noted_owner.life()), (std::process::id(), Life::Runs));
    assert_eq!(fs::metadata(note_path(&path)).unwrap().permissions().mode() & 0o777, 0o600);
    let error = Session::open(&path).unwrap_err().to_string();
    assert!(error.ends_with(&format!("in use by another tau (process {})", std::process::id())), "{error}");
    drop(session);
    assert!(read_owner(&path).is_none(), "the note goes with the session");
    let mut new = Session::begin(Some(folder.path()), Path::new("/srv"), None);
    new.append(user("x")).unwrap();
    assert!(read_owner(new.info().file.as_ref().unwrap()).is_some());
}

#[test]
fn a_session_that_moves_keeps_its_note() {
    let folder = Folder::new();
    let path = folder.file(format!("{HEADER}\n{}\n", line("a", None, "one")));
    let session = Session::open(&path).unwrap();
    let session = session.move_to(None, folder.path()).unwrap();
    assert!(read_owner(&path).is_some(), "it is open");
    drop(session);
    assert!(read_owner(&path).is_none());
}

#[test]
fn an_open_session_is_in_use_even_without_its_note() {
    let folder = Folder::new();
    let path = folder.file(format!("{HEADER}\n{}\n", line("a", None, "one")));
    let session = Session::open(&path).unwrap();
    fs::remove_file(note_path(&path)).unwrap();
    assert_eq!(lock_for_deletion(&path).unwrap_err().pid, std::process::id());
    drop(session);
    assert!(lock_for_deletion(&path).unwrap().is_some());
}

#[test]
fn an_owner_is_known_to_run_or_to_have_ended() {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait_in_time("the end of true(1)");
    let check =
        |fields: Value, expected: Life| assert_eq!(owner(fields.clone()).life(), expected, "{fields}");
    check(json!({"pid": std::process::id(), "host": host}), Life::Runs);
    check(json!({"pid": child.id(), "host": host}), Life::Ended);
    check(json!({"pid": child.id(), "host": "elsewhere"}), Life::Unknown);
    check(json!({"pid": 0, "host": host}), Life::Unknown);
    if cfg!(target_os = "linux") {
        check(json!({"pid": std::process::id(), "host": host, "started": "1"}), Life::Ended);
        // Its parent has not asked for its end yet, as where nothing does so for orphans.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let stat = format!("/proc/{}/stat", child.id());
        in_time("the end of true(1)", move || {
            while !fs::read_to_string(&stat).unwrap().contains(") Z ") {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        check(json!({"pid": child.id(), "host": host}), Life::Ended);
        child.wait_in_time("the end of true(1)");
    }
}

/// A process being started has a copy of every descriptor until it executes its program.
#[test]
fn a_closed_session_is_free_even_if_its_descriptor_was_copied() {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let folder = Folder::new();
    let path = folder.file(format!("{HEADER}\n{}\n", line("a", None, "one")));
    let session = Session::open(&path).unwrap();
    let descriptors = fs::read_dir("/proc/self/fd").into_iter().flatten().filter_map(Result::ok);
    let open = descriptors.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == path));
    let numbers: Vec<i32> = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let copy = |number: &i32| {
        let this = pidfd_open(getpid(), PidfdFlags::empty())?;
        pidfd_getfd(this, *number, PidfdGetfdFlags::empty())
    };
    let copies: Vec<_> = match numbers.iter().map(copy).collect() {
        Ok(copies) => copies,
        Err(error) => return println!("notice: skipped: descriptors cannot be copied here: {error}"),
    };
    drop(session);
    assert_eq!(texts(&Session::open(&path).unwrap()), ["user:one"]);
    assert!(!copies.is_empty() || !cfg!(target_os = "linux"));
}

/// A lock without a running owner: a dead tau left it to its child.
#[test]
fn what_a_dead_tau_left_is_told_and_can_be_taken_over() {
    let folder = Folder::new();
    let path = folder.file(format!("{HEADER}\n{}\n", line("a", None, "one")));
    let mut holder = std::process::Command::new("flock");
    // The lock passes from the program that took it to its child, which outlives it.
    holder.arg(&path).args(["sh", "-c", "sleep 60 & echo $!"]).stdout(std::process::Stdio::piped());
    let mut holder = match holder.spawn() {
        Ok(holder) => holder,
        Err(error) => return println!("skipped: no flock(1): {error}"),
    };
    let mut out = std::io::BufReader::new(holder.stdout.take().unwrap());
    let said = in_time("the process id of the sleeper", move || {
        let mut said = String::new();
        std::io::BufRead::read_line(&mut out, &mut said).unwrap();
        said
    });
    holder.wait_in_time("the end of flock(1)");
    let sleeper: i32 = said.trim().parse().unwrap();
    let locked = Session::open(&path).unwrap_err();
    assert!(matches!(&locked, SessionError::Locked { .. }), "{locked}");
    let mut session = Session::open_as(&path, Access::TakeOver).unwrap();
    session.append(user("two")).unwrap();
    drop(session);
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(sleeper).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let SessionError::Locked { owner, .. } = locked else { panic!("{locked}") };
    assert_eq!(owner.life(), Life::Ended, "{owner:?}");
    assert!(owner.to_string().ends_with("which has exited"), "{owner}");
    assert_eq!(texts(&crate::support::session_files::opened_soon(&path)), ["user:one", "user:two"]);
}

#[test]
fn a_session_that_is_looked_at_is_not_written_to() {
    let folder = Folder::new();
    let text = format!("{HEADER}\n{}\n", line("a", None, "one"));
    let path = folder.file(&text);
    let first = Session::open(&path).unwrap();
    let mut second = Session::open_as(&path, Access::Read).unwrap();
    assert!(second.is_read_only() && !first.is_read_only());
    second.append(user("two")).unwrap();
    second.flush().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(read_owner(&path).unwrap().pid, std::process::id(), "the note of the first stays");
    let mut copy = second.fork(Some(folder.path()), ForkRange::All).unwrap();
    assert!(!copy.is_read_only());
    copy.append(user("three")).unwrap();
    let copied = copy.info().file.clone().unwrap();
    drop(copy);
    assert_eq!(texts(&Session::open(&copied).unwrap()), ["user:one", "user:two", "user:three"]);
    drop(first);
    assert!(read_owner(&path).is_none());
}

#[test]
fn an_old_file_that_is_looked_at_is_not_rewritten() {
    let folder = Folder::new();
    let text = concat!(
        r#"{"type":"session","id":"old","timestamp":"2025-01-02T03:04:05.678Z","cwd":"/srv"}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-01-02T03:04:06.000Z","message":{"role":"user","content":"one"}}"#,
        "\n"
    );
    let path = folder.file(text);
    let session = Session::open_as(&path, Access::Read).unwrap();
    assert_eq!(texts(&session), ["user:one"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}
