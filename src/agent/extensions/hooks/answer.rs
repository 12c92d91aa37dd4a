//! Interprets the end of a hook: its exit code, output and errors.

use serde_json::Value;

use crate::settings::hooks::HookEvent;

/// The exit code that blocks.
const BLOCKS: i32 = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HookEnd {
    /// The exit code; `None` if it was killed.
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
    /// The reason the end of its output is missing.
    pub(super) cut: Option<String>,
    /// The reason it could not be used.
    pub(super) trouble: Option<String>,
}

impl HookEnd {
    /// A hook that could not be used.
    pub(super) fn trouble(text: impl Into<String>) -> Self {
        HookEnd { trouble: Some(text.into()), ..HookEnd::default() }
    }
}

/// A hook's decision on a call, the strictest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HookDecision {
    Allow,
    Ask,
    Deny,
}

impl HookDecision {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "allow" | "approve" => Some(HookDecision::Allow),
            "ask" => Some(HookDecision::Ask),
            "deny" | "block" => Some(HookDecision::Deny),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    /// The reason to block the event; after a call and at the end of a run, a request to the model.
    pub(super) block: Option<String>,
    /// Its decision on a call, and the reason.
    pub(super) permission: Option<(HookDecision, String)>,
    /// Replacement arguments for the call.
    pub(super) updated_input: Option<Value>,
    /// Text for the model.
    pub(super) context: Option<String>,
    /// Text for the user.
    pub(super) message: Option<String>,
    /// The reason the run must end.
    pub(super) stop: Option<String>,
    /// The problem with the hook.
    pub(super) trouble: Option<String>,
    /// Whether part of its answer cannot be parsed, which may be a denial.
    pub(super) unreadable: bool,
}

/// The fields that make an object an answer.
const FIELDS: &[&str] = tau_tools::words!(
    "decision permissionDecision hookSpecificOutput continue stopReason systemMessage suppressOutput"
);
/// The fields of `hookSpecificOutput`.
const SPECIFIC: &[&str] = tau_tools::words!(
    "hookEventName permissionDecision permissionDecisionReason decision reason updatedInput additionalContext"
);
/// The fields with the reason of a decision.
const REASONS: [&str; 3] = ["permissionDecisionReason", "reason", "stopReason"];
/// The fields that may hold a denial.
const DECIDING: [&str; 4] = ["decision", "permissionDecision", "hookSpecificOutput", "continue"];

impl Answer {
    /// The meaning of a hook's end for its event. A denial holds however the hook ended; consent only if it
    /// succeeded.
    pub(super) fn of(event: HookEvent, end: &HookEnd) -> Self {
        let (out, err) = (end.out.trim(), end.err.trim());
        let answer = Answer::of_output(event, out);
        let answer = match &end.cut {
            Some(why) => Answer { trouble: None, ..answer }.unreadable(why.clone()),
            None => answer,
        };
        if let Some(trouble) = &end.trouble {
            return answer.of_failure(trouble.clone());
        }
        match end.code {
            Some(0) => answer,
            Some(BLOCKS) => answer.of_block(event, out, err),
            code => {
                let how = match code {
                    Some(code) => format!("failed with exit code {code}"),
                    None => "was killed".to_owned(),
                };
                let first = err.lines().next().unwrap_or_default();
                let why = if first.is_empty() { how } else { format!("{how}: {first}") };
                answer.of_failure(why)
            }
        }
    }

    /// The valid part of the answer of a hook that failed.
    fn of_failure(self, trouble: String) -> Self {
        Answer {
            permission: self.permission.filter(|(said, _)| *said != HookDecision::Allow),
            updated_input: None,
            context: None,
            trouble: Some(trouble),
            ..self
        }
    }

    /// The answer of a hook that ended with the blocking exit code. The reason is taken from its output, else
    /// from its errors.
    fn of_block(self, event: HookEvent, out: &str, err: &str) -> Self {
        let of_output = Output::of(out).objects.iter().rev().find_map(reason);
        let of_errors = (!err.is_empty()).then(|| err.to_owned());
        let why = of_output.or(of_errors).unwrap_or_else(|| NO_REASON.to_owned());
        let said = Answer { message: self.message, stop: self.stop, ..Answer::default() };
        match event {
            // It is too late to block these.
            HookEvent::SessionStart | HookEvent::SessionEnd | HookEvent::Notification => {
                Answer { message: said.message.or(Some(why)), ..said }
            }
            HookEvent::PreToolUse
            | HookEvent::PostToolUse
            | HookEvent::UserPromptSubmit
            | HookEvent::PreCompact
            | HookEvent::Stop => Answer { block: Some(why), ..said },
        }
    }

