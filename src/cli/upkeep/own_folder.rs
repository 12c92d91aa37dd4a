//! The folder of programs that `install.sh` installs: a folder a version, and links to the one in use and to the one before.
//!
//! `current` is a link that is replaced in one step, so that a start in the meantime finds one of the two versions.

use std::path::{Path, PathBuf};
use std::{fs, io};

use semver::Version;
use tau_tools::regular_files::read_text;

/// The link to the version in use.
const CURRENT: &str = "current";
/// The link to the version before it.
const PREVIOUS: &str = "previous";
/// The list of links to this folder from elsewhere, one path a line.
const LINKS: &str = "links";

/// The beginning of the names of folders into which a version is unpacked.
pub(crate) const UNFINISHED: &str = ".new-";

/// The size limit of the list of links, in bytes.
const MAX_LIST: u64 = 64 * 1024;

/// The folder, such as `~/.local/share/taucode`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnFolder(PathBuf);

impl OwnFolder {
    /// The folder around the folder of a version.
    pub(super) fn of_version(version: &Path) -> Option<Self> {
        let folder = OwnFolder(version.parent()?.to_owned());
        folder.version(CURRENT)?;
        Some(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The version in use.
    pub(crate) fn current(&self) -> Option<Version> {
        self.version(CURRENT)
    }

    /// The version before it, if it is still there.
    pub(crate) fn previous(&self) -> Option<Version> {
        self.version(PREVIOUS)
    }

    fn version(&self, link: &str) -> Option<Version> {
        let version = Version::parse(fs::read_link(self.0.join(link)).ok()?.to_str()?).ok()?;
        self.program(&version).is_file().then_some(version)
    }

    pub(crate) fn program(&self, version: &Version) -> PathBuf {
        self.0.join(version.to_string()).join("bin/tau")
    }

    /// Puts an unpacked version in use; keeps the one before, and removes older ones. Fails when a file
    /// cannot be moved; the version in use then stays.
    pub(crate) fn install(&self, unpacked: &Path, version: &Version) -> io::Result<()> {
        fs::write(unpacked.join("share/taucode/package"), "install.sh\n")?;
        let place = self.0.join(version.to_string());
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        fs::rename(unpacked, &place)?;
        if let Some(before) = self.current().filter(|before| before != version) {
            self.link(PREVIOUS, &before)?;
        }
        self.link(CURRENT, version)?;
        self.remove_older();
        Ok(())
    }

    /// Puts the version before in use, and this one in its place. Fails when a link cannot be changed.
    pub(crate) fn go_back(&self, to: &Version) -> io::Result<()> {
        let current = self.current();
        self.link(CURRENT, to)?;
        current.map_or(Ok(()), |current| self.link(PREVIOUS, &current))
    }

    /// Replaces a link in one step.
    fn link(&self, name: &str, version: &Version) -> io::Result<()> {
        let new = self.0.join(format!("{name}.new"));
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        std::os::unix::fs::symlink(version.to_string(), &new)?;
        fs::rename(&new, self.0.join(name))
    }

    /// Removes the versions that no link leads to. What cannot be removed stays.
    fn remove_older(&self) {
        let kept = [self.current(), self.previous()];
        for version in self.versions() {
            if !kept.iter().flatten().any(|kept| *kept == version) {
                let _ = fs::remove_dir_all(self.0.join(version.to_string()));
            }
        }
    }

    fn versions(&self) -> Vec<Version> {
        self.folders()
            .iter()
            .filter_map(|folder| Version::parse(folder.file_name()?.to_str()?).ok())
            .collect()
    }

    fn folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.map(|entry| entry.path()).collect()
    }

    /// The folders of updates that were killed.
    fn leftovers(&self) -> Vec<PathBuf> {
        let is_unfinished = |folder: &PathBuf| {
            folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED))
        };
        self.folders().into_iter().filter(is_unfinished).collect()
    }

    /// Removes the folders of updates that were killed. What cannot be removed stays.
    pub(crate) fn remove_leftovers(&self) {
        for folder in self.leftovers() {
            let _ = fs::remove_dir_all(folder);
        }
    }

    /// The links to this folder that `install.sh` made and that still lead here, by whatever way.
    pub(crate) fn links(&self) -> Vec<PathBuf> {
        let listed = read_text(&self.0.join(LINKS), MAX_LIST).unwrap_or_default();
        let leads_here = |path: &PathBuf| {
            fs::read_link(path).is_ok_and(|to| {
                let folder = to.parent().and_then(|folder| folder.canonicalize().ok());
                to.starts_with(&self.0) || folder.is_some_and(|folder| folder.starts_with(&self.0))
            })
        };
        listed.lines().map(PathBuf::from).filter(leads_here).collect()
    }

    /// The parts of the installation, in the order in which they are removed.
    pub(crate) fn parts(&self) -> Vec<PathBuf> {
        let mut parts = self.links();
        parts.extend(self.versions().iter().map(|version| self.0.join(version.to_string())));
        parts.extend(self.leftovers());
        parts.extend([CURRENT, PREVIOUS, LINKS].map(|name| self.0.join(name)));
        parts.retain(|path| path.symlink_metadata().is_ok());
        parts
    }
}
