//! The environment for commands: that of this process, without its secrets.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::process::Command;

use super::git;
use super::no_editor::{self, StandIns};
use super::secret_variables::{is_secret_value, secret_name};
use crate::scratch::Scratch;

/// Secrets of at least this length are also searched for inside longer values.
const LONG_SECRET: usize = 8;
/// Variables that every command needs. They hold no secret, though a header that counts as one (the user's
/// name, for example) may occur in them.
const PLAIN: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "LANG", "TERM"];
/// More variables for tau's own helpers, git and the clipboard programs: the user's session and display.
const HELPER: &[&str] = &[
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "LC_ALL",
    "LC_CTYPE",
    "TMUX",
    "TMUX_TMPDIR",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
];

/// The variables that name an editor, including those that programs read before or in place of `EDITOR`.
const EDITORS: &[&str] = &[
    "EDITOR",
    "FCEDIT",
    "GH_EDITOR",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "HGEDITOR",
    "JJ_EDITOR",
    "KUBE_EDITOR",
    "SUDO_EDITOR",
    "SVN_EDITOR",
    "VISUAL",
];
/// The variable with the session's id.
pub(super) const SESSION: &str = "TAU_SESSION_ID";

/// The environment for commands.
#[derive(Clone, Default)]
pub struct ChildEnv {
    variables: Vec<(OsString, OsString)>,
}

impl fmt::Debug for ChildEnv {
    /// Keeps values out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChildEnv({} variables)", self.variables.len())
    }
}

impl ChildEnv {
    /// The environment of this process without secrets: omits variables whose value contains one of
    /// `secrets` or is shaped like a key, and variables with secret-sounding names, unless listed in `pass`.
    /// Sets `TAU_SESSION_ID`, and `PAGER` and `GIT_PAGER` to `cat`.
    pub fn new(secrets: &[String], pass: &[String], session_id: &str) -> Self {
        ChildEnv::from_variables(std::env::vars_os(), secrets, pass, session_id)
    }

    /// Like [`ChildEnv::new`], from the given variables.
    pub fn from_variables(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        secrets: &[String],
        pass: &[String],
        session_id: &str,
    ) -> Self {
        let ChildEnv { mut variables } = ChildEnv::without_secrets(variables, secrets, pass);
        let ours = [(SESSION, session_id), ("PAGER", "cat"), ("GIT_PAGER", "cat")];
        variables.retain(|(name, _)| !ours.iter().any(|(own, _)| OsStr::new(own) == name));
        variables.extend(ours.map(|(name, value)| (name.into(), value.into())));
        ChildEnv { variables }
    }

    /// The environment for commands of the model: any editor they open exits at once and says what to do.
    pub(crate) fn without_editors(&self, scratch: &Scratch) -> Self {
        let stand_ins = StandIns::of(scratch);
        let is_editor = |name: &OsStr| EDITORS.iter().any(|known| name == OsStr::new(known));
        let others = self.variables.iter().filter(|(name, _)| !is_editor(name)).cloned();
        let command = stand_ins.as_ref().map_or(OsStr::new(no_editor::COMMAND), |found| &found.command);
        let none = EDITORS.iter().map(|name| (name.into(), command.into()));
        let mut variables: Vec<(OsString, OsString)> = others.chain(none).collect();
        let path = variables.iter_mut().find(|(name, _)| name == "PATH");
        if let (Some((_, path)), Some(stand_ins)) = (path, stand_ins) {
            let folders = std::iter::once(stand_ins.folder).chain(std::env::split_paths(path));
            if let Ok(joined) = std::env::join_paths(folders) {
                *path = joined;
            }
        }
        ChildEnv { variables }
    }

    /// Without the variables that name a repository: git uses the one around its directory.
    #[must_use]
    pub fn without_repository(mut self) -> Self {
        self.variables.retain(|(name, _)| !git::names_repository(name));
        self
    }

    /// The variables without secrets, with nothing added.
    pub fn without_secrets(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        secrets: &[String],
        pass: &[String],
    ) -> Self {
        let passes = |name: &OsStr| pass.iter().any(|allowed| OsStr::new(allowed) == name);
        let shown = |(name, value): &(OsString, OsString)| passes(name) || !is_secret(name, value, secrets);
        ChildEnv { variables: variables.into_iter().filter(shown).collect() }
    }

    /// The environment for tau's own helpers: git, clipboard programs. Leaves out all variables not known to
    /// be needed.
    pub fn of_helpers() -> Self {
        let known = |name: &OsStr| PLAIN.iter().chain(HELPER).any(|known| name == OsStr::new(known));
        ChildEnv { variables: std::env::vars_os().filter(|(name, _)| known(name)).collect() }
    }

    /// Gives a program this environment and no other variables.
    pub fn apply(&self, command: &mut Command) {
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_os_str())
    }

    /// Names and values, in no particular order.
    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }
}

fn is_secret(name: &OsStr, value: &OsStr, secrets: &[String]) -> bool {
    if PLAIN.iter().any(|plain| name == OsStr::new(plain)) {
        return false;
    }
    let value = value.to_string_lossy();
    let holds = |secret: &String| match secret.len() {
        0 => false,
        length if length < LONG_SECRET => value == secret.as_str(),
        _ => value.contains(secret.as_str()),
    };
    secret_name(name).is_some() || secrets.iter().any(holds) || is_secret_value(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_out_unless_passed_by_name() {
        let given = [
            ("PATH", "/bin"),
            ("HOME", "/home/long-secret-value"),
            ("OPENAI_API_KEY", "sk-1"),
            ("my_token", "t"),
            ("INNOCENT", "abc"),
            ("HEADER", "Bearer long-secret-value"),
            ("GITHUB_TOKEN", "passed"),
            ("DB_PASS", "x"),
            ("DATABASE_URL", "postgres://app:pw@db/x"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("PAGER", "less"),
            ("TAU_SESSION_ID", "outer"),
        ];
        let given = given.map(|(name, value)| (name.into(), value.into()));
        let secrets = ["abc".into(), "long-secret-value".into(), String::new()];
        let env = ChildEnv::from_variables(given, &secrets, &["GITHUB_TOKEN".into()], "s1");
        let mut names: Vec<String> = env
            .variables()
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "GITHUB_TOKEN=passed",
                "GIT_PAGER=cat",
                "HOME=/home/long-secret-value",
                "PAGER=cat",
                "PATH=/bin",
                "SSH_AUTH_SOCK=/run/agent",
                "TAU_SESSION_ID=s1"
            ]
        );
        assert!(!format!("{env:?}").contains("passed"));
    }
}
