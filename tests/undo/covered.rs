//! The origin of contents, uncovered changes, retention, and what survives the end of tau.

use std::fs;

use tau::agent::protocol::undo::ConflictChoice;
use tau::agent::undo::{SessionUndo, UndoOptions};
use tau::tools::access::Access;

use super::{Work, open};
use crate::sandbox::has_program;
use crate::time_limit::RunInTime;

#[test]
fn what_git_has_is_not_copied() {
    needs!(has_program("git"));
    let mut work = Work::new();
    for n in 0..50 {
        work.write(&format!("src/f{n}"), format!("text {n}\n").repeat(1000));
    }
    work.write("dirty", "committed");
    work.user("sleep 0.05; git init -q .; git add .; git commit -qm one");
    work.write("dirty", "not committed");
    work.write("untracked", "untracked");
    let before = work.state();
    work.run("sed -i s/text/TEXT/ src/f1 src/f2; echo x >>dirty; rm untracked src/f3");
    let contents = fs::read_dir(work.kept().join("session/content")).unwrap().count();
    assert!(contents < 15, "{contents} contents are kept");
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.state(), before);
}

#[test]
fn what_git_converts_is_copied() {
    needs!(has_program("git"));
    let mut work = Work::new();
    work.write(".gitattributes", "*.txt text eol=crlf\n");
    work.write("a.txt", "one\r\ntwo\r\n");
    work.user("git init -q .; git add .; git commit -qm one; sleep 0.05; git status >/dev/null");
    work.run("sed -i s/one/three/ a.txt");
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.text("a.txt"), "one\r\ntwo\r\n");
}

/// A filter that keeps the size of a file.
#[test]
fn what_a_filter_of_git_changes_is_copied() {
    needs!(has_program("git"));
    let mut work = Work::new();
    for (attributes, file) in [("sub/.gitattributes", "sub/a.r"), (".gitattributes", "a.r")] {
        work.write(attributes, "*.r filter=r\n");
        work.write(file, "abcdef\n");
    }
    work.write("sub/b.txt", "plain\n");
    work.user(
        "git init -q .; git config filter.r.clean rev; git config filter.r.smudge rev; git add .; git commit -qm one; \
         sleep 0.05; git status >/dev/null; test \"$(git show :a.r)\" = fedcba",
    );
    let before = work.state();
    work.run("rm a.r sub/a.r sub/b.txt");
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.state(), before);
}

#[test]
fn moving_between_branches_is_undone() {
    needs!(has_program("git"));
    let mut work = Work::new();
    work.write("a", "one");
    work.user("git init -q .; git checkout -q -b trunk; git add .; git commit -qm one");
    work.user("git checkout -q -b other; echo two >a; echo b >b; git add .; git commit -qm two; git checkout -q trunk");
    let before = work.state();
    work.run("git checkout -q other");
    assert_eq!(work.text("b"), "b\n");
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.state(), before);
}

#[test]
fn what_is_not_covered_is_named() {
    let mut work = Work::new();
    work.write(".gitignore", "build/\n.env\n");
    work.write("build/x", "1");
    work.write(".env", "KEY=1");
    work.write("large", vec![b'x'; 11 * 1024 * 1024]);
    work.run("echo >build/y; echo KEY=2 >.env; echo more >>large; echo >small");
    let expected = [
        (".env", "ignored by .gitignore"),
        ("build", "ignored by .gitignore"),
        ("large", "too large (11 MB)"),
    ]
    .map(|(path, why)| (path.to_owned(), why.to_owned()));
    assert_eq!(work.lost(), expected);
    assert_eq!(work.plan("one").not_covered.len(), 3);
    assert_eq!(work.undo.take_notices(), ["not covered by /undo: large (too large (11 MB))"]);
    work.back("one", ConflictChoice::Keep);
    assert!(!work.at("small").exists() && work.text(".env") == "KEY=2\n");
    // A file named by a tool is kept, ignored or not.
    work.edit(".env", "KEY=3");
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.text(".env"), "KEY=2\n");
}

#[test]
fn reading_changes_and_keeps_nothing() {
    let mut work = Work::new();
    work.write("a", "1");
    work.begin(&Access::read(work.at("a")));
    work.undo.end(false);
    assert!(!work.kept().exists());
}

#[test]
fn a_command_that_changes_nothing_is_no_change() {
    let mut work = Work::new();
    work.write("a", "1");
    work.run("touch a; cat a >/dev/null; cp a b; rm b");
    assert!(work.undo.changes().files.is_empty());
}

#[test]
fn a_call_that_was_cut_off_can_be_undone() {
    let mut work = Work::new();
    work.write("a", "old");
    work.begin(&Access::change(work.at("a")));
    work.write("a", "half of the n");
    // tau is killed here: nothing more is written.
    std::mem::forget(std::mem::replace(&mut work.undo, open(work.folder.path(), 0, "none")));
    // The lock of the killed tau would be gone with it.
    let folder = work.kept().join("session");
    let lock = folder.join("lock");
    fs::remove_file(&lock).unwrap();
    work.reopen();
    assert_eq!(work.undo.changes().files.len(), 1);
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.text("a"), "old");
}

