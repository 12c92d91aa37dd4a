//! The new texts of tau's files, from what the set-ups mean.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use super::found::{Change, Meaning, Provider, SetUp};
use crate::compose::environment::Environment;
use crate::process::masking::{mask, mask_address, mask_words};
use crate::process::plain;
use tau_agent::catalogue::Catalogue;
use tau_agent::catalogue::user::UserFile;
use tau_agent::settings::mcp_servers::{McpServer, McpTransport};
use tau_agent::settings::private_files::{SharedFile, write_private};
use tau_agent::settings::{MAX_BYTES, permission_rules, table, write};
use tau_tools::diff;
use tau_tools::regular_files::read_text;
use tau_tools::user_error::UserError;

/// The setting that names a model.
const MODEL: &str = "model";
/// The setting that names a permission mode.
const MODE: &str = "permission_mode";

/// A file and its new text.
struct NewText {
    file: SharedFile,
    old: String,
    new: String,
    /// The new text as it is shown.
    shown: String,
}

/// The changes to tau's files.
pub(super) struct Plan {
    files: Vec<NewText>,
}

impl Plan {
    /// The changes that the set-ups need. Those that tau's files already decide, or that an earlier agent has
    /// decided, become parts that are left.
    pub(super) fn of(environment: &Environment, set_ups: &mut [SetUp]) -> Result<Self, UserError> {
        let paths = &environment.paths;
        let read = |path: PathBuf| -> Result<(SharedFile, String), UserError> {
            let text = match read_text(&path, MAX_BYTES) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                Err(error) => return Err(format!("{}: {error}", path.display()).into()),
            };
            Ok((paths.shared_file(path), text))
        };
        let (config, config_text) = read(paths.config_file())?;
        let (models, models_text) = read(paths.config.join("models.toml"))?;
        let (agents, agents_text) = read(paths.config.join("AGENTS.md"))?;
        let mut draft = Draft {
            config_path: config.path().to_owned(),
            config: document(&config, &config_text)?,
            shown: document(&config, &config_text)?,
            models: document(&models, &models_text)?,
            agents: agents_text.clone(),
            taken: BTreeMap::new(),
            has_mode: None,
            elsewhere: BTreeSet::new(),
        };
        // Models are looked up among those of all providers, so providers come first.
        for is_turn in [Change::is_provider, |change: &Change| !change.is_provider()] {
            for set_up in &mut *set_ups {
                for finding in &mut set_up.findings {
                    if let Meaning::Change(change) = &finding.meaning
                        && is_turn(change)
                        && let Err(why) = draft.apply_of(set_up.agent, change)
                    {
                        finding.meaning = Meaning::Left(why.into());
                    }
                }
            }
        }
        let new = draft.config.to_string();
        write::check(config.path(), &new).map_err(UserError::of)?;
        let (shown, new_models) = (draft.shown.to_string(), draft.models.to_string());
        toml::from_str::<UserFile>(&new_models)
            .map_err(|error| format!("models.toml: {}", error.message()))?;
        let files = vec![
            NewText { file: config, old: config_text, new, shown },
            NewText { file: models, old: models_text, shown: new_models.clone(), new: new_models },
            NewText { file: agents, old: agents_text, shown: draft.agents.clone(), new: draft.agents },
        ];
        Ok(Plan { files: files.into_iter().filter(|file| file.new != file.old).collect() })
    }

    /// The changes as a patch.
    pub(super) fn diff(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            let name = file.file.path().display().to_string();
            let change = diff::between(&name, file.old.as_bytes(), file.shown.as_bytes());
            text.push_str(&plain::text(&format!("--- {name}\n+++ {name}\n{}", change.to_unified())));
        }
        text
    }

    /// Writes the files, unless one has changed in the meantime; returns their paths.
    pub(super) fn write(self) -> Result<Vec<PathBuf>, UserError> {
        let mut written = Vec::new();
        for NewText { file, old, new, .. } in self.files {
            let failed = |error: io::Error| format!("{}: {error}", file.path().display());
            let _lock = file.lock().map_err(UserError::of)?;
            let now = read_text(file.path(), MAX_BYTES).unwrap_or_default();
            if now != old {
                return Err(format!("{} has just been changed; start again", file.path().display()).into());
            }
            // It may contain other people's keys, so only its owner may read it.
            write_private(file.path(), new.as_bytes()).map_err(failed)?;
            written.push(file.path().to_owned());
        }
        Ok(written)
    }
}

