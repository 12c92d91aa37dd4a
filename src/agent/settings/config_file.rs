//! The user's `config.toml`, read once for all who need a part of it.

use std::path::{Path, PathBuf};

use super::Paths;
use super::table::Settings;
use super::toml_file::{bare, read_file, values_of};
use tau_tools::user_error::UserError;

/// The file as it was when it was read.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    path: PathBuf,
    text: Result<Option<String>, UserError>,
    settings: Settings,
    problems: Vec<UserError>,
}

impl ConfigFile {
    /// Reads the file. Invalid keys are left unset, and the others are used.
    pub fn read(paths: &Paths) -> Self {
        let path = paths.config_file();
        let text = read_file(&path);
        let (values, problems) = match &text {
            Ok(text) => {
                let (values, wrong) = values_of(&path, bare(text.as_deref().unwrap_or_default()));
                (values, wrong.into_iter().map(|(_, error)| error).collect())
            }
            Err(error) => (Vec::new(), vec![error.clone()]),
        };
        let settings = values.into_iter().fold(Settings::default(), Settings::overlaid);
        ConfigFile { path, text, settings, problems }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its text; `None` if it does not exist. Fails when it cannot be read.
    pub fn text(&self) -> Result<Option<&str>, &UserError> {
        self.text.as_ref().map(Option::as_deref)
    }

    /// Its text; empty if the file is missing or unreadable.
    pub fn text_or_empty(&self) -> &str {
        self.text().ok().flatten().unwrap_or_default()
    }

    /// The settings in it.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The problems of the file, in the order of their lines.
    pub fn problems(&self) -> &[UserError] {
        &self.problems
    }

    /// Whether the hooks of another agent are used.
    pub fn uses_others_hooks(&self) -> bool {
        self.settings.claude_hooks == Some(true)
    }
}
