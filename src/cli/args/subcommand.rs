//! The subcommand named by the arguments.

use clap::{Command, CommandFactory, Parser};

use super::acp::AcpArgs;
use super::attach::AttachArgs;
use super::attempts::AttemptsArgs;
use super::auth::AuthArgs;
use super::batch::BatchArgs;
use super::doctor::DoctorArgs;
use super::export::ExportArgs;
use super::extensions::ExtensionsArgs;
use super::generate::{CompletionsArgs, ManArgs};
use super::import::ImportArgs;
use super::live::{BoardArgs, JobsArgs, LogsArgs, SendArgs, StopArgs, WaitArgs};
use super::login::LoginArgs;
use super::mcp::McpArgs;
use super::mcp_serve::McpServeArgs;
use super::models::ModelsArgs;
use super::packages::{AddArgs, RemoveArgs};
use super::permissions::PermissionsArgs;
use super::proxy::ProxyArgs;
use super::sandbox::SandboxArgs;
use super::serve::ServeArgs;
use super::sessions::SessionsArgs;
use super::theme::ThemeArgs;
use super::tools::ToolsArgs;
use super::undo::{DiffArgs, UndoArgs};
use super::uninstall::UninstallArgs;
use super::update::UpdateArgs;
use super::worktree::WorktreeArgs;

/// The first words that name commands.
pub(crate) const NAMES: [&str; 35] = [
    "acp",
    "add",
    "attach",
    "attempts",
    "auth",
    "batch",
    "board",
    "completions",
    "diff",
    "doctor",
    "export",
    "extensions",
    "import",
    "jobs",
    "login",
    "logs",
    "man",
    "mcp",
    "mcp-serve",
    "models",
    "permissions",
    "proxy",
    "remove",
    "sandbox",
    "send",
    "serve",
    "sessions",
    "stop",
    "theme",
    "tools",
    "undo",
    "uninstall",
    "update",
    "wait",
    "worktree",
];

/// A command that is not a conversation. Only the first word can be one, spelled exactly; after `--` the same
/// word is a prompt, and anywhere else it is refused (see [`super::command_words`]).
#[derive(Clone, Debug)]
pub(crate) enum Subcommand {
    /// `tau acp`.
    Acp(Box<AcpArgs>),
    /// `tau attach`.
    Attach(AttachArgs),
    /// `tau batch`.
    Batch(Box<BatchArgs>),
    /// `tau models`.
    Models(ModelsArgs),
    /// `tau auth`.
    Auth(AuthArgs),
    /// `tau login`.
    Login(LoginArgs),
    /// `tau completions`.
    Completions(CompletionsArgs),
    /// `tau man`.
    Man(ManArgs),
    /// `tau export`.
    Export(ExportArgs),
    /// `tau doctor`.
    Doctor(DoctorArgs),
    /// `tau diff`.
    Diff(DiffArgs),
    /// `tau undo`.
    Undo(UndoArgs),
    /// `tau permissions`.
    Permissions(PermissionsArgs),
    /// `tau mcp`.
    Mcp(McpArgs),
    /// `tau extensions`.
    Extensions(ExtensionsArgs),
    /// `tau add`.
    Add(AddArgs),
    /// `tau remove`.
    Remove(RemoveArgs),
    /// `tau import`.
    Import(ImportArgs),
    /// `tau tools`.
    Tools(ToolsArgs),
    /// `tau theme`.
    Theme(ThemeArgs),
    /// `tau sandbox`.
    Sandbox(SandboxArgs),
    /// `tau mcp-serve`.
    McpServe(Box<McpServeArgs>),
    /// `tau proxy`.
    Proxy(ProxyArgs),
    /// `tau sessions`.
    Sessions(SessionsArgs),
    /// `tau logs`.
    Logs(LogsArgs),
    /// `tau wait`.
    Wait(WaitArgs),
    /// `tau stop`.
    Stop(StopArgs),
    /// `tau send`.
    Send(SendArgs),
    /// `tau board`.
    Board(BoardArgs),
    /// `tau jobs`.
    Jobs(JobsArgs),
    /// `tau attempts`.
    Attempts(AttemptsArgs),
    /// `tau worktree`.
    Worktree(WorktreeArgs),
    /// `tau serve`.
    Serve(Box<ServeArgs>),
    /// `tau update`.
    Update(UpdateArgs),
    /// `tau uninstall`.
    Uninstall(UninstallArgs),
}

