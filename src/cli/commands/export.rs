//! `tau export` and `/export`: a session as a file to share.
//!
//! The session is read, not opened for writing, so this works while another tau uses it.

use std::borrow::Cow;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use crate::args::export::ExportArgs;
use crate::compose::environment::Environment;
use crate::compose::session_lookup::{self, places};
use crate::process::exit::{Exit, Refusal, say, warn};
use crate::process::plain;
use tau_agent::catalogue::keys::Keys;
use tau_agent::export::agents::ForeignSession;
use tau_agent::export::{Document, Format, coloured_document, file_stem, is_document, own_secrets};
use tau_agent::session::foreign::sniff::sniff;
use tau_agent::session::{Access, Session};
use tau_agent::settings::private_files::{create_private, write_private};
use tau_protocol::event::NoticeLevel;
use tau_protocol::query::SessionSource;
use tau_protocol::session_row::SessionOrigin;
use tau_tools::counted::pluralize;
use tau_tools::paths::{reason, resolve_path};
use tau_tools::regular_files::open_regular;
use tau_tools::user_error::UserError;
use tau_view::highlight::Highlighter;
use tau_view::theme::ThemeToken;

/// Start of the error about a file whose name does not select a format.
const UNKNOWN: &str = "unknown format: the file must end in .html, .md or .jsonl";

/// The number of bytes of a file that tell whether it is an export.
const LOOKED_AT: u64 = 8_192;

/// Runs the command; returns the program's end.
pub fn run(args: &ExportArgs) -> Result<Exit, Refusal> {
    let environment = Environment::of_sessions(args.session_dir.as_deref())?;
    let root = environment.settings.session_root(&environment.paths);
    let (session, _) = session_lookup::find(&root, &args.session)?;
    let secrets = secrets(&environment.keys);
    let source = SessionSource::File(session);
    if let Some(program) = args.to {
        return write_for(program, &source, args.file.as_deref(), &root, &secrets);
    }
    if args.file.as_deref() == Some(Path::new("-")) {
        let session = read(&source).map_err(|text| Refusal { exit: Exit::Config, text: text.into() })?;
        let document = render_document(&session, args.format.unwrap_or_default(), &secrets);
        let exit = say(&on_terminal(&document.text));
        report_masked_secrets(document.masked, "standard output");
        return Ok(exit);
    }
    let place = ExportTarget { file: args.file.as_deref(), dir: Path::new("."), format: args.format };
    let (file, masked) =
        write(&source, &place, &secrets).map_err(|text| match text.starts_with(UNKNOWN) {
            true => Refusal { exit: Exit::Usage, text: format!("{text}; or choose one with --format") },
            false => Refusal { exit: Exit::Config, text: text.into() },
        })?;
    report_masked_secrets(masked, "the file");
    Ok(say(&format!("{}\n", plain::line(&file.display().to_string()))))
}

/// Writes a session for another agent.
fn write_for(
    program: SessionOrigin,
    source: &SessionSource,
    file: Option<&Path>,
    root: &Path,
    secrets: &[String],
) -> Result<Exit, Refusal> {
    let mut session = read(source).map_err(Refusal::config)?;
    // Of another agent's session, something may not have been read.
    for (level, note) in session.take_notes() {
        if level == NoticeLevel::Warning {
            warn(&plain::line(&note));
        }
    }
    let written = ForeignSession::of(&session, program, secrets)
        .ok_or_else(|| Refusal::usage(format!("{} cannot be given sessions", program.program())))?;
    let cwd = &session.info().cwd;
    let left_out = written.left_out.iter().map(|(what, count)| pluralize(*count as u64, what));
    let left_out = left_out.collect::<Vec<_>>().join(", ");
    if !left_out.is_empty() {
        warn(&format!("not carried over to {}: {left_out}", program.program()));
    }
    if file == Some(Path::new("-")) {
        report_masked_secrets(written.masked, "standard output");
        return Ok(say(&on_terminal(&written.text)));
    }
    let place = match file {
        Some(file) => file.to_owned(),
        None => written.file(&places(root), cwd).ok_or_else(|| {
            Refusal::config(format!(
                "where {} keeps sessions of {} is not known: it was never used here, or the path is too long; name \
                 the file: tau export --to {} SESSION FILE",
                program.program(),
                plain::line(&cwd.display().to_string()),
                program.name(),
            ))
        })?,
    };
    create_private(&place, written.text.as_bytes())
        .map_err(|error| Refusal::config(format!("cannot write {}: {}", place.display(), reason(&error))))?;
    report_masked_secrets(written.masked, "the file");
    if file.is_none() {
        let command = match program {
            SessionOrigin::Claude => format!("claude --resume {}", written.id),
            SessionOrigin::Codex => format!("codex resume {}", written.id),
            _ => format!("{} --session {}", program.name(), written.id),
        };
        warn(&format!("to continue there: {command}   (in {})", plain::line(&cwd.display().to_string())));
    }
    Ok(say(&format!("{}\n", plain::line(&place.display().to_string()))))
}

