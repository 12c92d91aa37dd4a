//! Attempts of a session to exclude the user's files from undo, so that it does not bring them back: with
//! rules in every possible place, and with git's index. Build output is excluded all the same.

use tau::agent::protocol::undo::ConflictChoice;

use super::Work;
use crate::sandbox::has_program;

/// The initial files. The user's own rules exclude `build`, except in `docs`.
const FILES: &str = "mkdir -p docs/deep build; echo mine >notes.txt; echo mine >docs/a.txt; \
    echo mine >docs/deep/b.txt; echo mine >build/out; echo mine >secret.env; printf 'build\\n*.env\\n' >.gitignore; \
    printf '!*.env\\n' >docs/.gitignore; echo mine >docs/c.env; git init -q .; git add -f .; \
    git rm -rq --cached build notes.txt docs/deep; git commit -qm one";

/// Ways to have files excluded.
const HIDE: &[&str] = &[
    "true",
    "echo '*.txt' >.gitignore",
    "echo '*' >.gitignore",
    "echo '*' >>.gitignore",
    "echo '*' >docs/.gitignore",
    "echo '*' >docs/deep/.gitignore; echo '/deep' >>docs/.gitignore",
    "printf 'docs/\\nnotes.txt\\n' >.gitignore",
    "rm docs/.gitignore",
    "mv docs/.gitignore docs/other",
    "rm -r docs/.gitignore; mkdir docs/.gitignore",
    "rm .gitignore; ln -s other .gitignore; echo '*' >other",
    "echo '*' >.git/info/exclude",
    "rm -rf .git; git init -q .; echo '*' >.git/info/exclude",
    "git init -q docs; echo '*' >docs/.git/info/exclude; echo '*' >docs/.gitignore",
    "git rm -q --cached -r .",
    "git rm -q --cached secret.env docs/c.env; rm docs/.gitignore",
    "rm .git/index",
    "git update-index --split-index; git rm -q --cached secret.env",
    "echo '*' >.gitignore; git add -A; git rm -rq --cached .; git commit -qm two",
    "git config core.excludesFile /dev/stdin; echo '*' >.git/info/exclude; echo '*' >docs/.gitignore",
];

/// The harm done to them, after the user has created `docs/new.txt`.
const HARM: &[&str] = &[
    "rm -f notes.txt docs/a.txt docs/deep/b.txt docs/c.env docs/new.txt secret.env",
    "rm -r docs notes.txt secret.env",
    "for f in notes.txt docs/a.txt docs/deep/b.txt docs/c.env docs/new.txt secret.env; do echo evil >$f; done",
    "mv docs elsewhere; mv notes.txt secret.env elsewhere",
    "chmod 600 notes.txt docs/a.txt docs/deep/b.txt docs/c.env docs/new.txt secret.env",
];

/// The files of the user, with modes.
fn mine(work: &Work) -> Vec<(String, String)> {
    let mut state = work.state();
    state.retain(|path, content| content.contains("mine") && !path.starts_with("elsewhere"));
    state.into_iter().collect()
}

#[test]
fn a_session_takes_no_file_out_of_the_cover() {
    needs!(has_program("git"));
    for (number, hide) in HIDE.iter().enumerate() {
        for (at, harm) in HARM.iter().enumerate() {
            let resumed = (number + at) % 2 == 0;
            let mut work = Work::new();
            work.user(FILES);
            work.run(hide);
            if resumed {
                work.reopen();
            }
            work.user("echo mine >docs/new.txt");
            let before = mine(&work);
            work.prompt("two");
            // The files are scanned before each call, so one more makes no difference.
            work.run(if at % 2 == 0 { "true" } else { "echo >>other.log" });
            work.run(harm);
            assert_ne!(mine(&work), before);
            let plan = work.plan("two");
            let report = work.back("two", ConflictChoice::Keep);
            assert_eq!(mine(&work), before, "{hide}; {harm}; resumed: {resumed}: {plan:?}, {report:?}");
        }
    }
}

