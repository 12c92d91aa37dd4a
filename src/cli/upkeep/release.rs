//! Releases: the newest one at an address, its file for this machine, checked and unpacked.
//!
//! `release.json` names the version, and the size and the SHA-256 of the archive for each platform.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use lzma_rust2::XzReader;
use semver::Version;
use serde::Deserialize;

use tau_agent::provider::http::Http;
use tau_agent::settings::Settings;
use tau_tools::hashes::hexadecimal;
use tau_tools::paths::reason;
use tau_tools::regular_files::read_capped;
use tau_tools::user_error::UserError;

/// The address that this tau was built for; the release workflow sets it.
const BUILT_FOR: Option<&str> = option_env!("TAU_RELEASE_URL");

/// The size limit of `release.json`, in bytes.
const MAX_LIST: usize = 256 * 1024;
/// The size limit of an archive, in bytes.
const MAX_ARCHIVE: u64 = 200 * 1024 * 1024;
/// The size limit of what an archive unpacks to, in bytes.
const MAX_UNPACKED: u64 = 1024 * 1024 * 1024;
/// The time limit for `release.json`.
const LIST_TIME: Duration = Duration::from_secs(20);
/// The time limit for an archive.
const ARCHIVE_TIME: Duration = Duration::from_mins(20);

/// The version of this program; `None` if its number cannot be read.
pub(crate) fn own_version() -> Option<Version> {
    Version::parse(env!("CARGO_PKG_VERSION")).ok()
}

/// Whether a version is offered to those who have another: it comes after theirs, and it is finished unless theirs is
/// not either.
pub(crate) fn is_update(new: &Version, own: &Version) -> bool {
    new.cmp_precedence(own).is_gt() && (new.pre.is_empty() || !own.pre.is_empty())
}

/// The newest release at an address.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Release {
    pub version: Version,
    files: BTreeMap<String, ReleasedFile>,
}

/// An archive of a release.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ReleasedFile {
    pub size: u64,
    sha256: String,
}

/// The address of releases: from the settings, or the one that this tau was built for.
pub(crate) fn address(settings: &Settings) -> Option<String> {
    let set = settings.release_url.as_ref().map(|url| url.as_str().to_owned());
    let built_for = BUILT_FOR.filter(|address| !address.is_empty()).map(str::to_owned);
    Some(set.or(built_for)?.trim_end_matches('/').to_owned())
}

/// The name of this machine's platform in releases.
pub(crate) fn target() -> String {
    let arch = std::env::consts::ARCH;
    match (std::env::consts::OS, cfg!(target_env = "musl")) {
        ("linux", true) => format!("{arch}-unknown-linux-musl"),
        ("linux", false) => format!("{arch}-unknown-linux-gnu"),
        ("macos", _) => format!("{arch}-apple-darwin"),
        (other, _) => format!("{arch}-unknown-{other}"),
    }
}

/// Asks for the newest release at an address. Nothing but the request is sent.
pub(crate) async fn newest(http: &Http, address: &str) -> Result<Release, UserError> {
    let url = format!("{address}/release.json");
    let answer = fetch(http, &url, MAX_LIST, LIST_TIME).await?;
    serde_json::from_slice(&answer).map_err(|_| format!("{url} is not the list of a release").into())
}

/// The file at an address: of a server, or of this machine. Fails when it is longer than `limit`, or not there
/// within this time.
async fn fetch(http: &Http, url: &str, limit: usize, within: Duration) -> Result<Vec<u8>, UserError> {
    let parsed = url::Url::parse(url).ok().filter(|parsed| parsed.scheme() == "file");
    if let Some(path) = parsed.and_then(|parsed| parsed.to_file_path().ok()) {
        return read_capped(&path, limit as u64).map_err(|error| format!("{url}: {}", reason(&error)).into());
    }
    let asked = tokio::time::timeout(within, http.download(url, limit)).await;
    let answer = asked.map_err(|_| format!("{url}: not done within {} seconds", within.as_secs()))?;
    answer.map_err(|failure| format!("{url}: {failure}").into())
}

