//! New content for a file: computed once, shown as hunks, and written after approval.

use std::path::Path;
use std::sync::Arc;

use super::counted::pluralize;
use super::details::Hunk;
use super::encoding::{self, Encoding, Exact};
use super::file_task::{FileTask, OnAbort};
use super::replace_file::{self, ExpectedState};
use super::{
    Access, ApprovedPart, ChangeFacts, Details, FileDiff, PreparedCall, Preview, ToolContext, ToolError,
    ToolOutput, diff, editor, paths,
};

/// The maximum number of bytes of a diff in an answer to the model.
pub(crate) const MAX_SHOWN: usize = 16 * 1024;

/// How the text of a file is encoded as bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextFormat {
    pub encoding: Encoding,
    /// The byte order mark at the start.
    pub mark: &'static [u8],
}

impl TextFormat {
    /// UTF-8 without a mark: the bytes are the text.
    pub(crate) const PLAIN: Self = TextFormat { encoding: Encoding::Utf8, mark: b"" };

    /// The format of these bytes; `None` if they are not text.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let encoding = match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains(['\0', '\u{1b}']) => Encoding::Utf8,
            _ => encoding::of_text(bytes)?,
        };
        Some(TextFormat { encoding, mark: encoding::mark(bytes, encoding) })
    }

    /// The text of bytes in this format, without the mark; `None` if it cannot be converted back. Invalid
    /// UTF-8 is kept.
    pub(crate) fn text(self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        bytes.drain(..self.mark.len());
        if self.encoding == Encoding::Utf8 {
            return Some(bytes);
        }
        let (text, exact) = encoding::decode(&bytes, self.encoding);
        let same = || encoding::encode(&text, self.encoding).is_some_and(|again| again == bytes);
        (exact == Exact::Yes && same()).then(|| text.into_bytes())
    }

    /// The bytes of a text in this format. The error is a refusal if the encoding lacks one of its
    /// characters.
    fn bytes(self, text: &[u8], given: &str) -> Result<Vec<u8>, ToolError> {
        let encoded = match self.encoding {
            Encoding::Utf8 => Some(text.to_vec()),
            _ => std::str::from_utf8(text).ok().and_then(|text| encoding::encode(text, self.encoding)),
        };
        let mut bytes = encoded.ok_or_else(|| {
            ToolError::refused(format!(
                "{given} is encoded in {}, which lacks a character of the new text; nothing was written",
                self.encoding.name()
            ))
        })?;
        bytes.splice(0..0, self.mark.iter().copied());
        Ok(bytes)
    }
}

/// The text of the answer, from the applied change and the size of the file in bytes.
type Words = Box<dyn Fn(&FileDiff, usize) -> String + Send + Sync>;

/// The facts for the details, from the applied change and the size of the file in bytes.
type Facts = Box<dyn FnOnce(&FileDiff, usize) -> ChangeFacts + Send + Sync>;

/// New content for a file.
pub(crate) struct Proposal {
    /// The current text; `None` if it is too large or cannot be read.
    pub old: Option<Vec<u8>>,
    pub new: Arc<Vec<u8>>,
    pub format: TextFormat,
    /// The change from `old` to `new`; empty without `old`.
    pub change: FileDiff,
    pub expected: ExpectedState,
    pub words: Words,
    pub facts: Facts,
}

/// The text that is finally written.
struct FinalText {
    text: Arc<Vec<u8>>,
    change: FileDiff,
    /// A note for the model if it differs from the proposal.
    note: Option<String>,
}

/// Computes a proposal on a thread and wraps it in a prepared call. Fails with errors of `propose`.
pub(crate) async fn prepare<'a>(
    path: String,
    context: ToolContext,
    propose: impl FnOnce(&FileTask) -> Result<Proposal, ToolError> + Send + 'static,
) -> Result<PreparedCall<'a>, ToolError> {
    let task = FileTask::begin(path, context).await?;
    let (proposal, target) = task
        .on_thread(OnAbort::Leave, |task| {
            task.check_not_aborted()?;
            let proposal = propose(task)?;
            if proposal.format.encoding != Encoding::Utf8 {
                proposal.format.bytes(&proposal.new, &task.given)?;
            }
            let target = paths::identity(&task.path);
            check_directory(task, &target)?;
            Ok((proposal, target))
        })
        .await?;
    let access = Access::change(task.path.clone());
    let cut = proposal.change.cut || proposal.old.is_none();
    let preview = Preview::Change { change: FileDiff { cut, ..proposal.change.clone() } };
    let text = Arc::clone(&proposal.new);
    let apply = move |approved| async move {
        task.on_thread(OnAbort::Wait, move |task| proposal.apply(task, &target, approved)).await
    };
    Ok(PreparedCall::new(access, apply).preview(preview).with_proposed_text(Some(text)))
}

