//! The command line: what can be said on it, and which front end it asks for.
//!
//! Nothing is decided here but the front end; names of models and sessions are looked up where
//! the program is composed. Help is kept to two screens of 80x24, which a test counts.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Parser, ValueEnum};

use super::exit::Exit;
use super::rpc::state::RpcEvents;
use crate::agent::protocol::model::{Api, ThinkingLevel};
use crate::agent::secrets::Secret;
use crate::agent::session::is_session_id;

const HELP: &str = "\
{about}

Usage: tau [OPTIONS] [PROMPT]...      (@FILE adds a file or a picture)
       tau models | auth | export | completions SHELL | man   (--help says more)

{all-args}{after-help}";

/// The arguments.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau", version, about = "A coding agent in your terminal", help_template = HELP)]
#[command(after_help = exit_codes(), disable_help_flag = true, disable_version_flag = true)]
#[command(args_override_self = true)]
pub struct Args {
    /// Prompts, sent one after the other; `@path` adds that file to the first.
    #[arg(value_name = "PROMPT", hide = true)]
    pub prompts: Vec<String>,

    /// Print the answer and end; no screen
    #[arg(short, long, help_heading = "Front end")]
    pub print: bool,
    /// text, json (a line an event; --json too) or rpc
    #[arg(long, value_enum, value_name = "MODE", help_heading = "Front end", hide_possible_values = true)]
    pub mode: Option<Mode>,
    /// The same as --mode json
    #[arg(long, hide = true, conflicts_with = "mode")]
    pub json: bool,
    /// Who gets the older RPC events: auto, plain, all
    #[arg(long, value_enum, value_name = "WHO", default_value_t, help_heading = "Front end", hide = true)]
    pub rpc_events: RpcEvents,
    /// Also write the last answer to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Front end")]
    pub output: Option<PathBuf>,
    /// Stop a prompt after N model answers
    #[arg(long, value_name = "N", help_heading = "Front end", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// Stop a prompt that has cost USD dollars
    #[arg(long, value_name = "USD", help_heading = "Front end", value_parser = dollars_parser)]
    pub max_cost: Option<f64>,
    /// Stop everything after SECS seconds
    #[arg(long, value_name = "SECS", help_heading = "Front end", value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: Option<u64>,

