//! edit: replaces text of a file.
//!
//! Owns the tool's arguments and the steps of an edit. `edit/matching.rs` finds the text (on
//! `edit/normalize.rs`), `edit/splice.rs` makes the new bytes, `edit/diagnose.rs` explains a miss;
//! `write.rs` owns the guard, and `proposal.rs` writes what was approved.

pub(crate) mod diagnose;
pub(crate) mod matching;
mod normal_form;
pub(crate) mod normalize;
pub mod splice;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::details::fact;
use super::file_task::FileTask;
use super::file_versions::Stamp;
use super::proposal::{self, Proposal, TextFormat};
use super::replace_file::{ExpectedState, MAX_FILE};
use super::{
    Access, ChangeFacts, FileDiff, PreparedCall, Tool, ToolContext, ToolError, ToolSpec, args, diff, editor,
    paths, write,
};
use matching::{MatchKind, MatchOutcome};
use normalize::LineEnds;
use splice::Splice;

tool! {
    /// The `edit` tool.
    pub(crate) struct Edit(EditArgs, "edit", "edit.md");
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct EditArgs {
    /// Path of the file.
    pub path: String,
    /// The exact text to replace.
    pub old_string: Option<String>,
    /// The text to put in its place.
    pub new_string: Option<String>,
    /// Replace all occurrences.
    pub replace_all: Option<bool>,
    /// Several replacements, instead of `old_string` and `new_string`.
    pub edits: Option<Vec<Replacement>>,
}

/// One replacement.
#[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Replacement {
    pub old_string: String,
    pub new_string: String,
    pub replace_all: Option<bool>,
}

impl Tool for Edit {
    type Args = EditArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &serde_json::Value) -> String {
        args::partial(args, "path").unwrap_or_default().into()
    }

    fn touches(&self, args: &serde_json::Value, cwd: &Path) -> Option<Access> {
        args::partial(args, "path").map(|path| Access::change(paths::find(cwd, path)))
    }

    async fn prepare(&self, args: EditArgs, context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        let path = args.path.clone();
        let changes = changes(args)?;
        proposal::prepare(path, context, move |task| propose(task, &changes)).await
    }
}

/// The requested replacements, in one form.
fn changes(args: EditArgs) -> Result<Vec<Replacement>, ToolError> {
    let refuse = |text: &str| Err(ToolError::refused(format!("edit: {text}")));
    let list = args.edits.filter(|list| !list.is_empty());
    let mut changes = match (args.old_string, args.new_string, list) {
        (None, None, Some(list)) => list,
        (Some(old), new, None) => match new {
            Some(new) => vec![Replacement { old_string: old, new_string: new, replace_all: None }],
            None => return refuse("the argument `new_string` is missing"),
        },
        (None, Some(_), None) => return refuse("the argument `old_string` is missing"),
        (None, None, None) => return refuse("give `old_string` and `new_string`, or `edits`"),
        // Some models add empty strings next to a list.
        (old, new, Some(list))
            if [&old, &new].iter().all(|text| text.as_deref().unwrap_or("").is_empty()) =>
        {
            list
        }
        _ => return refuse("give either `old_string` and `new_string`, or `edits`, not both"),
    };
    for change in &mut changes {
        change.replace_all = change.replace_all.or(args.replace_all);
    }
    let several = changes.len() > 1;
    for (index, change) in changes.iter().enumerate() {
        let field = if several { format!("edits[{index}].") } else { String::new() };
        if change.old_string.trim().is_empty() {
            return refuse(&format!(
                "`{field}old_string` is blank; give the text to replace, or create a file with write"
            ));
        }
        if change.old_string == change.new_string {
            return refuse(&format!(
                "`{field}old_string` and `{field}new_string` are the same, so there is nothing to change"
            ));
        }
    }
    Ok(changes)
}

