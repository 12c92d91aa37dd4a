//! Variables that keep git from running programs that a repository names.
//!
//! Any command may run git, so these are set in the environment instead of by flags. Git prefers such
//! settings (`GIT_CONFIG_COUNT`, see git-config(1)) to those of files. Settings that cannot be overridden
//! this way, such as diff and filter drivers with names of their own, are searched for in the files by the
//! permissions.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Git settings that take precedence over those of any file.
const SETTINGS: [(&str, &str); 9] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.alternateRefsCommand", "true"),
    ("safe.bareRepository", "explicit"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("credential.helper", ""),
    // To inspect a submodule, git runs another git without these settings.
    ("diff.ignoreSubmodules", "dirty"),
];

/// Variables that git obeys: no optional locks, no fetching of missing objects, no transport, no prompts.
/// See git(1).
const VARIABLES: [(&str, &str); 6] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
];

/// Variables that name a repository, which git sets for its hooks: those of `git rev-parse --local-env-vars`, without
/// the settings.
const OF_REPOSITORY: &[&str] = crate::words!(
    "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_CONFIG GIT_DIR GIT_GRAFT_FILE \
     GIT_IMPLICIT_WORK_TREE GIT_INDEX_FILE GIT_INTERNAL_SUPER_PREFIX GIT_OBJECT_DIRECTORY GIT_PREFIX \
     GIT_SHALLOW_FILE GIT_WORK_TREE"
);

/// The variable for the number of settings in the environment.
const COUNT: &str = "GIT_CONFIG_COUNT";
/// The beginnings of the variables for their names and values; a number follows.
const KEY: &str = "GIT_CONFIG_KEY_";
const VALUE: &str = "GIT_CONFIG_VALUE_";

/// Settings of the repository that the variables make harmless, beside [`SETTINGS`]: editors and pagers.
const REPLACED: [&str; 4] = ["core.editor", "core.pager", "sequence.editor", "core.askpass"];

/// Whether a git with these variables ignores this setting of a file; `name` in lower case.
pub fn overrides(name: &str) -> bool {
    SETTINGS.iter().any(|(setting, _)| setting.eq_ignore_ascii_case(name)) || REPLACED.contains(&name)
}

/// The settings of git in variables, each with its position: `GIT_CONFIG_KEY_0=` name and `GIT_CONFIG_VALUE_0=` value.
fn settings(variables: &[(OsString, OsString)]) -> Vec<(usize, &OsStr, &OsStr)> {
    let value_of = |wanted: &str| {
        variables.iter().find(|(name, _)| name == OsStr::new(wanted)).map(|(_, value)| value.as_os_str())
    };
    let count = value_of(COUNT).and_then(|count| count.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    let names = variables.iter().filter_map(|(variable, name)| {
        let at = variable.to_str()?.strip_prefix(KEY)?.parse().ok().filter(|at| *at < count)?;
        Some((at, name.as_os_str(), value_of(&format!("{VALUE}{at}"))?))
    });
    let mut settings: Vec<_> = names.collect();
    settings.sort_by_key(|(at, ..)| *at);
    settings
}

/// Whether a variable is a part of git's settings in the environment.
pub(super) fn is_of_settings(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    name == COUNT || name.starts_with(KEY) || name.starts_with(VALUE)
}

/// Those of the variables that are git's settings, without the settings that are `left_out`, which gets the
/// variable of a name, the name and the value. Git fails where one of their numbers is missing, so these are new.
pub(super) fn settings_without(
    variables: &[(OsString, OsString)],
    left_out: impl Fn(&OsStr, &OsStr, &OsStr) -> bool,
) -> Vec<(OsString, OsString)> {
    let kept = settings(variables)
        .into_iter()
        .filter(|(at, name, value)| !left_out(OsStr::new(&format!("{KEY}{at}")), name, value));
    let pairs = kept.enumerate().flat_map(|(at, (_, name, value))| {
        [(format!("{KEY}{at}").into(), name.to_owned()), (format!("{VALUE}{at}").into(), value.to_owned())]
    });
    let mut kept: Vec<(OsString, OsString)> = pairs.collect();
    if !kept.is_empty() {
        kept.push((COUNT.into(), (kept.len() / 2).to_string().into()));
    }
    kept
}

/// The variables to add to those of a command; the git settings in its environment are kept.
pub fn hardening_variables(has: &[(OsString, OsString)]) -> impl Iterator<Item = (String, String)> + use<> {
    let count = has.iter().find(|(name, _)| name == OsStr::new(COUNT));
    let count = count.and_then(|(_, value)| value.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    let settings = SETTINGS.iter().enumerate().flat_map(move |(at, (name, value))| {
        let at = count + at;
        [(format!("{KEY}{at}"), (*name).to_owned()), (format!("{VALUE}{at}"), (*value).to_owned())]
    });
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let count = (COUNT.to_owned(), (count + SETTINGS.len()).to_string());
    settings.chain([count]).chain(VARIABLES.iter().map(owned))
}

/// Whether a variable names a repository, so that git does not look for the one around its directory.
pub(super) fn names_repository(variable: &OsStr) -> bool {
    OF_REPOSITORY.iter().any(|name| variable == OsStr::new(name))
}

/// Makes git use the repository around its directory, also where a hook of another repository has started tau.
pub fn without_repository(command: &mut Command) {
    OF_REPOSITORY.iter().for_each(|name| {
        command.env_remove(name);
    });
}

/// Runs a program to its end. Fails with `TimedOut` if that takes too long; it is killed then.
pub fn output_within(command: &mut Command, longest: Duration) -> io::Result<Output> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let pid = Pid::from_child(&child);
    let (sender, ended) = mpsc::channel();
    std::thread::Builder::new().spawn(move || sender.send(child.wait_with_output()))?;
    ended.recv_timeout(longest).unwrap_or_else(|_| {
        // The thread waits for it.
        kill_process(pid, Signal::KILL).ok();
        Err(ErrorKind::TimedOut.into())
    })
}
