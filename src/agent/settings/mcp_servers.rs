//! The MCP servers in settings files: `[mcp.NAME]` in `config.toml`, `mcpServers` in `mcp.json`.
//!
//! The latter is in the format of other agents.
//!
//! Each server is parsed by itself, so that a mistake in one does not affect the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::mcp_variables::{Forms, add_names, literal};
use super::package_folders::PackageFolders;
use super::toml_errors::explain;
use super::toml_file::{in_lines, line_of, read_file};
use super::value::{BaseUrl, ValueKind, plain_values};
use crate::settings::private_files::parse_json;
use serde::Deserialize;
use tau_tools::user_error::UserError;

/// The table `mcp` as a setting: shown as the names of its servers. [`of_text`] reads the servers themselves.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct McpTable(BTreeMap<String, toml::Value>);

plain_values! {
    McpTable: ValueKind::Servers, |table| table.0.keys().cloned().collect::<Vec<_>>().join(", "), |_| {
        Err("MCP servers can only be set in config.toml".into())
    };
}

/// A server as defined in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// The name used in the names of its tools.
    pub name: String,
    /// The connection to it.
    pub transport: McpTransport,
    /// Whether it is used.
    pub enabled: bool,
    /// The tools to offer, with `*` for any part of a name; `None` offers all.
    pub allow_tools: Option<Vec<String>>,
    /// Tools that are never offered, regardless of `allow_tools`.
    pub deny_tools: Vec<String>,
    /// The time limit for the result of a call without progress, in seconds.
    pub timeout: Option<u64>,
    /// The time limit for the server to be ready, in seconds.
    pub start_timeout: Option<u64>,
    /// Whether its process is sandboxed; `None` for the setting `sandbox.mcp`, and if that is not set either,
    /// it is sandboxed if the sandbox lets commands change its program.
    pub sandbox: Option<bool>,
    /// The folders of the package that it is of, if it is of one.
    pub package: Option<PackageFolders>,
}

impl McpServer {
    /// An enabled server that offers everything and has no other settings.
    pub fn new(name: &str, transport: McpTransport) -> Self {
        McpServer {
            name: name.to_owned(),
            transport,
            enabled: true,
            allow_tools: None,
            deny_tools: Vec::new(),
            timeout: None,
            start_timeout: None,
            sandbox: None,
            package: None,
        }
    }

    /// Adds the names of the environment variables that the server is given or sent to `names`.
    pub fn add_variables(&self, names: &mut BTreeSet<String>) {
        let (words, values): (Vec<&str>, Vec<&String>) = match &self.transport {
            McpTransport::Stdio { command, args, env, cwd } => {
                let cwd = cwd.as_ref().and_then(|cwd| cwd.to_str());
                let words = args.iter().map(String::as_str).chain(cwd);
                (words.chain([command.as_str()]).collect(), env.values().collect())
            }
            McpTransport::Http { url, headers, oauth } => (
                vec![url.as_str()],
                headers.values().chain(&oauth.client_id).chain(&oauth.client_secret).collect(),
            ),
        };
        words.into_iter().for_each(|text| add_names(text, Forms::Braces, names));
        values.into_iter().for_each(|text| add_names(text, Forms::All, names));
    }

    /// Makes `$NAME` plain text, as it is for other agents.
    fn with_braces_only(mut self) -> Self {
        let values: Vec<&mut String> = match &mut self.transport {
            McpTransport::Stdio { env, .. } => env.values_mut().collect(),
            McpTransport::Http { headers, oauth, .. } => {
                headers.values_mut().chain(&mut oauth.client_id).chain(&mut oauth.client_secret).collect()
            }
        };
        for value in values {
            *value = literal(value, Forms::All, Some(Forms::Braces));
        }
        self
    }
}

/// The connection to a server. Texts may contain `${NAME}` for environment variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that is started, with messages over its standard streams.
    Stdio { command: String, args: Vec<String>, env: BTreeMap<String, String>, cwd: Option<PathBuf> },
    /// An address (streamable HTTP).
    Http { url: String, headers: BTreeMap<String, String>, oauth: OauthClient },
}

