//! Paths that are always asked, whatever the mode and the rules that allow: they hold secrets, or what
//! is written to them is run later.

use std::path::{Component, Path, PathBuf};

use super::path_pattern::{JudgedPath, Places, normalised};

/// A kind of protected paths, by the name with which settings switch it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protected {
    /// What is in `.git/`, and the user's settings of git.
    Git,
    /// What shells and the desktop run when they start.
    Startup,
    /// `~/.ssh`.
    Ssh,
    /// tau's settings and sessions.
    Tau,
    /// Files with keys and passwords.
    Keys,
}

impl Protected {
    /// Every kind, with its name in settings and what is in it.
    pub const TABLE: [(Protected, &'static str, &'static str); 5] = [
        (Protected::Git, "git", "the inside of .git, or settings of git"),
        (Protected::Startup, "startup", "a file that is run at startup"),
        (Protected::Ssh, "ssh", "the keys and settings of ssh"),
        (Protected::Tau, "tau", "tau's own settings or sessions"),
        (Protected::Keys, "keys", "a file with keys or passwords"),
    ];

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::TABLE.iter().find(|(_, known, _)| *known == name).map(|(kind, ..)| *kind)
    }

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// What is in it.
    pub fn what(self) -> &'static str {
        Self::TABLE.iter().find(|(kind, ..)| *kind == self).map_or("", |(.., what)| what)
    }

    /// Whether reading is asked too, because there are secrets in it.
    fn hides(self) -> bool {
        matches!(self, Protected::Ssh | Protected::Tau | Protected::Keys)
    }
}

/// What is done with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    /// Written, or it is not known.
    Write,
}

/// Files directly in the home directory that are run when something starts.
const STARTUP: [&str; 24] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".pam_environment",
    ".vimrc",
    ".emacs",
    ".tmux.conf",
    ".crontab",
];
/// Folders and files in the home directory for the same.
const STARTUP_PLACES: [&str; 8] = [
    ".config/fish",
    ".config/environment.d",
    ".config/autostart",
    ".config/systemd",
    ".local/bin",
    ".bashrc.d",
    ".zshrc.d",
    ".config/nvim",
];
/// The same for everybody.
const SYSTEM_STARTUP: [&str; 8] = [
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/bashrc",
    "/etc/zsh",
    "/etc/cron.d",
    "/etc/crontab",
    "/etc/systemd",
];
/// Names of files with keys.
const KEY_NAMES: [&str; 13] = [
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".git-credentials",
    ".pypirc",
    ".htpasswd",
    "auth.json",
];
/// Ends of names of files with keys.
const KEY_ENDS: [&str; 7] = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"];
/// Files and folders with keys in the home directory.
const KEY_PLACES: [&str; 9] = [
    ".aws",
    ".gnupg",
    ".kube",
    ".docker/config.json",
    ".config/gcloud",
    ".config/gh",
    ".azure",
    ".cargo/credentials.toml",
    ".local/share/keyrings",
];

/// Which kind of protected path this is, if it is one. `own` are the folders of tau.
pub(super) fn protected(
    path: &JudgedPath,
    places: &Places,
    own: &[PathBuf],
    is_used: Use,
) -> Option<Protected> {
    let homes = places.home.iter().flat_map(|home| [&home.plain, &home.real]);
    let homes: Vec<&Path> = homes.map(PathBuf::as_path).collect();
    [&path.plain, &path.real].into_iter().find_map(|path| kind(path, &homes, own, is_used))
}

fn kind(path: &Path, homes: &[&Path], own: &[PathBuf], is_used: Use) -> Option<Protected> {
    let lower = PathBuf::from(path.to_string_lossy().to_lowercase());
    let names = || {
        lower.components().filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
    };
    let last = lower.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let at_home = homes.iter().find_map(|home| path.strip_prefix(home).ok());
    let within =
        |places: &[&str]| at_home.is_some_and(|rest| places.iter().any(|place| rest.starts_with(place)));
    let is_key = KEY_NAMES.contains(&last) && !(last == "auth.json" && at_home.is_none())
        || KEY_ENDS.iter().any(|end| last.len() > end.len() && last.ends_with(end))
        || within(&KEY_PLACES)
        || ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d"]
            .iter()
            .any(|file| path.starts_with(file));
    let is_startup = at_home.is_some_and(|rest| STARTUP.iter().any(|name| rest == Path::new(name)))
        || within(&STARTUP_PLACES)
        || SYSTEM_STARTUP.iter().any(|place| path.starts_with(place));
    let is_git = names().any(|name| name == ".git")
        || within(&[".gitconfig", ".config/git"])
        || path == Path::new("/etc/gitconfig");
    let is_tau = own.iter().any(|folder| path.starts_with(folder))
        || is_used == Use::Write && names().any(|name| name == ".tau");
    let found = if names().any(|name| name == ".ssh") {
        Protected::Ssh
    } else if is_tau {
        Protected::Tau
    } else if is_key {
        Protected::Keys
    } else if is_git {
        Protected::Git
    } else if is_startup {
        Protected::Startup
    } else {
        return None;
    };
    (is_used == Use::Write || found.hides()).then_some(found)
}

