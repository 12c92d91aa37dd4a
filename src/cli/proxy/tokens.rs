//! `proxy.toml`: the tokens that may ask models through `tau proxy`, and their limits.
//!
//! A table for each token: its SHA-256 in hexadecimal and its limits. The tokens themselves are not stored: a
//! new one has 256 random bits, so a plain hash reveals nothing about it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use tau_agent::secrets::Secret;
use tau_agent::settings::MAX_BYTES;
use tau_agent::settings::private_files::{SharedFile, read_capped, write_private};
use tau_protocol::model::Model;
use tau_tools::hashes::hexadecimal;
use tau_tools::regular_files::read_text;
use tau_tools::user_error::UserError;

/// The file, in the folder of `config.toml`.
pub(crate) const TOKENS_FILE: &str = "proxy.toml";
/// The prefix of every token, so that users and scanners recognise one.
const PREFIX: &str = "tau_proxy_";

/// The permissions of a token. An unset limit does not apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRow {
    /// SHA-256 of the token, in hexadecimal.
    pub sha256: String,
    /// Models as `provider/model`, or `provider/*`; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// Requests within 60 seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// Requests that are answered at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
    /// Tokens of models in a day of UTC, in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// US dollars in a day of UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars_per_day: Option<f64>,
}

impl TokenRow {
    /// Whether the token is for this model.
    pub fn allows(&self, model: &Model) -> bool {
        let is_meant = |pattern: &String| match pattern.strip_suffix("/*") {
            Some(provider) => provider == model.provider,
            None => *pattern == model.reference(),
        };
        self.models.is_empty() || self.models.iter().any(is_meant)
    }
}

/// The tokens by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenTable {
    #[serde(default)]
    pub tokens: BTreeMap<String, TokenRow>,
}

impl TokenTable {
    /// Reads the text of a file. The error is the fault, with its line.
    pub fn parse(text: &str) -> Result<Self, UserError> {
        let table: TokenTable = toml::from_str(text).map_err(UserError::of)?;
        for (name, row) in &table.tokens {
            if row.sha256.len() != 64 || !row.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(format!(
                    "tokens.{name}: sha256 must be 64 hexadecimal digits; `tau proxy add` makes a token"
                )
                .into());
            }
            if let Some(model) = row.models.iter().find(|model| !model.contains('/')) {
                return Err(format!(
                    "tokens.{name}: write {model:?} as \"provider/model\" or \"provider/*\""
                )
                .into());
            }
            if row.dollars_per_day.is_some_and(|dollars| !dollars.is_finite() || dollars <= 0.0) {
                return Err(format!("tokens.{name}: dollars_per_day must be above 0").into());
            }
        }
        Ok(table)
    }

    /// Reads a file; a missing one has no tokens. Fails when it cannot be read, or has a fault; names the
    /// file.
    pub fn read(path: &Path) -> Result<Self, UserError> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        match read_capped(path, MAX_BYTES) {
            Ok(bytes) => Self::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| named(&error).into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(TokenTable::default()),
            Err(error) => Err(named(&error).into()),
        }
    }

    /// The owner of this token.
    pub fn owner(&self, token: &str) -> Option<(&String, &TokenRow)> {
        let hash = hash(token);
        // The hash of a guess reveals nothing about the hash of a token, regardless of the time of the
        // comparison.
        self.tokens.iter().find(|(_, row)| row.sha256.eq_ignore_ascii_case(&hash))
    }
}

/// A new token. Fails when the system has no random numbers.
pub fn new_token() -> Result<Secret, UserError> {
    let mut bytes = [0_u8; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "the system gives no random numbers".to_owned())?;
    Ok(Secret::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))))
}

/// SHA-256 in hexadecimal.
pub fn hash(token: &str) -> String {
    hexadecimal(digest(&SHA256, token.as_bytes()))
}

/// Adds or removes a row, and leaves the rest of the file unchanged, with its comments. The error is a
/// sentence: a taken or unknown name, a file that cannot be read or written.
pub fn change(file: &SharedFile, name: &str, row: Option<&TokenRow>) -> Result<(), UserError> {
    let path = file.path();
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let _lock = file.lock().map_err(UserError::of)?;
    let known = TokenTable::read(path)?;
    match (row.is_some(), known.tokens.contains_key(name)) {
        (true, true) => return Err(format!("the token {name:?} exists already; remove it first").into()),
        (false, false) => {
            return Err(format!("no token is called {name:?}; `tau proxy list` lists them").into());
        }
        _ => {}
    }
    let text = match read_text(path, MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| named(&error))?,
    };
    let mut document: toml_edit::DocumentMut = text.parse().map_err(|error| named(&error))?;
    let tokens = document.entry("tokens").or_insert_with(|| {
        let mut table = toml_edit::Table::new();
        table.set_implicit(true);
        toml_edit::Item::Table(table)
    });
    let tokens = tokens.as_table_like_mut().ok_or_else(|| named(&"`tokens` is not a table"))?;
    match row {
        Some(row) => {
            let row = toml::to_string(row).map_err(|error| named(&error))?;
            let row: toml_edit::DocumentMut = row.parse().map_err(|error| named(&error))?;
            tokens.insert(name, toml_edit::Item::Table(row.as_table().clone()));
        }
        None => drop(tokens.remove(name)),
    }
    write_private(path, document.to_string().as_bytes()).map_err(|error| named(&error).into())
}

