//! Keeps the records of a process's live sessions up to date.

use std::collections::HashMap;
use std::sync::Arc;

use super::others::Others;
use super::record::{self, FoundRecord, LiveRecord, Registration};
use super::rights;
use super::socket::LiveSocket;
use crate::compose::Setup;
use crate::process::exit::Exit;
use crate::serve::facts::Facts;
use crate::serve::live::LiveSession;
use tau_agent::session::list;
use tau_agent::settings::Paths;
use tau_protocol::approval::PermissionMode;
use tau_protocol::live_session::LiveState;
use tau_protocol::title;

/// The fate of the records at the end of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The results of background runs are kept.
    AtRest,
    /// Sessions at work count as interrupted, by this end of the process.
    Interrupted(Exit),
}

impl Ending {
    /// Ends the registration of a session.
    fn end(self, registered: Registration) {
        let record = registered.record();
        let exit = record.exit;
        match self {
            Ending::Interrupted(exit) if record.is_at_work() => registered.keep(Some(exit.code())),
            Ending::AtRest | Ending::Interrupted(_) if record.is_result() => registered.keep(exit),
            Ending::AtRest | Ending::Interrupted(_) => {}
        }
    }
}

impl From<Exit> for Ending {
    fn from(exit: Exit) -> Self {
        if exit == Exit::Ok { Ending::AtRest } else { Ending::Interrupted(exit) }
    }
}

/// The owner of the sessions of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeper {
    Screen,
    /// An editor or another program, which shows what waits.
    Program,
    /// Nobody: the process ends with the work of its sessions, and their results are kept.
    Nobody,
    /// A server, whose clients come and go.
    Server,
}

/// The records of this process.
#[derive(Debug)]
pub(crate) struct Registry {
    paths: Paths,
    address: String,
    token: String,
    keeper: Keeper,
    /// The sessions, also those that have just ended.
    open: HashMap<String, (Arc<LiveSession>, Registration)>,
    others: Arc<Others>,
    /// Whether a session could not be registered.
    is_incomplete: bool,
    /// The kept modes of sessions, and whether no terminal shows them.
    modes: HashMap<String, (PermissionMode, bool)>,
}

impl Registry {
    /// A registry of sessions that are served on this socket.
    pub fn new(setup: &Setup, socket: &LiveSocket, keeper: Keeper) -> Self {
        let (paths, network) = (&setup.paths, setup.settings.network());
        let (address, token) = (socket.address(), socket.token().to_owned());
        let others = Arc::new(Others::new(paths.clone(), network));
        Registry {
            paths: paths.clone(),
            address,
            token,
            keeper,
            open: HashMap::new(),
            is_incomplete: false,
            others,
            modes: HashMap::new(),
        }
    }

    /// Sets the new address of the process.
    pub fn set_address(&mut self, socket: &LiveSocket) {
        self.address = socket.address();
    }

    /// Sets that no front end has the sessions open any more.
    pub fn leave(&mut self) {
        self.keeper = Keeper::Nobody;
    }

    /// Whether no front end of this process has the sessions open.
    fn is_left(&self) -> bool {
        matches!(self.keeper, Keeper::Nobody | Keeper::Server)
    }

    /// Whether a session could not be registered: it is tried again.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Writes what has changed of these sessions, which are all. One whose record cannot be written is missing in
    /// lists, and says why to its front end.
    pub fn update(&mut self, all: &[Arc<LiveSession>]) {
        self.is_incomplete = false;
        let has_ended = |id: &String| !all.iter().any(|live| live.id == *id);
        let ended: Vec<String> = self.open.keys().filter(|id| has_ended(id)).cloned().collect();
        for id in ended {
            // How its last run has ended may not be in its record yet.
            if let Some((live, registered)) = self.open.remove(&id) {
                registered.end(exit(&live));
            }
        }
        for live in all {
            self.keep_mode(live);
            if !self.open.contains_key(&live.id) && self.keeper != Keeper::Program {
                self.tell_if_interrupted(live);
            }
            let record = self.record(live);
            // What waits in a helper waits in its parent, too.
            let is_seen = record.watched || self.keeper == Keeper::Program;
            if !is_seen && record.state == LiveState::Waiting && record.parent.is_none() {
                self.announce(&record);
            }
            match self.open.get_mut(&live.id) {
                Some((_, open)) => {
                    if let Err(error) = open.update(record) {
                        tracing::warn!(%error, "the record of a live session could not be written");
                    }
                }
                None => self.register(live, record),
            }
        }
    }

