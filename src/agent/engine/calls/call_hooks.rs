//! The user's hooks around a call: before it is prepared, and after it has run.
//!
//! Like the model, hooks see placeholders instead of secrets. Their decisions are passed on to the gate,
//! which never lets them weaken a rule that denies, the mode `plan`, or the question about a protected path.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::engine::state::Engine;
use crate::extensions::hooks::{HookFacts, HookOutcome, HookPermission, HookRunner, names};
use crate::permissions::{self, Rule};
use crate::secrets::masking::Masking;
use crate::settings::hooks::HookEvent;
use tau_protocol::message::{HookNote, ToolCall};
use tau_tools::{AnyTool, Content, Details, ToolError, ToolKind, ToolOutput};

/// The runner for the hooks of these events; `None` if there are none.
pub(crate) fn runner(engine: &Engine, events: &[HookEvent]) -> Option<HookRunner> {
    let loaded = engine.config.behavior.extensions.current();
    HookRunner::new(&loaded.hooks, events, || facts(engine))
}

/// The input of hooks, and their limits.
pub(crate) fn facts(engine: &Engine) -> HookFacts {
    let (session, behavior) = (engine.config.session.info(), &engine.config.behavior);
    HookFacts {
        session_id: session.id.clone(),
        transcript: session.file.clone(),
        cwd: engine.command_dir().to_owned(),
        mode: behavior.permission_mode,
        shell: engine.config.shell.clone(),
        env: engine.config.env.clone(),
        scratch: engine.config.scratch.clone(),
        sandbox: behavior.sandbox.in_directory(engine.cwd()),
        sandboxed: behavior.sandbox.hooks,
    }
}

/// Runs the hooks that notify the user that something is waiting. They run in the background and are not
/// awaited.
pub(crate) fn notify(engine: &Engine, kind: &'static str, message: String) {
    let Some(runner) = runner(engine, &[HookEvent::Notification]) else { return };
    tokio::spawn(async move {
        let fields = json!({ "message": message, "notification_type": kind });
        let outcome = runner.run(HookEvent::Notification, &[kind], fields).await;
        for note in outcome.notes {
            tracing::info!("hook {}: {}", note.hook, note.text);
        }
    });
}

/// The hooks around one call.
pub(crate) struct CallHooks {
    runner: HookRunner,
    /// The call, with the arguments as the tool uses them.
    call: ToolCall,
    tool: Arc<dyn AnyTool>,
    masking: Masking,
}

/// Effects of hooks outside their call.
#[derive(Debug, Default)]
pub(crate) struct HookEffects {
    pub(crate) notes: Vec<HookNote>,
    /// The reason the run must end.
    pub(crate) stop: Option<String>,
}

impl HookEffects {
    fn take(&mut self, outcome: &mut HookOutcome) {
        self.notes.append(&mut outcome.notes);
        self.stop = self.stop.take().or(outcome.stop.clone());
    }
}

/// A call that hooks let through.
#[derive(Debug, Default)]
pub(crate) struct CheckedCall {
    /// The arguments to run it with.
    pub(crate) arguments: Value,
    /// The arguments without secrets, if a hook changed them.
    pub(crate) changed: Option<Value>,
    pub(crate) permission: HookPermission,
    /// Notes for the model, added to the result.
    notes: Vec<String>,
}

impl CheckedCall {
    /// A call that no hook affects.
    pub(crate) fn new(arguments: Value) -> Self {
        CheckedCall { arguments, ..CheckedCall::default() }
    }
}

/// The hooks of a call; `None` if there are none.
pub(crate) fn of_call(engine: &Engine, call: &ToolCall, tool: &Arc<dyn AnyTool>) -> Option<CallHooks> {
    let runner = runner(engine, &[HookEvent::PreToolUse, HookEvent::PostToolUse])?;
    let call = ToolCall { arguments: tool.canonical(call.arguments.clone()), ..call.clone() };
    Some(CallHooks { runner, call, tool: tool.clone(), masking: engine.config.behavior.masking.clone() })
}