impl Release {
    /// The archive for this machine.
    pub(crate) fn file(&self) -> Option<&ReleasedFile> {
        self.files.get(&target())
    }

    fn stem(&self) -> String {
        format!("taucode-{}-{}", self.version, target())
    }

    /// Downloads the archive for this machine and compares its size and its SHA-256 with the release's.
    pub(crate) async fn download(
        &self,
        http: &Http,
        address: &str,
        file: &ReleasedFile,
    ) -> Result<Vec<u8>, UserError> {
        let url = format!("{address}/{}.tar.xz", self.stem());
        let limit = usize::try_from(file.size.min(MAX_ARCHIVE)).unwrap_or(usize::MAX);
        let bytes = fetch(http, &url, limit, ARCHIVE_TIME).await?;
        let found = sha256(&bytes);
        if found != file.sha256 {
            let text = format!("{url} has SHA-256 {found}, but the release says {}", file.sha256);
            return Err(UserError::new(text).remedy("nothing was changed; try again later"));
        }
        Ok(bytes)
    }

    /// Unpacks the archive into `folder`; returns the folder of the version.
    pub(crate) fn unpack(&self, archive: &[u8], folder: &Path) -> Result<PathBuf, UserError> {
        let tar = XzReader::new(archive, false).take(MAX_UNPACKED);
        let unpacked = tar::Archive::new(tar).unpack(folder);
        unpacked.map_err(|error| UserError::new("cannot unpack the release").because(error))?;
        Ok(folder.join(self.stem()))
    }

    /// Tries the program in an unpacked version, for this long.
    pub(crate) async fn try_out(&self, unpacked: &Path, limit: Duration) -> Result<(), UserError> {
        let mut program = tokio::process::Command::new(unpacked.join("bin/tau"));
        let output = program.arg("--version").stdin(Stdio::null()).kill_on_drop(true).output();
        let failed = UserError::new("the new version does not work on this machine");
        let tried = match tokio::time::timeout(limit, output).await {
            Err(_) => return Err(failed.because(format!("no answer within {} seconds", limit.as_secs()))),
            Ok(Err(error)) => return Err(failed.because(format!("it does not start: {error}"))),
            Ok(Ok(tried)) => tried,
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let (answer, errors) = (text(&tried.stdout), text(&tried.stderr));
        if tried.status.success() && answer == format!("tau {}", self.version) {
            return Ok(());
        }
        let said = format!("{answer} {errors}");
        Err(failed.because(match said.trim() {
            "" => format!("it ended with {}", tried.status),
            said => said.to_owned(),
        }))
    }
}

/// The SHA-256 of bytes in hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    hexadecimal(ring::digest::digest(&ring::digest::SHA256, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_version_is_offered_and_an_unfinished_one_to_those_who_have_such() {
        let offered = |new, own| is_update(&Version::parse(new).unwrap(), &Version::parse(own).unwrap());
        assert!(offered("0.10.0", "0.2.0") && !offered("0.2.0", "0.2.0") && !offered("0.2.0+b", "0.2.0+a"));
        assert!(offered("0.2.0", "0.1.0") && offered("0.2.0", "0.2.0-rc.1"));
        assert!(offered("0.2.0-rc.10", "0.2.0-rc.2") && !offered("0.2.0-beta.1", "0.1.0"));
        assert!(own_version().is_some());
    }

    #[tokio::test]
    async fn a_program_that_does_not_work_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("bin/tau");
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        let release = Release { version: Version::parse("1.0.0").unwrap(), files: BTreeMap::new() };
        for (script, limit, why) in [
            ("exit 3", 60, "exit status: 3"),
            ("echo no such library >&2; exit 1", 60, "no such library"),
            ("exec sleep 600", 0, "no answer within 0 seconds"),
        ] {
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&program, mode).unwrap();
            let error = release.try_out(folder.path(), Duration::from_secs(limit)).await.unwrap_err();
            assert!(error.to_string().contains(why), "{script}: {error}");
        }
    }

    #[test]
    fn a_hash_is_written_as_sums_are() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(b""), empty);
    }
}
