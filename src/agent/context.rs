//! From a session's messages to what a request may hold.
//!
//! Pure. What only people know of (commands they ran, extension data, summaries) becomes user
//! text here; what a particular model cannot take is `provider::handoff`'s concern.

use std::sync::Arc;

use super::message::{BashExecution, Message, StopReason, UserContent, UserMessage};

/// What the model is told when its last answer was cut off and it is to go on.
const GO_ON: &str = "[the answer above was cut off; go on from where it stopped, without repeating it]";

/// The messages as user, assistant and tool result messages only, in order.
pub fn for_model(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut told: Vec<Arc<Message>> = messages.iter().filter_map(one).collect();
    if let Some(Message::Assistant(last)) = told.last().map(Arc::as_ref) {
        told.push(user(UserContent::Text(GO_ON.into()), last.timestamp));
    }
    told
}

/// Whether a conversation can go on without anything new: its last message waits for an answer,
/// or its last answer failed or was stopped.
pub fn can_go_on(messages: &[Arc<Message>]) -> bool {
    let last = messages.iter().rev().find_map(one);
    match last.as_deref() {
        Some(Message::Assistant(answer)) => {
            matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
        }
        Some(_) => true,
        None => false,
    }
}

/// One message for the model; none when the model is not to know of it.
fn one(message: &Arc<Message>) -> Option<Arc<Message>> {
    match message.as_ref() {
        Message::User(_) | Message::ToolResult(_) => Some(message.clone()),
        Message::Assistant(answer) => {
            let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
            (!failed || !answer.content.is_empty()).then(|| message.clone())
        }
        Message::BashExecution(run) if run.exclude_from_context => None,
        Message::BashExecution(run) => Some(user(UserContent::Text(ran(run)), run.timestamp)),
        Message::Custom(custom) => Some(user(custom.content.clone(), custom.timestamp)),
        Message::BranchSummary(branch) => {
            let text = format!("What was tried on a branch that was left:\n\n{}", branch.summary);
            Some(user(UserContent::Text(text), branch.timestamp))
        }
        Message::CompactionSummary(compaction) => {
            let text = format!("The conversation so far, in short:\n\n{}", compaction.summary);
            Some(user(UserContent::Text(text), compaction.timestamp))
        }
    }
}

fn user(content: UserContent, timestamp: i64) -> Arc<Message> {
    Arc::new(Message::User(UserMessage { content, timestamp }))
}

/// A command the person ran, as the model is told of it.
fn ran(run: &BashExecution) -> String {
    let mut text = format!("Ran `{}`\n", run.command);
    if run.output.trim().is_empty() {
        text.push_str("(no output)");
    } else {
        let fence = fence(&run.output);
        text.push_str(&format!("{fence}\n{}\n{fence}", run.output.trim_end_matches('\n')));
    }
    match (run.cancelled, run.exit_code) {
        (true, _) => text.push_str("\n\n(command cancelled)"),
        (false, Some(0)) => {}
        (false, Some(code)) => text.push_str(&format!("\n\nCommand exited with code {code}")),
        (false, None) => text.push_str("\n\n(command killed)"),
    }
    if run.truncated {
        match &run.full_output_path {
            Some(path) => text.push_str(&format!("\n\n[the output is only its end; all of it is in {path}]")),
            None => text.push_str("\n\n[the output is only its end]"),
        }
    }
    text
}

/// A fence longer than any run of backticks in `text`.
fn fence(text: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(3.max(longest + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(run: BashExecution, expected: Option<&str>) {
        let message = Arc::new(Message::BashExecution(run));
        let told = for_model(&[message]);
        let text = told.first().map(|message| match message.as_ref() {
            Message::User(user) => user.content.text(),
            other => panic!("{other:?}"),
        });
        assert_eq!(text.as_deref(), expected);
    }

    fn run(output: &str, exit_code: Option<i32>) -> BashExecution {
        BashExecution {
            command: "cargo check".into(),
            output: output.into(),
            exit_code,
            cancelled: false,
            truncated: false,
            full_output_path: None,
            exclude_from_context: false,
            timestamp: 1,
        }
    }

    #[test]
    fn commands_become_user_text() {
        check(run("ok\n", Some(0)), Some("Ran `cargo check`\n```\nok\n```"));
        check(
            run("error\n", Some(101)),
            Some("Ran `cargo check`\n```\nerror\n```\n\nCommand exited with code 101"),
        );
        check(run("", Some(0)), Some("Ran `cargo check`\n(no output)"));
        check(run("```\n", Some(0)), Some("Ran `cargo check`\n````\n```\n````"));
        check(
            BashExecution { cancelled: true, ..run("x", None) },
            Some("Ran `cargo check`\n```\nx\n```\n\n(command cancelled)"),
        );
        check(BashExecution { exclude_from_context: true, ..run("x", Some(0)) }, None);
        let cut =
            BashExecution { truncated: true, full_output_path: Some("/t/o".into()), ..run("x", Some(0)) };
        check(
            cut,
            Some("Ran `cargo check`\n```\nx\n```\n\n[the output is only its end; all of it is in /t/o]"),
        );
    }
}
