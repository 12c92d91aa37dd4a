//! The command palette: every action and every slash command in one list.

use super::pickers;
use crate::action::{self, Action, ActionRow, KeyContext};
use crate::model::Model;
use crate::overlays::picker::{Picker, PickerKind, PickerRow};
use crate::printable::Printable;

/// Width of the names in cells, to align their help.
const NAMES: usize = 18;

/// Whether an action can be chosen here: not an action on a selected panel, as none is selected.
fn is_offered(row: &&ActionRow) -> bool {
    row.action != Action::Palette && row.context != KeyContext::Panel
}

/// Opens the list.
pub(super) fn open(model: &mut Model) {
    let title = |name: &str, help: &str| Printable::line(&format!("{name:<NAMES$} {help}"));
    let commands = model.commands.rows().iter().map(|row| {
        let name = format!("/{}", row.name);
        PickerRow { title: title(&name, &row.help), key: name, ..PickerRow::default() }
    });
    let actions = action::TABLE.iter().filter(is_offered).map(|row| PickerRow {
        key: row.name.to_owned(),
        title: title(row.name, row.help),
        note: Printable::line(&model.keymap.hint(row.action).unwrap_or_default()),
        ..PickerRow::default()
    });
    let rows = commands.chain(actions).collect();
    pickers::open(model, Picker::new(PickerKind::Palette, "Commands and actions", "no commands"), rows);
}
