//! Parts of other agents' set-ups, and what they mean for tau.

use std::path::{Path, PathBuf};

use serde_json::Value;

use tau_agent::settings::MAX_BYTES;
use tau_agent::settings::mcp_servers::McpServer;
use tau_tools::counted::pluralize;
use tau_tools::regular_files::read_text;
use tau_tools::user_error::UserError;

/// The set-up of one agent.
#[derive(Debug)]
pub(crate) struct SetUp {
    pub(crate) agent: &'static str,
    pub(crate) findings: Vec<Finding>,
}

/// A part of a set-up.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) file: PathBuf,
    pub(crate) what: String,
    pub(crate) meaning: Meaning,
}

/// The meaning of a part for tau.
#[derive(Debug)]
pub(crate) enum Meaning {
    /// tau reads it where it is.
    InPlace(&'static str),
    /// tau needs this in its own files.
    Change(Box<Change>),
    /// tau has nothing like it, or it stays for this reason.
    Left(String),
}

impl Meaning {
    /// The meaning in a few words.
    pub(crate) fn text(&self) -> String {
        match self {
            Meaning::InPlace(what) => format!("read in place: {what}"),
            Meaning::Change(change) => change.text(),
            Meaning::Left(why) => format!("left: {why}"),
        }
    }
}

/// A change to tau's files.
#[derive(Debug)]
pub(crate) enum Change {
    /// A setting in `config.toml`; a dot separates a table from its key.
    Setting { key: &'static str, value: String },
    /// A list of texts in `config.toml`, like a setting.
    List { key: &'static str, values: Vec<String> },
    /// An MCP server in `config.toml`.
    Server(McpServer),
    /// A permission rule in `config.toml`.
    Rule { list: &'static str, rule: String },
    /// A provider in `models.toml`.
    Provider(Provider),
    /// Instructions that `AGENTS.md` in the configuration folder imports.
    Instructions(PathBuf),
}

impl Change {
    fn text(&self) -> String {
        match self {
            Change::Setting { key, value } => format!("{key} = {value}"),
            Change::List { key, values } => format!("{key} = {}", values.join(", ")),
            Change::Server(server) => format!("[mcp.{}]", server.name),
            Change::Rule { list, rule } => format!("permissions.{list}: {rule}"),
            Change::Provider(provider) => format!("[vendors.{}] in models.toml", provider.name),
            Change::Instructions(_) => "imported by AGENTS.md in the configuration folder".to_owned(),
        }
    }

    /// The thing that it decides; only one change of a subject is made.
    pub(super) fn subject(&self) -> String {
        match self {
            Change::Setting { key, .. } | Change::List { key, .. } => (*key).to_owned(),
            Change::Server(server) => format!("server {}", server.name),
            Change::Rule { rule, .. } => format!("rule {rule}"),
            Change::Provider(provider) => format!("provider {}", provider.name),
            Change::Instructions(path) => path.display().to_string(),
        }
    }

    pub(super) fn is_provider(&self) -> bool {
        matches!(self, Change::Provider(_))
    }
}

/// A provider of models with an address of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) base_url: String,
    /// Its wire format; `None` for that of the provider that tau knows by this name.
    pub(crate) api: Option<&'static str>,
    /// The variable with its key.
    pub(crate) variable: Option<String>,
    pub(crate) models: Vec<ProviderModel>,
}

/// A model of such a provider.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProviderModel {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) context_window: Option<u64>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) reasoning: Option<bool>,
    /// The kinds of content that it takes: `text`, `image`.
    pub(crate) input: Vec<String>,
    /// US dollars for a million tokens, by kind.
    pub(crate) cost: Vec<(&'static str, f64)>,
}

/// Settings of other agents whose values mean nothing to tau, or more than was wanted, and the settings of tau for the
/// purpose.
const COUNTERPARTS: [(&str, &str); 11] = *tau_tools::pairs!(
    "core=tools coreTools=tools sandbox=sandbox.level default_permissions=sandbox.level permissions=sandbox.level filesystem=sandbox.writable \
     cleanupPeriodDays=retention sessionRetention=retention web_search=web_search \
     enableAutoUpdate=update_check disableAutoUpdate=update_check"
);

/// Collects the parts of one agent's set-up.
pub(super) struct Collector {
    set_up: SetUp,
}

impl Collector {
    pub(super) fn new(agent: &'static str) -> Self {
        Collector { set_up: SetUp { agent, findings: Vec::new() } }
    }

    pub(super) fn add(&mut self, file: &Path, what: impl Into<String>, meaning: Meaning) {
        self.set_up.findings.push(Finding { file: file.to_owned(), what: what.into(), meaning });
    }

    pub(super) fn change(&mut self, file: &Path, what: impl Into<String>, change: Change) {
        self.add(file, what, Meaning::Change(Box::new(change)));
    }

    pub(super) fn leave_out(&mut self, file: &Path, what: impl Into<String>, why: &str) {
        self.add(file, what, Meaning::Left(why.to_owned()));
    }

    /// Notes a file or folder that tau reads in place, if it exists; a folder with the number of its entries.
    pub(super) fn in_place(&mut self, path: &Path, one: &str, what: &'static str) {
        if let Some(count) = entries(path) {
            self.add(path, pluralize(count, one), Meaning::InPlace(what));
        }
    }

    /// Notes a file or folder without a counterpart, if it exists.
    pub(super) fn unlike(&mut self, path: &Path, one: &str, why: &str) {
        if let Some(count) = entries(path) {
            self.leave_out(path, pluralize(count, one), why);
        }
    }

    /// Notes the fields of an object that are not among the known ones, so that nothing is dropped silently.
    pub(super) fn rest(&mut self, file: &Path, before: &str, value: &Value, known: &[&str]) {
        for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
            if !known.contains(&name.as_str()) {
                let own = COUNTERPARTS.iter().find(|(theirs, _)| theirs == name);
                let why = own.map_or(
                    "tau does not take it over; /settings shows what tau has".to_owned(),
                    |(_, own)| format!("tau's is {own}; set it in config.toml"),
                );
                self.leave_out(file, format!("{before}{name}"), &why);
            }
        }
    }

    /// Instructions for the model in a file that tau does not read by itself.
    pub(super) fn instructions(&mut self, path: &Path) {
        if path.is_file() {
            self.change(path, "instructions", Change::Instructions(path.to_owned()));
        }
    }

    pub(super) fn finish(self) -> SetUp {
        self.set_up
    }
}

/// The number of entries of a folder, 1 for a file; `None` if there is nothing.
fn entries(path: &Path) -> Option<u64> {
    if path.is_file() {
        return Some(1);
    }
    let hidden = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('.');
    let entries = std::fs::read_dir(path).ok()?.flatten().filter(|entry| !hidden(&entry.file_name()));
    Some(entries.count() as u64).filter(|count| *count > 0)
}

/// A file of JSON; comments are allowed. `Err` describes why a file that exists is not one.
pub(super) fn json(path: &Path) -> Option<Result<Value, UserError>> {
    let text = text(path)?;
    Some(text.and_then(|text| {
        serde_json::from_str(&without_comments(&text)).map_err(|error| error.to_string().into())
    }))
}

/// A file of TOML, as JSON.
pub(super) fn toml(path: &Path) -> Option<Result<Value, UserError>> {
    let text = text(path)?;
    Some(text.and_then(|text| {
        let value: toml::Value = ::toml::from_str(&text).map_err(|error| error.message().to_owned())?;
        serde_json::to_value(value).map_err(|error| error.to_string().into())
    }))
}

fn text(path: &Path) -> Option<Result<String, UserError>> {
    match read_text(path, MAX_BYTES) {
        Ok(text) => Some(Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))),
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            None
        }
        Err(error) => Some(Err(error.to_string().into())),
    }
}

/// JSON without `//` and `/* */` comments and trailing commas, which some agents allow.
pub(crate) fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let (mut quoted, mut escaped) = (false, false);
    while let Some(c) = chars.next() {
        if quoted {
            (quoted, escaped) = (escaped || c != '"', !escaped && c == '\\');
            out.push(c);
            continue;
        }
        match (c, chars.peek()) {
            ('/', Some('/')) => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                let mut last = ' ';
                for c in chars.by_ref().skip(1) {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            ('"', _) => {
                quoted = true;
                out.push(c);
            }
            ('}' | ']', _) => {
                let kept = out.trim_end().strip_suffix(',').map(str::len);
                if let Some(kept) = kept {
                    out.truncate(kept);
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

pub(super) fn text_in<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

/// The names and values of an object's fields.
pub(super) fn fields<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.get(field).and_then(Value::as_object).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_and_trailing_commas_are_dropped() {
        let text = "{\n // one\n \"a\": \"// no, /* no */ \\\" //\", /* two */ \"b\": [1, 2,],\n}";
        let value: serde_json::Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value, serde_json::json!({"a": "// no, /* no */ \" //", "b": [1, 2]}));
    }
}
