//! Every disk operation of a session fails once, or from then on: acknowledged data is kept.
//!
//! The disk of these tests behaves like real ones after a failed sync: it marks written data as clean
//! although it never became safe, so that syncing again proves nothing.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tau::agent::AgentEvent;
use tau::agent::protocol::command::{SessionChange, SessionCommand, TaskCommand};
use tau::agent::protocol::event::{NoticeLevel, RunEvent, SessionEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::message::{Message, StopReason};
use tau::agent::protocol::query::Query;
use tau::agent::session::Session;
use tau::agent::session::disk::Disk;
use tau::agent::settings::private_files::open_with;

use crate::fake::Step::{Call, Say, Stop};
use crate::fake::{Bench, Player, files};
use crate::support::session_files::{Folder, HEADER, assistant, line, opened_soon, texts, user};

/// The failing operations, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Once(usize),
    From(usize),
}

/// The remains of a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Loss {
    /// A write writes nothing; data that could not be made safe can still be read.
    Nothing,
    /// A write writes half; data that could not be made safe reads as zeros.
    Half,
}

#[derive(Debug)]
struct Faulty {
    when: When,
    loss: Loss,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    operations: usize,
    failed: usize,
    files: HashMap<u64, Image>,
}

/// The remains of a file after a power cut.
#[derive(Debug, Default)]
struct Image {
    safe: Vec<u8>,
    dirty: Vec<(u64, usize)>,
}

impl Faulty {
    fn new(when: When, loss: Loss) -> Arc<Self> {
        Arc::new(Faulty { when, loss, state: Mutex::default() })
    }

    fn operation(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.operations += 1;
        let fails = match self.when {
            When::Once(at) => state.operations == at,
            When::From(at) => state.operations >= at,
        };
        if !fails {
            return Ok(());
        }
        state.failed += 1;
        Err(io::Error::from_raw_os_error(5))
    }

    fn wrote(&self, file: &File, at: u64, len: usize) {
        let ino = file.metadata().unwrap().ino();
        self.state.lock().unwrap().files.entry(ino).or_default().dirty.push((at, len));
    }

    fn failed(&self) -> usize {
        self.state.lock().unwrap().failed
    }

    /// The file as a power cut would leave it.
    fn after_power_cut(&self, path: &Path) -> Vec<u8> {
        let ino = fs::metadata(path).unwrap().ino();
        let state = self.state.lock().unwrap();
        state.files.get(&ino).map(|image| image.safe.clone()).unwrap_or_default()
    }
}

impl Disk for Faulty {
    fn open(&self, options: &mut OpenOptions, path: &Path) -> io::Result<File> {
        self.operation()?;
        open_with(options, path)
    }

    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        let at = file.metadata()?.len();
        let bytes = match self.operation() {
            Err(error) if self.loss == Loss::Nothing => return Err(error),
            Err(_) => &bytes[..bytes.len() / 2],
            Ok(()) => bytes,
        };
        file.write_all(bytes)?;
        self.wrote(file, at, bytes.len());
        Ok(bytes.len())
    }

    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        self.operation()?;
        file.write_all_at(bytes, at)?;
        self.wrote(file, at, bytes.len());
        Ok(())
    }

    fn cut(&self, file: &File, len: u64) -> io::Result<()> {
        self.operation()?;
        file.set_len(len)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let result = self.operation();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
        let bytes = fs::read(&path)?;
        let mut state = self.state.lock().unwrap();
        let image = state.files.entry(file.metadata()?.ino()).or_default();
        for (at, len) in std::mem::take(&mut image.dirty) {
            let range = at as usize..(at as usize + len).min(bytes.len());
            if range.is_empty() {
                continue;
            }
            match &result {
                Ok(()) => {
                    image.safe.resize(image.safe.len().max(range.end), 0);
                    image.safe[range.clone()].copy_from_slice(&bytes[range]);
                }
                Err(_) if self.loss == Loss::Half => {
                    let zeros = vec![0; range.len()];
                    OpenOptions::new().write(true).open(&path)?.write_all_at(&zeros, at)?;
                }
                Err(_) => {}
            }
        }
        result
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        self.operation()
    }
}

