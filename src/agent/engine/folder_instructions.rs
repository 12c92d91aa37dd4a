//! Sends the model a folder's instruction files when the work reaches that folder.
//!
//! They go in a message before the next answer, so the earlier part of the request stays the same and the
//! provider's cache hits. Each file is sent once, and once more after a compaction has removed it.

use std::path::{Path, PathBuf};

use serde_json::json;
use tokio::task::spawn_blocking;

use super::attend::attend_unless_stopped;
use super::state::Engine;
use crate::context::instruction_files::{InstructionFiles, TOLD, files_in_messages};
use crate::context::system_prompt;
use crate::engine::base::clock::now;
use tau_protocol::event::NoticeLevel;
use tau_protocol::message::{CustomMessage, Message, ToolCall};
use tau_tools::paths;

/// The maximum number of words of a command that are checked as paths.
const MAX_WORDS: usize = 64;

/// Adds the paths that a finished call has touched.
pub(crate) fn add_touched_paths(engine: &mut Engine, call: &ToolCall) {
    if engine.config.behavior.instructions.is_none() {
        return;
    }
    let Some(access) = engine.tool(&call.name).and_then(|tool| tool.touches(&call.arguments, engine.cwd()))
    else {
        return;
    };
    let cwd = engine.cwd().to_owned();
    let named = access.commands.iter().flat_map(|command| paths_in_command(command, &cwd));
    let reached: Vec<PathBuf> = access.reads.iter().chain(&access.writes).cloned().chain(named).collect();
    let real_cwd = paths::identity(&cwd);
    for path in reached {
        // The real path: a link may lead out of the directory.
        let real = paths::identity(&path);
        if let Ok(below) = real.strip_prefix(&real_cwd)
            && !below.as_os_str().is_empty()
        {
            engine.conversation.reached.add(cwd.join(below));
        }
    }
}

/// The paths below `cwd` that a command names and that exist.
fn paths_in_command(command: &str, cwd: &Path) -> Vec<PathBuf> {
    let ends = |c: char| c.is_whitespace() || "\"'`;&|<>()=:".contains(c);
    let words = command.split(ends).filter(|word| !word.is_empty() && !word.starts_with('-'));
    words.take(MAX_WORDS).map(|word| paths::resolve(cwd, word)).filter(|path| path.exists()).collect()
}

/// The message before the next answer, if the work has reached folders with instructions that the model does
/// not know. Also `None` if the run is to stop.
pub(crate) async fn before_answer(engine: &mut Engine) -> Option<Message> {
    let reached = engine.conversation.reached.take_new();
    let places = engine.config.behavior.instructions.clone().filter(|_| !reached.is_empty())?;
    let cwd = engine.cwd().to_owned();
    let find = spawn_blocking(move || places.files_for_paths(&cwd, &reached));
    let InstructionFiles { mut files, notices } = attend_unless_stopped(engine, find).await?.ok()?;
    for notice in notices {
        if !engine.conversation.reached.is_news(&notice) {
            continue;
        }
        engine.notice(NoticeLevel::Warning, notice, None);
    }
    let told = files_in_messages(&engine.config.session.context().messages);
    files.retain(|file| !told.contains(&file.path));
    if files.is_empty() {
        return None;
    }
    let paths: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
    engine.notice(NoticeLevel::Info, format!("instructions: {}", paths.join(", ")), None);
    let text = "[tau] Instructions for the files that you are working on now. They hold in the folder of their file, \
        and come before those of the folders above it.\n";
    Some(Message::Custom(CustomMessage::new_hidden(
        TOLD,
        format!("{text}{}", system_prompt::file_texts(&files).trim_end()),
        Some(json!({ "paths": paths })),
        now(),
    )))
}