/// The text without what would control a terminal, if standard output is one.
fn on_terminal(text: &str) -> Cow<'_, str> {
    match std::io::stdout().is_terminal() {
        true => Cow::Owned(plain::text(text)),
        false => Cow::Borrowed(text),
    }
}

pub(crate) fn report_masked_secrets(masked: usize, place: &str) {
    match masked {
        0 => {}
        1 => warn(&format!("masked 1 secret in {place}")),
        _ => warn(&format!("masked {masked} secrets in {place}")),
    }
}

/// The secrets that must not be shared: the user's keys, and variables with secret-looking names.
pub(crate) fn secrets(keys: &Keys) -> Vec<String> {
    let keys = keys.secret_values().into_iter().map(|key| key.expose().to_owned());
    keys.chain(own_secrets()).collect()
}

/// The file for a session, and its format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExportTarget<'a> {
    /// The file; `None` for a name from the day and the title of the session.
    pub file: Option<&'a Path>,
    /// Its directory, unless it names another.
    pub dir: &'a Path,
    /// `None` when the extension of the file selects it.
    pub format: Option<Format>,
}

impl<'a> ExportTarget<'a> {
    /// A target whose extension selects the format.
    pub(crate) fn for_file(file: Option<&'a Path>, dir: &'a Path) -> Self {
        ExportTarget { file, dir, format: None }
    }
}

/// The session as a document, with the screen's colours of code.
fn render_document(session: &Session, format: Format, secrets: &[String]) -> Document {
    let mut highlighter = Highlighter::default();
    let mut classes = |language: &str, text: &str| {
        let named = |(range, token): (std::ops::Range<usize>, ThemeToken)| (range, token.name());
        let lines = highlighter.highlight(language, text).into_iter();
        lines.map(|line| line.into_iter().map(named).collect()).collect()
    };
    coloured_document(session, format, secrets, &mut classes)
}

/// The whole session, read only; that of another agent as it is. Fails when it cannot be read.
pub(crate) fn read(source: &SessionSource) -> Result<Session, UserError> {
    let session = match source {
        SessionSource::File(path) => match sniff(path) {
            Some(origin) => Session::original(path, origin),
            None => Session::open_as(path, Access::Read),
        },
        SessionSource::Lines(lines) => Session::from_lines(lines),
    };
    session.map_err(|error| error.to_string().into())
}

/// A session as a document, and a name for its file without the ending. Fails when it cannot be read.
pub(crate) fn text(
    source: &SessionSource,
    format: Format,
    secrets: &[String],
) -> Result<(String, String), UserError> {
    let session = read(source)?;
    Ok((render_document(&session, format, secrets).text, file_stem(&session, secrets)))
}

/// Whether a file has text that no export wrote.
fn is_of_user(file: &Path) -> bool {
    let mut start = Vec::new();
    let read = |file: std::fs::File| file.take(LOOKED_AT).read_to_end(&mut start);
    let is_read = open_regular(file).and_then(read).is_ok();
    is_read && !start.is_empty() && !is_document(&String::from_utf8_lossy(&start))
}

/// Writes a session; returns its path, and the number of masked secrets.
pub(crate) fn write(
    source: &SessionSource,
    place: &ExportTarget<'_>,
    secrets: &[String],
) -> Result<(PathBuf, usize), UserError> {
    let session = read(source)?;
    let file = match place.file {
        Some(file) => resolve_path(place.dir, file),
        None => {
            let ending = place.format.unwrap_or_default().ending();
            let stem = file_stem(&session, secrets);
            let usual = place.dir.join(format!("{stem}.{ending}"));
            // Another session of that day may have the same title.
            let id: String = session.info().id.chars().filter(char::is_ascii_alphanumeric).collect();
            let id = id.get(id.len().saturating_sub(6)..).unwrap_or_default();
            if usual.exists() { place.dir.join(format!("{stem}-{id}.{ending}")) } else { usual }
        }
    };
    let format = place.format.or_else(|| Format::of(&file)).ok_or(UNKNOWN)?;
    let document = render_document(&session, format, secrets);
    save(&file, document.text.as_bytes(), file_of(source))?;
    Ok((file, document.masked))
}

/// The file of a session, if it has one.
pub(crate) fn file_of(source: &SessionSource) -> Option<&Path> {
    match source {
        SessionSource::File(path) => Some(path),
        SessionSource::Lines(_) => None,
    }
}

/// Writes a document. Fails when the file is that of the session, or has text that no export wrote.
pub(crate) fn save(file: &Path, text: &[u8], of_session: Option<&Path>) -> Result<(), UserError> {
    if of_session
        .and_then(|path| path.canonicalize().ok())
        .is_some_and(|path| file.canonicalize().ok() == Some(path))
    {
        return Err(format!(
            "not overwriting {}: it is the session itself; name another file",
            file.display()
        )
        .into());
    }
    if is_of_user(file) {
        let text =
            format!("not overwriting {}: it is not an exported session; name another file", file.display());
        return Err(text.into());
    }
    write_private(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()).into())
}