/// The identity of tau at an authorization server that does not register clients, and the requested scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OauthClient {
    /// The id under which tau was registered; without it, tau registers itself.
    #[serde(alias = "clientId")]
    pub client_id: Option<String>,
    /// The secret of that client, if it has one; may hold `$NAME`.
    #[serde(alias = "clientSecret")]
    pub client_secret: Option<String>,
    /// The scopes to request; by default those that the server names.
    pub scopes: Option<Vec<String>>,
    /// The port on this machine that the browser returns to; by default any free one.
    #[serde(alias = "callbackPort")]
    pub callback_port: Option<u16>,
}

/// A server in a file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    /// Written by other agents; redundant here.
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    oauth: OauthClient,
    enabled: Option<bool>,
    allow_tools: Option<Vec<String>>,
    deny_tools: Vec<String>,
    timeout: Option<u64>,
    start_timeout: Option<u64>,
    sandbox: Option<bool>,
}

impl Entry {
    /// The server with that name. The error describes missing or contradictory fields.
    fn server(self, name: &str) -> Result<McpServer, UserError> {
        check_name(name)?;
        if self.kind.is_some_and(|kind| kind.eq_ignore_ascii_case("sse")) {
            return Err(format!(
                "server `{name}` uses SSE, a transport that is too old: MCP has replaced it; give the server's address \
                 for streamable HTTP, with \"type\": \"http\""
            ).into());
        }
        let transport = match (self.command, self.url) {
            (Some(command), None) if !command.trim().is_empty() => {
                McpTransport::Stdio { command, args: self.args, env: self.env, cwd: self.cwd }
            }
            (None, Some(url)) => {
                // The whole address may come from a variable.
                if !url.contains("${") {
                    BaseUrl::new(&url)
                        .map_err(|why| UserError::new(format!("server `{name}`")).because(why))?;
                }
                if self.oauth.client_secret.is_some() && self.oauth.client_id.is_none() {
                    return Err(format!("server `{name}` has a `client_secret` but no `client_id`").into());
                }
                McpTransport::Http { url, headers: self.headers, oauth: self.oauth }
            }
            (Some(_), Some(_)) => {
                return Err(format!("server `{name}` has a `command` and a `url`; keep one").into());
            }
            (_, None) => return Err(format!("server `{name}` needs a `command` or a `url`").into()),
        };
        Ok(McpServer {
            name: name.to_owned(),
            transport,
            enabled: self.enabled.unwrap_or(true),
            allow_tools: self.allow_tools,
            deny_tools: self.deny_tools,
            timeout: self.timeout,
            start_timeout: self.start_timeout,
            sandbox: self.sandbox,
            package: None,
        })
    }
}

/// Checks a name, which becomes part of the names of tools and of permission rules.
pub fn check_name(name: &str) -> Result<(), UserError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let fits = !name.trim().is_empty() && name.len() <= 64 && name.chars().all(plain);
    let hint = "use up to 64 letters, digits, blanks, `-`, `_` and `.`";
    if fits { Ok(()) } else { Err(format!("`{name}` cannot be the name of a server; {hint}").into()) }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    mcp: BTreeMap<toml::Spanned<String>, toml::Value>,
}

/// The servers of a text from `path`, sorted by name, and the problems of invalid ones.
pub fn of_text(path: &Path, text: &str) -> (Vec<McpServer>, Vec<UserError>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: File = toml::from_str(text).unwrap_or_default();
    let (mut servers, mut wrong) = (Vec::new(), Vec::new());
    for (name, value) in file.mcp {
        let entry: Result<Entry, UserError> = value.try_into().map_err(|error: toml::de::Error| {
            UserError::new(format!("server `{}`", name.get_ref())).because(explain(error.message()))
        });
        match entry.and_then(|entry| entry.server(name.get_ref())) {
            Ok(server) => servers.push(server),
            Err(error) => wrong.push((line_of(text, name.span().start), error)),
        }
    }
    (servers, in_lines(path, wrong))
}

/// The part of an `mcp.json` that is used. Other agents' settings are ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
struct JsonFile {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, serde_json::Value>,
}

/// A server in the format of other agents: unknown names are ignored.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", expecting = "a server: an object with a command or a url")]
struct JsonEntry {
    #[serde(rename = "type", alias = "transport")]
    kind: Option<String>,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    oauth: OauthClient,
    disabled: bool,
}

/// The servers of an `mcp.json`, sorted by name, and the problems of invalid ones.
pub fn of_json_file(path: &Path) -> (Vec<McpServer>, Vec<UserError>) {
    match read_file(path) {
        Ok(Some(text)) => of_json_text(path, &text),
        Ok(None) => (Vec::new(), Vec::new()),
        Err(error) => (Vec::new(), vec![error]),
    }
}

