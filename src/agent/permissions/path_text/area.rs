//! A place of the file system and what is below it, as one text with holes.

use super::meeting::meets_up_to;
use super::{Mark, PathText, marks_within};

/// A place, and anything below it.
#[derive(Clone, Debug, Default)]
pub(in crate::permissions) struct Area {
    /// The text of the place with everything below it, which begins with its own.
    below: PathText,
    /// The length of its own text, in marks.
    length: usize,
}

impl Area {
    pub(in crate::permissions) fn new(text: &PathText) -> Self {
        Area { below: text.below(), length: text.0.len() }
    }

    /// The text of the place.
    pub(in crate::permissions) fn marks(&self) -> &[Mark] {
        self.below.0.get(..self.length).unwrap_or_default()
    }

    /// Its text before the first hole.
    pub(in crate::permissions) fn known_start(&self) -> String {
        PathText::of(self.marks()).known_start()
    }

    /// This place in that directory.
    pub(in crate::permissions) fn within(&self, directory: &PathText) -> Area {
        Area::new(&marks_within(self.marks(), directory))
    }

    /// Whether a text can be this place, or be below it.
    pub(in crate::permissions) fn meets(&self, text: &PathText) -> bool {
        meets_up_to(&text.0, &self.below.0, self.length)
    }
}
