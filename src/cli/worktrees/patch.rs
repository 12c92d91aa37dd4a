//! Patches of clones, in whatever state their repositories were left.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::git::{Git, Repository, check_safe};
use super::snapshot::{IndexCopy, add_all, refuse_pipes};
use crate::process::plain;
use tau_tools::paths::identity;
use tau_tools::user_error::UserError;

/// Maximum number of files named as missing from a patch.
const NAMED: usize = 10;
/// The mode of a repository within another one, where git shows a change.
const REPOSITORY: &[u8] = b"160000";
/// The words of git about a folder that it may not read, and leaves out.
const UNREADABLE: &str = "could not open directory";

/// Writes what changed in a clone since a commit to a file; returns what is not in it, and why.
pub(crate) fn write_patch(clone: &Path, base: &str, file: &Path) -> Result<Option<String>, UserError> {
    let repository = clone.join(".git");
    // Elsewhere is the repository of somebody else, as is one around the clone, which git would find.
    if !repository.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return Err(format!("{} is no longer its repository", repository.display()).into());
    }
    check_safe(clone)?;
    refuse_pipes(clone)?;
    let git = Git::within(clone).with_repository(&repository, clone);
    let index = IndexCopy::of(git)?;
    let git = git.with_index(&index.file);
    if !index.file.exists() {
        git.text(&["read-tree", base])?;
    }
    let submodules: Vec<&OsStr> = index.submodules(clone).collect();
    let said = add(git, &submodules)?;
    let mut missing: Vec<OsString> = Vec::new();
    for name in submodules {
        if !keep_commit(git, clone, name)? {
            missing.push(repository_name(name));
        }
    }
    missing.extend(new_commits(git, base)?.iter().map(|name| repository_name(name)));
    missing.extend(remaining_files(git)?);
    let diff = ["diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv"];
    // As `git apply` reads it, whatever the user's settings are.
    let names = ["--no-relative", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"];
    let mut output = OsString::from("--output=");
    output.push(file);
    let arguments: Vec<&OsStr> = diff.iter().chain(&names).map(OsStr::new).collect();
    git.bytes(&[&arguments[..], &[&output, OsStr::new(base)]].concat())?;
    Ok(describe(missing, said))
}

/// Adds all files that git can add, except for the submodules; returns what git said if it left some out.
fn add(git: Git<'_>, submodules: &[&OsStr]) -> Result<Option<String>, UserError> {
    let options = ["--ignore-errors", "--no-warn-embedded-repo", "--", ":/"];
    let mut arguments: Vec<OsString> = add_all(git).iter().chain(&options).map(OsString::from).collect();
    for name in submodules {
        let mut excluded = OsString::from(":(top,exclude,literal)");
        excluded.push(name);
        arguments.push(excluded);
    }
    let arguments: Vec<&OsStr> = arguments.iter().map(OsString::as_os_str).collect();
    let (code, _, said) = git.run_to_end(&arguments)?;
    Ok(Some(said).filter(|said| code != 0 || said.contains(UNREADABLE)))
}

/// Puts the commit of a submodule into the index; returns whether nothing else has changed in it, as far as can be known.
fn keep_commit(git: Git<'_>, clone: &Path, name: &OsStr) -> Result<bool, UserError> {
    let path = clone.join(name);
    let around = Repository::around(&path).ok().filter(|found| found.top == identity(&path));
    let within = Git::within(&path);
    let commit = around.and_then(|_| within.text(&["rev-parse", "--verify", "HEAD"]).ok());
    let Some(commit) = commit else { return Ok(false) };
    let mut entry = OsString::from(format!("160000,{commit},"));
    entry.push(name);
    git.bytes(&[OsStr::new("update-index"), OsStr::new("--cacheinfo"), &entry])?;
    // To compare files, git would run the filters that the submodule itself names.
    let has_filters = |of: &str| {
        within.succeeds(&["config", of, "--includes", "--name-only", "--get-regexp", "^filter[.]"])
    };
    if has_filters("--local") || has_filters("--worktree") || refuse_pipes(&path).is_err() {
        return Ok(false);
    }
    let status = ["status", "--porcelain", "-z", "--ignore-submodules=all"];
    Ok(within.names(&status).is_ok_and(|changed| changed.is_empty()))
}

/// The repositories within the clone whose commit in the index is not the one they had.
fn new_commits(git: Git<'_>, base: &str) -> Result<Vec<OsString>, UserError> {
    let changes = git.names(&["diff", "--cached", "--raw", "-z", "--no-renames", base])?;
    // A change, with the new mode as its second word, and its name.
    let is_repository =
        |change: &OsStr| change.as_bytes().split(|byte| *byte == b' ').nth(1) == Some(REPOSITORY);
    let pairs = changes.chunks_exact(2);
    Ok(pairs.filter_map(|pair| is_repository(pair.first()?).then(|| pair.last().cloned())?).collect())
}

/// The files that differ from the index, as git could not add them.
fn remaining_files(git: Git<'_>) -> Result<Vec<OsString>, UserError> {
    let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
    let lines = git.names(&[&status[..], &["--ignore-submodules=all"]].concat())?;
    let changed = lines.iter().filter_map(|line| line.as_bytes().get(1..)?.split_first());
    let left = changed.filter(|(mark, _)| **mark != b' ').filter_map(|(_, rest)| rest.get(1..));
    Ok(left
        .map(|name| match name.ends_with(b"/") {
            true => repository_name(OsStr::from_bytes(name)),
            false => OsStr::from_bytes(name).to_owned(),
        })
        .collect())
}

fn repository_name(name: &OsStr) -> OsString {
    let mut text = name.to_owned();
    text.push(" (a repository of its own)");
    text
}

/// The contents that a patch does not have, in a line.
fn describe(mut missing: Vec<OsString>, said: Option<String>) -> Option<String> {
    missing.sort();
    missing.dedup();
    let names = missing.iter().take(NAMED).map(|name| plain::line(&name.to_string_lossy()));
    let mut names: Vec<String> = names.collect();
    if missing.len() > NAMED {
        names.push(format!("{} more", missing.len() - NAMED));
    }
    let parts = [
        (!names.is_empty()).then(|| format!("not whole in the patch: {}", names.join(", "))),
        said.map(|said| format!("git says: {}", plain::line(&said))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
