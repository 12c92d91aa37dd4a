//! Attempts to make undo write or delete outside of the session's directory: links and directories swapped
//! before, between and during its steps, and a journal that names other places.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tau::agent::protocol::undo::{ConflictChoice, RevertOrder, UndoOrder};

use super::Work;
use crate::time_limit::JoinInTime;

const CHOICES: [ConflictChoice; 3] = [ConflictChoice::Keep, ConflictChoice::Merge, ConflictChoice::Old];

/// The session's calls, the replacement by someone else, and the restoration.
struct Attack {
    /// Before the first prompt.
    before: &'static str,
    /// At the first and the second prompt.
    calls: [&'static str; 2],
    /// The actions of a process left in the background.
    swap: &'static str,
}

const TO_OUTSIDE: &str = "rm -rf d; ln -s ../outside d";

const ATTACKS: &[Attack] = &[
    // The link is a change of the session itself, so the directory comes back in its place.
    Attack { before: "", calls: ["mkdir d; echo evil >d/f", "rm -r d; ln -s ../outside d"], swap: "" },
    Attack { before: "", calls: ["mkdir d; echo evil >d/new", "rm -r d; ln -s ../outside d"], swap: "" },
    // To write,
    Attack { before: "", calls: ["mkdir d; echo evil >d/f", "echo x >d/f"], swap: TO_OUTSIDE },
    Attack { before: "", calls: ["mkdir d; echo evil >d/f", "rm d/f"], swap: TO_OUTSIDE },
    Attack { before: "", calls: ["mkdir d; echo evil >d/new", "rm d/new"], swap: TO_OUTSIDE },
    Attack {
        before: "",
        calls: ["mkdir d; printf mine >d/f; chmod 777 d/f", "chmod 644 d/f"],
        swap: TO_OUTSIDE,
    },
    // to delete,
    Attack { before: "mkdir d", calls: ["true", "printf mine >d/f"], swap: TO_OUTSIDE },
    Attack { before: "mkdir d", calls: ["true", "mkdir d/sub; chmod 755 d/sub"], swap: TO_OUTSIDE },
    // directories and links,
    Attack { before: "mkdir -p d/sub/x", calls: ["true", "rm -r d/sub"], swap: TO_OUTSIDE },
    Attack { before: "mkdir -p d/sub", calls: ["true", "chmod 700 d/sub"], swap: TO_OUTSIDE },
    Attack { before: "mkdir d; ln -s evil d/f", calls: ["true", "rm d/f"], swap: TO_OUTSIDE },
    Attack { before: "mkdir d; ln -s evil d/new", calls: ["true", "ln -sfn other d/new"], swap: TO_OUTSIDE },
    // deep down and far above,
    Attack {
        before: "mkdir -p a/b/d; echo evil >a/b/d/f",
        calls: ["true", "echo x >a/b/d/f"],
        swap: "mv a z; ln -s ../outside/deep a",
    },
    Attack {
        before: "mkdir -p d/sub; echo evil >d/sub/f",
        calls: ["true", "rm -r d"],
        swap: "ln -s ../outside d",
    },
    Attack {
        before: "mkdir d; echo evil >d/f",
        calls: ["true", "echo x >d/f"],
        swap: "mv d e; ln -s ../outside o; ln -s o d",
    },
    // and the name itself.
    Attack { before: "echo evil >f", calls: ["true", "echo x >f"], swap: "rm f; ln -s ../outside/f f" },
    Attack { before: "", calls: ["true", "printf mine >f"], swap: "rm f; ln -s ../outside/f f" },
    Attack { before: "echo evil >f", calls: ["true", "rm f"], swap: "ln -s ../outside/f f" },
    Attack { before: "mkdir s", calls: ["true", "rmdir s"], swap: "ln -s ../outside/sub s" },
    Attack { before: "mkdir s", calls: ["true", "chmod 700 s"], swap: "rmdir s; ln -s ../outside/sub s" },
];

/// A session after an attack's calls, beside an unrelated directory.
fn attacked(attack: &Attack) -> Work {
    let mut work = Work::new();
    work.user(
        "mkdir -p ../outside/sub ../outside/deep/b/d; chmod 750 ../outside/sub; \
         printf mine >../outside/f; printf mine >../outside/deep/b/d/f",
    );
    work.user(attack.before);
    work.run(attack.calls[0]);
    work.prompt("two");
    work.run(attack.calls[1]);
    work
}

/// Everything outside, with modes.
fn outside(work: &Work) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = vec![work.at("../outside")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let mode = path.symlink_metadata().unwrap().permissions().mode();
            let text = if kind.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
            found.push(format!("{} {mode:o} {text}", path.display()));
            if kind.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn undo_follows_no_link() {
    for attack in ATTACKS {
        for choice in CHOICES {
            for to in ["one", "two"] {
                let mut work = attacked(attack);
                work.user(attack.swap);
                let before = outside(&work);
                let plan = work.plan(to);
                let report = work.back(to, choice);
                let words = format!("{:?}, {}: {plan:?}, {report:?}", attack.calls, attack.swap);
                assert_eq!(outside(&work), before, "{words}");
                if !attack.swap.is_empty() && to == "two" {
                    assert!(!plan.conflicts.is_empty(), "the user sees it: {words}");
                }
                // An undo that changed nothing leaves nothing to redo.
                if let Err(error) = work.undo.redo(&UndoOrder { otherwise: choice, ..UndoOrder::default() }) {
                    assert_eq!(error.to_string(), "there is nothing to redo", "{words}");
                    assert!(report.restored.is_empty() && report.merged.is_empty(), "{words}");
                }
                assert_eq!(outside(&work), before, "redo of {words}");
            }
        }
    }
}

#[test]
fn redo_follows_no_link() {
    for attack in ATTACKS {
        for choice in CHOICES {
            let mut work = attacked(attack);
            work.back("two", ConflictChoice::Old);
            // The current content is swapped, whatever it is.
            work.user(&format!(
                "rm -rf d a f s; {}",
                attack
                    .swap
                    .replace("rm f;", "")
                    .replace("rmdir s;", "")
                    .replace("mv a z;", "")
                    .replace("mv d e;", "")
            ));
            let before = outside(&work);
            let report = work.undo.redo(&UndoOrder { otherwise: choice, ..UndoOrder::default() }).unwrap();
            assert_eq!(outside(&work), before, "{:?}, {}: {report:?}", attack.calls, attack.swap);
        }
    }
}

#[test]
fn reverting_a_file_or_a_hunk_follows_no_link() {
    for attack in ATTACKS {
        let mut work = attacked(attack);
        work.user(attack.swap);
        let before = outside(&work);
        for file in work.undo.changes().files {
            for hunk in [Some(0), None] {
                let order = RevertOrder { path: file.path.clone(), version: file.version.clone(), hunk };
                work.undo.revert(&order).ok();
                assert_eq!(outside(&work), before, "{:?}, {}: {order:?}", attack.calls, attack.swap);
            }
        }
    }
}

#[test]
fn a_directory_that_became_a_link_comes_back() {
    let mut work = attacked(&ATTACKS[0]);
    let plan = work.plan("two");
    assert!(plan.conflicts.is_empty() && plan.files.len() == 2, "{plan:?}");
    let report = work.back("two", ConflictChoice::Keep);
    assert_eq!(report.restored, ["d/", "d/f"]);
    assert_eq!(work.text("d/f"), "evil\n");
    work.redo();
    assert!(work.at("d").is_symlink());
}

/// Another process swaps a directory and a link as fast as it can, during undo and redo.
#[test]
fn no_race_leads_undo_outside() {
    let mut work = Work::new();
    work.user("mkdir -p ../outside; for n in 1 2 3; do printf mine >../outside/f$n; done; mkdir d");
    work.user("for n in 1 2 3; do echo evil >d/f$n; done; ln -s ../outside link; mkdir d/sub");
    work.run("for n in 1 2 3; do echo other >d/f$n; done; echo new >d/new; rmdir d/sub; chmod 700 d/f1");
    let before = outside(&work);
    let stop = Arc::new(AtomicBool::new(false));
    let (folder, stopped) = (work.at(""), Arc::clone(&stop));
    let swaps = std::thread::spawn(move || {
        let [d, link, spare] = ["d", "link", "spare"].map(|name| folder.join(name));
        let mut swaps = 0_u32;
        while !stopped.load(Ordering::Relaxed) {
            let moved = fs::rename(&d, &spare).and_then(|()| fs::rename(&link, &d));
            moved.and_then(|()| fs::rename(&d, &link)).and_then(|()| fs::rename(&spare, &d)).ok();
            // Undo may have put something in their place.
            if !spare.exists() && !d.is_dir() {
                fs::create_dir(&d).ok();
            }
            if !link.is_symlink() {
                symlink("../outside", &link).ok();
            }
            swaps += 1;
        }
        swaps
    });
    for round in 0..150 {
        let choice = CHOICES[round % 3];
        work.back("one", choice);
        assert_eq!(outside(&work), before, "round {round}");
        work.undo.redo(&UndoOrder { otherwise: choice, ..UndoOrder::default() }).ok();
        assert_eq!(outside(&work), before, "round {round}");
    }
    stop.store(true, Ordering::Relaxed);
    assert!(swaps.join_in_time("the swaps") > 0);
}

/// The journal with one place replaced by another.
fn forge(work: &mut Work, from: &Path, to: &str) {
    let journal = work.kept().join("session/journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let (head, records) = text.split_once('\n').unwrap();
    assert!(records.contains(from.to_str().unwrap()));
    fs::write(&journal, format!("{head}\n{}", records.replace(from.to_str().unwrap(), to))).unwrap();
    work.reopen();
}

#[test]
fn records_of_other_places_are_refused() {
    let root = |work: &Work| work.at("").canonicalize().unwrap();
    for to in *tau::tools::words!(
        "OUTSIDE/f ROOT/../outside/f outside/f ../outside/f ROOT/sub/../../outside/f ROOT /"
    ) {
        for choice in CHOICES {
            let mut work = Work::new();
            work.user("mkdir -p ../outside sub; printf mine >../outside/f");
            work.write("f", "evil");
            work.run("printf mine >f");
            let (root, place) = (root(&work), root(&work).join("f"));
            let outside_path = root.parent().unwrap().join("outside");
            let to =
                to.replace("ROOT", root.to_str().unwrap()).replace("OUTSIDE", outside_path.to_str().unwrap());
            forge(&mut work, &place, &to);
            let before = (outside(&work), work.state());
            let plan = work.plan("one");
            assert!(plan.files.is_empty() && plan.conflicts.is_empty(), "{to}: {plan:?}");
            let report = work.back("one", choice);
            assert_eq!((outside(&work), work.state()), before, "{to}: {report:?}");
            work.undo.redo(&UndoOrder { otherwise: choice, ..UndoOrder::default() }).ok();
            for file in work.undo.changes().files {
                let order = RevertOrder { path: file.path, version: file.version, hunk: None };
                assert!(work.undo.revert(&order).is_err());
            }
            assert_eq!((outside(&work), work.state()), before, "{to}");
        }
    }
}

#[test]
fn what_tools_changed_outside_is_listed_and_not_restored() {
    let mut work = Work::new();
    work.write("../other/f", "old");
    work.edit("../other/f", "new");
    work.edit("f", "new");
    assert_eq!(work.undo.changes().files.len(), 2);
    let plan = work.plan("one");
    assert_eq!(plan.files, ["f"]);
    assert_eq!(plan.not_covered[0].reason, "it is outside the session's directory");
    let report = work.back("one", ConflictChoice::Old);
    assert_eq!((report.restored.len(), report.failed.len()), (1, 1), "{report:?}");
    assert_eq!(work.text("../other/f"), "new");
}

#[test]
fn temporary_files_of_a_killed_tau_are_swept() {
    let mut work = Work::new();
    work.write("d/f", "old");
    work.run("echo new >d/f");
    // tau was killed while it restored d/f: its record has no end.
    work.back("one", ConflictChoice::Keep);
    let journal = work.kept().join("session/journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(&journal, lines[..lines.len() - 1].join("\n") + "\n").unwrap();
    let left = "d/.tau-0123456789abcdef0123456789abcdef.tmp";
    work.write(left, "half");
    work.write(".tau-0123456789abcdef0123456789abcdef.tmp", "in a directory where nothing was restored");
    work.write("d/.tau-mine.tmp", "mine");
    // Any session that starts finds it.
    super::open(&work.kept().join(".."), 1 << 30, "another");
    assert!(!work.at(left).exists() && work.at("d/.tau-mine.tmp").exists());
    assert!(work.at(".tau-0123456789abcdef0123456789abcdef.tmp").exists());
}
