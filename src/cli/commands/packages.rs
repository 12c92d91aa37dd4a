//! `tau add` and `tau remove`: packages of extensions.

use std::path::Path;

use crate::args::packages::{AddArgs, RemoveArgs};
use crate::compose;
use crate::compose::environment::Environment;
use crate::packages::fetch::{self, StagedPackage};
use crate::packages::source::{Source, without_secrets};
use crate::packages::summary;
use crate::process::confirmation::confirm;
use crate::process::exit::{Exit, Refusal, say, warn};
use crate::process::plain;
use crate::process::runtime;
use tau_agent::extensions::packages::{PackageRecord, Packages};
use tau_agent::provider::http::Http;

/// A package to fetch: its source, the plugin in it, and its name if it is there already.
struct PackageRequest {
    source: String,
    plugin: Option<String>,
    name: Option<String>,
}

/// Runs `tau add`; returns the program's end.
pub(crate) fn add(args: &AddArgs) -> Result<Exit, Refusal> {
    let environment = Environment::of_command()?;
    let packages = Packages::new(&environment.paths);
    let records = packages.records().map_err(|error| unreadable(&packages, &error))?;
    let wanted: Vec<PackageRequest> = if args.update {
        let all = records.keys().cloned().collect();
        let names = if args.sources.is_empty() { all } else { args.sources.clone() };
        let of = |name: String| {
            let record = records.get(&name).ok_or_else(|| unknown_package(&name, records.keys()))?;
            Ok(PackageRequest {
                source: record.source.clone(),
                plugin: record.plugin.clone(),
                name: Some(name),
            })
        };
        names.into_iter().map(of).collect::<Result<_, Refusal>>()?
    } else {
        match args.sources.as_slice() {
            [source] => {
                vec![PackageRequest { source: source.clone(), plugin: args.plugin.clone(), name: None }]
            }
            _ => {
                return Err(Refusal::usage(
                    "tau add needs one source; to send the words as a prompt: tau -- add …",
                ));
            }
        }
    };
    if wanted.is_empty() {
        return Ok(say("no packages; add one with `tau add SOURCE`\n"));
    }
    let http = Http::new(environment.settings.network());
    let (staging, _lock) = packages.staging().map_err(Refusal::config)?;
    let work = async {
        let mut exit = Exit::Ok;
        for one in &wanted {
            let added = match stage(one, &staging, &http).await {
                Ok(staged) => decide(&staged, one.name.as_deref(), &packages, args.yes).await,
                Err(refusal) => Err(refusal),
            };
            match (added, &one.name) {
                (Ok(true), _) => {}
                (Ok(false), _) => exit = Exit::Model,
                // The others are updated all the same.
                (Err(refusal), Some(name)) => {
                    warn(&format!("{name} was not updated: {}", refusal.text));
                    exit = refusal.exit;
                }
                (Err(refusal), None) => return Err((refusal.exit, refusal.text)),
            }
        }
        Ok(exit)
    };
    runtime::run_until_stopped(work)?.map_err(|(exit, text)| Refusal { exit, text })
}

/// Fetches a package. Fails when its source cannot be read.
async fn stage(wanted: &PackageRequest, staging: &Path, http: &Http) -> Result<StagedPackage, Refusal> {
    let cwd = compose::here()?;
    let source = Source::parse(&wanted.source, &cwd).map_err(|text| Refusal::usage(plain::line(&text)))?;
    let staged = fetch::stage(&source, wanted.plugin.as_deref(), staging, http).await;
    staged.map_err(|why| {
        Refusal::config(format!("{}: {}", plain::line(&source.canonical_text()), plain::line(&why)))
    })
}

/// Shows a package and adds it if that is wanted; returns whether it is there now.
async fn decide(
    staged: &StagedPackage,
    name: Option<&str>,
    packages: &Packages,
    yes: bool,
) -> Result<bool, Refusal> {
    let records = packages.records().map_err(|error| unreadable(packages, &error))?;
    let before = records.get(&staged.name);
    if let Some(name) = name.filter(|name| *name != staged.name) {
        return Err(Refusal::config(format!(
            "{name} is called {} there now; run `tau remove {name}`, then add it again",
            staged.name
        )));
    }
    if let Some(other) = before.filter(|before| !is_same_source(before, &staged.record)) {
        return Err(Refusal::config(format!(
            "you have another package {} from {}; run `tau remove {0}` first",
            staged.name,
            plain::line(&without_secrets(&other.source))
        )));
    }
    let root = packages.root_of(&staged.name);
    let is_there = before.is_some_and(|before| {
        *before == staged.record
            && tau_agent::extensions::packages::digest::of_folder(&root)
                .is_ok_and(|found| found == staged.digest)
    });
    if is_there {
        say(&format!("{} is up to date\n", staged.name));
        return Ok(true);
    }
    say(&summary::text(staged, before, &root));
    let question = if before.is_some() { "Replace it? [y/N] " } else { "Add it? [y/N] " };
    // A thread waits for the answer, so that a signal stops it and nothing is left.
    let ask = || confirm(question, "nobody can be asked; run it in a terminal, or with --yes");
    if !yes && !tokio::task::spawn_blocking(ask).await.map_err(Refusal::config)?? {
        say("nothing was changed\n");
        return Ok(false);
    }
    packages.put(&staged.name, &staged.root, staged.record.clone()).map_err(Refusal::config)?;
    let verb = if before.is_some() { "updated" } else { "added" };
    say(&format!(
        "{verb} {0}; turn it off in /extensions, or remove it with `tau remove {0}`\n",
        staged.name
    ));
    Ok(true)
}

/// Whether a package comes from where the other one came from, in whatever version.
fn is_same_source(one: &PackageRecord, other: &PackageRecord) -> bool {
    let stem = |source: &str| {
        let source = without_secrets(source);
        let source = source.split('#').next().unwrap_or_default();
        let version = source.rfind('@').filter(|at| source.starts_with("npm:") && *at > "npm:".len());
        source.get(..version.unwrap_or(source.len())).unwrap_or_default().to_owned()
    };
    // The name of an only plugin was not always recorded.
    let is_same_plugin = one.plugin == other.plugin || one.plugin.is_none() || other.plugin.is_none();
    stem(&one.source) == stem(&other.source) && is_same_plugin
}

fn unreadable(packages: &Packages, error: &std::io::Error) -> Refusal {
    Refusal::config(format!("{}: {error}", packages.list_file().display()))
}

fn unknown_package<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Refusal {
    let names: Vec<&str> = known.map(String::as_str).collect();
    let name = plain::line(name);
    Refusal::config(match names.is_empty() {
        true => format!("no package is called {name}; add one with `tau add SOURCE`"),
        false => format!("no package is called {name} (installed: {})", names.join(", ")),
    })
}

/// Runs `tau remove`; returns the program's end.
pub(crate) fn remove(args: &RemoveArgs) -> Result<Exit, Refusal> {
    let environment = Environment::of_command()?;
    let packages = Packages::new(&environment.paths);
    let records = packages.records().map_err(|error| unreadable(&packages, &error))?;
    // All or none.
    if let Some(name) = args.names.iter().find(|name| !records.contains_key(*name)) {
        return Err(unknown_package(name, records.keys()));
    }
    for name in &args.names {
        if packages.remove(name).map_err(Refusal::config)? {
            say(&format!("removed {name}\n"));
        } else {
            warn(&format!("{name} was removed by another tau"));
        }
    }
    Ok(Exit::Ok)
}
