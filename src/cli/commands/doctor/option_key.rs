//! Checks whether Option sends Escape on a Mac, so that keys with Alt arrive, and how to set it.
//!
//! Terminals store that in files of their own; pure functions interpret them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::report::{Advice, Fact, Section};
use crate::import::found::without_comments;
use tau_tools::regular_files::read_text;

/// Larger files are not settings.
const MAX_SIZE: u64 = 4 << 20;

/// The effect of Option with a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sends {
    /// Alt arrives.
    Escape,
    /// A character is typed: `†` for Option+T.
    Character,
    /// It sends Alt with a layout like the American one, else characters.
    ByLayout,
}

/// A terminal whose setting is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terminal {
    Apple,
    ITerm,
    Ghostty,
    Kitty,
    Code,
}

/// The parts of the machine that are read.
struct Machine<'a> {
    home: &'a Path,
    variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file.
    file: &'a dyn Fn(&Path) -> Option<String>,
    /// The preferences of a program, as an XML property list.
    preferences: &'a dyn Fn(&str) -> Option<String>,
}

/// Whether the question applies: on a Mac, and over ssh, where a Mac may be at the other end.
pub(super) fn is_asked() -> bool {
    cfg!(target_os = "macos") || is_far()
}

fn is_far() -> bool {
    std::env::var_os("SSH_CONNECTION").is_some_and(|value| !value.is_empty())
}

/// The effect of Option.
pub(super) fn option_key() -> Section {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let file = |path: &Path| read_text(path, MAX_SIZE).ok();
    let home = std::env::home_dir().unwrap_or_default();
    let machine = Machine { home: &home, variable: &variable, file: &file, preferences: &read_preferences };
    if is_far() { over_ssh() } else { examine(&machine) }
}

pub(super) const NAME: &str = "option key";