#[test]
fn rules_and_harm_in_one_command_are_undone() {
    needs!(has_program("git"));
    // Content that only git has goes with `.git`.
    for hide in HIDE.iter().filter(|hide| !hide.contains("rm -rf .git;")) {
        for harm in HARM.iter().take(2) {
            let mut work = Work::new();
            work.user(FILES);
            work.user("echo mine >docs/new.txt");
            let before = mine(&work);
            work.run(&format!("{hide}; {harm}"));
            work.back("one", ConflictChoice::Keep);
            assert_eq!(mine(&work), before, "{hide}; {harm}");
        }
    }
}

#[test]
fn undo_removes_nothing_that_rules_left_out_before() {
    needs!(has_program("git"));
    for shown in [
        "git add -f build/out",
        "git add -f secret.env; git commit -qm two",
        "rm .gitignore",
        "echo >.gitignore",
        "echo '!secret.env' >>.gitignore",
        "rm .gitignore; ln -s other .gitignore",
        "rm .gitignore; echo evil >build/out; echo evil >secret.env",
        "echo evil >build/out; git add -f build secret.env",
        "touch build/out secret.env; rm .gitignore",
    ] {
        let mut work = Work::new();
        work.user("mkdir build; echo mine >build/out; echo mine >secret.env");
        work.user("printf 'build\\n*.env\\n' >.gitignore; git init -q .; git add .; git commit -qm one");
        // Just before the call, so that their times do not show who created them.
        work.user("echo mine >build/new; echo mine >build/.env");
        work.run(shown);
        work.back("one", ConflictChoice::Keep);
        for kept in ["build/out", "secret.env", "build/new", "build/.env"] {
            assert!(work.at(kept).exists(), "{shown}: {kept} is gone");
        }
    }
}

#[test]
fn what_a_build_makes_is_left_out() {
    const BUILD: &str = "mkdir -p target/debug; echo >target/debug/x; echo >target/y";
    for (make, build) in [
        ("echo target >.gitignore", BUILD),
        (BUILD, "echo /target/ >.gitignore; echo >target/debug/z"),
        ("mkdir app; echo target >app/.gitignore", "cd app; mkdir target; echo >target/x"),
        ("mkdir .venv; echo '*' >.venv/.gitignore", "mkdir -p .venv/lib; echo >.venv/lib/y"),
        ("true", "mkdir -p .venv/lib; echo '*' >.venv/.gitignore; echo >.venv/lib/y"),
        ("mkdir -p app/lib; echo >app/lib/x", "echo 'app/*' >.gitignore"),
    ] {
        for resumed in [false, true] {
            let mut work = Work::new();
            work.write("mine", "1");
            work.run(make);
            work.run(build);
            for _ in 0..2 {
                if resumed {
                    work.reopen();
                }
                work.prompt("two");
                let built = "-path '*/target/*' -o -path '*/lib/*'";
                work.run(&format!("find . -type f '(' {built} ')' | while read f; do echo built >$f; done"));
                let plan = work.plan("two");
                assert!(plan.files.is_empty(), "{make}; {build}; resumed: {resumed}: {plan:?}");
                // The next build creates it again.
                work.run("find . -name lib -o -name target | while read d; do rm -r $d; mkdir $d; echo >$d/x; done");
                work.prompts.pop();
            }
            work.run("rm mine");
            work.back("one", ConflictChoice::Old);
            assert_eq!(work.text("mine"), "1");
        }
    }
}

#[test]
fn rules_of_the_users_own_count_as_they_are() {
    let mut work = Work::new();
    work.write("cache/x", "1");
    work.run("true");
    work.user("echo cache >.gitignore");
    work.run("echo 2 >cache/x");
    assert!(work.undo.changes().files.is_empty());
    work.user("rm .gitignore");
    work.run("echo 3 >cache/x");
    work.back("one", ConflictChoice::Keep);
    assert_eq!(work.text("cache/x"), "2\n");
}