fn propose(task: &FileTask, changes: &[Replacement]) -> Result<Proposal, ToolError> {
    let given = &task.given;
    let (file, metadata) = paths::open_regular(&task.path, given)?;
    if metadata.len() > MAX_FILE {
        return Err(ToolError::refused(format!(
            "{given} is {} MB; files over {} MB cannot be edited, use bash with sed",
            metadata.len() >> 20,
            MAX_FILE >> 20
        )));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
    file.take(MAX_FILE)
        .read_to_end(&mut bytes)
        .map_err(|error| paths::cannot(given, &task.path, "read", &error))?;
    let stamp = Stamp::from(&metadata);
    let (bytes, _) = editor::current(task, bytes);
    write::guard(task, stamp, Some(&bytes))?;
    let (text, format) = decode(bytes, given)?;
    let (splices, done) = splices(task, &text, changes)?;
    let change = diff::from_splices(given, &text, &splices);
    let new = splice::join(&text, 0..text.len(), &splices);
    let path = given.clone();
    let file_path = task.path.display().to_string();
    let (old_string, new_string) =
        changes.first().map(|first| (fact(&first.old_string), fact(&first.new_string))).unwrap_or_default();
    let match_count = done.occurrences as u64;
    let facts = move |change: &FileDiff, _| {
        let lines_changed = change.added.max(change.removed);
        ChangeFacts::Replaced { file_path, old_string, new_string, match_count, lines_changed }
    };
    Ok(Proposal {
        old: Some(text),
        new: Arc::new(new),
        format,
        change,
        expected: ExpectedState::Version(stamp),
        words: Box::new(move |change, _| done.sentence(&path, change)),
        facts: Box::new(facts),
    })
}

/// The searchable text, and the format that turns it back into the file's bytes.
fn decode(bytes: Vec<u8>, given: &str) -> Result<(Vec<u8>, TextFormat), ToolError> {
    let Some(format) = TextFormat::of(&bytes) else {
        return Err(ToolError::refused(format!("{given} is a binary file; it cannot be edited as text")));
    };
    let text = format.text(bytes).ok_or_else(|| {
        ToolError::refused(format!(
            "{given} contains invalid {}; it cannot be edited without loss",
            format.encoding.name()
        ))
    })?;
    Ok((text, format))
}

/// The result of the replacements.
struct ReplacementSummary {
    occurrences: usize,
    /// The kinds of matching used, other than exact.
    ways: Vec<MatchKind>,
}

impl ReplacementSummary {
    fn sentence(&self, given: &str, change: &FileDiff) -> String {
        let count =
            |number: usize, word: &str| format!("{number} {word}{}", if number == 1 { "" } else { "s" });
        let lines = change.added.max(change.removed) as usize;
        let mut text = format!(
            "Replaced {} in {given} ({} changed)",
            count(self.occurrences, "occurrence"),
            count(lines, "line")
        );
        for way in &self.ways {
            text.push_str(&format!("\nThe exact text was not found; it was matched {}.", way.words()));
        }
        text
    }
}

/// The splices for all changes, made on the original text, or the reason why one is impossible.
fn splices(
    task: &FileTask,
    text: &[u8],
    changes: &[Replacement],
) -> Result<(Vec<Splice>, ReplacementSummary), ToolError> {
    let ends = LineEnds::of(text);
    let mut splices: Vec<Splice> = Vec::new();
    let mut done = ReplacementSummary { occurrences: 0, ways: Vec::new() };
    for (index, change) in changes.iter().enumerate() {
        task.check_not_aborted()?;
        let every = change.replace_all == Some(true);
        let refuse = |reason: String| {
            let which = if changes.len() > 1 { format!("edits[{index}]: ") } else { String::new() };
            let whole = if changes.len() > 1 { " No edits were made." } else { "" };
            ToolError::refused(format!("{which}{reason}{whole}"))
        };
        let (spans, how) = match matching::find(text, &change.old_string, ends) {
            MatchOutcome::Found(spans, how) if spans.len() == 1 || (every && how == MatchKind::Exact) => {
                (spans, how)
            }
            MatchOutcome::Found(spans, how) => {
                return Err(refuse(diagnose::several(&task.given, text, &spans, how)));
            }
            MatchOutcome::Missing => return Err(refuse(diagnose::missing(&task.given, text, change))),
        };
        let begin = splices.len();
        let made = spans.into_iter().map(|span| match how {
            MatchKind::NormalForm => {
                let found = text.get(span.clone()).unwrap_or_default();
                splice::make(
                    text,
                    ends,
                    span,
                    &normal_form::adapt_replacement(change, found),
                    MatchKind::Exact,
                )
            }
            _ => splice::make(text, ends, span, change, how),
        });
        splices.extend(made);
        let of_this = splices.get(begin..).unwrap_or_default();
        if of_this.iter().all(|splice| splice.changes_nothing(text)) {
            return Err(refuse(diagnose::no_change(&task.given, text, of_this, how)));
        }
        done.occurrences += of_this.len();
        if how != MatchKind::Exact && !done.ways.contains(&how) {
            done.ways.push(how);
        }
    }
    splice::sort(text, &mut splices).map_err(|(line, other)| {
        ToolError::refused(format!(
            "two of the edits overlap in {} (lines {line} and {other}); combine them into one. No edits were made.",
            task.given
        ))
    })?;
    Ok((splices, done))
}
