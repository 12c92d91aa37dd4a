//! What tests of several subjects share.

pub mod dice;
pub mod fake;
pub mod harness;
pub mod login;
pub mod opened;
pub mod processes;
pub mod program;
pub mod screen;
pub mod server;
pub mod session_files;
pub mod time_limit;
pub mod tool_bench;

use std::path::Path;

/// Writes a file, creating the folders above it.
pub fn write(path: &(impl AsRef<Path> + ?Sized), content: &(impl AsRef<[u8]> + ?Sized)) {
    std::fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
