//! Translates permission rules in the `settings.json` of Claude Code to rules of tau.
//!
//! Most are the same but for the name of the tool and the base of paths. Rules that cannot be translated are
//! reported; if they deny or ask, all calls that they may be about need approval.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use super::toml_file::line_of;
use crate::permissions::{Rule, RuleInForce, RuleSource, Verdict, grant};
use crate::settings::private_files::parse_json;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use tau_tools::compare::close_matches;
use tau_tools::user_error::UserError;

/// The lists, by name.
const LISTS: [(&str, Verdict); 3] =
    [("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)];
/// Tools of Claude Code without a counterpart in tau.
const MISSING: &[&str] = tau_tools::words!(
    "skill slashcommand todowrite todoread enterplanmode bashoutput killshell killbash lsp toolsearch"
);

/// Names of shells that are no tool of tau, and none or another one of Claude Code. What denies or asks is about `bash`;
/// to allow it would be more than was allowed.
const LIKE_BASH: [&str; 2] = ["powershell", "shell"];

/// Parses such settings. The error is the line and the problem, if their rules cannot be determined.
pub(super) fn settings_of(text: &str) -> Result<Map<String, Value>, (usize, String)> {
    let settings: Value =
        parse_json(text).map_err(|error| (error.line(), format!("this is not JSON: {error}")))?;
    parse_json::<UniqueKeys>(text).map_err(|error| (error.line(), error.to_string()))?;
    let Value::Object(settings) = settings else {
        return Err((1, "these settings are not a JSON object".to_owned()));
    };
    let is_near =
        |name: &&String| !close_matches(&name.to_ascii_lowercase(), &["permissions"], 1, 0.85).is_empty();
    if let Some(name) = settings.keys().filter(|name| *name != "permissions").find(is_near) {
        let line = line_of(text, text.find(&format!("\"{name}\"")).unwrap_or_default());
        return Err((line, format!("there is no `{name}`; did you mean `permissions`?")));
    }
    match settings.get("permissions") {
        None | Some(Value::Null | Value::Object(_)) => Ok(settings),
        Some(_) => Err((line_in(text, "permissions", None), "`permissions` is not a JSON object".to_owned())),
    }
}

/// A JSON value in which no object has the same key twice: one of the two would be lost.
struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeys)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<UniqueKeys>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            entries.next_value::<UniqueKeys>()?;
            if let Some(key) = keys.replace(key) {
                return Err(serde::de::Error::custom(format!("`{key}` is there twice")));
            }
        }
        Ok(self)
    }
}

/// Whether the rules of a text can be determined.
pub fn can_be_read(text: &str) -> bool {
    settings_of(text).is_ok()
}

/// The rule and the problem for a file that may have any rules: every call needs approval.
pub fn unread(path: &Path, line: usize, is_project: bool, why: &str) -> (RuleInForce, UserError) {
    let source = RuleSource::File { path: path.to_owned(), line, is_project };
    let text = format!("{}:{line}: {why}; tau asks before every call", path.display());
    (RuleInForce { rule: Rule::any_call(), list: Verdict::Ask, source }, UserError::new(text))
}

/// The setting of the permission mode.
const MODE: &str = "defaultMode";
/// The setting of further directories for edits.
const DIRECTORIES: &str = "additionalDirectories";

/// Whose settings a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user's; `has_mode` if tau's settings name a permission mode, so that this one need not be reported.
    User {
        has_mode: bool,
    },
    Project,
}

