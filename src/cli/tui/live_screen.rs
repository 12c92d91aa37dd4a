//! The screen and its model: folds facts into the model and draws frames from it.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use super::event::TerminalEvent;
use super::measuring::{Measuring, Next};
use super::pictures::{FinishedPicture, PictureWorker};
use super::questions::TerminalQuestion;
use super::recording::Recording;
use super::terminal::{DrawOutcome, FrameProperties, Tty};
use tau_app::effect::enqueue;
use tau_app::geometry::ScreenKind;
use tau_app::model::Wants;
use tau_app::msg::Millis;
use tau_app::terminal_facts::TerminalAnswer;
use tau_app::{Effect, Model, Msg, StampedMsg, update};
use tau_view::{self, Drawing, Memo};

/// Maximum number of frames for the rest to print at the end.
const REST: usize = 100;

/// The screen with its model.
pub struct LiveScreen {
    pub tty: Tty,
    pub memo: Memo,
    /// Absent only while a message is folded.
    model: Option<Model>,
    clock: Clock,
    recording: Option<Recording>,
    measuring: Measuring,
    title: String,
    /// Prepares the pictures missing in the memo.
    pub(super) pictures: PictureWorker,
    /// Effects to carry out.
    pub(super) effects: VecDeque<Effect>,
    /// The screen does not show the current model.
    pub(super) dirty: bool,
}

/// Wall time that never goes backwards.
#[derive(Clone, Copy)]
struct Clock {
    wall: Millis,
    since: Instant,
}

impl Clock {
    fn now(&self) -> Millis {
        self.wall.saturating_add(Millis::try_from(self.since.elapsed().as_millis()).unwrap_or(Millis::MAX))
    }
}

impl LiveScreen {
    /// A screen with the initial model.
    pub(crate) fn new(
        mut tty: Tty,
        memo: Memo,
        model: Model,
        effects: Vec<Effect>,
        recording: Option<Recording>,
        measuring: Measuring,
    ) -> Self {
        tty.set_widths(measuring.widths());
        let clock = Clock { wall: model.now, since: Instant::now() };
        let effects = effects.into();
        LiveScreen {
            tty,
            memo,
            model: Some(model),
            clock,
            recording,
            measuring,
            title: String::new(),
            pictures: PictureWorker::default(),
            effects,
            dirty: true,
        }
    }

    /// Folds a fact; its effects are queued. Fails when the recording cannot be written.
    pub fn fold(&mut self, msg: Msg) -> io::Result<()> {
        let Some(model) = self.model.take() else { return Ok(()) };
        let stamped = StampedMsg { at: self.clock.now(), msg };
        if let Some(recording) = &mut self.recording {
            recording.add(&stamped, model.wants().secret)?;
        }
        let (model, effects) = update(model, stamped);
        self.model = Some(model);
        enqueue(&mut self.effects, effects);
        self.dirty = true;
        Ok(())
    }

    /// Whether a frame is to be drawn, or the rest of one is to be sent.
    pub(super) fn needs_draw(&self) -> bool {
        self.dirty || self.tty.is_stuck()
    }

    /// Draws a frame and folds its layout facts. Fails when the terminal is gone.
    pub fn draw(&mut self) -> io::Result<()> {
        let Some(model) = &self.model else { return Ok(()) };
        let memo = &mut self.memo;
        let mut drawing = Drawing::default();
        let drawn = self.tty.draw(|frame| {
            drawing = tau_view::draw(model, memo, frame);
            FrameProperties {
                cursor: drawing.laid.cursor,
                finished: drawing.finished,
                floats: drawing.floats,
            }
        })?;
        drawing.laid.room = self.tty.room();
        for job in self.memo.missing_pictures() {
            self.pictures.start(job)?;
        }
        // If the terminal does not accept bytes at the moment, the next frame tries again.
        let again = drawn == DrawOutcome::Busy || drawing.more;
        self.dirty = again;
        let before = self.effects.len();
        let laid = Some(drawing.laid).filter(|laid| drawn != DrawOutcome::Busy && model.learns_from(laid));
        if let Some(laid) = laid {
            self.fold(Msg::Laid(laid))?;
            self.dirty = self.effects.len() > before || again;
        }
        Ok(())
    }

    /// Prints finished entries that were not printed yet, before the end.
    pub(crate) fn print_rest(&mut self) {
        let is_inline = |model: &Model| model.boot.screen != ScreenKind::Full;
        self.dirty = self.model.as_ref().is_some_and(is_inline);
        for _ in 0..REST {
            if !self.dirty || self.draw().is_err() {
                return;
            }
        }
    }

    /// Adds a picture that was missing.
    pub(super) fn add_picture(&mut self, (key, outcome): FinishedPicture) {
        self.memo.add_picture(key, outcome);
        self.dirty = true;
    }

    /// The model's needs from the shell.
    pub fn wants(&self) -> Wants {
        self.model.as_ref().map(Model::wants).unwrap_or_default()
    }

    /// Sets the window's title, if it has changed. Fails when the terminal is gone.
    pub(crate) fn show_title(&mut self, title: &str) -> io::Result<()> {
        if self.title != title {
            title.clone_into(&mut self.title);
            self.tty.set_title(title)?;
        }
        Ok(())
    }

    /// Sends the terminal the queries about itself that were not sent yet. Asks for the background only if
    /// `background` is set, because the theme depends on it. Fails when the terminal is gone.
    pub(crate) fn ask(&mut self, background: bool) -> io::Result<()> {
        self.tty.ask(|question| background || question != TerminalQuestion::Background)
    }

    /// Handles an event of the terminal. Fails when the recording cannot be written.
    pub(super) fn take(&mut self, event: TerminalEvent) -> io::Result<()> {
        match event {
            TerminalEvent::Key(key) => self.fold(Msg::Key(key)),
            TerminalEvent::Mouse(mouse) => self.fold(Msg::Mouse(mouse)),
            TerminalEvent::Paste(text) => self.fold(Msg::Paste(text)),
            TerminalEvent::FocusGained => self.fold(Msg::Focused(true)),
            TerminalEvent::FocusLost => self.fold(Msg::Focused(false)),
            TerminalEvent::Answer(answer) => self.take_answer(answer),
            TerminalEvent::Clipboard(answer) => {
                self.tty.questions.on_clipboard_answer(answer);
                Ok(())
            }
            // The loop notices that the terminal is not tau's.
            TerminalEvent::Taken | TerminalEvent::Ended => Ok(()),
        }
    }

    fn take_answer(&mut self, answer: TerminalAnswer) -> io::Result<()> {
        self.tty.questions.on_answer(&answer);
        if let TerminalAnswer::CursorAt { row, .. } = answer
            && self.tty.on_cursor_row(row)
        {
            // The next frame uses the new room.
            self.dirty = true;
            return Ok(());
        }
        match self.measuring.take(&answer) {
            Next::Nothing => {}
            Next::Measure => self.tty.measure()?,
            Next::Measured(widths) => {
                self.tty.set_widths(widths);
                self.dirty = true;
            }
        }
        // Known answers do not redraw.
        let is_news = |model: &Model| model.terminal.with(&answer) != model.terminal;
        if self.model.as_ref().is_some_and(is_news) {
            self.fold(Msg::TerminalAnswered(answer))?;
        }
        Ok(())
    }

    /// The model, except while a message is folded.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }
}
