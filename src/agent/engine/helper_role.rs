//! The ties of a helper to its parent: its end, its rights, its meter, its undo.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::behavior::{Behavior, OnAsk, Sandboxing, SettingsFault};
use crate::engine::base::meter::{Meter, TimeLimit};
use crate::engine::base::undo_place::CallUndo;
use crate::extensions::helper_kinds::HelperKind;
use crate::permissions::Permissions;
use tau_protocol::approval::PermissionMode;
use tau_tools::Toolbox;

/// The largest number of agents above a helper.
pub(crate) const MAX_DEPTH: u32 = 2;

/// The place of a helper in the tree of agents.
#[derive(Clone, Debug)]
pub struct HelperRole {
    /// Cancelled with the call that asked for it, and when its run is stopped.
    pub(crate) stop: CancellationToken,
    /// The number of agents above it.
    pub(crate) depth: u32,
    pub(crate) meter: Meter,
    /// The time at which it must end.
    pub(crate) deadline: Option<TimeLimit>,
    /// Its changes are part of the call that asked for it.
    pub(crate) undo: Option<CallUndo>,
    /// The current rights of its parent, which are its own.
    pub(crate) rights: watch::Receiver<Rights>,
    /// Tools that its model finds with `tool_search`.
    pub(crate) found_tools: Toolbox,
    /// The kinds of helpers from files that its parent knows.
    pub(crate) kinds: Arc<[HelperKind]>,
    /// The tools that it may call, if not all that its model sees.
    pub(crate) allowed: Option<Vec<String>>,
}

/// The settings that decide whether a call may run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rights {
    mode: PermissionMode,
    on_ask: OnAsk,
    permissions: Permissions,
    fault: Option<SettingsFault>,
    sandbox: Sandboxing,
}

impl Rights {
    pub(crate) fn of(behavior: &Behavior) -> Self {
        Rights {
            mode: behavior.permission_mode,
            on_ask: behavior.on_ask,
            permissions: behavior.permissions.clone(),
            fault: behavior.settings_fault.clone(),
            sandbox: behavior.sandbox.clone(),
        }
    }

    /// Gives them to a helper.
    pub(crate) fn apply(self, behavior: &mut Behavior) {
        behavior.permission_mode = self.mode;
        behavior.mode_ceiling = self.mode;
        behavior.on_ask = self.on_ask;
        behavior.permissions = self.permissions;
        behavior.settings_fault = self.fault;
        behavior.sandbox = self.sandbox;
    }
}
