//! The arguments of `tau acp`.

use clap::Parser;

use super::CliArgs;
use super::setting_flags::SettingFlags;

const AFTER: &str = "\
An editor starts this and speaks the Agent Client Protocol on the standard streams; docs/editors.md
says how each one is set up. Flags hold for every session.

Exit codes: those of tau
To send the word as a prompt: tau -- acp";

/// The arguments of `tau acp`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau acp", bin_name = "tau acp", about = "Serve an editor (Agent Client Protocol)", after_help = AFTER)]
#[command(args_override_self = true)]
pub(crate) struct AcpArgs {
    /// Start the screen in this terminal instead, to choose a model and save a key
    #[arg(long)]
    pub login: bool,
    /// The flags that set settings.
    #[command(flatten)]
    pub settings: SettingFlags<false>,
    /// System prompt or @FILE; {default} is tau's own
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,
    /// No tools
    #[arg(long, conflicts_with = "tools")]
    pub no_tools: bool,
    /// Stop a prompt after N answers of the model
    #[arg(long, value_name = "N", value_parser = super::count_parser::<u32>, allow_negative_numbers = true)]
    pub max_turns: Option<u32>,
    /// Stop a prompt once it has cost USD dollars
    #[arg(long, value_name = "USD", value_parser = super::dollars_parser, allow_negative_numbers = true)]
    pub max_cost: Option<f64>,
    /// Stop a prompt once it has used N tokens
    #[arg(long, value_name = "N", value_parser = super::count_parser::<u64>, allow_negative_numbers = true)]
    pub max_tokens: Option<u64>,
    /// Do not save the sessions
    #[arg(long)]
    pub no_session: bool,
    /// Do not read AGENTS.md and similar files
    #[arg(long)]
    pub no_context_files: bool,
    /// Use the .tau/ settings of the directories of sessions
    #[arg(long)]
    pub trust: bool,
    /// Log to a file (TAU_LOG=FILTER works too)
    #[arg(long)]
    pub verbose: bool,
}

impl AcpArgs {
    /// The equivalent arguments of `tau`.
    pub(crate) fn for_tau(self) -> CliArgs {
        CliArgs {
            settings: SettingFlags(self.settings.0),
            system_prompt: self.system_prompt,
            no_tools: self.no_tools,
            max_turns: self.max_turns,
            max_cost: self.max_cost,
            max_tokens: self.max_tokens,
            no_session: self.no_session,
            no_context_files: self.no_context_files,
            trust: self.trust,
            verbose: self.verbose,
            ..CliArgs::without_arguments()
        }
    }
}
