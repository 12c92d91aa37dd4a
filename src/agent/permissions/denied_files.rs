//! Finds the files that rules deny, for the kernel to keep them from commands.
//!
//! A rule that names a file or folder in full takes one look. For all others, one walk goes through the working
//! directory and the folders that their patterns begin with, then through what links in there lead to, as far as a short
//! time allows; what it does not find is still recognised in commands. The file tools are kept from the same files.
//!
//! What was found before comes first, so that a command that makes many such files takes none out of the cover. If one of
//! these is gone from its place, it is looked for longer, since the folder above may have been moved.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::DirEntry;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::Access;
use tau_tools::access::{DeniedFile, DeniedUse};

use super::file_rules::governs;
use super::path_pattern::{Beginning, JudgedPath, PathPattern, Places, normalise};
use super::pattern_steps::PatternSteps;
use super::protected::Use;
use super::rule::{Pattern, Rule};

/// How long files are looked for.
const TIME: Duration = Duration::from_millis(300);
/// How long files that were found before and are gone from their place are looked for.
const LONG_TIME: Duration = Duration::from_secs(3);
/// The maximum number of files and folders that are found: each takes a mount.
const MAX_FOUND: usize = 1_000;
/// How long what was found counts for file tools, which are called one after the other.
const RECENTLY: Duration = Duration::from_secs(1);
/// The files that were found for the rules of a working directory, also by a link, which a command may have renamed since.
static KNOWN: Mutex<BTreeMap<(PathBuf, String), BTreeMap<PathBuf, FileId>>> = Mutex::new(BTreeMap::new());
/// The limits that ended searches in working directories.
static SHORTFALLS: Mutex<BTreeMap<PathBuf, Shortfall>> = Mutex::new(BTreeMap::new());
/// Folders of the kernel, without which no command runs.
const OF_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// A file by its device and number.
type FileId = (u64, u64);

/// The limit that ended a search before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Limit {
    Count,
    Time,
}

/// The receiver of the notice about a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Listener {
    Model,
    User,
}

/// The limit that ended the last search in a working directory, and who has heard of which.
#[derive(Debug, Default)]
struct Shortfall {
    now: Option<Limit>,
    told: BTreeSet<(Limit, Listener)>,
}

/// The reason why there may be more files that rules deny in a working directory, if this listener has not heard of it.
pub(super) fn shortfall(places: &Places, listener: Listener) -> Option<String> {
    let workspace = &places.workspace.real;
    let mut all = SHORTFALLS.lock();
    let known = all.get_mut(workspace)?;
    let limit = known.now.filter(|limit| known.told.insert((*limit, listener)))?;
    Some(match limit {
        Limit::Count => format!(
            "rules deny {MAX_FOUND} files or more here, and commands may be able to open those beyond; \
             name folders in the rules, such as read(./secrets/**)"
        ),
        Limit::Time => format!(
            "{} is too large to find all files that rules deny, and commands may be able to open the others; \
             name folders in the rules, such as read(./secrets/**)",
            workspace.display()
        ),
    })
}

/// A rule that denies something to commands.
struct Denial<'a> {
    rule: &'a Rule,
    pattern: &'a PathPattern,
    denied: DeniedUse,
}

impl<'a> Denial<'a> {
    /// The denial of a rule that denies; `None` if it is not about files.
    fn of(rule: &'a Rule) -> Option<Self> {
        let Pattern::Path(pattern) = rule.pattern() else { return None };
        let is_about = |is_used| governs(rule, is_used, None) || rule.names_tool("bash");
        let denied = match () {
            () if is_about(Use::Read) => DeniedUse::Read,
            () if is_about(Use::Write) => DeniedUse::Change,
            () => return None,
        };
        Some(Denial { rule, pattern, denied })
    }
}

/// Whether one of these rules keeps files from commands.
pub(super) fn has_denials<'a>(mut denying: impl Iterator<Item = &'a Rule>) -> bool {
    denying.any(|rule| Denial::of(rule).is_some())
}

