//! A search while more text arrives: only changed entries are searched again.

use super::{Find, occurrences};
use crate::geometry::EntryId;
use crate::transcript::Transcript;

impl Find {
    /// Notes that an entry must be searched again.
    pub(in crate::transcript) fn mark_changed(&mut self, id: EntryId) {
        self.changed.insert(id);
    }
}

impl Transcript {
    /// Finds the occurrences in changed entries. The user stays at the same place, if it still exists.
    pub(crate) fn find_in_changed_entries(&mut self) {
        let Some(mut find) = self.find.take() else { return };
        let changed = std::mem::take(&mut find.changed);
        if let Some(needle) = find.needle() {
            for id in changed {
                let entry = self.index_of(id).and_then(|index| self.entries().get(index));
                let first = find.places.partition_point(|place| place.entry < id);
                let end = find.places.partition_point(|place| place.entry <= id);
                let found = entry.map(|entry| occurrences(entry, &needle)).unwrap_or_default();
                find.places.splice(first..end, found);
            }
            find.current = find.current.and_then(|current| {
                let name = |place: &super::Occurrence| (place.entry, place.part, place.nth);
                find.places.iter().find(|place| name(place) == name(&current)).copied()
            });
        }
        self.find = Some(find);
    }
}