/// Two turns. Fails if acknowledged data is not kept; returns the number of failed operations.
fn two_turns(when: When, loss: Loss) -> usize {
    let what = format!("{when:?} {loss:?}");
    let folder = Folder::new();
    let disk = Faulty::new(when, loss);
    let session = Session::begin(Some(folder.path()), Path::new("/srv"), None);
    let mut session = session.with_disk(disk.clone());
    let (mut said, mut written) = (Vec::new(), Vec::new());
    let mut safe = Vec::new();
    for turn in 0..2 {
        for (role, text) in [("user", format!("ask {turn}")), ("assistant", format!("answer {turn}"))] {
            let message = if role == "user" { user(&text) } else { assistant(&text) };
            said.push(format!("{role}:{text}"));
            if session.append(message).is_ok() {
                written.clone_from(&said);
            }
            assert_eq!(texts(&session), said, "{what}: all of it is in memory");
        }
        if session.flush().is_ok() {
            (written, safe) = (said.clone(), said.clone());
        }
    }
    let path = session.info().file.clone().unwrap();
    drop(session);
    let kept = |bytes: Vec<u8>, expected: &[String], place: &str| {
        if expected.is_empty() {
            return;
        }
        let folder = Folder::new();
        let session = opened_soon(&folder.file(bytes));
        let kept = texts(&session);
        // Zeros from a lost page may precede a line, but never replace one.
        assert!(kept.starts_with(expected), "{what}: {place} holds {kept:?}, not {expected:?}");
        assert!(said.starts_with(&kept), "{what}: {place} holds {kept:?}");
    };
    if path.exists() {
        // Data that a failed sync dropped from the cache of a broken disk is gone for good.
        if loss == Loss::Nothing || matches!(when, When::Once(_)) {
            kept(fs::read(&path).unwrap(), &written, "the file");
        }
        kept(disk.after_power_cut(&path), &safe, "the disk");
    }
    if let When::Once(_) = when {
        assert_eq!((&written, &safe), (&said, &said), "{what}: one failure is repaired at the next turn");
    }
    disk.failed()
}

#[test]
fn whichever_operation_fails_nothing_acknowledged_is_lost() {
    for loss in [Loss::Nothing, Loss::Half] {
        let mut at = 1;
        while two_turns(When::Once(at), loss) > 0 {
            two_turns(When::From(at), loss);
            at += 1;
        }
        assert!(at > 8, "opening, five lines, two syncs and one of the folder at least, not {at}");
    }
}

/// Fails only syncs, by their number.
#[derive(Debug, Default)]
struct Unsafe {
    fails: Mutex<std::collections::VecDeque<bool>>,
    operations: Mutex<Vec<String>>,
}

impl Disk for Unsafe {
    fn open(&self, options: &mut OpenOptions, path: &Path) -> io::Result<File> {
        self.operations.lock().unwrap().push("open".into());
        open_with(options, path)
    }

    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        self.operations
            .lock()
            .unwrap()
            .push(format!("again {}", String::from_utf8_lossy(bytes).lines().count()));
        file.write_all_at(bytes, at)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let fails = self.fails.lock().unwrap().pop_front().unwrap_or_default();
        self.operations.lock().unwrap().push(format!("sync{}", if fails { " fails" } else { "" }));
        if fails { Err(io::Error::from_raw_os_error(5)) } else { file.sync_data() }
    }
}

/// An open session with one message, on such a disk; its folder lives as long as it is held.
fn on_unsafe_disk() -> (Folder, PathBuf, Arc<Unsafe>, Session) {
    let folder = Folder::new();
    let path = folder.file(format!("{HEADER}\n{}\n", line("a", None, "one")));
    let disk = Arc::new(Unsafe::default());
    let session = opened_soon(&path).with_disk(disk.clone());
    (folder, path, disk, session)
}