    /// id, provider/id or part; demo needs no key
    #[arg(long, value_name = "MODEL", help_heading = "Model")]
    pub model: Option<String>,
    /// Provider; with --base-url, any name
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub provider: Option<String>,
    /// Wire format; clap would join the lines of a comment.
    #[arg(help = "openai-completions, openai-responses,\nanthropic-messages, google-generative-ai")]
    #[arg(long, value_name = "API", value_parser = api_parser(), help_heading = "Model", hide_possible_values = true)]
    pub api: Option<Api>,
    /// Such as http://localhost:8080/v1
    #[arg(long, value_name = "URL", help_heading = "Model")]
    pub base_url: Option<String>,
    /// Key: literal, $NAME or !command
    #[arg(long, value_name = "KEY", value_parser = secret_parser, help_heading = "Model")]
    pub api_key: Option<Secret>,
    /// off, minimal, low, medium, high, xhigh, max
    #[arg(long, value_name = "LEVEL", value_parser = thinking_parser(), help_heading = "Model", hide_possible_values = true)]
    pub thinking: Option<ThinkingLevel>,
    /// Replace the system prompt (@FILE reads it)
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    pub system_prompt: Option<String>,
    /// Add to the system prompt (@FILE reads it)
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    pub append_system_prompt: Vec<String>,
    // Its help is made from the table of tools.
    #[arg(
        long,
        help = crate::tools::toolbox::help(),
        value_name = "A,B",
        value_delimiter = ',',
        help_heading = "Model",
        conflicts_with = "no_tools"
    )]
    pub tools: Option<Vec<String>>,
    /// No tools
    #[arg(long, help_heading = "Model")]
    pub no_tools: bool,

    /// Go on with this directory's last session
    #[arg(short, long = "continue", help_heading = "Session", conflicts_with_all = ["resume", "session", "no_session"])]
    pub continue_last: bool,
    /// Choose a session to go on with
    #[arg(short, long, help_heading = "Session", conflicts_with_all = ["session", "no_session"])]
    pub resume: bool,
    /// Go on with this one; --session-id ID may begin it
    #[arg(long, value_name = "ID|PATH", help_heading = "Session", conflicts_with = "no_session")]
    pub session: Option<String>,
    /// Go on in a copy of this one, here
    #[arg(long, value_name = "ID|PATH", help_heading = "Session", conflicts_with_all = ["no_session", "session", "resume", "continue_last"])]
    pub fork: Option<String>,
    /// Go on with the session of this id, or begin it
    #[arg(long, value_name = "ID", help_heading = "Session", hide = true, value_parser = session_id_parser, conflicts_with_all = ["session", "resume", "continue_last"])]
    pub session_id: Option<String>,
    /// Write to a session whose tau died holding it
    #[arg(long, help_heading = "Session", hide = true)]
    pub take_over: bool,
    /// Folder of the session files
    #[arg(long, value_name = "DIR", help_heading = "Session")]
    pub session_dir: Option<PathBuf>,
    /// Keep this session in memory only
    #[arg(long, help_heading = "Session")]
    pub no_session: bool,
    /// Name the session
    #[arg(long, value_name = "NAME", help_heading = "Session")]
    pub name: Option<String>,

    /// Work in DIR
    #[arg(short = 'C', long, value_name = "DIR", help_heading = "Other")]
    pub cwd: Option<PathBuf>,
    /// Do not read AGENTS.md and the like
    #[arg(long, help_heading = "Other")]
    pub no_context_files: bool,
    /// Use the settings in .tau/ of this folder
    #[arg(long, help_heading = "Other")]
    pub trust: bool,
    /// dark, light, high-contrast, or a file
    #[arg(long, value_name = "THEME", help_heading = "Other")]
    pub theme: Option<String>,
    /// Record what the screen is told; --replay shows it
    #[arg(long, value_name = "FILE", help_heading = "Other")]
    pub record: Option<PathBuf>,
    /// Fold a recording, print its last screen
    #[arg(long, hide = true, value_name = "FILE", conflicts_with = "record")]
    pub replay: Option<PathBuf>,
    /// Log to a file (TAU_LOG=filter does as well)
    #[arg(long, help_heading = "Other")]
    pub verbose: bool,
    /// This page
    #[arg(short, long, help_heading = "Other", action = clap::ArgAction::HelpShort)]
    pub help: Option<bool>,
    /// The version
    #[arg(short = 'V', long, help_heading = "Other", action = clap::ArgAction::Version)]
    pub version: Option<bool>,
}

/// What is written on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// The final answer, as text.
    Text,
    /// Every event, a line each.
    Json,
    /// A conversation of commands and events, a line each.
    Rpc,
}

/// A front end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Front {
    /// The full screen.
    Screen,
    /// [`super::print`].
    Print,
    /// Events as lines.
    Json,
    /// Commands and events as lines.
    Rpc,
}

/// Which of the standard streams are terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminals {
    pub stdin: bool,
    pub stdout: bool,
}

impl Terminals {
    /// As the program was started.
    pub fn here() -> Self {
        use std::io::IsTerminal;
        Terminals { stdin: std::io::stdin().is_terminal(), stdout: std::io::stdout().is_terminal() }
    }
}

impl Args {
    /// No arguments at all.
    pub fn none() -> Self {
        Args::parse_from(["tau"])
    }

