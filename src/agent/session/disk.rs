//! The disk operations of session writing, replaceable in tests.
//!
//! It is a seam: each of these can fail, and tests make each of them fail once. [`super::appender`] handles
//! the failures.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::settings::private_files::{open_with, sync_folder};

/// The operations; by default they are performed for real.
pub trait Disk: Debug + Send + Sync {
    /// Opens or creates a regular file.
    fn open(&self, options: &mut OpenOptions, path: &Path) -> io::Result<File> {
        open_with(options, path)
    }

    /// Appends with one `write`; returns how many of `bytes` were written. Fails with errors of the file
    /// system; nothing was written then.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match file.write(bytes) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Writes all of `bytes` at `at`, to a file that was not opened for appending. Fails with errors of the
    /// file system; a part may have been written.
    fn write_at(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        file.write_all_at(bytes, at)
    }

    /// Truncates the file to `len`.
    fn cut(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    /// Syncs written data to disk. Fails with errors of the file system. Data written before is then in
    /// doubt, and a second attempt may still report success.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    /// Syncs the names in a folder to disk, if the file system supports that.
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        sync_folder(folder)
    }
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Real;

impl Disk for Real {}