#[test]
fn a_failed_sync_is_never_tried_again_on_the_same_descriptor() {
    let (_folder, path, disk, mut session) = on_unsafe_disk();
    let operations = || std::mem::take(&mut *disk.operations.lock().unwrap());
    session.append(user("two")).unwrap();
    session.flush().unwrap();
    session.flush().unwrap();
    assert_eq!(operations(), ["sync"], "nothing is left to bring to disk");
    // Repaired at once: one remark, the same bytes.
    disk.fails.lock().unwrap().push_back(true);
    session.append(user("three")).unwrap();
    session.append(assistant("four")).unwrap();
    let before = fs::read(&path).unwrap();
    session.flush().unwrap();
    assert_eq!(operations(), ["sync fails", "open", "open", "again 1", "again 1", "sync"]);
    assert_eq!(fs::read(&path).unwrap(), before, "no line is there twice");
    let remarks = session.take_warnings();
    assert!(remarks.len() == 1 && remarks[0].contains("could not be synced to disk"), "{remarks:?}");
    assert_eq!(session.take_warnings(), [""; 0], "once");
    assert!(Session::open(&path).is_err(), "the lock was never let go of");
    // Not repaired: every message tries again.
    disk.fails.lock().unwrap().extend([true, true, true, false]);
    session.append(user("five")).unwrap();
    assert!(session.flush().unwrap_err().to_string().contains("not safely on disk"));
    assert!(session.append(user("six")).is_err());
    operations();
    session.append(user("seven")).unwrap();
    assert_eq!(operations(), ["open", "open", "again 1", "again 1", "again 1", "sync"]);
    let expected = ["one", "two", "three", "four", "five", "six", "seven"]
        .map(|text| format!("{}:{text}", if text == "four" { "assistant" } else { "user" }));
    assert_eq!(texts(&session), expected);
    drop(session);
    let session = opened_soon(&path);
    assert_eq!((texts(&session), session.skipped_lines()), (expected.to_vec(), 0));
}

#[test]
fn what_another_program_put_in_the_place_is_not_overwritten() {
    let (_folder, path, disk, mut session) = on_unsafe_disk();
    session.append(user("two")).unwrap();
    // Another program mistook our line for a torn one and wrote its own there.
    let text = fs::read_to_string(&path).unwrap();
    let theirs = line("b", Some("a"), "theirs");
    let cut = text.lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
    fs::write(&path, format!("{cut}{theirs}\n")).unwrap();
    disk.fails.lock().unwrap().push_back(true);
    session.flush().unwrap();
    let bytes = fs::read_to_string(&path).unwrap();
    assert!(bytes.contains(&theirs), "{bytes}");
    drop(session);
    let session = opened_soon(&path);
    assert_eq!((texts(&session), session.skipped_lines()), (vec!["user:one".into(), "user:two".into()], 0));
    assert!(session.tree().get("b").is_some());
}

