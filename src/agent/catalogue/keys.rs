//! `auth.json`, and the lookup order of keys.
//!
//! A key is looked up again for each request and leaves this module only as a [`Secret`]. The order: the
//! flag, the provider's environment variable, `auth.json`, `models.toml`, `config.toml`.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::auth_file::AuthFile;
use super::clouds::{Cloud, Clouds};
use super::login::{LoginOf, LoginPlace, LoginRow, LoginTokens, Renewals, of_provider};
use super::{Catalogue, is_loopback, key_command, providers};
use crate::provider::aws_key::AwsKey;
use crate::provider::http::Http;
pub use crate::provider::key_source::{KeyFuture, KeySource};
use crate::provider::{Failure, FailureKind};
use crate::secrets::Secret;
use crate::settings::{Paths, Settings};
use tau_protocol::model::{Api, Model};
use tau_tools::paths::reason;

pub use super::EnvLookup;
use tau_tools::user_error::UserError;

/// The user's keys.
pub struct Keys {
    auth_file: AuthFile,
    renewals: Arc<Renewals>,
    clouds: Clouds,
    files: Mutex<KeyFiles>,
    env: EnvLookup,
    /// The key of the flag, for this provider only: a key is never sent to another one.
    flag: Option<(String, KeySpec)>,
    /// The token of an app server, which holds the keys of all providers; none are needed here.
    proxy_token: Option<Secret>,
    /// Output of key commands. Each is run once, and again when its key is refused.
    commands: tokio::sync::Mutex<HashMap<String, Secret>>,
    /// Every key that was handed out, for redaction.
    given: Mutex<Vec<Secret>>,
}

/// Keys in the user's files; replaced when the files are read again.
#[derive(Clone)]
struct KeyFiles {
    catalogue: Arc<Catalogue>,
    /// `api_key` of `config.toml`, and the provider it is for.
    config: Option<(String, String)>,
}

tau_tools::debug_fields!(Keys { auth_file });

/// The source of a provider's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// The command line.
    Flag,
    /// The environment variable of this name.
    Variable(String),
    /// `auth.json`.
    AuthFile,
    /// A login, whose tokens are in `auth.json`.
    Login,
    /// The credentials of a cloud, as its own tools find them.
    Cloud(&'static str),
    /// `models.toml`.
    ModelsFile,
    /// `config.toml`, or its variable.
    ConfigFile,
}

impl std::fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            KeyPlace::Flag => "--api-key",
            KeyPlace::Variable(name) => name,
            KeyPlace::AuthFile => "auth.json",
            KeyPlace::Login => "login",
            KeyPlace::Cloud(name) => name,
            KeyPlace::ModelsFile => "models.toml",
            KeyPlace::ConfigFile => "config.toml",
        })
    }
}

/// A key as written in files, in `TAU_API_KEY` and on the command line.
#[derive(Clone)]
enum KeySpec {
    Literal(Secret),
    Variable(String),
    Command(String),
    /// The tokens of the login for this provider.
    Login(&'static LoginRow, Box<LoginTokens>),
    /// The credentials of a cloud.
    Cloud(Cloud),
}

impl KeySpec {
    fn parse(text: &str) -> Self {
        match text.trim().split_at_checked(1) {
            Some(("$", name)) => KeySpec::Variable(name.trim_matches(['{', '}']).to_owned()),
            Some(("!", command)) => KeySpec::Command(command.trim().to_owned()),
            _ => KeySpec::Literal(Secret::new(text)),
        }
    }
}

impl Keys {
    /// The keys for these settings. `flag` is the value of `--api-key`, and the provider of the model
    /// requested there.
    pub fn new(
        paths: &Paths,
        settings: &Settings,
        catalogue: Arc<Catalogue>,
        env: EnvLookup,
        flag: Option<(String, Secret)>,
    ) -> Self {
        let config = settings.api_key.as_ref().and_then(|key| {
            let key = key.expose().to_owned();
            let provider = catalogue.adhoc_provider().or_else(|| settings.provider.clone());
            // A key without a provider belongs to the provider of the model set alongside it.
            let named =
                || catalogue.find(settings.model.as_deref()?).ok().map(|model| model.provider.clone());
            Some((provider.or_else(named)?, key))
        });
        let auth_file = AuthFile::new(paths.shared_file(paths.config.join("auth.json")));
        let renewing = paths.shared_file(paths.config.join("auth.json.renewing"));
        let http = Arc::new(Http::new(settings.network()));
        Keys {
            renewals: Renewals::new(auth_file.clone(), renewing, Arc::clone(&http)),
            clouds: Clouds::new(Arc::clone(&env), http),
            auth_file,
            files: Mutex::new(KeyFiles { catalogue, config }),
            env,
            flag: flag.map(|(provider, key)| (provider, KeySpec::parse(key.expose()))),
            proxy_token: None,
            commands: tokio::sync::Mutex::default(),
            given: Mutex::default(),
        }
    }

