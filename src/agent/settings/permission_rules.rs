//! The rules of a `config.toml`, each with its line; adding one to the file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml_edit::{Array, Item, Table};

use super::toml_file::{line_of, read_file};
use super::{SettingsError, write};
use crate::agent::permissions::{Protected, Rule, RuleInForce, Verdict};

/// The lists of `[permissions]`.
const LISTS: [(&str, Verdict); 3] =
    [("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)];
/// The list of protected paths that are not asked.
const UNPROTECTED: &str = "unprotected";

/// What `[permissions]` of a file sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRules {
    /// The rules in the order of their lines.
    pub rules: Vec<RuleInForce>,
    /// Protected paths that are not asked.
    pub unprotected: Vec<Protected>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    permissions: BTreeMap<toml::Spanned<String>, Vec<toml::Spanned<String>>>,
}

/// What a file sets, and what is wrong in it. What is no table of lists is reported by the settings.
pub fn of_file(path: &Path) -> (FileRules, Vec<SettingsError>) {
    let text = read_file(path).ok().flatten().unwrap_or_default();
    of_text(path, &text)
}

/// As [`of_file`], for a text that came from `path`.
pub fn of_text(path: &Path, text: &str) -> (FileRules, Vec<SettingsError>) {
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
            let source = format!("{}:{line}", path.display());
            match (kind, entry.get_ref().parse::<Rule>(), Protected::from_name(entry.get_ref())) {
                (Some(list), Ok(rule), _) => found.rules.push(RuleInForce { rule, list, source }),
                (Some(_), Err(error), _) => wrong.push((line, error.to_string())),
                (None, _, Some(kind)) => found.unprotected.push(kind),
                (None, _, None) => {
                    let names = Protected::TABLE.map(|(_, name, _)| name).join(", ");
                    let given = entry.get_ref();
                    wrong
                        .push((line, format!("no protected paths are called `{given}`; use one of {names}")));
                }
            }
        }
    }
    // The lists come by name; people read files from the top.
    let line = |source: &str| source.rsplit(':').next().and_then(|line| line.parse::<usize>().ok());
    found.rules.sort_by_key(|rule| line(&rule.source));
    wrong.sort();
    let place = path.display();
    let wrong = wrong.into_iter().map(|(line, text)| SettingsError(format!("{place}:{line}: {text}")));
    (found, wrong.collect())
}

/// Adds a rule to a list of the file, which is made when missing; the rest stays as it is written.
///
/// # Errors
/// When the file cannot be read or written, or is not understood.
pub fn add(path: &Path, list: Verdict, rule: &Rule) -> Result<(), SettingsError> {
    write::change(path, |file| {
        let Some(rules) = list_in(file, list) else { return };
        let text = rule.to_string();
        if !rules.iter().any(|given| given.as_str() == Some(text.as_str())) {
            push(rules, &text);
        }
    })
}

/// Takes a rule out of a list of the file.
///
/// # Errors
/// As [`add`].
pub fn remove(path: &Path, list: Verdict, rule: &Rule) -> Result<(), SettingsError> {
    write::change(path, |file| {
        if !file.contains_key("permissions") {
            return;
        }
        let Some(rules) = list_in(file, list) else { return };
        let is_it = |given: &toml_edit::Value| {
            given.as_str().and_then(|given| given.parse::<Rule>().ok()).is_some_and(|given| given == *rule)
        };
        rules.retain(|given| !is_it(given));
    })
}

/// A list of rules in a file. What is no list is left alone, and refused when the file is checked.
fn list_in(file: &mut Table, list: Verdict) -> Option<&mut Array> {
    let table = file.entry("permissions").or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut()?;
    table.entry(list.name()).or_insert_with(|| Item::Value(Array::new().into())).as_array_mut()
}

/// Adds a text in the way in which the list is written: on a line of its own if the others are.
fn push(rules: &mut Array, text: &str) {
    let first = rules.iter().last().and_then(|last| last.decor().prefix()).and_then(|prefix| prefix.as_str());
    let indent = first.filter(|prefix| prefix.contains('\n')).and_then(|prefix| prefix.rsplit('\n').next());
    let indent = indent.map(|indent| format!("\n{indent}"));
    match indent {
        Some(indent) => rules.push_formatted(toml_edit::Value::from(text).decorated(indent, "")),
        None => rules.push(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_with_their_lines_and_mistakes_reported() {
        let text = "theme = \"x\"\n[permissions]\ndeny = [\"bash(git push *)\"]\nallow = [\n  \"bash(cargo test *)\",\n  \
                    \"bash(\",\n]\nalow = []\nunprotected = [\"git\", \"gti\"]\n";
        let (found, wrong) = of_text(Path::new("c.toml"), text);
        let rules: Vec<String> = found
            .rules
            .iter()
            .map(|rule| format!("{} {} {}", rule.list.name(), rule.rule, rule.source))
            .collect();
        assert_eq!(rules, ["deny bash(git push *) c.toml:3", "allow bash(cargo test *) c.toml:5"]);
        assert_eq!(found.unprotected, [Protected::Git]);
        let wrong: Vec<String> = wrong.into_iter().map(|error| error.0).collect();
        assert_eq!(
            wrong,
            [
                "c.toml:6: `bash(` is not a rule: its `)` is missing at the end",
                "c.toml:8: unknown name `alow` in [permissions]; use allow, ask, deny or unprotected",
                "c.toml:9: no protected paths are called `gti`; use one of git, startup, ssh, tau, keys",
            ]
        );
    }

    #[test]
    fn rules_are_added_and_removed_and_comments_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let rule = |text: &str| text.parse::<Rule>().unwrap();
        let read = || std::fs::read_to_string(&path).unwrap();
        add(&path, Verdict::Allow, &rule("bash(make *)")).unwrap();
        assert_eq!(read(), "[permissions]\nallow = [\"bash(make *)\"]\n");
        let text =
            "mouse = false # no\n\n[permissions] # mine\nallow = [\n    \"bash(ls)\", # why\n]\n# end\n";
        std::fs::write(&path, text).unwrap();
        add(&path, Verdict::Allow, &rule("bash(make *)")).unwrap();
        add(&path, Verdict::Allow, &rule("bash(make *)")).unwrap();
        let (found, wrong) = of_file(&path);
        assert_eq!((found.rules.len(), wrong), (2, Vec::new()), "{}", read());
        for kept in ["mouse = false # no", "# mine", "# why", "# end"] {
            assert!(read().contains(kept), "{}", read());
        }
        remove(&path, Verdict::Allow, &rule("bash(make *)")).unwrap();
        let (found, _) = of_file(&path);
        assert_eq!(found.rules.len(), 1, "{}", read());
        std::fs::write(&path, "[permissions]\nallow = 1\n").unwrap();
        assert!(add(&path, Verdict::Allow, &rule("bash(make *)")).is_err());
    }
}
