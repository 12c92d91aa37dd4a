//! Searches many files: where, by which rules, and which of the results are kept.
//!
//! Shared by grep, find and ls. The rules for ignored and hidden files are those of ripgrep, whose library
//! does the walking. Several threads walk, so results arrive in any order; [`FirstResults`] keeps the first
//! of them by path in bounded memory, so the answer is deterministic.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::{DirEntry, WalkBuilder};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::access::{FolderFilter, LeftOut};
use super::counted::pluralize;
use super::{Access, Details, ToolContext, ToolError, ToolOutput, file_names, ignore_files, paths};

/// The maximum weight of one answer of a search tool, see [`super::budget`].
pub const MAX_BYTES: usize = 48 * 1024;
/// The number of unreadable places that are named; more are counted.
const NAMED: usize = 3;

#[derive(Clone, Debug)]
pub(crate) struct SearchRoot {
    /// The path as written by the model; `.` if it gave none.
    pub given: String,
    /// The absolute path.
    pub root: PathBuf,
    pub metadata: Metadata,
    /// The filter for files below it.
    filter: Option<Arc<dyn FolderFilter>>,
    left_out: Arc<Mutex<LeftOutFiles>>,
}

/// The contents of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// Names of files, which are shown even if their content is not.
    Names,
    /// Content of files.
    Content,
}

impl SearchRoot {
    /// The place `given`, or the working directory, for a call of this tool. Refused if it does not exist
    /// (with similar names) or cannot be read.
    pub fn find(context: &ToolContext, tool: &str, given: Option<String>) -> Result<Self, ToolError> {
        let given = given.filter(|given| !given.is_empty()).unwrap_or_else(|| ".".into());
        if given.contains('\0') {
            return Err(ToolError::refused("`path` contains a NUL character; pass the path of a directory"));
        }
        let root = paths::find(&context.cwd, &given);
        let metadata = fs::metadata(&root).map_err(|error| paths::cannot(&given, &root, "search", &error))?;
        let filter = context.files.below(tool, &root);
        Ok(SearchRoot { given, root, metadata, filter, left_out: Arc::default() })
    }

    /// True if the file at this path may be part of the answer. Otherwise it is counted as left out.
    pub fn shows(&self, path: &Path, is_folder: bool, answers: Answers) -> bool {
        let Some(filter) = &self.filter else { return true };
        let Some(left_out) = filter.leaves_out(self.below(path)) else { return true };
        if answers == Answers::Names && !left_out.name && !is_folder {
            return true;
        }
        let shown = self.display_path(path, if is_folder { "/" } else { "" });
        let mut all = self.left_out.lock();
        all.add(left_out, order(self.below(path)), shown);
        false
    }

    /// Notes about files that were left out, for the end of an answer.
    pub fn omission_notes(&self) -> String {
        self.left_out.lock().lines()
    }

    /// The path below the root; empty for the root itself.
    pub fn below<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// The path for an answer, see [`file_names::display`]. It begins with the root as written by the model,
    /// so that it can be passed to other tools unchanged; `end` is appended to its name.
    pub fn display_path(&self, path: &Path, end: &str) -> String {
        let below = self.below(path).as_os_str();
        let front = self.given.trim_start_matches("./").trim_end_matches('/');
        let mut shown = OsString::from(match front {
            _ if below.is_empty() => return self.given.clone(),
            "" if self.given.starts_with('/') => "/",
            "" | "." => "",
            front => front,
        });
        if !matches!(front, "" | ".") {
            shown.push("/");
        }
        shown.push(below);
        shown.push(end);
        file_names::display(&shown)
    }

    /// A multi-threaded walk of the place.
    pub fn walk(&self, scope: Scope, cwd: &Path) -> WalkBuilder {
        self.walk_through(scope, cwd, Answers::Content, |_| true)
    }

    /// A walk that leaves out entries that are not `wanted`, and their contents.
    pub(crate) fn walk_through(
        &self,
        scope: Scope,
        cwd: &Path,
        answers: Answers,
        wanted: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
    ) -> WalkBuilder {
        let mut walk = match scope {
            Scope::Usual => ignore_files::walk(&self.root),
            Scope::All => WalkBuilder::new(&self.root),
        };
        walk.current_dir(cwd).threads(0);
        if scope == Scope::All {
            walk.standard_filters(false);
        }
        // The contents of .git are not anyone's files.
        let place = self.clone();
        walk.filter_entry(move |entry| {
            let git = scope == Scope::All && entry.file_name() == ".git";
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let reads_rules = scope == Scope::Usual;
            entry.depth() == 0
                || !git
                    && wanted(entry)
                    && (!reads_rules || ignore_files::enters(entry))
                    && place.shows(entry.path(), is_folder, answers)
        });
        walk
    }
}

/// The files to consider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All but hidden and ignored files (`.gitignore` and the like).
    Usual,
    /// All files except those in `.git`.
    All,
}

