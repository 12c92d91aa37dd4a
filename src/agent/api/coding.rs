//! An agent that works on code: coding tools, their system prompt, a directory, a session.
//!
//! This is the agent that tau itself starts, for use by other programs. The user's settings files are not read;
//! the project's instruction files are.

use crate::settings::local_zone::local_now;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use super::{Agent, AgentBuilder, AgentError};
use crate::context::instruction_files::{InstructionFile, InstructionFiles};
use crate::context::system_prompt::{PromptInputs, system_prompt};
use crate::context::workspace::Workspace;
use tau_protocol::command::{SessionChange, SessionCommand, ShellCommand};
use tau_tools::Toolbox;

/// An [`Agent`] with the coding tools. Dereferences to [`Agent`].
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tau_agent::api::{Agent, CodingAgent};
///
/// let agent = CodingAgent::builder("/path/to/project")
///     .with(|agent| agent.model_by_name("gpt-5-mini"))?
///     .start();
/// println!("{}", agent.run("Why is the build red?").await?.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CodingAgent {
    agent: Agent,
}

impl Deref for CodingAgent {
    type Target = Agent;

    fn deref(&self) -> &Agent {
        &self.agent
    }
}

impl CodingAgent {
    /// A coding agent for this directory.
    pub fn builder(cwd: impl Into<PathBuf>) -> CodingAgentBuilder {
        CodingAgentBuilder {
            cwd: cwd.into(),
            agent: Agent::builder(),
            tools: Toolbox::standard(),
            role: None,
            append: None,
            instructions: Instructions::OfProject,
        }
    }

    /// Runs a command for the user, also during a run. Its output arrives as events, and the model
    /// sees it with the next prompt.
    pub async fn bash(&self, command: impl Into<String>) -> Result<(), AgentError> {
        let command = command.into();
        self.act(ShellCommand::Bash {
            id: None,
            command,
            exclude_from_context: false,
            size: None,
            without_sandbox: false,
        })
        .await
    }

    /// Like [`CodingAgent::bash`], but the model never sees it.
    pub async fn bash_hidden(&self, command: impl Into<String>) -> Result<(), AgentError> {
        let command = command.into();
        self.act(ShellCommand::Bash {
            id: None,
            command,
            exclude_from_context: true,
            size: None,
            without_sandbox: false,
        })
        .await
    }

    /// Stops the user's commands.
    pub async fn abort_bash(&self) -> Result<(), AgentError> {
        self.act(ShellCommand::AbortBash).await
    }

    /// Starts an empty session. Aborts a run first.
    pub async fn new_session(&self) -> Result<(), AgentError> {
        self.session(SessionChange::New).await
    }

    /// Opens a session file. Aborts a run first. If the file cannot be opened, the current session
    /// stays open, and a notice says why.
    pub async fn open_session(&self, path: impl Into<PathBuf>) -> Result<(), AgentError> {
        self.session(SessionChange::Open { path: path.into() }).await
    }

    /// Names the session.
    pub async fn name_session(&self, name: impl Into<String>) -> Result<(), AgentError> {
        self.act(SessionCommand::Change(SessionChange::Name { name: name.into() })).await
    }

    async fn session(&self, command: SessionChange) -> Result<(), AgentError> {
        self.command(SessionCommand::Change(command)).await?;
        self.wait_for_idle().await
    }
}

/// The instruction files that go into the system prompt.
#[derive(Clone, Debug)]
enum Instructions {
    OfProject,
    Given(Vec<InstructionFile>),
}

/// Builds a [`CodingAgent`].
#[derive(Debug)]
pub struct CodingAgentBuilder {
    cwd: PathBuf,
    agent: AgentBuilder,
    tools: Toolbox,
    role: Option<String>,
    append: Option<String>,
    instructions: Instructions,
}

impl CodingAgentBuilder {
    /// Applies the settings that every agent has: model, keys, transport, session, limits, hooks. Tools,
    /// directory and system prompt set there have no effect.
    ///
    /// # Errors
    /// Errors of `set`.
    pub fn with<E>(mut self, set: impl FnOnce(AgentBuilder) -> Result<AgentBuilder, E>) -> Result<Self, E> {
        self.agent = set(self.agent)?;
        Ok(self)
    }

    /// Like [`CodingAgentBuilder::with`], for settings that cannot fail.
    pub fn agent(mut self, set: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Self {
        self.agent = set(self.agent);
        self
    }

    /// Uses these tools instead of read, bash, edit and write.
    pub fn tools(mut self, tools: Toolbox) -> Self {
        self.tools = tools;
        self
    }

    /// Replaces the first part of the system prompt.
    pub fn role(mut self, text: impl Into<String>) -> Self {
        self.role = Some(text.into());
        self
    }

    /// Appends text to the system prompt.
    pub fn append_system(mut self, text: impl Into<String>) -> Self {
        self.append = Some(text.into());
        self
    }

    /// Uses these instruction files instead of the `AGENTS.md` files from the root down to the
    /// directory.
    pub fn instructions(mut self, files: Vec<InstructionFile>) -> Self {
        self.instructions = Instructions::Given(files);
        self
    }

    /// Starts the agent on the current tokio runtime. Reads the instruction files.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(self) -> CodingAgent {
        let system = self.system();
        CodingAgent { agent: self.agent.tools(self.tools).cwd(self.cwd).system(system).start() }
    }

    fn system(&self) -> String {
        let found;
        let instructions: &[InstructionFile] = match &self.instructions {
            Instructions::Given(files) => files,
            Instructions::OfProject => {
                found = InstructionFiles::find(&self.cwd, Path::new(&self.cwd)).files;
                &found
            }
        };
        let tools: Vec<String> = self.tools.specs().into_iter().map(|spec| spec.name).collect();
        system_prompt(&PromptInputs {
            tools: &tools,
            cwd: &self.cwd.display().to_string(),
            date: &local_now().strftime("%Y-%m-%d").to_string(),
            role: self.role.as_deref(),
            append: self.append.as_deref(),
            workspace: Workspace::find(&self.cwd, None),
            instructions,
            skills: "",
        })
    }
}
