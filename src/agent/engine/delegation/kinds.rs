//! The kinds of helpers.

use tau_tools::delegate;

/// A kind of helper.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HelperKind {
    pub name: String,
    /// When to use it, for the model.
    pub description: String,
    /// Its instructions, for the helper.
    pub prompt: String,
    /// The names of its tools; `None` for those of its parent.
    pub tools: Option<Vec<String>>,
    /// The names of tools that it does not have.
    pub without: Vec<String>,
    /// The model, by any name; `None` for that of its parent.
    pub model: Option<String>,
    /// Whether a cheap model of the same provider is enough.
    pub cheap: bool,
}

/// The names of the built-in kinds.
pub const BUILT_IN: [&str; 3] = ["explore", delegate::USUAL_KIND, "review"];

const EXPLORE: &str = "You search and read to answer a question. You cannot change anything. Read only what you \
    need. Answer with what you found: paths with line numbers, names, short quotes. Say what you did not find.";
const WORK: &str = "Carry out the task completely, and check the result. Answer with what you changed, file by file, \
    how you checked it, and what is left.";
const REVIEW: &str = "Look for faults in what the task names: wrong results, missed cases, security holes, missing \
    tests. Change nothing. Confirm each fault by reading the code or by running something. Answer with a list, the \
    worst first: path:line, what goes wrong, and when. If you find nothing, say so.";

/// The built-in kind with this name.
pub(super) fn built_in(name: &str) -> Option<HelperKind> {
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
