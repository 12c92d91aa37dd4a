//! `tau permissions`: the rules in force, and their verdict on a call.

use std::fmt::Write;
use std::path::Path;
use tau_agent::settings::chosen_mode;

use super::{table, tools};
use crate::args::CliArgs;
use crate::args::permissions::{PermissionsAction, PermissionsArgs};
use crate::compose;
use crate::compose::environment::Environment;
use crate::compose::permission_rules;
use crate::process::exit::{Exit, Refusal, say};
use crate::process::plain;
use tau_agent::extensions::registry::LoadedExtensions;
use tau_agent::permissions::{CallFacts, Finding, Permissions, Verdict};
use tau_agent::web;
use tau_protocol::approval::PermissionMode;
use tau_tools::access::Access;
use tau_tools::{AnyTool, ToolKind, paths};

/// Runs the command; returns the program's end.
pub fn run(args: &PermissionsArgs) -> Result<Exit, Refusal> {
    let mut all = CliArgs::without_arguments();
    if let Some(PermissionsAction::Test { trust, .. }) = &args.action {
        all.trust = *trust;
    }
    let (environment, _, cwd) = Environment::read_here(&all)?;
    let permissions = environment.all_rules();
    let text = match &args.action {
        None => format_list(&permissions),
        Some(PermissionsAction::Test { tool, permission_mode: mode, call, .. }) => {
            let settings = &environment.settings;
            let chosen = || chosen_mode::read(&environment.paths).map(|chosen| chosen.mode);
            let mode = mode.or(settings.permission_mode).or_else(chosen).unwrap_or(PermissionMode::Ask);
            let extensions = compose::extensions_of(&all, &environment.paths, settings);
            let (access, read_only) = call_access(&extensions.load(&cwd), tool, call, &cwd)?;
            explain(
                &permissions,
                CallFacts { mode, tool, access: &access, read_only, cwd: &cwd, home: None },
                environment.guards.settings_fault.is_some(),
            )
        }
    };
    Ok(environment.exit(say(&text)))
}

/// The rules with their sources.
fn format_list(permissions: &Permissions) -> String {
    let rows: Vec<[String; 3]> = permissions
        .rules()
        .iter()
        .map(|rule| {
            [
                rule.list.name().to_owned(),
                plain::line(&rule.rule.to_string()),
                plain::line(&rule.source.to_string()),
            ]
        })
        .collect();
    let mut text = if rows.is_empty() {
        "no rules; see tau permissions --help\n".to_owned()
    } else {
        table::columns(&rows)
    };
    let unprotected = permission_rules::unprotected_kinds(permissions);
    if !unprotected.is_empty() {
        let _ = writeln!(text, "not asked although protected: {unprotected}");
    }
    text
}

/// The access of a call, and whether its tool only reads. For a custom tool, `call` has its arguments.
fn call_access(
    loaded: &LoadedExtensions,
    tool: &str,
    call: &str,
    cwd: &Path,
) -> Result<(Access, bool), Refusal> {
    let path = || paths::resolve(cwd, call);
    Ok(match ToolKind::of(tool) {
        ToolKind::Command => (Access::command(call), false),
        ToolKind::Write => (Access::change(path()), false),
        ToolKind::Read | ToolKind::Search => (Access::read(path()), true),
        // `web_search` contacts an address of the settings.
        ToolKind::Web if tool == "web_fetch" => {
            let arguments = call.trim_start().starts_with('{').then(|| tools::of_json(call)).transpose()?;
            let url =
                arguments.as_ref().map_or(Some(call), |all| all.get("url").and_then(|url| url.as_str()));
            (web::access_of(url.unwrap_or_default()).map_err(Refusal::usage)?, true)
        }
        _ => match loaded.tools.iter().find(|known| known.name() == tool) {
            Some(custom) => {
                let access = custom.touches(tools::of_json(call)?, cwd);
                (access.map_err(Refusal::usage)?, custom.spec().read_only)
            }
            None => {
                let arguments = serde_json::from_str(call).unwrap_or_default();
                (Access::unknown().with_texts_of(&arguments), false)
            }
        },
    })
}

/// The verdict on a call, part by part. No call is allowed while settings are `faulty`.
fn explain(permissions: &Permissions, facts: CallFacts<'_>, faulty: bool) -> String {
    let home = std::env::home_dir();
    let facts = CallFacts { home: home.as_deref(), ..facts };
    let mode = facts.mode;
    let judgement = permissions.judge(&facts);
    let mut text = String::new();
    for finding in permissions.explain(&facts) {
        let part = plain::line(&finding.part.replace('\n', " ⏎ "));
        let _ = writeln!(
            text,
            "{:5}  {part}\n         {}",
            finding.verdict.name(),
            reason(&finding, permissions)
        );
    }
    let least = if faulty { Verdict::Ask } else { Verdict::Allow };
    let _ = writeln!(text, "\nin mode {}: {}", mode.name(), judgement.verdict.max(least).name());
    let is_asked = judgement.verdict == Verdict::Ask;
    for rule in is_asked.then(|| permissions.suggested_rules(&facts)).into_iter().flatten() {
        let _ = writeln!(text, "this rule would allow it: {}", plain::line(&rule));
    }
    text
}

/// The reason, with the rule and its place.
fn reason(finding: &Finding, permissions: &Permissions) -> String {
    let text = plain::line(&finding.reason.text);
    let Some(rule) = &finding.reason.rule else { return text };
    let source = permissions.rules().iter().find(|known| known.rule.to_string() == *rule);
    let source = source.map(|known| format!(", {}", known.source)).unwrap_or_default();
    format!("{text}: {}{}", plain::line(rule), plain::line(&source))
}
