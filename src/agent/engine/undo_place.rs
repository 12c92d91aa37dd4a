//! The undo of the session that is open, as the engine uses it: opened when it is first needed, on
//! threads of its own, so that nobody waits for a file system.

use std::future::pending;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::agent::protocol::query::QueryAnswer;
use crate::agent::undo::{CallStart, SessionUndo, UndoOptions};
use crate::tools::access::Access;

/// How long the copying of files holds up others at a time.
const COPY_STEP: Duration = Duration::from_millis(20);

/// The undo of one session.
#[derive(Debug)]
pub(crate) struct UndoPlace {
    options: UndoOptions,
    session: String,
    cwd: PathBuf,
    temporary: bool,
    undo: Mutex<Option<SessionUndo>>,
    /// Commands of the user that were started, and that have ended.
    started: AtomicU64,
    ended: AtomicU64,
}

impl UndoPlace {
    /// Of a session that runs in `cwd`; a `temporary` one leaves nothing behind.
    pub(crate) fn new(options: &UndoOptions, session: &str, cwd: PathBuf, temporary: bool) -> Self {
        UndoPlace {
            options: options.clone(),
            session: session.to_owned(),
            cwd,
            temporary,
            undo: Mutex::default(),
            started: AtomicU64::default(),
            ended: AtomicU64::default(),
        }
    }

    /// Uses it. Blocks.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut SessionUndo) -> T) -> T {
        let mut undo = self.undo.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || SessionUndo::open(&self.options, &self.session, &self.cwd, self.temporary);
        work(undo.get_or_insert_with(open))
    }

    /// A command of the user's starts.
    pub(crate) fn user_command_started(&self) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }

    /// A command of the user's has ended.
    pub(crate) fn user_command_ended(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// Something that was found out.
pub(crate) enum UndoNews {
    /// The answer to a query.
    Answer { ticket: u64, answer: Box<Result<QueryAnswer, String>> },
    /// What the user should be told.
    Notices(Vec<String>),
}

/// The undo of the open session, and what is being found out. Without options nothing is kept.
#[derive(Default)]
pub(crate) struct Undo {
    pub(crate) place: Option<Arc<UndoPlace>>,
    running: FuturesUnordered<JoinHandle<UndoNews>>,
}

impl Undo {
    /// For another session.
    pub(crate) fn of(place: Option<UndoPlace>) -> Self {
        Undo { place: place.map(Arc::new), ..Undo::default() }
    }

    /// The next news; pending while nothing is being found out. Cancel safe.
    pub(crate) async fn next(&mut self) -> UndoNews {
        while let Some(news) = self.running.next().await {
            if let Ok(news) = news {
                return news;
            }
        }
        pending().await
    }

    /// Answers a query on a thread.
    pub(crate) fn answer(
        &mut self,
        ticket: u64,
        find: impl FnOnce(&mut SessionUndo) -> Result<QueryAnswer, String> + Send + 'static,
    ) {
        let place = self.place.clone();
        self.running.push(spawn_blocking(move || {
            let answer = match place {
                Some(place) => place.with(find),
                None => Err("what this session changes is not kept".to_owned()),
            };
            UndoNews::Answer { ticket, answer: Box::new(answer) }
        }));
    }

    /// Makes copies of what git does not have, while the model thinks.
    pub(crate) fn warm(&mut self) {
        let Some(place) = self.place.clone() else { return };
        self.running.push(spawn_blocking(move || {
            let mut first = true;
            while place.with(|undo| undo.warm(std::mem::take(&mut first), Instant::now() + COPY_STEP)) {
                // Let others have it.
                std::thread::sleep(Duration::from_millis(1));
            }
            UndoNews::Notices(place.with(SessionUndo::take_notices))
        }));
    }

    /// Ends a call that was dropped before it could say what it changed.
    pub(crate) fn settle(&mut self) {
        let Some(place) = self.place.clone() else { return };
        self.running.push(spawn_blocking(move || {
            UndoNews::Notices(place.with(|undo| {
                undo.end(false);
                undo.take_notices()
            }))
        }));
    }
}

/// A call that is about to run.
#[derive(Clone, Debug)]
pub(crate) struct CallUndo {
    pub(crate) place: Arc<UndoPlace>,
    pub(crate) start: CallStart,
}

impl CallUndo {
    /// Carries out `work`, which touches `access`, and keeps what it changes. Returns what the user
    /// should be told as well.
    pub(crate) async fn around<T>(
        call: Option<Self>,
        access: Access,
        work: impl Future<Output = T>,
    ) -> (T, Vec<String>) {
        let Some(CallUndo { place, start }) = call.filter(|_| !access.only_reads()) else {
            return (work.await, Vec::new());
        };
        let before = place.clone();
        let begun = spawn_blocking(move || {
            before.with(|undo| undo.begin(start, &access));
            (before.started.load(Ordering::Relaxed), before.ended.load(Ordering::Relaxed))
        });
        let (started, ended) = begun.await.unwrap_or_default();
        let output = work.await;
        let notices = spawn_blocking(move || {
            let shared = started > ended || place.started.load(Ordering::Relaxed) > started;
            place.with(|undo| {
                undo.end(shared);
                undo.take_notices()
            })
        });
        (output, notices.await.unwrap_or_default())
    }
}
