//! The command line: its flags, its subcommands, and the front end it selects.
//!
//! Only the definition is here, one file for each subcommand; names of models and sessions are looked up in
//! `compose`. The page of `-h` fits one screen of 80x24, the one of `--help` names everything; a test holds
//! both.

pub(crate) mod acp;
pub mod attach;
pub mod attempts;
pub mod auth;
pub mod batch;
pub(crate) mod command_words;
pub mod doctor;
pub mod export;
pub(crate) mod extensions;
pub mod front_end;
pub(crate) mod generate;
pub mod import;
mod listen;
pub(crate) mod live;
pub mod login;
pub mod mcp;
pub mod mcp_serve;
pub mod models;
pub mod packages;
pub(crate) mod permissions;
pub mod proxy;
pub(crate) mod sandbox;
pub mod serve;
pub(crate) mod sessions;
pub(crate) mod setting_flags;
pub(crate) mod subcommand;
pub mod theme;
pub mod tools;
pub mod undo;
pub mod uninstall;
pub mod update;
pub mod worktree;

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{CommandFactory, Parser};

use crate::process::exit::{Exit, fail, say};
use front_end::{FrontEnd, OutputMode, RpcEvents, StandardStreams};
use setting_flags::SettingFlags;
use tau_agent::secrets::Secret;
use tau_agent::session::is_session_id;
use tau_protocol::command::{AgentCommand, SessionCommand};
use tau_protocol::goal::GoalOrder;
use tau_tools::paths::resolve_path;
use tau_tools::user_error::UserError;

const HELP: &str = "\
{about}

Usage: tau [OPTIONS] [PROMPT]...      (@FILE attaches a file or an image)
       tau COMMAND ...                (each has --help)

{before-help}{all-args}{after-help}";

/// The flags on the page of `-h`.
const FIRST_FLAGS: [&str; 10] =
    ["print", "continue", "resume", "session", "model", "thinking", "permission-mode", "mode", "cwd", "help"];

/// The last section of `--help`: the flags of settings that no other section has.
const MORE: &str = "More";

/// The page of `-h`, on one screen: the most important flags.
fn short_help() -> String {
    let names: Vec<String> =
        subcommand::commands().iter().map(|command| command.get_name().to_owned()).collect();
    let mut text = "Commands:".to_owned();
    let mut column = text.len();
    for name in names {
        if column + name.len() + 1 > 78 {
            text.push_str("\n         ");
            column = 9;
        }
        column += name.len() + 1;
        text.push_str(&format!(" {name}"));
    }
    let is_first = |argument: &clap::Arg| argument.get_long().is_some_and(|name| FIRST_FLAGS.contains(&name));
    let command = CliArgs::command().mut_args(|argument| {
        let is_first = is_first(&argument);
        argument.hide(!is_first).help_heading(None::<&str>)
    });
    let command = command.before_help(text).after_help("tau --help names every command and every flag.");
    command.help_template(HELP).render_help().to_string()
}

/// The page of `--help`: every command and every flag.
pub fn long_help() -> String {
    let mut text = "Commands:".to_owned();
    for command in subcommand::commands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("\n  {:<12} {about}", command.get_name()));
    }
    let command = CliArgs::command().mut_args(|argument| {
        let is_prompt = argument.is_positional();
        let argument = argument.hide(is_prompt);
        if argument.get_help_heading().is_none() { argument.help_heading(MORE) } else { argument }
    });
    // The sections are in the order of their first flags.
    let mut arguments: Vec<clap::Arg> = command.get_arguments().cloned().collect();
    arguments.sort_by_key(|argument| argument.get_help_heading() == Some(MORE));
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let page = clap::Command::new("tau").version(env!("CARGO_PKG_VERSION")).about(about);
    let page = page.help_template(HELP).after_help(exit_codes());
    let page = page.disable_help_flag(true).disable_version_flag(true).args(arguments);
    page.before_help(text).render_help().to_string()
}

