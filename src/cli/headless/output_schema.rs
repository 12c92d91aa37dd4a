//! `--output-schema`: answers that must be JSON of a given form.
//!
//! The model reads the schema in the system prompt, which is the same for every request, so the provider's
//! cache holds. Its final answer is checked here; if it is not valid, one more prompt reports its faults. The
//! structured output of some providers is not used: it supports only a part of JSON Schema, which differs
//! between them, and rules out calls of tools with some.

use std::path::Path;

use jsonschema::Validator;
use jsonschema::error::{ValidationError, ValidationErrorKind};
use serde_json::Value;

use super::prompts;
use crate::process::exit::Refusal;
use crate::process::plain;
use tau_tools::budget::shorten;
use tau_tools::user_error::UserError;

/// Maximum number of listed violations.
const LISTED: usize = 20;
/// Maximum length of a violation's line, in characters.
const LINE: usize = 300;

/// The required form of answers.
#[derive(Clone, Debug)]
pub struct OutputSchema {
    schema: Value,
    validator: Validator,
}

/// A valid answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The model's JSON, without surrounding text.
    pub text: String,
    pub value: Value,
}

/// The faults of an answer: one line for each violation, and their total number.
#[derive(Clone, Debug, PartialEq)]
pub struct Violations {
    lines: Vec<String>,
    count: usize,
}

impl OutputSchema {
    /// Reads a JSON Schema. Draft 2020-12 unless its `$schema` names another one. The error is a sentence for
    /// the user: the file cannot be read, is not JSON, is not a JSON Schema, or refers to another document.
    pub fn read(path: &Path) -> Result<Self, Refusal> {
        let name = path.display();
        let refused = |why: UserError| Refusal::usage(format!("--output-schema: {why}"));
        let text = prompts::text_of_file(path).map_err(refused)?;
        let schema = serde_json::from_str(&text)
            .map_err(|error| refused(UserError::new(format!("{name} is not JSON")).because(error)))?;
        Self::new(schema).map_err(|why| {
            refused(UserError::new(format!("{name} cannot be used as a JSON Schema")).because(why))
        })
    }

    fn new(schema: Value) -> Result<Self, UserError> {
        let built = jsonschema::options().offline().build(&schema);
        let validator = built.map_err(|error| match error.kind() {
            ValidationErrorKind::Referencing(jsonschema::ReferencingError::Unretrievable { uri, .. }) => {
                format!("it refers to {uri}, and only references within the file are followed; put that schema into its `$defs`")
            }
            _ => line(&error),
        })?;
        Ok(OutputSchema { schema, validator })
    }

    /// The instructions for the model: a section of the system prompt.
    pub fn instructions(&self) -> String {
        format!(
            "# Final answers\n\n\
             A program reads your final answer to each prompt. The final answer must be one JSON value that is \
             valid against the JSON Schema below, and nothing else: no text before or after it. What you write \
             beside tool calls before that is free.\n\n{}",
            prompts::in_fences(&self.schema.to_string())
        )
    }

    /// Extracts the JSON from an answer: all of it, or the content of its one fenced block. The error is the
    /// faults of the answer.
    pub fn check(&self, answer: &str) -> Result<Output, Violations> {
        let text = strip_fence(answer.trim()).trim();
        let value: Value = serde_json::from_str(text)
            .map_err(|error| Violations { lines: vec![format!("it is not JSON: {error}")], count: 1 })?;
        let (lines, count) = {
            let mut errors = self.validator.iter_errors(&value);
            let lines: Vec<String> = errors.by_ref().take(LISTED).map(|error| line(&error)).collect();
            let count = lines.len() + errors.count();
            (lines, count)
        };
        match count {
            0 => Ok(Output { text: text.to_owned(), value }),
            _ => Err(Violations { lines, count }),
        }
    }
}

impl Violations {
    /// The prompt that asks for a corrected answer.
    pub fn repair_prompt(&self) -> String {
        let more = match self.count - self.lines.len() {
            0 => String::new(),
            more => format!("\n- and {more} more"),
        };
        format!(
            "Your answer cannot be used, because it is not valid against the JSON Schema in the system prompt:\n\
             - {}{more}\n\nAnswer again: only the corrected JSON value, no other text.",
            self.lines.join("\n- ")
        )
    }

    /// The faults on one line, for display and for programs.
    pub fn summary(&self) -> String {
        let more = match self.count {
            0 | 1 => String::new(),
            count => format!(" ({count} violations)"),
        };
        format!("{}{more}", self.lines.first().map_or("", String::as_str))
    }

