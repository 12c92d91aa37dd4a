//! Turns a model's arguments into typed ones and repairs common slips.
//!
//! Owns schema derivation, the alias table and the coercions. Never runs anything: the tool decides what a
//! value means. A slip is repaired only if it is unambiguous; anything else is refused with the name of the
//! field.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{ToolError, ToolSpec};
use crate::user_error::UserError;

/// Field names that models use in place of ours, learned from other programs' tools. An alias counts only if
/// the schema has the second name and not the first.
const ALIASES: &[(&str, &str)] = crate::pairs!(
    "file_path=path filePath=path filepath=path filename=path file=path oldText=old_string \
     old_text=old_string old_str=old_string oldString=old_string newText=new_string \
     new_text=new_string new_str=new_string newString=new_string replaceAll=replace_all cmd=command \
     contents=content file_text=content text=content directory=path dir=path regex=pattern \
     query=pattern include=glob glob=pattern ignoreCase=ignore_case case_insensitive=ignore_case \
     -i=ignore_case -C=context head_limit=limit max_results=limit maxResults=limit prompt=task \
     subagent_type=kind agent=kind"
);

/// Remarks that models add to calls of any tool. They have no effect and are dropped.
const REMARKS: &[&str] = &["description", "explanation", "reason"];

/// The spec of a tool whose arguments are `T`. Not read-only; the caller sets that.
pub fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        label: label(name),
        description: description.trim().into(),
        parameters: schema::<T>(),
        read_only: false,
    }
}

/// The name shown to users, derived from the one for models: `web_fetch` becomes "Web fetch".
pub fn label(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut letters = words.trim().chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The JSON schema of `T` in a form that every provider accepts: one flat object without `$ref`, `$schema`,
/// titles, formats and null types, closed to further properties.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    if let Value::Object(root) = &mut schema {
        root.shift_remove("description");
    }
    schema
}