/// The flags that have no effect without a screen or a reader, so `-b` refuses them.
const NOT_IN_BACKGROUND: [&str; 14] = *tau_tools::words!(
    "print mode json rpc_events helper_events resume no_session output_schema record replay theme \
     animations inline screen_reader"
);

/// The arguments.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau", version, about = "A coding agent in your terminal", help_template = HELP)]
#[command(after_help = exit_codes(), disable_help_flag = true, disable_version_flag = true)]
#[command(args_override_self = true)]
pub struct CliArgs {
    /// Prompts, sent one after another; with a word without quotes among them, all are one; `@path` attaches a file to the first.
    #[arg(value_name = "PROMPT", hide = true)]
    pub prompts: Vec<String>,

    /// Print the answer and exit
    #[arg(short, long, help_heading = "Front end")]
    pub print: bool,
    /// Answer in the background; print the session's id
    #[arg(short, long, help_heading = "Front end", conflicts_with_all = NOT_IN_BACKGROUND)]
    pub background: bool,
    /// text, json (one event per line) or rpc
    #[arg(long, value_enum, value_name = "MODE", help_heading = "Front end", hide_possible_values = true)]
    pub mode: Option<OutputMode>,
    /// Short for --mode json
    #[arg(long, help_heading = "Front end", hide = true, conflicts_with = "mode")]
    pub json: bool,
    /// Older RPC events for: auto, plain, all
    #[arg(long, value_enum, value_name = "WHO", default_value_t, help_heading = "Front end", hide = true)]
    #[arg(hide_possible_values = true)]
    pub rpc_events: RpcEvents,
    /// With --json: also the events of helpers
    #[arg(long, help_heading = "Front end", hide = true)]
    pub helper_events: bool,
    /// Also write the last answer to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Front end")]
    pub output: Option<PathBuf>,
    /// Answer with JSON that is valid against the JSON Schema in FILE
    #[arg(long, value_name = "FILE", help_heading = "Front end", hide = true)]
    pub output_schema: Option<PathBuf>,
    /// Work until the shell command CMD succeeds
    #[arg(long, value_name = "CMD", help_heading = "Front end", value_parser = command_parser)]
    pub until: Option<String>,
    /// With --until: N attempts at once, each in a copy
    #[arg(short = 'n', long, value_name = "N", help_heading = "Front end", value_parser = count_parser::<u32>, allow_negative_numbers = true, requires = "until", conflicts_with_all = ["background", "resume", "continue_last", "session", "session_id", "fork", "no_session", "output", "output_schema"])]
    pub attempts: Option<u32>,
    /// Stop a prompt after N answers of the model
    #[arg(long, value_name = "N", help_heading = "Front end", value_parser = count_parser::<u32>, allow_negative_numbers = true)]
    pub max_turns: Option<u32>,
    /// Stop a prompt once it has cost USD dollars
    #[arg(long, value_name = "USD", help_heading = "Front end", value_parser = dollars_parser, allow_negative_numbers = true)]
    pub max_cost: Option<f64>,
    /// Stop a prompt once it has used N tokens
    #[arg(long, value_name = "N", help_heading = "Front end", value_parser = count_parser::<u64>, allow_negative_numbers = true)]
    pub max_tokens: Option<u64>,
    /// Stop everything after SECS seconds
    #[arg(long, value_name = "SECS", help_heading = "Front end", value_parser = count_parser::<u64>, allow_negative_numbers = true)]
    pub timeout: Option<u64>,
    /// Wait when a quota is used up, also after a restart
    #[arg(long, help_heading = "Front end", hide = true)]
    pub wait_for_quota: bool,

