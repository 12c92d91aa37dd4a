//! MCP servers in the formats of other agents, as tau's.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::found::{Change, Collector, text_in};
use tau_agent::settings::mcp_servers::{McpServer, McpTransport, OauthClient, check_name};
use tau_agent::settings::mcp_variables::{Forms, literal, passed_on};
use tau_tools::user_error::UserError;

/// Parts of a server that are taken over, or have no meaning of their own.
const KNOWN: [&str; 27] = *tau_tools::words!(
    "type transport command args env environment cwd url httpUrl serverUrl headers http_headers \
     env_http_headers bearer_token_env_var enabled disabled enabled_tools disabled_tools includeTools \
     excludeTools tool_timeout_sec startup_timeout_sec oauth env_vars required description \
     timeout"
);

/// The variables that a program replaces in the texts of its servers; the rest is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variables {
    /// `{env:NAME}` only.
    Env,
    /// `${NAME}` as well.
    Braces,
}

/// Notes a server, and the parts of it that tau does not take over.
pub(super) fn add_server(
    found: &mut Collector,
    file: &Path,
    name: &str,
    value: &Value,
    variables: Variables,
) {
    let what = format!("MCP server {name}");
    match server(name, value, variables) {
        Ok(server) => found.change(file, what.clone(), Change::Server(server)),
        Err(why) => return found.leave_out(file, what, &why),
    }
    found.rest(file, &format!("{what}: "), value, &KNOWN);
    for (field, part) in PARTS.iter().flat_map(|field| parts(value, field)).filter(|(_, part)| !is_text(part))
    {
        let why = format!("{part} is neither a text nor a number nor true or false");
        found.leave_out(file, format!("{what}: {field}"), &why);
    }
    found.rest(file, &format!("{what}: oauth."), value.get("oauth").unwrap_or(&Value::Null), &OF_LOGIN);
}

/// Fields whose parts are texts.
const PARTS: [&str; 6] = ["command", "args", "env", "environment", "headers", "http_headers"];

/// The parts of a list or an object in a field, with their names.
fn parts<'a>(value: &'a Value, field: &'a str) -> Vec<(String, &'a Value)> {
    match value.get(field) {
        Some(Value::Array(items)) => {
            items.iter().enumerate().map(|(at, item)| (format!("{field}[{at}]"), item)).collect()
        }
        Some(Value::Object(fields)) => {
            fields.iter().map(|(name, part)| (format!("{field}.{name}"), part)).collect()
        }
        _ => Vec::new(),
    }
}

/// Parts of the login at a server that are taken over. A secret is not.
const OF_LOGIN: [&str; 4] = ["clientId", "client_id", "scope", "scopes"];

