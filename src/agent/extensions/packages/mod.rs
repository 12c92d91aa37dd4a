//! Packages of extensions, added with `tau add`: a folder of files that never change, and its record.
//!
//! The record, in `packages.json`, says where the files came from, which of them tau uses, and the SHA-256 of
//! them all. A package whose files have changed is not used. `layout` recognises the formats of packages,
//! `digest` computes the hash, `verified` remembers which packages had it.

pub mod digest;
pub mod layout;
mod variables;
mod verified;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::settings::mcp_servers::{self, McpServer};
use crate::settings::package_folders::PackageFolders;
use crate::settings::private_files::{
    SharedFile, parse_json, private_dir, read_capped, read_json, write_private,
};
use crate::settings::{MAX_BYTES, Paths};
use layout::Parts;
use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionSource, ExtensionState};
use tau_tools::user_error::UserError;
use verified::VerifiedPackages;

/// The beginning of the names of folders for packages that are not in use yet; no package can have such a name.
pub const UNFINISHED: &str = ".new-";

/// The file beside the packages that remembers which had their hash; no package can have its name.
const VERIFIED: &str = ".verified.json";

/// The record of a package that was added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageRecord {
    /// Where it came from, as `tau add` takes it.
    pub source: String,
    /// The plugin among several in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// The commit or version that was added, if the source has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The hash of all its files: see [`digest`].
    pub sha256: String,
    /// The files that tau uses.
    #[serde(default)]
    pub parts: Parts,
}

/// The packages of a user.
#[derive(Clone, Debug)]
pub struct Packages {
    folder: PathBuf,
    /// The folder for what they keep.
    data: PathBuf,
    list: SharedFile,
}

/// A package that was added, and its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub record: PackageRecord,
    /// The folder of its files, without links.
    pub root: PathBuf,
    /// The folder for what it keeps, made when a hook or server of it needs it first; `None` before it is added.
    pub data: Option<PathBuf>,
    /// The reason it is not used, if it is not.
    pub problem: Option<String>,
}

impl Packages {
    /// The packages in tau's folders.
    pub fn new(paths: &Paths) -> Self {
        Packages {
            folder: paths.data.join("packages"),
            data: paths.package_data(),
            list: paths.shared_file(paths.config.join("packages.json")),
        }
    }

    /// The list of packages.
    pub fn list_file(&self) -> &Path {
        self.list.path()
    }

    /// The folder of a package's files.
    pub fn root_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The records by name; none if there is no list.
    pub fn records(&self) -> io::Result<BTreeMap<String, PackageRecord>> {
        Ok(read_json(self.list.path(), MAX_BYTES)?.unwrap_or_default())
    }

    /// The packages, each compared with its hash, and the problem of the list if it cannot be read. Blocks.
    pub fn read(&self) -> (Vec<Package>, Option<String>) {
        let records = match self.records() {
            Ok(records) => records,
            Err(error) => return (Vec::new(), Some(format!("{}: {error}", self.list.path().display()))),
        };
        // A name from a changed list must not lead out of the folder.
        let named = records.into_iter().filter(|(name, _)| layout::is_name(name));
        let named: Vec<(String, PackageRecord)> = named.collect();
        if named.is_empty() {
            return (Vec::new(), None);
        }
        let memory = self.folder.join(VERIFIED);
        let (before, mut verified) = (VerifiedPackages::read(&memory), VerifiedPackages::default());
        let now = verified::seconds_now();
        let package = |(name, record): (String, PackageRecord)| {
            let root = self.root_of(&name);
            let root = root.canonicalize().unwrap_or(root);
            let problem = match verified.check(&before, now, &name, &root, &record.sha256) {
                Ok(true) => None,
                Ok(false) => {
                    Some(format!("its files have changed since it was added; run `tau add --update {name}`"))
                }
                Err(error) => Some(format!("{error}; run `tau add --update {name}`")),
            };
            let data = Some(self.data.join(&name));
            Package { name, record, root, data, problem }
        };
        let packages = named.into_iter().map(package).collect();
        if verified != before {
            verified.write(&memory);
        }
        (packages, None)
    }

    /// Puts the files in `staged` in the place of a package, and writes its record. Blocks. If it fails, the
    /// package is as it was before.
    pub fn put(&self, name: &str, staged: &Path, record: PackageRecord) -> io::Result<()> {
        let _lock = self.list.lock()?;
        let mut records = self.records()?;
        let (root, old) = (self.root_of(name), self.folder.join(format!(".{name}.old")));
        std::fs::create_dir_all(&self.folder)?;
        let _ = std::fs::remove_dir_all(&old);
        let had_files = root.exists();
        if had_files {
            std::fs::rename(&root, &old)?;
        }
        records.insert(name.to_owned(), record);
        let put = std::fs::rename(staged, &root).and_then(|()| self.write(&records));
        if put.is_err() {
            let _ = std::fs::remove_dir_all(&root);
            if had_files {
                let _ = std::fs::rename(&old, &root);
            }
        }
        let _ = std::fs::remove_dir_all(&old);
        put
    }

