//! The folder of the user's sockets.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use tau_agent::settings::Paths;
use tau_tools::process::has_ended;

/// Maximum length of a socket's path on Linux and macOS, in bytes.
const MAX_PATH: usize = 100;

/// The folder of the user's sockets, which only the user can enter: below the runtime folder of the login, else in the state folder, else,
/// where that path is too long for a socket, in the folder for temporary files.
pub(crate) fn private(paths: &Paths) -> io::Result<PathBuf> {
    let runtime = of_login(std::env::var_os("XDG_RUNTIME_DIR"));
    let user = rustix::process::getuid().as_raw();
    let temporary = std::env::temp_dir().join(format!("tau-{user}"));
    let places = runtime.into_iter().chain([paths.state.join("live"), temporary]);
    let mut refused = io::Error::from(io::ErrorKind::InvalidFilename);
    for place in places.filter(|place| place.as_os_str().len() < MAX_PATH - "/4294967295.sock".len()) {
        match make_private(&place) {
            Ok(()) => return Ok(place),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// The folder below the runtime folder of the login. One that is not absolute counts as none, as the XDG Base
/// Directory Specification wants: it would be another one in every directory.
fn of_login(runtime: Option<OsString>) -> Option<PathBuf> {
    let runtime = PathBuf::from(runtime?);
    runtime.is_absolute().then(|| runtime.join("tau"))
}

/// Makes sure that only the user can enter the folder.
fn make_private(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let found = std::fs::symlink_metadata(folder)?;
    let is_private = found.is_dir()
        && found.uid() == rustix::process::getuid().as_raw()
        && found.permissions().mode() & 0o077 == 0;
    if is_private { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Removes the sockets of processes that were killed.
pub(crate) fn remove_dead(folder: &Path) {
    std::fs::read_dir(folder).into_iter().flatten().flatten().for_each(|entry| remove_if_dead(&entry.path()));
}

/// Removes the socket of a process, which is named after it, if that was killed.
pub(crate) fn remove_if_dead(path: &Path) {
    let number = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".sock")?.parse().ok());
    let Some(pid) = number.and_then(Pid::from_raw) else { return };
    // A process of another container has another number here.
    if has_ended(pid)
        && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_folder_is_absolute() {
        assert_eq!(of_login(None), None);
        assert_eq!(of_login(Some("".into())), None);
        assert_eq!(of_login(Some("run".into())), None);
        assert_eq!(of_login(Some("/run/user/1".into())), Some("/run/user/1/tau".into()));
    }
}