    /// The reason why the run failed.
    pub fn failure(&self) -> String {
        format!("the answer is not valid against the schema of --output-schema: {}", self.summary())
    }
}

/// A violation: its place, and the fault there. The value is not repeated, as it may be large.
fn line(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().as_str();
    let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
    shorten(&plain::line(&format!("{place}{}", error.masked_with("the value"))), LINE)
}

/// The content of a fenced block, if the text is one from its first to its last line.
fn strip_fence(text: &str) -> &str {
    let Some((first, rest)) = text.split_once('\n') else { return text };
    let info = first.trim_start_matches('`');
    let fence = first.len() - info.len();
    let Some((content, last)) = rest.rsplit_once('\n') else { return text };
    let closes = last.trim_end().len() == fence && last.trim_end().chars().all(|c| c == '`');
    if fence >= 3 && closes && !info.contains('`') { content } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(schema: Value, answer: &str) -> Result<Value, UserError> {
        let schema = OutputSchema::new(schema).unwrap();
        schema.check(answer).map(|output| output.value).map_err(|violations| violations.summary().into())
    }

    #[test]
    fn the_answer_may_be_fenced_and_nothing_else() {
        let accepted = [
            "1", " 1\n", "```\n1\n```", "```json\n1\n```\n", "````json\n\n1\n\n````", "\n```JSON \n1\n``` \n",
        ];
        for text in accepted {
            assert_eq!(answer(json!({"type": "integer"}), text), Ok(json!(1)), "{text:?}");
        }
        let refused = [
            "", "one", "1 2", "Here:\n1", "```\n1\n```\nDone.", "```\n1\n````", "```\n```",
            "```\n1\n```\n```\n1\n```",
        ];
        for text in refused {
            let error = answer(json!({"type": "integer"}), text).unwrap_err();
            assert!(error.starts_with("it is not JSON: "), "{text:?}: {error}");
        }
    }

    #[test]
    fn the_text_of_the_model_is_kept() {
        let schema = OutputSchema::new(json!({})).unwrap();
        assert_eq!(schema.check("```\n{\"n\": 1.0}\n```").unwrap().text, "{\"n\": 1.0}");
    }

    #[test]
    fn violations_have_places_and_are_bounded() {
        let schema =
            json!({"properties": {"a": {"items": {"type": "string", "maxLength": 3}}}, "required": ["b"]});
        let many: Vec<u32> = (0..50).collect();
        let violations =
            OutputSchema::new(schema).unwrap().check(&json!({"a": many}).to_string()).unwrap_err();
        let prompt = violations.repair_prompt();
        assert!(prompt.contains("\n- /a/0: the value is not of type \"string\"\n"), "{prompt}");
        assert!(prompt.contains("\n- and 31 more\n"), "{prompt}");
        assert_eq!(prompt.lines().count(), 24);
        assert!(violations.failure().ends_with(" (51 violations)"), "{}", violations.failure());

        let error = answer(json!({"const": "k".repeat(5000)}), "1").unwrap_err();
        assert_eq!(error.chars().count(), LINE + 1, "{error}");
    }

    #[test]
    fn references_stay_within_the_file() {
        let list = json!({
            "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["n"]}},
            "$ref": "#/$defs/node",
        });
        assert!(answer(list.clone(), r#"{"n":1,"next":{"n":2}}"#).is_ok());
        assert!(answer(list, r#"{"n":1,"next":{}}"#).unwrap_err().starts_with("/next: "));
        for (remote, name) in [
            ("https://example.com/x.json", "https://example.com/x.json"),
            ("file:///etc/hostname", "file:///etc/hostname"),
            ("other.json#/a", "other.json"),
        ] {
            let error = OutputSchema::new(json!({"properties": {"a": {"$ref": remote}}})).unwrap_err();
            assert!(error.contains(name) && error.contains("only references within the file"), "{error}");
        }
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for (schema, hint) in [
            (json!({"type": "text"}), "/type: "),
            (json!({"minimum": "1"}), "/minimum: "),
            (json!([]), "not of types"),
            (json!({"$ref": "#/$defs/none"}), "none"),
            (json!({"pattern": "("}), "/pattern: "),
        ] {
            let error = OutputSchema::new(schema.clone()).unwrap_err();
            assert!(error.contains(hint), "{schema}: {error}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        for schema in [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}]}), json!({"not": {"$ref": "#"}})]
        {
            if let Ok(schema) = OutputSchema::new(schema) {
                let _ = schema.check("{}");
            }
        }
        let slow = json!({"pattern": "^(a|a)*(?=b)$"});
        assert!(answer(slow, &format!("\"{}\"", "a".repeat(64))).is_err());
    }
}
