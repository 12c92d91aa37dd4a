//! The man page, generated from the definition of the arguments. For completions, see `completion_scripts`.
//!
//! Pure: it returns text, which `mod` prints. The definition is in `args`.

use clap::{Command, CommandFactory};

use crate::args::CliArgs;
use crate::args::subcommand::commands;
use crate::process::exit::Exit;

/// The completable arguments: the flags and the commands. Prompts are left out, as a script for zsh would
/// take the first word for one.
pub(crate) fn definition() -> Command {
    let tau = CliArgs::command();
    let flags = tau.get_arguments().filter(|argument| !argument.is_positional()).cloned();
    let version = env!("CARGO_PKG_VERSION");
    Command::new("tau")
        .version(version)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args(flags)
        .subcommands(commands())
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
        // Writing to memory cannot fail.
        let _ = part(&page, &mut roff);
    }
    String::from_utf8_lossy(&roff).into_owned() + &sections()
}

/// The sections beyond the arguments.
fn sections() -> String {
    let mut text = ".SH COMMANDS\nEach has \\-\\-help. Only the first word is a command; after \\-\\- the same word is a \
                    prompt.\n"
        .to_owned();
    for command in commands() {
        let meaning = command.get_about().map(ToString::to_string).unwrap_or_default();
        let name = command.get_name().replace('-', "\\-");
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
    use clap_complete::Shell;

    use super::super::completion_scripts::completions;

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
        for command in commands() {
            let name = command.get_name().replace('-', "\\-");
            assert!(page.contains(&format!(".B tau {name}\n")), "{name}");
        }
        // The first word is a command, followed by its own arguments.
        let zsh = completions(Shell::Zsh);
        let (top, _) = zsh.split_once("case $line[1] in").expect("commands");
        assert!(top.contains(":: :_tau_commands") && !top.contains("case $line[2]"), "{top}");
        for shell in Shell::value_variants() {
            let script = completions(*shell);
            for flag in flags.iter().map(String::as_str).chain(["models", "refresh", "doctor", "completions"])
            {
                assert!(script.contains(flag), "{shell}: {flag}");
            }
        }
    }
}
