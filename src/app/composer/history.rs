//! Earlier prompts, recalled with up and down.

use std::collections::BTreeMap;

use super::Draft;

/// Maximum number of prompts in memory.
const KEPT: usize = 1_000;
/// Maximum number of drafts, kept for prompts with pastes or pictures.
const KEPT_DRAFTS: usize = 16;

/// The prompts, and the position while they are being recalled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    /// Newest first.
    prompts: Vec<String>,
    /// Drafts of prompts with pastes or pictures.
    drafts: BTreeMap<String, Draft>,
    /// Recalled prompts that were edited and left, until the next prompt is added.
    edited: BTreeMap<String, Draft>,
    walk: Option<Walk>,
}

#[derive(Clone, Debug, PartialEq)]
struct Walk {
    index: usize,
    /// The text being written before recalling.
    draft: Draft,
}

/// A recalled entry: text, or a draft with its pastes and pictures.
#[derive(Debug)]
pub(super) enum RecalledPrompt {
    Text(String),
    Draft(Box<Draft>),
}

impl History {
    /// Adds the prompts of earlier runs after those of this one.
    pub(super) fn load(&mut self, earlier: Vec<String>) {
        for prompt in earlier {
            if !self.prompts.contains(&prompt) && self.prompts.len() < KEPT {
                self.prompts.push(prompt);
            }
        }
    }

    /// Adds the newest prompt; `draft` is set where the prompt is more than text.
    pub(super) fn add(&mut self, prompt: String, draft: Option<Draft>) {
        if !prompt.trim().is_empty() {
            if self.drafts.len() >= KEPT_DRAFTS {
                self.drafts.clear();
            }
            self.edited.clear();
            self.drafts.extend(draft.map(|draft| (prompt.clone(), draft)));
            self.prompts.retain(|known| *known != prompt);
            self.prompts.insert(0, prompt);
            self.prompts.truncate(KEPT);
        }
    }

    pub(super) fn prompts(&self) -> &[String] {
        &self.prompts
    }

    /// Stops recalling.
    pub(super) fn leave(&mut self) {
        self.walk = None;
    }

    /// Goes one prompt back from the current text; the first step keeps that text as the draft.
    pub(super) fn earlier(&mut self, shown: Draft) -> Option<RecalledPrompt> {
        let index = self.walk.as_ref().map_or(0, |walk| walk.index + 1);
        let recalled = self.prompt_at(index)?;
        let draft = match self.walk.take() {
            Some(walk) => {
                self.keep_edit(walk.index, shown);
                walk.draft
            }
            None => shown,
        };
        self.walk = Some(Walk { index, draft });
        Some(recalled)
    }

    fn prompt_at(&self, index: usize) -> Option<RecalledPrompt> {
        let prompt = self.prompts.get(index)?;
        let edited = self.edited.get(prompt).cloned().map(|draft| RecalledPrompt::Draft(Box::new(draft)));
        Some(edited.unwrap_or_else(|| self.find(prompt)))
    }

    /// Keeps the edited version of a recalled prompt.
    fn keep_edit(&mut self, index: usize, shown: Draft) {
        let Some(prompt) = self.prompts.get(index) else { return };
        if shown.is_empty() || shown.expanded_content().0.trim_end() == prompt.trim_end() {
            self.edited.remove(prompt);
        } else {
            self.edited.insert(prompt.clone(), shown);
        }
    }

    /// A prompt, with its pastes and pictures where they are known.
    pub(super) fn find(&self, prompt: &str) -> RecalledPrompt {
        let draft = self.drafts.get(prompt).cloned().map(|draft| RecalledPrompt::Draft(Box::new(draft)));
        draft.unwrap_or_else(|| RecalledPrompt::Text(prompt.to_owned()))
    }

    /// Goes one prompt forward; after the newest prompt comes the draft.
    pub(super) fn later(&mut self, shown: Draft) -> Option<RecalledPrompt> {
        let walk = self.walk.take()?;
        self.keep_edit(walk.index, shown);
        match walk.index.checked_sub(1) {
            Some(index) => {
                self.walk = Some(Walk { index, ..walk });
                self.prompt_at(index)
            }
            None => Some(RecalledPrompt::Draft(Box::new(walk.draft))),
        }
    }
}
