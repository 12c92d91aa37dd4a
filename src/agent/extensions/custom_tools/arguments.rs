//! Arguments of custom tools: their types, their schema, and the values of a call.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use strum::IntoStaticStr;

use tau_tools::{ToolError, ToolSpec, args};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) kind: ArgumentKind,
    pub(super) description: String,
    pub(super) is_required: bool,
    pub(super) default: Option<Value>,
    /// The only possible values; any if empty.
    pub(super) choices: Vec<String>,
}

/// The type of an argument.
#[derive(IntoStaticStr)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(super) enum ArgumentKind {
    #[default]
    String,
    Integer,
    Number,
    Boolean,
    /// A list of strings.
    Array,
}

impl ArgumentKind {
    fn name(self) -> &'static str {
        self.into()
    }

    /// Whether its values are strings.
    pub(super) fn is_text(self) -> bool {
        matches!(self, ArgumentKind::String | ArgumentKind::Array)
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            ArgumentKind::String => value.is_string(),
            ArgumentKind::Integer => value.is_i64() || value.is_u64(),
            ArgumentKind::Number => value.is_number(),
            ArgumentKind::Boolean => value.is_boolean(),
            ArgumentKind::Array => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
        }
    }
}

impl Argument {
    /// The problem with its default or its choices, as a sentence.
    pub(super) fn problem(&self) -> Option<String> {
        let name = &self.name;
        if !self.choices.is_empty() && !self.kind.is_text() {
            return Some(format!("`{name}`: only a string or an array can have an enum"));
        }
        let default = self.default.as_ref()?;
        if !self.kind.fits(default) {
            return Some(format!("`{name}`: the default {default} is not of the type {}", self.kind.name()));
        }
        let is_choice =
            |value: &Value| value.as_str().is_some_and(|text| self.choices.iter().any(|c| c == text));
        let all = default.as_array().map_or(std::slice::from_ref(default), Vec::as_slice);
        let is_fine = self.choices.is_empty() || all.iter().all(is_choice);
        (!is_fine).then(|| format!("`{name}`: the default {default} is not one of its enum"))
    }

    fn schema(&self) -> Value {
        let mut schema = json!({ "type": self.kind.name() });
        let mut text = self.description.clone();
        if let Some(default) = &self.default {
            // Not every provider supports `default`.
            text = format!("{text} Default: {default}").trim_start().to_owned();
        }
        if !text.is_empty() {
            schema["description"] = text.into();
        }
        match (self.kind, self.choices.is_empty()) {
            (ArgumentKind::Array, true) => schema["items"] = json!({ "type": "string" }),
            (ArgumentKind::Array, false) => {
                schema["items"] = json!({ "type": "string", "enum": self.choices });
            }
            (_, true) => {}
            (_, false) => schema["enum"] = json!(self.choices),
        }
        schema
    }
}

/// The schema of all arguments: one flat object.
pub(super) fn schema(arguments: &[Argument]) -> Value {
    let property = |argument: &Argument| (argument.name.clone(), argument.schema());
    let properties: Map<String, Value> = arguments.iter().map(property).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    let required: Vec<&str> = arguments
        .iter()
        .filter(|argument| argument.is_required)
        .map(|argument| argument.name.as_str())
        .collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// The values of a call, checked, with defaults. The error is a refusal that names the argument.
pub(super) fn values(
    args: Value,
    spec: &ToolSpec,
    arguments: &[Argument],
) -> Result<Map<String, Value>, ToolError> {
    let Value::Object(mut values) = args::parse::<Value>(args, spec)? else {
        return Err(ToolError::refused(format!("{}: the arguments are not an object", spec.name)));
    };
    for argument in arguments {
        if let Some(default) = &argument.default {
            values.entry(argument.name.clone()).or_insert_with(|| default.clone());
        }
    }
    Ok(values)
}
