//! The hooks in settings files: `[[hooks.EVENT]]` in `config.toml`, and `hooks` in `settings.json`.
//!
//! The latter is in the format of other agents.
//!
//! Each hook is parsed by itself, so that a mistake in one does not affect the others.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::claude_permissions;
use super::toml_errors::explain;
use super::toml_file::{in_lines, line_of};
use super::value::{ValueKind, plain_values};
use crate::permissions::{Rule, grant};
use crate::settings::private_files::parse_json;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use serde::Deserialize;
use serde_json::Value;
use strum::IntoStaticStr;
use tau_tools::compare::close_matches;
use tau_tools::shell_word::quote;
use tau_tools::user_error::UserError;
use tau_tools::{toolbox, words};

/// The event of a hook.
#[derive(IntoStaticStr)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookEvent {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PostToolUse,
    PreCompact,
    Notification,
    Stop,
    SessionEnd,
}

impl HookEvent {
    /// Every event, in the order of a session.
    pub const ALL: [HookEvent; 8] = [
        HookEvent::SessionStart,
        HookEvent::UserPromptSubmit,
        HookEvent::PreToolUse,
        HookEvent::PostToolUse,
        HookEvent::PreCompact,
        HookEvent::Notification,
        HookEvent::Stop,
        HookEvent::SessionEnd,
    ];

    /// Its name in files and in the input of hooks.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The event with that name. Fails when no event has that name; the message suggests the nearest one.
    fn from_name(name: &str) -> Result<Self, UserError> {
        HookEvent::ALL.into_iter().find(|event| event.name() == name).ok_or_else(|| {
            let known = HookEvent::ALL.map(HookEvent::name);
            match close_matches(name, &known, 1, 0.6).first() {
                Some(near) => UserError::new(format!("there is no event `{name}`; did you mean `{near}`?")),
                None => {
                    UserError::new(format!("there is no event `{name}`; the events are {}", known.join(", ")))
                }
            }
        })
    }
}

/// The subjects of a hook: tools for calls, `manual` or `auto` for a compaction, and so on.
#[derive(Clone, Debug, Default)]
pub enum HookMatcher {
    #[default]
    All,
    Names(Vec<String>),
    /// A regular expression that matches part of the name.
    Pattern(String, RegexMatcher),
}

impl PartialEq for HookMatcher {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for HookMatcher {}

impl HookMatcher {
    /// Parses `Edit|Write`, `mcp__.*`, or `*` for all.
    pub fn new(text: &str) -> Result<Self, UserError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '|');
        let unmatched = |text: &str| {
            UserError::new(format!("the matcher `{text}` matches no name"))
                .remedy("write names, as in `Edit|Bash`, or an expression that matches some")
        };
        match text.trim() {
            "" | "*" => Ok(HookMatcher::All),
            text if text.chars().all(plain) => {
                let is_loud = |name: &str| name.len() > 2 && name.chars().all(|c| c.is_ascii_uppercase());
                let names: Vec<String> = text.split('|').map(str::to_owned).collect();
                if names.iter().any(|name| is_loud(name)) {
                    Err(unmatched(text))
                } else {
                    Ok(HookMatcher::Names(names))
                }
            }
            text => {
                let wrong =
                    |error| UserError::new(format!("the matcher `{text}` is not valid")).because(error);
                let matcher = RegexMatcher::new(text).map_err(wrong)?;
                if can_match_no_name(text) {
                    return Err(unmatched(text));
                }
                Ok(HookMatcher::Pattern(text.to_owned(), matcher))
            }
        }
    }

    /// Whether it matches one of these names.
    pub fn matches(&self, names: &[&str]) -> bool {
        match self {
            HookMatcher::All => true,
            HookMatcher::Names(known) => known.iter().any(|known| names.contains(&known.as_str())),
            HookMatcher::Pattern(_, matcher) => {
                names.iter().any(|name| matcher.is_match(name.as_bytes()).unwrap_or(false))
            }
        }
    }

    /// The original text.
    pub fn text(&self) -> String {
        match self {
            HookMatcher::All => "*".to_owned(),
            HookMatcher::Names(names) => names.join("|"),
            HookMatcher::Pattern(text, _) => text.clone(),
        }
    }
}

