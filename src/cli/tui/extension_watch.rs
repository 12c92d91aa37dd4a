//! Reloads extensions that change on disk while the screen is open.
//!
//! If the kernel reports changes of directories, only that wakes this: nothing runs while nothing changes.
//! Elsewhere the files are checked after a key press, with a minimum interval.

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod unsupported;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, sleep_until};

#[cfg(target_os = "linux")]
pub(crate) use inotify::DirectoryWatch;
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::DirectoryWatch;

use crate::compose::project_settings::ProjectSettings;
use crate::compose::{Setup, mcp_servers};
use crate::services::Services;
use tau_agent::extensions::changes::{Difference, ExtensionChange, summary};
use tau_agent::extensions::mcp::ConfiguredServer;
use tau_agent::extensions::places::Places;
use tau_agent::extensions::registry::Origin;
use tau_agent::extensions::watched;
use tau_agent::settings::config_file::ConfigFile;
use tau_app::request::NO_TICKET;
use tau_protocol::command::{AgentCommand, SettingsCommand, TaskCommand, Tuning};
use tau_protocol::event::NoticeLevel;
use tau_protocol::extension::ExtensionKind;
use tau_protocol::query::Query;

/// Time without changes before files are read: an editor writes in several steps.
const QUIET: Duration = Duration::from_millis(150);
/// Time after which they are read even if they still change.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// Minimum interval between checks of the files where no changes are reported.
const PAUSE: Duration = Duration::from_secs(2);

/// The effects of changed extensions on the user and the agent.
#[derive(Debug, PartialEq)]
pub(super) struct ExtensionNews {
    pub(super) level: NoticeLevel,
    pub(super) text: String,
    pub(super) hint: Option<String>,
    pub(super) commands: Vec<AgentCommand>,
}

/// Follows the files of extensions until it is dropped.
#[derive(Debug)]
pub(super) struct ExtensionWatch {
    news: mpsc::Receiver<ExtensionNews>,
    user_is_here: Arc<Notify>,
}

impl ExtensionWatch {
    /// Starts watching the files of loaded extensions, in the current runtime.
    pub(super) fn start(services: Arc<Services>) -> Self {
        let (sender, news) = mpsc::channel(1);
        let user_is_here = Arc::new(Notify::new());
        tokio::spawn(follow(services, sender, Arc::clone(&user_is_here)));
        ExtensionWatch { news, user_is_here }
    }

    /// Watches nothing: the extensions belong to a server.
    pub(super) fn of_server() -> Self {
        let (_, news) = mpsc::channel(1);
        ExtensionWatch { news, user_is_here: Arc::new(Notify::new()) }
    }

    /// The next applied change. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<ExtensionNews> {
        self.news.recv().await
    }

    /// Records a key press, or that the window got the focus.
    pub(super) fn on_user_activity(&self) {
        self.user_is_here.notify_one();
    }
}

/// Watches the directories of the loaded extensions, and reloads when something in them has changed.
async fn follow(services: Arc<Services>, news: mpsc::Sender<ExtensionNews>, user_is_here: Arc<Notify>) {
    let mut origin = services.setup.lock().extensions.origin();
    let share = Arc::clone(&services);
    let first = tokio::task::spawn_blocking(move || {
        let mut known = FileFacts::default();
        known.look(&share.setup.lock().clone());
        known
    });
    let Ok(mut known) = first.await else { return };
    // The start of the program comes first. Changes in the meantime are found below.
    sleep(QUIET).await;
    let mut by_others = false;
    loop {
        let from = origin.borrow_and_update().clone();
        let (of, share) = (from.clone(), Arc::clone(&services));
        let looked = tokio::task::spawn_blocking(move || {
            let directories = watched::directories(&known.with_earlier(&of));
            (known, DirectoryWatch::new(&directories), share)
        });
        let Ok((now_known, mut watch, share)) = looked.await else { return };
        let read = tokio::task::spawn_blocking(move || {
            let mut known = now_known;
            let found = known.reload(&share, by_others);
            (known, found)
        });
        let Ok((now_known, found)) = read.await else { return };
        known = now_known;
        if let Some(found) = found
            && news.send(found).await.is_err()
        {
            return;
        }
        // If other places were found, they are watched from now on, and checked once more.
        by_others = false;
        if origin.has_changed().unwrap_or_default() {
            continue;
        }
        tokio::select! {
            () = news.closed() => return,
            () = DirectoryWatch::wait_for_change(&mut watch) => settle(&mut watch).await,
            () = user_is_here.notified(), if watch.is_none() => sleep(PAUSE).await,
            moved = origin.changed() => match moved {
                Ok(()) => by_others = true,
                Err(_) => return,
            },
        }
    }
}

/// Waits until nothing has changed for a moment.
async fn settle(watch: &mut Option<DirectoryWatch>) {
    let latest = Instant::now() + MAX_WAIT;
    loop {
        tokio::select! {
            () = DirectoryWatch::wait_for_change(watch) => {}
            () = sleep(QUIET) => return,
            () = sleep_until(latest) => return,
        }
    }
}

/// The facts about the files besides the loaded extensions.
#[derive(Default)]
struct FileFacts {
    cwd: PathBuf,
    /// Paths that had an effect in this directory: they may reappear.
    earlier: BTreeSet<PathBuf>,
    servers: Vec<ConfiguredServer>,
    /// The directories whose settings are used.
    trusted: Vec<PathBuf>,
    /// The directories with settings that are not used.
    untrusted: Vec<PathBuf>,
    /// The faults in folders and files of extensions.
    problems: Vec<String>,
}

