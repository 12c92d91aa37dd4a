//! A sandbox denial: as data, in words, and detected in the output of a command.
//!
//! When a kernel denies something it tells the program, not tau. Denials are therefore read from the
//! messages of a failed command, and believed only if the sandbox does deny the operation and tau itself
//! could have done it. That is a good guess, and the wording says so.

use std::fmt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use serde::{Deserialize, Serialize};

use super::confinement::Guard;
use super::support::Enforcement;
use super::{SandboxLevel, SandboxPolicy, protected};
use crate::access::{DeniedFile, DeniedUse};
use crate::paths;

/// The maximum number of lines read from the end of the output.
const MAX_LINES: usize = 200;
/// The longest line that is read, in bytes.
const MAX_LINE_LEN: usize = 2_000;
/// The maximum number of denied files that a result names.
const MAX_TOLD: usize = 3;

/// The part of the policy that denied something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxRule {
    /// Only the workspace, the temporary directory and added paths can be changed.
    Outside,
    /// The workspace is the home directory, or leads to it.
    Home,
    /// Nothing can be changed.
    ReadOnly,
    /// Files that make git run programs, and tau's own files, cannot be changed.
    Protected,
    /// Nothing can be created or removed directly in a directory that leads to something protected. Only on
    /// systems without namespaces.
    NewEntries,
    /// No network.
    Network,
    /// No local services that listen on Unix sockets.
    LocalServices,
    /// No signals to, and no tracing of, processes that the command did not start.
    OtherProcesses,
    /// No system calls that would escape the sandbox.
    SystemCalls,
    /// Files with keys cannot be read.
    Hidden,
    /// Devices and terminals of others cannot be opened.
    Device,
    /// Changes to a repository that git would obey are undone after the command.
    Planted,
}

/// A denial by the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxDenial {
    /// The rule that denied it.
    pub rule: SandboxRule,
    /// The path concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// True if it was denied because the command ran without approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unasked: bool,
    /// The new name of a file that was put aside after the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed: Option<String>,
}

impl SandboxDenial {
    pub(super) fn protected(path: &Path) -> Self {
        SandboxDenial::at(SandboxRule::Protected, path)
    }

    pub(super) fn planted(path: &Path, renamed: Option<String>) -> Self {
        SandboxDenial { renamed, ..SandboxDenial::at(SandboxRule::Planted, path) }
    }

    /// Whether it is no guess from the output of the command.
    pub fn is_certain(&self) -> bool {
        self.rule == SandboxRule::Planted
    }

    pub(super) fn home(path: &Path) -> Self {
        SandboxDenial::at(SandboxRule::Home, path)
    }

    pub(super) fn outside(path: &Path, level: SandboxLevel) -> Self {
        let rule = match level {
            SandboxLevel::ReadOnly => SandboxRule::ReadOnly,
            SandboxLevel::Off | SandboxLevel::WorkspaceWrite => SandboxRule::Outside,
        };
        SandboxDenial::at(rule, path)
    }

    fn at(rule: SandboxRule, path: &Path) -> Self {
        SandboxDenial { rule, path: Some(path.display().to_string()), unasked: false, renamed: None }
    }

    fn of(rule: SandboxRule) -> Self {
        SandboxDenial { rule, path: None, unasked: false, renamed: None }
    }

    /// The denial in a sentence for readers of the output, without a full stop.
    pub fn sentence(&self) -> String {
        match self.is_certain() {
            true => format!("tau's sandbox blocked {self}"),
            false => format!("not the program but tau's sandbox probably refused this. It blocked {self}"),
        }
    }

    /// The path to add to `sandbox.writable` to allow this; `None` if none helps.
    pub fn to_add(&self) -> Option<&Path> {
        match self.rule {
            SandboxRule::Outside | SandboxRule::NewEntries => self.path.as_deref().map(Path::new),
            SandboxRule::Home
            | SandboxRule::ReadOnly
            | SandboxRule::Protected
            | SandboxRule::Network
            | SandboxRule::LocalServices
            | SandboxRule::OtherProcesses
            | SandboxRule::SystemCalls
            | SandboxRule::Hidden
            | SandboxRule::Device
            | SandboxRule::Planted => None,
        }
    }
}