    /// Uses an app server with this token: every model can be used, and none needs a key.
    pub fn behind_proxy(self, token: Option<Secret>) -> Self {
        Keys { proxy_token: token, ..self }
    }

    fn files(&self) -> KeyFiles {
        self.files.lock().clone()
    }

    /// The models that these keys are for.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.files().catalogue
    }

    /// Takes over keys and models from `newer`, which was read from the files again.
    pub fn adopt(&self, newer: &Keys) {
        let files = newer.files();
        *self.files.lock() = files;
    }

    /// The source of this provider's key, other than `auth.json`. Runs no command.
    pub fn place_besides_auth_file(&self, provider: &str) -> Option<KeyPlace> {
        self.place_among(provider, &Map::new())
    }

    /// The reason why a key or login in `auth.json` is not used, as a sentence for the user.
    pub fn override_reason(&self, provider: &str) -> Option<String> {
        let place = self.place_besides_auth_file(provider)?;
        matches!(place, KeyPlace::Flag | KeyPlace::Variable(_))
            .then(|| format!("{place} also has a key for {provider}, which takes precedence"))
    }

    /// The providers among these that have a key anywhere. Runs no command.
    pub fn providers_with_keys<V: AsRef<str>>(&self, providers: impl IntoIterator<Item = V>) -> Vec<V> {
        let stored = self.auth_entries();
        if self.proxy_token.is_some() {
            return providers.into_iter().collect();
        }
        providers
            .into_iter()
            .filter(|provider| self.place_among(provider.as_ref(), &stored).is_some())
            .collect()
    }

    /// The source of this provider's key; `None` if it has no key. Runs no command.
    pub fn place(&self, provider: &str) -> Option<KeyPlace> {
        self.place_among(provider, &self.auth_entries())
    }

    fn place_among(&self, provider: &str, stored: &Map<String, Value>) -> Option<KeyPlace> {
        let holds = |spec: &KeySpec| match spec {
            KeySpec::Literal(secret) => !secret.is_empty(),
            KeySpec::Variable(name) => self.variable(name).is_some(),
            KeySpec::Command(_) | KeySpec::Login(..) => true,
            KeySpec::Cloud(cloud) => cloud.is_set_up(&self.env),
        };
        self.specs(provider, stored).into_iter().find(|(_, spec)| holds(spec)).map(|(place, _)| place)
    }

    /// Checks that the key of the command line can be used. A key that names an unset variable must not
    /// silently give way to another key.
    pub fn check_flag(&self) -> Result<(), UserError> {
        match self.flag.as_ref().map(|(_, spec)| spec) {
            Some(KeySpec::Variable(name)) if self.variable(name).is_none() => {
                Err(format!("--api-key: the environment variable {name} is not set").into())
            }
            _ => Ok(()),
        }
    }

    /// Checks that `auth.json` can be read, if it exists. An unreadable file holds no keys.
    pub fn readable(&self) -> Result<(), Failure> {
        let failed = |error: io::Error| {
            let json = error.get_ref().and_then(|error| error.downcast_ref::<serde_json::Error>());
            let (place, why) = match json {
                Some(json) => (format!(":{}", json.line()), not_json(json)),
                None => (String::new(), reason(&error)),
            };
            let message =
                format!("{}{place}: {why}; fix or delete the file", self.auth_file.path().display());
            Failure::new(FailureKind::Config, message)
        };
        self.auth_file.read().map(drop).map_err(failed)
    }

