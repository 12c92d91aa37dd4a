//! The front end's access to the rest of the program: agents for sessions, the session list, keys.
//!
//! All of it blocks and runs on threads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    Error, ErrorCode, ListSessionsResponse, McpServer as GivenServer, SessionInfo as ListedSession,
};

use super::calls::lossy_path;
use super::editor::EditorLink;
use super::state::{Beginning, BeginningKind};
use super::{PROFILE, wire};
use crate::args::CliArgs;
use crate::compose::environment::{Environment, OnBadConfig};
use crate::compose::session_lookup::places;
use crate::compose::{AgentPrompt, Setup, sessions};
use crate::headless;
use crate::live::record;
use crate::process::exit::Refusal;
use crate::process::plain;
use crate::process::runtime;
use tau_agent::catalogue::keys::KeySource;
use tau_agent::engine::config::AgentConfig;
use tau_agent::extensions::mcp::ConfiguredServer;
use tau_agent::session::all;
use tau_agent::session::{foreign, list};
use tau_agent::settings::mcp_servers::{McpServer, McpTransport, OauthClient, check_name};
use tau_agent::settings::mcp_variables::{Forms, literal};
use tau_protocol::approval::PermissionMode;
use tau_protocol::model::Model;
use tau_protocol::session_row::{SessionOrigin, SessionRow};
use tau_tools::editor::Editor;

/// Number of sessions on a page of the list.
const PAGE: usize = 100;

/// The program around the front end.
#[derive(Clone)]
pub(crate) struct AcpHost {
    args: CliArgs,
}

/// An agent that can be started, and the client's options.
pub(crate) struct NewAgent {
    pub(crate) config: AgentConfig,
    pub(crate) prompt: AgentPrompt,
    pub(crate) setup: Setup,
    pub(crate) models: Vec<Arc<Model>>,
    pub(crate) mode: PermissionMode,
    pub(crate) mode_ceiling: PermissionMode,
    pub(crate) notices: Vec<String>,
}

fn wrong(text: impl Into<String>) -> Error {
    wire::error(ErrorCode::InvalidParams, text)
}

fn internal_error(refusal: Refusal) -> Error {
    wire::error(ErrorCode::InternalError, refusal.text)
}

fn no_model(refusal: Refusal) -> Error {
    wire::error(ErrorCode::AuthRequired, refusal.text)
}

impl AcpHost {
    /// A program with these arguments.
    pub(crate) fn new(args: CliArgs) -> Self {
        AcpHost { args }
    }

    /// Composes the agent of a session. Fails when there is no such session, the directory does not fit, or
    /// no model is available.
    pub(crate) fn begin(&self, beginning: &Beginning, editor: Option<EditorLink>) -> Result<NewAgent, Error> {
        let cwd = &beginning.cwd;
        if !cwd.is_dir() {
            return Err(wrong(format!("`cwd` is not a directory: {}", cwd.display())));
        }
        let servers = beginning.servers.iter().map(server).collect::<Result<Vec<_>, _>>()?;
        let mut setup = Setup::read_at(self.args.clone(), PROFILE, cwd).map_err(internal_error)?;
        match &beginning.kind {
            BeginningKind::New => {}
            BeginningKind::Load(id) | BeginningKind::Resume(id) => {
                let (path, source) = file(&setup, id, cwd)?;
                setup.args.session = Some(lossy_path(&path));
                // The client knows the copy of another agent's session under the id that it asked for.
                setup.args.session_id = source.is_foreign().then(|| id.clone());
            }
            BeginningKind::Fork(id) => {
                setup.args.fork = Some(lossy_path(&find_session(&setup, id, cwd)?.0));
            }
        }
        let mut session = sessions::open(&setup).map_err(|not_opened| internal_error(not_opened.into()))?;
        session.survey();
        let setup = setup.continuing(&session).with_model().map_err(no_model)?;
        has_key(&setup)?;
        let mut agent = setup.agent(session).map_err(internal_error)?;
        let sandboxed = setup.settings.sandbox.mcp().then_some(true);
        let servers = servers.into_iter().map(|server| ConfiguredServer {
            server: McpServer { sandbox: sandboxed, ..server },
            path: cwd.clone(),
            is_project: false,
        });
        agent.config.behavior.editor = editor.map(|editor| Arc::new(editor) as Arc<dyn Editor>);
        let mcp = &mut agent.config.behavior.mcp;
        mcp.read = mcp.read.take().map(|read| read.with(servers.collect()));
        Ok(NewAgent {
            models: setup.catalogue.usable_models(&setup.keys),
            mode: agent.config.behavior.permission_mode,
            mode_ceiling: agent.config.behavior.mode_ceiling,
            notices: setup.notices.iter().chain(&agent.notices).cloned().collect(),
            config: agent.config,
            prompt: agent.prompt,
            setup,
        })
    }

    /// A page of the sessions, newest first: of a directory, or all. A page after the first begins behind the
    /// session in `cursor`. Fails when the settings cannot be read, or there is no such page.
    pub(crate) fn list(
        &self,
        cwd: Option<&Path>,
        cursor: Option<&str>,
    ) -> Result<ListSessionsResponse, Error> {
        let environment = Environment::read(&self.args, OnBadConfig::Refuse).map_err(internal_error)?;
        let root = environment.settings.session_root(&environment.paths);
        let mut rows = all::rows_once(&root, &places(&root), cwd, &environment.paths.session_index());
        // Like /resume, without runs of -p and what was put away.
        let archived = record::archived_ids(&environment.paths);
        rows.retain(|row| !(row.printed || row.source.is_own() && archived.contains(&row.id)));
        if let Some(cursor) = cursor {
            let at = rows.iter().position(|row| row.id == cursor);
            let at =
                at.ok_or_else(|| wrong("no page begins at this `cursor`; list the sessions from the start"))?;
            rows.drain(..=at);
        }
        let has_more = rows.len() > PAGE;
        rows.truncate(PAGE);
        let next = rows.last().filter(|_| has_more).map(|row| row.id.clone());
        Ok(ListSessionsResponse::new(rows.iter().map(list_entry).collect()).next_cursor(next))
    }

