//! The log: a file, only on request.
//!
//! Nothing is ever logged to the terminal. `TAU_LOG` takes a filter as `tracing` writes them
//! (`debug`, `tau::agent=trace`); `--verbose` is `info`, and `debug` for tau itself.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tau_agent::export::{Redactor, own_secrets};
use tau_tools::user_error::UserError;
use tracing_subscriber::EnvFilter;

/// A log larger than this is renamed to `tau.log.1` when the program starts, in bytes.
const ROTATE_BYTES: u64 = 10 << 20;
/// Added to every filter: at debug level the library logs the codes of logins.
const WITHOUT_CODES: &str = "rmcp::transport::auth=warn";
const VERBOSE: &str = "info,rmcp=warn,tau=debug";

/// The filter to log with: `TAU_LOG` takes precedence over `--verbose`; `None` means no log.
pub fn effective_filter(filter: Option<&str>, verbose: bool) -> Option<String> {
    let filter = filter.map(str::trim).filter(|filter| !filter.is_empty());
    filter.map(str::to_owned).or_else(|| verbose.then(|| VERBOSE.to_owned()))
}

/// Logs events that pass `filter` to `logs/tau.log` under `state`; returns the path of the file. The error is
/// a sentence for the user: the filter is invalid, or the file cannot be written.
pub fn start(state: &Path, filter: &str) -> Result<PathBuf, UserError> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| format!("TAU_LOG is invalid: {error} (try TAU_LOG=debug)"))?;
    let without = WITHOUT_CODES.parse().map_err(|error| format!("cannot start the log: {error}"))?;
    let filter = filter.add_directive(without);
    let path = state.join("logs").join("tau.log");
    let file = open(&path).map_err(|error| format!("cannot write the log {}: {error}", path.display()))?;
    let masked = MaskedLog { file, redactor: Redactor::new(&own_secrets()) };
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Mutex::new(masked));
    log.try_init().map_err(|error| format!("cannot start the log: {error}"))?;
    Ok(path)
}

/// The log without secrets: libraries write what they are given, such as commands of the model.
struct MaskedLog {
    file: File,
    redactor: Redactor,
}

impl io::Write for MaskedLog {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let masked = self.redactor.text(&String::from_utf8_lossy(event));
        self.file.write_all(masked.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Opens the log for appending, for its owner only; never through a link, and only a regular file: opening a
/// FIFO would wait for a reader.
fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    if std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > ROTATE_BYTES) {
        std::fs::rename(path, path.with_extension("log.1"))?;
    }
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let not_a_file = || io::Error::other("not a regular file; remove it, and tau creates a new one");
    match OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(not_a_file()),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            Err(not_a_file())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn no_log_unless_requested() {
        let cases = [
            (None, false, None),
            (Some(""), false, None),
            (None, true, Some(VERBOSE)),
            (Some("trace"), true, Some("trace")),
        ];
        for (filter, verbose, expected) in cases {
            assert_eq!(effective_filter(filter, verbose).as_deref(), expected, "{filter:?} {verbose}");
        }
    }

    #[test]
    fn the_file_is_private_appended_to_and_rotated_when_large() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logs/tau.log");
        for _ in 0..2 {
            open(&path).unwrap().write_all(b"line\n").unwrap();
        }
        let meta = std::fs::metadata(&path).unwrap();
        assert_eq!((meta.len(), meta.permissions().mode() & 0o777), (10, 0o600));
        open(&path).unwrap().set_len(ROTATE_BYTES + 1).unwrap();
        assert_eq!(open(&path).unwrap().metadata().unwrap().len(), 0);
        let link = dir.path().join("logs/link.log");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(open(&link).is_err());
        let fifo = dir.path().join("logs/fifo.log");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
        assert!(open(&fifo).unwrap_err().to_string().contains("not a regular file"));
    }
}
