//! Skills and what else is loaded from files: where it is found, who is trusted, what is sent.

mod examples;
mod hooks;
mod skills;
mod templates;
mod together;
mod tools;
mod tools_screen;
mod watch;

use std::path::Path;

/// Writes a file and the folders above it.
pub fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A skill of this name with this description.
pub fn skill(folder: &Path, name: &str, description: &str) {
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n\nDo it with care.\n");
    write(&folder.join(name).join("SKILL.md"), &text);
}
