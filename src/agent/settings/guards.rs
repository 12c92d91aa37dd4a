//! Detects settings files whose protective settings cannot be relied on.
//!
//! Protective settings are rules, hooks, the sandbox and the permission mode.
//!
//! If a file, or a line of it that may be one of these, cannot be read, the user is not protected by it.
//! Every call then needs approval until it is repaired.

use std::ffi::OsStr;
use std::path::Path;

use super::config_file::ConfigFile;
use super::table::{self, Settings};
use super::toml_file::read_toml_text;
use super::trust::Project;
use super::{hooks, names, permission_rules, toml_file};
use tau_tools::compare::close_matches;
use tau_tools::user_error::UserError;

/// The protective settings.
const GUARDS: [&str; 13] = *tau_tools::words!(
    "permission_mode permissions hooks claude_hooks sandbox.level sandbox.network sandbox.writable \
     sandbox.user_commands sandbox.hooks sandbox.mcp mask_secrets pass_env web_allow_private"
);

/// The protective settings that confine commands, and the values that replace unreadable ones.
const STAND_INS: [(&str, &str); 5] = [
    ("sandbox.level", "workspace-write"),
    ("sandbox.network", "off"),
    ("sandbox.user_commands", "true"),
    ("sandbox.hooks", "true"),
    ("sandbox.mcp", "true"),
];

/// The settings that a key names, or may name if it is an alias or misspelled.
fn matching_settings(key: &str) -> Vec<&'static str> {
    let rows = || table::TABLE.iter().map(|row| row.key);
    let of_table = || rows().filter(|key| key.starts_with("sandbox."));
    let renamed = names::replacement(key).map(|_| format!("sandbox.{}", key.trim_start_matches("sandbox_")));
    if let Some(same) = rows().find(|known| *known == renamed.as_deref().unwrap_or(key)) {
        return vec![same];
    }
    // Keys of a table or another name, at the top of the file.
    match key {
        "sandbox" => return vec!["sandbox.level"],
        "deny" | "ask" => return vec!["permissions"],
        "mode" => return vec!["permission_mode"],
        _ => {}
    }
    if !key.contains('.') && is_near(key, &["sandbox"]) {
        return of_table().collect();
    }
    let known: Vec<&'static str> = rows().collect();
    close_matches(key, &known, 1, 0.6)
}

fn is_near(word: &str, to: &[&str]) -> bool {
    !close_matches(word, to, 1, 0.7).is_empty()
}

/// Whether a key names a protective setting, even if misspelled.
fn guards(key: &str) -> bool {
    matching_settings(key).iter().any(|meant| GUARDS.contains(meant))
}

/// The replacements for unreadable sandbox settings in the user's file.
pub fn stand_in(config: &ConfigFile) -> Settings {
    match config.text() {
        Ok(text) => stand_in_for(config.path(), text.unwrap_or_default()),
        Err(_) => strict(&STAND_INS.map(|(key, _)| key)),
    }
}

/// If a text is not TOML, each line is parsed by itself.
fn stand_in_for(path: &Path, text: &str) -> Settings {
    let text = toml_file::bare(text);
    let (_, wrong) = toml_file::values_of::<Settings>(path, text);
    if wrong.iter().all(|(key, _)| !key.is_empty()) {
        let of_keys = wrong.iter().map(|(key, _)| strict(&matching_settings(key)));
        return of_keys.fold(Settings::default(), Settings::overlaid);
    }
    let (mut all, mut is_inside) = (Settings::default(), false);
    for line in text.lines().map(str::trim) {
        let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.');
        let name = line.trim_start_matches(['[', ' ', '\t', '"', '\'']).split(end).next().unwrap_or_default();
        if line.starts_with('[') {
            is_inside = is_near(name, &["sandbox"]);
            continue;
        }
        let (key, line) = match is_inside {
            true => (format!("sandbox.{name}"), format!("[sandbox]\n{line}")),
            false => (name.to_owned(), line.to_owned()),
        };
        let settings = matching_settings(&key);
        // Other settings are not used.
        if !name.is_empty() && settings.iter().any(|meant| STAND_INS.iter().any(|(known, _)| known == meant))
        {
            all = all.overlaid(read_toml_text(path, &line).unwrap_or_else(|_| strict(&settings)));
        }
    }
    all
}