/// The preferences of a program on a Mac.
fn read_preferences(domain: &str) -> Option<String> {
    let mut command = Command::new("/usr/bin/defaults");
    command.args(["export", domain, "-"]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

fn over_ssh() -> Section {
    let mut section = Section::new(NAME);
    let text = "not known over ssh; press Option+T (Alt+T) in tau: if it types a character, your terminal does not send \
                Alt, and ctrl+x t does the same";
    section.add(Fact::value("sends", text, ()));
    section
}

fn examine(machine: &Machine) -> Section {
    let mut section = Section::new(NAME);
    let Some(terminal) = terminal(machine.variable) else {
        let text = "not known for this terminal; press Option+T in tau: if it types †, set Option to send Escape or Alt";
        section.add(Fact::value("sends", text, ()));
        return section;
    };
    let (sends, how) = match terminal {
        Terminal::Apple => apple(machine),
        Terminal::ITerm => iterm(machine),
        Terminal::Ghostty => ghostty(machine),
        Terminal::Kitty => kitty(machine),
        Terminal::Code => code(machine),
    };
    let (text, value) = match sends {
        Sends::Escape => ("Escape: keys with Alt arrive", "escape"),
        Sends::Character => ("a character: keys with Alt do not arrive", "character"),
        Sends::ByLayout => ("Alt with an American layout of the keyboard, else a character", "by layout"),
    };
    section.add(Fact::value("sends", text, value));
    if sends != Sends::Escape {
        let text =
            format!("to use keys with Alt, {how}; without it ctrl+x and a key do the same (see /keys)");
        section.advise(Advice::Hint(text));
    }
    section
}

/// The terminal that a Mac's program runs in, even through tmux and screen, which keep these variables.
fn terminal(variable: &dyn Fn(&str) -> Option<String>) -> Option<Terminal> {
    let named = |name: &str| match name {
        "Apple_Terminal" | "com.apple.Terminal" => Some(Terminal::Apple),
        "iTerm.app" | "iTerm2" | "com.googlecode.iterm2" => Some(Terminal::ITerm),
        "ghostty" | "com.mitchellh.ghostty" => Some(Terminal::Ghostty),
        "kitty" | "xterm-kitty" | "net.kovidgoyal.kitty" => Some(Terminal::Kitty),
        "vscode" => Some(Terminal::Code),
        bundle if CODES.iter().any(|(known, _)| bundle == *known) => Some(Terminal::Code),
        _ => None,
    };
    let names = ["TERM_PROGRAM", "TERM", "LC_TERMINAL", "__CFBundleIdentifier"];
    let by_name = names.iter().find_map(|name| named(&variable(name)?));
    let by_trace = [
        ("KITTY_WINDOW_ID", Terminal::Kitty),
        ("GHOSTTY_RESOURCES_DIR", Terminal::Ghostty),
        ("ITERM_SESSION_ID", Terminal::ITerm),
    ];
    by_name.or_else(|| by_trace.iter().find_map(|(name, terminal)| variable(name).map(|_| *terminal)))
}

fn apple(machine: &Machine) -> (Sends, String) {
    let how = "check Settings > Profiles > Keyboard > Use Option as Meta key in Terminal".to_owned();
    let preferences = (machine.preferences)("com.apple.Terminal").and_then(|text| plist(&text));
    let profile = preferences.as_ref().and_then(|all| {
        all.get("Window Settings")?
            .get(all.get("Default Window Settings")?.as_str()?)?
            .get("useOptionAsMetaKey")
    });
    let sends =
        if profile.is_some_and(|set| set == true || set == 1) { Sends::Escape } else { Sends::Character };
    (sends, how)
}

fn iterm(machine: &Machine) -> (Sends, String) {
    let how = "set Settings > Profiles > Keys > General > Left Option key to Esc+ in iTerm2".to_owned();
    let preferences = (machine.preferences)("com.googlecode.iterm2").and_then(|text| plist(&text));
    let named = (machine.variable)("ITERM_PROFILE");
    let profile = preferences.as_ref().and_then(|all| {
        let profiles = all.get("New Bookmarks")?.as_array()?;
        let usual = all.get("Default Bookmark Guid");
        let by_name = profiles.iter().find(|one| named.is_some() && one["Name"].as_str() == named.as_deref());
        by_name.or_else(|| profiles.iter().find(|one| one.get("Guid") == usual))
    });
    // 0 types characters, 1 sets the eighth bit, which is no UTF-8, 2 sends Escape.
    let sends = profile.is_some_and(|one| one["Option Key Sends"] == 2);
    (if sends { Sends::Escape } else { Sends::Character }, how)
}

fn ghostty(machine: &Machine) -> (Sends, String) {
    let folder = machine.home.join("Library/Application Support/com.mitchellh.ghostty");
    let config = config_home(machine).join("ghostty");
    // The later file counts.
    let files = [&config, &folder].map(|folder| [folder.join("config"), folder.join("config.ghostty")]);
    let files: Vec<PathBuf> = files.into_iter().flatten().collect();
    let value = last_value(machine, &files, "macos-option-as-alt");
    let sends = match value.as_deref() {
        Some("true" | "left" | "right") => Sends::Escape,
        Some("false") => Sends::Character,
        _ => Sends::ByLayout,
    };
    (sends, format!("put macos-option-as-alt = left into {}", config.join("config").display()))
}

fn kitty(machine: &Machine) -> (Sends, String) {
    let own = (machine.variable)("KITTY_CONFIG_DIRECTORY").map(PathBuf::from);
    let folder = own.unwrap_or_else(|| config_home(machine).join("kitty"));
    let other = machine.home.join("Library/Preferences/kitty/kitty.conf");
    let value = last_value(machine, &[other, folder.join("kitty.conf")], "macos_option_as_alt");
    let is_set = matches!(value.as_deref(), Some("yes" | "both" | "left" | "right"));
    let sends = if is_set { Sends::Escape } else { Sends::Character };
    (sends, format!("put macos_option_as_alt left into {}", folder.join("kitty.conf").display()))
}

/// Editors with VS Code's terminal, and their folders.
const CODES: [(&str, &str); 4] = [
    ("com.microsoft.VSCode", "Code"),
    ("com.microsoft.VSCodeInsiders", "Code - Insiders"),
    ("com.vscodium", "VSCodium"),
    ("com.todesktop.230313mzl4w4u92", "Cursor"),
];

fn code(machine: &Machine) -> (Sends, String) {
    let bundle = (machine.variable)("__CFBundleIdentifier");
    let folder =
        CODES.iter().find(|(known, _)| bundle.as_deref() == Some(*known)).map_or("Code", |(_, name)| name);
    let path = machine.home.join("Library/Application Support").join(folder).join("User/settings.json");
    let settings =
        (machine.file)(&path).and_then(|text| serde_json::from_str::<Value>(&without_comments(&text)).ok());
    let is_set = settings.is_some_and(|all| all["terminal.integrated.macOptionIsMeta"] == true);
    let sends = if is_set { Sends::Escape } else { Sends::Character };
    (sends, format!("put \"terminal.integrated.macOptionIsMeta\": true into {}", path.display()))
}

fn config_home(machine: &Machine) -> PathBuf {
    let set = (machine.variable)("XDG_CONFIG_HOME").map(PathBuf::from).filter(|set| set.is_absolute());
    set.unwrap_or_else(|| machine.home.join(".config"))
}

/// The last value of a setting in files with lines such as `name = value` and `name value`.
fn last_value(machine: &Machine, files: &[PathBuf], name: &str) -> Option<String> {
    let texts = files.iter().filter_map(|path| (machine.file)(path));
    let of_line = |line: &str| {
        let rest = line.trim().strip_prefix(name)?;
        let value = rest.trim_start().trim_start_matches('=').trim().trim_matches('"');
        rest.starts_with([' ', '\t', '=']).then(|| value.to_ascii_lowercase())
    };
    let values: Vec<String> =
        texts.flat_map(|text| text.lines().filter_map(of_line).collect::<Vec<_>>()).collect();
    values.into_iter().next_back()
}

/// Parses a property list in XML as a value; anything but a text, number, flag, list or table is null.
fn plist(text: &str) -> Option<Value> {
    let mut rest = text.get(text.find("<plist")?..)?;
    rest = rest.get(rest.find('>')? + 1..)?;
    element(&mut rest, 0)
}

/// Maximum nesting.
const MAX_DEPTH: usize = 32;

/// The next tag without its marks; the text continues behind it.
fn tag<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let from = rest.get(rest.find('<')? + 1..)?;
    let (name, behind) = from.split_once('>')?;
    *rest = behind;
    Some(name)
}

/// The element at the start of the text; `None` at the end of a list.
fn element(rest: &mut &str, depth: usize) -> Option<Value> {
    let name = tag(rest).filter(|name| !name.starts_with('/') && depth < MAX_DEPTH)?;
    let value = match name {
        "true/" => Value::Bool(true),
        "false/" => Value::Bool(false),
        "dict/" | "array/" | "string/" | "data/" => Value::Null,
        "array" => {
            let mut all = Vec::new();
            while let Some(one) = element(rest, depth + 1) {
                all.push(one);
            }
            Value::Array(all)
        }
        "dict" => {
            let mut all = serde_json::Map::new();
            while let Some(key) = element(rest, depth + 1) {
                let value = element(rest, depth + 1)?;
                all.insert(key.as_str().unwrap_or_default().to_owned(), value);
            }
            Value::Object(all)
        }
        kind => {
            let (text, behind) = rest.split_once('<')?;
            *rest = behind.get(behind.find('>')? + 1..)?;
            let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            match kind {
                "integer" => plain.trim().parse::<i64>().map_or(Value::Null, Value::from),
                "key" | "string" => Value::String(plain),
                _ => Value::Null,
            }
        }
    };
    Some(value)
}

#[cfg(test)]
mod tests;
