//! The arguments of `tau export`.

use std::path::PathBuf;

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use tau_agent::export::Format;
use tau_protocol::session_row::SessionOrigin;

const AFTER: &str = "\
The extension of FILE selects the format: .html (the default), .md or .jsonl; --format overrides
it. - writes to standard output. Keys of known shapes, and the values of variables whose names
mark them as secret, are masked. Read the file before you share it.

--to continues a session elsewhere: it writes the conversation in that agent's format, says what the
format cannot hold, and how to open it there. The session itself stays as it is.

Exit codes: 0 done, 1 the output could not be written, 2 usage, 3 no such session, or a file that
cannot be read or written
To send the word as a prompt: tau -- export";

/// The arguments of `tau export`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau export", bin_name = "tau export", about = "Export a session as HTML, Markdown or JSONL", after_help = AFTER)]
pub struct ExportArgs {
    /// An id, its beginning or last digits, or a path
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// The file to write; by default one named after the session, here
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Write it for another agent, where that finds it or to FILE: claude, codex or pi
    #[arg(long, value_name = "AGENT", value_parser = agents(), conflicts_with = "format")]
    pub to: Option<SessionOrigin>,
    /// The format, whatever the extension of FILE
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub format: Option<Format>,
    /// Directory of the session files
    #[arg(long, value_name = "DIR", value_parser = super::folder())]
    pub session_dir: Option<PathBuf>,
}

fn agents() -> impl TypedValueParser<Value = SessionOrigin> {
    let agents = [SessionOrigin::Claude, SessionOrigin::Codex, SessionOrigin::Pi];
    let agent =
        move |name: String| agents.into_iter().find(|agent| agent.name() == name).ok_or("no such agent");
    PossibleValuesParser::new(agents.map(SessionOrigin::name)).try_map(agent)
}

fn formats() -> impl TypedValueParser<Value = Format> {
    let format = |name: String| Format::from_name(&name).ok_or("not a format");
    PossibleValuesParser::new([Format::Html, Format::Markdown, Format::Jsonl].map(Format::ending))
        .try_map(format)
}
