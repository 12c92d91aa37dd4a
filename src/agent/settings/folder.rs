//! Describes a folder with project settings before the user trusts it.
//!
//! Shows its files, and changes since it was last trusted.
//!
//! [`super::trust`] defines the effect of the files, and stores the answers.

use super::mcp_servers::{of_json_text, of_text};
use super::trust::{MCP_FILE, Project, SETTINGS, display_name};
use std::collections::BTreeSet;
use std::path::Path;
use tau_protocol::trust::{ChangeKind, FileChange, Folder, Trust};
use tau_tools::diff;
use tau_tools::user_error::UserError;

/// A project as shown to a user who works in `cwd`; `kept` has the answers. Fails when `kept` cannot be read.
pub fn of(project: &Project, trust: Trust, cwd: &Path, kept: &Path) -> Result<Folder, UserError> {
    let before = match trust {
        Trust::Changed | Trust::Trusted => project.last_trusted_files(kept)?.unwrap_or_default(),
        Trust::Unknown | Trust::Refused => Default::default(),
    };
    let now = project.files();
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let change = |name: &String| {
        let (old, new) = (before.get(name), now.get(name));
        let kind = match (old, new) {
            (None, _) => ChangeKind::New,
            (Some(_), None) => ChangeKind::Gone,
            (Some(old), Some(new)) if old == new => return None,
            (Some(_), Some(_)) => ChangeKind::Changed,
        };
        let (old, new) = (old.map_or("", String::as_str), new.map_or("", String::as_str));
        let lines = server_variables_line(name, new).into_iter().chain(difference(old, new)).collect();
        Some(FileChange { file: display_name(name), kind, lines })
    };
    let here = cwd.canonicalize().is_ok_and(|cwd| cwd == project.root());
    Ok(Folder {
        root: project.root().to_owned(),
        place: (!here).then(|| project.root().display().to_string()),
        files: project.names(),
        trust,
        changes: names.into_iter().filter_map(change).collect(),
    })
}

/// The line that names the environment variables that MCP servers of a file are given.
fn server_variables_line(name: &str, text: &str) -> Option<String> {
    let servers = match name {
        MCP_FILE => of_json_text(Path::new(name), text).0,
        name if SETTINGS.contains(&name) => of_text(Path::new(name), text).0,
        _ => return None,
    };
    let mut names = BTreeSet::new();
    servers.iter().for_each(|server| server.add_variables(&mut names));
    let names: Vec<String> = names.into_iter().collect();
    (!names.is_empty())
        .then(|| format!("… its MCP servers get these of your variables: {}", names.join(", ")))
}

/// The changed lines. Nothing is cut, as all of it takes effect: a change that is too large for hunks is shown as both
/// texts.
fn difference(old: &str, new: &str) -> Vec<String> {
    let change = diff::between("", old.as_bytes(), new.as_bytes());
    if !change.cut {
        return change.hunks.into_iter().flat_map(|hunk| hunk.lines).collect();
    }
    let signed = |sign: char, text: &str| -> Vec<String> {
        text.lines().map(|line| format!("{sign}{line}")).collect()
    };
    [signed('-', old), signed('+', new)].concat()
}