impl Scope {
    /// The scope for the argument `all`.
    pub fn of(all: Option<bool>) -> Self {
        if all == Some(true) { Scope::All } else { Scope::Usual }
    }

    /// The hint for an answer without results.
    pub fn hint(self) -> &'static str {
        match self {
            Scope::Usual => "; hidden and ignored files were skipped, set `all` to include them",
            Scope::All => "",
        }
    }
}

/// The sort key of a path in answers: by name, folder by folder.
pub fn order(below: &Path) -> Vec<u8> {
    let bytes = below.as_os_str().as_encoded_bytes();
    bytes.iter().map(|byte| if *byte == b'/' { 0 } else { *byte }).collect()
}

/// Keeps the first results by key, in whatever order they arrive. A result may count for several.
#[derive(Debug)]
pub(crate) struct FirstResults<T> {
    most: u64,
    kept: BTreeMap<Vec<u8>, KeptResult<T>>,
    count: u64,
    bytes: usize,
    seen: u64,
}

#[derive(Debug)]
struct KeptResult<T> {
    item: T,
    count: u64,
    bytes: usize,
}

impl<T> FirstResults<T> {
    /// Keeps at least `most`, if there are that many and they fit into one answer.
    pub fn new(most: u64) -> Self {
        FirstResults { most, kept: BTreeMap::new(), count: 0, bytes: 0, seen: 0 }
    }

    /// True if results at `key` or after it can no longer be among the first.
    pub(crate) fn is_beyond(&self, key: &[u8]) -> bool {
        self.is_full() && self.kept.last_key_value().is_some_and(|(last, _)| key > last.as_slice())
    }

    /// True if there are enough results, though others may still replace them.
    pub fn is_full(&self) -> bool {
        self.count >= self.most || self.bytes >= MAX_BYTES
    }

    /// Adds a result that counts for `count` and takes `bytes` in the answer.
    pub fn push(&mut self, key: Vec<u8>, item: T, count: u64, bytes: usize) {
        self.seen += count;
        if self.is_beyond(&key) {
            return;
        }
        self.count += count;
        self.bytes += bytes;
        self.kept.insert(key, KeptResult { item, count, bytes });
        while let Some(last) = self.kept.last_entry() {
            let (count, bytes) = (self.count - last.get().count, self.bytes - last.get().bytes);
            if count < self.most && bytes < MAX_BYTES {
                return;
            }
            (self.count, self.bytes) = (count, bytes);
            last.remove();
        }
    }

    /// The number of results pushed, kept or not.
    pub fn seen_count(&self) -> u64 {
        self.seen
    }

    /// The kept results, in order.
    pub(crate) fn into_sorted(self) -> impl Iterator<Item = T> {
        self.kept.into_values().map(|kept| kept.item)
    }
}

/// Passes the results of one thread to the shared ones in groups, since a lock for each would make threads
/// wait for one another.
#[derive(Debug)]
pub(crate) struct Batch<T, F: FnMut(Vec<T>)> {
    waiting: Vec<T>,
    bytes: usize,
    give: F,
}

impl<T, F: FnMut(Vec<T>)> Batch<T, F> {
    /// The maximum number of waiting results, and of their bytes.
    const MAX_WAITING: (usize, usize) = (64, 256 * 1024);

    /// `give` receives the groups, the last one when the batch is dropped.
    pub fn new(give: F) -> Self {
        Batch { waiting: Vec::new(), bytes: 0, give }
    }

    /// Adds a result of `bytes` bytes; passes the batch on when it is full.
    pub fn push(&mut self, item: T, bytes: usize) {
        self.waiting.push(item);
        self.bytes += bytes;
        if self.waiting.len() >= Self::MAX_WAITING.0 || self.bytes >= Self::MAX_WAITING.1 {
            self.bytes = 0;
            (self.give)(std::mem::take(&mut self.waiting));
        }
    }
}

impl<T, F: FnMut(Vec<T>)> Drop for Batch<T, F> {
    fn drop(&mut self) {
        if !self.waiting.is_empty() {
            (self.give)(std::mem::take(&mut self.waiting));
        }
    }
}

/// Places that could not be read.
#[derive(Debug, Default)]
pub(crate) struct Unreadable {
    named: BTreeMap<Vec<u8>, String>,
    count: u64,
}

impl Unreadable {
    /// Records an unreadable path and the reason.
    pub fn add(&mut self, place: &SearchRoot, path: &Path, why: &str) {
        self.count += 1;
        self.named.insert(order(place.below(path)), format!("{}: {why}", place.display_path(path, "")));
        if self.named.len() > NAMED {
            self.named.pop_last();
        }
    }

