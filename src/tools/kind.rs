//! The kinds of the tools that come with tau, for programs that know a call by the name of its tool only.

/// The kind of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// Reads the file `path`.
    Read,
    /// Writes its arguments to the file `path`.
    Write,
    /// Runs the command line `command`.
    Command,
    /// Searches or lists files.
    Search,
    /// Finds other tools.
    ToolSearch,
    /// Reads from the web.
    Web,
    /// Something else: a tool of the user, of a server, or without effect outside tau.
    Other,
}

impl ToolKind {
    /// The kind of the tool with this name.
    pub fn of(name: &str) -> Self {
        match name {
            "read" => ToolKind::Read,
            "write" | "edit" => ToolKind::Write,
            "bash" => ToolKind::Command,
            "grep" | "find" | "ls" => ToolKind::Search,
            "tool_search" => ToolKind::ToolSearch,
            "web_fetch" | "web_search" => ToolKind::Web,
            _ => ToolKind::Other,
        }
    }
}