fn simplify(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    if let Some(Value::Array(choices)) = map.shift_remove("anyOf")
        && let Some(Value::Object(one)) =
            choices.into_iter().find(|choice| choice.get("type").is_none_or(|name| name != "null"))
    {
        map.extend(one);
    }
    join_words(map);
    for noise in ["title", "$schema", "default", "format"] {
        map.shift_remove(noise);
    }
    if let Some(Value::Array(types)) = map.get("type")
        && let Some(first) = types.iter().find(|name| *name != "null").cloned()
    {
        map.insert("type".into(), first);
    }
    // Optional fields are simply left out, so null is not a choice.
    if let Some(Value::Array(choices)) = map.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if map.get("type").is_some_and(|name| name == "object") {
        close(map);
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    if let Some(Value::Array(choices)) = map.get_mut("oneOf") {
        choices.iter_mut().for_each(simplify);
    }
    for inner in ["items", "additionalProperties"] {
        map.get_mut(inner).into_iter().for_each(simplify);
    }
}

/// Flattens an enum whose variants have descriptions (a choice of one-word schemas) to a plain list of
/// words, and moves the descriptions of the variants into that of the field.
fn join_words(map: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get("oneOf") else { return };
    let mut words = Vec::new();
    let mut said: Vec<String> =
        map.get("description").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
    for choice in choices {
        let (one, more) = (choice.get("const"), choice.get("enum").and_then(Value::as_array));
        let named: Vec<&Value> = one.into_iter().chain(more.into_iter().flatten()).collect();
        if named.is_empty() || !named.iter().all(|word| word.is_string()) {
            return;
        }
        if let (Some(word), Some(text)) =
            (one.and_then(Value::as_str), choice.get("description").and_then(Value::as_str))
        {
            said.push(format!("`{word}`: {text}"));
        }
        words.extend(named.into_iter().cloned());
    }
    map.shift_remove("oneOf");
    map.insert("type".into(), "string".into());
    map.insert("enum".into(), Value::Array(words));
    if !said.is_empty() {
        map.insert("description".into(), said.join("\n").into());
    }
}

/// Closes an object to further properties, unless it is a map: then the schema describes its values.
fn close(map: &mut Map<String, Value>) {
    // Numeric keys come as a pattern, which not every provider accepts.
    let pattern = match map.shift_remove("patternProperties") {
        Some(Value::Object(patterns)) => patterns.into_iter().next().map(|(_, value)| value),
        _ => None,
    };
    if let Some(value) = pattern {
        map.insert("additionalProperties".into(), value);
    }
    map.entry("additionalProperties").or_insert(Value::Bool(false));
}

/// Checks `args` against the tool's schema and deserializes them.
pub fn parse<T: DeserializeOwned>(args: Value, spec: &ToolSpec) -> Result<T, ToolError> {
    serde_path_to_error::deserialize(fit_to_schema(args, spec)?).map_err(|error| {
        // A question mark marks a part that could not be read itself, such as a map key.
        let path = error.path().to_string();
        let at = match path.trim_end_matches(".?") {
            "." | "?" | "" => "wrong arguments".to_owned(),
            field => format!("`{field}`"),
        };
        ToolError::refused(format!("{}: {at}: {}", spec.name, error.into_inner()))
    })
}

/// Checks `args` against the tool's schema; returns them with its names and types.
pub fn fit_to_schema(args: Value, spec: &ToolSpec) -> Result<Value, ToolError> {
    let args = if args.is_null() { Value::Object(Map::new()) } else { args };
    fit(args, &spec.parameters, "").map_err(|reason| ToolError::refused(format!("{}: {reason}", spec.name)))
}

/// Coerces the value to the schema, or explains why it cannot. `at` is the path of the field.
fn fit(value: Value, schema: &Value, at: &str) -> Result<Value, UserError> {
    let fitted = match schema.get("type").and_then(Value::as_str) {
        Some("object") => fit_object(value, schema, at),
        Some("array") => fit_array(value, schema, at),
        Some("integer") => fit_integer(value, at),
        Some("number") => fit_number(value, at),
        Some("boolean") => fit_boolean(value, at),
        Some("string") => fit_string(value, at),
        _ => Ok(value),
    }?;
    check_range(&fitted, schema, at)?;
    fit_choice(fitted, schema, at)
}

fn fit_object(value: Value, schema: &Value, at: &str) -> Result<Value, UserError> {
    let value = match value {
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(parsed @ Value::Object(_)) => parsed,
            _ => return Err(wrong(at, "an object", &Value::String(text)).into()),
        },
        other => other,
    };
    let Value::Object(given) = value else { return Err(wrong(at, "an object", &value).into()) };
    let further = schema.get("additionalProperties").filter(|further| **further != Value::Bool(false));
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let mut fitted = Map::new();
    for (given, value) in given {
        let name = canonical(&given, properties);
        let field = properties.get(name);
        match field.or(further) {
            // A map keeps names whose value is null.
            Some(_) if value.is_null() && field.is_none() => {
                fitted.insert(name.into(), value);
            }
            _ if value.is_null() => {}
            Some(schema) => {
                let value = fit(value, schema, &join(at, name))?;
                // The user may have seen either value.
                if fitted.get(name).is_some_and(|other| *other != value) {
                    return Err(twice(&join(at, name), &given).into());
                }
                fitted.insert(name.into(), value);
            }
            None if REMARKS.contains(&name) => {}
            None => return Err(unknown_argument(&join(at, name), properties).into()),
        }
    }
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match required.iter().filter_map(Value::as_str).find(|name| !fitted.contains_key(*name)) {
        Some(name) => Err(format!("the argument `{}` is missing", join(at, name)).into()),
        None => Ok(Value::Object(fitted)),
    }
}

fn canonical<'a>(name: &'a str, properties: &Map<String, Value>) -> &'a str {
    if properties.contains_key(name) {
        return name;
    }
    ALIASES
        .iter()
        .find(|(alias, field)| *alias == name && properties.contains_key(*field))
        .map_or(name, |(_, field)| *field)
}

fn fit_array(value: Value, schema: &Value, at: &str) -> Result<Value, UserError> {
    let list = match value {
        Value::Array(list) => list,
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Array(list)) => list,
            Ok(one @ Value::Object(_)) => vec![one],
            _ => return Err(wrong(at, "a list", &Value::String(text)).into()),
        },
        one @ Value::Object(_) => vec![one],
        other => return Err(wrong(at, "a list", &other).into()),
    };
    let items = schema.get("items").unwrap_or(&Value::Null);
    let fitted: Result<Vec<Value>, UserError> = list
        .into_iter()
        .enumerate()
        .map(|(index, item)| fit(item, items, &format!("{at}[{index}]")))
        .collect();
    Ok(Value::Array(fitted?))
}

