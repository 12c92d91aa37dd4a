//! The rule that is offered for a call: wide enough to be useful, and only where it is sound.

use std::path::Path;

use super::path_pattern::{JudgedPath, Places};
use super::rule::Rule;
use super::shell::{Part, Word};

/// Commands whose first argument says what they do, and with which arguments that may be widened.
const SUBCOMMANDS: [(&str, &[&str]); 14] = [
    ("cargo", &["test", "build", "check", "clippy", "fmt", "doc", "bench", "tree", "metadata", "nextest"]),
    ("git", &["add", "commit", "fetch", "pull", "switch", "stash", "merge", "status", "log", "diff", "show"]),
    ("npm", &["test", "ci", "ls", "outdated", "audit"]),
    ("pnpm", &["test", "ls", "outdated", "lint", "build"]),
    ("yarn", &["test", "lint", "build"]),
    ("bun", &["test", "build"]),
    ("go", &["test", "build", "vet", "fmt", "list", "mod"]),
    ("dotnet", &["test", "build"]),
    ("mvn", &["test", "verify", "compile", "package"]),
    ("gradle", &["test", "build", "check"]),
    ("make", &["test", "check", "build", "lint", "all"]),
    ("docker", &["ps", "images", "logs", "inspect"]),
    ("kubectl", &["get", "describe", "logs"]),
    ("rustup", &["show", "component", "target"]),
];
/// Commands that may be widened to all arguments.
const WIDE: [&str; 13] = [
    "pytest",
    "ruff",
    "mypy",
    "black",
    "eslint",
    "prettier",
    "tsc",
    "jest",
    "vitest",
    "rustfmt",
    "gofmt",
    "shellcheck",
    "mkdir",
];
/// Commands for which no rule is offered: with other arguments, or at another time, they do other things.
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
    if !is_plain(&name) || NEVER.contains(&base) || base.starts_with("python") || base.starts_with("mkfs") {
        return None;
    }
    let second = part.words.get(1).and_then(Word::literal).filter(|word| is_plain(word));
    if WIDE.contains(&name.as_str()) {
        return format!("bash({name} *)").parse().ok();
    }
    if let Some((_, known)) = SUBCOMMANDS.iter().find(|(known, _)| *known == name) {
        let subcommand = second?;
        if known.contains(&subcommand.as_str()) {
            return format!("bash({name} {subcommand} *)").parse().ok();
        }
        let third =
            part.words.get(2).and_then(Word::literal).filter(|word| is_plain(word) && !word.starts_with('-'));
        if let ("run", Some(script)) = (subcommand.as_str(), third)
            && ["npm", "pnpm", "yarn", "bun"].contains(&name.as_str())
        {
            return format!("bash({name} run {script} *)").parse().ok();
        }
    }
    exact(part)
}

/// The rule for exactly these words, if they are all plain.
fn exact(part: &Part) -> Option<Rule> {
    let words: Option<Vec<String>> =
        part.words.iter().map(|word| word.literal().filter(|text| is_plain(text))).collect();
    format!("bash({})", words?.join(" ")).parse().ok()
}

/// Whether a word means the same in a pattern.
fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,+@%".contains(c);
    !word.is_empty() && word.len() <= 200 && word.chars().all(plain) && !word.ends_with(":*")
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

/// The rule for a host: the host itself where a tool's rules name hosts, else the tool.
pub(super) fn for_host(tool: &str, host: &str) -> Option<Rule> {
    let rule = if tool == "web_fetch" { format!("{tool}({host})") } else { tool.to_owned() };
    rule.parse().ok()
}

/// The words of a part in the forms in which rules that ask or deny look at it: as they are, without the
/// directory of the program, and without the options before a subcommand.
pub(super) fn forms(part: &Part) -> Vec<Vec<Word>> {
    let mut forms = vec![part.words.clone()];
    let Some(name) = part.words.first().and_then(Word::literal) else { return forms };
    let base = name.rsplit('/').next().unwrap_or_default();
    if base != name {
        let mut words = part.words.clone();
        if let Some(first) = words.first_mut() {
            first.pieces = vec![super::shell::Piece::Text(base.to_owned())];
        }
        forms.push(words);
    }
    let valued: &[&str] = match base {
        "git" => &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"],
        "npm" | "pnpm" | "yarn" => &["--prefix", "-C", "--dir", "--cwd"],
        "docker" => &["-H", "--host", "--context", "--config", "-l"],
        "kubectl" => &["-n", "--namespace", "--context", "--kubeconfig", "--cluster"],
        "cargo" => &["-C", "--config", "-Z", "--color", "--manifest-path"],
        _ => return forms,
    };
    let mut at = 1;
    while let Some(text) =
        part.words.get(at).and_then(Word::literal).filter(|text| text.starts_with(['-', '+']))
    {
        at += if valued.contains(&text.as_str()) { 2 } else { 1 };
    }
    if at > 1
        && let (Some(last), Some(rest)) =
            (forms.last().and_then(|form| form.first()).cloned(), part.words.get(at..))
    {
        forms.push([&[last], rest].concat());
    }
    forms
}
