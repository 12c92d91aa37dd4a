//! Files that any program opens, from the kernel.

use std::mem::MaybeUninit;
use std::path::Path;

use rustix::fs::inotify::{self, ReadFlags, WatchFlags};

/// Reports what was opened in folders since the watch began.
pub struct Opened(rustix::fd::OwnedFd);

impl Opened {
    pub fn watch(folders: &[&Path]) -> Self {
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        for folder in folders {
            // Of equal events in a row, only one is reported.
            inotify::add_watch(&watch, *folder, WatchFlags::OPEN | WatchFlags::CLOSE).unwrap();
        }
        Opened(watch)
    }

    /// The names of the files and folders that were opened since the last call, each as often as it was. The name of a
    /// watched folder is empty.
    pub fn files(&self) -> Vec<String> {
        let (mut buffer, mut names) = ([MaybeUninit::uninit(); 4096], Vec::new());
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        while let Ok(event) = events.next() {
            if event.events().contains(ReadFlags::OPEN) {
                let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
                names.push(name.unwrap_or_default());
            }
        }
        names
    }
}
