//! The session's tree: opened, filled, and where a choice in it leads.

use crate::agent::AgentCommand;
use crate::agent::protocol::command::{SessionCommand, Shown};
use crate::agent::protocol::event::{Weight, Weights};
use crate::agent::session::outline::{Outline, RowKind};
use crate::app::effect::Effect;
use crate::app::model::Model;
use crate::app::overlay::Overlay;
use crate::app::picker::{Picker, PickerKind, PickerRow};
use crate::app::printable::Printable;
use crate::app::tree::{TreeChoice, TreeView};

/// Opens the tree.
pub(super) fn open(model: &mut Model, effects: &mut Vec<Effect>) {
    model.overlays.push(Overlay::Tree(Box::default()));
    effects.push(Effect::Agent(AgentCommand::Show { what: Shown::Tree }));
}

/// Opens the list of the person's messages, to begin a session before one of them.
pub(super) fn open_forks(model: &mut Model, effects: &mut Vec<Effect>) {
    let picker = Picker::new(PickerKind::Forks, "Fork before", "you have said nothing in this session yet");
    model.overlays.push(Overlay::Picker { picker, ticket: None });
    effects.push(Effect::Agent(AgentCommand::Show { what: Shown::Tree }));
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
            AgentCommand::Label { entry_id, label }
        }
        TreeChoice::Fork { entry_id } => AgentCommand::Session(SessionCommand::Fork { entry_id }),
        TreeChoice::Go { entry_id, summary } => {
            AgentCommand::Session(SessionCommand::GoTo { entry_id, summary })
        }
    };
    effects.push(Effect::Agent(command));
}

/// What fills the context, as a text for people.
pub(super) fn weights(weights: &Weights) -> String {
    let share = |tokens: u64| match weights.window {
        0 => String::new(),
        window => format!("{:>4}%", tokens.saturating_mul(100) / window),
    };
    let mut text = format!("context: about {} tokens", thousands(weights.total));
    if weights.window > 0 {
        text.push_str(&format!(" of {}", thousands(weights.window)));
    }
    if weights.limit > 0 {
        text.push_str(&format!("; room is made above {}", thousands(weights.limit)));
    }
    for Weight { name, count, tokens } in &weights.parts {
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
    fn the_context_is_told_largest_first() {
        let weight = |name: &str, count, tokens| Weight { name: name.into(), count, tokens };
        let parts = vec![weight("results of bash", 12, 41_000), weight("system prompt", 0, 900)];
        let told = weights(&Weights { parts, total: 41_900, window: 100_000, limit: 80_000 });
        let expected = "context: about 41,900 tokens of 100,000; room is made above 80,000\n   \
                        41,000  41%  results of bash (12)\n      900   0%  system prompt";
        assert_eq!(told, expected);
        assert_eq!(weights(&Weights::default()), "context: about 0 tokens");
    }
}
