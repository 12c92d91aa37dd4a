//! `tau doctor`: a report on the terminal, the machine and tau's files, with remedies for faults.
//!
//! Nothing is changed, no model is asked, and no key is printed. Each probe has at most a second, the
//! terminal two.

mod connections;
mod display;
mod echo;
mod files;
mod option_key;
mod report;
mod sandbox;
mod search;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::args::CliArgs;
use crate::args::doctor::DoctorArgs;
use crate::compose::environment::{Environment, OnBadConfig};
use crate::process::exit::{Exit, say};
use crate::upkeep::origin::Origin;
use crate::upkeep::release;
use report::{Advice, Fact, Section};
use serde_json::json;
use tau_agent::context::instruction_files::InstructionPlaces;
use tau_agent::settings::Settings;
use tau_agent::settings::other_folders::OtherFolders;

/// Time limit of a probe. Longer means a file system or a server that does not answer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Runs the command; returns the program's end.
pub fn run(args: &DoctorArgs) -> Exit {
    let environment = match Environment::read(&CliArgs::without_arguments(), OnBadConfig::Warn) {
        Ok(environment) => environment,
        Err(refusal) => return refusal.fail(),
    };
    let sections = examine(environment);
    let text = if args.json { report::as_json(&sections) } else { report::as_text(&sections) };
    match say(&text) {
        Exit::Ok if report::is_usable(&sections) => Exit::Ok,
        Exit::Ok => Exit::Config,
        failed => failed,
    }
}

fn examine(environment: Environment) -> Vec<Section> {
    let mut settings = Section::new("settings");
    settings.add(Fact::text("file", environment.paths.config_file().display()));
    for notice in &environment.notices {
        settings.advise(Advice::Problem(notice.clone()));
    }
    let paths = environment.paths.clone();
    let sessions = environment.settings.session_root(&environment.paths);
    let terminals = paths.terminals();
    let (sandbox_settings, sandbox_paths) = (environment.settings.clone(), paths.clone());
    let (search_settings, keys) = (environment.settings.clone(), Arc::clone(&environment.keys));
    let retention = environment.settings.retention();
    let install = install(&environment.settings);
    let own_rules = environment.guards.rules.clone();
    let places = InstructionPlaces {
        config: paths.config.clone(),
        claude: OtherFolders::here().map(|folders| folders.place(".claude")),
        rules: std::env::current_dir()
            .ok()
            .map(|cwd| own_rules.file_filter(&cwd, std::env::home_dir().as_deref())),
    };
    let (own_paths, own_sessions) = (paths.clone(), sessions.clone());
    let (other_paths, other_sessions) = (paths.clone(), sessions.clone());
    let mut terminal = with_timeout("terminal", move || display::terminal(&terminals));
    echo::add_to(&mut terminal);
    let mut sections = vec![install, settings, terminal];
    if option_key::is_asked() {
        sections.push(with_timeout(option_key::NAME, option_key::option_key));
    }
    sections.extend([
        with_timeout("clipboard", display::clipboard),
        with_timeout("search", move || search::search(&search_settings, &keys)),
        with_timeout("model", move || connections::model(&environment)),
        with_timeout("instructions", move || files::instructions(&places)),
        with_timeout("other agents", move || files::other_agents(&other_paths, &other_sessions)),
        with_timeout("paths", move || files::paths(&own_paths, &own_sessions)),
        with_timeout("disk", move || files::disk(&paths, &sessions, retention)),
        with_timeout("limits", files::limits),
        with_timeout("sandbox", move || sandbox::sandbox(&sandbox_settings, &sandbox_paths)),
    ]);
    sections
}

/// The version, how it was installed, and where newer ones are looked for.
fn install(settings: &Settings) -> Section {
    let mut section = Section::new("install");
    section.add(Fact::text("version", env!("CARGO_PKG_VERSION")));
    section.add(Fact::text("installed by", Origin::here().name()));
    let address = release::address(settings);
    let check = address.is_some() && settings.update_check();
    let text = match (&address, check) {
        (None, _) => "never: tau knows no address for releases".to_owned(),
        (Some(address), true) => format!("once a day, at {address}"),
        (Some(address), false) => format!("only by `tau update`, at {address}"),
    };
    section.add(Fact::value("update check", text, json!({"address": address, "daily": check})));
    section
}

/// The result of `probe`, or that it took too long. A hanging probe is abandoned.
fn with_timeout(name: &'static str, probe: impl FnOnce() -> Section + Send + 'static) -> Section {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(probe()));
    receiver.recv_timeout(TIMEOUT).unwrap_or_else(|_| {
        let mut section = Section::new(name);
        let text =
            format!("{name}: no answer within {} s; a file system or a server hangs", TIMEOUT.as_secs());
        section.advise(Advice::Hint(text));
        section
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_hangs_holds_nothing_up() {
        let (_held, hangs) = mpsc::channel::<()>();
        let begun = std::time::Instant::now();
        let section = with_timeout("paths", move || {
            let _ = hangs.recv();
            Section::new("paths")
        });
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert!(report::as_text(&[section]).contains("no answer within 1 s"));
    }
}
