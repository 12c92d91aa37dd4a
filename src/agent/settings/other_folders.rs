//! The user's folders of other agents, where the variables of these agents put them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folders in which other agents keep the user's settings, instructions and extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherFolders {
    home: PathBuf,
    /// The usual place of a folder below the home directory, and where it is.
    moved: Vec<(&'static str, PathBuf)>,
}

/// The variables that name a folder, what they name, and what is below.
const VARIABLES: [(&str, &str, &str); 4] = [
    ("CLAUDE_CONFIG_DIR", ".claude", ""),
    ("CODEX_HOME", ".codex", ""),
    ("PI_CODING_AGENT_DIR", ".pi/agent", ""),
    ("XDG_CONFIG_HOME", ".config/opencode", "opencode"),
];

/// The folder that a variable names. A value of the XDG Base Directory Specification that is not absolute counts as
/// none, as that wants: it would be another folder in every directory.
pub(crate) fn folder_from_env(name: &str, env: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let value = PathBuf::from(env(name).filter(|value| !value.is_empty())?);
    (value.is_absolute() || !name.starts_with("XDG_")).then_some(value)
}

impl OtherFolders {
    /// The folders below a home directory, with what the variables say.
    pub fn of(home: &Path, env: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let moved = VARIABLES.iter().filter_map(|(name, usual, below)| {
            let value = folder_from_env(name, env)?;
            Some((*usual, if below.is_empty() { value } else { value.join(below) }))
        });
        OtherFolders { home: home.to_owned(), moved: moved.collect() }
    }

    /// The folders below a home directory, without variables.
    pub fn usual(home: &Path) -> Self {
        OtherFolders { home: home.to_owned(), moved: Vec::new() }
    }

    /// The folders in this environment; `None` without a home directory.
    pub fn here() -> Option<Self> {
        let home = directories::BaseDirs::new()?.home_dir().to_owned();
        Some(Self::of(&home, &|name| std::env::var_os(name)))
    }

    /// The place of a file or folder that is usually at `usual` below the home directory, such as `.claude/skills`.
    pub fn place(&self, usual: &str) -> PathBuf {
        let below = self.moved.iter().find_map(|(folder, place)| {
            let rest = usual.strip_prefix(folder)?;
            match rest.strip_prefix('/') {
                Some(rest) => Some(place.join(rest)),
                None => rest.is_empty().then(|| place.clone()),
            }
        });
        below.unwrap_or_else(|| self.home.join(usual))
    }

    /// The file in which Claude Code keeps its state, with MCP servers.
    pub fn claude_state(&self) -> PathBuf {
        let is_moved = self.moved.iter().any(|(folder, _)| *folder == ".claude");
        if is_moved { self.place(".claude/.claude.json") } else { self.home.join(".claude.json") }
    }

    /// The files of settings in folders that variables name: rules are read from them, and programs are started.
    pub fn moved_settings(&self) -> Vec<PathBuf> {
        let files = [".claude/settings.json", ".claude/.claude.json", ".codex/config.toml"];
        let is_moved = |file: &&str| self.moved.iter().any(|(folder, _)| file.starts_with(folder));
        files.iter().filter(|file| is_moved(file)).map(|file| self.place(file)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_where_the_variables_say() {
        let env = |name: &str| match name {
            "CLAUDE_CONFIG_DIR" => Some("/cc".into()),
            "CODEX_HOME" => Some("".into()),
            "XDG_CONFIG_HOME" => Some("/xdg".into()),
            _ => None,
        };
        let folders = OtherFolders::of(Path::new("/h"), &env);
        for (usual, place) in [
            (".claude", "/cc"),
            (".claude/skills", "/cc/skills"),
            (".claude.json", "/h/.claude.json"),
            (".codex/prompts", "/h/.codex/prompts"),
            (".config/opencode/command", "/xdg/opencode/command"),
            (".agents/skills", "/h/.agents/skills"),
        ] {
            assert_eq!(folders.place(usual), Path::new(place), "{usual}");
        }
        assert_eq!(folders.claude_state(), Path::new("/cc/.claude.json"));
        assert_eq!(folders.moved_settings(), [Path::new("/cc/settings.json"), Path::new("/cc/.claude.json")]);
        let relative = OtherFolders::of(Path::new("/h"), &|_| Some("rel".into()));
        assert_eq!(relative.place(".config/opencode"), Path::new("/h/.config/opencode"));
        let usual = OtherFolders::usual(Path::new("/h"));
        assert_eq!(usual.claude_state(), Path::new("/h/.claude.json"));
        assert!(usual.moved_settings().is_empty());
    }
}
