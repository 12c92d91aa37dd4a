//! What a command leaves within a repository so that git reads it later, outside of the sandbox: an index that is not as
//! git writes it, files of unfinished operations, and links.

use super::planted::{WRITE, canary, expanded, repository, user};
use super::{has_mounts, has_program, text};

/// Writes an index with a submodule `sub`, in which git would run something.
const PLANT: &str =
    "git init -q sub; cd sub; git commit -q --allow-empty -m x; EVIL; cd ..; python3 - <<'END'
import hashlib,os,struct,subprocess
def out(*a): return subprocess.check_output(('git',)+a,text=True).strip()
blob,head=out('hash-object','a'),out('-C','sub','rev-parse','HEAD')
def entry(mode,sha,name,pad=b'\\0'):
    e=struct.pack('>10I',0,0,0,0,0,0,mode,0,0,0)+bytes.fromhex(sha)+struct.pack('>H',len(name))+name
    return e+pad*(8-len(e)%8)
def index(entries,more=b''):
    d=b'DIRC'+struct.pack('>II',2,len(entries))+b''.join(entries)+more
    return d+hashlib.sha1(d).digest()
a,sub=entry(0o100644,blob,b'a'),entry(0o160000,head,b'sub')
size=None
INDEX
f=open('.git/index.new','wb'); f.write(d)
if size: f.truncate(size)
f.close(); os.rename('.git/index.new','.git/index')
END";

const INDEXES: [(&str, &str); 4] = [
    ("padded with something else", "d=index([entry(0o100644,blob,b'a',b'x'),sub])"),
    ("too large to be read", "more=b'ZZZZ'+struct.pack('>I',600<<20); d=index([a,sub],more); size=len(d)+(600<<20)"),
    ("with a path that git does not accept", "d=index([a,entry(0o160000,head,b'./sub')])"),
    (
        "split, with a file of the shared one replaced",
        "base=index([a,entry(0o100644,blob,b'sub')]); open('.git/sharedindex.'+base[-20:].hex(),'wb').write(base)
link=base[-20:]+struct.pack('>IIQI',0,1,0,0)+struct.pack('>IIQQI',2,2,1<<33,2,0)
d=index([entry(0o160000,head,b'')],b'link'+struct.pack('>I',len(link))+link)",
    ),
];

#[test]
fn git_finds_no_other_submodules_in_an_index() {
    needs!(has_mounts() && has_program("git") && has_program("python3"));
    for (what, index) in INDEXES {
        let script = expanded(&PLANT.replace("INDEX", index));
        let place = repository();
        place.script(&["--sandbox", "off"], &script);
        assert!(canary(&place) || index.contains("./sub"), "does not work unconfined: {what}");

        let place = repository();
        let said = text(&place.script(WRITE, &script).stderr);
        assert!(!canary(&place), "{what}: {said}");
        assert!(said.contains("the sandbox blocked"), "{what}: {said}");
        assert!(place.work.join(".git/HEAD").exists(), "the repository stays: {what}");
    }
}

#[test]
fn a_repository_is_where_git_finds_it() {
    needs!(has_mounts() && has_program("git"));
    // Git takes the second blank for a part of the name.
    let script = expanded(
        "mkdir -p 'sub/ ../.git/modules'; git init -q x; cd x; git commit -q --allow-empty -m x; EVIL; cd ..; \
         mv x/.git 'sub/ ../.git/modules/real'; echo 'gitdir:  ../.git/modules/real' >sub/.git; LINK",
    );
    for (level, runs) in [("off", true), ("workspace-write", false)] {
        let place = repository();
        user(&place, "mkdir .git/modules");
        let said = text(&place.script(&["--sandbox", level], &script).stderr);
        assert_eq!(canary(&place), runs, "{level}: {said}");
    }
}

