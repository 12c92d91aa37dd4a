//! The environment for commands: that of this process, without its secrets.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::process::Command;

use super::git;
use super::no_editor::{self, StandIns};
use super::secret_variables::{SecretName, is_secret_value, is_secret_variable, secret_name};
use crate::recognise;
use crate::scratch::Scratch;

/// Secrets of at least this length are also searched for inside longer values.
const LONG_SECRET: usize = 8;
/// Variables that every command needs. They hold no secret, though a header that counts as one (the user's
/// name, for example) may occur in them.
const PLAIN: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "LANG", "TERM"];
/// More variables for tau's own helpers, git and the clipboard programs: the user's session and display.
const HELPER: &[&str] = crate::words!(
    "DBUS_SESSION_BUS_ADDRESS DISPLAY LC_ALL LC_CTYPE TMUX TMUX_TMPDIR WAYLAND_DISPLAY XAUTHORITY \
     XDG_CONFIG_HOME XDG_RUNTIME_DIR"
);

/// The variables that name an editor, including those that programs read before or in place of `EDITOR`.
const EDITORS: &[&str] = crate::words!(
    "EDITOR FCEDIT GH_EDITOR GIT_EDITOR GIT_SEQUENCE_EDITOR HGEDITOR JJ_EDITOR KUBE_EDITOR SUDO_EDITOR \
     SVN_EDITOR VISUAL"
);
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
        let ours = [("PAGER", "cat"), ("GIT_PAGER", "cat")];
        variables.retain(|(name, _)| !ours.iter().any(|(own, _)| OsStr::new(own) == name));
        variables.extend(ours.map(|(name, value)| (name.into(), value.into())));
        ChildEnv { variables }.for_session(session_id)
    }

    /// Names the session of the commands.
    #[must_use]
    pub fn for_session(mut self, id: &str) -> Self {
        self.variables.retain(|(name, _)| name != SESSION);
        self.variables.push((SESSION.into(), id.into()));
        self
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
        let is_hidden = |name: &OsStr, value: &OsStr| !passes(name) && is_secret(name, value, secrets);
        let (settings, mut others): (Vec<_>, Vec<_>) =
            variables.into_iter().partition(|(name, _)| git::is_of_settings(name));
        others.retain(|(name, value)| !is_hidden(name, value));
        others.extend(git::settings_without(&settings, |variable, name, value| {
            !passes(variable) && is_secret_setting(name, value, secrets)
        }));
        ChildEnv { variables: others }
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

/// Whether a setting of git has a secret, in its name (`url.https://token@host/.insteadOf`) or its value.
fn is_secret_setting(name: &OsStr, value: &OsStr, secrets: &[String]) -> bool {
    let full = name.to_string_lossy();
    let last = full.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    // The first is a header with a password, the second the name of a key.
    let is_told = match last.as_str() {
        "extraheader" => true,
        "signingkey" => false,
        last => {
            secret_name(OsStr::new(last)) == Some(SecretName::Value)
                && recognise::is_own_secret(&value.to_string_lossy())
        }
    };
    let has_secret = |text: &OsStr| is_secret_text(&text.to_string_lossy(), secrets);
    is_told || has_secret(name) || has_secret(value)
}

fn is_secret(name: &OsStr, value: &OsStr, secrets: &[String]) -> bool {
    if PLAIN.iter().any(|plain| name == OsStr::new(plain)) {
        return false;
    }
    let value = value.to_string_lossy();
    is_secret_variable(name, &value) || is_secret_text(&value, secrets)
}

/// Whether a value contains one of `secrets`, or is shaped like one.
fn is_secret_text(value: &str, secrets: &[String]) -> bool {
    let holds = |secret: &String| match secret.len() {
        0 => false,
        length if length < LONG_SECRET => value == secret.as_str(),
        _ => value.contains(secret.as_str()),
    };
    secrets.iter().any(holds) || is_secret_value(value)
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
                "GITHUB_TOKEN=passed", "GIT_PAGER=cat", "HOME=/home/long-secret-value", "PAGER=cat",
                "PATH=/bin", "SSH_AUTH_SOCK=/run/agent", "TAU_SESSION_ID=s1"
            ]
        );
        assert!(!format!("{env:?}").contains("passed"));
    }

    #[test]
    fn settings_of_git_stay_complete_without_the_secret_ones() {
        let settings = [
            ("safe.directory", "*"),
            ("http.https://github.com/.extraHeader", "AUTHORIZATION: basic eDp5"),
            ("user.signingKey", "A1B2C3D4E5F60718"),
            ("url.https://x-access-token:abc@github.com/.insteadOf", "https://github.com/"),
            ("credential.helper", "store"),
            ("github.token", "9f8a7c6d5e4b3a21"),
            ("x.y", "has long-secret-value"),
            ("passed.token", "8e7f6a5b4c3d2e10"),
            ("core.pager", "less"),
            ("beyond.count", "1"),
        ];
        let of = |(at, (name, value)): (usize, &(&'static str, &'static str))| {
            [(format!("GIT_CONFIG_KEY_{at}"), *name), (format!("GIT_CONFIG_VALUE_{at}"), *value)]
        };
        let given = settings.iter().enumerate().flat_map(of);
        let given =
            given.chain([("GIT_CONFIG_COUNT".to_owned(), "9"), ("GIT_CONFIG_GLOBAL".to_owned(), "/g")]);
        let given: Vec<(OsString, OsString)> =
            given.map(|(name, value)| (name.into(), value.into())).collect();
        let passed = ["GIT_CONFIG_KEY_7".to_owned()];
        let env = ChildEnv::without_secrets(given, &["long-secret-value".to_owned()], &passed);
        let shown = |name: &str| env.get(name).map(|value| value.display().to_string()).unwrap_or_default();
        let kept = [&settings[0], &settings[2], &settings[4], &settings[7], &settings[8]];
        for (at, (name, value)) in kept.into_iter().enumerate() {
            let pair = (shown(&format!("GIT_CONFIG_KEY_{at}")), shown(&format!("GIT_CONFIG_VALUE_{at}")));
            assert_eq!(pair, ((*name).to_owned(), (*value).to_owned()));
        }
        assert_eq!((shown("GIT_CONFIG_COUNT").as_str(), shown("GIT_CONFIG_GLOBAL").as_str()), ("5", "/g"));
        assert_eq!(env.variables().len(), 12);
    }
}
