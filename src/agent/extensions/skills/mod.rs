//! Skills: folders with a `SKILL.md`, as specified by agentskills.io.
//!
//! Only the front matter is read for lists. The text is read when the model reads the file, or when the user
//! sends `/skill:name`.

pub mod listing;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::front_matter::{FieldValue, FrontMatter, MAX_FRONT_MATTER};
use super::places::Place;
use super::walk::{Entry, Walk};
use super::{MAX_EXTENSION_FILE, MAX_EXTENSIONS, allowed_tools};
use crate::settings::private_files::open_regular;
use tau_protocol::extension::ExtensionSource;
use tau_tools::encoding;

/// The file that makes a folder a skill.
pub(in crate::extensions) const FILE: &str = "SKILL.md";
/// The maximum length of a name, in characters.
const MAX_NAME_LEN: usize = 64;
/// The maximum length of a description, in characters.
const MAX_DESCRIPTION_LEN: usize = 1024;
/// The maximum length of `compatibility`, in characters.
const MAX_COMPATIBILITY_LEN: usize = 500;

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// The path of its `SKILL.md`.
    pub path: PathBuf,
    pub source: ExtensionSource,
    /// Calls that it allows without a question, verbatim: `Bash(git:*)`.
    pub allowed_tools: Vec<String>,
    /// A hint about the text after `/skill:name`, for display.
    pub argument_hint: String,
    /// Whether the model sees it; otherwise only the user can invoke it.
    pub is_listed: bool,
    /// Whether it cannot be used.
    pub is_broken: bool,
    pub problems: Vec<String>,
}

/// The skills of a place, and the problems of the place itself.
pub(super) fn find(place: &Place) -> (Vec<Skill>, Vec<String>) {
    let mut walk = Walk::new(place);
    let mut found = Vec::new();
    if let Some(folder) = walk.start() {
        let file = folder.join(FILE);
        // A package may be a single skill.
        match (place.source == ExtensionSource::Package && walk.may_read(&file)).then(|| head(&file)) {
            Some(Ok(text)) => found.push(skill(&folder, file, place.source, Ok(text))),
            _ => look_in(&mut walk, &folder, 0, &mut found, place.source),
        }
    }
    (found, walk.problems)
}

/// Searches for skills in the subfolders of `folder`. The subfolders of a skill belong to it.
fn look_in(
    walk: &mut Walk<'_>,
    folder: &Path,
    depth: usize,
    found: &mut Vec<Skill>,
    source: ExtensionSource,
) {
    for entry in walk.entries(folder, depth) {
        let Entry::Folder(inner) = entry else { continue };
        if found.len() >= MAX_EXTENSIONS {
            return walk.problems.push(format!("only the first {MAX_EXTENSIONS} skills are used"));
        }
        let file = inner.join(FILE);
        match walk.may_read(&file).then(|| head(&file)) {
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                look_in(walk, &inner, depth + 1, found, source);
            }
            Some(head) => found.push(skill(&inner, file, source, head)),
            None => {}
        }
    }
}

