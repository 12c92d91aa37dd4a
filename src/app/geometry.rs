//! Sizes and places on the screen, and what the layout of a frame reports to the model.

use serde::{Deserialize, Serialize};

use super::picture::PictureSupport;
use tau_protocol::screen_settings::DiffLayout;
use tau_protocol::screen_settings::Notify;
use tau_protocol::screen_settings::Support;

/// From this width on diffs are side by side unless something else is set, in cells.
const SPLIT_WIDTH: u16 = 140;

/// Size in cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub width: u16,
    pub height: u16,
}

/// Whether anything on the screen moves by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Motion {
    /// A spinner turns, running times count.
    #[default]
    Animated,
    /// Running times are shown in steps of a second; nothing else moves.
    Still,
}

impl Motion {
    /// As the setting says.
    pub fn new(animations: Option<bool>) -> Self {
        if animations.unwrap_or(true) { Motion::Animated } else { Motion::Still }
    }
}

/// How the cursor looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorShape {
    /// As the terminal shows it by itself.
    #[default]
    Terminal,
    Block,
    Bar,
}

/// Where on the terminal tau is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScreenKind {
    /// On a screen of its own, which it has to itself.
    #[default]
    Full,
    /// On the screen of the shell: what is finished is printed into the terminal's scrollback, what is
    /// live is below it.
    Inline,
    /// The same as lines for a screen reader.
    Reader,
}

impl ScreenKind {
    /// As the settings say.
    pub fn new(inline: Option<bool>, screen_reader: Option<bool>) -> Self {
        match (screen_reader.unwrap_or(false), inline.unwrap_or(false)) {
            (true, _) => ScreenKind::Reader,
            (false, true) => ScreenKind::Inline,
            (false, false) => ScreenKind::Full,
        }
    }
}

/// Names an entry of the transcript for the life of a session's screen. Entries are in the order
/// of their ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntryId(pub i64);

/// A row of the transcript: entry, part of the entry (a closed markdown block, the head or the
/// body of a panel), row within the part. Independent of everything above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Anchor {
    pub entry: EntryId,
    pub part: u32,
    pub row: u32,
}

/// Where the transcript is scrolled to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScrollPosition {
    /// The newest row is at the bottom, and stays there.
    #[default]
    Tail,
    /// This row is at the top, whatever comes.
    Top(Anchor),
}

/// What a click on a row means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hit {
    /// Folds or unfolds the entry.
    Fold(EntryId),
    /// Goes to the tail of the transcript.
    Tail,
    /// Goes to this prompt.
    Prompt(EntryId),
}

/// A point of the transcript: a row and a column of it, in cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Point {
    pub anchor: Anchor,
    pub column: u16,
}

/// What a selection is extended by: how often was clicked where it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelectionUnit {
    #[default]
    Cell,
    Word,
    /// A line as it was written, however many rows it takes.
    Line,
}

/// What is selected: from where to where, in the order of dragging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub from: Point,
    pub to: Point,
    pub unit: SelectionUnit,
}

impl Selection {
    /// Whether it holds anything: a click alone selects nothing.
    pub fn is_empty(&self) -> bool {
        self.unit == SelectionUnit::Cell && self.from == self.to
    }
}

/// How text is laid out, as settings and keys say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct TextLayout {
    /// The widest that prose may be, in cells; 0 is no limit.
    pub prose_width: u16,
    pub diff: DiffLayout,
    pub addresses: Addresses,
    pub pictures: PictureSupport,
}

/// What of the terminal is used besides its screen, as settings say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TerminalUse {
    /// Whether tau takes the mouse.
    pub mouse: bool,
    pub notify: Notify,
    pub progress: Support,
}

/// Where the addresses of links are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Addresses {
    /// On the screen, behind the text of the link.
    #[default]
    Printed,
    /// The terminal has them, and opens them.
    Linked,
}

impl TextLayout {
    /// Whether diffs are side by side in a window that is so wide.
    pub fn splits_diffs(self, width: u16) -> bool {
        match self.diff {
            DiffLayout::Auto => width >= SPLIT_WIDTH,
            DiffLayout::Split => true,
            DiffLayout::Unified => false,
        }
    }
}

/// What the layout of a frame reports to the model. Folding it and laying out again changes
/// nothing more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Laid {
    /// The position with pending scrolling applied and clamped.
    pub position: ScrollPosition,
    /// Rows of the transcript that are on the screen.
    pub page: u16,
    /// First screen row of the transcript.
    pub top: u16,
    /// The transcript row at each screen row of the transcript, from `top`; `None` where blank.
    pub rows: Vec<Option<Anchor>>,
    /// What clicks on screen rows mean.
    pub hits: Vec<(u16, Hit)>,
    /// Rows of a list overlay that are on the screen.
    pub list_page: u16,
    /// Width of the composer's text, in cells.
    pub composer_width: u16,
    /// Where the terminal's cursor belongs, as column and row.
    pub cursor: Option<(u16, u16)>,
    /// Text of the selection, in a frame that was asked for it.
    pub selected: Option<String>,
    /// Up to which row the transcript is in the terminal's scrollback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<Anchor>,
    /// On the shell's screen, rows that there are for what is soon gone without any that stay blank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<u16>,
    /// The request for approval whose prompt is on the screen and takes keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The end of what is asked was on the screen with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked_end: bool,
    /// What else was said to a screen reader, so that it is not said again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
}
