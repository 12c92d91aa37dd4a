//! The transcript: messages, tool calls, commands and notices, as entries to be drawn.
//!
//! Entries are made by [`fold`] from the agent's events. Text in them is printable; markdown is
//! split into closed blocks and an open tail. The scroll position is an anchor or the tail,
//! never an offset from the top, so nothing here knows heights.

pub mod arguments;
pub mod call_end;
pub mod command_panel;
pub mod find;
pub(crate) mod find_step;
pub(crate) mod find_text;
pub mod fold;
pub(crate) mod groups;
pub mod hidden_secrets;
pub mod message_size;
pub(crate) mod paging;
pub mod panel;
pub(crate) mod panel_text;
mod prompts;
pub mod run_end;
pub mod selected_panel;
pub mod window;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::blocks::MarkdownBlocks;
use super::geometry::{Anchor, EntryId, FrameLayout, ScrollPosition, Selection};
use super::msg::Millis;
use super::picture::MessagePicture;
use super::printable::Printable;
use arguments::ArgumentReader;
use command_panel::CommandPanel;
use find::Find;
use paging::Paging;
use panel::ToolPanel;
pub(crate) use prompts::KeptPlace;
use run_end::{FirstEnd, OpenRun, RunCost};
use selected_panel::SelectedPanel;
use tau_protocol::event::NoticeLevel;
use tau_protocol::message::Message;
use window::Window;

/// The content of an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryBody {
    /// The head of a session.
    Welcome,
    /// About this many messages come before the next entry. They are loaded when this entry is on the screen;
    /// `failed` is the reason why they cannot be.
    Earlier { left: u64, failed: Option<Printable> },
    /// A message of the user.
    User { text: Printable, pictures: Vec<MessagePicture> },
    /// One text block of an assistant message.
    Answer(MarkdownBlocks),
    /// One thinking block. It is over at `until`; in sessions read from a file both times are 0.
    Thinking { blocks: MarkdownBlocks, since: Millis, until: Option<Millis> },
    /// A call of a tool.
    Tool(Box<ToolPanel>),
    /// A command of the user.
    Command(Box<CommandPanel>),
    /// A summary that replaces messages, and its title.
    Summary { title: &'static str, blocks: MarkdownBlocks },
    /// The cost of a run.
    RunEnd(RunCost),
    /// A notice.
    Notice { level: NoticeLevel, text: Printable, hint: Option<Printable> },
}

/// Whether an entry is unfolded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FoldState {
    /// Follows the transcript's setting for its kind.
    #[default]
    Default,
    Open,
    Closed,
}

/// An entry.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptEntry {
    pub id: EntryId,
    pub body: EntryBody,
    pub fold: FoldState,
    /// Grows with every change of the body. Closed markdown blocks are equal in all revisions.
    pub revision: u32,
    /// Grows when closed blocks are replaced after all.
    pub epoch: u32,
}

/// The transcript with its scroll position, folds and selection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    entries: Vec<TranscriptEntry>,
    /// The id of the next entry.
    next: i64,
    /// Ids given to entries before all messages.
    heads: i64,
    /// Whether a session was opened: another one removes what is here.
    has_opened: bool,
    /// The loaded part of the history.
    window: Window,
    /// The pending loading of it.
    paging: Paging,
    pub position: ScrollPosition,
    /// Rows to scroll that the view has not resolved yet; negative is up.
    pub pending: i32,
    /// Tool output is unfolded.
    pub tools_open: bool,
    /// Thinking is folded to one line.
    pub thinking_hidden: bool,
    /// The last entry at the time the user last saw the tail.
    seen: EntryId,
    /// The selection.
    pub selection: Option<Selection>,
    /// The panel that takes keys.
    panel: Option<SelectedPanel>,
    /// The last row in the terminal's scrollback; `None` before the first.
    pub printed: Option<Anchor>,
    /// The open search.
    pub find: Option<Find>,
    /// The message in flight: block index -> entry.
    live: Live,
    /// The entries of a failed answer, until another attempt replaces it.
    failed: Option<Range<EntryId>>,
    /// Call id -> entry.
    calls: BTreeMap<String, EntryId>,
    last_answer: Option<Arc<Message>>,
    run: OpenRun,
    /// The first end of a run in the entries sent with the session and later.
    first_end: FirstEnd,
    /// The window's part of that run, while it has not ended.
    carried: RunCost,
}

