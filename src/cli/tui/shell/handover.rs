//! Gives the terminal to other programs, and takes it again.

use std::io;
use std::time::Instant;

use super::Shell;
use crate::process::exit::Exit;
use crate::process::signals::CaughtSignal;
use crate::tui::event::TerminalEvent;
use crate::tui::terminal::{self, SuspendOutcome};
use tau_app::Msg;
use tau_app::request::{ScreenRequest, Ticket};

impl Shell {
    /// Waits briefly for a pending answer of the terminal: the next program on the terminal would treat it as
    /// typed. Other events are held.
    pub(super) async fn await_answer(&mut self) -> io::Result<()> {
        while let Some(due) = self.screen.tty.questions.due(Instant::now()) {
            match tokio::time::timeout_at(due.into(), self.input.next()).await {
                Ok(answer @ (TerminalEvent::Answer(_) | TerminalEvent::Clipboard(_))) => {
                    self.screen.take(answer)?;
                }
                Ok(last @ (TerminalEvent::Ended | TerminalEvent::Taken)) => {
                    self.held.push_back(last);
                    break;
                }
                Ok(other) => self.held.push_back(other),
                Err(_) => break,
            }
        }
        Ok(())
    }

    pub(super) async fn suspend(&mut self) -> io::Result<()> {
        self.await_answer().await?;
        let outcome = self.screen.tty.suspend()?;
        self.signals.forget_stop();
        match outcome {
            SuspendOutcome::Back => self.screen.fold(Msg::Continued),
            SuspendOutcome::Away | SuspendOutcome::NoShell => Ok(()),
        }
    }

    /// Gives the terminal to the user's editor. The agent's events are taken in the meantime. Of the signals that a
    /// terminal sends to all its programs, Ctrl+C and Ctrl+\ are for the editor, and Ctrl+Z stops tau with it.
    /// Returns tau's end after a signal that ends it.
    pub(super) async fn edit(&mut self, ticket: Ticket, request: ScreenRequest) -> io::Result<Option<Exit>> {
        self.await_answer().await?;
        self.screen.tty.leave();
        let mut editing = Box::pin(self.requests.run_here(request));
        let reply = loop {
            tokio::select! {
                reply = &mut editing => break reply,
                event = self.agent.events.recv(), if !self.agent_gone => self.on_agent_event(event)?,
                caught = self.signals.next() => match caught {
                    CaughtSignal::Suspend => {
                        terminal::stop_group()?;
                        self.signals.forget_stop();
                    }
                    CaughtSignal::Interrupt | CaughtSignal::Fatal(CaughtSignal::QUIT) | CaughtSignal::Continue | CaughtSignal::Resize => {}
                    CaughtSignal::Terminate | CaughtSignal::HangUp | CaughtSignal::Pipe | CaughtSignal::Fatal(_) => return Ok(caught.exit()),
                },
            }
        };
        self.screen.tty.resume()?;
        self.screen.fold(Msg::Continued)?;
        self.screen.fold(Msg::Finished(ticket, reply))?;
        Ok(None)
    }
}
