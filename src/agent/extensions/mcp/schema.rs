//! Converts argument schemas of servers for models: one object, without `$ref`.

use serde_json::{Map, Value, json};

use super::valid::{plain_object, valid};

/// The maximum number of replaced references, and of their nesting.
const MAX_REFERENCES: usize = 500;
const MAX_DEPTH: usize = 12;
/// The maximum nesting of a schema.
const MAX_NESTING: usize = 64;

/// The schema of a tool's arguments. `$ref` to a part of the same schema is replaced by that part; recursive
/// or external references become "anything".
pub(super) fn of_arguments(given: &Map<String, Value>) -> Value {
    let root = Value::Object(given.clone());
    let mut inlined = Inliner { root: &root, replaced: 0, open: Vec::new() };
    let mut schema = match inlined.value(&root, 0) {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    for name in ["$schema", "$id", "$defs", "definitions", "$anchor", "$comment"] {
        schema.remove(name);
    }
    match valid(Value::Object(schema)) {
        Value::Object(schema) => Value::Object(plain_object(schema)),
        other => other,
    }
}

struct Inliner<'a> {
    root: &'a Value,
    replaced: usize,
    /// The references that are being replaced.
    open: Vec<String>,
}

impl Inliner<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Value {
        if depth > MAX_NESTING {
            return json!({});
        }
        match value {
            Value::Object(fields) => match fields.get("$ref").and_then(Value::as_str) {
                Some(reference) => self.reference(reference, fields, depth),
                None => self.fields(fields.iter(), depth),
            },
            Value::Array(items) => items.iter().map(|item| self.value(item, depth + 1)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    fn fields<'v>(&mut self, fields: impl Iterator<Item = (&'v String, &'v Value)>, depth: usize) -> Value {
        let inlined = fields.map(|(name, value)| (name.clone(), self.value(value, depth + 1)));
        Value::Object(inlined.collect())
    }

    /// The target of a reference, merged with its sibling fields.
    fn reference(&mut self, reference: &str, fields: &Map<String, Value>, depth: usize) -> Value {
        let beside = self.fields(fields.iter().filter(|(name, _)| *name != "$ref"), depth);
        let target =
            reference.strip_prefix('#').and_then(|pointer| self.root.pointer(&decode_pointer(pointer)));
        let is_open = self.open.iter().any(|open| open == reference) || self.open.len() >= MAX_DEPTH;
        let Some(target) = target.filter(|_| !is_open && self.replaced < MAX_REFERENCES) else {
            return beside;
        };
        self.replaced += 1;
        self.open.push(reference.to_owned());
        let mut found = self.value(target, depth + 1);
        self.open.pop();
        if let (Value::Object(found), Value::Object(beside)) = (&mut found, beside) {
            found.extend(beside);
        }
        found
    }
}

/// Decodes the pointer of a reference, which may be percent-encoded.
fn decode_pointer(pointer: &str) -> String {
    pointer.replace("%24", "$").replace("%20", " ").replace("%25", "%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schema: Value) -> Value {
        of_arguments(schema.as_object().unwrap())
    }

    #[test]
    fn references_are_replaced() {
        let schema = of(json!({
            "$schema": "x", "type": "object",
            "properties": { "a": { "$ref": "#/$defs/P", "description": "here" }, "b": { "type": "array", "items": { "$ref": "#/definitions/Q" } } },
            "$defs": { "P": { "type": "string", "description": "there" } },
            "definitions": { "Q": { "$ref": "#/$defs/P" } },
        }));
        let expected = json!({ "type": "object", "properties": {
            "a": { "type": "string", "description": "here" },
            "b": { "type": "array", "items": { "type": "string", "description": "there" } },
        } });
        assert_eq!(schema, expected);
    }

    #[test]
    fn circles_and_strange_schemas_end() {
        let tree = of(json!({ "properties": { "t": { "$ref": "#/$defs/T" } },
            "$defs": { "T": { "type": "object", "properties": { "next": { "$ref": "#/$defs/T", "title": "n" } } } } }));
        assert_eq!(tree["properties"]["t"]["properties"]["next"], json!({ "title": "n" }));
        assert_eq!(of(json!({})), json!({ "type": "object", "properties": {} }));
        assert_eq!(of(json!({ "$ref": "#" }))["type"], "object");
        assert_eq!(
            of(json!({ "properties": { "x": { "$ref": "http://h/s" } } }))["properties"]["x"],
            json!({})
        );
        // Each doubles the previous one.
        let mut definitions = Map::new();
        for n in 0..40 {
            let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
            definitions.insert(format!("d{n}"), json!({ "properties": { "a": next, "b": next } }));
        }
        let bomb = of(json!({ "properties": { "x": { "$ref": "#/$defs/d0" } }, "$defs": definitions }));
        assert!(bomb.to_string().len() < 100_000, "{}", bomb.to_string().len());
    }
}