fn document(file: &SharedFile, text: &str) -> Result<DocumentMut, UserError> {
    text.parse().map_err(|error: toml_edit::TomlError| format!("{}: {error}", file.path().display()).into())
}

struct Draft {
    config_path: PathBuf,
    config: DocumentMut,
    /// Like `config`, without values that may be secret.
    shown: DocumentMut,
    models: DocumentMut,
    agents: String,
    /// The subjects taken so far, and the agent of each.
    taken: BTreeMap<String, &'static str>,
    /// The first agent with a permission mode.
    has_mode: Option<&'static str>,
    /// The agents with a provider whose address is not taken over.
    elsewhere: BTreeSet<(&'static str, String)>,
}

impl Draft {
    /// Applies a change that an agent's set-up means; `Err` says why it is left. A model and its address are taken
    /// together.
    fn apply_of(&mut self, agent: &'static str, change: &Change) -> Result<(), UserError> {
        if let Change::Setting { key: MODEL, value } = change
            && let Some((provider, _)) = value.split_once('/')
            && self.elsewhere.contains(&(agent, provider.to_owned()))
        {
            return Err(format!("{agent} reaches {provider} at an address that is not taken over").into());
        }
        let applied = self.apply_first(agent, change);
        if let (Change::Provider(provider), true) = (change, applied.is_err())
            && !has_address(&self.models, provider)
        {
            self.elsewhere.insert((agent, provider.name.clone()));
        }
        applied
    }

    /// Applies a change, unless another one has decided the same.
    fn apply_first(&mut self, agent: &'static str, change: &Change) -> Result<(), UserError> {
        let subject = change.subject();
        if let Some(earlier) = self.taken.get(&subject) {
            return Err(format!("{subject} is taken from {earlier}").into());
        }
        // One agent decides how commands are confined.
        let is_sandbox = |subject: &str| subject.starts_with("sandbox.");
        let mut others = self.taken.iter().filter(|(_, other)| **other != agent);
        if let Some((_, earlier)) = others.find(|(taken, _)| is_sandbox(&subject) && is_sandbox(taken)) {
            return Err(format!("the sandbox is that of {earlier}").into());
        }
        // Rules mean what their agent meant only with its mode. Those that deny hold in any.
        let is_of_mode = matches!(change, Change::Rule { list, .. } if *list != "deny");
        if let Some(other) = self.has_mode.filter(|other| is_of_mode && *other != agent) {
            return Err(format!("{MODE} is that of {other}, and so are the rules").into());
        }
        if subject == MODE {
            self.has_mode.get_or_insert(agent);
        }
        self.apply(change)?;
        self.taken.insert(subject, agent);
        Ok(())
    }

    fn apply(&mut self, change: &Change) -> Result<(), UserError> {
        match change {
            Change::Setting { key, value } => {
                if *key == MODEL {
                    self.find_model(value)?;
                }
                let row = table::row(key).ok_or("tau has no such setting")?;
                let new = write::parse_value(row.kind, value);
                set(&mut self.config, key, &new)?;
                set(&mut self.shown, key, &new)
            }
            Change::List { key, values } => {
                let new = Value::from(values.iter().collect::<Array>());
                set(&mut self.config, key, &new)?;
                set(&mut self.shown, key, &new)
            }
            Change::Server(server) => {
                add_server(&mut self.config, server)?;
                add_server(&mut self.shown, &mask_server(server))
            }
            Change::Rule { list, rule } => {
                permission_rules::check(&self.config_path, rule)?;
                add_rule(&mut self.config, list, rule)?;
                add_rule(&mut self.shown, list, rule)
            }
            Change::Provider(provider) => add_provider(&mut self.models, provider),
            Change::Instructions(path) => self.import(path),
        }
    }

