//! Chips: long pastes and pictures, shown in the text as a label that is one segment.
//!
//! A label in the text refers to its chip; deleting a label keeps its chip, so that undo restores both. Text
//! that only looks like a label is plain text.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use tau_protocol::message::Block;

/// A paste of more lines than this becomes a chip.
const LONG_LINES: usize = 10;
/// A paste of more characters than this becomes a chip.
const LONG_CHARS: usize = 1_000;

/// Whether a replacement text is shown as a chip: it is too long to have been typed.
pub(crate) fn is_huge(text: &str) -> bool {
    text.lines().count() > 10 * LONG_LINES || text.chars().nth(10 * LONG_CHARS).is_some()
}

/// Whether a paste is shown as a chip.
pub(crate) fn is_long(text: &str) -> bool {
    text.lines().count() > LONG_LINES || text.chars().nth(LONG_CHARS).is_some()
}

/// The content behind a label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Chip {
    Paste { label: String, text: String },
    Picture { label: String, data: String, mime_type: String },
}

impl Chip {
    fn label(&self) -> &str {
        match self {
            Chip::Paste { label, .. } | Chip::Picture { label, .. } => label,
        }
    }
}

/// The chips of the composer's text, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chips(Vec<Chip>);

impl Chips {
    /// Adds a paste and returns its label.
    pub(crate) fn add_paste(&mut self, text: &str) -> String {
        let number = 1 + self.0.iter().filter(|chip| matches!(chip, Chip::Paste { .. })).count();
        let lines = text.lines().count();
        let size =
            if lines > 1 { format!("+{lines} lines") } else { format!("{} chars", text.chars().count()) };
        let label = format!("[paste #{number} {size}]");
        self.0.push(Chip::Paste { label: label.clone(), text: text.to_owned() });
        label
    }

    /// Adds a picture, with its width and height in pixels where known, and returns its label.
    pub(crate) fn add_picture(&mut self, data: String, mime_type: String, size: PixelSize) -> String {
        let number = 1 + self.0.iter().filter(|chip| matches!(chip, Chip::Picture { .. })).count();
        let size = size.map(|(width, height)| format!(" {width}x{height}")).unwrap_or_default();
        let label = format!("[image #{number}{size}]");
        self.0.push(Chip::Picture { label: label.clone(), data, mime_type });
        label
    }

    /// The chip of a label.
    pub fn get(&self, label: &str) -> Option<&Chip> {
        self.0.iter().find(|chip| chip.label() == label)
    }

    /// The ranges of labels in a line, left to right.
    pub fn spans(&self, line: &str) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = self
            .0
            .iter()
            .flat_map(|chip| line.match_indices(chip.label()).map(|(at, label)| at..at + label.len()))
            .collect();
        spans.sort_by_key(|span| span.start);
        spans
    }

    /// The text with pastes in full and without the labels of pictures, plus the pictures.
    pub fn expand(&self, text: &str) -> (String, Vec<Block>) {
        let mut full = String::with_capacity(text.len());
        let mut pictures = Vec::new();
        let mut at = 0;
        for span in self.spans(text) {
            full.push_str(text.get(at..span.start).unwrap_or(""));
            let label = text.get(span.clone()).unwrap_or("");
            match self.get(label) {
                Some(Chip::Paste { text, .. }) => full.push_str(text),
                Some(Chip::Picture { data, mime_type, .. }) => {
                    full.push_str(label);
                    pictures.push(Block::Image { data: data.clone(), mime_type: mime_type.clone() });
                }
                None => full.push_str(label),
            }
            at = span.end;
        }
        full.push_str(text.get(at..).unwrap_or(""));
        (full, pictures)
    }

    /// The text with pastes in full and without the labels of pictures, for when the chips are gone.
    pub(super) fn without_labels(&self, text: &str) -> String {
        let (mut full, _) = self.expand(text);
        for chip in self.0.iter().filter(|chip| matches!(chip, Chip::Picture { .. })) {
            full = full.replace(chip.label(), "");
        }
        full
    }
}

/// The width and height of a picture in pixels, where known.
pub(super) type PixelSize = Option<(u32, u32)>;

/// Finds the labels of pictures in a text, live or not, with their sizes.
pub(super) fn picture_labels(text: &str) -> Vec<(Range<usize>, PixelSize)> {
    let label = |at: usize| {
        let rest = text.get(at..)?.strip_prefix("[image #")?;
        let (inner, _) = rest.split_once(']')?;
        let (number, size) =
            inner.split_once(' ').map_or((inner, None), |(number, size)| (number, Some(size)));
        number.parse::<usize>().ok()?;
        let size = match size {
            Some(size) => {
                let (width, height) = size.split_once('x')?;
                Some((width.parse().ok()?, height.parse().ok()?))
            }
            None => None,
        };
        Some((at..text.len() - rest.len() + inner.len() + 1, size))
    };
    text.match_indices('[').filter_map(|(at, _)| label(at)).collect()
}
