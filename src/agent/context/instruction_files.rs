//! Where a session's system prompt comes from, so that it can be read again.
//!
//! Between two compactions the prompt stays as it is, byte for byte. After one the provider's
//! cache is of no use anyway, so the files are read anew and what changed in them is told then.

use std::path::{Path, PathBuf};

use super::system_prompt::{ContextFiles, MAX_CONTEXT_FILE, PromptInputs, cleaned, read, system_prompt};

/// Whether instruction files are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instructions {
    #[default]
    Read,
    LeaveOut,
}

/// What a prompt is made of. The date is that of the start, also when it is made again.
#[derive(Clone, Debug, Default)]
pub struct PromptSource {
    /// Names of the tools that are on.
    pub tools: Vec<String>,
    /// The directory the session runs in.
    pub cwd: PathBuf,
    pub date: String,
    /// In place of the first part; before `SYSTEM.md`.
    pub role: Option<String>,
    /// At the end; after `APPEND_SYSTEM.md`.
    pub append: Option<String>,
    /// The person's own folder of settings.
    pub config: PathBuf,
    /// Files of trusted projects, the nearest first: the texts that were trusted, and not what
    /// the files hold when the prompt is made again.
    pub project: Vec<(PathBuf, String)>,
    pub instructions: Instructions,
}

/// A prompt and what it was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    /// The files that are in it.
    pub files: Vec<PathBuf>,
    /// What people should know.
    pub notices: Vec<String>,
}

impl PromptSource {
    /// Reads the files and makes the prompt.
    pub fn read(&self) -> Prompt {
        let mut prompt = Prompt::default();
        let context = match self.instructions {
            Instructions::Read => ContextFiles::find(&self.cwd, &self.config),
            Instructions::LeaveOut => ContextFiles::default(),
        };
        let role = self.role.clone().or_else(|| self.own("SYSTEM.md", &mut prompt));
        let file = self.own("APPEND_SYSTEM.md", &mut prompt);
        let append: Vec<String> = file.into_iter().chain(self.append.clone()).collect();
        let append = append.join("\n\n");
        prompt.text = system_prompt(&PromptInputs {
            tools: &self.tools,
            cwd: &self.cwd.display().to_string(),
            date: &self.date,
            role: role.as_deref(),
            append: (!append.is_empty()).then_some(append.as_str()),
            context: &context.files,
        });
        prompt.files.extend(context.files.into_iter().map(|file| file.path));
        prompt.notices.extend(context.notices);
        prompt
    }

    /// The text of a file of settings: the project's, else the person's.
    fn own(&self, name: &str, prompt: &mut Prompt) -> Option<String> {
        let trusted = self.project.iter().find(|(path, _)| path.ends_with(name));
        if let Some((path, text)) = trusted {
            prompt.files.push(path.clone());
            return Some(cleaned(text));
        }
        let path = self.config.join(name);
        match read(&self.config, &path) {
            Ok(text) => {
                prompt.files.push(path);
                return Some(text);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => prompt.notices.push(passed_over(&path, &error)),
        }
        None
    }
}

fn passed_over(path: &Path, error: &std::io::Error) -> String {
    format!("{} was passed over: {error} (at most {} KB)", path.display(), MAX_CONTEXT_FILE / 1024)
}
