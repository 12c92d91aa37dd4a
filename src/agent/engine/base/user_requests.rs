//! The channel for requests of tools to the user.

use tokio::sync::mpsc;

use tau_tools::user::{UserLink, UserRequest};

/// Both ends of the channel.
#[derive(Debug)]
pub(crate) struct UserRequests {
    link: UserLink,
    requests: mpsc::UnboundedReceiver<UserRequest>,
}

impl Default for UserRequests {
    fn default() -> Self {
        let (link, requests) = mpsc::unbounded_channel();
        UserRequests { link, requests }
    }
}

impl UserRequests {
    /// The sending end, for tools.
    pub(crate) fn link(&self) -> UserLink {
        self.link.clone()
    }

    /// The next request. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<UserRequest> {
        self.requests.recv().await
    }
}
