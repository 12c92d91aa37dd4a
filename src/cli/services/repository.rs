//! The repository that tau runs in: the current branch, and whether files differ from it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use tau_agent::permissions;
use tau_tools::git_place::GitPlace;
use tau_tools::process::{ChildEnv, git};
use tau_tools::regular_files::read_text;

/// Maximum size of a file of git, in bytes.
const MAX_SIZE: u64 = 64 * 1024;
/// Time limit for git's search for a differing file.
const LIMIT: Duration = Duration::from_secs(2);
/// The current branch, with a `*` when files differ from it or are new; `None` outside a repository. It
/// counts as clean if the check takes too long.
pub async fn branch_label(cwd: &Path) -> Option<String> {
    let branch = branch(&GitPlace::find(cwd)?.dir)?;
    let is_safe = permissions::git_runs_programs(cwd, std::env::home_dir().as_deref()).is_none();
    let differs = is_safe && differs(cwd).await;
    Some(if differs { branch + "*" } else { branch })
}

fn branch(git_dir: &Path) -> Option<String> {
    let head = read_text(&git_dir.join("HEAD"), MAX_SIZE).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: ") {
        Some(name) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        None => head.get(..8).map(str::to_owned),
    }
}

/// Whether git reports a changed or new file.
async fn differs(cwd: &Path) -> bool {
    let mut git = tokio::process::Command::new("git");
    ChildEnv::of_helpers().apply(git.as_std_mut());
    let git = git
        .envs(git::hardening_variables(&[]))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_is_read_from_the_files_of_git() {
        let dir = tempfile::tempdir().expect("a folder");
        let deep = dir.path().join("a/b");
        std::fs::create_dir_all(&deep).expect("folders");
        let branch = || GitPlace::find(&deep).and_then(|place| branch(&place.dir));
        assert_eq!(branch(), None);
        std::fs::create_dir(dir.path().join(".git")).expect("a folder");
        std::fs::write(dir.path().join(".git/HEAD"), "ref: refs/heads/fix/parser\n").expect("a file");
        assert_eq!(branch().as_deref(), Some("fix/parser"));
        std::fs::write(dir.path().join(".git/HEAD"), "0123456789abcdef\n").expect("a file");
        assert_eq!(branch().as_deref(), Some("01234567"));
    }
}
