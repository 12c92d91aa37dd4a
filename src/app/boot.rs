//! What the program knows when the first frame is drawn.
//!
//! Also the first line of a recording: folding the messages that follow from the model made of
//! it gives the recorded run again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::background::Background;
use super::geometry::{Motion, ScreenKind, Size, TextLayout};
use super::msg::Millis;
use crate::overlays::offer::Offers;
use tau_protocol::approval::PermissionMode;
use tau_protocol::model::{Model as AiModel, ThinkingLevel};
use tau_protocol::screen_settings::EditingMode;
use tau_protocol::status_template::StatusTemplate;
use tau_protocol::trust::Folder;

/// What the first frame is made from. Nothing in it needs a network, a scan or a large read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Boot {
    /// When the program was started.
    pub at: Millis,
    pub size: Size,
    /// Version of the program.
    pub version: String,
    /// The working directory, with the home directory written `~`.
    pub place: String,
    /// The server of the session, if it is not in this process: its name. The directory is there, too.
    pub attached: Option<String>,
    /// The model to begin with.
    pub model: Option<Arc<AiModel>>,
    pub thinking: ThinkingLevel,
    pub permission_mode: PermissionMode,
    /// Nothing says yet which permission mode is to be used: the user is asked.
    pub ask_permission_mode: bool,
    /// Whether commands can be confined to the workspace.
    pub can_sandbox: bool,
    /// Why settings that guard the user cannot be relied on: every call is asked.
    pub settings_fault: Option<String>,
    /// True when nothing is configured, so that the scripted demo answers.
    pub demo: bool,
    /// Name of the theme, and the names there are.
    pub theme: String,
    pub themes: Vec<String>,
    /// The terminal's background, as far as it is known before the terminal is asked.
    pub background: Background,
    /// Action name -> keys, from the user's settings.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Thinking blocks are folded from the start.
    pub hide_thinking: bool,
    /// How wide prose may be, and how diffs are shown.
    pub text_layout: TextLayout,
    pub motion: Motion,
    /// Whose keys edit the text that is being written.
    pub editing_mode: EditingMode,
    pub screen: ScreenKind,
    pub status_line: StatusTemplate,
    /// Whether a command has a part in the status line.
    pub status_command: bool,
    /// What commands are confined by, in words for the footer: `no sandbox` where the system cannot do what
    /// is wanted, empty where nothing is wanted.
    pub sandbox: String,
    /// Sentences to show at start: a bad setting, a folder that cannot be written.
    pub notices: Vec<String>,
    /// Folders that have project settings, the nearest last. The user is asked about those that
    /// wait for trust.
    pub folders: Vec<Folder>,
    /// Files whose text is sent to the model with every request.
    pub instructions: Vec<String>,
    /// The agent is asked for further commands: those of prompt templates and skills.
    pub more_commands: bool,
    /// What the user is asked about when it is first of use.
    pub offers: Offers,
    /// Open the session picker first.
    pub pick_session: bool,
}