/// The files that exist and that these rules keep from commands, and the folders that must stay where they are for that.
pub(super) fn denied_files<'a>(denying: impl Iterator<Item = &'a Rule>, places: &Places) -> Vec<DeniedFile> {
    let denials: Vec<Denial<'_>> = denying.filter_map(Denial::of).collect();
    // The walk is by names without links.
    let real = |place: &JudgedPath| JudgedPath { plain: place.real.clone(), real: place.real.clone() };
    let places = &Places { workspace: real(&places.workspace), home: places.home.as_ref().map(real) };
    let mut search = Search::new(places);
    let mut tops = BTreeSet::new();
    for denial in &denials {
        match denial.pattern.beginning(places) {
            Some(Beginning::Whole(path)) => search.add(&path, denial),
            Some(Beginning::Folder(folder)) => drop(tops.insert(search.top(folder))),
            None => {}
        }
    }
    search.add_known(&denials);
    search.walk(tops, &denials);
    search.add_other_names();
    search.forget_gone(&denials);
    SHORTFALLS.lock().entry(places.workspace.real.clone()).or_default().now = search.ended_by;
    let (found, held) = (search.found, search.held);
    let is_within = |file: &DeniedFile, folder: &DeniedFile| {
        folder.denied >= file.denied && folder.path != file.path && file.path.starts_with(&folder.path)
    };
    // In order, a folder comes before what is in it.
    let mut kept: Vec<DeniedFile> = Vec::new();
    for file in found {
        if !kept.iter().any(|folder| is_within(&file, folder)) {
            kept.push(file);
        }
    }
    let held = held.into_iter().map(|(path, rule)| DeniedFile { path, denied: DeniedUse::Move, rule });
    kept.extend(held);
    kept
}

/// Like [`denied_files`], with what was found a short time ago.
pub(super) fn recent_denied_files<'a>(
    denying: impl Iterator<Item = &'a Rule>,
    places: &Places,
) -> Arc<[DeniedFile]> {
    type Recent = (Instant, Vec<String>, Places, Arc<[DeniedFile]>);
    static RECENT: Mutex<Option<Recent>> = Mutex::new(None);

    let about: Vec<&Rule> = denying.filter(|rule| Denial::of(rule).is_some()).collect();
    if about.is_empty() {
        return Arc::default();
    }
    let rules: Vec<String> = about.iter().map(ToString::to_string).collect();
    let mut recent = RECENT.lock();
    if let Some((at, of_rules, of_places, files)) = &*recent
        && at.elapsed() < RECENTLY
        && *of_rules == rules
        && of_places == places
    {
        return Arc::clone(files);
    }
    let files: Arc<[DeniedFile]> = denied_files(about.into_iter(), places).into();
    *recent = Some((Instant::now(), rules, places.clone(), Arc::clone(&files)));
    files
}

struct Search<'a> {
    places: &'a Places,
    start: Instant,
    found: BTreeSet<DeniedFile>,
    /// Files that were found before and are gone from their place.
    missing: BTreeSet<FileId>,
    /// The limit because of which something was left out.
    ended_by: Option<Limit>,
    /// The folders that cannot be moved, and a rule for which.
    held: BTreeMap<PathBuf, String>,
    /// The links to folders, and where they lead.
    links: VecDeque<JudgedPath>,
}

impl<'a> Search<'a> {
    fn new(places: &'a Places) -> Self {
        Search {
            places,
            start: Instant::now(),
            found: BTreeSet::new(),
            missing: BTreeSet::new(),
            ended_by: None,
            held: BTreeMap::new(),
            links: VecDeque::new(),
        }
    }

    /// The folder to walk for patterns that begin with this one: not the home directory, nor one above the working
    /// directory, which are too large for every command.
    fn top(&self, folder: PathBuf) -> PathBuf {
        let workspace = &self.places.workspace.real;
        if self.is_home(&folder) || workspace.starts_with(&folder) { workspace.clone() } else { folder }
    }

    fn is_home(&self, folder: &Path) -> bool {
        self.places.home.as_ref().is_some_and(|home| home.real == *folder)
    }

    /// The limit beyond which nothing more is added, except for missing files.
    fn limit(&self) -> Option<Limit> {
        match () {
            () if self.found.len() >= MAX_FOUND => Some(Limit::Count),
            () if self.start.elapsed() >= TIME => Some(Limit::Time),
            () => None,
        }
    }

    /// Whether to leave out what has not been looked at.
    fn is_over(&mut self) -> bool {
        let limit = self.limit().filter(|_| self.missing.is_empty() || self.start.elapsed() >= LONG_TIME);
        self.ended_by = self.ended_by.or(limit);
        limit.is_some()
    }

    /// Adds a file or folder, or what a link leads to. A folder with the working directory in it stays readable.
    fn add(&mut self, name: &Path, denial: &Denial<'_>) {
        let Ok(path) = name.canonicalize() else { return };
        let is_needed = match denial.denied {
            DeniedUse::Read => self.places.workspace.real.starts_with(&path),
            DeniedUse::Change | DeniedUse::Move => false,
        };
        if is_needed || is_of_kernel(&path) {
            return;
        }
        self.hold(&path, denial);
        let rule = denial.rule.to_string();
        if let Some(id) = id_of(&path) {
            let mut known = KNOWN.lock();
            let of_rule = known.entry((self.places.workspace.real.clone(), rule.clone())).or_default();
            // Until the end, there are those that are gone beside those that were found again.
            if of_rule.len() < 2 * MAX_FOUND || of_rule.contains_key(&path) {
                of_rule.insert(path.clone(), id);
            }
        }
        self.found.insert(DeniedFile { path, denied: denial.denied, rule });
    }

