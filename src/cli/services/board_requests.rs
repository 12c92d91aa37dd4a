//! Requests about live sessions of this machine and of the servers of the board.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Services, blocking};
use crate::attach::wire::{BoardAnswer, BoardAsk};
use crate::live::board_servers::OnServer;
use crate::live::others::Others;
use tau_protocol::command::AgentCommand;
use tau_protocol::live_session::{BoardList, WaitingQuestions};
use tau_protocol::query::QueryAnswer;
use tau_tools::user_error::UserError;

/// The longest wait for something new, and how often it is looked for.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(500);

/// The last answer to the board.
#[derive(Debug, Default)]
pub struct LastBoardList {
    /// The number of requests so far.
    asks: u64,
    list: BoardList,
}

impl Services {
    /// The live sessions of other processes.
    pub(super) fn others(&self) -> Others {
        let setup = self.setup.lock();
        Others::new(setup.paths.clone(), setup.settings.network())
    }

    /// The list, with what is known of the servers in the settings.
    pub(super) fn with_servers(&self, mut list: BoardList) -> BoardList {
        let setup = self.setup.lock();
        if let Some(servers) = &setup.settings.servers {
            self.board_servers.add_to(&mut list, servers, &setup.paths, &setup.settings.network());
        }
        list
    }
}

/// The sessions of the board; where the last answer is `known`, once they differ from that, or after some seconds.
pub(super) async fn list(services: &Arc<Services>, known: bool) -> Result<BoardList, UserError> {
    let end = Instant::now() + PATIENCE;
    let own = {
        let mut shown = services.board_shown.lock();
        shown.asks = shown.asks.wrapping_add(1);
        shown.asks
    };
    loop {
        let here = Arc::clone(services);
        let list = blocking(move || {
            let paths = here.setup.lock().paths.clone();
            Ok(BoardList { sessions: here.board.lock().rows(&paths), servers: Vec::new() })
        });
        let list = services.with_servers(list.await?);
        {
            let mut shown = services.board_shown.lock();
            // Nobody waits for an answer once the next is asked for.
            if shown.asks != own {
                return Ok(list);
            }
            if !known || shown.list != list || Instant::now() >= end {
                shown.list.clone_from(&list);
                return Ok(list);
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The questions that wait in a session on a server.
pub(super) async fn waiting((server, id): OnServer) -> Result<WaitingQuestions, UserError> {
    match server.carry_out(&BoardAsk::Waiting { id }).await? {
        BoardAnswer::Waiting { waiting } => Ok(waiting),
        _ => Err(something_else()),
    }
}

/// Gives a session on a server an answer to what waits there, or asks it about that.
pub(super) async fn answer(
    (server, id): OnServer,
    command: Box<AgentCommand>,
) -> Result<Option<QueryAnswer>, UserError> {
    match server.carry_out(&BoardAsk::Answer { id, command }).await? {
        BoardAnswer::Answered { answer } => Ok(answer),
        _ => Err(something_else()),
    }
}

/// Sends a message to a session on a server.
pub(super) async fn send((server, id): OnServer, text: String) -> Result<(), UserError> {
    server.carry_out(&BoardAsk::Send { id, text }).await.map(drop)
}

/// Stops the run of a session on a server; returns false if nothing runs in it.
pub(super) async fn stop((server, id): OnServer) -> Result<bool, UserError> {
    match server.carry_out(&BoardAsk::Stop { id }).await? {
        BoardAnswer::Done { done } => Ok(done),
        _ => Err(something_else()),
    }
}

/// Puts the result of a session on a server away, or brings it back.
pub(super) async fn archive((server, id): OnServer, archived: bool) -> Result<(), UserError> {
    server.carry_out(&BoardAsk::Archive { id, archived }).await.map(drop)
}

fn something_else() -> UserError {
    "the server gave an unexpected answer".into()
}
