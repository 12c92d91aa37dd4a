//! The user's earlier prompts: one file of JSON lines for all sessions, newest last.
//!
//! A convenience, not a record: a line that cannot be read or written is skipped. The conversation itself is
//! in [`crate::session`].

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::settings::Paths;
use crate::settings::private_files::{LockFile, open_for_lines, private_dir, read_capped, write_private};

/// The number of prompts that are kept.
pub const MAX_PROMPTS: usize = 1000;

/// The size of the file, in bytes, from which it is rewritten with only the newest prompts.
const LARGE: u64 = 1024 * 1024;

/// The maximum length of a prompt, in bytes: a paste of megabytes is not kept.
const MAX_PROMPT: usize = 32 * 1024;

/// The prompts of all sessions.
#[derive(Clone, Debug)]
pub struct PromptHistory {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Line {
    /// The directory as text, with U+FFFD for invalid bytes.
    cwd: String,
    text: String,
}

impl PromptHistory {
    /// The history in the data folder of these paths.
    pub fn new(paths: &Paths) -> Self {
        PromptHistory { path: paths.data.join("prompts.jsonl") }
    }

    /// The newest `limit` prompts, the newest first: those of `cwd` before all others, each text
    /// once.
    pub fn load(&self, cwd: &Path, limit: usize) -> Vec<String> {
        let mut lines = self.lines();
        lines.reverse();
        lines.truncate(MAX_PROMPTS);
        let (here, elsewhere): (Vec<Line>, Vec<Line>) =
            lines.into_iter().partition(|line| line.cwd == cwd.to_string_lossy());
        let mut seen = HashSet::new();
        let all = here.into_iter().chain(elsewhere).map(|line| line.text);
        all.filter(|text| seen.insert(text.clone())).take(limit).collect()
    }

    /// Adds a prompt, unless it is blank or very long.
    pub fn append(&self, cwd: &Path, text: &str) -> io::Result<()> {
        if text.trim().is_empty() || text.len() > MAX_PROMPT {
            return Ok(());
        }
        let mut line =
            serde_json::to_vec(&Line { cwd: cwd.to_string_lossy().into_owned(), text: text.to_owned() })?;
        line.push(b'\n');
        private_dir(self.path.parent().unwrap_or(Path::new("/")))?;
        // Two programs may append at the same time, but not while one of them rewrites the file.
        let _lock = LockFile::take(&self.path.with_extension("lock"))?;
        let mut file = open_for_lines(&self.path)?;
        file.write_all(&line)?;
        if file.metadata()?.len() > LARGE {
            self.shorten()?;
        }
        Ok(())
    }

    fn lines(&self) -> Vec<Line> {
        // The file is rewritten long before it has this size.
        let bytes = read_capped(&self.path, LARGE * 8).unwrap_or_default();
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// Keeps only the newest prompts, at most half of the size limit.
    fn shorten(&self) -> io::Result<()> {
        let mut kept = Vec::new();
        let mut size = 0_u64;
        for line in self.lines().into_iter().rev().take(MAX_PROMPTS) {
            let mut line = serde_json::to_vec(&line)?;
            line.push(b'\n');
            size = size.saturating_add(line.len() as u64);
            if size > LARGE / 2 {
                break;
            }
            kept.push(line);
        }
        kept.reverse();
        write_private(&self.path, &kept.concat())
    }
}
