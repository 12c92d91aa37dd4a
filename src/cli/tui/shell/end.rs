//! The end of the screen: shuts down the agent and restores the terminal.

use std::io;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::Shell;
use crate::attach::server::Server;
use crate::compose::session_lookup::short_id;
use crate::live::published::{OtherSessions, PublishedSession, ScreenEnding};
use crate::live::registry::Ending;
use crate::process::exit::Exit;
use crate::process::plain;
use crate::process::stopped_jobs::job_lines;
use crate::process::waiter;
use tau_agent::{AgentCommand, AgentEvent};
use tau_app::connection::Connection;
use tau_app::status::UsageCoverage;
use tau_app::{Effect, Model, Msg, screen_place};
use tau_protocol::command::{RunCommand, ShellCommand, TaskCommand};
use tau_protocol::event::{NoticeLevel, TaskEvent};
use tau_tools::counted::pluralize;
use tau_tools::jobs::JobRow;
use tau_tools::process::left::LAST_GRACE;

/// Time limit for the agent's shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit for the end of attempts, which save what they have.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

impl Shell {
    /// Shuts the agent down, gives the terminal back, and prints how to continue the session. Returns the task of the
    /// sessions that other screens have begun here, if they continue.
    pub(super) async fn end(mut self, exit: Exit) -> Option<JoinHandle<Exit>> {
        // What ends first may end the agent as well.
        let mut stopped = std::mem::take(&mut self.stopped);
        stopped.ending();
        if self.requests.server().is_none() && self.attempts_here().is_some() {
            // The agent must live to count what they have cost, but its run does not wait for them.
            self.outbox.push_back(AgentCommand::Run(RunCommand::Abort));
            self.send_waiting();
        }
        let of_attempts = self.stop_attempts().await;
        self.requests.close();
        let published = self.published.take();
        let connection = self.connection.as_ref().map(|connection| connection.borrow().clone());
        let connection = connection.unwrap_or_default();
        let attached =
            self.requests.server().map(|(server, session)| detach_line(server, &session, &connection));
        let mut lines = Vec::new();
        self.send_waiting();
        let ended = tokio::time::timeout(SHUTDOWN_TIMEOUT, async {
            let _ = self.agent.commands.send(AgentCommand::Task(TaskCommand::Shutdown)).await;
            while let Some(event) = self.agent.events.recv().await {
                stopped.take(&event);
                // The screen is no longer shown.
                if let AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Error, text, .. }) = &event {
                    lines.push(text.clone());
                }
                if event == AgentEvent::Task(TaskEvent::Stopped) {
                    // The normal end: nothing to report.
                    continue;
                }
                if self.screen.fold(Msg::Agent(event)).is_err() {
                    break;
                }
            }
        });
        // Patience is for sessions of other screens: the run of this one ends with its helpers now.
        let (ended, others) = tokio::join!(ended, end_published(published, exit));
        if ended.is_err() && attached.is_none() {
            self.agent.task.abort();
            stopped.stop_rest(LAST_GRACE).await;
        }
        let unkept = self.keep_attached_screen().or(self.keep_drafts());
        self.screen.print_rest();
        match attached {
            Some(line) => lines.extend([Some(line), unkept].into_iter().flatten()),
            None => {
                lines.extend(unkept);
                lines.extend(stopped.lines());
                lines.extend(of_attempts);
                lines.extend(self.screen.model().and_then(cost_line));
                lines.extend(stopped.whole_cost_line());
                lines.extend(self.screen.model().and_then(how_to_resume));
                lines.extend(other_lines(&others));
            }
        }
        let _ = self.await_answer().await;
        drop(self.screen.tty.farewell(&lines));
        others.task
    }
}

impl Shell {
    /// Gives the terminal back, while the session continues; returns the task that it continues in.
    pub(super) async fn leave(mut self, published: PublishedSession) -> JoinHandle<Exit> {
        let of_attempts = self.stop_attempts().await;
        self.requests.close();
        let of_jobs = self.lines_of_jobs();
        self.send_waiting();
        let id = published.id().to_owned();
        let unkept = self.keep_screen(&id);
        self.screen.print_rest();
        let mut lines = vec![format!("the session continues: tau attach {id}")];
        lines.extend(of_jobs);
        lines.extend(of_attempts);
        lines.extend(unkept);
        let _ = self.await_answer().await;
        drop(self.screen.tty.farewell(&lines));
        published.leave(self.agent)
    }
}

impl Shell {
    /// A line for each process of a job that leaving stops, and for each job that continues.
    fn lines_of_jobs(&self) -> Vec<String> {
        let stops = |job: u32| {
            let mut sent = self.outbox.iter();
            sent.any(|command| matches!(command, AgentCommand::Shell(ShellCommand::StopJob { job: id }) if *id == job))
        };
        let jobs = self.screen.model().map(|model| model.status.mirror.jobs.as_slice()).unwrap_or_default();
        let line = |job: &JobRow| match stops(job.id) {
            true => job_lines(job),
            false => vec![format!("job {} continues: {}", job.id, plain::line(&job.command))],
        };
        jobs.iter().filter(|job| job.is_running()).flat_map(line).collect()
    }

