//! read: a range of lines of a text file with line numbers, or an image.
//!
//! Owns the tool's arguments and the wording of its result. `read/window.rs` extracts the lines,
//! `read/picture.rs` prepares images, and `encoding.rs` handles encodings.

pub mod picture;
pub mod window;

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::Duration;

use super::edit::normalize::{LineEnd, LineEnds};
use super::encoding::{self, Encoding, Exact, PROBE, Probe};
use super::file_task::{FileTask, OnAbort};
use super::file_versions::Stamp;
use super::replace_file::MAX_FILE;
use super::{
    Access, Details, LineFacts, PreparedCall, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, args,
    editor, paths,
};
use crate::counted::pluralize;
use window::{LineWindow, WindowRequest};

/// The maximum number of lines in one answer.
const MAX_LINES: usize = 5_000;
/// Files up to this size are read completely, so that their content is recorded.
const WHOLE: u64 = 4 * 1024 * 1024;
/// The time limit for counting the lines after the window.
const COUNTING: Duration = Duration::from_secs(3);
/// The time limit for counting if the model requested a window that fits, and so does not ask for the file's
/// length.
const GLANCE: Duration = Duration::from_millis(20);

tool! {
    /// The `read` tool.
    pub struct Read(ReadArgs, "read", "read.md", read_only: true);
}

/// Its arguments.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct ReadArgs {
    /// Path of the file.
    pub path: String,
    /// First line, counted from 1.
    #[schemars(range(min = 1))]
    pub offset: Option<u64>,
    /// Lines to return.
    #[schemars(range(min = 1, max = 5000))]
    pub limit: Option<u64>,
    /// Byte of a cut line to begin at.
    #[schemars(range(min = 1))]
    pub column: Option<u64>,
}

impl Tool for Read {
    type Args = ReadArgs;

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &serde_json::Value) -> String {
        let path = args::partial(args, "path").unwrap_or_default();
        let number = |name: &str| args.get(name).and_then(serde_json::Value::as_u64);
        match (number("offset"), number("limit")) {
            (None, None) => path.into(),
            (from, None) => format!("{path}:{}-", from.unwrap_or(1)),
            (from, Some(limit)) => {
                let from = from.unwrap_or(1).max(1);
                format!("{path}:{from}-{}", from.saturating_add(limit).saturating_sub(1))
            }
        }
    }

    /// Moves a window that starts before the file, is empty or is too large to the nearest valid one.
    fn repair(&self, args: &mut serde_json::Value) {
        for (name, most) in [("offset", u64::MAX), ("column", u64::MAX), ("limit", MAX_LINES as u64)] {
            if let Some(value) = args.get_mut(name)
                && let Some(number) = value.as_u64()
            {
                *value = number.clamp(1, most).into();
            }
        }
    }

    fn touches(&self, args: &serde_json::Value, cwd: &Path) -> Option<Access> {
        args::partial(args, "path").map(|path| Access::read(paths::find(cwd, path)))
    }

    async fn prepare(&self, args: ReadArgs, context: ToolContext) -> Result<PreparedCall<'_>, ToolError> {
        let ReadArgs { path, offset, limit, column } = args;
        // The rest of a long line is one page.
        let limit = if column.is_some() { Some(1) } else { limit };
        let access = Access::read(paths::find(&context.cwd, &path));
        Ok(PreparedCall::new(access, move |_| async move {
            let task = FileTask::begin(path, context).await?;
            task.on_thread(OnAbort::Leave, move |task| {
                read(task, offset, limit, column.map_or(0, |column| column - 1))
            })
            .await
        }))
    }
}

