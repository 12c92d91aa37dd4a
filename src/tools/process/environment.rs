//! The environment that commands get: that of this process without its secrets.

use std::ffi::{OsStr, OsString};
use std::fmt;

/// Words in the name of a variable that make its value a secret.
const SECRET_WORDS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD"];
/// Secrets from this length on are also looked for inside longer values.
const LONG_SECRET: usize = 8;
/// Variables that no command can do without. They hold no secret, though a header that counts as
/// one (the user's name, for example) may occur in them.
const PLAIN: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "LANG", "TERM"];

/// The environment that commands get.
#[derive(Clone, Default)]
pub struct ChildEnv {
    variables: Vec<(OsString, OsString)>,
}

impl fmt::Debug for ChildEnv {
    /// Values stay out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChildEnv({} variables)", self.variables.len())
    }
}

impl ChildEnv {
    /// The environment of this process without secrets: variables whose value is one of
    /// `secrets`, and variables with KEY, TOKEN, SECRET, PASSWORD in their name unless
    /// listed in `pass`. `TAU_SESSION_ID` is set, `PAGER` and `GIT_PAGER` are `cat`.
    pub fn new(secrets: &[String], pass: &[String], session_id: &str) -> Self {
        ChildEnv::from_variables(std::env::vars_os(), secrets, pass, session_id)
    }

    /// Like [`ChildEnv::new`], from the variables given.
    pub fn from_variables(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        secrets: &[String],
        pass: &[String],
        session_id: &str,
    ) -> Self {
        let passes = |name: &OsStr| pass.iter().any(|allowed| OsStr::new(allowed) == name);
        let mut variables: Vec<(OsString, OsString)> = variables
            .into_iter()
            .filter(|(name, value)| passes(name) || !is_secret(name, value, secrets))
            .collect();
        let ours = [("TAU_SESSION_ID", session_id), ("PAGER", "cat"), ("GIT_PAGER", "cat")];
        variables.retain(|(name, _)| !ours.iter().any(|(own, _)| OsStr::new(own) == name));
        variables.extend(ours.map(|(name, value)| (name.into(), value.into())));
        ChildEnv { variables }
    }

    /// Names and values, in no particular order.
    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }
}

/// Whether the name of a variable says that its value is secret.
pub(crate) fn is_secret_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
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
    is_secret_name(name) || secrets.iter().any(holds)
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
                "TAU_SESSION_ID=s1"
            ]
        );
        assert!(!format!("{env:?}").contains("passed"));
    }
}
