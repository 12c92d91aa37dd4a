//! Files that are staged in a worktree and differ from the others.

use super::{Home, REPOSITORY, script, worktree};

#[tokio::test]
async fn what_is_only_staged_is_kept_and_staged_again() {
    let home = Home::new(Vec::new()).await;
    script(&home, REPOSITORY).await;
    assert_eq!(worktree(&home, &["add", "fix"]).await.code, 0);
    script(
        &home,
        "cd \"$HOME\"/tau-worktrees/*/fix; echo staged >file; git add file; git show HEAD:file >file
        echo gone >only-staged; git add only-staged; rm only-staged
        echo half >sub/new; git add sub/new; echo whole >sub/new",
    )
    .await;
    let removed = worktree(&home, &["remove", "fix"]).await;
    assert!(
        removed.out.starts_with("removed fix; `tau worktree restore fix` brings it back"),
        "{}",
        removed.out
    );
    // It is in the repository meanwhile.
    script(
        &home,
        "test \"$(git show refs/tau/worktrees/fix/staged:only-staged)\" = gone; git gc -q --prune=now",
    )
    .await;
    let restored = worktree(&home, &["restore", "fix"]).await;
    assert_eq!(restored.code, 0, "{}", restored.err);
    script(
        &home,
        "cd \"$HOME\"/tau-worktrees/*/fix
        test \"$(git status --porcelain)\" = \"$(printf 'MM file\\nAD only-staged\\nAM sub/new')\"
        test \"$(git show :file) $(git show :only-staged) $(git show :sub/new)\" = 'staged gone half'
        test \"$(cat sub/new)\" = whole; test -z \"$(git for-each-ref refs/tau)\"",
    )
    .await;
    // Conflicts that are not resolved have no tree: the files are kept as they are.
    script(
        &home,
        "cd \"$HOME\"/tau-worktrees/*/fix; git add -A; git commit -qm mine; git checkout -q -b other HEAD~
        echo theirs >sub/new; git add -A; git commit -qm theirs; git checkout -q tau/fix
        ! git merge -q other; git ls-files --unmerged | grep -q sub/new; git branch -qD other || true",
    )
    .await;
    let removed = worktree(&home, &["remove", "fix"]).await;
    assert_eq!(removed.code, 0, "{}", removed.err);
    let conflict = "git show refs/tau/worktrees/fix/files:sub/new | grep -q '<<<<<<<'";
    script(&home, conflict).await;
}

#[tokio::test]
async fn a_staged_version_that_is_not_merged_is_kept() {
    let home = Home::new(Vec::new()).await;
    script(&home, REPOSITORY).await;
    assert_eq!(worktree(&home, &["add", "fix"]).await.code, 0);
    script(
        &home,
        "cd \"$HOME\"/tau-worktrees/*/fix; echo staged >file; git add file; echo whole >file
        echo same >sub/new; git add sub/new",
    )
    .await;
    // The references cannot be written.
    script(&home, "echo >.git/refs/tau").await;
    let merged = worktree(&home, &["merge", "fix"]).await;
    assert_eq!(merged.code, 3, "{}", merged.out);
    assert!(merged.err.contains("merged fix into main, but could not remove it: "), "{}", merged.err);
    script(&home, "test \"$(cat file)\" = whole; cat \"$HOME\"/tau-worktrees/*/fix/file; rm .git/refs/tau")
        .await;
    let merged = worktree(&home, &["merge", "fix"]).await;
    let kept = "kept: the staged version of file (`tau worktree restore fix`)";
    assert!(merged.code == 0 && merged.out.contains(kept), "{}{}", merged.out, merged.err);
    script(&home, "test \"$(cat file sub/new)\" = \"$(printf 'whole\\nsame')\"; git gc -q --prune=now").await;
    assert_eq!(worktree(&home, &["restore", "fix"]).await.code, 0);
    script(
        &home,
        "cd \"$HOME\"/tau-worktrees/*/fix; test \"$(git show :file)\" = staged; git checkout -q -f",
    )
    .await;
    // Nothing is kept of one without such a version.
    let merged = worktree(&home, &["merge", "fix"]).await;
    assert!(merged.code == 0 && !merged.out.contains("kept"), "{}{}", merged.out, merged.err);
}
