//! The client side of a connection: handles requests and notifications of a server.

#![allow(deprecated, reason = "the newest protocol drops roots, but servers in use ask for them")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use percent_encoding::{AsciiSet, percent_encode};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData,
    Implementation, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProgressToken, Root,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::json;
use tokio::sync::{Notify, Semaphore};

use super::logging::Messages;
use super::{McpContext, elicitation};
use crate::provider::sigv4::UNRESERVED;
use crate::settings::mcp_servers::McpServer;
use tau_tools::{Content, Details, ToolOutput, ToolProgress};

/// The maximum length of a progress message, in characters.
const MAX_PROGRESS_LEN: usize = 500;

/// The maximum number of questions of a server that are open at a time. More are cancelled.
const MAX_QUESTIONS: usize = 8;

/// State shared by the handler of a connection and its users.
#[derive(Clone)]
pub(super) struct Client(Arc<ClientState>);

struct ClientState {
    /// The name of the server.
    server: String,
    around: Arc<McpContext>,
    messages: Messages,
    /// The receivers of the progress of each call.
    progress: Mutex<HashMap<ProgressToken, ToolProgress>>,
    /// Notified when the server reports a change of one of its lists.
    changed: [Notify; ServerList::ALL.len()],
    /// The session's directory as an address.
    root: String,
    /// A permit for each question that may be open at a time.
    questions: Semaphore,
}

impl Client {
    pub(super) fn new(server: &McpServer, cwd: &Path, around: &Arc<McpContext>) -> Self {
        let shared = ClientState {
            server: server.name.clone(),
            around: Arc::clone(around),
            messages: Messages::default(),
            progress: Mutex::default(),
            changed: Default::default(),
            root: file_address(cwd),
            questions: Semaphore::new(MAX_QUESTIONS),
        };
        Client(Arc::new(shared))
    }

    /// Shows the progress of a call until the returned guard is dropped.
    pub(super) fn show_progress(&self, token: ProgressToken, progress: ToolProgress) -> ProgressGuard {
        self.0.progress.lock().insert(token.clone(), progress);
        ProgressGuard { client: self.clone(), token }
    }

    /// Waits until the server reports a change of this list. Cancel safe.
    pub(super) async fn wait_for_change(&self, list: ServerList) {
        match self.0.changed.get(list as usize) {
            Some(changed) => changed.notified().await,
            None => std::future::pending().await,
        }
    }

    fn has_changed(&self, list: ServerList) {
        if let Some(changed) = self.0.changed.get(list as usize) {
            changed.notify_one();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerList {
    Tools,
    Prompts,
    Resources,
}

impl ServerList {
    pub(super) const ALL: [ServerList; 3] = [ServerList::Tools, ServerList::Prompts, ServerList::Resources];
}

/// A call whose progress is shown.
pub(super) struct ProgressGuard {
    client: Client,
    token: ProgressToken,
}

impl Drop for ProgressGuard {
    fn drop(&mut self) {
        self.client.0.progress.lock().remove(&self.token);
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        // Everything offered here is answered below.
        let offered = json!({
            "roots": { "listChanged": false },
            "elicitation": { "form": {}, "url": {} },
        });
        let capabilities: ClientCapabilities = serde_json::from_value(offered).unwrap_or_default();
        ClientConfig::new(capabilities, Implementation::new("tau", env!("CARGO_PKG_VERSION")))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(self.0.root.clone())]))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        // Nobody reads that many.
        let Ok(_open) = self.0.questions.try_acquire() else {
            return Ok(ElicitResult::new(ElicitationAction::Cancel));
        };
        let asking = elicitation::ask(&self.0.server, request, &self.0.around);
        let asked = context.ct.run_until_cancelled(asking).await;
        Ok(asked.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
    }

    async fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.messages.take(&self.0.server, &message, &self.0.around);
    }

    async fn on_progress(&self, news: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let progress = self.0.progress.lock().get(&news.progress_token).cloned();
        if let Some(progress) = progress {
            let text = progress_text(&news);
            progress.show(ToolOutput {
                content: vec![Content::text(text.clone())],
                details: Details::Text { text },
            });
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.has_changed(ServerList::Tools);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.has_changed(ServerList::Prompts);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.has_changed(ServerList::Resources);
    }
}

/// The text of a progress report: how far it is, and the server's message.
fn progress_text(news: &ProgressNotificationParam) -> String {
    let far = match news.total.filter(|total| total.is_finite() && *total > 0.0) {
        Some(total) => {
            let percent = (news.progress / total * 100.0).clamp(0.0, 100.0);
            format!("{percent:.0} % ({} of {total})", news.progress)
        }
        None => format!("{}", news.progress),
    };
    match news.message.as_deref().map(str::trim).filter(|message| !message.is_empty()) {
        Some(message) => format!("{far}: {}", message.chars().take(MAX_PROGRESS_LEN).collect::<String>()),
        None => far,
    }
}

/// The `file:` address of a path.
fn file_address(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;

    const ESCAPED: AsciiSet = UNRESERVED.remove(b'/');
    format!("file://{}", percent_encode(path.as_os_str().as_bytes(), &ESCAPED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_said_in_a_line() {
        let token = ProgressToken(rmcp::model::NumberOrString::Number(1));
        let news = |progress, total: Option<f64>, message: Option<&str>| {
            let mut news = ProgressNotificationParam::new(token.clone(), progress);
            news.total = total;
            news.message = message.map(str::to_owned);
            progress_text(&news)
        };
        assert_eq!(news(2.0, Some(8.0), Some(" half ")), "25 % (2 of 8): half");
        assert_eq!(news(3.5, None, None), "3.5");
        assert_eq!(news(9.0, Some(0.0), None), "9");
        assert_eq!(news(9.0, Some(3.0), None), "100 % (9 of 3)");
    }

    #[test]
    fn paths_as_addresses() {
        assert_eq!(file_address(Path::new("/a b/ü%")), "file:///a%20b/%C3%BC%25");
    }
}
