//! `tau auth`: lists providers and their keys; saves, removes and checks keys.
//!
//! A key is read from standard input only, never from the arguments, which other users can see. On a terminal
//! it is not shown. No key is ever printed.

use std::sync::Arc;

use super::table;
use crate::args::CliArgs;
use crate::args::auth::{AuthAction, AuthArgs};
use crate::compose::environment::{Environment, LIKENESS, OnBadConfig};
use crate::compose::keycheck::{KeyCheck, check_key};
use crate::process::exit::{Exit, Refusal, fail, say, warn};
use crate::process::runtime;
use crate::process::{plain, secret_prompt};
use tau_agent::catalogue::keys::KeySource;
use tau_agent::catalogue::login;
use tau_agent::catalogue::providers::{PROVIDERS, find_by_id};
use tau_agent::catalogue::search_services::{SERVICES, service};
use tau_tools::compare::close_matches;

/// Runs the command; returns the program's end.
pub fn run(args: AuthArgs) -> Exit {
    let done =
        Environment::read(&CliArgs::without_arguments(), OnBadConfig::Refuse).and_then(|environment| {
            match args.action {
                None | Some(AuthAction::List) => Ok(list(&environment)),
                Some(AuthAction::Set { provider, key }) if key.is_empty() => set(&environment, &provider),
                Some(AuthAction::Set { provider, .. }) => Err(Refusal::usage(format!(
                    "not accepting a key as an argument: other users can see it; pass it on standard input: \
             tau auth set {provider} <FILE"
                ))),
                Some(AuthAction::Remove { provider }) => remove(&environment, &provider),
                Some(AuthAction::Check { provider }) => check(&environment, provider.as_deref()),
            }
        });
    done.unwrap_or_else(|refusal| refusal.fail())
}

fn list(environment: &Environment) -> Exit {
    let mut providers = environment.catalogue.providers();
    let stored = environment.keys.stored_providers();
    providers
        .extend(stored.into_iter().filter(|provider| !PROVIDERS.iter().any(|known| known.id == provider)));
    providers.extend(services_with_keys().map(str::to_owned));
    let mut seen = std::collections::HashSet::new();
    providers.retain(|provider| seen.insert(provider.clone()));
    let row = |provider: &String| {
        let name = find_by_id(provider).map(|provider| provider.name.to_owned());
        let name = name.or_else(|| service(provider).map(|service| format!("{} (web_search)", service.name)));
        let name = name.unwrap_or_default();
        let (key, place) = match environment.keys.place(provider) {
            Some(place) => ("yes", place.to_string()),
            None if environment.catalogue.is_keyless(provider) => ("not needed", String::new()),
            None => ("-", missing(environment, provider)),
        };
        [plain::line(provider), name, key.to_owned(), plain::line(&place)]
    };
    let head = ["PROVIDER", "NAME", "KEY", "WHERE"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(providers.iter().map(row)).collect();
    say(&table::columns(&rows))
}

/// The way to a key that is missing, briefly.
fn missing(environment: &Environment, provider: &str) -> String {
    match (environment.catalogue.key_variable(provider), login::of_provider(provider)) {
        (Some(name), _) => format!("set {name}"),
        (None, Some(row)) => format!("tau login {}", row.alias),
        (None, None) => String::new(),
    }
}

/// The services that search the web with a key.
fn services_with_keys() -> impl Iterator<Item = &'static str> {
    SERVICES.iter().filter(|service| service.env.is_some()).map(|service| service.id)
}

/// The provider with that name; else an error with similar names.
fn provider<'a>(environment: &Environment, name: &'a str) -> Result<&'a str, Refusal> {
    let mut providers = environment.catalogue.providers();
    if providers.iter().any(|provider| provider == name) || service(name).is_some() {
        return Ok(name);
    }
    providers.extend(services_with_keys().map(str::to_owned));
    let see = "run `tau auth list` to see them, or add one in models.toml";
    Err(Refusal::config(unknown_provider(name, &providers, see)))
}

/// The error for an unknown provider: with similar names, else with the way to list them.
pub(crate) fn unknown_provider(name: &str, known: &[String], see: &str) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let hint = match close_matches(name, &known, 3, LIKENESS).as_slice() {
        [] => see.to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    };
    format!("no provider \"{name}\"; {hint}")
}

fn set(environment: &Environment, name: &str) -> Result<Exit, Refusal> {
    let name = provider(environment, name)?;
    let key = match secret_prompt::read(&format!("API key for {name} (hidden): ")) {
        Ok(Some(key)) => key,
        Ok(None) => return Ok(Exit::Aborted),
        Err(error) => {
            return Err(Refusal::usage(format!("cannot read the key: {error}")));
        }
    };
    if key.is_empty() {
        return Err(Refusal::usage("the key is empty; nothing was saved"));
    }
    environment
        .keys
        .store(name, &key)
        .map_err(|error| Refusal::config(format!("cannot write auth.json: {error}")))?;
    let check = match service(name) {
        Some(_) => String::new(),
        None => format!("; check it with `tau auth check {name}`"),
    };
    let said = say(&format!("saved the key for {name} to auth.json{check}\n"));
    if let Some(why) = environment.keys.override_reason(name) {
        warn(&why);
    }
    Ok(said)
}

fn remove(environment: &Environment, name: &str) -> Result<Exit, Refusal> {
    let removed = environment
        .keys
        .remove(name)
        .map_err(|error| Refusal::config(format!("cannot write auth.json: {error}")))?;
    if !removed {
        return Err(Refusal::config(format!(
            "no key for {name} in auth.json; run `tau auth list` to see where the keys are"
        )));
    }
    let said = say(&format!("removed the key for {name} from auth.json\n"));
    if let Some(place) = environment.keys.place(name) {
        warn(&format!("{place} still has a key for {name}"));
    }
    Ok(said)
}

fn check(environment: &Environment, name: Option<&str>) -> Result<Exit, Refusal> {
    let providers = match name {
        Some(name) => vec![provider(environment, name)?.to_owned()],
        None => environment.keys.providers_with_keys(environment.catalogue.providers()),
    };
    if providers.is_empty() {
        return Err(Refusal::config(
            "no key to check: no API key is configured; add one with `tau auth set PROVIDER`",
        ));
    }
    let runtime = runtime::on_this_thread()?;
    let mut exit = Exit::Ok;
    for provider in &providers {
        match runtime.block_on(check_one(environment, provider))? {
            KeyCheck::Accepted => {
                if say(&format!("{provider}: the key works\n")) != Exit::Ok {
                    exit = Exit::Model;
                }
            }
            KeyCheck::Rejected(words) => {
                exit = fail(Exit::Model, &format!("{provider}: the key was rejected: {words}"));
            }
            KeyCheck::Unknown(why) => {
                exit = fail(Exit::Model, &format!("{provider}: the key could not be checked: {why}"));
            }
        }
    }
    Ok(exit)
}

async fn check_one(environment: &Environment, provider: &str) -> Result<KeyCheck, Refusal> {
    if let Some(service) = service(provider) {
        let text = format!("{} is not a model provider; its key is checked by the next search", service.name);
        return Ok(KeyCheck::Unknown(text));
    }
    let Some(model) = environment.catalogue.default_model(provider) else {
        let text = format!("tau knows no model of {provider} to check it with; run `tau models --refresh`");
        return Ok(KeyCheck::Unknown(text));
    };
    let key = environment.keys.key(&model).await.map_err(Refusal::config)?;
    Ok(check_key(&environment.direct(), Arc::clone(&model), key).await)
}