/// The definitions of all commands, most important first.
pub(crate) fn commands() -> Vec<Command> {
    let named = |command: Command, name: &'static str| command.name(name).bin_name(format!("tau {name}"));
    vec![
        named(SessionsArgs::command(), "sessions"),
        named(BoardArgs::command(), "board"),
        named(LogsArgs::command(), "logs"),
        named(SendArgs::command(), "send"),
        named(WaitArgs::command(), "wait"),
        named(StopArgs::command(), "stop"),
        named(JobsArgs::command(), "jobs"),
        named(AttemptsArgs::command(), "attempts"),
        named(WorktreeArgs::command(), "worktree"),
        named(BatchArgs::command(), "batch"),
        named(ModelsArgs::command(), "models"),
        named(AuthArgs::command(), "auth"),
        named(LoginArgs::command(), "login"),
        named(DoctorArgs::command(), "doctor"),
        named(DiffArgs::command(), "diff"),
        named(UndoArgs::command(), "undo"),
        named(ExportArgs::command(), "export"),
        named(McpArgs::command(), "mcp"),
        named(ExtensionsArgs::command(), "extensions"),
        named(AddArgs::command(), "add"),
        named(RemoveArgs::command(), "remove"),
        named(ImportArgs::command(), "import"),
        named(ToolsArgs::command(), "tools"),
        named(PermissionsArgs::command(), "permissions"),
        named(SandboxArgs::command(), "sandbox"),
        named(ThemeArgs::command(), "theme"),
        named(ServeArgs::command(), "serve"),
        named(AttachArgs::command(), "attach"),
        named(AcpArgs::command(), "acp"),
        named(McpServeArgs::command(), "mcp-serve"),
        named(ProxyArgs::command(), "proxy"),
        named(CompletionsArgs::command(), "completions"),
        named(ManArgs::command(), "man"),
        named(UpdateArgs::command(), "update"),
        named(UninstallArgs::command(), "uninstall"),
    ]
}