/// The assistant message in flight.
#[derive(Clone, Debug, Default, PartialEq)]
struct Live {
    /// Its first possible entry.
    first: EntryId,
    blocks: BTreeMap<usize, LiveBlock>,
    /// Whether the terminal has the failed answer in whose place it comes.
    is_printed: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct LiveBlock {
    entry: EntryId,
    /// Bytes of text received.
    received: usize,
    /// Reads the arguments of a call.
    arguments: ArgumentReader,
}

impl LiveBlock {
    fn new(entry: EntryId) -> Self {
        LiveBlock { entry, received: 0, arguments: ArgumentReader::default() }
    }
}

impl Transcript {
    /// The entries, oldest first.
    pub fn entries(&self) -> &[TranscriptEntry] {
        &self.entries
    }

    /// Index of an entry in [`Self::entries`].
    pub fn index_of(&self, id: EntryId) -> Option<usize> {
        self.entries.binary_search_by_key(&id, |entry| entry.id).ok()
    }

    /// The id of the next entry other than a head.
    fn next_entry(&self) -> EntryId {
        EntryId(self.next + 1)
    }

    /// Appends an entry.
    pub fn push(&mut self, body: EntryBody) -> EntryId {
        let id = match &body {
            EntryBody::Welcome | EntryBody::Notice { .. } if self.is_head() => self.next_head(),
            _ => {
                self.next += 1;
                EntryId(self.next)
            }
        };
        self.entries.push(TranscriptEntry { id, body, fold: FoldState::Default, revision: 0, epoch: 0 });
        if self.position == ScrollPosition::Tail {
            self.seen = id;
        }
        self.note_for_find(id);
        id
    }

    /// Appends a notice. A hint that stands right above, with a message between them at most, is not repeated.
    pub fn notice(&mut self, level: NoticeLevel, text: &str, hint: Option<&str>) {
        let hint = hint.map(Printable::new);
        let above = self.entries.iter().rev().take(2);
        let stands_above = |entry: &TranscriptEntry| match &entry.body {
            EntryBody::Notice { hint: above, .. } => *above == hint,
            _ => false,
        };
        let hint = hint.clone().filter(|_| !above.clone().any(stands_above));
        self.push(EntryBody::Notice { level, text: Printable::new(text), hint });
    }

    /// Whether the last entry is a notice with this text.
    pub(crate) fn ends_with_notice(&self, said: &str) -> bool {
        matches!(self.entries.last(), Some(TranscriptEntry { body: EntryBody::Notice { text, .. }, .. })
            if *text == Printable::new(said))
    }

    /// Removes everything, for another session. Ids are never reused, so an id remembered elsewhere cannot
    /// mean a new entry.
    pub fn clear(&mut self) {
        let Transcript { next, heads, has_opened, tools_open, thinking_hidden, .. } = *self;
        let window = self.window.without_pages();
        *self = Transcript {
            next,
            heads,
            has_opened,
            window,
            tools_open,
            thinking_hidden,
            ..Transcript::default()
        };
    }

    /// The number of messages, calls and commands since the user scrolled away from the tail.
    pub fn unseen_count(&self) -> usize {
        let seen = self.entries.partition_point(|entry| entry.id <= self.seen);
        let came = self.entries.get(seen..).unwrap_or_default();
        let is_message = |entry: &&TranscriptEntry| match entry.body {
            EntryBody::User { .. }
            | EntryBody::Answer(_)
            | EntryBody::Tool(_)
            | EntryBody::Command(_)
            | EntryBody::Summary { .. }
            | EntryBody::Notice { .. } => true,
            EntryBody::Welcome
            | EntryBody::Earlier { .. }
            | EntryBody::Thinking { .. }
            | EntryBody::RunEnd(_) => false,
        };
        came.iter().filter(is_message).count()
    }

    /// The last complete answer with text.
    pub fn last_answer(&self) -> Option<String> {
        match self.last_answer.as_deref() {
            Some(Message::Assistant(message)) => Some(message.text()),
            _ => None,
        }
    }

    /// Whether the entry is unfolded.
    pub fn is_open(&self, entry: &TranscriptEntry) -> bool {
        match entry.fold {
            FoldState::Open => true,
            FoldState::Closed => false,
            FoldState::Default => match entry.body {
                EntryBody::Thinking { .. } => !self.thinking_hidden,
                _ => self.tools_open,
            },
        }
    }