    fn of_output(event: HookEvent, out: &str) -> Self {
        let Output { objects, rest } = Output::of(out);
        let answers = objects.iter().map(|object| Answer::of_object(event, object));
        let mut answer = answers.fold(Answer::default(), Answer::join);
        let is_context = takes_context(event);
        if is_context && !out.is_empty() && !objects.iter().any(is_answer) {
            answer.context = Some(out.to_owned());
        }
        let is_damaged = if is_context { rest.trim_start().starts_with('{') } else { resembles_json(&rest) };
        let decides = answer.permission.is_some() || answer.stop.is_some();
        let is_unclear = !is_context && !decides && mentions(&rest);
        if is_damaged || is_unclear || is_garbled(&rest) {
            answer = answer.unreadable(NO_ANSWER.to_owned());
        }
        let permission = answer.permission.take();
        match (event, permission) {
            (HookEvent::PreToolUse, permission) => answer.permission = permission,
            (_, Some((HookDecision::Deny, why))) => answer.block = Some(why),
            (_, Some((HookDecision::Ask | HookDecision::Allow, _)) | None) => {}
        }
        answer
    }

    /// This answer with a later one of the same hook, whose decision counts if it has one.
    fn join(self, later: Answer) -> Self {
        let decides = later.permission.is_some();
        let unreadable = later.unreadable || self.unreadable && !decides;
        let trouble = later.trouble.or(self.trouble).filter(|_| unreadable);
        let answer = Answer {
            permission: later.permission.or(self.permission),
            updated_input: later.updated_input.or(self.updated_input),
            context: later.context.or(self.context),
            message: later.message.or(self.message),
            stop: later.stop.or(self.stop),
            ..Answer::default()
        };
        match trouble {
            Some(why) => answer.unreadable(why),
            None => answer,
        }
    }

    /// An answer of which a part cannot be read: no consent.
    fn unreadable(self, why: String) -> Self {
        let permission = self.permission.filter(|(said, _)| *said != HookDecision::Allow);
        let trouble = self.trouble.or(Some(why));
        Answer { permission, context: None, trouble, unreadable: true, ..self }
    }

    /// The answer of an object. About a call, one without a decision that has other fields than those that tau
    /// knows may be a denial of another form.
    fn of_object(event: HookEvent, object: &Value) -> Self {
        let is_of_call = event == HookEvent::PreToolUse;
        if is_answer(object) {
            let answer = Answer::of_json(object);
            let decides = answer.permission.is_some() || answer.stop.is_some();
            return match unknown_field(object).filter(|_| is_of_call && !decides) {
                Some(name) => {
                    answer.unreadable(format!("answered `{name}`, which tau does not know, and no decision"))
                }
                None => answer,
            };
        }
        let text = object.to_string();
        let may_deny = if is_of_call { text != "{}" } else { !takes_context(event) && mentions(&text) };
        match may_deny || is_garbled(&text) {
            true => Answer::default().unreadable(NO_ANSWER.to_owned()),
            false => Answer::default(),
        }
    }

    fn of_json(answer: &Value) -> Self {
        let specific = answer.get("hookSpecificOutput").unwrap_or(&Value::Null);
        let why = reason(answer).unwrap_or_else(|| NO_REASON.to_owned());
        let mut found = Answer {
            context: text(specific, "additionalContext"),
            message: text(answer, "systemMessage"),
            ..Answer::default()
        };
        let mut wrong = Vec::new();
        if !matches!(specific, Value::Null | Value::Object(_)) {
            wrong.push("hookSpecificOutput");
        }
        match non_null(specific, "updatedInput") {
            Some(input) if input.is_object() => found.updated_input = Some(input.clone()),
            Some(_) => wrong.push("updatedInput"),
            None => {}
        }
        match non_null(answer, "continue") {
            Some(Value::Bool(false)) => {
                found.stop = Some(text(answer, "stopReason").unwrap_or_else(|| why.clone()));
            }
            Some(Value::Bool(true)) | None => {}
            Some(_) => wrong.push("continue"),
        }
        let mut said = None;
        for (place, name) in
            [specific, answer].into_iter().flat_map(|place| DECISIONS.map(|name| (place, name)))
        {
            match non_null(place, name).map(|value| value.as_str().and_then(HookDecision::from_name)) {
                Some(Some(decision)) => said = said.max(Some(decision)),
                Some(None) => wrong.push(name),
                None => {}
            }
        }
        found.permission = said.map(|said| (said, why));
        match wrong.first() {
            Some(name) => found.unreadable(format!("answered a value of `{name}` that tau does not know")),
            None => found,
        }
    }
}

