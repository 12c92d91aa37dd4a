//! A value that must not be seen: keys and tokens.
//!
//! It has no `Display` and no `Serialize`, and its `Debug` shows nothing. The one way out is
//! [`Secret::expose`], which occurs where a request header is written.

/// A key or token.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value; surrounding white space, which a pasted key often has, is dropped.
    pub fn new(value: impl AsRef<str>) -> Self {
        Secret(value.as_ref().trim().to_owned())
    }

    /// The value itself, for a request header.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True when there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `text` with every occurrence of this value replaced by `[redacted]`.
    pub fn redact(&self, text: &str) -> String {
        if self.0.len() < 8 {
            return text.to_owned();
        }
        text.replace(&self.0, "[redacted]")
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}
