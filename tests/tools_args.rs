//! Arguments of custom tools: their schemas, matching values, and the messages for mismatches.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tau::tools::args;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Plain {
    A,
    B,
}

/// How it is done.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Described {
    /// At once.
    Fast,
    /// With care.
    Slow,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    Circle { radius: i8 },
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct Args {
    ratio: Option<f64>,
    level: u8,
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0))]
    share: f64,
    plain: Option<Plain>,
    described: Option<Described>,
    large: u64,
    small: i32,
    shapes: Vec<Shape>,
    counts: BTreeMap<String, u32>,
    words: HashMap<String, Option<String>>,
    numbers: BTreeMap<u32, bool>,
    anything: Map<String, Value>,
    places: BTreeMap<String, Place>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Place {
    line: u32,
}

fn parse(given: Value) -> Result<Args, String> {
    args::parse::<Args>(given, &args::spec::<Args>("t", "A tool.")).map_err(|error| error.to_string())
}

#[test]
fn what_does_not_fit_is_named() {
    let check = |given: Value, expected: &str| {
        let error = parse(given.clone()).expect_err(&given.to_string());
        assert_eq!(error, format!("t: {expected}"), "{given}");
    };
    check(json!({"ratio": "half"}), "`ratio` must be a number, not \"half\"");
    check(json!({"ratio": [1]}), "`ratio` must be a number, not [1]");
    check(json!({"level": 300}), "`level` must be 255 or less, not 300");
    check(json!({"level": -1}), "`level` must be 0 or more, not -1");
    check(json!({"level": 1.5}), "`level` must be a whole number, not 1.5");
    check(json!({"share": 0}), "`share` must be more than 0, not 0");
    check(json!({"share": "1.5"}), "`share` must be 1 or less, not 1.5");
    check(json!({"plain": "c"}), "`plain` must be one of \"a\", \"b\", not \"c\"");
    check(json!({"plain": 1}), "`plain` must be one of \"a\", \"b\", not \"1\"");
    check(json!({"described": "so"}), "`described` must be one of \"fast\", \"slow\", not \"so\"");
    check(json!({"counts": {"x": "many"}}), "`counts.x` must be a whole number, not \"many\"");
    check(json!({"counts": {"x": -2}}), "`counts.x` must be 0 or more, not -2");
    check(json!({"places": {"x": {}}}), "the argument `places.x.line` is missing");
    check(
        json!({"places": {"x": {"line": 1, "row": 2}}}),
        "unknown argument `places.x.row`; the arguments are: line",
    );
    // Mismatches not covered by the schema are found by the type, which also names the field.
    let named = |given: Value, field: &str| {
        let error = parse(given.clone()).expect_err(&given.to_string());
        assert!(error.starts_with(&format!("t: `{field}`: ")), "{given}: {error}");
    };
    named(json!({"small": 9_000_000_000_i64}), "small");
    named(json!({"shapes": [{"kind": "circle", "radius": 1}, {"kind": "blob"}]}), "shapes[1].kind");
    named(json!({"numbers": {"x": true}}), "numbers");
}

#[test]
fn what_fits_is_taken() {
    let parsed = parse(json!({
        "ratio": " 0.5 ",
        "share": "1",
        "level": "7",
        "plain": "B",
        "described": "slow",
        "large": u64::MAX,
        "counts": {"reason": "3", "path": 4.0},
        "words": {"a": "x", "b": null, "c": 5},
        "numbers": {"12": "yes"},
        "anything": {"x": [1, {"y": null}], "z": null},
        "places": {"x": {"line": 3}},
        "shapes": {"kind": "circle", "radius": 2},
    }));
    let parsed = parsed.unwrap();
    assert_eq!((parsed.ratio, parsed.share, parsed.level, parsed.large), (Some(0.5), 1.0, 7, u64::MAX));
    assert_eq!((parsed.plain, parsed.described), (Some(Plain::B), Some(Described::Slow)));
    assert_eq!(parsed.counts, BTreeMap::from([("path".into(), 4), ("reason".into(), 3)]));
    let words = [("a", Some("x")), ("b", None), ("c", Some("5"))];
    let words = words.map(|(name, word)| (name.to_owned(), word.map(str::to_owned)));
    assert_eq!(parsed.words, HashMap::from(words));
    assert_eq!(parsed.numbers, BTreeMap::from([(12, true)]));
    assert_eq!(Value::Object(parsed.anything), json!({"x": [1, {"y": null}], "z": null}));
    assert_eq!((parsed.places["x"].line, parsed.shapes), (3, vec![Shape::Circle { radius: 2 }]));
    assert_eq!(parse(json!({"plain": null, "description": "a remark"})).unwrap().plain, None);
}

/// The question and the panel show one of the values, so the other is not used.
#[test]
fn an_argument_is_not_given_under_two_names() {
    let tools = tau::tools::Toolbox::all();
    for (tool, given) in [
        ("bash", json!({"command": "echo shown", "cmd": "touch ran"})),
        ("bash", json!({"cmd": "touch ran", "command": "echo shown"})),
        ("write", json!({"path": "shown.txt", "file": "real.txt", "content": "x"})),
        ("write", json!({"filename": "shown.txt", "file": "real.txt", "content": "x"})),
        ("edit", json!({"path": "a", "edits": [{"old_string": "a", "old_text": "b", "new_string": "c"}]})),
    ] {
        let error = args::fit_to_schema(given.clone(), tools.get(tool).unwrap().spec())
            .expect_err(&given.to_string());
        assert!(error.to_string().contains("has two values, one of them as `"), "{given}: {error}");
    }
    for same in [json!({"path": "a", "file": "a"}), json!({"path": null, "file": "a"}), json!({"file": "a"})]
    {
        let fitted = args::fit_to_schema(same.clone(), tools.get("read").unwrap().spec()).unwrap();
        assert_eq!(fitted, json!({"path": "a"}), "{same}");
        assert_eq!(args::partial(&same, "path"), Some("a"), "{same}");
    }
}

#[test]
fn schemas_say_what_is_taken() {
    let schema = args::schema::<Args>();
    let check = |pointer: &str, expected: Value| {
        assert_eq!(schema.pointer(pointer), Some(&expected), "{pointer}: {schema:#}");
    };
    check("/additionalProperties", json!(false));
    check("/properties/plain", json!({"type": "string", "enum": ["a", "b"]}));
    check("/properties/described/enum", json!(["fast", "slow"]));
    check(
        "/properties/described/description",
        json!("How it is done.\n`fast`: At once.\n`slow`: With care."),
    );
    check("/properties/counts/additionalProperties", json!({"type": "integer", "minimum": 0}));
    check("/properties/words/additionalProperties", json!({"type": "string"}));
    check("/properties/numbers", json!({"type": "object", "additionalProperties": {"type": "boolean"}}));
    check("/properties/anything/additionalProperties", json!(true));
    check("/properties/places/additionalProperties/additionalProperties", json!(false));
    let text = schema.to_string();
    assert!(!text.contains("null") && !text.contains("format"), "{text}");
}
