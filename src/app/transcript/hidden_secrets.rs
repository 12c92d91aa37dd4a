//! The hidden secrets of a panel, and their values while revealed.

use std::fmt;

use super::{EntryBody, Transcript};
use crate::printable::Printable;
use tau_protocol::placeholder::{self, RevealedSecret};

/// The hidden secrets of a panel.
#[derive(Clone, Default, PartialEq)]
pub struct HiddenSecrets {
    /// Their placeholders, each once.
    placeholders: Vec<String>,
    /// Their values; empty while hidden.
    shown: Vec<Printable>,
}

impl fmt::Debug for HiddenSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HiddenSecrets({})", self.placeholders.len())
    }
}

impl HiddenSecrets {
    /// The secrets in a panel's texts.
    pub(crate) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut placeholders: Vec<String> = Vec::new();
        for (_, found) in texts.into_iter().flat_map(placeholder::find) {
            let found = found.to_string();
            if !placeholders.contains(&found) {
                placeholders.push(found);
            }
        }
        HiddenSecrets { placeholders, shown: Vec::new() }
    }

    /// The number of secrets.
    pub fn count(&self) -> usize {
        self.placeholders.len()
    }

    /// The lines with their values, if they are shown.
    pub fn revealed_lines(&self) -> &[Printable] {
        &self.shown
    }

    /// Shows these values, if they belong to these secrets.
    fn show(&mut self, secrets: &[RevealedSecret]) {
        if self.placeholders.iter().eq(secrets.iter().map(|secret| &secret.placeholder)) {
            self.shown = secrets.iter().flat_map(lines).collect();
        }
    }
}

/// A secret as lines: its name and its value.
fn lines(secret: &RevealedSecret) -> Vec<Printable> {
    let name = secret.placeholder.trim_matches(['[', ']']);
    let value = secret.value.expose();
    if secret.value.is_empty() {
        return vec![Printable::line(&format!("{name}: no longer known: it is from an earlier run of tau"))];
    }
    if value.contains('\n') {
        let head = std::iter::once(format!("{name}:"));
        return head.chain(value.lines().map(str::to_owned)).map(|line| Printable::line(&line)).collect();
    }
    vec![Printable::line(&format!("{name}: {value}"))]
}

impl Transcript {
    /// The secrets in the selected panel, if any.
    pub fn selected_secrets(&self) -> Option<&HiddenSecrets> {
        let secrets = match &self.selected_entry()?.body {
            EntryBody::Tool(tool) => &tool.secrets,
            EntryBody::Command(command) => &command.secrets,
            _ => return None,
        };
        (secrets.count() > 0).then_some(secrets)
    }

    /// The placeholders of the secrets in the selected panel.
    pub(crate) fn selected_placeholders(&self) -> Vec<String> {
        self.selected_secrets().map(|secrets| secrets.placeholders.clone()).unwrap_or_default()
    }

    /// Shows the secrets of the selected panel, or hides them if none are given.
    pub(crate) fn show_secrets(&mut self, secrets: &[RevealedSecret]) {
        let Some(id) = self.selected_entry().map(|entry| entry.id) else { return };
        self.edit(id, |body| {
            let hidden = match body {
                EntryBody::Tool(tool) => &mut tool.secrets,
                EntryBody::Command(command) => &mut command.secrets,
                _ => return,
            };
            match secrets.is_empty() {
                true => hidden.shown.clear(),
                false => hidden.show(secrets),
            }
        });
        self.show_selected_panel();
    }
}