/// Refuses to recreate a working directory that is gone.
fn check_directory(task: &FileTask, target: &Path) -> Result<(), ToolError> {
    let cwd = &*task.context.cwd;
    if cwd.is_dir() || !target.starts_with(paths::identity(cwd)) {
        return Ok(());
    }
    Err(ToolError::refused(format!(
        "the working directory {} no longer exists, so nothing was written; give the absolute path of a file \
         elsewhere (commands run in {})",
        cwd.display(),
        paths::nearest_folder(cwd).display()
    )))
}

impl Proposal {
    fn apply(
        mut self,
        task: &FileTask,
        prepared: &Path,
        approved: ApprovedPart,
    ) -> Result<ToolOutput, ToolError> {
        task.check_not_aborted()?;
        let given = &task.given;
        let target = paths::identity(&task.path);
        check_directory(task, &target)?;
        // From here on no link is followed.
        if target != prepared {
            return Err(ToolError::refused(format!(
                "{given} is another file by now: a symbolic link on the way to it was changed; nothing was written"
            )));
        }
        let sandbox = approved.sandbox.as_ref().unwrap_or(&task.context.sandbox);
        sandbox.check_write(&target).map_err(|denial| {
            ToolError::refused(format!("nothing was written: tau's sandbox blocks {denial}"))
        })?;
        let chosen = self.final_text(given, approved)?;
        let encoded;
        let bytes: &[u8] = match (self.format.encoding, self.format.mark) {
            (Encoding::Utf8, b"") => &chosen.text,
            _ => {
                encoded = self.format.bytes(&chosen.text, given)?;
                &encoded
            }
        };
        let stamp = match editor::write(task, &target, bytes, self.expected)? {
            Some(stamp) => stamp,
            None => replace_file::replace_file(&target, given, bytes, self.expected, &task.wanted)?,
        };
        task.context.file_versions.record(&target, stamp, Some(bytes));
        let facts = (self.facts)(&chosen.change, bytes.len());
        // Facts about the proposal do not apply to a different text.
        let facts =
            Some(facts).filter(|facts| chosen.note.is_none() || matches!(facts, ChangeFacts::Written { .. }));
        let text = match chosen.note {
            None => (self.words)(&chosen.change, bytes.len()),
            Some(note) => {
                let lines = chosen.change.added.max(chosen.change.removed);
                format!("Changed {} in {given}\n{note}", pluralize(lines, "line"))
            }
        };
        // Without the old content the change has no hunks, but the operation is known.
        let cut = chosen.change.cut || self.old.is_none();
        let change = FileDiff { facts, path: given.clone(), cut, ..chosen.change };
        let details = Details::Diff(change);
        Ok(ToolOutput::new(text, details))
    }

    fn final_text(&mut self, given: &str, approved: ApprovedPart) -> Result<FinalText, ToolError> {
        if let Some(text) = approved.edited {
            return self.instead(given, text.into_bytes(), |made| {
                format!("The user changed the new text before it was written. {made}")
            });
        }
        let all = self.change.hunks.len();
        let wanted = match approved.hunks {
            Some(hunks) if (0..all).any(|hunk| !hunks.contains(&hunk)) => hunks,
            _ => {
                let change = std::mem::take(&mut self.change);
                return Ok(FinalText { text: Arc::clone(&self.new), change, note: None });
            }
        };
        let Some(old) = self.old.as_deref().filter(|_| !self.change.cut) else {
            return Err(ToolError::refused(format!(
                "the change of {given} is too large to be applied in parts; nothing was written"
            )));
        };
        let rejected: Vec<String> =
            (0..all).filter(|hunk| !wanted.contains(hunk)).map(|hunk| (hunk + 1).to_string()).collect();
        if rejected.len() == all {
            return Err(ToolError::refused(format!(
                "the user rejected this change of {given}; nothing was written"
            )));
        }
        let text = with_hunks(old, &self.new, &self.change.hunks, &wanted);
        let rejected = rejected.join(", ");
        self.instead(given, text, |made| {
            format!("The user rejected part of this change (hunk {rejected} of {all}). {made}")
        })
    }

