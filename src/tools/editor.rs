//! The editor that hosts a session: unsaved files, writing, and terminals for commands.
//!
//! The file system is used wherever the editor cannot help: if it does not answer, for files that are not
//! UTF-8, and for searches.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::encoding::UTF8_BOM;
use super::file_at::FileAt;
use super::file_task::FileTask;
use super::file_versions::Stamp;
use super::process::{ChildEnv, FinishedCommand};
use super::replace_file::ExpectedState;
use super::sandbox::confinement::covers_files;
use super::{ToolContext, ToolError, paths};
use crate::user_error::UserError;

/// An editor. Its functions block, and return early once the call is cancelled.
pub trait Editor: Send + Sync + std::fmt::Debug {
    /// The text of a file as the user sees it; `None` if the editor does not provide it.
    fn read(&self, path: &Path, wanted: &CancellationToken) -> Option<String>;

    /// True if the editor can write files.
    fn can_write(&self) -> bool;

    /// True if the editor has terminals for commands.
    fn can_run(&self) -> bool;

    /// Runs a command in a terminal and waits for it to end. Kills it on cancellation or timeout.
    fn run(&self, command: &EditorCommand<'_>, wanted: &CancellationToken) -> Result<EditorRun, UserError>;

    /// Writes this text to a file and saves it.
    fn write(&self, path: &Path, text: &str, wanted: &CancellationToken) -> Result<(), UserError>;
}

/// A command to run in a terminal.
#[derive(Clone, Copy, Debug)]
pub struct EditorCommand<'a> {
    pub shell: &'a Path,
    /// The command line for the shell.
    pub command: &'a str,
    /// The working directory. Absolute.
    pub cwd: &'a Path,
    pub env: &'a ChildEnv,
    /// The time limit in seconds.
    pub timeout: Option<u64>,
}

/// How a command in a terminal ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditorRun {
    /// Its output, or the end of it if there is too much.
    pub output: String,
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    pub cancelled: bool,
}

/// Runs a command in a terminal of the editor, if it has terminals and the kernel keeps nothing from the command: the
/// editor knows nothing of sandboxes and rules. `None` if tau must run it itself. The error is a refusal if the editor
/// cannot start it.
pub(crate) async fn run(
    context: &ToolContext,
    shell: &Path,
    command: &str,
    timeout: Option<u64>,
) -> Result<Option<FinishedCommand>, ToolError> {
    let is_free = || context.sandbox.is_off() && !(context.files.has_denials() && covers_files());
    let Some(editor) = context.editor.clone().filter(|editor| editor.can_run() && is_free()) else {
        return Ok(None);
    };
    let wanted = context.cancel.child_token();
    let _no_longer_wanted = wanted.clone().drop_guard();
    let (shell, command, cwd, env) =
        (shell.to_owned(), command.to_owned(), Arc::clone(&context.cwd), Arc::clone(&context.env));
    let started = Instant::now();
    let run = tokio::task::spawn_blocking(move || {
        let command = EditorCommand { shell: &shell, command: &command, cwd: &cwd, env: &env, timeout };
        editor.run(&command, &wanted)
    });
    let ended = run.await.unwrap_or_else(|_| Err("an internal error".into()));
    let run = ended.map_err(|why| {
        ToolError::refused(format!("the user's editor cannot run commands in a terminal: {why}"))
    })?;
    let finished = FinishedCommand::elsewhere(&run.output, run.exit_code, started.elapsed());
    Ok(Some(FinishedCommand { cancelled: run.cancelled, timed_out: run.timed_out, ..finished }))
}

/// The content of a file as the user sees it: `disk`, unless it is text and the editor has a different
/// version. Line ends and the byte order mark stay as on disk. True if there are unsaved changes.
pub(crate) fn current(task: &FileTask, disk: Vec<u8>) -> (Vec<u8>, bool) {
    let unsaved = task.context.editor.as_ref().and_then(|editor| {
        let mark: &[u8] = if disk.starts_with(UTF8_BOM) { UTF8_BOM } else { b"" };
        let saved = std::str::from_utf8(disk.get(mark.len()..)?).ok().filter(|text| !text.contains('\0'))?;
        let shown = editor.read(&task.path, &task.wanted).filter(|text| !text.contains('\0'))?;
        let shown = shown.strip_prefix('\u{feff}').unwrap_or(&shown);
        // Some editors send a file's lines without the last line end.
        let is_cut = !shown.is_empty() && !shown.ends_with('\n') && saved.ends_with('\n');
        let shown = format!("{shown}{}", if is_cut { "\n" } else { "" });
        let plain = |text: &str| text.replace("\r\n", "\n");
        if plain(&shown) == plain(saved) {
            return None;
        }
        let text = if saved.contains("\r\n") { plain(&shown).replace('\n', "\r\n") } else { shown };
        Some([mark, text.as_bytes()].concat())
    });
    match unsaved {
        Some(content) => (content, true),
        None => (disk, false),
    }
}

/// Writes a file through the editor, if it can, and returns the file's new metadata. `None` if tau must write
/// it itself. `target` is the file that the path resolves to. The error is a refusal if the file is not the
/// expected one, or the editor did not write it.
pub(crate) fn write(
    task: &FileTask,
    target: &Path,
    bytes: &[u8],
    expected: ExpectedState,
) -> Result<Option<Stamp>, ToolError> {
    let Some(editor) = task.context.editor.as_ref().filter(|editor| editor.can_write()) else {
        return Ok(None);
    };
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(None) };
    let given = &task.given;
    let is_expected = match (expected, fs::metadata(&task.path)) {
        (ExpectedState::Version(stamp), Ok(metadata)) => Stamp::from(&metadata) == stamp,
        (ExpectedState::Nothing, Err(_)) => true,
        (ExpectedState::Version(_), Err(_)) | (ExpectedState::Nothing, Ok(_)) => false,
    };
    if !is_expected {
        return Err(ToolError::refused(format!(
            "{given} has just been changed by another program; nothing was written. Read it again"
        )));
    }
    if expected == ExpectedState::Nothing {
        FileAt::find_or_make_folder(target).map_err(|error| {
            ToolError::refused(format!("cannot create the directory of {given}: {}", paths::reason(&error)))
        })?;
    }
    editor.write(&task.path, text, &task.wanted).map_err(|why| {
        ToolError::refused(format!(
            "the user's editor did not write {given}: {why}. Read it before you continue"
        ))
    })?;
    match fs::metadata(&task.path) {
        Ok(metadata) => Ok(Some(Stamp::from(&metadata))),
        Err(error) => Err(paths::cannot(given, &task.path, "find", &error)),
    }
}
