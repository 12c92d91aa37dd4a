//! Characters that are part of a text but draw nothing.

use std::cmp::Ordering;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Their ranges, in order: Default_Ignorable_Code_Point of Unicode 17 (DerivedCoreProperties.txt),
/// interlinear annotation anchors, hieroglyph controls, and signs that are blank by design.
const INVISIBLE: [(char, char); 23] = [
    ('\u{AD}', '\u{AD}'),
    ('\u{34F}', '\u{34F}'),
    ('\u{61C}', '\u{61C}'),
    ('\u{115F}', '\u{1160}'),
    ('\u{17B4}', '\u{17B5}'),
    ('\u{180B}', '\u{180F}'),
    ('\u{200B}', '\u{200F}'),
    ('\u{202A}', '\u{202E}'),
    ('\u{2060}', '\u{206F}'),
    // The braille pattern without dots.
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{FE00}', '\u{FE0F}'),
    ('\u{FEFF}', '\u{FEFF}'),
    ('\u{FFA0}', '\u{FFA0}'),
    ('\u{FFF0}', '\u{FFFB}'),
    ('\u{1107F}', '\u{1107F}'),
    ('\u{13430}', '\u{1343F}'),
    ('\u{13441}', '\u{13442}'),
    ('\u{16FE4}', '\u{16FE4}'),
    ('\u{1BCA0}', '\u{1BCA3}'),
    ('\u{1D159}', '\u{1D159}'),
    ('\u{1D173}', '\u{1D17A}'),
    ('\u{E0000}', '\u{E0FFF}'),
];

/// True if a character draws nothing: it has no width, joins or modifies its neighbours, or is a blank that
/// is not a space. Controls and spaces are not included.
pub fn is_invisible(c: char) -> bool {
    let place = |(first, last): &(char, char)| match (*first > c, *last < c) {
        (true, _) => Ordering::Greater,
        (_, true) => Ordering::Less,
        _ => Ordering::Equal,
    };
    !c.is_ascii() && INVISIBLE.binary_search_by(place).is_ok()
}

/// Whether a text shows nothing at all.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_invisible(c))
}

/// The characters of a text that draw nothing, with their places: invisible ones, and those of a cluster that has no
/// width, such as a part of a syllable of Hangul that follows no other. A terminal gets no cell for them.
pub fn unseen_characters(text: &str) -> impl Iterator<Item = (usize, char)> {
    let clusters = Some(text).filter(|text| !text.is_ascii()).into_iter();
    let clusters = clusters.flat_map(|text| text.grapheme_indices(true));
    clusters.filter(|(_, cluster)| !cluster.is_ascii()).flat_map(|(start, cluster)| {
        let is_drawn = cluster.width() > 0;
        let unseen =
            cluster.char_indices().filter(move |(_, c)| is_invisible(*c) || !is_drawn && !c.is_control());
        unseen.map(move |(at, c)| (start + at, c))
    })
}

#[cfg(test)]
mod tests {
    use super::{INVISIBLE, is_invisible, unseen_characters};

    /// Default_Ignorable_Code_Point, as listed by Unicode 17.
    const IGNORABLE: [(u32, u32); 17] = [
        (0xAD, 0xAD),
        (0x34F, 0x34F),
        (0x61C, 0x61C),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x200B, 0x200F),
        (0x202A, 0x202E),
        (0x2060, 0x206F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0),
        (0xFFF0, 0xFFF8),
        (0x1BCA0, 0x1BCA3),
        (0x1D173, 0x1D17A),
        (0xE0000, 0xE0FFF),
    ];

    #[test]
    fn what_unicode_ignores_is_invisible_and_what_is_seen_is_not() {
        assert!(INVISIBLE.windows(2).all(|pair| pair[0].1 < pair[1].0), "the table is not in order");
        for c in IGNORABLE.iter().flat_map(|(first, last)| *first..=*last).filter_map(char::from_u32) {
            assert!(is_invisible(c), "U+{:04X}", u32::from(c));
        }
        assert!("\u{2800}\u{FFF9}\u{16FE4}\u{1D159}\u{13441}".chars().all(is_invisible));
        let seen =
            "aÿ \t\n\u{A0}\u{AC}\u{AE}\u{301}\u{2010}\u{2029}\u{2070}\u{27FF}\u{2801}\u{FFFC}\u{FFFD}日한👨é";
        assert!(!seen.chars().any(is_invisible));
    }

    #[test]
    fn a_part_of_a_syllable_is_seen_only_behind_what_it_combines_with() {
        let of = |text: &str| unseen_characters(text).map(|(_, c)| c).collect::<String>();
        for text in
            ["\u{1112}\u{1161}\u{11AB}", "\u{D55C}\u{11A8}", "\u{D558}\u{1161}\u{11AB}\u{11AB}", "e\u{301}"]
        {
            assert_eq!(of(text), "", "{text:?}");
        }
        for text in [
            "b\u{1161}", "\u{11A8}", "\u{D55C}\u{1161}", "\u{1112}\u{11AB}", " \u{D7B0}", "\u{200B}\u{D7FB}",
            "a\u{5C8}", "\u{301}",
        ] {
            assert!(of(text).ends_with(text.chars().last().unwrap()), "{text:?}");
        }
        assert_eq!(of("\u{1112}\u{200B}\u{1161}"), "\u{200B}\u{1161}");
    }
}
