//! The boundary where foreign text becomes safe to show: [`Printable`].
//!
//! Text of models, tools, files and sessions may hold anything: escape sequences that write to the clipboard,
//! bidirectional controls that reverse text, marks stacked over ten rows. One state machine, [`Sanitizer`],
//! turns such characters into visible marks. It works character by character, so a stream may be cut anywhere
//! and the result is the same. Controls of bidirectional text, with which code can be made to look different
//! from what it does, are spelled: `<U+202E>`.
//!
//! It never interprets colour sequences: that is [`super::ansi`]. The raw text stays in the session and goes
//! to the model; this is for display.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::{Deref, Range};

use unicode_width::UnicodeWidthChar;

use tau_tools::counted::many;
use tau_tools::invisible::{is_invisible, unseen_characters};

/// Columns between tab stops.
const TAB: usize = 4;
/// Combining marks kept on one base character; more would draw over the rows above.
const MARKS: u8 = 8;
/// Emoji joined into one cluster by zero width joiners.
const JOINS: u8 = 8;
/// Replaces a character that must not be sent to a terminal.
const REPLACEMENT: char = '\u{FFFD}';
/// The start of a spelled character.
const SPELLED: &str = "<U+";
/// Replaces a line end in text of one line.
const LINE_END: char = '⏎';

/// Text that may be drawn: it holds no control character but `\n`, and nothing invisible that
/// changes how its neighbours are read.
///
/// Two values are equal when their texts are equal and they would continue in the same way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Printable {
    text: String,
    cleaner: Sanitizer,
}

impl Printable {
    /// Text of any number of lines. `\r\n` and a lone `\r` count as `\n`, as in markdown: no text vanishes, as it
    /// would on a terminal.
    pub fn new(text: &str) -> Self {
        let mut printable = Self::default();
        printable.append(text);
        printable
    }

    /// Text of one line: line ends are shown as `⏎`.
    pub fn line(text: &str) -> Self {
        let mut printable = Self::default();
        let Self { text: out, cleaner } = &mut printable;
        cleaner.feed(out, text.trim_end_matches(['\n', '\r']));
        if out.contains('\n') {
            *out = out.replace('\n', LINE_END.encode_utf8(&mut [0; 4]));
        }
        printable
    }

    /// Adds the next piece of a stream. `append(a); append(b)` equals `append(ab)` for any cut.
    pub fn append(&mut self, text: &str) {
        self.cleaner.feed(&mut self.text, text);
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl Deref for Printable {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl AsRef<str> for Printable {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Printable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.text)
    }
}

/// `text` made safe, borrowed when it already is. Line ends stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| c == '\n' || is_plain(c)) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(Printable::new(text).text)
}

/// `text` made safe as one line, borrowed when it already is.
pub fn printable_line(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(Printable::line(text).text)
}

/// The state between two pieces of a stream, apart from the text itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sanitizer {
    /// Cells since the start of the line, for tab stops.
    column: usize,
    /// Combining marks since the last base character.
    marks: u8,
    /// Joiners in the current cluster.
    joins: u8,
    /// The last character on this line.
    last: Option<char>,
    /// A carriage return was read; its meaning depends on the next character.
    returned: bool,
}

