//! Key sequences: the leader, then the key itself.

use crate::action::Action;
use crate::effect::Effect;
use crate::focus::Focus;
use crate::key::{Key, KeyCode, Mods};
use crate::model::Model;
use crate::overlays::overlay::Overlay;

use super::{actions, approval, completion, find, misdirected};

/// The pressed key, with the leader before it if that is pending. `None` for the leader itself, and for keys
/// without a meaning after it.
pub(super) fn resolve_key(model: &mut Model, key: Key) -> Option<Key> {
    if std::mem::take(&mut model.led) {
        model.remark = None;
        // The user may still be holding Ctrl.
        let without_ctrl = Key { mods: key.mods.without(Mods::CTRL), ..key };
        let found = [key, without_ctrl]
            .map(Key::with_leader)
            .into_iter()
            .find(|key| model.keymap.action(*key).is_some());
        if found.is_none() && key.code != KeyCode::Esc {
            model.remark(&format!("{} does nothing; ? lists the keys", key.with_leader()));
        }
        return found;
    }
    if takes_all(model) || !model.keymap.begins_others(key) {
        return Some(key);
    }
    model.led = true;
    let keys: Vec<String> = model.keymap.leader_keys().map(|(key, name)| format!("{key} {name}")).collect();
    model.remark(&format!("{key} and: {}", keys.join(" · ")));
    None
}

/// Whether the leader is a key like others: a list takes all of them, but a question or an answer beside the run lets one
/// leave it running.
fn takes_all(model: &Model) -> bool {
    let is_of_run =
        |top: &Overlay| matches!(top, Overlay::Questions(_) | Overlay::Plan(_) | Overlay::SideQuestion(_));
    let is_of_run = model.focus() == Focus::Overlay && model.overlays.last().is_some_and(is_of_run);
    model.focus().is_elsewhere() && !is_of_run
}

/// Carries out the action of a key after the leader, and nothing else.
pub(super) fn press(model: &mut Model, key: Key, effects: &mut Vec<Effect>) {
    let Some(action) = model.keymap.action(key) else { return };
    match model.focus() {
        Focus::Overlay if action != Action::Background => return,
        _ if find::looks_only(action) => {}
        Focus::Find => return,
        Focus::Panel => model.transcript.leave_panel(),
        Focus::Command | Focus::Overlay | Focus::Prompt { .. } | Focus::Composer => {}
    }
    if let Some(action) = approval::press(model, key, effects) {
        let from = model.transcript.position;
        action.into_iter().for_each(|action| actions::run(model, action, effects));
        return approval::note_scroll(model, from);
    }
    model.quit_armed = None;
    model.tree_armed = None;
    if action == Action::FollowUp && misdirected::holds(model) {
        return;
    }
    actions::run(model, action, effects);
    model.composer.settle();
    completion::refresh(model, effects);
}
