//! The kinds of helpers.

use crate::extensions::helper_kinds::{BUILT_IN, HelperKind};
use tau_tools::delegate;
use tau_tools::user_error::UserError;

const EXPLORE: &str = "You search and read to answer a question. You cannot change anything. Read only what you \
    need. Answer with what you found: paths with line numbers, names, short quotes. Say what you did not find.";
const WORK: &str = "Carry out the task completely, and check the result. Answer with what you changed, file by file, \
    how you checked it, and what is left.";
const REVIEW: &str = "Look for faults in what the task names: wrong results, missed cases, security holes, missing \
    tests. Change nothing. Confirm each fault by reading the code or by running something. Answer with a list, the \
    worst first: path:line, what goes wrong, and when. If you find nothing, say so.";

/// The built-in kind with this name.
fn built_in(name: &str) -> Option<HelperKind> {
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
pub(super) fn named(name: &str, files: &[HelperKind]) -> Result<HelperKind, UserError> {
    let found = built_in(name).or_else(|| files.iter().find(|kind| kind.name == name).cloned());
    found.ok_or_else(|| {
        let of_files = files.iter().map(|kind| kind.name.as_str());
        let names: Vec<&str> = BUILT_IN.into_iter().chain(of_files).collect();
        UserError::new(format!("no kind {name:?}; the kinds are {}", names.join(", ")))
    })
}