/// The beginning of a file: enough for its front matter.
pub(in crate::extensions) fn head(path: &Path) -> io::Result<String> {
    let file = open_regular(path)?;
    let size = file.metadata()?.len();
    if size > MAX_EXTENSION_FILE {
        let text = format!("it has {} KB; the limit is {} KB", size / 1024, MAX_EXTENSION_FILE / 1024);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    let most = u64::try_from(MAX_FRONT_MATTER).unwrap_or(u64::MAX).saturating_add(4).min(size);
    let mut bytes = Vec::with_capacity(most.try_into().unwrap_or_default());
    // Limited to the file's size, so that reading its end needs no further call.
    file.take(most).read_to_end(&mut bytes)?;
    match encoding::of_text(&bytes) {
        Some(encoding) => Ok(encoding::decode(&bytes, encoding).0),
        None => Err(io::Error::new(io::ErrorKind::InvalidData, "it is a binary file")),
    }
}

/// The skill in `folder`, with its problems.
fn skill(folder: &Path, path: PathBuf, source: ExtensionSource, head: io::Result<String>) -> Skill {
    let folder_name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut skill = Skill {
        name: folder_name.clone(),
        description: String::new(),
        path,
        source,
        allowed_tools: Vec::new(),
        argument_hint: String::new(),
        is_listed: false,
        is_broken: true,
        problems: Vec::new(),
    };
    let found =
        match head.map_err(|error| error.to_string().into()).and_then(|head| FrontMatter::parse(&head)) {
            Ok(found) => found,
            Err(problem) => {
                skill.problems.push(problem.into());
                return skill;
            }
        };
    skill.problems.extend(found.problem.clone().into_iter().chain(found.unused_hooks()));
    skill.is_broken = false;
    skill.is_listed = !found.is_true("disable-model-invocation");
    skill.allowed_tools = found.get("allowed-tools").map(tools).unwrap_or_default();
    skill.problems.extend(allowed_tools::rules(&skill.allowed_tools, source).1);
    skill.argument_hint = found.line("argument-hint").unwrap_or_default().to_owned();
    name(&mut skill, &folder_name, found.text("name"));
    description(&mut skill, found.text("description"));
    let compatibility = found.text("compatibility").map_or(0, |text| text.chars().count());
    if compatibility > MAX_COMPATIBILITY_LEN {
        skill.problems.push(format!(
            "its compatibility has {compatibility} characters; at most {MAX_COMPATIBILITY_LEN} are allowed"
        ));
    }
    if matches!(found.get("metadata"), Some(FieldValue::Text(_) | FieldValue::List(_))) {
        skill.problems.push("its metadata are not a map of names to texts".to_owned());
    }
    skill
}

/// The name in the front matter, or else the folder's, if one of them is usable.
fn name(skill: &mut Skill, folder: &str, given: Option<&str>) {
    match given {
        None => {
            skill.problems.push("its front matter has no name; the name of its folder is used".to_owned());
        }
        Some(given) => {
            if given != folder {
                skill.problems.push(format!("its name \"{given}\" is not that of its folder \"{folder}\""));
            }
            match (name_problem(given), can_be_typed(given)) {
                (Some(problem), false) => {
                    skill.problems.push(format!("{problem}; the name of its folder is used"));
                }
                (problem, true) => {
                    skill.problems.extend(problem);
                    skill.name = given.to_owned();
                }
                (None, false) => {}
            }
        }
    }
    if !can_be_typed(&skill.name) {
        skill.problems.push("its folder has a name that no skill can have: use a-z, 0-9 and -".to_owned());
        skill.is_broken = true;
    }
}

/// Whether a name can be typed in a command.
pub(super) fn can_be_typed(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= MAX_NAME_LEN && name.chars().all(fits)
}

/// The problem with a name, if any.
fn name_problem(name: &str) -> Option<String> {
    let length = name.chars().count();
    if length > MAX_NAME_LEN {
        return Some(format!("its name has {length} characters; at most {MAX_NAME_LEN} are allowed"));
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.chars().all(fits) {
        return Some(format!("its name \"{name}\" has characters besides a-z, 0-9 and -"));
    }
    let hyphens = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    hyphens.then(|| format!("its name \"{name}\" begins or ends with -, or has two in a row"))
}

fn description(skill: &mut Skill, given: Option<&str>) {
    let Some(given) = given else {
        skill
            .problems
            .push("its front matter has no description, so no model would know when to use it".to_owned());
        skill.is_broken = true;
        return;
    };
    let length = given.chars().count();
    if length > MAX_DESCRIPTION_LEN {
        skill.problems.push(format!(
            "its description has {length} characters; the first {MAX_DESCRIPTION_LEN} are used"
        ));
    }
    skill.description = given.chars().take(MAX_DESCRIPTION_LEN).collect();
}

/// The tools of `allowed-tools`: a list, or one text separated by blanks or commas. Blanks and commas within
/// brackets belong to the tool.
pub(super) fn tools(value: &FieldValue) -> Vec<String> {
    match value {
        FieldValue::Text(text) => {
            let mut depth = 0_usize;
            let separates = |c: char| {
                match c {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0 && (c == ',' || c.is_whitespace())
            };
            text.split(separates).filter(|tool| !tool.is_empty()).map(str::to_owned).collect()
        }
        FieldValue::List(list) => list.iter().flat_map(tools).collect(),
        FieldValue::Map(_) => Vec::new(),
    }
}