/// The tokens of a file that may change while they are used.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    /// Time and size of the file when it was read.
    stamp: Option<(SystemTime, u64)>,
    table: TokenTable,
}

impl TokenFile {
    /// Reads the file.
    pub fn open(path: PathBuf) -> Result<Self, UserError> {
        let stamp = stamp(&path);
        Ok(TokenFile { table: TokenTable::read(&path)?, stamp, path })
    }

    /// The current tokens. A file that has become invalid gives no tokens, because it may have been changed
    /// to remove one.
    pub fn current(&mut self) -> Result<&TokenTable, UserError> {
        let stamp = stamp(&self.path);
        if stamp != self.stamp {
            let table = TokenTable::read(&self.path)?;
            (self.table, self.stamp) = (table, stamp);
        }
        Ok(&self.table)
    }
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.modified().ok()?, facts.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_added_and_removed_and_the_file_keeps_its_comments() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("proxy.toml");
        let shared = tau_agent::settings::Paths::under(dir.path()).shared_file(path.clone());
        let mut file = TokenFile::open(path.clone()).unwrap();
        assert_eq!(file.current().unwrap().tokens.len(), 0);
        std::fs::write(&path, "# ours\n[tokens.old]\nsha256 = \"").unwrap();
        assert!(file.current().unwrap_err().contains("proxy.toml"));
        std::fs::write(&path, format!("# ours\n[tokens.old]\nsha256 = \"{}\"\n", hash("x"))).unwrap();
        let token = new_token().unwrap();
        assert!(token.expose().starts_with(PREFIX) && token.expose().len() == PREFIX.len() + 43);
        assert_ne!(token, new_token().unwrap());
        let row =
            TokenRow { sha256: hash(token.expose()), models: vec!["a/*".into()], ..TokenRow::default() };
        change(&shared, "new", Some(&row)).unwrap();
        assert!(change(&shared, "new", Some(&row)).unwrap_err().contains("already"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# ours\n[tokens.old]") && !text.contains(token.expose()), "{text}");
        let table = file.current().unwrap();
        assert_eq!(
            table.owner(token.expose()).map(|(name, found)| (name.as_str(), found)),
            Some(("new", &row))
        );
        assert_eq!(table.owner("tau_proxy_guess"), None);
        assert_eq!(table.owner(""), None);
        change(&shared, "new", None).unwrap();
        assert!(change(&shared, "new", None).unwrap_err().contains("no token"));
        assert_eq!(file.current().unwrap().owner(token.expose()), None);
        assert!(file.current().unwrap().owner("x").is_some());
    }

    #[test]
    fn what_is_wrong_in_a_file_is_said() {
        let sha = hash("x");
        let cases = [
            (format!("[tokens.a]\nsha256 = \"{sha}\"\nmodel = [\"x\"]"), "unknown field"),
            ("[tokens.a]\nsha256 = \"abc\"".to_owned(), "64 hexadecimal digits"),
            ("[tokens.a]\n".to_owned(), "missing field `sha256`"),
            (format!("[tokens.a]\nsha256 = \"{sha}\"\nmodels = [\"x\"]"), "\"provider/*\""),
            (format!("[tokens.a]\nsha256 = \"{sha}\"\ndollars_per_day = 0.0"), "above 0"),
            (format!("[tokens.a]\nsha256 = \"{sha}\"\nat_once = -1"), "at_once"),
        ];
        for (text, expected) in cases {
            let error = TokenTable::parse(&text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn models_are_allowed_by_name_or_by_provider() {
        let model =
            |provider: &str, id: &str| Model { provider: provider.into(), id: id.into(), ..Model::default() };
        let row = TokenRow { models: vec!["a/*".into(), "b/x".into()], ..TokenRow::default() };
        let cases = [("a", "y", true), ("b", "x", true), ("b", "y", false), ("aa", "y", false)];
        for (provider, id, allowed) in cases {
            assert_eq!(row.allows(&model(provider, id)), allowed, "{provider}/{id}");
        }
        assert!(TokenRow::default().allows(&model("z", "z")));
    }
}
