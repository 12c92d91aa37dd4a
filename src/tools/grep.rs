//! grep: lines of files that match a regular expression.
//!
//! Owns the tool's arguments, the wording of its result and the search across files. `grep/hits.rs` holds
//! the matches of one file; `walk.rs` decides where to look.

pub(crate) mod hits;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use grep_matcher::LineTerminator;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkState};
use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use tokio_util::sync::CancellationToken;

use super::budget;
use super::budget::FullResults;
use super::find::bad_glob;
use super::walk::{self, Batch, FirstResults, Scope, SearchRoot, Unreadable};
use super::{
    Access, Details, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args, file_names,
    paths,
};
use crate::counted::pluralize;
use crate::secret_cuts::SecretFinder;
use hits::{HitLine, Hits, NamedByModel};

/// The default limit of matches.
const LIMIT: u64 = 200;
/// The maximum number of context lines on each side.
const CONTEXT: u64 = 50;
/// The longest line that can be searched, in bytes, and therefore the memory of one search thread.
const MAX_LINE_LEN: usize = 16 * 1024 * 1024;

tool! {
    /// The `grep` tool.
    pub(crate) struct Grep(GrepArgs, "grep", "grep.md", read_only: true);
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct GrepArgs {
    /// Regular expression to search for.
    pub pattern: String,
    /// Directory or file to search. Default: the working directory.
    pub path: Option<String>,
    /// Files to search, such as `*.rs` or `!*.min.js`.
    pub glob: Option<String>,
    /// Ignore case.
    pub ignore_case: Option<bool>,
    /// Take `pattern` as plain text.
    pub literal: Option<bool>,
    /// Number of lines to return before and after each match.
    pub context: Option<u64>,
    /// Include hidden and ignored files.
    pub all: Option<bool>,
    /// Maximum number of matches to return. Default: 200.
    pub limit: Option<u64>,
}

impl Tool for Grep {
    type Args = GrepArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &serde_json::Value) -> String {
        let pattern = args::partial(args, "pattern").unwrap_or_default();
        let glob = args::partial(args, "glob").map(|glob| format!(" ({glob})")).unwrap_or_default();
        match args::partial(args, "path") {
            Some(path) => format!("{pattern} in {path}{glob}"),
            None => format!("{pattern}{glob}"),
        }
    }

    fn touches(&self, args: &serde_json::Value, cwd: &Path) -> Option<Access> {
        Some(walk::access(cwd, args::partial(args, "path")))
    }

    async fn prepare(&self, args: GrepArgs, context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        let access = walk::access(&context.cwd, args.path.as_deref());
        Ok(PreparedCall::new(access, move |_| {
            walk::on_thread(context, move |context, wanted| grep(&args, context, wanted))
        }))
    }
}

fn grep(args: &GrepArgs, context: &ToolContext, wanted: &CancellationToken) -> Result<ToolOutput, ToolError> {
    let matcher = matcher(args)?;
    let place = SearchRoot::find(context, "grep", args.path.clone())?;
    if let Some(kind) = paths::odd_kind(&place.metadata).filter(|_| !place.metadata.is_dir()) {
        return Err(ToolError::refused(format!("{} is {kind}; it cannot be searched", place.given)));
    }
    let globs = globs(args, &place)?;
    let limit = args.limit.unwrap_or(LIMIT).max(1);
    let search = Search {
        place: &place,
        matcher: &matcher,
        context: usize::try_from(args.context.unwrap_or(0).min(CONTEXT)).unwrap_or(0),
        limit,
        secrets: &context.limits.secrets,
        wanted,
        found: Mutex::new(SearchResults {
            first: FirstResults::new(limit),
            unreadable: Unreadable::default(),
            whole: FullResults::new(&context.scratch, "grep"),
        }),
        full: AtomicBool::new(false),
        more: AtomicBool::new(false),
        searched: AtomicU64::new(0),
    };
    let scope = Scope::of(args.all);
    if place.metadata.is_dir() {
        search.walk(scope, &context.cwd, globs);
    } else {
        let hits =
            search.one(&mut search.searcher(NamedByModel::Yes), &place.root, &place.given, NamedByModel::Yes);
        search.keep(search.lines_of(Path::new(""), hits).into_iter().collect());
    }
    if wanted.is_cancelled() {
        return Err(ToolError::aborted());
    }
    Ok(search.answer(args, scope))
}