    /// Continue the latest session in this directory
    #[arg(short, long = "continue", help_heading = "Session", conflicts_with_all = ["resume", "session", "no_session"])]
    pub continue_last: bool,
    /// Choose a session to continue, or name it
    #[arg(short, long, value_name = "ID|PATH", help_heading = "Session", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["session", "no_session"])]
    pub resume: Option<String>,
    /// Continue this session, tau's or another agent's
    #[arg(long, value_name = "ID|PATH", help_heading = "Session", conflicts_with = "no_session")]
    pub session: Option<String>,
    /// Continue in a copy of this session, here
    #[arg(long, value_name = "ID|PATH", help_heading = "Session", conflicts_with_all = ["no_session", "session", "resume", "continue_last"])]
    pub fork: Option<String>,
    /// Continue the session with this id, or start it
    #[arg(long, value_name = "ID", help_heading = "Session", hide = true, value_parser = session_id_parser, conflicts_with_all = ["session", "resume", "continue_last"])]
    pub session_id: Option<String>,
    /// Do not save the session
    #[arg(long, help_heading = "Session")]
    pub no_session: bool,
    /// Name the session
    #[arg(long, value_name = "NAME", help_heading = "Session", hide = true)]
    pub name: Option<String>,

    /// The flags that set settings.
    #[command(flatten)]
    pub settings: SettingFlags,
    /// Ask models through the `tau proxy` at URL, which holds the keys
    #[arg(long, value_name = "URL", help_heading = "Model", hide = true, value_parser = address_parser, conflicts_with_all = ["base_url", "api_key"])]
    pub proxy: Option<String>,
    /// Your token for --proxy
    #[arg(long, value_name = "TOKEN", help_heading = "Model", hide = true, env = "TAU_PROXY_TOKEN", hide_env_values = true, value_parser = secret_parser)]
    pub proxy_token: Option<Secret>,
    /// System prompt or @FILE; {default} is tau's own
    #[arg(long, value_name = "TEXT", help_heading = "Model")]
    pub system_prompt: Option<String>,
    /// Whether the board is opened first.
    #[arg(skip)]
    pub board: bool,
    /// Whether the rights and limits among the flags are those of the session, and not of the command line.
    #[arg(skip)]
    pub of_session: bool,
    /// Texts at the end of the system prompt that tau adds itself.
    #[arg(skip)]
    pub appended: Vec<String>,
    /// No tools
    #[arg(long, help_heading = "Model", conflicts_with = "tools")]
    pub no_tools: bool,

    /// Work in DIR
    #[arg(short = 'C', long, value_name = "DIR", help_heading = "Other")]
    pub cwd: Option<PathBuf>,
    /// Work in a git worktree of its own
    #[arg(short = 'w', long, value_name = "NAME", help_heading = "Other", num_args = 0..=1, default_missing_value = "", conflicts_with = "session")]
    pub worktree: Option<String>,
    /// Do not read AGENTS.md and similar files
    #[arg(long, help_heading = "Other", hide = true)]
    pub no_context_files: bool,
    /// Use the .tau/ settings of this directory
    #[arg(long, help_heading = "Other")]
    pub trust: bool,
    /// Record this run of the screen for --replay
    #[arg(long, value_name = "FILE", help_heading = "Other", hide = true)]
    pub record: Option<PathBuf>,
    /// Replay a recording and print its last screen
    #[arg(long, help_heading = "Other", hide = true, value_name = "FILE", conflicts_with = "record")]
    pub replay: Option<PathBuf>,
    /// Log to a file (TAU_LOG=FILTER works too)
    #[arg(long, help_heading = "Other", hide = true)]
    pub verbose: bool,
    /// Print the most used flags
    #[arg(short = 'h', help_heading = "Other")]
    pub short_help: bool,
    /// Print every flag and command
    #[arg(long, help_heading = "Other")]
    pub help: bool,
    /// Print the version
    #[arg(short = 'V', long, help_heading = "Other", action = clap::ArgAction::Version)]
    pub version: Option<bool>,
}

impl CliArgs {
    /// The arguments of plain `tau`.
    pub(crate) fn without_arguments() -> Self {
        CliArgs::parse_from(["tau"])
    }

