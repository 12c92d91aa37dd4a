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

macro_rules! subcommands {
    ($($name:literal => $command:ident($args:ty),)+) => {
        /// A command that is not a conversation. Only the first word can be one, spelled exactly; after `--` the
        /// same word is a prompt, and anywhere else it is refused (see [`super::command_words`]).
        #[derive(Clone, Debug)]
        pub(crate) enum Subcommand {
            $(#[doc = concat!("`tau ", $name, "`.")] $command($args),)+
        }

        impl Subcommand {
            /// The subcommand in the arguments, which start with the program's name; `None` if they are a
            /// conversation.
            pub fn read(arguments: &[std::ffi::OsString]) -> Result<Option<Self>, clap::Error> {
                let rest = arguments.iter().skip(1);
                Ok(Some(match arguments.get(1).and_then(|word| word.to_str()) {
                    $(Some($name) => Subcommand::$command(<$args>::try_parse_from(rest)?),)+
                    _ => return Ok(None),
                }))
            }
        }

        /// The definitions of all commands, most important first.
        pub(crate) fn commands() -> Vec<Command> {
            vec![$(<$args>::command().name($name).bin_name(concat!("tau ", $name))),+]
        }

        /// The first words that name commands, in alphabetical order.
        pub(crate) fn names() -> Vec<&'static str> {
            let mut names = vec![$($name),+];
            names.sort_unstable();
            names
        }
    };
}

subcommands! {
    "sessions" => Sessions(SessionsArgs),
    "board" => Board(BoardArgs),
    "logs" => Logs(LogsArgs),
    "send" => Send(SendArgs),
    "wait" => Wait(WaitArgs),
    "stop" => Stop(StopArgs),
    "jobs" => Jobs(JobsArgs),
    "attempts" => Attempts(AttemptsArgs),
    "worktree" => Worktree(WorktreeArgs),
    "batch" => Batch(Box<BatchArgs>),
    "models" => Models(ModelsArgs),
    "auth" => Auth(AuthArgs),
    "login" => Login(LoginArgs),
    "doctor" => Doctor(DoctorArgs),
    "diff" => Diff(DiffArgs),
    "undo" => Undo(UndoArgs),
    "export" => Export(ExportArgs),
    "mcp" => Mcp(McpArgs),
    "extensions" => Extensions(ExtensionsArgs),
    "add" => Add(AddArgs),
    "remove" => Remove(RemoveArgs),
    "import" => Import(ImportArgs),
    "tools" => Tools(ToolsArgs),
    "permissions" => Permissions(PermissionsArgs),
    "sandbox" => Sandbox(SandboxArgs),
    "theme" => Theme(ThemeArgs),
    "serve" => Serve(Box<ServeArgs>),
    "attach" => Attach(AttachArgs),
    "acp" => Acp(Box<AcpArgs>),
    "mcp-serve" => McpServe(Box<McpServeArgs>),
    "proxy" => Proxy(ProxyArgs),
    "completions" => Completions(CompletionsArgs),
    "man" => Man(ManArgs),
    "update" => Update(UpdateArgs),
    "uninstall" => Uninstall(UninstallArgs),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_the_table_of_the_documents() {
        let page = include_str!("../../../docs/configuration.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `tau "));
        let cells: Vec<&str> = rows.filter_map(|row| row.split(" | ").next()).collect();
        let has = |name: &&&str| cells.iter().any(|cell| cell.split(['`', ' ']).any(|word| word == **name));
        let names = names();
        let missing: Vec<&&str> = names.iter().filter(|name| !has(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

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
