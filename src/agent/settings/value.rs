//! The types of settings: parsing from files, variables and flags, and names for documents.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use strum::VariantNames;

use super::images::ImageProtocol;
use super::sandbox::NetworkAccess;
use crate::secrets::Secret;
use tau_protocol::approval::PermissionMode;
use tau_protocol::model::{Api, ThinkingLevel};
use tau_protocol::screen_settings::{DiffLayout, EditingMode, Notify, OnHangup, Support};
use tau_protocol::status_template::StatusTemplate;
use tau_tools::counted::pluralize;
use tau_tools::paths::resolve_path;
use tau_tools::sandbox::SandboxLevel;
use tau_tools::user_error::UserError;

/// The type of a setting, for help, documents and the schema.
#[derive(Clone, Copy, Debug)]
pub enum ValueKind {
    /// Any text.
    Text,
    /// A file or a folder.
    Path,
    /// The address of a server.
    Address,
    /// The address of a server, or `file:///` and a folder.
    AddressOrFolder,
    /// `true` or `false`.
    Switch,
    /// A whole number, 0 or more.
    Number,
    /// A whole number of seconds, 1 or more.
    Seconds,
    /// A number, 0 or more.
    Dollars,
    /// A number from 0 to 2.
    Temperature,
    /// Several texts, separated by commas in a flag.
    List,
    /// One of a few words.
    Choice(fn() -> Vec<&'static str>),
    /// A table from names to lists of texts.
    Table,
    /// A table from names to MCP servers.
    Servers,
    /// Lists of hooks, by the name of their event.
    Hooks,
}

impl ValueKind {
    /// Its name in documents.
    pub fn name(self) -> String {
        match self {
            ValueKind::Text => "text".to_owned(),
            ValueKind::Path => "path".to_owned(),
            ValueKind::Address | ValueKind::AddressOrFolder => "URL".to_owned(),
            ValueKind::Switch => "true or false".to_owned(),
            ValueKind::Number | ValueKind::Dollars => "number".to_owned(),
            ValueKind::Seconds => "seconds".to_owned(),
            ValueKind::Temperature => "number from 0 to 2".to_owned(),
            ValueKind::List => "list of text".to_owned(),
            ValueKind::Choice(names) => names().join(", "),
            ValueKind::Table | ValueKind::Servers | ValueKind::Hooks => "table".to_owned(),
        }
    }
}

/// A type that a setting can have.
pub trait SettingValue: Sized {
    /// Its kind.
    const KIND: ValueKind;
    /// Whether it must not be shown.
    const SECRET: bool = false;

    /// The value as it is typed; a secret is masked.
    fn show(&self) -> String;

    /// Parses the value of an environment variable or a flag. The error describes the fault in the text,
    /// without the name of the setting.
    fn parse(text: &OsStr) -> Result<Self, UserError>;

    /// Parses it from a TOML file. Fails when the value has another type or is not allowed.
    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// An entry of a list in a setting.
pub trait ListItem: Sized {
    /// Parses an entry, without blanks around it.
    fn read(text: &str) -> Result<Self, UserError>;

    /// Checks the number of entries.
    fn check_count(_: usize) -> Result<(), UserError> {
        Ok(())
    }
}

/// A list of entries, kept as they were typed. In variables and flags they are separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedList<T>(Vec<(String, T)>);

impl<T> ParsedList<T> {
    /// The entries.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, item)| item)
    }
}

impl<T> Default for ParsedList<T> {
    fn default() -> Self {
        ParsedList(Vec::new())
    }
}

impl<T: ListItem> ParsedList<T> {
    fn read<'t>(texts: impl Iterator<Item = &'t str>) -> Result<Self, UserError> {
        let read = |text: &str| Ok((text.trim().to_owned(), T::read(text.trim())?));
        let list = texts.map(read).collect::<Result<Vec<_>, UserError>>()?;
        T::check_count(list.len())?;
        Ok(ParsedList(list))
    }
}

impl<T: ListItem> FromStr for ParsedList<T> {
    type Err = UserError;

    fn from_str(text: &str) -> Result<Self, UserError> {
        Self::read(text.split(',').filter(|part| !part.trim().is_empty()))
    }
}

impl<T: ListItem> SettingValue for ParsedList<T> {
    const KIND: ValueKind = ValueKind::List;

    fn show(&self) -> String {
        self.0.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(",")
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        value.to_str().ok_or("the value is not UTF-8 text")?.parse()
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        Self::read(texts.iter().map(String::as_str)).map_err(D::Error::custom)
    }
}

/// Parses a setting in a file.
pub(super) fn read<'de, D: Deserializer<'de>, T: SettingValue>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::from_file(deserializer).map(Some)
}

