//! Replaces environment variables in the configuration of servers.

use tau_tools::user_error::UserError;

/// The forms that are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forms {
    /// `${NAME}` only: in commands and arguments, where `$NAME` may be meant for a shell.
    Braces,
    /// `$NAME` as well.
    All,
}

/// The text with the values of variables: `${NAME}`, `${NAME:-default}` and, for all forms, `$NAME`. `lookup`
/// returns the value of a variable. Fails if a variable without a default is not set.
pub(super) fn expand(
    text: &str,
    forms: Forms,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, UserError> {
    let (mut expanded, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        if let Some((inner, after)) = after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            let (name, default) = match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inner, None),
            };
            if is_name(name) {
                let value = lookup(name).filter(|value| !value.is_empty());
                expanded.push_str(&value.or(default.map(str::to_owned)).ok_or_else(|| unset(name))?);
                rest = after;
                continue;
            }
        }
        let length = after.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
        let name = after.get(..length).unwrap_or_default();
        if forms == Forms::All && is_name(name) {
            expanded.push_str(&lookup(name).filter(|value| !value.is_empty()).ok_or_else(|| unset(name))?);
            rest = after.get(length..).unwrap_or_default();
        } else {
            expanded.push('$');
            rest = after;
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
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
    }
}
