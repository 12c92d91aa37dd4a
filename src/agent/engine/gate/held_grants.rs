//! Grants of skills and prompt templates, some held back until the user has reviewed them.

use crate::engine::state::{Engine, HeldGrant};
use crate::permissions::{self, Rule, Verdict};
use tau_protocol::approval::ApprovalReason;
use tau_protocol::event::{NoticeLevel, SettingsEvent};
use tau_tools::Access;

/// Applies rules until the end of the run.
pub(crate) fn grant(engine: &mut Engine, rules: Vec<Rule>, list: Verdict, of: &str) {
    if rules.is_empty() {
        return;
    }
    for rule in rules {
        engine.config.behavior.permissions.grant(rule, list, of);
    }
    engine.emit(SettingsEvent::RulesChanged);
}

/// Holds the grants of a new or changed file until the user has reviewed it.
pub(crate) fn hold(engine: &mut Engine, held: HeldGrant) {
    engine.current.held_grants.retain(|other| other.of != held.of);
    let HeldGrant { of, rules, why, .. } = &held;
    let text = format!("{of} {why}, so what it allows does not hold: {}", list(rules));
    engine.notice(NoticeLevel::Warning, text, Some("allow the first such call to let it hold"));
    engine.current.held_grants.push(held);
}

fn list(rules: &[Rule]) -> String {
    rules.iter().map(Rule::to_string).collect::<Vec<_>>().join(", ")
}

/// The reason to ask about a call that a new or changed skill or template would allow.
pub(crate) fn reason(engine: &Engine, tool: &str, access: &Access) -> Option<ApprovalReason> {
    let held = engine.current.held_grants.iter().find(|held| covers(held, engine, tool, access))?;
    let HeldGrant { of, rules, why, .. } = held;
    let text = format!("{of} {why}; if you allow this call, it allows {}", list(rules));
    Some(ApprovalReason { text, ..ApprovalReason::default() })
}

/// Releases the held grants that cover a call, because the user has reviewed and allowed it.
pub(crate) fn release(engine: &mut Engine, tool: &str, access: &Access) {
    let place = engine.current.held_grants.iter().position(|held| covers(held, engine, tool, access));
    let Some(place) = place else { return };
    let HeldGrant { rules, of, path, digest, .. } = engine.current.held_grants.remove(place);
    if let Some((used, digest)) = engine.config.behavior.used_files.clone().zip(digest) {
        let _ = used.note(&path, &digest);
    }
    grant(engine, rules, Verdict::Allow, &of);
}

fn covers(held: &HeldGrant, engine: &Engine, tool: &str, access: &Access) -> bool {
    let home = std::env::home_dir();
    let cwd = engine.base_of(access);
    held.rules.iter().any(|rule| permissions::covers(rule, tool, access, cwd, home.as_deref()))
}
