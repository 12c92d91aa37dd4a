//! The state of the program: one value, made of plain values.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::boot::Boot;
use super::completion::Completion;
use super::composer::Composer;
use super::effect::{Effect, ShellRequest, Ticket};
use super::geometry::{Laid, Size};
use super::keymap::Keymap;
use super::msg::Millis;
use super::overlay::Overlay;
use super::printable::Printable;
use super::status::Status;
use super::transcript::{EntryBody, Transcript};
use super::trust::TrustView;
use crate::agent::protocol::event::NoticeLevel;
use crate::agent::protocol::model::Model as AiModel;

/// How long a passing remark is shown, in milliseconds.
pub const REMARK: Millis = 2_500;

/// The state of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Time of the newest message.
    pub now: Millis,
    /// What was known at start.
    pub boot: Arc<Boot>,
    pub size: Size,
    /// Whether the terminal window has the focus.
    pub focused: bool,
    pub transcript: Transcript,
    pub composer: Composer,
    pub completion: Option<Completion>,
    /// The last one is on top and takes keys.
    pub overlays: Vec<Overlay>,
    pub status: Status,
    pub keymap: Arc<Keymap>,
    /// Name of the theme.
    pub theme: String,
    /// The models that can be used, as far as they were asked for.
    pub models: Vec<Arc<AiModel>>,
    /// A passing remark in the footer, and until when it is shown.
    pub remark: Option<(Printable, Millis)>,
    /// A second press of the quit key until then quits.
    pub quit_armed: Option<Millis>,
    /// Until then, what is typed was meant for a command that has just ended.
    pub typed_ahead: Option<Millis>,
    /// A second press of the cancel key until then opens the tree.
    pub tree_armed: Option<Millis>,
    /// The selection is to be copied as soon as a frame has its text.
    pub copying: bool,
    /// What the last frame found out.
    pub laid: Laid,
    pub(super) waiting: BTreeMap<Ticket, Purpose>,
    pub(super) tickets: u64,
}

/// What an answer is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Fill the overlay that holds the ticket.
    Overlay,
    /// Fill the completion list.
    Completion,
    /// Switch to the next model in this direction.
    Cycle(isize),
    /// Switch to the model the person named.
    Choose(String),
    /// Sessions in which this was said.
    Found(String),
    /// The last exchange of the session with this key.
    Preview(String),
    /// The session with this key goes from the list once it is deleted.
    Deleted(String),
    History,
    Editor,
    Branch,
    Servers,
    Picture,
    /// Ask whether the settings of folders are used.
    Trust,
    /// Write the session to this file, once it is known where to read it.
    Export(Option<PathBuf>),
    /// Only tell how it went, in passing.
    Tell,
    /// Tell how it went, to be read later, too.
    Note,
}

/// What the model needs from the shell, derived anew after each message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Send `Ticked` after this many milliseconds.
    pub tick: Option<u64>,
    /// Title of the terminal window.
    pub title: String,
    /// What is typed is secret: record keys without their characters.
    pub secret: bool,
}

impl Model {
    /// The model of the first frame, and what is asked for at once.
    pub fn boot(boot: Boot) -> (Self, Vec<Effect>) {
        let (keymap, complaints) = Keymap::new(&boot.keys);
        let mut model = Model {
            now: boot.at,
            size: boot.size,
            focused: true,
            transcript: Transcript::default(),
            composer: Composer::default(),
            completion: None,
            overlays: Vec::new(),
            status: Status {
                model: boot.model.clone(),
                thinking: boot.thinking,
                priced: true,
                ..Status::default()
            },
            keymap: Arc::new(keymap),
            theme: boot.theme.clone(),
            models: Vec::new(),
            remark: None,
            quit_armed: None,
            typed_ahead: None,
            tree_armed: None,
            copying: false,
            laid: Laid::default(),
            waiting: BTreeMap::new(),
            tickets: 0,
            boot: Arc::new(boot),
        };
        model.transcript.thinking_hidden = model.boot.hide_thinking;
        model.transcript.push(EntryBody::Welcome);
        let boot = Arc::clone(&model.boot);
        for text in boot.notices.iter().chain(&complaints) {
            model.transcript.notice(NoticeLevel::Warning, text, None);
        }
        let mut effects = Vec::new();
        model.ask(Purpose::History, ShellRequest::History, &mut effects);
        model.ask(Purpose::Branch, ShellRequest::Branch, &mut effects);
        if boot.demo {
            model.ask(Purpose::Servers, ShellRequest::Servers, &mut effects);
        }
        if !boot.instructions.is_empty() {
            let text = format!("instructions: {}", boot.instructions.join(", "));
            model.transcript.notice(NoticeLevel::Info, &text, None);
        }
        if boot.pick_session {
            super::update::open_sessions(&mut model, false, &mut effects);
        }
        for folder in boot.folders.iter().filter(|folder| folder.is_open()) {
            model.overlays.push(Overlay::Trust(TrustView::new(folder.clone())));
        }
        (model, effects)
    }

    /// What the shell is to provide.
    pub fn wants(&self) -> Wants {
        let animated = self.status.run.is_some() || self.transcript.running_shells() > 0;
        let passing = self.remark.is_some() || self.quit_armed.is_some() || self.typed_ahead.is_some();
        let tick = match (animated, passing) {
            (true, _) if self.focused => Some(100),
            (true, _) => Some(1_000),
            (false, true) => Some(250),
            (false, false) => None,
        };
        let named = self.status.session.name.as_deref();
        let began = self.status.began.as_ref().map(Printable::as_str);
        let name = named.or(began).unwrap_or(&self.boot.place);
        let working = if self.status.run.is_some() { "● " } else { "" };
        // What a command asks for may be a password.
        let to_command = self.transcript.holder().is_some() || self.typed_ahead.is_some();
        let secret = to_command || self.overlays.last().is_some_and(Overlay::is_secret);
        Wants { tick, title: format!("{working}tau · {name}"), secret }
    }

    /// Whether folding what a frame found out would change anything: also scrolling that led
    /// nowhere is over with it.
    pub fn learns_from(&self, laid: &Laid) -> bool {
        *laid != self.laid || self.transcript.pending != 0
    }

    /// Shows a passing remark.
    pub fn remark(&mut self, text: &str) {
        self.remark = Some((Printable::line(text), self.now + REMARK));
    }

    /// Asks for something; the answer will be used as `purpose` says.
    pub(super) fn ask(
        &mut self,
        purpose: Purpose,
        request: ShellRequest,
        effects: &mut Vec<Effect>,
    ) -> Ticket {
        let ticket = self.expect(purpose);
        effects.push(Effect::Ask(ticket, request));
        ticket
    }

    /// A ticket for something that is asked for; its answer will be used as `purpose` says.
    pub(super) fn expect(&mut self, purpose: Purpose) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.waiting.insert(ticket, purpose);
        ticket
    }

    /// Gives a ticket back; an answer to it will be dropped.
    pub(super) fn forget(&mut self, ticket: Option<Ticket>, effects: &mut Vec<Effect>) {
        if let Some(ticket) = ticket.filter(|ticket| self.waiting.remove(ticket).is_some()) {
            effects.push(Effect::Forget(ticket));
        }
    }
}
