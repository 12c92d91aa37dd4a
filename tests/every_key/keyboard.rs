//! The owner of the keyboard: tau, a command, a prompt; and permission modes.

use tau::app::action::Action;

use super::wait_for_both;
use crate::screen::Screen;

pub fn permissions(action: Action, key: &str) {
    let screen = Screen::prepared("", "", 80, 24);
    if action == Action::Answer {
        screen.type_keys(key);
        screen.wait_for("nothing is waiting for your answer");
    } else {
        screen.wait_for(" · auto");
        screen.type_keys(key);
        screen.wait_for(" · ask");
        screen.type_keys(key);
        screen.wait_for(" · edits");
        screen.type_keys(key);
        screen.wait_for("◇ plan");
    }
}

pub fn keyboard(action: Action, key: &str) {
    let screen = Screen::prepared("", "", 80, 24);
    screen.type_keys("!cat\r");
    screen.wait_for("types into it");
    if action == Action::GiveKeyboard {
        screen.type_keys(key);
        screen.wait_for("typing into cat");
        screen.type_keys("echoed\r");
        screen.wait_until("what cat says", |cells| cells.contents().matches("echoed").count() == 2);
    } else {
        screen.type_keys(key);
        screen.wait_for("typing into cat");
        screen.type_keys(key);
        wait_for_both(&screen, "types into it", "typing into cat");
        screen.type_keys("mine");
        screen.wait_for_composer("mine");
    }
}

/// Sessions and commands that run.
pub fn running(action: Action, key: &str) {
    match action {
        Action::Jobs => crate::background_jobs::screen::list_opens(key),
        Action::MoveToBackground => crate::background_jobs::screen::key_moves(key),
        _ => crate::live::board_shows_this_session(key),
    }
}
