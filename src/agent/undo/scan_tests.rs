//! Tests of the scan, on trees created for them.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn scan(root: &Path) -> Snapshot {
    Scanner::new(root, None).scan(None).unwrap()
}

fn names(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| String::from_utf8_lossy(&entry.path).into_owned()).collect()
}

#[test]
fn everything_is_found_but_what_rules_leave_out() {
    let folder = tree(&[
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        ("a/b/c.rs", ""),
        ("a/.gitignore", "c.tmp\n"),
        ("a/c.tmp", ""),
        ("a/x.log", ""),
        ("a/keep.log", ""),
        ("target/debug/x", ""),
        (".git/config", ""),
        (".hidden", ""),
    ]);
    fs::create_dir(folder.path().join("empty")).unwrap();
    symlink("a/b", folder.path().join("link")).unwrap();
    let snapshot = scan(folder.path());
    let expected =
        [".gitignore", ".hidden", "a", "a/.gitignore", "a/b", "a/b/c.rs", "a/keep.log", "empty", "link"];
    assert_eq!(names(&snapshot.entries), expected);
    assert_eq!(names(&snapshot.ignored), ["a/c.tmp", "a/x.log", "target"]);
    assert_eq!(snapshot.get(b"link").unwrap().target.as_deref(), Some(&b"a/b"[..]));
    assert_eq!(snapshot.incomplete, None);
}

#[test]
fn two_scans_differ_in_what_changed() {
    let folder = tree(&[("same", "1"), ("text", "1"), ("mode", "1"), ("gone", "1"), ("dir/moved", "1")]);
    // Long enough ago for the clock of the file system to have advanced.
    std::thread::sleep(Duration::from_millis(40));
    let before = scan(folder.path());
    let at = |name: &str| folder.path().join(name);
    fs::write(at("text"), "2").unwrap();
    fs::set_permissions(at("mode"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::remove_file(at("gone")).unwrap();
    fs::rename(at("dir"), at("other")).unwrap();
    fs::write(at("new"), "").unwrap();
    let after = scan(folder.path());
    let differences = differences(folder.path(), &before, &after);
    let found: Vec<String> = differences
        .iter()
        .map(|difference| {
            let name = |entry: Option<&Entry>| {
                entry.map_or(String::new(), |entry| names(std::slice::from_ref(entry)).concat())
            };
            format!("{} {}", name(difference.before), name(difference.after))
        })
        .collect();
    let expected =
        ["dir ", "dir/moved ", "gone ", "mode mode", " new", " other", " other/moved", "text text"];
    assert_eq!(found, expected);
}

#[test]
fn other_rules_alone_change_no_file() {
    let folder = tree(&[("a.log", ""), ("b.txt", ""), ("d/e.txt", ""), (".gitignore", "*.log\n")]);
    std::thread::sleep(Duration::from_millis(40));
    let before = scan(folder.path());
    fs::write(folder.path().join(".gitignore"), "*.txt\n").unwrap();
    fs::write(folder.path().join("new.log"), "").unwrap();
    let after = scan(folder.path());
    let differences = differences(folder.path(), &before, &after);
    let found: Vec<&[u8]> =
        differences.iter().filter_map(|difference| difference.after).map(|entry| &*entry.path).collect();
    assert_eq!(found, [&b".gitignore"[..], b"new.log"]);
    assert_eq!(differences.len(), 2, "nothing was removed");
}

#[test]
fn what_rules_left_out_is_not_new_when_they_no_longer_do() {
    let folder =
        tree(&[("out/in", "1"), ("out/changed", "1"), ("a.log", "1"), (".gitignore", "out\n*.log\n")]);
    // The clock of the file system has not advanced, so that all of it looks as if the call had created it.
    let before = scan(folder.path());
    fs::write(folder.path().join("out/changed"), "2").unwrap();
    fs::write(folder.path().join(".gitignore"), "").unwrap();
    fs::write(folder.path().join("new"), "").unwrap();
    let after = scan(folder.path());
    assert_eq!(names(&after.entries), [".gitignore", "a.log", "new", "out", "out/changed", "out/in"]);
    let found: Vec<&[u8]> = differences(folder.path(), &before, &after)
        .iter()
        .filter_map(|difference| difference.after)
        .map(|entry| &*entry.path)
        .collect();
    assert_eq!(found, [&b".gitignore"[..], b"new"]);
}

#[test]
fn a_file_that_has_just_changed_is_looked_at_again() {
    let folder = tree(&[("a", "1")]);
    let before = scan(folder.path());
    assert!(before.is_fresh(before.get(b"a").unwrap()));
    assert_eq!(differences(folder.path(), &before, &before).len(), 1);
}

#[test]
fn what_could_not_be_read_is_not_new_when_it_can_be() {
    let folder = tree(&[("open/a", "1"), ("shut/mine", "1"), ("shut/b/mine", "1"), ("c", "1")]);
    let mut before = scan(folder.path());
    before.entries.retain(|entry| !entry.path.starts_with(b"shut/") && !entry.path.starts_with(b"c"));
    before.skipped = vec![(*b"shut/").into(), (*b"c").into()];
    fs::rename(folder.path().join("shut"), folder.path().join("renamed")).unwrap();
    fs::create_dir(folder.path().join("shut")).unwrap();
    fs::write(folder.path().join("shut/mine"), "1").unwrap();
    fs::write(folder.path().join("shut-up"), "").unwrap();
    fs::write(folder.path().join("open/new"), "").unwrap();
    let after = scan(folder.path());
    let differences = differences(folder.path(), &before, &after);
    let found: Vec<&[u8]> = differences
        .iter()
        .filter(|found| found.before.is_none())
        .filter_map(|found| found.after)
        .map(|new| &*new.path)
        .collect();
    // Moved entries are recognised later, by their creation time.
    let moved = [&b"renamed"[..], b"renamed/b", b"renamed/b/mine", b"renamed/mine"];
    assert_eq!(found, [&[&b"open/new"[..]], &moved[..], &[b"shut-up"]].concat());
    // The workspace itself.
    before.skipped = vec![Box::default()];
    before.entries.clear();
    assert!(super::differences(folder.path(), &before, &after).is_empty());
}

#[test]
fn new_files_are_new_where_the_clock_of_the_file_system_is_behind() {
    let outside = tree(&[("old", "1")]);
    let folder = tree(&[("a", "1")]);
    std::thread::sleep(Duration::from_millis(100));
    let mut before = scan(folder.path());
    fs::rename(outside.path().join("old"), folder.path().join("old")).unwrap();
    fs::create_dir(folder.path().join("d")).unwrap();
    fs::write(folder.path().join("d/new"), "").unwrap();
    let after = scan(folder.path());
    let moved = |before: &Snapshot| {
        let is_moved = |entry: &&Entry| is_moved_in(folder.path(), before, &after, entry);
        let added = after.entries.iter().filter(|entry| before.get(&entry.path).is_none());
        added.filter(is_moved).map(|entry| entry.path.clone()).collect::<Vec<_>>()
    };
    if folder.path().metadata().unwrap().created().is_err() {
        return println!("skipped: this file system does not say when a file was created");
    }
    assert_eq!(moved(&before), [(*b"old").into()]);
    before.started += 3_600_000_000_000;
    assert_eq!(moved(&before), [(*b"old").into()], "an hour behind");
}
