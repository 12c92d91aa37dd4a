//! Resolves slash commands to prompt templates and skills.

use std::path::{Path, PathBuf};

use super::front_matter::FrontMatter;
use super::registry::LoadedExtensions;
use super::skills::Skill;
use super::templates::Template;
use super::{MAX_EXTENSION_FILE, SKILL_PREFIX, builtin};
use crate::secrets::redact::Redactor;
use crate::settings::private_files::read_capped;
use tau_protocol::extension::ExtensionSource;
use tau_tools::encoding;
use tau_tools::user_error::UserError;

/// The target of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandTarget {
    Template(Template),
    Skill(Skill),
}

/// A prompt as a command: its name, and the rest.
pub(crate) fn command(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (!name.is_empty()).then_some((name, arguments))
}

impl LoadedExtensions {
    /// The target of the command with this name.
    pub(crate) fn command_target(&self, name: &str) -> Option<CommandTarget> {
        if let Some(template) = self.templates.iter().find(|template| template.name == name) {
            return Some(CommandTarget::Template(template.clone()));
        }
        let skill = self.skill(name.strip_prefix(SKILL_PREFIX)?)?;
        Some(CommandTarget::Skill(skill.clone()))
    }
}

impl Template {
    /// Its text, without the front matter. Blocks.
    pub(crate) fn read(&self) -> Result<String, UserError> {
        match &self.path {
            Some(path) => body(path, self.source),
            None => {
                builtin::text(&self.name).map(str::to_owned).ok_or_else(|| "it is gone".to_owned().into())
            }
        }
    }
}

impl Skill {
    /// Its text for the model, with the text that the user wrote after its name. Blocks.
    pub(crate) fn read(&self, arguments: &str) -> Result<String, UserError> {
        let folder = self.path.parent().map(PathBuf::from).unwrap_or_default();
        let folder = folder.display();
        let text = body(&self.path, self.source)?;
        let mut text = format!(
            "<skill name=\"{}\" folder=\"{folder}\">\nPaths in this skill are relative to {folder}.\n\n{}\n</skill>",
            self.name,
            text.trim()
        );
        if !arguments.trim().is_empty() {
            text.push_str(&format!("\n\n{}", arguments.trim()));
        }
        Ok(text)
    }
}

/// The text of a file after its front matter. Secrets are removed if a project's link leads to it.
fn body(path: &Path, source: ExtensionSource) -> Result<String, UserError> {
    let bytes =
        read_capped(path, MAX_EXTENSION_FILE).map_err(|error| format!("{}: {error}", path.display()))?;
    let text = encoding::text(&bytes).replace('\0', "\u{fffd}");
    let length = FrontMatter::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?.length;
    let text = text.get(length..).unwrap_or_default().trim();
    let is_linked = source == ExtensionSource::Project && path.canonicalize().is_ok_and(|real| real != path);
    Ok(if is_linked { Redactor::default().text(text) } else { text.to_owned() })
}