/// Compiles the pattern.
fn matcher(args: &GrepArgs) -> Result<RegexMatcher, ToolError> {
    if args.pattern.is_empty() {
        return Err(ToolError::refused("`pattern` is empty; give a regular expression"));
    }
    RegexMatcherBuilder::new()
        .multi_line(true)
        .crlf(true)
        .case_insensitive(args.ignore_case == Some(true))
        .fixed_strings(args.literal == Some(true))
        .build(&args.pattern)
        .map_err(|error| ToolError::refused(explain(&error)))
}

/// Explains why a pattern is refused and what to write instead.
fn explain(error: &grep_regex::Error) -> String {
    match error.kind() {
        ErrorKind::NotAllowed(_) => "`pattern` contains a line end, but a match is always within one line; \
             search for the most distinctive line and set `context` to see the lines around it"
            .into(),
        ErrorKind::Regex(text) => {
            let hint = match () {
                () if text.contains("look-around") => "search without it, and look through the matches",
                () if text.contains("backreference") => "search without it, and look through the matches",
                () if text.contains("size limit") => "use smaller repetition counts",
                () => "escape literal characters with a backslash, or set `literal` to true",
            };
            format!("`pattern` is not a regular expression: {text}\n{hint}")
        }
        _ => format!("`pattern` cannot be used: {error}"),
    }
}

fn globs(args: &GrepArgs, place: &SearchRoot) -> Result<Override, ToolError> {
    let mut globs = OverrideBuilder::new(&place.root);
    if let Some(glob) = args.glob.as_deref().filter(|glob| !glob.is_empty()) {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        globs.add(glob).map_err(|error| bad_glob("glob", &error.to_string()))?;
    }
    globs.build().map_err(|error| bad_glob("glob", &error.to_string()))
}

#[derive(Debug)]
struct SearchResults<'a> {
    first: FirstResults<Vec<HitLine>>,
    unreadable: Unreadable,
    whole: FullResults<'a>,
}

/// The lines of one file on their way to the answer.
#[derive(Debug)]
struct FileLines {
    key: Vec<u8>,
    /// The lines that the answer may show.
    lines: Vec<HitLine>,
    /// All lines as text.
    text: String,
    /// The number of matches, and the weight of the lines for the answer.
    count: u64,
    weight: usize,
}

/// One search, shared by its threads.
struct Search<'a> {
    place: &'a SearchRoot,
    matcher: &'a RegexMatcher,
    context: usize,
    limit: u64,
    secrets: &'a SecretFinder,
    wanted: &'a CancellationToken,
    found: Mutex<SearchResults<'a>>,
    /// True once no more matches fit, so that later places can be skipped.
    full: AtomicBool,
    /// True if a match was dropped or a place was skipped.
    more: AtomicBool,
    searched: AtomicU64,
}

impl<'a> Search<'a> {
    fn searcher(&self, named: NamedByModel) -> Searcher {
        let binary = match named {
            NamedByModel::Yes => BinaryDetection::convert(0),
            NamedByModel::No => BinaryDetection::quit(0),
        };
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .binary_detection(binary)
            .heap_limit(Some(MAX_LINE_LEN))
            .build()
    }

    fn walk(&self, scope: Scope, cwd: &Path, globs: Override) {
        let mut walk = self.place.walk(scope, cwd);
        walk.overrides(globs).build_parallel().run(|| {
            let mut searcher = self.searcher(NamedByModel::No);
            let mut batch = Batch::new(|files| self.keep(files));
            Box::new(move |entry| {
                if self.wanted.is_cancelled() {
                    return WalkState::Quit;
                }
                match entry {
                    Ok(entry) => {
                        let (state, lines) = self.visit(&mut searcher, &entry);
                        lines.into_iter().for_each(|lines| {
                            let bytes = lines.text.len();
                            batch.push(lines, bytes);
                        });
                        state
                    }
                    Err(error) => {
                        self.found.lock().unreadable.add_walk(self.place, &error);
                        WalkState::Continue
                    }
                }
            })
        });
    }

    fn visit(&self, searcher: &mut Searcher, entry: &DirEntry) -> (WalkState, Option<FileLines>) {
        let proceed = WalkState::Continue;
        let Some(kind) = entry.file_type().filter(|_| entry.depth() > 0) else { return (proceed, None) };
        let below = self.place.below(entry.path());
        let beyond = || self.found.lock().first.is_beyond(&walk::order(below));
        if self.full.load(Ordering::Relaxed) && beyond() {
            // Places after the last match shown need not be searched to know that there is more.
            self.more.store(true, Ordering::Relaxed);
            return (WalkState::Skip, None);
        }
        if !kind.is_file() {
            return (proceed, None);
        }
        let shown = self.place.display_path(entry.path(), "");
        let hits = self.one(searcher, entry.path(), &shown, NamedByModel::No);
        (proceed, self.lines_of(below, hits))
    }