    /// Checks that `auth.json` can be changed now. Blocks.
    pub fn check_writable(&self) -> io::Result<()> {
        self.auth_file.check_writable()
    }

    /// All values known to be keys, for redaction and for hiding from commands; includes the headers of
    /// `models.toml`. Runs no command; the output of one is known once it has run.
    pub fn secret_values(&self) -> Vec<Secret> {
        let KeyFiles { catalogue, config } = self.files();
        let names = catalogue.key_variables();
        let mut values: Vec<Secret> = names.iter().filter_map(|name| self.variable(name)).collect();
        let stored = self.auth_entries();
        let mut specs: Vec<String> =
            stored.values().filter_map(|entry| entry.get("key")?.as_str().map(str::to_owned)).collect();
        let logins = stored.values().filter_map(LoginTokens::of_entry);
        values.extend(logins.flat_map(|tokens| [tokens.access, tokens.refresh]).map(Secret::new));
        specs.extend(catalogue.key_specs());
        specs.extend(config.iter().map(|(_, key)| key.clone()));
        let flag = self.flag.iter().map(|(_, spec)| spec.clone());
        let specs = flag.chain(specs.iter().map(|spec| KeySpec::parse(spec)));
        values.extend(specs.filter_map(|spec| match spec {
            KeySpec::Literal(secret) => Some(secret),
            KeySpec::Variable(name) => self.variable(&name),
            KeySpec::Command(_) | KeySpec::Login(..) | KeySpec::Cloud(_) => None,
        }));
        values.extend(self.proxy_token.iter().cloned());
        values.extend(catalogue.header_secrets().iter().cloned());
        values.extend(self.given.lock().iter().cloned());
        values.retain(|value| !value.is_empty());
        let mut unique: Vec<Secret> = Vec::with_capacity(values.len());
        values.into_iter().for_each(|value| {
            if !unique.contains(&value) {
                unique.push(value);
            }
        });
        unique
    }

    /// Saves a key in `auth.json`. Fails with `InvalidData` when the file cannot be parsed: it is then left
    /// alone.
    pub fn store(&self, provider: &str, key: &Secret) -> io::Result<()> {
        let entry = serde_json::json!({"type": "api_key", "key": key.expose()});
        self.auth_file.change(|stored| drop(stored.insert(provider.to_owned(), entry)))
    }

    /// Saves the tokens of a login in `auth.json`, in place of a key.
    pub fn store_login(&self, provider: &str, tokens: &LoginTokens) -> io::Result<()> {
        self.auth_file.change(|stored| drop(stored.insert(provider.to_owned(), tokens.entry())))
    }

    /// Removes a key from `auth.json`; returns whether there was one.
    pub fn remove(&self, provider: &str) -> io::Result<bool> {
        let mut removed = false;
        self.auth_file.change(|stored| removed = stored.remove(provider).is_some())?;
        Ok(removed)
    }

    /// The providers that `auth.json` has keys for.
    pub fn stored_providers(&self) -> Vec<String> {
        self.auth_entries().keys().cloned().collect()
    }

    /// The content of `auth.json`; empty if it cannot be read.
    fn auth_entries(&self) -> Map<String, Value> {
        self.auth_file.read().unwrap_or_default()
    }

    fn variable(&self, name: &str) -> Option<Secret> {
        (self.env)(name).map(Secret::new).filter(|secret| !secret.is_empty())
    }

    /// The specs of this provider's key, in order of precedence.
    fn specs(&self, provider: &str, stored: &Map<String, Value>) -> Vec<(KeyPlace, KeySpec)> {
        let flag = self.flag.as_ref().filter(|(owner, _)| owner == provider).map(|(_, spec)| spec.clone());
        let KeyFiles { catalogue, config } = self.files();
        let own = catalogue.key_variable(provider);
        let entry = stored.get(provider);
        let login = of_provider(provider).zip(entry.and_then(LoginTokens::of_entry));
        let login = login.map(|(row, tokens)| (KeyPlace::Login, KeySpec::Login(row, Box::new(tokens))));
        let stored = entry.and_then(|entry| entry.get("key")).and_then(Value::as_str);
        let config = config.as_ref().filter(|(owner, _)| owner == provider);
        let written = [
            (KeyPlace::AuthFile, stored),
            (KeyPlace::ModelsFile, catalogue.key_spec(provider)),
            (KeyPlace::ConfigFile, config.map(|(_, key)| key.as_str())),
        ];
        let written = written.into_iter().filter_map(|(place, spec)| Some((place, KeySpec::parse(spec?))));
        let flag = flag.map(|spec| (KeyPlace::Flag, spec));
        let own = own.map(|name| (KeyPlace::Variable(name.clone()), KeySpec::Variable(name)));
        let cloud = Cloud::of(provider).map(|cloud| (KeyPlace::Cloud(cloud.place()), KeySpec::Cloud(cloud)));
        flag.into_iter().chain(own).chain(login).chain(written).chain(cloud).collect()
    }

