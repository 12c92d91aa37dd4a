//! The text of the system prompt.
//!
//! Pure: `prompt_source` reads the files, `workspace` gathers facts about the machine. The same inputs give
//! the same bytes, because provider caches depend on it; nothing in the prompt changes from one turn to the
//! next. Instructions for a single tool belong in the description of that tool.

use super::instruction_files::InstructionFile;
use super::workspace::{Workspace, single_line};
use tau_tools::ToolKind;

/// The inputs of a system prompt.
#[derive(Clone, Debug, Default)]
pub struct PromptInputs<'a> {
    /// Names of the enabled tools, in the order in which the model gets their descriptions.
    pub tools: &'a [String],
    /// The directory the session runs in.
    pub cwd: &'a str,
    /// The date when the session was started or opened, `2026-01-02`.
    pub date: &'a str,
    /// The machine and the repository.
    pub workspace: Workspace,
    /// The user's replacement for the general part, which [`DEFAULT_ROLE`] in it stands for.
    pub role: Option<&'a str>,
    /// The user's text after the project instructions.
    pub append: Option<&'a str>,
    /// The instruction files, the most important last.
    pub instructions: &'a [InstructionFile],
    /// The section about skills; empty if there are none.
    pub skills: &'a str,
}

impl PromptInputs<'_> {
    fn offers(&self, kind: ToolKind) -> bool {
        self.tools.iter().any(|tool| ToolKind::of(tool) == kind)
    }
}

/// The placeholder for the general part in a text that replaces it.
pub const DEFAULT_ROLE: &str = "{default}";

/// The system prompt.
pub fn system_prompt(inputs: &PromptInputs<'_>) -> String {
    let general = include_str!("system_prompt/role.md").trim();
    let role = inputs.role.map_or_else(|| general.to_owned(), |text| text.replace(DEFAULT_ROLE, general));
    let mut sections = vec![role.trim().to_owned()];
    if !inputs.tools.is_empty() {
        let rules = include_str!("system_prompt/tools.md").trim_end();
        sections.push(format!("# Tools\n\nYour tools: {}.\n\n{rules}", inputs.tools.join(", ")));
    }
    if !inputs.instructions.is_empty() {
        let rules = include_str!("system_prompt/project.md");
        let text = format!("# Project instructions\n\n{rules}{}", file_texts(inputs.instructions));
        sections.push(text.trim_end().to_owned());
    }
    // Skills are files, which a model without these tools cannot read.
    if (inputs.offers(ToolKind::Read) || inputs.offers(ToolKind::Command)) && !inputs.skills.is_empty() {
        sections.push(inputs.skills.to_owned());
    }
    sections.extend(inputs.append.map(|text| text.trim().to_owned()));
    sections.push(environment(inputs));
    sections.join("\n\n")
}

/// Instruction files as text for the model, each with its name.
pub fn file_texts(files: &[InstructionFile]) -> String {
    let text = |file: &InstructionFile| {
        let (path, content) = (single_line(&file.path.display().to_string()), file.text.trim());
        format!("\n<file path=\"{path}\">\n{content}\n</file>\n")
    };
    files.iter().map(text).collect()
}

/// The facts about the session. They come last, so that everything before is the same in every session of a
/// project.
fn environment(inputs: &PromptInputs<'_>) -> String {
    let Workspace { platform, shell, repository } = &inputs.workspace;
    let mut lines = vec![format!("Working directory: {}", single_line(inputs.cwd))];
    lines.push(match repository {
        None => "Git repository: none".to_owned(),
        Some(repository) => {
            let root = single_line(&repository.root.display().to_string());
            format!("Git repository: {root}, {} when this prompt was written", repository.head)
        }
    });
    lines.push(format!("Platform: {}", single_line(platform)));
    if inputs.offers(ToolKind::Command) {
        lines.push(format!("Shell: {}", single_line(shell)));
    }
    lines.push(format!("Date: {}", inputs.date));
    let list: Vec<String> = lines.into_iter().map(|line| format!("- {line}")).collect();
    format!("# Environment\n\n{}", list.join("\n"))
}
