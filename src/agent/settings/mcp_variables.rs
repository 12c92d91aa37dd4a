//! Environment variables in the configuration of MCP servers.

use std::cell::RefCell;
use std::collections::BTreeSet;

use tau_tools::user_error::UserError;

/// The forms that are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forms {
    /// `${NAME}` only: in commands and arguments, where `$NAME` may be meant for a shell.
    Braces,
    /// `$NAME` as well.
    All,
}

/// A variable in a text.
struct Variable<'a> {
    name: &'a str,
    default: Option<&'a str>,
    /// The text of the variable without its `$`, and the text behind it.
    raw: &'a str,
    behind: &'a str,
}

impl<'a> Variable<'a> {
    /// The variable whose `$` is before this text, if there is one.
    fn after_dollar(text: &'a str, forms: Forms) -> Option<Self> {
        let braced = text.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, default, behind) = match braced {
            Some((inner, behind)) => match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default), behind),
                None => (inner, None, behind),
            },
            None if forms == Forms::All => {
                let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
                let (name, behind) = text.split_at(end);
                (name, None, behind)
            }
            None => return None,
        };
        let raw = text.strip_suffix(behind)?;
        is_name(name).then_some(Variable { name, default, raw, behind })
    }
}

/// The text with the values of variables: `${NAME}`, `${NAME:-default}` and, for all forms, `$NAME`; a `$` before
/// one of these makes it plain text. `lookup` returns the value of a variable. Fails if a variable without a default
/// is not set.
pub(crate) fn expand(
    text: &str,
    forms: Forms,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, UserError> {
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let escaped = after.strip_prefix('$').and_then(|after| Variable::after_dollar(after, forms));
        rest = if let Some(Variable { raw, behind, .. }) = escaped {
            expanded.push('$');
            expanded.push_str(raw);
            behind
        } else if let Some(Variable { name, default, behind, .. }) = Variable::after_dollar(after, forms) {
            let value = lookup(name).filter(|value| !value.is_empty());
            expanded.push_str(&value.or(default.map(str::to_owned)).ok_or_else(|| unset(name))?);
            behind
        } else {
            expanded.push('$');
            after
        };
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// The text of a variable that is empty if it is not set; in `env`, under its own name, it is then left out.
pub fn passed_on(name: &str) -> String {
    format!("${{{name}:-}}")
}

/// Adds the names of the variables in a text to `names`.
pub(crate) fn add_names(text: &str, forms: Forms, names: &mut BTreeSet<String>) {
    let found = RefCell::new(names);
    let add = |name: &str| {
        found.borrow_mut().insert(name.to_owned());
        Some(name.to_owned())
    };
    // It cannot fail: each variable has a value.
    let _ = expand(text, forms, &add);
}

/// The text in which nothing of these forms is a variable, except those of the forms in `kept`.
pub fn literal(text: &str, forms: Forms, kept: Option<Forms>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        out.push('$');
        rest = match Variable::after_dollar(after, forms) {
            Some(Variable { raw, behind, .. }) => {
                let is_kept = kept.is_some_and(|kept| Variable::after_dollar(after, kept).is_some());
                out.push_str(if is_kept { "" } else { "$" });
                out.push_str(raw);
                behind
            }
            None => after,
        };
    }
    out + rest
}

fn unset(name: &str) -> UserError {
    UserError::new(format!("the variable {name} is not set"))
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced() {
        let lookup = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let check = |text: &str, forms, expected: Result<&str, &str>| {
            let found = expand(text, forms, &lookup);
            assert_eq!(found, expected.map(str::to_owned).map_err(unset), "{text}");
        };
        check("Bearer $A", Forms::All, Ok("Bearer 1"));
        check("x${A}y$A.", Forms::All, Ok("x1y1."));
        check("$A ${A}", Forms::Braces, Ok("$A 1"));
        check("${B:-two}${EMPTY:-e}", Forms::Braces, Ok("twoe"));
        check("${B}", Forms::Braces, Err("B"));
        check("$B", Forms::All, Err("B"));
        check("$EMPTY", Forms::All, Err("EMPTY"));
        check("$ 5$ ${x y} ${A $1", Forms::All, Ok("$ 5$ ${x y} ${A $1"));
        check("a$$A b$${A} c$$${A:-x} $$", Forms::All, Ok("a$A b${A} c$${A:-x} $$"));
        check("$$A $${A}", Forms::Braces, Ok("$$A ${A}"));
    }

    #[test]
    fn literal_text_is_read_as_it_is() {
        for text in ["pa$word", "a${B}c", "$$A$", "${A:-$B}", "$ 5$ ${x y} $1", ""] {
            for forms in [Forms::Braces, Forms::All] {
                let read = expand(&literal(text, forms, None), forms, &|_| None);
                assert_eq!(read, Ok(text.to_owned()), "{forms:?}");
            }
        }
        assert_eq!(literal("$A ${B}", Forms::All, Some(Forms::Braces)), "$$A ${B}");
    }
}
