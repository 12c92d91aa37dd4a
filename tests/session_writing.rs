//! Writing of session files: when, how, and what happens on failure.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tau::agent::protocol::message::{AssistantMessage, Block, Message};
use tau::agent::protocol::model::ThinkingLevel;
use tau::agent::session::entry::Body;
use tau::agent::session::{Session, SessionError, is_session_id, list};

use crate::support::session_files::{
    Folder, HEADER, assistant, check, entry, line, opened_soon, texts, user,
};
use crate::time_limit::RunInTime;

#[test]
fn the_newest_session_of_the_screen_is_none_of_print_mode() {
    let folder = Folder::new();
    let (root, here) = (folder.path().to_owned(), Path::new("/srv/web"));
    let written = |mut session: Session| {
        session.append(user("one")).unwrap();
        session.append(assistant("two")).unwrap();
        session.flush().unwrap();
        session.info().file.clone().unwrap()
    };
    let shown = written(Session::begin(Some(&root), here, None));
    fs::File::open(&shown).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let printed = written(Session::begin_for_printing(Some(&root), here, None));
    assert_eq!(list::newest(&root, here, false), Some(shown));
    assert_eq!(list::newest(&root, here, true), Some(printed));
}

#[test]
fn a_new_session_waits_for_the_first_word() {
    let folder = Folder::new();
    let dir = folder.path().join("deep/sessions");
    let mut session = Session::begin(Some(&dir), Path::new("/srv/web"), None);
    session.set_model("local", "m1").unwrap();
    session.set_model("local", "m1").unwrap();
    session.set_thinking(ThinkingLevel::High).unwrap();
    session.set_name("  two\n lines ").unwrap();
    session.flush().unwrap();
    assert!(!dir.exists());
    session.append(user("one")).unwrap();
    let path = session.info().file.clone().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!((mode(&dir), mode(dir.parent().unwrap())), (0o700, 0o700));
    session.append(assistant("two")).unwrap();
    session.set_model("local", "m1").unwrap();
    session.flush().unwrap();

    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let expected = ["session", "model_change", "thinking_level_change", "session_info", "message", "message"];
    assert_eq!(kinds, expected);
    assert!(lines[1]["parentId"].is_null());
    for pair in lines[1..].windows(2) {
        assert_eq!(pair[1]["parentId"], pair[0]["id"]);
        assert_eq!(pair[1]["id"].as_str().unwrap().len(), 8);
    }
    assert_eq!(lines[3]["name"], "two lines");
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let time = lines[0]["timestamp"].as_str().unwrap().replace([':', '.'], "-");
    assert_eq!(name, format!("{time}_{}.jsonl", lines[0]["id"].as_str().unwrap()));

    drop(session);
    let session = opened_soon(&path);
    assert!(session.info().resumed);
    assert_eq!(session.info().name.as_deref(), Some("two lines"));
    assert_eq!(session.context().model, Some(("local".into(), "m1".into())));
    assert_eq!(session.context().thinking, Some(ThinkingLevel::High));
}

#[test]
fn a_session_without_a_folder_stays_in_memory() {
    let mut session = Session::begin(None, Path::new("/srv"), Some("mine".into()));
    session.append(user("one")).unwrap();
    session.flush().unwrap();
    assert_eq!((session.info().id.as_str(), &session.info().file), ("mine", &None));
    assert_eq!(texts(&session), ["user:one"]);
    let cases = [
        ("a", true),
        ("a.b-c_9", true),
        ("-a", false),
        ("a.", false),
        ("a/b", false),
        ("", false),
        ("ä", false),
    ];
    for (id, expected) in cases {
        assert_eq!(is_session_id(id), expected, "{id}");
    }
}

