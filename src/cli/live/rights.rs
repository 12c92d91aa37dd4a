//! The rights and limits that a session was given for one process, by flags and variables or on its screen. They are
//! kept for the process that opens the session again for its user (`tau send`, `tau attach`, the board, the page),
//! which takes at most these. A command line that names the session counts for itself.
//!
//! The mode that a flag gave may be more permissive than the settings: it holds again for the user of this machine,
//! but not for the clients of a server, and not if the user has chosen a stricter mode since.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::args::CliArgs;
use crate::serve::live::LiveSession;
use tau_agent::session::list;
use tau_agent::settings::private_files::{read_capped, write_private_at_once};
use tau_agent::settings::table::{self, SettingRow};
use tau_agent::settings::{Paths, Settings, chosen_mode};
use tau_protocol::approval::PermissionMode;
use tau_protocol::event::SessionInfo;

/// Maximum size of a file, in bytes.
const MAX_SIZE: u64 = 64 * 1024;
/// The age at which the file of a session that was never saved or was deleted is removed.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// Maximum number of agents above a helper.
const MAX_ABOVE: u32 = 2;

/// The settings of which the stricter value holds; the mode is kept as it was at the end.
const STRICTER: [&str; 2] = ["sandbox.level", "sandbox.network"];
/// The settings whose flags are kept.
const FLAGS: [&str; 6] = ["tools", "web_fetch", "web_search", "mask_secrets", "temperature", "goal_rounds"];
/// The settings whose flags are kept together with `base_url`, as no file knows that model.
const MODEL: [&str; 5] = ["base_url", "provider", "api", "model", "thinking"];

/// The mode that a flag gave a session.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct ModeFlag {
    mode: PermissionMode,
    /// The user's own mode at that time.
    instead_of: PermissionMode,
}

/// Whether a session that is opened again may have a more permissive mode than the settings, from a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlaggedMode {
    /// The user of this machine opens it.
    Holds,
    /// A client of a server opens it.
    Ignored,
}

/// The kept rights and limits of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SavedRights {
    /// The session's file.
    #[serde(with = "tau_tools::path_text")]
    file: PathBuf,
    mode: Option<PermissionMode>,
    flag: Option<ModeFlag>,
    /// Settings by their keys, as they are typed.
    settings: BTreeMap<String, String>,
    no_tools: bool,
    max_turns: Option<u32>,
    max_cost: Option<f64>,
    max_tokens: Option<u64>,
    timeout: Option<u64>,
}

impl SavedRights {
    /// From flags and variables.
    fn of(paths: &Paths, args: &CliArgs, settings: &Settings, mode: PermissionMode) -> Self {
        let flags = &args.settings.0;
        let of_run = |key: &str| {
            let row = table::row(key)?;
            let is_of_run = row.text(flags).is_some() || is_set_by_variable(row);
            is_of_run.then(|| row.text(settings)).flatten()
        };
        let flagged = |key: &str| table::row(key)?.text(flags);
        let model = MODEL.iter().filter(|_| flags.base_url.is_some());
        let plain = FLAGS.iter().chain(model).filter_map(|key| Some(((*key).to_owned(), flagged(key)?)));
        let strict = STRICTER.iter().filter_map(|key| Some(((*key).to_owned(), of_run(key)?)));
        SavedRights {
            file: PathBuf::new(),
            mode: of_run("permission_mode").map(|_| mode),
            flag: flags.permission_mode.map(|_| ModeFlag { mode, instead_of: own_mode(paths) }),
            settings: plain.chain(strict).collect(),
            no_tools: args.no_tools,
            max_turns: args.max_turns,
            max_cost: args.max_cost,
            max_tokens: args.max_tokens,
            timeout: args.timeout,
        }
    }

    /// The mode that a flag allows, if the user has not chosen a stricter one since.
    fn flagged_mode(&self, paths: &Paths) -> Option<PermissionMode> {
        let flag = self.flag?;
        let own = own_mode(paths);
        let is_stricter = own.min(flag.instead_of) != flag.instead_of;
        self.mode.filter(|_| !is_stricter).map(|mode| mode.min(flag.mode))
    }