#[test]
fn a_removed_file_is_written_again_and_that_is_told() {
    let (_folder, path, disk, mut session) = on_unsafe_disk();
    session.append(user("two")).unwrap();
    fs::remove_file(&path).unwrap();
    disk.fails.lock().unwrap().push_back(true);
    session.flush().unwrap();
    let remarks = session.take_warnings().join("\n");
    assert!(remarks.contains("deleted while it was open"), "{remarks}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(Session::open(&path).is_err(), "it is locked again");
    fs::remove_file(&path).unwrap();
    session.append(user("three")).unwrap();
    assert_eq!(session.take_warnings().len(), 1);
    drop(session);
    assert_eq!(texts(&opened_soon(&path)), ["user:one", "user:two", "user:three"]);
}

#[test]
fn a_file_put_in_its_place_stays_and_the_session_continues_beside_it() {
    let folder = Folder::new();
    let path = folder.file(format!("{HEADER}\n{}\n", line("a", None, "one")));
    let mut session = opened_soon(&path);
    session.append(user("two")).unwrap();
    // As an editor saves: an older state of it, under the same name.
    let theirs = format!("{HEADER}\n{}\n", line("a", None, "changed"));
    fs::write(folder.path().join("theirs"), &theirs).unwrap();
    fs::rename(folder.path().join("theirs"), &path).unwrap();
    session.append(user("three")).unwrap();
    session.flush().unwrap();
    let beside = session.info().file.clone().unwrap();
    let remarks = session.take_warnings().join("\n");
    assert!(remarks.contains(beside.to_str().unwrap()) && beside != path, "{remarks}");
    assert!(!session.has_unsaved());
    drop(session);
    assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
    assert_eq!(texts(&opened_soon(&beside)), ["user:one", "user:two", "user:three"]);
}

#[test]
fn a_revived_file_that_cannot_be_made_safe_is_in_doubt() {
    let (_folder, path, disk, mut session) = on_unsafe_disk();
    session.append(user("two")).unwrap();
    fs::remove_file(&path).unwrap();
    disk.fails.lock().unwrap().extend([true, true]);
    assert!(session.flush().is_err());
    disk.operations.lock().unwrap().clear();
    session.flush().unwrap();
    assert_eq!(*disk.operations.lock().unwrap(), ["open", "open", "again 3", "sync"]);
    drop(session);
    assert_eq!(texts(&opened_soon(&path)), ["user:one", "user:two"]);
}

#[test]
fn what_is_written_once_more_at_the_end_keeps_its_order() {
    for failures in 1..=2 {
        let (_folder, path, disk, mut session) = on_unsafe_disk();
        let begin = fs::metadata(&path).unwrap().len();
        session.append(user("two")).unwrap();
        // Another program's data is where the first of them was assumed to be.
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(b"[", begin).unwrap();
        session.append(user("three")).unwrap();
        disk.fails.lock().unwrap().extend(vec![true; failures]);
        assert_eq!(session.flush().is_ok(), failures == 1);
        session.flush().unwrap();
        drop(session);
        assert_eq!(texts(&opened_soon(&path)), ["user:one", "user:two", "user:three"], "{failures}");
    }
}

/// A prompt with a call: its events, and the messages that are in the file and safe at the end.
async fn run(disk: Arc<Faulty>) -> (Vec<AgentEvent>, Vec<Message>, Vec<Message>) {
    let answers = vec![
        vec![Call("a", "echo", json!({"text": "x"})), Stop(StopReason::ToolUse)],
        vec![Say("ok"), Stop(StopReason::Stop)],
    ];
    let mut bench = Bench::with(Player::new(answers), |config| {
        let dir = config.place.dir.clone();
        config.session = Session::begin(dir.as_deref(), &config.place.cwd, None).with_disk(disk.clone());
    });
    bench.prompt("go").await;
    let events = bench.settled().await;
    let messages = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        let lines = text.lines().map(|line| line.trim_matches('\0'));
        let entry = |line| serde_json::from_str::<serde_json::Value>(line).ok();
        let message = |entry: serde_json::Value| serde_json::from_value(entry.get("message")?.clone()).ok();
        lines.filter_map(entry).filter_map(message).collect::<Vec<Message>>()
    };
    let Some(path) = files(&bench.dir).into_iter().next() else { return (events, Vec::new(), Vec::new()) };
    (events, messages(fs::read(&path).unwrap()), messages(disk.after_power_cut(&path)))
}

#[tokio::test]
async fn a_run_on_a_failing_disk_ends_and_says_so() {
    for loss in [Loss::Nothing, Loss::Half] {
        for at in 1.. {
            let once = Faulty::new(When::Once(at), loss);
            let (events, file, safe) = run(once.clone()).await;
            let what = format!("{at} {loss:?}");
            let ended = events.iter().filter_map(|event| match event {
                AgentEvent::Turn(TurnEvent::MessageEnd { message }) => Some(Message::clone(message)),
                _ => None,
            });
            let ended: Vec<Message> = ended.collect();
            assert_eq!(ended.len(), 4, "{what}: the run continues");
            assert_eq!((&file, &safe), (&ended, &ended), "{what}: one failure is repaired by the end");
            check_notices(&events, once.failed() > 0, &what);
            if once.failed() == 0 {
                break;
            }
            let (events, ..) = run(Faulty::new(When::From(at), loss)).await;
            check_notices(&events, true, &format!("from {what}"));
        }
    }
}

