//! The summary of a package: its contents, its rights, and its price.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use super::fetch::StagedPackage;
use crate::commands::table;
use tau_agent::extensions::ExtensionOptions;
use tau_agent::extensions::packages::{Package, PackageRecord, digest};
use tau_agent::extensions::places::Places;
use tau_agent::extensions::registry::LoadedExtensions;
use tau_agent::extensions::skills::Skill;
use tau_agent::extensions::skills::listing::{SKILL_BUDGET, listing};
use tau_agent::settings::mcp_servers::{McpServer, McpTransport};
use tau_app::printable::decision_line;
use tau_protocol::extension::ExtensionKind;
use tau_tools::counted::{byte_size, pluralize};
use tau_tools::regular_files::read_capped;
use tau_tools::user_error::UserError;

/// The maximum number of changed files that are named.
const MAX_NAMED: usize = 20;

/// The summary of a package that is not in use yet, for the user to decide. `root` is the folder that its files get.
pub(crate) fn text(staged: &StagedPackage, before: Option<&PackageRecord>, root: &Path) -> String {
    let package = Package {
        name: staged.name.clone(),
        record: staged.record.clone(),
        root: staged.root.clone(),
        data: None,
        problem: None,
    };
    let (servers, faults) = package.mcp_servers();
    let servers: Vec<McpServer> = servers.into_iter().map(|(_, server)| server).collect();
    let places = Places { packages: vec![package], ..Places::default() };
    let loaded = LoadedExtensions::from_places(&places, &ExtensionOptions::default());
    let mut text = decision_line(&staged.name).to_string();
    text += &staged
        .layout
        .version
        .as_ref()
        .map(|version| format!(" {}", decision_line(version)))
        .unwrap_or_default();
    text.push('\n');
    if !staged.layout.description.is_empty() {
        let _ = writeln!(text, "{}", decision_line(&staged.layout.description));
    }
    text += &table::columns(&rows(staged, &loaded, &servers, tokens_at(&loaded, staged, root)));
    let problems =
        loaded.rows.iter().flat_map(|row| row.problems.iter().map(move |problem| (&row.name, problem)));
    // Its files are in a place of their own until it is added.
    let place = format!("{}/", staged.root.display());
    let inside = |problem: &str| decision_line(&problem.replace(&place, ""));
    for (name, problem) in problems {
        let _ = writeln!(text, "{}: {}", decision_line(name), inside(problem));
    }
    let faults = faults.iter().map(UserError::to_string);
    loaded
        .problems
        .iter()
        .cloned()
        .chain(faults)
        .for_each(|problem| text += &format!("{}\n", inside(&problem)));
    if let Some(record) = before {
        text += &changes(record, root, staged);
    }
    text
}

/// The tokens that the package takes of every request once its files are in `root`: the list of skills names them.
fn tokens_at(loaded: &LoadedExtensions, staged: &StagedPackage, root: &Path) -> u64 {
    let real = root.parent().and_then(|folder| Some(folder.canonicalize().ok()?.join(root.file_name()?)));
    let root = real.unwrap_or_else(|| root.to_owned());
    let placed = |skill: &Skill| {
        let below = skill.path.strip_prefix(&staged.root);
        let path = below.map_or_else(|_| skill.path.clone(), |below| root.join(below));
        Skill { path, ..skill.clone() }
    };
    let skills: Vec<Skill> = loaded.skills.iter().map(placed).collect();
    listing(&skills, SKILL_BUDGET).tokens.into_iter().flatten().sum()
}

