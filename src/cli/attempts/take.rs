//! Taking the result of an attempt, or hunks of several, and sweeping the copies.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Attempt, Attempts, Changed, KEPT};
use crate::worktrees::{
    self,
    git::{self, Git},
};
use tau_agent::session::Session;
use tau_agent::settings::{Paths, Settings};
use tau_agent::undo::{CallStart, SessionUndo, UndoOptions, prompts};
use tau_protocol::message::{Message, UserContent, UserMessage};
use tau_tools::access::Access;
use tau_tools::user_error::UserError;

/// The options of a difference: no program that a repository names, and everything that is needed to apply it.
const DIFF: [&str; 8] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--binary",
    "--full-index",
    "--src-prefix=a/",
];

/// A part of a difference: a file, and the numbers of its hunks, from 1. Without numbers all of them are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub path: String,
    pub hunks: Vec<usize>,
}

impl Part {
    /// Reads `PATH` or `PATH:1,3`.
    pub fn read(text: &str) -> Self {
        let numbers = |list: &str| {
            list.split(',')
                .map(|number| number.parse().ok().filter(|number| *number > 0))
                .collect::<Option<Vec<_>>>()
        };
        match text.rsplit_once(':').and_then(|(path, list)| Some((path, numbers(list)?))) {
            Some((path, hunks)) => Part { path: path.to_owned(), hunks },
            None => Part { path: text.to_owned(), hunks: Vec::new() },
        }
    }
}

/// The size of the difference between two commits.
pub(super) fn changed(git: Git<'_>, base: &str, files: &str) -> Result<Changed, UserError> {
    let lines =
        git.text(&["diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--numstat", base, files])?;
    let mut changed = Changed::default();
    for line in lines.lines() {
        let mut numbers = line.split('\t').map(|number| number.parse::<u64>().unwrap_or(0));
        changed.files += 1;
        changed.added += numbers.next().unwrap_or(0);
        changed.removed += numbers.next().unwrap_or(0);
    }
    Ok(changed)
}

/// The difference of an attempt to the files that it began with: one patch for each file, with its path.
fn patches(attempts: &Attempts, attempt: &Attempt) -> Result<Vec<(String, Vec<u8>)>, UserError> {
    let Some(files) = &attempt.files else {
        return Err(format!("attempt {} has no result", attempt.number).into());
    };
    let git = attempts.git();
    let names = [
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--name-only",
        "-z",
        &attempts.base,
        files,
    ];
    let mut all = Vec::new();
    for name in git.names(&names)? {
        let mut arguments: Vec<&OsStr> = DIFF.map(OsStr::new).to_vec();
        arguments.extend(["--dst-prefix=b/", &attempts.base, files, "--"].map(OsStr::new));
        let mut spec = std::ffi::OsString::from(":(top,literal)");
        spec.push(&name);
        arguments.push(&spec);
        all.push((name.to_string_lossy().into_owned(), git.bytes(&arguments)?));
    }
    Ok(all)
}

/// The header of a patch of one file, and its hunks.
fn hunks(patch: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let (mut head, mut hunks): (Vec<u8>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"@@ ") {
            hunks.push(Vec::new());
        }
        hunks.last_mut().unwrap_or(&mut head).extend(line);
    }
    (head, hunks)
}

/// The difference as text, with the numbers of the hunks.
pub(crate) fn shown(attempts: &Attempts, attempt: &Attempt) -> Result<Vec<(String, String)>, UserError> {
    let text = |patch: &[u8]| {
        let (head, hunks) = hunks(patch);
        let mut text = String::from_utf8_lossy(&head).into_owned();
        for (at, hunk) in hunks.iter().enumerate() {
            text.push_str(&format!("# attempt {} hunk {}\n", attempt.number, at + 1));
            text.push_str(&String::from_utf8_lossy(hunk));
        }
        text
    };
    Ok(patches(attempts, attempt)?.into_iter().map(|(path, patch)| (path, text(&patch))).collect())
}

/// The patch of the wanted parts, and the files that it changes.
fn chosen(
    attempts: &Attempts,
    attempt: &Attempt,
    parts: &[Part],
) -> Result<(Vec<u8>, Vec<String>), UserError> {
    let mut all = patches(attempts, attempt)?;
    if parts.is_empty() {
        let paths = all.iter().map(|(path, _)| path.clone()).collect();
        return Ok((all.into_iter().flat_map(|(_, patch)| patch).collect(), paths));
    }
    let (mut patch, mut paths) = (Vec::new(), Vec::new());
    for part in parts {
        let found = all.iter_mut().find(|(path, _)| *path == part.path);
        let (path, whole) =
            found.ok_or_else(|| format!("attempt {} does not change {:?}", attempt.number, part.path))?;
        if part.hunks.is_empty() {
            patch.extend(whole.iter());
        } else {
            let (head, hunks) = hunks(whole);
            patch.extend(head);
            for number in &part.hunks {
                let hunk = hunks.get(number.saturating_sub(1));
                patch.extend(
                    hunk.ok_or_else(|| format!("{path} has no hunk {number} in attempt {}", attempt.number))?,
                );
            }
        }
        paths.push(path.clone());
    }
    Ok((patch, paths))
}

