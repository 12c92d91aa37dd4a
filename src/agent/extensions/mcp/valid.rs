//! Makes schemas of servers valid JSON Schema 2020-12, with one plain object at the top.
//!
//! A single mistake would make providers refuse the whole request.

use serde_json::{Map, Value, json};

const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];
/// Keywords whose value is a schema.
const SCHEMAS: &[&str] = tau_tools::words!(
    "additionalProperties contains else if items not propertyNames then unevaluatedProperties"
);
/// Keywords whose value is a list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose value is a map of schemas by name.
const NAMED: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// Keywords whose value is a string.
const TEXTS: [&str; 5] = ["description", "title", "format", "pattern", "$comment"];
/// Keywords whose value is a count.
const COUNTS: &[&str] = tau_tools::words!(
    "maxItems maxLength maxProperties minItems minLength minProperties maxContains minContains"
);
/// Keywords whose value is a number.
const NUMBERS: [&str; 5] = ["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"];
/// The maximum length of an argument name that all providers accept.
const MAX_NAME_LEN: usize = 64;

/// A schema without invalid parts, and with keywords of earlier versions replaced.
pub(super) fn valid(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => Value::Object(valid_fields(fields)),
        Value::Bool(_) => schema,
        // A list of alternatives in place of a schema, or any other value: nothing is known.
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => json!({}),
    }
}

fn valid_fields(mut fields: Map<String, Value>) -> Map<String, Value> {
    modernize(&mut fields);
    let kept = fields.into_iter().filter_map(|(name, value)| {
        let value = match name.as_str() {
            "type" => valid_type(value)?,
            "required" => {
                let names: Vec<Value> =
                    value.as_array()?.iter().filter(|name| name.is_string()).cloned().collect();
                Value::Array(names)
            }
            "enum" => value.as_array().filter(|values| !values.is_empty()).is_some().then_some(value)?,
            keyword if SCHEMAS.contains(&keyword) => valid(value),
            keyword if LISTS.contains(&keyword) => {
                let Value::Array(list) = value else { return None };
                let list: Vec<Value> = list.into_iter().map(valid).collect();
                (!list.is_empty()).then_some(Value::Array(list))?
            }
            keyword if NAMED.contains(&keyword) => {
                let Value::Object(named) = value else { return None };
                Value::Object(named.into_iter().map(|(name, schema)| (name, valid(schema))).collect())
            }
            keyword if TEXTS.contains(&keyword) => value.is_string().then_some(value)?,
            keyword if COUNTS.contains(&keyword) => value.is_u64().then_some(value)?,
            keyword if NUMBERS.contains(&keyword) => value.is_number().then_some(value)?,
            _ => value,
        };
        Some((name, value))
    });
    let mut kept: Map<String, Value> = kept.collect();
    let is_array = match kept.get("type") {
        Some(Value::Array(names)) => names.contains(&json!("array")),
        other => other == Some(&json!("array")),
    };
    if is_array {
        // Some providers refuse a list without an item schema.
        kept.entry("items").or_insert_with(|| json!({}));
    }
    kept
}

/// Rewrites keywords of earlier versions.
fn modernize(fields: &mut Map<String, Value>) {
    for (exclusive, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if fields.get(exclusive) == Some(&Value::Bool(true))
            && let Some(number) = fields.remove(limit)
        {
            fields.insert(exclusive.to_owned(), number);
        }
    }
    if matches!(fields.get("items"), Some(Value::Array(_)))
        && let Some(tuple) = fields.remove("items")
    {
        fields.insert("prefixItems".to_owned(), tuple);
        if let Some(rest) = fields.remove("additionalItems") {
            fields.insert("items".to_owned(), rest);
        }
    }
}

fn valid_type(given: Value) -> Option<Value> {
    let known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    match given {
        Value::Array(names) => {
            let names: Vec<Value> = names.into_iter().filter(known).collect();
            (!names.is_empty()).then_some(Value::Array(names))
        }
        other => known(&other).then_some(other),
    }
}

