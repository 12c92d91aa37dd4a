//! Makes the new bytes of an edit and inserts them into the text.
//!
//! Within a replaced range, lines that the old and new text share keep the file's bytes, including line
//! ends; only different lines are written, with the line end of their neighbours. Nothing outside the range
//! changes.

use std::ops::Range;

use super::Replacement;
use super::matching::MatchKind;
use super::normalize::{LineEnd, LineEnds, lines};
use crate::compare::{self, DiffOp};

/// A piece of text that replaces a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    pub place: Range<usize>,
    pub bytes: Vec<u8>,
}

impl Splice {
    /// True if the splice would not change the text.
    pub(crate) fn changes_nothing(&self, text: &[u8]) -> bool {
        text.get(self.place.clone()) == Some(&self.bytes)
    }
}

/// Sorts the splices. The error is the line numbers of two splices that overlap.
pub fn sort(text: &[u8], splices: &mut [Splice]) -> Result<(), (usize, usize)> {
    splices.sort_by_key(|splice| splice.place.start);
    for (one, next) in splices.iter().zip(splices.iter().skip(1)) {
        if next.place.start < one.place.end {
            return Err((line_number(text, one.place.start), line_number(text, next.place.start)));
        }
    }
    Ok(())
}

/// This part of the text with its splices applied; they are in order.
pub fn join(text: &[u8], part: Range<usize>, splices: &[Splice]) -> Vec<u8> {
    let more: usize = splices.iter().map(|splice| splice.bytes.len()).sum();
    let mut joined = Vec::with_capacity(part.len() + more);
    let mut at = part.start;
    for splice in splices {
        joined.extend_from_slice(text.get(at..splice.place.start).unwrap_or_default());
        joined.extend_from_slice(&splice.bytes);
        at = splice.place.end;
    }
    joined.extend_from_slice(text.get(at..part.end).unwrap_or_default());
    joined
}

/// The number of the line at this place, from 1.
pub(crate) fn line_number(text: &[u8], place: usize) -> usize {
    let before = text.get(..place).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count() + 1
}

/// The replacement text for this change, in a text with these line ends.
pub fn make(
    text: &[u8],
    ends: LineEnds,
    place: Range<usize>,
    change: &Replacement,
    how: MatchKind,
) -> Splice {
    let found = text.get(place.clone()).unwrap_or_default();
    // A text without CR has only one kind of line end.
    let same = how == MatchKind::Exact && found == change.old_string.as_bytes();
    if same && !ends.has_cr {
        return Splice { place, bytes: change.new_string.clone().into_bytes() };
    }
    let style = ends.prevailing;
    let mut old: Vec<String> = model_lines(&change.old_string);
    let mut new: Vec<String> = model_lines(&change.new_string);
    let file = lines(text, place.clone(), style);
    let cut_at_end = file.last().is_some_and(|line| line.end == line.content.end);
    if cut_at_end && old.last().is_some_and(|line| line.ends_with('\n')) {
        // The file ends without a line end, so neither text adds one.
        for last in [old.last_mut(), new.last_mut()].into_iter().flatten() {
            last.truncate(last.trim_end_matches(['\r', '\n']).len());
        }
    }
    let file =
        File { text, lines: file.iter().map(|line| (line.content.clone(), line.end)).collect(), style };
    let bytes = Weave { file, old: &old, new: &new, how }.bytes(change);
    Splice { place, bytes }
}

/// The lines of a model's text, with their line ends.
fn model_lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn content(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The replaced part of the file, line by line.
struct File<'a> {
    text: &'a [u8],
    lines: Vec<(Range<usize>, usize)>,
    style: LineEnd,
}

