//! Earlier prompts, recalled with up and down.

/// Prompts kept in memory.
const KEPT: usize = 1_000;

/// The prompts, and the position while they are being recalled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    /// Newest first.
    prompts: Vec<String>,
    walk: Option<Walk>,
}

#[derive(Clone, Debug, PartialEq)]
struct Walk {
    index: usize,
    /// What was being written before.
    draft: String,
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

    /// Adds the newest prompt.
    pub(super) fn add(&mut self, prompt: String) {
        if !prompt.trim().is_empty() {
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

    /// A step back in time; the first one keeps `draft`.
    pub(super) fn earlier(&mut self, draft: String) -> Option<String> {
        let index = self.walk.as_ref().map_or(0, |walk| walk.index + 1);
        let prompt = self.prompts.get(index)?.clone();
        let draft = self.walk.take().map_or(draft, |walk| walk.draft);
        self.walk = Some(Walk { index, draft });
        Some(prompt)
    }

    /// A step forward; after the newest prompt comes the draft.
    pub(super) fn later(&mut self) -> Option<String> {
        let walk = self.walk.take()?;
        match walk.index.checked_sub(1) {
            Some(index) => {
                let prompt = self.prompts.get(index).cloned();
                self.walk = Some(Walk { index, ..walk });
                prompt
            }
            None => Some(walk.draft),
        }
    }
}
