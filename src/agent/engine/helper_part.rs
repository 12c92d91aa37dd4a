//! The part of a helper: its kind, with the tools and the instructions that belong to it.

use std::sync::Arc;

use crate::extensions::helper_kinds::{BUILT_IN, HelperKind};
use crate::permissions::Rule;
use tau_tools::delegate;
use tau_tools::user_error::UserError;
use tau_tools::{ToolSpec, Toolbox};

/// The note for a helper's model on its place.
pub(crate) const ROLE: &str = "You are a helper: another agent gives you a task, and your last answer is all that it \
    gets from you. Do the task yourself, without questions about details, and answer briefly. Processes that you \
    start end with you.";
/// The beginning of the line in a system prompt that names the tools.
const TOOLS_LINE: &str = "Your tools: ";
/// The tools that search, which whoever may read may use.
const SEARCHING: [&str; 3] = ["grep", "find", "ls"];

const EXPLORE: &str = "You search and read to answer a question. You cannot change anything. Read only what you \
    need. Answer with what you found: paths with line numbers, names, short quotes. Say what you did not find.";
const WORK: &str = "Carry out the task completely, and check the result. Answer with what you changed, file by file, \
    how you checked it, and what is left.";
const REVIEW: &str = "Look for faults in what the task names: wrong results, missed cases, security holes, missing \
    tests. Change nothing. Confirm each fault by reading the code or by running something. Answer with a list, the \
    worst first: path:line, what goes wrong, and when. If you find nothing, say so.";

fn built_in_kind(name: &str) -> Option<HelperKind> {
    let kind = |prompt: &str| HelperKind {
        name: name.to_owned(),
        prompt: prompt.to_owned(),
        ..HelperKind::default()
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match name {
        "explore" => {
            let tools = names(&["read", "grep", "find", "ls", "web_fetch", "web_search"]);
            Some(HelperKind { tools: Some(tools), cheap: true, ..kind(EXPLORE) })
        }
        "review" => Some(HelperKind { without: names(&["edit", "write"]), ..kind(REVIEW) }),
        delegate::USUAL_KIND => Some(kind(WORK)),
        _ => None,
    }
}

/// The kind with this name: built in, or one of `files`.
pub(crate) fn find_kind(name: &str, files: &[HelperKind]) -> Result<HelperKind, UserError> {
    let found = built_in_kind(name).or_else(|| files.iter().find(|kind| kind.name == name).cloned());
    found.ok_or_else(|| {
        let of_files = files.iter().map(|kind| kind.name.as_str());
        let names: Vec<&str> = BUILT_IN.into_iter().chain(of_files).collect();
        UserError::new(format!("no kind {name:?}; the kinds are {}", names.join(", ")))
    })
}

/// The kind with this name of a helper whose session is opened again, and whether it is still known. One that is not
/// only reads.
pub(crate) fn reopened_kind(name: &str, files: &[HelperKind]) -> (HelperKind, bool) {
    match find_kind(name, files) {
        Ok(kind) => (kind, true),
        Err(_) => {
            let tools = SEARCHING.into_iter().chain(["read"]).map(str::to_owned).collect();
            (HelperKind { name: name.to_owned(), tools: Some(tools), ..HelperKind::default() }, false)
        }
    }
}

/// The tools of this kind among `own`, and those that search.
pub(crate) fn tools(own: &Toolbox, kind: &HelperKind) -> Toolbox {
    let reads = own.get("read").is_some();
    let searching = Toolbox::all().only(&SEARCHING.map(str::to_owned));
    let mut all = own.clone();
    for tool in searching.iter().filter(|tool| reads && own.get(&tool.spec().name).is_none()) {
        // Only for a kind that names them: others have the tools of their parent.
        if kind.tools.is_some() {
            all = all.with(Arc::clone(tool));
        }
    }
    let has = |name: &String| {
        kind.tools.as_ref().is_none_or(|names| has_name(names, name)) && !has_name(&kind.without, name)
    };
    let names: Vec<String> = all.specs().into_iter().map(name).filter(has).collect();
    all.only(&names)
}

/// Whether these names, which may have `*`, are about a tool. opencode calls that of a server SERVER_TOOL.
fn has_name(names: &[String], tool: &str) -> bool {
    let of_server = tool.strip_prefix("mcp__").map(|rest| rest.replacen("__", "_", 1));
    let rules = names.iter().filter_map(|name| name.parse::<Rule>().ok());
    rules
        .into_iter()
        .any(|rule| rule.names_tool(tool) || of_server.as_ref().is_some_and(|tool| rule.names_tool(tool)))
}

pub(crate) fn name(spec: ToolSpec) -> String {
    spec.name
}

/// The system prompt of a helper: that of its parent, with its own tools and its part.
pub(crate) fn system(parent: &str, kind: &HelperKind, tools: &Toolbox) -> String {
    let names: Vec<String> = tools.specs().into_iter().map(name).collect();
    let line = |line: &str| match line.starts_with(TOOLS_LINE) {
        true => format!("{TOOLS_LINE}{}.", names.join(", ")),
        false => line.to_owned(),
    };
    let lines: Vec<String> = parent.lines().map(line).collect();
    format!("{}\n\n# Your part\n\n{ROLE}\n\n{}", lines.join("\n"), kind.prompt)
}
