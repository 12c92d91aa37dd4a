//! Surveys the unread part of a large file for the current branch, settings and usage.
//!
//! It finds the entries on the branch, the session's name, model and thinking level, and its usage. No text
//! is kept.
//!
//! Lines are scanned, not parsed, as in [`super::list`]. If that does not give an unbroken path, all are
//! parsed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::Arc;

use super::entry::{Body, Entry};
use super::unread::UnreadFile;
use super::usage::UsageSum;
use super::{Session, SessionError, list, read};
use tau_protocol::message::Message;
use tau_protocol::model::ThinkingLevel;

/// The maximum length of a line that is parsed for session settings, in bytes.
const SHORT: usize = 8 * 1024;

/// A survey to be carried out.
#[derive(Clone, Debug)]
pub(crate) struct SurveyJob {
    file: UnreadFile,
    /// The entry there that continues the path to the current entry.
    parent: Option<Arc<str>>,
}

/// The result of a survey of the unread part of a file.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(super) file: UnreadFile,
    /// The entries on the path to the current one, from the root.
    pub(crate) path: Vec<PathLine>,
    settings: EarlierSettings,
    /// The usage of all entries there, on all branches.
    pub(crate) usage: UsageSum,
}

/// The settings of the session in the unread part.
#[derive(Debug, Default)]
struct EarlierSettings {
    name: Option<String>,
    model: Option<(String, String)>,
    thinking: Option<String>,
}

/// An entry on the path: its position in the file and its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathLine {
    /// The offset of its line, in bytes.
    pub(super) begin: u64,
    /// The length of its line, in bytes.
    pub(super) len: u32,
    pub(super) kind: LineKind,
    /// The hash of its id.
    id: u64,
}

/// The kinds of entries that paging distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// A user message.
    Prompt,
    /// An answer of the model.
    Answer,
    /// The result of a call.
    Result,
    /// A change of another entry's content in the context.
    Edit,
    Other,
}

impl LineKind {
    pub(crate) fn of(body: &Body) -> Self {
        match body {
            Body::Message { message } => match message.as_ref() {
                Message::User(_) => LineKind::Prompt,
                Message::Assistant(_) => LineKind::Answer,
                Message::ToolResult(_) => LineKind::Result,
                _ => LineKind::Other,
            },
            Body::ContextEdit { .. } => LineKind::Edit,
            _ => LineKind::Other,
        }
    }

    /// Whether it counts as a message.
    pub(crate) fn is_conversation(self) -> bool {
        matches!(self, LineKind::Prompt | LineKind::Answer)
    }
}

impl PathLine {
    /// The entry itself, parsed from its line.
    pub(super) fn entry(&self, line: &[u8]) -> Option<Entry> {
        let entries = read::entries(line).0;
        entries.into_iter().rev().find(|entry| hash(entry.id.as_bytes()) == self.id)
    }
}

impl Session {
    /// The survey of the unread part, if there is one.
    pub(crate) fn survey_job(&self) -> Option<SurveyJob> {
        let file = self.unread_file()?;
        let path = self.tree.branch();
        Some(SurveyJob { file, parent: path.first().and_then(|first| first.parent.clone()) })
    }

    /// Applies the settings that a survey found: the name, and the model and thinking level unless a later
    /// entry sets others. Returns true if any of them changes.
    pub(crate) fn take_survey(&mut self, survey: &Survey) -> bool {
        let Some(unread) = self.unread.as_mut().filter(|unread| !unread.is_surveyed) else { return false };
        unread.is_surveyed = true;
        let EarlierSettings { name, model, thinking } = &survey.settings;
        let before = (self.info.name.clone(), self.tree.model(), self.tree.thinking());
        if !self.tree.entries().iter().any(|entry| matches!(entry.body, Body::SessionInfo { .. })) {
            self.info.name.clone_from(name);
        }
        let (first_model, first_thinking) = self.tree.initial();
        let level = thinking.as_deref().and_then(ThinkingLevel::from_name);
        self.tree.begin_with(model.clone().or(first_model), level.or(first_thinking));
        before != (self.info.name.clone(), self.tree.model(), self.tree.thinking())
    }

    /// Surveys the unread part, if not yet done. Blocks. A failure changes nothing.
    pub fn survey(&mut self) {
        if self.unread.as_ref().is_some_and(|unread| !unread.is_surveyed)
            && let Some(survey) = self.survey_job().and_then(|job| job.read().ok())
        {
            self.take_survey(&survey);
        }
    }
}

