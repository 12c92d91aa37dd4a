//! Finds the old text of an edit in a file, in layers from exact to lenient.
//!
//! Pure. A lenient layer counts only if it finds exactly one place; the caller decides what several exact
//! matches mean. Places are byte ranges of the original text.

use std::ops::Range;

use super::normal_form;
use super::normalize::{FoldedText, Ignore, LineEnd, LineEnds, PLAIN, fold_line};

/// The kinds of matching, from strict to lenient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// Byte by byte, apart from line ends.
    Exact,
    /// Ignores space at the end of lines.
    TrailingSpace,
    /// Also ignores space at the start of lines.
    Indentation,
    /// Ignores the kind of quotes, dashes and spaces.
    LookAlikes,
    /// Ignores all of the above.
    Everything,
    /// Ignores how characters are composed (NFC or NFD).
    NormalForm,
}

impl MatchKind {
    /// The end of the sentence "it was matched ...".
    pub fn words(self) -> &'static str {
        match self {
            MatchKind::Exact => "exactly",
            MatchKind::TrailingSpace => "ignoring trailing space",
            MatchKind::Indentation => {
                "ignoring indentation, and the new text was re-indented to match the file"
            }
            MatchKind::LookAlikes => "treating look-alike quotes, dashes and spaces as equal",
            MatchKind::Everything => "ignoring indentation, trailing space and look-alike characters",
            MatchKind::NormalForm => "treating composed and decomposed characters (NFC, NFD) as equal",
        }
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MatchOutcome {
    /// The matches, in order, not overlapping. Never empty.
    Found(Vec<Range<usize>>, MatchKind),
    /// No match of any kind.
    Missing,
}

/// The maximum number of matches collected.
const MAX_PLACES: usize = 1_000_000;
/// If more places than this could hold a match, the whole text is normalized at once.
const CANDIDATES: usize = 1_000;

/// Finds `old` in `text`, which has these line ends.
pub fn find(text: &[u8], old: &str, ends: LineEnds) -> MatchOutcome {
    let exact = occurrences(text, old.as_bytes());
    if !exact.is_empty() {
        return MatchOutcome::Found(exact, MatchKind::Exact);
    }
    // If either has CR, line ends are compared as the kind of the file.
    if ends.has_cr || old.contains('\r') {
        let found = inside_lines(text, old, ends.prevailing, Ignore::default());
        if !found.is_empty() {
            return MatchOutcome::Found(found, MatchKind::Exact);
        }
    }
    let ignore =
        |trailing_space, indentation, look_alikes| Ignore { trailing_space, indentation, look_alikes };
    let layers = [
        (MatchKind::TrailingSpace, ignore(true, false, false)),
        (MatchKind::Indentation, ignore(true, true, false)),
        (MatchKind::LookAlikes, ignore(false, false, true)),
        (MatchKind::Everything, ignore(true, true, true)),
    ];
    for (how, ignore) in layers {
        let found = match how {
            MatchKind::LookAlikes => inside_lines(text, old, ends.prevailing, ignore),
            _ => whole_lines(text, old, ends.prevailing, ignore),
        };
        if !found.is_empty() {
            return MatchOutcome::Found(found, how);
        }
    }
    let found = normal_form::find(text, old);
    if found.is_empty() { MatchOutcome::Missing } else { MatchOutcome::Found(found, MatchKind::NormalForm) }
}

/// The non-overlapping occurrences of `needle`.
fn occurrences(text: &[u8], needle: &[u8]) -> Vec<Range<usize>> {
    if needle.is_empty() {
        return Vec::new();
    }
    let finder = memchr::memmem::find_iter(text, needle);
    finder.take(MAX_PLACES).map(|at| at..at + needle.len()).collect()
}

/// The parts of the text, in whole lines, that could contain the folded needle. Folding a large text costs
/// more than everything else, and some piece of the needle occurs in the text unchanged.
fn parts(text: &[u8], needle: &[u8], style: LineEnd, ignore: Ignore) -> Vec<Range<usize>> {
    let whole = Range { start: 0, end: text.len() };
    let lines: Vec<&[u8]> = needle.split(|byte| *byte == b'\n').collect();
    let folds = |byte: &u8| ignore.look_alikes && PLAIN.contains(byte);
    let pieces = lines
        .iter()
        .enumerate()
        .flat_map(|(index, line)| line.split(folds).map(move |piece| (index, piece)).collect::<Vec<_>>());
    let longest = pieces.max_by_key(|(_, piece)| piece.len()).filter(|(_, piece)| !piece.is_empty());
    let Some((index, piece)) = longest else { return vec![whole] };
    let end_byte = if style == LineEnd::Cr { b'\r' } else { b'\n' };
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (count, at) in memchr::memmem::find_iter(text, piece).enumerate() {
        if count >= CANDIDATES {
            return vec![whole];
        }
        let (before, after) = text.split_at_checked(at).unwrap_or((text, &[]));
        let start = memchr::memrchr_iter(end_byte, before).nth(index).map_or(0, |end| end + 1);
        let last = memchr::memchr_iter(end_byte, after).nth(lines.len() - 1 - index);
        let end = last.map_or(text.len(), |end| at + end + 1);
        match parts.last_mut() {
            Some(part) if start <= part.end => part.end = end,
            _ => parts.push(start..end),
        }
    }
    parts
}

/// Matches in a text whose characters are folded one by one.
fn inside_lines(text: &[u8], old: &str, style: LineEnd, ignore: Ignore) -> Vec<Range<usize>> {
    let needle = FoldedText::of(old.as_bytes(), 0..old.len(), LineEnd::Lf, ignore).text;
    let mut found = Vec::new();
    for part in parts(text, &needle, style, ignore) {
        let folded = FoldedText::of(text, part, style, ignore);
        let places = occurrences(&folded.text, &needle).into_iter();
        found
            .extend(places.map(|place| folded.original(text, place.start)..folded.original(text, place.end)));
    }
    found
}

/// Matches where the lines of the old text are whole lines of the file. At the end of the file, the last
/// line end of the old text may be missing.
fn whole_lines(text: &[u8], old: &str, style: LineEnd, ignore: Ignore) -> Vec<Range<usize>> {
    let mut needle = Vec::new();
    for (index, line) in old.lines().enumerate() {
        if index > 0 {
            needle.push(b'\n');
        }
        fold_line(line.as_bytes(), ignore, &mut needle);
    }
    if needle.iter().all(u8::is_ascii_whitespace) {
        return Vec::new();
    }
    let with_end = old.ends_with('\n');
    let mut found = Vec::new();
    for part in parts(text, &needle, style, ignore) {
        found.extend(lines_like(&FoldedText::of(text, part, style, ignore), &needle, with_end));
    }
    found
}

/// Matches of the needle from the start of a line to the end of one.
fn lines_like(folded: &FoldedText, needle: &[u8], with_end: bool) -> Vec<Range<usize>> {
    let finder = memchr::memmem::Finder::new(needle);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = folded.text.get(from..).and_then(|rest| finder.find(rest)) {
        let place = from + at..from + at + needle.len();
        from = place.start + 1;
        if !folded.begins_line(place.start) || !folded.ends_line(place.end) || found.len() >= MAX_PLACES {
            continue;
        }
        let (first, last) = (folded.line_at(place.start), folded.line_at(place.end));
        if let (Some((_, first)), Some((_, last))) = (folded.lines.get(first), folded.lines.get(last)) {
            found.push(first.content.start..if with_end { last.end } else { last.content.end });
            from = place.end;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_finds_what_the_stricter_ones_miss() {
        let cases: &[(&str, &str, &[&str], Option<MatchKind>)] = &[
            ("a b a", "a", &["a", "a"], Some(MatchKind::Exact)),
            ("x\r\ny\r\nz", "x\ny", &["x\r\ny"], Some(MatchKind::Exact)),
            ("x\r\ny\r\nz", "y\n", &["y\r\n"], Some(MatchKind::Exact)),
            ("x\ny\n", "x\r\ny\r\n", &["x\ny\n"], Some(MatchKind::Exact)),
            ("one\rtwo\rthree", "one\ntwo\n", &["one\rtwo\r"], Some(MatchKind::Exact)),
            ("a  \nb\n", "a\nb\n", &["a  \nb\n"], Some(MatchKind::TrailingSpace)),
            ("a\nb", "a\nb\n", &["a\nb"], Some(MatchKind::TrailingSpace)),
            ("a()\nb()\nc\n", "a() \n\n", &[], None),
            ("a()\nb()\n \nc\na()\n\nd\n", "a() \n\n", &["a()\n\n"], Some(MatchKind::TrailingSpace)),
            ("  a() \n\n\nd\n", "a()\n\n\n", &["  a() \n\n\n"], Some(MatchKind::Indentation)),
            (
                "\tif x {\n\t\ty\n\t}\n",
                "if x {\n  y\n}",
                &["\tif x {\n\t\ty\n\t}"],
                Some(MatchKind::Indentation),
            ),
            ("maximum = 1\n", "  imum = 1", &[], None),
            ("say \u{201C}hi\u{201D} now", "\"hi\"", &["\u{201C}hi\u{201D}"], Some(MatchKind::LookAlikes)),
            ("  a\u{00A0}\u{2013} b \n", "a - b", &["a\u{00A0}\u{2013} b"], Some(MatchKind::LookAlikes)),
            (
                "\t\u{2018}a\u{2019} \nb\n",
                "'a'\nb",
                &["\t\u{2018}a\u{2019} \nb"],
                Some(MatchKind::Everything),
            ),
            ("a\n\nb", "   \n", &[], None),
        ];
        for (text, old, expected, how) in cases {
            let outcome = find(text.as_bytes(), old, LineEnds::of(text.as_bytes()));
            let (found, way) = match &outcome {
                MatchOutcome::Found(places, way) => {
                    (places.iter().map(|place| text.get(place.clone()).unwrap()).collect(), Some(*way))
                }
                MatchOutcome::Missing => (Vec::new(), None),
            };
            assert_eq!((found.as_slice(), way), (*expected, *how), "{text:?} {old:?}");
        }
    }

    #[test]
    fn a_few_places_and_very_many_are_searched_alike() {
        let filler = "  let x = 1; \n".repeat(CANDIDATES + 100);
        let wanted = "\tlet x = 1;\nlet y\n";
        for text in [format!("{filler}let x = 1;\n  let y\n"), "a\nlet x = 1;\n  let y\nb\n".into()] {
            let outcome = find(text.as_bytes(), wanted, LineEnds::of(text.as_bytes()));
            let MatchOutcome::Found(places, MatchKind::Indentation) = outcome else { panic!("{outcome:?}") };
            let found: Vec<&str> = places.iter().map(|place| text.get(place.clone()).unwrap()).collect();
            assert_eq!(found, ["let x = 1;\n  let y\n"]);
        }
        let far = |text: &str, needle: &str| {
            let parts = parts(text.as_bytes(), needle.as_bytes(), LineEnd::Lf, Ignore::default());
            parts.into_iter().map(|part| (part.start, part.end)).collect::<Vec<_>>()
        };
        assert_eq!(far("a\nb\nlong\nd\ne\n", "b\nlong\nd"), [(2, 11)]);
        assert_eq!(far("long\na\nb\nlong", "x\nlong"), [(0, 5), (7, 13)]);
        assert_eq!(far("nothing", "long"), []);
    }
}
