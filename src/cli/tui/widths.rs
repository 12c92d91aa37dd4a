//! Characters whose width differs between terminals, and replacements where the frame lacks room.
//!
//! The layout uses Unicode's widths (like ratatui), so that a frame is the same everywhere. Here the terminal
//! is made to match it: a cluster that is wider on it is replaced by the nearest one that fits, such as the
//! first of joined emoji. Where it is narrower, the frame's encoder leaves the rest blank.
//! [`super::measuring`] measures the terminal.

use ratatui::buffer::CellWidth;
use serde::{Deserialize, Serialize};
use unicode_width::UnicodeWidthChar;

use tau_view::frame::Frame;

const JOINER: char = '\u{200D}';
const KEYCAP: char = '\u{20E3}';
const EMOJI_STYLE: char = '\u{FE0F}';

/// A kind of character or cluster on which terminals differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An emoji by itself.
    Emoji,
    /// A character turned into an emoji by a variation selector.
    Styled,
    Keycap,
    /// Emoji with joiners between them.
    Joined,
    /// An emoji with a skin tone.
    Toned,
    Flag,
    /// A syllable of Hangul as letters.
    Jamo,
    /// Narrow, but wide in East Asian terminals: arrows, lines, Greek.
    Ambiguous,
}

/// Every kind: its name and its sample.
pub(crate) const KINDS: [(Kind, &str, &str); 8] = [
    (Kind::Emoji, "emoji", "😀"),
    (Kind::Styled, "emoji style", "❤\u{FE0F}"),
    (Kind::Keycap, "keycap", "1\u{FE0F}\u{20E3}"),
    (Kind::Joined, "joined emoji", "👩\u{200D}💻"),
    (Kind::Toned, "skin tone", "👍🏽"),
    (Kind::Flag, "flag", "🇩🇪"),
    (Kind::Jamo, "jamo", "\u{1112}\u{1161}\u{11AB}"),
    (Kind::Ambiguous, "ambiguous", "±"),
];

impl Kind {
    /// The kind of a cluster; `None` if all terminals draw it alike.
    pub(super) fn of(cluster: &str) -> Option<Kind> {
        let mut chars = cluster.chars();
        let (first, second) = (chars.next()?, chars.next());
        let Some(second) = second else {
            return match (first.width()?, first.width_cjk()?) {
                (1, 2) => Some(Kind::Ambiguous),
                (2, _) if is_emoji(first) => Some(Kind::Emoji),
                _ => None,
            };
        };
        if is_regional(first) && is_regional(second) {
            Some(Kind::Flag)
        } else if cluster.ends_with(KEYCAP) {
            Some(Kind::Keycap)
        } else if cluster.contains(JOINER) && is_pictograph(first) {
            Some(Kind::Joined)
        } else if is_tone(second) {
            Some(Kind::Toned)
        } else if second == EMOJI_STYLE {
            Some(Kind::Styled)
        } else {
            matches!(first, '\u{1100}'..='\u{115F}').then_some(Kind::Jamo)
        }
    }
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{231A}'..='\u{2B55}' | '\u{1F000}'..='\u{1FAFF}')
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}')
}

fn is_regional(c: char) -> bool {
    matches!(c, '\u{1F1E6}'..='\u{1F1FF}')
}

fn is_tone(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}')
}

/// The terminal's width of each kind's sample in cells, in the order of [`KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Widths([u16; KINDS.len()]);

impl Default for Widths {
    /// Unicode's widths.
    fn default() -> Self {
        Widths(KINDS.map(|(_, _, sample)| sample.cell_width()))
    }
}

impl Widths {
    /// From the cells of each sample; `None` unless all were measured, and none is zero.
    pub(super) fn from_cells(cells: &[u16]) -> Option<Self> {
        let cells: [u16; KINDS.len()] = cells.try_into().ok()?;
        (!cells.contains(&0)).then_some(Widths(cells))
    }

    /// The kinds with the cells of their samples: measured, and according to Unicode.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static str, u16, u16)> {
        KINDS.iter().zip(self.0).map(|((_, name, sample), cells)| (*name, cells, sample.cell_width()))
    }

    /// Whether arrows and lines take two cells.
    pub(crate) fn has_wide_ambiguous(&self) -> bool {
        self.wider().contains(&Kind::Ambiguous)
    }

    /// The kinds that are wider on the terminal than in the layout.
    fn wider(&self) -> Vec<Kind> {
        let unicode = Widths::default();
        let cells = KINDS.iter().zip(self.0).zip(unicode.0);
        cells.filter(|((_, own), unicode)| own > unicode).map(|(((kind, ..), _), _)| *kind).collect()
    }

    /// Replaces clusters that are wider on the terminal than the frame's room.
    pub(super) fn fit(&self, frame: &mut Frame) {
        let wider = self.wider();
        if wider.is_empty() {
            return;
        }
        // Lines consist of many equal cells.
        let (mut known, mut instead) = (String::new(), None);
        for cell in frame.cells_mut().iter_mut().filter(|cell| !cell.symbol().is_ascii()) {
            if known != cell.symbol() {
                cell.symbol().clone_into(&mut known);
                instead = stand_in(&known, &wider);
            }
            if let Some(other) = &instead {
                cell.set_symbol(other);
            }
        }
    }
}

