//! The flags of a command line that have no effect on a session which another process has open.

use super::rights;
use crate::args::CliArgs;
use crate::compose::Setup;
use crate::process::exit::{Refusal, warn};
use tau_agent::settings::table::TABLE;

/// The flags of the model: a prompt is worth sending without them.
const OF_MODEL: [&str; 8] =
    ["model", "thinking", "provider", "base-url", "api", "api-key", "temperature", "system-prompt"];

/// Flags of this command alone.
const OF_COMMAND: [&str; 2] = ["session-dir", "theme"];

/// The given ones among the flags that have no effect there.
pub(crate) fn ignored_flags(args: &CliArgs) -> Vec<&'static str> {
    let rows = TABLE.iter().filter(|row| !row.columns.screen && row.text(&args.settings.0).is_some());
    let of_settings = rows.filter_map(|row| Some(row.columns.flag?.name));
    let others = [
        ("no-tools", args.no_tools),
        ("max-turns", args.max_turns.is_some()),
        ("max-cost", args.max_cost.is_some()),
        ("max-tokens", args.max_tokens.is_some()),
        ("timeout", args.timeout.is_some()),
        ("output", args.output.is_some()),
        ("system-prompt", args.system_prompt.is_some()),
    ];
    let others = others.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name);
    of_settings.filter(|flag| !OF_COMMAND.contains(flag)).chain(others).collect()
}

/// The sentence about these flags.
pub(crate) fn no_effect(flags: &[&str]) -> String {
    let named: Vec<String> = flags.iter().map(|flag| format!("--{flag}")).collect();
    format!(
        "another process has this session open, with its own settings: {} has no effect",
        named.join(", ")
    )
}

/// Warns of flags that have no effect on the live session `id`. Refuses rights, limits and a file for the answer, unless
/// the session has these rights and limits.
pub(super) fn check(setup: &Setup, id: &str) -> Result<(), Refusal> {
    let (of_model, mut others): (Vec<_>, Vec<_>) =
        ignored_flags(&setup.args).into_iter().partition(|flag| OF_MODEL.contains(flag));
    if rights::are_kept(&setup.paths, id, &setup.args, &setup.settings, setup.first_mode()) {
        others.retain(|flag| *flag == "output");
    }
    if !others.is_empty() {
        return Err(Refusal::usage(format!("{}; leave it out", no_effect(&others))));
    }
    if !of_model.is_empty() {
        warn(&no_effect(&of_model));
    }
    Ok(())
}
