//! Worktrees whose folder is gone, and those of a repository that was moved.

use std::path::Path;

use super::{Home, REPOSITORY, folder, refused, script, subcommand, tau, text, worktree};
use crate::support::program::{bare, run, stalls};

#[tokio::test]
async fn a_worktree_without_its_folder_keeps_its_branch() {
    let home = Home::new(Vec::new()).await;
    script(&home, REPOSITORY).await;
    assert_eq!(worktree(&home, &["add", "fix"]).await.code, 0);
    let path = folder(home.dir.path(), "fix");
    script(&home, "cd \"$HOME\"/tau-worktrees/*/fix; echo two >file; git commit -qam two").await;
    std::fs::remove_dir_all(&path).unwrap();
    let why = "its folder is missing; the branch tau/fix stays; `tau worktree add fix` checks it out";
    refused(&home, &["merge", "fix"], why).await;
    let removed = worktree(&home, &["remove", "fix"]).await;
    let said = "removed fix; its branch tau/fix stays: `tau worktree add fix` checks it out\n";
    assert_eq!((removed.code, removed.out.as_str()), (0, said), "{}", removed.err);
    assert_eq!(worktree(&home, &["list"]).await.out, "");
    assert_eq!(worktree(&home, &["add", "fix"]).await.code, 0);
    assert_eq!(text(&path.join("file")), "two\n");
}

#[tokio::test]
async fn the_worktrees_of_a_moved_repository_are_still_its_own() {
    let home = Home::new(Vec::new()).await;
    script(&home, REPOSITORY).await;
    assert_eq!(worktree(&home, &["add", "fix"]).await.code, 0);
    let path = folder(home.dir.path(), "fix");
    std::fs::write(path.join("file"), "two\n").unwrap();
    script(
        &home,
        "mv \"$HOME/work\" \"$HOME/moved\"; mkdir \"$HOME/work\"; cd \"$HOME/moved\"; git worktree repair
        git init -q \"$HOME/other\"; cp -r .git/worktrees \"$HOME/other/.git\"",
    )
    .await;
    let within = async |dir: &str, words: &str| {
        let mut command = bare(home.dir.path());
        command.arg("worktree").args(words.split(' ')).env("TAU_HOME", home.dir.path().join("tau"));
        run(command.current_dir(home.dir.path().join(dir)), None).await
    };
    assert_eq!(within("other", "list").await.out, "", "a repository that only names it");
    let listed = within("moved", "list").await;
    assert!(listed.out.starts_with("fix  0 commits, 1 change  "), "{}{}", listed.out, listed.err);
    let again = within("moved", "add fix").await;
    let real = path.canonicalize().unwrap();
    assert_eq!((again.code, Path::new(again.out.trim_end())), (0, real.as_path()), "{}", again.err);
    let merged = within("moved", "merge fix").await;
    let file = text(&home.dir.path().join("moved/file"));
    assert_eq!((merged.code, file.as_str()), (0, "two\n"), "{}", merged.err);
    assert_eq!(within("moved", "list").await.out, "");
}

/// Its commits were in the repository that is gone; its files are not.
#[tokio::test]
async fn a_worktree_of_a_repository_that_was_cloned_again_keeps_its_files() {
    let home = Home::new(Vec::new()).await;
    script(&home, REPOSITORY).await;
    script(&home, "git clone -q . \"$HOME/origin\"").await;
    let again = "cd \"$HOME\"; find work -mindepth 1 -delete; git clone -q origin work";
    for number in 1..=2 {
        assert_eq!(worktree(&home, &["add", "fix"]).await.code, 0);
        let path = folder(home.dir.path(), "fix").canonicalize().unwrap();
        std::fs::write(path.join("new"), number.to_string()).unwrap();
        script(&home, again).await;
        let why = "is another one, as after a new clone; `tau worktree remove fix` takes it off the list and keeps \
                   its files";
        for arguments in [["add", "fix"], ["merge", "fix"]] {
            refused(&home, &arguments, why).await;
        }
        let entered = tau(&home, &["-p", "-w", "fix", "go"]).await;
        assert!(entered.code == 3 && entered.err.contains(why), "{}", entered.err);
        let listed = worktree(&home, &["list"]).await;
        assert!(listed.out.contains("is another one"), "{}{}", listed.out, listed.err);
        let removed = worktree(&home, &["remove", "fix"]).await;
        let kept = path.with_file_name(if number == 1 { "fix~" } else { "fix~2" });
        let said = format!("its files are in {}", kept.display());
        assert!(removed.code == 0 && removed.out.contains(&said), "{}{}", removed.out, removed.err);
        assert_eq!((text(&kept.join("new")), path.exists()), (number.to_string(), false));
        assert_eq!(worktree(&home, &["list"]).await.out, "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worktree_is_removed_right_after_its_session_was_stopped() {
    let home = Home::new(vec![stalls("I think")]).await;
    script(&home, REPOSITORY).await;
    let begun = tau(&home, &["-b", "-w", "fix", "go"]).await;
    assert_eq!(begun.code, 0, "{}", begun.err);
    let asked = || !home.server.requests().is_empty();
    crate::time_limit::until(crate::time_limit::SOON, asked, || "no request".to_owned());
    let stopped = subcommand(&home, &["stop", begun.out.trim()]).await;
    assert_eq!(stopped.code, 0, "{}", stopped.err);
    let removed = worktree(&home, &["remove", "fix"]).await;
    assert_eq!(removed.code, 0, "{}", removed.err);
}