    /// Reads the arguments, the program's name first. The error is the output that clap wants printed: an
    /// error, the help page or the version; see [`print_clap_error`].
    pub fn read<I, T>(arguments: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator<Item = T>,
        T: Into<std::ffi::OsString> + Clone,
    {
        let mut args = CliArgs::try_parse_from(arguments).map_err(suggest_replacement)?;
        if let Some(id) = args.resume.take_if(|id| !id.is_empty()) {
            args.session = Some(id);
        }
        if args.help || args.short_help {
            let page = if args.help { long_help() } else { short_help() };
            return Err(clap::Error::raw(clap::error::ErrorKind::DisplayHelp, page));
        }
        if args.proxy.is_some() && args.proxy_token.as_ref().is_none_or(Secret::is_empty) {
            let text = "--proxy needs a token: set TAU_PROXY_TOKEN, or pass --proxy-token";
            return Err(clap::Error::raw(
                clap::error::ErrorKind::MissingRequiredArgument,
                format!("{text}\n"),
            ));
        }
        let conflict =
            |text: &str| Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, format!("{text}\n")));
        if args.session.is_some() && args.worktree.is_some() {
            return conflict("--worktree makes a folder for a new session: leave it out to continue one");
        }
        if args.resume.is_some() && !args.prompts.is_empty() {
            return conflict(
                "--resume shows a list: name the session that gets the prompt, tau --resume ID PROMPT",
            );
        }
        Ok(args)
    }

    /// Refuses the list of sessions where there is no screen. Returns an error for people.
    pub(crate) fn check_list(&self, terminals: StandardStreams) -> Result<(), &'static str> {
        match self.resume {
            Some(_) if self.front_end(terminals) != FrontEnd::Screen => {
                Err("--resume needs the screen, or the id of a session; --continue takes the latest one")
            }
            _ => Ok(()),
        }
    }

    /// The goal that is set before each prompt.
    pub(crate) fn goal(&self) -> Option<AgentCommand> {
        self.until.clone().map(set_goal)
    }

    /// The selected front end. The screen needs a terminal at both ends.
    pub fn front_end(&self, terminals: StandardStreams) -> FrontEnd {
        match self.mode {
            Some(OutputMode::Rpc) => FrontEnd::Rpc,
            Some(OutputMode::Json) => FrontEnd::Json,
            _ if self.json => FrontEnd::Json,
            Some(OutputMode::Text) => FrontEnd::Print,
            None if self.print || self.attempts.is_some() || !terminals.stdin || !terminals.stdout => {
                FrontEnd::Print
            }
            None => FrontEnd::Screen,
        }
    }
}

/// The command that sets this goal, or continues it.
pub(crate) fn set_goal(command: String) -> AgentCommand {
    let goal = Some(GoalOrder { command, limits: None });
    AgentCommand::Session(SessionCommand::SetGoal { goal })
}

/// Removed flags, and their replacements.
const RENAMED: [(&str, &str); 3] = [
    ("--append-system-prompt", "write --system-prompt '{default} TEXT'"),
    ("--parallel", "calls that only read run at the same time by themselves; leave it out"),
    ("--take-over", "tau takes over a session whose process has ended by itself; leave it out"),
];

/// Flags that other agents have, and what tau has instead.
const OF_OTHERS: [(&str, &str); 11] = [
    ("--yolo", "write --permission-mode auto"),
    ("--dangerously-skip-permissions", "write --permission-mode auto"),
    ("--dangerously-bypass-approvals-and-sandbox", "write --permission-mode auto --sandbox off"),
    ("--full-auto", "write --permission-mode auto --sandbox workspace-write"),
    ("--ask-for-approval", "write --permission-mode ask, edits, plan or auto"),
    ("--output-format", "write --json for records, or --mode json"),
    ("--input-format", "write --json and send records, or --mode rpc"),
    ("--allowed-tools", "write --tools NAMES, or a rule in [permissions]"),
    ("--allowedTools", "write --tools NAMES, or a rule in [permissions]"),
    ("--mcp-config", "add servers with `tau mcp add`"),
    ("--skip-git-repo-check", "tau works without git; leave it out"),
];