/// The names that tau's own tools have for hooks.
pub(crate) const TOOL_NAMES: [&str; 13] = *words!(
    "Bash Read Write Edit MultiEdit Grep Glob LS Task AskUserQuestion ExitPlanMode WebFetch WebSearch"
);

/// The tool that is meant by a matcher of names that no tool has. `folder` may have custom tools.
fn meant_tool(matcher: &HookMatcher, folder: Option<&Path>) -> Option<&'static str> {
    let HookMatcher::Names(names) = matcher else { return None };
    let own = || toolbox::TABLE.iter().map(|row| row.name).chain(grant::FURTHER_TOOLS);
    let meant = names.iter().map(|name| {
        let is_known = TOOL_NAMES.contains(&name.as_str()) || own().any(|own| own == name);
        let other_case = || own().find(|own| own.eq_ignore_ascii_case(name));
        (!is_known).then(|| grant::intended_tool(name, folder).or_else(other_case)).flatten()
    });
    meant.collect::<Option<Vec<_>>>()?.first().copied()
}

/// Whether an expression needs a character that no name has: `Bash(git *)`, `Edit, Bash`, `/Bash/`.
fn can_match_no_name(text: &str) -> bool {
    let is_quantifier = |behind: &str| behind.starts_with(|c: char| c.is_ascii_digit() || c == '}');
    let mut commas = text.split(',').skip(1);
    let is_plain = !text.contains(['[', '\\']) && !text.contains("(?");
    is_plain && (text.contains([' ', ':', '/']) || commas.any(|behind| !is_quantifier(behind)))
}

/// The effect of a hook's failure on its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookFail {
    /// The event continues, with a warning.
    Open,
    /// The event is denied.
    Closed,
}

/// The command of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookCommand {
    /// A line for the shell.
    Line(String),
    /// A program and its arguments, which no shell reads.
    Program(String, Vec<String>),
}

/// For lists: what runs, as a user would type it.
impl fmt::Display for HookCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HookCommand::Line(line) => f.write_str(line.trim()),
            HookCommand::Program(program, arguments) => {
                f.write_str(&quote(program))?;
                arguments.iter().try_for_each(|word| write!(f, " {}", quote(word)))
            }
        }
    }
}

/// A hook as defined in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEntry {
    pub event: HookEvent,
    pub matcher: HookMatcher,
    pub command: HookCommand,
    /// The calls for which it runs, among those that it matches; `None` for all.
    pub condition: Option<Rule>,
    /// Whether nothing waits for it, and so it decides nothing.
    pub in_background: bool,
    /// The time limit in seconds; `None` for the default.
    pub timeout: Option<u64>,
    /// The effect of its failure. Without it, the event continues with a warning; a call needs approval if
    /// the answer cannot be parsed.
    pub fail: Option<HookFail>,
}

/// The table `hooks` as a setting: shown as the number of hooks. [`of_toml`] reads the hooks themselves.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct HookTable(BTreeMap<String, Vec<toml::Value>>);

plain_values! {
    HookTable: ValueKind::Hooks, |table| {
        let shown = table.0.iter().map(|(event, hooks)| format!("{event} ({})", hooks.len()));
        shown.collect::<Vec<_>>().join(", ")
    }, |_| Err("hooks can only be set in config.toml".into());
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TomlFile {
    hooks: BTreeMap<toml::Spanned<String>, Vec<toml::Spanned<toml::Value>>>,
}

/// A hook in a `config.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TomlHook {
    command: String,
    matcher: Option<String>,
    timeout: Option<u64>,
    fail: Option<HookFail>,
}