impl Sanitizer {
    /// Appends `text`, made safe, to `out`, whose last line is the one this value describes.
    pub fn feed(&mut self, out: &mut String, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let run = rest.bytes().take_while(|byte| (0x20..0x7f).contains(byte)).count();
            if run > 0 {
                let (plain, after) = rest.split_at_checked(run).unwrap_or((rest, ""));
                self.plain(out, plain);
                rest = after;
            } else {
                self.character(out, c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }

    fn plain(&mut self, out: &mut String, run: &str) {
        self.settle_return(out);
        out.push_str(run);
        self.column += run.len();
        self.base(run.chars().next_back().unwrap_or(' '));
    }

    fn character(&mut self, out: &mut String, c: char) {
        match c {
            '\r' => self.returned = true,
            '\n' => {
                *self = Self::default();
                out.push('\n');
            }
            _ => {
                self.settle_return(out);
                self.push_char(out, c);
            }
        }
    }

    /// Handles a carriage return without a line feed: it ends the line.
    fn settle_return(&mut self, out: &mut String) {
        if self.returned {
            *self = Self::default();
            out.push('\n');
        }
    }

    fn push_char(&mut self, out: &mut String, c: char) {
        match class(c) {
            Class::Tab => {
                let spaces = TAB - self.column % TAB;
                out.extend(std::iter::repeat_n(' ', spaces));
                self.column += spaces;
                self.base(' ');
            }
            Class::Replaced(mark) => self.keep(out, mark, 1),
            Class::Spelled => self.spell(out, c),
            Class::Dropped => {}
            Class::Joiner => self.joiner(out, c),
            Class::Selector => self.selector(out, c),
            Class::Mark => self.mark(out, c),
            Class::Visible(width) => self.keep(out, c, width),
        }
    }

    fn spell(&mut self, out: &mut String, c: char) {
        let before = out.len();
        let _ = write!(out, "{SPELLED}{:04X}>", u32::from(c));
        self.column += out.len() - before;
        self.base('>');
    }

    fn keep(&mut self, out: &mut String, c: char, width: usize) {
        out.push(c);
        if self.last == Some('\u{200D}') {
            self.marks = 0;
            self.last = Some(c);
        } else {
            self.column += width;
            self.base(c);
        }
    }

    fn base(&mut self, c: char) {
        self.marks = 0;
        self.joins = 0;
        self.last = Some(c);
    }

    /// Joiners make sense after emoji and the scripts that join; elsewhere they hide.
    fn joiner(&mut self, out: &mut String, c: char) {
        let joins = self.last.is_some_and(|last| last > '\u{2FF}' && last != REPLACEMENT);
        if joins && self.joins < JOINS {
            self.joins += 1;
            self.last = Some(c);
            out.push(c);
        }
    }

    /// Selectors of the supplement choose the form of an ideograph; elsewhere they smuggle text.
    fn selector(&mut self, out: &mut String, c: char) {
        if self.last.is_some_and(|last| last >= '\u{2E80}') {
            self.mark(out, c);
        } else {
            self.keep(out, REPLACEMENT, 1);
        }
    }

    fn mark(&mut self, out: &mut String, c: char) {
        if self.last.is_some() && self.marks < MARKS {
            self.marks += 1;
            // The emoji form of a narrow character takes two cells.
            let narrow = self.last.and_then(UnicodeWidthChar::width) == Some(1);
            self.column += usize::from(c == '\u{FE0F}' && narrow);
            out.push(c);
        }
    }
}

/// The byte ranges of spelled characters in `text`.
pub fn spelled_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices(SPELLED).filter_map(|(start, _)| {
        let from = start + SPELLED.len();
        let (digits, _) = text.get(from..)?.split_once('>')?;
        let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
        let is_spelled = c == ' ' || hides(c) || c.width() == Some(0);
        ((4..=6).contains(&digits.len()) && is_spelled).then_some(start..from + digits.len() + 1)
    })
}

/// Minimum length of a run of blanks, or of empty lines, that a question shows as a number.
const MIN_FOLDED: usize = 40;

/// Shown for a carriage return, also at the end of a line: there it is part of a shell's word.
pub(crate) const RETURN: &str = "␍";

/// Safe text for a decision of the user, with nothing hidden in it: invisible characters and blanks other
/// than spaces are spelled, and long runs of blanks become a number. Line ends stay.
pub fn decision_text(text: &str) -> Printable {
    Printable::new(&spell_hidden(&fold_blanks(&text.replace('\r', RETURN))))
}

/// Like [`decision_text`], as one line.
pub fn decision_line(text: &str) -> Printable {
    Printable::line(&spell_hidden(&fold_blanks(text)))
}

/// Like [`decision_line`], for a text that ends with a name: blanks at its end are part of it, and are spelled.
pub fn decision_name(text: &str) -> Printable {
    let text = text.trim_end_matches(['\n', '\r']);
    let end = text.trim_end_matches(' ');
    let blanks = text.len() - end.len();
    let Some(rest) = blanks.checked_sub(1).filter(|rest| *rest < MIN_FOLDED) else {
        return decision_line(text);
    };
    let mut line = decision_line(end);
    line.append(&" ".repeat(rest));
    line.append(&format!("{SPELLED}0020>"));
    line
}

/// The text with all hidden characters spelled, and so is every mark that combines with none before it, or with a sign:
/// the screen draws nothing of it. Visible characters stay.
pub fn spell_hidden(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    // A mark without a letter before it is not drawn, nor are all of a long sequence.
    let mut marks = MARKS;
    let mut unseen = unseen_characters(text).map(|(at, _)| at).peekable();
    for (at, c) in text.char_indices() {
        let is_mark = !c.is_ascii() && c.width() == Some(0);
        let is_unseen = unseen.next_if_eq(&at).is_some();
        if is_unseen || hides(c) || (is_mark && marks >= MARKS) {
            let _ = write!(out, "{SPELLED}{:04X}>", u32::from(c));
            marks = MARKS;
            continue;
        }
        out.push(c);
        marks = match c {
            _ if is_mark => marks.saturating_add(1),
            _ if c.is_ascii() && !c.is_ascii_alphanumeric() => MARKS,
            _ => 0,
        };
    }
    Cow::Owned(out)
}

/// The text with long runs of blanks, and of empty lines, replaced by their number.
pub fn fold_blanks(text: &str) -> Cow<'_, str> {
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n') || is_other_blank(c);
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(blank) {
        let (before, run) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let end = run.find(|c| !blank(c)).unwrap_or(run.len());
        let (run, after) = run.split_at_checked(end).unwrap_or((run, ""));
        out.push_str(before);
        fold_run(run, &mut out);
        rest = after;
    }
    if out.len() + rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Adds a run of blanks and line ends.
fn fold_run(run: &str, out: &mut String) {
    let lines = run.matches('\n').count();
    if lines > MIN_FOLDED {
        let _ = write!(out, "\n⋯ {} ⋯\n", many(lines - 1, "empty line"));
        return;
    }
    for (index, blanks) in run.split('\n').enumerate() {
        out.push_str(if index > 0 { "\n" } else { "" });
        match blanks.chars().count() {
            count if count >= MIN_FOLDED => {
                let _ = write!(out, "⋯ {} ⋯", many(count, "blank"));
            }
            _ => out.push_str(blanks),
        }
    }
}

/// Whether a character is invisible, a control of its own kind (C1), or resembles a space.
fn hides(c: char) -> bool {
    matches!(class(c), Class::Spelled | Class::Replaced(REPLACEMENT)) || is_invisible(c) || is_other_blank(c)
}

/// Blanks other than spaces: letters to a shell.
fn is_other_blank(c: char) -> bool {
    !c.is_ascii()
        && (c.is_whitespace() || c == '\u{2800}')
        && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The treatment of a character.
enum Class {
    Tab,
    Replaced(char),
    /// Written as its number.
    Spelled,
    Dropped,
    Joiner,
    Selector,
    Mark,
    /// Shown unchanged; its width in cells.
    Visible(usize),
}

fn class(c: char) -> Class {
    match c {
        '\t' => Class::Tab,
        '\0'..='\u{1F}' => Class::Replaced(char::from_u32(0x2400 + c as u32).unwrap_or(REPLACEMENT)),
        '\u{7F}' => Class::Replaced('\u{2421}'),
        // Line separators; marks, embeddings, overrides and isolates of bidirectional text.
        '\u{85}'
        | '\u{61C}'
        | '\u{200E}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2066}'..='\u{2069}' => Class::Spelled,
        // C1 controls; deprecated format characters; interlinear annotation; tags; invisible fillers.
        '\u{80}'..='\u{84}'
        | '\u{86}'..='\u{9F}'
        | '\u{206A}'..='\u{206F}'
        | '\u{115F}'
        | '\u{3164}'
        | '\u{FFA0}'
        | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E007F}' => Class::Replaced(REPLACEMENT),
        '\u{AD}' | '\u{200B}' | '\u{2060}'..='\u{2065}' | '\u{180E}' | '\u{FEFF}' => Class::Dropped,
        '\u{200C}' | '\u{200D}' => Class::Joiner,
        '\u{E0100}'..='\u{E01EF}' => Class::Selector,
        _ => match c.width() {
            None => Class::Replaced(REPLACEMENT),
            Some(0) => Class::Mark,
            Some(width) => Class::Visible(width),
        },
    }
}

/// Whether the character is a control or is invisible: left out of text for a terminal that is not
/// drawn by cells (titles, messages, the answers of print mode).
pub fn is_hidden(c: char) -> bool {
    match class(c) {
        Class::Tab
        | Class::Replaced(_)
        | Class::Spelled
        | Class::Dropped
        | Class::Joiner
        | Class::Selector => true,
        Class::Mark => matches!(c, '\u{E0000}'..='\u{E0FFF}'),
        Class::Visible(_) => false,
    }
}

/// Whether the character is shown unchanged in any context.
fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~') || matches!(class(c), Class::Visible(_))
}

