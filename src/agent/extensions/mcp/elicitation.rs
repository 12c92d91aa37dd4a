//! Elicitation: servers ask the user to fill in a form or open an address.
//!
//! Nothing is answered without the user.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use super::{McpContext, McpNews};
use tau_protocol::command::QuestionAnswer;
use tau_protocol::event::Question;
use tau_protocol::form::{self, FormField};

/// The maximum length of a message, in characters.
const MAX_LEN: usize = 2_000;
/// The maximum number of fields of a form.
const MAX_FIELDS: usize = 64;

/// Asks the user. Dropping the future withdraws the question.
pub(super) async fn ask(
    server: &str,
    request: ElicitRequestParams,
    around: &Arc<McpContext>,
) -> ElicitResult {
    let Some(question) = question(server, request) else {
        return ElicitResult::new(ElicitationAction::Decline);
    };
    let fields = match &question {
        Question::Form { fields, .. } => fields.clone(),
        Question::Url { .. }
        | Question::Select { .. }
        | Question::User { .. }
        | Question::Plan { .. }
        | Question::Confirm { .. } => Vec::new(),
    };
    match ask_user(question, around).await {
        QuestionAnswer::Form(values) => match form::check(&fields, &values) {
            Ok(()) => ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(values)),
            Err(why) => {
                let text = format!("the answer to MCP server {server} was not sent: {why}");
                around.report(text, Some("its question was cancelled"));
                ElicitResult::new(ElicitationAction::Cancel)
            }
        },
        QuestionAnswer::Confirmed(true) if fields.is_empty() => ElicitResult::new(ElicitationAction::Accept),
        QuestionAnswer::Confirmed(_) | QuestionAnswer::Declined | QuestionAnswer::Unavailable => {
            ElicitResult::new(ElicitationAction::Decline)
        }
        QuestionAnswer::Value(_)
        | QuestionAnswer::Answers(_)
        | QuestionAnswer::PlanAccepted { .. }
        | QuestionAnswer::PlanRejected { .. }
        | QuestionAnswer::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
    }
}

/// Asks the user and waits for the answer. Dropping the future withdraws the question.
pub(super) async fn ask_user(question: Question, around: &Arc<McpContext>) -> QuestionAnswer {
    let id = format!("e{}", around.asked.fetch_add(1, Ordering::Relaxed) + 1);
    let (answer, answered) = oneshot::channel();
    let mut waiting = Waiting { id: Some(id.clone()), around };
    if around.news.send(McpNews::Ask { id, question, answer }).await.is_err() {
        return QuestionAnswer::Cancelled;
    }
    let answer = answered.await.unwrap_or(QuestionAnswer::Cancelled);
    waiting.id = None;
    answer
}

/// A pending question.
struct Waiting<'a> {
    id: Option<String>,
    around: &'a McpContext,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let news = self.around.news.clone();
            let sent = news.try_send(McpNews::AskWithdrawn { id });
            // The events of a server must not hide that its question is over.
            if let (Err(TrySendError::Full(withdrawn)), Ok(runtime)) = (sent, Handle::try_current()) {
                runtime.spawn(async move { news.send(withdrawn).await });
            }
        }
    }
}

/// The question for the user; `None` if it cannot be shown.
fn question(server: &str, request: ElicitRequestParams) -> Option<Question> {
    let server = server.to_owned();
    let short = |text: String| text.chars().take(MAX_LEN).collect::<String>();
    match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let fields = fields(&requested_schema)?;
            Some(Question::Form { server, message: short(message), fields })
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let is_web = url.starts_with("https://") || url.starts_with("http://");
            let fits = is_web && url.len() <= MAX_LEN && !url.contains(|c: char| c.is_control() || c == ' ');
            fits.then(|| Question::Url { server, message: short(message), url })
        }
        _ => None,
    }
}

/// The fields of a form in order; `None` if a required one cannot be shown.
fn fields(schema: &ElicitationSchema) -> Option<Vec<FormField>> {
    let required = schema.required.as_deref().unwrap_or_default();
    let names = schema.property_order.clone();
    let names = names.unwrap_or_else(|| schema.properties.keys().cloned().collect());
    let mut fields = Vec::new();
    for name in names.iter().take(MAX_FIELDS) {
        let described = serde_json::to_value(schema.properties.get(name)?).ok()?;
        let is_required = required.contains(name);
        match FormField::of_schema(name, is_required, &described) {
            Some(field) => fields.push(field),
            None if is_required => return None,
            None => {}
        }
    }
    Some(fields)
}
