//! Permission rules of other agents, as tau's.

use std::path::Path;

use super::found::{Change, Collector};
use tau_agent::settings::claude_permissions::{self, Owner};
use tau_agent::settings::permission_rules;

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

/// Notes a rule of tau for the calls of a tool that fit a pattern, or for all. If tau cannot enforce it, that is said, and
/// all that it may be about is asked.
pub(super) fn add_own(
    found: &mut Collector,
    file: &Path,
    what: &str,
    list: &'static str,
    (tool, pattern): (&str, Option<&str>),
) {
    let rule = pattern.map_or_else(|| tool.to_owned(), |pattern| format!("{tool}({pattern})"));
    match permission_rules::check(Path::new(""), &rule) {
        Ok(()) => found.change(file, what, Change::Rule { list, rule }),
        Err(why) => {
            found.leave_out(file, what, &why);
            if list != "allow" {
                found.change(file, what, Change::Rule { list: "ask", rule: tool.to_owned() });
            }
        }
    }
}
