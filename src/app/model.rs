//! The state of the program: one plain value.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use super::approval::Approvals;
use super::background::AUTO;
use super::boot::Boot;
use super::completion::Completion;
use super::composer::{Composer, Draft};
use super::connection::Connection;
use super::effect::Effect;
use super::focus::Focus;
use super::geometry::{CursorShape, FrameLayout, Motion, ScreenKind, SelectionUnit, Size, TextLayout};
use super::jobs::Jobs;
use super::keymap::Keymap;
use super::misdirected::MisdirectedInput;
use super::msg::Millis;
use super::printable::Printable;
use super::request::{ScreenRequest, Ticket};
use super::screen_place::ScreenPlace;
use super::slash::Commands;
use super::status::Status;
use super::status_line::StatusLine;
use super::terminal_facts::TerminalFacts;
use super::transcript::Transcript;
use super::undo::UndoDialog;
use super::unfinished::UnfinishedAnswer;
use crate::overlays::list_keys::PendingLetters;
use crate::overlays::offer::Offers;
use crate::overlays::overlay::{Overlay, OverlayState};
use crate::overlays::picker::PickerKind;
use crate::screen_settings::ScreenSettings;
use tau_protocol::approval::PermissionMode;
use tau_protocol::chosen::ChosenModels;
use tau_protocol::command::{Queue, QueuedMessage, TaskCommand};
use tau_protocol::message::Block;
use tau_protocol::model::Model as AiModel;
use tau_protocol::query::Query;
use tau_protocol::worktree;
use tau_tools::plan::WorkPlan;

/// Duration of a remark, in milliseconds.
pub(crate) const REMARK: Millis = 2_500;

/// A message that waits for the user's answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeldPrompt {
    pub text: String,
    pub images: Vec<Block>,
    pub streaming: Queue,
}

/// Attempts at a task that this screen has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningAttempts {
    pub(crate) ticket: Ticket,
    pub count: u32,
    /// Whether they are on a server, where they continue without this screen.
    pub is_far: bool,
}

/// The questions of another session, which are answered on the board. They are shown and answered by a model of
/// their own, of which no other part is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Answering {
    /// The session.
    pub id: String,
    pub model: Box<Model>,
    /// The pending look at what waits, and the time of the last one.
    pub(crate) ticket: Option<Ticket>,
    pub(crate) asked: Millis,
    /// Its own tickets, by those of the requests that were sent for it; none for an answer.
    pub(crate) sent: BTreeMap<Ticket, Option<Ticket>>,
    /// The prompts before the last answer was sent, until it has arrived.
    pub(crate) given: Option<(Vec<Overlay>, Approvals)>,
    /// Whether an answer has arrived.
    pub(crate) has_answered: bool,
    /// Whether one was sent that may have arrived: nothing confirmed it.
    pub(crate) is_doubtful: bool,
}