    /// Reads the arguments, the program's name first.
    ///
    /// # Errors
    /// What clap wants printed: an error, the help page or the version. [`refuse`] prints it.
    pub fn read<I, T>(arguments: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator<Item = T>,
        T: Into<std::ffi::OsString> + Clone,
    {
        let args = Args::try_parse_from(arguments)?;
        if args.resume && (args.print || args.json || args.mode.is_some()) {
            let text = "--resume shows a list on the screen; use --continue or --session with --print";
            return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, format!("{text}\n")));
        }
        Ok(args)
    }

    /// The front end that is asked for. Without a terminal at either end there is no screen.
    pub fn front(&self, terminals: Terminals) -> Front {
        match self.mode {
            Some(Mode::Rpc) => Front::Rpc,
            Some(Mode::Json) => Front::Json,
            _ if self.json => Front::Json,
            Some(Mode::Text) => Front::Print,
            None if self.print || !terminals.stdin || !terminals.stdout => Front::Print,
            None => Front::Screen,
        }
    }
}

/// Prints what [`Args::read`] refused with, and says how the program ends.
pub fn refuse(error: &clap::Error) -> Exit {
    // Nothing is left to be told when not even this can be written.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Ok }
}

/// A command that is not a conversation. It is one only as the first word, exactly written;
/// everywhere else, and after `--`, the same word is a prompt.
#[derive(Clone, Debug)]
pub enum Command {
    /// `tau models`.
    Models(super::models::ModelsArgs),
    /// `tau auth`.
    Auth(super::auth::AuthArgs),
    /// `tau completions`.
    Completions(super::man_pages::CompletionsArgs),
    /// `tau man`.
    Man(super::man_pages::ManArgs),
    /// `tau export`.
    Export(super::export::ExportArgs),
}

impl Command {
    /// The command in the arguments, the program's name first; none when they are a conversation.
    ///
    /// # Errors
    /// As [`Args::read`].
    pub fn read(arguments: &[std::ffi::OsString]) -> Result<Option<Self>, clap::Error> {
        let rest = arguments.iter().skip(1);
        match arguments.get(1).and_then(|word| word.to_str()) {
            Some("models") => super::models::ModelsArgs::try_parse_from(rest).map(Command::Models).map(Some),
            Some("export") => super::export::ExportArgs::try_parse_from(rest).map(Command::Export).map(Some),
            Some("auth") => super::auth::AuthArgs::try_parse_from(rest).map(Command::Auth).map(Some),
            Some("completions") => {
                super::man_pages::CompletionsArgs::try_parse_from(rest).map(Command::Completions).map(Some)
            }
            Some("man") => super::man_pages::ManArgs::try_parse_from(rest).map(Command::Man).map(Some),
            _ => Ok(None),
        }
    }
}

fn exit_codes() -> String {
    let mut text = "Exit codes:".to_owned();
    let mut column = text.len();
    for (code, meaning) in Exit::rows() {
        let entry = format!(" {code} {meaning},");
        if column + entry.len() > 78 {
            text.push_str("\n           ");
            column = 11;
        }
        column += entry.len();
        text.push_str(&entry);
    }
    text.pop();
    text
}

fn api_parser() -> impl TypedValueParser<Value = Api> {
    PossibleValuesParser::new(Api::NAMES.map(|(name, _)| name))
        .map(|name| Api::named(&name).unwrap_or_default())
}

fn thinking_parser() -> impl TypedValueParser<Value = ThinkingLevel> {
    PossibleValuesParser::new(ThinkingLevel::ALL.map(ThinkingLevel::name))
        .map(|name| ThinkingLevel::named(&name).unwrap_or_default())
}

fn dollars_parser(value: &str) -> Result<f64, String> {
    match value.trim_start_matches('$').parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars > 0.0 => Ok(dollars),
        _ => Err("an amount of US dollars above 0, such as 0.5".into()),
    }
}

fn session_id_parser(value: &str) -> Result<String, String> {
    if is_session_id(value) {
        Ok(value.to_owned())
    } else {
        Err("letters, digits, `.`, `_` and `-`, at most 128, a letter or digit at both ends".to_owned())
    }
}

