//! Suggests a rule for a call: wide enough to be useful, and only if it is safe.

use std::borrow::Cow;
use std::path::Path;

use super::arguments::{self, is_plain};
use super::path_pattern::{JudgedPath, Places};
use super::rule::Rule;
use super::shell::Part;

/// Commands for which no rule is suggested, except for known ones: with other arguments, or at another time,
/// they do other things.
const NEVER: [&str; 61] = [
    "rm",
    "rmdir",
    "mv",
    "dd",
    "shred",
    "truncate",
    "mkfs",
    "fdisk",
    "sudo",
    "doas",
    "su",
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "python",
    "python3",
    "node",
    "perl",
    "ruby",
    "php",
    "lua",
    "osascript",
    "eval",
    "source",
    ".",
    "exec",
    "xargs",
    "find",
    "env",
    "parallel",
    "watch",
    "curl",
    "wget",
    "ssh",
    "scp",
    "rsync",
    "sftp",
    "nc",
    "ncat",
    "socat",
    "telnet",
    "chmod",
    "chown",
    "chgrp",
    "chattr",
    "kill",
    "killall",
    "pkill",
    "reboot",
    "shutdown",
    "systemctl",
    "crontab",
    "at",
    "tee",
    "ln",
    "install",
    "awk",
    "sed",
];

/// The rule for a simple command.
pub(super) fn for_command(part: &Part) -> Option<Rule> {
    if part.more_arguments || part.assigned.iter().any(|name| !super::read_only::is_harmless_variable(name)) {
        return None;
    }
    let name = part.words.first()?.literal()?;
    let base = name.rsplit('/').next().unwrap_or_default();
    if !is_plain(&name) {
        return None;
    }
    // A known command takes precedence over the fact that its program runs others.
    if let Some(command) = arguments::command_of(&part.words) {
        let pattern = command.pattern(&part.words).filter(|_| command.covers(&part.words, 0));
        return format!("bash({})", pattern?).parse().ok();
    }
    if NEVER.contains(&base) || base.starts_with("python") || base.starts_with("mkfs") {
        return None;
    }
    exact(part)
}

/// The rule for exactly these words, if they are all plain.
fn exact(part: &Part) -> Option<Rule> {
    let words: Option<Vec<Cow<'_, str>>> =
        part.words.iter().map(|word| word.literal().filter(|text| is_plain(text))).collect();
    format!("bash({})", words?.join(" ")).parse().ok()
}

/// The rule for a file: its folder within the workspace, or the file itself at the top of it.
pub(super) fn for_file(path: &JudgedPath, places: &Places) -> Option<Rule> {
    let rest = path.real.strip_prefix(&places.workspace.real).ok()?;
    if path.plain.strip_prefix(&places.workspace.plain).ok()? != rest {
        return None;
    }
    let plain = |path: &Path| path.to_str().filter(|text| is_plain(text)).map(str::to_owned);
    let first = rest.components().next()?.as_os_str();
    if rest.components().count() == 1 {
        return format!("edit(./{})", plain(rest)?).parse().ok();
    }
    if first.to_string_lossy().starts_with('.') {
        return format!("edit({})", plain(rest)?).parse().ok();
    }
    format!("edit({}/**)", plain(Path::new(first))?).parse().ok()
}

/// The rule for a host: the host itself if a tool's rules name hosts, else the tool.
pub(super) fn for_host(tool: &str, host: &str) -> Option<Rule> {
    let rule = if tool == "web_fetch" { format!("{tool}({host})") } else { tool.to_owned() };
    rule.parse().ok()
}
