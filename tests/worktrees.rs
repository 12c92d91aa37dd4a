//! Worktrees, through the program itself: made, continued, merged, removed and restored, without anything being lost.

mod folders;
mod own_files;
mod staged;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::approvals::terminal::{play, saying};
use crate::background_jobs::{Home, bash};
use crate::screen::Screen;
use crate::support::processes::{gone, rare_sleep};
use crate::support::program::{Ended, bare, calls, run, says};
use crate::time_limit::{InTime, RunInTime};

/// Runs a script with git in the repository, as a user with a name.
async fn script(home: &Home, script: &str) {
    let mut bash = tokio::process::Command::new("bash");
    bash.env_clear().env("HOME", home.dir.path()).env("PATH", std::env::var_os("PATH").unwrap());
    bash.current_dir(home.dir.path().join("work")).args(["-c", &format!("set -e; {GIT}; {script}")]);
    let status = bash.status().in_time("the shell").await;
    assert!(status.unwrap().success(), "{script}");
}

const GIT: &str = "git() { command git -c user.name=x -c user.email=x@x -c init.defaultBranch=main \"$@\"; }";

/// A repository with one commit, an ignored file that is to be copied, and one that is not.
const REPOSITORY: &str =
    "git init -q; mkdir sub; echo one >file; echo x >sub/x; printf '.env\\nlog\\n' >.gitignore
    echo .env >.worktreeinclude; echo secret >.env; echo noise >log; echo other >untracked
    echo 'echo ran >>\"$HOME/hook\"' >.git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
    git add file sub .gitignore .worktreeinclude; git commit -qm first; rm -f \"$HOME/hook\"";

async fn tau(home: &Home, arguments: &[&str]) -> Ended {
    run(home.tau(arguments).env("TAU_HOME", home.dir.path().join("tau")), None).await
}

async fn worktree(home: &Home, arguments: &[&str]) -> Ended {
    subcommand(home, &[&["worktree"], arguments].concat()).await
}

async fn subcommand(home: &Home, words: &[&str]) -> Ended {
    let mut command = bare(home.dir.path());
    command.args(words).env("TAU_HOME", home.dir.path().join("tau"));
    run(command.current_dir(home.dir.path().join("work")), None).await
}

async fn refused(home: &Home, arguments: &[&str], why: &str) {
    let ended = worktree(home, arguments).await;
    assert_eq!((ended.code, ended.out.as_str()), (3, ""), "{arguments:?} {}", ended.err);
    assert!(ended.err.contains(why), "{arguments:?} {}", ended.err);
}

