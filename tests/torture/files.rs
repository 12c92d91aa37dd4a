//! Files that are large, endless, odd, unreadable, in other encodings, or changed meanwhile.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use serde_json::json;

use super::{Rack, alone, bounded};
use crate::time_limit::RunInTime;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_gigabyte_is_read_searched_and_refused_in_little_memory() {
    bounded("torture::files::a_gigabyte_is_read_searched_and_refused_in_little_memory", 40_000, async {
        let mut rack = Rack::new();
        let mut file = File::create(rack.path("large")).unwrap();
        file.write_all("a line of the beginning\n".repeat(1_000).as_bytes()).unwrap();
        // Unoptimised, a search of the whole gigabyte takes half a minute.
        file.set_len(if super::full() { 1 << 30 } else { 1 << 27 }).unwrap();
        drop(file);
        let text = rack.fine("read", json!({"path": "large", "limit": 100}), SECOND).await;
        assert_eq!(text.lines().filter(|line| line.ends_with("  a line of the beginning")).count(), 100);
        let text = rack.fine("read", json!({"path": "large"}), SECOND * 40).await;
        assert!(text.len() < 300_000, "{}", text.len());
        let args = json!({"path": "large", "old_string": "no such text", "new_string": "x"});
        rack.refused("edit", args, "MB").await;
        let text = rack.fine("grep", json!({"path": "large", "pattern": "beginning"}), SECOND * 10).await;
        assert!(text.starts_with("[large: binary file with a match"), "{text:.200}");
        // In a folder a binary file is skipped at its first NUL.
        let text = rack.fine("grep", json!({"pattern": "beginning"}), SECOND).await;
        assert!(text.starts_with("no matches for beginning in ."), "{text:.200}");
        let args = json!({"path": "large", "pattern": "absent"});
        rack.fine("grep", args, SECOND * 30).await;
        let text = rack.fine("bash", json!({"command": "cat large"}), SECOND * 60).await;
        assert!(text.len() < 52 * 1024);
    });
}

