//! `auth.json` and the order in which keys are looked for.
//!
//! A key is asked for anew for each request and leaves here only as a [`Secret`]. The order: the
//! flag, the vendor's environment variable, `auth.json`, `models.toml` and `config.toml`.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};

use super::private_files::{LockFile, read_capped, write_private};
use super::{MAX_BYTES, Paths, Settings};
use crate::agent::catalogue::{Catalogue, is_loopback};
use crate::agent::protocol::model::{Api, Model};
pub use crate::agent::provider::key_source::{KeyFuture, KeySource};
use crate::agent::provider::{Failure, FailureKind};
use crate::agent::secrets::Secret;

/// Gives the value of an environment variable.
pub type EnvLookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// How long a command that prints a key may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// The keys of this person.
pub struct Keys {
    auth_file: PathBuf,
    catalogue: Arc<Catalogue>,
    env: EnvLookup,
    /// The key of the flag, for this vendor only: a key never goes to another one.
    flag: Option<(String, Secret)>,
    /// `api_key` of `config.toml`, and the vendor it is for.
    config: Option<(String, String)>,
    /// What commands printed; each is run once, and again when its key is refused.
    commands: tokio::sync::Mutex<HashMap<String, Secret>>,
    /// Every key that was given out, for redaction.
    given: Mutex<Vec<Secret>>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("auth_file", &self.auth_file).finish_non_exhaustive()
    }
}

/// Where the key of a vendor comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// The command line.
    Flag,
    /// The environment variable of this name.
    Variable(String),
    /// `auth.json`.
    AuthFile,
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
            KeyPlace::ModelsFile => "models.toml",
            KeyPlace::ConfigFile => "config.toml",
        })
    }
}

/// How a key is written where it is not the key itself.
enum Written {
    Literal(Secret),
    Variable(String),
    Command(String),
}

impl Written {
    fn parse(text: &str) -> Self {
        match text.trim().split_at_checked(1) {
            Some(("$", name)) => Written::Variable(name.trim_matches(['{', '}']).to_owned()),
            Some(("!", command)) => Written::Command(command.trim().to_owned()),
            _ => Written::Literal(Secret::new(text)),
        }
    }
}

impl Keys {
    /// The keys for these settings. `flag` is the key of the command line and the vendor of the
    /// model that was asked for there.
    pub fn new(
        paths: &Paths,
        settings: &Settings,
        catalogue: Arc<Catalogue>,
        env: EnvLookup,
        flag: Option<(String, Secret)>,
    ) -> Self {
        let config = settings.api_key.clone().and_then(|key| {
            let vendor = catalogue.adhoc_provider().or_else(|| settings.provider.clone());
            // Without a vendor beside it, the key is for the vendor of the model beside it.
            let named =
                || catalogue.find(settings.model.as_deref()?).ok().map(|model| model.provider.clone());
            Some((vendor.or_else(named)?, key))
        });
        Keys {
            auth_file: paths.config.join("auth.json"),
            catalogue,
            env,
            flag,
            config,
            commands: tokio::sync::Mutex::default(),
            given: Mutex::default(),
        }
    }

    /// Those of these vendors for which a key is set somewhere. Runs no command.
    pub fn held<V: AsRef<str>>(&self, vendors: impl IntoIterator<Item = V>) -> Vec<V> {
        let stored = self.stored();
        vendors.into_iter().filter(|vendor| self.place_among(vendor.as_ref(), &stored).is_some()).collect()
    }

    /// Where the key of this vendor comes from; none when there is none. Runs no command.
    pub fn place(&self, provider: &str) -> Option<KeyPlace> {
        self.place_among(provider, &self.stored())
    }

    fn place_among(&self, provider: &str, stored: &Map<String, Value>) -> Option<KeyPlace> {
        if self.flag.as_ref().is_some_and(|(vendor, _)| vendor == provider) {
            return Some(KeyPlace::Flag);
        }
        let own = self.catalogue.key_variable(provider);
        if let Some(name) = own.filter(|name| self.variable(name).is_some()) {
            return Some(KeyPlace::Variable(name));
        }
        let holds = |spec: &str| match Written::parse(spec) {
            Written::Literal(secret) => !secret.is_empty(),
            Written::Variable(name) => self.variable(&name).is_some(),
            Written::Command(_) => true,
        };
        self.specs(provider, stored).into_iter().find(|(_, spec)| holds(spec)).map(|(place, _)| place)
    }