/// The replacements for these settings; none for one that confines nothing.
fn strict(keys: &[&str]) -> Settings {
    let mut settings = Settings::default();
    for (key, value) in STAND_INS.iter().filter(|(key, _)| keys.contains(key)) {
        // The value is valid for the setting; a test ensures that.
        let _ = table::row(key).map(|row| row.set(&mut settings, OsStr::new(value)));
    }
    settings
}

/// The problem with the protective settings in the user's file and in those of these projects, with file and
/// line.
pub fn fault<'a>(config: &ConfigFile, mut projects: impl Iterator<Item = &'a Project>) -> Option<UserError> {
    let own = match config.text() {
        Ok(text) => of_text(config.path(), text.unwrap_or_default(), false),
        Err(error) => Some(error.clone()),
    };
    own.or_else(|| {
        projects
            .find_map(|project| project.settings_files().find_map(|(path, text)| of_text(&path, text, true)))
    })
}

fn of_text(path: &Path, text: &str, is_project: bool) -> Option<UserError> {
    let text = toml_file::bare(text);
    if let Err(error) = read_toml_text::<toml::Table>(path, text) {
        return Some(error);
    }
    let (_, wrong) = toml_file::values_of::<Settings>(path, text);
    let of_keys = wrong.into_iter().find(|(key, _)| guards(key)).map(|(_, error)| error);
    let of_rules = || permission_rules::of_text(path, text, is_project).1.into_iter().next();
    let of_hooks = || hooks::of_toml(path, text).1.into_iter().next();
    of_keys.or_else(of_rules).or_else(of_hooks)
}

/// The problem with protective settings in environment variables, and the replacements for those of the
/// sandbox.
pub fn fault_of_env(wrong: &[UserError]) -> Option<(UserError, Settings)> {
    let wrong: Vec<(&UserError, &str)> = GUARDS
        .iter()
        .filter_map(|key| {
            let prefix = format!("{}: ", table::row(key)?.columns.env?);
            Some((wrong.iter().find(|error| error.starts_with(&prefix))?, *key))
        })
        .collect();
    let (fault, _) = wrong.first()?;
    let stand_in = wrong.iter().fold(Settings::default(), |all, (_, key)| all.overlaid(strict(&[key])));
    Some(((*fault).clone(), stand_in))
}

/// The beginning of a notice of [`instead`].
pub const INSTEAD: &str = "instead of what cannot be read: ";

