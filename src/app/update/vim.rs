//! Vim's keys, where configured.

use super::{completion, composing};
use crate::composer::vim::VimKey;
use crate::effect::Effect;
use crate::key::Key;
use crate::model::Model;

/// Handles a key; false if vim does not use it.
pub(super) fn press(model: &mut Model, key: Key, effects: &mut Vec<Effect>) -> bool {
    match model.composer.vim_key(key, model.laid.composer_width) {
        VimKey::Ignored => return false,
        VimKey::Taken => {}
        VimKey::AboveFirst => composing::up(model),
        VimKey::BelowLast => composing::down(model),
    }
    model.quit_armed = None;
    model.tree_armed = None;
    model.composer.settle();
    completion::refresh(model, effects);
    true
}
