//! Files that a command plants in a repository so that git runs them later, outside of the sandbox: every
//! such plan works without the sandbox, and fails with it. Ordinary work with git is unaffected.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Place, has_mounts, has_program, text};
use crate::time_limit::RunInTime;

pub(super) const WRITE: &[&str] = &["--sandbox", "workspace-write"];

/// A repository with a commit.
pub(super) fn repository() -> Place {
    let place = Place::new();
    user(
        &place,
        "rm -r .git; git init -q -b main .; git config user.name x; git config user.email x@x; \
         echo one >a; git add a; git commit -qm one; echo two >>a; git commit -qam two",
    );
    place
}

/// The user runs a script outside of the sandbox; returns its output.
pub(super) fn user(place: &Place, script: &str) -> String {
    let mut bash = Command::new("bash");
    bash.args(["-c", script]).current_dir(&place.work).env("HOME", &place.home).env("OUT", &place.outside);
    bash.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = bash.output_in_time();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Scripts, each run as a separate command, after which the user's `git status` runs `canary`.
const PLANTED: &[&[&str]] = &[
    // A submodule with a configuration of its own,
    &["git init -q sub; cd sub; git commit -q --allow-empty -m x; EVIL; cd ..; LINK"],
    // in two steps, in both orders,
    &["git init -q sub; cd sub; git commit -q --allow-empty -m x; cd ..; LINK", "cd sub; EVIL"],
    &[
        "git init -q s2; cd s2; git commit -q --allow-empty -m x; EVIL; cd ..; git update-index --add \
       --cacheinfo 160000,$(git -C s2 rev-parse HEAD),sub",
        "mv s2 sub",
    ],
    // with a repository elsewhere,
    &["git init -q x; cd x; git commit -q --allow-empty -m x; EVIL; cd ..; mkdir sub; \
       echo 'gitdir: ../x/.git' >sub/.git; LINK"],
    &[
        "git init -q x; cd x; git commit -q --allow-empty -m x; EVIL; cd ..; mkdir sub; ln -s ../x/.git sub/.git; LINK",
    ],
    // with an index that is split or locked,
    &[
        "git init -q sub; cd sub; git commit -q --allow-empty -m x; EVIL; cd ..; LINK; git update-index --split-index",
    ],
    &[
        "git init -q sub; cd sub; git commit -q --allow-empty -m x; EVIL; cd ..; LINK; touch .git/index.lock; \
       (sleep 0.2; rm -f .git/index.lock) & ",
    ],
    // further down, in one that is plain,
    &["git init -q sub; cd sub; git init -q in; cd in; git commit -q --allow-empty -m x; EVIL; cd ..; \
       git update-index --add --cacheinfo 160000,$(git -C in rev-parse HEAD),in; git commit -qm x; cd ..; LINK"],
    // by a configuration that is included,
    &[
        "git init -q sub; cd sub; git commit -q --allow-empty -m x; printf '[core]\\nfsmonitor=\"touch %s/canary;false\"\\n' $OUT >.git/c; \
       git config include.path c; cd ..; LINK",
    ],
    // and by the modules of the repository itself.
    &[
        "mkdir sub; git init -q --separate-git-dir .git/modules/sub sub; cd sub; git commit -q --allow-empty -m x; EVIL; \
       cd ..; LINK",
    ],
    // In a working tree that the command adds,
    &[
        "git worktree add -q wt; cd wt; git init -q sub; cd sub; git commit -q --allow-empty -m x; EVIL; cd ..; LINK",
    ],
    // in one that is there,
    &[
        "git worktree add -q wt",
        "cd wt; git init -q sub; cd sub; git commit -q --allow-empty -m x; EVIL; cd ..; LINK",
    ],
    // and in one that has a plain one.
    &[
        "git worktree add -q wt; cd wt; git init -q sub; cd sub; git commit -q --allow-empty -m x; cd ..; LINK",
        "cd wt/sub; EVIL",
    ],
    // Behind a link, which is replaced by the folder.
    &[
        "mkdir d; git init -q d/sub; git -C d/sub commit -q --allow-empty -m x; ln -s d l; git update-index --add \
       --cacheinfo 160000,$(git -C d/sub rev-parse HEAD),l/sub",
        "rm l; mv d l; cd l/sub; EVIL",
    ],
    // That only a commit names: the one that is checked out,
    &[
        "git init -q sub; cd sub; git commit -q --allow-empty -m x; EVIL; cd ..; LINK; git commit -qm s; git rm -q --cached sub",
    ],
    &[
        "git init -q sub; cd sub; git commit -q --allow-empty -m x; cd ..; LINK; git commit -qm s; git rm -q --cached sub",
        "cd sub; EVIL",
    ],
    // one of another branch, further down,
    &[
        "git init -q d/sub; cd d/sub; git commit -q --allow-empty -m x; EVIL; cd ../..; git checkout -q -b ev; \
       git update-index --add --cacheinfo 160000,$(git -C d/sub rev-parse HEAD),d/sub; git commit -qm s; git checkout -q main",
    ],
    // one that only a tag names,
    &["git init -q sub; cd sub; git commit -q --allow-empty -m x; EVIL; cd ..; LINK; \
       git tag ev $(git commit-tree -p HEAD -m s $(git write-tree)); git reset -q"],
    // and with a hook, in a repository that got its name later.
    &[
        "git init -q x; cd x; git commit -q --allow-empty -m x; mv .git g; printf '#!/bin/sh\\ntouch %s/canary' $OUT \
       >g/hooks/post-index-change; chmod +x g/hooks/post-index-change",
        "mv x sub; mv sub/g sub/.git; echo >sub/x; git -C sub add x; rm $OUT/canary; LINK; git commit -qm s; \
       git rm -q --cached sub",
    ],
];

pub(super) fn expanded(script: &str) -> String {
    let evil = "git config core.fsmonitor \"touch $OUT/canary;false\"";
    let link = "git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub";
    let names = "export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@x";
    format!("{names}; {}", script.replace("EVIL", evil).replace("LINK", link))
}

pub(super) fn canary(place: &Place) -> bool {
    user(
        place,
        "rm -f $OUT/canary; git status; git diff; sleep 0.05; git status --short; git -C wt status; \
         git reset -q --hard; git status; git checkout -q ev; touch sub/x; git status; git diff",
    );
    place.outside.join("canary").exists()
}

#[test]
fn a_planted_submodule_runs_nothing() {
    needs!(has_mounts() && has_program("git"));
    for scripts in PLANTED {
        let place = repository();
        for script in *scripts {
            place.script(&["--sandbox", "off"], &expanded(script));
        }
        assert!(canary(&place), "does not work unconfined: {scripts:?}");

        let place = repository();
        let said: String =
            scripts.iter().map(|script| text(&place.script(WRITE, &expanded(script)).stderr)).collect();
        assert!(!canary(&place), "{scripts:?}: {said}");
        assert!(
            ["blocked", "Read-only", "busy"].iter().any(|word| said.contains(word)),
            "nothing is said: {scripts:?}: {said}"
        );
    }
}

#[test]
fn the_gitlink_of_a_planted_submodule_is_taken_out_again() {
    needs!(has_mounts() && has_program("git"));
    let place = repository();
    let said = text(&place.script(WRITE, &expanded(PLANTED[0][0])).stderr);
    assert!(said.contains("the sandbox blocked writing") && said.contains("sub/.git"), "{said}");
    let index = user(&place, "git ls-files --stage");
    assert!(index.ends_with("\ta\n") && index.lines().count() == 1, "{index}");
    // The command's files are there, but no repository any more.
    assert!(place.work.join("sub").is_dir() && !place.work.join("sub/.git").exists());
}

/// An additional working tree of another repository, which is a partial clone: git fetches what it lacks with a program
/// that this repository names. Its index has a submodule, and lacks a folder, which git reads to change the index.
const OF_ANOTHER: &str = "W=$PWD; git init -q -b main src; cd src; mkdir -p in deep/er; echo x >in/a; echo y >deep/er/b; git add .
    git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,sub; git commit -qm 1
    git sparse-checkout init --cone --sparse-index; git sparse-checkout set in; cd $W
    git init -q -b main evil; cd evil; git config core.repositoryformatversion 1; git config extensions.partialClone origin
    git config remote.origin.promisor true; git config remote.origin.url $W/evil
    git config remote.origin.uploadpack \"touch $OUT/canary; git-upload-pack\"; cd $W
    mkdir -p wt .git/worktrees/evil; cp src/.git/index .git/worktrees/evil/index
    echo ref: refs/heads/main >.git/worktrees/evil/HEAD; echo $W/wt/.git >.git/worktrees/evil/gitdir
    echo ../../../evil/.git >.git/worktrees/evil/commondir; git init -q wt/sub; git -C wt/sub config core.fsmonitor x";

#[test]
fn a_planted_working_tree_names_no_other_repository() {
    needs!(has_mounts() && has_program("git"));
    for more in ["", "; rm evil/.git/config; mkfifo evil/.git/config"] {
        let place = repository();
        let said = text(&place.script(WRITE, &format!("{}{more}", expanded(OF_ANOTHER))).stderr);
        assert!(said.contains("/.git: with it, git could run other programs"), "{said}");
        assert!(!place.work.join("wt/sub/.git").exists(), "{said}");
        assert!(!place.outside.join("canary").exists(), "{said}");
        if more.is_empty() {
            let again = "for repository in evil src; do mv $repository/.git.blocked-* $repository/.git; done; cp src/.git/index .git/worktrees/evil; echo ../../../evil/.git >.git/worktrees/evil/commondir";
            user(
                &place,
                &format!(
                    "{again}; cd wt; git --git-dir=../.git/worktrees/evil update-index --force-remove sub"
                ),
            );
            assert!(place.outside.join("canary").exists(), "does not work unconfined");
        }
    }
}

#[test]
fn nothing_is_undone_outside_of_the_workspace() {
    needs!(has_mounts() && has_program("git"));
    let place = repository();
    user(
        &place,
        "git init -q $OUT/x/sub; git -C $OUT/x/sub config core.fsmonitor false; git worktree add -q wt",
    );
    // The index of the tree and the place of the tree are both the command's to write.
    let script = "cd wt; git init -q sub; git -C sub commit -q --allow-empty -m x; LINK; \
                  echo $OUT/x/.git >../.git/worktrees/wt/gitdir";
    place.script(WRITE, &expanded(script));
    assert!(place.outside.join("x/sub/.git").exists());
}

#[test]
fn the_repository_of_a_submodule_keeps_its_configuration() {
    needs!(has_mounts() && has_program("git"));
    let attacks = [
        "cd sub; EVIL",
        "mv sub s; mkdir sub; cd sub; git init -q .; git commit -q --allow-empty -m x; EVIL",
        "rm -rf sub/.git; cd sub; git init -q .; git commit -q --allow-empty -m x; EVIL",
        "printf '#!/bin/sh\\ntouch %s/canary' $OUT >sub/.git/hooks/post-index-change; \
         chmod +x sub/.git/hooks/post-index-change; touch sub/f",
    ];
    let submodule = "git init -q sub; cd sub; git config user.name x; git config user.email x@x; echo f >f; \
        git add f; git commit -qm x; cd ..; git add sub; git commit -qm sub";
    for attack in attacks {
        let place = repository();
        user(&place, submodule);
        let said = text(&place.script(WRITE, &expanded(attack)).stderr);
        assert!(!canary(&place), "{attack}: {said}");
        assert!(place.work.join("sub/f").exists(), "{attack}");
    }
}

#[test]
fn what_git_reads_besides_does_not_appear() {
    needs!(has_mounts() && has_program("git"));
    let paths = *tau::tools::words!(
        "modules/x/config info/attributes commondir config.worktree worktrees/tree/config.worktree"
    );
    for path in paths {
        let place = repository();
        user(&place, "git worktree add -q ../tree -b tree; rm -rf .git/info");
        let script = format!("mkdir -p $(dirname .git/{path}); echo evil >.git/{path}");
        let output = place.script(WRITE, &script);
        let first = place.work.join(".git").join(path.split('/').next().unwrap());
        let is_there = if path.starts_with("modules") { first } else { place.work.join(".git").join(path) };
        assert!(!is_there.exists(), "{path}");
        assert!(text(&output.stderr).contains("the sandbox blocked"), "{path}: {}", text(&output.stderr));
        // Existing files stay unchanged.
        fs::create_dir_all(place.work.join(".git").join(path).parent().unwrap()).unwrap();
        if !path.starts_with("commondir") {
            fs::write(place.work.join(".git").join(path), "mine").unwrap();
            place.script(WRITE, &format!("echo evil >.git/{path}; rm -rf .git/{path}"));
            assert_eq!(fs::read_to_string(place.work.join(".git").join(path)).unwrap(), "mine", "{path}");
        }
    }
}

#[test]
fn a_rebase_runs_no_planted_command() {
    needs!(has_mounts() && has_program("git"));
    let todo = ".git/rebase-merge/git-rebase-todo";
    let place = repository();
    // The user is in the middle of a rebase with a command of their own.
    user(&place, "GIT_SEQUENCE_EDITOR='printf \"break\\nexec true\\n\" >' git rebase -qi HEAD~1");
    assert!(fs::read_to_string(place.work.join(todo)).unwrap().contains("exec true"));
    for line in [
        "exec touch $OUT/canary", "x touch $OUT/canary", "   exec\ttouch $OUT/canary",
        "exec true; touch $OUT/canary",
    ] {
        let said = text(&place.script(WRITE, &format!("cat >>{todo} <<'END'\n{line}\nEND")).stderr);
        assert!(said.contains("the sandbox blocked") && said.contains("git-rebase-todo"), "{line}: {said}");
        let left = fs::read_to_string(place.work.join(todo)).unwrap();
        assert!(left.contains("exec true\n") && !left.contains("canary"), "{line}: {left}");
    }
    user(&place, "git rebase --continue");
    assert!(!place.outside.join("canary").exists());
    assert!(!place.work.join(".git/rebase-merge").exists(), "the rebase ends");
    // A command cannot start one either.
    let script =
        format!("mkdir -p .git/rebase-merge; echo 'exec touch $OUT/canary' >x; ln -s ../../x {todo}");
    place.script(WRITE, &script);
    assert!(!place.work.join(todo).exists());
}

#[test]
fn ordinary_work_with_git_continues() {
    needs!(has_mounts() && has_program("git"));
    let place = repository();
    user(
        &place,
        "git clone -q . ../outside/library; git checkout -qb other HEAD~1; echo x >>a; git commit -qam x; \
         git checkout -q main; git init -q own; git -C own config core.fsmonitor false; echo >own/.git/hooks/post-commit",
    );
    let commands = [
        ("echo b >b; git add b; git commit -qm b", true),
        ("git stash -q || true; echo c >>b; git stash -q; git stash pop -q", true),
        (
            "git checkout -q b; git commit -qam c --allow-empty; git checkout -qb topic; git merge -q --no-edit main",
            true,
        ),
        ("git checkout -q main; git rebase -q topic", true),
        // It stops in a conflict, and continues in another command.
        ("git checkout -q other; git rebase -q main", false),
        ("echo solved >a; git add a; GIT_EDITOR=true git rebase --continue", true),
        // A clone as a submodule is plain.
        (
            "git clone -q ../outside/library lib; git add lib 2>/dev/null; git commit -qm lib; git status",
            true,
        ),
        // So is one of its own, and what the user has in another is theirs.
        (
            "git init -q n; cd n; git config user.name x; git config user.email x@x; git commit -q --allow-empty -m n; \
             git remote add o ../lib; git fetch -q o; git checkout -qb t o/main; git worktree add -q ../n2 -b n2",
            true,
        ),
        (
            "cd own; git config user.name x; git config user.email x@x; git commit -q --allow-empty -m x; cd ..; mv own moved",
            true,
        ),
        ("git tag t; git branch gone; git branch -D gone; git gc -q", true),
    ];
    for (script, succeeds) in commands {
        let output = place.script(WRITE, script);
        let said = text(&output.stderr);
        assert_eq!(output.status.success(), succeeds, "{script}: {said}");
        assert!(!said.contains("the sandbox blocked"), "{script}: {said}");
    }
    assert!(user(&place, "git ls-files --stage lib").starts_with("160000"));
    assert!(["lib", "n", "moved"].iter().all(|name| Path::new(&place.work).join(name).join(".git").is_dir()));
}