    async fn find(&self, model: &Model) -> Result<Option<Secret>, Failure> {
        if model.api == Api::Scripted || self.proxy_token.is_some() {
            return Ok(None);
        }
        let provider = &model.provider;
        let written = self.specs(provider, &self.auth_entries());
        if let Some(key) = self.first(&written).await? {
            return Ok(Some(key));
        }
        self.readable()?;
        match self.catalogue().key_variable(provider) {
            _ if is_loopback(&model.base_url) => Ok(None),
            Some(name) => Err(Failure::new(FailureKind::Config, format!("no key for {provider}"))
                .hint(format!("set {name}, or use /login"))),
            None if providers::find_by_id(provider).is_some() => {
                let name = of_provider(provider).map_or(provider.as_str(), |row| row.alias);
                Err(Failure::new(FailureKind::Config, format!("not logged in to {provider}"))
                    .hint(format!("run `tau login {name}`, or use /login")))
            }
            None if !written.is_empty() => {
                Err(Failure::new(FailureKind::Config, format!("the key for {provider} is empty"))
                    .hint("check api_key in config.toml or models.toml, or use /login"))
            }
            // A server of the user that is not known to need a key.
            None => Ok(None),
        }
    }

    /// The key of a service that is not a model provider; `None` if it has none. Fails when `auth.json`
    /// cannot be read, or a command that prints the key fails.
    pub(crate) async fn of_service(&self, id: &str) -> Result<Option<Secret>, Failure> {
        let key = self.first(&self.specs(id, &self.auth_entries())).await?;
        match &key {
            Some(key) => self.remember(key),
            None => self.readable()?,
        }
        Ok(key)
    }