impl SurveyJob {
    /// Carries out the survey. Blocks. The error is `Io` when the file can no longer be read or has been
    /// replaced.
    pub(crate) fn read(&self) -> Result<Survey, SessionError> {
        let failed = |source| SessionError::Io { path: self.file.path.clone(), source };
        let (survey, is_whole) = self.look(glance).map_err(failed)?;
        if is_whole {
            return Ok(survey);
        }
        self.look(no_glance).map(|(survey, _)| survey).map_err(failed)
    }

    /// Surveys the lines with `glance`, or by parsing where that fails; also returns whether the path reaches
    /// a root.
    fn look(&self, glance: impl Fn(&[u8]) -> Option<Glance<'_>>) -> io::Result<(Survey, bool)> {
        let mut settings = EarlierSettings::default();
        let mut usage = UsageSum::default();
        let mut lines: Vec<(PathLine, u64)> = Vec::new();
        let mut places: HashMap<u64, usize> = HashMap::new();
        let mut add = |line: (PathLine, u64)| {
            places.insert(line.0.id, lines.len());
            lines.push(line);
        };
        self.file.lines(|begin, line| {
            let head = glance(line);
            // Prompts and results have no usage, and results are most of a file.
            let may_use = |head: &Glance<'_>| matches!(head.kind, LineKind::Answer | LineKind::Other);
            if head.as_ref().is_none_or(may_use) {
                usage.add_line(read::bare(line));
            }
            let Ok(len) = u32::try_from(line.len()) else { return };
            if let Some(Glance { kind, id, parent }) = head {
                if kind == LineKind::Other && line.len() <= SHORT {
                    settings.note(line);
                }
                add((PathLine { begin, len, kind, id: hash(id) }, parent.map_or(0, hash)));
                return;
            }
            for entry in read::entries(line).0 {
                settings.note_body(&entry.body);
                let (kind, id) = (LineKind::of(&entry.body), hash(entry.id.as_bytes()));
                let parent = entry.parent.as_ref().map_or(0, |parent| hash(parent.as_bytes()));
                add((PathLine { begin, len, kind, id }, parent));
            }
        })?;
        let mut path = Vec::new();
        let mut next = self.parent.as_ref().map_or(0, |parent| hash(parent.as_bytes()));
        while let Some((line, parent)) = places.get(&next).and_then(|at| lines.get(*at)) {
            // A cycle ends the path.
            if path.len() == lines.len() {
                break;
            }
            path.push(*line);
            next = *parent;
        }
        path.reverse();
        Ok((Survey { file: self.file.clone(), path, settings, usage }, next == 0))
    }
}

impl EarlierSettings {
    fn note(&mut self, line: &[u8]) {
        if let Some(entry) = std::str::from_utf8(line).ok().and_then(Entry::parse) {
            self.note_body(&entry.body);
        }
    }

    fn note_body(&mut self, body: &Body) {
        match body {
            Body::SessionInfo { name } => self.name = Some(name.clone()).filter(|name| !name.is_empty()),
            Body::ModelChange { provider, model_id } => {
                self.model = Some((provider.clone(), model_id.clone()));
            }
            Body::ThinkingLevelChange { thinking_level } => self.thinking = Some(thinking_level.clone()),
            _ => {}
        }
    }
}

/// The head of a line: its kind, its id and its parent's id.
struct Glance<'a> {
    kind: LineKind,
    id: &'a [u8],
    parent: Option<&'a [u8]>,
}

/// Makes every line be parsed.
fn no_glance(_: &[u8]) -> Option<Glance<'_>> {
    None
}

/// Reads the head of a line in tau's own format.
fn glance(line: &[u8]) -> Option<Glance<'_>> {
    let (kind, rest) = split_string(line.strip_prefix(br#"{"type":"#)?)?;
    let (id, rest) = split_string(rest.strip_prefix(br#","id":"#)?)?;
    let rest = rest.strip_prefix(br#","parentId":"#)?;
    let parent = if rest.starts_with(b"null") { None } else { Some(split_string(rest)?.0) };
    let kind = match kind {
        b"message" => match list::role(line)? {
            b"user" => LineKind::Prompt,
            b"assistant" => LineKind::Answer,
            b"toolResult" => LineKind::Result,
            _ => LineKind::Other,
        },
        b"context_edit" => LineKind::Edit,
        b"session" => return None,
        _ => LineKind::Other,
    };
    Some(Glance { kind, id, parent })
}

/// A string without escapes at the start of a text, and the rest.
fn split_string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let end = memchr::memchr2(b'"', b'\\', text)?;
    let (string, rest) = text.split_at_checked(end)?;
    Some((string, rest.strip_prefix(b"\"")?))
}

/// The hash of an id; never 0, which means no id.
pub(super) fn hash(id: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish().max(1)
}