/// The server of this name; `Err` says why tau cannot have it.
fn server(name: &str, value: &Value, variables: Variables) -> Result<McpServer, UserError> {
    check_name(name)?;
    check_texts(value)?;
    let kind = text_in(value, "type").or_else(|| text_in(value, "transport")).unwrap_or_default();
    if kind.eq_ignore_ascii_case("sse") {
        return Err(UserError::new("SSE, a transport that MCP has replaced")
            .remedy("give its address for streamable HTTP"));
    }
    let word = |value: &Value| text_of(value, variables, Forms::Braces);
    let mut words = words(value.get("command"), word);
    let address = ["httpUrl", "url", "serverUrl"].iter().find_map(|field| text_in(value, field));
    let transport = match (words.is_empty(), address) {
        (false, _) => {
            let command = words.remove(0);
            if command.trim().is_empty() {
                return Err("its command is empty".into());
            }
            words.extend(self::words(value.get("args"), word));
            let env = ["env", "environment"].iter().find_map(|field| value.get(*field));
            let cwd = value.get("cwd").and_then(word).map(Into::into);
            let mut env = texts(env, variables);
            // Codex gives its servers few variables, and names more of them, which may not be set.
            for name in value.get("env_vars").and_then(Value::as_array).into_iter().flatten() {
                if let Some(name) = name.as_str().or_else(|| text_in(name, "name")) {
                    env.entry(name.to_owned()).or_insert_with(|| passed_on(name));
                }
            }
            McpTransport::Stdio { command, args: words, env, cwd }
        }
        (true, Some(url)) if !is_address(url) => return Err(format!("{url:?} is not an address").into()),
        (true, Some(url)) => {
            let mut headers = texts(value.get("headers").or_else(|| value.get("http_headers")), variables);
            if let Some(variable) = text_in(value, "bearer_token_env_var") {
                headers.insert("Authorization".to_owned(), format!("Bearer ${{{variable}}}"));
            }
            for (header, variable) in
                value.get("env_http_headers").and_then(Value::as_object).into_iter().flatten()
            {
                if let Some(variable) = variable.as_str() {
                    headers.insert(header.clone(), passed_on(variable));
                }
            }
            McpTransport::Http {
                url: translate_variables(url, variables, Forms::Braces),
                headers,
                oauth: login(value.get("oauth")),
            }
        }
        (true, None) => return Err("it has neither a command nor an address".into()),
    };
    let list = |field: &str| {
        let items = value.get(field)?.as_array()?;
        Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
    };
    let seconds = |field: &str, unit: f64| {
        value.get(field).and_then(Value::as_f64).map(|count| (count / unit).ceil() as u64)
    };
    let is = |field: &str| value.get(field).and_then(Value::as_bool);
    Ok(McpServer {
        enabled: is("enabled").unwrap_or(true) && is("disabled") != Some(true),
        allow_tools: list("enabled_tools").or_else(|| list("includeTools")),
        deny_tools: list("disabled_tools").or_else(|| list("excludeTools")).unwrap_or_default(),
        // Codex counts in seconds, the others in milliseconds.
        timeout: seconds("tool_timeout_sec", 1.0).or_else(|| seconds("timeout", 1000.0)),
        start_timeout: seconds("startup_timeout_sec", 1.0),
        ..McpServer::new(name, transport)
    })
}

/// The client that the user has registered at the server.
fn login(value: Option<&Value>) -> OauthClient {
    let field = |names: [&str; 2]| names.iter().find_map(|name| value?.get(*name));
    let scopes = field(["scope", "scopes"]).map(|scopes| match scopes {
        Value::Array(scopes) => scopes.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        scopes => scopes.as_str().unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
    });
    OauthClient {
        client_id: field(["clientId", "client_id"]).and_then(Value::as_str).map(str::to_owned),
        scopes: scopes.filter(|scopes: &Vec<String>| !scopes.is_empty()),
        ..OauthClient::default()
    }
}

/// Refuses texts with placeholders that only the other program replaces: they would reach the server as they are.
fn check_texts(value: &Value) -> Result<(), UserError> {
    let text = match value {
        Value::String(text) => text,
        Value::Array(items) => return items.iter().try_for_each(check_texts),
        Value::Object(fields) => return fields.values().try_for_each(check_texts),
        _ => return Ok(()),
    };
    let placeholder = tau_tools::words!(
        "{file: ${workspaceFolder ${userHome ${pathSeparator ${file ${/} ${input: ${command: ${config:"
    )
    .iter()
    .find_map(|start| {
        let from = text.get(text.find(start)?..)?;
        from.split_inclusive('}').next()
    });
    match placeholder {
        Some(placeholder) => Err(UserError::new(format!("{placeholder} means nothing to tau"))
            .remedy("write out what it stands for, or put it in a variable")),
        None => Ok(()),
    }
}

/// Whether a text is an address of HTTP; its host may be a variable.
fn is_address(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.contains(char::is_whitespace)) || text.starts_with('$')
}

/// The words of a command: a text is one, a list several.
fn words(value: Option<&Value>, word: impl Fn(&Value) -> Option<String>) -> Vec<String> {
    match value {
        Some(Value::String(text)) if text.trim().is_empty() => Vec::new(),
        Some(Value::Array(items)) => items.iter().filter_map(word).collect(),
        Some(text @ Value::String(_)) => word(text).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn texts(value: Option<&Value>, variables: Variables) -> BTreeMap<String, String> {
    let fields = value.and_then(Value::as_object).into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), text_of(value, variables, Forms::All)?))).collect()
}

