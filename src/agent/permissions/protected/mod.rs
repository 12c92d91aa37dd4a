//! Protected paths, which need approval in every mode, even if a rule allows them.
//!
//! They contain secrets, or their content is run later.

mod key_places;
mod places;
mod processes;
mod system_places;
mod table;

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use super::path_pattern::{JudgedPath, Places, normalise, rest_below};
use super::path_text::{self, Area, Mark, PathText};
use key_places::key_places;
use table::{Anchor, PlaceTable};

/// A kind of protected paths, which settings can switch off by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectedKind {
    /// The content of `.git/`, and the user's settings of git.
    Git,
    /// Files that shells and the desktop run when they start.
    Startup,
    /// `~/.ssh`.
    Ssh,
    /// tau's settings and sessions.
    Tau,
    /// Files with keys and passwords.
    Keys,
    /// Settings, skills and hooks of coding agents.
    Agents,
}

impl ProtectedKind {
    /// Every kind, with its name in settings and a description.
    pub const TABLE: [(ProtectedKind, &'static str, &'static str); 6] = [
        (ProtectedKind::Git, "git", "the inside of .git, or settings of git"),
        (ProtectedKind::Startup, "startup", "a file that is read or run at startup"),
        (ProtectedKind::Ssh, "ssh", "the keys and settings of ssh"),
        (ProtectedKind::Tau, "tau", "tau's own settings, sessions or state"),
        (ProtectedKind::Keys, "keys", "a file with keys or passwords"),
        (ProtectedKind::Agents, "agents", "the settings, skills and hooks of coding agents"),
    ];

    /// The kind with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::TABLE.iter().find(|(_, known, _)| *known == name).map(|(kind, ..)| *kind)
    }

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|(kind, ..)| *kind == self).map_or("", |(_, name, _)| name)
    }

    /// Its description.
    pub fn what(self) -> &'static str {
        Self::TABLE.iter().find(|(kind, ..)| *kind == self).map_or("", |(.., what)| what)
    }

    /// Whether reading needs approval too, because it contains secrets.
    fn hides(self) -> bool {
        matches!(self, ProtectedKind::Ssh | ProtectedKind::Tau | ProtectedKind::Keys)
    }
}

/// The use of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    Read,
    /// It is written, or its use is unknown.
    Write,
}

