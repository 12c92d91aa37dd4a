//! The ways to leave a session.

use crate::process::exit::Exit;
use tau_protocol::screen_settings::OnHangup;

/// A way to leave the session.
pub(super) enum Leaving {
    /// It ends with the program, in this way.
    End(Exit),
    /// It continues if it is at work, and the terminal gets its prompt back.
    Background,
    /// It continues if it is at work, and the live session of this id is opened.
    Open(String),
}

impl Leaving {
    pub(super) fn exit(&self) -> Exit {
        match self {
            Leaving::End(exit) => *exit,
            Leaving::Background | Leaving::Open(_) => Exit::Ok,
        }
    }

    /// Whether the session continues, if it is at work.
    pub(super) fn continues(&self, on_hangup: OnHangup) -> bool {
        match self {
            Leaving::End(exit) => *exit == Exit::HungUp && on_hangup == OnHangup::Continue,
            Leaving::Background | Leaving::Open(_) => true,
        }
    }

    /// The session that is opened next.
    pub(super) fn next(self) -> Option<String> {
        match self {
            Leaving::Open(id) => Some(id),
            Leaving::End(_) | Leaving::Background => None,
        }
    }
}
