//! The terminal's answers about its clipboard. They hold its text (OSC 52, xterm), or its content by type
//! (OSC 5522, <https://sw.kovidgoyal.net/kitty/clipboard/>).
//!
//! These answers may be large, so they are collected as they arrive. They consist of base64 and parameters:
//! the first byte of another kind ends them, so an unterminated answer swallows no more than the keys up to
//! the next control character.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::super::event::ClipboardAnswer;
use tau_tools::vt::sequence::Csi;

/// Maximum length of an answer, in bytes: 20 MB as base64.
pub const MAX_LEN: usize = 28 << 20;

const TEXT: &str = "52;";
const CONTENT: &str = "5522;";

/// Whether a control string begins like an answer. `rest` follows the Esc.
pub fn begins(rest: &[u8]) -> bool {
    let is = |name: &str| rest.strip_prefix(b"]").is_some_and(|rest| rest.starts_with(name.as_bytes()));
    is(TEXT) || is(CONTENT)
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Not yet.
    More,
    /// After this many bytes of data; this many bytes with the terminator.
    At { data: usize, length: usize },
    /// A byte of another kind follows after this many bytes.
    Broken(usize),
}

/// The end of the answer at the start of `rest`, when the bytes before `from` are known to be data.
pub fn end(rest: &[u8], from: usize) -> End {
    let unread = rest.get(from..).unwrap_or_default();
    let Some(data) = unread.iter().position(|byte| !matches!(byte, b' '..=b'~')).map(|at| at + from) else {
        return End::More;
    };
    match rest.get(data..).unwrap_or_default() {
        [0x07, ..] => End::At { data, length: data + 1 },
        [0x1b, b'\\', ..] | [0xc2, 0x9c, ..] => End::At { data, length: data + 2 },
        [0x1b | 0xc2] => End::More,
        _ => End::Broken(data),
    }
}

/// The meaning of a complete answer; `None` for parts without any.
pub fn meaning(data: &[u8]) -> Option<ClipboardAnswer> {
    let data = std::str::from_utf8(data).ok()?;
    if let Some(data) = data.strip_prefix(TEXT) {
        let text = data.split_once(';').and_then(|(_, coded)| decode_base64(coded));
        return Some(text.map_or(ClipboardAnswer::Unreadable, ClipboardAnswer::Text));
    }
    let (head, coded) =
        data.strip_prefix(CONTENT)?.split_once(';').unwrap_or((data.get(CONTENT.len()..)?, ""));
    let value = |name: &str| head.split(':').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    if value("type") != Some("read") {
        return None;
    }
    match value("status")? {
        "OK" => None,
        "DONE" => Some(ClipboardAnswer::Done),
        "DATA" => {
            let kind = value("mime").and_then(decode_base64).and_then(|kind| String::from_utf8(kind).ok());
            let part = kind.zip(decode_base64(coded));
            Some(part.map_or(ClipboardAnswer::Unreadable, |(mime_type, bytes)| ClipboardAnswer::Part {
                mime_type,
                bytes,
            }))
        }
        status => {
            let word = status.chars().filter(char::is_ascii_alphabetic).take(16).collect();
            Some(ClipboardAnswer::Refused(word))
        }
    }
}

/// Whether the terminal supports OSC 5522 (DECRPM of that mode).
pub fn from_csi(csi: &Csi<'_>) -> Option<ClipboardAnswer> {
    let state =
        csi.parameters.strip_prefix("?5522;").filter(|_| csi.intermediates == "$" && csi.last == 'y')?;
    Some(ClipboardAnswer::KnowsTypes(matches!(state, "1" | "2" | "3")))
}

fn decode_base64(coded: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(&STANDARD, config).decode(coded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood() {
        let part = |mime_type: &str, bytes: &[u8]| {
            Some(ClipboardAnswer::Part { mime_type: mime_type.to_owned(), bytes: bytes.to_vec() })
        };
        for (data, expected) in [
            ("52;c;aGk=", Some(ClipboardAnswer::Text(b"hi".to_vec()))),
            ("52;c;aGk", Some(ClipboardAnswer::Text(b"hi".to_vec()))),
            ("52;;", Some(ClipboardAnswer::Text(Vec::new()))),
            ("52;c;?", Some(ClipboardAnswer::Unreadable)),
            ("52;c", Some(ClipboardAnswer::Unreadable)),
            ("5522;type=read:status=OK", None),
            ("5522;type=read:status=DATA:mime=dGV4dC9wbGFpbg==;aGk=", part("text/plain", b"hi")),
            ("5522;type=read:mime=dGV4dC9wbGFpbg==:status=DATA", part("text/plain", b"")),
            ("5522;type=read:status=DATA:mime=?;aGk=", Some(ClipboardAnswer::Unreadable)),
            ("5522;type=read:status=DONE", Some(ClipboardAnswer::Done)),
            ("5522;type=read:status=EPERM", Some(ClipboardAnswer::Refused("EPERM".to_owned()))),
            ("5522;type=write:status=DONE", None),
            ("5522;", None),
        ] {
            assert_eq!(meaning(data.as_bytes()), expected, "{data}");
        }
    }

    #[test]
    fn an_answer_ends_where_it_should_or_breaks() {
        assert_eq!(end(b"52;c;aGk=", 0), End::More);
        assert_eq!(end(b"52;c;aGk=\x1b", 0), End::More);
        assert_eq!(end(b"52;c;aGk=\x1b\\x", 4), End::At { data: 9, length: 11 });
        assert_eq!(end(b"52;c;aGk=\x07", 9), End::At { data: 9, length: 10 });
        assert_eq!(end(b"52;c;aGk=\x1b[A", 0), End::Broken(9));
        assert_eq!(end(b"52;c;a\rb", 0), End::Broken(6));
        assert_eq!(end(b"", 9), End::More);
    }
}
