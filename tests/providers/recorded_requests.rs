//! Our requests against those that real providers have accepted: a field that no recorded request
//! of the format has must stand, with its reason, in the list below.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::recordings;

/// Fields that no recording has, by the start of the golden's name, and where they are documented.
/// A path ends where a listed one does.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("anthropic", ".messages[]@assistant.content[]#redacted_thinking", "Messages API: thinking, redacted"),
    ("anthropic", ".messages[]@user.content[]#image.source#base64", "Messages API: pictures as base64"),
    ("anthropic", ".output_config.effort", "Messages API: effort"),
    ("anthropic", ".thinking#adaptive", "Messages API: adaptive thinking"),
    ("anthropic", ".thinking#disabled", "Messages API: thinking"),
    ("anthropic", ".tools[].cache_control", "Messages API: prompt caching"),
    ("anthropic", ".tools[].eager_input_streaming", "Messages API: fine-grained tool streaming"),
    ("chat-deepseek", ".thinking#enabled", "DeepSeek: thinking mode"),
    ("chat-mistral", ".messages[]@assistant.content[]#thinking", "Mistral: reasoning models"),
    ("chat-mistral", ".messages[]@tool.name", "Mistral: chat completions, tool message"),
    ("chat-openai", ".messages[]@developer", "OpenAI: chat completions, developer message"),
    ("chat-openai", ".prompt_cache_key", "OpenAI: prompt caching"),
    ("chat-openrouter", ".messages[]@user.content[]#text.cache_control", "OpenRouter: prompt caching"),
    ("google", ".contents[]@model.parts[].thought", "Gemini API: Part"),
    (
        "google-3",
        ".contents[]@user.parts[].functionResponse.parts[].inlineData",
        "Gemini API: FunctionResponsePart",
    ),
    ("google", ".generationConfig.thinkingConfig.thinkingBudget", "Gemini API: ThinkingConfig"),
    ("google", ".systemInstruction.parts", "Gemini API: Content"),
    ("responses", ".prompt_cache_key", "OpenAI: prompt caching"),
    ("responses-xai", ".input[]@system", "OpenAI: Responses, system message"),
];

/// Values under these are the tools' own business.
const OPAQUE: [&str; 7] =
    ["input", "args", "arguments", "parameters", "input_schema", "parametersJsonSchema", "response"];

/// The paths of all fields, each with the role and the type of the objects it goes through.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            let tag = |name: &str, mark: &str| {
                map.get(name).and_then(Value::as_str).map(|word| format!("{mark}{word}")).unwrap_or_default()
            };
            let here = format!("{path}{}{}", tag("role", "@"), tag("type", "#"));
            for (name, value) in map {
                let path = format!("{here}.{name}");
                if !OPAQUE.contains(&name.as_str()) || value.is_array() {
                    paths(value, &path, found);
                }
                found.insert(path);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| paths(value, &format!("{path}[]"), found)),
        _ => {}
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
}

#[test]
fn every_field_we_send_has_been_accepted_or_is_documented() {
    let Some(corpus) = recordings() else { return };
    let recorded: Vec<(String, BTreeSet<String>)> = files(&corpus, ".request.json")
        .iter()
        .map(|path| {
            let request = read(path);
            let mut found = BTreeSet::new();
            paths(&request["body"], "", &mut found);
            (request["meta"]["api"].as_str().unwrap_or_default().to_owned(), found)
        })
        .collect();
    assert!(recorded.len() > 60, "the recorded requests are read");

    let mut unused: BTreeSet<&str> = ELSEWHERE.iter().map(|(_, path, _)| *path).collect();
    let goldens = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/requests");
    for golden in files(&goldens, ".json") {
        let name = golden.file_stem().unwrap().to_string_lossy().into_owned();
        let api = match name.split('-').next() {
            Some("anthropic") => "anthropic-messages",
            Some("chat") => "openai-completions",
            Some("google") => "google-generative-ai",
            Some("responses") => "openai-responses",
            other => panic!("{other:?} is no format"),
        };
        let mut found = BTreeSet::new();
        paths(&read(&golden)["body"], "", &mut found);
        for path in found {
            if recorded.iter().any(|(format, known)| format == api && known.contains(&path)) {
                continue;
            }
            let reason = ELSEWHERE
                .iter()
                .find(|(start, listed, _)| name.starts_with(start) && path.starts_with(listed));
            let (_, listed, _) = reason.unwrap_or_else(|| panic!("{name}: {path} is in no recorded request"));
            unused.remove(listed);
        }
    }
    assert!(unused.is_empty(), "not sent any more, or recorded by now: {unused:?}");
}