/// What a command leaves, and what the user does then, which writes `canary`.
const LEFT: [(&str, &str, &str); 6] = [
    (
        "git tag t1; git checkout -qb side; echo 3 >b; git add b; git commit -qm 3; git tag t2; git checkout -q main",
        "mkdir .git/sequencer; git rev-parse HEAD >.git/sequencer/head; git rev-parse HEAD >.git/sequencer/abort-safety; \
         for t in t1 t2; do echo pick $(git rev-parse $t) x; done >.git/sequencer/todo; printf '[options]\\n\\tstrategy = x/../run\\n' \
         >.git/sequencer/opts; RUN",
        "git cherry-pick --continue",
    ),
    (
        "echo 3 >>a; git commit -qam 3; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -qi HEAD~2; \
         git commit -q --amend -m x",
        "echo x/../run >.git/rebase-merge/strategy; echo >.git/rebase-merge/strategy_opts; RUN",
        "git rebase --continue",
    ),
    (
        "echo 3 >>a; git commit -qam 3; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -qi HEAD~2",
        "t=.git/rebase-merge/git-rebase-todo; { head -c 17000000 /dev/zero | tr '\\0' '#'; echo; \
         echo \"exec touch $OUT/canary\"; cat $t; } >x; cp x $t",
        "git rebase --continue",
    ),
    (
        "",
        "rm -f .git/COMMIT_EDITMSG; ln -s $OUT/canary .git/COMMIT_EDITMSG",
        "git commit -qm x --allow-empty",
    ),
    ("", "rm .git/logs/HEAD; ln -s $OUT/canary .git/logs/HEAD", "git commit -qm x --allow-empty"),
    ("", "rm -r .git/logs/refs/heads; ln -s $OUT .git/logs/refs/heads", "git branch canary"),
];

#[test]
fn what_is_left_in_a_repository_makes_git_run_or_write_nothing() {
    needs!(has_mounts() && has_program("git"));
    let run = "mkdir git-merge-x; printf '#!/bin/sh\\ntouch %s/canary' $OUT >run; chmod +x run";
    for (before, left, then) in LEFT {
        for (level, works) in [("off", true), ("workspace-write", false)] {
            let place = repository();
            user(&place, before);
            let script = expanded(&left.replace("RUN", run));
            let said = text(&place.script(&["--sandbox", level], &script).stderr);
            let then_said = user(&place, then);
            assert_eq!(place.outside.join("canary").exists(), works, "{left}: {said}: {then_said}");
            assert!(works || said.contains("the sandbox blocked"), "{left}: {said}");
        }
    }
}