/// The state of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Time of the newest message.
    pub now: Millis,
    /// The facts known at start.
    pub boot: Arc<Boot>,
    /// The session's directory, preceded by its server if there is one.
    pub place: String,
    /// Whether the server of the session can be reached.
    pub connection: Connection,
    pub size: Size,
    /// Whether the terminal window has the focus.
    pub focused: bool,
    pub transcript: Transcript,
    /// The user's running commands.
    pub jobs: Jobs,
    pub composer: Composer,
    pub completion: Option<Completion>,
    /// The queued message that is edited in the composer.
    pub editing: Option<QueueEdit>,
    /// Texts that were set aside, newest on top.
    pub drafts: Vec<Draft>,
    /// The calls that await the user's decision.
    pub approvals: Approvals,
    /// The attempts that are at work.
    pub attempts: Option<RunningAttempts>,
    /// The command of the last goal that was at work here: the user has set or confirmed it.
    pub(super) confirmed_goal: Option<String>,
    /// The accepted plan.
    pub plan: Option<WorkPlan>,
    /// Whether the plan is folded to one row.
    pub is_plan_folded: bool,
    /// Whether the plan was carried out in an earlier run, and is shown only on request.
    pub is_plan_over: bool,
    /// The place to restore once the session is there.
    pub(super) restored: Option<ScreenPlace>,
    /// The begun answers of that place whose questions have not been shown yet, and until when they are awaited.
    pub(super) unfinished: Vec<UnfinishedAnswer>,
    pub(super) unfinished_until: Millis,
    /// Begun answers to questions of other sessions, by their ids.
    pub(super) begun_elsewhere: BTreeMap<String, Vec<UnfinishedAnswer>>,
    /// Questions that are still to be offered to the user.
    pub(super) offers: Offers,
    /// Messages that wait for the answer to such a question.
    pub(super) held: Vec<HeldPrompt>,
    /// Whether folders with project settings are read once the answer is stored.
    pub(super) reads_folders: bool,
    /// Whether the user must still be asked for the permission mode.
    pub(super) asks_mode: bool,
    /// The permission modes that the agent was asked for and has not confirmed.
    pub(super) asked_modes: VecDeque<PermissionMode>,
    /// The mode chosen by keys while calls wait, and when it applies to them: the next press may choose another.
    pub(super) coming_mode: Option<(PermissionMode, Millis)>,
    /// The sandbox of commands, in words for the status line.
    pub sandbox: String,
    /// The reason why settings that guard the user cannot be relied on: every call is asked.
    pub settings_fault: Option<String>,
    /// Open overlays; the last one is on top and takes keys.
    pub overlays: Vec<Overlay>,
    /// The questions of another session that the board shows in its place.
    pub answering: Option<Answering>,
    /// The title of the session whose questions this model shows on the board, if it is one for that.
    pub on_board: Option<Printable>,
    pub status: Status,
    pub keymap: Arc<Keymap>,
    /// The slash commands of this run.
    pub commands: Arc<Commands>,
    /// Further commands are still loading.
    pub(crate) commands_follow: bool,
    /// A command that was sent before they were known, and its queue.
    pub(crate) early_command: Option<(Queue, String)>,
    /// The query whether it belongs to an MCP server that is starting.
    pub(crate) early_asked: Option<Ticket>,
    /// Name of the configured theme.
    pub theme: String,
    /// Known facts about the terminal.
    pub terminal: TerminalFacts,
    pub status_line: StatusLine,
    pub text_layout: TextLayout,
    pub motion: Motion,
    /// The settings of the screen as they were configured last; keys may have changed their effect since.
    pub(crate) configured: ScreenSettings,
    /// The available models, once they have been requested.
    pub models: Vec<Arc<AiModel>>,
    /// The models that the cycle key steps through.
    pub chosen_models: ChosenModels,
    /// A remark in the footer, and its end time.
    pub remark: Option<(Printable, Millis)>,
    /// Until this time, a second press of the quit key quits.
    pub quit_armed: Option<Millis>,
    /// The leader was pressed; the next key completes it.
    pub led: bool,
    /// Until this time keys are discarded: the user may still be typing to the command that just ended.
    pub typed_ahead: Option<Millis>,
    /// Until this time, Enter is treated as meant for a prompt that has just closed.
    pub enter_held: Option<Millis>,
    /// Typing at questions and lists.
    pub(crate) misdirected: MisdirectedInput,
    /// Letters that were keys of the list on top, as long as a word may begin with them.
    pub(super) begun: Option<PendingLetters>,
    /// Until this time, a second press of the cancel key opens the tree.
    pub tree_armed: Option<Millis>,
    /// The last press of the left mouse button.
    pub click: Option<Click>,
    /// The selection is copied as soon as a frame has its text.
    pub copying: bool,
    /// Facts from the last frame's layout.
    pub laid: FrameLayout,
    /// Pending requests.
    pub(super) requests: BTreeMap<Ticket, ScreenRequest>,
    /// Exports that wait for the session's location, and the files to write.
    pub(super) exports: BTreeMap<Ticket, Option<PathBuf>>,
    /// The text to find in the session that is being opened.
    pub(super) sought_passage: Option<String>,
    /// The text to show once another session is open.
    pub(super) arrival: Option<String>,
    /// The last completed path in a prompt: if it has spaces, it is completed further as one word.
    pub(super) completed_path: String,
    pub(super) undo: UndoDialog,
    /// This screen has asked to go to another place of the conversation.
    pub(super) goes_elsewhere: bool,
    pub(super) tickets: u64,
}

/// A press of the left mouse button: its time, position and selection unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Click {
    pub at: Millis,
    pub column: u16,
    pub row: u16,
    pub unit: SelectionUnit,
}

/// A queued message that is edited in the composer, and the previous draft.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueEdit {
    pub message: QueuedMessage,
    pub draft: Draft,
}

/// The model's current needs from the shell, derived again after each message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Send `Ticked` after this many milliseconds.
    pub tick: Option<u64>,
    /// Title of the terminal window.
    pub title: String,
    /// Show that a run is under way.
    pub progress: bool,
    /// Typed text is secret: record keys without their characters.
    pub secret: bool,
    /// The terminal's background, which is queried once.
    pub background: bool,
    pub cursor: CursorShape,
}