/// The fields with a decision.
const DECISIONS: [&str; 2] = ["permissionDecision", "decision"];
const NO_REASON: &str = "it gave no reason";
const NO_ANSWER: &str = "answered with something that is not JSON, or not a hook's answer";

/// Whether text on the output of a hook for this event is context for the model.
fn takes_context(event: HookEvent) -> bool {
    matches!(event, HookEvent::UserPromptSubmit | HookEvent::SessionStart)
}

/// Whether an object has a field of answers.
fn is_answer(object: &Value) -> bool {
    FIELDS.iter().any(|name| object.get(name).is_some())
}

/// The name of a field in an answer that tau does not know, or of one with nothing in it.
fn unknown_field(answer: &Value) -> Option<&str> {
    let is_known = |name: &&String| FIELDS.contains(&name.as_str()) || REASONS.contains(&name.as_str());
    let mut names = answer.as_object()?.keys();
    let unknown = names.find(|name| !is_known(name)).map(String::as_str);
    let specific = answer.get("hookSpecificOutput").and_then(Value::as_object);
    unknown.or_else(|| match specific? {
        specific if specific.is_empty() => Some("hookSpecificOutput"),
        specific => specific.keys().map(String::as_str).find(|name| !SPECIFIC.contains(name)),
    })
}

/// A field that is not null.
fn non_null<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

fn text(object: &Value, name: &str) -> Option<String> {
    let text = object.get(name).and_then(Value::as_str).map(str::trim);
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

fn reason(answer: &Value) -> Option<String> {
    let specific = answer.get("hookSpecificOutput").and_then(|it| text(it, "permissionDecisionReason"));
    specific.or_else(|| REASONS.iter().find_map(|it| text(answer, it)))
}

/// The parts of an output.
#[derive(Default)]
struct Output {
    objects: Vec<Value>,
    /// The text outside of objects.
    rest: String,
}

impl Output {
    fn of(out: &str) -> Self {
        let (mut output, mut text) = (Output::default(), out);
        while let Some(at) = text.find('{') {
            let (before, object) = text.split_at(at);
            output.rest.push_str(before);
            let mut values = serde_json::Deserializer::from_str(object).into_iter::<Value>();
            let length = match values.next() {
                Some(Ok(value)) => {
                    output.objects.push(value);
                    values.byte_offset()
                }
                _ => {
                    output.rest.push('{');
                    1
                }
            };
            text = object.get(length..).unwrap_or_default();
        }
        output.rest.push_str(text);
        output
    }
}

/// Whether a text that is no answer is in an encoding that cannot be read, and may be one.
fn is_garbled(text: &str) -> bool {
    text.contains('\0') || text.contains('{') && text.contains(char::REPLACEMENT_CHARACTER)
}

/// Whether a text that is not JSON was meant to be: `{'decision': 'block'}`, or one that ends too early.
fn resembles_json(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with('{')) || (text.contains('{') && mentions(text))
}