    /// Adds what was written and not sent to the history of prompts, unless the next screen restores it; returns a line
    /// if that fails.
    fn keep_drafts(&self) -> Option<String> {
        let is_own = self.requests.server().is_none();
        let place = self.screen.model().map(screen_place).filter(|_| is_own)?;
        let services = self.requests.services();
        let drafts = place.set_aside.iter().chain([&place.draft]);
        let kept = drafts.map(|draft| services.history.append(&services.cwd, &draft.expanded_content().0));
        kept.fold(None, |line, kept| kept.err().map(unkept).or(line))
    }

    /// Keeps the draft and the scroll position for the next screen on this session; returns a line if that fails.
    fn keep_screen(&mut self, id: &str) -> Option<String> {
        let place = self.screen.model().map(screen_place).unwrap_or_default();
        self.keep_place(id, &place).err().map(unkept)
    }

    /// Like [`Self::keep_screen`], for an attached screen.
    fn keep_attached_screen(&mut self) -> Option<String> {
        let (_, session) = self.requests.server()?;
        self.keep_screen(&session)
    }

    /// The number of attempts that the screen has begun and that run.
    fn attempts_here(&self) -> Option<u32> {
        self.screen.model()?.attempts.filter(|running| !running.is_far).map(|running| running.count)
    }

    /// Ends the attempts that the screen has begun, and counts what they have cost; returns a line about them.
    async fn stop_attempts(&mut self) -> Option<String> {
        let count = self.attempts_here()?;
        self.requests.services().hosted.stop();
        let ended = async {
            while self.screen.model().is_some_and(|model| model.attempts.is_some())
                && let Some((ticket, reply)) = self.replies.recv().await
                && self.screen.fold(Msg::Finished(ticket, reply)).is_ok()
            {}
        };
        let is_late = tokio::time::timeout(STOP_TIMEOUT, ended).await.is_err();
        while let Some(effect) = self.screen.effects.pop_front() {
            if let Effect::Agent(command) = effect {
                self.outbox.push_back(command);
            }
        }
        // Before anything else ends the agent.
        self.send_waiting();
        let count = pluralize(u64::from(count), "attempt");
        Some(if is_late {
            format!("ended {count} that did not stop in time; `tau attempts` lists them")
        } else {
            format!("stopped {count}; `tau attempts` lists what they have")
        })
    }
}

/// Ends the service of the screen's session to others; returns the sessions of other screens.
async fn end_published(published: Option<PublishedSession>, exit: Exit) -> OtherSessions {
    match published {
        Some(published) => published.end(ending_of(exit)).await,
        None => OtherSessions::default(),
    }
}

fn unkept(error: io::Error) -> String {
    format!("your draft could not be kept: {error}")
}

/// The effect of the screen's end on the sessions of this process. A signal that ends the process ends all.
fn ending_of(exit: Exit) -> ScreenEnding {
    let ending = match exit {
        Exit::Ok | Exit::Aborted => Ending::AtRest,
        exit => Ending::Interrupted(exit),
    };
    let is_of_screen = matches!(exit, Exit::Ok | Exit::Aborted | Exit::HungUp);
    ScreenEnding { ending, stays: is_of_screen && waiter::can_leave() }
}

/// The lines about sessions that other screens have begun in this process.
fn other_lines(others: &OtherSessions) -> impl Iterator<Item = String> {
    others.ids.iter().map(|id| match &others.task {
        Some(_) => format!("a session that another screen began continues: tau attach {id}"),
        None => format!("stopped a session that another screen began: {id}"),
    })
}

/// The line printed after an attached screen: the state of the session, and how to return to it.
fn detach_line(server: &Server, session: &str, connection: &Connection) -> String {
    let again = format!("tau attach {}", server.to_return(session));
    match connection {
        Connection::Up => format!("detached; the session continues: {again}"),
        Connection::Lost { why } => {
            format!("detached without a connection ({why}); to attach again: {again}")
        }
        Connection::Down { why, returns: true } => format!("detached: {why}; to open it again: {again}"),
        Connection::Down { why, returns: false } => format!("detached: {why}"),
    }
}

/// The line about the money that the session has cost; `None` when it is nothing or unknown.
fn cost_line(model: &Model) -> Option<String> {
    let status = &model.status;
    let cost = status.total.cost.total;
    let more = if status.priced { "" } else { ", and more that has no known price" };
    let about = if status.total.estimated { "about " } else { "" };
    (cost > 0.0 && status.usage_known != UsageCoverage::Counting)
        .then(|| format!("this session has cost {about}${cost:.4}{more}"))
}

/// The line printed after the end; `None` when no session was saved.
fn how_to_resume(model: &Model) -> Option<String> {
    let session = &model.status.mirror.session;
    let kept = session.file.as_ref().is_some_and(|file| file.exists());
    kept.then(|| format!("to continue: tau --continue, or tau --session {}", short_id(&session.id)))
}
