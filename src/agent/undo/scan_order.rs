//! Sorts scanned entries, directory by directory, by the bytes of their full paths.
//!
//! The entries of a directory are already in order, so only the directories are sorted: the entries of one
//! stay together, between the entries of its parent.

use super::entry::Entry;

/// A directory, as a path with a slash at its end unless it is the root, and its direct entries, in order.
pub(super) type Block = (Vec<u8>, Vec<Entry>);

/// All entries, in the order of the bytes of their paths.
pub(super) fn in_order(mut blocks: Vec<Block>) -> Vec<Entry> {
    blocks.retain(|(_, entries)| !entries.is_empty());
    blocks.sort_unstable_by(|one, other| one.0.cmp(&other.0));
    let mut all = Vec::with_capacity(blocks.iter().map(|(_, entries)| entries.len()).sum());
    // Directories whose entries are not all taken yet, each within the one before it.
    let mut open: Vec<(Vec<u8>, std::vec::IntoIter<Entry>)> = Vec::new();
    for (path, entries) in blocks {
        while let Some((_, rest)) = open.pop_if(|(above, _)| !path.starts_with(above)) {
            all.extend(rest);
        }
        if let Some((_, rest)) = open.last_mut() {
            let before = rest.as_slice().partition_point(|entry| *entry.path < *path);
            all.extend(rest.by_ref().take(before));
        }
        open.push((path, entries.into_iter()));
    }
    while let Some((_, rest)) = open.pop() {
        all.extend(rest);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::entry::Kind;
    use super::super::state::Stamp;
    use super::*;

    fn block(dir: &str, names: &[&str]) -> Block {
        let entry = |name: &&str| Entry {
            path: format!("{dir}{name}").into_bytes().into(),
            kind: Kind::File,
            mode: 0,
            stamp: Stamp::default(),
            target: None,
            spared: false,
        };
        (dir.into(), names.iter().map(entry).collect())
    }

    #[test]
    fn paths_are_in_the_order_of_their_bytes() {
        // A hyphen and a point come before the slash, a zero after it.
        let blocks = vec![
            block("a/", &["b", "c", "z"]),
            block("a/c/d/", &["x"]),
            block("a-b/", &["x"]),
            block("", &["a", "a-b", "a.b", "a0", "b"]),
            block("a0/", &["-", "a"]),
            block("e/", &[]),
            block("a/c-/", &["y"]),
        ];
        let mut expected: Vec<_> = blocks.iter().flat_map(|(_, entries)| entries.clone()).collect();
        expected.sort_by(|one, other| one.path.cmp(&other.path));
        assert_eq!(expected.len(), 13);
        assert_eq!(in_order(blocks), expected);
    }
}
