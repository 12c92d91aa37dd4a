//! Pages through the part of the current branch before the messages a front end was given.
//!
//! The branch is a sequence of entries, and a position is an index into it. The first of them are in the
//! unread part of the file, where [`super::survey`] located their lines; they are read for a page and not
//! kept. The others are in memory.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::entry::{Body, Entry};
use super::history_search::is_said_in;
use super::survey::{LineKind, PathLine, Survey};
use super::tree::{Tree, edited_items, edits};
use super::unread::{UnreadFile, read_exact};
use super::{Session, SessionError};
use tau_protocol::message::Message;
use tau_protocol::needle::Needle;
use tau_protocol::query::{PageFrom, PageGoal};

/// The approximate size of a page, in bytes of the file; a larger entry is a page of its own.
const PAGE_BYTES: u64 = 512 * 1024;
/// The maximum bytes of the file that are read at once, including gaps between lines.
const GO_BYTES: u64 = 1024 * 1024;

/// The branch before the messages that were sent.
#[derive(Debug, Default)]
pub(crate) struct History {
    file: Option<UnreadFile>,
    /// The entries that are only in the file, from the root.
    lines: Arc<[PathLine]>,
    /// The first entry after them.
    joint: Option<Arc<str>>,
    /// The first entry that was sent.
    sent: Option<Arc<str>>,
    /// Whether nothing was sent, so that pages extend to the end.
    whole: bool,
}

/// A request for a page, with everything needed to read it.
#[derive(Debug)]
pub(crate) struct PageJob {
    file: Option<UnreadFile>,
    lines: Arc<[PathLine]>,
    /// The entries in memory, including those that were sent.
    memory: Vec<MemoryEntry>,
    /// The number of entries before those that were sent.
    end: usize,
    /// Edits in memory, which may change entries in the file.
    edits: Vec<Entry>,
    from: PageFrom,
    goal: PageGoal,
}

#[derive(Debug)]
struct MemoryEntry {
    kind: LineKind,
    message: Option<Arc<Message>>,
}

/// A page that was read.
#[derive(Debug, Default, PartialEq)]
pub struct BranchPage {
    /// Its messages, and later results of its calls.
    pub messages: Vec<Arc<Message>>,
    /// The positions of its entries.
    pub place: Range<usize>,
    /// The number of user and model messages before it; `None` if there are none.
    pub left: Option<u64>,
    /// The number of user and model messages between it and those that were sent.
    pub(crate) after: Option<u64>,
}

impl History {
    /// The branch of `tree` from its root in memory to the first entry of the context, which was sent.
    pub(crate) fn in_memory(tree: &Tree) -> Self {
        let joint = tree.branch().first().map(|first| Arc::clone(&first.id));
        let sent = tree.context_start().map(|entry| Arc::clone(&entry.id));
        History { joint, sent, ..History::default() }
    }

    /// The whole branch of `tree`, for a reader without any messages yet.
    pub(crate) fn whole(tree: &Tree) -> Self {
        History { sent: None, whole: true, ..History::in_memory(tree) }
    }

    /// Adds the entries in the file.
    pub(crate) fn with_file(self, survey: Survey) -> Self {
        History { file: Some(survey.file), lines: survey.path.into(), ..self }
    }

    /// The number of user and model messages before those that were sent; `None` if there are none.
    pub(crate) fn messages_left(&self, tree: &Tree) -> Option<u64> {
        let job = self.job(tree, PageFrom::default(), PageGoal::Next);
        job.count(0..job.end)
    }

    /// Prepares the reading of a page.
    pub(crate) fn job(&self, tree: &Tree, from: PageFrom, goal: PageGoal) -> PageJob {
        let path = tree.branch();
        let place = |id: &Option<Arc<str>>| path.iter().position(|entry| Some(&entry.id) == id.as_ref());
        let known = path.get(place(&self.joint).unwrap_or(0)..).unwrap_or_default();
        let all_edits = edits(known);
        let memory = known.iter().map(|entry| MemoryEntry {
            kind: LineKind::of(&entry.body),
            message: edited_items(&[entry], &all_edits).pop().map(|(_, message)| message),
        });
        let sent = known.iter().position(|entry| Some(&entry.id) == self.sent.as_ref());
        let is_edit = |entry: &&&Entry| matches!(entry.body, Body::ContextEdit { .. });
        PageJob {
            file: self.file.clone(),
            lines: Arc::clone(&self.lines),
            memory: memory.collect(),
            end: self.lines.len().saturating_add(if self.whole { known.len() } else { sent.unwrap_or(0) }),
            edits: known.iter().filter(is_edit).map(|entry| Entry::clone(entry)).collect(),
            from,
            goal,
        }
    }
}