/// As [`protected`], for a path of which only parts are known: `*` stands for what is not. Only what is
/// written out counts: a part that begins with a dot, or a file name.
pub(super) fn perhaps_protected(path: &str, is_used: Use) -> Option<Protected> {
    let lower = path.to_lowercase();
    let parts: Vec<&str> = lower.split('/').collect();
    let fits = |part: &str, name: &str| {
        let known = part.split('*').next().unwrap_or_default();
        part == name || part.contains('*') && known.len() > 1 && name.starts_with(known)
    };
    let named = |names: &[&str]| parts.iter().any(|part| names.iter().any(|name| fits(part, name)));
    let last = parts.last().copied().unwrap_or_default();
    let is_key = named(&[".gnupg", ".aws", ".kube", ".netrc", ".git-credentials"])
        || KEY_NAMES.iter().take(6).any(|name| fits(last, name))
        || KEY_ENDS.iter().any(|end| last.ends_with(end) && last != *end);
    let found = [
        (named(&[".ssh"]), Protected::Ssh),
        (named(&[".git", ".gitconfig"]), Protected::Git),
        (is_key, Protected::Keys),
        (named(&[".tau"]), Protected::Tau),
        (STARTUP.iter().any(|name| fits(last, name)), Protected::Startup),
    ];
    let counts = |kind: Protected| is_used == Use::Write || matches!(kind, Protected::Ssh | Protected::Keys);
    found.into_iter().find(|(is, kind)| *is && counts(*kind)).map(|(_, kind)| kind)
}

/// As [`protected`], for a whole text that could not be analysed: every part of it that looks like a path.
pub(super) fn named_in(text: &str, places: &Places, own: &[PathBuf]) -> Option<Protected> {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | '+' | '@' | '%');
    let words = text.split(|c: char| !is_path(c)).filter(|word| word.contains(['/', '.', '_']));
    words.take(2_000).find_map(|word| {
        let expanded = match (word.strip_prefix("~/"), &places.home) {
            (Some(rest), Some(home)) => home.plain.join(rest),
            _ => places.workspace.plain.join(word),
        };
        let plain = normalised(&expanded);
        let path = JudgedPath { real: plain.clone(), plain };
        protected(&path, places, own, Use::Write).or_else(|| perhaps_protected(word, Use::Write))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_protected() {
        let places = Places::new(Path::new("/w"), Some(Path::new("/h")));
        let own = [PathBuf::from("/h/.config/tau")];
        let kinds = |path: &str| {
            let path = JudgedPath::new(Path::new(path));
            let name = |kind: Option<Protected>| kind.map_or("", Protected::name);
            [Use::Read, Use::Write].map(|is_used| name(protected(&path, &places, &own, is_used)))
        };
        for (path, read, write) in [
            ("/w/.git/hooks/pre-commit", "", "git"),
            ("/w/sub/.GIT/config", "", "git"),
            ("/w/.git", "", "git"),
            ("/w/.gitignore", "", ""),
            ("/h/.gitconfig", "", "git"),
            ("/h/.bashrc", "", "startup"),
            ("/w/.bashrc", "", ""),
            ("/h/.config/fish/config.fish", "", "startup"),
            ("/etc/profile.d/x.sh", "", "startup"),
            ("/h/.ssh/known_hosts", "ssh", "ssh"),
            ("/w/../h/.ssh/id_rsa", "ssh", "ssh"),
            ("/h/.config/tau/config.toml", "tau", "tau"),
            ("/w/.tau/config.toml", "", "tau"),
            ("/w/certs/server.pem", "keys", "keys"),
            ("/w/id_rsa", "keys", "keys"),
            ("/w/id_rsa.pub", "", ""),
            ("/h/.aws/credentials", "keys", "keys"),
            ("/w/src/key.rs", "", ""),
        ] {
            assert_eq!(kinds(path), [read, write], "{path}");
        }
    }

    #[test]
    fn what_is_half_known_counts_as_far_as_it_is_written_out() {
        let kind = |path: &str| perhaps_protected(path, Use::Write).map_or("", Protected::name);
        for (path, expected) in [
            ("*/.ssh/id_rsa", "ssh"),
            ("*/.ss*/x", "ssh"),
            (".gi*/hooks", "git"),
            ("*/.bashrc", "startup"),
            ("*/x.pem", "keys"),
            ("*", ""),
            ("*.rs", ""),
            ("src/*/mod.rs", ""),
        ] {
            assert_eq!(kind(path), expected, "{path}");
        }
    }
}