/// Checks that a failure is reported once.
fn check_notices(events: &[AgentEvent], expected: bool, what: &str) {
    let notices = events.iter().filter_map(|event| match event {
        AgentEvent::Task(TaskEvent::Notice {
            level: NoticeLevel::Error | NoticeLevel::Warning,
            text,
            ..
        }) => Some(text),
        _ => None,
    });
    let notices: Vec<&String> = notices.collect();
    assert_eq!(!notices.is_empty(), expected, "{what}: {notices:?}");
    let cannot = notices.iter().filter(|text| text.contains("cannot save the session")).count();
    assert!(cannot <= 1 && notices.len() <= 3, "{what}: {notices:?}");
}

/// A turn is over when it is safe on disk: after its end is reported, the power may fail.
#[tokio::test]
async fn every_turn_ends_with_a_sync() {
    let disk = Arc::new(Unsafe::default());
    let call = |id| vec![Call(id, "echo", json!({"text": "x"})), Stop(StopReason::ToolUse)];
    let answers = vec![call("a"), call("b"), vec![Say("ok"), Stop(StopReason::Stop)]];
    let mut bench = Bench::with(Player::new(answers), |config| {
        let dir = config.place.dir.clone();
        config.session = Session::begin(dir.as_deref(), &config.place.cwd, None).with_disk(disk.clone());
    });
    bench.prompt("go").await;
    let mut turns = 0;
    loop {
        match bench.next().await {
            AgentEvent::Turn(TurnEvent::TurnEnd { .. }) => {
                turns += 1;
                let synced =
                    disk.operations.lock().unwrap().iter().filter(|operation| *operation == "sync").count();
                assert!(synced >= turns, "{synced} syncs at the end of turn {turns}");
            }
            AgentEvent::Run(RunEvent::AgentSettled { .. }) => break,
            _ => {}
        }
    }
    let synced = disk.operations.lock().unwrap().iter().filter(|operation| *operation == "sync").count();
    assert_eq!((turns, synced), (3, 3), "and none where nothing was written");
}

/// Data only in memory is lost with the session, so that must not happen silently.
#[tokio::test]
async fn who_leaves_a_session_that_could_not_be_written_is_told() {
    for (when, told) in [(When::From(1), true), (When::Once(1), false), (When::From(1_000), false)] {
        let disk = Faulty::new(when, Loss::Nothing);
        let mut bench = Bench::with(Player::new(vec![vec![Say("ok"), Stop(StopReason::Stop)]]), |config| {
            let dir = config.place.dir.clone();
            config.session = Session::begin(dir.as_deref(), &config.place.cwd, None).with_disk(disk.clone());
        });
        bench.prompt("go").await;
        bench.settled().await;
        bench.send(SessionCommand::Change(SessionChange::New)).await;
        bench.send(TaskCommand::Query { ticket: 1, query: Query::Idle }).await;
        let events = bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))).await;
        let at = |wanted: &dyn Fn(&AgentEvent) -> bool| events.iter().position(wanted);
        let opened = at(&|event| matches!(event, AgentEvent::Session(SessionEvent::SessionOpened { .. })));
        let said = at(
            &|event| matches!(event, AgentEvent::Task(TaskEvent::Notice { text, .. }) if text.contains("previous session")),
        );
        assert_eq!(said.is_some(), told, "{when:?}: {events:?}");
        assert!(opened.is_some() && (said.is_none() || opened < said), "on the screen of the next one");
    }
}