#[cfg(test)]
mod tests {
    use unicode_segmentation::UnicodeSegmentation;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn nothing_hides_in_a_question() {
        let hidden = "\u{AD}\u{34F}\u{61C}\u{115F}\u{1160}\u{17B4}\u{17B5}\u{180E}\u{200B}\u{200C}\u{200D}\u{200E}\u{202E}\
                      \u{2060}\u{2066}\u{206A}\u{2800}\u{3164}\u{FE0F}\u{FEFF}\u{FFA0}\u{E0041}\u{E0100}\u{A0}\u{1680}\
                      \u{80}\u{85}\u{9B}\u{9F}\u{FFF9}\u{2000}\u{200A}\u{202F}\u{205F}\u{3000}\u{1161}\u{11A8}\u{11FF}\u{D7B0}\u{D7CB}\u{D7FB}\u{5C8}\u{10ECB}";
        for c in hidden.chars() {
            let spelled = format!("sh bu<U+{:04X}>ild.sh", u32::from(c));
            let text = format!("sh bu{c}ild.sh");
            assert_eq!(decision_text(&text).as_str(), spelled);
            assert_eq!(decision_line(&text).as_str(), spelled);
            assert_eq!(super::spelled_ranges(&spelled).count(), 1, "{spelled} is set off");
        }
        // Within emoji, too: they are kept only in text that no decision depends on.
        assert_eq!(decision_text("\u{1F468}\u{200D}\u{1F469}").as_str(), "\u{1F468}<U+200D>\u{1F469}");
        assert_eq!(Printable::new("\u{1F468}\u{200D}\u{1F469}").as_str(), "\u{1F468}\u{200D}\u{1F469}");
        assert_eq!(
            decision_text("\u{301}rm é e\u{301} 한국 日本").as_str(),
            "<U+0301>rm é e\u{301} 한국 日本"
        );
        // A syllable in parts is one, as in names of files that macOS made.
        assert_eq!(decision_text("\u{1112}\u{1161}\u{11AB}b").as_str(), "\u{1112}\u{1161}\u{11AB}b");
        // Highlighting may begin behind a sign: nothing would bear the mark.
        assert_eq!(decision_text("ls;\u{301}rm >\u{301}x").as_str(), "ls;<U+0301>rm ><U+0301>x");
        let marks = "\u{301}".repeat(12);
        assert_eq!(decision_text(&format!("a{marks}")).matches("<U+0301>").count(), 4);
        assert_eq!(decision_text("true\rrm x\r\nls\r").as_str(), "true␍rm x␍\nls␍");
        // In an answer it ends a line, however the text is cut.
        let mut cut = Printable::new("one\r");
        cut.append("two\r");
        cut.append("\nthree");
        assert_eq!((cut.as_str(), &cut), ("one\ntwo\nthree", &Printable::new("one\rtwo\r\nthree")));
    }