#[test]
fn files_of_pi_pass_unchanged() {
    let system =
        json!({"message": {"role": "system", "content": "You are", "sections": [1], "toolsAdded": ["x"]}});
    let answer = json!({"message": {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig", "extra": 1},
            {"type": "text", "text": "hi", "textSignature": "ts"}, {"type": "novel", "x": 1}],
        "api": "some-api", "provider": "p", "model": "m", "responseModel": "m2", "rawStopReason": "end",
        "usage": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 3,
            "cost": {"input": 0.1, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.1}, "more": 1},
        "stopReason": "stop", "diagnostics": {"a": 1}, "timestamp": 5}});
    let lines = [
        HEADER.replace("}", ",\"theirs\":{\"x\":1}}"),
        entry("message", "s", None, system),
        line("a", Some("s"), "one"),
        entry("message", "b", Some("a"), answer),
        entry("usage", "u", Some("b"), json!({"kind": "title", "provider": "p", "model": "m", "usage": {}})),
        entry("session_info", "i", Some("u"), json!({"name": "named"})),
    ];
    let text = format!("{}\n", lines.join("\n"));
    check("pi", text.as_bytes(), &["user:one", "assistant:hi"], 0);
    let folder = Folder::new();
    let path = folder.file(&text);
    // A copy writes every field it found, too.
    let mut copy = Session::copy(&path, Some(folder.path()), None).unwrap();
    copy.append(user("more")).unwrap();
    assert_eq!(copy.info().name.as_deref(), Some("named"));
    let copied = fs::read_to_string(copy.info().file.as_ref().unwrap()).unwrap();
    for line in &lines[1..] {
        assert!(copied.contains(line.as_str()), "{line}");
    }
    let blocks = match &*copy.context().messages[1] {
        Message::Assistant(AssistantMessage { content, .. }) => content.clone(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(&blocks[2], Block::Unknown(_)));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn one_writer_at_a_time() {
    let folder = Folder::new();
    let path = folder.file(format!("{HEADER}\n{}\n", line("a", None, "one")));
    let first = opened_soon(&path);
    match Session::open(&path) {
        Err(SessionError::Locked { owner, .. }) if cfg!(target_os = "linux") => {
            assert_eq!(owner.pid, std::process::id());
        }
        other => assert!(matches!(other, Err(SessionError::Locked { .. }))),
    }
    assert!(Session::copy(&path, None, None).is_ok());
    drop(first);
    assert!(Session::open(&path).is_ok());
    let mut new = Session::begin(Some(folder.path()), Path::new("/srv"), None);
    new.append(user("x")).unwrap();
    assert!(matches!(Session::open(new.info().file.as_ref().unwrap()), Err(SessionError::Locked { .. })));
}

#[test]
fn what_others_append_is_a_branch() {
    use std::io::Write;
    let folder = Folder::new();
    let path = folder.file(format!("{HEADER}\n{}\n", line("a", None, "one")));
    let mut session = opened_soon(&path);
    let mut other = fs::OpenOptions::new().append(true).open(&path).unwrap();
    // Without a line end, torn by a crash of the other one.
    write!(other, "{}", line("b", Some("a"), "theirs")).unwrap();
    session.append(user("ours")).unwrap();
    assert_eq!(texts(&session), ["user:one", "user:ours"]);
    assert!(session.tree().get("b").is_some());
    assert!(session.go_to(Some("b")) && !session.go_to(Some("zz")));
    assert_eq!(texts(&session), ["user:one", "user:theirs"]);
    drop(session);
    let session = opened_soon(&path);
    assert_eq!((texts(&session), session.skipped_lines()), (vec!["user:one".into(), "user:ours".into()], 0));
}

#[test]
fn a_file_removed_while_it_is_open_is_written_again() {
    let folder = Folder::new();
    let path = folder.file(format!("{HEADER}\n{}\n", line("a", None, "one")));
    let mut session = opened_soon(&path);
    fs::remove_file(&path).unwrap();
    session.append(user("two")).unwrap();
    drop(session);
    assert_eq!(texts(&opened_soon(&path)), ["user:one", "user:two"]);
}

#[test]
fn what_could_not_be_written_is_tried_again() {
    let folder = Folder::new();
    let dir = folder.path().join("taken");
    fs::write(&dir, "a file where the folder should be").unwrap();
    let mut session = Session::begin(Some(&dir), Path::new("/srv"), None);
    assert!(matches!(session.append(user("one")), Err(SessionError::Io { .. })));
    assert_eq!(texts(&session), ["user:one"], "it is in memory");
    fs::remove_file(&dir).unwrap();
    session.append(assistant("two")).unwrap();
    let path = session.info().file.clone().unwrap();
    drop(session);
    assert_eq!(texts(&opened_soon(&path)), ["user:one", "assistant:two"]);
}

/// A full disk: the file size limit is set below the written size, in a separate process.
#[test]
fn a_full_disk_loses_nothing() {
    let folder = Folder::new();
    let program = std::env::current_exe().unwrap();
    let script =
        r#"trap '' XFSZ; ulimit -S -f 4; exec "$0" --exact session_writing::full_disk_child --ignored"#;
    let output = std::process::Command::new("bash")
        .args(["-c", script])
        .arg(program)
        .env("TAU_TEST_FOLDER", folder.path())
        .output_in_time();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let path = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let session = opened_soon(&path);
    assert_eq!(session.skipped_lines(), 0);
    let texts = texts(&session);
    let long = format!("user:{}", "x".repeat(3000));
    assert_eq!(texts, ["user:one", &long, &long, "user:after"].map(str::to_owned));
}

#[test]
#[ignore = "run by a_full_disk_loses_nothing"]
fn full_disk_child() {
    let folder = PathBuf::from(std::env::var_os("TAU_TEST_FOLDER").unwrap());
    let mut session = Session::begin(Some(&folder), Path::new("/srv"), None);
    session.append(user("one")).unwrap();
    session.append(user(&"x".repeat(3000))).unwrap();
    let before = fs::read(session.info().file.as_ref().unwrap()).unwrap();
    assert!(session.append(user(&"x".repeat(3000))).is_err());
    let after = fs::read(session.info().file.as_ref().unwrap()).unwrap();
    assert_eq!(before, after, "half a line was taken back");
    assert!(session.flush().is_err());
    assert_eq!(session.context().messages.len(), 3);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize);
    let wide = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, wide).unwrap();
    session.append(user("after")).unwrap();
    session.flush().unwrap();
}

