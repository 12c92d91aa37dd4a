//! What tools ask the user by way of the agent, and the answers. A tool sends a [`UserRequest`] and waits;
//! the agent asks on whichever front end there is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::ToolError;
use super::plan::WorkPlan;

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

/// What the user answered to one question: nothing, choices, a text, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserAnswer {
    /// The choices that were taken, by index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<usize>,
    /// In the user's own words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// What became of questions.
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
    /// Ask whether the plan is carried out. The reply is the result of the call, or why it has none.
    Plan { plan: WorkPlan, reply: oneshot::Sender<Result<String, String>> },
    /// The steps of these numbers are done. The reply is what is left, or why there are no such steps.
    StepsDone { numbers: Vec<usize>, reply: oneshot::Sender<Result<String, String>> },
}

/// The way to the agent.
pub type UserLink = mpsc::UnboundedSender<UserRequest>;

/// Sends a request and waits for the reply; `None` if there is nobody who takes it.
///
/// # Errors
/// The call was aborted.
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
    // Dropped unanswered: the run ends.
    answered.and_then(Result::ok).map(Some).ok_or_else(ToolError::aborted)
}