/// The rules of a text from `path`, and its invalid and unused parts. `whole` is the current file, to which
/// line numbers refer.
pub fn of_text(path: &Path, text: &str, whole: &str, owner: Owner) -> (Vec<RuleInForce>, Vec<UserError>) {
    let is_project = owner == Owner::Project;
    let (mut rules, mut wrong) = (Vec::new(), Vec::new());
    let error = |line: usize, text: String| UserError::new(format!("{}:{line}: {text}", path.display()));
    let report = |wrong: &mut Vec<UserError>, line, text| wrong.push(error(line, text));
    let settings = match settings_of(text) {
        Ok(settings) => settings,
        Err((line, why)) => {
            let (rule, wrong) = unread(path, line, is_project, &why);
            return (vec![rule], vec![wrong]);
        }
    };
    let Some(permissions) = settings.get("permissions").and_then(Value::as_object) else {
        return (rules, wrong);
    };
    let root = path.parent().and_then(Path::parent).unwrap_or(path);
    for (name, value) in permissions {
        let Some((_, list)) = LISTS.iter().find(|(known, _)| known == name) else {
            let remedy = match owner {
                // Edits there are asked about instead, which `tau import` says.
                _ if name == DIRECTORIES => continue,
                Owner::User { has_mode: true } if name == MODE => continue,
                Owner::User { .. } if name == MODE => "; set `permission_mode` in tau's config.toml",
                Owner::User { .. } | Owner::Project => "",
            };
            let line = line_in(whole, name, None);
            let Some(why) = unknown_list(name, value) else {
                report(&mut wrong, line, format!("permissions.{name} is not used by tau{remedy}"));
                continue;
            };
            let (rule, problem) = unread(path, line, is_project, &why);
            rules.push(rule);
            wrong.push(problem);
            continue;
        };
        let entries = match value {
            Value::Array(entries) => entries.as_slice(),
            Value::Null => &[],
            _ => std::slice::from_ref(value),
        };
        for given in entries {
            let text = given.as_str().map_or_else(|| given.to_string(), str::to_owned);
            let line = line_in(whole, name, Some(&text));
            let translated = match given.as_str() {
                _ if !value.is_array() => Err((format!("permissions.{name} is not a list"), vec!["*"])),
                Some(text) => translate(text, *list, root),
                None => Err(("it is not a string".to_owned(), vec!["*"])),
            };
            let mut add = |rule: Rule, list: Verdict| {
                let source = RuleSource::File { path: path.to_owned(), line, is_project };
                rules.push(RuleInForce { rule, list, source });
            };
            match translated {
                Ok(rule) => match grant::objection(&rule).filter(|_| is_project && *list == Verdict::Allow) {
                    Some(why) => report(&mut wrong, line, format!("`{text}` is not used: {why}")),
                    None => add(rule, *list),
                },
                // Nothing is weaker or asked more often without it.
                Err((_, tools)) if *list == Verdict::Allow && tools.is_empty() => {}
                Err((why, tools)) if *list == Verdict::Allow || tools.is_empty() => {
                    report(&mut wrong, line, format!("`{text}` is not used: {why}"));
                }
                Err((why, tools)) => {
                    let names = if tools == ["*"] { "every call".to_owned() } else { tools.join(", ") };
                    let problem = format!("`{text}` cannot be enforced: {why}; tau asks before {names}");
                    report(&mut wrong, line, problem);
                    let asked = tools.iter().filter_map(|tool| tool.parse::<Rule>().ok());
                    asked.for_each(|rule| add(rule, Verdict::Ask));
                }
            }
        }
    }
    rules.sort_by_key(|rule| match rule.source {
        RuleSource::File { line, .. } => line,
        RuleSource::Session | RuleSource::Granted(_) => 0,
    });
    (rules, wrong)
}

/// The problem of a setting beside the known lists, if it may be a list of rules.
fn unknown_list(name: &str, value: &Value) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    match close_matches(&lower, &LISTS.map(|(known, _)| known), 1, 0.7).first() {
        Some(meant) => Some(format!("there is no permissions.{name}; did you mean {meant}?")),
        None => value.is_array().then(|| format!("permissions.{name} is a list that tau does not know")),
    }
}

