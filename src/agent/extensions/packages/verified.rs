//! Remembers which packages had the hash of their record, so that unchanged ones are not read at every start.
//!
//! Only a good result is remembered, with the [`Stamps`] of the files. It counts as long as these are the same and
//! the record asks for the same hash; anything else is hashed again. The file lies beside the packages and is
//! protected like them and the list of their hashes: whoever can forge it can also change that list.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::digest::{self, Stamps};
use crate::settings::MAX_BYTES;
use crate::settings::private_files::{open_regular, write_private};
pub(super) use tau_tools::times::seconds_now;
use tau_tools::user_error::UserError;

/// The age that files need, in seconds: a younger one may change again within the same tick of a coarse clock.
const MIN_AGE: i64 = 3;

/// Packages that were found unchanged, by name.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct VerifiedPackages(BTreeMap<String, PackageHashes>);

/// A package that had the hash of its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PackageHashes {
    sha256: String,
    stamps: String,
}

impl VerifiedPackages {
    /// The content of the file; empty if it is missing, damaged, not the user's own or open to others.
    pub(super) fn read(path: &Path) -> Self {
        let read = || {
            let file = open_regular(path).ok()?;
            let meta = file.metadata().ok()?;
            let is_private = meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 == 0;
            let mut bytes = Vec::new();
            file.take(MAX_BYTES).read_to_end(&mut bytes).ok().filter(|_| is_private)?;
            serde_json::from_slice(&bytes).ok()
        };
        read().unwrap_or_default()
    }

    /// Writes the file. Failures are ignored: packages are then hashed again.
    pub(super) fn write(&self, path: &Path) {
        if let Ok(bytes) = serde_json::to_vec(self) {
            let _ = write_private(path, &bytes);
        }
    }

    /// Whether the files in `root` have the hash `sha256`. `before` is what was known; what is known `now`, in seconds
    /// since 1970, is added to `self`. Blocks.
    pub(super) fn check(
        &mut self,
        before: &VerifiedPackages,
        now: i64,
        name: &str,
        root: &Path,
        sha256: &str,
    ) -> Result<bool, UserError> {
        if let Some(known) = before.0.get(name).filter(|known| known.sha256 == sha256)
            && digest::stamps(root)?.sha256 == known.stamps
        {
            self.0.insert(name.to_owned(), known.clone());
            return Ok(true);
        }
        let (found, stamps) = digest::with_stamps(root)?;
        if found.sha256 != sha256 {
            return Ok(false);
        }
        if is_settled(&stamps, now) {
            let known = PackageHashes { sha256: found.sha256, stamps: stamps.sha256 };
            self.0.insert(name.to_owned(), known);
        }
        Ok(true)
    }
}

/// Whether every change from `now` on will have another time. Times to come are no help.
fn is_settled(stamps: &Stamps, now: i64) -> bool {
    stamps.changed.saturating_add(MIN_AGE) <= now
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder with a package, its hash, and a time at which its files are old enough.
    fn package() -> (tempfile::TempDir, String, i64) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.md"), "one").unwrap();
        let sha256 = digest::of_folder(folder.path()).unwrap().sha256;
        (folder, sha256, seconds_now() + 60)
    }

    #[test]
    fn a_package_is_read_once() {
        let (folder, sha256, later) = package();
        let (root, none) = (folder.path(), VerifiedPackages::default());
        let mut first = VerifiedPackages::default();
        assert!(first.check(&none, later, "p", root, &sha256).unwrap());
        // What the memory says is taken without a look at the content.
        let other = "0".repeat(64);
        first.0.get_mut("p").unwrap().sha256 = other.clone();
        let mut second = VerifiedPackages::default();
        assert!(second.check(&first, later, "p", root, &other).unwrap());
        assert_eq!(second, first);
        // It is asked for the hash of the record only, and a bad result is not remembered.
        let mut third = VerifiedPackages::default();
        assert!(third.check(&first, later, "p", root, &sha256).unwrap());
        assert!(!third.check(&none, later, "q", root, &other).unwrap());
        assert_eq!(third.0.len(), 1);
    }

    #[test]
    fn every_change_of_a_file_is_found() {
        let (folder, sha256, later) = package();
        let (root, file) = (folder.path(), folder.path().join("a.md"));
        let mut known = VerifiedPackages::default();
        assert!(known.check(&VerifiedPackages::default(), later, "p", root, &sha256).unwrap());
        let holds = || VerifiedPackages::default().check(&known, later, "p", root, &sha256);
        assert!(holds().unwrap());
        // The same size, and the time of before.
        let time = file.metadata().unwrap().modified().unwrap();
        std::fs::write(&file, "two").unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        assert!(!holds().unwrap());
        // Another file in its place, then the right content again.
        std::fs::write(root.join("b"), "six").unwrap();
        std::fs::rename(root.join("b"), &file).unwrap();
        assert!(!holds().unwrap());
        std::fs::write(&file, "one").unwrap();
        assert!(holds().unwrap());
        for change in [0o755, 0o644] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(change)).unwrap();
            assert_eq!(holds().unwrap(), change == 0o644);
        }
        std::fs::write(root.join("new"), "").unwrap();
        assert!(!holds().unwrap());
        std::fs::remove_file(root.join("new")).unwrap();
        std::os::unix::fs::symlink("a.md", root.join("link")).unwrap();
        assert!(holds().unwrap_err().contains("link"));
        std::fs::remove_dir_all(root).unwrap();
        assert!(holds().is_err());
    }

    #[test]
    fn young_files_are_not_remembered() {
        let (folder, sha256, later) = package();
        let changed = digest::stamps(folder.path()).unwrap().changed;
        for (now, is_known) in
            [(changed, false), (changed + 2, false), (changed - 60, false), (changed + 3, true)]
        {
            let mut verified = VerifiedPackages::default();
            assert!(verified.check(&VerifiedPackages::default(), now, "p", folder.path(), &sha256).unwrap());
            assert_eq!(!verified.0.is_empty(), is_known, "{now}");
        }
        assert!(later > changed);
    }

    #[test]
    fn only_a_private_and_whole_file_is_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("verified");
        assert_eq!(VerifiedPackages::read(&path), VerifiedPackages::default());
        let known = PackageHashes { sha256: "a".to_owned(), stamps: "b".to_owned() };
        let verified = VerifiedPackages(BTreeMap::from([("p".to_owned(), known)]));
        verified.write(&path);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(VerifiedPackages::read(&path), verified);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(VerifiedPackages::read(&path), VerifiedPackages::default());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        for damaged in ["", "null", "{", "[1]", r#"{"p":{}}"#, text.get(..text.len() / 2).unwrap()] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(VerifiedPackages::read(&path), VerifiedPackages::default(), "{damaged}");
        }
    }
}
