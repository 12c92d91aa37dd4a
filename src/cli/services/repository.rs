//! The repository that tau runs in: the current branch, and whether files differ from it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use tau_tools::process::{ChildEnv, git};
use tau_tools::regular_files::read_text;

/// Maximum size of a file of git, in bytes.
const MAX_SIZE: u64 = 64 * 1024;
/// Time limit for git's search for a differing file.
const LIMIT: Duration = Duration::from_secs(2);
/// The sections of a repository's own configuration that can make `git status` run a program or read
/// configuration from elsewhere. A flag turns the file system monitor off.
const RUNS_PROGRAMS: [&str; 3] = ["filter", "include", "worktreeconfig"];

/// The current branch, with a `*` when files differ from it or are new; `None` outside a repository. It
/// counts as clean if the check takes too long.
pub async fn checked_out(cwd: &Path) -> Option<String> {
    let git_dir = git_dir(cwd)?;
    let branch = branch(&git_dir)?;
    let differs = is_safe(&git_dir) && differs(cwd).await;
    Some(if differs { branch + "*" } else { branch })
}

/// The git folder of the repository around `cwd`.
fn git_dir(cwd: &Path) -> Option<PathBuf> {
    let dot_git = cwd.ancestors().map(|folder| folder.join(".git")).find(|path| path.exists())?;
    if !dot_git.is_file() {
        return Some(dot_git);
    }
    let text = small_text(&dot_git)?;
    Some(dot_git.parent()?.join(text.trim().strip_prefix("gitdir:")?.trim()))
}

fn branch(git_dir: &Path) -> Option<String> {
    let head = small_text(&git_dir.join("HEAD"))?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        None => head.get(..8).map(str::to_owned),
    }
}

/// Whether git can be run without running programs named by the repository.
fn is_safe(git_dir: &Path) -> bool {
    let common = small_text(&git_dir.join("commondir"));
    let common = common.map_or_else(|| git_dir.to_owned(), |path| git_dir.join(path.trim()));
    let config = small_text(&common.join("config")).map(|text| text.to_lowercase());
    config.is_some_and(|config| !RUNS_PROGRAMS.iter().any(|word| config.contains(word)))
}

/// Whether git reports a changed or new file.
async fn differs(cwd: &Path) -> bool {
    let mut git = tokio::process::Command::new("git");
    ChildEnv::of_helpers().apply(git.as_std_mut());
    let git = git
        .envs(git::hardened(&[]))
        .args(["status", "--porcelain", "--ignore-submodules=all"])
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let Ok(mut git) = git else { return false };
    let Some(output) = git.stdout.as_mut() else { return false };
    let mut first = [0];
    matches!(tokio::time::timeout(LIMIT, output.read(&mut first)).await, Ok(Ok(1)))
}

/// A small regular file as text.
fn small_text(path: &Path) -> Option<String> {
    read_text(path, MAX_SIZE).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_read_from_the_files_of_git() {
        let dir = tempfile::tempdir().expect("a folder");
        let deep = dir.path().join("a/b");
        std::fs::create_dir_all(&deep).expect("folders");
        let branch = || git_dir(&deep).and_then(|git| branch(&git));
        assert_eq!(branch(), None);
        std::fs::create_dir(dir.path().join(".git")).expect("a folder");
        std::fs::write(dir.path().join(".git/HEAD"), "ref: refs/heads/fix/parser\n").expect("a file");
        assert_eq!(branch().as_deref(), Some("fix/parser"));
        std::fs::write(dir.path().join(".git/HEAD"), "0123456789abcdef\n").expect("a file");
        assert_eq!(branch().as_deref(), Some("01234567"));
    }

    #[test]
    fn git_is_not_asked_where_the_repository_names_programs() {
        let dir = tempfile::tempdir().expect("a folder");
        let config = dir.path().join("config");
        assert!(!is_safe(dir.path()), "there is no configuration to look at");
        for (text, safe) in [
            ("[core]\n\tbare = false\n", true),
            ("[Filter \"x\"]\n\tclean = ./run\n", false),
            ("[include]\n\tpath = elsewhere\n", false),
        ] {
            std::fs::write(&config, text).expect("a file");
            assert_eq!(is_safe(dir.path()), safe, "{text}");
        }
    }
}
