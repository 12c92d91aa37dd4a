//! Permission rules of other agents, as tau's.

use std::path::Path;

use super::found::{Change, Collector};
use tau_agent::settings::claude_permissions::{self, Owner};

/// Notes a rule in the words of Claude Code. Where tau has none that says the same, one that denies becomes one that asks.
pub(super) fn add_rule(found: &mut Collector, file: &Path, what: &str, list: &str, rule: &str) {
    let text = serde_json::json!({ "permissions": { list: [rule] } }).to_string();
    let (rules, wrong) = claude_permissions::of_text(file, &text, &text, Owner::User { has_mode: true });
    if rules.is_empty() {
        let why = "tau has no tool for it";
        return found.leave_out(
            file,
            what,
            wrong.first().map_or(why, |_| "tau has no rule that says the same"),
        );
    }
    for rule in rules {
        let list = rule.list.name();
        found.change(file, what, Change::Rule { list, rule: rule.rule.to_string() });
    }
}
