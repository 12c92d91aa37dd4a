//! Worktrees whose folder is gone, and those of a repository that was moved.

use std::path::Path;

use super::{Home, REPOSITORY, folder, refused, script, text, worktree};
use crate::support::program::{bare, run};

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
