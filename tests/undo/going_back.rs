//! Going back and forward again, and the treatment of files that something else changed.

use std::fs;

use tau::agent::protocol::undo::{ChangeKind, ConflictChoice, RevertOrder, UndoOrder, UndoScope};
use tau::tools::access::Access;

use super::{Work, open};

/// One change of every kind, made with a command.
const EVERYTHING: &str = "
    sed -i s/one/two/ text deep/er/text
    rm gone; rm -r olddir
    mv renamed newname; mv moved newdir
    chmod 755 script; chmod 700 private
    ln -sfn other link; ln -s text newlink; rm oldlink
    mkdir empty newdir/sub; rmdir oldempty
    printf '\\000\\377\\001' >binary
    rm tofile/x; rmdir tofile; echo file >tofile
    rm todir; mkdir todir; echo x >todir/x
    echo ro >readonly2; chmod 444 readonly2; chmod 644 readonly; echo new >readonly; chmod 444 readonly";

fn full() -> Work {
    let work = Work::new();
    for (path, text) in [
        ("text", "one\n"),
        ("deep/er/text", "one\nmore\n"),
        ("gone", "gone"),
        ("olddir/a", "a"),
        ("olddir/b/c", "c"),
        ("renamed", "renamed"),
        ("moved/file", "moved"),
        ("script", "#!/bin/sh\n"),
        ("private/x", "x"),
        ("other", ""),
        ("tofile/x", "x"),
        ("todir", "file"),
        ("readonly", "old\n"),
    ] {
        work.write(path, text);
    }
    work.write("binary", [0, 159, 146, 150]);
    work.user("chmod 444 readonly; ln -s text link; ln -s gone oldlink; mkdir oldempty");
    work
}

#[test]
fn everything_that_a_command_does_is_undone_and_redone() {
    let mut work = full();
    let before = work.state();
    work.run(EVERYTHING);
    let after = work.state();
    assert_ne!(before, after);
    let plan = work.plan("one");
    assert!(plan.conflicts.is_empty() && plan.not_covered.is_empty(), "{plan:?}");
    let report = work.back("one", ConflictChoice::Keep);
    assert!(report.failed.is_empty() && report.kept.is_empty(), "{report:?}");
    assert_eq!(work.state(), before);
    assert!(work.undo.changes().files.is_empty(), "nothing is left of it");

    let report = work.redo();
    assert!(report.failed.is_empty(), "{report:?}");
    assert_eq!(work.state(), after);
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.state(), before, "and again");
    assert!(work.undo.take_notices().is_empty());
}

#[test]
fn another_tau_undoes_it_as_well() {
    let mut work = full();
    let before = work.state();
    work.run(EVERYTHING);
    work.reopen();
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.state(), before);
}

#[test]
fn each_prompt_is_a_checkpoint() {
    let mut work = Work::new();
    work.write("a", "0");
    work.edit("a", "1");
    work.prompt("two");
    work.prompt("three");
    work.edit("a", "3");
    work.run("echo b >b");
    let checkpoints = work.undo.checkpoints(&work.prompts.clone());
    let found: Vec<_> =
        checkpoints.iter().map(|one| (&*one.entry_id, one.files.join(" "), one.restores)).collect();
    assert_eq!(
        found,
        [("one", "a".to_owned(), 2), ("two", String::new(), 2), ("three", "a b".to_owned(), 2)]
    );
    work.back("two", ConflictChoice::Keep);
    assert_eq!(work.text("a"), "1");
    assert!(!work.at("b").exists());
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.text("a"), "0");
    work.redo();
    assert_eq!(work.text("a"), "1");
    work.redo();
    assert_eq!((work.text("a"), work.text("b")), ("3".into(), "b\n".into()));
    assert!(work.undo.redo(&UndoOrder::default()).is_err(), "nothing is left to redo");
}

#[test]
fn a_new_change_ends_what_can_be_redone() {
    let mut work = Work::new();
    work.edit("a", "1");
    work.back("one", ConflictChoice::Keep);
    work.edit("b", "1");
    assert!(!work.undo.changes().redo);
    assert!(work.undo.redo(&UndoOrder::default()).is_err());
}

#[test]
fn a_file_that_was_changed_since_is_left_unless_the_user_says_otherwise() {
    let lines = |word: &str| (0..20).map(|n| format!("{word} {n}\n")).collect::<String>();
    for choice in [ConflictChoice::Keep, ConflictChoice::Old, ConflictChoice::Merge] {
        let mut work = Work::new();
        for n in 0..20 {
            work.write(&format!("f{n}"), lines("line"));
        }
        work.run("sed -i 's/line 3/LINE 3/' f*");
        let mine = work.text("f7").replace("line 15", "mine");
        work.write("f7", &mine);
        let plan = work.plan("one");
        assert_eq!((plan.files.len(), plan.conflicts.len()), (19, 1));
        let conflict = &plan.conflicts[0];
        assert_eq!((&*conflict.path, &*conflict.reason, conflict.mergeable), ("f7", "changed since", true));

        let report = work.back("one", choice);
        assert_eq!(report.restored.len(), if choice == ConflictChoice::Old { 20 } else { 19 });
        assert_eq!(work.text("f6"), lines("line"));
        let expected = match choice {
            ConflictChoice::Keep => mine.clone(),
            ConflictChoice::Old => lines("line"),
            ConflictChoice::Merge => lines("line").replace("line 15", "mine"),
        };
        assert_eq!(work.text("f7"), expected, "{choice:?}");
        work.redo();
        assert_eq!(work.text("f7"), mine, "{choice:?}: the user's change is back");
    }
}

