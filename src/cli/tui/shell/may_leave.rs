//! Whether the screen may be left now: not while words would be lost, or a run would be out of reach.

use std::io;

use super::Shell;
use crate::live::kept_screen;
use crate::live::published::PublishedSession;
use crate::process::waiter;
use tau_agent::AgentEvent;
use tau_app::screen_place::ScreenPlace;
use tau_app::{Msg, screen_place};
use tau_protocol::event::{NoticeLevel, TaskEvent};

impl Shell {
    /// Whether the session continues without the screen, if it is left.
    pub(super) fn is_at_work(&self) -> bool {
        waiter::can_leave() && self.published.as_ref().is_some_and(PublishedSession::is_at_work)
    }

    /// Whether the session may be left. One at work that nobody could find stays here.
    pub(super) async fn may_leave(&mut self) -> io::Result<bool> {
        if !self.is_at_work() {
            return self.may_quit().await;
        }
        let Some(published) = &self.published else { return Ok(true) };
        if let Some(why) = published.unreachable() {
            let text = format!("this session cannot be left running, as nobody would find it: {why}");
            self.tell(text, "stay here, or /quit ends it")?;
            return Ok(false);
        }
        let id = published.id().to_owned();
        self.may_drop_screen(&id)
    }

    /// Whether to quit: the user is asked first if the end of the session cannot be saved.
    pub(super) async fn may_quit(&mut self) -> io::Result<bool> {
        let Some(published) = &self.published else { return self.may_detach() };
        let mut saving = Box::pin(published.save());
        let is_saved = loop {
            tokio::select! {
                is_saved = &mut saving => break is_saved,
                event = self.agent.events.recv(), if !self.agent_gone => self.on_agent_event(event)?,
            }
        };
        if !is_saved {
            self.screen.fold(Msg::QuitUnsaved)?;
        }
        Ok(is_saved)
    }

    /// Whether an attached screen may be left.
    fn may_detach(&mut self) -> io::Result<bool> {
        match self.requests.server() {
            Some((_, session)) => self.may_drop_screen(&session),
            None => Ok(true),
        }
    }

    /// Keeps what was written on this screen. If that fails, the screen stays, until it is left once more with the same words.
    fn may_drop_screen(&mut self, id: &str) -> io::Result<bool> {
        let place = self.screen.model().map(screen_place).unwrap_or_default();
        let Err(error) = self.keep_place(id, &place) else { return Ok(true) };
        if !place.has_words() || self.unkept.as_ref() == Some(&place) {
            return Ok(true);
        }
        self.unkept = Some(place);
        self.tell(format!("your draft cannot be kept: {error}"), "send it, or leave again to lose it")?;
        Ok(false)
    }

    /// Keeps the draft and the scroll position for the next screen on this session.
    pub(super) fn keep_place(&mut self, id: &str, place: &ScreenPlace) -> io::Result<()> {
        if !self.is_kept {
            kept_screen::keep_screen(&self.requests.services().setup.lock().paths, id, place)?;
            self.is_kept = true;
        }
        Ok(())
    }

    fn tell(&mut self, text: String, hint: &str) -> io::Result<()> {
        let (level, hint) = (NoticeLevel::Error, Some(hint.to_owned()));
        let notice = TaskEvent::Notice { level, text, hint };
        self.screen.fold(Msg::Agent(AgentEvent::Task(notice)))
    }
}
