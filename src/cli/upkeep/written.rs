//! Finds everything that tau has written on this machine, by kind, with sizes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::proxy::tokens::TOKENS_FILE;
use tau_agent::session::list;
use tau_agent::settings::{Paths, Settings};
use tau_tools::scratch;

/// Files and folders of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenFiles {
    pub kind: &'static str,
    /// Files, and folders with everything in them.
    pub paths: Vec<PathBuf>,
    pub size: Size,
}

/// The kind of worktrees, with the copies of attempts. Commits stay in their repositories, other work does not.
pub(crate) const WORKTREES: &str = "worktrees and attempts, with uncommitted work";

/// The size of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub bytes: u64,
    pub files: u64,
}

impl Size {
    /// The size of a file, or of all files in a folder. Links are not followed.
    fn of(path: &Path) -> Self {
        let Ok(meta) = path.symlink_metadata() else { return Size::default() };
        if !meta.is_dir() {
            return Size { bytes: meta.len(), files: 1 };
        }
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.fold(Size::default(), |sum, entry| sum.plus(Size::of(&entry.path())))
    }

    /// Both together.
    pub(crate) fn plus(self, other: Size) -> Size {
        Size { bytes: self.bytes.saturating_add(other.bytes), files: self.files.saturating_add(other.files) }
    }
}

/// The size of several files and folders.
pub(crate) fn size_of(paths: &[PathBuf]) -> Size {
    paths.iter().fold(Size::default(), |sum, path| sum.plus(Size::of(path)))
}

/// A folder of tau holds more than tau's files, so nobody can tell what may be removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SharedFolder(pub PathBuf);

/// Everything that tau has written, by kind; kinds without files are left out. Folders that `TAU_HOME` and
/// the like name are tau's; a home directory is not. The error is the folder, if it is a home directory or
/// above one. `temporary` is the folder for temporary files.
pub(crate) fn find(
    settings: &Settings,
    paths: &Paths,
    temporary: &Path,
) -> Result<Vec<WrittenFiles>, SharedFolder> {
    let folders = [&paths.config, &paths.data, &paths.state, &paths.cache];
    let home = std::env::home_dir();
    for folder in folders {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let is_above_home = home.as_ref().is_some_and(|home| {
            let home = home.canonicalize().unwrap_or_else(|_| home.clone());
            home.starts_with(&real)
        });
        if is_above_home || real.parent().is_none() {
            return Err(SharedFolder(folder.clone()));
        }
    }
    let own = paths.sessions();
    let (mut sessions, mut directories) = (Vec::new(), BTreeSet::new());
    for root in BTreeSet::from([&own, &settings.session_root(paths)]) {
        list::list(root, None, &mut |row| {
            // In a folder of the user's choice only the sessions are tau's.
            if !row.path.starts_with(&own) {
                sessions.push(row.path);
            }
            directories.insert(row.cwd);
            true
        });
    }
    sessions.push(own);
    let keys = vec![paths.config.join("auth.json"), paths.config.join(TOKENS_FILE), paths.mcp_logins()];
    let history = vec![paths.data.join("prompts.jsonl"), paths.data.join("proxy-usage.json")];
    let named = [
        ("keys and logins", keys),
        ("sessions", sessions),
        ("undo data", vec![paths.undo()]),
        ("prompt history and usage", history),
        (
            "packages of extensions",
            vec![paths.data.join("packages"), paths.package_data(), paths.config.join("packages.json")],
        ),
        (WORKTREES, vec![paths.worktrees(), paths.worktree_records(), paths.data.join("attempts")]),
        ("cache", vec![paths.cache.clone()]),
    ];
    let mut claimed: BTreeSet<PathBuf> = named.iter().flat_map(|(_, paths)| paths.clone()).collect();
    // On some systems all folders are the same one.
    let state = rest(&paths.state, &mut claimed, [&paths.config, &paths.data].contains(&&paths.state));
    let other = rest(&paths.data, &mut claimed, paths.data == paths.config);
    let config = rest(&paths.config, &mut claimed, false);
    let [keys, sessions, undo, history, packages, worktrees, cache] = named;
    let projects = ("rules and settings of projects, only yours", of_projects(&directories));
    let all = [
        ("settings", config),
        keys,
        sessions,
        undo,
        (history.0, [history.1, other].concat()),
        packages,
        worktrees,
        ("logs, locks and answers", state),
        cache,
        projects,
        ("outputs of tools", scratch::abandoned_folders(temporary)),
    ];
    let written = all.into_iter().map(|(kind, mut paths)| {
        paths.retain(|path| path.symlink_metadata().is_ok());
        let size = size_of(&paths);
        WrittenFiles { kind, paths, size }
    });
    Ok(written.filter(|written| !written.paths.is_empty()).collect())
}

