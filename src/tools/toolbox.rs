//! The table of built-in tools, and the set of tools of an agent.
//!
//! `--tools`, its help and the table in `docs/tools.md` are made from [`TABLE`].

use std::sync::Arc;

use Availability::{Always, WhenNamed, WhereAsked};

use super::{AnyTool, ToolSpec, ask_user, bash, delegate, edit, find, grep, jobs, ls, read, write};
use crate::user_error::UserError;

/// A built-in tool.
#[derive(Clone, Copy, Debug)]
pub struct BuiltInTool {
    /// The name by which the model calls it.
    pub name: &'static str,
    /// A short description for users.
    pub summary: &'static str,
    /// The modes in which it is on by default.
    pub offered: Availability,
    make: fn() -> Arc<dyn AnyTool>,
}

/// The modes in which a built-in tool is on if the user has chosen no tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// In every permission mode.
    Always,
    /// In modes that ask before commands: it saves the question about an equivalent command.
    WhereAsked,
    /// In none: it is named, or a setting turns it on.
    WhenNamed,
}

impl Availability {
    /// The name used in lists of tools.
    pub fn name(self) -> &'static str {
        match self {
            Availability::Always => "on",
            Availability::WhereAsked => "on, not in `auto`",
            Availability::WhenNamed => "off",
        }
    }
}

/// Creates a tool with its defaults.
fn make<T: AnyTool + Default + 'static>() -> Arc<dyn AnyTool> {
    Arc::new(T::default())
}

const fn row(
    name: &'static str,
    summary: &'static str,
    offered: Availability,
    make: fn() -> Arc<dyn AnyTool>,
) -> BuiltInTool {
    BuiltInTool { name, summary, offered, make }
}

/// The built-in tools, in the order in which models see them.
pub const TABLE: &[BuiltInTool] = &[
    row("read", "read a file, with line numbers, or an image", Always, make::<read::Read>),
    row("bash", "run a shell command", Always, make::<bash::Bash>),
    row(
        "jobs",
        "look at background jobs of bash, wait for them, stop them",
        Always,
        make::<jobs::tool::JobsTool>,
    ),
    row("edit", "replace text in a file", Always, make::<edit::Edit>),
    row("write", "create or replace a file", Always, make::<write::Write>),
    row("ask_user", "ask you questions", Always, make::<ask_user::AskUser>),
    row("grep", "search files for a regular expression", WhereAsked, make::<grep::Grep>),
    row("find", "find files by name", WhereAsked, make::<find::Find>),
    row("ls", "list a directory", WhereAsked, make::<ls::Ls>),
    row("delegate", "give tasks to helpers: agents of their own", WhenNamed, make::<delegate::Delegate>),
];

/// The comma-separated names of the built-in tools with this default.
fn names(offered: Availability) -> String {
    let names: Vec<&str> = TABLE.iter().filter(|row| row.offered == offered).map(|row| row.name).collect();
    names.join(",")
}

/// The help text of `--tools`.
pub fn help() -> String {
    let [on, asked, named] =
        [Availability::Always, Availability::WhereAsked, Availability::WhenNamed].map(names);
    format!("{on}; also {asked},{named}")
}

/// The tools of an agent, in the order in which the model sees them.
#[derive(Clone, Default)]
pub struct Toolbox(Vec<Arc<dyn AnyTool>>);

impl Toolbox {
    /// The tools that are on in every mode.
    pub fn standard() -> Self {
        Self::for_availability(Availability::Always)
    }

    /// The tools that are on by default in these modes.
    pub fn for_availability(when: Availability) -> Self {
        Toolbox(TABLE.iter().filter(|row| row.offered == when).map(|row| (row.make)()).collect())
    }

    /// All built-in tools.
    pub fn all() -> Self {
        Toolbox(TABLE.iter().map(|row| (row.make)()).collect())
    }

    /// The tools with these names. If a name is unknown, the error lists the tools.
    pub fn from_names(names: &[String]) -> Result<Self, UserError> {
        let all = Toolbox::all();
        match names.iter().find(|name| all.get(name).is_none()) {
            None => Ok(all.only(names)),
            Some(unknown) => {
                let names: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
                Err(format!("unknown tool {unknown:?}; the tools are {}", names.join(", ")).into())
            }
        }
    }

    /// No tools at all.
    pub fn empty() -> Self {
        Toolbox::default()
    }

    /// Adds a tool, replacing one of the same name.
    pub fn with(mut self, tool: Arc<dyn AnyTool>) -> Self {
        self.0.retain(|known| known.spec().name != tool.spec().name);
        self.0.push(tool);
        self
    }

    /// Puts a tool in the place of the one of the same name, if there is one.
    pub fn replacing(mut self, tool: Arc<dyn AnyTool>) -> Self {
        let place = self.0.iter_mut().find(|known| known.spec().name == tool.spec().name);
        place.into_iter().for_each(|place| *place = Arc::clone(&tool));
        self
    }

    /// Keeps only the named tools.
    pub fn only(mut self, names: &[String]) -> Self {
        self.0.retain(|tool| names.contains(&tool.spec().name));
        self
    }

    /// The tool with this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.0.iter().find(|tool| tool.spec().name == name)
    }

    /// The tools, in the order in which the model sees them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn AnyTool>> {
        self.0.iter()
    }

    /// The descriptions of the tools for the model.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.0.iter().map(|tool| tool.spec().clone()).collect()
    }
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|tool| &tool.spec().name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_names_of_their_tools() {
        for row in TABLE {
            assert_eq!((row.make)().spec().name, row.name);
        }
        assert_eq!(help(), "read,bash,jobs,edit,write,ask_user; also grep,find,ls,delegate");
    }
}