impl File<'_> {
    fn content(&self, index: usize) -> &[u8] {
        self.lines.get(index).and_then(|(content, _)| self.text.get(content.clone())).unwrap_or_default()
    }

    fn whole(&self, index: usize) -> &[u8] {
        let line = self.lines.get(index);
        line.and_then(|(content, end)| self.text.get(content.start..*end)).unwrap_or_default()
    }

    /// The line end for a new line at this place: that of the line it replaces, of the line before, of the
    /// line in which the range ends, or the prevailing one.
    fn line_end(&self, index: usize) -> &[u8] {
        let own = |index: usize| {
            let (content, end) = self.lines.get(index)?;
            self.text.get(content.end..*end).filter(|end| !end.is_empty())
        };
        let before = index.checked_sub(1);
        own(index).or_else(|| before.and_then(own)).or_else(|| self.after()).unwrap_or(self.style.bytes())
    }

    /// The end of the line in which the range ends, for a range inside one line.
    fn after(&self) -> Option<&[u8]> {
        if self.style == LineEnd::Cr {
            return None;
        }
        let (_, end) = self.lines.last()?;
        let rest = self.text.get(*end..)?;
        let at = memchr::memchr(b'\n', rest)?;
        let from = if at > 0 && rest.get(at - 1) == Some(&b'\r') { at - 1 } else { at };
        rest.get(from..=at)
    }
}

struct Weave<'a> {
    file: File<'a>,
    old: &'a [String],
    new: &'a [String],
    how: MatchKind,
}

impl Weave<'_> {
    fn bytes(&self, change: &Replacement) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.file.lines.len() != self.old.len() {
            // The lines do not correspond (the old text counts CR differently), so use the new text
            // literally.
            return change.new_string.clone().into_bytes();
        }
        let key = |line: &String| (content(line).to_owned(), line.ends_with('\n'));
        let old: Vec<_> = self.old.iter().map(key).collect();
        let new: Vec<_> = self.new.iter().map(key).collect();
        let indents = Indents::of(self);
        for op in compare::by_anchors(&old, &new, None) {
            match op {
                DiffOp::Equal { old_index, len, .. } => {
                    (old_index..old_index + len)
                        .for_each(|index| bytes.extend_from_slice(self.file.whole(index)));
                }
                DiffOp::Delete { .. } => {}
                DiffOp::Insert { old_index, new_index, new_len } => {
                    // Inserted lines follow the previous line.
                    let at = old_index.saturating_sub(1);
                    (new_index..new_index + new_len)
                        .for_each(|index| self.write(index, None, at, &indents, &mut bytes));
                }
                DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                    for step in 0..new_len {
                        let at = old_index + step.min(old_len - 1);
                        let pair = (step < old_len).then_some(at);
                        self.write(new_index + step, pair, at, &indents, &mut bytes);
                    }
                }
            }
        }
        bytes
    }

    /// Writes a new line. `pair` is the line it replaces; the line end is that of `at`.
    fn write(&self, index: usize, pair: Option<usize>, at: usize, indents: &Indents, bytes: &mut Vec<u8>) {
        let Some(line) = self.new.get(index) else { return };
        let text = content(line);
        match (self.how, pair) {
            (MatchKind::LookAlikes, Some(old)) => bytes.extend(self.keep_characters(old, text)),
            (MatchKind::Indentation | MatchKind::Everything, _) => bytes.extend(indents.apply(text)),
            _ => bytes.extend_from_slice(text.as_bytes()),
        }
        if line.ends_with('\n') {
            let end = self.file.line_end(at);
            // A CR that the model writes for a file with LF is intended.
            let literal = line.ends_with("\r\n") && end == b"\n";
            bytes.extend_from_slice(if literal { b"\r\n" } else { end });
        } else if line.ends_with('\r') {
            bytes.push(b'\r');
        }
    }

    /// The new line, with the file's characters where the old and new text agree.
    fn keep_characters(&self, old: usize, new: &str) -> Vec<u8> {
        let Ok(file) = std::str::from_utf8(self.file.content(old)) else { return new.into() };
        let file: Vec<char> = file.chars().collect();
        let was: Vec<char> =
            self.old.get(old).map(|line| content(line).chars().collect()).unwrap_or_default();
        if file.len() != was.len() {
            return new.into();
        }
        let new: Vec<char> = new.chars().collect();
        let mut kept = String::new();
        for op in compare::shortest(&was, &new) {
            let part = match op {
                DiffOp::Equal { .. } => file.get(op.old_range()),
                _ => new.get(op.new_range()),
            };
            kept.extend(part.unwrap_or_default());
        }
        kept.into_bytes()
    }
}

