//! The system prompt of one agent: its source, and its changes while the agent runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use tau_agent::settings::local_zone::local_now;

use super::Setup;
use crate::headless::prompts;
use crate::process::exit::Refusal;
use parking_lot::Mutex;
use tau_agent::context::prompt_source::{InstructionMode, PromptSource};
use tau_agent::settings::other_folders::OtherFolders;
use tau_tools::Toolbox;

/// The source of an agent's system prompt, shared by the agent, which reads it again after a compaction, and
/// its front end, which replaces it when the user changes the trust.
#[derive(Clone, Debug)]
pub struct AgentPrompt(Arc<Mutex<Current>>);

/// The source of the prompt, and the agent's text of it.
#[derive(Debug)]
struct Current {
    source: PromptSource,
    text: String,
}

impl AgentPrompt {
    pub(super) fn new(source: PromptSource, text: &str) -> Self {
        AgentPrompt(Arc::new(Mutex::new(Current { source, text: text.to_owned() })))
    }

    /// The prompt for an agent that works in `cwd` from now on. For another directory, `project` gives the
    /// prompt files of its project.
    pub(crate) fn read_in(&self, cwd: &Path, project: impl FnOnce() -> Vec<(PathBuf, String)>) -> Arc<str> {
        let mut current = self.0.lock();
        if current.source.cwd != cwd {
            current.source.project = project();
        }
        current.source.cwd = cwd.to_owned();
        current.text = current.source.read().text;
        current.text.as_str().into()
    }

    /// Uses this setup for the prompt from now on; returns its text, if it changes. Fails when a file that a
    /// flag names cannot be read.
    pub fn replace(&self, setup: &Setup) -> Result<Option<String>, Refusal> {
        let mut current = self.0.lock();
        // The date remains the start's, the directory the session's.
        let (date, cwd) = (current.source.date.clone(), current.source.cwd.clone());
        current.source = PromptSource { date, cwd, ..setup.prompt_source(&setup.tools()?)? };
        let text = current.source.read().text;
        let before = std::mem::replace(&mut current.text, text.clone());
        Ok((text != before).then_some(text))
    }
}

impl Setup {
    /// A prompt without an agent: the screen is attached to a remote one. Fails when a file that a flag names
    /// cannot be read.
    pub(crate) fn prompt_without_session(&self) -> Result<AgentPrompt, Refusal> {
        Ok(AgentPrompt::new(self.prompt_source(&self.tools()?)?, ""))
    }

    /// The existing files of the system prompt.
    pub fn instructions(&self) -> Vec<PathBuf> {
        self.prompt_files().files()
    }

    /// The places of the system prompt's files.
    fn prompt_files(&self) -> PromptSource {
        PromptSource {
            cwd: self.project_dir.clone(),
            role: self.args.system_prompt.clone(),
            config: self.paths.config.clone(),
            project: self.project.prompt_files(),
            instructions: match self.args.no_context_files {
                true => InstructionMode::Skip,
                false => InstructionMode::Read,
            },
            claude: OtherFolders::here().map(|folders| folders.place(".claude")),
            rules: Some(self.file_filter()),
            ..PromptSource::default()
        }
    }

    /// The source of the system prompt.
    pub(super) fn prompt_source(&self, tools: &Toolbox) -> Result<PromptSource, Refusal> {
        let text = |value: &String| prompts::text_or_file(value).map_err(Refusal::config);
        let append = self.args.appended.join("\n\n");
        Ok(PromptSource {
            tools: tools.specs().into_iter().map(|spec| spec.name).collect(),
            date: local_now().strftime("%Y-%m-%d").to_string(),
            shell: self.settings.shell.clone(),
            role: self.args.system_prompt.as_ref().map(text).transpose()?,
            append: (!append.is_empty()).then_some(append),
            extensions: Some(Arc::clone(&self.extensions)),
            ..self.prompt_files()
        })
    }
}