pub(super) fn text(value: &OsStr) -> Result<&str, UserError> {
    value.to_str().ok_or_else(|| format!("`{}` is not UTF-8 text", value.to_string_lossy()).into())
}

impl SettingValue for PathBuf {
    const KIND: ValueKind = ValueKind::Path;

    fn show(&self) -> String {
        self.display().to_string()
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        Ok(resolve_path(Path::new(""), Path::new(value)))
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PathBuf::deserialize(deserializer).map(|path| resolve_path(Path::new(""), &path))
    }
}

impl SettingValue for Secret {
    const KIND: ValueKind = ValueKind::Text;
    const SECRET: bool = true;

    fn show(&self) -> String {
        "••••".to_owned()
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        // The error does not include the value itself.
        Ok(Secret::new(value.to_str().ok_or("the value is not UTF-8 text")?))
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

/// Implements settings that a file gives as their type does: how they are shown, and parsed from a text.
macro_rules! plain_values {
    ($($type:ty: $kind:expr, $show:expr, $parse:expr;)+) => {$(
        impl $crate::settings::value::SettingValue for $type {
            const KIND: $crate::settings::value::ValueKind = $kind;

            fn show(&self) -> String {
                let show: fn(&Self) -> String = $show;
                show(self)
            }

            fn parse(value: &std::ffi::OsStr) -> Result<Self, tau_tools::user_error::UserError> {
                let parse: fn(&str) -> Result<Self, tau_tools::user_error::UserError> = $parse;
                parse($crate::settings::value::text(value)?)
            }

            fn from_file<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$type as serde::Deserialize>::deserialize(deserializer)
            }
        }
    )+};
}
pub(super) use plain_values;

fn parse_trimmed<T: FromStr>(value: &str, wrong: &str) -> Result<T, UserError> {
    value.trim().parse().map_err(|_| format!("`{value}` is {wrong}").into())
}

plain_values! {
    String: ValueKind::Text, Self::clone, |value| Ok(value.to_owned());
    bool: ValueKind::Switch, Self::to_string, |value| parse_trimmed(value, "neither `true` nor `false`");
    u64: ValueKind::Number, Self::to_string, |value| parse_trimmed(value, "not a whole number");
    NonZeroU64: ValueKind::Seconds, Self::to_string, |value| parse_trimmed(value, "not a number of seconds above 0");
    Vec<String>: ValueKind::List, |list| list.join(","), |value| {
        Ok(value.split(',').map(str::to_owned).collect())
    };
    BTreeMap<String, Vec<String>>: ValueKind::Table, |table| pluralize(table.len() as u64, "entry"), |_| {
        Err("a table can only be set in config.toml".into())
    };
}

/// An amount of US dollars, 0 or more.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dollars(f64);

impl Dollars {
    /// The most that may be spent; `None` for no limit.
    pub fn limit(self) -> Option<f64> {
        (self.0 > 0.0).then_some(self.0)
    }

