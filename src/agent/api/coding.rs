//! An agent that works on code: coding tools, their system prompt, a directory, a session.
//!
//! What the program tau starts, for other programs. Settings files of the person are not read;
//! instruction files of the project are.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use super::{Agent, AgentBuilder, AgentError};
use crate::agent::context::instruction_files::{InstructionFile, InstructionFiles};
use crate::agent::context::system_prompt::{PromptInputs, system_prompt};
use crate::agent::context::workspace::Workspace;
use crate::agent::protocol::command::{AgentCommand, SessionCommand};
use crate::tools::Toolbox;

/// An [`Agent`] with the coding tools. All methods of the agent are its own, too.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use tau::agent::api::{Agent, CodingAgent};
///
/// let agent = CodingAgent::builder("/path/to/project")
///     .with(|agent| Ok::<_, tau::agent::catalogue::NotFound>(agent.model_named("gpt-5-mini")?))?
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

    /// Runs a command for the person, beside whatever goes on. Its output comes as events, and
    /// the model sees it with the next prompt.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn bash(&self, command: impl Into<String>) -> Result<(), AgentError> {
        let command = command.into();
        self.act(AgentCommand::Bash { id: None, command, exclude_from_context: false, size: None }).await
    }

    /// As [`CodingAgent::bash`], but the model never sees it.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn bash_unseen(&self, command: impl Into<String>) -> Result<(), AgentError> {
        let command = command.into();
        self.act(AgentCommand::Bash { id: None, command, exclude_from_context: true, size: None }).await
    }

    /// Ends the person's commands.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn abort_bash(&self) -> Result<(), AgentError> {
        self.act(AgentCommand::AbortBash).await
    }

    /// Begins an empty session. A run is aborted first.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn new_session(&self) -> Result<(), AgentError> {
        self.session(SessionCommand::New).await
    }

    /// Opens a session file. A run is aborted first. When the file cannot be opened, the present
    /// session stays, and a notice says why.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn open_session(&self, path: impl Into<PathBuf>) -> Result<(), AgentError> {
        self.session(SessionCommand::Open { path: path.into() }).await
    }

    /// Names the session.
    ///
    /// # Errors
    /// When the agent has ended.
    pub async fn name_session(&self, name: impl Into<String>) -> Result<(), AgentError> {
        self.act(AgentCommand::Session(SessionCommand::Name { name: name.into() })).await
    }

    async fn session(&self, command: SessionCommand) -> Result<(), AgentError> {
        self.command(AgentCommand::Session(command)).await?;
        self.wait_for_idle().await
    }
}

/// Which instruction files go into the system prompt.
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
    /// Everything that any agent has: model, keys, transport, session, limits, hooks. What is set
    /// there for tools, directory and system prompt is overruled here.
    ///
    /// # Errors
    /// Those of `set`.
    pub fn with<E>(mut self, set: impl FnOnce(AgentBuilder) -> Result<AgentBuilder, E>) -> Result<Self, E> {
        self.agent = set(self.agent)?;
        Ok(self)
    }

    /// As [`CodingAgentBuilder::with`], for what cannot fail.
    pub fn agent(mut self, set: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Self {
        self.agent = set(self.agent);
        self
    }

    /// These tools in place of read, bash, edit and write.
    pub fn tools(mut self, tools: Toolbox) -> Self {
        self.tools = tools;
        self
    }

    /// This text in place of the first part of the system prompt.
    pub fn role(mut self, text: impl Into<String>) -> Self {
        self.role = Some(text.into());
        self
    }

    /// This text at the end of the system prompt.
    pub fn append_system(mut self, text: impl Into<String>) -> Self {
        self.append = Some(text.into());
        self
    }

    /// These instruction files, in place of the `AGENTS.md` files from the root down to the directory.
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
            date: &jiff::Zoned::now().strftime("%Y-%m-%d").to_string(),
            workspace: Workspace::find(&self.cwd, None),
            role: self.role.as_deref(),
            append: self.append.as_deref(),
            instructions,
        })
    }
}
