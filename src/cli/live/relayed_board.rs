//! The board of a screen on another machine: the live sessions of this one, and what is done about them there.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;

use super::listed::RowCache;
use super::others::Others;
use super::record;
use crate::attach::wire::{BOARD, BoardAnswer, BoardAsk};
use crate::serve::problem::Problem;
use tau_agent::provider::http::Network;
use tau_agent::settings::Paths;
use tau_protocol::live_session::LiveRow;
use tau_tools::user_error::UserError;

/// Maximum body of a request, in bytes.
const MAX_BODY: usize = 8 << 20;
/// Maximum number of sessions in one answer; the most recently changed are kept.
const MAX_ROWS: usize = 1_000;
/// The interval at which the sessions are looked at, and the longest wait for a change.
const LOOK: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(20);

/// The live sessions of this machine, for a board on another one.
#[derive(Debug)]
pub(super) struct RelayedBoard {
    paths: Paths,
    others: Others,
    /// The folder to which the sessions have to belong.
    directory: Option<PathBuf>,
    listed: Mutex<RowCache>,
}

impl RelayedBoard {
    /// The sessions of the user with these folders; with a `directory`, those that work there.
    pub fn new(paths: Paths, network: Network, directory: Option<PathBuf>) -> Self {
        let others = Others::new(paths.clone(), network);
        RelayedBoard { paths, others, directory, listed: Mutex::default() }
    }

    /// Answers a request. Fails when the request is not one of a board, or cannot be carried out.
    pub async fn answer(&self, request: Request) -> Result<Response, Problem> {
        if request.uri().path() != BOARD {
            return Err(Problem::not_found("there is nothing at this path; see /openapi.json"));
        }
        let too_large = |_| Problem::too_large(format!("a body has at most {MAX_BODY} bytes"));
        let body = to_bytes(request.into_body(), MAX_BODY).await.map_err(too_large)?;
        let ask: BoardAsk =
            serde_json::from_slice(&body).map_err(|error| Problem::invalid(error.to_string()))?;
        let answer = self.carry_out(ask).await.map_err(|error| Problem::refused(error.to_string()))?;
        Ok(Json(answer).into_response())
    }

    async fn carry_out(&self, ask: BoardAsk) -> Result<BoardAnswer, UserError> {
        Ok(match ask {
            BoardAsk::List { known } => self.list(known).await,
            BoardAsk::Waiting { id } => BoardAnswer::Waiting { waiting: self.others.waiting(&id).await? },
            BoardAsk::Answer { id, command } => {
                BoardAnswer::Answered { answer: self.others.answer(&id, &command).await? }
            }
            BoardAsk::Stop { id } => BoardAnswer::Done { done: self.others.stop(&id).await? },
            BoardAsk::Send { id, text } => {
                self.others.send(&id, &text).await?;
                BoardAnswer::Done { done: true }
            }
            BoardAsk::Archive { id, archived } => {
                record::put_away(&self.paths, None, &id, archived)?;
                BoardAnswer::Done { done: true }
            }
        })
    }

    /// The sessions, as soon as they are not the known ones.
    async fn list(&self, known: Option<u64>) -> BoardAnswer {
        let end = Instant::now() + PATIENCE;
        loop {
            let (rows, number) = {
                let mut listed = self.listed.lock();
                (listed.rows(&self.paths), listed.number())
            };
            if known != Some(number) {
                return BoardAnswer::Listed { known: number, sessions: Some(self.select_rows(rows)) };
            }
            if Instant::now() >= end {
                return BoardAnswer::Listed { known: number, sessions: None };
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn select_rows(&self, mut rows: Vec<LiveRow>) -> Vec<LiveRow> {
        rows.retain(|row| self.directory.as_ref().is_none_or(|folder| row.directory.starts_with(folder)));
        rows.sort_by_key(|row| std::cmp::Reverse(row.changed));
        rows.truncate(MAX_ROWS);
        rows
    }
}
