//! Forks and clones of sessions (section 8 of the session format), and sessions as text.
//!
//! Entries keep their ids and all fields, including unknown ones. Labels of kept entries are written again at
//! the end, because they may be on another branch.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::entry::{Body, Entry, now};
use super::header::Beginning;
use super::tree::Tree;
use super::{Session, SessionError, read};
use crate::secrets::redact::Redactor;
use tau_protocol::event::SessionInfo;
use tau_protocol::query::SessionSource;
use tau_tools::regular_files::read_capped;

/// The part of the path that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkRange<'a> {
    /// All of it.
    All,
    /// All of it that has been read, without what can no longer be read.
    Known,
    /// Everything before the entry with that id.
    Before(&'a str),
}

impl Session {
    /// The source of the complete session; `None` if it has no messages yet. If its file does not have every
    /// entry, it must have been read completely ([`Session::whole`]).
    pub fn source(&self) -> Option<SessionSource> {
        if let Some(file) = self.file.as_ref().filter(|file| file.is_whole()) {
            return Some(SessionSource::File(file.path().to_owned()));
        }
        let entries = self.tree.entries();
        entries.iter().find(|entry| matches!(entry.body, Body::Message { .. }))?;
        let lines = entries.iter().map(|entry| String::from_utf8_lossy(&entry.line()).into_owned());
        Some(SessionSource::Lines(std::iter::once(format!("{}\n", self.header)).chain(lines).collect()))
    }

    /// A session in memory, made from the lines of a session file. Fails with `NotASession` when they do not
    /// begin with a header.
    pub fn from_lines(lines: &str) -> Result<Session, SessionError> {
        let contents = read::contents(lines.as_bytes());
        let contents = contents.ok_or_else(|| SessionError::NotASession(PathBuf::from("memory")))?;
        let mut session = Session::fresh(None, &contents.header.cwd, Some(contents.header.id.clone()), None);
        session.header = lines.lines().next().unwrap_or_default().into();
        session.skipped = contents.skipped;
        session.tree = super::open::tree_of(&contents.header, contents.entries);
        session.info.name = session.tree.name().map(str::to_owned);
        Ok(session)
    }

    /// A copy in memory, without secrets. It must have been read completely ([`Session::whole`]).
    pub(crate) fn redacted_copy(&self, redactor: &mut Redactor) -> Session {
        let (model, thinking) = self.tree.initial();
        let mut tree = Tree::default();
        tree.begin_with(model, thinking);
        for entry in self.tree.entries() {
            let line = redactor.json_line(String::from_utf8_lossy(&entry.line()).trim_end());
            Entry::parse(&line).into_iter().for_each(|entry| tree.push(entry));
        }
        tree.move_leaf(self.tree.leaf().map(|leaf| &*leaf.id));
        // It is in the header as well, where it counts.
        let cwd = redactor.clone().text(&self.info.cwd.to_string_lossy()).into();
        let (name, file) = (tree.name().map(str::to_owned), None);
        let info = SessionInfo { name, cwd, file, ..self.info.clone() };
        let (header, notes) = (redactor.json_line(&self.header).into(), Vec::new());
        let (skipped, program) = (self.skipped, self.program);
        Session { info, tree, file: None, skipped, header, unread: None, notes, program }
    }

    /// A new session with a part of the path to this one's leaf; `None` when the entry is not on it, or when
    /// the unread part can no longer be read. Its file is created, in `dir`, with the first message.
    pub fn fork(&mut self, dir: Option<&Path>, part: ForkRange<'_>) -> Option<Session> {
        if part != ForkRange::Known {
            self.whole().ok()?;
        }
        let path: Vec<&Entry> = match part {
            ForkRange::All | ForkRange::Known => self.tree.branch(),
            ForkRange::Before(id) => {
                let path = self.tree.branch_to(id)?;
                path.split_last().map(|(_, before)| before.to_vec()).unwrap_or_default()
            }
        };
        let source = self.info.file.as_deref().filter(|file| file.exists());
        let kind = self.helper_kind();
        let beginning = Beginning { parent: source, helper_part: kind.as_deref(), ..Beginning::default() };
        let mut fork = Session::new(dir, &self.info.cwd, None, beginning);
        fork.info.resumed = true;
        let lines = self.lines();
        let mut parent: Option<Arc<str>> = None;
        for entry in path.iter().filter(|entry| !matches!(entry.body, Body::Label { .. })) {
            let own = entry.line();
            let line = lines.get(&*entry.id).map_or(own.as_slice(), Vec::as_slice);
            fork.adopt(line, parent.as_ref());
            parent = Some(Arc::clone(&entry.id));
        }
        for entry in &path {
            if let Some(label) = self.tree.label(&entry.id) {
                let (target_id, label) = (entry.id.to_string(), Some(label.to_owned()));
                let label = fork.tree.grow(now(), Body::Label { target_id, label });
                fork.wait(label.line());
                fork.tree.push(label);
            }
        }
        fork.info.name = fork.tree.name().map(str::to_owned);
        Some(fork)
    }

    /// Adds a copy of a line below `parent`.
    fn adopt(&mut self, line: &[u8], parent: Option<&Arc<str>>) {
        let parse = |line: &[u8]| Entry::parse(String::from_utf8_lossy(line).trim());
        let Some(mut entry) = parse(line) else { return };
        let mut line = line.to_vec();
        if entry.parent.as_ref() != parent
            && let Ok(mut value) = serde_json::from_slice::<Value>(&line)
        {
            if let Some(fields) = value.as_object_mut() {
                fields.insert("parentId".into(), parent.map(|id| Value::from(&**id)).unwrap_or_default());
            }
            line = value.to_string().into_bytes();
            entry = parse(&line).unwrap_or(entry);
        }
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        self.wait(line);
        self.tree.push(entry);
    }

    /// The lines of the file by id, unchanged; for duplicate ids, the later one.
    pub(crate) fn lines(&self) -> HashMap<String, Vec<u8>> {
        let bytes =
            self.info.file.as_ref().and_then(|file| read_capped(file, u64::MAX).ok()).unwrap_or_default();
        let line = |line: &[u8]| {
            let entry = Entry::parse(&String::from_utf8_lossy(line))?;
            Some((entry.id.to_string(), line.to_vec()))
        };
        read::lines(&bytes).filter_map(line).collect()
    }
}