    /// Adds what was found before.
    fn add_known(&mut self, denials: &[Denial<'_>]) {
        for denial in denials {
            let key = (self.places.workspace.real.clone(), denial.rule.to_string());
            let known = KNOWN.lock().get(&key).cloned().unwrap_or_default();
            for (path, id) in known {
                self.add(&path, denial);
                if id_of(&path) != Some(id) {
                    self.missing.insert(id);
                }
            }
        }
    }

    /// Forgets the files that are gone from where they were found.
    fn forget_gone(&self, denials: &[Denial<'_>]) {
        for denial in denials {
            let key = (self.places.workspace.real.clone(), denial.rule.to_string());
            if let Some(known) = KNOWN.lock().get_mut(&key) {
                known.retain(|path, _| id_of(path).is_some());
            }
        }
    }

    /// Keeps the folders where they are without which the rule would not be about a file any more. Nothing is moved out
    /// of the working directory, where it would not be found.
    fn hold(&mut self, file: &Path, denial: &Denial<'_>) {
        let (pattern, workspace) = (denial.pattern, self.places.workspace.real.as_path());
        let mut folders = pattern.needed_folders(file, self.places);
        if pattern.is_anchored() && file.starts_with(workspace) && file != workspace {
            folders.extend(workspace.ancestors());
        }
        // As root, it would be all of the machine.
        folders.retain(|folder| folder.iter().count() > 2);
        folders.extend(Some(workspace).filter(|_| file.starts_with(workspace) && file != workspace));
        for folder in folders {
            let can_be_moved =
                || folder.parent().is_some_and(|above| rustix::fs::access(above, Access::WRITE_OK).is_ok());
            if !self.held.contains_key(folder) && can_be_moved() {
                self.held.insert(folder.to_owned(), denial.rule.to_string());
            }
        }
    }

    /// Goes through these folders, those with a shorter way first, and then through those that links lead to.
    fn walk(&mut self, tops: BTreeSet<PathBuf>, denials: &[Denial<'_>]) {
        let mut outer: Vec<PathBuf> = Vec::new();
        for top in tops {
            // In order, what is within a folder comes right after it.
            if outer.last().is_none_or(|last| !top.starts_with(last)) {
                outer.push(top);
            }
        }
        let mut folders: VecDeque<JudgedPath> =
            outer.iter().map(|top| JudgedPath { plain: top.clone(), real: top.clone() }).collect();
        while let Some(folder) = folders.pop_front() {
            if self.is_over() {
                return;
            }
            folders.extend(self.look_into(&folder, denials));
        }
        if !self.links.is_empty() {
            self.walk_links(&outer, denials);
        }
    }

    /// Goes through what links lead to, a folder once for all ways to it that make no difference to the rules.
    fn walk_links(&mut self, outer: &[PathBuf], denials: &[Denial<'_>]) {
        let steps: Vec<PatternSteps<'_>> =
            denials.iter().map(|denial| PatternSteps::new(denial.pattern, self.places)).collect();
        let steps_to = |path: &Path| steps.iter().map(|steps| steps.steps_after(path)).collect::<Vec<u64>>();
        let mut seen = BTreeSet::new();
        while let Some(mut link) = self.links.pop_front() {
            if self.is_over() {
                return;
            }
            let by_name = steps_to(&link.plain);
            let is_walked =
                |real: &Path| outer.iter().any(|top| real.starts_with(top)) && steps_to(real) == by_name;
            if is_walked(&link.real) {
                continue;
            }
            let Ok(real) = link.plain.canonicalize() else { continue };
            let is_above =
                real != self.places.workspace.real && self.places.workspace.real.starts_with(&real);
            if is_above || self.is_home(&real) || is_of_kernel(&real) || is_walked(&real) {
                continue;
            }
            link.real = real;
            let mut folders = VecDeque::from([link]);
            while let Some(folder) = folders.pop_front() {
                if self.is_over() {
                    return;
                }
                if seen.insert((folder.real.clone(), steps_to(&folder.plain))) {
                    folders.extend(self.look_into(&folder, denials));
                }
            }
        }
    }

    /// Adds what is in a folder, and returns the folders in it that are still to be looked into.
    fn look_into(&mut self, folder: &JudgedPath, denials: &[Denial<'_>]) -> Vec<JudgedPath> {
        let mut folders = Vec::new();
        for entry in std::fs::read_dir(&folder.real).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let may_be = |denial: &&Denial<'_>| denial.pattern.may_end_in(name.as_bytes());
            let mut near = denials.iter().filter(may_be).peekable();
            let Ok(kind) = entry.file_type() else { continue };
            let is_link = kind.is_symlink() && entry.path().is_dir();
            let is_folder = kind.is_dir() || is_link;
            let is_missing = self.take_missing(&entry);
            if !is_folder && near.peek().is_none() {
                continue;
            }
            let mut path = JudgedPath { plain: folder.plain.join(&name), real: entry.path() };
            let is_about = |denial: &&Denial<'_>| {
                let pattern = denial.pattern;
                pattern.concerns(&path, self.places) || is_folder && pattern.is_of_folder(&path, self.places)
            };
            let denial = near.filter(is_about).max_by_key(|denial| denial.denied);
            let added = denial.filter(|_| is_missing || self.has_room());
            if let Some(denial) = added {
                self.add(&path.plain, denial);
            }
            let is_covered = added.is_some_and(|denial| denial.denied == DeniedUse::Read);
            if is_link && !is_covered {
                // As far as the names say.
                let target = std::fs::read_link(&path.real).unwrap_or_default();
                path.real = normalise(&folder.real.join(target));
                self.links.push_back(path);
            } else if is_folder && !is_covered {
                folders.push(path);
            }
        }
        folders
    }

    /// Whether something may be added that was not found before.
    fn has_room(&mut self) -> bool {
        let limit = self.limit();
        self.ended_by = self.ended_by.or(limit);
        limit.is_none()
    }

    /// Whether an entry is a missing file, which is then none any more.
    fn take_missing(&mut self, entry: &DirEntry) -> bool {
        let number = entry.ino();
        self.missing.iter().any(|(_, missing)| *missing == number)
            && entry.metadata().is_ok_and(|found| self.missing.remove(&(found.dev(), found.ino())))
    }

    /// Adds other names in the working directory of the files with several.
    fn add_other_names(&mut self) {
        let of_file = |file: &DeniedFile| {
            let found = file.path.symlink_metadata().ok()?;
            (found.is_file() && found.nlink() > 1).then(|| ((found.dev(), found.ino()), file.clone()))
        };
        let several: Vec<_> = self.found.iter().filter_map(of_file).collect();
        let mut folders = VecDeque::new();
        if !several.is_empty() {
            folders.push_back(self.places.workspace.real.clone());
        }
        while let Some(folder) = folders.pop_front() {
            if self.is_over() {
                return;
            }
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push_back(entry.path());
                    continue;
                }
                for ((device, number), file) in &several {
                    let is_same = || entry.metadata().is_ok_and(|found| found.dev() == *device);
                    if entry.ino() == *number && is_same() {
                        self.found.insert(DeniedFile { path: entry.path(), ..file.clone() });
                    }
                }
            }
        }
    }
}

fn id_of(path: &Path) -> Option<FileId> {
    path.symlink_metadata().ok().map(|found| (found.dev(), found.ino()))
}

fn is_of_kernel(path: &Path) -> bool {
    OF_KERNEL.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::{JudgedPath, Places, denied_files};
    use crate::permissions::rule::Rule;

    /// A link on the way to a file is no place that the kernel can hold, so a command may rename it.
    #[test]
    fn what_a_link_led_to_stays_denied_when_the_link_is_renamed() {
        for (rule, link, target) in [
            ("read(l/key)", "l", "secret"),
            ("read(./l/*.env)", "l", "secret"),
            ("read(**/l/**)", "l", "secret"),
            ("read(one)", "one", "secret/key"),
            ("edit(l/key)", "l", "secret"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let top = folder.path().canonicalize().unwrap();
            std::fs::create_dir(top.join("secret")).unwrap();
            ["key", "x.env"]
                .iter()
                .for_each(|name| std::fs::write(top.join("secret").join(name), "k").unwrap());
            symlink(target, top.join(link)).unwrap();
            let rules: [Rule; 1] = [rule.parse().unwrap()];
            let places = Places { workspace: JudgedPath::new(&top), home: None };
            let find = || {
                let found = denied_files(rules.iter(), &places);
                let within = found.into_iter().filter(|file| file.path.starts_with(top.join("secret")));
                within.map(|file| (file.path, file.denied)).collect::<Vec<_>>()
            };
            let before = find();
            assert!(!before.is_empty(), "{rule}");
            std::fs::rename(top.join(link), top.join("other")).unwrap();
            assert_eq!(find(), before, "{rule}");
        }
    }
}
