//! The history of a session and its pending reads.

use std::collections::VecDeque;
use std::future::pending;

use tokio::task::JoinHandle;

use crate::session::SessionError;
use crate::session::history::{BranchPage, History};
use crate::session::survey::{Survey, SurveyJob};
use tau_protocol::query::{PageFrom, PageGoal};
use tau_tools::user_error::UserError;

/// A finished survey, or why it failed.
pub(crate) type SurveyResult = Result<Survey, SessionError>;
/// A page that was read, or why reading failed.
pub(crate) type PageRead = std::io::Result<BranchPage>;

/// The history of the session before the messages that were sent, and its pending reads.
#[derive(Default)]
pub(crate) struct HistoryCursor {
    pub(crate) history: History,
    /// The unread part of the file until it is surveyed. Pages wait for that.
    pub(crate) unsurveyed: Option<SurveyJob>,
    /// The survey, while it runs.
    pub(crate) survey: Option<JoinHandle<SurveyResult>>,
    /// The waiting queries, by ticket.
    pub(crate) waiting: VecDeque<(u64, PageFrom, PageGoal)>,
    /// The page that is being read, and the ticket it is for.
    pub(crate) reading: Option<(u64, JoinHandle<PageRead>)>,
}

/// A finished read.
pub(crate) enum HistoryRead {
    Survey(Result<Survey, UserError>),
    Page { ticket: u64, page: Result<BranchPage, UserError> },
}

impl HistoryCursor {
    /// The next finished read; pending while nothing is being read. Cancel safe.
    pub(crate) async fn next(&mut self) -> HistoryRead {
        if let Some(survey) = &mut self.survey {
            let read = survey.await;
            self.survey = None;
            return HistoryRead::Survey(
                read.map_err(UserError::of).and_then(|survey| survey.map_err(UserError::of)),
            );
        }
        let Some((ticket, reading)) = &mut self.reading else { return pending().await };
        let (ticket, read) = (*ticket, reading.await);
        self.reading = None;
        HistoryRead::Page {
            ticket,
            page: read.map_err(UserError::of).and_then(|page| page.map_err(UserError::of)),
        }
    }

    /// The tickets of all unanswered queries.
    pub(crate) fn tickets(&self) -> Vec<u64> {
        let reading = self.reading.iter().map(|(ticket, _)| *ticket);
        reading.chain(self.waiting.iter().map(|(ticket, ..)| *ticket)).collect()
    }
}
