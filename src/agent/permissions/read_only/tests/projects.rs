//! Tests programs that a repository, or files of a project, can run.

use std::path::Path;

use super::{all, is_free};

/// A folder with a repository in `.git` below `at`.
fn repository(at: &Path, config: &str) {
    let git = at.join(".git");
    for folder in ["objects", "refs"] {
        std::fs::create_dir_all(git.join(folder)).unwrap();
    }
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(git.join("config"), config).unwrap();
}

const PLAIN: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n";
const HOSTILE: &str = "[core]\n\tfsmonitor = ./evil\n";

#[test]
fn git_is_judged_by_the_repository_that_it_finds() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root, PLAIN);
    std::fs::create_dir_all(root.join("plain/deep")).unwrap();
    repository(&root.join("good"), PLAIN);
    repository(&root.join("evil"), HOSTILE);
    std::fs::create_dir_all(root.join("evil/deep")).unwrap();
    // A repository without a work tree, and one named by a file that git follows.
    repository(&root.join("made"), HOSTILE);
    std::fs::rename(root.join("made/.git"), root.join("bare")).unwrap();
    std::fs::create_dir(root.join("linked")).unwrap();
    std::fs::write(root.join("linked/.git"), "gitdir: ../bare\n").unwrap();
    // A folder that git ignores, within the hostile one.
    std::fs::create_dir_all(root.join("evil/fake/.git/refs")).unwrap();
    std::fs::write(root.join("evil/fake/.git/HEAD"), "nothing").unwrap();
    std::os::unix::fs::symlink("evil/deep", root.join("link")).unwrap();
    let wrong = |commands: &[&str], free: bool| {
        let of = |command: &&&str| is_free(command, &root) != free;
        assert_eq!(commands.iter().filter(of).collect::<Vec<_>>(), Vec::<&&str>::new());
    };
    wrong(
        &[
            "git status", "git -C plain log -p", "cd plain/deep && git diff", "git -C good status",
            "cd good; git log -1; cd ..; git status", "git -C missing status", "git config --get user.name",
            "git --version",
        ],
        true,
    );
    wrong(
        &[
            "git -C evil status",
            "cd evil && git status",
            "cd evil/deep && git diff",
            "cd plain && git -C ../evil log",
            "git -C evil/fake status",
            "git -C bare status",
            "git -C bare/refs log",
            "git -C linked status",
            "git -C link status",
            "git -C link/.. status",
            "cd link && git -C .. status",
            "cd -P link && git status",
            "git -C $x status",
            "cd $x && git status",
            "cd -; git status",
            "cd \"$(echo evil)\"; git status",
            "pushd evil; git status",
            "(cd evil; git log)",
            "for i in plain evil; do cd $i; git log; cd ..; done",
            "find . -execdir git status ';'",
            "env -C evil git status",
            "bash -c 'cd evil && git status'",
            "git --git-dir=evil/.git log",
            "git --git-dir evil/.git log",
            "git --work-tree=evil log",
            "git --bare log",
            "GIT_DIR=evil/.git git log",
            "git log --remerge-diff",
            "git log -p --diff-merges=remerge",
            "git diff --submodule=diff HEAD~1 HEAD",
            "git log --format=%GK",
            "git for-each-ref --format='%(signature)'",
            "git branch --format='%(*signature:key)'",
            "git log --show-signature",
        ],
        false,
    );
}

#[test]
fn what_a_repository_makes_git_run_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    repository(&root, PLAIN);
    let git = root.join(".git");
    let is_free = || is_free("git status", &root);
    assert!(is_free());
    for (path, text) in [
        ("config", HOSTILE),
        ("config", "[include]\npath = ../x\n"),
        ("config", "[filter \"x\"]\nclean = ./evil\n"),
        ("config", "broken"),
        ("config.worktree", HOSTILE),
        ("hooks/post-index-change", "#!/bin/sh\n"),
        ("index", "DIRC"),
        ("index", "something else"),
    ] {
        let before = std::fs::read(git.join(path)).ok();
        std::fs::create_dir_all(git.join(path).parent().unwrap()).unwrap();
        std::fs::write(git.join(path), text).unwrap();
        assert!(!is_free(), "{path}: {text}");
        match before {
            Some(before) => std::fs::write(git.join(path), before).unwrap(),
            None => std::fs::remove_file(git.join(path)).unwrap(),
        }
        assert!(is_free(), "{path}");
    }
    // Files that would block are not waited for.
    for path in ["config", "config.worktree", "commondir", "index", "HEAD"] {
        let file = git.join(path);
        let before = std::fs::read(&file).ok();
        let _ = std::fs::remove_file(&file);
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        is_free();
        std::fs::remove_file(&file).unwrap();
        before.into_iter().for_each(|before| std::fs::write(&file, before).unwrap());
    }
    assert!(is_free());
}

