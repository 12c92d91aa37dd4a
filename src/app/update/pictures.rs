//! Pictures: paths that are pasted or dropped become pictures in the composer.

use std::path::PathBuf;

use crate::composer::InputMode;
use crate::effect::Effect;
use crate::model::Model;
use crate::request::{Picture, ScreenRequest};
use tau_protocol::event::NoticeLevel;
use tau_tools::user_error::UserError;

/// Reads pictures if the paste consists of their paths; false when it does not, or is for a command.
pub(super) fn paste(model: &mut Model, text: &str, effects: &mut Vec<Effect>) -> bool {
    let readings = picture_paths(text);
    if readings.is_empty() || model.composer.mode() != InputMode::Prompt {
        return false;
    }
    let at = model.composer.cursor();
    model.ask(ScreenRequest::Pictures { text: text.to_owned(), at, readings }, effects);
    true
}

/// Inserts the pictures where the paste was. Unreadable ones are text.
pub(super) fn read(
    model: &mut Model,
    text: &str,
    at: (usize, usize),
    pictures: Result<Vec<Picture>, UserError>,
) {
    let left = model.composer.leave_for(at);
    match pictures {
        Ok(pictures) => {
            for (at, picture) in pictures.into_iter().enumerate() {
                if at > 0 {
                    model.composer.paste(" ");
                }
                insert(model, picture);
            }
        }
        Err(error) => {
            model.composer.paste(text);
            model.remark(&format!("no picture: {error}"));
        }
    }
    model.composer.return_to(left);
}

/// Inserts a picture into the composer, and says so if the model is not known to take it.
pub(super) fn insert(model: &mut Model, picture: Picture) {
    let Picture { data, mime_type, width, height } = picture;
    model.composer.insert_picture(data, mime_type, Some((width, height)));
    if let Some(blind) = model.status.mirror.model.as_ref().filter(|model| !model.sees()) {
        let text = format!("{} may not accept images, so this one would not be sent", blind.id);
        let advice = blind.picture_advice();
        // Said once for several pictures, and not again below.
        if !model.transcript.ends_with_notice(&text) {
            model.transcript.notice(NoticeLevel::Warning, &text, Some(&advice));
        }
    }
}

/// The possible paths of pictures in a paste, as terminals send dropped files: one or several, on separate
/// lines or not, plain, quoted or escaped for a shell, or as addresses. Each reading is a list; the first
/// whose files exist applies.
fn picture_paths(text: &str) -> Vec<Vec<PathBuf>> {
    let text = text.trim();
    let unquoted = |line: &str| line.trim().trim_matches(['\'', '"']).to_owned();
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let as_they_are: Vec<String> = lines().map(unquoted).collect();
    let mut readings: Vec<Vec<PathBuf>> = Vec::new();
    for words in [as_they_are, lines().flat_map(shell_words).collect()] {
        for decode in [false, true] {
            let paths: Option<Vec<PathBuf>> = words.iter().map(|word| picture_path(word, decode)).collect();
            readings.extend(paths.filter(|paths| !paths.is_empty() && !readings.contains(paths)));
        }
    }
    readings
}

/// The path of a picture, plain or as a `file:` address.
fn picture_path(word: &str, decode: bool) -> Option<PathBuf> {
    let address = word.strip_prefix("file://").map(|rest| rest.strip_prefix("localhost").unwrap_or(rest));
    let path = match address {
        Some(path) => percent_decode(path),
        None if decode => percent_decode(word),
        None => word.to_owned(),
    };
    let (_, extension) = path.rsplit_once('.')?;
    let known = ["png", "jpg", "jpeg", "gif", "webp"];
    let is_picture = known.iter().any(|known| known.eq_ignore_ascii_case(extension));
    (is_picture && path.starts_with(['/', '~', '.'])).then(|| path.into())
}

/// The words of a line as a shell reads them, without quotes and backslashes.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == c => quote = None,
            // A shell splits at no other blanks: names of macOS's screenshots have U+202F in them.
            (None, _) if c.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Text with its `%20` and the like decoded; unchanged where the result is not valid text.
fn percent_decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_paths_are_read_in_every_way_they_are_written() {
        let check = |text: &str, expected: &[&[&str]]| {
            let found = picture_paths(text);
            let found: Vec<Vec<&str>> =
                found.iter().map(|paths| paths.iter().filter_map(|path| path.to_str()).collect()).collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check("/a/b.png\n", &[&["/a/b.png"]]);
        check(r"/a/b\ c.PNG ", &[&[r"/a/b\ c.PNG"], &["/a/b c.PNG"]]);
        check("/a/b c.png", &[&["/a/b c.png"]]);
        check("/a\\ 1\u{202f}AM.png", &[&["/a\\ 1\u{202f}AM.png"], &["/a 1\u{202f}AM.png"]]);
        check("'/a/b c.png'", &[&["/a/b c.png"]]);
        check("/a/b%20c.png", &[&["/a/b%20c.png"], &["/a/b c.png"]]);
        check("file:///a/b%20c.png", &[&["/a/b c.png"]]);
        check("file://localhost/a/%C3%A9.png", &[&["/a/é.png"]]);
        check("/a.png ~/b.jpg", &[&["/a.png ~/b.jpg"][..], &["/a.png", "~/b.jpg"]]);
        check(
            r#"/a\ 1.png '/b 2.gif' "/c 3.webp""#,
            &[&[r#"/a\ 1.png '/b 2.gif' "/c 3.webp"#][..], &["/a 1.png", "/b 2.gif", "/c 3.webp"]],
        );
        check("file:///a.png\nfile:///b%21.png", &[&["/a.png", "/b!.png"]]);
        check("/a 1.png\r\n/b.png", &[&["/a 1.png", "/b.png"]]);
        check("/a/%zz.png", &[&["/a/%zz.png"]]);
        for text in
            ["", "see /a.png", "/a.txt", "/a.png /b.txt", "a.png", "http://x/a.png", "/a.png\nand more"]
        {
            check(text, &[]);
        }
    }
}
