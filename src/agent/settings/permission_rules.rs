//! The rules of a `config.toml` with their lines, and changes of rules in the file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml_edit::{Array, Item, Table};

use super::private_files::SharedFile;
use super::toml_file::{in_lines, line_of};
use super::write;
use crate::permissions::{ProtectedKind, Rule, RuleInForce, RuleSource, Verdict, grant};
use tau_tools::user_error::UserError;

/// The lists of `[permissions]`.
const LISTS: [(&str, Verdict); 3] =
    [("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)];
/// The list of protected paths that need no approval.
const UNPROTECTED: &str = "unprotected";

/// The content of `[permissions]` in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRules {
    /// The rules in the order of their lines.
    pub rules: Vec<RuleInForce>,
    /// Protected paths that need no approval.
    pub unprotected: Vec<ProtectedKind>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    permissions: BTreeMap<toml::Spanned<String>, Vec<toml::Spanned<String>>>,
}

/// The permissions in a text from `path`, which may be a project's file, and their problems. A value that is not a
/// table of lists is reported by the settings.
pub fn of_text(path: &Path, text: &str, is_project: bool) -> (FileRules, Vec<UserError>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: File = toml::from_str(text).unwrap_or_default();
    let (mut found, mut wrong) = (FileRules::default(), Vec::new());
    for (list, entries) in file.permissions {
        let name = list.get_ref().as_str();
        let kind = LISTS.iter().find(|(known, _)| *known == name).map(|(_, verdict)| *verdict);
        if kind.is_none() && name != UNPROTECTED {
            let line = line_of(text, list.span().start);
            let text =
                format!("unknown name `{name}` in [permissions]; use allow, ask, deny or {UNPROTECTED}");
            wrong.push((line, text));
            continue;
        }
        for entry in entries {
            let line = line_of(text, entry.span().start);
            let source = RuleSource::File { path: path.to_owned(), line, is_project };
            match (kind, entry.get_ref().parse::<Rule>(), ProtectedKind::from_name(entry.get_ref())) {
                (Some(list), Ok(rule), _) => {
                    let is_limited = is_project && list == Verdict::Allow;
                    if list != Verdict::Allow {
                        let fault = names_nothing(path, &rule).or_else(|| rule.fault());
                        wrong.extend(fault.map(|why| (line, why)));
                    }
                    match grant::objection(&rule).filter(|_| is_limited) {
                        Some(why) => wrong.push((line, format!("`{rule}`: {why}"))),
                        None => found.rules.push(RuleInForce { rule, list, source }),
                    }
                }
                (Some(_), Err(error), _) => wrong.push((line, error.to_string())),
                (None, _, Some(kind)) => found.unprotected.push(kind),
                (None, _, None) => {
                    let names = ProtectedKind::TABLE.map(|(_, name, _)| name).join(", ");
                    let given = entry.get_ref();
                    wrong
                        .push((line, format!("no protected paths are called `{given}`; use one of {names}")));
                }
            }
        }
    }
    // The lists are sorted by name; readers expect the order of the file.
    found.rules.sort_by_key(|rule| match rule.source {
        RuleSource::File { line, .. } => line,
        RuleSource::Session | RuleSource::Granted(_) => 0,
    });
    (found, in_lines(path, wrong))
}

/// The reason that a rule of the user's in the file `path` would be refused or match nothing.
pub fn check(path: &Path, text: &str) -> Result<(), UserError> {
    let rule = text.parse::<Rule>()?;
    names_nothing(path, &rule).or_else(|| rule.fault()).map_or(Ok(()), |why| Err(why.into()))
}

/// The reason that a rule in the file `path` is about no tool, if it is likely a mistake: other names are those of
/// tools that are not here.
fn names_nothing(path: &Path, rule: &Rule) -> Option<String> {
    let (name, folder) = (rule.tool(), path.parent());
    if let Some(meant) = grant::intended_tool(name, folder) {
        return Some(format!("there is no tool `{name}`; did you mean `{meant}`?"));
    }
    if grant::is_program(name, folder) {
        return Some(format!("there is no tool `{name}`; for a program write `bash({name} *)`"));
    }
    if grant::is_unknown(name, folder) {
        // The patterns of custom tools are paths.
        let command = rule.inside().filter(|inside| inside.contains(' '));
        return match command {
            Some(command) => Some(format!("there is no tool `{name}`; for commands write `bash({command})`")),
            None => name.starts_with("mcp_").then(|| {
                format!("there is no tool `{name}`; those of MCP servers are called mcp__SERVER__TOOL")
            }),
        };
    }
    let server = name.strip_prefix("mcp__").filter(|rest| !rest.contains("__") && !rest.contains('*'));
    server.map(|_| format!("`{name}` names no tool; for all tools of the server write {name}__*"))
}

/// A notice for each of these rules of files that asks or denies and is about a tool that is not here. `has_tool` knows the
/// custom ones.
pub fn about_no_tool(rules: &[RuleInForce], has_tool: &dyn Fn(&str) -> bool) -> Vec<UserError> {
    let strict = rules.iter().filter(|rule| rule.list != Verdict::Allow);
    let unknown = strict.filter(|rule| {
        let name = rule.rule.tool();
        grant::is_unknown(name, None) && !has_tool(name)
    });
    let notice = |rule: &RuleInForce| {
        let (text, source) = (&rule.rule, &rule.source);
        format!("{source}: `{text}` is about no call here, as there is no tool `{}`", text.tool())
    };
    unknown.map(|rule| UserError::new(notice(rule))).collect()
}

/// Adds a rule to a list of the file, which is created if missing; the rest of the file is unchanged.
pub fn add(file: &SharedFile, list: Verdict, rule: &Rule) -> Result<(), UserError> {
    change(file, None, Some((list, rule)))
}

/// Removes a rule from a list of the file, with the comment on its line.
pub fn remove(file: &SharedFile, list: Verdict, rule: &Rule) -> Result<(), UserError> {
    change(file, Some((list, rule)), None)
}

/// Removes a rule and adds another in one write; in the same list the new one takes the position of the old.
pub fn change(
    file: &SharedFile,
    remove: Option<(Verdict, &Rule)>,
    add: Option<(Verdict, &Rule)>,
) -> Result<(), UserError> {
    write::change(file, |table| replace(table, remove, add))
}

/// The text that [`change`] makes of the text of a file. Fails like it.
pub fn text_after_change(
    path: &Path,
    text: &str,
    remove: Option<(Verdict, &Rule)>,
    add: Option<(Verdict, &Rule)>,
) -> Result<String, UserError> {
    write::with(path, text, |table| replace(table, remove, add))
}

fn replace(table: &mut Table, remove: Option<(Verdict, &Rule)>, add: Option<(Verdict, &Rule)>) {
    if let (Some((from, old)), Some((to, new))) = (remove, add)
        && from == to
        && let Some(rules) = list_in(table, to)
        && !rules.iter().any(|given| is_rule(given, new))
        && let Some(given) = rules.iter_mut().find(|given| is_rule(given, old))
    {
        let decor = given.decor().clone();
        *given = toml_edit::Value::from(new.to_string());
        *given.decor_mut() = decor;
        return;
    }
    if let Some((list, rule)) = add
        && let Some(rules) = list_in(table, list)
        && !rules.iter().any(|given| is_rule(given, rule))
    {
        push(rules, &rule.to_string());
    }
    if let Some((list, rule)) = remove.filter(|removed| Some(*removed) != add)
        && table.contains_key("permissions")
        && let Some(rules) = list_in(table, list)
    {
        let place = |rules: &Array| rules.iter().position(|given| is_rule(given, rule));
        while let Some(at) = place(rules) {
            take_out(rules, at);
        }
    }
}

fn is_rule(given: &toml_edit::Value, rule: &Rule) -> bool {
    given.as_str().and_then(|given| given.parse::<Rule>().ok()).is_some_and(|given| given == *rule)
}

/// Removes an entry from a list. The comment after it on its line is removed too; other comments stay.
fn take_out(rules: &mut Array, at: usize) {
    let taken = rules.remove(at);
    let before = raw(taken.decor().prefix());
    let behind = match rules.get(at) {
        Some(next) => raw(next.decor().prefix()),
        None => raw(taken.decor().suffix()) + &raw(Some(rules.trailing())),
    };
    let between = match (before.rsplit_once('\n'), behind.split_once('\n')) {
        (Some((before, _)), Some((_, behind))) => format!("{before}\n{behind}"),
        (None, Some((_, behind))) => format!("\n{behind}"),
        (Some(_), None) => before,
        (None, None) if at < rules.len() => before,
        (None, None) => behind,
    };
    match rules.get_mut(at) {
        Some(next) => next.decor_mut().set_prefix(between),
        None => rules.set_trailing(between),
    }
}

/// A list of rules in a file. A value that is not a list is left alone, and refused when the file is checked.
fn list_in(file: &mut Table, list: Verdict) -> Option<&mut Array> {
    let table = file.entry("permissions").or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut()?;
    table.entry(list.name()).or_insert_with(|| Item::Value(Array::new().into())).as_array_mut()
}

/// Appends a text in the style of the list: on a line of its own if the others are. A comment after the last
/// entry stays on its line.
fn push(rules: &mut Array, text: &str) {
    let trailing = raw(Some(rules.trailing()));
    let Some(last) = rules.len().checked_sub(1).and_then(|last| rules.get_mut(last)) else {
        return rules.push(text);
    };
    let before = raw(last.decor().prefix());
    let Some((_, indent)) = before.rsplit_once('\n') else { return rules.push(text) };
    let behind = raw(last.decor().suffix()) + &trailing;
    last.decor_mut().set_suffix("");
    let (comments, end) = behind.rsplit_once('\n').unwrap_or_default();
    let added = toml_edit::Value::from(text).decorated(format!("{comments}\n{indent}"), "");
    rules.push_formatted(added);
    rules.set_trailing(if behind.contains('\n') { format!("\n{end}") } else { behind.clone() });
}

fn raw(text: Option<&toml_edit::RawString>) -> String {
    text.and_then(toml_edit::RawString::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Paths;

    fn shared_file(path: &Path) -> SharedFile {
        Paths::under(&path.with_extension("tau")).shared_file(path.to_owned())
    }

    #[test]
    fn rules_are_read_with_their_lines_and_mistakes_reported() {
        let text = "theme = \"x\"\n[permissions]\ndeny = [\"bash(git push *)\"]\nallow = [\n  \"bash(cargo test *)\",\n  \
                    \"bash(\",\n]\nalow = []\nunprotected = [\"git\", \"gti\"]\n";
        let (found, wrong) = of_text(Path::new("c.toml"), text, false);
        let rules: Vec<String> = found
            .rules
            .iter()
            .map(|rule| format!("{} {} {}", rule.list.name(), rule.rule, rule.source))
            .collect();
        assert_eq!(rules, ["deny bash(git push *) c.toml:3", "allow bash(cargo test *) c.toml:5"]);
        assert_eq!(found.unprotected, [ProtectedKind::Git]);
        let wrong: Vec<String> = wrong.into_iter().map(String::from).collect();
        assert_eq!(
            wrong,
            [
                "c.toml:6: `bash(` is not a rule: its `)` is missing at the end",
                "c.toml:8: unknown name `alow` in [permissions]; use allow, ask, deny or unprotected",
                "c.toml:9: no protected paths are called `gti`; use one of git, startup, ssh, tau, keys, agents",
            ]
        );
    }

    #[test]
    fn what_asks_or_denies_names_a_tool() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::create_dir(folder.path().join("tools")).unwrap();
        std::fs::write(folder.path().join("tools/greb.toml"), "").unwrap();
        let wrong = |list: &str, rule: &str| {
            let text = format!("[permissions]\n{list} = ['{rule}']\n");
            of_text(&path, &text, false).1.first().map(UserError::to_string)
        };
        for (rule, meant) in [
            ("WebFetch(*)", "web_fetch"),
            ("WebSearch", "web_search"),
            ("MultiEdit(src/**)", "edit"),
            ("Glob(x)", "find"),
            ("Task", "delegate"),
            ("Edti(x)", "edit"),
            ("Bsh(touch *)", "bash"),
            ("raed", "read"),
            ("mcp__files", "mcp__files__*"),
            ("mcp_files_write", "mcp__SERVER__TOOL"),
            ("shell(touch *)", "bash"),
            ("terminal(touch *)", "bash"),
            ("all", "*"),
            ("everything", "*"),
            ("network", "web_fetch"),
            ("commands", "bash"),
            ("bash_tool", "bash"),
            ("file_edit(x)", "edit"),
            ("read-file(x)", "read"),
            ("run_bash_command", "bash"),
            ("bash(git push.*)", "regular expression"),
            ("bash(GIT PUSH *)", "case"),
            ("bash(rm *), bash(touch *)", "a rule for each"),
            ("bash(touch\u{a0}*)", "type the space again"),
        ] {
            for list in ["deny", "ask"] {
                assert!(
                    wrong(list, rule).is_some_and(|why| why.contains(meant)),
                    "{rule}: {:?}",
                    wrong(list, rule)
                );
            }
            assert_eq!(wrong("allow", rule), None);
        }
        for rule in
            *tau_tools::words!("Bash(ls) Edit LS jobs count e* * greb mcp__a__b mcp__g* web_fetch(a.b)")
        {
            assert_eq!(wrong("deny", rule), None);
        }
    }

    #[test]
    fn a_project_allows_less_than_the_user() {
        let text = "[permissions]\nallow = [\"bash(* *)\", \"edit(.)\", \"bash(make *)\", \"bash(npm test)\"]\ndeny = [\"bash\"]\n";
        let counts = |is_project| {
            let (found, wrong) = of_text(Path::new("c.toml"), text, is_project);
            (found.rules.len(), wrong.len())
        };
        assert_eq!((counts(true), counts(false)), ((3, 2), (5, 0)));
    }

    #[test]
    fn rules_are_added_and_removed_and_comments_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let rule = |text: &str| text.parse::<Rule>().unwrap();
        let read = || std::fs::read_to_string(&path).unwrap();
        add(&shared_file(&path), Verdict::Allow, &rule("bash(make *)")).unwrap();
        assert_eq!(read(), "[permissions]\nallow = [\"bash(make *)\"]\n");
        let text =
            "mouse = false # no\n\n[permissions] # mine\nallow = [\n    \"bash(ls)\", # why\n]\n# end\n";
        std::fs::write(&path, text).unwrap();
        add(&shared_file(&path), Verdict::Allow, &rule("bash(make *)")).unwrap();
        add(&shared_file(&path), Verdict::Allow, &rule("bash(make *)")).unwrap();
        let (found, wrong) = of_text(&path, &std::fs::read_to_string(&path).unwrap(), false);
        assert_eq!((found.rules.len(), wrong), (2, Vec::new()), "{}", read());
        for kept in ["mouse = false # no", "# mine", "# why", "# end"] {
            assert!(read().contains(kept), "{}", read());
        }
        remove(&shared_file(&path), Verdict::Allow, &rule("bash(make *)")).unwrap();
        assert_eq!(read(), text);
        std::fs::write(&path, "[permissions]\nallow = 1\n").unwrap();
        assert!(add(&shared_file(&path), Verdict::Allow, &rule("bash(make *)")).is_err());
    }

    #[test]
    fn a_new_rule_leaves_every_comment_with_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        for (list, longer) in [
            ("[\n  \"bash(a)\", # a\n]", "[\n  \"bash(a)\", # a\n  \"bash(x)\",\n]"),
            ("[\n  \"bash(a)\" # a\n]", "[\n  \"bash(a)\", # a\n  \"bash(x)\"\n]"),
            ("[\n  \"bash(a)\",\n  # end\n]", "[\n  \"bash(a)\",\n  # end\n  \"bash(x)\",\n]"),
            ("[\n  \"bash(a)\"]", "[\n  \"bash(a)\",\n  \"bash(x)\"]"),
            ("[\"bash(a)\"]", "[\"bash(a)\", \"bash(x)\"]"),
            ("[]", "[\"bash(x)\"]"),
        ] {
            std::fs::write(&path, format!("[permissions]\nallow = {list}\n")).unwrap();
            add(&shared_file(&path), Verdict::Allow, &"bash(x)".parse().unwrap()).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text, format!("[permissions]\nallow = {longer}\n"));
        }
    }

    #[test]
    fn a_rule_goes_with_the_comment_in_its_line_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let rule = |text: &str| text.parse::<Rule>().unwrap();
        let without = |list: &str, gone: &str| {
            std::fs::write(&path, format!("[permissions]\nallow = {list}\n")).unwrap();
            remove(&shared_file(&path), Verdict::Allow, &rule(gone)).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(of_text(&path, &text, false).1.is_empty(), "{text}");
            text.trim_start_matches("[permissions]\nallow = ").trim_end().to_owned()
        };
        let long = "[\n  \"bash(a)\", # a\n  # from here on\n  \"bash(b)\", # b\n  \"bash(c)\" # c\n]";
        for (list, gone, left) in [
            (long, "bash(a)", "[\n  # from here on\n  \"bash(b)\", # b\n  \"bash(c)\" # c\n]"),
            (long, "bash(b)", "[\n  \"bash(a)\", # a\n  # from here on\n  \"bash(c)\" # c\n]"),
            (long, "bash(c)", "[\n  \"bash(a)\", # a\n  # from here on\n  \"bash(b)\" # b\n]"),
            ("[\"bash(a)\", \"bash(b)\"]", "bash(a)", "[\"bash(b)\"]"),
            ("[\"bash(a)\", \"bash(b)\"]", "bash(b)", "[\"bash(a)\"]"),
            ("[\"bash(a)\"]", "bash(a)", "[]"),
            ("[\"bash(a)\"]", "bash(x)", "[\"bash(a)\"]"),
        ] {
            assert_eq!(without(list, gone), left, "{gone} of {list}");
        }
    }

    #[test]
    fn a_rule_takes_the_place_of_another_or_goes_to_another_list() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let rule = |text: &str| text.parse::<Rule>().unwrap();
        std::fs::write(&path, "[permissions]\nallow = [\"bash(a)\", \"bash(b)\"] # mine\n").unwrap();
        let read = || std::fs::read_to_string(&path).unwrap();
        let (a, b, c) = (rule("bash(a)"), rule("bash(b)"), rule("bash(c)"));
        change(&shared_file(&path), Some((Verdict::Allow, &a)), Some((Verdict::Allow, &c))).unwrap();
        assert_eq!(read(), "[permissions]\nallow = [\"bash(c)\", \"bash(b)\"] # mine\n");
        change(&shared_file(&path), Some((Verdict::Allow, &c)), Some((Verdict::Deny, &c))).unwrap();
        assert_eq!(read(), "[permissions]\nallow = [\"bash(b)\"] # mine\ndeny = [\"bash(c)\"]\n");
        change(&shared_file(&path), Some((Verdict::Allow, &b)), Some((Verdict::Allow, &b))).unwrap();
        assert_eq!(read(), "[permissions]\nallow = [\"bash(b)\"] # mine\ndeny = [\"bash(c)\"]\n");
    }
}