impl fmt::Display for SandboxDenial {
    /// The denied operation and its rule, to follow "the sandbox blocked ".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.as_deref().unwrap_or("a file");
        match self.rule {
            SandboxRule::Outside => {
                write!(f, "writing {path}: it is outside the workspace and not in sandbox.writable")
            }
            SandboxRule::Home => write!(
                f,
                "writing {path}: the workspace is your home directory, or leads to it; start tau in a project's \
                 folder, or add a folder to sandbox.writable"
            ),
            SandboxRule::ReadOnly if self.unasked => {
                write!(f, "writing {path}: a command that runs without a question cannot change anything")
            }
            SandboxRule::ReadOnly => write!(f, "writing {path}: the sandbox is read-only"),
            SandboxRule::Protected => {
                write!(f, "writing {path}: git's hooks and configuration and tau's own files are protected")
            }
            SandboxRule::NewEntries => write!(
                f,
                "writing {path}: without user namespaces, nothing can be created or removed directly next to \
                 something protected"
            ),
            SandboxRule::Network if self.unasked => {
                f.write_str("the network: it is off for a command that runs without a question")
            }
            SandboxRule::Network => f.write_str("the network: it is off"),
            SandboxRule::LocalServices => {
                f.write_str("a Unix socket: services of this machine are out of reach in the sandbox")
            }
            SandboxRule::OtherProcesses => {
                f.write_str("a signal or a trace: processes that the command did not start are out of reach")
            }
            SandboxRule::SystemCalls => f.write_str("a system call that is a way out of the sandbox"),
            SandboxRule::Hidden => {
                write!(f, "reading {path}: keys are out of reach of a command that runs without a question")
            }
            SandboxRule::Device => {
                write!(
                    f,
                    "opening {path}: devices are out of reach of a command that runs without a question"
                )
            }
            SandboxRule::Planted => {
                write!(f, "writing {path}: with it, git could run other programs; ")?;
                match &self.renamed {
                    Some(name) => write!(f, "it was renamed to {name}"),
                    None => f.write_str("the change was undone"),
                }
            }
        }
    }
}

/// The end of a sandboxed command.
#[derive(Clone, Copy, Debug)]
pub struct FailedCommand<'a> {
    /// The directory it started in.
    pub cwd: &'a Path,
    /// Its output, without escape sequences.
    pub output: &'a str,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How protected files were kept from it.
    pub guard: Guard,
}

/// The rule that probably denied an operation of a failed command.
pub fn recognise(
    policy: &SandboxPolicy,
    enforced: Enforcement,
    command: FailedCommand<'_>,
) -> Option<SandboxDenial> {
    let found = recognise_rule(policy, enforced, command);
    found.map(|denial| SandboxDenial { unasked: policy.unasked, ..denial })
}

fn recognise_rule(
    policy: &SandboxPolicy,
    enforced: Enforcement,
    command: FailedCommand<'_>,
) -> Option<SandboxDenial> {
    /// SIGSYS: a program of another system call table.
    const BAD_CALL: i32 = 31;

    if policy.is_off() {
        return None;
    }
    if command.signal == Some(BAD_CALL) {
        return Some(SandboxDenial::of(SandboxRule::SystemCalls));
    }
    let lines = command.output.lines().rev().take(MAX_LINES).filter(|line| line.len() <= MAX_LINE_LEN);
    lines.map(|line| in_line(policy, enforced, command, line)).fold(None, |found, next| found.or(next))
}

