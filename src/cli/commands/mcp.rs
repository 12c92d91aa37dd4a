//! `tau mcp`: lists servers, adds, removes and tests them. Logins are in `mcp_login`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::{mcp_login, table};
use crate::args::CliArgs;
use crate::args::mcp::{McpAction, McpArgs};
use crate::compose::agent::child_env;
use crate::compose::environment::Environment;
use crate::compose::{mcp_servers, sandbox};
use crate::process::exit::{Exit, Refusal, fail, say, warn};
use crate::process::masking::{mask_address, mask_words};
use crate::process::plain;
use crate::process::runtime;
use tau_agent::extensions::mcp::oauth::{LoginState, LoginStore, login_command, mcp_command};
use tau_agent::extensions::mcp::{ConfiguredServer, ProbeResult, probe_server};
use tau_agent::settings::Settings;
use tau_agent::settings::config_file::ConfigFile;
use tau_agent::settings::mcp_edit::{add, remove};
use tau_agent::settings::mcp_servers::{McpServer, McpTransport, OauthClient, check_name};
use tau_tools::scratch::Scratch;
use tau_tools::user_error::UserError;

/// Runs the command; returns the program's end.
pub fn run(args: &McpArgs) -> Result<Exit, Refusal> {
    let mut all = CliArgs::without_arguments();
    all.trust = match &args.action {
        McpAction::List { trust }
        | McpAction::Test { trust, .. }
        | McpAction::Login { trust, .. }
        | McpAction::Logout { trust, .. } => *trust,
        McpAction::Add { .. } | McpAction::Remove { .. } => false,
    };
    let (environment, project, cwd) = Environment::read_here(&all)?;
    let servers =
        mcp_servers::read(&ConfigFile::read(&environment.paths), &environment.paths, &project).servers;
    let file = environment.paths.config_file();
    let logins = LoginStore::new(environment.paths.mcp_logins());
    let exit = match &args.action {
        McpAction::List { .. } => say(&format_list(&servers, &environment.settings, &logins)),
        McpAction::Add { name, variables, headers, transport, command } => {
            check_name(name).map_err(Refusal::usage)?;
            check_transport(transport.as_deref(), command).map_err(Refusal::usage)?;
            let server = new_server(name, variables, headers, command).map_err(Refusal::usage)?;
            let known = servers.iter().find(|known| known.server.name == *name && known.path == file);
            if known.is_some_and(|known| known.server != server) {
                let hint = format!("`{}` removes it; then add it again", mcp_command("remove", name));
                let text = format!("{} already has a server {name}, which stays: {hint}", file.display());
                return Ok(fail(Exit::Usage, &text));
            }
            add(&environment.paths.shared_file(file.clone()), &server).map_err(Refusal::config)?;
            let test = mcp_command("test", name);
            say(&format!("added {name} to {}; `{test}` tries it\n", file.display()))
        }
        McpAction::Remove { name } => {
            if remove(&environment.paths.shared_file(file.clone()), name).map_err(Refusal::config)? {
                let known = servers.iter().find(|known| known.server.name == *name && known.path == file);
                let is_forgotten = known.is_some_and(|known| logins.forget(&known.server) == Ok(true));
                let login = if is_forgotten { " and forgot its login" } else { "" };
                say(&format!("removed {name} from {}{login}\n", file.display()))
            } else {
                let elsewhere = servers.iter().find(|known| known.server.name == *name);
                let hint = match elsewhere {
                    Some(known) => format!("it is in {}; remove it there", known.path.display()),
                    None => unknown_server(name, &servers),
                };
                return Ok(fail(Exit::Usage, &format!("{name} is not in {}: {hint}", file.display())));
            }
        }
        McpAction::Test { name, .. } | McpAction::Login { name, .. } | McpAction::Logout { name, .. } => {
            let Some(server) = servers.iter().find(|known| known.server.name == *name) else {
                return Ok(fail(Exit::Usage, &unknown_server(name, &servers)));
            };
            match &args.action {
                McpAction::Login { no_browser, .. } => {
                    mcp_login::login(&server.server, &logins, &environment, !no_browser)?
                }
                McpAction::Logout { .. } => mcp_login::logout(&server.server, &logins),
                _ => test(server.clone(), &environment, &cwd)?,
            }
        }
    };
    Ok(environment.exit(exit))
}

fn unknown_server(name: &str, servers: &[ConfiguredServer]) -> String {
    let names: Vec<&str> = servers.iter().map(|known| known.server.name.as_str()).collect();
    if names.is_empty() {
        return format!("no server is called {name:?}; add one with `tau mcp add`");
    }
    format!("no server is called {name:?} (configured: {})", names.join(", "))
}

