//! Variables that keep git from running what a repository names.
//!
//! Any command may run git, so this is said in the environment and not by flags. Git takes settings from there
//! (`GIT_CONFIG_COUNT`, see git-config(1)) before those of files. What it cannot be told this way, such as
//! drivers with names of their own for differences and filters, the permissions look for in the files.

use std::ffi::{OsStr, OsString};

/// Settings of git, stronger than those of any file.
const SETTINGS: [(&str, &str); 9] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.alternateRefsCommand", "true"),
    ("safe.bareRepository", "explicit"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("credential.helper", ""),
    // To look into a submodule, git runs another git, without these settings.
    ("diff.ignoreSubmodules", "dirty"),
];

/// Variables that git obeys: no locks that it can do without, no fetching of what is missing, no transport, no
/// questions. See git(1).
const VARIABLES: [(&str, &str); 6] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
];

/// The variable with the number of settings in the environment.
const COUNT: &str = "GIT_CONFIG_COUNT";

/// The variables to set, besides those that a command has: its settings of git in the environment stay.
pub fn hardened(has: &[(OsString, OsString)]) -> impl Iterator<Item = (String, String)> + use<> {
    let count = has.iter().find(|(name, _)| name == OsStr::new(COUNT));
    let count = count.and_then(|(_, value)| value.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    let settings = SETTINGS.iter().enumerate().flat_map(move |(at, (name, value))| {
        let at = count + at;
        [
            (format!("GIT_CONFIG_KEY_{at}"), (*name).to_owned()),
            (format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned()),
        ]
    });
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let count = (COUNT.to_owned(), (count + SETTINGS.len()).to_string());
    settings.chain([count]).chain(VARIABLES.iter().map(owned))
}