#[tokio::test]
async fn what_is_no_file_is_refused_at_once() {
    let mut rack = Rack::new();
    rustix::fs::mknodat(rustix::fs::CWD, rack.path("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(rack.path("socket")).unwrap();
    fs::create_dir(rack.path("folder")).unwrap();
    let kinds = [
        ("/dev/zero", "a character device"),
        ("/dev/full", "a character device"),
        ("fifo", "a FIFO"),
        ("socket", "a socket"),
        ("folder", "a directory"),
    ];
    for (path, kind) in kinds {
        rack.refused("read", json!({"path": path}), kind).await;
        rack.refused("edit", json!({"path": path, "old_string": "a", "new_string": "b"}), kind).await;
        rack.refused("write", json!({"path": path, "content": "b"}), kind).await;
        if path != "folder" {
            rack.refused("grep", json!({"path": path, "pattern": "a"}), kind).await;
        }
    }
    for (tool, args) in
        [("grep", json!({"pattern": "absent"})), ("find", json!({"pattern": "*"})), ("ls", json!({}))]
    {
        rack.fine(tool, args, SECOND).await;
    }
    let answer = rack.call("bash", json!({"command": "cat fifo", "timeout": 1})).await;
    assert!(answer.failed && answer.text.contains("timed out after 1 s"), "{answer:?}");
}

#[tokio::test]
async fn loops_of_links_end() {
    let mut rack = Rack::new();
    symlink("b", rack.path("a")).unwrap();
    symlink("a", rack.path("b")).unwrap();
    fs::create_dir(rack.path("d")).unwrap();
    symlink("..", rack.path("d/up")).unwrap();
    symlink(".", rack.path("d/self")).unwrap();
    rack.put("d/f", "needle\n");
    let words = "its symbolic links form a loop";
    rack.refused("read", json!({"path": "a"}), words).await;
    rack.refused("edit", json!({"path": "a", "old_string": "x", "new_string": "y"}), words).await;
    rack.refused("write", json!({"path": "a", "content": "y"}), "").await;
    rack.refused("grep", json!({"path": "b", "pattern": "x"}), words).await;
    rack.refused("read", json!({"path": "a/f"}), "").await;
    assert_eq!(rack.fine("grep", json!({"pattern": "needle"}), SECOND).await, "d/f:1:needle\n");
    assert_eq!(rack.fine("find", json!({"pattern": "f"}), SECOND).await, "d/f\n");
    let args = json!({"path": "d/self/self/f", "old_string": "needle", "new_string": "pin"});
    rack.fine("edit", args, SECOND).await;
    assert_eq!(rack.bytes("d/f"), b"pin\n");
    assert!(fs::symlink_metadata(rack.path("a")).unwrap().is_symlink(), "the link is as it was");
}

#[tokio::test]
async fn read_only_files_stay_as_they_are() {
    let mut rack = Rack::new();
    rack.put("f", "old\n");
    fs::set_permissions(rack.path("f"), fs::Permissions::from_mode(0o444)).unwrap();
    rack.refused("edit", json!({"path": "f", "old_string": "old", "new_string": "new"}), "read-only").await;
    rack.refused("write", json!({"path": "f", "content": "new"}), "read-only").await;
    assert_eq!(rack.bytes("f"), b"old\n");
}

#[test]
fn what_may_not_be_read_or_written_is_said() {
    let name = "torture::files::what_may_not_be_read_or_written_is_said";
    // For root nothing is unreadable.
    let root = rustix::process::geteuid().is_root();
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    match alone(name, if root { &nobody } else { &[] }) {
        Some(true) if !root => {}
        Some(_) => return,
        None => return println!("notice: {name} skipped: it is run by root, who may do anything"),
    }
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut rack = Rack::new();
        rack.put("secret", "needle\n");
        fs::create_dir(rack.path("closed")).unwrap();
        rack.put("closed/f", "needle\n");
        fs::create_dir(rack.path("fixed")).unwrap();
        rack.put("fixed/f", "old\n");
        let mode = |path: &str, mode| {
            fs::set_permissions(rack.path(path), fs::Permissions::from_mode(mode)).unwrap();
        };
        mode("secret", 0o000);
        mode("closed", 0o000);
        mode("fixed", 0o555);
        rack.refused("read", json!({"path": "secret"}), "permission denied").await;
        rack.refused("edit", json!({"path": "secret", "old_string": "n", "new_string": "m"}), "permission")
            .await;
        rack.refused("read", json!({"path": "closed/f"}), "permission denied").await;
        rack.refused("ls", json!({"path": "closed"}), "permission denied").await;
        rack.refused("write", json!({"path": "fixed/new", "content": "x"}), "permission denied").await;
        let text = rack.fine("grep", json!({"pattern": "needle"}), SECOND).await;
        assert!(text.contains("[skipped: closed: permission denied; secret: permission denied]"), "{text}");
        let text = rack.fine("find", json!({"pattern": "*"}), SECOND).await;
        assert!(
            text.contains("fixed/f\n") && text.contains("[skipped: closed: permission denied]"),
            "{text}"
        );
        // The folder accepts no new file, so the file is changed in place.
        rack.fine("edit", json!({"path": "fixed/f", "old_string": "old", "new_string": "new"}), SECOND).await;
        assert_eq!(rack.bytes("fixed/f"), b"new\n");
        for path in ["closed", "fixed"] {
            fs::set_permissions(rack.path(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert_eq!(crate::support::tool_bench::names(&rack.path("fixed")), ["f"]);
    });
}

#[tokio::test]
async fn names_and_content_that_are_no_utf8_are_shown_and_kept() {
    let mut rack = Rack::new();
    let odd = rack.path("").join(std::ffi::OsStr::from_bytes(b"odd\xff.txt"));
    fs::write(&odd, "needle\n").unwrap();
    assert!(rack.fine("ls", json!({}), SECOND).await.starts_with("$'odd\\xff.txt'\n["));
    assert!(rack.fine("find", json!({"pattern": "odd*"}), SECOND).await.starts_with("$'odd\\xff.txt'\n["));
    let text = rack.fine("grep", json!({"pattern": "needle"}), SECOND).await;
    assert!(text.starts_with("$'odd\\xff.txt':1:needle\n["), "{text}");
    assert!(rack.fine("bash", json!({"command": "cat odd*"}), SECOND).await.starts_with("needle\n"));
    rack.put("mixed", b"caf\xc3\xa9 one\ncaf\xe9 two\nplain\n");
    rack.fine("read", json!({"path": "mixed"}), SECOND).await;
    rack.fine("edit", json!({"path": "mixed", "old_string": "plain", "new_string": "fancy"}), SECOND).await;
    assert_eq!(rack.bytes("mixed"), b"caf\xc3\xa9 one\ncaf\xe9 two\nfancy\n");
}

#[tokio::test]
async fn an_edit_leaves_what_it_does_not_change() {
    let cases: &[(&[u8], &str, &str, &[u8])] = &[
        (b"a\r\nb\r\nc\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", "c", "x", b"a\r\nb\nx\r\n"),
        (b"a\rb\rc", "b", "x", b"a\rx\rc"),
        (b"\xEF\xBB\xBFa\nb", "a", "x", b"\xEF\xBB\xBFx\nb"),
        (b"a\nb", "b", "x", b"a\nx"),
        (b"a\r\nb  \r\nc", "a\nb\nc", "a\nx\nc", b"a\r\nx\r\nc"),
    ];
    for (before, old, new, after) in cases {
        let mut rack = Rack::new();
        rack.put("f", before);
        rack.fine("read", json!({"path": "f"}), SECOND).await;
        rack.fine("edit", json!({"path": "f", "old_string": old, "new_string": new}), SECOND).await;
        assert_eq!(rack.bytes("f"), *after, "{before:?}");
    }
}

#[tokio::test]
async fn a_hundred_thousand_lines_are_edited() {
    let mut rack = Rack::new();
    rack.fine("bash", json!({"command": "seq 100000 > f"}), SECOND * 5).await;
    let most = SECOND * if cfg!(debug_assertions) { 30 } else { 1 };
    rack.fine("edit", json!({"path": "f", "old_string": "\n50000\n", "new_string": "\nhalf\n"}), most).await;
    let edits: Vec<_> =
        (0..200).map(|n| json!({"old_string": format!("\n{}7\n", 200 + n), "new_string": "\nx\n"})).collect();
    rack.fine("edit", json!({"path": "f", "edits": edits}), most).await;
    rack.fine(
        "edit",
        json!({"path": "f", "old_string": "99", "new_string": "nn", "replace_all": true}),
        most,
    )
    .await;
    let expected: String = (1..=100_000)
        .map(|n| match n {
            50_000 => "half\n".into(),
            n if n % 10 == 7 && (200..400).contains(&(n / 10)) => "x\n".into(),
            n => format!("{n}\n").replace("99", "nn"),
        })
        .collect();
    assert!(rack.bytes("f") == expected.as_bytes());
}

#[tokio::test]
async fn a_file_changed_in_between_is_not_touched() {
    let mut rack = Rack::new();
    rack.put("f", "one\ntwo\n");
    rack.fine("read", json!({"path": "f"}), SECOND).await;
    rack.fine("bash", json!({"command": "echo three >> f"}), SECOND).await;
    let edit = json!({"path": "f", "old_string": "two", "new_string": "2"});
    rack.refused("edit", edit.clone(), "+three").await;
    assert_eq!(rack.bytes("f"), b"one\ntwo\nthree\n");
    rack.fine("bash", json!({"command": "echo four >> f"}), SECOND).await;
    rack.refused("write", json!({"path": "f", "content": "x"}), "+four").await;
    assert_eq!(rack.bytes("f"), b"one\ntwo\nthree\nfour\n");
    rack.fine("read", json!({"path": "f"}), SECOND).await;
    rack.fine("edit", edit, SECOND).await;
    rack.fine("write", json!({"path": "f", "content": "all new\n"}), SECOND).await;
    assert_eq!(rack.bytes("f"), b"all new\n");
    // Calls on one file in one answer run one after the other.
    let calls = ["all", "new"]
        .map(|word| ("edit", json!({"path": "f", "old_string": word, "new_string": word.to_uppercase()})));
    rack.begin(&calls).await;
    assert!(rack.end().await.iter().all(|answer| !answer.failed));
    assert_eq!(rack.bytes("f"), b"ALL NEW\n");
}

#[test]
fn a_full_disk_leaves_the_old_bytes() {
    let name = "torture::files::a_full_disk_leaves_the_old_bytes";
    match alone(name, &["unshare", "--mount", "--map-root-user"])
        .or_else(|| alone(name, &["unshare", "--mount"]))
    {
        Some(true) => {}
        Some(false) => return,
        None => return println!("notice: {name} skipped: a small disk cannot be mounted here"),
    }
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut rack = Rack::new();
        fs::create_dir(rack.path("disk")).unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=128k", "tmpfs"]).arg(rack.path("disk"));
        if !mount.status_in_time().success() {
            return println!("notice: {name} skipped: a small disk cannot be mounted here");
        }
        let old = "a line of the old file\n".repeat(3_000);
        rack.put("disk/f", &old);
        let large = "x".repeat(100_000);
        for (tool, args) in [
            ("write", json!({"path": "disk/f", "content": large})),
            ("write", json!({"path": "disk/new/deep", "content": large})),
            (
                "edit",
                json!({"path": "disk/f", "old_string": "old", "new_string": "very old", "replace_all": true}),
            ),
        ] {
            rack.refused(tool, args, "no space left on the device").await;
            assert!(rack.bytes("disk/f") == old.as_bytes());
        }
        let left = crate::support::tool_bench::names(&rack.path("disk"));
        assert!(left == ["f"] || left == ["f", "new"], "{left:?}");
        rack.refused("bash", json!({"command": "head -c 200000 /dev/zero > disk/g"}), "No space left").await;
        fs::remove_file(rack.path("disk/g")).ok();
        rack.fine("write", json!({"path": "disk/small", "content": "it fits\n"}), SECOND).await;
        std::process::Command::new("umount").arg(rack.path("disk")).status_in_time();
        println!("figure: {name}: a small disk was mounted");
    });
}