/// The servers with their kinds and sources.
fn format_list(servers: &[ConfiguredServer], settings: &Settings, logins: &LoginStore) -> String {
    if servers.is_empty() {
        return "no servers; see tau mcp add --help\n".to_owned();
    }
    let off = settings.extensions_off.clone().unwrap_or_default();
    let row = |known: &ConfiguredServer| {
        let what = match &known.server.transport {
            McpTransport::Stdio { command, args, .. } => {
                let words: Vec<String> = std::iter::once(command).chain(args).cloned().collect();
                mask_words(&words).join(" ")
            }
            McpTransport::Http { url, .. } => mask_address(url),
        };
        let is_on = known.server.enabled && !off.contains(&format!("mcp:{}", known.server.name));
        let state = match (is_on, logins.state(&known.server)) {
            (false, _) => "off",
            (true, LoginState::Needed) => "needs login",
            (true, LoginState::LoggedIn) => "logged in",
            (true, LoginState::Unknown) => "on",
        };
        let path = known.path.display().to_string();
        [known.server.name.as_str(), state, &what, &path].map(plain::line)
    };
    let rows: Vec<[String; 4]> = servers.iter().map(row).collect();
    let needing = servers.iter().zip(&rows).filter(|(_, [_, state, ..])| state == "needs login");
    let hints = needing.map(|(known, _)| {
        format!(
            "{} needs login: run `{}`\n",
            plain::line(&known.server.name),
            login_command(&known.server.name)
        )
    });
    table::columns(&rows) + &hints.collect::<String>()
}

fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// Checks that the transport, if one is named, is that of the server.
fn check_transport(transport: Option<&str>, command: &[String]) -> Result<(), UserError> {
    let is_url = command.first().is_some_and(|first| is_url(first));
    match transport {
        None => Ok(()),
        Some("http") if is_url => Ok(()),
        Some("stdio") if !is_url => Ok(()),
        Some("http") => Err("--transport http is for servers with a URL".into()),
        Some("stdio") => Err("--transport stdio is for servers that are programs".into()),
        Some("sse") => Err(UserError::new("SSE is a transport that MCP has replaced")
            .remedy("give the server's address for streamable HTTP")),
        Some(other) => Err(format!("{other:?} is no transport; there are http and stdio").into()),
    }
}

/// The server that the arguments describe.
fn new_server(
    name: &str,
    variables: &[String],
    headers: &[String],
    command: &[String],
) -> Result<McpServer, UserError> {
    let pairs = |texts: &[String], sign: char, what: &str| -> Result<BTreeMap<String, String>, UserError> {
        let pair = |text: &String| {
            let (name, value) =
                text.split_once(sign).ok_or_else(|| format!("{what} {text:?} has no `{sign}`"))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        };
        texts.iter().map(pair).collect()
    };
    let (first, rest) = command.split_first().ok_or("name a URL or a command")?;
    if first.starts_with('-') {
        let text =
            format!("{first} is neither a URL nor a command; options of this command are -e and --header");
        return Err(text.into());
    }
    let transport = match is_url(first) {
        true if !rest.is_empty() || !variables.is_empty() => {
            return Err("a server with a URL takes no arguments and no --env".into());
        }
        true => McpTransport::Http {
            url: first.clone(),
            headers: pairs(headers, ':', "header")?,
            oauth: OauthClient::default(),
        },
        false if !headers.is_empty() => return Err("--header is for servers with a URL".into()),
        false => McpTransport::Stdio {
            command: first.clone(),
            args: rest.to_vec(),
            env: pairs(variables, '=', "variable")?,
            cwd: None,
        },
    };
    Ok(McpServer::new(name, transport))
}

/// Starts a server and prints its contents.
fn test(server: ConfiguredServer, environment: &Environment, cwd: &Path) -> Result<Exit, Refusal> {
    let Environment { paths, settings, keys, .. } = environment;
    let scratch = Scratch::new(&std::env::temp_dir()).map_err(Refusal::config)?.owned_by(&paths.owner());
    let policy = sandbox::policy(settings, paths, cwd);
    let name = server.server.name.clone();
    let mut server = server;
    server.server.enabled = true;
    let sandboxed = settings.sandbox.mcp();
    server.server.sandbox = server.server.sandbox.or(sandboxed.then_some(true));
    let runtime = runtime::on_this_thread()?;
    let trying = probe_server(
        server,
        Arc::new(child_env(keys, settings, "test")),
        Arc::new(scratch),
        settings.network(),
        Some(LoginStore::new(paths.mcp_logins())),
        cwd.to_owned(),
        Arc::new(policy),
    );
    let ProbeResult { description, tools, problem, remark } = runtime.block_on(trying);
    if let Some(problem) = problem {
        return Ok(fail(Exit::Model, &format!("{name} cannot be used: {}", plain::line(&problem))));
    }
    let line = |tool: &(String, String)| {
        let said = tool.1.lines().next().unwrap_or_default();
        [plain::line(&tool.0), plain::line(said)]
    };
    if let Some(remark) = remark {
        warn(&format!("{name}: {}", plain::line(&remark)));
    }
    let rows: Vec<[String; 2]> = tools.iter().map(line).collect();
    Ok(say(&format!("{name}: {}\n{}", plain::line(&description), table::columns(&rows))))
}
