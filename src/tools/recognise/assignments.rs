//! Finds values of variables, fields, flags and headers whose names mark them as secret.

use super::names::{self, Kind};
use super::text::{Run, before, line_before, prefix_length};
use super::values::{Place, plausible};

/// The longest name, in bytes.
const NAME: usize = 80;
/// The maximum number of blanks between a name and its value.
const BLANKS: usize = 40;
/// The longest value, in bytes. A longer one is not a secret.
const VALUE: usize = 8 * 1024;

/// The length, in bytes, from which a value is examined only once.
const BLOB: usize = 200;

/// The bytes that names consist of. A table, since finding the ends of names takes most of the time.
static OF_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 0x80 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$');
        byte += 1;
    }
    table
};

/// The result at a word that may be part of a name.
pub(super) struct Assignment {
    /// The end of the examined text: words before it belong to the name.
    pub(super) seen: usize,
    /// The start and end of the value, and its kind of secret.
    pub(super) value: Option<(usize, usize, &'static str)>,
}

/// The value assigned to the name that contains the word at `at`.
pub(super) fn find_assignment(text: &str, at: usize) -> Assignment {
    let of_name = |byte: u8| OF_NAME[usize::from(byte)];
    let tail = Run::forward(text, at, NAME, of_name).text;
    let name_end = at + tail.len();
    let none = Assignment { seen: name_end, value: None };
    if !may_assign(text, name_end) {
        return none;
    }
    let head = Run::backward(text, at, NAME, of_name).text;
    if head.len() + tail.len() >= NAME {
        return none;
    }
    let start = at - head.len();
    let Some(name) = text.get(start..name_end) else { return none };
    let Some(kind) = kind_of(text, start, name) else { return none };
    let name = Name { text, start, end: name_end, kind };
    let Some((start, end, place)) = name.value() else { return none };
    let value = text.get(start..end).unwrap_or_default();
    if plausible(value, kind, place) {
        return Assignment { seen: name_end, value: Some((start, end, kind.name())) };
    }
    // A long value without blanks is not examined again for every name that seems to occur in it.
    let is_blob = end - start > BLOB && !value.contains([' ', '"', '\'']);
    Assignment { seen: if is_blob { end } else { name_end }, value: None }
}

/// True if the text after the name can assign a value to it. Most names in code stop here.
fn may_assign(text: &str, end: usize) -> bool {
    let after = text.as_bytes().get(end..).unwrap_or_default();
    match after.first() {
        Some(b' ' | b'\t') => {
            let blanks = after.iter().take(BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            let word = |byte: &u8| byte.is_ascii_graphic() && !b"(){}[];,.&|+*/".contains(byte);
            after.get(blanks).is_some_and(word)
        }
        Some(next) => {
            matches!(next, b'=' | b':' | b'>' | b',' | b'!' | b'"' | b'\'' | b'`' | b'\\' | b']' | b'?')
        }
        None => false,
    }
}

/// The kind of secret that this name suggests. For names with blanks (`Secret access key: …`) the previous
/// word counts too.
fn kind_of(text: &str, start: usize, name: &str) -> Option<Kind> {
    if name.eq_ignore_ascii_case("key") && before(text, start) == Some(b' ') {
        let word = Run::backward(text, start - 1, 16, |byte| byte.is_ascii_alphabetic()).text;
        return names::kind_of_key(word);
    }
    // npm writes `//registry/:_authToken=…`, escapes are written `\npassword=…`.
    let name = match before(text, start) {
        Some(b'\\') => name.strip_prefix(['n', 't', 'r']).unwrap_or(name),
        _ => name,
    };
    names::kind(name)
}

/// A name that marks its value as secret.
struct Name<'t> {
    text: &'t str,
    start: usize,
    end: usize,
    kind: Kind,
}

/// The start and end of a value, and its place.
type Value = (usize, usize, Place);

impl Name<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    fn rest(&self, at: usize) -> &str {
        self.text.get(at..).unwrap_or_default()
    }

    fn after_blanks(&self, at: usize) -> usize {
        at + Run::forward(self.text, at, BLANKS, |byte| matches!(byte, b' ' | b'\t')).text.len()
    }

    /// The value after the name, if the text between them is an assignment.
    fn value(&self) -> Option<Value> {
        let opened = before(self.text, self.start).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
        let mut at = self.end;
        if opened.is_some() {
            at += usize::from(self.byte(at) == Some(b'\\'));
            at += usize::from(self.byte(at) == opened);
            at += usize::from(self.byte(at) == Some(b']'));
        }
        at += usize::from(self.byte(at) == Some(b'?'));
        if before(self.text, self.start) == Some(b'<') && self.byte(at) == Some(b'>') {
            return self.element(at + 1);
        }
        let blanks = self.after_blanks(at);
        let spaced = blanks > at;
        let rest = self.rest(blanks);
        let signs = ["=>", ":=", "===", "==", "!==", "!=", "=", ":", ","];
        let Some(sign) = signs.into_iter().find(|sign| rest.starts_with(sign)) else {
            return (spaced && self.takes_word()).then(|| self.bare(blanks, true)).flatten();
        };
        let from = blanks + sign.len();
        if sign == ":" && self.byte(from) == Some(b':') {
            return None;
        }
        let close = self.after_blanks(from) == from && !spaced;
        let at = self.after_blanks(from);
        let quoted = self.quoted_value(at, close && sign == "=");
        match sign {
            "=" | ":" | "=>" | ":=" => {
                quoted.or_else(|| self.typed_value(at, sign)).or_else(|| self.bare(at, close && sign == "="))
            }
            // `setenv("API_KEY", "…")`
            "," => quoted.filter(|_| opened.is_some()),
            _ => quoted,
        }
    }

