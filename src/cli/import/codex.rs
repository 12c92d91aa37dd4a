//! Codex.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Places;
use super::claude::{WITHOUT_QUESTIONS, add_effort, setting};
use super::found::{Change, Collector, Provider, ProviderModel, SetUp, fields, text_in, toml};
use super::servers::{Variables, add_server};
use tau_protocol::model::ThinkingLevel;
use tau_tools::shell_word::quote;

/// Parts of the file that are taken over or said to be left, or about the program's own screen and state.
const KNOWN: [&str; 19] = *tau_tools::words!(
    "model model_provider model_providers model_context_window model_reasoning_effort approval_policy \
     sandbox_mode sandbox_workspace_write mcp_servers notify profile profiles projects tui notice \
     file_opener hide_agent_reasoning features openai_base_url"
);
/// The provider that is used unless another one is named.
const OPENAI: &str = "openai";
const NO_TEXT: &str = "it is not a text";
/// Parts of a provider that are taken over or said to be left.
const OF_PROVIDER: [&str; 8] = *tau_tools::words!(
    "name base_url env_key wire_api query_params http_headers env_http_headers requires_openai_auth"
);

pub(super) fn read(places: &Places<'_>) -> SetUp {
    let mut found = Collector::new("Codex");
    let folder = places.folders.place(".codex");
    let file = folder.join("config.toml");
    let mut provider = OPENAI.to_owned();
    match toml(&file) {
        Some(Ok(config)) => {
            let config = in_force(config);
            of_config(&mut found, &file, &config);
            text_in(&config, "model_provider").unwrap_or(OPENAI).clone_into(&mut provider);
        }
        Some(Err(error)) => found.leave_out(&file, "settings", &error),
        None => {}
    }
    profiles(&mut found, &folder, &provider);
    found.in_place(&folder.join("prompts"), "entry", "slash commands");
    found.in_place(&folder.join("skills"), "entry", "skills");
    found.in_place(&folder.join("agents"), "entry", "kinds of helpers");
    // The first of them is all that Codex reads.
    let own = ["AGENTS.override.md", "AGENTS.md"].map(|name| folder.join(name));
    if let Some(file) = own.iter().find(|file| file.is_file()) {
        found.instructions(file);
    }
    found.unlike(
        &folder.join("rules"),
        "file",
        "command rules; write them as permissions.allow and permissions.deny",
    );
    let why = "write them as [[hooks.EVENT]] in config.toml";
    found.unlike(&folder.join("hooks.json"), "file", why);
    let why = "settings of the project; those for tau are in .tau/config.toml and .mcp.json";
    if let Some(project) = places.of_project(".codex", &folder) {
        found.unlike(&project.join("config.toml"), "file", why);
    }
    found.finish()
}

/// The settings with those of the profile that is in force, which is then none of the profiles.
fn in_force(mut config: Value) -> Value {
    let name = text_in(&config, "profile").map(str::to_owned);
    let profiles = config.get_mut("profiles").and_then(Value::as_object_mut);
    let profile = name.zip(profiles).and_then(|(name, profiles)| profiles.remove(&name));
    if let (Some(Value::Object(profile)), Value::Object(settings)) = (profile, &mut config) {
        settings.remove("profile");
        settings.extend(profile);
    }
    config
}

/// The mode of tau for a policy, if it asks.
fn mode_of(policy: &str) -> Option<&'static str> {
    match policy {
        "untrusted" => Some("ask"),
        "on-request" | "on-failure" => Some("edits"),
        _ => None,
    }
}

/// The profiles, each a file `NAME.config.toml` that `--profile NAME` adds, and the flags of tau for the purpose.
fn profiles(found: &mut Collector, folder: &Path, provider: &str) {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    files.sort();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".config.toml") else { continue };
        let what = format!("profile {name}");
        match toml(&file) {
            Some(Ok(profile)) => found.leave_out(&file, what, &flags_instead(&profile, provider)),
            Some(Err(error)) => found.leave_out(&file, what, &error),
            None => {}
        }
    }
}

