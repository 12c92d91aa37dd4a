//! The undo of the open session, on its own threads because file systems can block.
//!
//! It is opened on first use.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use parking_lot::Mutex;
use tokio::task::spawn_blocking;

use crate::undo::{CallStart, NOT_RECORDED, SessionUndo, UndoOptions};
use tau_protocol::query::{QueryAnswer, TypedQuery};
use tau_protocol::undo::UndoOrder;
use tau_tools::access::Access;
use tau_tools::user_error::UserError;

/// The maximum time that copying files may block other work.
const COPY_STEP: Duration = Duration::from_millis(20);

/// The message about work that panicked.
pub(crate) const CRASHED: &str = "it failed because of a bug in tau; please report it";

/// The undo of one session.
#[derive(Debug)]
pub(crate) struct UndoPlace {
    options: UndoOptions,
    session: String,
    cwd: PathBuf,
    temporary: bool,
    undo: Mutex<Option<SessionUndo>>,
    commands: Arc<UserCommands>,
    calls: Mutex<CallGroup>,
}

/// The numbers of user commands and background jobs that have started and ended. All sessions share them, because a
/// job outlives the session that it started in.
#[derive(Debug, Default)]
pub(crate) struct UserCommands {
    started: AtomicU64,
    ended: AtomicU64,
}

impl UserCommands {
    /// Counts the start of a command.
    pub(crate) fn start(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the end of a command.
    pub(crate) fn end(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// Calls that run at the same time. One record is open at any time, so a call that begins beside others ends
/// the record of the one before it, and the last call to end closes the last record. Each change is thus in
/// exactly one record, and the records are in the order of the changes.
#[derive(Debug, Default)]
struct CallGroup {
    running: usize,
    /// The numbers of user commands that had started and ended when the first call began.
    user_started: u64,
    user_ended: u64,
}

impl UndoPlace {
    /// The undo of a session that runs in `cwd`; a `temporary` one leaves nothing behind.
    pub(crate) fn new(options: &UndoOptions, session: &str, cwd: PathBuf, temporary: bool) -> Self {
        UndoPlace {
            options: options.clone(),
            session: session.to_owned(),
            cwd,
            temporary,
            undo: Mutex::default(),
            commands: Arc::default(),
            calls: Mutex::default(),
        }
    }

    /// Whether a user command has run beside the running calls.
    fn is_shared(&self, calls: &CallGroup) -> bool {
        calls.user_started > calls.user_ended
            || self.commands.started.load(Ordering::Relaxed) > calls.user_started
    }

    /// Begins a call. Blocks.
    fn begin(&self, start: CallStart, access: &Access) {
        self.with(|undo| {
            let mut calls = self.calls.lock();
            let beside = (calls.running > 0).then(|| self.is_shared(&calls));
            if beside.is_none() {
                calls.user_started = self.commands.started.load(Ordering::Relaxed);
                calls.user_ended = self.commands.ended.load(Ordering::Relaxed);
            }
            calls.running += 1;
            drop(calls);
            match beside {
                None => undo.begin(start, access),
                Some(shared) => undo.begin_concurrent(start, access, shared),
            }
        });
    }

    /// Ends a call and returns notices for the user. Blocks.
    fn end(&self, running: RunningCall) -> Vec<String> {
        self.with(|undo| {
            drop(running);
            let calls = self.calls.lock();
            if calls.running == 0 {
                undo.end(self.is_shared(&calls));
            }
            drop(calls);
            undo.take_notices()
        })
    }

    /// Runs `work` with the session's undo. Blocks.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut SessionUndo) -> T) -> T {
        let mut undo = self.undo.lock();
        let open = || SessionUndo::open(&self.options, &self.session, &self.cwd, self.temporary);
        work(undo.get_or_insert_with(open))
    }
}

/// A result of work on another thread.
pub(crate) enum UndoEvent {
    /// The answer to a query.
    Answer { ticket: u64, answer: Box<Result<QueryAnswer, UserError>> },
    /// Notices for the user.
    Notices(Vec<String>),
    /// Whether there is anything to redo, as was asked during a run.
    Redoable { order: UndoOrder, found: bool },
}

/// The undo of the open session, and its work in progress. Without options nothing is recorded.
#[derive(Default)]
pub(crate) struct Undo {
    pub(crate) place: Option<Arc<UndoPlace>>,
    /// The user's commands and the background jobs of all sessions.
    pub(crate) commands: Arc<UserCommands>,
    running: FuturesUnordered<BoxFuture<'static, UndoEvent>>,
}

impl Undo {
    /// Changes to the undo of another session.
    pub(crate) fn open(&mut self, place: Option<UndoPlace>) {
        let place = place.map(|place| UndoPlace { commands: Arc::clone(&self.commands), ..place });
        self.place = place.map(Arc::new);
    }

    /// The next event; pending while no work is in progress. Cancel safe.
    pub(crate) async fn next(&mut self) -> UndoEvent {
        match self.running.next().await {
            Some(news) => news,
            None => pending().await,
        }
    }

    /// Runs work on a thread; `crashed` is the event if it panics.
    fn find(&self, crashed: UndoEvent, work: impl FnOnce() -> UndoEvent + Send + 'static) {
        let thread = spawn_blocking(work);
        self.running.push(async move { thread.await.unwrap_or(crashed) }.boxed());
    }

    /// Answers a query on a thread.
    pub(crate) fn answer<Q: TypedQuery>(
        &mut self,
        ticket: u64,
        find: impl FnOnce(&mut SessionUndo) -> Result<Q::Answer, UserError> + Send + 'static,
    ) {
        let place = self.place.clone();
        let answer = move |answer| UndoEvent::Answer { ticket, answer: Box::new(answer) };
        // The caller waits for an answer even if the work fails.
        self.find(answer(Err(CRASHED.into())), move || {
            answer(match place {
                Some(place) => place.with(find).map(Q::give),
                None => Err(NOT_RECORDED.into()),
            })
        });
    }

    /// Finds out, on a thread, whether there is anything to redo.
    pub(crate) fn find_redo(&self, order: UndoOrder) {
        let place = self.place.clone();
        let crashed = UndoEvent::Redoable { order: order.clone(), found: false };
        self.find(crashed, move || {
            let found = place.is_some_and(|place| place.with(|undo| undo.redo_plan().is_some()));
            UndoEvent::Redoable { order, found }
        });
    }

    /// Copies files that git does not have while the model is thinking.
    pub(crate) fn precopy(&mut self) {
        let Some(place) = self.place.clone() else { return };
        self.find(UndoEvent::Notices(Vec::new()), move || {
            let mut first = true;
            while place.with(|undo| undo.precopy(std::mem::take(&mut first), Instant::now() + COPY_STEP)) {
                // Let others use the lock.
                std::thread::sleep(Duration::from_millis(1));
            }
            UndoEvent::Notices(place.with(SessionUndo::take_notices))
        });
    }

    /// Ends a call that was dropped before it could report its changes.
    pub(crate) fn settle(&mut self) {
        let Some(place) = self.place.clone() else { return };
        self.find(UndoEvent::Notices(Vec::new()), move || {
            UndoEvent::Notices(place.with(|undo| {
                undo.end(false);
                undo.take_notices()
            }))
        });
    }
}

/// A call in progress. It stops counting when this is dropped, also together with the task of the call.
struct RunningCall(Arc<UndoPlace>);

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut calls = self.0.calls.lock();
        calls.running = calls.running.saturating_sub(1);
    }
}

