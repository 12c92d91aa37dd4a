//! Skills and other extensions from files: where they are found, which are trusted, what is sent.

mod examples;
mod hook_denials;
mod hooks;
mod session_hooks;
mod skills;
mod templates;
mod together;
mod tools;
mod tools_screen;
mod watch;

use std::path::Path;

pub use crate::support::write;

/// A skill with this name and description.
pub fn skill(folder: &Path, name: &str, description: &str) {
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n\nDo it with care.\n");
    write(&folder.join(name).join("SKILL.md"), &text);
}