    fn try_new(dollars: f64) -> Result<Self, UserError> {
        match dollars.is_finite() && dollars >= 0.0 {
            true => Ok(Dollars(dollars)),
            false => Err(format!("{dollars} is not an amount of US dollars").into()),
        }
    }
}

impl SettingValue for Dollars {
    const KIND: ValueKind = ValueKind::Dollars;

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        let value = text(value)?.trim();
        value
            .parse()
            .map_err(|_| format!("`{value}` is not an amount of US dollars").into())
            .and_then(Self::try_new)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_new(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Implements settings with a fixed set of names.
macro_rules! named_choices {
    ($($type:ty: $names:expr, $name:expr, $from_name:expr;)+) => {
        plain_values! {$(
            $type: ValueKind::Choice(|| $names.to_vec()), |value| {
                let name: &str = $name(*value);
                name.to_owned()
            }, |value| {
                let from_name: fn(&str) -> Option<$type> = $from_name;
                from_name(value).ok_or_else(|| unknown_value_message(value, <$type>::KIND).into())
            };
        )+}
    };
    ($($type:ty),+) => {
        named_choices! { $($type: <$type>::VARIANTS, <&str>::from, |name| name.parse().ok();)+ }
    };
}

named_choices!(EditingMode, Notify, OnHangup, Support, DiffLayout, ImageProtocol, NetworkAccess);

named_choices! {
    ThinkingLevel: ThinkingLevel::ALL.map(ThinkingLevel::name), ThinkingLevel::name, ThinkingLevel::from_name;
    PermissionMode: PermissionMode::ALL.map(PermissionMode::name), PermissionMode::name, PermissionMode::from_name;
    SandboxLevel: SandboxLevel::ALL.map(SandboxLevel::name), SandboxLevel::name, |name| {
        SandboxLevel::ALL.into_iter().find(|level| level.name() == name)
    };
}

impl SettingValue for StatusTemplate {
    const KIND: ValueKind = ValueKind::Text;

    fn show(&self) -> String {
        self.source().to_owned()
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        StatusTemplate::parse(value.to_str().ok_or("the value is not UTF-8 text")?)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        StatusTemplate::deserialize(deserializer)
    }
}

impl SettingValue for Api {
    const KIND: ValueKind = ValueKind::Choice(|| Api::NAMES.map(|(name, _)| name).to_vec());

    fn show(&self) -> String {
        Api::NAMES
            .iter()
            .find(|(_, api)| api == self)
            .map_or_else(String::new, |(name, _)| (*name).to_owned())
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        let value = text(value)?;
        Api::from_name(value).ok_or_else(|| unknown_value_message(value, Self::KIND).into())
    }

    /// [`Api`] itself accepts any word, because sessions of other programs have others.
    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let names = Api::NAMES.map(|(name, _)| format!("`{name}`")).join(", ");
        let unknown = || serde::de::Error::custom(format!("unknown api `{name}`, expected one of {names}"));
        Api::from_name(&name).ok_or_else(unknown)
    }
}

/// A sampling temperature, from 0 to 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temperature(pub f64);

impl Temperature {
    fn try_new(number: f64) -> Result<Self, UserError> {
        if (0.0..=2.0).contains(&number) {
            Ok(Temperature(number))
        } else {
            Err(format!("{number} is not a temperature; give a number from 0 to 2").into())
        }
    }
}

impl SettingValue for Temperature {
    const KIND: ValueKind = ValueKind::Temperature;

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        let value = text(value)?;
        let number = value.parse().map_err(|_| format!("`{value}` is not a number; give one from 0 to 2"))?;
        Self::try_new(number)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_new(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

fn unknown_value_message(value: &str, kind: ValueKind) -> String {
    format!("`{value}` is not known; use one of {}", kind.name())
}

/// The address of a server: `http://` or `https://` and a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(String);

impl BaseUrl {
    /// Parses an address. Fails if no request could be sent there.
    pub fn new(text: &str) -> Result<Self, UserError> {
        let url = text.trim();
        let rest = url.split_once("://").and_then(|(scheme, rest)| {
            let known = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
            known.then_some(rest)
        });
        let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
        if host.is_empty() || url.chars().any(char::is_whitespace) {
            return Err(
                format!("`{text}` is not a URL of a server; write http://HOST or https://HOST").into()
            );
        }
        Ok(BaseUrl(url.to_owned()))
    }

    /// The address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SettingValue for BaseUrl {
    const KIND: ValueKind = ValueKind::Address;

    fn show(&self) -> String {
        self.as_str().to_owned()
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        BaseUrl::new(text(value)?)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BaseUrl::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The address of releases: that of a server, or `file:///` and a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseUrl(String);

impl ReleaseUrl {
    /// Parses an address. Fails if nothing can be read there.
    pub fn new(text: &str) -> Result<Self, UserError> {
        if text.trim().starts_with("file:///") {
            return Ok(ReleaseUrl(text.trim().to_owned()));
        }
        let wrong =
            |_| format!("`{text}` is not an address for releases; use https://HOST or file:///FOLDER");
        Ok(ReleaseUrl(BaseUrl::new(text).map_err(wrong)?.0))
    }

    /// The address as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SettingValue for ReleaseUrl {
    const KIND: ValueKind = ValueKind::AddressOrFolder;

    fn show(&self) -> String {
        self.as_str().to_owned()
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        ReleaseUrl::new(text(value)?)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ReleaseUrl::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Parses a wire format in a file of the user.
pub(crate) fn api<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Api>, D::Error> {
    read(deserializer)
}

/// Parses the address of a server in a file of the user.
pub(crate) fn base_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Some(BaseUrl::from_file(deserializer)?.0))
}

#[cfg(test)]
mod tests {
    use super::BaseUrl;

    #[test]
    fn an_address_has_a_scheme_and_a_host() {
        for url in ["http://localhost:8080/v1", "HTTPS://h", " https://[::1]:80 ", "http://u"] {
            assert!(BaseUrl::new(url).is_ok(), "{url}");
        }
        for url in ["localhost:8080", "ftp://h", "http:/h", "https://", "http:///v1", "", "http://a b"] {
            assert!(BaseUrl::new(url).unwrap_err().contains("http://HOST"), "{url}");
        }
    }
}
