//! The inputs of a session's system prompt, from which it can be rebuilt.
//!
//! Between two compactions the prompt stays the same, byte for byte. After one, the provider's cache is lost
//! anyway, so the files are read again and the prompt picks up their changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::instruction_files::{
    InstructionFiles, InstructionPlaces, MAX_INSTRUCTION_FILE, clean_text, read_own,
};
use super::system_prompt::{PromptInputs, system_prompt};
use super::workspace::Workspace;
use crate::extensions::Extensions;
use tau_tools::access::FileFilter;

/// The file with the user's system prompt, in the folder of settings or in `.tau/` of a trusted project.
const SYSTEM_FILE: &str = "SYSTEM.md";

/// Whether instruction files are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstructionMode {
    #[default]
    Read,
    Skip,
}

/// The inputs of a prompt. The date is that of the start, also when the prompt is rebuilt.
#[derive(Clone, Debug, Default)]
pub struct PromptSource {
    /// Names of the enabled tools.
    pub tools: Vec<String>,
    /// The directory the session runs in.
    pub cwd: PathBuf,
    pub date: String,
    /// The shell that runs commands, if one is configured.
    pub shell: Option<PathBuf>,
    /// Replaces the general part, which `{default}` in it stands for; takes precedence over `SYSTEM.md`.
    pub role: Option<String>,
    /// Text at the end.
    pub append: Option<String>,
    /// The user's folder of settings.
    pub config: PathBuf,
    /// Files of trusted projects, the nearest first: the trusted texts, not the content of the files when the
    /// prompt is rebuilt.
    pub project: Vec<(PathBuf, String)>,
    pub instructions: InstructionMode,
    /// The user's folder of Claude Code, with instructions.
    pub claude: Option<PathBuf>,
    /// The rules for imports of instruction files.
    pub rules: Option<Arc<dyn FileFilter>>,
    /// Loaded again whenever the prompt is built; without them the prompt has no skills.
    pub extensions: Option<Arc<Extensions>>,
}

/// A prompt and its sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemPrompt {
    pub text: String,
    pub files: Vec<PathBuf>,
    /// Notices for the user.
    pub notices: Vec<String>,
}

impl PromptSource {
    /// The existing files that the prompt is built from, without building it.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut prompt = SystemPrompt::default();
        if self.role.is_none() {
            self.system_file(&mut prompt);
        }
        prompt.files.extend(self.instruction_files().files.into_iter().map(|file| file.path));
        prompt.files
    }

    /// The locations of instruction files.
    pub fn places(&self) -> InstructionPlaces {
        let (config, claude, rules) = (self.config.clone(), self.claude.clone(), self.rules.clone());
        InstructionPlaces { config, claude, rules }
    }

    fn instruction_files(&self) -> InstructionFiles {
        match self.instructions {
            InstructionMode::Read => self.places().find(&self.cwd),
            InstructionMode::Skip => InstructionFiles::default(),
        }
    }

    /// Reads the files and builds the prompt.
    pub fn read(&self) -> SystemPrompt {
        let mut prompt = SystemPrompt::default();
        let found = self.instruction_files();
        let role = self.role.clone().or_else(|| self.system_file(&mut prompt));
        let gone = self.config.join("APPEND_SYSTEM.md");
        if gone.exists() {
            let file = gone.display();
            let text =
                format!("{file} is not read: put its text into SYSTEM.md, behind a line `{{default}}`");
            prompt.notices.push(text);
        }
        let loaded =
            self.extensions.as_ref().map(|extensions| extensions.load(&self.cwd)).unwrap_or_default();
        prompt.text = system_prompt(&PromptInputs {
            tools: &self.tools,
            cwd: &self.cwd.display().to_string(),
            date: &self.date,
            workspace: Workspace::find(&self.cwd, self.shell.as_deref()),
            role: role.as_deref(),
            append: self.append.as_deref(),
            instructions: &found.files,
            skills: &loaded.listing.text,
        });
        prompt.files.extend(found.files.into_iter().map(|file| file.path));
        prompt.notices.extend(found.notices);
        prompt
    }

    /// The text of `SYSTEM.md`: the project's, else the user's.
    fn system_file(&self, prompt: &mut SystemPrompt) -> Option<String> {
        let name = SYSTEM_FILE;
        let trusted = self.project.iter().find(|(path, _)| path.ends_with(name));
        if let Some((path, text)) = trusted {
            prompt.files.push(path.clone());
            return Some(clean_text(text));
        }
        let path = self.config.join(name);
        match read_own(&path) {
            Ok(text) => {
                prompt.files.push(path);
                return Some(text);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => prompt.notices.push(skip_notice(&path, &error)),
        }
        None
    }
}

fn skip_notice(path: &Path, error: &std::io::Error) -> String {
    format!("skipped {}: {error} (the limit is {} KB)", path.display(), MAX_INSTRUCTION_FILE / 1024)
}
