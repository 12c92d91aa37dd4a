//! The way between the agent of a helper, its parent, and others who look at the helper.
//!
//! Others may send messages and answers. What would change rights, settings or the session of the helper is refused:
//! they are those of its parent.

use tokio::sync::mpsc;

use crate::engine::agent_handle::AgentHandle;
use crate::engine::helper_place::HelperNews;
use tau_protocol::command::{
    AgentCommand, QuestionCommand, RunCommand, SettingsCommand, ShellCommand, TaskCommand,
};
use tau_protocol::event::{AgentEvent, NoticeLevel, QuestionEvent, TaskEvent};

/// The number of commands, and of events, on their way.
const ROOM: usize = 64;

/// The ends of the channels to others.
pub(super) struct LiveEnds {
    commands: mpsc::Receiver<AgentCommand>,
    events: mpsc::Sender<AgentEvent>,
}

/// The channels to others, and their ends here.
pub(super) fn channels() -> (mpsc::Sender<AgentCommand>, mpsc::Receiver<AgentEvent>, LiveEnds) {
    let (commands, received) = mpsc::channel(ROOM);
    let (sender, events) = mpsc::channel(ROOM);
    (commands, events, LiveEnds { commands: received, events: sender })
}

/// Passes commands to the agent of a helper, and its events to its parent and to others.
pub(super) fn relay(
    number: u32,
    handle: AgentHandle,
    news: mpsc::Sender<(u32, HelperNews)>,
    others: Option<LiveEnds>,
) -> mpsc::UnboundedSender<AgentCommand> {
    let (sender, mut queue) = mpsc::unbounded_channel();
    let AgentHandle { commands, mut events, task } = handle;
    let others_events = others.as_ref().map(|ends| ends.events.downgrade());
    tokio::spawn(async move {
        while let Some(command) = queue.recv().await {
            let answered = match &command {
                AgentCommand::Questions(QuestionCommand::Answer { id, .. }) => Some(id.clone()),
                _ => None,
            };
            if commands.send(command).await.is_err() {
                return;
            }
            // The agent does not report which of its questions were answered.
            if let Some(id) = answered
                && let Some(others) = others_events.as_ref().and_then(mpsc::WeakSender::upgrade)
            {
                let _ = others.send(AgentEvent::Questions(QuestionEvent::AskWithdrawn { id })).await;
            }
        }
    });
    let mut watching = others.map(|LiveEnds { commands, events }| {
        // It ends with the parent, not with those who look.
        let weak = sender.downgrade();
        tokio::spawn(pass_on(number, commands, weak, news.clone(), events.downgrade()));
        events
    });
    tokio::spawn(async move {
        while let Some(event) = events.recv().await {
            if let Some(others) = &watching
                && others.send(event.clone()).await.is_err()
            {
                watching = None;
            }
            if news.send((number, HelperNews::Event(Box::new(event)))).await.is_err() {
                break;
            }
        }
        // Its end, or its crash, which it has reported.
        let _ = task.await;
        drop(watching);
        let _ = news.send((number, HelperNews::Ended)).await;
    });
    sender
}

/// Passes the commands of other front ends on: answers to the parent, who widens its own rights by them, and
/// the rest to the helper.
async fn pass_on(
    number: u32,
    mut received: mpsc::Receiver<AgentCommand>,
    helper: mpsc::WeakUnboundedSender<AgentCommand>,
    news: mpsc::Sender<(u32, HelperNews)>,
    events: mpsc::WeakSender<AgentEvent>,
) {
    while let Some(command) = received.recv().await {
        let command = match command {
            AgentCommand::Questions(answer) => {
                if news.send((number, HelperNews::Answered(answer))).await.is_err() {
                    return;
                }
                continue;
            }
            AgentCommand::Task(TaskCommand::Shutdown) => AgentCommand::Run(RunCommand::Abort),
            command if is_for_helper(&command) => command,
            command => {
                let Some(events) = events.upgrade() else { return };
                // Nobody looks any more if it cannot be sent.
                let _ = events.send(refusal(&command)).await;
                continue;
            }
        };
        let Some(helper) = helper.upgrade() else { return };
        let _ = helper.send(command);
    }
}

/// Whether a command leaves rights, settings and session of a helper as they are.
fn is_for_helper(command: &AgentCommand) -> bool {
    match command {
        AgentCommand::Run(command) => match command {
            RunCommand::Prompt { .. }
            | RunCommand::PromptMessage { .. }
            | RunCommand::SendQueued
            | RunCommand::Abort
            | RunCommand::AbortRetry => true,
            RunCommand::Continue | RunCommand::PursueGoal | RunCommand::Compact { .. } => false,
        },
        AgentCommand::Queue(_) | AgentCommand::Shell(ShellCommand::MoveToBackground) => true,
        AgentCommand::Task(command) => match command {
            TaskCommand::Query { .. }
            | TaskCommand::SideQuestion { .. }
            | TaskCommand::StopSideQuestion { .. } => true,
            TaskCommand::Shutdown => false,
        },
        AgentCommand::Session(_)
        | AgentCommand::Settings(_)
        | AgentCommand::Shell(_)
        | AgentCommand::Questions(_) => false,
    }
}

const REFUSED: &str = "a helper accepts only messages and answers";
const RIGHTS: &str = "its settings, rights and session are those of its parent";

/// The answer to a command that is not for a helper.
fn refusal(command: &AgentCommand) -> AgentEvent {
    AgentEvent::Task(match command {
        AgentCommand::Settings(SettingsCommand::ChangeRules { ticket, .. }) => {
            TaskEvent::Answered { ticket: *ticket, answer: Err(format!("{REFUSED}; {RIGHTS}").into()) }
        }
        _ => TaskEvent::Notice {
            level: NoticeLevel::Warning,
            text: REFUSED.to_owned(),
            hint: Some(RIGHTS.to_owned()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::rules::RuleChange;

    #[test]
    fn a_refused_change_of_rules_is_answered() {
        let change = SettingsCommand::ChangeRules { ticket: 7, change: RuleChange::default() };
        assert!(!is_for_helper(&change.clone().into()));
        let AgentEvent::Task(TaskEvent::Answered { ticket: 7, answer: Err(why) }) = refusal(&change.into())
        else {
            panic!("it is not answered");
        };
        assert!(why.starts_with(REFUSED), "{why}");
    }
}