/// The schema of arguments as one plain object: alternatives at the top are joined, and an argument is
/// required if all of them require it. Arguments whose names no provider accepts are left out.
pub(super) fn plain_object(mut schema: Map<String, Value>) -> Map<String, Value> {
    for (keyword, all) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
        if let Some(Value::Array(parts)) = schema.remove(keyword) {
            join(&mut schema, parts, all);
        }
    }
    for keyword in ["not", "enum", "const", "if", "then", "else", "patternProperties", "dependentSchemas"] {
        schema.remove(keyword);
    }
    let fits = |name: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        !name.is_empty() && name.len() <= MAX_NAME_LEN && name.chars().all(plain)
    };
    let properties = schema.remove("properties").and_then(|properties| match properties {
        Value::Object(named) => Some(named),
        _ => None,
    });
    let properties: Map<String, Value> =
        properties.unwrap_or_default().into_iter().filter(|(name, _)| fits(name)).collect();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| properties.contains_key(name)));
    }
    if schema.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        schema.remove("required");
    }
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema
}

/// Adds the arguments of parts to a schema. `all` means that all parts apply, and not one of them.
fn join(schema: &mut Map<String, Value>, parts: Vec<Value>, all: bool) {
    let names = |part: &Map<String, Value>| -> Vec<String> {
        let names = part.get("required").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let mut required = names(schema);
    let mut of_parts: Option<Vec<String>> = None;
    let mut properties = match schema.remove("properties") {
        Some(Value::Object(named)) => named,
        _ => Map::new(),
    };
    for part in parts {
        let Value::Object(part) = part else { continue };
        let part = plain_object(part);
        let own = names(&part);
        of_parts = Some(match of_parts {
            None => own,
            Some(known) if all => known.into_iter().chain(own).collect(),
            Some(known) => known.into_iter().filter(|name| own.contains(name)).collect(),
        });
        if let Some(Value::Object(named)) = part.get("properties") {
            for (name, value) in named {
                properties.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }
    for name in of_parts.unwrap_or_default() {
        if !required.contains(&name) {
            required.push(name);
        }
    }
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_valid_is_left_out() {
        let given = json!({
            "type": "any", "required": true, "description": 7, "title": "kept",
            "properties": {
                "type": {"type": ["string", "file"], "minLength": -1, "maxLength": 9, "enum": []},
                "n": {"minimum": 3, "exclusiveMinimum": true, "maximum": "x"},
                "list": {"items": [{"type": "integer"}, 5], "additionalItems": false},
                "odd": "text", "free": true,
            },
            "x-own": [1],
        });
        let expected = json!({
            "title": "kept",
            "properties": {
                "type": {"type": ["string"], "maxLength": 9},
                "n": {"exclusiveMinimum": 3},
                "list": {"prefixItems": [{"type": "integer"}, {}], "items": false},
                "odd": {}, "free": true,
            },
            "x-own": [1],
        });
        assert_eq!(valid(json!({"type": "array"})), json!({"type": "array", "items": {}}));
        assert_eq!(valid(given), expected);
    }

    #[test]
    fn the_top_is_one_object() {
        let of = |schema: Value| Value::Object(plain_object(schema.as_object().unwrap().clone()));
        let given = json!({
            "required": ["id", "gone"], "properties": {"id": {"type": "string"}, "a b": {}, "$x": {}},
            "anyOf": [
                {"properties": {"url": {}, "size": {"type": "integer"}}, "required": ["url", "size"]},
                {"properties": {"path": {}, "size": {}}, "required": ["path", "size"]},
            ],
            "not": {},
        });
        let expected = json!({
            "properties": {"id": {"type": "string"}, "url": {}, "size": {"type": "integer"}, "path": {}},
            "required": ["id", "size"], "type": "object",
        });
        assert_eq!(of(given), expected);
        let both = json!({"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}, "required": ["b"]}]});
        assert_eq!(of(both)["required"], json!(["a", "b"]));
        assert_eq!(of(json!({"properties": [], "enum": [1]})), json!({"type": "object", "properties": {}}));
    }
}