/// Names of files with keys.
const KEY_NAMES: [&str; 17] = *tau_tools::words!(
    "ssh_host_rsa_key ssh_host_dsa_key ssh_host_ecdsa_key ssh_host_ed25519_key \
     id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk .netrc _netrc .pgpass .git-credentials \
     .pypirc .htpasswd auth.json"
);
/// Suffixes of the names of files with keys.
const KEY_ENDS: [&str; 8] = [".p8", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"];
/// Such files that programs read by themselves, so that no confinement can keep them away.
const READ_BY_PROGRAMS: [&str; 5] =
    [".npmrc", ".yarnrc.yml", ".m2/settings.xml", ".gradle/gradle.properties", ".nuget/NuGet"];

/// Files and directories with keys in the home directory, except for the kinds that the user has switched
/// off.
pub(super) fn secret_places(home: &Path, unprotected: &[ProtectedKind]) -> Vec<PathBuf> {
    let is_on = |kind: ProtectedKind| !unprotected.contains(&kind);
    let ssh = is_on(ProtectedKind::Ssh).then_some(".ssh");
    let keys = key_places().chain(KEY_NAMES).filter(|_| is_on(ProtectedKind::Keys));
    // gh reads other files there before it does anything.
    let place = |name: &str| home.join(if name == ".config/gh" { ".config/gh/hosts.yml" } else { name });
    ssh.into_iter().chain(keys).map(place).collect()
}

/// Key files at fixed places only.
const SYSTEM_KEYS: [&str; 12] = *tau_tools::words!(
    "/etc/shadow /etc/gshadow /etc/sudoers /etc/sudoers.d /etc/wireguard /etc/NetworkManager/system-connections \
     /etc/krb5.keytab /etc/kubernetes/admin.conf /etc/ssl/private /run/secrets /var/run/secrets /run/credentials"
);
/// The number of literal characters that a name needs to be recognized as a form of another.
const EVIDENCE: usize = 2;

/// The kind of protected path, if it is one. `own` are the folders of tau.
pub(super) fn protected_kind(
    path: &JudgedPath,
    places: &Places,
    own: &[PathBuf],
    is_used: Use,
) -> Option<ProtectedKind> {
    if processes::shows_process(path) {
        return Some(ProtectedKind::Keys);
    }
    let homes = homes(places);
    path.forms().find_map(|path| kind(path, &homes, own, is_used))
}

fn homes(places: &Places) -> Vec<&Path> {
    places.home.iter().flat_map(JudgedPath::forms).collect()
}

fn kind(path: &Path, homes: &[&Path], own: &[PathBuf], is_used: Use) -> Option<ProtectedKind> {
    let counts = |kind: &ProtectedKind| is_used == Use::Write || kind.hides();
    if own.iter().any(|folder| path.starts_with(folder)) {
        return Some(ProtectedKind::Tau);
    }
    let (whole, table) = (names(path).map(lower).collect::<Vec<_>>(), PlaceTable::get());
    let below_home = homes.iter().find_map(|home| rest_below(path, home));
    let below_home = below_home.and_then(|below| whole.get(whole.len() - names(below).count()..));
    let below_home = below_home.or_else(|| below_other_home(&whole));
    let read_tau = |kind: &ProtectedKind| *kind != ProtectedKind::Tau || is_used == Use::Write;
    let found = [
        table.kind(Anchor::Anywhere, &whole).filter(read_tau),
        is_key(&whole, below_home.is_some()).then_some(ProtectedKind::Keys),
        below_home.and_then(|names| table.kind(Anchor::Home, names)),
        is_system_key(path).then_some(ProtectedKind::Keys),
        table.kind(Anchor::Root, &whole),
    ];
    let key_place = || {
        let names = below_home?;
        let within = |place: &str| {
            let mut names = names.iter();
            place.split('/').all(|part| names.next().is_some_and(|name| name.eq_ignore_ascii_case(part)))
        };
        key_places().chain(READ_BY_PROGRAMS).any(within).then_some(ProtectedKind::Keys)
    };
    found.into_iter().flatten().find(counts).or_else(key_place)
}

/// The names below the home directory of another user.
fn below_other_home<'a, 'b>(names: &'a [Cow<'b, str>]) -> Option<&'a [Cow<'b, str>]> {
    match names.first()?.as_ref() {
        "root" => names.get(1..),
        "home" | "users" => names.get(2..),
        _ => None,
    }
}

fn names(path: &Path) -> impl Iterator<Item = Cow<'_, str>> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    })
}

