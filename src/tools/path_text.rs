//! Paths as text that keeps every byte, for JSON and other formats that have no bytes: the path itself if it is
//! UTF-8, else `bytes:` and its bytes in hexadecimal. For fields of types: `#[serde(with = "tau_tools::path_text")]`.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::hashes::{from_hexadecimal, hexadecimal};

const PREFIX: &str = "bytes:";

/// The path as text.
pub fn text(path: &Path) -> Cow<'_, str> {
    match path.to_str() {
        Some(text) if !text.starts_with(PREFIX) => Cow::Borrowed(text),
        _ => Cow::Owned(format!("{PREFIX}{}", hexadecimal(path.as_os_str().as_bytes()))),
    }
}

/// The path of a text. One that [`text`] did not write is a path.
pub fn path(text: String) -> PathBuf {
    let bytes = text.strip_prefix(PREFIX).and_then(from_hexadecimal);
    PathBuf::from(bytes.map_or_else(|| OsString::from(text), OsString::from_vec))
}

/// A value of paths that has a form of texts.
pub trait PathText: Sized {
    /// The form.
    type Text<'a>: Serialize
    where
        Self: 'a;
    /// The form as it is read.
    type Read: for<'de> Deserialize<'de>;

    /// The value as text.
    fn to_text(&self) -> Self::Text<'_>;
    /// The value of a text.
    fn of_text(text: Self::Read) -> Self;
}

impl PathText for PathBuf {
    type Text<'a> = Cow<'a, str>;
    type Read = String;

    fn to_text(&self) -> Cow<'_, str> {
        text(self)
    }

    fn of_text(text: String) -> Self {
        path(text)
    }
}

impl<T: PathText> PathText for Option<T> {
    type Text<'a>
        = Option<T::Text<'a>>
    where
        T: 'a;
    type Read = Option<T::Read>;

    fn to_text(&self) -> Self::Text<'_> {
        self.as_ref().map(T::to_text)
    }

    fn of_text(text: Self::Read) -> Self {
        text.map(T::of_text)
    }
}

impl<T: PathText> PathText for Vec<T> {
    type Text<'a>
        = Vec<T::Text<'a>>
    where
        T: 'a;
    type Read = Vec<T::Read>;

    fn to_text(&self) -> Self::Text<'_> {
        self.iter().map(T::to_text).collect()
    }

    fn of_text(text: Self::Read) -> Self {
        text.into_iter().map(T::of_text).collect()
    }
}

/// A path and a line in it.
impl PathText for (PathBuf, usize) {
    type Text<'a> = (Cow<'a, str>, usize);
    type Read = (String, usize);

    fn to_text(&self) -> Self::Text<'_> {
        (text(&self.0), self.1)
    }

    fn of_text((text, line): Self::Read) -> Self {
        (path(text), line)
    }
}

/// Writes a field of paths.
pub fn serialize<T: PathText, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.to_text().serialize(serializer)
}

/// Reads a field of paths.
pub fn deserialize<'de, T: PathText, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::Read::deserialize(deserializer).map(T::of_text)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn every_path_comes_back() {
        let cases: [(&[u8], &str); 6] = [
            (b"/srv/web", "/srv/web"),
            (b"/a\xff", "bytes:2f61ff"),
            (b"/a\xfe", "bytes:2f61fe"),
            (b"bytes:00", "bytes:62797465733a3030"),
            ("/\u{e9}\u{fffd}".as_bytes(), "/\u{e9}\u{fffd}"),
            (b"", ""),
        ];
        for (bytes, written) in cases {
            let given = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(text(given), written);
            assert_eq!(path(written.to_owned()), given, "{written}");
        }
        assert_eq!(path("bytes:x".to_owned()), Path::new("bytes:x"));
    }
}
