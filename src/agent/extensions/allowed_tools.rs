//! `allowed-tools` of skills and prompt templates as permission rules.
//!
//! They apply while the skill or template is in use and only ever allow: the user's rules that deny or ask
//! still do, and protected paths stay protected.

use super::custom_tools;
use crate::permissions::{Rule, grant};
use tau_protocol::extension::ExtensionSource;

/// Tool names in skills besides those of Claude Code, and tau's names for these tools.
const NAMES: [(&str, &str); 4] =
    [("search", "grep"), ("find", "find"), ("web_fetch", "web_fetch"), ("web_search", "web_search")];

/// The rules, and the entries that are not granted. Tool names that neither tau nor a custom tool can have
/// are left out.
pub(crate) fn rules(allowed: &[String], source: ExtensionSource) -> (Vec<Rule>, Vec<String>) {
    let (mut rules, mut problems) = (Vec::new(), Vec::new());
    for text in allowed {
        let (name, inside) =
            text.split_once('(').map_or((text.as_str(), None), |(name, rest)| (name, rest.strip_suffix(')')));
        let notebooks = grant::of_notebooks(name.trim(), inside).and_then(Result::ok);
        let text = notebooks.as_ref().unwrap_or(text);
        let (name, pattern) = text
            .split_once('(')
            .map_or((text.as_str(), ""), |(name, _)| (name, text.get(name.len()..).unwrap_or_default()));
        let lower = name.trim().to_ascii_lowercase();
        let of_skills = || NAMES.iter().find(|(theirs, _)| *theirs == lower).map(|(_, ours)| *ours);
        let known = grant::tool_of_others(&lower).or_else(of_skills);
        // Other agents capitalize the names of their tools.
        let is_custom = known.is_none() && !lower.starts_with("mcp__");
        if is_custom && (lower != name.trim() || custom_tools::name_problem(&lower).is_some()) {
            continue;
        }
        let tool = known.unwrap_or(&lower);
        match format!("{tool}{pattern}").parse::<Rule>() {
            Ok(rule) => match grant::objection(&rule)
                .filter(|_| matches!(source, ExtensionSource::Project | ExtensionSource::Package))
            {
                Some(why) => problems.push(format!("allowed-tools: {text}: {why}")),
                None => rules.push(rule),
            },
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
    fn a_tool_for_notebooks_is_allowed_for_their_files() {
        let allowed = ["NotebookEdit", "NotebookRead(src/**)"];
        let rules = texts(&allowed, ExtensionSource::User).0;
        assert_eq!(rules, ["edit(**/*.ipynb)", "read(src/**/*.ipynb)"]);
        assert_eq!(texts(&allowed, ExtensionSource::Project), (vec!["read(src/**/*.ipynb)".to_owned()], 1));
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
        let wide = [
            "Bash(* *)", "Bash(*:*)", "Bash(t*)", "Bash(env:*)", "Edit(**/*)", "Edit(.)", "Write(*)",
            "mcp__*",
        ];
        assert_eq!(texts(&wide, ExtensionSource::Project), (Vec::new(), wide.len()));
        assert_eq!(texts(&wide, ExtensionSource::User).1, 0);
    }
}
