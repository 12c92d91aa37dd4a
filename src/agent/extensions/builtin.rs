//! Built-in prompt templates. A user's template with the same name takes precedence.

use super::front_matter::FrontMatter;
use super::templates::{Template, template};
use tau_protocol::extension::ExtensionSource;

/// Their names and files.
const BUILTIN: [(&str, &str); 1] = [("init", include_str!("builtin/init.md"))];

/// All built-in templates.
pub(super) fn templates() -> impl Iterator<Item = Template> {
    BUILTIN.iter().map(|(name, text)| {
        template((*name).to_owned(), None, ExtensionSource::Session, Ok((*text).to_owned()))
    })
}

/// The text of a template, without its front matter.
pub(super) fn text(name: &str) -> Option<&'static str> {
    let (_, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
    let length = FrontMatter::parse(text).ok()?.length;
    text.get(length..).map(str::trim)
}
