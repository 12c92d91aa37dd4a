//! ls: lists one directory.
//!
//! Owns the tool's arguments and the wording of its result. Shows all entries, hidden or ignored; `find`
//! goes deeper.

use std::fs::{self, DirEntry, FileType};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::budget;
use super::budget::FullResults;
use super::walk::{self, Answers, FirstResults, SearchRoot, Unreadable};
use super::{
    Access, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args, file_names, paths,
};

/// The default limit of entries.
const LIMIT: u64 = 500;

tool! {
    /// The `ls` tool.
    pub(crate) struct Ls(LsArgs, "ls", "ls.md", read_only: true);
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct LsArgs {
    /// Directory to list. Default: the working directory.
    pub path: Option<String>,
    /// Maximum number of entries to return. Default: 500.
    pub limit: Option<u64>,
}

impl Tool for Ls {
    type Args = LsArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &serde_json::Value) -> String {
        args::partial(args, "path").unwrap_or(".").into()
    }

    fn touches(&self, args: &serde_json::Value, cwd: &Path) -> Option<Access> {
        Some(walk::access(cwd, args::partial(args, "path")))
    }

    async fn prepare(&self, args: LsArgs, context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        let access = walk::access(&context.cwd, args.path.as_deref());
        Ok(PreparedCall::new(access, move |_| {
            walk::on_thread(context, move |context, wanted| list(args, context, wanted))
        }))
    }
}

fn list(args: LsArgs, context: &ToolContext, wanted: &CancellationToken) -> Result<ToolOutput, ToolError> {
    let place = SearchRoot::find(context, "ls", args.path)?;
    if !place.metadata.is_dir() {
        let what = paths::odd_kind(&place.metadata).unwrap_or("a file; `read` shows it");
        return Err(ToolError::refused(format!("{} is not a directory but {what}", place.given)));
    }
    let limit = args.limit.unwrap_or(LIMIT).max(1);
    let mut first = FirstResults::new(limit);
    let mut unreadable = Unreadable::default();
    let mut whole = FullResults::new(&context.scratch, "ls");
    let failed = |error| paths::cannot(&place.given, &place.root, "list", &error);
    for entry in fs::read_dir(&place.root).map_err(failed)? {
        if wanted.is_cancelled() {
            return Err(ToolError::aborted());
        }
        match entry {
            // Names of folders are shown as well; their contents are not listed here.
            Ok(entry) if !place.shows(&entry.path(), false, Answers::Names) => {}
            Ok(entry) => {
                let line = line(&entry);
                let weight = budget::token_weight(&line) + 1;
                whole.add(&format!("{line}\n"));
                first.push(entry.file_name().as_encoded_bytes().to_vec(), line, 1, weight);
            }
            Err(error) => unreadable.add(&place, &place.root, &paths::reason(&error)),
        }
    }
    let nothing = format!("({} is empty)\n", place.given);
    Ok(walk::paths_answer(first, &unreadable, &place, &nothing, |shown, total| {
        let how = if shown == limit { "raise `limit` to see more" } else { "use `find` to narrow the list" };
        let whole = whole.finish();
        format!("[showing {shown} of {total} entries; {how}; {whole}]\n")
    }))
}

/// The name, with a mark for its type.
fn line(entry: &DirEntry) -> String {
    let name = file_names::display(&entry.file_name());
    match entry.file_type() {
        Ok(kind) if kind.is_symlink() => match fs::read_link(entry.path()) {
            Ok(target) => format!("{name} -> {}", file_names::display_path(&target)),
            Err(_) => name,
        },
        Ok(kind) => name + mark(kind),
        Err(_) => name,
    }
}

fn mark(kind: FileType) -> &'static str {
    match () {
        () if kind.is_dir() => "/",
        () if kind.is_fifo() => " (FIFO)",
        () if kind.is_socket() => " (socket)",
        () if kind.is_char_device() || kind.is_block_device() => " (device)",
        () => "",
    }
}