/// The replacements that are in force, as text for the user; `None` if there are none.
pub fn instead(stand_in: &Settings, in_force: &Settings) -> Option<String> {
    let rows = STAND_INS.iter().filter_map(|(key, _)| table::row(key));
    let used = rows.filter(|row| row.is_same(stand_in, in_force));
    let set = used.filter_map(|row| Some(format!("{} = {}", row.key, row.text(stand_in)?)));
    let set = set.collect::<Vec<_>>().join(", ");
    (!set.is_empty()).then(|| format!("{INSTEAD}{set}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_tools::sandbox::SandboxLevel;

    fn fault(text: &str) -> Option<String> {
        of_text(Path::new("c.toml"), text, false).map(String::from)
    }

    /// A sandbox that is set but unreadable is not off.
    #[test]
    fn what_confines_has_a_stand_in() {
        for (key, _) in STAND_INS {
            assert!(instead(&strict(&[key]), &strict(&[key])).is_some(), "{key}");
        }
        let words = |settings: &Settings| {
            let said = instead(settings, settings).unwrap_or_default();
            said.strip_prefix(INSTEAD).unwrap_or_default().to_owned()
        };
        let stand_in = |text: &str| words(&stand_in_for(Path::new("c.toml"), text));
        let all = "sandbox.level = workspace-write, sandbox.network = off, sandbox.user_commands = true, \
                   sandbox.hooks = true, sandbox.mcp = true";
        for (text, expected) in [
            ("", ""),
            ("theme = \n# sandbox = \"off\"\n", ""),
            ("theme = \n[timeouts]\nlevel = \"off\"\n", ""),
            ("[sandbox]\nlevel = \"read-only\"\n", ""),
            ("sandbox = \"read-only\"\n", "sandbox.level = workspace-write"),
            ("network = \"off\"\n", "sandbox.network = off"),
            ("sandbox_user_commands = true\n", "sandbox.user_commands = true"),
            ("[sandbox]\nlevel = \"workspace\"\n", "sandbox.level = workspace-write"),
            ("[sandbox]\nlevl = \"read-only\"\n", "sandbox.level = workspace-write"),
            ("[sandbx]\nlevel = \"read-only\"\n", all),
            ("[sandbox]\nlevel = \n", "sandbox.level = workspace-write"),
            (
                "[sandbox\nlevel \"read-only\"\nnetwork = off\n",
                "sandbox.level = workspace-write, sandbox.network = off",
            ),
            ("theme = \n[sandbox]\nlevel = \"read-only\" # as ever\n", "sandbox.level = read-only"),
            ("\u{feff}  sandbox.level = \"read-only\"\nx", "sandbox.level = read-only"),
            ("sandbox = { level = \"read-only\" }\nx", "sandbox.level = read-only"),
            (
                "theme = \n[sandbox]\nlevel = \"off\"\nnetwork = \"on\"\n",
                "sandbox.level = off, sandbox.network = on",
            ),
            ("x\n[sandbox]\nuser_commands = yes\nmcp=\n", "sandbox.user_commands = true, sandbox.mcp = true"),
        ] {
            assert_eq!(stand_in(text), expected, "{text}");
        }
        let wrong = |text: &str| [UserError::new(text.to_owned())];
        let (_, stand_in) = fault_of_env(&wrong("TAU_SANDBOX: `x` is not known")).unwrap();
        assert_eq!(words(&stand_in), "sandbox.level = workspace-write");
        let mut flags = Settings::default();
        flags.sandbox.level = Some(SandboxLevel::Off);
        assert_eq!(instead(&stand_in, &flags), None, "a flag goes before");
        assert!(fault_of_env(&wrong("TAU_THEME: no")).is_none());
    }

    #[test]
    fn what_guards_must_be_understood() {
        for text in [
            "sandbox = \n",
            "sandbox = \"workspace\"\n",
            "permision_mode = \"ask\"\n",
            "sandbox_writable = [\"x\"]\n",
            "network = \"off\"\n",
            "[sandbox]\nwriteable = [\"x\"]\n",
            "[sandbox]\nlevel = \"workspace\"\n",
            "permissions = 3\n",
            "[permissions]\ndeny = \"bash\"\n",
            "[permissions]\ndeny = [\"bash(\"]\n",
            "[permissions]\ndney = [\"bash\"]\n",
            "[[hooks.PreToolUse]]\ncomand = \"x\"\n",
            "[[hooks.PretoolUse]]\ncommand = \"x\"\n",
            "[[hooks.PreToolUse]]\ncommand = \"x\"\nfail = \"close\"\n",
            "theme = \"x\"\ntheme = \"y\"\n",
            "deny = [\"bash\"]\n",
            "ask = [\"bash\"]\n",
            "mode = \"plan\"\n",
        ] {
            assert!(
                fault(text).is_some_and(|fault| fault.starts_with("c.toml:")),
                "{text}: {:?}",
                fault(text)
            );
        }
        for text in [
            "",
            "theme = 3\n",
            "prose_wdth = 3\n",
            "[sandbox]\nlevel = \"workspace-write\"\n",
            "connect_timeout = 3\n",
            "\u{feff}theme = \"x\"\n",
        ] {
            assert_eq!(fault(text), None, "{text}");
        }
    }
}
