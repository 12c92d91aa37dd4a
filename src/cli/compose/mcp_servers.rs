//! The MCP servers in use: from the user's files and from trusted projects.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::project_settings::ProjectSettings;
use crate::args::CliArgs;
use tau_agent::extensions::mcp::{ClaudeServerLists, ConfiguredServer, ReadServers};
use tau_agent::extensions::packages::{Package, Packages};
use tau_agent::settings::Paths;
use tau_agent::settings::config_file::ConfigFile;
use tau_agent::settings::mcp_servers::{self, McpServer};
use tau_agent::settings::other_folders::OtherFolders;
use tau_agent::settings::private_files::parse_json;
use tau_agent::settings::trust::{MCP_FILE, Project};
use tau_tools::user_error::UserError;

/// The servers of all files.
pub(crate) struct FoundServers {
    /// By name.
    pub servers: Vec<ConfiguredServer>,
    /// The faults in settings files.
    pub wrong: Vec<UserError>,
    /// The faults in files for other agents and in those of packages. Everything else works without the server.
    pub unused: Vec<UserError>,
}

/// Reads the servers; those of the nearest project take precedence. Among the user's files, `config.toml` does; those
/// of packages come last.
pub(crate) fn read(config: &ConfigFile, paths: &Paths, project: &ProjectSettings) -> FoundServers {
    let ((mut servers, mut unused), mut wrong) = (of_packages(config, paths), Vec::new());
    let mut add = |(found, errors): (Vec<McpServer>, Vec<UserError>), path: &Path, is_project| {
        if path.extension().is_some_and(|ending| ending == "json") { &mut unused } else { &mut wrong }
            .extend(errors);
        for server in found {
            let path = path.to_owned();
            servers.insert(server.name.clone(), ConfiguredServer { server, path, is_project });
        }
    };
    let path = paths.mcp_file();
    add(mcp_servers::of_json_file(&path), &path, false);
    add(mcp_servers::of_text(config.path(), config.text_or_empty()), config.path(), false);
    let lists = lists(project);
    for project in project.trusted_projects() {
        if let Some((path, text)) = project.file(MCP_FILE) {
            let (mut found, mut wrong) = mcp_servers::of_json_text(&path, text);
            leave_out_refused(&lists.0, &path, text, (&mut found, &mut wrong));
            add((found, wrong), &path, true);
        }
        for (path, text) in project.settings_files() {
            add(mcp_servers::of_text(&path, text), &path, true);
        }
    }
    unused.extend(lists.1);
    FoundServers { servers: servers.into_values().collect(), wrong, unused }
}

/// The lists by which Claude Code does not start servers of trusted projects, if these have servers for it.
fn lists(project: &ProjectSettings) -> (ClaudeServerLists, Vec<UserError>) {
    let has_servers = |project: &&Project| project.file(MCP_FILE).is_some();
    let roots: Vec<&Path> = project.trusted_projects().filter(has_servers).map(Project::root).collect();
    match roots.is_empty() {
        true => Default::default(),
        false => ClaudeServerLists::read(OtherFolders::here().as_ref(), roots.into_iter()),
    }
}

/// Leaves out the servers of an `.mcp.json` that Claude Code does not start, and says so.
fn leave_out_refused(
    lists: &ClaudeServerLists,
    path: &Path,
    text: &str,
    (servers, wrong): (&mut Vec<McpServer>, &mut Vec<UserError>),
) {
    let file: Value = parse_json(text).unwrap_or_default();
    servers.retain(|server| {
        let given = file.get("mcpServers").and_then(|all| all.get(&server.name));
        let refusal = given.and_then(|given| lists.refusal_in_project(&server.name, given));
        wrong.extend(refusal.map(|list| {
            let text = format!("server `{}` is not started: {list} of Claude Code", server.name);
            UserError::new(format!("{}: {text}", path.display()))
        }));
        refusal.is_none()
    });
}

/// The servers of packages that are on, by name, and the faults in them. They cannot get out of the sandbox.
fn of_packages(config: &ConfigFile, paths: &Paths) -> (BTreeMap<String, ConfiguredServer>, Vec<UserError>) {
    let (mut servers, mut unused) = (BTreeMap::<String, ConfiguredServer>::new(), Vec::new());
    let packages = Packages::new(paths).read().0;
    if packages.is_empty() {
        return (servers, unused);
    }
    let off = config.settings().extensions_off.as_deref().unwrap_or_default();
    let packages = packages.into_iter();
    let is_used = |package: &Package| package.problem.is_none() && !off.contains(&package.row().id());
    for package in packages.filter(is_used) {
        let (found, faults) = package.mcp_servers();
        unused.extend(faults);
        for (path, mut server) in found {
            server.sandbox = server.sandbox.filter(|own| *own);
            let is_it = |known: &McpServer| McpServer { package: None, ..known.clone() } == server;
            match servers.get(&server.name) {
                Some(known) if is_it(&known.server) => {}
                Some(known) => unused.push(UserError::new(format!(
                    "{}: server `{}` is not used: {} has one of this name",
                    path.display(),
                    server.name,
                    known.path.display()
                ))),
                None => {
                    let name = server.name.clone();
                    server.package = package.folders();
                    servers.insert(name, ConfiguredServer { server, path, is_project: false });
                }
            }
        }
    }
    (servers, unused)
}

/// Reads the servers for the session's directory. `sandboxed` is the default for a server without a setting
/// of its own.
pub(crate) fn reading(args: &CliArgs, paths: &Paths, sandboxed: bool) -> ReadServers {
    let (args, paths) = (args.clone(), paths.clone());
    ReadServers::new(move |cwd| {
        let project = ProjectSettings::read(&args, &paths, Some(cwd)).unwrap_or_default();
        let config = ConfigFile::read(&paths);
        let off = config.settings().extensions_off.as_deref().unwrap_or_default();
        let mut servers = read(&config, &paths, &project).servers;
        for ConfiguredServer { server, is_project, .. } in &mut servers {
            server.enabled &= !off.contains(&format!("mcp:{}", server.name));
            // A project can ask for the sandbox, but cannot get out of it.
            let own = server.sandbox.filter(|own| *own || !*is_project);
            server.sandbox = own.or(sandboxed.then_some(true));
        }
        servers
    })
}
