//! Runs all hooks of an event, one after another, and combines their answers.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::Hook;
use super::answer::{Answer, HookDecision};
use super::facts::HookFacts;
use super::run::run;
use crate::permissions::Rule;
use crate::settings::hooks::{HookEvent, HookFail};
use tau_protocol::approval::PermissionMode;
use tau_protocol::message::HookNote;
use tau_tools::path_text;

/// The maximum length of a hook's text for the model, in bytes.
const MAX_TEXT_LEN: usize = 32 * 1024;

/// The permission that hooks give a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HookPermission {
    /// No decision.
    #[default]
    None,
    /// It runs where the user would be asked.
    Allow,
    /// The user must be asked, for this reason.
    Ask(String),
}

/// The combined answers of the hooks of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookOutcome {
    /// The reason to block the event; after a call and at the end of a run, a request to the model.
    pub block: Option<String>,
    pub permission: HookPermission,
    /// Replacement arguments for the call, in the format of hooks.
    pub updated_input: Option<Value>,
    /// Texts for the model.
    pub context: Vec<String>,
    /// Notes about their effects, for the user.
    pub notes: Vec<HookNote>,
    /// The reason the run must end.
    pub stop: Option<String>,
}

/// Runs hooks.
#[derive(Clone, Debug)]
pub struct HookRunner {
    hooks: Vec<Hook>,
    facts: HookFacts,
}

impl HookRunner {
    /// Runs the hooks of these events.
    pub fn new(hooks: &[Hook], events: &[HookEvent], facts: impl FnOnce() -> HookFacts) -> Option<Self> {
        let hooks: Vec<Hook> = hooks.iter().filter(|hook| events.contains(&hook.event)).cloned().collect();
        if hooks.is_empty() { None } else { Some(HookRunner { hooks, facts: facts() }) }
    }

    /// The directory that they run in.
    pub(crate) fn cwd(&self) -> &Path {
        &self.facts.cwd
    }

    /// Runs the hooks of an event that match one of these names, in order, with these fields on standard
    /// input in addition to the fields of every event. Stops after the first that blocks.
    pub async fn run(&self, event: HookEvent, names: &[&str], fields: Value) -> HookOutcome {
        self.run_about(event, names, fields, &|_, _| false).await
    }

    /// Like [`Self::run`], where `concerns` tells whether a rule is about a call with this input.
    pub(crate) async fn run_about(
        &self,
        event: HookEvent,
        names: &[&str],
        fields: Value,
        concerns: &(dyn Fn(&Rule, &Value) -> bool + Sync),
    ) -> HookOutcome {
        let mut outcome = HookOutcome::default();
        let mut input = self.input(event, fields);
        for hook in &self.hooks {
            if hook.event != event || !hook.matcher.matches(names) {
                continue;
            }
            let of_call = input.get("tool_input").unwrap_or(&Value::Null);
            if hook.condition.as_ref().is_some_and(|rule| !concerns(rule, of_call)) {
                continue;
            }
            let given = serde_json::to_vec(&input).unwrap_or_default();
            if hook.in_background {
                let (hook, facts) = (hook.clone(), self.facts.clone());
                tokio::spawn(async move { run(&hook, &given, &facts).await });
                continue;
            }
            let end = run(hook, &given, &self.facts).await;
            let answer = Answer::of(event, &end);
            if let Some(updated) = &answer.updated_input {
                input.insert("tool_input".to_owned(), updated.clone());
            }
            outcome.take(hook, event, answer);
            if outcome.block.is_some() || outcome.stop.is_some() {
                break;
            }
        }
        outcome
    }

    fn input(&self, event: HookEvent, fields: Value) -> Map<String, Value> {
        let HookFacts { session_id, transcript, cwd, mode, .. } = &self.facts;
        let mode = match mode {
            PermissionMode::Auto => "bypassPermissions",
            PermissionMode::Ask => "default",
            PermissionMode::Edits => "acceptEdits",
            PermissionMode::Plan => "plan",
        };
        let common = json!({
            "session_id": session_id,
            "transcript_path": path_text::text(transcript.as_deref().unwrap_or(Path::new(""))),
            "cwd": path_text::text(cwd),
            "permission_mode": mode,
            "hook_event_name": event.name(),
        });
        let parts = [common, fields].into_iter().filter_map(|part| match part {
            Value::Object(fields) => Some(fields),
            _ => None,
        });
        parts.flatten().collect()
    }
}

impl HookOutcome {
    fn take(&mut self, hook: &Hook, event: HookEvent, answer: Answer) {
        let (permission, block) = of_failure(hook, event, &answer);
        let Answer { updated_input, context, message, stop, trouble, .. } = answer;
        let short = |text: String| cut(&text, MAX_TEXT_LEN);
        let mut note = |text: String, is_warning| {
            self.notes.push(HookNote { hook: hook.name.clone(), text, is_warning });
        };
        if let Some(trouble) = trouble {
            note(trouble, true);
        }
        if let Some(message) = message {
            note(short(message), false);
        }
        if updated_input.is_some() && event == HookEvent::PreToolUse {
            note("changed the call".to_owned(), false);
            self.updated_input = updated_input;
        }
        match permission {
            Some((HookDecision::Deny, why)) => self.block = Some(short(why)),
            Some((HookDecision::Ask, why)) => self.permission = HookPermission::Ask(short(why)),
            Some((HookDecision::Allow, _)) if self.permission == HookPermission::None => {
                note("allowed the call".to_owned(), false);
                self.permission = HookPermission::Allow;
            }
            Some((HookDecision::Allow, _)) | None => {}
        }
        if let Some(context) = context {
            note("added context for the model".to_owned(), false);
            self.context.push(short(context));
        }
        self.stop = self.stop.take().or(stop.map(short));
        if let Some(block) = block.map(short) {
            self.block = Some(block);
        }
        if let Some(why) = &self.block {
            let what = match event {
                HookEvent::PreToolUse | HookEvent::UserPromptSubmit | HookEvent::PreCompact => "blocked it",
                HookEvent::PostToolUse | HookEvent::Stop => "told the model",
                HookEvent::SessionStart | HookEvent::SessionEnd | HookEvent::Notification => "said",
            };
            let first = why.lines().next().unwrap_or_default();
            let text = format!("{what}: {first}");
            self.notes.push(HookNote { hook: hook.name.clone(), text, is_warning: false });
        }
    }
}

/// The decision and the block of a hook, including the effect of its failure.
fn of_failure(
    hook: &Hook,
    event: HookEvent,
    answer: &Answer,
) -> (Option<(HookDecision, String)>, Option<String>) {
    let (permission, block) = (answer.permission.clone(), answer.block.clone());
    let denies = block.is_some() || matches!(permission, Some((HookDecision::Deny, _)));
    let Some(trouble) = answer.trouble.as_ref().filter(|_| !denies) else { return (permission, block) };
    let decides =
        matches!(event, HookEvent::PreToolUse | HookEvent::UserPromptSubmit | HookEvent::PreCompact);
    match hook.fail {
        Some(HookFail::Closed) if decides => (None, Some(format!("the hook {trouble} (fail = \"closed\")"))),
        None if answer.unreadable && event == HookEvent::PreToolUse => {
            (Some((HookDecision::Ask, format!("the hook {trouble}"))), block)
        }
        _ => (permission, block),
    }
}

/// The beginning of a text, with a note if it was cut.
fn cut(text: &str, most: usize) -> String {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    match text.get(..end) {
        Some(start) if end < text.len() => format!("{start}\n[the rest is left out]"),
        _ => text.to_owned(),
    }
}