#[test]
fn what_the_user_changed_between_two_calls_is_not_lost() {
    let mut work = Work::new();
    work.write("a", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    work.run("sed -i 's/1/one/' a");
    work.user("sed -i 's/5/mine/' a");
    work.run("sed -i 's/9/nine/' a");
    let plan = work.plan("one");
    assert_eq!(plan.files, Vec::<String>::new());
    assert_eq!(plan.conflicts[0].reason, "changed in between");
    work.back("one", ConflictChoice::Merge);
    assert_eq!(work.text("a"), "1\n2\n3\n4\nmine\n6\n7\n8\n9\n");
}

#[test]
fn what_was_changed_while_something_of_the_user_ran_is_asked() {
    for is_command in [true, false] {
        let mut work = Work::new();
        work.write("a", "old");
        work.begin(&Access::command("x"));
        match is_command {
            true => work.write("a", "new"),
            false => work.options().change_beside_calls(|| work.write("a", "new")),
        }
        work.undo.end(is_command);
        assert_eq!(work.plan("one").conflicts[0].reason, "changed while something of yours ran");
        work.back("one", ConflictChoice::Keep);
        assert_eq!(work.text("a"), "new");
    }
}

#[test]
fn a_directory_with_files_of_the_user_stays() {
    let mut work = Work::new();
    work.edit("new/dir/a", "1");
    work.write("new/mine", "mine");
    let report = work.back("one", ConflictChoice::Keep);
    assert!(!work.at("new/dir").exists() && work.at("new/mine").exists());
    assert_eq!(report.failed.len(), 1, "{report:?}");
}

#[test]
fn hunks_are_reverted_one_by_one() {
    let mut work = Work::new();
    let old: String = (0..40).map(|n| format!("line {n}\n")).collect();
    work.write("a", &old);
    work.edit("a", &old.replace("line 5\n", "LINE 5\n").replace("line 30\n", "LINE 30\n"));
    let listed = work.undo.changes().files.remove(0);
    assert_eq!((listed.kind, listed.diff.hunks.len()), (ChangeKind::Changed, 2));
    let order = |hunk, version: &str| RevertOrder { path: "a".into(), version: version.into(), hunk };
    // The user has changed another line meanwhile.
    work.write("a", work.text("a").replace("line 20\n", "mine\n"));
    work.undo.revert(&order(Some(0), &listed.version)).unwrap();
    assert_eq!(work.text("a"), old.replace("line 30\n", "LINE 30\n").replace("line 20\n", "mine\n"));
    let stale = work.undo.revert(&order(Some(0), &listed.version));
    assert!(stale.is_err(), "that list is no longer true");
    work.redo();
    assert!(work.text("a").contains("LINE 5"));

    work.edit("new", "text\n");
    let created = work.undo.changes().files.into_iter().find(|file| file.path == "new").unwrap();
    let order = RevertOrder { path: "new".into(), version: created.version, hunk: Some(0) };
    work.undo.revert(&order).unwrap();
    assert!(!work.at("new").exists(), "without its only hunk a new file is gone");
}

#[test]
fn the_conversation_alone_goes_back_without_files() {
    let mut work = Work::new();
    work.edit("a", "1");
    let order = UndoOrder { entry_id: "one".into(), scope: UndoScope::Conversation, ..UndoOrder::default() };
    work.undo.undo(&work.prompts.clone(), &order, Some("leaf".into())).unwrap();
    assert_eq!(work.text("a"), "1");
    assert_eq!(work.undo.changes().files.len(), 1);
    assert_eq!(work.undo.redo(&UndoOrder::default()).unwrap().1.as_deref(), Some("leaf"));
}

#[test]
fn files_written_through_a_link_are_restored_where_they_are() {
    let mut work = Work::new();
    work.write("real", "old");
    work.user("ln -s real link");
    work.edit("link", "new");
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.text("real"), "old");
    assert!(fs::symlink_metadata(work.at("link")).unwrap().is_symlink());
}

#[test]
fn what_cannot_be_kept_is_not_replaced() {
    let mut work = Work::new();
    work.write("a", "1\n");
    work.edit("a", "2\n");
    work.write("a", "text");
    // A directory has the name of the content of what the user wrote.
    let taken = "session/content/982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1/x";
    fs::create_dir_all(work.kept().join(taken)).unwrap();
    let report = work.back("one", ConflictChoice::Old);
    assert!(report.restored.is_empty(), "{report:?}");
    assert!(report.failed[0].reason.contains("its current content cannot be kept"), "{report:?}");
    assert_eq!(work.text("a"), "text");
    // The agent may still change it, but that is not covered.
    work.edit("a", "3\n");
    assert!(work.lost()[0].1.contains("its earlier content could not be kept"), "{:?}", work.lost());
}

#[test]
fn what_another_tau_recorded_meanwhile_is_kept() {
    let mut work = Work::new();
    work.write("a", "1");
    work.edit("a", "2");
    work.close();
    // It has read the journal, and waits for an answer.
    let waiting = open(work.folder.path(), 1 << 30, "session");
    work.reopen();
    work.write("a", "mine");
    assert_eq!(work.back("one", ConflictChoice::Old).restored, ["a"]);
    work.close();
    work.undo = waiting;
    assert!(work.back("one", ConflictChoice::Old).restored.is_empty());
    assert_eq!(work.redo().restored, ["a"], "an undo that changed nothing does not count");
    assert_eq!(work.text("a"), "mine");
}
