//! The tasks of a batch: one JSON object a line.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::CliArgs;
use crate::compose::Setup;
use crate::headless::json;
use crate::process::exit::Refusal;
use tau_agent::settings::private_files::read_capped;
use tau_agent::settings::toml_errors::explain;
use tau_tools::hashes::hexadecimal;

/// Maximum size of a file of tasks, in bytes.
const MAX_SIZE: u64 = 256 << 20;
/// Digits of a task's hash.
const DIGITS: usize = 16;
/// Maximum length of a prompt, in bytes: what tau reads from its standard input.
const MAX_PROMPT: usize = 1024 * 1024;
/// Maximum length of an id.
const MAX_ID: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchTask {
    /// The name of its result; without one, a hash of the rest.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// A hash of the rest.
    #[serde(skip)]
    pub hash: String,
    /// The number of its line.
    #[serde(skip)]
    pub line: usize,
    pub prompt: String,
    /// The folder to work in, from the folder of the file.
    #[serde(with = "tau_tools::path_text", default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
    /// A repository to clone and to work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<String>,
    /// The branch, tag or commit of it.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// A command that tau works on until it succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// A command that decides, after the run, whether the task is passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

/// The tasks of a file.
#[derive(Clone, Debug)]
pub(crate) struct TaskList {
    pub list: Vec<BatchTask>,
    pub file: PathBuf,
    /// Its folder, from which relative paths in it are.
    base: PathBuf,
}

impl TaskList {
    /// The folder that a task works in, unless it has a clone.
    pub fn directory(&self, task: &BatchTask) -> Option<PathBuf> {
        task.directory.as_ref().map(|directory| self.base.join(directory))
    }

    /// The repository that a task clones.
    pub fn repository(&self, task: &BatchTask) -> Option<String> {
        let place = task.git.clone()?;
        let is_path = !place.contains("://") && (place.starts_with('.') || !place.contains(':'));
        let path = is_path.then(|| self.base.join(&place));
        Some(path.as_deref().and_then(Path::to_str).map_or(place, str::to_owned))
    }

    /// Refuses the first of these tasks that cannot run on this machine: it has no folder, or names an unknown model.
    pub fn check_here(&self, tasks: &[&BatchTask]) -> Result<(), Refusal> {
        let mut models = HashSet::new();
        for task in tasks {
            let wrong = |why: String| Refusal::usage(format!("{}:{}: {why}", self.file.display(), task.line));
            let directory = self.directory(task);
            if let Some(missing) = directory.as_ref().filter(|directory| !directory.is_dir()) {
                return Err(wrong(format!("directory: {} is not a folder", missing.display())));
            }
            let Some(model) = &task.model else { continue };
            let place = directory.unwrap_or_else(|| self.base.clone());
            if !models.insert((model, place.clone())) {
                continue;
            }
            let args = CliArgs::read(["tau".to_owned(), option("model", model)])
                .map_err(|error| wrong(error.to_string()))?;
            Setup::read_at(args, json::PROFILE, &place).map_err(|refusal| wrong(refusal.text))?;
        }
        Ok(())
    }

    /// The task with this id.
    pub fn find(&self, id: &str) -> Option<&BatchTask> {
        self.list.iter().find(|task| task.id == id)
    }
}

impl BatchTask {
    /// A hash of everything but the id.
    fn content_hash(&self) -> String {
        let text = serde_json::to_vec(&BatchTask { id: String::new(), ..self.clone() }).unwrap_or_default();
        hexadecimal(digest(&SHA256, &text)).chars().take(DIGITS).collect()
    }

    /// The fields that are flags of tau's, with their values.
    pub fn options(&self) -> Vec<(&'static str, String)> {
        let fields = [
            ("model", self.model.clone()),
            ("thinking", self.thinking.clone()),
            ("permission_mode", self.permission_mode.clone()),
            ("until", self.until.clone()),
            ("max_cost", self.max_cost.map(|value| value.to_string())),
            ("max_tokens", self.max_tokens.map(|value| value.to_string())),
            ("max_turns", self.max_turns.map(|value| value.to_string())),
            ("timeout", self.timeout.map(|value| value.to_string())),
        ];
        fields.into_iter().filter_map(|(field, value)| Some((field, value?))).collect()
    }

    /// The first field with a value that tau would refuse, with the reason.
    fn option_fault(&self) -> Option<String> {
        self.options().into_iter().find_map(|(field, value)| {
            let refused = CliArgs::read(["tau".to_owned(), option(field, &value)]).err()?.to_string();
            let lines: Vec<&str> = refused.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let lines = lines.iter().filter(|line| !line.starts_with("For more"));
            let text = lines.copied().collect::<Vec<_>>().join(" ");
            Some(format!("{field}: {}", text.trim_start_matches("error: ")))
        })
    }

    /// The fault that makes it unusable, if there is one.
    fn fault(&self) -> Option<String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if self.prompt.trim().is_empty() {
            return Some("prompt is empty".to_owned());
        }
        if self.prompt.len() > MAX_PROMPT {
            return Some("prompt is longer than 1 MB: put the rest into a file, and name that".to_owned());
        }
        if self.id.len() > MAX_ID || !self.id.chars().all(is_name) || self.id.starts_with(['.', '-']) {
            let rule = "up to 100 letters, digits, `.`, `_` and `-`, with a letter or digit first";
            return Some(format!("id: use {rule}"));
        }
        if self.check.as_ref().is_some_and(|check| check.trim().is_empty()) {
            return Some("check is empty: give a command, or leave it out".to_owned());
        }
        if let Some(refused) = self.option_fault() {
            return Some(refused);
        }
        match (&self.directory, &self.git) {
            (Some(_), Some(_)) => return Some("directory and git exclude each other".to_owned()),
            (None, None) => return Some("it needs a directory, or git with a repository".to_owned()),
            _ => {}
        }
        if self.git.is_none() && self.revision.is_some() {
            return Some("ref is for git".to_owned());
        }
        // They become arguments of git.
        let named = [("git", &self.git), ("ref", &self.revision)];
        let option = named.iter().find(|(_, text)| text.as_ref().is_some_and(|text| text.starts_with('-')));
        option.map(|(name, _)| format!("{name} begins with -"))
    }
}

