//! Forms that MCP servers ask the user to fill in: their fields and the values they accept.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;

/// A field of a form. Its texts come from the server and are not safe to print.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormField {
    /// The name used in the answer.
    pub name: String,
    /// The name shown to users; `name` if there is nothing better.
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    pub required: bool,
    #[serde(flatten)]
    pub kind: FieldKind,
    /// The initial value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// The kind of value of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum FieldKind {
    /// Lengths in characters; `format` as in JSON Schema.
    String {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_length: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_length: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<String>,
    },
    /// A number, whole if `integer`.
    Number {
        integer: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        minimum: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maximum: Option<f64>,
    },
    Boolean,
    /// One of these options.
    Choice {
        options: Vec<FormOption>,
    },
    /// Any of these options.
    Choices {
        options: Vec<FormOption>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_items: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_items: Option<u64>,
    },
}

/// An option to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormOption {
    pub value: String,
    /// The name shown to users.
    pub title: String,
}

impl FormField {
    /// The field described by a JSON Schema; `None` for unsupported kinds.
    pub fn of_schema(name: &str, required: bool, schema: &Value) -> Option<Self> {
        let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let options = options(schema);
        let kind = match (schema.get("type")?.as_str()?, options) {
            ("string", Some(options)) => FieldKind::Choice { options },
            ("string", None) => FieldKind::String {
                min_length: count("minLength"),
                max_length: count("maxLength"),
                format: text("format"),
            },
            (kind @ ("number" | "integer"), _) => FieldKind::Number {
                integer: kind == "integer",
                minimum: number("minimum"),
                maximum: number("maximum"),
            },
            ("boolean", _) => FieldKind::Boolean,
            ("array", _) => FieldKind::Choices {
                options: self::options(schema.get("items")?)?,
                min_items: count("minItems"),
                max_items: count("maxItems"),
            },
            _ => return None,
        };
        let field = FormField {
            name: name.to_owned(),
            title: text("title").filter(|title| !title.trim().is_empty()).unwrap_or_else(|| name.to_owned()),
            description: text("description").unwrap_or_default(),
            required,
            kind,
            default: None,
        };
        let default = schema.get("default").filter(|default| field.check(default).is_ok()).cloned();
        Some(FormField { default, ..field })
    }