#[test]
fn a_command_that_was_cut_off_is_not_covered() {
    let mut work = Work::new();
    work.write("a", "old");
    work.begin(&Access::command("x"));
    std::mem::forget(std::mem::replace(&mut work.undo, open(work.folder.path(), 0, "none")));
    fs::remove_file(work.kept().join("session/lock")).unwrap();
    work.reopen();
    let lost = work.lost();
    assert!(lost[0].1.starts_with("tau ended while the command ran"), "{lost:?}");
}

#[test]
fn the_directory_itself_is_removed_and_comes_back() {
    let mut work = Work::new();
    work.write("a", "1");
    work.write("d/b", "2");
    let before = work.state();
    work.run("rm -r ../work");
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.state(), before);
    // Content that reappears during a command was not made by it.
    work.run("mv ../work ../away");
    let run = |command: &str| std::process::Command::new("sh").args(["-c", command]).status_in_time();
    work.begin(&Access::command("x"));
    assert!(run(&format!("mv {0}/../away {0}", work.at("").display()).replace("/work//../", "/")).success());
    work.undo.end(false);
    work.back("one", ConflictChoice::Old);
    assert_eq!(work.state(), before);
}

#[test]
fn a_content_without_its_line_and_a_line_without_its_content_harm_nothing() {
    let mut work = Work::new();
    work.write("a", "old a");
    work.write("b", "old b");
    work.edit("a", "new a");
    work.edit("b", "new b");
    let content = work.kept().join("session/content");
    fs::write(content.join("0".repeat(64)), "never named").unwrap();
    for entry in fs::read_dir(&content).unwrap().flatten() {
        if fs::read(entry.path()).unwrap() == b"old a" {
            fs::write(entry.path(), "damaged").unwrap();
        }
    }
    work.reopen();
    let report = work.back("one", ConflictChoice::Keep);
    assert_eq!((work.text("a"), work.text("b")), ("new a".into(), "old b".into()));
    assert_eq!(report.failed[0].path, "a");
    assert!(!content.join("0".repeat(64)).exists(), "what no line names is removed");
}

#[test]
fn the_oldest_is_dropped_when_there_is_too_much() {
    let big = |byte: u8| vec![byte; 3 * 1024 * 1024];
    let mut work = Work::with_quota(20 * 1024 * 1024);
    let mut older = open(work.folder.path(), 20 * 1024 * 1024, "older");
    work.write("a", big(0));
    older.begin(tau::agent::undo::CallStart::default(), &Access::change(work.at("a")));
    work.write("a", big(1));
    older.end(false);
    drop(older);
    assert!(work.kept().join("older").exists());
    for n in 2..12 {
        work.prompt(&n.to_string());
        work.begin(&Access::change(work.at("a")));
        work.write("a", big(n));
        work.undo.end(false);
    }
    assert!(!work.kept().join("older").exists());
    let notices = work.undo.take_notices().join("\n");
    assert!(notices.contains("1 older session") && notices.contains("to keep 20 MB"), "{notices}");
    assert!(notices.contains("the first change of this session"), "{notices}");
    let report = work.back("11", ConflictChoice::Keep);
    assert_eq!(report.restored, ["a"]);
    let plan = work.plan("one");
    assert!(plan.not_covered.iter().any(|lost| lost.reason.contains("quota")), "{plan:?}");
    assert!(plan.files.is_empty());
}

#[test]
fn nothing_is_kept_without_a_quota() {
    let mut work = Work::with_quota(0);
    work.write("a", "1");
    work.edit("a", "2");
    work.run("echo 3 >a");
    assert!(!work.kept().exists());
    assert!(work.undo.changes().files.is_empty());
}

#[test]
fn a_session_that_another_tau_has_open_is_left_alone() {
    let mut work = Work::new();
    work.edit("a", "1");
    let mut other = open(work.folder.path(), 1 << 30, "session");
    other.begin(tau::agent::undo::CallStart::default(), &Access::change(work.at("b")));
    assert!(other.take_notices()[0].contains("another tau"));
    assert_eq!(other.changes().files.len(), 1, "it can be read");
}

/// A path that is too long cannot be opened even by root.
#[test]
fn files_that_could_not_be_seen_before_a_command_stay() {
    let mut work = Work::new();
    work.user(
        "n=$(printf 'd%.0s' {1..250}); for i in {1..17}; do mkdir $n; cd $n; done; echo mine >f; sleep 0.06",
    );
    work.run("mv d* a; echo new >b");
    let find = |work: &Work| {
        let mut path = work.at("a");
        while let Some(Ok(entry)) = fs::read_dir(&path).unwrap().next() {
            path = entry.path();
            if path.is_file() {
                return Some(path);
            }
        }
        None
    };
    assert!(find(&work).is_some());
    work.back("one", ConflictChoice::Old);
    assert!(!work.at("b").exists());
    assert_eq!(fs::read_to_string(find(&work).unwrap()).unwrap(), "mine\n");
}

