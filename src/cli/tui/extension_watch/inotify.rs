//! Changes of directories from Linux's inotify.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

use tau_agent::extensions::watched::Interest;
use tau_tools::process::pty::watch_descriptor;

/// Size of a read of events, in bytes.
const BUFFER: usize = 16 * 1024;
/// Changes of a directory's entries, and its own removal.
const COMING_AND_GOING: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// Directories that are watched.
#[derive(Debug)]
pub(crate) struct DirectoryWatch {
    file: AsyncFd<OwnedFd>,
    interests: HashMap<i32, Interest>,
}

impl DirectoryWatch {
    /// Watches these directories, as many of them as the system allows. `None` if it allows none.
    pub(crate) fn new(directories: &BTreeMap<PathBuf, Interest>) -> Option<Self> {
        let file = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC);
        let file = file.inspect_err(|error| tracing::warn!(%error, "extensions are not watched")).ok()?;
        let mut interests: HashMap<i32, Interest> = HashMap::new();
        for (directory, interest) in directories {
            let has_contents = !matches!(interest, Interest::Names { contents: false, .. });
            let more = if has_contents { WatchFlags::CLOSE_WRITE } else { WatchFlags::empty() };
            match add_watch(&file, directory, COMING_AND_GOING | more | WatchFlags::MASK_ADD) {
                // Two names of one directory have one number.
                Ok(number) => match interests.get_mut(&number) {
                    Some(known) => known.join(interest),
                    None => drop(interests.insert(number, interest.clone())),
                },
                Err(Errno::NOSPC) => {
                    tracing::warn!("only a part of the extensions is watched: fs.inotify.max_user_watches");
                    break;
                }
                // It was removed in the meantime, which its parent reports.
                Err(error) => tracing::debug!(%error, directory = %directory.display(), "not watched"),
            }
        }
        let file = watch_descriptor(file, tokio::io::Interest::READABLE);
        let file = file.inspect_err(|error| tracing::warn!(%error, "extensions are not watched")).ok()?;
        (!interests.is_empty()).then_some(DirectoryWatch { file, interests })
    }

    /// Waits until something of interest has changed; forever if nothing is watched. Cancel safe.
    pub(crate) async fn wait_for_change(watch: &mut Option<Self>) {
        let Some(watch) = watch else { return std::future::pending().await };
        loop {
            let Ok(mut ready) = watch.file.readable().await else { return std::future::pending().await };
            let (has_changed, is_empty) = watch.take();
            if is_empty {
                ready.clear_ready();
            }
            if has_changed {
                return;
            }
        }
    }

    /// Reads the pending events: returns whether one of them is of interest, and whether there are no more.
    fn take(&self) -> (bool, bool) {
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut events = Reader::new(self.file.get_ref(), &mut buffer);
        let mut has_changed = false;
        loop {
            match events.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    let interest = self.interests.get(&event.wd());
                    let is_lost = event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                    has_changed |= is_lost || interest.is_some_and(|interest| interest.includes(name));
                }
                Err(Errno::INTR) => {}
                Err(error) => return (has_changed, error == Errno::AGAIN),
            }
        }
    }
}