/// The hooks in the text of a `config.toml` from `path`, in file order, and the problems of invalid ones.
pub fn of_toml(path: &Path, text: &str) -> (Vec<HookEntry>, Vec<UserError>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: TomlFile = toml::from_str(text).unwrap_or_default();
    let (mut hooks, mut wrong) = (Vec::new(), Vec::new());
    for (name, entries) in file.hooks {
        let event = match HookEvent::from_name(name.get_ref()) {
            Ok(event) => event,
            Err(error) => {
                wrong.push((line_of(text, name.span().start), error));
                continue;
            }
        };
        for entry in entries {
            let line = line_of(text, entry.span().start);
            let read: Result<TomlHook, UserError> = entry
                .into_inner()
                .try_into()
                .map_err(|error: toml::de::Error| explain(error.message()).into());
            let read = read.and_then(|hook| {
                let command = HookCommand::Line(hook.command);
                entry_of(event, command, hook.matcher, hook.timeout, hook.fail, path.parent())
            });
            match read {
                Ok(hook) => hooks.push(hook),
                Err(error) => wrong.push((line, format!("hook {}: {error}", event.name()).into())),
            }
        }
    }
    (hooks, in_lines(path, wrong))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct JsonFile {
    hooks: Option<BTreeMap<String, Value>>,
    /// Whether the user has switched them off.
    #[serde(rename = "disableAllHooks")]
    are_off: Value,
}

/// Hooks of an event with one matcher.
#[derive(Deserialize)]
struct JsonGroup {
    matcher: Option<String>,
    hooks: Vec<Value>,
}

#[derive(Deserialize)]
struct JsonHook {
    r#type: Option<String>,
    command: Option<String>,
    /// The arguments of the command, which is a program then, and not a line for a shell.
    args: Option<Vec<String>>,
    /// A permission rule about the calls for which it runs.
    r#if: Option<String>,
    /// The shell of the command.
    shell: Option<String>,
    r#async: Option<bool>,
    #[serde(rename = "asyncRewake")]
    async_rewake: Option<bool>,
    timeout: Option<f64>,
    fail: Option<HookFail>,
}

/// A problem of a `settings.json`.
struct HookProblem {
    /// Whether it may be a hook before calls.
    guards: bool,
    error: UserError,
}

/// The hooks in the text of a `settings.json` from `path`, and the parts that are not used.
pub fn of_json(path: &Path, text: &str) -> (Vec<HookEntry>, Vec<UserError>) {
    let (hooks, unused) = in_json(path, text);
    (hooks, unused.into_iter().map(|unused| unused.error).collect())
}

/// The problem with hooks before calls in the text of a `settings.json`. Other events do not guard the user, and
/// other agents have more of them.
pub fn guards_fault(path: &Path, text: &str) -> Option<UserError> {
    in_json(path, text).1.into_iter().find(|unused| unused.guards).map(|unused| unused.error)
}

fn in_json(path: &Path, text: &str) -> (Vec<HookEntry>, Vec<HookProblem>) {
    let place = path.display();
    let mut unused = Vec::new();
    let mut report = |guards: bool, why: String| {
        unused.push(HookProblem { guards, error: format!("{place}: {why}").into() });
    };
    let file: JsonFile = parse_json(text).unwrap_or_else(|error| {
        report(true, error.to_string());
        JsonFile::default()
    });
    let mut hooks = Vec::new();
    for (name, groups) in file.hooks.filter(|_| file.are_off != true).unwrap_or_default() {
        let event = match HookEvent::from_name(&name) {
            Ok(event) => event,
            Err(error) => {
                let is_near = !close_matches(&name, &[HookEvent::PreToolUse.name()], 1, 0.85).is_empty();
                report(is_near, format!("hooks of {name}: {error}"));
                continue;
            }
        };
        let guards = event == HookEvent::PreToolUse;
        let Value::Array(groups) = groups else {
            report(guards, format!("hooks of {name}: they are not a list"));
            continue;
        };
        for group in groups {
            let JsonGroup { matcher, hooks: found } = match serde_json::from_value(group) {
                Ok(group) => group,
                Err(error) => {
                    report(guards, format!("hooks of {name}: {error}"));
                    continue;
                }
            };
            for hook in found {
                let hook = serde_json::from_value(hook).map_err(UserError::of);
                match hook.and_then(|hook| json_entry(path, event, matcher.clone(), hook)) {
                    Ok(hook) => hooks.push(hook),
                    Err(error) => report(guards, format!("hook {name}: {error}")),
                }
            }
        }
    }
    (hooks, unused)
}

fn json_entry(
    path: &Path,
    event: HookEvent,
    matcher: Option<String>,
    hook: JsonHook,
) -> Result<HookEntry, UserError> {
    let kind = hook.r#type.unwrap_or_else(|| "command".to_owned());
    if kind != "command" {
        return Err(format!("tau runs hooks of the type `command`, and not `{kind}`").into());
    }
    if let Some(shell) = hook.shell.filter(|shell| shell != "bash" && hook.args.is_none()) {
        return Err(format!("tau does not run hooks in {shell}").into());
    }
    let condition = hook.r#if.map(|rule| claude_permissions::condition(path, &rule)).transpose()?;
    let in_background = hook.r#async == Some(true) || hook.async_rewake == Some(true);
    let seconds = hook.timeout.map(|seconds| std::time::Duration::try_from_secs_f64(seconds.ceil()));
    let timeout = seconds.and_then(Result::ok).map(|time| time.as_secs());
    let command = hook.command.unwrap_or_default();
    let command = match hook.args {
        Some(arguments) => HookCommand::Program(command, arguments),
        None => HookCommand::Line(command),
    };
    let entry = entry_of(event, command, matcher, timeout, hook.fail, None)?;
    Ok(HookEntry { condition, in_background, ..entry })
}

fn entry_of(
    event: HookEvent,
    command: HookCommand,
    matcher: Option<String>,
    timeout: Option<u64>,
    fail: Option<HookFail>,
    folder: Option<&Path>,
) -> Result<HookEntry, UserError> {
    let (HookCommand::Line(text) | HookCommand::Program(text, _)) = &command;
    if text.trim().is_empty() {
        return Err("the `command` is empty".into());
    }
    if timeout == Some(0) {
        return Err("the `timeout` needs at least 1 second".into());
    }
    let matcher = HookMatcher::new(&matcher.unwrap_or_default())?;
    let is_of_calls = matches!(event, HookEvent::PreToolUse | HookEvent::PostToolUse);
    if let Some(meant) = meant_tool(&matcher, folder).filter(|_| is_of_calls) {
        let text = matcher.text();
        return Err(format!("the matcher `{text}` matches no tool; did you mean `{meant}`?").into());
    }
    Ok(HookEntry { event, matcher, command, condition: None, in_background: false, timeout, fail })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_read_one_by_one() {
        let text = "theme = \"x\"\n[[hooks.PreToolUse]]\nmatcher = \"Bash\"\ncommand = \"a\"\ntimeout = 5\n\
                    [[hooks.PreToolUse]]\ncommand = \"b\"\n[[hooks.PreToolUse]]\ncomand = \"c\"\n\
                    [[hooks.Stop]]\ncommand = \" \"\n[[hooks.PretoolUse]]\ncommand = \"d\"\n\
                    [[hooks.Notification]]\ncommand = \"e\"\nmatcher = \"(\"\n";
        let (hooks, wrong) = of_toml(Path::new("c.toml"), text);
        let found: Vec<_> =
            hooks.iter().map(|hook| (hook.event, hook.command.to_string(), hook.timeout)).collect();
        let of_calls = |command: &str, timeout| (HookEvent::PreToolUse, command.to_owned(), timeout);
        assert_eq!(found, [of_calls("a", Some(5)), of_calls("b", None)]);
        let wrong: Vec<String> = wrong.into_iter().map(String::from).collect();
        assert_eq!(wrong.len(), 4, "{wrong:?}");
        assert!(wrong[0].starts_with("c.toml:8: hook PreToolUse: "), "{wrong:?}");
        assert!(wrong[0].contains("did you mean `command`?"), "{wrong:?}");
        assert_eq!(wrong[1], "c.toml:10: hook Stop: the `command` is empty");
        assert_eq!(wrong[2], "c.toml:12: there is no event `PretoolUse`; did you mean `PreToolUse`?");
        assert!(
            wrong[3].starts_with("c.toml:14: hook Notification: the matcher `(` is not valid"),
            "{wrong:?}"
        );
    }

    #[test]
    fn hooks_of_other_agents_are_read() {
        let text = r#"{"model": "x", "hooks": {"PreToolUse": [
            {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "a", "timeout": 1.5},
                                                {"type": "prompt", "prompt": "b"},
                                                {"command": "d", "args": ["-c", "e f"]}]}],
            "Stop": [{"hooks": [{"type": "command", "command": "c"}]}], "Other": []}}"#;
        let (hooks, wrong) = of_json(Path::new("s.json"), text);
        let found: Vec<_> = hooks.iter().map(|hook| (hook.command.to_string(), hook.timeout)).collect();
        assert_eq!(
            found,
            [("a", Some(2)), ("d -c 'e f'", None), ("c", None)].map(|(c, t)| (c.to_owned(), t))
        );
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(of_json(Path::new("s.json"), "{").1[0].starts_with("s.json: "));
    }

    #[test]
    fn a_hook_before_calls_of_another_agent_must_be_understood() {
        let good = r#"{"hooks": [{"type": "command", "command": "a"}]}"#;
        let of = |event: &str, group: &str| format!(r#"{{"hooks": {{"{event}": [{group}, {good}]}}}}"#);
        let fault = |text: &str| guards_fault(Path::new("s.json"), text).is_some();
        for (event, group) in [
            ("PreToolUse", r#"{"matcher": "^(?!Read|Grep).*$", "hooks": [{"command": "b"}]}"#),
            ("PreToolUse", r#"{"hooks": [{"type": "http", "url": "b"}]}"#),
            ("PreToolUse", r#"{"hooks": [{"type": "command", "command": "b", "timeout": "10"}]}"#),
            ("PreToolUse", r#"{"hooks": [{"type": "command", "command": "b", "args": "c"}]}"#),
            ("PreToolUse", r#"{"hooks": [{"command": "b", "if": "Bash("}]}"#),
            ("PreToolUse", r#"{"hooks": [{"command": "b", "if": ["Bash"]}]}"#),
            ("PreToolUse", r#"{"hooks": [{"command": "b", "shell": "powershell"}]}"#),
            ("PreToolUse", r#"{"type": "command", "command": "b"}"#),
            ("PreToolUSe", r#"{"hooks": [{"type": "command", "command": "b"}]}"#),
        ] {
            let text = of(event, group);
            assert!(fault(&text), "{text}");
            assert_eq!(
                of_json(Path::new("s.json"), &text).0.len(),
                usize::from(event == "PreToolUse"),
                "{text}"
            );
        }
        for (event, group) in [
            ("PreToolUse", r#"{"hooks": []}"#),
            ("PreToolUse", r#"{"hooks": [{"command": "b", "if": "Bash(rm *)", "shell": "bash"}]}"#),
            ("PreToolUse", r#"{"hooks": [{"command": "b", "if": "Skill(x)"}]}"#),
            ("Stop", r#"{"hooks": [{"type": "prompt", "prompt": "b"}]}"#),
            ("SubagentStop", good),
            ("PostToolUseFailure", good),
            ("PermissionRequest", good),
        ] {
            assert!(!fault(&of(event, group)), "{event} {group}");
        }
        assert!(fault("{") && fault(r#"{"hooks": []}"#) && !fault(r#"{"hooks": null}"#) && !fault("{}"));
    }

    #[test]
    fn a_matcher_that_no_tool_has_is_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tools")).unwrap();
        std::fs::write(folder.path().join("tools/shell.toml"), "").unwrap();
        let faults = |event: &str, matcher: &str| {
            let text = format!("[[hooks.{event}]]\nmatcher = \"{matcher}\"\ncommand = \"a\"\n");
            of_toml(&folder.path().join("config.toml"), &text).1.len()
        };
        for matcher in ["Shell", "bsah", "Agent", "Ls", "read_file", "/Bash/", "Shell|Agent"] {
            assert_eq!(faults("PreToolUse", matcher), 1, "{matcher}");
        }
        for matcher in [
            "Bash", "bash", "LS", "shell", "Shell|Edit", "mcp__a__b", "mcp__.*", "my_tool", "TodoWrite",
            "Task",
        ] {
            assert_eq!(faults("PostToolUse", matcher), 0, "{matcher}");
        }
        assert_eq!(faults("SessionStart", "startup") + faults("PreCompact", "auto"), 0);
    }

    #[test]
    fn matchers_are_names_or_patterns() {
        let matches = |text: &str, name: &str| HookMatcher::new(text).unwrap().matches(&[name]);
        assert!(matches("", "Bash") && matches("*", "Bash") && matches("Edit|Bash", "Bash"));
        assert!(!matches("Edit", "MultiEdit"), "plain words are whole names");
        assert!(matches("mcp__.*__write", "mcp__files__write") && matches("^Bas.$", "Bash"));
        assert!(!matches("mcp__.*", "Bash"));
        for text in ["Bash(touch:*)", "BASH", "Edit, Bash", "Bash(git *)", "Edit,Write", "/Bash/"] {
            assert!(HookMatcher::new(text).is_err(), "{text} matches no name");
        }
        assert!(matches("Ba(s|z)h", "Bash") && matches("B.{2,3}", "Bash") && matches("[^ ,]+", "Bash"));
    }
}
