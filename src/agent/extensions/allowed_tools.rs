//! `allowed-tools` of skills and prompt templates as permission rules.
//!
//! They hold while the skill or template is in use and only ever allow: what the user's rules deny or ask
//! for stays denied or asked, and so do protected paths.

use super::custom_tools;
use crate::agent::permissions::Rule;
use crate::agent::protocol::extension::ExtensionSource;

/// What other agents call our tools.
const NAMES: [(&str, &str); 16] = [
    ("bash", "bash"),
    ("read", "read"),
    ("notebookread", "read"),
    ("edit", "edit"),
    ("multiedit", "edit"),
    ("notebookedit", "edit"),
    ("write", "write"),
    ("grep", "grep"),
    ("search", "grep"),
    ("glob", "find"),
    ("find", "find"),
    ("ls", "ls"),
    ("webfetch", "web_fetch"),
    ("web_fetch", "web_fetch"),
    ("websearch", "web_search"),
    ("web_search", "web_search"),
];
/// Tools that a project's files cannot open for all calls.
const NARROW: [&str; 3] = ["bash", "edit", "write"];

/// The rules, and what is not granted. Names of tools that neither tau nor a custom tool can have are left out.
pub(crate) fn rules(allowed: &[String], source: ExtensionSource) -> (Vec<Rule>, Vec<String>) {
    let (mut rules, mut problems) = (Vec::new(), Vec::new());
    for text in allowed {
        let (name, pattern) = text
            .split_once('(')
            .map_or((text.as_str(), ""), |(name, _)| (name, text.get(name.len()..).unwrap_or_default()));
        let lower = name.trim().to_ascii_lowercase();
        let known = NAMES.iter().find(|(theirs, _)| *theirs == lower).map(|(_, ours)| *ours);
        // Other agents write the names of their tools with capital letters.
        let is_custom = known.is_none() && !lower.starts_with("mcp__");
        if is_custom && (lower != name.trim() || custom_tools::name_problem(&lower).is_some()) {
            continue;
        }
        let tool = known.unwrap_or(&lower);
        match format!("{tool}{pattern}").parse::<Rule>() {
            Ok(rule)
                if rule.is_bare()
                    && source == ExtensionSource::Project
                    && (is_custom || NARROW.contains(&tool)) =>
            {
                problems.push(format!(
                    "allowed-tools: a project cannot allow all calls of {tool}; name some of them"
                ));
            }
            Ok(rule) => rules.push(rule),
            Err(error) => problems.push(format!("allowed-tools: {error}")),
        }
    }
    (rules, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(allowed: &[&str], source: ExtensionSource) -> (Vec<String>, usize) {
        let allowed: Vec<String> = allowed.iter().map(|text| (*text).to_owned()).collect();
        let (rules, problems) = rules(&allowed, source);
        (rules.iter().map(Rule::to_string).collect(), problems.len())
    }

    #[test]
    fn names_of_other_agents_become_rules() {
        let allowed =
            ["Bash(git add:*)", "Bash", "MultiEdit(src/**)", "Glob", "TodoWrite", "mcp__a__b", "Edit(["];
        let (rules, problems) = texts(&allowed, ExtensionSource::User);
        assert_eq!(rules, ["bash(git add:*)", "bash", "edit(src/**)", "find", "mcp__a__b"]);
        assert_eq!(problems, 1);
        let (rules, problems) = texts(&["todos", "todos(src/**)", "Todos"], ExtensionSource::User);
        assert_eq!((rules, problems), (vec!["todos".to_owned(), "todos(src/**)".to_owned()], 0));
        let (rules, problems) = texts(&["todos", "todos(src/**)"], ExtensionSource::Project);
        assert_eq!((rules, problems), (vec!["todos(src/**)".to_owned()], 1));
        let (rules, problems) = texts(&["Bash", "Bash(*)", "Write", "Read"], ExtensionSource::Project);
        assert_eq!((rules, problems), (vec!["read".to_owned()], 3));
    }
}
