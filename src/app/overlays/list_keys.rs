//! The keys that all lists share: moving the selection, closing the list.

use crate::key::{Key, KeyCode, Mods};

/// The meaning of such a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKey {
    Close,
    /// Moves down by this many rows, or up if negative; stops at the first and last row.
    Move(isize),
}

/// The meaning of a key in any list; `page` is the number of rows on the screen. `None`: the list decides.
pub(crate) fn list_key(key: Key, page: usize) -> Option<ListKey> {
    let page = isize::try_from(page.max(1)).unwrap_or(isize::MAX);
    let by = match (key.code, key.mods) {
        (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return Some(ListKey::Close),
        (KeyCode::Up, _) | (KeyCode::Char('p'), Mods::CTRL) => -1,
        (KeyCode::Down, _) | (KeyCode::Char('n'), Mods::CTRL) => 1,
        (KeyCode::PageUp, _) => -page,
        (KeyCode::PageDown, _) => page,
        (KeyCode::Home, _) => isize::MIN,
        (KeyCode::End, _) => isize::MAX,
        _ => return None,
    };
    Some(ListKey::Move(by))
}

/// The selected row after a move, among `count` rows.
pub(crate) fn moved(selected: usize, by: isize, count: usize) -> usize {
    selected.saturating_add_signed(by).min(count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_move_within_the_list() {
        let after = |name: &str| match list_key(name.parse().unwrap(), 5) {
            Some(ListKey::Move(by)) => moved(7, by, 10),
            other => panic!("{name}: {other:?}"),
        };
        let keys = ["up", "ctrl+p", "down", "ctrl+n", "pageup", "pagedown", "home", "end"];
        assert_eq!(keys.map(after), [6, 6, 8, 8, 2, 9, 0, 9]);
        assert_eq!(moved(0, 1, 0), 0);
        assert_eq!(list_key("ctrl+c".parse().unwrap(), 5), Some(ListKey::Close));
        assert_eq!(list_key("x".parse().unwrap(), 5), None);
    }
}