    /// Removes a package with what it keeps; returns whether it was there. Blocks.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        let _lock = self.list.lock()?;
        let mut records = self.records()?;
        if records.remove(name).is_none() {
            return Ok(false);
        }
        self.write(&records)?;
        for folder in [self.root_of(name), self.data.join(name)] {
            match std::fs::remove_dir_all(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(true)
    }

    /// The folder for folders of packages that are not in use yet, on the same file system as the others. They stay as
    /// long as the lock is held; those of programs that were killed are removed. Blocks.
    pub fn staging(&self) -> io::Result<(PathBuf, File)> {
        std::fs::create_dir_all(&self.folder)?;
        let lock = OpenOptions::new().read(true).open(&self.folder)?;
        if lock.try_lock().is_ok() {
            let entries = std::fs::read_dir(&self.folder)?.flatten();
            let is_left = |name: &OsStr| name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
            for entry in entries.filter(|entry| is_left(&entry.file_name())) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
            lock.unlock()?;
        }
        // A file system without locks has no exclusive ones either, so nothing is removed there.
        let _ = lock.lock_shared();
        Ok((self.folder.clone(), lock))
    }

    fn write(&self, records: &BTreeMap<String, PackageRecord>) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(records)?;
        text.push(b'\n');
        write_private(self.list.path(), &text)
    }
}

impl Package {
    /// Its row in lists.
    pub fn row(&self) -> ExtensionRow {
        let from = match &self.record.revision {
            Some(revision) => format!("from {} at {revision}", self.record.source),
            None => format!("from {}", self.record.source),
        };
        let description = match self.record.description.as_str() {
            "" => from,
            description => format!("{description} · {from}"),
        };
        ExtensionRow {
            kind: ExtensionKind::Package,
            name: self.name.clone(),
            description,
            source: ExtensionSource::User,
            path: Some(self.root.clone()),
            state: if self.problem.is_some() { ExtensionState::Failed } else { ExtensionState::On },
            problems: self.problem.iter().cloned().collect(),
            tokens: None,
        }
    }

    /// Its folders; `None` before it is added.
    pub fn folders(&self) -> Option<PackageFolders> {
        Some(PackageFolders { root: self.root.clone(), data: self.data.clone()? })
    }

    /// Its MCP servers, with the files that define them, and the faults in these.
    pub fn mcp_servers(&self) -> (Vec<(PathBuf, McpServer)>, Vec<UserError>) {
        let (texts, faults) = self.texts(&self.record.parts.mcp);
        let (mut servers, mut wrong) =
            (Vec::new(), faults.into_iter().map(UserError::new).collect::<Vec<_>>());
        for (path, text) in texts {
            let text = layout::as_mcp_file(&text);
            let (found, faults) = mcp_servers::of_json_text(&path, &text);
            wrong.extend(faults);
            let file: Value = parse_json(&text).unwrap_or_default();
            for server in found {
                let given = file.get("mcpServers").and_then(|all| all.get(&server.name));
                match given.map_or(Ok(()), variables::check_known) {
                    Ok(()) => servers.push((path.clone(), server)),
                    Err(error) => {
                        let name = &server.name;
                        wrong.push(UserError::new(format!("the MCP server {name} is not used: {error}")));
                    }
                }
            }
        }
        (servers, wrong)
    }

    /// Its files of hooks without those that tau cannot run, and the faults in these.
    pub(super) fn hooks(&self) -> (Vec<(PathBuf, String)>, Vec<String>) {
        let (texts, mut problems) = self.texts(&self.record.parts.hooks);
        let usable = |(path, text)| {
            let (text, unused) = variables::usable_hooks(text);
            problems.extend(unused.into_iter().map(String::from));
            (path, text)
        };
        (texts.into_iter().map(usable).collect(), problems)
    }

    /// The text with the folder for what the package keeps, which is made if it names it.
    fn with_data(&self, text: String) -> io::Result<String> {
        let Some(data) = self.data.as_ref().filter(|_| variables::has_data(&text)) else { return Ok(text) };
        private_dir(data)?;
        Ok(variables::with_data(text, &data.to_string_lossy()))
    }

    /// The texts of JSON files of the package, in which its folders stand for their names.
    fn texts(&self, paths: &[String]) -> (Vec<(PathBuf, String)>, Vec<String>) {
        let (mut texts, mut problems) = (Vec::new(), Vec::new());
        let root = self.root.to_string_lossy();
        for path in paths {
            let path = self.root.join(path);
            let read = read_capped(&path, MAX_BYTES).map_err(|error| error.to_string());
            match read.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "not text".to_owned())) {
                Ok(text) => match self.with_data(variables::with_root(&text, &root)) {
                    Ok(text) => texts.push((path, text)),
                    Err(error) => problems.push(error.to_string()),
                },
                Err(error) => problems.push(format!("{}: {error}", path.display())),
            }
        }
        (texts, problems)
    }
}
