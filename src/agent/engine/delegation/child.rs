//! The agent of a helper: what it starts with.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::base::meter::{Meter, TimeLimit, TimeLimitOwner};
use crate::engine::base::undo_place::CallUndo;
use crate::engine::behavior::{Behavior, McpBehavior};
use crate::engine::config::{AgentConfig, SessionPlace};
use crate::engine::helper_part::{self, ROLE, name, system};
use crate::engine::helper_role::{HelperRole, MAX_DEPTH, Rights};
use crate::engine::state::Engine;
use crate::engine::tool_registry::ToolRegistry;
use crate::extensions::helper_kinds::HelperKind;
use crate::secrets::masking::Masking;
use crate::session::Session;
use crate::undo::{CallStart, last_prompt};
use tau_protocol::message::{Message, ToolResultMessage, Usage, UserMessage};
use tau_protocol::model::Model;
use tau_protocol::run::{OnRepeat, RunLimits};
use tau_tools::delegate::{self, HelperRequest};
use tau_tools::process::ChildEnv;
use tau_tools::{Details, Toolbox, plan};

/// A helper that can be started.
pub(super) struct NewHelper {
    pub(super) config: AgentConfig,
    pub(super) first: UserMessage,
    pub(super) meter: Meter,
}

/// The helper that a call asks for, with this model.
pub(super) fn new(
    engine: &mut Engine,
    request: &HelperRequest,
    kind: &HelperKind,
    model: Option<Arc<Model>>,
) -> NewHelper {
    let order = &request.order;
    let visible = tools(engine, kind);
    let (offered, allowed) = match order.inherit {
        // The same tools, so that the provider's cache holds.
        true => (engine.config.tools.clone(), Some(visible.specs().into_iter().map(name).collect())),
        false => (visible, None),
    };
    let meter = Meter::below(&engine.meters.used);
    let own_time = order.minutes.map(|minutes| TimeLimit {
        at: Instant::now() + Duration::from_secs(minutes * 60),
        whose: TimeLimitOwner::Helper,
    });
    let role = HelperRole {
        stop: request.cancel.child_token(),
        depth: engine.depth() + 1,
        meter: meter.clone(),
        deadline: TimeLimit::first([own_time, engine.deadline().map(TimeLimit::below)]),
        undo: undo(engine, request),
        rights: engine.helpers.rights(Rights::of(&engine.config.behavior)),
        found_tools: engine.searchable_tools().clone(),
        kinds: Arc::clone(&engine.helpers.kinds),
        allowed,
    };
    let mut session = session(engine, kind);
    let (system, text) = match order.inherit {
        true => {
            inherit(engine, &mut session, &request.call);
            let text =
                format!("[tau] From here on you have another part. {ROLE} {}\n\n{}", kind.prompt, order.task);
            (engine.system(), text)
        }
        false => (system(&engine.config.system, kind, &offered).into(), order.task.clone()),
    };
    let mut behavior = behavior(engine);
    if order.inherit {
        behavior.conversation_id = Some(engine.conversation_id());
    }
    // Placeholders in the task were replaced by values.
    let text = behavior.masking.vault.mask(&text).unwrap_or(text);
    let (parent, id) = (&engine.config, session.info().id.clone());
    let config = AgentConfig {
        transport: Arc::clone(&parent.transport),
        keys: Arc::clone(&parent.keys),
        tools: offered,
        model,
        thinking: parent.thinking,
        session,
        place: SessionPlace { dir: parent.place.dir.clone(), cwd: engine.cwd().to_owned() },
        system,
        scratch: Arc::clone(&parent.scratch),
        env: Arc::new(ChildEnv::clone(&parent.env).for_session(&id)),
        shell: parent.shell.clone(),
        bash_timeout: parent.bash_timeout,
        find_model: Arc::clone(&parent.find_model),
        max_retries: parent.max_retries,
        retry_mode: parent.retry_mode,
        limits: RunLimits {
            turns: [parent.limits.turns, kind.turns].into_iter().flatten().min(),
            dollars: order.dollars,
            tokens: order.tokens,
            time: None,
        },
        behavior,
        compaction: parent.compaction,
        helper: Some(role),
    };
    NewHelper { config, first: UserMessage::with_blocks(text, Vec::new()), meter }
}

/// The tools of a helper: at most those of its parent.
fn tools(engine: &Engine, kind: &HelperKind) -> Toolbox {
    let all = helper_part::tools(&engine.config.tools, kind);
    let may_delegate = engine.depth() + 1 < MAX_DEPTH;
    let is_for_helpers = |name: &String| {
        name != plan::SUBMIT && name != plan::STEP && (may_delegate || name != delegate::NAME)
    };
    let names: Vec<String> = all.specs().into_iter().map(name).filter(is_for_helpers).collect();
    all.only(&names)
}

/// The behavior of a helper's agent.
fn behavior(engine: &Engine) -> Behavior {
    let parent = &engine.config.behavior;
    Behavior {
        mode_ceiling: parent.permission_mode,
        on_repeat: OnRepeat::Stop,
        hooks: parent.hooks.clone().without_system_prompt(),
        conversation_id: None,
        keep_model: true,
        keep_thinking: true,
        undo: None,
        masking: Masking::new(parent.masking.vault.for_helper()),
        // Its tools are those that it was given.
        search_tools_by_mode: false,
        tools: ToolRegistry::default(),
        mcp: McpBehavior { only: Some(Vec::new()), ..McpBehavior::default() },
        ..parent.clone()
    }
}

/// Its changes are recorded as those of the call.
fn undo(engine: &Engine, request: &HelperRequest) -> Option<CallUndo> {
    if let Some(role) = &engine.config.helper {
        return role.undo.clone();
    }
    let place = engine.undo.place.clone()?;
    let checkpoint = last_prompt(engine.config.session.tree());
    let start = CallStart { id: request.call.clone(), tool: delegate::NAME.to_owned(), checkpoint };
    Some(CallUndo { place, start })
}

/// The session of a helper, which refers to that of its parent.
fn session(engine: &Engine, kind: &HelperKind) -> Session {
    let parent = engine.config.session.info().file.as_deref();
    Session::begin_helper(engine.config.place.dir.as_deref(), engine.cwd(), parent, &kind.name)
}

/// Copies the conversation before the call. It was paid for already.
fn inherit(engine: &mut Engine, session: &mut Session, call: &str) {
    engine.load_context();
    let messages = engine.config.session.context().messages;
    let asks = |message: &Arc<Message>| match message.as_ref() {
        Message::Assistant(answer) => answer.tool_calls().any(|known| known.id == call),
        _ => false,
    };
    let end = messages.iter().rposition(asks).unwrap_or(messages.len());
    for message in messages.iter().take(end) {
        let copy = match message.as_ref() {
            Message::Assistant(answer) => {
                let mut answer = answer.clone();
                answer.usage = Usage::default();
                Arc::new(Message::Assistant(answer))
            }
            Message::ToolResult(result) if matches!(result.details, Details::Helper(_)) => {
                Arc::new(Message::ToolResult(ToolResultMessage { details: Details::None, ..result.clone() }))
            }
            _ => Arc::clone(message),
        };
        // A failed write is tried again with the first message, and reported by the helper.
        session.append(copy).unwrap_or_default();
    }
}