impl FileFacts {
    /// The places to watch: the current ones, and the former places of removed files.
    fn with_earlier(&mut self, from: &Origin) -> Places {
        let Places { skills, prompts, files, .. } = &from.places;
        let folders = skills.iter().chain(prompts).map(|place| &place.folder);
        self.earlier.extend(folders.chain(files).cloned());
        let mut places = from.places.clone();
        places.files = self.earlier.iter().cloned().collect();
        places
    }

    /// Reads everything besides the loaded extensions; returns the previous state.
    fn look(&mut self, setup: &Setup) -> FileFacts {
        let origin = setup.extensions.origin().borrow().clone();
        let is_elsewhere = self.cwd != origin.cwd;
        let projects =
            ProjectSettings::read(&setup.args, &setup.paths, Some(&origin.cwd)).unwrap_or_default();
        let now = FileFacts {
            cwd: origin.cwd,
            earlier: if is_elsewhere { BTreeSet::new() } else { std::mem::take(&mut self.earlier) },
            servers: mcp_servers::read(&ConfigFile::read(&setup.paths), &setup.paths, &projects).servers,
            trusted: projects.trusted_projects().map(|project| project.root().to_owned()).collect(),
            untrusted: projects.untrusted_projects().map(|project| project.root().to_owned()).collect(),
            problems: setup.extensions.current().problems.clone(),
        };
        std::mem::replace(self, now)
    }

    /// Reloads everything; returns the differences. `by_others`: it was just loaded from other places,
    /// because the user has changed trust or settings; the user and the agent already know the consequences.
    fn reload(&mut self, services: &Services, by_others: bool) -> Option<ExtensionNews> {
        let setup = services.setup.lock().clone();
        let before = setup.extensions.current();
        // It also applies which extensions are off.
        if let Err(refusal) = setup.reread() {
            let text = format!("extensions are not reloaded: {}", refusal.text);
            let level = NoticeLevel::Warning;
            return Some(ExtensionNews { level, text, hint: None, commands: Vec::new() });
        }
        let mut changes = setup.extensions.reload();
        let loaded = setup.extensions.current();
        let mut old = self.look(&setup);
        if by_others {
            old.servers.clone_from(&self.servers);
            old.trusted.clear();
            old.problems.clone_from(&self.problems);
        }
        let mut commands = Vec::new();
        if loaded.commands() != before.commands() {
            commands
                .push(AgentCommand::Task(TaskCommand::Query { ticket: NO_TICKET, query: Query::Commands }));
        }
        if self.servers != old.servers {
            commands.push(AgentCommand::Settings(SettingsCommand::Tune(Tuning::McpServers)));
            changes.splice(0..0, server_changes(&old.servers, &self.servers));
        }
        let has_new_list = loaded.listing.text != before.listing.text;
        self.news(&old, &changes, has_new_list, commands)
    }

    fn news(
        &self,
        old: &FileFacts,
        changes: &[ExtensionChange],
        has_new_list: bool,
        commands: Vec<AgentCommand>,
    ) -> Option<ExtensionNews> {
        let lost = old.trusted.iter().find(|root| self.untrusted.contains(root));
        let problem = self.problems.iter().find(|problem| !old.problems.contains(problem));
        if changes.is_empty() && commands.is_empty() && lost.is_none() && problem.is_none() {
            return None;
        }
        let mut text = match summary(changes) {
            text if text.is_empty() => "reloaded the extensions".to_owned(),
            text => format!("reloaded: {text}"),
        };
        let mut hint = None;
        if let Some(root) = lost {
            let place = root.display();
            text = format!("{text}; the settings in {place} have changed and are not trusted any more");
            hint = Some("/trust shows the differences".to_owned());
        } else if let Some(problem) = problem {
            hint = Some(problem.clone());
        } else if changes.iter().any(|change| change.has_failed) {
            hint = Some("/extensions shows the problems".to_owned());
        }
        let level = if hint.is_some() { NoticeLevel::Warning } else { NoticeLevel::Info };
        if hint.is_none() && has_new_list {
            hint = Some("the model gets the new list of skills with /reload".to_owned());
        }
        Some(ExtensionNews { level, text, hint, commands })
    }
}

/// The servers that were added to the files, and so on.
fn server_changes(old: &[ConfiguredServer], new: &[ConfiguredServer]) -> Vec<ExtensionChange> {
    let find = |servers: &[ConfiguredServer], name: &str| {
        servers.iter().find(|found| found.server.name == name).cloned()
    };
    let change = |found: &ConfiguredServer, difference| ExtensionChange {
        kind: ExtensionKind::McpServer,
        name: found.server.name.clone(),
        difference,
        has_failed: false,
    };
    let removed = old.iter().filter(|found| find(new, &found.server.name).is_none());
    let removed = removed.map(|found| change(found, Difference::Removed));
    let others = new.iter().filter_map(|found| match find(old, &found.server.name) {
        None => Some(change(found, Difference::Added)),
        Some(then) if then != *found => Some(change(found, Difference::Changed)),
        Some(_) => None,
    });
    others.chain(removed).collect()
}