    /// Adds what was kept to arguments, where it is stricter, and the mode `raised`; `settings` are the ones that hold
    /// without it.
    fn apply(self, args: &mut CliArgs, settings: &Settings, raised: Option<PermissionMode>) {
        let flags = &mut args.settings.0;
        let first = settings.permission_mode.unwrap_or(PermissionMode::Ask);
        let stricter = self.mode.filter(|mode| (*mode).min(first) != first);
        if let Some(mode) = stricter.or(raised.filter(|mode| (*mode).min(first) != *mode)) {
            flags.permission_mode = Some(mode);
            // It may come with the mode that was chosen at the first start, which a flag replaces.
            flags.sandbox.level = flags.sandbox.level.or(settings.sandbox.level);
        }
        for (key, value) in &self.settings {
            let mut kept = Settings::default();
            let Some(row) = table::row(key) else { continue };
            if let Err(error) = row.set(&mut kept, OsStr::new(value)) {
                tracing::warn!(%error, key, "a kept setting cannot be used");
            }
            let is_used = match key.as_str() {
                "sandbox.level" => kept.sandbox.level() > settings.sandbox.level(),
                "sandbox.network" => kept.sandbox.network() > settings.sandbox.network(),
                _ => true,
            };
            if let (Some(kept), Some(own)) = (&mut kept.tools, &flags.tools) {
                kept.retain(|name| own.contains(name));
            }
            if is_used {
                *flags = std::mem::take(flags).overlaid(kept);
            }
        }
        args.no_tools |= self.no_tools;
        args.max_turns = least(args.max_turns, self.max_turns);
        args.max_cost = least(args.max_cost, self.max_cost);
        args.max_tokens = least(args.max_tokens, self.max_tokens);
        args.timeout = least(args.timeout, self.timeout);
    }
}

fn is_set_by_variable(row: &SettingRow) -> bool {
    row.columns.env.is_some_and(|name| std::env::var_os(name).is_some())
}

/// The mode of the user's variable or settings file.
pub(crate) fn configured_mode(paths: &Paths) -> Option<PermissionMode> {
    let env = |name: &str| std::env::var(name).ok();
    Settings::load_leniently(paths).0.with_env_leniently(&env).0.permission_mode
}

/// The mode that the user has chosen: with a variable, in the settings file, or at the first start.
fn own_mode(paths: &Paths) -> PermissionMode {
    configured_mode(paths).or_else(|| Some(chosen_mode::read(paths)?.mode)).unwrap_or(PermissionMode::Ask)
}

/// The stricter of two limits.
fn least<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if one < other { one } else { other }),
        (one, other) => one.or(other),
    }
}

fn folder(paths: &Paths) -> PathBuf {
    paths.state.join("rights")
}

fn path(paths: &Paths, id: &str) -> PathBuf {
    folder(paths).join(format!("{id}.json"))
}

fn read(paths: &Paths, id: &str) -> Option<SavedRights> {
    match read_capped(&path(paths, id), MAX_SIZE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        // There were limits, but which is not known.
        read => {
            Some(read.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_else(|| {
                SavedRights { mode: Some(PermissionMode::Plan), ..SavedRights::default() }
            }))
        }
    }
}

fn write(paths: &Paths, id: &str, kept: &SavedRights) -> io::Result<()> {
    // What is left of one after a power failure limits the session, too.
    write_private_at_once(&path(paths, id), &serde_json::to_vec(kept)?)
}

/// Keeps the rights of a session that this process opens, in place of those of the process before. Fails with
/// errors of the file system.
pub(crate) fn keep(
    paths: &Paths,
    session: &SessionInfo,
    args: &CliArgs,
    settings: &Settings,
    mode: PermissionMode,
) -> io::Result<()> {
    let Some(file) = session.file.clone() else { return Ok(()) };
    let kept = SavedRights::of(paths, args, settings, mode);
    // No screen shows it, so its mode is kept anyway.
    let mode = kept.mode.or(args.background.then_some(mode));
    keep_in(paths, &session.id, file, SavedRights { mode, ..kept })
}