/// How the indentation of the old text maps to that of the file.
enum Indents {
    /// The file adds this before every line.
    Deeper(Vec<u8>),
    /// The old text adds this before every line.
    Shallower(String),
    /// Pairs of old and file indentation, longest old one first.
    Pairs(Vec<(String, Vec<u8>)>),
}

fn split_indent(line: &str) -> (&str, &str) {
    let rest = line.trim_start_matches([' ', '\t']);
    line.split_at_checked(line.len() - rest.len()).unwrap_or(("", line))
}

impl Indents {
    fn of(weave: &Weave<'_>) -> Self {
        let mut pairs: Vec<(String, Vec<u8>)> = Vec::new();
        for (index, line) in weave.old.iter().enumerate() {
            let (indent, rest) = split_indent(content(line));
            if rest.trim().is_empty() {
                continue;
            }
            let file = weave.file.content(index);
            let length = file.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            pairs.push((indent.to_owned(), file.get(..length).unwrap_or_default().to_vec()));
        }
        let deeper = |(old, file): &(String, Vec<u8>)| file.strip_suffix(old.as_bytes()).map(<[u8]>::to_vec);
        let shallower = |(old, file): &(String, Vec<u8>)| {
            let file = std::str::from_utf8(file).ok()?;
            old.strip_suffix(file).map(str::to_owned)
        };
        if let Some(prefix) = common_value(&pairs, deeper) {
            return Indents::Deeper(prefix);
        }
        if let Some(prefix) = common_value(&pairs, shallower) {
            return Indents::Shallower(prefix);
        }
        pairs.sort_by_key(|(old, _)| std::cmp::Reverse(old.len()));
        pairs.dedup();
        Indents::Pairs(pairs)
    }

    fn apply(&self, line: &str) -> Vec<u8> {
        let (indent, rest) = split_indent(line);
        if rest.is_empty() {
            return line.into();
        }
        match self {
            Indents::Deeper(prefix) => [prefix.as_slice(), line.as_bytes()].concat(),
            Indents::Shallower(prefix) => line.strip_prefix(prefix.as_str()).unwrap_or(rest).into(),
            Indents::Pairs(pairs) => {
                let known =
                    pairs.iter().find_map(|(old, file)| Some((file, indent.strip_prefix(old.as_str())?)));
                let Some((file, beyond)) = known else { return line.into() };
                let mut bytes = file.clone();
                bytes.extend(self.in_units(beyond));
                bytes.extend_from_slice(rest.as_bytes());
                bytes
            }
        }
    }

    /// Indentation beyond the known pairs, in the file's kind of space.
    fn in_units(&self, beyond: &str) -> Vec<u8> {
        let Indents::Pairs(pairs) = self else { return beyond.into() };
        let tabs = |file: &[u8]| !file.is_empty() && file.iter().all(|byte| *byte == b'\t');
        let unit = pairs.iter().find(|(old, file)| tabs(file) && !old.is_empty() && !old.contains('\t'));
        let width = unit.map_or(0, |(old, file)| old.len() / file.len());
        if width == 0 || beyond.contains('\t') {
            return beyond.into();
        }
        [vec![b'\t'; beyond.len() / width], vec![b' '; beyond.len() % width]].concat()
    }
}

/// The value that all pairs agree on, if they do.
fn common_value<T: PartialEq>(
    pairs: &[(String, Vec<u8>)],
    says: impl Fn(&(String, Vec<u8>)) -> Option<T>,
) -> Option<T> {
    let first = says(pairs.first()?)?;
    pairs.iter().all(|pair| says(pair).as_ref() == Some(&first)).then_some(first)
}