fn fit_integer(value: Value, at: &str) -> Result<Value, UserError> {
    let whole = match &value {
        Value::Number(number) if number.is_u64() => return Ok(value),
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(whole)),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| text.parse().ok().and_then(whole))
        }
        _ => None,
    };
    whole.map(Value::from).ok_or_else(|| wrong(at, "a whole number", &value).into())
}

fn fit_number(value: Value, at: &str) -> Result<Value, UserError> {
    let number = match &value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.map(Value::Number).ok_or_else(|| wrong(at, "a number", &value).into())
}

/// Compares a number with a bound.
type Holds = fn(f64, f64) -> bool;

/// Checks that a number is within the schema's bounds.
fn check_range(value: &Value, schema: &Value, at: &str) -> Result<(), UserError> {
    let Some(number) = value.as_f64() else { return Ok(()) };
    let bounds: [(&str, Holds, &str, &str); 4] = [
        ("minimum", |number, bound| number >= bound, "", " or more"),
        ("exclusiveMinimum", |number, bound| number > bound, "more than ", ""),
        ("maximum", |number, bound| number <= bound, "", " or less"),
        ("exclusiveMaximum", |number, bound| number < bound, "less than ", ""),
    ];
    for (name, holds, before, after) in bounds {
        match schema.get(name).and_then(Value::as_f64) {
            Some(bound) if !holds(number, bound) => {
                return Err(wrong(at, &format!("{before}{bound}{after}"), value).into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// The value, if it is one of the schema's choices. Wrong capitalization is accepted as a slip.
fn fit_choice(value: Value, schema: &Value, at: &str) -> Result<Value, UserError> {
    let Some(choices) = schema.get("enum").and_then(Value::as_array) else { return Ok(value) };
    if choices.contains(&value) {
        return Ok(value);
    }
    let said = value.as_str().unwrap_or_default().trim();
    let mut alike =
        choices.iter().filter(|choice| choice.as_str().is_some_and(|word| word.eq_ignore_ascii_case(said)));
    match (alike.next(), alike.next()) {
        (Some(one), None) => Ok(one.clone()),
        _ => {
            let words: Vec<String> = choices.iter().map(Value::to_string).collect();
            Err(wrong(at, &format!("one of {}", words.join(", ")), &value).into())
        }
    }
}

/// The number as an integer, if it is integral and small enough to be exact.
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

fn fit_boolean(value: Value, at: &str) -> Result<Value, UserError> {
    let answer = match &value {
        Value::Bool(answer) => Some(*answer),
        Value::Number(number) => match number.as_i64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" | "" => Some(false),
            _ => None,
        },
        _ => None,
    };
    answer.map(Value::Bool).ok_or_else(|| wrong(at, "true or false", &value).into())
}

fn fit_string(value: Value, at: &str) -> Result<Value, UserError> {
    match value {
        Value::String(_) => Ok(value),
        Value::Number(_) | Value::Bool(_) => Ok(Value::String(value.to_string())),
        other => Err(wrong(at, "a string", &other).into()),
    }
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.into() } else { format!("{at}.{name}") }
}

fn wrong(at: &str, wanted: &str, value: &Value) -> String {
    let subject = if at.is_empty() { "the arguments".into() } else { format!("`{at}`") };
    let shown: String = value.to_string().chars().take(80).collect();
    format!("{subject} must be {wanted}, not {shown}")
}

fn unknown_argument(at: &str, properties: &Map<String, Value>) -> String {
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    format!("unknown argument `{at}`; the arguments are: {}", names.join(", "))
}

fn twice(at: &str, given: &str) -> String {
    format!("`{at}` has two values, one of them as `{given}`; give it once, as `{at}`")
}

/// A string field of arguments that may still be streaming in, under its own name or an alias. Used for
/// titles.
pub fn partial<'a>(args: &'a Value, field: &str) -> Option<&'a str> {
    let aliases = ALIASES.iter().filter(|(_, name)| *name == field).map(|(alias, _)| *alias);
    std::iter::once(field).chain(aliases).find_map(|name| args.get(name)?.as_str())
}