fn secret_parser(value: &str) -> Result<Secret, std::convert::Infallible> {
    Ok(Secret::new(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn read(line: &str) -> Result<Args, clap::Error> {
        Args::read(std::iter::once("tau").chain(line.split_whitespace()))
    }

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn help_fits_two_screens_and_documents_the_exit_codes() {
        let help = Args::command().render_help().to_string();
        let lines: Vec<&str> = help.lines().collect();
        assert!(lines.len() <= 2 * 24, "{} lines:\n{help}", lines.len());
        for line in &lines {
            assert!(line.chars().count() <= 80, "too wide: {line}");
        }
        for (code, meaning) in Exit::rows() {
            assert!(help.contains(&format!("{code} {meaning}")), "{meaning} is missing:\n{help}");
        }
        for flag in ["--print", "--base-url", "--continue", "--cwd", "--help", "-V, --version"] {
            assert!(help.contains(flag), "{flag} is missing:\n{help}");
        }
    }

    #[test]
    fn mistakes_say_what_was_meant() {
        let cases = [
            ("--modle x", "--model"),
            ("--contineu", "--continue"),
            ("--thinking hgih", "high"),
            ("--api openai", "openai-completions"),
            ("--max-turns 0", "1.."),
            ("--max-cost free", "US dollars"),
            ("--max-cost 0", "above 0"),
            ("--continue --session x", "cannot be used with"),
            ("--resume --print hi", "--continue or --session"),
            ("--session-id x-", "a letter or digit at both ends"),
            ("--fork x --continue", "cannot be used with"),
            ("--model", "a value is required"),
        ];
        for (line, hint) in cases {
            let error = read(line).expect_err(line).to_string();
            assert!(error.contains(hint), "{line}: {error}");
        }
    }

    #[test]
    fn the_front_end_follows_flags_and_terminals() {
        let cases = [
            ("", true, true, Front::Screen),
            ("hello", true, true, Front::Screen),
            ("hello", false, true, Front::Print),
            ("hello", true, false, Front::Print),
            ("-p hello", true, true, Front::Print),
            ("--mode text hello", true, true, Front::Print),
            ("--json hello", true, true, Front::Json),
            ("-p --mode json hello", true, true, Front::Json),
            ("--mode rpc", false, false, Front::Rpc),
        ];
        for (line, stdin, stdout, front) in cases {
            let args = read(line).unwrap();
            assert_eq!(args.front(Terminals { stdin, stdout }), front, "{line}");
        }
    }

    #[test]
    fn a_command_is_the_first_word_and_nothing_else() {
        let cases = [
            ("tau models", "Models"),
            ("tau models --refresh claude opus", "Models"),
            ("tau auth", "Auth"),
            ("tau auth check", "Auth"),
            ("tau completions fish", "Completions"),
            ("tau man", "Man"),
            ("tau mankind", ""),
            ("tau export 0199 x.md", "Export"),
            ("tau -p export x", ""),
            ("tau -- models", ""),
            ("tau -p models", ""),
            ("tau Models", ""),
            ("tau modelsx", ""),
            ("tau", ""),
        ];
        for (line, expected) in cases {
            let arguments: Vec<std::ffi::OsString> = line.split(' ').map(Into::into).collect();
            let command = Command::read(&arguments).unwrap();
            let name = command.map(|command| format!("{command:?}")).unwrap_or_default();
            assert!(name.starts_with(expected) && name.is_empty() == expected.is_empty(), "{line}: {name}");
        }
        assert_eq!(read("-- models").unwrap().prompts, ["models"]);
    }

    #[test]
    fn values_are_read() {
        let args = read("--tools read,bash --api anthropic-messages --thinking high -C /tmp a b").unwrap();
        assert_eq!(args.tools.as_deref(), Some(&["read".to_owned(), "bash".to_owned()][..]));
        assert_eq!(args.api, Some(Api::AnthropicMessages));
        assert_eq!(args.thinking, Some(ThinkingLevel::High));
        assert_eq!(args.cwd.as_deref(), Some(std::path::Path::new("/tmp")));
        assert_eq!(args.prompts, ["a", "b"]);
        let args = read("-p -- --not-a-flag").unwrap();
        assert_eq!(args.prompts, ["--not-a-flag"]);
    }

    #[test]
    fn a_key_is_not_shown() {
        let args = read("--api-key sk-secret-0123456789").unwrap();
        assert!(!format!("{args:?}").contains("0123456789"));
    }
}
