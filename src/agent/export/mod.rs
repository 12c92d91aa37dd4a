//! A session as a document to share: a page, markdown, or its lines, without secrets.
//!
//! [`agents`] writes it in the format of another agent instead. Pure but for [`own_secrets`]: from a session to text. Every piece of text passes the [`Redactor`] before
//! it is written; no source of text is trusted, so pages escape all of it.

pub mod agents;
mod calls;
mod html;
mod markdown;
pub(crate) mod pen;

use crate::settings::local_zone::local_zone;
use std::ffi::OsString;
use std::path::Path;

use super::protocol::message::Message;
use super::protocol::title;
pub use super::secrets::redact::Redactor;
use super::session::Session;
use super::session::entry::{Body, Entry};
pub use pen::Highlight;
use tau_tools::process::secret_variables::{SecretName, secret_name};
use tau_tools::recognise;

/// Whether a text begins as the documents do.
pub fn is_document(start: &str) -> bool {
    let mut parts = start.split("\n\n");
    start.starts_with(html::START)
        || start.starts_with(r#"{"type":"session""#)
        || parts.next().is_some_and(|title| title.starts_with("# "))
            && parts.next().is_some_and(|line| line.starts_with("Session `"))
}

/// The format of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A self-contained page.
    #[default]
    Html,
    Markdown,
    /// The lines of the session file.
    Jsonl,
}

impl Format {
    /// The format for a file name; `None` for an unknown extension.
    pub fn of(path: &Path) -> Option<Self> {
        Self::from_name(path.extension()?.to_str()?)
    }

    /// The format with that name, which is a file extension.
    pub fn from_name(ending: &str) -> Option<Self> {
        match ending.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(Format::Html),
            "md" | "markdown" => Some(Format::Markdown),
            "jsonl" => Some(Format::Jsonl),
            _ => None,
        }
    }

    /// The usual file extension.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Html => "html",
            Format::Markdown => "md",
            Format::Jsonl => "jsonl",
        }
    }
}

/// The maximum length of a file name that is made from a title, in bytes.
const NAME_BYTES: usize = 120;

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub text: String,
    /// The number of secrets that were masked in it.
    pub masked: usize,
}

/// The session as a document, with the tokens that `highlight` finds in code as classes: `keyword`, `string` and
/// the other names of tokens in theme files. The session must have been read completely ([`Session::whole`]).
pub fn coloured_document(
    session: &Session,
    format: Format,
    secrets: &[String],
    highlight: &mut Highlight<'_>,
) -> Document {
    let mut redactor = Redactor::new(secrets);
    let text = match format {
        Format::Html => {
            let session = session.redacted_copy(&mut redactor);
            html::page(&session, redactor.count(), highlight)
        }
        Format::Markdown => markdown::text(session, &mut redactor),
        Format::Jsonl => lines(session, &mut redactor),
    };
    Document { text, masked: redactor.count() }
}

/// Values of environment variables whose names suggest secrets, and passwords in other variables.
pub fn own_secrets() -> Vec<String> {
    own_secrets_of(std::env::vars_os())
}

fn own_secrets_of(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<String> {
    let secrets = |(name, value): (OsString, OsString)| {
        let value = value.into_string().unwrap_or_default();
        let is_secret = match secret_name(&name) {
            Some(SecretName::Value) => recognise::is_own_secret(&value),
            Some(SecretName::Related) => recognise::looks_secret(&value),
            None => false,
        };
        let passwords = recognise::passwords(&value).filter(|password| recognise::is_own_secret(password));
        let mut secrets: Vec<String> = passwords.map(str::to_owned).collect();
        secrets.extend(Some(value).filter(|_| is_secret));
        secrets
    };
    variables.flat_map(secrets).collect()
}

/// The lines as in the file, including every unknown field.
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

/// The name of a session, or the title that its first message gives it, without secrets: these are masked before
/// the title is cut. They count where the name or the message is.
fn title(session: &Session, redactor: &Redactor) -> String {
    let first = || {
        let mut redactor = redactor.clone();
        session.tree().entries().iter().find_map(|entry| match &entry.body {
            Body::Message { message } => match &**message {
                Message::User(user) => title::of(&redactor.text(&user.content.text())),
                _ => None,
            },
            _ => None,
        })
    };
    let title = match &session.info().name {
        Some(name) => Some(redactor.clone().text(name)),
        None => first(),
    };
    title
        .map(|title| pen::one_line(&title))
        .filter(|title| !title.is_empty())
        .unwrap_or_else(|| "a session".to_owned())
}

/// The program that a session is of, after its id, if it is not tau.
fn of_program(session: &Session) -> String {
    let program = session.program();
    if program.is_foreign() { format!(" of {}", program.program()) } else { String::new() }
}

/// The usual file name for a session, without its extension: the day on which it began, and its title.
/// Without secrets.
pub fn file_stem(session: &Session, secrets: &[String]) -> String {
    let begun = serde_json::from_str::<serde_json::Value>(session.header()).ok();
    let begun =
        begun.as_ref().and_then(|header| header.get("timestamp")?.as_str()?.parse::<jiff::Timestamp>().ok());
    let day = begun.map(|time| time.to_zoned(local_zone()).date().to_string());
    let title = title(session, &Redactor::new(secrets)).to_lowercase();
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let parts: Vec<&str> = day.iter().map(String::as_str).chain(words).collect();
    let mut name = parts.join("-");
    // File names are limited in bytes.
    name.truncate(name.floor_char_boundary(NAME_BYTES));
    name.trim_end_matches('-').to_owned()
}

/// The entries on the path to the current entry, and all others.
fn partition_entries(session: &Session) -> (Vec<&Entry>, Vec<&Entry>) {
    let tree = session.tree();
    let path = tree.branch();
    let on: std::collections::HashSet<&str> = path.iter().map(|entry| &*entry.id).collect();
    let others = tree.entries().iter().filter(|entry| !on.contains(&*entry.id) && is_shown(entry)).collect();
    (path.into_iter().filter(|entry| is_shown(entry)).collect(), others)
}

/// Whether an entry is part of a document: not settings, labels and other programs' data.
fn is_shown(entry: &Entry) -> bool {
    match &entry.body {
        Body::Message { .. } | Body::Compaction { .. } | Body::BranchSummary { .. } => true,
        Body::CustomMessage { display, .. } => *display,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_the_environment_are_values_and_passwords() {
        let given = [
            ("DB_PASS", "correcthorse"),
            ("MY_TOKEN", "hunter2-password"),
            ("DATABASE_URL", "postgres://app:batterystaple@db/x"),
            ("POSTGRES_PASSWORD", "postgres"),
            ("DEPLOY_KEY", "/home/u/key"),
            ("API_AUTH", "required2"),
            ("KEY_NAME", "production"),
            ("PATH", "/bin"),
        ];
        let given = given.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        assert_eq!(own_secrets_of(given.into_iter()), ["correcthorse", "hunter2-password", "batterystaple"]);
    }
}