impl Subcommand {
    /// The subcommand in the arguments, which start with the program's name; `None` if they are a
    /// conversation.
    pub fn read(arguments: &[std::ffi::OsString]) -> Result<Option<Self>, clap::Error> {
        let rest = arguments.iter().skip(1);
        Ok(Some(match arguments.get(1).and_then(|word| word.to_str()) {
            Some("acp") => Subcommand::Acp(Box::new(AcpArgs::try_parse_from(rest)?)),
            Some("add") => Subcommand::Add(AddArgs::try_parse_from(rest)?),
            Some("remove") => Subcommand::Remove(RemoveArgs::try_parse_from(rest)?),
            Some("attach") => Subcommand::Attach(AttachArgs::try_parse_from(rest)?),
            Some("batch") => Subcommand::Batch(Box::new(BatchArgs::try_parse_from(rest)?)),
            Some("models") => Subcommand::Models(ModelsArgs::try_parse_from(rest)?),
            Some("export") => Subcommand::Export(ExportArgs::try_parse_from(rest)?),
            Some("auth") => Subcommand::Auth(AuthArgs::try_parse_from(rest)?),
            Some("login") => Subcommand::Login(LoginArgs::try_parse_from(rest)?),
            Some("diff") => Subcommand::Diff(DiffArgs::try_parse_from(rest)?),
            Some("undo") => Subcommand::Undo(UndoArgs::try_parse_from(rest)?),
            Some("doctor") => Subcommand::Doctor(DoctorArgs::try_parse_from(rest)?),
            Some("sandbox") => Subcommand::Sandbox(SandboxArgs::try_parse_from(rest)?),
            Some("serve") => Subcommand::Serve(Box::new(ServeArgs::try_parse_from(rest)?)),
            Some("sessions") => Subcommand::Sessions(SessionsArgs::try_parse_from(rest)?),
            Some("board") => Subcommand::Board(BoardArgs::try_parse_from(rest)?),
            Some("jobs") => Subcommand::Jobs(JobsArgs::try_parse_from(rest)?),
            Some("logs") => Subcommand::Logs(LogsArgs::try_parse_from(rest)?),
            Some("wait") => Subcommand::Wait(WaitArgs::try_parse_from(rest)?),
            Some("stop") => Subcommand::Stop(StopArgs::try_parse_from(rest)?),
            Some("send") => Subcommand::Send(SendArgs::try_parse_from(rest)?),
            Some("mcp") => Subcommand::Mcp(McpArgs::try_parse_from(rest)?),
            Some("tools") => Subcommand::Tools(ToolsArgs::try_parse_from(rest)?),
            Some("theme") => Subcommand::Theme(ThemeArgs::try_parse_from(rest)?),
            Some("import") => Subcommand::Import(ImportArgs::try_parse_from(rest)?),
            Some("extensions") => Subcommand::Extensions(ExtensionsArgs::try_parse_from(rest)?),
            Some("mcp-serve") => Subcommand::McpServe(Box::new(McpServeArgs::try_parse_from(rest)?)),
            Some("proxy") => Subcommand::Proxy(ProxyArgs::try_parse_from(rest)?),
            Some("permissions") => Subcommand::Permissions(PermissionsArgs::try_parse_from(rest)?),
            Some("completions") => Subcommand::Completions(CompletionsArgs::try_parse_from(rest)?),
            Some("update") => Subcommand::Update(UpdateArgs::try_parse_from(rest)?),
            Some("uninstall") => Subcommand::Uninstall(UninstallArgs::try_parse_from(rest)?),
            Some("attempts") => Subcommand::Attempts(AttemptsArgs::try_parse_from(rest)?),
            Some("worktree") => Subcommand::Worktree(WorktreeArgs::try_parse_from(rest)?),
            Some("man") => Subcommand::Man(ManArgs::try_parse_from(rest)?),
            _ => return Ok(None),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_word_is_a_subcommand() {
        let cases = [
            ("tau acp", "Acp"),
            ("tau acp --model demo --trust", "Acp"),
            ("tau -p acp", ""),
            ("tau models", "Models"),
            ("tau models --refresh claude opus", "Models"),
            ("tau auth", "Auth"),
            ("tau auth check", "Auth"),
            ("tau login", "Login"),
            ("tau login copilot --no-browser", "Login"),
            ("tau -p login", ""),
            ("tau completions fish", "Completions"),
            ("tau theme check x.toml", "Theme"),
            ("tau permissions", "Permissions"),
            ("tau permissions test --tool edit x", "Permissions"),
            ("tau extensions --json", "Extensions"),
            ("tau add npm:x --yes", "Add"),
            ("tau add --update", "Add"),
            ("tau -p add", ""),
            ("tau remove x", "Remove"),
            ("tau -p theme", ""),
            ("tau tools --json", "Tools"),
            ("tau tools run x --arg a=b", "Tools"),
            ("tau -p tools", ""),
            ("tau mcp list", "Mcp"),
            ("tau mcp add x -e A=b npx -y z", "Mcp"),
            ("tau -p mcp", ""),
            ("tau sandbox -- ls -l", "Sandbox"),
            ("tau proxy --listen 127.0.0.1:0", "Proxy"),
            ("tau proxy add me --at-once 2", "Proxy"),
            ("tau -p proxy", ""),
            ("tau mcp-serve --max-sessions 2", "McpServe"),
            ("tau serve --listen 127.0.0.1:0", "Serve"),
            ("tau sessions --json", "Sessions"),
            ("tau board", "Board"),
            ("tau jobs --json", "Jobs"),
            ("tau logs 4f2a -f", "Logs"),
            ("tau send 4f2a continue", "Send"),
            ("tau wait 4f2a", "Wait"),
            ("tau stop 4f2a", "Stop"),
            ("tau attach", "Attach"),
            ("tau attach http://127.0.0.1:4180 0199", "Attach"),
            ("tau -p attach", ""),
            ("tau -p serve", ""),
            ("tau update --check", "Update"),
            ("tau -p update", ""),
            ("tau uninstall --purge --yes", "Uninstall"),
            ("tau man", "Man"),
            ("tau mankind", ""),
            ("tau export 0199 x.md", "Export"),
            ("tau doctor --json", "Doctor"),
            ("tau diff", "Diff"),
            ("tau undo 0199 --to 2 --yes", "Undo"),
            ("tau -p undo", ""),
            ("tau -p export x", ""),
            ("tau -- models", ""),
            ("tau -p models", ""),
            ("tau Models", ""),
            ("tau modelsx", ""),
            ("tau", ""),
        ];
        for (line, expected) in cases {
            let arguments: Vec<std::ffi::OsString> = line.split(' ').map(Into::into).collect();
            let command = Subcommand::read(&arguments).unwrap();
            let name = command.map(|command| format!("{command:?}")).unwrap_or_default();
            assert!(name.starts_with(expected) && name.is_empty() == expected.is_empty(), "{line}: {name}");
        }
    }

    #[test]
    fn every_name_is_read() {
        let mut defined: Vec<String> =
            commands().iter().map(|command| command.get_name().to_owned()).collect();
        defined.sort();
        assert_eq!(defined, NAMES);
        for name in NAMES {
            let read = Subcommand::read(&["tau", name, "--help"].map(Into::into));
            assert!(matches!(&read, Err(error) if !error.use_stderr()), "{name}: {read:?}");
        }
    }

    #[test]
    fn usage_names_the_whole_command() {
        let pages = [
            (AcpArgs::command(), "Usage: tau acp"),
            (ModelsArgs::command(), "Usage: tau models"),
            (AuthArgs::command(), "Usage: tau auth"),
            (LoginArgs::command(), "Usage: tau login"),
            (ExportArgs::command(), "Usage: tau export"),
            (DoctorArgs::command(), "Usage: tau doctor"),
            (DiffArgs::command(), "Usage: tau diff"),
            (UndoArgs::command(), "Usage: tau undo"),
            (CompletionsArgs::command(), "Usage: tau completions"),
            (ManArgs::command(), "Usage: tau man"),
            (ThemeArgs::command(), "Usage: tau theme"),
            (ToolsArgs::command(), "Usage: tau tools"),
            (McpArgs::command(), "Usage: tau mcp"),
            (ExtensionsArgs::command(), "Usage: tau extensions"),
            (AddArgs::command(), "Usage: tau add"),
            (RemoveArgs::command(), "Usage: tau remove"),
            (PermissionsArgs::command(), "Usage: tau permissions"),
            (SandboxArgs::command(), "Usage: tau sandbox"),
            (ProxyArgs::command(), "Usage: tau proxy"),
            (McpServeArgs::command(), "Usage: tau mcp-serve"),
            (SessionsArgs::command(), "Usage: tau sessions"),
            (ServeArgs::command(), "Usage: tau serve"),
            (LogsArgs::command(), "Usage: tau logs"),
            (SendArgs::command(), "Usage: tau send"),
            (WaitArgs::command(), "Usage: tau wait"),
            (StopArgs::command(), "Usage: tau stop"),
            (BoardArgs::command(), "Usage: tau board"),
            (JobsArgs::command(), "Usage: tau jobs"),
            (AttachArgs::command(), "Usage: tau attach"),
            (UpdateArgs::command(), "Usage: tau update"),
            (UninstallArgs::command(), "Usage: tau uninstall"),
        ];
        for (mut command, usage) in pages {
            command.clone().debug_assert();
            let help = command.render_help().to_string();
            assert!(help.contains(usage), "{help}");
        }
        let arguments = ["tau", "auth", "set", "--help"].map(Into::into);
        let help = Subcommand::read(&arguments).unwrap_err().to_string();
        assert!(help.contains("Usage: tau auth set"), "{help}");
    }
}
