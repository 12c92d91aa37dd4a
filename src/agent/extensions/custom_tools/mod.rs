//! Custom tools: commands of the user that models call like built-in tools.
//!
//! Each is described by a file `tools/NAME.toml`.
//!
//! Values from a model never reach a shell as text: they are words of a program, variables, and JSON on
//! standard input. The declared access of a tool is trusted if the file is the user's own. Parts:
//! `definition` (the file), `arguments` (their types and values), `words` (texts with placeholders), `tool`
//! (a call), `run` (its process), `output` (its display for the user), `unified` (diffs).

mod arguments;
mod definition;
mod output;
mod run;
mod tool;
mod unified;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use crate::settings::Problem;
pub use tool::CustomTool;

use super::places::Place;
use super::walk::{Entry, Walk};
use super::{MAX_CUSTOM_TOOLS, MAX_EXTENSION_FILE};
use crate::permissions::grant;
use crate::settings::private_files::read_capped;
use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionSource, ExtensionState};
use tau_tools::{AnyTool, toolbox};
use tool::ToolPlace;

/// The extension of a tool's file.
const ENDING: &str = "toml";
/// The maximum length of a name, in characters; providers do not accept longer ones.
const MAX_NAME_LEN: usize = 64;
/// The prefix of the names of MCP tools.
const OF_SERVERS: &str = "mcp__";

/// A file that describes a tool.
#[derive(Clone, Debug)]
pub struct FoundTool {
    /// The name of the file.
    pub name: String,
    pub path: PathBuf,
    pub source: ExtensionSource,
    /// The tool, or the problems of its file.
    pub tool: Result<Arc<CustomTool>, Vec<Problem>>,
}

/// The tools of a place, and the problems of the place itself.
pub(super) fn find(place: &Place, shell: Option<&Path>) -> (Vec<FoundTool>, Vec<String>) {
    let mut walk = Walk::new(place);
    let mut found = Vec::new();
    if let Some(folder) = walk.start() {
        for entry in walk.entries(&folder, 0) {
            let Entry::File(path) = entry else { continue };
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            if found.len() >= MAX_CUSTOM_TOOLS {
                let text = format!("{}: only the first {MAX_CUSTOM_TOOLS} tools are used", folder.display());
                walk.problems.push(text);
                break;
            }
            found.push(read(&path, place.source, shell));
        }
    }
    (found, walk.problems)
}

/// Reads the file of a tool; `shell` runs its command if it is a command line. Blocks.
pub fn read(path: &Path, source: ExtensionSource, shell: Option<&Path>) -> FoundTool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let of_file = |text: String| vec![Problem { line: None, text }];
    let text =
        read_capped(path, MAX_EXTENSION_FILE).map_err(|error| of_file(error.to_string())).and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| of_file("it is not UTF-8; save it as UTF-8 text".to_owned()))
        });
    let tool = text.and_then(|text| {
        let parsed = definition::parse(&text);
        match (parsed, name_problem(&name)) {
            (Ok(definition), None) => {
                let place = ToolPlace { path: path.to_owned(), source, shell: shell.map(Path::to_owned) };
                Ok(Arc::new(CustomTool::new(&name, place, definition)))
            }
            (parsed, problem) => {
                let mut problems = parsed.err().unwrap_or_default();
                problems.extend(problem.map(|text| Problem { line: None, text }));
                Err(problems)
            }
        }
    });
    FoundTool { name, path: path.to_owned(), source, tool }
}

impl FoundTool {
    /// Its row in lists.
    pub fn row(&self) -> ExtensionRow {
        let (state, problems) = match &self.tool {
            Ok(_) => (ExtensionState::On, Vec::new()),
            Err(problems) => (ExtensionState::Failed, problems.iter().map(Problem::to_string).collect()),
        };
        ExtensionRow {
            kind: ExtensionKind::CustomTool,
            name: self.name.clone(),
            description: self.tool.as_ref().map(|tool| tool.spec().description.clone()).unwrap_or_default(),
            source: self.source,
            path: Some(self.path.clone()),
            state,
            problems,
            tokens: None,
        }
    }
}

/// The reason a tool cannot have this name, if any.
pub(super) fn name_problem(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    if !name.starts_with(|c: char| c.is_ascii_lowercase())
        || !name.chars().all(plain)
        || name.len() > MAX_NAME_LEN
    {
        return Some(format!(
            "a tool cannot be called `{name}`: use up to {MAX_NAME_LEN} of a-z, 0-9, `_` and `-`, with a letter first"
        ));
    }
    let is_own = toolbox::TABLE.iter().any(|row| row.name == name) || grant::FURTHER_TOOLS.contains(&name);
    if is_own || name.starts_with(OF_SERVERS) {
        return Some(format!("`{name}` is a name of tau's own tools; give the file another name"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::name_problem;

    #[test]
    fn names_are_those_that_providers_take_and_tau_does_not_use() {
        for name in ["count", "a", "git-log_2", &"x".repeat(64)] {
            assert_eq!(name_problem(name), None);
        }
        for name in
            ["", "Count", "1st", "-a", "a b", "ä", "read", "bash", "web_fetch", "mcp__a", &"x".repeat(65)]
        {
            assert!(name_problem(name).is_some(), "{name}");
        }
    }
}
