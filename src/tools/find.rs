//! find: files and directories whose names match a glob.
//!
//! Owns the tool's arguments and the wording of its result; `walk.rs` decides where to look.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet};
use ignore::{DirEntry, WalkState};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::budget;
use super::budget::FullResults;
use super::walk::{self, Answers, Batch, FirstResults, Scope, SearchRoot, Unreadable};
use super::{Access, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args};

/// The default limit of paths.
const LIMIT: u64 = 1_000;

tool! {
    /// The `find` tool.
    pub(crate) struct Find(FindArgs, "find", "find.md", read_only: true);
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct FindArgs {
    /// Glob, such as `*.rs`, `src/**/*.test.ts` or `{Cargo,package}.{toml,json}`.
    pub pattern: String,
    /// Directory to search. Default: the working directory.
    pub path: Option<String>,
    /// Include hidden and ignored files.
    pub all: Option<bool>,
    /// Maximum number of paths to return. Default: 1000.
    pub limit: Option<u64>,
}

impl Tool for Find {
    type Args = FindArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &serde_json::Value) -> String {
        let pattern = args::partial(args, "pattern").unwrap_or_default();
        match args::partial(args, "path") {
            Some(path) => format!("{pattern} in {path}"),
            None => pattern.into(),
        }
    }

    fn touches(&self, args: &serde_json::Value, cwd: &Path) -> Option<Access> {
        Some(walk::access(cwd, args::partial(args, "path")))
    }

    async fn prepare(&self, args: FindArgs, context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        let access = walk::access(&context.cwd, args.path.as_deref());
        Ok(PreparedCall::new(access, move |_| {
            walk::on_thread(context, move |context, wanted| find(args, context, wanted))
        }))
    }
}

/// The pattern that a name must match.
struct NamePattern {
    root: PathBuf,
    /// A set with one glob: unlike a single glob, it matches names and extensions without a regular
    /// expression.
    glob: GlobSet,
    /// False for a glob without a slash, which is matched against the name alone.
    whole_path: bool,
}

impl NamePattern {
    fn new(pattern: &str, place: &SearchRoot) -> Result<Self, ToolError> {
        let root = place.root.to_string_lossy();
        let below = pattern.strip_prefix(&*root).and_then(|rest| rest.strip_prefix('/'));
        let relative = below.unwrap_or(pattern).trim_start_matches("./").trim_end_matches('/');
        if relative.is_empty() {
            return Err(ToolError::refused("`pattern` is empty; give a glob such as `*.rs` or `**/*`"));
        }
        if relative.starts_with('/') || relative.starts_with("../") {
            return Err(ToolError::refused(format!(
                "the pattern {pattern} is outside of {}; globs are relative to `path`, so pass the directory as `path`",
                place.given
            )));
        }
        let glob = GlobBuilder::new(relative).literal_separator(true).build();
        let glob = glob.and_then(|glob| GlobSet::builder().add(glob).build());
        let glob = glob.map_err(|error| bad_glob("pattern", &error.to_string()))?;
        let whole_path = pattern.trim_end_matches('/').contains('/');
        Ok(NamePattern { root: place.root.clone(), glob, whole_path })
    }

    fn fits(&self, entry: &DirEntry) -> bool {
        match self.whole_path {
            true => self.glob.is_match(entry.path().strip_prefix(&self.root).unwrap_or(entry.path())),
            false => self.glob.is_match(entry.file_name()),
        }
    }
}

/// A matching path on its way to the answer.
struct Hit {
    key: Vec<u8>,
    shown: String,
    weight: usize,
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// The refusal of an invalid glob.
pub(super) fn bad_glob(field: &str, error: &str) -> ToolError {
    ToolError::refused(format!("`{field}`: {error}; escape a literal `[`, `{{`, `*` or `?` with a backslash"))
}

fn find(args: FindArgs, context: &ToolContext, wanted: &CancellationToken) -> Result<ToolOutput, ToolError> {
    let place = SearchRoot::find(context, "find", args.path)?;
    if !place.metadata.is_dir() {
        return Err(ToolError::refused(format!("{} is not a directory; `path` must be one", place.given)));
    }
    let names = Arc::new(NamePattern::new(&args.pattern, &place)?);
    let scope = Scope::of(args.all);
    let limit = args.limit.unwrap_or(LIMIT).max(1);
    let whole = FullResults::new(&context.scratch, "find");
    let found = Mutex::new((FirstResults::new(limit), Unreadable::default(), whole));
    // Names are checked before the walk turns each file into a task, which costs more.
    let early = Arc::clone(&names);
    let walk = place.walk_through(scope, &context.cwd, Answers::Names, move |entry| {
        is_folder(entry) || early.fits(entry)
    });
    walk.build_parallel().run(|| {
        let lock = || found.lock();
        let mut batch = Batch::new(move |hits: Vec<Hit>| {
            let mut found = lock();
            for hit in hits {
                found.2.add(&hit.shown);
                found.2.add("\n");
                found.0.push(hit.key, hit.shown, 1, hit.weight);
            }
        });
        let place = &place;
        let names = &names;
        Box::new(move |entry| {
            if wanted.is_cancelled() {
                return WalkState::Quit;
            }
            match entry {
                Ok(entry) if entry.depth() == 0 => {}
                Ok(entry) => {
                    let folder = is_folder(&entry);
                    if !folder || names.fits(&entry) {
                        let below = place.below(entry.path());
                        let shown = place.display_path(entry.path(), if folder { "/" } else { "" });
                        let weight = budget::token_weight(&shown) + 1;
                        let (key, bytes) = (walk::order(below), shown.len());
                        batch.push(Hit { key, shown, weight }, bytes);
                    }
                }
                Err(error) => lock().1.add_walk(place, &error),
            }
            WalkState::Continue
        })
    });
    if wanted.is_cancelled() {
        return Err(ToolError::aborted());
    }
    let (first, unreadable, whole) = found.into_inner();
    let nothing = format!("nothing in {} matches {}{}\n", place.given, args.pattern, scope.hint());
    Ok(walk::paths_answer(first, &unreadable, &place, &nothing, |shown, total| {
        let raise = if shown == limit { ", or raise `limit`" } else { "" };
        let whole = whole.finish();
        format!("[showing {shown} of {total} paths; narrow `pattern` or `path`{raise}; {whole}]\n")
    }))
}