/// Like [`of_json_file`], for a text from `path`.
pub fn of_json_text(path: &Path, text: &str) -> (Vec<McpServer>, Vec<UserError>) {
    let place = path.display();
    let file: JsonFile = match parse_json(text) {
        Ok(file) => file,
        Err(error) => {
            return (Vec::new(), vec![UserError::new(format!("{place}:{}: {error}", error.line()))]);
        }
    };
    let (mut servers, mut wrong) = (Vec::new(), Vec::new());
    for (name, value) in file.servers {
        let entry: Result<JsonEntry, UserError> =
            serde_json::from_value(value).map_err(|error| format!("server `{name}`: {error}").into());
        let entry = entry.map(|entry| Entry {
            kind: entry.kind,
            command: entry.command,
            args: entry.args,
            env: entry.env,
            cwd: entry.cwd,
            url: entry.url,
            headers: entry.headers,
            oauth: entry.oauth,
            enabled: Some(!entry.disabled),
            ..Entry::default()
        });
        match entry.and_then(|entry| entry.server(&name)) {
            Ok(server) => servers.push(server.with_braces_only()),
            Err(error) => wrong.push(UserError::new(format!("{place}: {error}"))),
        }
    }
    (servers, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_agents_are_read() {
        let text = r#"{"other": 1, "mcpServers": {
            "files": {"type": "stdio", "command": "npx", "args": ["a"], "alwaysAllow": ["x"], "disabled": true},
            "web": {"type": "http", "url": "https://h/mcp", "headers": {"A": "b"}},
            "none": {"args": []}, "odd": {"command": 7}, "old": {"type": "sse", "url": "https://h/sse"},
            "seven": 7}}"#;
        let (servers, wrong) = of_json_text(Path::new("m.json"), text);
        let found: Vec<_> = servers.iter().map(|server| (server.name.as_str(), server.enabled)).collect();
        assert_eq!(found, [("files", false), ("web", true)]);
        let wrong: Vec<String> = wrong.into_iter().map(String::from).collect();
        assert_eq!(wrong[0], "m.json: server `none` needs a `command` or a `url`");
        assert!(wrong[1].starts_with("m.json: server `odd`: invalid type"), "{wrong:?}");
        assert!(
            wrong[2].starts_with("m.json: server `old` uses SSE, a transport that is too old"),
            "{wrong:?}"
        );
        assert!(wrong[3].ends_with("expected a server: an object with a command or a url"), "{wrong:?}");
        let (servers, wrong) = of_json_text(Path::new("m.json"), "{\n  nonsense");
        assert!(servers.is_empty() && wrong[0].starts_with("m.json:2: "), "{wrong:?}");
    }

    #[test]
    fn servers_are_read_one_by_one() {
        let text = "theme = \"x\"\n[mcp.files]\ncommand = \"npx\"\nargs = [\"-y\", \"a\"]\nenv = { A = \"$B\" }\n\
                    deny_tools = [\"write_*\"]\n[mcp.web]\nurl = \"https://h/mcp\"\ntimeout = 5\n\
                    [mcp.typo]\ncomand = \"x\"\n[mcp.both]\ncommand = \"x\"\nurl = \"http://h\"\n[mcp.none]\n\
                    [mcp.\"a b/c\"]\ncommand = \"x\"\n[mcp.address]\nurl = \"h\"\n";
        let (servers, wrong) = of_text(Path::new("c.toml"), text);
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["files", "web"]);
        assert_eq!(servers[0].deny_tools, ["write_*"]);
        assert_eq!(servers[1].timeout, Some(5));
        let wrong: Vec<String> = wrong.into_iter().map(String::from).collect();
        assert_eq!(
            wrong,
            [
                "c.toml:10: server `typo`: unknown name `comand`; did you mean `command`?",
                "c.toml:12: server `both` has a `command` and a `url`; keep one",
                "c.toml:15: server `none` needs a `command` or a `url`",
                "c.toml:16: `a b/c` cannot be the name of a server; use up to 64 letters, digits, blanks, `-`, `_` and `.`",
                "c.toml:18: server `address`: `h` is not a URL of a server; write http://HOST or https://HOST",
            ]
        );
    }
}