    /// Checks that a reference means a model of the provider that it names, with the providers taken so far.
    fn find_model(&self, reference: &str) -> Result<(), UserError> {
        let user = toml::from_str(&self.models.to_string()).map_err(|error| error.message().to_owned())?;
        let found = Catalogue::new(user, None).find(reference).ok();
        if found.is_some_and(|model| model.reference() == reference) {
            return Ok(());
        }
        let (provider, model) = reference.split_once('/').unwrap_or(("", reference));
        let what = match provider {
            "" => format!("tau does not know {model}"),
            provider => format!("tau knows no {model} of {provider}"),
        };
        Err(UserError::new(what).remedy("choose one with /model"))
    }

    fn import(&mut self, path: &Path) -> Result<(), UserError> {
        let line = format!("@{}", tau_agent::settings::paths::in_short(path));
        if line.contains(char::is_whitespace) {
            return Err(UserError::new("a path with blanks cannot be imported")
                .remedy("copy its text into AGENTS.md"));
        }
        if self.agents.lines().any(|known| known.trim() == line) {
            return Err("already imported".into());
        }
        if !self.agents.is_empty() && !self.agents.ends_with('\n') {
            self.agents.push('\n');
        }
        self.agents.push_str(&format!("{line}\n"));
        Ok(())
    }
}

fn set(file: &mut DocumentMut, key: &str, new: &Value) -> Result<(), UserError> {
    let (table, key) = match key.split_once('.') {
        Some((table, key)) => {
            let table = file.entry(table).or_insert_with(|| Item::Table(Table::new()));
            (table.as_table_like_mut().ok_or("it is no table in config.toml")?, key)
        }
        None => (file.as_table_mut() as &mut dyn toml_edit::TableLike, key),
    };
    match table.get(key) {
        Some(known) if is_same(known, new) => Err("already so in config.toml".into()),
        Some(_) => Err(format!("config.toml already sets {key}").into()),
        None => {
            table.insert(key, Item::Value(new.clone()));
            Ok(())
        }
    }
}

fn is_same(known: &Item, new: &Value) -> bool {
    let plain = |value: &Value| value.clone().decorated("", "").to_string();
    known.as_value().is_some_and(|known| plain(known) == plain(new))
}

/// A server as it is shown.
fn mask_server(server: &McpServer) -> McpServer {
    let mut server = server.clone();
    let texts = match &mut server.transport {
        McpTransport::Stdio { args, env, .. } => {
            *args = mask_words(args);
            env
        }
        McpTransport::Http { url, headers, .. } => {
            *url = mask_address(url);
            headers
        }
    };
    texts.values_mut().for_each(|text| *text = mask(text));
    server
}

fn add_server(file: &mut DocumentMut, server: &McpServer) -> Result<(), UserError> {
    let mut all = Table::new();
    all.set_implicit(true);
    let all = file.entry("mcp").or_insert(Item::Table(all)).as_table_like_mut().ok_or("`mcp` is no table")?;
    if all.contains_key(&server.name) {
        return Err(format!("config.toml already has a server {}", server.name).into());
    }
    let mut table = Table::new();
    let texts = |texts: &BTreeMap<String, String>| {
        value(texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<InlineTable>())
    };
    match &server.transport {
        McpTransport::Stdio { command, args, env, cwd } => {
            table.insert("command", value(command.as_str()));
            if !args.is_empty() {
                table.insert("args", value(args.iter().collect::<Array>()));
            }
            if !env.is_empty() {
                table.insert("env", texts(env));
            }
            if let Some(cwd) = cwd {
                table.insert("cwd", value(cwd.to_string_lossy().as_ref()));
            }
        }
        McpTransport::Http { url, headers, oauth } => {
            table.insert("url", value(url.as_str()));
            if !headers.is_empty() {
                table.insert("headers", texts(headers));
            }
            let mut login = InlineTable::new();
            if let Some(id) = &oauth.client_id {
                login.insert("client_id", id.as_str().into());
            }
            if let Some(scopes) = &oauth.scopes {
                login.insert("scopes", scopes.iter().collect::<Array>().into());
            }
            if !login.is_empty() {
                table.insert("oauth", value(login));
            }
        }
    }
    if !server.enabled {
        table.insert("enabled", value(false));
    }
    if let Some(tools) = &server.allow_tools {
        table.insert("allow_tools", value(tools.iter().collect::<Array>()));
    }
    if !server.deny_tools.is_empty() {
        table.insert("deny_tools", value(server.deny_tools.iter().collect::<Array>()));
    }
    for (name, seconds) in [("timeout", server.timeout), ("start_timeout", server.start_timeout)] {
        if let Some(seconds) = seconds.and_then(|seconds| i64::try_from(seconds).ok()) {
            table.insert(name, value(seconds));
        }
    }
    all.insert(&server.name, Item::Table(table));
    Ok(())
}

fn add_rule(file: &mut DocumentMut, list: &str, rule: &str) -> Result<(), UserError> {
    let all = file.entry("permissions").or_insert_with(|| Item::Table(Table::new()));
    let all = all.as_table_like_mut().ok_or("`permissions` is no table")?;
    let rules =
        all.entry(list).or_insert(value(Array::new())).as_array_mut().ok_or("it is no list of rules")?;
    if rules.iter().any(|known| known.as_str() == Some(rule)) {
        return Err("already so in config.toml".into());
    }
    rules.push(rule);
    Ok(())
}

/// Whether the file has this address for a provider.
fn has_address(file: &DocumentMut, provider: &Provider) -> bool {
    let known = file.get("vendors").and_then(|all| all.get(&provider.name)?.get("base_url")?.as_str());
    known == Some(&provider.base_url)
}

fn add_provider(file: &mut DocumentMut, provider: &Provider) -> Result<(), UserError> {
    let mut all = Table::new();
    all.set_implicit(true);
    let all = file
        .entry("vendors")
        .or_insert(Item::Table(all))
        .as_table_like_mut()
        .ok_or("`vendors` in models.toml is no table")?;
    if all.contains_key(&provider.name) {
        return Err(format!("models.toml already has {}", provider.name).into());
    }
    let mut table = Table::new();
    table.insert("base_url", value(provider.base_url.as_str()));
    if let Some(api) = provider.api {
        table.insert("api", value(api));
    }
    if let Some(variable) = &provider.variable {
        table.insert("api_key", value(format!("${variable}")));
    }
    let mut models = ArrayOfTables::new();
    for known in &provider.models {
        let mut model = Table::new();
        model.insert("id", value(known.id.as_str()));
        if let Some(name) = &known.name {
            model.insert("name", value(name.as_str()));
        }
        for (field, number) in [("context_window", known.context_window), ("max_tokens", known.max_tokens)] {
            if let Some(number) = number.and_then(|number| i64::try_from(number).ok()) {
                model.insert(field, value(number));
            }
        }
        if let Some(reasoning) = known.reasoning {
            model.insert("reasoning", value(reasoning));
        }
        if !known.input.is_empty() {
            model.insert("input", value(known.input.iter().collect::<Array>()));
        }
        if !known.cost.is_empty() {
            model.insert("cost", value(known.cost.iter().copied().collect::<InlineTable>()));
        }
        models.push(model);
    }
    if !models.is_empty() {
        table.insert("models", Item::ArrayOfTables(models));
    }
    let mut alone = DocumentMut::new();
    let mut providers = Table::new();
    providers.insert(&provider.name, Item::Table(table.clone()));
    alone.insert("vendors", Item::Table(providers));
    toml::from_str::<UserFile>(&alone.to_string()).map_err(|error| error.message().to_owned())?;
    all.insert(&provider.name, Item::Table(table));
    Ok(())
}