/// The replacement for a cluster that is drawn too wide; `None` if the cluster fits or has no replacement.
fn stand_in(cluster: &str, wider: &[Kind]) -> Option<String> {
    if cluster.is_ascii() {
        return None;
    }
    let kind = Kind::of(cluster).filter(|kind| wider.contains(kind))?;
    match kind {
        Kind::Joined => {
            let first = cluster.split(JOINER).next()?;
            Some(stand_in(first, wider).unwrap_or_else(|| first.to_owned()))
        }
        Kind::Toned => Some(cluster.chars().filter(|c| !is_tone(*c)).collect()),
        Kind::Flag => Some(cluster.chars().filter_map(letter).collect()),
        Kind::Jamo => syllable(cluster).map(String::from),
        Kind::Ambiguous => cluster.chars().next().and_then(narrow).map(String::from),
        Kind::Emoji | Kind::Styled | Kind::Keycap => None,
    }
}

/// The letter of a regional indicator.
fn letter(regional: char) -> Option<char> {
    char::from_u32(u32::from(regional) - 0x1F1E6 + u32::from('A'))
}

/// The syllable of two or three letters of Hangul (Unicode, section 3.12).
fn syllable(letters: &str) -> Option<char> {
    let mut letters = letters.chars().map(u32::from);
    let lead = letters.next()?.checked_sub(0x1100)?;
    let vowel = letters.next()?.checked_sub(0x1161)?;
    let tail = letters.next().map_or(Some(0), |tail| tail.checked_sub(0x11A7))?;
    let is_modern = lead < 19 && vowel < 21 && tail < 28 && letters.next().is_none();
    char::from_u32(0xAC00 + (lead * 21 + vowel) * 28 + tail).filter(|_| is_modern)
}

/// The nearest ASCII character to a sign or a mark of the screen.
fn narrow(c: char) -> Option<char> {
    Some(match c {
        '─' | '━' | '–' | '—' | '―' => '-',
        '│' | '┃' | '┊' | '▎' | '▌' | '▏' => '|',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '╭' | '╮' | '╰' | '╯' => {
            '+'
        }
        '…' | '·' => '.',
        '•' | '●' | '★' => '*',
        '○' | '◯' => 'o',
        '■' | '█' | '▓' | '▒' | '░' => '#',
        '→' | '▶' | '⇒' => '>',
        '←' | '◀' | '⇐' => '<',
        '↑' | '▲' => '^',
        '↓' | '▼' => 'v',
        '×' => 'x',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_of_their_kinds_and_most_text_is_of_none() {
        for (kind, _, sample) in KINDS {
            assert_eq!(Kind::of(sample), Some(kind), "{sample}");
        }
        for text in ["a", "é", "日", "각", "", "क\u{94D}\u{200D}ष", "e\u{301}"] {
            assert_eq!(Kind::of(text), None, "{text}");
        }
        assert_eq!(Widths::default().0, [2, 2, 2, 2, 2, 2, 2, 1]);
    }

    #[test]
    fn what_is_drawn_too_wide_is_replaced() {
        let wide = Widths::from_cells(&[2, 2, 2, 4, 4, 4, 4, 2]).unwrap();
        for (cluster, expected) in [
            ("👩\u{200D}💻", Some("👩")),
            ("👩🏽\u{200D}💻", Some("👩")),
            ("👍🏽", Some("👍")),
            ("🇩🇪", Some("DE")),
            ("\u{1112}\u{1161}\u{11AB}", Some("한")),
            ("\u{1112}\u{1161}", Some("하")),
            ("─", Some("-")),
            ("Ж", None),
            ("😀", None),
            ("❤\u{FE0F}", None),
            ("日", None),
            ("a", None),
        ] {
            assert_eq!(stand_in(cluster, &wide.wider()).as_deref(), expected, "{cluster}");
            assert_eq!(stand_in(cluster, &Widths::default().wider()), None, "{cluster}");
            let other = expected.unwrap_or(cluster);
            assert_eq!(other.cell_width(), cluster.cell_width(), "{cluster} keeps its cells");
        }
        let narrow = Widths::from_cells(&[1; KINDS.len()]).unwrap();
        assert_eq!(stand_in("👩\u{200D}💻", &narrow.wider()), None);
        assert_eq!(Widths::from_cells(&[2; 3]), None);
        assert_eq!(Widths::from_cells(&[0; KINDS.len()]), None);
    }
}