    /// Searches one file.
    fn one<'s>(
        &'s self,
        searcher: &mut Searcher,
        path: &Path,
        shown: &'s str,
        named: NamedByModel,
    ) -> Hits<'s> {
        // Do not wait for a FIFO that has replaced a file.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let mut hits = Hits::new(self.matcher, shown, named, self.secrets);
        let searched =
            rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from).and_then(|file| {
                let file = CancellableFile { file: File::from(file), wanted: self.wanted };
                searcher.search_reader(self.matcher, file, &mut hits)
            });
        self.searched.fetch_add(1, Ordering::Relaxed);
        match searched {
            Err(error) if error.kind() == io::ErrorKind::NotFound && named == NamedByModel::No => {}
            Err(error) => {
                let long = error.to_string().contains("allocation limit");
                let why = if long { "it has a line over 16 MB".into() } else { paths::reason(&error) };
                self.found.lock().unreadable.add(self.place, path, &why);
            }
            Ok(()) => {}
        }
        hits.close();
        if hits.more {
            self.more.store(true, Ordering::Relaxed);
        }
        hits
    }

    /// The matching lines of a file; `None` if there are none.
    fn lines_of(&self, below: &Path, mut hits: Hits<'_>) -> Option<FileLines> {
        let count = Some(hits.count).filter(|count| *count > 0)?;
        let mut text = String::with_capacity(hits.bytes);
        hits.lines.iter().for_each(|line| text.push_str(&line.text));
        let weight = hits.shorten(self.limit);
        Some(FileLines { key: walk::order(below), lines: hits.lines, text, count, weight })
    }

    fn keep(&self, files: Vec<FileLines>) {
        let mut found = self.found.lock();
        for file in files {
            found.whole.add(&file.text);
            found.first.push(file.key, file.lines, file.count, file.weight);
        }
        if found.first.is_full() && found.whole.is_full() {
            self.full.store(true, Ordering::Relaxed);
        }
    }

    fn answer(self, args: &GrepArgs, scope: Scope) -> ToolOutput {
        let SearchResults { first, unreadable, whole } = self.found.into_inner();
        let seen = first.seen_count();
        let mut shown = ShownLines::default();
        for lines in first.into_sorted() {
            shown.add(&lines, self.limit, self.context > 0);
        }
        let ShownLines { mut text, matches, cut, .. } = shown;
        if seen == 0 {
            let files = self.searched.into_inner();
            let files = pluralize(files, "file");
            let hint = if self.place.metadata.is_dir() { scope.hint() } else { "" };
            text =
                format!("no matches for {} in {} ({files} searched{hint})\n", args.pattern, self.place.given);
        }
        if cut || self.more.into_inner() || matches < seen {
            let raise = if matches >= self.limit { ", or raise `limit`" } else { "" };
            let all = match matches {
                _ if seen > matches => format!("{matches} of {seen} matches"),
                1 => "the first match".to_owned(),
                _ => format!("the first {matches} matches"),
            };
            let whole = whole.finish();
            text.push_str(&format!("[showing {all}; narrow `pattern`, `path` or `glob`{raise}; {whole}]\n"));
        }
        if text.lines().any(file_names::is_quoted) {
            text.push_str(file_names::NOTE);
        }
        text.extend(unreadable.line());
        text.push_str(&self.place.omission_notes());
        ToolOutput::new(text, Details::None)
    }
}

/// The lines of all files, as far as they are shown.
#[derive(Debug, Default)]
struct ShownLines {
    text: String,
    weight: usize,
    matches: u64,
    /// True if lines were left out.
    cut: bool,
}

impl ShownLines {
    /// Adds the lines of the next file. With context, files are separated like groups.
    fn add(&mut self, lines: &[HitLine], limit: u64, apart: bool) {
        if apart && !self.text.is_empty() {
            self.text.push_str("--\n");
        }
        for line in lines {
            let weight = budget::token_weight(&line.text);
            let full = self.weight + weight > walk::MAX_BYTES;
            self.cut |= full || (line.matches && self.matches >= limit);
            if self.cut {
                return;
            }
            self.matches += u64::from(line.matches);
            self.weight += weight;
            self.text.push_str(&line.text);
        }
    }
}

/// A file that stops reading once the search is cancelled.
struct CancellableFile<'a> {
    file: File,
    wanted: &'a CancellationToken,
}

impl Read for CancellableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.wanted.is_cancelled() {
            return Err(io::Error::other("aborted"));
        }
        self.file.read(buffer)
    }
}
