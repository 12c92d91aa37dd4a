//! A session as a document to share: a page, markdown, or its lines, without secrets.
//!
//! Pure but for [`own_secrets`]: from a session to text. Every piece of text passes the [`Redactor`]
//! before it is written; where the text comes from nobody is trusted, so pages escape all of it.

mod html;
mod markdown;

use std::path::Path;

pub use super::secrets::redact::Redactor;
use super::session::Session;
use super::session::entry::{Body, Entry};
use super::session::outline::Outline;
use crate::tools::process::environment::is_secret_name;

/// What a session is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// One page that needs nothing else.
    #[default]
    Html,
    Markdown,
    /// The lines of the session file.
    Jsonl,
}

impl Format {
    /// The format for a file of that name; `None` for an unknown ending.
    pub fn of(path: &Path) -> Option<Self> {
        Self::named(path.extension()?.to_str()?)
    }

    /// The format of that name, which is an ending of file names.
    pub fn named(ending: &str) -> Option<Self> {
        match ending.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(Format::Html),
            "md" | "markdown" => Some(Format::Markdown),
            "jsonl" => Some(Format::Jsonl),
            _ => None,
        }
    }

    /// The usual ending of file names.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Html => "html",
            Format::Markdown => "md",
            Format::Jsonl => "jsonl",
        }
    }
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub text: String,
    /// Secrets that were masked in it.
    pub masked: usize,
}

/// The session as a document. It must have been read whole ([`Session::whole`]).
pub fn document(session: &Session, format: Format, secrets: &[String]) -> Document {
    let mut redactor = Redactor::new(secrets);
    let text = match format {
        Format::Html => html::page(session, &mut redactor),
        Format::Markdown => markdown::text(session, &mut redactor),
        Format::Jsonl => lines(session, &mut redactor),
    };
    Document { text, masked: redactor.count() }
}

/// Values of environment variables whose names say that they are secret.
pub(crate) fn own_secrets() -> Vec<String> {
    let secret = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        is_secret_name(&name).then(|| value.into_string().ok()).flatten()
    };
    std::env::vars_os().filter_map(secret).collect()
}

/// The lines as they are in the file, with every field that is not known here.
fn lines(session: &Session, redactor: &mut Redactor) -> String {
    let mut text = redactor.json_line(session.header());
    text.push('\n');
    let kept = session.lines();
    for entry in session.tree().entries() {
        let line = kept.get(&*entry.id).cloned().unwrap_or_else(|| entry.line());
        text.push_str(&redactor.json_line(String::from_utf8_lossy(&line).trim_end()));
        text.push('\n');
    }
    text
}

/// The name of a session, or what it began with.
fn title(session: &Session) -> String {
    let outline = || {
        let rows = Outline::of(session.tree()).rows;
        rows.into_iter().find(|row| row.kind == super::session::outline::RowKind::User).map(|row| row.text)
    };
    session.info().name.clone().or_else(outline).unwrap_or_else(|| "a session".to_owned())
}

/// The entries on the path to the current entry, and all others.
fn parted(session: &Session) -> (Vec<&Entry>, Vec<&Entry>) {
    let tree = session.tree();
    let path = tree.branch();
    let on: std::collections::HashSet<&str> = path.iter().map(|entry| &*entry.id).collect();
    let others = tree.entries().iter().filter(|entry| !on.contains(&*entry.id) && is_shown(entry)).collect();
    (path.into_iter().filter(|entry| is_shown(entry)).collect(), others)
}

/// Settings, labels and what other programs keep are no part of a document.
fn is_shown(entry: &Entry) -> bool {
    match &entry.body {
        Body::Message { .. } | Body::Compaction { .. } | Body::BranchSummary { .. } => true,
        Body::CustomMessage { display, .. } => *display,
        _ => false,
    }
}
