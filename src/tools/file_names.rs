//! File names as text for models and users: on one line, and unambiguous.
//!
//! A file name may hold any byte except `/` and NUL: line ends that make one name look like two, escape
//! sequences, invalid text. Such a name is quoted as in bash, `$'a\nb'`; all other names stay unchanged.
//! [`NOTE`] explains the quoting wherever it occurs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The start of a quoted name.
const QUOTE: &str = "$'";

/// The note for an answer that contains quoted names.
pub const NOTE: &str = "[names in $'…' contain control characters or invalid UTF-8, escaped as in bash]\n";

/// The name or path, quoted if necessary.
pub fn display(name: &OsStr) -> String {
    match name.to_str() {
        Some(text) if !text.starts_with(QUOTE) && !text.chars().any(is_hidden) => text.to_owned(),
        _ => quote(name.as_bytes()),
    }
}

/// The path, quoted if necessary.
pub(crate) fn display_path(path: &Path) -> String {
    display(path.as_os_str())
}

/// True if a line of an answer begins with a quoted name.
pub(crate) fn is_quoted(line: &str) -> bool {
    line.starts_with(QUOTE)
}

/// True for characters that change how the text around them is read or drawn.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn quote(name: &[u8]) -> String {
    let mut text = QUOTE.to_owned();
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\'' => text.push_str("\\'"),
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                _ if character.is_ascii_control() => {
                    text.push_str(&format!("\\x{:02x}", u32::from(character)));
                }
                _ if is_hidden(character) => text.push_str(&format!("\\u{:04x}", u32::from(character))),
                _ => text.push(character),
            }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_need_it_are_quoted() {
        let cases: &[(&[u8], &str)] = &[
            (b"plain name.rs", "plain name.rs"),
            ("größe 漢字 'quoted' $x".as_bytes(), "größe 漢字 'quoted' $x"),
            (b"a\nb", "$'a\\nb'"),
            (b"\x1b[31mred\x07\x7f", "$'\\x1b[31mred\\x07\\x7f'"),
            (b"it's\ta\\b\r", "$'it\\'s\\ta\\\\b\\r'"),
            (b"gr\xf6\xdfe", "$'gr\\xf6\\xdfe'"),
            ("evil\u{202e}txt\u{85}".as_bytes(), "$'evil\\u202etxt\\u0085'"),
            (b"$'a'", "$'$\\'a\\''"),
        ];
        for (name, expected) in cases {
            let shown = display(OsStr::from_bytes(name));
            assert_eq!(shown, *expected);
            assert_eq!(is_quoted(&shown), shown.as_bytes() != *name);
        }
    }
}
