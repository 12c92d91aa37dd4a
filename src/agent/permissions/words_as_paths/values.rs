//! The values that a command gives to variables and arguments.

use super::Scene;
use crate::permissions::path_text::{MAX_ALTERNATIVES, PathText};
use crate::permissions::shell::{DECLARING, Part, Piece, Word};

/// The maximum number of arguments of a function that are known.
const MAX_ARGUMENTS: usize = 9;

impl Scene<'_> {
    /// Records the assignments of a part.
    pub(super) fn assign(&mut self, part: &Part) {
        let name = part.words.first().and_then(Word::literal).unwrap_or_default();
        for variable in &part.assigned {
            let mut known = part.values.iter().filter(|(of, _)| of == variable).peekable();
            let mut values = match known.peek() {
                Some(_) => known.flat_map(|(_, word)| self.texts(word)).collect(),
                None => vec![PathText::any()],
            };
            if variable == "CDPATH" {
                self.directories = vec![PathText::any()];
            }
            let appends = |(_, word): &(String, Word)| matches!(word.pieces.first(), Some(Piece::Variable(name)) if name == variable);
            if !part.words.is_empty() || self.analysis.loops && part.values.iter().any(appends) {
                // Its own words still see the previous value, and a loop adds to it again.
                values.push(PathText::any());
            }
            self.set(variable, values);
        }
        let is_reference =
            |word: &Word| word.literal().is_some_and(|text| text.starts_with('-') && text.contains('n'));
        let refers =
            DECLARING.contains(&name.as_ref()) && name != "export" && part.words.iter().any(is_reference);
        for word in part.words.iter().skip(1) {
            let literal = word.pieces.first().and_then(|piece| match piece {
                Piece::Text(text) => Some(text.as_str()),
                _ => None,
            });
            let Some(text) = literal else { continue };
            if DECLARING.contains(&name.as_ref()) {
                let Some((variable, value)) = text.split_once('=') else { continue };
                let variable = variable.trim_end_matches('+');
                let values = match refers {
                    true => self.value(value, true),
                    false => word.value_of(variable).map_or_else(Vec::new, |word| self.texts(&word)),
                };
                self.set(variable, values);
            } else if ["read", "printf", "getopts", "mapfile", "readarray", "let", "wait"].contains(&&*name) {
                self.set(text, vec![PathText::any()]);
            }
        }
        self.assign_printed(&name, part);
        if name == "set" || self.analysis.functions.iter().any(|function| *function == name) {
            let is_option = |word: &&Word| word.literal().is_some_and(|text| text.starts_with('-'));
            let arguments = part.words.iter().skip(1).skip_while(|word| name == "set" && is_option(word));
            for (at, word) in arguments.take(MAX_ARGUMENTS).enumerate() {
                let known = self.texts(word).into_iter().chain([PathText::any()]).collect();
                self.set(&(at + 1).to_string(), known);
            }
        }
    }

    /// Records the values of variables that `printf -v` and `read` set to known texts.
    fn assign_printed(&mut self, name: &str, part: &Part) {
        let mut words = part.words.iter().skip(1);
        if name == "read" {
            let texts = part.texts.iter().flat_map(|text| text.split_whitespace()).map(PathText::literal);
            let texts: Vec<PathText> = texts.take(MAX_ALTERNATIVES).collect();
            words.filter_map(Word::literal).for_each(|word| self.set(&word, texts.clone()));
        } else if name == "printf"
            && words.next().and_then(Word::literal).is_some_and(|option| option == "-v")
            && let (Some(variable), Some(format)) = (words.next().and_then(Word::literal), words.next())
            && let Some(format) = format.literal()
        {
            let mut pieces = Vec::new();
            for (at, text) in format.split("%s").enumerate() {
                let word = if at > 0 { words.next() } else { None };
                pieces.extend(word.into_iter().flat_map(|word| word.pieces.clone()));
                pieces.push(Piece::Text(text.to_owned()));
            }
            let printed = self.texts(&Word::default().with_pieces(pieces));
            self.set(&variable, printed);
        }
    }

    fn set(&mut self, variable: &str, values: Vec<PathText>) {
        let known = self.values.entry(variable.to_owned()).or_default();
        known.extend(values);
        known.dedup();
        if known.len() > MAX_ALTERNATIVES || known.is_empty() {
            *known = vec![PathText::any()];
        }
    }
}

/// The name of a variable, and what is left out or replaced in its value, if anything is.
pub(super) fn expansion_edit(name: &str) -> Option<(&str, &str)> {
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    name.split_at_checked(end)
}

/// A value without what `%x` and `#x` leave out, with what `/x/y` replaces, or the part that `:2:3` takes; `None` if that
/// is not known.
pub(super) fn edit_value(value: &PathText, edit: &str) -> Option<String> {
    let text = value.text().filter(|_| !edit.contains(['*', '?']))?;
    let behind = |signs: &[&str]| signs.iter().find_map(|sign| edit.strip_prefix(sign));
    if let Some(end) = behind(&["%%", "%"]) {
        return Some(text.strip_suffix(end).unwrap_or(&text).to_owned());
    }
    if let Some(start) = behind(&["##", "#"]) {
        return Some(text.strip_prefix(start).unwrap_or(&text).to_owned());
    }
    if let Some(replaced) = behind(&["//", "/"]) {
        let (old, new) = replaced.split_once('/').unwrap_or((replaced, ""));
        let count = if edit.starts_with("//") { usize::MAX } else { 1 };
        return Some(text.replacen(old, new, count)).filter(|_| !old.is_empty());
    }
    // Characters are counted in the whole name of the home directory.
    if let Some(range) = edit.strip_prefix(':').filter(|_| !text.starts_with('~')) {
        let (start, length) =
            range.split_once(':').map_or((range, None), |(start, length)| (start, Some(length)));
        let length = length.map_or(Some(usize::MAX), |length| length.parse().ok())?;
        return Some(text.chars().skip(start.parse().ok()?).take(length).collect());
    }
    match edit {
        "^^" => Some(text.to_uppercase()),
        ",," => Some(text.to_lowercase()),
        _ => None,
    }
}