/// Applies an attempt, or parts of it, to the directory. `/undo` in the session whose id is returned takes it back.
pub(crate) fn take(
    paths: &Paths,
    attempts: &Attempts,
    attempt: &Attempt,
    parts: &[Part],
) -> Result<(String, Vec<String>), UserError> {
    if !attempts.private {
        git::check_safe(&attempts.top)?;
    }
    let (patch, changes) = chosen(attempts, attempt, parts)?;
    if patch.is_empty() {
        return Err(format!("attempt {} has changed nothing", attempt.number).into());
    }
    let dir = tempfile::tempdir().map_err(|error| format!("cannot make a folder: {error}"))?;
    let file = dir.path().join("patch");
    std::fs::write(&file, patch).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let apply = |check: bool| {
        let mut arguments: Vec<&OsStr> = ["apply", "--whitespace=nowarn"].map(OsStr::new).to_vec();
        if check {
            arguments.push(OsStr::new("--check"));
        }
        arguments.extend([OsStr::new("--"), file.as_os_str()]);
        attempts.git().bytes(&arguments).map(drop)
    };
    apply(true).map_err(|why| {
        format!("attempt {} cannot be applied: {why}; the files have changed since it began", attempt.number)
    })?;
    let (session, mut undo) = covered(paths, attempts, attempt, &changes)?;
    let applied = apply(false);
    undo.end(false);
    applied.map(|()| (session, changes))
}

/// A session that covers the change, and its undo, which has the old files.
fn covered(
    paths: &Paths,
    attempts: &Attempts,
    attempt: &Attempt,
    changes: &[String],
) -> Result<(String, SessionUndo), UserError> {
    let (settings, _) = Settings::load_leniently(paths);
    let folder = settings.session_dir_for(paths, &attempts.top);
    let mut session = Session::begin(Some(&folder), &attempts.top, None);
    let text = format!("Take attempt {} of {}: {}", attempt.number, attempts.attempts.len(), attempts.task);
    let mut message = UserMessage::new(UserContent::Text(text));
    message.timestamp = jiff::Timestamp::now().as_millisecond();
    let appended = session.append(Arc::new(Message::User(message))).and_then(|()| session.flush());
    appended.map_err(|error| error.to_string())?;
    let options = UndoOptions { dir: paths.undo(), quota: settings.undo_quota().saturating_mul(1024 * 1024) };
    let id = session.info().id.clone();
    let mut undo = SessionUndo::open(&options, &id, &attempts.top, false);
    let writes: Vec<PathBuf> = changes.iter().map(|path| attempts.top.join(path)).collect();
    let call = CallStart {
        id: format!("attempt-{}", attempt.number),
        tool: "attempts".to_owned(),
        checkpoint: prompts(session.tree()).last().map(|prompt| prompt.entry_id.clone()),
    };
    undo.begin(call, &Access { reads: writes.clone(), writes, ..Access::default() });
    Ok((id, undo))
}

/// Removes the copies, the results and the record.
pub(crate) fn sweep(paths: &Paths, attempts: &Attempts) -> Result<(), UserError> {
    let mut failed = Vec::new();
    for attempt in &attempts.attempts {
        match remove_copy(attempts, &attempt.path) {
            Ok(()) => worktrees::forget_attempt(paths, &attempts.folder(), &attempt.path),
            Err(why) => failed.push(why),
        }
    }
    if attempts.private {
        let removed = std::fs::remove_dir_all(&attempts.repository);
        failed.extend(
            removed.err().filter(|error| error.kind() != std::io::ErrorKind::NotFound).map(UserError::of),
        );
    } else {
        let git = attempts.git();
        let references =
            git.text(&["for-each-ref", "--format=%(refname)", &format!("{KEPT}/{}", attempts.id)])?;
        for reference in references.lines() {
            git.text(&["update-ref", "-d", reference])?;
        }
    }
    if let Some(why) = failed.first() {
        return Err(format!("not everything could be removed: {why}").into());
    }
    match std::fs::remove_file(Attempts::file(paths, &attempts.id)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.to_string().into()),
        _ => Ok(()),
    }
}

fn remove_copy(attempts: &Attempts, path: &Path) -> Result<(), UserError> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let remove = ["worktree", "remove", "--force", "--"].map(OsStr::new);
    let arguments: Vec<&OsStr> = remove.into_iter().chain([path.as_os_str()]).collect();
    attempts.git().bytes(&arguments).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_files_or_hunks_of_them() {
        let part = |path: &str, hunks: &[usize]| Part { path: path.to_owned(), hunks: hunks.to_vec() };
        assert_eq!(Part::read("src/a.rs"), part("src/a.rs", &[]));
        assert_eq!(Part::read("src/a.rs:1,3"), part("src/a.rs", &[1, 3]));
        assert_eq!(Part::read("a:b"), part("a:b", &[]));
        assert_eq!(Part::read("a:0"), part("a:0", &[]));
        assert_eq!(Part::read("a:b:2"), part("a:b", &[2]));
    }

    #[test]
    fn a_patch_has_a_head_and_hunks() {
        let patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n";
        let (head, found) = hunks(patch);
        assert_eq!(head, b"diff --git a/x b/x\n--- a/x\n+++ b/x\n");
        assert_eq!(found, [b"@@ -1 +1 @@\n-a\n+b\n".to_vec(), b"@@ -9 +9 @@\n-c\n+d\n".to_vec()]);
        assert_eq!(hunks(b"diff --git a/x b/x\nnew file mode 100644\n").1.len(), 0);
    }
}