/// The flags that do what a profile does, and what they do not.
fn flags_instead(profile: &Value, provider: &str) -> String {
    let provider = text_in(profile, "model_provider").unwrap_or(provider);
    let flag_of = |name: &str| match (name, text_in(profile, name)?) {
        ("model", model) => Some(format!("--model {}", quote(&format!("{provider}/{model}")))),
        ("model_reasoning_effort", effort) => {
            ThinkingLevel::from_name(effort).map(|level| format!("--thinking {}", level.name()))
        }
        ("approval_policy", policy) => mode_of(policy).map(|mode| format!("--permission-mode {mode}")),
        ("sandbox_mode", level @ ("read-only" | "workspace-write")) => Some(format!("--sandbox {level}")),
        _ => None,
    };
    let names = profile.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let (mut flags, mut others) = (Vec::new(), Vec::new());
    for name in names.filter(|name| *name != "model_provider") {
        match flag_of(name) {
            Some(flag) => flags.push(flag),
            None => others.push(name),
        }
    }
    let without = match others.is_empty() {
        true => String::new(),
        false => format!(", without {}", others.join(", ")),
    };
    match flags.is_empty() {
        true => "tau has no profiles; a shell alias with flags does the same".to_owned(),
        false => format!("tau has no profiles; `tau {}` does the same{without}", flags.join(" ")),
    }
}

fn of_config(found: &mut Collector, file: &Path, config: &Value) {
    let provider = text_in(config, "model_provider").unwrap_or(OPENAI);
    let model = text_in(config, "model");
    if let Some(base_url) = text_in(config, "openai_base_url") {
        let own = Provider { name: OPENAI.to_owned(), base_url: base_url.to_owned(), ..Provider::default() };
        found.change(file, "openai_base_url", Change::Provider(own));
    }
    for (name, value) in fields(config, "model_providers") {
        let own = model.filter(|_| name == provider);
        let window = config.get("model_context_window").and_then(Value::as_u64);
        let of_id =
            |id: &str| ProviderModel { id: id.to_owned(), context_window: window, ..Default::default() };
        let models = own.map(of_id).into_iter().collect();
        of_provider(found, file, name, value, models);
    }
    let is_own = model.is_some() && fields(config, "model_providers").any(|(name, _)| name == provider);
    if config.get("model_context_window").is_some() && !is_own {
        let why = "tau knows the windows of models; for another, set `context_window` in models.toml";
        found.leave_out(file, "model_context_window", why);
    }
    if let Some(model) = model {
        found.change(file, format!("model: {model}"), setting("model", &format!("{provider}/{model}")));
    }
    if let Some(effort) = text_in(config, "model_reasoning_effort") {
        add_effort(found, file, "model_reasoning_effort", effort);
    }
    if let Some(policy) = text_in(config, "approval_policy") {
        let what = format!("approval_policy: {policy}");
        match mode_of(policy) {
            Some(mode) => found.change(file, what, setting("permission_mode", mode)),
            None => found.leave_out(file, what, WITHOUT_QUESTIONS),
        }
    }
    for (field, why) in [
        ("approval_policy", "a policy for each kind of question; choose permission_mode"),
        ("model", NO_TEXT),
        ("model_provider", NO_TEXT),
        ("model_reasoning_effort", NO_TEXT),
        ("sandbox_mode", NO_TEXT),
    ] {
        if config.get(field).is_some_and(|value| !value.is_string()) {
            found.leave_out(file, field, why);
        }
    }
    let mode = text_in(config, "sandbox_mode");
    if let Some(mode) = mode {
        of_sandbox(found, file, mode);
    }
    let is_writer = mode == Some("workspace-write");
    of_workspace(found, file, config.get("sandbox_workspace_write").unwrap_or(&Value::Null), is_writer);
    for (name, value) in fields(config, "mcp_servers") {
        add_server(found, file, name, value, Variables::Env);
    }
    if config.get("notify").is_some() {
        found.leave_out(file, "notify", "tau notifies by itself; a hook on Stop runs a command");
    }
    let names: Vec<&str> = fields(config, "profiles").map(|(name, _)| name.as_str()).collect();
    if !names.is_empty() {
        let what = format!("profiles: {}", names.join(", "));
        found.leave_out(file, what, "tau has none; a shell alias with flags does the same");
    }
    if let Some(name) = text_in(config, "profile") {
        found.leave_out(file, format!("profile: {name}"), "there is no profile of this name");
    }
    found.rest(file, "", config, &KNOWN);
}