    /// Folds or unfolds one entry, or all entries in its row.
    pub fn toggle(&mut self, id: EntryId) {
        let Some(index) = self.index_of(id) else { return };
        let open = self.entries.get(index).is_some_and(|entry| self.is_open(entry));
        self.fold_group(index, if open { FoldState::Closed } else { FoldState::Open });
    }

    /// Unfolds or folds all tool output; choices for single entries are forgotten.
    pub(crate) fn toggle_tools(&mut self) {
        self.tools_open = !self.tools_open;
        self.forget_folds(|body| !matches!(body, EntryBody::Thinking { .. }));
    }

    /// Unfolds or folds all thinking; choices for single entries are forgotten.
    pub(crate) fn toggle_thinking(&mut self) {
        self.thinking_hidden = !self.thinking_hidden;
        self.forget_folds(|body| matches!(body, EntryBody::Thinking { .. }));
    }

    /// Reprints the part since the last prompt as it is shown now.
    pub(crate) fn print_again(&mut self) {
        let is_prompt = |entry: &&TranscriptEntry| matches!(entry.body, EntryBody::User { .. });
        let last =
            self.entries.iter().rfind(is_prompt).map(|entry| Anchor { entry: entry.id, part: 0, row: 0 });
        self.printed = self.printed.map(|printed| last.map_or(printed, |last| last.min(printed)));
    }

    /// Whether an entry may still grow.
    pub fn is_live(&self, entry: &TranscriptEntry) -> bool {
        self.live.blocks.values().any(|block| block.entry == entry.id)
    }

    /// Scrolls by rows; negative is up.
    pub(crate) fn scroll(&mut self, rows: i32) {
        self.pending = self.pending.saturating_add(rows);
        self.look_earlier(rows);
    }

    /// Whether a frame must resolve the scroll position.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.pending != 0
            || self.find.as_ref().is_some_and(|find| find.to_show)
            || self.panel.is_some_and(|panel| panel.to_show)
    }

    /// Goes to the tail.
    pub(crate) fn show_tail(&mut self) {
        self.look_from(ScrollPosition::Tail);
        self.panel = None;
        self.paging.goal = None;
        self.seen = self.last_id();
    }

    /// Goes to a place, overriding pending scrolling.
    fn look_from(&mut self, position: ScrollPosition) {
        self.position = position;
        self.pending = 0;
        self.forget_to_show();
    }

    fn forget_to_show(&mut self) {
        if let Some(find) = &mut self.find {
            find.to_show = false;
        }
        if let Some(panel) = &mut self.panel {
            panel.to_show = false;
        }
    }

    /// Applies the layout facts of a frame.
    pub fn apply_layout(&mut self, laid: &FrameLayout) {
        self.position = laid.position;
        self.pending = 0;
        self.printed = laid.printed;
        self.forget_to_show();
        if self.position == ScrollPosition::Tail {
            self.seen = self.last_id();
        }
    }

    fn last_id(&self) -> EntryId {
        self.entries.last().map_or(EntryId::default(), |last| last.id)
    }

    fn forget_folds(&mut self, which: impl Fn(&EntryBody) -> bool) {
        for entry in self.entries.iter_mut().filter(|entry| which(&entry.body)) {
            entry.fold = FoldState::Default;
        }
    }

    /// Replaces the text of an entry, if it has any.
    fn replace(&mut self, id: EntryId, text: &str) {
        self.edit(id, |body| {
            if let EntryBody::Answer(blocks) | EntryBody::Thinking { blocks, .. } = body {
                *blocks = MarkdownBlocks::of(text);
            }
        });
        if let Some(entry) = self.index_of(id).and_then(|index| self.entries.get_mut(index)) {
            entry.epoch = entry.epoch.wrapping_add(1);
        }
    }

    fn note_for_find(&mut self, id: EntryId) {
        if let Some(find) = &mut self.find {
            find.mark_changed(id);
        }
    }

    fn edit(&mut self, id: EntryId, change: impl FnOnce(&mut EntryBody)) {
        let Some(index) = self.index_of(id) else { return };
        if let Some(entry) = self.entries.get_mut(index) {
            change(&mut entry.body);
            entry.revision = entry.revision.wrapping_add(1);
        }
        self.note_for_find(id);
    }
}