/// A field with its value as a flag.
pub(super) fn option(field: &str, value: &str) -> String {
    format!("--{}={value}", field.replace('_', "-"))
}

/// The task of a line, or what is wrong with it.
fn task_in(line: &str) -> Result<BatchTask, String> {
    let value: Value = serde_json::from_str(line)
        .map_err(|error| format!("this is not JSON, at column {}", error.column()))?;
    let Some(fields) = value.as_object() else {
        return Err("this is not a JSON object: write {\"prompt\": …} for each task, on one line".to_owned());
    };
    if let Some((name, _)) =
        fields.iter().find(|(_, value)| value.as_str().is_some_and(|text| text.contains('\0')))
    {
        return Err(format!("{name} has a zero byte, which cannot be handed to tau"));
    }
    if fields.get("id").and_then(Value::as_str) == Some("") {
        return Err("id is empty: give one, or leave it out".to_owned());
    }
    // The value above has the last of two.
    let read = serde_json::from_str::<BatchTask>(line).map_err(|error| error.to_string());
    if let Some((name, _)) =
        read.as_ref().err().and_then(|why| why.strip_prefix("duplicate field `")?.split_once('`'))
    {
        return Err(format!("{name} is there twice"));
    }
    serde_path_to_error::deserialize(value).map_err(|error| {
        let (path, inner) = (error.path().to_string(), error.inner().to_string());
        match explain(&inner) {
            fault if inner.starts_with("invalid") => format!("{path}: {fault}"),
            fault => fault,
        }
    })
}

