//! Reads the entries of a git repository's index.
//!
//! Read directly, because asking git would take too long. For the format, see git's documentation,
//! `gitformat-index`.

/// The greatest length of a path that an entry gives.
const MAX_LENGTH: u16 = 0xfff;

/// The index file of a repository, without its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEnd<'a> {
    /// The hash that names the shared index file, in bytes. In a split index, most entries are there.
    pub shared: Option<&'a [u8]>,
    /// Whether it says where its parts are, so that git need not read them in their order.
    pub(crate) has_offsets: bool,
}

/// An entry of the index.
#[derive(Clone, Copy, Debug)]
pub struct IndexEntry<'a> {
    pub ctime: u32,
    pub mtime: (u32, u32),
    pub inode: u32,
    pub(crate) mode: u32,
    pub size: u32,
    /// The object name.
    pub object: &'a [u8],
    /// True if the entry is merged.
    pub is_merged: bool,
    /// The path relative to the top of the working tree.
    pub path: &'a [u8],
}

impl IndexEntry<'_> {
    /// The mask of the entry's type, without permissions.
    const KIND: u32 = 0o170_000;

    /// True if the entry is a file.
    pub fn is_file(&self) -> bool {
        self.mode & Self::KIND == 0o100_000
    }

    /// True if the entry names a commit of another repository: a submodule.
    pub fn is_gitlink(&self) -> bool {
        self.mode & Self::KIND == 0o160_000
    }
}

/// Reads an index with object names of `object` bytes. `None` if it has names of another length, or anything that git
/// does not write: git may take that for something else.
pub fn read<'a>(
    bytes: &'a [u8],
    object: usize,
    mut take_entry: impl FnMut(IndexEntry<'_>),
) -> Option<IndexEnd<'a>> {
    let mut rest = bytes.strip_prefix(b"DIRC")?;
    let version = number(&mut rest)?;
    let count = number(&mut rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut path: Vec<u8> = Vec::new();
    for _ in 0..count {
        let start = rest.len();
        let ctime = number(&mut rest)?;
        number(&mut rest)?;
        let mtime = (number(&mut rest)?, number(&mut rest)?);
        number(&mut rest)?;
        let inode = number(&mut rest)?;
        let mode = number(&mut rest)?;
        number(&mut rest)?;
        number(&mut rest)?;
        let size = number(&mut rest)?;
        let object = take(&mut rest, object)?;
        let flags = take(&mut rest, 2)?;
        let first = *flags.first()?;
        let length = usize::from(u16::from_be_bytes(flags.try_into().ok()?) & MAX_LENGTH);
        if first & 0x40 != 0 {
            take(&mut rest, 2)?;
        }
        if version == 4 {
            let keep = path.len().checked_sub(variable(&mut rest)?)?;
            path.truncate(keep);
        } else {
            path.clear();
        }
        let end = memchr::memchr(0, rest)?;
        path.extend_from_slice(take(&mut rest, end)?);
        // Git obeys the length, and by the end of the text only beyond this maximum.
        if length != path.len().min(usize::from(MAX_LENGTH)) {
            return None;
        }
        if version == 4 {
            take(&mut rest, 1)?;
        } else {
            let used = start.checked_sub(rest.len())?;
            take(&mut rest, 8 - used % 8)?;
        }
        let is_merged = first & 0x30 == 0;
        take_entry(IndexEntry { ctime, mtime, inode, mode, size, object, is_merged, path: &path });
    }
    // Extensions, in any order; the hash of the file comes last.
    let mut end = IndexEnd { shared: None, has_offsets: false };
    while rest.len() > object {
        let name = take(&mut rest, 4)?;
        let size = usize::try_from(number(&mut rest)?).ok()?;
        let data = take(&mut rest, size)?;
        match name {
            b"link" => end.shared = Some(data.get(..object)?),
            b"EOIE" | b"IEOT" => end.has_offsets = true,
            _ => {}
        }
    }
    // Otherwise, object names have another length.
    (rest.len() == object).then_some(end)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (part, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(part)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    let bytes = take(rest, 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// A variable-length number, as in pack files.
fn variable(rest: &mut &[u8]) -> Option<usize> {
    let mut byte = *take(rest, 1)?.first()?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = *take(rest, 1)?.first()?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some(value)
}