impl Model {
    /// The state of the open overlay of this kind.
    pub(crate) fn open<T: OverlayState>(&mut self) -> Option<&mut T> {
        self.overlays.iter_mut().find_map(T::of)
    }

    /// The state of the open overlay of this kind, if it waits for this answer.
    pub(crate) fn awaiting<T: OverlayState>(&mut self, ticket: Ticket) -> Option<&mut T> {
        self.open::<T>().filter(|view| view.waits_for(ticket))
    }

    /// A model that shows and answers the questions of another session on this screen.
    pub(crate) fn for_questions(&self, title: &Printable) -> Model {
        Model {
            transcript: Transcript::default(),
            jobs: Jobs::default(),
            composer: Composer::default(),
            completion: None,
            editing: None,
            drafts: Vec::new(),
            approvals: Approvals::default(),
            attempts: None,
            plan: None,
            restored: None,
            unfinished: Vec::new(),
            begun_elsewhere: BTreeMap::new(),
            held: Vec::new(),
            early_command: None,
            overlays: Vec::new(),
            answering: None,
            coming_mode: None,
            on_board: Some(title.clone()),
            status: Status::default(),
            remark: None,
            misdirected: MisdirectedInput::default(),
            begun: None,
            laid: FrameLayout::default(),
            requests: BTreeMap::new(),
            exports: BTreeMap::new(),
            undo: UndoDialog::default(),
            ..self.clone()
        }
    }

    /// The permission mode, or the one that applies in a moment.
    pub fn mode(&self) -> PermissionMode {
        self.coming_mode.map_or(self.status.mirror.mode, |(mode, _)| mode)
    }

    /// Whether a picture that was pasted or dropped is still being read.
    pub(crate) fn is_reading_picture(&self) -> bool {
        let reads = |request: &ScreenRequest| {
            matches!(request, ScreenRequest::Pictures { .. } | ScreenRequest::ReadClipboard {})
        };
        self.requests.values().any(reads)
    }

    /// Leaves the time in which the run has waited for an answer out of its duration.
    pub(crate) fn subtract_run_wait(&mut self, since: Millis) {
        let waited = self.now - since;
        self.status.subtract_run_wait(waited, self.now);
        self.transcript.subtract_run_wait(waited);
    }

    /// The current needs from the shell.
    pub fn wants(&self) -> Wants {
        let waits = self.waits_for_user();
        let asked = self.overlays.iter().filter(|overlay| overlay.blocks_since().is_some()).count();
        let runs = self.status.run.is_some()
            && (!waits || self.status.runs_calls_beside(self.approvals.pending().len() + asked));
        let animated = runs || self.jobs.count() > 0;
        let is_due = self.status_line.command.as_ref().is_some_and(|command| command.due);
        let becomes_ready = self.focus() == Focus::Prompt { is_ready: false };
        let is_held = self.begun.as_ref().is_some_and(|begun| begun.held.is_some());
        let expires = self.remark.is_some()
            || is_held
            || self.quit_armed.is_some()
            || self.typed_ahead.is_some()
            || self.coming_mode.is_some()
            || becomes_ready
            || self.overlays.iter().any(Overlay::is_refreshed)
            || self.answering.is_some()
            || !self.unfinished.is_empty()
            || is_due;
        let tick = match (animated, expires) {
            _ if is_held => Some(100),
            (_, false) if self.boot.screen == ScreenKind::Reader => None,
            (true, _) if self.focused && self.motion == Motion::Animated => Some(100),
            (true, _) => Some(1_000),
            (false, true) => Some(250),
            (false, false) => None,
        };
        let state = match (waits, self.status.run.is_some()) {
            (true, _) => "waiting for you · ",
            (false, true) if self.boot.screen != ScreenKind::Reader => "● ",
            (false, _) => "",
        };
        // Input to a command may be a password.
        let to_command = self.focus() == Focus::Command || self.typed_ahead.is_some();
        let secret = to_command || self.overlays.last().is_some_and(Overlay::is_secret);
        Wants {
            tick,
            title: format!("{state}tau · {}", self.title_in_worktree()),
            progress: self.status.run.is_some() && !waits && self.motion == Motion::Animated,
            secret,
            background: self.theme == AUTO,
            cursor: self.cursor_shape(),
        }
    }

    /// The cursor's shape shows vim's mode.
    fn cursor_shape(&self) -> CursorShape {
        match self.composer.vim_mode().filter(|_| !self.focus().is_elsewhere()) {
            Some(_) if self.composer.is_typing() => CursorShape::Bar,
            Some(_) => CursorShape::Block,
            None => CursorShape::Terminal,
        }
    }