/// Lines about files that rules keep from a command, as far as its output names them. It started in `cwd`.
pub fn denials_by_rules(denied: &[DeniedFile], cwd: &Path, output: &str) -> Vec<String> {
    let lines = output.lines().rev().take(MAX_LINES).filter(|line| line.len() <= MAX_LINE_LEN);
    let refused = lines.filter(|line| REFUSALS.iter().any(|words| line.to_lowercase().contains(words)));
    let mut found: Vec<&DeniedFile> = Vec::new();
    for name in refused.flat_map(candidates).map(|name| Path::new(name.strip_prefix("./").unwrap_or(name))) {
        let parts = || name.ancestors().filter(|part| part.file_name().is_some());
        // What is in a folder that stays where it is can be used.
        let covers = |file: &DeniedFile| file.denied != DeniedUse::Move;
        let is_it = |file: &&DeniedFile| match covers(file) {
            true => parts().any(|part| file.path == cwd.join(part)),
            false => file.path == cwd.join(name),
        };
        let exact: Vec<&DeniedFile> = denied.iter().filter(is_it).collect();
        // The command may have changed its directory.
        let is_similar = |file: &&DeniedFile| covers(file) && parts().any(|part| file.path.ends_with(part));
        let similar = denied.iter().filter(|file| exact.is_empty() && is_similar(file));
        found.extend(similar);
        found.extend(exact);
    }
    found.sort();
    found.dedup();
    let told = found.into_iter().take(MAX_TOLD).map(|file| {
        let what = match file.denied {
            DeniedUse::Read => "reading",
            DeniedUse::Change => "changing",
            DeniedUse::Move => "moving",
        };
        let (path, rule) = (file.path.display(), &file.rule);
        format!("{path}: a rule denies {what} it ({rule}). Do not try to get around it.")
    });
    told.collect()
}

/// Messages for EACCES, EPERM, EROFS, EXDEV and EBUSY, which the sandbox causes.
const REFUSALS: [&str; 9] = [
    "permission denied", "operation not permitted", "read-only file system", "invalid cross-device link",
    "cross-device link", "device or resource busy", "eacces", "eperm", "erofs",
];

/// The quotes that programs put around a name.
const QUOTES: [char; 5] = ['\'', '"', '`', '\u{2018}', '\u{2019}'];

/// Messages of programs that cannot resolve names or create sockets.
const NETWORK: [&str; 13] = [
    "could not resolve", "couldn't resolve", "name resolution", "name or service not known",
    "failed to lookup address", "eai_again", "network is unreachable", "could not connect",
    "couldn't connect", "failed to connect", "connection error", "dial tcp", "temporary failure resolving",
];
/// Words that attribute a denial to the network.
const SOCKETS: [&str; 8] =
    ["socket", "connect", "network", "bind", "listen", "http", "ping", "uv_interface_addresses"];
/// Words for services that listen on Unix sockets.
const SERVICES: [&str; 7] = ["docker", ".sock", "unix", "agent", "bus", "display", "socket"];

fn in_line(
    policy: &SandboxPolicy,
    enforced: Enforcement,
    command: FailedCommand<'_>,
    line: &str,
) -> Option<SandboxDenial> {
    let lower = line.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&REFUSALS) && enforced.level != SandboxLevel::Off {
        // `bash: line 1: made: Permission denied`, `sh: 1: cannot create made: Permission denied`
        let is_naming = lower.ends_with(": permission denied");
        let before = line.rsplit(": ").nth(1).map(str::trim).filter(|_| is_naming);
        let last_word = || before?.split_whitespace().last().map(|word| word.trim_matches(QUOTES));
        let named = match policy.unasked {
            true => before,
            false => last_word().filter(|_| policy.leaves_out_workspace()),
        };
        let denied = |path| denial_of_path(policy, command, path, named == Some(path));
        let denial = candidates(line).into_iter().find_map(denied);
        if denial.is_some() {
            return denial;
        }
    }
    let refused = has(&["operation not permitted", "permission denied", "eperm"]);
    if enforced.no_network && (has(&NETWORK) || refused && has(&SOCKETS)) {
        return Some(SandboxDenial::of(SandboxRule::Network));
    }
    if !refused {
        return None;
    }
    let rule = match () {
        () if has(&["ptrace", "strace", "attach"]) => SandboxRule::OtherProcesses,
        () if enforced.scopes && has(&["kill"]) => SandboxRule::OtherProcesses,
        () if has(&SERVICES) => SandboxRule::LocalServices,
        () if has(&["mount", "unshare", "namespace", "clone", "keyctl", "chroot"]) => {
            SandboxRule::SystemCalls
        }
        () => return None,
    };
    Some(SandboxDenial::of(rule))
}