fn lower(name: Cow<'_, str>) -> Cow<'_, str> {
    let is_lower = name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lower { name } else { Cow::Owned(name.to_lowercase()) }
}

fn is_system_key(path: &Path) -> bool {
    let path = path.as_os_str().as_encoded_bytes();
    let behind = |place: &&str| path.strip_prefix(place.as_bytes());
    SYSTEM_KEYS.iter().filter_map(behind).any(|rest| matches!(rest, [] | [b'/', ..]))
}

/// Whether a file with that name contains keys.
fn is_key(names: &[Cow<'_, str>], at_home: bool) -> bool {
    let last = names.last().map(Cow::as_ref).unwrap_or_default();
    KEY_NAMES.contains(&last) && (last != "auth.json" || at_home)
        || KEY_ENDS.iter().any(|end| last.len() > end.len() && last.ends_with(end))
}

/// Whether a file with that name contains keys, wherever it is.
pub(super) fn is_key_name(name: &str) -> bool {
    is_key(&[lower(Cow::Borrowed(name))], false)
}

/// Whether the last name of a path that is not fully known may be that of a file with keys.
pub(super) fn may_name_key(path: &PathText) -> bool {
    let lower = path.to_lowercase();
    let last = lower.names().last().unwrap_or_default();
    let name: Vec<Mark> = last.iter().filter(|mark| **mark != Mark::Folders).copied().collect();
    let table = PlaceTable::get();
    table.key_names.iter().chain(&table.key_ends).any(|key| key.meets_marks(&name))
}

/// Like [`protected_kind`], for an absolute path that is not fully known. A part that may be anything counts only
/// if the rest is specific enough: a place in the home directory, or a form of a protected name.
pub(super) fn may_be_protected(
    path: &PathText,
    places: &Places,
    own: &[PathBuf],
    is_used: Use,
) -> Option<ProtectedKind> {
    let table = PlaceTable::get();
    let counts = |kind: ProtectedKind| is_used == Use::Write || kind.hides();
    let meets = |place: &PathText| path.meets(place) || path.meets(&place.below());
    let is_anchored = |start: &PathText| {
        // A part that may be anything does not stand for the place itself.
        let known = path.marks().iter().take_while(|mark| **mark != Mark::Any).count();
        !path.is_open() || path.is_of_folders() || known > start.marks().len()
    };
    let in_folder = |folder: &Path| {
        let parent = folder.parent().map(PathText::from).unwrap_or_default();
        is_anchored(&parent) && meets(&PathText::from(folder))
    };
    if own.iter().any(|folder| in_folder(folder)) {
        return Some(ProtectedKind::Tau);
    }
    if processes::may_show_process(path) {
        return Some(ProtectedKind::Keys);
    }
    let lower = path.to_lowercase();
    let below = |home: &&Path| {
        let home = PathText::literal(&home.to_string_lossy().to_lowercase());
        is_anchored(&home).then(|| lower.clone_below(&home)).flatten()
    };
    if let Some(rest) = homes(places).iter().find_map(below) {
        let found = table.find_kind(&rest, &[Anchor::Anywhere, Anchor::Home], counts);
        if let Some(kind) = found.or_else(|| key_place(&rest, &table.key_places)) {
            return Some(kind);
        }
    }
    let may_be_of_system =
        !path.is_open() || ["/etc/", "/var/", "/usr/"].iter().any(|start| path.starts_with(start));
    let of_system =
        || table.find_kind(&lower, &[Anchor::Root], counts).or_else(|| key_place(&lower, &table.system_keys));
    may_be_of_system.then(of_system).flatten().or_else(|| literal_kind(&lower, is_used))
}

/// Whether a text can be one of these places with keys, or below one.
fn key_place(text: &PathText, places: &[Area]) -> Option<ProtectedKind> {
    places.iter().any(|place| place.meets(text)).then_some(ProtectedKind::Keys)
}

/// The kind of a protected place below a folder; for reading, one that currently exists.
pub(super) fn encloses(
    folder: &JudgedPath,
    places: &Places,
    own: &[PathBuf],
    is_used: Use,
) -> Option<ProtectedKind> {
    let is_below = |path: &Path| {
        folder.forms().any(|folder| path != folder && path.starts_with(folder))
            && (is_used == Use::Write || path.symlink_metadata().is_ok())
    };
    if own.iter().any(|own| is_below(own)) {
        return Some(ProtectedKind::Tau);
    }
    let homes = homes(places);
    let found = |place: &str, kind: ProtectedKind| {
        homes.iter().any(|home| is_below(&home.join(place))).then_some(kind)
    };
    let secret = || key_places().find_map(|place| found(place, ProtectedKind::Keys));
    let started = || {
        let places = places::places().filter(|_| is_used == Use::Write);
        let at_home = places.filter_map(|(kind, path, _)| Some((kind, path.strip_prefix("~/")?)));
        at_home.into_iter().find_map(|(kind, path)| found(path, kind))
    };
    found(".ssh", ProtectedKind::Ssh).or_else(secret).or_else(started)
}

/// The kind of a protected place that is directly in a folder with this path, wherever that is. Of a name with holes
/// enough must be known.
pub(super) fn holds_protected(folder: &PathText) -> Option<ProtectedKind> {
    let lower = folder.to_lowercase();
    let is_known = lower.names().last().is_some_and(|name| LiteralPart::new(name).behind >= EVIDENCE);
    PlaceTable::get().below(&lower.names().collect::<Vec<_>>()).filter(|_| is_known)
}

/// The kind of which a form occurs literally in a path.
fn literal_kind(lower: &PathText, is_used: Use) -> Option<ProtectedKind> {
    let parts: Vec<LiteralPart<'_>> = lower.names().map(LiteralPart::new).collect();
    let last = parts.last()?;
    if parts.iter().all(|part| part.count < EVIDENCE) {
        return None;
    }
    let counts = |kind: ProtectedKind| {
        is_used == Use::Write || matches!(kind, ProtectedKind::Ssh | ProtectedKind::Keys)
    };
    let place = PlaceTable::get().form(&parts, counts);
    place.or_else(|| {
        let end = path_text::text_behind_holes(last.written);
        let is_end = |key: &str| {
            end.len() > key.len() && end.ends_with(key) || end == key && last.behind < last.part.len()
        };
        let table = PlaceTable::get();
        let is_key = table.key_names.iter().any(|name| last.is_form(name.marks()))
            || KEY_ENDS.iter().any(|key| is_end(key));
        is_key.then_some(ProtectedKind::Keys)
    })
}

/// A part of a path, and its literal text.
struct LiteralPart<'a> {
    part: &'a [Mark],
    /// The literal text after all unknown parts.
    written: &'a [Mark],
    /// The number of literal characters in that.
    behind: usize,
    /// The number of literal characters behind or at its start, whichever is larger.
    count: usize,
    /// Whether enough of its start is literal.
    starts: bool,
    /// Whether enough of it is literal between two unknown parts, or at an end.
    says: bool,
}

impl<'a> LiteralPart<'a> {
    fn new(part: &'a [Mark]) -> Self {
        let is_literal = |mark: &&Mark| matches!(mark, Mark::Char(_));
        let written = path_text::literal_tail(part);
        let behind = written.iter().filter(is_literal).count();
        let start = part.iter().take_while(is_literal).count();
        let between = part.split(|mark| *mark == Mark::Any);
        let says = between.into_iter().any(|text| text.iter().filter(is_literal).count() >= EVIDENCE);
        LiteralPart { behind, count: behind.max(start), starts: start >= EVIDENCE, says, written, part }
    }

    /// Whether it may be a form of a name that begins with this mark.
    fn may_start_with(&self, mark: Mark) -> bool {
        let may = |text: &[Mark]| match (text.first(), mark) {
            (Some(Mark::Char(one)), Mark::Char(other)) => *one == other,
            (Some(Mark::Visible), Mark::Char('.')) | (None, _) => false,
            _ => true,
        };
        self.says && (may(self.part) || may(self.written))
    }

    /// Whether it is a form of a name: it can be that name, and begins like it or lacks little. Of a name that is
    /// a pattern, its literal start has to be there.
    fn is_form(&self, name: &[Mark]) -> bool {
        // Most do not even begin like it.
        if !name.first().is_some_and(|start| self.may_start_with(*start)) {
            return false;
        }
        let known = name.iter().take_while(|mark| matches!(mark, Mark::Char(_))).count();
        if (1..name.len()).contains(&known) {
            let start = name.get(..known).unwrap_or_default();
            let begins = |end| self.part.get(..end).is_some_and(|part| LiteralPart::new(part).is_form(start));
            return path_text::meets(self.part, name) && (1..=self.part.len()).any(begins);
        }
        let lacks_little = self.behind >= EVIDENCE && self.behind + EVIDENCE >= name.len();
        lacks_little && path_text::meets(self.written, name)
            || self.starts && path_text::meets(self.part, name)
    }
}

/// Like [`protected_kind`], for a complete text that could not be analysed: checks every part that looks like a
/// path.
pub(super) fn kind_in_text(text: &str, places: &Places, own: &[PathBuf]) -> Option<ProtectedKind> {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~' | '+' | '@' | '%');
    let words = text.split(|c: char| !is_path(c)).filter(|word| word.contains(['/', '.', '_']));
    let mut seen = std::collections::HashSet::new();
    words.filter(|word| seen.insert(*word)).take(2_000).find_map(|word| {
        let expanded = match (word.strip_prefix("~/"), &places.home) {
            (Some(rest), Some(home)) => home.plain.join(rest),
            _ => places.workspace.plain.join(word),
        };
        let plain = normalise(&expanded);
        let path = JudgedPath { real: plain.clone(), plain };
        let form = || literal_kind(&PathText::literal(&word.to_lowercase()), Use::Write);
        protected_kind(&path, places, own, Use::Write).or_else(form)
    })
}

/// The kind of a protected name that occurs in a text in any composition: without its dot, in quotes, as the
/// value of a variable or a line of a here-document.
pub(super) fn form_in(text: &str, places: &Places, own: &[PathBuf]) -> Option<ProtectedKind> {
    let plain: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let lower = plain.to_lowercase();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let mut words = lower.split(|c: char| !is_name(c)).filter(|word| word.len() > 3).take(2_000);
    let table = PlaceTable::get();
    kind_in_text(&plain, places, own).or_else(|| words.find_map(|word| table.form_without_dot(word)))
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
            let name = |kind: Option<ProtectedKind>| kind.map_or("", ProtectedKind::name);
            [Use::Read, Use::Write].map(|is_used| name(protected_kind(&path, &places, &own, is_used)))
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
            ("/proc/1/environ", "keys", "keys"),
            ("/proc/1/../1/mem", "keys", "keys"),
            ("/proc/1/task/1/environ", "keys", "keys"),
            ("/proc/1/fd/3", "keys", "keys"),
            ("/proc/1/fd", "keys", "keys"),
            ("/proc/1/map_files/1-2", "keys", "keys"),
            ("/proc/1/auxv", "keys", "keys"),
            ("/proc/1/status", "", ""),
            ("/proc/1/task/1/stat", "", ""),
            ("/proc/self/environ", "", ""),
            ("/proc/thread-self/environ", "", ""),
            ("/proc/meminfo", "", ""),
            ("/w/proc/1/environ", "", ""),
        ] {
            assert_eq!(kinds(path), [read, write], "{path}");
        }
    }

    #[test]
    fn what_is_half_known_counts_as_far_as_it_is_written_out() {
        let places = Places::new(Path::new("/h/w"), Some(Path::new("/h")));
        let own = [PathBuf::from("/h/.config/tau")];
        let kinds = |text: &str| {
            let mut path = PathText::default();
            for c in text.chars() {
                path.push(match c {
                    '*' => Mark::Name,
                    '?' => Mark::One,
                    '$' => Mark::Any,
                    c => Mark::Char(c),
                });
            }
            [Use::Read, Use::Write].map(|is_used| {
                may_be_protected(&path, &places, &own, is_used).map_or("", ProtectedKind::name)
            })
        };
        for (path, read, write) in [
            ("$/.ssh/id_rsa", "ssh", "ssh"),
            ("$/.ss*/x", "ssh", "ssh"),
            ("/h/w/.gi*/hooks", "", "git"),
            ("$/.bashrc", "", "startup"),
            ("$.bashrc", "", "startup"),
            ("/h/.?ashrc", "", "startup"),
            ("/h/.$", "ssh", "git"),
            ("/h/$", "ssh", "git"),
            ("/h/.config/*/auth.json", "tau", "tau"),
            ("/h/.s*/*", "ssh", "ssh"),
            ("/h/.*/id_*", "ssh", "git"),
            ("/h/.config/$", "tau", "tau"),
            ("$/x.pem", "keys", "keys"),
            ("/h/w/*.pem", "keys", "keys"),
            ("/h/w/?d_rsa", "keys", "keys"),
            ("$", "", ""),
            ("/h/w/*.rs", "", ""),
            ("/h/w/*", "", ""),
            ("/h/w/src/*/mod.rs", "", ""),
            ("$/bin/x", "", ""),
            ("$/config.toml", "", ""),
            ("/h/w/$", "", ""),
            ("/etc/cron*/x", "", "startup"),
            ("/etc/$", "keys", "git"),
            ("/proc/*/environ", "keys", "keys"),
            ("/proc/$/environ", "keys", "keys"),
            ("/proc/1/task/*/mem", "keys", "keys"),
            ("/proc/*/fd/*", "keys", "keys"),
            ("/proc/?/env*", "keys", "keys"),
            ("/proc/$/status", "", ""),
            ("/proc/*/stat", "", ""),
            ("/proc/self/fd/*", "", ""),
        ] {
            assert_eq!(kinds(path), [read, write], "{path}");
        }
    }

    #[test]
    fn a_name_is_found_in_whatever_way_it_is_put_together() {
        let places = Places::new(Path::new("/h/w"), Some(Path::new("/h")));
        let kind = |text: &str| form_in(text, &places, &[]).map_or("", ProtectedKind::name);
        for (text, expected) in [
            ("f=bashrc; cp x ~/.$f", "startup"),
            ("f=$(echo zshrc)", "startup"),
            ("f='.git''config'", "git"),
            ("cat <<E\nauthorized_keys\nE", "ssh"),
            ("cp \"$x\" \"$y\"", ""),
            ("cargo build --profile release", ""),
            ("cp $x dist/config.toml", ""),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }
}