    fn register(&mut self, live: &Arc<LiveSession>, record: LiveRecord) {
        let trouble = match Registration::new(&self.paths, record) {
            Ok(registered) => {
                self.open.insert(live.id.clone(), (Arc::clone(live), registered));
                None
            }
            Err(error) => Some(error.to_string()),
        };
        self.is_incomplete |= trouble.is_some();
        if live.set_unreachable(trouble.clone())
            && let Some(error) = trouble
        {
            tracing::warn!(error, "a live session could not be registered");
        }
    }

    /// Keeps the mode of a session for whoever opens it again, if no terminal shows it or a flag gave it.
    fn keep_mode(&mut self, live: &LiveSession) {
        let is_unseen = self.is_left() || live.helper.is_some();
        let mode = (live.read_facts(|facts, _| facts.mirror.mode), is_unseen);
        if self.modes.insert(live.id.clone(), mode) == Some(mode) {
            return;
        }
        rights::keep_mode_of(&self.paths, live, is_unseen);
    }

    /// Says on the session's screens, also those that attach later, that it was interrupted at work.
    fn tell_if_interrupted(&self, live: &LiveSession) {
        if let Some(found) = record::of(&self.paths, &live.id).filter(FoundRecord::is_interrupted) {
            live.note_interruption(found.record.interruption());
        }
    }

    /// Says on other screens that a session begins to wait.
    fn announce(&self, record: &LiveRecord) {
        let known = self.open.get(&record.id).map(|(_, open)| open.record().state);
        if known != Some(LiveState::Waiting) {
            let others = Arc::clone(&self.others);
            let (id, title) = (record.id.clone(), record.title.clone());
            tokio::spawn(async move { others.announce(&id, &title).await });
        }
    }

    /// Ends the registration of all sessions.
    pub fn end(self, ending: Ending) {
        self.open.into_values().for_each(|(_, registered)| ending.end(registered));
    }

    /// Ends the registration of a session.
    pub fn end_session(&mut self, id: &str, ending: Ending) {
        self.open.remove(id).into_iter().for_each(|(_, registered)| ending.end(registered));
    }

    fn record(&self, live: &LiveSession) -> LiveRecord {
        let known = self.open.get(&live.id).map(|(_, open)| open.record().title.clone());
        // What is in the file before the first record is not among the events.
        let known = known.unwrap_or_else(|| match &live.helper {
            Some(helper) => title::of(&helper.title).unwrap_or_default(),
            None => title_of_file(live),
        });
        live.read_facts(|facts, _| LiveRecord {
            id: live.id.clone(),
            pid: std::process::id(),
            address: self.address.clone(),
            token: self.token.clone(),
            directory: facts.mirror.session.cwd.clone(),
            title: match (&facts.mirror.session.name, &facts.first_prompt) {
                (Some(name), _) if !name.is_empty() => name.clone(),
                (_, Some(prompt)) if known.is_empty() => title::of(prompt).unwrap_or_default(),
                _ => known,
            },
            state: facts.state(self.is_left()),
            at_rest: !facts.is_running(),
            exit: exit_in(facts),
            interrupted: false,
            unsaved: facts.is_saving,
            model: facts.model(),
            cost: facts.meter.total().cost.total,
            estimated: facts.meter.total().estimated,
            last_line: facts.last_line(),
            retry_at: facts.run.retry.as_ref().map(|(at, _)| *at).filter(|_| facts.mirror.running),
            changed: jiff::Timestamp::now().as_millisecond(),
            background: self.keeper == Keeper::Nobody,
            waiting: facts.waiting(),
            watched: self.keeper == Keeper::Screen || live.clients() > 0,
            told: false,
            archived: false,
            file: None,
            parent: live.helper.as_ref().map(|helper| helper.parent.clone()),
            goal: goal_in(facts),
        })
    }
}

/// How the last run of a session has ended; `None` before its end.
fn exit(live: &LiveSession) -> Option<u8> {
    live.read_facts(|facts, _| exit_in(facts))
}

/// The command of the goal that is pursued, or was until an interruption.
fn goal_in(facts: &Facts) -> Option<String> {
    let goal = facts.mirror.goal.as_ref();
    let goal = goal.filter(|goal| goal.is_active() || facts.interruption.is_some());
    goal.map(|goal| goal.command.clone())
}

fn exit_in(facts: &Facts) -> Option<u8> {
    (!facts.mirror.running && !facts.is_saving && facts.run.is_over()).then(|| facts.run.exit().code())
}

/// The title of a session that has messages already; empty if it has none.
fn title_of_file(live: &LiveSession) -> String {
    let file = live.read_facts(|facts, _| facts.mirror.session.file.clone());
    let row = file.and_then(|file| list::row_of(&file));
    row.and_then(|row| row.name.or_else(|| title::of(&row.first_prompt))).unwrap_or_default()
}