impl Session {
    /// A page of the branch, starting anywhere; the pages of the whole branch join without a gap. Blocks, and
    /// reads unread parts of the file. Fails with `Io` when the file cannot be read, or has been replaced.
    pub fn branch_page(&self, from: PageFrom, goal: PageGoal) -> Result<BranchPage, SessionError> {
        let history = History::whole(self.tree());
        let history = match self.survey_job() {
            Some(job) => history.with_file(job.read()?),
            None => history,
        };
        let path = || self.info().file.clone().unwrap_or_default();
        history
            .job(self.tree(), from, goal)
            .read()
            .map_err(|source| SessionError::Io { path: path(), source })
    }
}

impl PageJob {
    /// Whether the file must be read.
    pub(crate) fn reads_file(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Reads the page. Blocks. Empty if the requested entry is not found. Fails with errors of the file
    /// system, and when the file has been replaced.
    pub(crate) fn read(&self) -> io::Result<BranchPage> {
        let file = self.file.as_ref().filter(|_| self.reads_file()).map(UnreadFile::open).transpose()?;
        let Some(place) = self.place(file.as_ref())? else { return Ok(BranchPage::default()) };
        let mut messages = self.messages(file.as_ref(), place.clone())?;
        // A call may be on this page, and its result after it.
        let is_answer = |at: &usize| matches!(self.kind(*at), None | Some(LineKind::Answer));
        let next_answer = (place.end..).find(is_answer).unwrap_or(place.end);
        for at in (place.end..next_answer).filter(|at| self.kind(*at) == Some(LineKind::Result)) {
            messages.extend(self.messages(file.as_ref(), at..at.saturating_add(1))?);
        }
        let (left, after) = (self.count(0..place.start), self.count(place.end..self.end));
        Ok(BranchPage { messages, place, left, after })
    }

    /// The positions of the page; `None` if the requested entry is not found.
    fn place(&self, file: Option<&File>) -> io::Result<Option<Range<usize>>> {
        let range = match self.from {
            PageFrom::Before { position: None } => 0..self.end,
            PageFrom::Before { position: Some(position) } => 0..self.end.min(position as usize),
            PageFrom::After { position } => self.end.min(position as usize)..self.end,
        };
        let backwards = matches!(self.from, PageFrom::Before { .. });
        Ok(match &self.goal {
            PageGoal::Next if backwards => Some(self.start(&range, range.end, PAGE_BYTES)..range.end),
            PageGoal::Next => Some(range.start..self.stop(&range, range.start, PAGE_BYTES)),
            PageGoal::Prompt => {
                let is_prompt = |at: &usize| self.kind(*at) == Some(LineKind::Prompt);
                let found = nearest(range.clone(), backwards, is_prompt);
                found.map(|found| found..self.stop(&range, found, PAGE_BYTES))
            }
            PageGoal::Text { text } => {
                let found = self.search(file, &range, text, backwards)?;
                found.map(|found| {
                    let next = found.saturating_add(1);
                    self.start(&range, next, PAGE_BYTES / 2)..self.stop(&range, found, PAGE_BYTES / 2)
                })
            }
        })
    }

    /// The start of a page of about `bytes` that ends at `end`; it has at least one entry.
    fn start(&self, range: &Range<usize>, end: usize, bytes: u64) -> usize {
        let before = (range.start..end).rev();
        end.saturating_sub(self.fitting(before, bytes))
    }

    /// The end of a page of about `bytes` that starts at `start`.
    fn stop(&self, range: &Range<usize>, start: usize, bytes: u64) -> usize {
        start.saturating_add(self.fitting(start..range.end, bytes))
    }

    /// The number of entries that fit into `bytes`: at least the first with a message.
    fn fitting(&self, entries: impl Iterator<Item = usize>, bytes: u64) -> usize {
        let (mut sum, mut messages) = (0_u64, 0_usize);
        let fits = |at: &usize| {
            sum = sum.saturating_add(self.size(*at));
            let fits = messages == 0 || sum <= bytes;
            messages = messages.saturating_add(usize::from(self.has_message(*at)));
            fits
        };
        entries.take_while(fits).count()
    }

    fn in_memory(&self, at: usize) -> Option<&MemoryEntry> {
        self.memory.get(at.checked_sub(self.lines.len())?)
    }

    /// The kind of an entry; `None` after the last.
    fn kind(&self, at: usize) -> Option<LineKind> {
        let line = self.lines.get(at).map(|line| line.kind);
        line.or_else(|| self.in_memory(at).map(|entry| entry.kind))
    }

    fn has_message(&self, at: usize) -> bool {
        self.in_memory(at).map_or(self.kind(at) != Some(LineKind::Edit), |entry| entry.message.is_some())
    }

    fn size(&self, at: usize) -> u64 {
        let message = || self.in_memory(at)?.message.as_ref();
        let written = || message().and_then(|message| serde_json::to_vec(message).ok());
        self.lines
            .get(at)
            .map_or_else(|| written().map_or(0, |json| json.len() as u64), |line| u64::from(line.len))
    }

    fn count(&self, range: Range<usize>) -> Option<u64> {
        let is_counted = |at: &usize| self.kind(*at).is_some_and(LineKind::is_conversation);
        (!range.is_empty()).then(|| range.filter(is_counted).count() as u64)
    }

    /// The messages of entries, after edits.
    fn messages(&self, file: Option<&File>, place: Range<usize>) -> io::Result<Vec<Arc<Message>>> {
        let split = place.end.min(self.lines.len()).max(place.start);
        let lines = self.lines.get(place.start..split).unwrap_or_default();
        let mut entries = Vec::new();
        let edited = self.lines.iter().filter(|line| line.kind == LineKind::Edit);
        let mut in_file: Vec<Entry> = Vec::new();
        if let Some(file) = file {
            for line in edited.filter(|_| !lines.is_empty()) {
                each_line(file, std::slice::from_ref(line), |line, text| in_file.extend(line.entry(text)))?;
            }
            each_line(file, lines, |line, text| entries.extend(line.entry(text)))?;
        }
        let edits = edits(&in_file.iter().chain(&self.edits).collect::<Vec<_>>());
        let items = edited_items(&entries.iter().collect::<Vec<_>>(), &edits).into_iter();
        let in_memory = (split..place.end).filter_map(|at| self.in_memory(at)?.message.clone());
        Ok(items.map(|(_, message)| message).chain(in_memory).collect())
    }

    /// The nearest entry that contains `text`.
    fn search(
        &self,
        file: Option<&File>,
        range: &Range<usize>,
        text: &str,
        backwards: bool,
    ) -> io::Result<Option<usize>> {
        let Some(needle) = Needle::new(text) else { return Ok(None) };
        let is_said = is_said_in(&needle);
        let split = range.end.min(self.lines.len()).max(range.start);
        let memory = || {
            let said = |at: &usize| {
                let message = self.in_memory(*at).and_then(|entry| entry.message.as_ref());
                message
                    .and_then(|message| serde_json::to_vec(message).ok())
                    .is_some_and(|json| is_said(&json))
            };
            nearest(split..range.end, backwards, said)
        };
        if backwards && let Some(found) = memory() {
            return Ok(Some(found));
        }
        let mut goes = goes(self.lines.get(range.start..split).unwrap_or_default());
        if backwards {
            goes.reverse();
        }
        for go in goes {
            let (mut found, mut at) = (None, range.start.saturating_add(go.start));
            let lines = self.lines.get(at..range.start.saturating_add(go.end)).unwrap_or_default();
            let Some(file) = file else { break };
            each_line(file, lines, |_, text| {
                if (backwards || found.is_none()) && is_said(text) {
                    found = Some(at);
                }
                at = at.saturating_add(1);
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(if backwards { None } else { memory() })
    }
}

/// The position nearest to the start of a search.
fn nearest(mut range: Range<usize>, backwards: bool, is_it: impl Fn(&usize) -> bool) -> Option<usize> {
    if backwards { range.rfind(is_it) } else { range.find(is_it) }
}

/// Groups the lines into ranges that are each read at once.
fn goes(lines: &[PathLine]) -> Vec<Range<usize>> {
    let mut goes: Vec<Range<usize>> = Vec::new();
    let mut begin = 0;
    for (at, line) in lines.iter().enumerate() {
        match goes.last_mut() {
            Some(last) if line.begin.saturating_sub(begin) < GO_BYTES => last.end = at.saturating_add(1),
            _ => {
                goes.push(at..at.saturating_add(1));
                begin = line.begin;
            }
        }
    }
    goes
}

/// Passes the text of each line to `take`.
fn each_line(file: &File, lines: &[PathLine], mut take: impl FnMut(&PathLine, &[u8])) -> io::Result<()> {
    let mut buffer = Vec::new();
    for go in goes(lines) {
        let lines = lines.get(go).unwrap_or_default();
        let Some((first, last)) = lines.first().zip(lines.last()) else { continue };
        let len = last.begin.saturating_add(u64::from(last.len)).saturating_sub(first.begin);
        buffer.resize(usize::try_from(len).map_err(io::Error::other)?, 0);
        read_exact(file, &mut buffer, first.begin)?;
        for line in lines {
            let start = line.begin.saturating_sub(first.begin) as usize;
            let text = buffer.get(start..start.saturating_add(line.len as usize)).unwrap_or_default();
            take(line, text);
        }
    }
    Ok(())
}