#[test]
fn the_context_names_model_and_level() {
    let folder = Folder::new();
    let mut session = Session::begin(Some(folder.path()), Path::new("/srv"), None);
    session.set_model("a", "x").unwrap();
    session.append(user("one")).unwrap();
    session.append(assistant("two")).unwrap();
    assert_eq!(session.context().model, Some(("local".into(), "m1".into())), "the last answer");
    session.set_model("a", "x").unwrap();
    assert_eq!(session.context().model, Some(("a".into(), "x".into())));
    let level = Body::ThinkingLevelChange { thinking_level: "turbo".into() };
    session.append_body(level).unwrap();
    assert_eq!(session.context().thinking, None, "a word of another program");
    session.set_name("x").unwrap();
    session.set_name("").unwrap();
    assert_eq!(session.info().name, None);
    let path = session.info().file.clone().unwrap();
    drop(session);
    assert_eq!(opened_soon(&path).info().name, None);
}

#[test]
fn lists_show_the_newest_first() {
    let folder = Folder::new();
    let root = folder.path();
    let here = Path::new("/srv/web");
    let write = |dir: &str, name: &str, age: u64, text: &str| {
        let dir = root.join(dir);
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(name);
        fs::write(&path, text).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_800_000_000 - age);
        fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    };
    let header =
        |id: &str, cwd: &str| HEADER.replace("\"s1\"", &format!("\"{id}\"")).replace("/srv/web", cwd);
    let answer = |id: &str| {
        let time = "2026-03-04T00:00:00.000Z";
        json!({"type": "message", "id": id, "parentId": null, "timestamp": time,
            "message": {"content": [], "stopReason": "stop", "role": "assistant"}})
    };
    let tool = entry("message", "t", None, json!({"message": {"role": "toolResult", "content": []}}));
    let name = |name: &str| entry("session_info", "n", None, json!({"name": name}));
    let old = [
        header("old", "/srv/web"),
        line("a", None, " \nfirst\nsecond"),
        line("b", None, "x"),
        answer("c").to_string(),
        tool,
    ];
    let old = write("--srv-web--", "old.jsonl", 100, &old.join("\n"));
    let new = [
        header("new", "/srv/web"),
        name("one"),
        "broken".into(),
        name("two"),
        line("a", None, &"é".repeat(300)),
    ];
    let new = write("--srv-web--", "new.jsonl", 50, &format!("\u{feff}{}\r\n", new.join("\r\n")));
    write("--srv-web--", "twin.jsonl", 10, &header("twin", "/srv-web"));
    write("--tmp--", "tmp.jsonl", 70, &header("tmp", "/tmp"));
    write("--srv-web--", "broken.jsonl", 1, "what");
    write("--srv-web--", "empty.jsonl", 1, "");
    write("--srv-web--", "notes.txt", 1, "x");
    let pipe = root.join("--srv-web--/pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status_in_time().success());

    let rows = |cwd: Option<&Path>| {
        let mut rows = Vec::new();
        list::list(root, cwd, &mut |row| {
            rows.push(row);
            true
        });
        rows
    };
    let ids = |rows: &[tau::agent::protocol::session_row::SessionRow]| {
        rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&rows(None)), ["twin", "new", "tmp", "old"]);
    let mine = rows(Some(here));
    assert_eq!(ids(&mine), ["new", "old"]);
    assert_eq!(mine[0].name.as_deref(), Some("two"));
    assert_eq!(mine[0].first_prompt, "é".repeat(200));
    assert_eq!((mine[1].messages, mine[1].first_prompt.as_str()), (3, "first"));
    assert_eq!(mine[1].created, 1_767_323_045_678);
    assert_eq!(mine[1].modified, 1_772_582_400_000, "the time of the answer");
    assert_eq!((&mine[1].path, mine[1].size), (&old, fs::metadata(&old).unwrap().len()));
    assert_eq!(list::newest(root, here, true), Some(new.clone()));
    assert_eq!(list::newest(root, Path::new("/nowhere"), true), None);
    assert_eq!(list::newest(&root.join("--srv-web--"), here, true), Some(new.clone()), "a folder of files");
    let mut first = Vec::new();
    list::list(root, None, &mut |row| {
        first.push(row.id);
        false
    });
    assert_eq!(first, ["twin"]);
    assert_eq!(list::with_id(root, "ne"), [new]);
    assert_eq!(list::with_id(root, "t").len(), 2);
}

#[test]
fn a_file_that_was_cut_short_is_not_continued() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::begin(Some(folder.path()), Path::new("/srv"), None);
    session.append(user("one")).unwrap();
    let path = session.info().file.clone().unwrap();
    let whole = fs::read(&path).unwrap();
    for kept in [0, 10] {
        fs::write(&path, &whole[..kept]).unwrap();
        let error = session.append(user("two")).unwrap_err().to_string();
        assert!(error.contains("another program has removed a part of the file"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), whole[..kept]);
        assert!(session.has_unsaved());
    }
    fs::write(&path, &whole).unwrap();
    session.append(user("three")).unwrap();
    drop(session);
    assert_eq!(crate::support::session_files::texts(&Session::open(&path).unwrap()).len(), 4);
}
