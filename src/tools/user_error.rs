//! A failure in words for the user.

use std::fmt;
use std::ops::Deref;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A failure in words for the user: what failed, why, and what to do about it. It may be a part of a longer sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[derive(thiserror::Error)]
#[serde(transparent)]
#[error("{0}")]
pub struct UserError(String);

impl UserError {
    /// An error that only says what failed.
    pub fn new(what: impl Into<String>) -> Self {
        UserError(what.into())
    }

    /// An error of a library, which says what failed.
    pub fn of(error: impl fmt::Display) -> Self {
        UserError(error.to_string())
    }

    /// An error about a file.
    pub fn of_file(path: &Path, what: impl fmt::Display) -> Self {
        UserError(format!("{}: {what}", path.display()))
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(self, cause: impl fmt::Display) -> Self {
        UserError(format!("{self}: {cause}"))
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn remedy(self, remedy: impl fmt::Display) -> Self {
        UserError(format!("{self}; {remedy}"))
    }
}

impl Deref for UserError {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for UserError {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<String> for UserError {
    fn from(text: String) -> Self {
        UserError(text)
    }
}

impl From<&str> for UserError {
    fn from(text: &str) -> Self {
        UserError(text.to_owned())
    }
}

impl From<UserError> for String {
    fn from(error: UserError) -> String {
        error.0
    }
}

impl PartialEq<str> for UserError {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for UserError {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_comes_first_and_what_to_do_last() {
        let error = UserError::of_file(Path::new("a.toml"), "it cannot be read");
        let error = error.because(std::io::Error::from_raw_os_error(13)).remedy("make it readable");
        assert_eq!(error, "a.toml: it cannot be read: Permission denied (os error 13); make it readable");
        assert_eq!(serde_json::to_value(&error).unwrap(), serde_json::json!(error.to_string()));
    }
}