fn read(
    task: &FileTask,
    offset: Option<u64>,
    limit: Option<u64>,
    passed: u64,
) -> Result<ToolOutput, ToolError> {
    let (mut file, metadata) = paths::open_regular(&task.path, &task.given)?;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::Interrupted => ToolError::aborted(),
        _ => paths::cannot(&task.given, &task.path, "read", &error),
    };
    let mut start = Vec::new();
    (&mut file).take(WHOLE + 1).read_to_end(&mut start).map_err(failed)?;
    let whole = start.len() as u64 <= WHOLE;
    if let Some(format) = picture::format(&start) {
        let bytes = rest_of(task, start, &mut file, &metadata).map_err(failed)?;
        let images = task.context.limits.images;
        return picture::answer(&task.given, "try bash with `file`", images, format, &bytes, &|| {
            task.check_not_aborted()
        });
    }
    let (start, is_unsaved) = if whole { editor::current(task, start) } else { (start, false) };
    let request = WindowRequest { passed, ..request(task, offset, limit) };
    let (window, mut notes) = match encoding::probe(&start) {
        Probe::Binary => return Err(binary(task, &metadata)),
        Probe::Wide(encoding) => {
            let bytes = rest_of(task, start, &mut file, &metadata).map_err(failed)?;
            see(task, &metadata, Some(&bytes));
            let (text, exact) = encoding::decode(&bytes, encoding);
            let window = LineWindow::cut(text.as_bytes(), &request, &task.wanted).map_err(failed)?;
            let mark =
                if encoding::mark(&bytes, encoding).is_empty() { "" } else { ", with a byte order mark" };
            let mut notes = vec![format!("{}{mark}", decoding_note(encoding, exact))];
            notes.extend(line_ends(text.as_bytes()));
            (window, notes)
        }
        Probe::Narrow => {
            see(task, &metadata, whole.then_some(start.as_slice()));
            narrow_window(task, &start, whole, file, &request).map_err(failed)?
        }
    };
    if is_unsaved {
        notes.push("these lines include changes that the user has not saved yet".into());
    }
    answer(task, &request, limit, window, notes)
}

/// Records the content that the model is about to see.
fn see(task: &FileTask, metadata: &Metadata, content: Option<&[u8]>) {
    task.context.file_versions.record(&task.key, Stamp::from(metadata), content);
}

/// The complete file, for content that cannot be streamed.
fn rest_of(task: &FileTask, mut start: Vec<u8>, file: &mut File, metadata: &Metadata) -> io::Result<Vec<u8>> {
    if metadata.len() > MAX_FILE {
        return Err(io::Error::other(format!(
            "it is {} MB, too large for a file of its kind",
            metadata.len() >> 20
        )));
    }
    if task.check_not_aborted().is_err() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    file.take(MAX_FILE).read_to_end(&mut start)?;
    Ok(start)
}

fn request(task: &FileTask, offset: Option<u64>, limit: Option<u64>) -> WindowRequest {
    let most = task.context.limits.max_lines.min(MAX_LINES);
    let wanted = limit.map_or(most, |limit| usize::try_from(limit).unwrap_or(most).min(most));
    let own_window = limit.is_some_and(|limit| limit <= most as u64);
    WindowRequest {
        first: offset.unwrap_or(1),
        lines: wanted,
        // Leave space for the notes around the lines.
        weight: task.context.limits.file_weight().saturating_sub(512),
        passed: 0,
        line_end: b'\n',
        count: Some(if own_window { GLANCE } else { COUNTING }),
        secrets: task.context.limits.secrets.clone(),
    }
}

fn narrow_window(
    task: &FileTask,
    start: &[u8],
    whole: bool,
    file: File,
    request: &WindowRequest,
) -> io::Result<(LineWindow, Vec<String>)> {
    let mut notes = Vec::new();
    let probe = start.get(..PROBE).unwrap_or(start);
    let old_mac = memchr::memchr(b'\n', start).is_none() && memchr::memchr(b'\r', probe).is_some();
    let request = WindowRequest { line_end: if old_mac { b'\r' } else { b'\n' }, ..request.clone() };
    notes.extend(if old_mac { Some("its lines end in CR only".into()) } else { line_ends(start) });
    let text = start.strip_prefix(encoding::UTF8_BOM);
    if text.is_some() {
        notes.push("it starts with a UTF-8 byte order mark, which is not shown".into());
    }
    let mut window = LineWindow::cut(text.unwrap_or(start).chain(file), &request, &task.wanted)?;
    let shown: Vec<u8> = window.lines.iter().flat_map(|line| line.bytes.iter().copied()).collect();
    // The only non-ASCII text may be far from the start.
    let encoding = encoding::narrow(if whole || !start.is_ascii() { start } else { &shown });
    let broken = std::str::from_utf8(&shown).is_err();
    if encoding != Encoding::Utf8 {
        for line in &mut window.lines {
            line.decode(encoding);
        }
        notes.push(decoding_note(encoding, Exact::Yes));
    } else if broken && window.lines.iter().any(|line| line.is_broken()) {
        notes.push("some bytes are not UTF-8 and are shown as \u{fffd}".into());
    }
    Ok((window, notes))
}

