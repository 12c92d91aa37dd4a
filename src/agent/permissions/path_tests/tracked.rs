//! Tests rules on reading against git commands that print its contents of files.

use super::*;

/// A git index that names these files.
fn index_of(paths: &[&str]) -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x02".to_vec();
    bytes.extend(u32::try_from(paths.len()).unwrap().to_be_bytes());
    for path in paths {
        let start = bytes.len();
        bytes.extend([0; 24]);
        bytes.extend(0o100_644_u32.to_be_bytes());
        bytes.extend([0; 32]);
        bytes.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
        bytes.extend(path.as_bytes());
        bytes.resize(bytes.len() + 8 - (bytes.len() - start) % 8, 0);
    }
    bytes.extend([0; 20]);
    bytes
}

#[test]
fn git_does_not_show_what_a_rule_denies_of_tracked_files() {
    let stage = Stage::new();
    let git = stage.work().join(".git");
    ["objects", "refs"].iter().for_each(|folder| std::fs::create_dir(git.join(folder)).unwrap());
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let showing = [
        "git grep secret", "git grep secret HEAD", "git log -p", "git log -u -1", "git log -2p",
        "git log --patch", "git log -L1,2:src/main.rs", "git log --cc", "git log --word-diff",
        "git reflog -p", "git show", "git show HEAD", "git diff HEAD~1", "git stash show -p",
        "git status -v", "git status --verbose", "git cat-file -p HEAD", "git archive HEAD",
        "git format-patch --stdout -1", "cd src && git log -p", "git -C src diff", "git --no-pager show",
        "git fast-export HEAD", "git future-command", "git add -p", "git add -i", "git add --patch src",
        "git reset -p HEAD~1", "git checkout -p HEAD~1", "git checkout --patch", "git commit -vp",
        "git commit --interactive", "git bisect view -p", "git bisect visualize --patch",
    ];
    let silent = [
        "git status --short",
        "git log",
        "git log --oneline -5 -- src",
        "git log --stat --since=yesterday --author=me",
        "git log -n 3 --graph --all",
        "git branch",
        "git ls-files",
        "git rev-parse HEAD",
        "git reflog",
    ];
    let changing = [
        "git commit -m'fix parser' -i a.txt", "git checkout -bpatch", "git fetch -p",
        "git bisect view --stat",
    ];
    for (list, tracked, expected) in [
        (Deny, &[".env", "src/main.rs"] as &[_], Ask),
        (Deny, &["a.txt", "sub/.env"], Ask),
        (Ask, &["sub/.env"], Ask),
        (Deny, &["a.txt", "src/main.rs"], Allow),
    ] {
        std::fs::write(git.join("index"), index_of(tracked)).unwrap();
        let permissions = stage.permissions(&[("read(**/.env)", list)]);
        stage.check(&permissions, PermissionMode::Auto, &[expected], &showing);
        stage.check(&permissions, PermissionMode::Ask, &[Allow], &silent);
        stage.check(&permissions, PermissionMode::Auto, &[Allow], &changing);
        std::fs::remove_file(git.join("index")).unwrap();
    }
    // The tracked files are unknown.
    for index in [&b"DIRC\0\0\0\x09"[..], b"", b"DIRC"] {
        std::fs::write(git.join("index"), index).unwrap();
        let permissions = stage.permissions(&[("read(**/.env)", Deny)]);
        stage.check(&permissions, PermissionMode::Auto, &[Ask], &showing[..3]);
    }
    stage.check(&stage.permissions(&[]), PermissionMode::Auto, &[Allow], &showing);
}
