//! The values that a command gives to variables and arguments.

use super::Scene;
use crate::permissions::path_text::{MAX_ALTERNATIVES, PathText};
use crate::permissions::shell::{DECLARING, Part, Piece, Word};

/// The maximum number of arguments of a function that are known.
const MAX_ARGUMENTS: usize = 9;

/// Builtins that read variables, their options with a value, and the variable that they set if none is named.
const READING: [(&str, &str, &str); 3] =
    [("read", "dinNptu", "REPLY"), ("mapfile", "dnOsuCc", "MAPFILE"), ("readarray", "dnOsuCc", "MAPFILE")];

/// Whether a part declares that a variable stands for another one.
fn is_referring(name: &str, part: &Part) -> bool {
    let is_reference =
        |word: &Word| word.literal().is_some_and(|text| text.starts_with('-') && text.contains('n'));
    DECLARING.contains(&name) && name != "export" && part.words.iter().any(is_reference)
}

/// The variables that a builtin sets whose options with these letters have a value.
fn names(part: &Part, valued: &str) -> Vec<String> {
    let (mut found, mut words) = (Vec::new(), part.words.iter().skip(1));
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else { continue };
        if !text.starts_with('-') {
            found.push(text.split('[').next().unwrap_or_default().to_owned());
        } else if text.ends_with(|c| valued.contains(c)) {
            words.next();
        }
    }
    found
}

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
        let refers = is_referring(&name, part);
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
                // An element counts as the whole array.
                self.set(text.split('[').next().unwrap_or(text), vec![PathText::any()]);
            }
        }
        self.assign_printed(&name, part);
        if name == "set" || self.analysis.functions.iter().any(|function| *function == name) {
            let is = |word: &Word, start: &str| word.literal().is_some_and(|text| text.starts_with(start));
            let end = part.words.iter().position(|word| is(word, "--") && name == "set");
            let is_option = |word: &&Word| name == "set" && end.is_none() && is(word, "-");
            let arguments = part.words.iter().skip(end.unwrap_or(0) + 1).skip_while(is_option);
            for (at, word) in arguments.take(MAX_ARGUMENTS).enumerate() {
                let known = self.texts(word).into_iter().chain([PathText::any()]).collect();
                self.set(&(at + 1).to_string(), known);
            }
        }
    }

    /// Records the values of variables that `printf -v` and `read` set to known texts.
    fn assign_printed(&mut self, name: &str, part: &Part) {
        let mut words = part.words.iter().skip(1);
        if let Some((_, valued, default)) = READING.iter().find(|(builtin, ..)| *builtin == name) {
            let texts = part.texts.iter().flat_map(|text| text.split_whitespace()).map(PathText::literal);
            let texts: Vec<PathText> = texts.take(MAX_ALTERNATIVES).collect();
            let named = names(part, valued);
            let names = if named.is_empty() { vec![(*default).to_owned()] } else { named };
            names.iter().filter(|_| !texts.is_empty()).for_each(|name| self.set(name, texts.clone()));
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
            self.set(variable.split('[').next().unwrap_or(&variable), printed);
        }
    }

    /// Gives a variable that refers to another one its values, and the other way around, once all are known.
    pub(super) fn refer(&mut self, part: &Part) {
        let name = part.words.first().and_then(Word::literal).unwrap_or_default();
        if !is_referring(&name, part) {
            return;
        }
        for word in part.words.iter().skip(1) {
            let text = word.literal().unwrap_or_default();
            let Some((one, other)) = text.split_once('=') else { continue };
            for (from, to) in [(one, other), (other, one)] {
                let values = self.assigned_values(from).to_vec();
                if !values.is_empty() {
                    self.set(to, values);
                }
            }
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
