//! The folder of the user's sockets. Machines and containers may share it.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustix::process::Pid;
use tau_agent::settings::Paths;
use tau_tools::paths::reason;
use tau_tools::process::has_ended;

/// Maximum length of a socket's path on Linux and macOS, in bytes.
const MAX_PATH: usize = 100;
/// The longest name of a socket.
const LONGEST: &str = "/4294967295-ffff-ffffffff-4294967295.sock";

/// The folder of the user's sockets, which only the user can enter: below the runtime folder of the login, else in the state folder, else,
/// where that path is too long for a socket, in the folder for temporary files.
pub(crate) fn private(paths: &Paths) -> io::Result<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let temporary = std::env::temp_dir().join(format!("tau-{user}"));
    let places = of_login().into_iter().chain([paths.state.join("live"), temporary]);
    let mut refused = io::Error::from(io::ErrorKind::InvalidFilename);
    for place in places.filter(|place| place.as_os_str().len() < MAX_PATH - LONGEST.len()) {
        match make_private(&place) {
            Ok(()) => return Ok(place),
            Err(error) => {
                refused = io::Error::new(error.kind(), format!("{}: {}", place.display(), reason(&error)));
            }
        }
    }
    Err(refused)
}

/// The folder below the runtime folder of the login. One that is not absolute counts as none, as the XDG Base
/// Directory Specification wants: it would be another one in every directory.
pub(crate) fn of_login() -> Option<PathBuf> {
    below(std::env::var_os("XDG_RUNTIME_DIR"))
}

fn below(runtime: Option<OsString>) -> Option<PathBuf> {
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

/// The name of this process in the folder: its process id, its machine and a random part, because processes of
/// different containers can have the same id.
pub(crate) fn own_name() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| {
        let id = tau_tools::ids::id().simple().to_string();
        let chance = id.get(id.len().saturating_sub(8)..).unwrap_or_default();
        format!("{}-{}-{chance}", std::process::id(), machine())
    });
    &NAME
}

/// This machine or container, by its name.
fn machine() -> String {
    let mut hash = DefaultHasher::new();
    rustix::system::uname().nodename().hash(&mut hash);
    format!("{:04x}", hash.finish() & 0xffff)
}

/// Removes the sockets of processes that were killed.
pub(crate) fn remove_dead(folder: &Path) {
    std::fs::read_dir(folder).into_iter().flatten().flatten().for_each(|entry| remove_if_dead(&entry.path()));
}

/// Removes the socket of a process of this machine, which is named after it, if that was killed.
pub(crate) fn remove_if_dead(path: &Path) {
    let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".sock"));
    let mut parts = name.unwrap_or_default().split('-');
    let Some(pid) = parts.next().and_then(|number| Pid::from_raw(number.parse().ok()?)) else { return };
    if parts.next() != Some(&machine()) {
        return;
    }
    // A process of another container has a different id here.
    if has_ended(pid)
        && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn sockets_of_other_machines_stay() {
        let dir = tempfile::tempdir().unwrap();
        let socket = |machine: &str| dir.path().join(format!("2147483647-{machine}-0000.sock"));
        let (here, there) = (socket(&machine()), socket("other"));
        for path in [&here, &there] {
            drop(UnixListener::bind(path).unwrap());
        }
        remove_dead(dir.path());
        assert!(!here.exists() && there.exists());
        assert!(own_name().len() <= LONGEST.len() - "/-4294967295.sock".len(), "{}", own_name());
    }

    #[test]
    fn a_runtime_folder_is_absolute() {
        assert_eq!(below(None), None);
        assert_eq!(below(Some("".into())), None);
        assert_eq!(below(Some("run".into())), None);
        assert_eq!(below(Some("/run/user/1".into())), Some("/run/user/1/tau".into()));
    }
}