/// The folder of a worktree.
fn folder(home: &Path, name: &str) -> PathBuf {
    let repositories = std::fs::read_dir(home.join("tau-worktrees")).unwrap();
    repositories.map(|entry| entry.unwrap().path().join(name)).find(|path| path.exists()).expect("a worktree")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// As from a hook of the repository: git works in the worktree nevertheless.
#[tokio::test]
async fn a_worktree_is_not_the_repository_that_variables_name() {
    let home = Home::new(vec![bash("git rev-parse --show-toplevel >top"), says("Done.")]).await;
    script(&home, REPOSITORY).await;
    let work = home.dir.path().join("work");
    let mut command = home.tau(&["-p", "-w", "fix", "--", "go"]);
    command.env("TAU_HOME", home.dir.path().join("tau")).env("GIT_DIR", work.join(".git"));
    command.env("GIT_WORK_TREE", &work).env("GIT_INDEX_FILE", work.join(".git/index"));
    let ended = run(&mut command, None).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let path = folder(home.dir.path(), "fix");
    assert_eq!(text(&path.join("top")).trim(), path.canonicalize().unwrap().to_str().unwrap());
}

#[tokio::test]
async fn a_worktree_is_made_continued_and_merged() {
    let home = Home::new(vec![
        bash("pwd >pwd; echo two >file; cat .env >seen"),
        says("Changed."),
        bash("echo more >>file"),
        says("More."),
    ])
    .await;
    script(&home, REPOSITORY).await;
    let work = home.dir.path().join("work");
    let ended = tau(&home, &["-p", "-w", "fix", "--", "go"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "Changed.\n"), "{}", ended.err);
    let path = folder(home.dir.path(), "fix");
    assert_eq!(text(&work.join("file")), "one\n", "the repository's own files are untouched");
    assert_eq!((text(&path.join("file")).as_str(), text(&path.join("seen")).as_str()), ("two\n", "secret\n"));
    assert!(!path.join("log").exists() && !path.join("untracked").exists());
    assert!(!home.dir.path().join("hook").exists(), "a hook of the repository ran");
    // The same name continues in it.
    let ended = tau(&home, &["-p", "--continue", "--worktree=fix", "again"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "More.\n"), "{}", ended.err);
    assert_eq!(text(&path.join("file")), "two\nmore\n");
    let listed = worktree(&home, &["list"]).await;
    assert!(listed.out.starts_with("fix  0 commits, 3 changes  "), "{} {}", listed.out, listed.err);
    let listed = worktree(&home, &["list", "--json"]).await;
    let rows: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(
        (&rows[0]["branch"], &rows[0]["state"], &rows[0]["changes"]),
        (&json!("tau/fix"), &json!("present"), &json!(3))
    );
    let merged = worktree(&home, &["merge", "fix"]).await;
    let said = "merged fix into main, and removed it; ignored files went with it: .env\n";
    assert_eq!((merged.code, merged.out.as_str()), (0, said), "{}", merged.err);
    assert_eq!(text(&work.join("file")), "two\nmore\n");
    assert_eq!(text(&work.join("untracked")), "other\n");
    assert!(!path.exists() && !home.dir.path().join("hook").exists());
    script(&home, "test -z \"$(git branch --list 'tau/*')$(git worktree list | sed 1d)\"").await;
    assert_eq!(worktree(&home, &["list"]).await.out, "");
}

#[tokio::test]
async fn a_removed_worktree_comes_back_as_it_was_and_a_conflict_changes_nothing() {
    let home = Home::new(vec![bash("echo two >file; echo new >sub/new; rm sub/x"), says("Changed.")]).await;
    script(&home, REPOSITORY).await;
    let work = home.dir.path().join("work");
    assert_eq!(tau(&home, &["-p", "-w", "fix", "--", "go"]).await.code, 0);
    script(&home, "echo three >file; git commit -qam other; echo mine >sub/x").await;
    refused(&home, &["merge", "fix"], "cannot merge fix into main: both changed file;").await;
    let path = folder(home.dir.path(), "fix");
    let is_as_left = |path: &Path| {
        let texts = ["file", "sub/new"].map(|name| text(&path.join(name)));
        texts == ["two\n", "new\n"] && !path.join("sub/x").exists()
    };
    assert!(is_as_left(&path));
    assert_eq!(
        (text(&work.join("file")).as_str(), text(&work.join("sub/x")).as_str()),
        ("three\n", "mine\n")
    );
    let removed = worktree(&home, &["remove", "fix"]).await;
    let said = "removed fix; `tau worktree restore fix` brings it back; ignored files went with it: .env\n";
    assert_eq!((removed.code, removed.out.as_str()), (0, said), "{}", removed.err);
    assert!(!path.exists());
    let listed = worktree(&home, &["list"]).await;
    assert_eq!(listed.out, "fix  removed, its work is kept  tau worktree restore fix\n");
    refused(&home, &["remove", "fix"], "no worktrees of tau").await;
    // Another one of this name does not replace what is kept.
    assert_eq!(worktree(&home, &["add", "fix"]).await.code, 0);
    std::fs::write(folder(home.dir.path(), "fix").join("file"), "another\n").unwrap();
    let again = worktree(&home, &["remove", "fix"]).await;
    assert!(again.out.contains("restore fix-2`"), "{}", again.out);
    let restored = worktree(&home, &["restore", "fix"]).await;
    assert_eq!((restored.code, Path::new(restored.out.trim_end())), (0, path.as_path()), "{}", restored.err);
    assert!(is_as_left(&path));
    script(
        &home,
        "cd \"$HOME\"/tau-worktrees/*/fix; test \"$(git branch --show-current)\" = tau/fix
        test \"$(git status --porcelain)\" = \"$(printf ' M file\\n D sub/x\\n?? sub/new')\"",
    )
    .await;
    refused(&home, &["restore", "fix"], "no removed worktree is kept as \"fix\", but fix-2").await;
}

#[tokio::test]
async fn what_cannot_be_kept_or_merged_is_refused() {
    let home = Home::new(Vec::new()).await;
    script(&home, REPOSITORY).await;
    let path = PathBuf::from(worktree(&home, &["add", "fix"]).await.out.trim_end());
    script(
        &home,
        "cd \"$HOME\"/tau-worktrees/*/fix; git init -q nested; cd nested; git commit -q --allow-empty -m x",
    )
    .await;
    refused(&home, &["remove", "fix"], "nested/ is a repository of its own, whose files would be lost").await;
    refused(&home, &["merge", "fix"], "nested/ is a repository of its own").await;
    assert!(path.join("nested/.git").exists());
    std::fs::remove_dir_all(path.join("nested")).unwrap();
    // A file that the user has changed is not overwritten.
    std::fs::write(path.join("file"), "theirs\n").unwrap();
    script(&home, "echo mine >file").await;
    let said = "cannot merge fix into main: Your local changes to the following files would be overwritten by merge: file; nothing";
    refused(&home, &["merge", "fix"], said).await;
    let work = home.dir.path().join("work");
    assert_eq!(
        (text(&work.join("file")).as_str(), text(&path.join("file")).as_str()),
        ("mine\n", "theirs\n")
    );
    script(&home, "git checkout -q file; git checkout -q --detach").await;
    refused(&home, &["merge", "fix"], "no branch is checked out in ").await;
    script(
        &home,
        "git checkout -q main; git checkout -qb other; echo b >file; git commit -qam b
        git checkout -q main; echo a >file; git commit -qam a; git merge other >/dev/null || true",
    )
    .await;
    refused(&home, &["merge", "fix"], "has not ended").await;
    script(&home, "git merge --abort; git reset -q --hard HEAD^").await;
    script(
        &home,
        "cd \"$HOME\"/tau-worktrees/*/fix; git stash -q; echo two >file; git commit -qam two
        git stash pop >/dev/null 2>&1 || true",
    )
    .await;
    refused(&home, &["merge", "fix"], "a merge or rebase in the worktree has not ended").await;
    script(
        &home,
        "cd \"$HOME\"/tau-worktrees/*/fix; git reset -q --hard HEAD^; git checkout -q stash@{0} -- file
        git reset -q; git stash drop -q; git commit -qam kept",
    )
    .await;
    // Its folder is gone: the list says so, and the name makes it again on its branch.
    std::fs::remove_dir_all(&path).unwrap();
    let listed = worktree(&home, &["list"]).await;
    assert!(
        listed.out.starts_with("fix  its folder is missing; the branch tau/fix stays  "),
        "{}",
        listed.out
    );
    let again = worktree(&home, &["add", "fix"]).await;
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(text(&path.join("file")), "theirs\n");
    // A `.git` that leads elsewhere is not followed.
    script(
        &home,
        "git init -q \"$HOME/elsewhere\"; cd \"$HOME\"/tau-worktrees/*/fix
        echo \"gitdir: $HOME/elsewhere/.git\" >.git",
    )
    .await;
    refused(&home, &["remove", "fix"], "belongs to another repository now").await;
    assert_eq!(text(&path.join("file")), "theirs\n");
}

#[tokio::test]
async fn a_worktree_is_made_once_and_as_a_whole() {
    let home = Home::new(Vec::new()).await;
    script(&home, REPOSITORY).await;
    let [one, other] = [&["add", "both"], &["add", "both"]].map(|arguments| worktree(&home, arguments));
    let (one, other) = tokio::join!(one, other);
    assert_eq!((one.code, other.code, &one.out), (0, 0, &other.out), "{}{}", one.err, other.err);
    assert!(worktree(&home, &["list"]).await.out.starts_with("both  nothing of its own  "));
    // As if git had been killed while it made it: without an index, the files that are missing count as removed.
    let cut = "cd \"$HOME\"/tau-worktrees/*/both; dir=$(git rev-parse --git-dir); rm \"$dir/index\" file
        printf initializing >\"$dir/locked\"";
    script(&home, cut).await;
    refused(&home, &["merge", "both"], "both is not checked out completely; `tau worktree add both`").await;
    let again = worktree(&home, &["add", "both"]).await;
    assert_eq!(text(&Path::new(again.out.trim_end()).join("file")), "one\n", "{}", again.err);
    let merged = worktree(&home, &["merge", "both"]).await;
    assert_eq!(
        (merged.code, text(&home.dir.path().join("work/file"))),
        (0, "one\n".into()),
        "{}",
        merged.err
    );
    let path = PathBuf::from(worktree(&home, &["add", "both"]).await.out.trim_end());
    script(&home, cut).await;
    let removed = worktree(&home, &["remove", "both"]).await;
    assert_eq!((removed.code, path.exists()), (0, false), "{}", removed.err);
    assert_eq!(worktree(&home, &["list"]).await.out, "");
}

#[tokio::test]
async fn settings_and_marks_of_git_lose_nothing() {
    let home = Home::new(Vec::new()).await;
    script(&home, REPOSITORY).await;
    let path = PathBuf::from(worktree(&home, &["add", "fix"]).await.out.trim_end());
    let inside = "cd \"$HOME\"/tau-worktrees/*/fix";
    script(&home, &format!("{inside}; git worktree lock --reason busy .")).await;
    for command in ["merge", "remove"] {
        refused(&home, &[command, "fix"], "fix is locked: busy; `git worktree unlock ").await;
    }
    script(&home, &format!("{inside}; git worktree unlock .; test -z \"$(git for-each-ref refs/tau)\""))
        .await;
    // A stash of a changed file would conflict after the merge.
    std::fs::write(path.join("file"), "theirs\n").unwrap();
    script(&home, "git config merge.autoStash true; echo mine >file").await;
    refused(&home, &["merge", "fix"], "Your local changes to the following files would be overwritten").await;
    assert_eq!(text(&home.dir.path().join("work/file")), "mine\n");
    // Git does not look at files with these marks.
    let marks = "git checkout file; git update-index --skip-worktree file; echo precious >file
        git update-index --assume-unchanged sub/x; echo dear >sub/x";
    script(&home, &format!("{inside}; {marks}; test -z \"$(git status --short)\"")).await;
    assert!(worktree(&home, &["list"]).await.out.starts_with("fix  0 commits, 2 changes  "));
    let removed = worktree(&home, &["remove", "fix"]).await;
    assert!(
        removed.out.starts_with("removed fix; `tau worktree restore fix`"),
        "{}{}",
        removed.out,
        removed.err
    );
    assert_eq!(worktree(&home, &["restore", "fix"]).await.code, 0);
    assert_eq!([text(&path.join("file")), text(&path.join("sub/x"))], ["precious\n", "dear\n"]);
    // A file outside of a sparse checkout.
    let sparse = "git checkout -q .; git sparse-checkout set sub; mkdir out; echo new >out/new";
    script(&home, &format!("git checkout -q file; {inside}; {sparse}")).await;
    assert_eq!(worktree(&home, &["merge", "fix"]).await.err, "");
    let work = home.dir.path().join("work");
    assert_eq!([text(&work.join("out/new")), text(&work.join("file"))], ["new\n", "one\n"]);
}

#[tokio::test]
async fn a_worktree_needs_a_repository_a_commit_a_name_and_no_programs() {
    let home = Home::new(Vec::new()).await;
    let not_begun = async |arguments: &[&str], why: &str| {
        let ended = tau(&home, arguments).await;
        assert_eq!(ended.code, 3, "{}", ended.err);
        assert!(ended.err.contains(why), "{}", ended.err);
    };
    not_begun(&["-p", "-w", "fix", "--", "go"], "cannot make a worktree: not a git repository").await;
    script(&home, "git init -q").await;
    not_begun(&["-p", "-w", "fix", "--", "go"], "the repository has no commit yet").await;
    script(&home, &REPOSITORY["git init -q; ".len()..]).await;
    for name in ["../out", "--force", "a..b", "a\u{1b}[2J", "x.lock", "a/b"] {
        not_begun(&["-p", &format!("--worktree={name}"), "go"], "cannot name a worktree").await;
    }
    refused(&home, &["add", "fix", "--from=--upload-pack=x"], "there is no commit").await;
    script(&home, "git branch old; echo two >file; git commit -qam two").await;
    let added = worktree(&home, &["add", "old", "--from", "old"]).await;
    assert_eq!(text(&Path::new(added.out.trim_end()).join("file")), "one\n", "{}", added.err);
    refused(&home, &["add", "old", "--from", "main"], "there is a worktree old already").await;
    script(
        &home,
        "git config filter.x.smudge 'touch \"$HOME/ran\"'; echo 'file filter=x' >.git/info/attributes",
    )
    .await;
    not_begun(&["-p", "-w", "fix", "--", "go"], "git may run what filter.x.smudge in ").await;
    refused(&home, &["remove", "old"], "git may run what filter.x.smudge in ").await;
    assert!(!home.dir.path().join("ran").exists());
    assert_eq!(home.server.requests().len(), 0);
}

#[tokio::test]
async fn trust_in_a_project_counts_in_its_worktrees_while_they_are_the_same() {
    let home = Home::new(vec![says("One."), says("Two."), says("Three.")]).await;
    script(
        &home,
        &format!(
            "{REPOSITORY}; mkdir .tau; echo 'Speak of foxes.' >.tau/SYSTEM.md
        echo 'thinking = \"off\"' >.tau/config.local.toml; echo config.local.toml >.tau/.gitignore
        git add .tau; git commit -qm settings"
        ),
    )
    .await;
    let foxes = |request: usize| home.server.requests()[request].contains("Speak of foxes.");
    assert_eq!(tau(&home, &["-p", "-w", "one", "--", "go"]).await.code, 0);
    assert!(!foxes(0), "nobody has trusted it");
    let root = home.dir.path().join("work").canonicalize().unwrap();
    let files = json!({
        "SYSTEM.md": "Speak of foxes.\n",
        "config.local.toml": "thinking = \"off\"\n",
    });
    let trusted = json!({ "trusted": { root.to_str().unwrap(): files }, "refused": [] });
    std::fs::write(home.dir.path().join("tau/trust.json"), trusted.to_string()).unwrap();
    let ended = tau(&home, &["-p", "-w", "one", "--", "go"]).await;
    assert!(foxes(1), "{}", ended.err);
    std::fs::write(folder(home.dir.path(), "one").join(".tau/SYSTEM.md"), "Speak of foxes. Speak of owls.")
        .unwrap();
    let ended = tau(&home, &["-p", "-w", "one", "--", "go"]).await;
    assert!(!foxes(2) && ended.err.contains("this directory is not trusted"), "{}", ended.err);
}

#[tokio::test]
async fn a_session_in_the_background_has_its_worktree() {
    let nap = rare_sleep();
    let slow = bash(&format!("echo two >file; touch begun; sleep {nap}"));
    let home = Home::new(vec![bash("echo two >file"), says("Made."), says("Again."), slow]).await;
    script(&home, REPOSITORY).await;
    let first = tau(&home, &["-b", "-w", "fix", "make it"]).await;
    let id = first.out.trim();
    assert!(first.code == 0 && !id.is_empty(), "{}{}", first.out, first.err);
    let waited = subcommand(&home, &["wait", id]).await;
    assert_eq!(waited.code, 0, "{}", waited.err);
    let work = home.dir.path().join("work");
    assert_eq!(text(&work.join("file")), "one\n");
    assert_eq!(text(&folder(home.dir.path(), "fix").join("file")), "two\n");
    // The session is one of the worktree: it continues there, and is listed with it.
    let since = std::time::Instant::now();
    let again = loop {
        let again = tau(&home, &["-p", "-w", "fix", "--continue", "again"]).await;
        // Its process may still be ending.
        if !again.err.contains("in use by another tau") || since.elapsed() > crate::time_limit::SOON {
            break again;
        }
    };
    assert_eq!((again.code, again.out.as_str()), (0, "Again.\n"), "{}", again.err);
    assert!(home.server.requests()[2].contains("make it"));
    // While it works it is in use, and what it did can be merged when it has ended.
    let second = tau(&home, &["-b", "--worktree=fix", "--continue", "and now"]).await;
    assert_eq!((second.code, second.out.trim()), (0, id), "{}", second.err);
    let begun = folder(home.dir.path(), "fix").join("begun");
    let since = std::time::Instant::now();
    while !begun.exists() {
        assert!(since.elapsed() < crate::time_limit::SOON, "it does not begin");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    refused(&home, &["merge", "fix"], "a session works in fix: end it first").await;
    assert_eq!(subcommand(&home, &["stop", id]).await.code, 0);
    assert_eq!(subcommand(&home, &["wait", id]).await.code, 130);
    gone(&nap).await;
    // Its process has ended, too.
    let merged = worktree(&home, &["merge", "fix"]).await;
    assert_eq!(merged.code, 0, "{}", merged.err);
    assert_eq!(text(&work.join("file")), "two\n");
    // Without a name it gets one.
    let home = Home::new(vec![says("Made.")]).await;
    script(&home, REPOSITORY).await;
    let named = tau(&home, &["-b", "-w", "--", "make it"]).await;
    assert_eq!(subcommand(&home, &["wait", named.out.trim()]).await.code, 0, "{}", named.err);
    assert_eq!(worktree(&home, &["list"]).await.out.lines().count(), 1);
}

/// Removing everything that tau has written includes worktrees, which git then forgets.
#[tokio::test(flavor = "multi_thread")]
async fn worktrees_are_among_what_is_removed_with_tau() {
    let home = Home::new(vec![says("Made.")]).await;
    script(&home, REPOSITORY).await;
    assert_eq!(tau(&home, &["-w=fix", "-p", "make it"]).await.code, 0);
    let folder = folder(home.dir.path(), "fix");
    assert!(folder.is_dir(), "{folder:?}");
    let mut command = bare(home.dir.path());
    command.args(["uninstall", "--purge", "--yes"]).env("TAU_HOME", home.dir.path().join("tau"));
    let ended =
        run(command.env("TMPDIR", home.dir.path()).current_dir(home.dir.path().join("work")), None).await;
    assert!(ended.code == 0 && ended.out.contains("with uncommitted work"), "{ended:?}");
    assert!(!folder.exists(), "{ended:?}");
    script(&home, "test $(git worktree list | wc -l) = 1; git rev-parse -q --verify tau/fix").await;
}

/// `/worktree` opens the list.
pub(crate) fn list_opens(typed: &str) {
    let screen = Screen::prepared(&format!("{GIT}; {REPOSITORY}"), "--model demo", 100, 24);
    screen.type_keys(&format!("{typed}\r"));
    screen.wait_for("no worktrees; /worktree NAME makes one");
    screen.type_keys("\x1b");
    screen.wait_until("no list", |cells| !cells.contents().contains("no worktrees"));
    screen.type_keys(&format!("{typed} fix\r"));
    screen.wait_for("you are in the worktree fix now");
    screen.wait_for("work [fix] (tau/fix");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_moves_to_a_worktree_and_back_with_what_it_did() {
    let acts = vec![
        saying("First."),
        calls("bash", &json!({ "command": "echo two >file; echo in $(basename \"$PWD\")" })),
        saying("Second."),
        saying("Third."),
    ];
    let prepared: &'static str = format!("{GIT}; {REPOSITORY}").leak();
    let requests = play(acts, prepared, "--permission-mode auto", (100, 30), |screen| {
        screen.type_keys("one\r");
        screen.wait_for("First.");
        screen.wait_until("the end of the run", |cells| !cells.contents().contains("esc stops"));
        screen.type_keys("/worktree fix\r");
        screen.wait_for("you are in the worktree fix now, in a copy of the session");
        screen.wait_for("work [fix] (tau/fix");
        crate::time_limit::until(
            crate::time_limit::SOON,
            || String::from_utf8_lossy(&screen.bytes()).contains("tau · [fix] one"),
            || "no title".to_owned(),
        );
        screen.type_keys("two\r");
        screen.wait_for("Second.");
        assert_eq!(text(&screen.home().join("work/file")), "one\n");
        assert_eq!(text(&folder(screen.home(), "fix").join("file")), "two\n");
        // It is in use, for others.
        let other = std::process::Command::new(env!("CARGO_BIN_EXE_tau"))
            .args(["worktree", "remove", "fix"])
            .env("HOME", screen.home())
            .env("TAU_HOME", screen.tau_home())
            .current_dir(screen.home().join("work"))
            .output_in_time();
        let err = String::from_utf8_lossy(&other.stderr).into_owned();
        assert!(err.contains("a session works in fix: end it first"), "{err}");
        screen.type_keys("/board\r");
        screen.wait_for("work [fix] · here");
        screen.type_keys("q");
        screen.wait_until("no board", |cells| !cells.contents().contains("┌ Sessions"));
        screen.type_keys("/worktree\r");
        screen.wait_for("fix · here");
        screen.wait_for("0 commits, 1 change");
        screen.type_keys("m");
        screen.wait_for("merged fix into main, and removed it");
        screen.wait_for(&format!("you are in {} now", screen.home().join("work").display()));
        screen.wait_for("~/work (main");
        assert_eq!(text(&screen.home().join("work/file")), "two\n");
        screen.type_keys("three\r");
        screen.wait_for("Third.");
    })
    .await;
    assert!(requests[3].contains("in fix") && requests[3].contains("three"), "{}", requests[3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_goes_back_to_the_session_of_a_worktree_and_removes_and_restores_it() {
    let acts = vec![saying("First."), saying("Second.")];
    let prepared: &'static str = format!("{GIT}; {REPOSITORY}").leak();
    play(acts, prepared, "--permission-mode auto", (100, 30), |screen| {
        screen.type_keys("/worktree fix\r");
        screen.wait_for("work [fix] (tau/fix");
        screen.type_keys("two\r");
        screen.wait_for("First.");
        screen.type_keys("/worktree\r");
        screen.wait_for("fix · here");
        screen.type_keys("x");
        screen.wait_for("removed fix, which had no work of its own");
        screen.wait_for("~/work (main");
        screen.type_keys("/worktree a\r");
        screen.wait_for("work [a] (tau/a");
        screen.type_keys("again\r");
        screen.wait_for("Second.");
        let folder = folder(screen.home(), "a");
        std::fs::write(folder.join("file"), "changed\n").unwrap();
        screen.type_keys("/worktree\r");
        screen.wait_for("a · here");
        screen.type_keys("x");
        screen.wait_for("`tau worktree restore a` brings it back");
        screen.wait_for("~/work (main");
        assert!(!folder.exists());
        screen.type_keys("/worktree\r");
        screen.wait_for("removed, its work is kept");
        screen.type_keys("\r");
        screen.wait_for("restored a");
        assert_eq!(text(&folder.join("file")), "changed\n");
        screen.wait_for("0 commits, 1 change");
        screen.type_keys("\r");
        screen.wait_for("you are in the worktree a now");
        screen.wait_for("Second.");
    })
    .await;
}

/// A worktree has no folder without files, and none that git ignores.
#[tokio::test]
async fn a_new_folder_is_made_in_a_worktree_and_an_ignored_one_is_refused() {
    let home = Home::new(vec![calls("bash", &json!({ "command": "pwd >out" })), says("Done.")]).await;
    script(&home, REPOSITORY).await;
    script(&home, "mkdir new play; echo play >>.gitignore").await;
    let ended = tau(&home, &["-C", "play", "-p", "-w", "fix", "--", "go"]).await;
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(
        ended.err.contains("git ignores play, so a copy of the repository does not have it"),
        "{}",
        ended.err
    );
    let auto = ["-C", "new", "--permission-mode", "auto", "-p", "-w", "fix", "--", "go"];
    let ended = tau(&home, &auto).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(text(&folder(home.dir.path(), "fix").join("new/out")).ends_with("/fix/new\n"));
}
