//! Suggests a rule for a call: wide enough to be useful, and only if it is safe.

use std::borrow::Cow;
use std::path::Path;

use super::arguments::{self, is_plain};
use super::path_pattern::{JudgedPath, Places};
use super::programs::runs_texts;
use super::rule::Rule;
use super::shell::{Part, Word};

/// Commands for which no rule is suggested, except for known ones: with other arguments, or at another time,
/// they do other things.
const NEVER: &[&str] = tau_tools::words!(
    "rm rmdir mv dd shred truncate mkfs fdisk sudo doas su eval source . exec xargs find env parallel \
     watch curl wget ssh scp rsync sftp nc ncat socat telnet chmod chown chgrp chattr kill killall \
     pkill reboot shutdown systemctl crontab at tee ln install sed"
);

/// Programs that run what they read from their input, or the words behind them.
const RUNNERS: [&str; 11] =
    ["sudo", "doas", "su", "ssh", "xargs", "parallel", "env", "watch", "at", "crontab", "eval"];

/// The rule for a simple command, with other arguments where these are known to be safe.
pub(super) fn for_command(part: &Part) -> Option<Rule> {
    let name = name(part)?;
    // A known command takes precedence over the fact that its program runs others.
    if let Some(command) = arguments::command_of(&part.words) {
        let pattern = command.pattern(&part.words).filter(|_| command.covers(&part.words, 0));
        return pattern.and_then(|pattern| format!("bash({pattern})").parse().ok()).or_else(|| exact(part));
    }
    let base = name.rsplit('/').next().unwrap_or_default();
    if NEVER.contains(&base) || runs_texts(base) || base.starts_with("mkfs") {
        return None;
    }
    exact(part)
}

/// The rule for exactly this simple command beside those for other parts of a call: for each that says what it
/// runs.
pub(super) fn for_exactly(part: &Part) -> Option<Rule> {
    let name = name(part)?;
    let base = name.rsplit('/').next().unwrap_or_default();
    let first = part.words.get(1).and_then(Word::literal).unwrap_or_default();
    // Programs that run what they read from their input, unless they are named a file or given a text to run.
    let runs_its_input = match runs_texts(base) {
        true if first.starts_with('-') => !["-c", "-e", "-jar"].contains(&&*first) || part.words.len() < 3,
        true => first.is_empty(),
        false => RUNNERS.contains(&base),
    };
    let reads_its_input =
        |word: &Word| word.literal().is_some_and(|text| text == "-" || text.starts_with("/dev/"));
    if runs_its_input || part.words.iter().any(reads_its_input) {
        return None;
    }
    exact(part)
}

/// The name of the program of a part of which all words are known, and nothing else that decides on what it does.
fn name(part: &Part) -> Option<Cow<'_, str>> {
    if part.more_arguments || part.assigned.iter().any(|name| !super::read_only::is_harmless_variable(name)) {
        return None;
    }
    part.words.first()?.literal().filter(|name| is_plain(name))
}

/// The rule for exactly these words, if they are all known.
fn exact(part: &Part) -> Option<Rule> {
    let words: Option<Vec<Cow<'_, str>>> =
        part.words.iter().map(|word| word.literal().and_then(quote)).collect();
    format!("bash({})", words?.join(" ")).parse().ok()
}

/// A word as a rule names it; none for one that nobody can read in a rule.
fn quote(word: Cow<'_, str>) -> Option<Cow<'_, str>> {
    if is_plain(&word) {
        return Some(word);
    }
    let is_readable = |c: char| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric();
    let quote = ['\'', '"'].into_iter().find(|quote| !word.contains(*quote))?;
    (word.len() <= 200 && word.chars().all(is_readable)).then(|| format!("{quote}{word}{quote}").into())
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