/// Whether a text contains the name of a field that may deny, within an object.
fn mentions(text: &str) -> bool {
    let lower = text.to_lowercase();
    text.contains('{') && DECIDING.iter().any(|name| lower.contains(&name.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(event: HookEvent, code: i32, out: &str, err: &str) -> Answer {
        let end =
            HookEnd { code: Some(code), out: out.to_owned(), err: err.to_owned(), ..HookEnd::default() };
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
    fn the_last_answer_counts_whatever_is_around_it() {
        let blocks = |code: i32, out: &str| {
            let found = answer(HookEvent::PreToolUse, code, out, "");
            found
                .permission
                .filter(|(said, _)| *said == HookDecision::Deny)
                .map(|(_, why)| why)
                .or(found.block)
        };
        let deny = r#"{"decision": "block", "reason": "no"}"#;
        let allow = r#"{"decision": "approve"}"#;
        for out in [
            format!("ready\n{deny}"),
            format!("{deny}\ndone"),
            format!("ready {deny} {{\"level\": \"info\"}}"),
            format!("{allow}\n{deny}\n"),
            format!("[{deny}]"),
            format!("\u{feff}{deny}"),
            format!("a {{ b\n{deny}"),
            format!("{deny}\n{{\"decision\": \"appr"),
            format!("{deny}\n{{\"suppressOutput\": true}}"),
            format!("{deny}\n{{\"systemMessage\": \"x\"}}"),
            format!("{deny}\n{{\"permission\": \"allow\"}}"),
        ] {
            for code in [0, 1, 2, 127] {
                assert_eq!(blocks(code, &out).as_deref(), Some("no"), "{code}: {out}");
            }
        }
        for out in [format!("{deny}\n{allow}"), format!("{{\"level\": \"info\"}}\n{allow}")] {
            let found = answer(HookEvent::PreToolUse, 0, &out, "");
            assert_eq!(found.permission.map(|(said, _)| said), Some(HookDecision::Allow), "the last counts");
            assert!(!found.unreadable && found.trouble.is_none(), "{out}");
        }
        let killed = HookEnd { out: deny.to_owned(), ..HookEnd::trouble("did not end in time") };
        assert!(Answer::of(HookEvent::PreToolUse, &killed).permission.is_some());
        let failed = answer(HookEvent::PreToolUse, 1, allow, "");
        assert!(failed.permission.is_none() && failed.trouble.is_some(), "{failed:?}");
        let prompt = answer(HookEvent::UserPromptSubmit, 0, &format!("ready\n{deny}"), "");
        assert_eq!((prompt.block.as_deref(), prompt.context), (Some("no"), None));
    }

    #[test]
    fn what_cannot_be_read_is_no_consent() {
        for out in [
            "{'decision': 'block'}",
            r#"ready {"decision": "block""#,
            r#"{"decision": "blok"}"#,
            r#"{"decision": true}"#,
            r#"{"decision": "approve", "continue": "false"}"#,
            r#"{"result": {"decision": "block"}}"#,
            r#"{"hookSpecificOutput": "deny"}"#,
            r#"{"hookSpecificOutput": {"permissionDecision": "denied"}}"#,
            r#"{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": "ls"}}"#,
            "{\"decision\": \"approve\"}\n{\"decision\": \"bl",
            r#"{"Decision": "block"}"#,
            "{\"result\": {\"decision\": \"block\"}}\n{\"suppressOutput\": true}",
            r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permisionDecision": "deny"}}"#,
            r#"{"hookSpecificOutput": {"continue": false}}"#,
            r#"{"hookSpecificOutput": {}}"#,
            r#"{"permission": "deny"}"#,
            r#"{"cancel": true}"#,
            r#"{"block": true}"#,
            r#"{"behavior": "deny"}"#,
            r#"[{"behavior": "deny"}]"#,
            r#"{"continue": true, "permission": "deny"}"#,
            "{\"decision\": \"approve\"}\n{\"permission\": \"deny\"}",
            "{\"deci\u{fffd}sion\": \"block\"}",
            "\u{fffd}\u{fffd}{\0\"\0d\0e\0",
            "\u{fffd}\u{fffd}\0{\0\"\0d\0e",
        ] {
            let found = answer(HookEvent::PreToolUse, 0, out, "");
            assert!(found.unreadable && found.trouble.is_some(), "{out}: {found:?}");
            assert_eq!(found.permission, None, "{out}");
        }
        for out in [
            "",
            "fine",
            "{}",
            "checked {a}",
            "caf\u{fffd}",
            r#"{"suppressOutput": true}"#,
            r#"{"continue": true}"#,
            r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse"}}"#,
        ] {
            assert_eq!(answer(HookEvent::PreToolUse, 0, out, ""), Answer::default(), "{out}");
        }
        let log = answer(HookEvent::PostToolUse, 0, r#"[{"level": "info"}]"#, "");
        assert_eq!(log, Answer::default());
        let context = "{\"name\": \"x\"}";
        assert_eq!(answer(HookEvent::SessionStart, 0, context, "").context.as_deref(), Some(context));
    }

    #[test]
    fn json_answers() {
        let out = r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
            "permissionDecisionReason": "look", "updatedInput": {"command": "ls"}}, "systemMessage": "hi"}"#;
        let found = answer(HookEvent::PreToolUse, 0, out, "");
        assert_eq!(found.permission, Some((HookDecision::Ask, "look".to_owned())));
        assert_eq!(found.updated_input, Some(serde_json::json!({"command": "ls"})));
        assert_eq!(found.message.as_deref(), Some("hi"));
        let old = answer(HookEvent::PreToolUse, 0, r#"{"decision": "block", "reason": "no"}"#, "");
        assert_eq!(old.permission, Some((HookDecision::Deny, "no".to_owned())));
        let after = answer(HookEvent::PostToolUse, 0, r#"{"decision": "block", "reason": "format it"}"#, "");
        assert_eq!(after.block.as_deref(), Some("format it"));
        let reason = answer(HookEvent::PreToolUse, 2, r#"{"decision": "block", "reason": "why"}"#, "log");
        assert_eq!(reason.block.as_deref(), Some("why"));
        let stops = answer(HookEvent::Stop, 0, r#"{"continue": false, "stopReason": "enough"}"#, "");
        assert_eq!(stops.stop.as_deref(), Some("enough"));
    }
}
