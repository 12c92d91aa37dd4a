//! Undecided features that could be turned on: existing hooks of another agent, tools for the web.

use std::path::Path;

use super::hook_files;
use super::project_settings::ProjectSettings;
use crate::args::CliArgs;
use tau_agent::catalogue::keys::Keys;
use tau_agent::catalogue::search_services::SERVICES;
use tau_agent::extensions::hooks::{self, HookFile, HookFormat};
use tau_agent::settings::hooks::guards_fault;
use tau_agent::settings::other_folders::OtherFolders;
use tau_agent::settings::trust::OTHERS_HOOKS;
use tau_agent::settings::{MAX_BYTES, Settings, paths};
use tau_app::overlays::offer::{HookOffer, Offers, WebOffer};
use tau_protocol::extension::ExtensionSource;
use tau_tools::regular_files::read_text;

/// The offers for the screen.
pub(crate) fn of(args: &CliArgs, settings: &Settings, projects: &ProjectSettings, keys: &Keys) -> Offers {
    Offers { hooks: hooks(settings, projects), web: web(args, settings, keys) }
}

/// The hooks of another agent that could run, where no setting decides on them.
pub(crate) fn hooks(settings: &Settings, projects: &ProjectSettings) -> Option<HookOffer> {
    if settings.claude_hooks.is_some() {
        return None;
    }
    let mut offer = HookOffer::default();
    let home = OtherFolders::here().map(|folders| hook_files::others(&folders));
    let of_projects = projects.trusted_projects().flat_map(|project| {
        OTHERS_HOOKS.iter().filter_map(move |name| {
            let path = project.folder().join(name).canonicalize().ok()?;
            path.starts_with(project.root()).then_some(path)
        })
    });
    for (path, is_project) in
        home.into_iter().map(|path| (path, false)).chain(of_projects.map(|path| (path, true)))
    {
        let ((found, fault), shown) = (find_hooks(&path), paths::in_short(&path));
        if !found.is_empty() && !offer.files.contains(&shown) {
            offer.files.push(shown);
            offer.fault = offer.fault.or(fault);
            offer.of_project |= is_project;
            offer.hooks.extend(found);
        }
    }
    (!offer.hooks.is_empty()).then_some(offer)
}

/// The event and the command of each hook in the file that tau supports, and one before calls that it cannot run.
fn find_hooks(path: &Path) -> (Vec<(String, String)>, Option<String>) {
    let Ok(text) = read_text(path, MAX_BYTES) else { return (Vec::new(), None) };
    let fault = guards_fault(path, &text).map(|fault| fault.replace(&format!("{}: ", path.display()), ""));
    let file = HookFile {
        path: path.to_owned(),
        text,
        format: HookFormat::Json,
        source: ExtensionSource::User,
        package: None,
    };
    let found = hooks::find(&file).0.into_iter();
    (found.map(|hook| (hook.event.name().to_owned(), hook.command.to_string())).collect(), fault)
}

/// The notice where no user can be asked.
pub(crate) fn hooks_notice(settings: &Settings, projects: &ProjectSettings) -> Option<String> {
    let HookOffer { files, fault, .. } = hooks(settings, projects)?;
    let files = files.join(", ");
    Some(match fault {
        None => format!(
            "not running the hooks of {files}: set claude_hooks = true in config.toml to run them, false to hide this"
        ),
        Some(fault) => format!(
            "not running the hooks of {files}, as tau would ask before every call ({fault}): set claude_hooks = \
             false in config.toml to hide this"
        ),
    })
}

/// The tools for the web, where no setting decides on them, and no choice of tools leaves them out.
fn web(args: &CliArgs, settings: &Settings, keys: &Keys) -> Option<WebOffer> {
    let chooses_tools = settings.tools.is_some() || args.settings.0.tools.is_some() || args.no_tools;
    if chooses_tools {
        return None;
    }
    let undecided = SERVICES.iter().filter(|service| settings.web_search.is_none() && service.env.is_some());
    let mut known = undecided.filter(|service| keys.place(service.id).is_some());
    let search = known.next().map(|service| (service.id.to_owned(), service.name.to_owned()));
    let only_search = settings.web_fetch.is_some();
    (search.is_some() || !only_search).then_some(WebOffer { search, only_search })
}