fn rows(
    staged: &StagedPackage,
    loaded: &LoadedExtensions,
    servers: &[McpServer],
    tokens: u64,
) -> Vec<[String; 2]> {
    let names = |kind: ExtensionKind, sign: &str| {
        let rows = loaded.rows.iter().filter(|row| row.kind == kind);
        rows.map(|row| format!("{sign}{}", row.name)).collect::<Vec<_>>().join(", ")
    };
    let servers_are: Vec<String> = servers.iter().map(server).collect();
    let allowed: Vec<&str> = loaded
        .skills
        .iter()
        .flat_map(|skill| &skill.allowed_tools)
        .chain(
            loaded
                .templates
                .iter()
                .filter(|template| template.path.is_some())
                .flat_map(|template| &template.allowed_tools),
        )
        .map(String::as_str)
        .collect();
    let runs = [
        (!loaded.hooks.is_empty(), "its hooks run their commands at their events without a question"),
        (!servers.is_empty(), "its MCP servers start with each session, sandboxed as your settings say"),
        (
            !loaded.tools.is_empty(),
            "its custom tools run programs when the model calls them, by your permissions",
        ),
        (!allowed.is_empty(), "its skills and templates allow the calls above while they are used"),
    ];
    let rights: Vec<&str> = runs.iter().filter(|(does, _)| *does).map(|(_, what)| *what).collect();
    let rights = match rights.is_empty() {
        true => "texts for the model only; it runs nothing by itself".to_owned(),
        false => rights.join("; "),
    };
    let more =
        if servers.is_empty() { "" } else { ", and the tools of its MCP servers, which are not known yet" };
    let files = format!(
        "{}, {}{}",
        pluralize(staged.digest.files as u64, "file"),
        byte_size(staged.digest.bytes),
        if staged.links > 0 {
            format!(", without {}", pluralize(staged.links as u64, "link"))
        } else {
            String::new()
        }
    );
    let from = match &staged.record.revision {
        Some(revision) => format!("{} at {revision}", staged.record.source),
        None => staged.record.source.clone(),
    };
    let templates =
        loaded.rows.iter().filter(|row| row.kind == ExtensionKind::PromptTemplate && row.path.is_some());
    let templates: Vec<String> = templates.map(|row| format!("/{}", row.name)).collect();
    let staging = staged.root.display().to_string();
    let hooks = hooks(loaded, &staging);
    let servers_are = servers_are.join(", ").replace(&staging, ROOT);
    let all = [
        ("from", from),
        ("skills", names(ExtensionKind::Skill, "")),
        ("templates", templates.join(", ")),
        ("helpers", names(ExtensionKind::HelperKind, "")),
        ("tools", names(ExtensionKind::CustomTool, "")),
        ("hooks", hooks),
        ("MCP servers", servers_are),
        ("allows", allowed.join(", ")),
        ("not used", staged.layout.unused.join(", ")),
        ("rights", rights),
        ("price", format!("about {} in every request{more}", pluralize(tokens, "token"))),
        ("files", files),
        ("SHA-256", staged.digest.sha256.clone()),
    ];
    let shown = all.into_iter().filter(|(_, text)| !text.is_empty());
    shown.map(|(name, text)| [format!("  {name}"), decision_line(&text).to_string()]).collect()
}

/// The folder of the package, as its files name it: the one that it is staged in means nothing to anyone.
const ROOT: &str = "${CLAUDE_PLUGIN_ROOT}";

/// The hooks with their whole commands, which run unasked.
fn hooks(loaded: &LoadedExtensions, staging: &str) -> String {
    let shown = loaded.hooks.iter().map(|hook| {
        let command = hook.command.to_string().replace(staging, ROOT);
        format!("{} ({}): {command}", hook.event.name(), hook.scope())
    });
    shown.collect::<Vec<_>>().join("; ")
}

/// A server with what it is given: the names of variables or headers, and those of the user's variables in them.
fn server(server: &McpServer) -> String {
    let (what, given) = match &server.transport {
        McpTransport::Stdio { command, args, env, .. } => {
            let words: Vec<&str> = std::iter::once(command).chain(args).map(String::as_str).collect();
            (words.join(" "), env)
        }
        McpTransport::Http { url, headers, .. } => (url.clone(), headers),
    };
    let (mut variables, mut text) = (BTreeSet::new(), format!("{} ({what}", server.name));
    server.add_variables(&mut variables);
    let given: Vec<&str> = given.keys().map(String::as_str).collect();
    if !given.is_empty() {
        let _ = write!(text, " with {}", given.join(" "));
    }
    if !variables.is_empty() {
        let _ = write!(text, ", from your {}", variables.into_iter().collect::<Vec<_>>().join(" "));
    }
    text + ")"
}

/// The differences between the package in use and the one that would replace it.
fn changes(before: &PackageRecord, root: &Path, staged: &StagedPackage) -> String {
    if before.sha256 == staged.digest.sha256 {
        return "  the same files as before\n".to_owned();
    }
    let files = |root: &Path| -> BTreeMap<String, Option<Vec<u8>>> {
        let found = digest::files(root).unwrap_or_default().into_iter();
        found
            .map(|path| {
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                (name, read_capped(&path, digest::MAX_SIZE).ok())
            })
            .collect()
    };
    let (old, new) = (files(root), files(&staged.root));
    let mut lines: Vec<String> = Vec::new();
    for name in old.keys().chain(new.keys().filter(|name| !old.contains_key(*name))) {
        let sign = match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) if old == new => continue,
            (Some(_), Some(_)) => '~',
            (Some(_), None) => '-',
            (None, _) => '+',
        };
        lines.push(format!("  {sign} {}\n", decision_line(name)));
    }
    let more = lines.len().saturating_sub(MAX_NAMED);
    let mut text = format!("  replaces SHA-256 {}\n", before.sha256);
    lines.iter().take(MAX_NAMED).for_each(|line| text += line);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
    text
}
