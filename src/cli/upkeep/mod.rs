//! The upkeep of an installation: new versions, the files that tau has written, and how long they are kept.

pub(crate) mod daily;
pub(crate) mod origin;
pub(crate) mod own_folder;
pub(crate) mod release;
pub(crate) mod retention;
pub(crate) mod written;