/// The possible paths in a message, most likely first: text between quotes, text between colons, or a word.
/// Before the first colon is usually the name of the program.
fn candidates(line: &str) -> Vec<&str> {
    let (program, message) = line.split_once(": ").unwrap_or(("", line));
    let words = |text| {
        let mark = |c: char| QUOTES.contains(&c) || ":,;()[]".contains(c);
        str::split_whitespace(text).rev().map(move |word| word.trim_matches(mark))
    };
    let quoted = line.split(QUOTES).skip(1).step_by(2);
    let between = message.split(": ").map(str::trim).collect::<Vec<_>>().into_iter().rev();
    let in_program = [program].into_iter().chain(words(program)).filter(|word| !is_program(word));
    let all = quoted.chain(between).chain(words(message)).chain(in_program);
    all.filter(|text| !text.is_empty() && text.len() < 1_024).collect()
}

fn is_program(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// The denial of `given`, if the sandbox keeps it from being read, or from being changed although tau could change it.
/// `is_named` says that the message names it as the denied path.
fn denial_of_path(
    policy: &SandboxPolicy,
    command: FailedCommand<'_>,
    given: &str,
    is_named: bool,
) -> Option<SandboxDenial> {
    let path = paths::resolve(command.cwd, given);
    if let Some(real) = path.canonicalize().ok().filter(|_| !policy.hidden.is_empty()) {
        let is_hidden = |hidden: &PathBuf| hidden.canonicalize().is_ok_and(|hidden| real.starts_with(hidden));
        if policy.hidden.iter().any(is_hidden) {
            return Some(SandboxDenial::at(SandboxRule::Hidden, &path));
        }
    }
    // Of bash's names of connections there are no files.
    if policy.unasked && path.starts_with("/dev") && path.symlink_metadata().is_ok() {
        return Some(SandboxDenial::at(SandboxRule::Device, &path));
    }
    // A word that only looks like a name in the current directory does not count.
    let exists = path.symlink_metadata().is_ok();
    let real = if path.starts_with("/proc") { None } else { path.canonicalize().ok() };
    let of_process =
        real.as_deref().unwrap_or(&path).strip_prefix("/proc").ok().and_then(|rest| rest.components().next());
    if of_process.is_some_and(|number| number.as_os_str().to_string_lossy().parse::<u32>().is_ok()) {
        return policy.unasked.then(|| SandboxDenial::of(SandboxRule::OtherProcesses));
    }
    let parent = path.parent().filter(|parent| parent.is_dir())?;
    if !exists && !given.contains('/') && !is_named && command.guard != Guard::Entries {
        return None;
    }
    let could = match exists {
        true => rustix::fs::access(&path, Access::WRITE_OK).is_ok() || could_write(parent),
        false => could_write(parent),
    };
    if !could {
        return None;
    }
    match policy.check_write(&path) {
        Err(denial) => Some(denial),
        Ok(()) if command.guard == Guard::Entries => {
            let real = parent.canonicalize().ok()?;
            let leads = |path: &PathBuf| path.starts_with(&real);
            let guarded = protected::protected_paths(policy, &policy.roots());
            guarded.iter().any(leads).then(|| SandboxDenial::at(SandboxRule::NewEntries, &path))
        }
        Ok(()) => None,
    }
}

fn could_write(folder: &Path) -> bool {
    rustix::fs::access(folder, Access::WRITE_OK).is_ok()
}
