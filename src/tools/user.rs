//! Questions of tools to the user, by way of the agent, and the answers. A tool sends a [`UserRequest`] and
//! waits; the agent asks on the current front end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::ToolError;
use super::plan::WorkPlan;
use crate::user_error::UserError;

// Its texts are not safe to print.
/// A question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserQuestion {
    /// The question.
    pub question: String,
    /// At most 9, the best first; without any, the answer is text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Several can be taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multiple: bool,
}

/// The result when the user declined to answer.
pub const DECLINED: &str =
    "The user declined to answer. Decide by yourself, or end your answer and say what you need.";

/// The user's answer to one question: nothing, choices, a text, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserAnswer {
    /// The chosen answers, by index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<usize>,
    /// An answer in the user's own words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// The outcome of questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserReply {
    /// One answer for each question.
    Answered(Vec<UserAnswer>),
    /// The user does not want to answer.
    Declined,
    /// There is no user.
    Nobody,
}

/// A request to the agent.
#[derive(Debug)]
pub enum UserRequest {
    /// Ask the user.
    Ask { questions: Vec<UserQuestion>, reply: oneshot::Sender<UserReply> },
    /// Asks whether to carry out the plan. The reply is the result of the call, or the reason why there is
    /// none.
    Plan { plan: WorkPlan, reply: oneshot::Sender<Result<String, UserError>> },
    /// The steps with these numbers are done. The reply is the remaining work, or the reason why there are
    /// no such steps.
    StepsDone { numbers: Vec<usize>, reply: oneshot::Sender<Result<String, UserError>> },
}

/// The channel to the agent.
pub type UserLink = mpsc::UnboundedSender<UserRequest>;

/// Sends a request and waits for the reply; `None` if nothing receives it. Fails when the call was aborted.
pub(crate) async fn request<R>(
    link: Option<&UserLink>,
    stop: &CancellationToken,
    make: impl FnOnce(oneshot::Sender<R>) -> UserRequest,
) -> Result<Option<R>, ToolError> {
    let Some(link) = link else { return Ok(None) };
    let (reply, answered) = oneshot::channel();
    if link.send(make(reply)).is_err() {
        return Ok(None);
    }
    let answered = stop.run_until_cancelled(answered).await;
    // Dropped without an answer: the run is ending.
    answered.and_then(Result::ok).map(Some).ok_or_else(ToolError::aborted)
}