/// Keeps the rights of the session in `file`, if it has any of its own. Fails with errors of the file system.
fn keep_in(paths: &Paths, id: &str, file: PathBuf, kept: SavedRights) -> io::Result<()> {
    if (SavedRights { file: PathBuf::new(), ..kept.clone() }) != SavedRights::default() {
        let kept = SavedRights { file, ..kept };
        let is_new = read(paths, id).as_ref() != Some(&kept);
        return if is_new { write(paths, id, &kept) } else { Ok(()) };
    }
    match std::fs::remove_file(path(paths, id)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a session that is open has the rights and limits of these flags.
pub(super) fn are_kept(
    paths: &Paths,
    id: &str,
    args: &CliArgs,
    settings: &Settings,
    mode: PermissionMode,
) -> bool {
    let own = SavedRights::of(paths, args, settings, mode);
    let kept = read(paths, id).unwrap_or_default();
    own.settings.iter().all(|(key, value)| kept.settings.get(key) == Some(value))
        && (own.mode.is_none() || own.mode == kept.mode)
        && (!own.no_tools || kept.no_tools)
        && (own.max_turns.is_none() || own.max_turns == kept.max_turns)
        && (own.max_cost.is_none() || own.max_cost == kept.max_cost)
        && (own.max_tokens.is_none() || own.max_tokens == kept.max_tokens)
        && (own.timeout.is_none() || own.timeout == kept.timeout)
}

/// Keeps the mode that a session has now. One on a screen (not `is_unseen`) that has the user's usual mode follows the
/// settings.
pub(crate) fn keep_mode_of(paths: &Paths, live: &LiveSession, is_unseen: bool) {
    let (session, mode) = live.read_facts(|facts, _| (facts.mirror.session.clone(), facts.mirror.mode));
    let parent = live.helper.as_ref().map(|helper| helper.parent.as_str());
    if let Err(error) = keep_mode(paths, &session, parent, mode, is_unseen) {
        tracing::warn!(%error, "the permission mode of a session could not be kept");
    }
}

/// Like [`keep_mode_of`]; a helper has the other rights of its parent. Fails with errors of the file system.
fn keep_mode(
    paths: &Paths,
    session: &SessionInfo,
    parent: Option<&str>,
    mode: PermissionMode,
    is_unseen: bool,
) -> io::Result<()> {
    let Some(file) = session.file.clone() else { return Ok(()) };
    let kept = read(paths, parent.unwrap_or(&session.id)).unwrap_or_default();
    let is_given = kept.flag.is_some() || table::row("permission_mode").is_some_and(is_set_by_variable);
    let is_usual = !is_unseen && !is_given && mode == own_mode(paths);
    keep_in(paths, &session.id, file, SavedRights { mode: (!is_usual).then_some(mode), ..kept })
}

/// Adds what was kept of a session to arguments, where it is stricter, and its mode if a flag gave it; `settings` are
/// the ones that hold without it.
pub(crate) fn restore(
    args: &mut CliArgs,
    paths: &Paths,
    settings: &Settings,
    id: &str,
    flagged: FlaggedMode,
) {
    if let Some(kept) = of_session(paths, &settings.session_root(paths), id) {
        let raised = match flagged {
            FlaggedMode::Holds => kept.flagged_mode(paths),
            FlaggedMode::Ignored => None,
        };
        kept.apply(args, settings, raised);
    }
}

/// The kept rights of a session, or of the one whose helper it is.
fn of_session(paths: &Paths, root: &Path, id: &str) -> Option<SavedRights> {
    let mut id = id.to_owned();
    for _ in 0..MAX_ABOVE {
        let kept = read(paths, &id);
        if kept.is_some() {
            return kept;
        }
        let parent = list::row_of(&list::of_id(root, &id)?)?.parent?;
        id = list::row_of(&parent)?.id;
    }
    read(paths, &id)
}

/// Whether there is no such session file in a folder that has others: one that is missing or empty may be on a
/// disk that is not there at the moment.
fn is_gone(file: &Path) -> bool {
    let others = file.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    !file.exists() && others.is_some_and(|mut others| others.next().is_some())
}

/// Removes the files of sessions that were never saved, or are deleted.
pub(crate) fn sweep(paths: &Paths) {
    for entry in std::fs::read_dir(folder(paths)).into_iter().flatten().flatten() {
        let path = entry.path();
        let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
        let bytes = read_capped(&path, MAX_SIZE).unwrap_or_default();
        let kept: Option<SavedRights> = serde_json::from_slice(&bytes).ok();
        // A damaged file still limits its session.
        if age.is_some_and(|age| age > STALE) && kept.is_some_and(|kept| is_gone(&kept.file)) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_may_still_hold_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (paths, at) = (Paths::under(dir.path()), |name: &str| dir.path().join(name));
        std::fs::create_dir_all(at("sessions/work")).unwrap();
        std::fs::write(at("sessions/work/there.jsonl"), "").unwrap();
        std::fs::create_dir_all(at("sessions/empty")).unwrap();
        for file in ["work/there", "work/gone", "empty/away", "missing/far"] {
            let (_, id) = file.split_once('/').unwrap();
            let file = at("sessions").join(format!("{file}.jsonl"));
            write(&paths, id, &SavedRights { file, no_tools: true, ..SavedRights::default() }).unwrap();
        }
        std::fs::write(path(&paths, "damaged"), "{").unwrap();
        let old = std::time::SystemTime::now() - STALE * 2;
        for entry in std::fs::read_dir(folder(&paths)).unwrap() {
            std::fs::File::open(entry.unwrap().path()).unwrap().set_modified(old).unwrap();
        }
        sweep(&paths);
        for (id, is_kept) in
            [("there", true), ("gone", false), ("away", true), ("far", true), ("damaged", true)]
        {
            assert_eq!(read(&paths, id).is_some(), is_kept, "{id}");
        }
        assert_eq!(read(&paths, "damaged").unwrap().mode, Some(PermissionMode::Plan));
    }
}