/// The line of an entry of a list, or of the list itself, from 1.
fn line_in(text: &str, list: &str, entry: Option<&str>) -> usize {
    let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let start = text.find(&quoted("permissions")).unwrap_or_default();
    let behind = |start: usize, what: &str| {
        text.get(start..).and_then(|rest| rest.find(&quoted(what))).map(|at| start + at)
    };
    let list = behind(start, list).unwrap_or(start);
    line_of(text, entry.and_then(|entry| behind(list, entry)).unwrap_or(list))
}

/// A rule in tau's syntax; or the reason it cannot be translated, and the tools that it may be about.
fn translate(text: &str, list: Verdict, root: &Path) -> Result<Rule, (String, Vec<&'static str>)> {
    let text = text.trim();
    let (name, inside) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(inside) => (name, Some(inside.trim())),
            None => (name, Some("")),
        },
    };
    match grant::of_notebooks(name.trim(), inside) {
        Some(Ok(meant)) => return translate(&meant, list, root),
        Some(Err(tool)) => return Err(("its pattern does not end in .ipynb or /**".to_owned(), vec![tool])),
        None => {}
    }
    let lower = name.trim().to_ascii_lowercase();
    let instead = grant::tool_instead_of(&lower);
    let is_like_bash = LIKE_BASH.contains(&lower.as_str());
    let is_other = instead.is_some() || is_like_bash;
    if MISSING.contains(&lower.as_str()) || is_other && list == Verdict::Allow {
        return Err((format!("tau has no tool {name}"), Vec::new()));
    }
    if let Some(instead) = instead {
        let rule = instead.parse::<Rule>().ok().filter(|_| matches!(inside, None | Some("*")));
        return rule.ok_or_else(|| (format!("tau has no patterns for {instead}"), vec![instead]));
    }
    let tool = grant::tool_of_others(&lower).or(is_like_bash.then_some("bash"));
    let about = || match tool {
        // An unreadable rule about files may be about any of them.
        Some("edit" | "write") => vec!["edit", "write"],
        Some(tool) => vec![tool],
        None => vec!["*"],
    };
    let failed = |why: UserError| (why.into(), about());
    let rule = |text: String| text.parse::<Rule>().map_err(|error| (error.to_string(), about()));
    if lower.starts_with("mcp__") {
        let parts: Vec<&str> = lower.split("__").collect();
        return match (parts.as_slice(), inside) {
            (["mcp", server], None | Some("*")) if !server.is_empty() => rule(format!("mcp__{server}__*")),
            (["mcp", _, _, ..], None | Some("*")) => rule(lower.clone()),
            _ => Err(failed("rules of MCP tools have no patterns".into())),
        };
    }
    let Some(tool) = tool else {
        if let Some(meant) = grant::intended_tool(name.trim(), None).filter(|_| list != Verdict::Allow) {
            return Err((format!("there is no tool {name}; did you mean {meant}?"), vec![meant]));
        }
        // A custom tool may have this name.
        let own = rule(format!("{lower}{}", inside.map(|inside| format!("({inside})")).unwrap_or_default()));
        let is_name =
            !lower.is_empty() && lower.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        return own.ok().filter(|_| is_name).ok_or_else(|| failed("this is not a rule".into()));
    };
    let inside = match inside {
        None | Some("*" | "**" | ":*") => return rule(tool.to_owned()),
        Some("") => return Err(failed("its pattern is missing".into())),
        Some(inside) => inside,
    };
    let rule = match tool {
        "bash" => rule(format!("bash({inside})")),
        "web_fetch" => match inside.strip_prefix("domain:") {
            Some("*") => rule(tool.to_owned()),
            Some(host) => rule(format!("web_fetch({host})")),
            None => Err(failed("a rule of pages has to begin with `domain:`".into())),
        },
        "web_search" => Err(failed("searches have no patterns".into())),
        _ => rule(format!("{tool}({})", path_pattern(inside, root).map_err(failed)?)),
    }?;
    match rule.fault().filter(|_| list != Verdict::Allow) {
        Some(why) => Err((why, about())),
        None => Ok(rule),
    }
}