/// A text, a number, or true or false, as a program is given it.
fn text_of(value: &Value, variables: Variables, forms: Forms) -> Option<String> {
    match value {
        Value::String(text) => Some(translate_variables(text, variables, forms)),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

/// The text with the variables of the other program as tau's, where tau replaces these forms: `{env:NAME}` and
/// `${env:NAME}`, which are empty if it is not set, become `${NAME:-}`; what only tau would replace stays as it is.
fn translate_variables(text: &str, variables: Variables, forms: Forms) -> String {
    let kept = (variables == Variables::Braces).then_some(Forms::Braces);
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, from)) = rest.split_once("{env:") {
        let Some((name, after)) = from.split_once('}') else { break };
        out.push_str(&literal(before.strip_suffix('$').unwrap_or(before), forms, kept));
        let has_default = name.contains(":-");
        out.push_str(&if has_default { format!("${{{name}}}") } else { passed_on(name) });
        rest = after;
    }
    out + &literal(rest, forms, kept)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn servers_of_every_format_are_read() {
        let stdio_of = |value: Value, variables| match server("x", &value, variables).unwrap().transport {
            McpTransport::Stdio { command, args, env, .. } => (command, args, env),
            other => panic!("{other:?}"),
        };
        let stdio = |value: Value| stdio_of(value, Variables::Braces);
        let server = |name: &str, value: &Value| server(name, value, Variables::Env);
        let opencode =
            json!({"type": "local", "command": ["npx", "-y", "p"], "environment": {"K": "{env:KEY}"}});
        let (command, args, env) = stdio(opencode);
        assert_eq!((command.as_str(), args), ("npx", vec!["-y".to_owned(), "p".to_owned()]));
        assert_eq!(env["K"], "${KEY:-}");
        assert_eq!(stdio(json!({"command": "a", "args": ["${env:B}/c"]})).1, ["${B:-}/c"]);
        let codex = json!({"url": "https://x.example/mcp", "bearer_token_env_var": "T", "enabled": false});
        let codex = server("x", &codex).unwrap();
        let McpTransport::Http { headers, .. } = &codex.transport else { panic!() };
        assert_eq!((headers["Authorization"].as_str(), codex.enabled), ("Bearer ${T}", false));
        let login = json!({"url": "https://x.example/mcp", "oauth": {"clientId": "me", "scope": "a b"}});
        let McpTransport::Http { oauth, .. } = server("x", &login).unwrap().transport else { panic!() };
        assert_eq!(
            (oauth.client_id.as_deref(), oauth.scopes),
            (Some("me"), Some(vec!["a".into(), "b".into()]))
        );
        assert_eq!(stdio(json!({"command": "a", "env_vars": ["K"]})).2["K"], "${K:-}");
        let (_, args, env) = stdio(json!({"command": "a", "args": ["-p", 8080, true], "env": {"N": 1.5}}));
        assert_eq!((args, env["N"].as_str()), (vec!["-p".into(), "8080".into(), "true".into()], "1.5"));
        let plain = json!({"command": "a", "args": ["$A ${B}"], "env": {"K": "pa$word", "L": "${X}{env:Y}"}});
        let (_, args, env) = stdio_of(plain.clone(), Variables::Env);
        let texts = [args[0].as_str(), env["K"].as_str(), env["L"].as_str()];
        assert_eq!(texts, ["$A $${B}", "pa$$word", "$${X}${Y:-}"]);
        let (_, args, env) = stdio(plain);
        let texts = [args[0].as_str(), env["K"].as_str(), env["L"].as_str()];
        assert_eq!(texts, ["$A ${B}", "pa$$word", "${X}${Y:-}"]);
        for odd in [
            json!({"command": "a", "environment": {"K": "{file:~/inc.md}"}}),
            json!({"command": "a", "args": ["--root", "${workspaceFolder}/x"]}),
            json!({"url": "https://x.example/${input:id}"}),
        ] {
            assert!(server("x", &odd).unwrap_err().to_string().contains("means nothing to tau"), "{odd}");
        }
        assert!(server("a/b", &json!({"command": "x"})).is_err());
        assert!(server("x", &json!({"type": "sse", "url": "https://x.example"})).is_err());
        assert!(server("x", &json!({})).is_err());
    }
}