    /// Checks that the field accepts a value. The error names the accepted values, as part of a sentence.
    pub fn check(&self, value: &Value) -> Result<(), UserError> {
        match &self.kind {
            FieldKind::String { min_length, max_length, format } => {
                let text = value.as_str().ok_or("it must be text")?;
                let length = text.chars().count() as u64;
                match (min_length, max_length) {
                    (Some(least), _) if length < *least => {
                        Err(format!("it needs at least {}", pluralize(*least, "character")).into())
                    }
                    (_, Some(most)) if length > *most => {
                        Err(format!("it can have at most {}", pluralize(*most, "character")).into())
                    }
                    _ => check_format(text, format.as_deref()),
                }
            }
            FieldKind::Number { integer, minimum, maximum } => {
                let number = value.as_f64().ok_or("it must be a number")?;
                if *integer && number.fract() != 0.0 {
                    return Err("it must be a whole number".into());
                }
                match (minimum, maximum) {
                    (Some(least), _) if number < *least => Err(format!("it must be at least {least}").into()),
                    (_, Some(most)) if number > *most => Err(format!("it must be at most {most}").into()),
                    _ => Ok(()),
                }
            }
            FieldKind::Boolean if value.is_boolean() => Ok(()),
            FieldKind::Boolean => Err("it must be true or false".into()),
            FieldKind::Choice { options } => is_option(options, value),
            FieldKind::Choices { options, min_items, max_items } => {
                let chosen = value.as_array().ok_or("it must be a list")?;
                chosen.iter().try_for_each(|value| is_option(options, value))?;
                let count = chosen.len() as u64;
                match (min_items, max_items) {
                    (Some(least), _) if count < *least => Err(format!("choose at least {least}").into()),
                    (_, Some(most)) if count > *most => Err(format!("choose at most {most}").into()),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Parses the typed text as a value; `None` if it is empty. The error names the accepted values, as part
    /// of a sentence.
    pub fn parse(&self, typed: &str) -> Result<Option<Value>, UserError> {
        if typed.is_empty() {
            return if self.required { Err("it is required".into()) } else { Ok(None) };
        }
        let value = match &self.kind {
            FieldKind::Number { integer: true, .. } => {
                json!(typed.trim().parse::<i64>().map_err(|_| "it must be a whole number")?)
            }
            FieldKind::Number { integer: false, .. } => {
                let number: f64 = typed.trim().parse().map_err(|_| "it must be a number")?;
                json!(number)
            }
            FieldKind::String { .. }
            | FieldKind::Boolean
            | FieldKind::Choice { .. }
            | FieldKind::Choices { .. } => json!(typed),
        };
        self.check(&value).map(|()| Some(value))
    }
}

/// Checks that the fields accept these values and that no required one is missing. The error names the first
/// invalid field, and what it accepts.
pub fn check(fields: &[FormField], values: &Map<String, Value>) -> Result<(), UserError> {
    let known = |name: &String| fields.iter().any(|field| field.name == *name);
    if let Some(name) = values.keys().find(|name| !known(name)) {
        return Err(format!("{name}: there is no such field").into());
    }
    fields.iter().try_for_each(|field| {
        let checked = match values.get(&field.name) {
            Some(value) => field.check(value),
            None if field.required => Err("it is required".into()),
            None => Ok(()),
        };
        checked.map_err(|why: UserError| UserError::new(&field.name).because(why))
    })
}

/// The options listed in a schema.
fn options(schema: &Value) -> Option<Vec<FormOption>> {
    if let Some(titled) = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array) {
        let option = |option: &Value| {
            let value = option.get("const")?.as_str()?.to_owned();
            let title = option.get("title").and_then(Value::as_str).unwrap_or(&value).to_owned();
            Some(FormOption { value, title })
        };
        return Some(titled.iter().filter_map(option).collect()).filter(|found: &Vec<_>| !found.is_empty());
    }
    let values = schema.get("enum").and_then(Value::as_array)?;
    let titles = schema.get("enumNames").and_then(Value::as_array);
    let option = |(index, value): (usize, &Value)| {
        let value = value.as_str()?.to_owned();
        let title = titles.and_then(|titles| titles.get(index)?.as_str()).unwrap_or(&value).to_owned();
        Some(FormOption { value, title })
    };
    Some(values.iter().enumerate().filter_map(option).collect()).filter(|found: &Vec<_>| !found.is_empty())
}

fn is_option(options: &[FormOption], value: &Value) -> Result<(), UserError> {
    let is_one = value.as_str().is_some_and(|value| options.iter().any(|option| option.value == value));
    if is_one { Ok(()) } else { Err("choose one of the options".into()) }
}

/// Checks the syntax of formats known to the protocol; the server checks the rest.
fn check_format(text: &str, format: Option<&str>) -> Result<(), UserError> {
    let digits = |text: &str, shape: &str| {
        text.len() == shape.len()
            && text
                .bytes()
                .zip(shape.bytes())
                .all(|(c, s)| if s == b'0' { c.is_ascii_digit() } else { c == s })
    };
    let (fits, wanted) = match format {
        Some("email") => {
            let parts = text.split_once('@');
            let fits = parts.is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
            (fits && !text.contains(char::is_whitespace), "an e-mail address")
        }
        Some("uri") => {
            let fits =
                text.split_once(':').is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty());
            (fits && !text.contains(char::is_whitespace), "an address such as https://example.com")
        }
        Some("date") => (digits(text, "0000-00-00"), "a date such as 2026-01-31"),
        Some("date-time") => {
            let fits = text
                .get(..19)
                .is_some_and(|start| digits(&start.replace(['t', ' '], "T"), "0000-00-00T00:00:00"));
            (fits, "a date and time such as 2026-01-31T12:00:00Z")
        }
        _ => (true, ""),
    };
    if fits { Ok(()) } else { Err(format!("it must be {wanted}").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(schema: &Value) -> FormField {
        FormField::of_schema("f", true, schema).unwrap()
    }

    #[test]
    fn fields_take_what_their_schema_says() {
        let cases = [
            (json!({"type": "string", "minLength": 2, "maxLength": 3}), json!("ab"), json!("a")),
            (json!({"type": "string", "format": "email"}), json!("a@b.c"), json!("a@b")),
            (json!({"type": "string", "format": "uri"}), json!("https://a"), json!("a")),
            (json!({"type": "string", "format": "date"}), json!("2026-01-31"), json!("31.1.2026")),
            (
                json!({"type": "string", "format": "date-time"}),
                json!("2026-01-31T12:00:00Z"),
                json!("2026-01-31"),
            ),
            (json!({"type": "integer", "minimum": 1, "maximum": 3}), json!(3), json!(4)),
            (json!({"type": "integer"}), json!(3), json!(3.5)),
            (json!({"type": "number"}), json!(3.5), json!("3.5")),
            (json!({"type": "boolean"}), json!(false), json!("no")),
            (json!({"type": "string", "enum": ["a", "b"]}), json!("a"), json!("c")),
            (json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}), json!("a"), json!("A")),
            (json!({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}), json!(["b"]), json!([])),
            (
                json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}),
                json!([]),
                json!(["b"]),
            ),
        ];
        for (schema, good, bad) in cases {
            let field = field(&schema);
            assert_eq!(field.check(&good), Ok(()), "{schema}");
            assert!(field.check(&bad).is_err(), "{schema}");
        }
        assert_eq!(FormField::of_schema("f", true, &json!({"type": "object"})), None);
    }

    #[test]
    fn what_is_typed_becomes_a_value() {
        let number = field(&json!({"type": "number", "default": 2.5}));
        assert_eq!((number.default.clone(), number.parse("1e2")), (Some(json!(2.5)), Ok(Some(json!(100.0)))));
        assert_eq!(number.parse("x"), Err("it must be a number".into()));
        assert_eq!(number.parse(""), Err("it is required".into()));
        assert_eq!(field(&json!({"type": "integer"})).parse(" 7 "), Ok(Some(json!(7))));
        let optional = FormField { required: false, ..field(&json!({"type": "string", "default": 3})) };
        assert_eq!((optional.default.clone(), optional.parse("")), (None, Ok(None)));
    }

    #[test]
    fn whole_answers_are_checked() {
        let fields = [field(&json!({"type": "string"}))];
        let values = |value: Value| value.as_object().unwrap().clone();
        assert_eq!(check(&fields, &values(json!({"f": "x"}))), Ok(()));
        assert_eq!(check(&fields, &values(json!({}))), Err("f: it is required".into()));
        assert_eq!(
            check(&fields, &values(json!({"f": "x", "g": 1}))),
            Err("g: there is no such field".into())
        );
    }
}