#[test]
fn more_submodules_than_usual_are_all_protected() {
    needs!(has_mounts() && has_program("git"));
    let place = repository();
    let many = expanded(
        "git init -q s0; git -C s0 commit -q --allow-empty -m x; rm -r s0/.git/hooks; h=$(git -C s0 rev-parse HEAD); \
         for i in $(seq 1100); do cp -r s0 s$i; done; \
         for i in $(seq 0 1100); do printf '160000 %s\\ts%s\\n' $h $i; done | git update-index --add --index-info",
    );
    user(&place, &many);
    let evil = "for i in $(seq 0 1100); do echo evil >>s$i/.git/config && echo wrote $i; done";
    let output = place.script(WRITE, evil);
    assert_eq!(text(&output.stdout), "", "{}", text(&output.stderr));
    let output =
        place.script(WRITE, "mkdir -p .git/worktrees/x; seq -f .git/worktrees/y%g 2000 | xargs mkdir; true");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn the_settings_of_other_version_control_systems_stay() {
    needs!(has_mounts());
    let place = repository();
    user(&place, "mkdir -p .hg .sl .jj/repo; echo mine >.sl/config");
    user(&place, "mkdir -p lib/.hg old/.hg; printf '[hooks]\\nx = y\\n' | tee lib/.hg/hgrc >old/.hg/hgrc");
    let script = "echo x >.hg/hgrc; echo x >.jj/repo/config.toml; echo x >.sl/config; mv .hg h; mkdir .hg; echo x >.hg/hgrc; \
                  mkdir -p d/e/.hg d/.jj/repo _darcs/prefs x/.sl c/.hg l; echo x >d/e/.hg/hgrc; echo x >d/.jj/repo/config.toml; \
                  echo 'ALL posthook x' >_darcs/prefs/defaults; echo x >l/hgrc; ln -s ../l x/.hg; \
                  printf '[paths]\\ndefault = /x\\n' >c/.hg/hgrc; echo more >>lib/.hg/hgrc; mv old older";
    let said = text(&place.script(WRITE, script).stderr);
    assert!(said.contains("the sandbox blocked"), "{said}");
    assert!(
        !place.work.join(".hg/hgrc").exists() && !place.work.join(".jj/repo/config.toml").exists(),
        "{said}"
    );
    assert_eq!(user(&place, "cat .sl/config"), "mine\n");
    for gone in ["d/e/.hg/hgrc", "d/.jj/repo/config.toml", "_darcs/prefs/defaults", "x/.hg", "lib/.hg/hgrc"] {
        assert!(!place.work.join(gone).exists(), "{gone}");
    }
    for stays in ["c/.hg/hgrc", "older/.hg/hgrc"] {
        assert!(place.work.join(stays).exists(), "{stays}");
    }
}

#[test]
fn a_workspace_without_a_repository_is_watched_too() {
    needs!(has_mounts() && has_program("git"));
    let evil = "git init -q .; git config core.fsmonitor \"touch $OUT/canary;false\"";
    let hidden = "mkdir .hg; printf '[hooks]\\nupdate = x\\n' >.hg/hgrc";
    for (flags, is_run) in [(&["--sandbox", "off"][..], true), (WRITE, false)] {
        let place = repository();
        user(&place, "rm -rf .git");
        place.script(flags, evil);
        let said = text(&place.script(flags, hidden).stderr);
        user(&place, "git status");
        assert_eq!(place.outside.join("canary").exists(), is_run, "{flags:?}");
        assert_eq!(place.work.join(".hg/hgrc").exists(), is_run, "{flags:?}");
        assert_eq!(said.contains("hgrc.blocked-"), !is_run, "{said}");
    }
}

#[test]
fn a_folder_that_git_takes_for_a_repository_runs_nothing_whatever_its_name() {
    needs!(has_mounts() && has_program("git"));
    let config = "printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=%s\\nfsmonitor=\"touch %s/canary;false\"\\n' \
                  $PWD/d $OUT";
    let plans = [
        format!("mkdir -p d/objects d/refs; echo 'ref: refs/heads/main' >d/HEAD; {config} >d/config"),
        format!("git init -q --bare known; mv known/* d/; {config} >d/config"),
    ];
    for plan in plans {
        for (flags, is_run) in [(&["--sandbox", "off"][..], true), (WRITE, false)] {
            let place = repository();
            user(&place, "mkdir d; echo >d/x; git add d; git commit -qm d");
            let said = text(&place.script(flags, &plan).stderr);
            user(&place, "cd d && git status");
            assert_eq!(place.outside.join("canary").exists(), is_run, "{flags:?} {plan}");
            assert_eq!(said.contains("HEAD.blocked-"), !is_run, "{said}");
            assert!(place.work.join("d/x").exists());
        }
    }
    let place = repository();
    let output =
        place.script(WRITE, "git clone -q --mirror . m; git init -q --bare b; cd b; git config user.name x");
    assert_eq!(text(&output.stderr), "");
    assert!(place.work.join("m/HEAD").exists() && place.work.join("b/HEAD").exists());
}

/// Files that a command creates in a repository, which git may obey.
const CREATED: [&str; 14] = [
    "branches/x", "remotes/origin", "commondir", "config.worktree", "Config", "config", "modules/x/config",
    "info/attributes", "info/grafts", "objects/info/alternates", "objects/info/http-alternates",
    "rebase-merge/what-a-newer-git-obeys", "rebase-apply/x", "what-a-newer-git-obeys",
];

#[test]
fn what_git_does_not_create_in_a_repository_is_put_aside() {
    if !(has_mounts() && has_program("git")) {
        return;
    }
    for name in CREATED {
        let place = repository();
        // Some of the samples of `git init` are of these.
        user(
            &place,
            "cp .git/config ..; rm -rf .git/config .git/branches; mkdir -p .git/rebase-merge .git/rebase-apply",
        );
        let script = format!("mkdir -p $(dirname .git/{name}); echo hello >.git/{name}");
        let said = text(&place.script(WRITE, &script).stderr);
        assert!(!place.work.join(".git").join(name).exists(), "{name}: {said}");
        // What git names as one file may be in a folder that is renamed.
        let renamed = said.lines().any(|line| {
            line.contains("the sandbox blocked writing ")
                && line.contains(": with it, git could run other programs; it was renamed to ")
                && line.contains(".blocked-")
        });
        assert!(renamed, "{name}: {said}");
        let kept = user(&place, "grep -rl hello .git");
        assert_eq!(kept.lines().count(), 1, "nothing is lost: {name}: {kept}");
    }
}

#[test]
fn a_step_that_is_not_known_to_run_nothing_is_removed() {
    if !(has_mounts() && has_program("git")) {
        return;
    }
    let place = repository();
    user(
        &place,
        "echo 3 >>a; git commit -qam 3; \
         GIT_SEQUENCE_EDITOR='sed -i -e 1s/pick/edit/ -e 2iexec\\ true' git rebase -qi HEAD~2",
    );
    let list = ".git/rebase-merge/git-rebase-todo";
    let before = user(&place, &format!("cat {list}"));
    assert!(before.contains("exec true"), "{before}");
    let script = format!(
        "for w in exec x run RUN 'x\t' ' exec'; do printf \"$w touch y\\n\" >>{list}; done; echo break >>{list}"
    );
    let said = text(&place.script(WRITE, &script).stderr);
    assert_eq!(user(&place, &format!("cat {list}")), format!("{before}break\n"), "{said}");
}

/// Ordinary work in a repository, none of which is put aside.
const WORK: &str = "git init -q; git checkout -qb side HEAD~1; echo 3 >a; git commit -qam 3; git tag -am t t
git merge -q main; git merge --abort; git merge -q -s ours -m m main; git reset -q --hard HEAD~1
git rebase -q main; git rebase --abort; git rebase -q --apply main; git rebase --abort
git cherry-pick main; git cherry-pick --abort; git revert --no-edit HEAD; git revert main; git revert --abort
GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -qi HEAD~1; git rebase --continue
echo 4 >>a; git rebase -q --autostash -X ours main; git stash; git stash pop; git checkout -q .
git format-patch -q -1 --stdout >../p; git reset -q --hard HEAD~1; git am -q ../p; git am --abort; echo 5 >a; git am ../p; git am --abort
git bisect start; git bisect bad; git bisect good HEAD~1; git bisect run true; git bisect reset
git notes add -m n; git fetch -q . main; git pull -q --no-rebase . main; git merge --abort; git worktree add -q wt; cd wt; git commit -q --allow-empty -m w
echo 6 >a; git commit -qam 6; git rebase -q side; git rebase --abort; git bisect start; cd ..; git worktree lock wt
git gc -q; git repack -qad; git commit-graph write --split; git multi-pack-index write; git maintenance run -q; git prune
git update-index --split-index; git rerere; git pack-refs --all; git sparse-checkout list; git submodule status; git fsck -q
git update-server-info; git reflog expire --all; git show-ref -q; git branch -d side; git switch -q -c more; git commit -q --amend -m y
git blame a >../b; git archive HEAD -o ../a.tar; git bundle create -q ../u HEAD; git describe --all -q; git commit -q --allow-empty --fixup HEAD
git fast-export --all >../f; git replace HEAD~1 HEAD; git hash-object -w a; git read-tree -m HEAD; git write-tree; git apply --check ../p; true";

#[test]
fn nothing_that_git_creates_is_put_aside() {
    if !(has_mounts() && has_program("git")) {
        return;
    }
    let place = repository();
    user(&place, "git config rerere.enabled true; git config user.name x; git config user.email x@x");
    for line in WORK.lines() {
        let said = text(&place.script(WRITE, line).stderr);
        assert!(!said.contains("the sandbox blocked"), "{line}: {said}");
    }
    assert_eq!(user(&place, "find .git -name '*.blocked-*'; git log -1 --format=%s more"), "fixup! y\n");
}
