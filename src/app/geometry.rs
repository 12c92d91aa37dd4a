//! Sizes and positions on the screen, and the layout facts that a frame reports to the model.

use serde::{Deserialize, Serialize};

use super::picture::PictureSupport;
use tau_protocol::screen_settings::{DiffLayout, Notify, Support};

/// Minimum width in cells from which diffs are side by side by default.
const SPLIT_WIDTH: u16 = 140;

/// Size in cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub width: u16,
    pub height: u16,
}

/// The smallest window in which more than a remark is drawn.
const MIN_SIZE: Size = Size { width: 10, height: 4 };

impl Size {
    /// Whether a window of this size shows a remark alone.
    pub fn is_too_small(self) -> bool {
        self.width < MIN_SIZE.width || self.height < MIN_SIZE.height
    }
}

/// Whether anything on the screen moves by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Motion {
    /// A spinner turns, running times count.
    #[default]
    Animated,
    /// Running times change once a second; nothing else moves.
    Still,
}

impl Motion {
    /// As the setting says.
    pub fn new(animations: bool) -> Self {
        if animations { Motion::Animated } else { Motion::Still }
    }
}

/// The look of the cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CursorShape {
    /// The terminal's default.
    #[default]
    Terminal,
    Block,
    Bar,
}

/// The part of the terminal that tau uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScreenKind {
    /// A screen of its own.
    #[default]
    Full,
    /// The shell's screen: finished entries are printed into the terminal's scrollback, live ones are below
    /// it.
    Inline,
    /// Like `Inline`, as lines for a screen reader.
    Reader,
}

impl ScreenKind {
    /// From the settings.
    pub fn new(inline: Option<bool>, screen_reader: Option<bool>) -> Self {
        match (screen_reader.unwrap_or(false), inline.unwrap_or(false)) {
            (true, _) => ScreenKind::Reader,
            (false, true) => ScreenKind::Inline,
            (false, false) => ScreenKind::Full,
        }
    }
}

/// Identifies an entry of the transcript for the life of a session's screen. Entries are in the order of
/// their ids.
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

/// A row of a call that waits for a decision, in a screen of this width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRow {
    pub width: u16,
    pub part: u32,
    pub row: u32,
}

/// The scroll position of the transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScrollPosition {
    /// The newest row is at the bottom, and stays there.
    #[default]
    Tail,
    /// This row stays at the top.
    Top(Anchor),
}

/// The meaning of a click on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hit {
    /// Folds or unfolds the entry.
    Fold(EntryId),
    /// Goes to the tail of the transcript.
    Tail,
    /// Goes to this prompt.
    Prompt(EntryId),
}

/// A point of the transcript: a row and a column in it, in cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Point {
    pub anchor: Anchor,
    pub column: u16,
}

/// The unit in which a selection is extended, from the number of clicks at its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelectionUnit {
    #[default]
    Cell,
    Word,
    /// A whole line, however many rows it wraps to.
    Line,
}

/// A selection from one point to another, in the order of dragging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub from: Point,
    pub to: Point,
    pub unit: SelectionUnit,
}

impl Selection {
    /// Whether it is empty: a click alone selects nothing.
    pub fn is_empty(&self) -> bool {
        self.unit == SelectionUnit::Cell && self.from == self.to
    }
}

/// The layout of text, from settings and keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct TextLayout {
    /// Maximum width of prose in cells; 0 is no limit.
    pub prose_width: u16,
    pub diff: DiffLayout,
    pub addresses: Addresses,
    pub pictures: PictureSupport,
}

/// The terminal features in use besides the screen, from settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TerminalUse {
    /// Whether tau captures the mouse.
    pub mouse: bool,
    pub notify: Notify,
    pub progress: Support,
}

/// The place of link addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Addresses {
    /// On the screen, behind the text of the link.
    #[default]
    Printed,
    /// In the terminal, which opens them.
    Linked,
}

impl TextLayout {
    /// Whether diffs are side by side in a window of this width.
    pub fn splits_diffs(self, width: u16) -> bool {
        match self.diff {
            DiffLayout::Auto => width >= SPLIT_WIDTH,
            DiffLayout::Split => true,
            DiffLayout::Unified => false,
        }
    }
}

/// The layout facts that a frame reports to the model. Folding them and laying out again changes nothing
/// more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameLayout {
    /// The position with pending scrolling applied and clamped.
    pub position: ScrollPosition,
    /// Rows of the transcript that are on the screen.
    pub page: u16,
    /// First screen row of the transcript.
    pub top: u16,
    /// The transcript row at each screen row of the transcript, from `top`; `None` where blank.
    pub rows: Vec<Option<Anchor>>,
    /// The meaning of clicks on screen rows.
    pub hits: Vec<(u16, Hit)>,
    /// Rows of a list overlay that are on the screen.
    pub list_page: u16,
    /// An overlay was drawn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_overlay: bool,
    /// Width of the composer's text, in cells.
    pub composer_width: u16,
    /// The position of the terminal's cursor, as column and row.
    pub cursor: Option<(u16, u16)>,
    /// Text of the selection, in a frame that was asked for it.
    pub selected: Option<String>,
    /// The last row of the transcript in the terminal's scrollback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<Anchor>,
    /// On the shell's screen, the rows available for transient content without leaving blank rows behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<u16>,
    /// The request for approval whose prompt is on the screen and takes keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// The last row of the requested call that was seen with all rows before it, in this frame and earlier ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_row: Option<CallRow>,
    /// All rows of the requested call were seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked_end: bool,
    /// The other waiting calls that were listed whole with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked_beside: Vec<String>,
    /// The layout of the questions of another session on the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Box<FrameLayout>>,
    /// Other texts read to a screen reader, which are not repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
}
