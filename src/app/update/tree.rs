//! The session's tree: opened, filled, and where a choice in it leads.

use crate::agent::AgentCommand;
use crate::agent::protocol::command::SessionCommand;
use crate::agent::protocol::query::{ContextPart, ContextUsage, Query};
use crate::agent::session::outline::{Outline, RowKind};
use crate::app::effect::{Effect, NO_TICKET};
use crate::app::model::Model;
use crate::app::overlay::Overlay;
use crate::app::picker::{Picker, PickerKind, PickerRow};
use crate::app::printable::Printable;
use crate::app::tree::{TreeChoice, TreeView};

/// Opens the tree.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    model.overlays.push(Overlay::Tree(Box::default()));
    effects.push(outline());
}

/// Opens the list of the person's messages, to begin a session before one of them.
pub(super) fn open_forks(model: &mut Model, effects: &mut Vec<Effect>) {
    let picker = Picker::new(PickerKind::Forks, "Fork before", "you have said nothing in this session yet");
    model.overlays.push(Overlay::Picker { picker, ticket: None });
    effects.push(outline());
}

/// Asks the agent for the tree.
fn outline() -> Effect {
    Effect::Agent(AgentCommand::Query { ticket: NO_TICKET, query: Query::Outline })
}

/// Fills whatever waits for the tree.
pub(super) fn fill(model: &mut Model, outline: &Outline) {
    for overlay in &mut model.overlays {
        match overlay {
            Overlay::Tree(view) => view.fill(outline.clone()),
            Overlay::Picker { picker, .. } if picker.kind == PickerKind::Forks => {
                picker.clear();
                picker.loading = false;
                picker.add(fork_rows(outline));
            }
            _ => {}
        }
    }
}

/// The person's messages, newest first; those that are not on the present path say so.
fn fork_rows(outline: &Outline) -> Vec<PickerRow> {
    let mut active = std::collections::BTreeSet::new();
    let mut next = outline.leaf;
    while let Some(at) = next.filter(|at| active.insert(*at)) {
        next = outline.rows.get(at).and_then(|row| row.parent);
    }
    let row = |(at, row): (usize, &crate::agent::session::outline::OutlineRow)| {
        let note = if active.contains(&at) { "" } else { "on another branch" };
        let (title, note) = (Printable::line(&row.text), Printable::line(note));
        (row.kind == RowKind::User).then(|| PickerRow { key: row.id.clone(), title, note, current: false })
    };
    outline.rows.iter().enumerate().rev().filter_map(row).collect()
}

/// What was chosen in the tree.
pub(super) fn chosen(model: &mut Model, view: Box<TreeView>, choice: TreeChoice, effects: &mut Vec<Effect>) {
    let command = match choice {
        TreeChoice::Here => return model.remark("the conversation is there already"),
        TreeChoice::NotYours => {
            model.overlays.push(Overlay::Tree(view));
            return model.remark("a fork begins before a message of yours: choose one");
        }
        TreeChoice::Label { entry_id, label } => {
            model.overlays.push(Overlay::Tree(view));
            effects.push(Effect::Agent(AgentCommand::Label { entry_id, label }));
            return effects.push(outline());
        }
        TreeChoice::Fork { entry_id } => AgentCommand::Session(SessionCommand::Fork { entry_id }),
        TreeChoice::Go { entry_id, summary } => {
            AgentCommand::Session(SessionCommand::GoTo { entry_id, summary })
        }
    };
    effects.push(Effect::Agent(command));
}

/// What fills the context, as a text for people.
pub(super) fn context_usage(usage: &ContextUsage) -> String {
    let share = |tokens: u64| match usage.window {
        0 => String::new(),
        window => format!("{:>4}%", tokens.saturating_mul(100) / window),
    };
    let mut text = format!("context: about {} tokens", thousands(usage.total));
    if usage.window > 0 {
        text.push_str(&format!(" of {}", thousands(usage.window)));
    }
    if usage.limit > 0 {
        text.push_str(&format!("; compacted above {}", thousands(usage.limit)));
    }
    for ContextPart { name, count, tokens } in &usage.parts {
        let count = if *count > 0 { format!(" ({count})") } else { String::new() };
        text.push_str(&format!("\n{:>9}{}  {name}{count}", thousands(*tokens), share(*tokens)));
    }
    text
}

fn thousands(tokens: u64) -> String {
    let digits = tokens.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_part_of_the_context_comes_first() {
        let part = |name: &str, count, tokens| ContextPart { name: name.into(), count, tokens };
        let parts = vec![part("results of bash", 12, 41_000), part("system prompt", 0, 900)];
        let text = context_usage(&ContextUsage { parts, total: 41_900, window: 100_000, limit: 80_000 });
        let expected = "context: about 41,900 tokens of 100,000; compacted above 80,000\n   \
                        41,000  41%  results of bash (12)\n      900   0%  system prompt";
        assert_eq!(text, expected);
        assert_eq!(context_usage(&ContextUsage::default()), "context: about 0 tokens");
    }
}
