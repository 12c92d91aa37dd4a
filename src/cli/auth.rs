//! `tau auth`: which vendors have a key, and where it is; keeping, removing and trying keys.
//!
//! A key is read from standard input only, never from the arguments, which others can see. On a
//! terminal it is not shown. No key is ever printed.

use std::sync::Arc;

use clap::{Parser, Subcommand};

use super::args::Args;
use super::environment::{BadFile, Known, Refusal};
use super::exit::Exit;
use super::keycheck::{Tried, try_key};
use super::models::columns;
use super::tui::terminal::plain;
use super::{fail, say, secret_prompt};
use crate::agent::catalogue::providers::{PROVIDERS, named};
use crate::agent::settings::auth::KeySource;

const AFTER: &str = "A key is looked for in --api-key, in the vendor's environment variable, in auth.json, in\n\
    models.toml and in config.toml, in this order.\n\n\
    Exit codes: 0 done, 1 a key was refused or could not be tried, 2 usage, 3 no key, no\n\
    such vendor, or a file that cannot be used\n\
    `tau -- auth` sends the word as a prompt.";

/// The arguments of `tau auth`.
#[derive(Clone, Debug, Parser)]
#[command(name = "tau auth", about = "Keys of the vendors of models", after_help = AFTER)]
#[command(disable_help_subcommand = true)]
pub struct AuthArgs {
    #[command(subcommand)]
    pub action: Option<Action>,
}

/// What is to be done.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// Which vendors have a key, and where it is (the default)
    List,
    /// Keep a key in auth.json; it is read from standard input: tau auth set VENDOR <FILE
    Set {
        vendor: String,
        /// Only there to be refused without being repeated.
        #[arg(hide = true)]
        key: Vec<String>,
    },
    /// Take a key out of auth.json
    Remove { vendor: String },
    /// Try a key with a small real request; without VENDOR, every key
    Check { vendor: Option<String> },
}

/// Runs the command; how the program ends.
pub fn run(args: AuthArgs) -> Exit {
    let done = Known::read(&Args::none(), BadFile::Refuse).and_then(|known| match args.action {
        None | Some(Action::List) => Ok(list(&known)),
        Some(Action::Set { vendor, key }) if key.is_empty() => set(&known, &vendor),
        Some(Action::Set { vendor, .. }) => Err(Refusal {
            exit: Exit::Usage,
            text: format!(
                "arguments can be seen by others, so give the key on standard input: tau auth set {vendor} <FILE"
            ),
        }),
        Some(Action::Remove { vendor }) => remove(&known, &vendor),
        Some(Action::Check { vendor }) => check(&known, vendor.as_deref()),
    });
    done.unwrap_or_else(|refusal| fail(refusal.exit, &refusal.text))
}

fn list(known: &Known) -> Exit {
    let mut vendors = known.catalogue.providers();
    let stored = known.keys.stored_providers();
    vendors.extend(stored.into_iter().filter(|vendor| !PROVIDERS.iter().any(|known| known.id == vendor)));
    let mut seen = std::collections::HashSet::new();
    vendors.retain(|vendor| seen.insert(vendor.clone()));
    let row = |vendor: &String| {
        let name = named(vendor).map_or_else(String::new, |vendor| vendor.name.to_owned());
        let (key, place) = match known.keys.place(vendor) {
            Some(place) => ("yes", place.to_string()),
            None if known.catalogue.is_keyless(vendor) => ("not needed", String::new()),
            None => (
                "-",
                known.catalogue.key_variable(vendor).map_or_else(String::new, |name| format!("set {name}")),
            ),
        };
        [plain(vendor), name, key.to_owned(), plain(&place)]
    };
    let head = ["VENDOR", "NAME", "KEY", "WHERE"].map(str::to_owned);
    let table: Vec<[String; 4]> = std::iter::once(head).chain(vendors.iter().map(row)).collect();
    say(&columns(&table))
}

/// A vendor that is known; else the names that are near.
fn vendor<'a>(known: &Known, name: &'a str) -> Result<&'a str, Refusal> {
    let vendors = known.catalogue.providers();
    if vendors.iter().any(|vendor| vendor == name) {
        return Ok(name);
    }
    let possible: Vec<&str> = vendors.iter().map(String::as_str).collect();
    let near = similar::get_close_matches(name, &possible, 3, 0.5);
    let hint = match near.as_slice() {
        [] => "`tau auth list` names them; models.toml can add one".to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    };
    Err(Refusal::config(format!("there is no vendor `{name}`; {hint}")))
}

fn set(known: &Known, name: &str) -> Result<Exit, Refusal> {
    let name = vendor(known, name)?;
    let key = match secret_prompt::read(&format!("key for {name} (not shown): ")) {
        Ok(Some(key)) => key,
        Ok(None) => return Ok(Exit::Aborted),
        Err(error) => {
            return Err(Refusal { exit: Exit::Usage, text: format!("the key cannot be read: {error}") });
        }
    };
    if key.is_empty() {
        return Err(Refusal { exit: Exit::Usage, text: "the key is empty; nothing was changed".to_owned() });
    }
    known.keys.store(name, &key).map_err(|error| Refusal::config(format!("auth.json: {error}")))?;
    say(&format!("the key for {name} is stored; `tau auth check {name}` tries it\n"));
    if let Some(place) = known.keys.place(name).filter(|place| place.to_string() != "auth.json") {
        fail(Exit::Ok, &format!("{place} has a key too, and that one is used"));
    }
    Ok(Exit::Ok)
}

fn remove(known: &Known, name: &str) -> Result<Exit, Refusal> {
    let removed = known.keys.remove(name).map_err(|error| Refusal::config(format!("auth.json: {error}")))?;
    if !removed {
        return Err(Refusal::config(format!("auth.json has no key for {name}")));
    }
    say(&format!("the key for {name} is removed\n"));
    if let Some(place) = known.keys.place(name) {
        fail(Exit::Ok, &format!("{place} still has one"));
    }
    Ok(Exit::Ok)
}

fn check(known: &Known, name: Option<&str>) -> Result<Exit, Refusal> {
    let vendors = match name {
        Some(name) => vec![vendor(known, name)?.to_owned()],
        None => known.keys.held(known.catalogue.providers()),
    };
    if vendors.is_empty() {
        return Err(Refusal::config("no vendor has a key; set one with `tau auth set VENDOR`"));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Refusal::config)?;
    let mut exit = Exit::Ok;
    for vendor in &vendors {
        match runtime.block_on(check_one(known, vendor))? {
            Tried::Taken => drop(say(&format!("{vendor}: the key works\n"))),
            Tried::Refused(words) => {
                exit = fail(Exit::Model, &format!("{vendor}: the key was refused: {words}"));
            }
            Tried::Unknown(why) => {
                exit = fail(Exit::Model, &format!("{vendor}: the key could not be tried: {why}"));
            }
        }
    }
    Ok(exit)
}

async fn check_one(known: &Known, vendor: &str) -> Result<Tried, Refusal> {
    let Some(model) = known.catalogue.default_model(vendor) else {
        let text =
            format!("no model of {vendor} is known to try it with; `tau models --refresh` asks for them");
        return Ok(Tried::Unknown(text));
    };
    let key = known.keys.key(&model).await.map_err(Refusal::config)?;
    Ok(try_key(&known.direct(), Arc::clone(&model), key).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        AuthArgs::command().debug_assert();
    }
}