    /// True if the value is the next word: after a flag, and in the password file of FTP and curl.
    fn takes_word(&self) -> bool {
        let name = self.text.get(self.start..self.end).unwrap_or_default();
        let line = || line_before(self.text, self.start).unwrap_or_default();
        name.starts_with("--")
            || (name == "password" && (line().contains("login ") || line().contains("machine ")))
            || (name.eq_ignore_ascii_case("bearer") && line().to_ascii_lowercase().contains("authorization"))
    }

    /// The text of an XML element.
    fn element(&self, at: usize) -> Option<Value> {
        let value = Run::forward(self.text, at, VALUE, |byte| !matches!(byte, b'<' | b'\n')).text;
        (self.byte(at + value.len()) == Some(b'<')).then_some((at, at + value.len(), Place::Quoted))
    }

    /// A value between quotes, which may be escaped and follow a letter (`b"…"`).
    fn quoted_value(&self, at: usize, close: bool) -> Option<Value> {
        let letters = Run::forward(self.text, at, 2, |byte| b"fFbBrRuU".contains(&byte)).text.len();
        let mut from = at + letters;
        let escaped = self.byte(from) == Some(b'\\');
        from += usize::from(escaped);
        let quote = self.byte(from).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
        from += 1;
        let bytes = self.text.as_bytes();
        let mut end = from;
        while let Some(byte) = bytes.get(end).filter(|byte| **byte != b'\n' && end - from <= VALUE) {
            match byte {
                b'\\' if escaped && bytes.get(end + 1) == Some(&quote) => break,
                b'\\' => end += 2,
                byte if *byte == quote => break,
                _ => end += 1,
            }
        }
        let end = self.text.floor_char_boundary(end.min(self.text.len()));
        let scheme = self.scheme(from);
        let capitals = close && self.is_variable();
        let place = if capitals { Place::Variable } else { Place::Quoted };
        (from + scheme <= end).then_some((from + scheme, end, place))
    }

    /// The length of the scheme before the value of an `Authorization` header.
    fn scheme(&self, at: usize) -> usize {
        let rest = self.rest(at);
        let begins =
            |scheme: &&&str| rest.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme));
        ["Bearer ", "Basic ", "Token "].iter().find(begins).map_or(0, |scheme| scheme.len())
    }

    /// `token: &str = "…"`
    fn typed_value(&self, at: usize, sign: &str) -> Option<Value> {
        let of_type = |byte: u8| byte.is_ascii_alphanumeric() || b"_&<>' |?.:".contains(&byte);
        let length = Run::forward(self.text, at, 40, of_type).text.len();
        let assigns = sign == ":" && length > 0 && self.byte(at + length) == Some(b'=');
        assigns.then(|| self.quoted_value(self.after_blanks(at + length + 1), false)).flatten()
    }

    fn is_variable(&self) -> bool {
        let name = self.text.get(self.start..self.end).unwrap_or_default();
        name.len() >= 3 && !name.bytes().any(|byte| byte.is_ascii_lowercase())
    }

    /// A value without quotes.
    fn bare(&self, at: usize, close: bool) -> Option<Value> {
        let at = at + self.scheme(at);
        let parameter = matches!(before(self.text, self.start), Some(b'?' | b'&'));
        let word = Run::forward(self.text, at, VALUE, |byte| !byte.is_ascii_whitespace()).text;
        let word = word.split("\\n").next().unwrap_or_default();
        let rest = self.rest(at + word.len());
        let blanks =
            rest.bytes().take(BLANKS).take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        let ends_line =
            rest.get(blanks..).is_some_and(|rest| rest.is_empty() || rest.starts_with(['\n', '\\']));
        let whole = ends_line && !parameter && self.begins_line();
        let ends = |c: char| "\"'`<>)}],;|".contains(c) || (parameter && "&#".contains(c));
        let value = if whole { word.trim_end_matches([',', ';']) } else { word.split(ends).next()? };
        let value = if self.kind == Kind::Password || !close { value } else { value.split('&').next()? };
        let place = match () {
            () if close && self.is_variable() => Place::Variable,
            () if close || whole => Place::Bare,
            () => Place::Loose,
        };
        Some((at, at + value.len(), place))
    }

    /// True if the name begins its line, after anything that scripts and lists put before names.
    fn begins_line(&self) -> bool {
        let Some(line) = line_before(self.text, self.start) else { return false };
        let line = line.get(prefix_length(line)..).unwrap_or_default();
        let line = line.rsplit("\\n").next().unwrap_or_default();
        let words = line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '+' | '"' | '\''));
        matches!(words, "" | "export" | "set" | "ENV" | "ARG" | "declare -x" | "#" | "//registry.npmjs.org/:")
            || words.ends_with("/:")
    }
}