    #[test]
    fn every_character_of_a_question_leaves_a_trace() {
        // The planes between hold ideographs, private characters, and none.
        let planes = (0..0x2_0000).chain(0xE_0000..0xE_1000).filter_map(char::from_u32);
        for c in planes.filter(|c| !matches!(c, '\n' | '\r')) {
            let shown = decision_text(&format!("a{c}b"));
            // What has no width of its own is drawn with the letter before it, or not at all.
            let cells: Vec<usize> = shown.graphemes(true).map(UnicodeWidthStr::width).collect();
            let is_combined = c.width() == Some(0) && shown.starts_with(&format!("a{c}")) && cells.len() == 2;
            let is_drawn = !cells.contains(&0) && (cells.iter().sum::<usize>() > 2 || is_combined);
            assert!(is_drawn, "U+{:04X}: {shown:?}", u32::from(c));
        }
    }

    #[test]
    fn long_runs_of_blanks_are_numbers() {
        let blanks = " ".repeat(10_000);
        assert_eq!(
            decision_line(&format!("x = 1{blanks}; evil()")).as_str(),
            "x = 1⋯ 10,000 blanks ⋯; evil()"
        );
        assert_eq!(decision_text(&"\u{A0}\t ".repeat(20)).as_str(), "⋯ 60 blanks ⋯");
        assert_eq!(decision_text(&" ".repeat(39)).as_str(), " ".repeat(39));
        assert_eq!(
            decision_text(&format!("a{}b", "\n \n".repeat(100))).as_str(),
            "a\n⋯ 199 empty lines ⋯\nb"
        );
        assert_eq!(decision_text("a\n\n\nb").as_str(), "a\n\n\nb");
    }
}