    /// Records an error of the walk.
    pub(crate) fn add_walk(&mut self, place: &SearchRoot, error: &ignore::Error) {
        let path = path_of(error).unwrap_or(&place.root);
        // A file that was removed during the walk is not part of the answer.
        match error.io_error() {
            Some(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Some(io) => self.add(place, path, &paths::reason(io)),
            None => self.add(place, path, &printable(&error.to_string().to_lowercase())),
        }
    }

    /// The note about them, if there are any.
    pub fn line(&self) -> Option<String> {
        let names: Vec<&str> = self.named.values().map(String::as_str).collect();
        let more = match self.count - names.len() as u64 {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        (self.count > 0).then(|| format!("[skipped: {}{more}]\n", names.join("; ")))
    }
}

/// The answer of a tool that lists paths: `nothing` if the list is empty; `rest`, given the number of paths shown and in
/// all, says how to see the others.
pub(crate) fn paths_answer(
    first: FirstResults<String>,
    unreadable: &Unreadable,
    place: &SearchRoot,
    nothing: &str,
    rest: impl FnOnce(u64, u64) -> String,
) -> ToolOutput {
    let total = first.seen_count();
    let paths: Vec<String> = first.into_sorted().collect();
    let shown = paths.len() as u64;
    let mut text: String = paths.iter().flat_map(|path| [path.as_str(), "\n"]).collect();
    if paths.is_empty() {
        text.push_str(nothing);
    }
    let cut = shown < total;
    if cut {
        text.push_str(&rest(shown, total));
    }
    if paths.iter().any(|path| file_names::is_quoted(path) || path.contains(" -> $'")) {
        text.push_str(file_names::NOTE);
    }
    text.extend(unreadable.line());
    text.push_str(&place.omission_notes());
    ToolOutput::new(text, Details::Paths { paths, cut })
}

/// The files left out of an answer, by reason.
#[derive(Debug, Default)]
struct LeftOutFiles(BTreeMap<LeftOut, (BTreeMap<Vec<u8>, String>, u64)>);

impl LeftOutFiles {
    fn add(&mut self, why: LeftOut, key: Vec<u8>, shown: String) {
        let (named, count) = self.0.entry(why).or_default();
        *count += 1;
        named.insert(key, shown);
        if named.len() > NAMED {
            named.pop_last();
        }
    }

    fn lines(&self) -> String {
        let line = |(why, (named, count)): (&LeftOut, &(BTreeMap<Vec<u8>, String>, u64))| {
            let names: Vec<&str> = named.values().map(String::as_str).collect();
            let more = match count - names.len() as u64 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("[{} left out: {}: {}{more}]\n", pluralize(*count, "file"), why.why, names.join(", "))
        };
        self.0.iter().map(line).collect()
    }
}

/// A message that may contain a path, on one line.
fn printable(message: &str) -> String {
    message.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}

/// The access of a call that searches this directory.
pub(crate) fn access(cwd: &Path, given: Option<&str>) -> Access {
    let given = given.filter(|given| !given.is_empty()).unwrap_or(".");
    Access::read(paths::find(cwd, given))
}

/// Runs `work` on a thread. An abort, or dropping the call, ends the call at once and cancels the token
/// passed to `work`, which must check it often. Fails with errors of `work`, and [`ToolError::Aborted`].
pub(crate) async fn on_thread(
    context: ToolContext,
    work: impl FnOnce(&ToolContext, &CancellationToken) -> Result<ToolOutput, ToolError> + Send + 'static,
) -> Result<ToolOutput, ToolError> {
    let cancel = context.cancel.clone();
    let wanted = cancel.child_token();
    let _no_longer_wanted = wanted.clone().drop_guard();
    let thread = tokio::task::spawn_blocking(move || work(&context, &wanted));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(ToolError::aborted()),
        answer = thread => {
            answer.unwrap_or_else(|_| Err(ToolError::refused("the tool failed because of an internal error; try another approach")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_by_path_are_kept_in_whatever_order_they_come() {
        let names = ["b/x", "a.txt", "a/z", "a", "b", "a/b/c"];
        let sorted = ["a", "a/b/c", "a/z", "a.txt", "b", "b/x"];
        for turn in 0..names.len() {
            for most in 1..=names.len() {
                let mut first = FirstResults::new(most as u64);
                for name in names.iter().cycle().skip(turn).take(names.len()) {
                    first.push(order(Path::new(name)), *name, 1, 10);
                }
                assert_eq!(first.seen_count(), 6);
                let kept: Vec<&str> = first.into_sorted().collect();
                assert_eq!(kept, sorted[..most], "{turn}");
            }
        }
    }

    #[test]
    fn what_is_kept_fits_into_an_answer() {
        let mut first = FirstResults::new(1_000_000);
        for n in 0..1_000_u32 {
            first.push(n.to_be_bytes().to_vec(), n, 5, 1_000);
            assert!(first.kept.len() <= MAX_BYTES / 1_000 + 1);
        }
        assert!(first.is_beyond(&999_u32.to_be_bytes()) && !first.is_beyond(&0_u32.to_be_bytes()));
    }
}
