//! `tau export` and `/export`: a session as a file to hand on.
//!
//! The session is looked at, not opened for writing, so this works while another tau has it.

use std::path::{Path, PathBuf};

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::args::Args;
use super::environment::{BadFile, Known, Refusal};
use super::exit::Exit;
use super::tui::terminal::plain;
use super::{fail, say, sessions};
use crate::agent::export::{Format, document, own_secrets};
use crate::agent::protocol::query::SessionSource;
use crate::agent::session::{Access, Session};
use crate::agent::settings::auth::Keys;
use crate::agent::settings::private_files::write_private;

const AFTER: &str = "The ending of FILE says what is written: .html (the default), .md or .jsonl, unless\n\
    --format does; - is standard output. Keys of known shapes and values of variables whose names say that\n\
    they are secret are masked; how many is printed. Look through it before you hand it on.\n\n\
    Exit codes: 0 done, 2 usage, 3 no such session, or a file that cannot be written\n\
    `tau -- export` sends the word as a prompt.";

/// Begins the error about a file whose name does not say what it is to hold.
const UNKNOWN: &str = "the ending of the file must be .html, .md or .jsonl";

/// The arguments of `tau export`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau export", about = "A session as a page, as markdown, or as its lines", after_help = AFTER)]
pub struct ExportArgs {
    /// Id, the beginning of one, or a path
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// Where to; beside you, named after the session, when not given
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// What is written, whatever the ending of FILE
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub format: Option<Format>,
    /// Folder of the session files
    #[arg(long, value_name = "DIR")]
    pub session_dir: Option<PathBuf>,
}

fn formats() -> impl TypedValueParser<Value = Format> {
    let format = |name: String| Format::named(&name).ok_or("not a format");
    PossibleValuesParser::new([Format::Html, Format::Markdown, Format::Jsonl].map(Format::ending))
        .try_map(format)
}

/// Runs the command; how the program ends.
pub fn run(args: &ExportArgs) -> Exit {
    match work(args) {
        Ok(exit) => exit,
        Err(refusal) => fail(refusal.exit, &refusal.text),
    }
}

fn work(args: &ExportArgs) -> Result<Exit, Refusal> {
    let flags = Args { session_dir: args.session_dir.clone(), ..Args::none() };
    let known = Known::read(&flags, BadFile::Refuse)?;
    let root = known.settings.session_root(&known.paths);
    let session = sessions::file_of(&root, &args.session)?;
    let secrets = secrets(&known.keys);
    let source = SessionSource::File(session);
    if args.file.as_deref() == Some(Path::new("-")) {
        let session = read(&source).map_err(|text| Refusal { exit: Exit::Config, text })?;
        let document = document(&session, args.format.unwrap_or_default(), &secrets);
        say(&document.text);
        return Ok(told(document.masked, "standard output"));
    }
    let place = Place { file: args.file.as_deref(), dir: Path::new("."), format: args.format };
    let (file, masked) =
        write(&source, &place, &secrets).map_err(|text| match text.starts_with(UNKNOWN) {
            true => Refusal { exit: Exit::Usage, text: format!("{text}, or --format says which") },
            false => Refusal { exit: Exit::Config, text },
        })?;
    say(&format!("{}\n", plain(&file.display().to_string())));
    Ok(told(masked, "the file"))
}

fn told(masked: usize, place: &str) -> Exit {
    if masked > 0 {
        fail(Exit::Ok, &format!("{masked} secrets were masked in {place}"));
    }
    Exit::Ok
}

/// What must not be handed on: the person's keys, and variables whose names say so.
pub(in crate::cli) fn secrets(keys: &Keys) -> Vec<String> {
    let keys = keys.known_values().into_iter().map(|key| key.expose().to_owned());
    keys.chain(own_secrets()).collect()
}

/// Where a session is written to, and as what.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Place<'a> {
    /// The file; none for one that is named after the session.
    pub file: Option<&'a Path>,
    /// The folder that it is in, unless it names another.
    pub dir: &'a Path,
    /// None when the ending of the file says it.
    pub format: Option<Format>,
}

impl<'a> Place<'a> {
    /// A place whose name says the format.
    pub(in crate::cli) fn named(file: Option<&'a Path>, dir: &'a Path) -> Self {
        Place { file, dir, format: None }
    }
}

fn read(source: &SessionSource) -> Result<Session, String> {
    let session = match source {
        SessionSource::File(path) => Session::open_as(path, Access::Read),
        SessionSource::Lines(lines) => Session::from_lines(lines),
    };
    session.map_err(|error| error.to_string())
}

/// Writes a session; where it is then, and how many secrets were masked.
///
/// # Errors
/// A sentence that says what to do.
pub(in crate::cli) fn write(
    source: &SessionSource,
    place: &Place<'_>,
    secrets: &[String],
) -> Result<(PathBuf, usize), String> {
    let session = read(source)?;
    let file = match place.file {
        Some(file) => place.dir.join(file),
        None => {
            let ending = place.format.unwrap_or_default().ending();
            place.dir.join(format!("tau-session-{}.{ending}", session.info().id))
        }
    };
    let format = place.format.or_else(|| Format::of(&file)).ok_or(UNKNOWN)?;
    if let SessionSource::File(path) = source
        && path.canonicalize().ok().is_some_and(|path| file.canonicalize().ok() == Some(path))
    {
        return Err(format!("{} is the session itself: name another file", file.display()));
    }
    let document = document(&session, format, secrets);
    write_private(&file, document.text.as_bytes()).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok((file, document.masked))
}
