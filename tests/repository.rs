//! The repository in the footer: its branch, and a mark if files differ from it.

use crate::screen::Screen;

/// True if git is installed, without which there is nothing to test.
use crate::sandbox::has_program;

const GIT: &str = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@y GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@y";

#[test]
fn the_branch_has_a_mark_while_files_differ_from_it() {
    needs!(has_program("git"));
    let script = format!("{GIT}\ngit init -q .; git checkout -q -b trunk; echo one >a");
    let screen = Screen::prepared(&script, "", 80, 24);
    screen.wait_for("~/work (trunk*)");
    // Checked again after a command, and after a run.
    screen.type_keys("!git add a; git commit -qm one\r");
    screen.wait_for("~/work (trunk) ");
    screen.type_keys("write\r");
    screen.wait_for("~/work (trunk*)");
}

#[test]
fn no_program_that_a_repository_names_is_run_for_the_mark() {
    needs!(has_program("git"));
    let script = format!(
        "{GIT}\ngit init -q .; git checkout -q -b trunk; echo one >a; git add a; git commit -qm one\n\
         echo 'a filter=x' >.gitattributes\n\
         git config filter.x.clean 'touch ~/ran; cat'; git config core.fsmonitor 'touch ~/ran; true'\n\
         rm -f ~/ran; echo two >a"
    );
    let screen = Screen::prepared(&script, "", 80, 24);
    screen.wait_for("~/work (trunk) ");
    screen.type_keys("!echo looked again\r");
    screen.wait_for("│ looked again");
    screen.wait_for("~/work (trunk) ");
    assert!(!screen.home().join("ran").exists());
}
