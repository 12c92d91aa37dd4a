//! The body of an answer: its kind, and its text in any encoding.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use tau_tools::read::picture;

/// The number of bytes at the start of a page in which it may declare its encoding.
const ENCODING_WITHIN: usize = 1024;
/// The number of bytes at the start by which a kind is guessed.
const GUESS_WITHIN: usize = 4096;
/// The maximum length of a kind's name, in characters.
const MAX_KIND_LEN: usize = 60;
/// Text types other than `text/`.
const TEXT_KINDS: &[&str] = tau_tools::words!(
    "application/json application/xml application/javascript application/ecmascript \
     application/x-javascript application/x-sh application/x-ndjson application/jsonl application/yaml \
     application/x-yaml application/toml application/sql application/graphql application/x-httpd-php"
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Text,
    Picture,
    Other,
}

/// The header `Content-Type` of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ContentType {
    /// `text/html`, in lower case; empty if missing.
    pub(super) name: String,
    charset: Option<String>,
}

impl ContentType {
    pub(super) fn parse(header: Option<&str>) -> Self {
        let mut parts = header.unwrap_or_default().split(';').map(str::trim);
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '/' | '+' | '-' | '.' | '_');
        let name =
            parts.next().unwrap_or_default().chars().filter(plain).take(MAX_KIND_LEN).collect::<String>();
        let charset = parts.find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim()
                .eq_ignore_ascii_case("charset")
                .then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        });
        ContentType { name: name.to_ascii_lowercase(), charset }
    }

    /// The kind of the body, from the header, else from its beginning.
    pub(super) fn kind(&self, body: &[u8]) -> Kind {
        let name = self.name.as_str();
        let is_vague = matches!(name, "" | "application/octet-stream" | "binary/octet-stream");
        if picture::format(body).is_some() && (is_vague || name.starts_with("image/")) {
            return Kind::Picture;
        }
        if matches!(name, "text/html" | "application/xhtml+xml") {
            return Kind::Html;
        }
        let is_text = name.starts_with("text/")
            || name.ends_with("+json")
            || name.ends_with("+xml")
            || TEXT_KINDS.contains(&name);
        if is_text {
            return Kind::Text;
        }
        let start = body.get(..GUESS_WITHIN).unwrap_or(body);
        if !is_vague || start.contains(&0) {
            return Kind::Other;
        }
        let text = String::from_utf8_lossy(start).trim_start().to_ascii_lowercase();
        let is_html = text.starts_with("<!doctype html") || text.starts_with("<html");
        if is_html { Kind::Html } else { Kind::Text }
    }

    /// Decodes a body. The encoding comes from its byte order mark, the server or the page, in that order.
    /// Otherwise it is UTF-8 if valid, else Windows-1252, as in browsers.
    pub(super) fn decode(&self, body: &[u8], kind: Kind) -> String {
        let named = |name: &str| Encoding::for_label(name.trim().as_bytes());
        let said = self.charset.as_deref().and_then(named);
        let encoding = said.or_else(|| (kind == Kind::Html).then(|| encoding_from_meta(body))?);
        let guess = || if std::str::from_utf8(body).is_ok() { UTF_8 } else { WINDOWS_1252 };
        let (text, _, _) = encoding.unwrap_or_else(guess).decode(body);
        text.into_owned()
    }
}

/// The encoding in a `<meta>` at the start of a page.
fn encoding_from_meta(body: &[u8]) -> Option<&'static Encoding> {
    let start = body.get(..ENCODING_WITHIN).unwrap_or(body);
    let text = String::from_utf8_lossy(start).to_ascii_lowercase();
    let (_, after) = text.split_once("charset")?;
    let after = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let label: String =
        after.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_:.".contains(*c)).collect();
    // A page that could be read up to here is not in UTF-16, whatever it declares.
    let encoding = Encoding::for_label(label.as_bytes())?;
    Some(if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_whatever_names_its_encoding() {
        let decode = |header: &str, body: &[u8]| {
            let said = ContentType::parse(Some(header));
            said.decode(body, said.kind(body))
        };
        for (header, body, expected) in [
            ("text/plain; charset=ISO-8859-1", b"caf\xe9".as_slice(), "café"),
            ("text/plain;charset=\"utf-8\"", b"caf\xc3\xa9", "café"),
            ("text/plain", b"caf\xc3\xa9", "café"),
            ("text/plain", b"caf\xe9", "café"),
            ("text/plain; charset=latin-9-of-nobody", b"caf\xc3\xa9", "café"),
            ("text/html", b"<meta charset=\"windows-1251\">\xcf", "<meta charset=\"windows-1251\">П"),
            ("text/html", b"<meta charset=utf-16>\xc3\xa9", "<meta charset=utf-16>é"),
            ("text/html; charset=utf-8", b"<meta charset=shift_jis>\xc3\xa9", "<meta charset=shift_jis>é"),
            ("text/plain; charset=utf-8", b"\xff\xfea\0b\0", "ab"),
            ("text/plain; charset=shift_jis", b"\x93\xfa", "日"),
        ] {
            assert_eq!(decode(header, body), expected, "{header}");
        }
    }

    #[test]
    fn a_body_is_what_it_is_said_or_seen_to_be() {
        let png = [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, 0];
        for (header, body, expected) in [
            (Some("text/html"), b"x".as_slice(), Kind::Html),
            (Some("TEXT/Markdown; a=b"), b"x", Kind::Text),
            (Some("application/ld+json"), b"{}", Kind::Text),
            (Some("image/svg+xml"), b"<svg>", Kind::Text),
            (Some("image/png"), &png, Kind::Picture),
            (Some("image/png"), b"<html>", Kind::Other),
            (Some("application/pdf"), b"%PDF", Kind::Other),
            (None, b"  <!DOCTYPE html><p>", Kind::Html),
            (None, b"words", Kind::Text),
            (Some("application/octet-stream"), b"a\0b", Kind::Other),
            (Some("application/octet-stream"), &png, Kind::Picture),
        ] {
            assert_eq!(ContentType::parse(header).kind(body), expected, "{header:?}");
        }
        assert_eq!(ContentType::parse(Some("te\x1bxt/\u{202e}html")).name, "text/html");
    }
}
