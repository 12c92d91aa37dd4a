//! The facts that the first frame is drawn from.
//!
//! Also the first line of a recording: folding the messages that follow from the model made of
//! it gives the recorded run again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::background::Background;
use super::geometry::{ScreenKind, Size};
use super::msg::Millis;
use super::screen_place::ScreenPlace;
use super::screen_settings::ScreenSettings;
use crate::overlays::offer::Offers;
use tau_protocol::approval::PermissionMode;
use tau_protocol::live_session::BoardList;
use tau_protocol::model::{Model as AiModel, ThinkingLevel};
use tau_protocol::trust::Folder;

/// The input of the first frame. Nothing in it needs a network, a scan or a large read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Boot {
    /// Start time of the program.
    pub at: Millis,
    pub size: Size,
    /// Version of the program.
    pub version: String,
    /// The working directory, with the home directory written `~`.
    pub place: String,
    /// The home directory, or an empty path if it is unknown.
    #[serde(with = "tau_tools::path_text")]
    pub home: PathBuf,
    /// The name of the session's server, if it is not in this process; empty for another process of this machine.
    /// The directory is there, too.
    pub attached: Option<String>,
    /// The initial model.
    pub model: Option<Arc<AiModel>>,
    pub thinking: ThinkingLevel,
    pub permission_mode: PermissionMode,
    /// Whether to ask for the permission mode, because none is configured.
    pub ask_permission_mode: bool,
    /// Whether commands can be confined to the workspace.
    pub can_sandbox: bool,
    /// The reason why settings that guard the user cannot be relied on: every call is asked.
    pub settings_fault: Option<String>,
    /// True when nothing is configured, so that the scripted demo answers.
    pub demo: bool,
    /// Name of the theme, and the available names.
    pub theme: String,
    pub themes: Vec<String>,
    /// The terminal's background, as far as known before the terminal is asked.
    pub background: Background,
    /// Action name -> keys, from the user's settings.
    pub keys: BTreeMap<String, Vec<String>>,
    pub screen: ScreenKind,
    #[serde(flatten)]
    pub settings: ScreenSettings,
    /// The sandbox of commands, in words for the footer: `no sandbox` where the system cannot provide it,
    /// empty where none is wanted.
    pub sandbox: String,
    /// Sentences to show at start: a bad setting, a folder that cannot be written.
    pub notices: Vec<String>,
    /// Folders with project settings, the nearest last. The user is asked about the untrusted ones.
    pub folders: Vec<Folder>,
    /// Files whose text is sent to the model with every request.
    pub instructions: Vec<String>,
    /// Whether to ask the agent for further commands: prompt templates and skills.
    pub more_commands: bool,
    /// Features that are offered to the user when they first become useful.
    pub offers: Offers,
    /// The place that an earlier screen on this session kept when it was left.
    pub restored: Option<ScreenPlace>,
    /// Open the board first, with these sessions.
    pub board: Option<BoardList>,
    /// Open the session picker first.
    pub pick_session: bool,
}

impl Boot {
    /// A path of this machine, with `~` for the home directory.
    pub(crate) fn in_short(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) if !self.home.as_os_str().is_empty() => format!("~/{}", rest.display()),
            Ok(_) | Err(_) => path.display().to_string(),
        }
    }
}
