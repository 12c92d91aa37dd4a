//! Files of the user that a merge would replace although they are not in the repository.

use super::{Home, REPOSITORY, refused, script, text, worktree};

#[tokio::test]
async fn a_merge_replaces_no_file_that_is_not_committed() {
    let home = Home::new(Vec::new()).await;
    script(&home, REPOSITORY).await;
    let work = home.dir.path().join("work");
    let inside = "cd \"$HOME\"/tau-worktrees/*/fix";
    // Each is ignored here, and committed in the worktree.
    for (own, theirs, path) in [
        (".env", "echo '# nothing' >.gitignore", ".env"),
        ("log", "mkdir log; echo theirs >log/a; git add -f log/a", "log"),
        ("log/mine", "echo theirs >log; git add -f log", "log/mine"),
        ("sub/log", "git rm -qr sub; echo theirs >sub", "sub/log"),
    ] {
        assert_eq!(worktree(&home, &["add", "fix"]).await.code, 0);
        script(&home, "rm -rf log; test ! -e log").await;
        script(&home, &format!("mkdir -p $(dirname {own}); echo mine >{own}")).await;
        script(&home, &format!("{inside}; {theirs}; git add -A; git commit -qm theirs")).await;
        let why = format!("cannot merge fix into main: it would replace your own {path}, which is not");
        refused(&home, &["merge", "fix"], &why).await;
        assert_eq!(text(&work.join(own)), "mine\n", "{own}");
        script(&home, &format!("test $(git rev-list --count HEAD) = 1; rm {own}; echo secret >.env")).await;
        assert_eq!(worktree(&home, &["remove", "fix"]).await.code, 0);
    }
    // The same content is no loss, and a file that was removed only here from the repository does not come back.
    assert_eq!(worktree(&home, &["add", "fix"]).await.code, 0);
    script(&home, "git rm -q --cached file; git commit -qm less; echo mine >file").await;
    script(&home, &format!("{inside}; echo '# nothing' >.gitignore; git add -A; git commit -qm theirs"))
        .await;
    let merged = worktree(&home, &["merge", "fix"]).await;
    assert_eq!(merged.code, 0, "{}", merged.err);
    assert_eq!([text(&work.join(".env")), text(&work.join("file"))], ["secret\n", "mine\n"]);
}