/// The note about line ends other than LF.
fn line_ends(text: &[u8]) -> Option<String> {
    let ends = LineEnds::of(text);
    if !ends.has_cr || ends.prevailing == LineEnd::Cr {
        return None;
    }
    let all = memchr::memchr_iter(b'\n', text).count();
    match memchr::memmem::find_iter(text, b"\r\n").count() {
        0 => None,
        pairs if pairs == all => Some("its lines end in CRLF".into()),
        pairs => Some(format!("its line ends are mixed: CRLF in {pairs} of {all} lines, LF in the others")),
    }
}

fn decoding_note(encoding: Encoding, exact: Exact) -> String {
    let broken = if exact == Exact::No { "; broken characters are shown as \u{fffd}" } else { "" };
    format!("it is not UTF-8; decoded as {}{broken}", encoding.name())
}

fn binary(task: &FileTask, metadata: &Metadata) -> ToolError {
    ToolError::refused(format!(
        "{0} is a binary file ({1}); inspect it with bash: `file {0}` or `xxd {0} | head`",
        task.given,
        pluralize(metadata.len(), "byte")
    ))
}

fn answer(
    task: &FileTask,
    request: &WindowRequest,
    limit: Option<u64>,
    window: LineWindow,
    mut notes: Vec<String>,
) -> Result<ToolOutput, ToolError> {
    let shown = window.lines.len() as u64;
    let total = window.counted;
    if shown == 0 && total == 0 && request.first == 1 {
        let file_path = task.path.display().to_string();
        let facts = LineFacts { file_path, offset: 1, ..LineFacts::default() };
        return Ok(ToolOutput::new(format!("({} is empty)", task.given), Details::Lines(facts)));
    }
    if shown == 0 {
        let lines = pluralize(total, "line");
        return Err(ToolError::refused(format!(
            "offset {} is past the end: {} has {lines}",
            request.first, task.given
        )));
    }
    let mut text = String::new();
    let last = request.first + shown - 1;
    let asked = limit.is_some_and(|limit| limit == shown && limit < MAX_LINES as u64);
    if window.more && !asked {
        text.push_str(&warning(request.first, shown, &window));
    }
    for (line, number) in window.lines.iter().zip(request.first..) {
        text.push_str(&format!("{number:>6}  "));
        text.push_str(&line.text());
        text.push('\n');
    }
    if let Some(line) = window.lines.first().filter(|line| line.passed > 0) {
        notes.insert(0, format!("line {} from byte {} on", request.first, line.passed + 1));
    }
    let cut =
        window.lines.iter().zip(request.first..).find_map(|(line, number)| Some((number, line.next()?)));
    if let Some((number, next)) = cut {
        notes.push(format!("line {number} is cut; its rest: offset {number}, column {}", next + 1));
    }
    if window.more {
        notes.push(format!("more lines follow; continue with offset {}", last + 1));
    }
    for note in notes {
        text.push_str(&format!("[{}: {note}]\n", task.given));
    }
    let facts = LineFacts {
        file_path: task.path.display().to_string(),
        total_lines: total,
        lines_read: shown,
        offset: request.first,
        truncated: window.more,
    };
    Ok(ToolOutput::new(text, Details::Lines(facts)))
}

fn warning(first: u64, shown: u64, window: &LineWindow) -> String {
    let total = window.counted;
    let more = if window.complete { "" } else { "more than " };
    let which = if first == 1 { format!("first {shown}") } else { format!("{shown} from line {first} on") };
    format!(
        "WARNING: File has {more}{total} lines, showing {which}. Use offset and limit parameters to read more.\n\n"
    )
}
