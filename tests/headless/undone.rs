//! `tau undo` after commands that hide files from undo, or move contents out of a repository.

use serde_json::json;

use super::*;

/// A session in `work` in which the model runs these commands, each at a separate prompt.
async fn after(files: &str, commands: &[&str]) -> Place {
    // In files, as some of it would need approval in the command.
    let command = |at: usize| json!({"command": format!("sh -e ~/{at}.sh")});
    let acts = (0..commands.len()).flat_map(|at| [calls("bash", &command(at)), says("done")]);
    let place = Place::new(acts.collect()).await;
    let work = place.dir.path().join("work");
    std::fs::create_dir(&work).unwrap();
    shell(&place, files).await;
    for (at, script) in commands.iter().enumerate() {
        std::fs::write(place.dir.path().join(format!("{at}.sh")), script).unwrap();
        let mut command = place.tau(&["-p", "--sandbox", "off", "--permission-mode", "auto"]);
        command.args(if at == 0 { &[][..] } else { &["--continue"] });
        let ended = run(command.current_dir(&work).arg("next"), None).await;
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    place
}

async fn shell(place: &Place, script: &str) {
    let mut bash = Command::new("bash");
    let path = std::env::var_os("PATH").unwrap_or_default();
    bash.env_clear()
        .env("HOME", place.dir.path())
        .env("PATH", path)
        .current_dir(place.dir.path().join("work"));
    let git = "git() { command git -c user.name=x -c user.email=x@x \"$@\"; }";
    let status = bash.args(["-c", &format!("set -e; {git}\n{script}")]).status().in_time("the shell").await;
    assert!(status.unwrap().success(), "{script}");
}

/// Undoes everything that can be undone.
async fn undone(place: &Place) -> Ended {
    let mut command = bare(place.dir.path());
    command.current_dir(place.dir.path().join("work"));
    run(command.args(["undo", "--to", "1", "--yes"]), None).await
}

#[tokio::test]
async fn rules_that_a_session_writes_hide_nothing_from_undo() {
    for hide in [
        "echo '*.txt' >.gitignore",
        "git init -q .; echo '*' >.git/info/exclude",
        "mkdir -p ~/.config/git; echo '*.txt' >~/.config/git/ignore",
        "git config --global core.excludesFile ~/rules; echo '*.txt' >~/rules",
        "git init -q ..; echo '*.txt' >../.gitignore",
    ] {
        let place = after("echo mine >notes.txt", &[hide, "rm notes.txt"]).await;
        let notes = place.dir.path().join("work/notes.txt");
        assert!(!notes.exists(), "{hide}");
        let ended = undone(&place).await;
        assert_eq!(std::fs::read_to_string(&notes).ok().as_deref(), Some("mine\n"), "{hide}: {ended:?}");
    }
}

#[tokio::test]
async fn each_file_is_named_whose_content_git_dropped_in_the_command() {
    let files = "git init -q .; echo one >a; echo one >b; git add .; git commit -qm one; \
        for f in a b c 'd e'; do echo two >\"$f\"; done; git add .; git commit -qm two; sleep 0.1; git status >/dev/null";
    let drop = "git reset -q --hard HEAD~1 && rm -f .git/ORIG_HEAD && \
        git reflog expire --expire=now --all && git gc -q --prune=now";
    let place = after(files, &[drop]).await;
    let ended = undone(&place).await;
    for file in ["a", "b", "c", "d e"] {
        let why = format!("{file}: git has no such version of it");
        assert!(ended.err.contains(&why), "{file}: {ended:?}");
    }
    // Objects that are only unreachable, and dropped later, were copied after the command.
    let reset = "git reset -q --hard HEAD~1";
    let place = after(
        files,
        &[reset, "rm -f .git/ORIG_HEAD; git reflog expire --expire=now --all; git gc -q --prune=now"],
    )
    .await;
    let ended = undone(&place).await;
    for file in ["a", "b", "c", "d e"] {
        let text = std::fs::read_to_string(place.dir.path().join("work").join(file));
        assert_eq!(text.ok().as_deref(), Some("two\n"), "{file}: {ended:?}");
    }
}

/// `git apply` and `patch` make of the old files what the session made of them.
#[tokio::test]
async fn the_changes_of_a_session_are_a_patch() {
    let files = "printf 'one\\ntwo\\n' >changed; printf 'no end' >ended; printf 'gone\\n' >removed; mkdir -p deep/er; \
        printf 'a\\nb\\nc' >deep/er/tail; cp -a . ../before; cp -a . ../patched";
    let change = "printf 'one\\n2\\n' >changed; printf 'no end\\n' >ended; rm removed; printf 'new' >deep/new; \
        printf 'a\\nB\\nc' >deep/er/tail; printf '#!/bin/sh\\n' >run; chmod +x run; : >empty";
    let place = after(files, &[change]).await;
    let ended =
        run(bare(place.dir.path()).current_dir(place.dir.path().join("work")).arg("diff"), None).await;
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(
        ended.out.contains("new file mode 100755") && ended.out.contains("@@ -0,0 +1,1 @@"),
        "{}",
        ended.out
    );
    std::fs::write(place.dir.path().join("changes"), &ended.out).unwrap();
    let check = "cd ../before; git init -q .; git apply ../changes; rm -rf .git; diff -r . ../work; test -x run; \
        command -v patch >/dev/null || exit 0; cd ../patched; patch -p1 -E <../changes >/dev/null; \
        rm -f empty ../work/empty; diff -r . ../work";
    shell(&place, check).await;
}