    /// The user's text in place of the proposed one.
    fn instead(
        &self,
        given: &str,
        text: Vec<u8>,
        note: impl FnOnce(&str) -> String,
    ) -> Result<FinalText, ToolError> {
        if self.old.as_deref() == Some(text.as_slice()) {
            return Err(ToolError::refused(format!(
                "the user's version of {given} is the file as it is; nothing was written"
            )));
        }
        let change = diff::between(given, self.old.as_deref().unwrap_or_default(), &text);
        let shown = change.to_unified();
        let made = if self.old.is_none() || change.cut || shown.len() > MAX_SHOWN {
            "Read the file before you change it again.".to_owned()
        } else {
            format!("What was changed:\n{shown}")
        };
        Ok(FinalText { text: Arc::new(text), change, note: Some(note(&made)) })
    }
}

/// The old text with only the `wanted` hunks of its change applied. Lines between hunks are the same in
/// both.
fn with_hunks(old: &[u8], new: &[u8], hunks: &[Hunk], wanted: &[usize]) -> Vec<u8> {
    let (mut old_lines, mut new_lines) = (old.split_inclusive(newline), new.split_inclusive(newline));
    let mut text = Vec::with_capacity(old.len().max(new.len()));
    let mut line = 1;
    for (index, hunk) in hunks.iter().enumerate() {
        let between = (hunk.old_start as usize).saturating_sub(line);
        old_lines.by_ref().take(between).for_each(|same| text.extend_from_slice(same));
        new_lines.by_ref().take(between).for_each(drop);
        let count = |other: char| hunk.lines.iter().filter(|line| !line.starts_with(other)).count();
        let (olds, news) = (count('+'), count('-'));
        let keep = wanted.contains(&index);
        old_lines.by_ref().take(olds).filter(|_| !keep).for_each(|line| text.extend_from_slice(line));
        new_lines.by_ref().take(news).filter(|_| keep).for_each(|line| text.extend_from_slice(line));
        line += between + olds;
    }
    old_lines.for_each(|same| text.extend_from_slice(same));
    text
}

fn newline(byte: &u8) -> bool {
    *byte == b'\n'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_choice_of_hunks_is_made_and_no_other_line_changes() {
        let old: String = (0..60).map(|n| format!("line {n}\n")).collect();
        let new = old
            .replace("line 3\n", "three\nand a half\n")
            .replace("line 20\n", "")
            .replace("line 40\n", "forty\n")
            .replace("line 59\n", "the end");
        let change = diff::between("f", old.as_bytes(), new.as_bytes());
        assert_eq!(change.hunks.len(), 4);
        let some = |wanted: &[usize]| {
            String::from_utf8(with_hunks(old.as_bytes(), new.as_bytes(), &change.hunks, wanted)).unwrap()
        };
        assert_eq!(some(&[]), old);
        assert_eq!(some(&[0, 1, 2, 3]), new);
        for wanted in 0..16usize {
            let chosen: Vec<usize> = (0..4).filter(|hunk| wanted & (1 << hunk) != 0).collect();
            let text = some(&chosen);
            let made = [
                text.contains("three\nand a half\n"),
                !text.contains("line 20\n"),
                text.contains("forty\n"),
                text.ends_with("the end"),
            ];
            for (hunk, made) in made.into_iter().enumerate() {
                assert_eq!(made, chosen.contains(&hunk), "{chosen:?}: hunk {hunk}");
            }
            assert!(text.contains("line 10\n") && text.contains("line 30\n") && text.contains("line 50\n"));
        }
    }

    #[test]
    fn a_file_that_was_empty_or_becomes_so_is_one_hunk() {
        let change = diff::between("f", b"", b"a\nb\n");
        assert_eq!(with_hunks(b"", b"a\nb\n", &change.hunks, &[0]), b"a\nb\n");
        assert_eq!(with_hunks(b"", b"a\nb\n", &change.hunks, &[]), b"");
        let change = diff::between("f", b"a\n", b"");
        assert_eq!(with_hunks(b"a\n", b"", &change.hunks, &[0]), b"");
        assert_eq!(with_hunks(b"a\n", b"", &change.hunks, &[]), b"a\n");
    }
}
