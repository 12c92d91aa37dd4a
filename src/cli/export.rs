//! `tau export` and `/export`: a session as a file to hand on.
//!
//! The session is looked at, not opened for writing, so this works while another tau has it.

use std::path::{Path, PathBuf};

use clap::Parser;

use super::args::Args;
use super::exit::Exit;
use super::known::{BadFile, Known, Refusal};
use super::tui::terminal::plain;
use super::{fail, say, sessions};
use crate::agent::export::{Format, document, own_secrets};
use crate::agent::files::replace;
use crate::agent::session::{Access, Session};
use crate::agent::settings::auth::Keys;

const AFTER: &str = "The ending of FILE says what is written: .html (the default), .md or .jsonl; - is\n\
    standard output. Keys of known shapes and values of variables whose names say that\n\
    they are secret are masked; how many is printed. Look through it before you hand it on.\n\n\
    Exit codes: 0 done, 2 usage, 3 no such session, or a file that cannot be written\n\
    `tau -- export` sends the word as a prompt.";

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
    /// Folder of the session files
    #[arg(long, value_name = "DIR")]
    pub session_dir: Option<PathBuf>,
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
    if args.file.as_deref() == Some(Path::new("-")) {
        let session = Session::open_as(&session, Access::Read).map_err(Refusal::config)?;
        let document = document(&session, Format::Html, &secrets);
        say(&document.text);
        return Ok(told(document.masked, "standard output"));
    }
    let (file, masked) = write(&session, args.file.as_deref(), Path::new("."), &secrets).map_err(|text| {
        let exit = if text.starts_with("the ending") { Exit::Usage } else { Exit::Config };
        Refusal { exit, text }
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

/// Writes a session to `file`, or to one named after it in `dir`; where it is then, and how many
/// secrets were masked.
///
/// # Errors
/// A sentence that says what to do.
pub(in crate::cli) fn write(
    session: &Path,
    file: Option<&Path>,
    dir: &Path,
    secrets: &[String],
) -> Result<(PathBuf, usize), String> {
    let session = Session::open_as(session, Access::Read).map_err(|error| error.to_string())?;
    let file = match file {
        Some(file) => dir.join(file),
        None => dir.join(format!("tau-session-{}.{}", session.info().id, Format::Html.ending())),
    };
    let format = Format::of(&file).ok_or("the ending of the file must be .html, .md or .jsonl")?;
    let document = document(&session, format, secrets);
    replace(&file, document.text.as_bytes()).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok((file, document.masked))
}
