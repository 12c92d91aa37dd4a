//! Every field of our requests has been accepted by a real provider (`accepted.txt` beside the request
//! goldens) or is documented by it, and is listed below with its source. If the corpus of recorded requests
//! is present, the first list is checked against it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::corpus_folder;
use super::expected::read_json;

/// Fields in no recorded request, by the start of the golden's name, and where they are documented. A path
/// ends where a listed one does.
const DOCUMENTED: &[(&str, &str, &str)] = &[
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

/// Values under these are the tools' own.
const OPAQUE: [&str; 7] =
    ["input", "args", "arguments", "parameters", "input_schema", "parametersJsonSchema", "response"];

/// The paths of all fields, each with the role and the type of the objects it passes through.
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

fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
}

fn goldens() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/requests")
}

/// The fields in `accepted.txt`, each with its format.
fn accepted() -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(goldens().join("accepted.txt")).unwrap();
    let mut format = "";
    let mut fields = BTreeSet::new();
    for line in text.lines() {
        format = line.strip_prefix("# ").unwrap_or(format);
        if line.starts_with('.') {
            assert!(fields.insert((format.to_owned(), line.to_owned())), "{line} is there twice");
        }
    }
    assert!(fields.len() > 150, "{} fields", fields.len());
    fields
}

fn format(golden: &str) -> &'static str {
    match golden.split('-').next() {
        Some("anthropic") => "anthropic-messages",
        Some("chat") => "openai-completions",
        Some("google") => "google-generative-ai",
        Some("responses") => "openai-responses",
        other => panic!("{other:?} is no format"),
    }
}

#[test]
fn every_field_we_send_has_been_accepted_or_is_documented() {
    let accepted = accepted();
    let mut unsent = accepted.clone();
    let mut undocumented: BTreeSet<&str> = DOCUMENTED.iter().map(|(_, path, _)| *path).collect();
    for golden in files(&goldens(), ".json") {
        let name = golden.file_stem().unwrap().to_string_lossy().into_owned();
        let mut found = BTreeSet::new();
        paths(&read_json(&golden)["body"], "", &mut found);
        for path in found {
            let field = (format(&name).to_owned(), path);
            if accepted.contains(&field) {
                unsent.remove(&field);
                continue;
            }
            let (_, path) = field;
            let reason = DOCUMENTED
                .iter()
                .find(|(start, listed, _)| name.starts_with(start) && path.starts_with(listed));
            let (_, listed, _) =
                reason.unwrap_or_else(|| panic!("{name}: {path} is neither accepted nor documented"));
            undocumented.remove(listed);
        }
    }
    assert!(unsent.is_empty() && undocumented.is_empty(), "no longer sent: {unsent:?} {undocumented:?}");
}

#[test]
fn accepted_fields_are_in_requests_that_others_recorded() {
    let Some(corpus) = corpus_folder() else { return };
    let requests = files(&corpus, ".request.json");
    assert!(requests.len() > 60, "the recorded requests are read");
    let mut recorded = BTreeSet::new();
    for request in requests.iter().map(|path| read_json(path)) {
        let mut found = BTreeSet::new();
        paths(&request["body"], "", &mut found);
        let format = request["meta"]["api"].as_str().unwrap_or_default();
        recorded.extend(found.into_iter().map(|path| (format.to_owned(), path)));
    }
    let missing: Vec<_> = accepted().difference(&recorded).cloned().collect();
    assert!(missing.is_empty(), "{missing:?}");
}
