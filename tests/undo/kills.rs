//! tau is killed at random moments of undo and redo: every file is old or new, and the operation can be
//! repeated.
//!
//! A child of this test goes back and forth. `TAU_KILLS` sets the number of kills.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use tau::agent::protocol::undo::{ConflictChoice, UndoOrder, UndoScope};
use tau::agent::undo::Prompt;

use super::{Work, open};
use crate::kills::kills;
use crate::support::dice::Dice;
use crate::time_limit::{EndInTime, in_time};

/// The folder of the child.
const FOLDER: &str = "TAU_TEST_UNDO_KILLS";
const CHANGE: &str = "for f in *.txt; do seq 20000 >$f; done; rm gone/*; rmdir gone; mkdir -p made/deep; \
    seq 9000 >made/deep/new; seq 9 >made/x; rm link; ln -s f2.txt link; rm file; ln -s f1.txt file; \
    rm to; seq 7000 >to; chmod 755 f3.txt; chmod 444 f4.txt; rm -r dir; seq 99 >dir";
const FILES: &str = "for n in $(seq 1 12); do seq 1 3 30000 >f$n.txt; done; mkdir gone dir; seq 500 >gone/a; \
    seq 400 >gone/b; ln -s f1.txt link; seq 800 >file; ln -s f1.txt to; seq 44 >dir/x; chmod 444 f5.txt";

/// The paths that differ between both.
fn differ(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<String> {
    let paths: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    paths.into_iter().filter(|path| one.get(*path) != other.get(*path)).cloned().collect()
}

fn is_temporary(path: &str) -> bool {
    path.contains(".tau-")
}

/// Runs the child for a while, and kills it.
fn killed(work: &Work, after: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "undo::kills::child", "--ignored", "--nocapture"])
        .env(FOLDER, work.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    in_time("the first words of the child", move || {
        let mut line = String::new();
        while std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0 && !line.contains("ready") {
            line.clear();
        }
    });
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait_in_time("the end of the killed child");
}

#[test]
fn a_kill_leaves_the_old_or_the_new_and_nothing_else() {
    let mut work = Work::new();
    work.user(FILES);
    let old = work.state();
    work.run(CHANGE);
    let new = work.state();
    let (mut dice, mut left, mut between) = (Dice::new(5), 0, 0);
    let plain = |state: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        // Without modes, which are set after the content.
        state.iter().map(|(path, text)| (path.clone(), text.split_once(' ').unwrap().1.to_owned())).collect()
    };
    let (old_text, new_text) = (plain(&old), plain(&new));
    for kill in 0..kills() {
        work.close();
        killed(&work, Duration::from_micros(dice.below(60_000) as u64));
        let found = work.state();
        left += found.keys().filter(|path| is_temporary(path)).count();
        between += usize::from(found != old && found != new);
        work.reopen();
        let state = work.state();
        for (path, text) in plain(&state) {
            assert!(!is_temporary(&path), "kill {kill}: {path} is left");
            let known = [&old_text, &new_text].map(|known| known.get(&path));
            assert!(known.contains(&Some(&text)), "kill {kill}: {path} is neither old nor new");
        }
        work.back("one", ConflictChoice::Old);
        assert_eq!(differ(&work.state(), &old), Vec::<String>::new(), "kill {kill}");
        // Steps that the killed undo had already done are redone after it.
        while work.state() != new {
            let report = work.undo.redo(&redone());
            assert!(report.is_ok(), "kill {kill}: {report:?}, {:?}", differ(&work.state(), &new));
        }
    }
    println!("{} kills: {between} in between, {left} temporary files", kills());
}

/// The child: undoes and redoes without pause.
#[test]
#[ignore = "run by the test that kills it"]
fn child() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let mut undo = open(&folder, 1 << 30, "session");
    let prompts = [Prompt { entry_id: "one".into(), ..Prompt::default() }];
    let back = UndoOrder { entry_id: "one".into(), scope: UndoScope::Files, ..redone() };
    println!("ready");
    loop {
        undo.undo(&prompts, &back, None).unwrap();
        undo.redo(&redone()).unwrap();
    }
}

fn redone() -> UndoOrder {
    UndoOrder { otherwise: ConflictChoice::Old, ..UndoOrder::default() }
}