impl CallHooks {
    /// Runs the hooks before a call with these arguments. The error is the result of the call if a hook
    /// blocks it, which is a denial, or if it is stopped.
    pub(crate) async fn before(
        &self,
        arguments: Value,
        stop: &CancellationToken,
        effects: &mut HookEffects,
    ) -> Result<CheckedCall, ToolError> {
        let said = &self.call.arguments;
        let fields = self.fields(said);
        let run = self.run(HookEvent::PreToolUse, said, fields);
        let mut outcome = stop.run_until_cancelled(run).await.ok_or_else(ToolError::aborted)?;
        effects.take(&mut outcome);
        if let Some(why) = outcome.block.or(outcome.stop) {
            return Err(ToolError::refused(format!(
                "denied by a hook of the user, the call was not run: {why}"
            )));
        }
        let mut checked = CheckedCall::new(arguments);
        checked.permission = outcome.permission;
        checked.notes = outcome.context;
        if let Some(input) = &outcome.updated_input {
            let changed = self.tool.canonical(names::from_hook(&self.call.name, input));
            checked.notes.push(format!("it changed the arguments of this call to {changed}"));
            let filled = self.masking.arguments(&self.call.name, &changed).map_err(ToolError::refused)?;
            checked.arguments = filled.unwrap_or_else(|| changed.clone());
            checked.changed = Some(changed);
        }
        Ok(checked)
    }

    /// Runs the hooks after a successful call, and adds the notes of all hooks to its result. One that failed gets
    /// those of the hooks before it.
    pub(crate) async fn after(
        &self,
        checked: &CheckedCall,
        result: Result<ToolOutput, ToolError>,
        stop: &CancellationToken,
        effects: &mut HookEffects,
    ) -> Result<ToolOutput, ToolError> {
        let mut output = result.map_err(|error| with_notes(error, &checked.notes))?;
        let mut notes = checked.notes.clone();
        let mut seen = output.clone();
        // The result gets its numbers later, in the order of the calls: these placeholders must not stand for them.
        Masking::new(self.masking.vault.for_helper()).answer(&mut seen);
        let said = checked.changed.as_ref().unwrap_or(&self.call.arguments);
        let mut fields = self.fields(said);
        if let Value::Object(fields) = &mut fields {
            fields.insert("tool_response".to_owned(), response(&self.call.name, said, &seen));
        }
        let run = self.run(HookEvent::PostToolUse, said, fields);
        if let Some(mut outcome) = stop.run_until_cancelled(run).await {
            effects.take(&mut outcome);
            notes.extend(outcome.block);
            notes.extend(outcome.context);
        }
        output.content.extend(notes.iter().map(|note| Content::text(format_note(note))));
        Ok(output)
    }

    async fn run(&self, event: HookEvent, said: &Value, fields: Value) -> HookOutcome {
        let name = &self.call.name;
        // A matcher of edits is about those of several places, too.
        let (theirs, plain) = (names::of_tool(name, said), names::of_tool(name, &Value::Null));
        let concerns = |rule: &Rule, input: &Value| self.can_concern(rule, input);
        self.runner.run_about(event, &[name, theirs, plain], fields, &concerns).await
    }

    /// Whether a rule may be about the call with this input of hooks.
    fn can_concern(&self, rule: &Rule, input: &Value) -> bool {
        let (name, cwd) = (&self.call.name, self.runner.cwd());
        let arguments = self.tool.canonical(names::from_hook(name, input));
        let access = self.tool.touches(&arguments, cwd);
        permissions::can_concern(rule, name, access.as_ref(), cwd, std::env::home_dir().as_deref())
    }

    fn fields(&self, said: &Value) -> Value {
        let name = &self.call.name;
        json!({
            "tool_name": names::of_tool(name, said),
            "tool_input": names::to_hook(name, said, self.runner.cwd()),
            "tool_use_id": self.call.id,
        })
    }
}

/// A note as the model reads it.
fn format_note(note: &str) -> String {
    format!("A hook of the user: {note}")
}

/// An error with notes for the model.
fn with_notes(mut error: ToolError, notes: &[String]) -> ToolError {
    let (ToolError::Refused { message, .. } | ToolError::Aborted { message, .. }) = &mut error;
    for note in notes {
        message.push('\n');
        message.push_str(&format_note(note));
    }
    error
}

/// The result of a call in the format of hooks.
fn response(tool: &str, said: &Value, output: &ToolOutput) -> Value {
    let texts = output.content.iter().filter_map(|content| match content {
        Content::Text { text } => Some(text.as_str()),
        Content::Image { .. } => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    match (&output.details, ToolKind::of(tool)) {
        (Details::Terminal(terminal), _) => json!({
            "stdout": text, "stderr": "", "interrupted": false, "exit_code": terminal.exit_code,
        }),
        (_, ToolKind::Write | ToolKind::Read) => {
            json!({ "filePath": said.get("path"), "success": true, "content": text })
        }
        _ => json!({ "content": text }),
    }
}
