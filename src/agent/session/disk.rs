//! What is done to the disk for a session that is written, and nothing else.
//!
//! It is a seam: every one of these can fail, and tests let each of them fail once. What follows
//! from a failure is decided in [`super::appender`].

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::settings::private_files::open_with;

/// The operations; by default they really happen.
pub trait Disk: Debug + Send + Sync {
    /// Opens or makes a regular file.
    fn open(&self, options: &mut OpenOptions, path: &Path) -> io::Result<File> {
        open_with(options, path)
    }

    /// Appends with one `write`; how many bytes of `bytes` are in the file then.
    ///
    /// # Errors
    /// Those of the file system; nothing was written then.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match file.write(bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Writes all of `bytes` at `at`, to a file that was not opened for appending.
    ///
    /// # Errors
    /// Those of the file system; a part may be written then.
    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(bytes, at)
    }

    /// Removes what comes after `len`.
    fn cut(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    /// Brings what was written to disk.
    ///
    /// # Errors
    /// Those of the file system. What was written before is then in doubt, and a second attempt
    /// may well answer that all is well.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Brings the names in a folder to disk, where the file system can do that.
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        match File::open(folder).and_then(|folder| folder.sync_all()) {
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
            result => result,
        }
    }
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Real;

impl Disk for Real {}
