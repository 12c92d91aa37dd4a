//! The messages of a loaded session, as the client would have seen them live.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, ImageContent, MessageId, SessionUpdate, TextContent, ToolCall as ShownCall,
    ToolCallStatus, ToolKind,
};

use super::state::{AcpState, SessionKey};
use super::{calls, calls_of_session};
use tau_protocol::message::{BashExecution, Block, Message, UserContent};
use tau_tools::ids;

/// Sends messages to the client, in order. `titles` are the titles of their calls, by id.
pub(crate) fn messages(
    state: &mut AcpState,
    key: SessionKey,
    messages: &[Arc<Message>],
    titles: &BTreeMap<String, String>,
) {
    for message in messages {
        match message.as_ref() {
            Message::User(user) => send_content(state, key, &user.content, true),
            Message::Custom(custom) if custom.display => send_content(state, key, &custom.content, false),
            Message::Assistant(answer) => blocks(state, key, &answer.content, titles),
            Message::ToolResult(result) => calls_of_session::result(state, key, result),
            Message::BashExecution(command) => user_command(state, key, command),
            // The summarized messages are sent themselves.
            Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::Application(_) => {}
        }
    }
    calls_of_session::give_up(state, key);
}

fn message_id() -> MessageId {
    MessageId::new(ids::id().to_string())
}

fn send_content(state: &mut AcpState, key: SessionKey, content: &UserContent, by_user: bool) {
    let id = message_id();
    for block in content.blocks() {
        let shown = match block {
            Block::Text { text, .. } => ContentBlock::Text(TextContent::new(text)),
            Block::Image { data, mime_type } => ContentBlock::Image(ImageContent::new(data, mime_type)),
            Block::Thinking { .. } | Block::ToolCall(_) | Block::Unknown(_) => continue,
        };
        let chunk = ContentChunk::new(shown).message_id(id.clone());
        let news = if by_user {
            SessionUpdate::UserMessageChunk(chunk)
        } else {
            SessionUpdate::AgentMessageChunk(chunk)
        };
        state.update(key, news);
    }
}

fn blocks(state: &mut AcpState, key: SessionKey, blocks: &[Block], titles: &BTreeMap<String, String>) {
    let id = message_id();
    let chunk =
        |text: &str| ContentChunk::new(ContentBlock::Text(TextContent::new(text))).message_id(id.clone());
    for block in blocks {
        match block {
            Block::Text { text, .. } if !text.is_empty() => {
                state.update(key, SessionUpdate::AgentMessageChunk(chunk(text)));
            }
            Block::Thinking { thinking, .. } if !thinking.is_empty() => {
                state.update(key, SessionUpdate::AgentThoughtChunk(chunk(thinking)));
            }
            Block::ToolCall(call) => {
                calls_of_session::report_call(state, key, call);
                if let Some(title) = titles.get(&call.id) {
                    calls_of_session::report_title(state, key, &call.id, title);
                }
            }
            Block::Text { .. } | Block::Thinking { .. } | Block::Image { .. } | Block::Unknown(_) => {}
        }
    }
}

/// A command that the user ran in a terminal.
fn user_command(state: &mut AcpState, key: SessionKey, command: &BashExecution) {
    let failed = command.cancelled || command.exit_code.is_some_and(|code| code != 0);
    let status = if failed { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
    let call = ShownCall::new(ids::id().to_string(), format!("! {}", command.command))
        .kind(ToolKind::Execute)
        .status(status)
        .content(vec![calls::text(&calls::fence(&command.output_with_note()))]);
    state.update(key, SessionUpdate::ToolCall(call));
}