/// Adds the replacement to the error of a flag that is gone, or that is another agent's.
fn suggest_replacement(error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let given = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) if error.kind() == ErrorKind::UnknownArgument => given.as_str(),
        _ => return error,
    };
    let in_table = |table: &[(&'static str, &'static str)]| {
        table.iter().find(|(name, _)| given.split('=').next() == Some(name)).copied()
    };
    let text = match (in_table(&RENAMED), in_table(&OF_OTHERS)) {
        (Some((old, instead)), _) => format!("{old} is gone: {instead}\n"),
        (None, Some((name, instead))) => format!("there is no flag {name} here: {instead}\n"),
        (None, None) => return error,
    };
    clap::Error::raw(error.kind(), text)
}

/// Prints clap's output for rejected arguments (an error, the help page or the version); returns the
/// program's end.
pub(crate) fn print_clap_error(error: &clap::Error) -> Exit {
    let text = error.render().to_string();
    // clap puts it before any text of our own, help included.
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    if error.use_stderr() { fail(Exit::Usage, text.trim_end()) } else { say(text) }
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

/// A folder; `~` is the home directory, also where no shell replaces it.
fn folder() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| resolve_path(Path::new(""), &path))
}

fn dollars_parser(value: &str) -> Result<f64, UserError> {
    match value.trim_start_matches('$').parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars > 0.0 => Ok(dollars),
        _ => Err("give an amount of US dollars above 0, for example 0.5".into()),
    }
}

fn address_parser(value: &str) -> Result<String, UserError> {
    match url::Url::parse(value) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(value.to_owned()),
        _ => Err("give an address such as https://proxy.example:8302".into()),
    }
}

fn origin_parser(value: &str) -> Result<String, UserError> {
    let is_origin = |url: &url::Url| {
        let rest = (url.path(), url.query(), url.fragment(), url.username());
        url.has_host() && matches!(rest, ("" | "/", None, None, ""))
    };
    match url::Url::parse(value) {
        Ok(url) if is_origin(&url) => Ok(value.to_owned()),
        _ => Err("give the origin of a page, such as https://pages.example".into()),
    }
}

fn host_parser(value: &str) -> Result<String, UserError> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    match !value.is_empty() && value.chars().all(is_part) {
        true => Ok(value.to_owned()),
        false => Err("give the name of a host without scheme and port, such as box.example".into()),
    }
}

fn secret_parser(value: &str) -> Result<Secret, std::convert::Infallible> {
    Ok(Secret::new(value))
}

fn command_parser(value: &str) -> Result<String, UserError> {
    match value.trim().is_empty() {
        true => Err("give a shell command".to_owned().into()),
        false => Ok(value.to_owned()),
    }
}

fn count_parser<T: TryFrom<u64>>(value: &str) -> Result<T, UserError> {
    let count =
        value.parse::<u64>().ok().filter(|count| *count > 0).and_then(|count| T::try_from(count).ok());
    count.ok_or_else(|| "give a whole number above 0".to_owned().into())
}

/// A parser of whole numbers in a range.
fn within<T: TryFrom<u64> + Clone + Send + Sync + 'static>(
    range: std::ops::RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, UserError> + Clone + Send + Sync + 'static {
    move |value: &str| {
        let count = value.parse::<u64>().ok().filter(|count| range.contains(count));
        count
            .and_then(|count| T::try_from(count).ok())
            .ok_or_else(|| format!("give a whole number from {} to {}", range.start(), range.end()).into())
    }
}

fn session_id_parser(value: &str) -> Result<String, UserError> {
    if is_session_id(value) {
        Ok(value.to_owned())
    } else {
        Err("use up to 128 letters, digits, `.`, `_` and `-`, with a letter or digit at both ends".into())
    }
}

#[cfg(test)]
mod tests;
