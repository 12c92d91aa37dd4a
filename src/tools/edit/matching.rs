//! Where the old text of an edit is in a file, found in layers from exact to lenient.
//!
//! Pure. A lenient layer counts only when it finds exactly one place; the caller decides what
//! several places of the exact layer mean. Places are byte ranges of the original text.

use std::ops::Range;

use super::fold::{Folded, Ignore, LineEnd, fold_line};

/// In which way the text was matched, from strict to lenient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Byte by byte, line ends aside.
    Exact,
    /// Without regard to space at the end of lines.
    TrailingSpace,
    /// And to space at the start of lines.
    Indentation,
    /// Without regard to the kind of quotes, dashes and spaces.
    LookAlikes,
    /// All of that.
    Everything,
}

impl How {
    /// For the sentence "it was matched ...".
    pub fn words(self) -> &'static str {
        match self {
            How::Exact => "exactly",
            How::TrailingSpace => "ignoring trailing space",
            How::Indentation => "ignoring indentation, and the new text was indented like the old",
            How::LookAlikes => "treating look-alike quotes, dashes and spaces as equal",
            How::Everything => "ignoring indentation, trailing space and look-alike characters",
        }
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// These places, in order, none overlapping. Never empty.
    Found(Vec<Range<usize>>, How),
    /// Nothing that resembles it in any of the ways.
    Missing,
}

/// Most places that are collected.
const MAX_PLACES: usize = 1_000_000;

/// Finds `old` in `text`.
pub fn find(text: &[u8], old: &str) -> Outcome {
    let exact = occurrences(text, old.as_bytes());
    if !exact.is_empty() {
        return Outcome::Found(exact, How::Exact);
    }
    let style = LineEnd::of(text);
    let needle = Folded::of(old.as_bytes(), LineEnd::Lf, Ignore::default());
    // Line ends differ when the file has CR in them; then its own are what is meant.
    if memchr::memchr(b'\r', text).is_some() || old.contains('\r') {
        let folded = Folded::of(text, style, Ignore::default());
        let found = occurrences(&folded.text, &needle.text);
        if !found.is_empty() {
            let back =
                |place: Range<usize>| folded.original(text, place.start)..folded.original(text, place.end);
            return Outcome::Found(found.into_iter().map(back).collect(), How::Exact);
        }
    }
    let ignore =
        |trailing_space, indentation, look_alikes| Ignore { trailing_space, indentation, look_alikes };
    let layers = [
        (How::TrailingSpace, ignore(true, false, false)),
        (How::Indentation, ignore(true, true, false)),
        (How::LookAlikes, ignore(false, false, true)),
        (How::Everything, ignore(true, true, true)),
    ];
    for (how, ignore) in layers {
        let folded = Folded::of(text, style, ignore);
        let found = if how == How::LookAlikes {
            inside_lines(text, &folded, old, ignore)
        } else {
            whole_lines(&folded, old, ignore)
        };
        if !found.is_empty() {
            return Outcome::Found(found, how);
        }
    }
    Outcome::Missing
}

/// Places of `needle`, none overlapping.
fn occurrences(text: &[u8], needle: &[u8]) -> Vec<Range<usize>> {
    if needle.is_empty() {
        return Vec::new();
    }
    let finder = memchr::memmem::find_iter(text, needle);
    finder.take(MAX_PLACES).map(|at| at..at + needle.len()).collect()
}

/// Places of a text whose characters are folded one by one.
fn inside_lines(text: &[u8], folded: &Folded, old: &str, ignore: Ignore) -> Vec<Range<usize>> {
    let needle = Folded::of(old.as_bytes(), LineEnd::Lf, ignore);
    let found = occurrences(&folded.text, &needle.text);
    found
        .into_iter()
        .map(|place| folded.original(text, place.start)..folded.original(text, place.end))
        .collect()
}

/// Places where the lines of the old text are whole lines of the file. A last line end of the
/// old text may be missing at the end of the file.
fn whole_lines(folded: &Folded, old: &str, ignore: Ignore) -> Vec<Range<usize>> {
    let with_end = old.ends_with('\n');
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
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = folded.text.get(from..).and_then(|rest| memchr::memmem::find(rest, &needle)) {
        let place = from + at..from + at + needle.len();
        from = place.start + 1;
        if !folded.begins_line(place.start) || !folded.ends_line(place.end) || found.len() >= MAX_PLACES {
            continue;
        }
        let (first, last) = (
            folded.line_at(place.start),
            folded.line_at(place.end.max(1) - usize::from(place.end > place.start)),
        );
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
        let cases: &[(&str, &str, &[&str], Option<How>)] = &[
            ("a b a", "a", &["a", "a"], Some(How::Exact)),
            ("x\r\ny\r\nz", "x\ny", &["x\r\ny"], Some(How::Exact)),
            ("x\r\ny\r\nz", "y\n", &["y\r\n"], Some(How::Exact)),
            ("x\ny\n", "x\r\ny\r\n", &["x\ny\n"], Some(How::Exact)),
            ("one\rtwo\rthree", "one\ntwo\n", &["one\rtwo\r"], Some(How::Exact)),
            ("a  \nb\n", "a\nb\n", &["a  \nb\n"], Some(How::TrailingSpace)),
            ("a\nb", "a\nb\n", &["a\nb"], Some(How::TrailingSpace)),
            ("\tif x {\n\t\ty\n\t}\n", "if x {\n  y\n}", &["\tif x {\n\t\ty\n\t}"], Some(How::Indentation)),
            ("maximum = 1\n", "  imum = 1", &[], None),
            ("say \u{201C}hi\u{201D} now", "\"hi\"", &["\u{201C}hi\u{201D}"], Some(How::LookAlikes)),
            ("  a\u{00A0}\u{2013} b \n", "a - b", &["a\u{00A0}\u{2013} b"], Some(How::LookAlikes)),
            ("\t\u{2018}a\u{2019} \nb\n", "'a'\nb", &["\t\u{2018}a\u{2019} \nb"], Some(How::Everything)),
            ("a\n\nb", "   \n", &[], None),
        ];
        for (text, old, expected, how) in cases {
            let outcome = find(text.as_bytes(), old);
            let (found, way) = match &outcome {
                Outcome::Found(places, way) => {
                    (places.iter().map(|place| text.get(place.clone()).unwrap()).collect(), Some(*way))
                }
                Outcome::Missing => (Vec::new(), None),
            };
            assert_eq!((found.as_slice(), way), (*expected, *how), "{text:?} {old:?}");
        }
    }
}
