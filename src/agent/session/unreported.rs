//! Finds helpers whose parent ended before it heard of their end: their usage counts in its session.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::{Body, Entry};
use super::header::Header;
use super::usage::UsageSum;
use super::{Session, lock, read};
use tau_protocol::message::{Message, StopReason};
use tau_protocol::usage::Usage;
use tau_tools::Details;
use tau_tools::delegate;
use tau_tools::regular_files::{open_regular, read_capped};

/// The size limit of a helper's session that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// A helper that ended with its parent.
#[derive(Debug)]
pub(crate) struct UnreportedHelper {
    /// The id of its session.
    pub id: String,
    pub file: PathBuf,
    pub kind: String,
    /// The messages to it: its task, behind those of a conversation that it inherited.
    pub prompts: Vec<String>,
    /// Its usage, with its own helpers.
    pub usage: Usage,
    /// The model that answered last.
    pub model: String,
    /// Its answer, if it had finished.
    pub answer: Option<String>,
    /// Whether a process continues it without its parent.
    pub is_open: bool,
}

struct HelperFile {
    path: PathBuf,
    header: Header,
}

impl Session {
    /// The helpers that this session has started since a time, in milliseconds since 1970, and that none of its results
    /// names; oldest first.
    pub(crate) fn unreported_helpers(&self, since: i64) -> Vec<UnreportedHelper> {
        let Some(own) = &self.info.file else { return Vec::new() };
        let files = helper_files(own, since);
        let told: Vec<&str> = messages(self.tree.entries()).filter_map(helper_session).collect();
        let is_unreported = |file: &&HelperFile| file.is_of(own) && !told.contains(&file.header.id.as_str());
        files.iter().filter(is_unreported).map(|file| file.report(&files)).collect()
    }

    /// The usage of helpers that neither an entry nor these results name: they continue without this session. Looked for
    /// only if calls have no result that names a helper.
    pub(crate) fn usage_apart(&self, results: &[Arc<Message>]) -> Usage {
        let entries = self.tree.entries();
        let all = || messages(entries).chain(results.iter().map(AsRef::as_ref));
        let is_unnamed = |message: &Message| match message {
            Message::ToolResult(result) => {
                result.tool_name == delegate::NAME && helper_session(message).is_none()
            }
            _ => false,
        };
        let mut usage = Usage::default();
        if !all().any(is_unnamed) {
            return usage;
        }
        let named: Vec<&str> = results.iter().filter_map(|result| helper_session(result)).collect();
        let since = entries.first().map_or(i64::MIN, |entry| entry.timestamp);
        let apart = self.unreported_helpers(since).into_iter();
        let apart = apart.filter(|helper| !named.contains(&helper.id.as_str()));
        apart.for_each(|helper| usage.add(&helper.usage));
        usage
    }
}

/// The usage of the session in a file with its helpers; `None` if it cannot be read.
pub fn usage_of_file(path: &Path) -> Option<Usage> {
    let header = read::header_line(&mut BufReader::new(open_regular(path).ok()?)).ok()??.0;
    let file = HelperFile { path: path.to_owned(), header };
    Some(file.report(&helper_files(path, i64::MIN)).usage)
}

fn messages(entries: &[Entry]) -> impl DoubleEndedIterator<Item = &Message> {
    entries.iter().filter_map(|entry| match &entry.body {
        Body::Message { message } => Some(message.as_ref()),
        _ => None,
    })
}

/// The helper session that a result names.
fn helper_session(message: &Message) -> Option<&str> {
    match message {
        Message::ToolResult(result) => match &result.details {
            Details::Helper(report) => Some(&report.session),
            _ => None,
        },
        _ => None,
    }
}

/// The sessions of helpers beside a session file, oldest first.
fn helper_files(own: &Path, since: i64) -> Vec<HelperFile> {
    let beside = own.parent().and_then(|folder| fs::read_dir(folder).ok());
    let paths = beside.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let helper = |path: PathBuf| {
        let header = read::header_line(&mut BufReader::new(open_regular(&path).ok()?)).ok()??.0;
        (header.helper.is_some() && header.creation_time() >= since).then_some(HelperFile { path, header })
    };
    let mut found: Vec<HelperFile> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).filter_map(helper).collect();
    found.sort_by_key(|file| file.header.creation_time());
    found
}

impl HelperFile {
    fn is_of(&self, parent: &Path) -> bool {
        self.header.parent_session.as_deref() == Some(parent)
    }

    fn report(&self, all: &[HelperFile]) -> UnreportedHelper {
        let bytes = read_capped(&self.path, MAX_BYTES).unwrap_or_default();
        let (entries, _) = read::entries(&bytes);
        let prompts = messages(&entries).filter_map(|message| match message {
            Message::User(message) => Some(message.content.text()),
            _ => None,
        });
        let model = messages(&entries).rev().find_map(|message| match message {
            Message::Assistant(answer) => Some(answer.model.clone()),
            _ => None,
        });
        let answer = match messages(&entries).next_back() {
            Some(Message::Assistant(answer)) if answer.stop_reason == StopReason::Stop => Some(answer.text()),
            _ => None,
        };
        let mut sum = UsageSum::default();
        read::lines(&bytes).for_each(|line| sum.add_line(line));
        let told: Vec<&str> = messages(&entries).filter_map(helper_session).collect();
        let below =
            all.iter().filter(|file| file.is_of(&self.path) && !told.contains(&file.header.id.as_str()));
        let mut usage = sum.total;
        below.for_each(|file| usage.add(&file.report(all).usage));
        UnreportedHelper {
            id: self.header.id.clone(),
            file: self.path.clone(),
            kind: self.header.helper.clone().unwrap_or_default(),
            prompts: prompts.collect(),
            usage,
            model: model.unwrap_or_default(),
            answer: answer.filter(|text| !text.trim().is_empty()),
            is_open: lock::is_open(&self.path),
        }
    }
}
