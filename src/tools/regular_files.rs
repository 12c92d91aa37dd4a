//! Opens files of unknown origin, which may be pipes, devices, folders or huge.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens `path` with `options`, never blocking and never acquiring a terminal. Fails with `InvalidInput` if
/// it is not a regular file.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    open_sized(options, path).map(|(file, _)| file)
}

/// Like [`open_with`]; also returns the length.
fn open_sized(options: &mut OpenOptions, path: &Path) -> io::Result<(File, u64)> {
    // Opening a pipe without a writer would block forever; so would reading some devices.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if found.is_file() {
        Ok((file, found.len()))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Opens a regular file for reading.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// The content of a regular file of at most `cap` bytes. Fails like [`open_with`], and with `FileTooLarge` if
/// the file is larger.
pub fn read_capped(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    let (file, len) = open_sized(OpenOptions::new().read(true), path)?;
    // With room for all of it, one read is enough; another one finds the end.
    let room = usize::try_from(len.min(cap)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(room.saturating_add(1));
    file.take(cap.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > cap) {
        let message = format!("larger than {} KB", cap / 1024);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// The error of reading a file of the user; `None` if nothing is there. A link to nothing is something.
pub fn unless_absent(path: &Path, error: io::Error) -> Option<io::Error> {
    if error.kind() != io::ErrorKind::NotFound {
        return Some(error);
    }
    let (there, found) = path.ancestors().find_map(|at| Some((at, at.symlink_metadata().ok()?)))?;
    let is_broken = found.is_symlink() && there.metadata().is_err();
    let what = if there == path { String::new() } else { format!("{} is ", there.display()) };
    is_broken.then(|| io::Error::other(format!("{what}a link to something that is missing")))
}

/// The text of a regular file of at most `cap` bytes. Fails like [`read_capped`], and with `InvalidData` if
/// it is not UTF-8.
pub fn read_text(path: &Path, cap: u64) -> io::Result<String> {
    String::from_utf8(read_capped(path, cap)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text"))
}
