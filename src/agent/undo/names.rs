//! The names in a directory, read without an allocation for each.

use std::ffi::CStr;
use std::ops::Range;

use rustix::fs::Dir;

use super::ignore_rules::{self, is_internal};

/// The names in a directory; reused for the next one.
#[derive(Default)]
pub(super) struct Names {
    /// All names, each terminated by a zero.
    bytes: Vec<u8>,
    /// The range of each name.
    places: Vec<Range<usize>>,
}

impl Names {
    /// Reads and sorts the names in `dir`; returns whether an ignore file is among them, and the error after which
    /// the rest could not be read.
    pub(super) fn read(&mut self, dir: &mut Dir) -> (bool, rustix::io::Result<()>) {
        self.bytes.clear();
        self.places.clear();
        let (mut has_rules, mut read) = (false, Ok(()));
        while let Some(entry) = dir.read() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    read = Err(error);
                    break;
                }
            };
            let name = entry.file_name().to_bytes();
            has_rules |= name == ignore_rules::FILE.as_bytes();
            if !matches!(name, b"." | b"..") && !is_internal(name) {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(entry.file_name().to_bytes_with_nul());
                self.places.push(start..self.bytes.len());
            }
        }
        let bytes = &self.bytes;
        self.places.sort_unstable_by_key(|place| bytes.get(place.clone()));
        // A directory that changes in the meantime may list a name twice.
        self.places.dedup_by_key(|place| bytes.get(place.clone()));
        (has_rules, read)
    }

    /// The number of names.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// All names, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &CStr> {
        let name = |place: &Range<usize>| CStr::from_bytes_with_nul(self.bytes.get(place.clone())?).ok();
        self.places.iter().filter_map(name)
    }
}
