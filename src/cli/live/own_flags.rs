//! The flags of a command line that have no effect on a session which another process has open, and those of a session
//! that a command line does not have.

use super::rights::{self, FlaggedMode};
use crate::args::CliArgs;
use crate::args::setting_flags::SettingFlags;
use crate::compose::Setup;
use crate::process::exit::{Refusal, warn};
use crate::serve::live::LiveSession;
use tau_agent::settings::table::TABLE;

/// The flags of the model: a prompt is worth sending without them.
const OF_MODEL: [&str; 8] =
    ["model", "thinking", "provider", "base-url", "api", "api-key", "temperature", "system-prompt"];

/// Flags of this command alone.
const OF_COMMAND: [&str; 2] = ["session-dir", "theme"];

/// The flags that have no effect there, with their values.
fn flags_with_values(args: &CliArgs) -> Vec<(&'static str, String)> {
    let rows = TABLE.iter().filter(|row| !row.columns.screen);
    let of_settings = rows.filter_map(|row| Some((row.columns.flag?.name, row.text(&args.settings.0)?)));
    let others = [
        ("no-tools", args.no_tools.then(String::new)),
        ("max-turns", args.max_turns.map(|turns| turns.to_string())),
        ("max-cost", args.max_cost.map(|dollars| dollars.to_string())),
        ("max-tokens", args.max_tokens.map(|tokens| tokens.to_string())),
        ("timeout", args.timeout.map(|seconds| seconds.to_string())),
        ("output", args.output.as_ref().map(|path| path.display().to_string())),
        ("system-prompt", args.system_prompt.as_ref().map(|_| String::new())),
    ];
    let others = others.into_iter().filter_map(|(name, value)| Some((name, value?)));
    of_settings.filter(|(flag, _)| !OF_COMMAND.contains(flag)).chain(others).collect()
}

/// The given ones among the flags that have no effect there.
pub(crate) fn ignored_flags(args: &CliArgs) -> Vec<&'static str> {
    flags_with_values(args).into_iter().map(|(name, _)| name).collect()
}

/// The flags of the rights and limits with which `tau attach` would open a session, and which do not hold with this
/// setup.
fn missing_flags(setup: &Setup, id: &str) -> Vec<(&'static str, String)> {
    let mut args = setup.args.clone();
    rights::restore(&mut args, &setup.paths, &setup.settings, id, FlaggedMode::Holds);
    let holds =
        flags_with_values(&CliArgs { settings: SettingFlags(setup.settings.clone()), ..setup.args.clone() });
    let is_missing = |flag: &(&str, String)| !OF_MODEL.contains(&flag.0) && !holds.contains(flag);
    flags_with_values(&args).into_iter().filter(is_missing).collect()
}

/// Whether a screen opens the session as `tau attach` does: with rights and limits of its own, or without those of the
/// session that is open. Those of a command line with which the user picks a session count.
pub(crate) fn has_own_rights(setup: &Setup, id: &str) -> bool {
    let flags = ignored_flags(&setup.args);
    let has_rights = flags.iter().any(|flag| !OF_MODEL.contains(flag));
    setup.args.of_session && !flags.is_empty()
        || !(has_rights && setup.args.resume.is_some() || missing_flags(setup, id).is_empty())
}

/// Keeps the rights of this process for a session that it has opened after its first one, unless that has other ones
/// of its own.
pub(super) fn keep(live: &LiveSession) {
    let setup = live.services().setup.lock().clone();
    let session = live.read_facts(|facts, _| facts.mirror.session.clone());
    if missing_flags(&setup, &session.id).is_empty()
        && let Err(error) =
            rights::keep(&setup.paths, &session, &setup.args, &setup.settings, setup.first_mode())
    {
        tracing::warn!(%error, "the rights of a session could not be kept");
    }
    rights::keep_mode_of(&setup.paths, live, false);
}

/// A notice about the rights and limits that a session had, and does not have as this command line opens it.
pub(crate) fn lost_rights_notice(setup: &Setup, id: &str) -> Option<String> {
    let flags = missing_flags(setup, id);
    let named: Vec<String> =
        flags.iter().map(|(name, value)| format!("--{name} {value}").trim_end().to_owned()).collect();
    (!named.is_empty()).then(|| {
        format!(
            "this session was last open with {}; add that to the command line to keep it",
            named.join(" ")
        )
    })
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