#[test]
fn files_of_the_user_in_a_closed_directory_stay() {
    if rustix::process::geteuid().is_root() {
        return println!("skipped: root can read every directory");
    }
    for mode in ["000", "444", "111"] {
        let mut work = Work::new();
        work.user(&format!(
            "mkdir -p secret/sub; echo mine | tee secret/f >secret/sub/f; chmod {mode} secret"
        ));
        work.run("chmod 755 secret; echo new >b");
        work.back("one", ConflictChoice::Old);
        work.user("chmod 755 secret");
        assert!(work.at("secret/f").exists() && work.at("secret/sub/f").exists(), "{mode}");
        assert!(!work.at("b").exists(), "{mode}");
    }
}

#[test]
fn what_was_moved_from_where_undo_does_not_look_stays() {
    let moves = [
        ("mv .env new", "new"),
        ("mv build out", "out/deep/f"),
        ("mv build/deep/f new", "new"),
        ("mkdir -p a/b; mv build/deep a/b/new", "a/b/new/f"),
        ("mv ../outside/f new", "new"),
        ("mv ../outside new", "new/f"),
        ("ln .env new; rm .env", "new"),
    ];
    for (command, place) in moves {
        let mut work = Work::new();
        work.user(
            "mkdir -p build/deep ../outside; echo mine | tee build/deep/f ../outside/f >.env; echo mine >plain; \
             printf 'build\n.env\n' >.gitignore; sleep 0.06",
        );
        if work.at(".env").metadata().unwrap().created().is_err() {
            return println!("skipped: this file system does not say when files were created");
        }
        work.run(&format!("{command}; echo new >created; mv plain moved"));
        work.back("one", ConflictChoice::Old);
        assert_eq!(work.text(place), "mine\n", "{command}");
        assert!(
            work.lost().iter().any(|(_, why)| why.contains("so it stays")),
            "{command}: {:?}",
            work.lost()
        );
        assert!(!work.at("created").exists() && !work.at("moved").exists(), "{command}");
        assert_eq!(work.text("plain"), "mine\n", "{command}");
    }
}

#[test]
fn what_was_undone_in_a_directory_that_is_closed_again_is_redone() {
    if rustix::process::geteuid().is_root() {
        return println!("skipped: root can read every directory");
    }
    let mut work = Work::new();
    work.user("mkdir d; chmod 444 d");
    work.run("chmod 755 d; echo new >d/f");
    assert!(work.back("one", ConflictChoice::Old).failed.is_empty());
    work.user("chmod 755 d; test ! -e d/f");
    let report = work.redo();
    assert!(report.failed.is_empty(), "{report:?}");
    assert_eq!(work.text("d/f"), "new\n");
}

#[test]
fn what_tau_itself_keeps_is_no_change() {
    let mut work = Work::new();
    let own = work.at("share/tau");
    let options = UndoOptions { dir: own.join("undo"), quota: 1 << 30, own: own.clone() };
    work.undo = SessionUndo::open(&options, "session", &work.at(""), false);
    work.write("share/a", "1");
    work.run("echo 2 >share/a; echo 2 >share/tau/s.jsonl; mkdir share/tau/sub; echo 2 >share/tau/sub/t");
    work.run("echo 3 >share/b");
    let mut restored = work.back("one", ConflictChoice::Old).restored;
    restored.sort();
    assert_eq!(restored, ["share/a", "share/b"]);
    assert!(work.at("share/tau/sub/t").exists() && own.join("undo/session/content").exists());
    assert!(!work.redo().restored.is_empty());
    work.undo = SessionUndo::open(&options, "other", &own, false);
    work.run("echo 2 >share/tau/s.jsonl");
    assert!(work.lost()[0].1.contains("tau's own data"), "{:?}", work.lost());
}

#[test]
fn a_scan_that_failed_is_repeated_at_the_next_prompt() {
    let mut work = Work::new();
    let (root, aside) = (work.folder.path().join("work"), work.folder.path().join("aside"));
    fs::rename(&root, &aside).unwrap();
    fs::write(&root, "").unwrap();
    work.begin(&Access::command("true"));
    work.undo.end(false);
    fs::remove_file(&root).unwrap();
    fs::rename(&aside, &root).unwrap();
    work.run("echo 1 >a");
    work.prompt("two");
    work.run("echo 1 >b");
    assert_eq!(work.back("two", ConflictChoice::Keep).restored, ["b"]);
    assert!(work.at("a").exists());
}
