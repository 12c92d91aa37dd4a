//! `tau update`: installs the newest release, or goes back to the version before.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::args::update::UpdateArgs;
use crate::compose::environment::Environment;
use crate::process::confirmation::confirm;
use crate::process::exit::{Exit, Refusal, say};
use crate::process::plain;
use crate::process::runtime;
use crate::upkeep::origin::Origin;
use crate::upkeep::own_folder::{OwnFolder, UNFINISHED};
use crate::upkeep::release::{self, Release, ReleasedFile};
use tau_agent::provider::http::Http;
use tau_agent::settings::paths::in_short;

/// How long a new version may take to say its number.
const TRIAL: Duration = Duration::from_secs(30);

/// The message where no one can be asked.
const ALONE: &str = "nobody can be asked here; --yes does it without a question";

/// Runs the command; returns the program's end.
pub fn run(args: &UpdateArgs) -> Exit {
    work(args).unwrap_or_else(|refusal| refusal.fail())
}

fn work(args: &UpdateArgs) -> Result<Exit, Refusal> {
    let environment = Environment::of_command()?;
    let origin = Origin::here();
    let folder = match &origin {
        Origin::Script(folder) => Some(folder),
        Origin::Archive(_) | Origin::Packager(_) | Origin::Unknown(_) => None,
    };
    if let (None, false) = (folder, args.check) {
        return elsewhere(&origin, args.back);
    }
    let lock = folder.map(|folder| environment.paths.shared_file(folder.path().join("current")));
    let _held = lock.filter(|_| !args.check).map(|lock| lock.lock()).transpose().map_err(Refusal::config)?;
    if let Some(folder) = folder.filter(|_| args.back) {
        return go_back(folder, args);
    }
    let own = release::own_version()
        .ok_or_else(|| Refusal::config("this tau has no version that can be compared"))?;
    let address = release::address(&environment.settings).ok_or_else(|| {
        Refusal::config(
            "tau knows no address for releases: set release_url in config.toml, or TAU_RELEASE_URL, to one that \
             begins with https:// or file:///",
        )
    })?;
    let http = Http::new(environment.settings.network());
    let runtime = runtime::on_this_thread()?;
    let release = runtime.block_on(release::newest(&http, &address)).map_err(to_refusal)?;
    if !release::is_update(&release.version, &own) {
        return Ok(say(&format!("tau {own} is the newest version\n")));
    }
    let Some(file) = release.file() else {
        let text = format!("tau {} has no file for {}", release.version, release::target());
        return if args.check { Ok(say(&format!("{text}\n"))) } else { Err(to_refusal(text)) };
    };
    let Some(folder) = folder.filter(|_| !args.check) else {
        let command = origin.update_command();
        return Ok(say(&format!(
            "tau {} is available, you have {own}; to update: {command}\n",
            release.version
        )));
    };
    let question = format!(
        "tau {} is available, you have {own}.\nFrom {}, {:.1} MB, into {}.\nInstall it? [y/N] ",
        release.version,
        plain::line(&address),
        file.size as f64 / 1e6,
        plain::line(&in_short(folder.path()))
    );
    if !args.yes && !confirm(&question, ALONE)? {
        return Ok(say("nothing was changed\n"));
    }
    let archive = runtime.block_on(release.download(&http, &address, file)).map_err(to_refusal)?;
    folder.remove_leftovers();
    // On the same file system, and removed unless this process is killed.
    let work = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(folder.path()).map_err(to_refusal)?;
    let unpacked = unpack(&release, &archive, file, work.path())?;
    runtime.block_on(release.try_out(&unpacked, TRIAL)).map_err(to_refusal)?;
    folder.install(&unpacked, &release.version).map_err(to_refusal)?;
    Ok(say(&format!(
        "tau {} is installed, its SHA-256 is that of the release; `tau update --back` brings {own} back\n",
        release.version
    )))
}

/// The release cannot be used.
fn to_refusal(error: impl std::fmt::Display) -> Refusal {
    Refusal { exit: Exit::Model, text: error.to_string() }
}

/// Unpacks a release into a folder; returns that of the version in it.
fn unpack(release: &Release, archive: &[u8], file: &ReleasedFile, folder: &Path) -> Result<PathBuf, Refusal> {
    if archive.len() as u64 != file.size {
        return Err(to_refusal("the download has another size than the release says"));
    }
    release.unpack(archive, folder).map_err(to_refusal)
}

fn go_back(folder: &OwnFolder, args: &UpdateArgs) -> Result<Exit, Refusal> {
    let Some(previous) = folder.previous() else {
        return Err(to_refusal("there is no version before this one to go back to"));
    };
    if !args.yes && !confirm(&format!("Go back to tau {previous}? [y/N] "), ALONE)? {
        return Ok(say("nothing was changed\n"));
    }
    folder.go_back(&previous).map_err(to_refusal)?;
    Ok(say(&format!("tau {previous} is in use again; `tau update --back` undoes this\n")))
}

/// Says what to do where tau cannot replace itself. Fails when that is unknown.
fn elsewhere(origin: &Origin, back: bool) -> Result<Exit, Refusal> {
    match origin {
        Origin::Packager(packager) => {
            let (verb, command) = if back {
                ("an earlier version", packager.back)
            } else {
                ("the newest version", packager.update)
            };
            let name = packager.name;
            Ok(say(&format!("tau was installed by {name}, which installs {verb}:\n  {command}\n")))
        }
        Origin::Script(_) | Origin::Archive(_) | Origin::Unknown(_) => {
            let text = "tau does not know how to replace itself here";
            Err(Refusal::config(format!(
                "{text} ({}).\nRun install.sh of a release, which `tau update` can update, or replace the program yourself.",
                plain::line(&origin.name())
            )))
        }
    }
}
