//! What is generated from the definition of the arguments: completions for shells, and the man page.
//!
//! Pure: both are text, which `mod` prints. The definition is in `args`.

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::args::CliArgs;
use super::args::acp::AcpArgs;
use super::args::attach::AttachArgs;
use super::args::auth::AuthArgs;
use super::args::doctor::DoctorArgs;
use super::args::export::ExportArgs;
use super::args::extensions::ExtensionsArgs;
use super::args::generate::{CompletionsArgs, ManArgs};
use super::args::mcp::McpArgs;
use super::args::mcp_serve::McpServeArgs;
use super::args::models::ModelsArgs;
use super::args::permissions::PermissionsArgs;
use super::args::proxy::ProxyArgs;
use super::args::sandbox::SandboxArgs;
use super::args::serve::ServeArgs;
use super::args::theme::ThemeArgs;
use super::args::tools::ToolsArgs;
use super::args::undo::{DiffArgs, UndoArgs};
use super::exit::Exit;

/// Everything that can be said on the command line, as one definition.
fn definition() -> Command {
    let named = |command: Command, name: &'static str| command.name(name).bin_name(format!("tau {name}"));
    CliArgs::command().subcommands([
        named(ModelsArgs::command(), "models"),
        named(AuthArgs::command(), "auth"),
        named(ExportArgs::command(), "export"),
        named(DiffArgs::command(), "diff"),
        named(UndoArgs::command(), "undo"),
        named(DoctorArgs::command(), "doctor"),
        named(ThemeArgs::command(), "theme"),
        named(ToolsArgs::command(), "tools"),
        named(McpArgs::command(), "mcp"),
        named(ExtensionsArgs::command(), "extensions"),
        named(PermissionsArgs::command(), "permissions"),
        named(SandboxArgs::command(), "sandbox"),
        named(McpServeArgs::command(), "mcp-serve"),
        named(ProxyArgs::command(), "proxy"),
        named(ServeArgs::command(), "serve"),
        named(AttachArgs::command(), "attach"),
        named(AcpArgs::command(), "acp"),
        named(CompletionsArgs::command(), "completions"),
        named(ManArgs::command(), "man"),
    ])
}

/// The completions for a shell.
pub fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), "tau", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The man page, in roff, with the arguments that the help leaves out.
pub fn man() -> String {
    let page = clap_mangen::Man::new(CliArgs::command().mut_args(|arg| arg.hide(false)));
    let mut roff = Vec::new();
    let parts = [
        clap_mangen::Man::render_title,
        clap_mangen::Man::render_name_section,
        clap_mangen::Man::render_synopsis_section,
        clap_mangen::Man::render_options_section,
    ];
    for part in parts {
        // Memory takes whatever is written.
        let _ = part(&page, &mut roff);
    }
    String::from_utf8_lossy(&roff).into_owned() + &sections()
}

/// The sections beyond the arguments.
fn sections() -> String {
    let commands = [
        ("models", "List the models that --model accepts."),
        ("auth", "List, save, check and remove the API keys of providers."),
        ("export", "Export a session as HTML, Markdown or JSONL."),
        ("doctor", "Check the terminal, the clipboard, models, files and limits."),
        ("theme", "Check a theme file."),
        ("tools", "List tools, check files of your own, and run one."),
        ("extensions", "List skills and other extensions, and what is wrong with them."),
        ("permissions", "List the rules for calls, or explain what they say of one."),
        ("sandbox", "Run a command in the sandbox."),
        ("serve", "Serve sessions over HTTP."),
        ("attach", "Attach the screen to a session that is served."),
        ("acp", "Serve an editor (Agent Client Protocol)."),
        ("mcp-serve", "Serve sessions as tools of MCP."),
        ("proxy", "Serve models to clients that have a token and no key."),
        ("completions", "Print the completion script of a shell."),
        ("man", "Print this page."),
    ];
    let mut text = ".SH COMMANDS\nEach has \\-\\-help. Only the first word is a command; after \\-\\- the same word is a \
                    prompt.\n"
        .to_owned();
    for (name, meaning) in commands {
        text.push_str(&format!(".TP\n.B tau {name}\n{}\n", meaning.replace('-', "\\-")));
    }
    text.push_str(
        ".SH EXIT STATUS\nThe same in every front end. Output that cannot be written counts as 1; a reader that \
         closes the pipe does not.\n",
    );
    for (code, meaning) in Exit::rows() {
        text.push_str(&format!(".TP\n.B {code}\n{meaning}\n"));
    }
    text.push_str(
        ".SH FILES\n.TP\n.I ~/.config/tau/config.toml\nSettings.\n.TP\n.I ~/.config/tau/models.toml\n\
         Your own models and providers.\n.TP\n.I AGENTS.md\nInstructions for the agent, read from the working \
         directory and its parents.\n.SH ENVIRONMENT\n.TP\n.B TAU_HOME\nOne directory for settings, keys and sessions instead of the \
         usual ones.\n.TP\n.B TAU_LOG\nWrite a log, filtered by this (for example debug).\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_flag_is_completed_in_every_shell_and_on_the_page() {
        let flags: Vec<String> = CliArgs::command()
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .filter_map(|arg| arg.get_long().map(str::to_owned))
            .collect();
        assert!(flags.len() > 20);
        let page = man();
        for flag in &flags {
            assert!(page.contains(&format!("\\-\\-{}", flag.replace('-', "\\-"))), "{flag}:\n{page}");
        }
        for (_, meaning) in Exit::rows() {
            assert!(page.contains(meaning), "{meaning}");
        }
        for shell in Shell::value_variants() {
            let script = completions(*shell);
            for flag in flags.iter().map(String::as_str).chain(["models", "refresh", "doctor", "completions"])
            {
                assert!(script.contains(flag), "{shell}: {flag}");
            }
        }
    }
}
