//! The helpers of an agent: those that run, those that wait, and the channels to them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot, watch};

use super::agent_handle::StartAgent;
use super::helper_role::Rights;
use crate::engine::base::meter::Meter;
use crate::extensions::helper_kinds::HelperKind;
use tau_protocol::approval::ApprovalRequest;
use tau_protocol::command::{AgentCommand, QuestionCommand};
use tau_protocol::event::AgentEvent;
use tau_tools::delegate::{HelperLink, HelperReport, HelperRequest, HelperState};
use tau_tools::{Details, OutputLimits, ToolError, ToolOutput, ToolProgress};

/// The number of events of helpers that wait for the agent.
const NEWS: usize = 64;

/// Something for the agent to handle.
pub(crate) enum HelperEvent {
    /// A call asks for a helper.
    Asked(HelperRequest),
    /// Something happened to the helper with this number.
    News(u32, HelperNews),
}

/// Something that happened to a helper.
pub(crate) enum HelperNews {
    Event(Box<AgentEvent>),
    /// Another front end answered its question.
    Answered(QuestionCommand),
    /// Its call was aborted while it waited to begin.
    Withdrawn,
    /// Its agent has ended.
    Ended,
}

/// A helper at work.
pub(crate) struct RunningHelper {
    pub(crate) number: u32,
    /// The id of the call that asked for it.
    pub(crate) call: String,
    pub(crate) report: HelperReport,
    /// Its answer so far, as far as it is complete.
    pub(crate) answer: String,
    /// Why it failed.
    pub(crate) error: Option<String>,
    /// Whether its run was aborted.
    pub(crate) aborted: bool,
    /// The titles of its calls.
    pub(crate) titles: HashMap<String, String>,
    /// The questions that it waits for.
    pub(crate) asked: Vec<String>,
    /// Its calls that wait for approval.
    pub(crate) approvals: Vec<ApprovalRequest>,
    /// Whether a limit has ended its run, which the next notice names.
    pub(crate) is_limited: bool,
    pub(crate) meter: Meter,
    pub(crate) limits: OutputLimits,
    pub(crate) progress: ToolProgress,
    /// Dropped when it has ended, which ends its agent.
    pub(crate) commands: Option<mpsc::UnboundedSender<AgentCommand>>,
    pub(crate) reply: Option<oneshot::Sender<Result<ToolOutput, ToolError>>>,
}

pub(crate) struct HelperPlace {
    pub(crate) start: StartAgent,
    sender: mpsc::UnboundedSender<HelperRequest>,
    requests: mpsc::UnboundedReceiver<HelperRequest>,
    pub(crate) news_sender: mpsc::Sender<(u32, HelperNews)>,
    news: mpsc::Receiver<(u32, HelperNews)>,
    pub(crate) running: Vec<RunningHelper>,
    /// The calls whose helpers begin when another one has ended.
    pub(crate) waiting: VecDeque<HelperRequest>,
    /// The kinds from files: those at the start of the session, since the description of a tool names them.
    pub(crate) kinds: Arc<[HelperKind]>,
    /// The number of the last one.
    last: u32,
    rights: watch::Sender<Rights>,
}

impl HelperPlace {
    /// No helpers yet; `start` starts the agent of one.
    pub(crate) fn new(start: StartAgent) -> Self {
        let (sender, requests) = mpsc::unbounded_channel();
        let (news_sender, news) = mpsc::channel(NEWS);
        HelperPlace {
            start,
            sender,
            requests,
            news_sender,
            news,
            running: Vec::new(),
            waiting: VecDeque::new(),
            kinds: Arc::default(),
            last: 0,
            rights: watch::Sender::new(Rights::default()),
        }
    }

    /// The way from this call to the helpers.
    pub(crate) fn link(&mut self, call: &str) -> HelperLink {
        self.last += 1;
        HelperLink { requests: self.sender.clone(), call: call.to_owned(), number: self.last }
    }

    /// The next request of a call, or, if wanted, news of a helper. Cancel safe.
    pub(crate) async fn next(&mut self, news: bool) -> HelperEvent {
        tokio::select! {
            Some(request) = self.requests.recv() => HelperEvent::Asked(request),
            Some((number, news)) = self.news.recv(), if news => HelperEvent::News(number, news),
            // Both senders are here, too.
            else => std::future::pending().await,
        }
    }

    pub(crate) fn get(&mut self, number: u32) -> Option<&mut RunningHelper> {
        self.running.iter_mut().find(|helper| helper.number == number)
    }

    /// The last report of the helper of a call, which is stopped.
    pub(crate) fn stopped_report(&self, call: &str) -> Option<Details> {
        let helper = self.running.iter().find(|helper| helper.call == call)?;
        let report = HelperReport { state: HelperState::Stopped, ..helper.report.clone() };
        Some(Details::Helper(Box::new(report)))
    }

    /// Whether none runs or waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// Tells the helpers the rights of this agent.
    pub(crate) fn publish(&self, rights: impl FnOnce() -> Rights) {
        if self.rights.receiver_count() > 0 {
            self.rights.send_replace(rights());
        }
    }

    /// The rights of this agent, from now on.
    pub(crate) fn rights(&self, now: Rights) -> watch::Receiver<Rights> {
        self.rights.send_replace(now);
        self.rights.subscribe()
    }
}