    /// Whether a call awaits the user's decision, or the model an answer.
    pub fn waits_for_user(&self) -> bool {
        !self.approvals.is_empty() || self.overlays.iter().any(|overlay| overlay.blocks_since().is_some())
    }

    /// The part of the screen that keys go to.
    pub fn focus(&self) -> Focus {
        if self.jobs.owner().is_some() {
            Focus::Command
        } else if !self.overlays.is_empty() {
            Focus::Overlay
        } else if self.transcript.find.is_some() {
            Focus::Find
        } else if self.transcript.selected_panel().is_some() {
            Focus::Panel
        } else if !self.approvals.aside && self.approvals.open().is_some_and(|open| !open.is_answered) {
            Focus::Prompt { is_ready: self.approvals.is_ready(self.now) }
        } else {
            Focus::Composer
        }
    }

    /// Whether keys go to the prompt of a call that awaits the user's decision.
    pub fn takes_answer(&self) -> bool {
        self.focus() == Focus::Prompt { is_ready: true }
    }

    /// Whether that prompt is in the foreground. Keys may still go to the draft.
    pub fn shows_prompt(&self) -> bool {
        matches!(self.focus(), Focus::Prompt { .. })
    }

    /// The clock for running times.
    pub fn clock(&self) -> Millis {
        match self.motion {
            Motion::Animated => self.now,
            Motion::Still => self.now - self.now.rem_euclid(1_000),
        }
    }

    /// The session's title: its name, its first prompt, or tau's directory.
    pub(crate) fn title(&self) -> &str {
        let named = self.status.mirror.session.name.as_deref();
        let began = self.status.began.as_ref().map(Printable::as_str);
        named.or(began).unwrap_or(&self.place)
    }

    /// The title, with the worktree that the session is in.
    fn title_in_worktree(&self) -> String {
        match worktree::of(&self.status.mirror.session.cwd) {
            Some(here) if self.title() != self.place => {
                Printable::line(&format!("[{}] {}", here.name, self.title())).as_str().to_owned()
            }
            _ => self.title().to_owned(),
        }
    }

    /// Name of the drawn theme: the selection in the list of themes or, when that is closed, the configured
    /// one; never `auto`.
    pub fn effective_theme(&self) -> &str {
        let name = match self.overlays.last() {
            Some(Overlay::Picker { picker, .. }) if picker.kind == PickerKind::Themes => {
                picker.selected_key()
            }
            _ => None,
        };
        match name.unwrap_or(&self.theme) {
            AUTO => self.terminal.background.theme(),
            name => name,
        }
    }

    /// Whether folding a frame's layout facts would change anything. It also ends scrolling that led nowhere,
    /// and copies the selection.
    pub fn learns_from(&self, laid: &FrameLayout) -> bool {
        // A pending reprint ends where the last one did.
        let prints = laid.printed != self.transcript.printed;
        let is_unsettled = |of: &Model| of.transcript.is_unsettled();
        let reads = |of: &Model, laid: &FrameLayout| {
            let reading = of.overlays.last().and_then(Overlay::reading);
            reading.is_some_and(|reading| reading.learns_from(laid))
        };
        let answering = self.answering.as_ref().is_some_and(|answering| {
            let inner = &answering.model;
            is_unsettled(inner) || laid.within.as_ref().is_some_and(|within| reads(inner, within))
        });
        *laid != self.laid || prints || is_unsettled(self) || answering || reads(self, laid) || self.copying
    }

    /// Shows a remark for a moment.
    pub fn remark(&mut self, text: &str) {
        self.remark = Some((Printable::line(text), self.now + REMARK));
    }

    /// Sends a request to the outside.
    pub(super) fn ask(&mut self, request: ScreenRequest, effects: &mut Vec<Effect>) -> Ticket {
        let ticket = self.next_ticket();
        self.requests.insert(ticket, request.clone());
        effects.push(Effect::Ask(ticket, request));
        ticket
    }

    /// Asks the agent; the answer comes with the ticket.
    pub(super) fn query(&mut self, query: Query, effects: &mut Vec<Effect>) -> Ticket {
        let ticket = self.next_ticket();
        effects.push(TaskCommand::Query { ticket: ticket.0, query }.into());
        ticket
    }

    /// A ticket that is unique in this run.
    pub(super) fn next_ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// Drops a ticket: later replies to it are ignored.
    pub(super) fn forget(&mut self, ticket: Option<Ticket>, effects: &mut Vec<Effect>) {
        if let Some(ticket) = ticket.filter(|ticket| self.requests.remove(ticket).is_some()) {
            effects.push(Effect::Forget(ticket));
        }
    }
}
