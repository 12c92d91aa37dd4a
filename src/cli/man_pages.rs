//! What is made from the definition of the arguments: completions for shells, and the man page.
//!
//! Pure: both are text, which `mod` prints. The definition is in `args`.

use clap::{Command, CommandFactory, Parser};
use clap_complete::Shell;

use super::args::Args;
use super::auth::AuthArgs;
use super::exit::Exit;
use super::export::ExportArgs;
use super::models::ModelsArgs;

const COMPLETIONS: &str = "\
For one session, in bash: source <(tau completions bash)
For good:
  bash  tau completions bash >~/.local/share/bash-completion/completions/tau
  zsh   tau completions zsh >~/.zfunc/_tau       (a folder of $fpath)
  fish  tau completions fish >~/.config/fish/completions/tau.fish";

/// The arguments of `tau completions`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau completions", bin_name = "tau completions", about = "Completions for a shell", after_help = COMPLETIONS)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// The arguments of `tau man`: none.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau man", bin_name = "tau man", about = "The man page, in roff")]
pub struct ManArgs;

/// Everything that can be said on the command line, as one definition.
fn whole() -> Command {
    let named = |command: Command, name: &'static str| command.name(name).bin_name(format!("tau {name}"));
    Args::command().subcommands([
        named(ModelsArgs::command(), "models"),
        named(AuthArgs::command(), "auth"),
        named(ExportArgs::command(), "export"),
        named(CompletionsArgs::command(), "completions"),
        named(ManArgs::command(), "man"),
    ])
}

/// The completions for a shell.
pub fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut whole(), "tau", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The man page, in roff.
pub fn man() -> String {
    let page = clap_mangen::Man::new(Args::command().mut_arg("prompts", |arg| arg.hide(false)));
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

/// The sections that no argument tells of.
fn sections() -> String {
    let commands = [
        ("models", "Lists the models that --model takes."),
        ("auth", "Lists, keeps, tries and removes the keys of vendors."),
        ("export", "Writes a session as a page, as markdown, or as its lines."),
        ("completions", "Prints completions for a shell."),
        ("man", "Prints this page."),
    ];
    let mut text = ".SH COMMANDS\nEach says more with \\-\\-help. They are commands as the first word only; after \\-\\- \
                    the same words are a prompt.\n"
        .to_owned();
    for (name, meaning) in commands {
        text.push_str(&format!(".TP\n.B tau {name}\n{}\n", meaning.replace('-', "\\-")));
    }
    text.push_str(".SH EXIT STATUS\nThe same in every front end.\n");
    for (code, meaning) in Exit::rows() {
        text.push_str(&format!(".TP\n.B {code}\n{meaning}\n"));
    }
    text.push_str(
        ".SH FILES\n.TP\n.I ~/.config/tau/config.toml\nSettings.\n.TP\n.I ~/.config/tau/models.toml\n\
         Models and vendors of your own.\n.TP\n.I AGENTS.md\nInstructions for the agent, read from the working \
         directory up.\n.SH ENVIRONMENT\n.TP\n.B TAU_HOME\nOne folder for settings, keys and sessions instead of the \
         usual ones.\n.TP\n.B TAU_LOG\nA filter such as debug: writes a log.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_flag_is_completed_in_every_shell_and_on_the_page() {
        let flags: Vec<String> = Args::command()
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
            for flag in flags.iter().map(String::as_str).chain(["models", "refresh", "completions"]) {
                assert!(script.contains(flag), "{shell}: {flag}");
            }
        }
    }
}