    /// The first of these that yields a key.
    async fn first(&self, written: &[(KeyPlace, KeySpec)]) -> Result<Option<Secret>, Failure> {
        for (_, spec) in written {
            let key = match spec {
                KeySpec::Literal(secret) => Some(secret.clone()),
                KeySpec::Variable(name) => self.variable(name),
                KeySpec::Command(command) => Some(self.key_from_command(command).await?),
                KeySpec::Login(row, tokens) => {
                    let tokens = LoginTokens::clone(tokens);
                    self.renewals.access(self.login_of(row), tokens).await?
                }
                KeySpec::Cloud(cloud) => {
                    Some(self.clouds.key(*cloud, &self.catalogue().key_variables()).await?)
                }
            };
            if let Some(key) = key.filter(|key| !key.is_empty()) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    fn login_of(&self, row: &'static LoginRow) -> LoginOf {
        LoginOf { row, place: self.login_place(row) }
    }

    /// The place of a login, as the user has set it.
    pub fn login_place(&self, row: &LoginRow) -> LoginPlace {
        self.catalogue().login_place(row.provider)
    }

    /// The tokens of the login that a provider's key comes from; `None` if the key comes from elsewhere.
    fn login_in_use(&self, provider: &str) -> Option<(&'static LoginRow, Box<LoginTokens>)> {
        let first = self.specs(provider, &self.auth_entries()).into_iter().find(|(_, spec)| match spec {
            KeySpec::Variable(name) => self.variable(name).is_some(),
            KeySpec::Literal(secret) => !secret.is_empty(),
            KeySpec::Command(_) | KeySpec::Login(..) | KeySpec::Cloud(_) => true,
        });
        match first?.1 {
            KeySpec::Login(row, tokens) => Some((row, tokens)),
            KeySpec::Literal(_) | KeySpec::Variable(_) | KeySpec::Command(_) | KeySpec::Cloud(_) => None,
        }
    }

    /// Remembers a key that is handed out, for redaction.
    fn remember(&self, key: &Secret) {
        let mut given = self.given.lock();
        let aws = AwsKey::parse(key);
        let parts = aws.iter().flat_map(AwsKey::secrets).map(Secret::new).filter(|part| !part.is_empty());
        for key in std::iter::once(key.clone()).chain(parts) {
            if !given.contains(&key) {
                given.push(key);
            }
        }
    }

    /// The output of a key command. Kept until the key is refused; a failure is not remembered.
    async fn key_from_command(&self, command: &str) -> Result<Secret, Failure> {
        let mut commands = self.commands.lock().await;
        if let Some(key) = commands.get(command) {
            return Ok(key.clone());
        }
        let key = key_command::run(command, &self.catalogue().key_variables()).await?;
        commands.insert(command.to_owned(), key.clone());
        Ok(key)
    }
}

impl KeySource for Keys {
    fn key<'a>(&'a self, model: &'a Model) -> KeyFuture<'a> {
        Box::pin(async move {
            let key = self.find(model).await?;
            if let Some(key) = &key {
                self.remember(key);
            }
            Ok(key)
        })
    }

    /// A key printed by a command may have expired, so it is forgotten and the command is run again. Tokens of
    /// a login are renewed.
    fn replacement_key<'a>(&'a self, model: &'a Model, refused: &'a Secret) -> KeyFuture<'a> {
        Box::pin(async move {
            self.commands.lock().await.retain(|_, printed| printed != refused);
            if let Some(cloud) = Cloud::of(&model.provider) {
                self.clouds.forget(cloud).await;
            }
            let other = match self.login_in_use(&model.provider) {
                Some((row, _)) => self.renewals.instead_of(self.login_of(row), refused).await?,
                None => self.find(model).await?,
            };
            let other = other.filter(|key| key != refused);
            other.iter().for_each(|key| self.remember(key));
            Ok(other)
        })
    }

    fn address(&self, model: &Model) -> Option<String> {
        if let Some(cloud) = Cloud::of(&model.provider) {
            return self.clouds.address(cloud, model);
        }
        let usual = providers::find_by_id(&model.provider)?.base_url;
        // An address of the user's own comes first.
        (model.base_url == usual).then_some(())?;
        self.login_in_use(&model.provider)?.1.address
    }

    fn advice(&self, model: &Model) -> Option<String> {
        let provider = &model.provider;
        let is_adhoc = self.catalogue().adhoc_provider().as_ref() == Some(provider);
        let save = format!("with `tau auth set {provider}` or /login");
        let Some(place) = Keys::place(self, provider) else {
            // Headers of the user's own may have the key.
            let add = if is_adhoc { "add one with --api-key".to_owned() } else { format!("save one {save}") };
            return model.headers.is_empty().then(|| format!("no API key was sent: {add}"));
        };
        let todo = match (&place, of_provider(provider)) {
            (KeyPlace::Login, Some(row)) => {
                let again = format!("log in again with `tau login {}` or /login", row.alias);
                return Some(format!("{provider} refused the login: {again}"));
            }
            // They are known; the account lacks something.
            (KeyPlace::Cloud(_), _) => {
                return Some(format!(
                    "{provider} refused the {place}: give them the right to use {}, or use others",
                    model.id
                ));
            }
            (KeyPlace::Flag, _) => "start tau with another".to_owned(),
            _ if is_adhoc => "change it there".to_owned(),
            (KeyPlace::Variable(_), _) => format!("change it there, or unset it and save another {save}"),
            (KeyPlace::AuthFile, _) => format!("save another {save}"),
            _ => format!("change it there, or save another {save}"),
        };
        Some(format!("{provider} refused the API key from {place}: {todo}"))
    }
}

/// Describes a JSON error in a key file without quoting its content, which may be a key.
fn not_json(error: &serde_json::Error) -> String {
    if error.is_data() {
        return "is not a JSON object".to_owned();
    }
    let text = error.to_string();
    format!("is not valid JSON ({})", text.split(" at line ").next().unwrap_or_default())
}