    /// Deletes a session. A missing one counts as deleted. Fails when it is open elsewhere, when it is another
    /// program's, or when the file cannot be removed.
    pub(crate) fn delete(&self, id: &str) -> Result<(), Error> {
        let environment = Environment::read(&self.args, OnBadConfig::Refuse).map_err(internal_error)?;
        let root = environment.settings.session_root(&environment.paths);
        let Some(path) = list::of_id(&root, id) else {
            return match of_others(&root, id, None) {
                Some((_, source)) => {
                    Err(wrong(format!("session {id} is of {0}: delete it in {0}", source.program())))
                }
                None => Ok(()),
            };
        };
        sessions::delete(&root, &path).map(drop).map_err(|text| wire::error(ErrorCode::InternalError, text))
    }

    /// Checks that a model is available. The error is the missing setting, and how to set it.
    pub(crate) fn authenticate(&self) -> Result<(), Error> {
        let setup = Setup::read(self.args.clone(), PROFILE).map_err(internal_error)?;
        has_key(&setup.with_model().map_err(no_model)?)
    }
}

/// The file of the session with this id, and the program that wrote it.
fn find_session(setup: &Setup, id: &str, cwd: &Path) -> Result<(PathBuf, SessionOrigin), Error> {
    let root = setup.settings.session_root(&setup.paths);
    let missing = || wire::error(ErrorCode::ResourceNotFound, format!("no session {id}; see session/list"));
    if let Some(path) = list::of_id_in(&root, id, cwd) {
        return Ok((path, SessionOrigin::Tau));
    }
    of_others(&root, id, Some(cwd)).ok_or_else(missing)
}

/// The session of another program with this id: of several, that of `cwd`.
fn of_others(root: &Path, id: &str, cwd: Option<&Path>) -> Option<(PathBuf, SessionOrigin)> {
    let mut found: Vec<_> = (places(root).with_id(id, cwd).into_iter())
        .filter_map(|(path, source)| foreign::places::row_of(&path, source).map(|row| (path, source, row)))
        .filter(|(_, _, row)| row.id == id)
        .collect();
    found.sort_by_key(|(_, _, row)| Some(row.cwd.as_path()) != cwd);
    found.into_iter().next().map(|(path, source, _)| (path, source))
}

/// The file of a session that runs in `cwd`, and the program that wrote it.
fn file(setup: &Setup, id: &str, cwd: &Path) -> Result<(PathBuf, SessionOrigin), Error> {
    let (path, source) = find_session(setup, id, cwd)?;
    let own = foreign::places::directory(&path, source).unwrap_or_default();
    let same = |a: &Path, b: &Path| a == b || std::fs::canonicalize(a).ok() == std::fs::canonicalize(b).ok();
    if same(&own, cwd) {
        return Ok((path, source));
    }
    let text = format!("session {id} works in {}; open it with that `cwd`", own.display());
    Err(wrong(text))
}

fn has_key(setup: &Setup) -> Result<(), Error> {
    let Some(model) = &setup.model else { return Ok(()) };
    let runtime = runtime::on_this_thread().map_err(internal_error)?;
    match runtime.block_on(setup.keys.key(model)) {
        Err(failure) if headless::is_missing_key(&failure) => {
            Err(no_model(headless::no_key(setup, &model.provider, failure)))
        }
        // Any other fault is reported with the request that needs the key.
        _ => Ok(()),
    }
}

fn list_entry(row: &SessionRow) -> ListedSession {
    let title = row.name_or_prompt().map(|title| plain::line(&title));
    let changed = jiff::Timestamp::from_millisecond(row.modified).ok().map(|time| time.to_string());
    ListedSession::new(row.id.clone(), lossy_path(&row.cwd)).title(title).updated_at(changed)
}

/// A server from the client's settings, in the form of tau's own.
fn server(given: &GivenServer) -> Result<McpServer, Error> {
    // Clients have replaced their variables.
    let of_values = |text: &str| literal(text, Forms::All, None);
    let of_words = |text: &str| literal(text, Forms::Braces, None);
    let (name, transport) = match given {
        GivenServer::Stdio(server) => {
            let env: BTreeMap<String, String> =
                server.env.iter().map(|pair| (pair.name.clone(), of_values(&pair.value))).collect();
            let command = of_words(&server.command.to_string_lossy());
            let args = server.args.iter().map(|arg| of_words(arg)).collect();
            (&server.name, McpTransport::Stdio { command, args, env, cwd: None })
        }
        GivenServer::Http(server) => {
            let headers =
                server.headers.iter().map(|pair| (pair.name.clone(), of_values(&pair.value))).collect();
            let url = of_words(&server.url);
            (&server.name, McpTransport::Http { url, headers, oauth: OauthClient::default() })
        }
        GivenServer::Sse(server) => {
            let text = "tau does not use the old SSE transport; use the server's streamable HTTP or stdio";
            return Err(wrong(format!("MCP server `{}`: {text}", server.name)));
        }
        _ => return Err(wrong("an MCP server has a transport that tau does not know")),
    };
    check_name(name).map_err(wrong)?;
    Ok(McpServer::new(name, transport))
}