    /// Tells whether `auth.json` can be read, if there is one. A file that cannot holds no keys.
    ///
    /// # Errors
    /// What is wrong with it, and what to do.
    pub fn readable(&self) -> Result<(), Failure> {
        let failed = |error| {
            let message = format!("{}: {error}", self.auth_file.display());
            Failure::new(FailureKind::Config, message).hint("mend the file or delete it")
        };
        self.read_stored().map(drop).map_err(failed)
    }

    /// All values that are known to be keys, for redaction and for what commands may not see; the
    /// headers of `models.toml` count as such. Runs no command; what one printed is known from then on.
    pub fn known_values(&self) -> Vec<Secret> {
        let mut values: Vec<Secret> = self.flag.iter().map(|(_, key)| key.clone()).collect();
        let names = self.catalogue.key_variables();
        values.extend(names.iter().filter_map(|name| self.variable(name)));
        let stored = self.stored();
        let mut specs: Vec<String> =
            stored.values().filter_map(|entry| entry.get("key")?.as_str().map(str::to_owned)).collect();
        specs.extend(self.catalogue.key_specs());
        specs.extend(self.config.iter().map(|(_, key)| key.clone()));
        values.extend(specs.iter().filter_map(|spec| match Written::parse(spec) {
            Written::Literal(secret) => Some(secret),
            Written::Variable(name) => self.variable(&name),
            Written::Command(_) => None,
        }));
        values.extend(self.catalogue.header_secrets().iter().cloned());
        values.extend(self.given.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
        values.retain(|value| !value.is_empty());
        let mut unique: Vec<Secret> = Vec::with_capacity(values.len());
        values.into_iter().for_each(|value| {
            if !unique.contains(&value) {
                unique.push(value);
            }
        });
        unique
    }

    /// Keeps a key in `auth.json`.
    ///
    /// # Errors
    /// Those of the file system, and `InvalidData` when the file is not understood: it is then
    /// left alone.
    pub fn store(&self, provider: &str, key: &Secret) -> io::Result<()> {
        let entry = serde_json::json!({"type": "api_key", "key": key.expose()});
        self.change(|stored| drop(stored.insert(provider.to_owned(), entry)))
    }

    /// Takes a key out of `auth.json`; answers whether there was one.
    ///
    /// # Errors
    /// As [`Keys::store`].
    pub fn remove(&self, provider: &str) -> io::Result<bool> {
        let mut removed = false;
        self.change(|stored| removed = stored.remove(provider).is_some())?;
        Ok(removed)
    }

    /// The vendors that `auth.json` has keys for.
    pub fn stored_providers(&self) -> Vec<String> {
        self.stored().keys().cloned().collect()
    }

    fn change(&self, change: impl FnOnce(&mut Map<String, Value>)) -> io::Result<()> {
        let _lock = LockFile::take(&self.auth_file.with_extension("json.lock"))?;
        let mut stored = self.read_stored()?;
        change(&mut stored);
        let mut text = serde_json::to_vec_pretty(&stored)?;
        text.push(b'\n');
        write_private(&self.auth_file, &text)
    }

    fn read_stored(&self) -> io::Result<Map<String, Value>> {
        match read_capped(&self.auth_file, MAX_BYTES) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Map::new()),
            Err(error) => Err(error),
        }
    }

    /// What is stored; a file that cannot be read holds no keys.
    fn stored(&self) -> Map<String, Value> {
        self.read_stored().unwrap_or_default()
    }

    fn variable(&self, name: &str) -> Option<Secret> {
        (self.env)(name).map(Secret::new).filter(|secret| !secret.is_empty())
    }

    /// The key of the flag or of the vendor's own variable.
    fn immediate(&self, provider: &str) -> Option<Secret> {
        let flag = self.flag.as_ref().filter(|(vendor, _)| vendor == provider).map(|(_, key)| key.clone());
        flag.or_else(|| self.variable(&self.catalogue.key_variable(provider)?))
    }

    /// How the files write the key of this vendor, first the one that counts most.
    fn specs(&self, provider: &str, stored: &Map<String, Value>) -> Vec<(KeyPlace, String)> {
        let stored = stored.get(provider).and_then(|entry| entry.get("key")).and_then(Value::as_str);
        let config = self.config.as_ref().filter(|(vendor, _)| vendor == provider);
        let written = [
            (KeyPlace::AuthFile, stored),
            (KeyPlace::ModelsFile, self.catalogue.key_spec(provider)),
            (KeyPlace::ConfigFile, config.map(|(_, key)| key.as_str())),
        ];
        written.into_iter().filter_map(|(place, spec)| Some((place, spec?.to_owned()))).collect()
    }

    async fn find(&self, model: &Model) -> Result<Option<Secret>, Failure> {
        if model.api == Api::Scripted {
            return Ok(None);
        }
        let provider = &model.provider;
        if let Some(key) = self.immediate(provider) {
            return Ok(Some(key));
        }
        let written = self.specs(provider, &self.stored());
        for (_, spec) in &written {
            let key = match Written::parse(spec) {
                Written::Literal(secret) => Some(secret),
                Written::Variable(name) => self.variable(&name),
                Written::Command(command) => Some(self.printed(&command).await?),
            };
            if let Some(key) = key.filter(|key| !key.is_empty()) {
                return Ok(Some(key));
            }
        }
        self.readable()?;
        match self.catalogue.key_variable(provider) {
            _ if is_loopback(&model.base_url) => Ok(None),
            Some(name) => Err(Failure::new(FailureKind::Config, format!("no key for {provider}"))
                .hint(format!("set {name}, or use /login"))),
            None if !written.is_empty() => {
                Err(Failure::new(FailureKind::Config, format!("the key for {provider} is empty"))
                    .hint("look at api_key in config.toml or models.toml, or use /login"))
            }
            // A server of the person's own, for which nothing says that it wants a key.
            None => Ok(None),
        }
    }

    /// What a command prints. Kept until it is refused; a failure is not remembered.
    async fn printed(&self, command: &str) -> Result<Secret, Failure> {
        let mut commands = self.commands.lock().await;
        if let Some(key) = commands.get(command) {
            return Ok(key.clone());
        }
        let key = self.run(command).await?;
        commands.insert(command.to_owned(), key.clone());
        Ok(key)
    }

    async fn run(&self, command: &str) -> Result<Secret, Failure> {
        let failed = |what: String| {
            // The command itself may hold a secret, so it is not shown.
            Failure::new(FailureKind::Config, format!("the command for the key {what}"))
                .hint("try the command after `!` in api_key in a shell")
        };
        let mut shell = tokio::process::Command::new("sh");
        shell.arg("-c").arg(command).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        shell.process_group(0);
        for name in self.catalogue.key_variables() {
            shell.env_remove(name);
        }
        let output = tokio::time::timeout(COMMAND_LIMIT, shell.output())
            .await
            .map_err(|_| failed(format!("took longer than {} seconds", COMMAND_LIMIT.as_secs())))?
            .map_err(|error| failed(format!("did not start: {error}")))?;
        if !output.status.success() {
            return Err(failed(format!("failed ({})", output.status)));
        }
        let key = Secret::new(String::from_utf8_lossy(&output.stdout));
        if key.is_empty() {
            return Err(failed("printed nothing".to_owned()));
        }
        Ok(key)
    }
}

impl KeySource for Keys {
    fn key<'a>(&'a self, model: &'a Model) -> KeyFuture<'a> {
        Box::pin(async move {
            let key = self.find(model).await?;
            if let Some(key) = &key {
                let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
                if !given.contains(key) {
                    given.push(key.clone());
                }
            }
            Ok(key)
        })
    }

    /// What a command printed may have expired, so it is forgotten and the command run again.
    fn renewed<'a>(&'a self, model: &'a Model, refused: &'a Secret) -> KeyFuture<'a> {
        Box::pin(async move {
            self.commands.lock().await.retain(|_, printed| printed != refused);
            Ok(self.key(model).await?.filter(|key| key != refused))
        })
    }
}