/// The rule for the calls that a hook of the settings at `path` is about. One for a tool that tau does not have is about
/// none.
pub(super) fn condition(path: &Path, text: &str) -> Result<Rule, UserError> {
    let root = path.parent().and_then(Path::parent).unwrap_or(path);
    match translate(text, Verdict::Deny, root) {
        Ok(rule) => Ok(rule),
        Err((_, tools)) if tools.is_empty() => text.split('(').next().unwrap_or_default().parse(),
        Err((why, _)) => Err(UserError::new(format!("`if` is {text}: {why}"))),
    }
}

/// A path pattern: `//x` is absolute, `/x` is relative to the settings.
fn path_pattern(text: &str, root: &Path) -> Result<String, UserError> {
    if let Some(rest) = text.strip_prefix("//") {
        return Ok(format!("/{rest}"));
    }
    let Some(rest) = text.strip_prefix('/') else { return Ok(text.to_owned()) };
    let root = root.to_str().ok_or("the path of these settings is not UTF-8")?;
    let mut escaped = String::new();
    for c in root.trim_end_matches('/').chars() {
        if c.is_ascii_punctuation() && !"/._-".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    Ok(format!("{escaped}/{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, is_project: bool) -> (Vec<String>, Vec<String>) {
        let path = Path::new("/p/.claude/settings.json");
        let owner = if is_project { Owner::Project } else { Owner::User { has_mode: false } };
        let (rules, wrong) = of_text(path, text, text, owner);
        let rule = |rule: &RuleInForce| {
            let line = rule.source.to_string().rsplit(':').next().unwrap().to_owned();
            format!("{line} {} {}", rule.list.name(), rule.rule)
        };
        (rules.iter().map(rule).collect(), wrong.into_iter().map(String::from).collect())
    }

    #[test]
    fn rules_are_translated_with_their_lines() {
        let text = r#"{
  "model": "x",
  "permissions": {
    "allow": ["Bash(npm run test:*)",
      "Read(~/.zshrc)", "Edit(/src/**)", "Read(//etc/hosts)", "mcp__docs", "mcp__docs__get",
      "WebFetch(domain:example.com)", "Glob", "Task", "Foo"],
    "deny": ["Bash(curl:*)", "Read(./.env)", "WebFetch(https://x)", "Bash(", "Skill(x)",
      "WebSearch(x)", "??", "Task(Explore)", "Agent", "AskUserQuestion", "Bsh(curl:*)", "MCP__docs",
      "Shell(curl *)", "Bash(curl:*|wget:*)"],
    "defaultMode": "acceptEdits",
    "additionalDirectories": ["../x"]
  }
}"#;
        let (rules, wrong) = read(text, false);
        assert_eq!(
            rules,
            [
                "4 allow bash(npm run test:*)", "5 allow read(~/.zshrc)", "5 allow edit(/p/src/**)",
                "5 allow read(/etc/hosts)", "5 allow mcp__docs__*", "5 allow mcp__docs__get",
                "6 allow web_fetch(example.com)", "6 allow find", "6 allow foo", "7 deny bash(curl:*)",
                "7 deny read(./.env)", "7 ask web_fetch", "7 ask bash", "8 ask web_search", "8 ask *",
                "8 ask delegate", "8 deny delegate", "8 deny ask_user", "8 ask bash", "8 deny mcp__docs__*",
                "9 deny bash(curl *)", "9 ask bash",
            ]
        );
        let said = wrong.join("\n");
        for part in [
            "settings.json:7: `Skill(x)` is not used: tau has no tool Skill",
            "settings.json:7: `WebFetch(https://x)` cannot be enforced: ",
            "tau asks before web_fetch",
            "tau asks before every call",
            "permissions.defaultMode is not used by tau",
        ] {
            assert!(said.contains(part), "{part}\n{said}");
        }
        // What takes nothing away is not said at every start.
        assert!(!said.contains("`Task`") && !said.contains("additionalDirectories"), "{said}");
    }

    #[test]
    fn a_name_that_becomes_a_broader_tool_allows_nothing() {
        for name in ["PowerShell", "Shell", "Task", "Agent", "AskUserQuestion", "ExitPlanMode"] {
            for inside in ["", "(*)", "(npm run *)"] {
                let text = format!("{{\"permissions\": {{\"allow\": [\"{name}{inside}\"]}}}}");
                assert_eq!(read(&text, false), (Vec::new(), Vec::new()), "{name}{inside}");
            }
            let text = format!("{{\"permissions\": {{\"deny\": [\"{name}\"], \"ask\": [\"{name}\"]}}}}");
            assert_eq!(read(&text, false).0.len(), 2, "{name}");
        }
        let text = r#"{"permissions": {"deny": ["PowerShell(rm *)"], "ask": ["PowerShell"]}}"#;
        assert_eq!(read(text, false).0, ["1 deny bash(rm *)", "1 ask bash"]);
    }

    #[test]
    fn what_cannot_be_read_asks_about_everything() {
        for text in [
            "{",
            "",
            "[]",
            "{\"permissions\": []}",
            "{\"permissions\": {\"deny\": \"Bash\"}}",
            "{\"permissions\": {\"deny\": [\"Bash\"]}, \"permissions\": {\"allow\": []}}",
            "{\"permissions\": {\"deny\": [\"Bash\"], \"deny\": []}}",
            "{\"hooks\": {\"PreToolUse\": [], \"PreToolUse\": []}}",
            "{\"Permissions\": {\"deny\": [\"Bash\"]}}",
            "{\"permission\": {\"deny\": [\"Bash\"]}}",
            "{\"permissions\": {\"denied\": [\"Bash\"]}}",
            "{\"permissions\": {\"block\": [\"Bash\"]}}",
        ] {
            for is_project in [false, true] {
                let (rules, wrong) = read(text, is_project);
                assert_eq!(rules, ["1 ask *"], "{text}");
                assert!(wrong[0].ends_with("; tau asks before every call"), "{wrong:?}");
            }
        }
        assert_eq!(read("{\"permissions\": {\"allow\": \"Bash\"}}", false).0, [""; 0]);
        assert_eq!(read("\u{feff}{\"permissions\": null}", false).0, [""; 0]);
    }

    #[test]
    fn a_rule_on_notebooks_is_about_their_files() {
        let text = r#"{"permissions": {"deny": ["NotebookEdit", "NotebookRead(*)", "NotebookEdit(src/**)",
            "NotebookEdit(/a.ipynb)", "NotebookEdit(a/*)"]}}"#;
        let rules = [
            "1 deny edit(**/*.ipynb)", "1 deny read(**/*.ipynb)", "1 deny edit(src/**/*.ipynb)",
            "2 deny edit(/p/a.ipynb)", "2 ask edit",
        ];
        assert_eq!(read(text, true).0, rules);
    }

    #[test]
    fn a_list_with_a_misspelled_name_asks_about_everything() {
        for name in ["Deny", "denny", "disallow", "ASK"] {
            let (rules, wrong) = read(&format!("{{\"permissions\": {{\"{name}\": [\"Bash(x)\"]}}}}"), true);
            assert_eq!(rules, ["1 ask *"], "{name}");
            assert!(wrong[0].contains("did you mean"), "{wrong:?}");
        }
    }

    #[test]
    fn a_project_allows_no_more_than_in_its_own_settings() {
        let text = r#"{"permissions": {"allow": ["Bash", "Bash(* *)", "Edit(.)", "Bash(npm test)", "mcp__a"], "deny": ["Bash"]}}"#;
        let (rules, wrong) = read(text, true);
        assert_eq!(rules, ["1 allow bash(npm test)", "1 allow mcp__a__*", "1 deny bash"]);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
    }
}