/// Reads a file of tasks. Fails when a line is no task, or two tasks have one id.
pub(crate) fn read(file: &Path) -> Result<TaskList, Refusal> {
    let shown = file.display();
    let bytes = read_capped(file, MAX_SIZE)
        .map_err(|error| Refusal::config(format!("cannot read {shown}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| Refusal::config(format!("{shown} is not UTF-8 text")))?;
    let file =
        file.canonicalize().map_err(|error| Refusal::config(format!("cannot read {shown}: {error}")))?;
    let base = file.parent().map(Path::to_owned).unwrap_or_default();
    let shown = file.display();
    let (mut tasks, mut ids) = (Vec::new(), HashMap::new());
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |why: String| Refusal::usage(format!("{shown}:{number}: {why}"));
        let mut task = task_in(line).map_err(wrong)?;
        if let Some(fault) = task.fault() {
            return Err(wrong(fault));
        }
        (task.hash, task.line) = (task.content_hash(), number);
        if task.id.is_empty() {
            task.id.clone_from(&task.hash);
        }
        if let Some(known) = ids.insert(task.id.to_lowercase(), task.id.clone()) {
            let rule = if known == task.id { "of its own" } else { "that differs in more than capitals" };
            return Err(wrong(format!("there is a task {known} already: give each an id {rule}")));
        }
        tasks.push(task);
    }
    match tasks.is_empty() {
        true => Err(Refusal::usage(format!("{shown} has no task"))),
        false => Ok(TaskList { list: tasks, file, base }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<TaskList, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tasks.jsonl");
        std::fs::write(&file, text).unwrap();
        read(&file).map_err(|refusal| refusal.text.rsplit_once("tasks.jsonl").unwrap().1.to_owned())
    }

    #[test]
    fn tasks_have_stable_ids_and_absolute_folders() {
        let line = r#"{"prompt":"a","directory":"x"}"#;
        let tasks =
            read_text(&format!("{line}\n\n{{\"id\":\"two\",\"prompt\":\"a\",\"directory\":\"x\"}}\n"))
                .unwrap();
        assert_eq!(tasks.list[0].id.len(), DIGITS);
        assert_eq!(read_text(line).unwrap().list[0].id, tasks.list[0].id);
        assert_eq!(tasks.list[1].id, "two");
        assert!(tasks.directory(&tasks.list[0]).unwrap().is_absolute());
        let of_git = |place: &str| {
            let task = BatchTask { git: Some(place.to_owned()), ..BatchTask::default() };
            tasks.repository(&task).unwrap()
        };
        assert_eq!(of_git("https://host/a.git"), "https://host/a.git");
        assert_eq!(of_git("git@host:a.git"), "git@host:a.git");
        assert!(Path::new(&of_git("a/b")).is_absolute() && Path::new(&of_git("../c")).is_absolute());
    }

    #[test]
    fn faults_name_the_line() {
        for (text, fault) in [
            ("{}", ":1: `prompt` is missing"),
            ("not json", ":1: this is not JSON, at column 2"),
            ("[1]", ":1: this is not a JSON object"),
            ("{\"prompt\":1}", ":1: prompt: this needs a text in quotes, not the number 1"),
            ("\u{feff}{\"prompt\":\"a\"}", ":1: it needs a directory, or git"),
            (
                "\n{\"prompt\":\"a\",\"directory\":\".\",\"chekc\":\"x\"}",
                ":2: unknown name `chekc`; did you mean `check`?",
            ),
            ("{\"prompt\":\"a\"}", ":1: it needs a directory, or git"),
            ("{\"prompt\":\"a\",\"git\":\"--upload-pack=x\"}", ":1: git begins with -"),
            ("{\"prompt\":\"a\",\"git\":\"x\",\"ref\":\"-x\"}", ":1: ref begins with -"),
            ("{\"id\":\"\",\"prompt\":\"a\",\"directory\":\".\"}", ":1: id is empty"),
            (
                "{\"prompt\":\"a\",\"directory\":\".\",\"max_cost\":1,\"max_cost\":9}",
                ":1: max_cost is there twice",
            ),
            ("{\"id\":\"../x\",\"prompt\":\"a\",\"directory\":\".\"}", ":1: id: use"),
            (
                "{\"prompt\":\"a\",\"directory\":\".\"}\n{\"prompt\":\"a\",\"directory\":\".\"}",
                ":2: there is a task",
            ),
            (
                "{\"id\":\"a\",\"prompt\":\"a\",\"directory\":\".\"}\n{\"id\":\"A\",\"prompt\":\"b\",\"directory\":\".\"}",
                ":2: there is a task a already: give each an id that differs in more than capitals",
            ),
            ("{\"prompt\":\"a\\u0000\",\"directory\":\".\"}", ":1: prompt has a zero byte"),
            ("{\"prompt\":\"a\",\"max_turns\":0}", ":1: max_turns: invalid value '0'"),
            ("{\"prompt\":\"a\",\"max_turns\":-1}", ":1: max_turns: "),
            ("{\"prompt\":\"a\",\"max_tokens\":0}", ":1: max_tokens: invalid value '0'"),
            ("{\"prompt\":\"a\",\"max_cost\":-0.5}", ":1: max_cost: invalid value '-0.5'"),
            ("{\"prompt\":\"a\",\"timeout\":0}", ":1: timeout: invalid value '0'"),
            ("{\"prompt\":\"a\",\"thinking\":\"hgih\"}", ":1: thinking: invalid value 'hgih'"),
            ("{\"prompt\":\"a\",\"permission_mode\":\"yolo\"}", ":1: permission_mode: invalid value"),
            ("{\"prompt\":\"a\",\"until\":\"\"}", ":1: until: "),
            ("{\"prompt\":\"a\",\"check\":\" \"}", ":1: check is empty"),
            ("", " has no task"),
        ] {
            let found = read_text(text).unwrap_err();
            assert!(found.starts_with(fault), "{found}");
        }
    }
}