#[test]
fn submodules_are_looked_at_in_every_version_of_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let git = |arguments: &[&str]| {
        let run = std::process::Command::new("git")
            .arg("-C")
            .arg(&root)
            .args(arguments)
            .env("HOME", &root)
            .output();
        run.is_ok_and(|output| output.status.success())
    };
    if !git(&["init", "-q"]) {
        return eprintln!("git is missing");
    }
    for number in 0..200 {
        std::fs::write(root.join(format!("file-{number}")), "x").unwrap();
    }
    repository(&root.join("deep/sub"), HOSTILE);
    assert!(git(&["add", "file-1", "file-2", "file-199"]));
    assert!(is_free("git status", &root));
    let link = format!("160000,{},deep/sub", "1".repeat(40));
    for version in ["2", "3", "4"] {
        assert!(git(&["update-index", "--add", "--cacheinfo", &link, "--index-version", version]));
        assert!(!is_free("git status", &root), "version {version}");
        assert!(!is_free("cd deep && git diff", &root), "version {version}");
        std::fs::write(root.join("deep/sub/.git/config"), PLAIN).unwrap();
        assert!(is_free("git status", &root), "version {version}");
        std::fs::write(root.join("deep/sub/.git/config"), HOSTILE).unwrap();
        assert!(git(&["update-index", "--force-remove", "deep/sub"]));
        assert!(is_free("git status", &root), "version {version}");
    }
    assert!(git(&["update-index", "--split-index"]) && !is_free("git status", &root));
}

#[test]
fn a_version_is_an_option_alone() {
    all(
        &[
            "cargo --version", "rustc -V", "python3 --version", "node -v", "npm --version", "make --version",
            "gh --version", "/usr/bin/python3 --version", "git version",
        ],
        true,
    );
    for program in [
        "python3", "node", "make", "npx", "rustfmt", "cargo", "npm", "ruby", "perl", "docker", "kubectl",
        "php", "pip",
    ] {
        all(
            &[
                &format!("{program} version"),
                &format!("{program} --version x"),
                &format!("{program} -c --version"),
                &format!("{program} -- --version"),
                &format!("{program} $x"),
                &format!("{program} -e version"),
                program,
            ],
            false,
        );
    }
    all(
        &[
            "python3 -v", "python -v", "perl -V", "make -V", "cargo -v", "cargo +x --version",
            "./cargo --version", "xargs cargo --version", "kubectl version", "cmake -V",
        ],
        false,
    );
}

#[test]
fn what_a_project_decides_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("sub/deep")).unwrap();
    let free = |command: &str| is_free(command, &root);
    let is_rustup = std::env::var_os("PATH").is_some_and(|path| {
        let mut found =
            std::env::split_paths(&path).map(|folder| folder.join("cargo")).filter(|path| path.exists());
        found.next().is_some_and(|path| path.canonicalize().unwrap().ends_with("rustup"))
    });
    if is_rustup {
        assert!(free("cargo --version") && free("rustc --version"));
        for (name, text) in [
            ("rust-toolchain.toml", "[toolchain]\npath = \"evil\"\n"),
            ("rust-toolchain", "/tmp/evil\n"),
            ("rust-toolchain", "no-such-toolchain\n"),
            ("rust-toolchain.toml", "[toolchain]\nchannel = \"no-such\"\n"),
            ("sub/rust-toolchain.toml", "toolchain = { path = 'evil' }"),
        ] {
            std::fs::write(root.join(name), text).unwrap();
            let commands = match name.strip_prefix("sub/") {
                Some(_) => ["cd sub/deep && cargo --version", "cd sub; rustc -V"],
                None => ["cargo --version", "cd sub && rustup --version"],
            };
            for command in commands {
                assert!(!free(command), "{command}: {text}");
            }
            std::fs::remove_file(root.join(name)).unwrap();
        }
        assert!(!free("cd $x; cargo --version"));
    }
    assert!(free("cargo metadata --format-version 1 --no-deps --offline"));
    for command in
        ["cargo metadata --manifest-path ../x/Cargo.toml", "cargo metadata --config x=1", "cargo metadat"]
    {
        assert!(!free(command), "{command}");
    }
    for name in [".cargo/config.toml", ".cargo/config"] {
        std::fs::create_dir_all(root.join(".cargo")).unwrap();
        std::fs::write(root.join(name), "[build]\nrustc-wrapper = \"./evil\"\n").unwrap();
        assert!(!free("cargo metadata"), "{name}");
        std::fs::remove_file(root.join(name)).unwrap();
    }
    if free("go version") {
        std::fs::write(root.join("go.mod"), "module x\ntoolchain go9.9\n").unwrap();
        let is_there =
            std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|path| path.join("go").exists());
        assert_eq!(free("go version"), !is_there);
    }
}
