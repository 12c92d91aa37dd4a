//! Rewrites messages of the TOML reader for users.

use super::names::{AUTOMATIC, replacement};
use tau_tools::compare::close_matches;

/// The minimum similarity of a word and a known one, from 0 to 1, for a suggestion.
const LIKENESS: f32 = 0.7;
/// Lists with more names than this are not shown. Only the list of all settings is that long.
const LISTED: usize = 20;

/// Explains an error, with the nearest known word instead of a list of all.
pub fn explain(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    // A value that is one of several words: the reader names neither them nor the value.
    if ["wanted string or table", "invalid type: unit variant, expected string only"].contains(&first) {
        return "this needs a text in quotes".to_owned();
    }
    if let Some(rest) = first.strip_prefix("invalid type: ") {
        return wrong_type(rest).unwrap_or_else(|| first.to_owned());
    }
    if let Some(rest) = first.strip_prefix("invalid value: ") {
        return wrong_type(rest).unwrap_or_else(|| first.to_owned());
    }
    if let Some(field) = first.strip_prefix("missing field ") {
        return format!("{field} is missing");
    }
    if !first.starts_with("unknown ") {
        return first.to_owned();
    }
    let first = first.replacen("unknown field ", "unknown name ", 1);
    let first = first.replacen("unknown variant ", "unknown value ", 1);
    let Some((head, list)) = first.split_once(", expected ") else { return first };
    let (given, known) = (words_in_backticks(head), words_in_backticks(list));
    // Other files may have this name.
    let gone = given.first().filter(|_| known.contains(&"model"));
    if let Some((old, instead)) = gone.and_then(|old| Some((old, replacement(old)?))) {
        return match instead {
            AUTOMATIC => format!("`{old}` is gone: tau finds the value by itself; remove the line"),
            instead => format!("`{old}` is gone: write {instead}"),
        };
    }
    let near = given.first().map(|given| close_matches(given, &known, 1, LIKENESS));
    match near.unwrap_or_default().first() {
        Some(near) => format!("{head}; did you mean `{near}`?"),
        None if known.is_empty() => first.clone(),
        None if known.len() > LISTED => {
            format!("{head}; /settings in tau and docs/configuration.md list the names")
        }
        None => format!("{head}; use {}", one_of(&known)),
    }
}

/// The message that a text is not TOML, with the reader's reason.
pub(super) fn not_toml(message: &str) -> String {
    format!("is not valid TOML ({}); fix the line", message.lines().next().unwrap_or_default())
}

/// Rewrites "integer `1`, expected a string" as "needs a text in quotes, not the number 1".
fn wrong_type(rest: &str) -> Option<String> {
    let (given, wanted) = rest.split_once(", expected ")?;
    let needs = match wanted {
        "a string" | "string" | "path string" => "a text in quotes",
        "a boolean" | "bool" => "true or false",
        "a nonzero u64" => "a whole number above 0",
        "u64" | "u32" | "usize" => "a whole number, 0 or greater",
        "f64" | "f32" => "a number",
        "a sequence" => "a list",
        "a map" => "a table",
        other => other.strip_prefix("struct ").map_or(other, |_| "a table"),
    };
    let value = given.split_once(' ').map_or("", |(_, value)| value).trim_matches('`');
    let given = match given.split(' ').next().unwrap_or_default() {
        "integer" | "floating" => format!("the number {}", value.trim_start_matches("point `")),
        "string" => format!("the text {value}"),
        "boolean" => value.to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => given.to_owned(),
    };
    Some(format!("this needs {needs}, not {given}"))
}

/// The words in backticks.
fn words_in_backticks(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn one_of(words: &[&str]) -> String {
    match words {
        [only] => format!("`{only}`"),
        words => format!("one of {}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::explain;
    use crate::settings::Settings;
    use crate::settings::table::TABLE;
    use crate::settings::toml_file::{parse_toml, values_of};

    #[test]
    fn a_word_that_is_like_none_gets_no_wrong_guess() {
        let known: Vec<String> = (0..30).map(|number| format!("`setting_{number}`")).collect();
        let many = format!("unknown field `bogus`, expected one of `mouse`, {}", known.join(", "));
        let said = "unknown name `bogus`; /settings in tau and docs/configuration.md list the names";
        assert_eq!(explain(&many), said);
    }

    #[test]
    fn a_value_of_a_wrong_type_is_said_in_words_of_the_user_for_every_setting() {
        let values = [
            "true", "1", "1.5", "\"zz zz\"", "[]", "[1]", "[true]", "[\"zz zz\"]", "{ zz = 1 }", "1979-05-27",
        ];
        let of_the_reader = [
            "variant", "expected", "invalid", "sequence", "map", "struct", "unit", "enum", "u64", "usize",
            "newtype", "wanted", "string", "untagged", "float", "tuple", "Option", "data did not",
        ];
        let mut odd = Vec::new();
        for row in TABLE {
            for value in values {
                let text = format!("{} = {value}", row.key);
                let strictly = parse_toml::<Settings>(&text).err().map(|problem| problem.text);
                let leniently = values_of::<Settings>(Path::new("c"), &text).1;
                let leniently = leniently.into_iter().map(|(_, error)| error.to_string());
                for said in strictly.into_iter().chain(leniently) {
                    let mut words = said.split(|c: char| !c.is_alphanumeric() && c != '_');
                    if words.any(|word| of_the_reader.contains(&word)) {
                        odd.push(format!("{text}: {said}"));
                    }
                }
            }
        }
        assert!(odd.is_empty(), "{}", odd.join("\n"));
    }

    #[test]
    fn no_word_of_the_reader_is_left() {
        let cases = [
            ("invalid type: integer `1`, expected a string", "this needs a text in quotes, not the number 1"),
            (
                "invalid type: string \"x\", expected u64",
                "this needs a whole number, 0 or greater, not the text \"x\"",
            ),
            (
                "invalid value: integer `-1`, expected u64",
                "this needs a whole number, 0 or greater, not the number -1",
            ),
            (
                "invalid value: integer `0`, expected a nonzero u64",
                "this needs a whole number above 0, not the number 0",
            ),
            (
                "invalid type: floating point `1.5`, expected u64",
                "this needs a whole number, 0 or greater, not the number 1.5",
            ),
            ("invalid type: boolean `true`, expected a sequence", "this needs a list, not true"),
            (
                "unknown field `them`, expected one of `model`, `theme`",
                "unknown name `them`; did you mean `theme`?",
            ),
            (
                "unknown variant `zzz`, expected one of `off`, `low`",
                "unknown value `zzz`; use one of off, low",
            ),
            ("missing field `id`", "`id` is missing"),
        ];
        for (message, expected) in cases {
            assert_eq!(explain(message), expected);
        }
    }
}