/// The entries of a folder that nobody has claimed; nothing if the folder belongs to a later kind.
fn rest(folder: &Path, claimed: &mut BTreeSet<PathBuf>, belongs_elsewhere: bool) -> Vec<PathBuf> {
    if belongs_elsewhere {
        return Vec::new();
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    // A folder within which something is claimed is not taken as a whole.
    let is_free = |path: &PathBuf| !claimed.iter().any(|known| known.starts_with(path));
    let mut free: Vec<PathBuf> = entries.filter(is_free).collect();
    free.sort();
    claimed.insert(folder.to_owned());
    free
}

/// The files that tau writes into projects and git ignores, in the directories of these sessions and above them.
fn of_projects(directories: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let folders: BTreeSet<PathBuf> =
        directories.iter().flat_map(|cwd| cwd.ancestors()).map(|folder| folder.join(".tau")).collect();
    let own = folders.iter().filter(|folder| folder.join("config.local.toml").is_file());
    own.map(|folder| folder.join("config.local.toml")).collect()
}

/// Removes a file or a folder with everything in it. Fails when something cannot be removed.
pub(crate) fn remove(path: &Path) -> std::io::Result<()> {
    if path.symlink_metadata()?.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(paths: &Paths, temporary: &Path) -> Vec<(&'static str, u64)> {
        let found = find(&Settings::default(), paths, temporary).unwrap();
        found.into_iter().map(|written| (written.kind, written.size.files)).collect()
    }

    #[test]
    fn every_file_is_of_one_kind() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("tau");
        let one = Paths::under(&home);
        let apart = Paths {
            config: dir.path().join("config"),
            data: dir.path().join("data"),
            state: dir.path().join("state"),
            cache: dir.path().join("cache"),
        };
        let same = Paths {
            config: home.join("all"),
            data: home.join("all"),
            state: home.join("all"),
            cache: home.join("caches"),
        };
        let temporary = dir.path().join("tmp");
        let outputs = temporary.join(format!("tau-scratch-{}-x", 0x3fff_fff0)).join("bash-0001.log");
        for paths in [one, apart, same] {
            let files = [
                paths.config.join("config.toml"),
                paths.config.join("themes/mine.toml"),
                paths.config.join("auth.json"),
                paths.sessions().join("--x--/a.jsonl"),
                paths.undo().join("a/journal"),
                paths.data.join("prompts.jsonl"),
                paths.cache.join("models/x.json"),
                paths.worktrees().join("r-0123456789abcdef/fix/a.rs"),
                paths.worktree_records().join("r-0123456789abcdef/fix.json"),
                outputs.clone(),
            ];
            for file in &files {
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, "12345").unwrap();
            }
            let expected = [
                ("settings", 2),
                ("keys and logins", 1),
                ("sessions", 1),
                ("undo data", 1),
                ("prompt history and usage", 1),
                (WORKTREES, 2),
                ("cache", 1),
                ("outputs of tools", 1),
            ];
            assert_eq!(kinds(&paths, &temporary), expected, "{paths:?}");
        }
    }

    /// As before `session_dir` was set, and after.
    #[test]
    fn sessions_of_both_folders_are_sessions() {
        let dir = tempfile::tempdir().unwrap();
        let (paths, chosen) = (Paths::under(&dir.path().join("tau")), dir.path().join("chosen"));
        let session = |file: PathBuf, project: &str| {
            let cwd = dir.path().join(project);
            let own = cwd.join(".tau/config.local.toml");
            let head = serde_json::json!({"type": "session", "version": 3, "id": project, "cwd": cwd,
                "timestamp": "2026-01-01T00:00:00.000Z"});
            for (path, text) in [(&file, format!("{head}\n")), (&own, String::new())] {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            (file, own)
        };
        let (_, of_old) = session(paths.sessions().join("--old--/a.jsonl"), "old");
        let (new, of_new) = session(chosen.join("b.jsonl"), "new");
        std::fs::write(chosen.join("notes.txt"), "mine").unwrap();
        for (session_dir, sessions, projects) in [
            (None, vec![paths.sessions()], vec![of_old.clone()]),
            (Some(chosen), vec![new, paths.sessions()], vec![of_new, of_old]),
        ] {
            let settings = Settings { session_dir, ..Settings::default() };
            let found = find(&settings, &paths, &dir.path().join("tmp")).unwrap();
            let found: Vec<_> = found.into_iter().map(|written| (written.kind, written.paths)).collect();
            let expected = [("sessions", sessions), ("rules and settings of projects, only yours", projects)];
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_home_directory_is_not_a_folder_of_tau() {
        let home = std::env::home_dir().unwrap();
        let paths = Paths::under(&home);
        assert_eq!(find(&Settings::default(), &paths, &home), Err(SharedFolder(home)));
    }
}