/// A call that is about to run.
#[derive(Clone, Debug)]
pub(crate) struct CallUndo {
    pub(crate) place: Arc<UndoPlace>,
    pub(crate) start: CallStart,
}

impl CallUndo {
    /// Carries out `work`, which touches `access`, and records its changes. Also returns notices for the
    /// user.
    pub(crate) async fn around<T>(
        call: Option<Self>,
        access: Access,
        work: impl Future<Output = T>,
    ) -> (T, Vec<String>) {
        let Some(CallUndo { place, start }) = call.filter(|_| !access.only_reads()) else {
            return (work.await, Vec::new());
        };
        let begun = spawn_blocking(move || {
            place.begin(start, &access);
            RunningCall(place)
        });
        let running = begun.await;
        let output = work.await;
        let Ok(running) = running else { return (output, Vec::new()) };
        let place = Arc::clone(&running.0);
        let notices = spawn_blocking(move || place.end(running));
        (output, notices.await.unwrap_or_default())
    }
}

#[cfg(all(test, feature = "undo"))]
mod tests {
    use super::*;
    use tau_protocol::query::ask;

    #[tokio::test]
    async fn a_query_whose_work_panics_is_answered() {
        let dir = tempfile::tempdir().unwrap();
        let options = UndoOptions { dir: dir.path().join("undo"), quota: 1 << 20, own: "".into() };
        let mut undo = Undo::default();
        undo.open(Some(UndoPlace::new(&options, "s", dir.path().to_owned(), true)));
        undo.answer::<ask::Changes>(7, |_| panic!("a bug"));
        let UndoEvent::Answer { ticket, answer } = undo.next().await else { panic!("no answer") };
        assert_eq!((ticket, &*answer.unwrap_err()), (7, CRASHED));
        // The next query is answered, too.
        undo.answer::<ask::Changes>(8, |_| Err("as it should be".into()));
        let UndoEvent::Answer { ticket, answer } = undo.next().await else { panic!("no answer") };
        assert_eq!((ticket, &*answer.unwrap_err()), (8, "as it should be"));
    }
}
