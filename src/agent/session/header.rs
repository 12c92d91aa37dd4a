//! The first line of a session file.
//!
//! JSON cannot hold a path that is not UTF-8. `cwd` then holds the path as text, with U+FFFD for invalid
//! bytes, and `cwdBytes` its bytes in hexadecimal. Programs that do not know `cwdBytes` read the rest of the
//! file as usual.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entry::millis;
use tau_protocol::session_row::SessionOrigin;
use tau_tools::hashes::{from_hexadecimal, hexadecimal};

/// Whether a caller may use this session id: letters, digits, `.`, `_` and `-`, of which the last three come
/// neither first nor last; at most 128.
pub fn is_session_id(id: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    id.len() <= 128 && id.chars().all(inner) && outer(id.chars().next()) && outer(id.chars().next_back())
}

/// A header to be written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewHeader<'a> {
    r#type: &'static str,
    version: u32,
    id: &'a str,
    timestamp: &'a str,
    cwd: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd_bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd_inode: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    printed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    helper: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    helper_part: Option<&'a str>,
}

/// How a session begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beginning<'a> {
    /// The file that it continues.
    pub(super) parent: Option<&'a Path>,
    /// The program that wrote that file.
    pub(super) source: SessionOrigin,
    /// No user is present.
    pub(super) printed: bool,
    /// The kind of helper whose session it is; `parent` asked for it.
    pub(super) helper: Option<&'a str>,
    /// The kind of helper whose part it has, as it continues that helper's session.
    pub(super) helper_part: Option<&'a str>,
}

/// The inode of a directory, which survives a rename.
pub(super) fn inode(directory: &Path) -> Option<u64> {
    std::fs::metadata(directory).ok().map(|metadata| metadata.ino())
}

/// The header of a new session, without a line end.
pub(super) fn line(id: &str, timestamp: &str, cwd: &Path, beginning: Beginning<'_>) -> String {
    let parent = beginning.parent.map(Path::to_string_lossy);
    let header = NewHeader {
        r#type: "session",
        version: 3,
        id,
        timestamp,
        cwd: &cwd.to_string_lossy(),
        cwd_bytes: bytes_of(cwd),
        cwd_inode: inode(cwd),
        printed: beginning.printed,
        parent_session: parent.as_deref(),
        parent_source: beginning.source.is_foreign().then(|| beginning.source.name()),
        helper: beginning.helper,
        helper_part: beginning.helper_part,
    };
    // Strings and numbers always become JSON.
    serde_json::to_string(&header).unwrap_or_default()
}

/// The fields of a header that name a directory; those that do not apply are null.
pub(super) fn place(cwd: &Path) -> [(&'static str, Value); 3] {
    let bytes = bytes_of(cwd).map_or(Value::Null, Value::String);
    [("cwd", cwd.to_string_lossy().into()), ("cwdBytes", bytes), ("cwdInode", inode(cwd).into())]
}

/// The bytes of a path in hexadecimal, if they are not UTF-8.
fn bytes_of(cwd: &Path) -> Option<String> {
    cwd.to_str().is_none().then(|| hexadecimal(cwd.as_os_str().as_bytes()))
}

/// The header of a session file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Header {
    /// `session`, or `metadata` in the oldest documents.
    #[serde(rename = "type")]
    pub kind: String,
    /// Id of the session. It becomes a part of paths, so one that [`is_session_id`] refuses is replaced by its hash.
    pub id: String,
    /// The version of the format; version 1 does not include it.
    pub version: Option<u32>,
    /// The start time of the session, ISO 8601.
    #[serde(default)]
    pub timestamp: String,
    /// The directory the session runs in.
    #[serde(default)]
    pub cwd: PathBuf,
    /// The bytes of `cwd` in hexadecimal, if they are not UTF-8.
    cwd_bytes: Option<String>,
    /// The inode of `cwd`, by which it is recognized after a rename.
    pub cwd_inode: Option<u64>,
    /// Whether it was begun by a run whose answers are printed.
    #[serde(default)]
    pub printed: bool,
    /// The kind of helper whose session it is.
    pub helper: Option<String>,
    /// The kind of helper whose session it continues.
    pub helper_part: Option<String>,
    /// The session that it continues, or that asked for the helper.
    pub parent_session: Option<PathBuf>,
    /// The program that wrote that session, if it is another one than tau.
    pub parent_source: Option<String>,
    /// Settings that version 1 kept here.
    pub provider: Option<String>,
    pub model_id: Option<String>,
    pub thinking_level: Option<String>,
    /// Exists only in documents from before version 1.
    config: Option<serde::de::IgnoredAny>,
}

/// How a file must be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Versions 1 and 2: rewritten when opened.
    Old,
    /// Version 3.
    Current,
    /// A later version: opened read-only.
    Newer,
    /// A document with a `metadata` line or with events: imported into a new file.
    Document,
}

impl Header {
    /// The header in a line; `None` if it is not a header.
    pub fn parse(line: &[u8]) -> Option<Header> {
        let mut header: Header = serde_json::from_slice(line).ok()?;
        if header.kind != "session" && header.kind != "metadata" {
            return None;
        }
        let bytes = header.cwd_bytes.take().as_deref().and_then(from_hexadecimal);
        let exact = bytes.map(|bytes| PathBuf::from(OsString::from_vec(bytes)));
        // A program that changed the directory did not know the bytes.
        if let Some(exact) = exact.filter(|exact| exact.to_string_lossy() == header.cwd.to_string_lossy()) {
            header.cwd = exact;
        }
        if !is_session_id(&header.id) {
            header.id = hexadecimal(digest(&SHA256, header.id.as_bytes()));
        }
        Some(header)
    }

    /// The kind of helper that has written this session, or the one that it continues.
    pub fn kind(&self) -> Option<&str> {
        self.helper.as_deref().or(self.helper_part.as_deref())
    }

    /// How the file must be read.
    pub fn form(&self) -> Form {
        match self.version {
            _ if self.kind == "metadata" => Form::Document,
            None if self.config.is_some() => Form::Document,
            None | Some(0..=2) => Form::Old,
            Some(3) => Form::Current,
            Some(_) => Form::Newer,
        }
    }

    /// The start time of the session, in milliseconds since 1970; 0 if unknown.
    pub fn creation_time(&self) -> i64 {
        millis(&self.timestamp).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_comes_back() {
        for bytes in [&b"/srv/web"[..], b"/srv/\xff\xfe/x", "/srv/\u{e9}\u{fffd}".as_bytes(), b"/a\xc3"] {
            let cwd = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            let line = line("id", "2026-01-02T03:04:05.678Z", &cwd, Beginning::default());
            assert_eq!(Header::parse(line.as_bytes()).map(|header| header.cwd), Some(cwd.clone()), "{line}");
            assert_eq!(line.contains("cwdBytes"), cwd.to_str().is_none(), "{line}");
        }
    }

    #[test]
    fn bytes_that_belong_to_another_directory_do_not_count() {
        let cwd = |rest: &str| {
            let line = format!(r#"{{"type":"session","version":3,"id":"a","cwd":"/b\ufffd"{rest}}}"#);
            Header::parse(line.as_bytes()).map(|header| header.cwd)
        };
        assert_eq!(cwd(r#","cwdBytes":"2f62ff""#), Some(OsString::from_vec(b"/b\xff".to_vec()).into()));
        for rest in [r#","cwdBytes":"2f61ff""#, r#","cwdBytes":"2f6""#, r#","cwdBytes":"zz""#, ""] {
            assert_eq!(cwd(rest), Some("/b\u{fffd}".into()), "{rest}");
        }
    }
}