fn of_sandbox(found: &mut Collector, file: &Path, mode: &str) {
    let what = format!("sandbox_mode: {mode}");
    match mode {
        "read-only" => {
            found.change(file, what.clone(), setting("sandbox.level", mode));
            found.change(file, format!("{what}: no network"), setting("sandbox.network", "off"));
        }
        "workspace-write" => found.change(file, what, setting("sandbox.level", mode)),
        _ => found.leave_out(file, what, "commands are not confined unless you set sandbox.level"),
    }
}

/// The sandbox that lets commands write. There they have no network unless the settings allow it.
fn of_workspace(found: &mut Collector, file: &Path, about: &Value, is_used: bool) {
    const TABLE: &str = "sandbox_workspace_write.";
    if !is_used {
        for (name, _) in about.as_object().into_iter().flatten() {
            let why =
                "it is about sandbox_mode = workspace-write; tau's are sandbox.level, network and writable";
            found.leave_out(file, format!("{TABLE}{name}"), why);
        }
        return;
    }
    let is = |field: &str| about.get(field).and_then(Value::as_bool) == Some(true);
    match is("network_access") {
        true => {
            found.leave_out(
                file,
                format!("{TABLE}network_access"),
                "sandbox.network is on unless you set it",
            );
        }
        false => {
            found.change(
                file,
                "sandbox_mode: workspace-write: no network",
                setting("sandbox.network", "off"),
            );
        }
    }
    let roots = about.get("writable_roots").and_then(Value::as_array).into_iter().flatten();
    let values: Vec<String> = roots.filter_map(|root| root.as_str().map(str::to_owned)).collect();
    if !values.is_empty() {
        found.change(file, "writable_roots", Change::List { key: "sandbox.writable", values });
    }
    for field in ["exclude_tmpdir_env_var", "exclude_slash_tmp"] {
        if is(field) {
            found.leave_out(file, field, "tau gives commands a folder of their own for temporary files");
        }
    }
    let known = ["network_access", "writable_roots", "exclude_tmpdir_env_var", "exclude_slash_tmp"];
    found.rest(file, TABLE, about, &known);
}

fn of_provider(found: &mut Collector, file: &Path, name: &str, value: &Value, models: Vec<ProviderModel>) {
    let what = format!("model provider {name}");
    let api = match text_in(value, "wire_api").unwrap_or("responses") {
        "chat" => "openai-completions",
        "responses" => "openai-responses",
        _ => return found.leave_out(file, what, "a wire format that tau does not know"),
    };
    let Some(base_url) = text_in(value, "base_url") else {
        return found.leave_out(file, what, "it has no address");
    };
    let variable = text_in(value, "env_key").map(str::to_owned);
    for (field, why) in [
        ("query_params", "tau adds none to addresses; for Azure, set AZURE_OPENAI_ENDPOINT"),
        ("http_headers", "headers can be keys, so they are not copied; set `headers` in models.toml"),
        ("env_http_headers", "set `headers` in models.toml"),
        ("requires_openai_auth", "log in with `tau login`, or save a key with `tau auth set`"),
    ] {
        if value.get(field).is_some_and(|value| value.as_bool() != Some(false)) {
            found.leave_out(file, format!("{what}: {field}"), why);
        }
    }
    found.rest(file, &format!("{what}: "), value, &OF_PROVIDER);
    let api = Some(api);
    let provider = Provider { name: name.to_owned(), base_url: base_url.to_owned(), api, variable, models };
    found.change(file, what, Change::Provider(provider));
}
