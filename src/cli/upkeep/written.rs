//! Finds everything that tau has written on this machine, by kind, with sizes.

use std::collections::BTreeSet;
use std::io;
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
    /// Files and folders beside them, or behind links among them, that are not tau's.
    pub kept: Vec<PathBuf>,
}

/// The program itself, with links within it.
pub(crate) const PROGRAM: &str = "program";
/// The kind of files that the user may have written, too. Links among them are removed, and not their targets.
const SETTINGS: &str = "settings";
/// Like [`SETTINGS`].
const OF_PROJECTS: &str = "rules and settings of projects, only yours";

/// The settings that tau writes.
const OWN_SETTINGS: [&str; 4] = ["config.toml", "models.toml", "trust.json", "mcp.json"];

impl WrittenFiles {
    /// Of these paths. Those that do not exist are left out.
    pub(crate) fn new(kind: &'static str, mut paths: Vec<PathBuf>) -> Self {
        paths.retain(|path| path.symlink_metadata().is_ok());
        let mut written = WrittenFiles { kind, paths, size: Size::default(), kept: Vec::new() };
        let sizes = written.paths.iter().map(|path| Size::of(&written.real(path)));
        written.size = sizes.fold(Size::default(), Size::plus);
        if [SETTINGS, OF_PROJECTS].contains(&kind) {
            let links = written.paths.iter().filter(|path| path.is_symlink());
            written.kept = links.filter_map(|path| path.canonicalize().ok()).collect();
        }
        written
    }

    /// The target of a path, if that is removed with it: a folder of tau may be on another disk.
    fn real(&self, path: &Path) -> PathBuf {
        let is_followed = ![PROGRAM, SETTINGS, OF_PROJECTS].contains(&self.kind) && path.is_symlink();
        let real = is_followed.then(|| path.canonicalize().ok()).flatten();
        real.unwrap_or_else(|| path.to_owned())
    }

    /// Removes one of its paths, a file or a folder with everything in it. Fails when something cannot be removed.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        let real = self.real(path);
        if real == path {
            return remove(path);
        }
        if real.is_dir() {
            std::fs::read_dir(&real)?.try_for_each(|entry| remove(&entry?.path()))?;
            // Another disk stays where it is.
            let _ = std::fs::remove_dir(&real);
        } else {
            std::fs::remove_file(&real)?;
        }
        std::fs::remove_file(path)
    }
}

/// Removes a folder of tau, and the link to it, if nothing is in it any more.
pub(crate) fn remove_if_empty(folder: &Path) {
    if !folder.is_symlink() {
        // Fails if something is still in it.
        let _ = std::fs::remove_dir(folder);
    } else if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none()) {
        let _ = folder.canonicalize().and_then(std::fs::remove_dir);
        let _ = std::fs::remove_file(folder);
    }
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
    if let Some(folder) = paths.folders().into_iter().find(|folder| holds_home(folder)) {
        return Err(SharedFolder(folder.clone()));
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
    let mut config = rest(&paths.config, &mut claimed, false);
    let mut foreign = Vec::new();
    if paths.config.is_symlink() {
        // It may be the user's folder for settings of several programs.
        let is_own = |path: &PathBuf| OWN_SETTINGS.iter().any(|name| path.ends_with(name));
        (config, foreign) = config.into_iter().partition(is_own);
    }
    let [keys, sessions, undo, history, packages, worktrees, cache] = named;
    let projects = (OF_PROJECTS, of_projects(&directories));
    let all = [
        (SETTINGS, config),
        keys,
        sessions,
        undo,
        (history.0, [history.1, other].concat()),
        packages,
        worktrees,
        ("logs, locks and answers", state),
        cache,
        projects,
        ("outputs of tools", scratch::abandoned_folders(temporary, &paths.owner())),
    ];
    let mut written: Vec<WrittenFiles> =
        all.into_iter().map(|(kind, paths)| WrittenFiles::new(kind, paths)).collect();
    if let Some(settings) = written.first_mut() {
        settings.kept.extend(foreign);
    }
    let followed = written.iter().flat_map(|written| written.paths.iter().map(|path| written.real(path)));
    if let Some(folder) = followed.into_iter().find(|path| path.is_dir() && holds_home(path)) {
        return Err(SharedFolder(folder));
    }
    written.retain(|written| !written.paths.is_empty());
    Ok(written)
}

/// Whether a folder is a home directory, or above one.
fn holds_home(folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real(folder);
    folder.parent().is_none() || std::env::home_dir().is_some_and(|home| real(&home).starts_with(&folder))
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
fn remove(path: &Path) -> io::Result<()> {
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
        for paths in [one, apart, same] {
            let outputs = temporary.join(format!("tau-scratch-{}-{}-x", 0x3fff_fff0, paths.owner()));
            let outputs = outputs.join("bash-0001.log");
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
            let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 60 * 60);
            for path in [outputs.as_path(), outputs.parent().unwrap()] {
                std::fs::File::open(path).unwrap().set_modified(earlier).unwrap();
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

    #[test]
    fn links_to_other_disks_are_followed_and_those_among_settings_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        let paths =
            Paths { config: at("config"), data: at("data"), state: at("state"), cache: at("home/cache") };
        let files = [
            "dotfiles/config.toml", "dotfiles/auth.json", "dotfiles/README.md", "disk/sessions/a.jsonl",
            "disk/cache/search.db", "data/undo/a/journal", "home/mine.txt", "themes/mine.toml",
        ];
        for file in files {
            std::fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            std::fs::write(at(file), "12345").unwrap();
        }
        let link = |target: &str, link: &str| std::os::unix::fs::symlink(at(target), at(link)).unwrap();
        link("dotfiles", "config");
        link("disk/sessions", "data/sessions");
        link("disk/cache", "home/cache");
        let found = find(&Settings::default(), &paths, &at("tmp")).unwrap();
        let sizes: Vec<_> = found.iter().map(|written| (written.kind, written.size.bytes)).collect();
        let expected =
            [(SETTINGS, 5), ("keys and logins", 5), ("sessions", 5), ("undo data", 5), ("cache", 5)];
        assert_eq!(sizes, expected);
        assert_eq!(found[0].kept, [at("config/README.md")]);
        for written in &found {
            written.paths.iter().for_each(|path| written.remove(path).unwrap());
        }
        [&paths.cache, &paths.data, &paths.config].into_iter().for_each(|folder| remove_if_empty(folder));
        let left: Vec<&str> = files.into_iter().filter(|file| at(file).exists()).collect();
        assert_eq!(left, ["dotfiles/README.md", "home/mine.txt", "themes/mine.toml"]);
        assert!(!paths.data.exists() && !paths.cache.is_symlink() && paths.config.is_symlink());

        // A file of the user's own that a link among the settings leads to.
        std::fs::remove_file(&paths.config).unwrap();
        std::fs::create_dir(&paths.config).unwrap();
        link("themes", "config/themes");
        let found = find(&Settings::default(), &paths, &at("tmp")).unwrap();
        assert_eq!(found[0].kept, [at("themes").canonicalize().unwrap()]);
        found[0].remove(&found[0].paths[0]).unwrap();
        assert!(at("themes/mine.toml").exists() && !at("config/themes").is_symlink());
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
            let expected = [("sessions", sessions), (OF_PROJECTS, projects)];
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
