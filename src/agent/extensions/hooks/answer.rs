//! What the end of a hook means: its exit code, its output, its errors.

use serde_json::Value;

use crate::agent::settings::hooks::HookEvent;

/// The exit code that blocks.
const BLOCKS: i32 = 2;

/// How a hook ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HookEnd {
    /// `None` if it was killed.
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
    /// Why it could not be used.
    pub(super) trouble: Option<String>,
}

impl HookEnd {
    /// A hook that could not be used.
    pub(super) fn trouble(text: impl Into<String>) -> Self {
        HookEnd { trouble: Some(text.into()), ..HookEnd::default() }
    }
}

/// What a hook says about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Allow,
    Deny,
    Ask,
}

/// What a hook answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// Why what is about to happen must not; after a call, and at the end, what the model is to do.
    pub(super) block: Option<String>,
    /// What it says about a call, and why.
    pub(super) permission: Option<(Said, String)>,
    /// Other arguments for the call.
    pub(super) updated_input: Option<Value>,
    /// Text for the model.
    pub(super) context: Option<String>,
    /// Text for the user.
    pub(super) message: Option<String>,
    /// Why the run must end.
    pub(super) stop: Option<String>,
    /// What is wrong with the hook.
    pub(super) trouble: Option<String>,
}

impl Answer {
    /// What the end of a hook means for its event.
    pub(super) fn of(event: HookEvent, end: &HookEnd) -> Self {
        if let Some(trouble) = &end.trouble {
            return Answer { trouble: Some(trouble.clone()), ..Answer::default() };
        }
        let (out, err) = (end.out.trim(), end.err.trim());
        match end.code {
            Some(0) => Answer::of_output(event, out),
            Some(BLOCKS) => {
                let why = if err.is_empty() { "it gave no reason".to_owned() } else { err.to_owned() };
                match event {
                    // There is nothing left to block.
                    HookEvent::SessionStart | HookEvent::SessionEnd | HookEvent::Notification => {
                        Answer { message: Some(why), ..Answer::default() }
                    }
                    HookEvent::PreToolUse
                    | HookEvent::PostToolUse
                    | HookEvent::UserPromptSubmit
                    | HookEvent::PreCompact
                    | HookEvent::Stop => Answer { block: Some(why), ..Answer::default() },
                }
            }
            code => {
                let how = match code {
                    Some(code) => format!("failed with exit code {code}"),
                    None => "was killed".to_owned(),
                };
                let first = err.lines().next().unwrap_or_default();
                let why = if first.is_empty() { how } else { format!("{how}: {first}") };
                Answer { trouble: Some(why), ..Answer::default() }
            }
        }
    }

    fn of_output(event: HookEvent, out: &str) -> Self {
        let is_json = out.starts_with('{');
        match serde_json::from_str::<Value>(out) {
            Ok(answer) if is_json => Answer::of_json(event, &answer),
            Err(error) if is_json => Answer {
                trouble: Some(format!("answered JSON that ends too early or is wrong: {error}")),
                ..Answer::default()
            },
            _ => {
                let is_context = matches!(event, HookEvent::UserPromptSubmit | HookEvent::SessionStart);
                let context = (is_context && !out.is_empty()).then(|| out.to_owned());
                Answer { context, ..Answer::default() }
            }
        }
    }

    fn of_json(event: HookEvent, answer: &Value) -> Self {
        let text = |value: &Value, name: &str| {
            let text = value.get(name).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let specific = answer.get("hookSpecificOutput").unwrap_or(&Value::Null);
        let reason = text(answer, "reason").unwrap_or_else(|| "it gave no reason".to_owned());
        let decision = answer.get("decision").and_then(Value::as_str);
        let mut found = Answer {
            context: text(specific, "additionalContext"),
            message: text(answer, "systemMessage"),
            updated_input: specific.get("updatedInput").filter(|input| input.is_object()).cloned(),
            ..Answer::default()
        };
        if answer.get("continue") == Some(&Value::Bool(false)) {
            found.stop = Some(text(answer, "stopReason").unwrap_or_else(|| reason.clone()));
        }
        if event == HookEvent::PreToolUse {
            let why = text(specific, "permissionDecisionReason").unwrap_or_else(|| reason.clone());
            let said = specific.get("permissionDecision").and_then(Value::as_str).or(decision);
            found.permission = match said {
                Some("allow" | "approve") => Some((Said::Allow, why)),
                Some("deny" | "block") => Some((Said::Deny, why)),
                Some("ask") => Some((Said::Ask, why)),
                _ => None,
            };
        } else if decision == Some("block") {
            found.block = Some(reason);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(event: HookEvent, code: i32, out: &str, err: &str) -> Answer {
        let end = HookEnd { code: Some(code), out: out.to_owned(), err: err.to_owned(), trouble: None };
        Answer::of(event, &end)
    }

    #[test]
    fn exit_codes_and_plain_output() {
        use HookEvent::{Notification, PreToolUse, UserPromptSubmit};
        assert_eq!(answer(PreToolUse, 0, "fine", ""), Answer::default());
        assert_eq!(answer(UserPromptSubmit, 0, " it rains \n", "").context.as_deref(), Some("it rains"));
        assert_eq!(answer(PreToolUse, 2, "", "no!\n").block.as_deref(), Some("no!"));
        assert_eq!(answer(PreToolUse, 2, "", "").block.as_deref(), Some("it gave no reason"));
        assert_eq!(answer(Notification, 2, "", "x").block, None);
        let failed = answer(PreToolUse, 127, "", "sh: x: not found\nmore");
        assert_eq!(failed.trouble.as_deref(), Some("failed with exit code 127: sh: x: not found"));
        assert!(answer(PreToolUse, 0, "{\"a\"", "").trouble.is_some());
    }

    #[test]
    fn json_answers() {
        let out = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
            "permissionDecisionReason": "look", "updatedInput": {"command": "ls"}}, "systemMessage": "hi"}"#;
        let found = answer(HookEvent::PreToolUse, 0, out, "");
        assert_eq!(found.permission, Some((Said::Ask, "look".to_owned())));
        assert_eq!(found.updated_input, Some(serde_json::json!({"command": "ls"})));
        assert_eq!(found.message.as_deref(), Some("hi"));
        let old = answer(HookEvent::PreToolUse, 0, r#"{"decision": "block", "reason": "no"}"#, "");
        assert_eq!(old.permission, Some((Said::Deny, "no".to_owned())));
        let after = answer(HookEvent::PostToolUse, 0, r#"{"decision": "block", "reason": "format it"}"#, "");
        assert_eq!(after.block.as_deref(), Some("format it"));
        let stops = answer(HookEvent::Stop, 0, r#"{"continue": false, "stopReason": "enough"}"#, "");
        assert_eq!(stops.stop.as_deref(), Some("enough"));
    }
}
