//! Log messages of servers: reports a few warnings and errors, and logs all of them.

#![allow(deprecated, reason = "the newest protocol drops logging, but servers in use have it")]

use parking_lot::Mutex;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use serde_json::Value;
use tokio::time::{Duration, Instant};

use super::McpContext;

/// The lowest level that is handled.
pub(super) const MIN_LEVEL: LoggingLevel = LoggingLevel::Warning;
/// The maximum number of a server's messages that are reported in [`WINDOW`].
const MAX_MESSAGES: u32 = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// The maximum length of a reported message, in characters.
const MAX_LEN: usize = 500;

/// The messages of a server so far.
#[derive(Default)]
pub(super) struct Messages(Mutex<Option<(Instant, u32)>>);

impl Messages {
    /// Handles a message: logs it, and reports it unless there are too many.
    pub(super) fn take(&self, server: &str, message: &LoggingMessageNotificationParam, around: &McpContext) {
        if !is_important(message.level) {
            return;
        }
        let text = text(message);
        match self.count(Instant::now()) {
            count if count < MAX_MESSAGES => {
                tracing::warn!(server, text, "an MCP server logged");
                around.report(format!("MCP server {server}: {text}"), None);
            }
            count if count == MAX_MESSAGES => {
                around.report(format!("further messages of MCP server {server} are left out"), None);
            }
            _ => {}
        }
    }

    /// The number of recent messages before this one.
    fn count(&self, now: Instant) -> u32 {
        let mut window = self.0.lock();
        let (start, count) =
            window.filter(|(start, _)| now.duration_since(*start) < WINDOW).unwrap_or((now, 0));
        *window = Some((start, count.saturating_add(1)));
        count
    }
}

/// Whether it is at least a warning. Lower levels were not requested, but may arrive.
fn is_important(level: LoggingLevel) -> bool {
    !matches!(level, LoggingLevel::Debug | LoggingLevel::Info | LoggingLevel::Notice)
}

/// The message on one line.
fn text(message: &LoggingMessageNotificationParam) -> String {
    let said = match &message.data {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let logger = message.logger.as_ref().filter(|logger| !logger.trim().is_empty());
    let said = logger.map_or_else(|| said.clone(), |logger| format!("{logger}: {said}"));
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_LEN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_lines_and_counted() {
        let mut message =
            LoggingMessageNotificationParam::new(LoggingLevel::Error, Value::from("two\nlines"));
        message.logger = Some("db".to_owned());
        assert_eq!(text(&message), "db: two lines");
        let (messages, now) = (Messages::default(), Instant::now());
        assert_eq!([messages.count(now), messages.count(now)], [0, 1]);
        assert_eq!(messages.count(now + WINDOW), 0);
    }
}
